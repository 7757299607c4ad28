//! Several tables in one space of addresses.
//!
//! A part of a table of several files asks for ranges of its own file or, if it is a dataset, of its own [`Objects`]. Here each
//! object of each part gets a slot in a space that all parts share, when it is first asked for:
//!
//! ```text
//! part 0: [file]                     slot 1
//! part 1: [manifest][data][data]     slots 2, 4, 5
//! part 2: [file]                     slot 3
//! ```

use crate::{Boxed, ByteRange, Error, Machine, Object, ObjectPart, Objects, Result, Source, Step};
use bytes::Bytes;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Which slot belongs to which object of which part.
#[derive(Debug, Default)]
pub struct Slots(Mutex<Assigned>);

#[derive(Debug, Default)]
struct Assigned {
    /// By slot, from 1 on: the part, and its object.
    owners: Vec<(usize, Object)>,
    slots: HashMap<(usize, u32), Object>,
}

impl Slots {
    fn lock(&self) -> MutexGuard<'_, Assigned> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where these addresses of a part are.
    pub fn outer(&self, part: usize, range: ByteRange) -> Result<ByteRange> {
        let of = Objects::part(range)?;
        let (ObjectPart::Bytes(object, _) | ObjectPart::Length(object)) = of;
        let mut assigned = self.lock();
        let slot = match assigned.slots.get(&(part, object.number())) {
            Some(slot) => *slot,
            None => {
                let slot = Object::numbered(assigned.owners.len() + 1)?;
                assigned.owners.push((part, object));
                assigned.slots.insert((part, object.number()), slot);
                slot
            }
        };
        match of {
            ObjectPart::Bytes(_, bytes) => slot.address(bytes),
            ObjectPart::Length(_) => Ok(slot.length_address()),
        }
    }

    /// The part that these addresses belong to, and which they are in it.
    pub fn inner(&self, range: ByteRange) -> Result<(usize, ByteRange)> {
        let of = Objects::part(range)?;
        let (ObjectPart::Bytes(slot, _) | ObjectPart::Length(slot)) = of;
        let index = usize::try_from(slot.number()).ok().and_then(|n| n.checked_sub(1));
        let owner = index.and_then(|index| self.lock().owners.get(index).copied());
        let (part, object) = owner.ok_or_else(|| Error::internal(format!("no part has the addresses {range}")))?;
        Ok(match of {
            ObjectPart::Bytes(_, bytes) => (part, object.address(bytes)?),
            ObjectPart::Length(_) => (part, object.length_address()),
        })
    }

    /// A machine for a part, reading it in the space of all.
    pub fn inside<T: 'static>(self: &Arc<Self>, part: usize, machine: Boxed<T>) -> Boxed<T> {
        Box::new(InSlots { slots: self.clone(), part, machine })
    }
}

struct InSlots<T> {
    slots: Arc<Slots>,
    part: usize,
    machine: Boxed<T>,
}

impl<T> Machine for InSlots<T> {
    type Output = T;

    fn step(&mut self, got: Vec<Bytes>) -> Result<Step<T>> {
        Ok(match self.machine.step(got)? {
            Step::Ready(value) => Step::Ready(value),
            Step::Need(ranges) => {
                Step::Need(ranges.into_iter().map(|r| self.slots.outer(self.part, r)).collect::<Result<_>>()?)
            }
        })
    }
}

/// The bytes of several parts, as one space of addresses.
pub struct SlotsSource {
    slots: Arc<Slots>,
    parts: Vec<(String, Arc<dyn Source>)>,
}

impl SlotsSource {
    /// These parts, with their names for messages.
    pub fn new(slots: Arc<Slots>, parts: Vec<(String, Arc<dyn Source>)>) -> Self {
        SlotsSource { slots, parts }
    }

    fn read_part(&self, part: usize, ranges: &[ByteRange]) -> Result<Vec<Bytes>> {
        let (name, source) = self.parts.get(part).ok_or_else(|| Error::internal(format!("there is no part {part}")))?;
        source.read_each(ranges).map_err(|e| e.file(name.clone()))
    }
}

impl Source for SlotsSource {
    /// The bytes of all parts together; their addresses reach further.
    fn size(&self) -> u64 {
        self.parts.iter().map(|(_, source)| source.size()).sum()
    }

    fn read(&self, range: ByteRange) -> Result<Bytes> {
        let bytes = self.read_each(&[range])?.pop();
        bytes.ok_or_else(|| Error::internal("a range was read as nothing"))
    }

    fn read_each(&self, requests: &[ByteRange]) -> Result<Vec<Bytes>> {
        let mut got = Vec::with_capacity(requests.len());
        let mut of_one: Vec<ByteRange> = Vec::new();
        let mut current = 0;
        for request in requests {
            let (part, range) = self.slots.inner(*request)?;
            if part != current && !of_one.is_empty() {
                got.extend(self.read_part(current, &std::mem::take(&mut of_one))?);
            }
            current = part;
            of_one.push(range);
        }
        if !of_one.is_empty() {
            got.extend(self.read_part(current, &of_one)?);
        }
        Ok(got)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_found_by_their_addresses() {
        let slots = Arc::new(Slots::default());
        let parts = ["abc", "0123"].map(|text| (text.to_string(), Arc::new(Bytes::from(text)) as Arc<dyn Source>));
        let source = SlotsSource::new(slots.clone(), parts.to_vec());
        let range = ByteRange::between(1, 3);
        let (b, a) = (slots.outer(1, range).unwrap(), slots.outer(0, range).unwrap());
        assert_eq!(slots.outer(1, range).unwrap(), b);
        assert_eq!(slots.inner(a).unwrap(), (0, range));
        assert_eq!(source.read_many(&[a, b]).unwrap(), ["bc", "12"]);
        assert_eq!(source.size(), 7);
        let beyond = slots.outer(0, ByteRange::between(2, 9)).unwrap();
        let error = source.read(beyond).unwrap_err();
        assert_eq!((error.code(), error.file_name()), ("short_read", Some("abc")));
        assert!(source.read(ByteRange::between(0, 1)).is_err());
    }

    #[test]
    fn objects_of_parts_have_slots_of_their_own() {
        let slots = Slots::default();
        let objects = Objects::inside("t");
        let object = objects.add("x").unwrap();
        let inner = object.address(ByteRange::between(5, 9)).unwrap();
        let outer = slots.outer(3, inner).unwrap();
        assert_eq!(slots.inner(outer).unwrap(), (3, inner));
        let length = slots.outer(3, object.length_address()).unwrap();
        assert_eq!(slots.inner(length).unwrap(), (3, object.length_address()));
    }
}
