//! Tables that are more than one file: named objects in one space of addresses.
//!
//! A machine asks for byte ranges, and a range is all that planning, drivers and sources pass on. So objects beside the
//! file that was opened get addresses of their own, in slots that no file fills:
//!
//! ```text
//! address   slot 0                      slot 1                     slot 2
//!           the file that was opened    the first object named     the second ...
//!           └ bytes ┘    └ length ┘     └ bytes ┘    └ length ┘
//! ```
//!
//! Who opens a table names its objects ([`Objects::add`]); nothing is read for that. The source, which has the same list,
//! finds an object by the slot of an address and opens it when the first of its bytes is asked for. The length of an object
//! is eight bytes of its slot, so that a machine learns it like anything else: by asking for a range.

use crate::{Boxed, ByteRange, Error, Machine, Result, Step};
use bytes::Bytes;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Addresses of a slot.
const SLOT: u64 = 1 << 41;

/// Bytes of an object at most. What lies between objects is more than any source reads in vain.
const LARGEST: u64 = 1 << 40;

/// Where in its slot the length of an object is: far from its bytes and from those of the next.
const LENGTH_AT: u64 = 3 << 39;

/// The length of an object that is not there.
const ABSENT: u64 = u64::MAX;

/// The objects beside a file that its table is made of, by name. Clones are the same list.
#[derive(Clone, Debug, Default)]
pub struct Objects(Option<Arc<List>>);

#[derive(Debug)]
struct List {
    /// What messages call the place that names are relative to.
    root: String,
    /// Places that are elsewhere now, with the beginnings of names that say where they were.
    moved: Vec<(String, String)>,
    names: Mutex<Vec<Arc<str>>>,
}

/// One of them, or the file itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object(u32);

/// What an address range stands for, for a source of several objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectPart {
    /// These bytes of an object.
    Bytes(Object, ByteRange),
    /// Its length, as [`Object::length`] reads it.
    Length(Object),
}

impl Objects {
    /// A list to which objects can be added, with names in the folder that messages call `root`. The default is a file alone.
    pub fn inside(root: impl Into<String>) -> Self {
        Self::inside_moved(root, Vec::new())
    }

    /// The same, for names of which some begin with a place that is elsewhere now: pairs of where it was and where it is.
    pub fn inside_moved(root: impl Into<String>, moved: Vec<(String, String)>) -> Self {
        Objects(Some(Arc::new(List { root: root.into(), moved, names: Mutex::default() })))
    }

    /// The name by which an object is found now.
    fn current(&self, name: &str) -> Arc<str> {
        let moved = self.0.iter().flat_map(|list| &list.moved);
        let mut current = moved.filter_map(|(from, to)| Some((to, name.strip_prefix(from.as_str())?)));
        // The name of a folder is not the beginning of another's.
        match current.find(|(_, rest)| rest.is_empty() || rest.starts_with('/')) {
            Some((to, rest)) => format!("{to}{rest}").into(),
            None => name.into(),
        }
    }

    /// What messages call an object. Whole paths and URLs stand for themselves.
    pub fn full_name(&self, name: &str) -> String {
        match &self.0 {
            Some(list) if !name.starts_with('/') && !name.contains("://") => {
                format!("{}/{name}", list.root.trim_end_matches('/'))
            }
            _ => name.to_owned(),
        }
    }

    /// Whether there may be objects beside the file.
    pub fn are_there(&self) -> bool {
        self.0.is_some()
    }

    fn lock(&self) -> Option<MutexGuard<'_, Vec<Arc<str>>>> {
        Some(self.0.as_ref()?.names.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Gives the object of this name a slot. What the name is relative to is known to the source.
    pub fn add(&self, name: &str) -> Result<Object> {
        let name = self.current(name);
        let Some(mut names) = self.lock() else {
            return Err(Error::unsupported("other_file", "the file stands alone, and its data lies in others")
                .hint("open the folder that it belongs to"));
        };
        let object = Object::numbered(names.len() + 1)?;
        names.push(name);
        Ok(object)
    }

    /// The name of an object; `None` is the file itself.
    pub fn name(&self, object: Object) -> Result<Option<Arc<str>>> {
        let Some(index) = object.0.checked_sub(1) else { return Ok(None) };
        let names = self.lock();
        let name = names.as_ref().and_then(|names| names.get(usize::try_from(index).ok()?).cloned());
        name.map(Some).ok_or_else(|| Error::internal(format!("object {} has no name", object.0)))
    }

    /// What these addresses stand for.
    pub fn part(range: ByteRange) -> Result<ObjectPart> {
        let (slot, start) = (range.start() / SLOT, range.start() % SLOT);
        let object = Object(u32::try_from(slot).unwrap_or(u32::MAX));
        let inside = ByteRange::between(start, start.saturating_add(range.len()));
        if start == LENGTH_AT && range.len() == 8 {
            Ok(ObjectPart::Length(object))
        } else if inside.end() <= LENGTH_AT {
            Ok(ObjectPart::Bytes(object, inside))
        } else {
            Err(Error::internal(format!("the addresses {range} are those of no object")))
        }
    }
}

impl Object {
    /// The one of this number, if there can be so many.
    pub(crate) fn numbered(number: usize) -> Result<Self> {
        let object = u32::try_from(number).ok().filter(|n| u64::from(*n) < u64::MAX / SLOT);
        object.map(Object).ok_or_else(|| Error::limit("the objects of a table", number, u64::MAX / SLOT))
    }

    /// Which one it is: 0 is the file that was opened.
    pub fn number(self) -> u32 {
        self.0
    }

    /// Where these bytes of it are.
    pub fn address(self, range: ByteRange) -> Result<ByteRange> {
        if range.end() > LARGEST {
            return Err(Error::limit("an object of a table", range.end(), LARGEST));
        }
        ByteRange::at(u64::from(self.0) * SLOT + range.start(), range.len())
    }

    /// Where its length is.
    pub fn length_address(self) -> ByteRange {
        let start = u64::from(self.0) * SLOT + LENGTH_AT;
        ByteRange::between(start, start + 8)
    }

    /// Its length, read from there; `None` if there is no such object.
    pub fn length(bytes: &[u8]) -> Option<u64> {
        bytes.try_into().ok().map(u64::from_le_bytes).filter(|length| *length != ABSENT)
    }

    /// What stands where the length of an object is.
    pub fn stated_length(length: Option<u64>) -> Bytes {
        Bytes::copy_from_slice(&length.unwrap_or(ABSENT).to_le_bytes())
    }

    /// A machine for one file, reading this object instead.
    pub fn inside<T: 'static>(self, machine: Boxed<T>) -> Boxed<T> {
        Box::new(Inside { object: self, machine })
    }
}

struct Inside<T> {
    object: Object,
    machine: Boxed<T>,
}

impl<T> Machine for Inside<T> {
    type Output = T;

    fn step(&mut self, got: Vec<Bytes>) -> Result<Step<T>> {
        Ok(match self.machine.step(got)? {
            Step::Ready(value) => Step::Ready(value),
            Step::Need(ranges) => {
                Step::Need(ranges.into_iter().map(|range| self.object.address(range)).collect::<Result<_>>()?)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coalesce;

    #[test]
    fn addresses_lead_back_to_objects() {
        let objects = Objects::inside("t");
        assert!(Objects::default().add("a").is_err());
        assert_eq!((objects.full_name("a/b"), objects.full_name("/a")), ("t/a/b".into(), "/a".into()));
        let (a, b) = (objects.add("a").unwrap(), objects.add("b").unwrap());
        assert_eq!(objects.name(b).unwrap().as_deref(), Some("b"));
        assert_eq!(objects.name(Object(0)).unwrap(), None);
        assert!(objects.name(Object(3)).is_err());
        let range = ByteRange::between(5, 9);
        assert_eq!(Objects::part(a.address(range).unwrap()).unwrap(), ObjectPart::Bytes(a, range));
        assert_eq!(Objects::part(b.length_address()).unwrap(), ObjectPart::Length(b));
        assert_eq!(Objects::part(range).unwrap(), ObjectPart::Bytes(Object(0), range));
        assert_eq!(a.address(ByteRange::between(0, LARGEST + 1)).unwrap_err().code(), "limit_exceeded");
        assert!(Objects::part(ByteRange::between(0, SLOT)).is_err());
    }

    #[test]
    fn what_was_moved_is_found() {
        let objects = Objects::inside_moved("t", vec![("/a/b".into(), "/c".into())]);
        let named = |name: &str| objects.name(objects.add(name).unwrap()).unwrap().unwrap().to_string();
        assert_eq!([named("/a/b/x"), named("/a/bc/x"), named("data/x")], ["/c/x", "/a/bc/x", "data/x"]);
    }

    #[test]
    fn objects_are_never_read_together() {
        let objects = Objects::inside("t");
        let (a, b) = (objects.add("a").unwrap(), objects.add("b").unwrap());
        let end = a.address(ByteRange::between(LARGEST - 1, LARGEST)).unwrap();
        let apart = [end, a.length_address(), b.address(ByteRange::between(0, 1)).unwrap()];
        assert_eq!(coalesce(&apart, 1 << 30), apart);
    }

    #[test]
    fn a_length_says_whether_there_is_an_object() {
        assert_eq!(Object::length(&Object::stated_length(Some(7))), Some(7));
        assert_eq!(Object::length(&Object::stated_length(None)), None);
        assert_eq!(Object::length(&[]), None);
    }
}
