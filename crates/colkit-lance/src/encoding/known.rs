//! The compressions of values that are known, and how descriptions of them are understood.

use super::{Chunk, Output};
use super::{Compression, CompressiveEncoding, Form, InChunks, Runner, ValueEncoding, unknown_name};
use crate::container::bad_metadata;
use crate::container::messages::Any;
use colkit_core::{Error, Hint, Limits, Result, Setting};
use prost::Message;
use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// The compressions that a reader knows, by name and by number.
#[derive(Clone, Default)]
pub(crate) struct ValueEncodings {
    names: HashMap<String, Arc<dyn ValueEncoding>>,
    numbers: HashMap<u32, Arc<dyn ValueEncoding>>,
    /// Where the names are collected of encodings beyond Lance's; only if pages are described.
    met: Option<Arc<Mutex<BTreeSet<String>>>>,
}

impl fmt::Debug for ValueEncodings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

impl ValueEncodings {
    pub fn add(&mut self, encoding: Arc<dyn ValueEncoding>) {
        if let Some(number) = encoding.number() {
            self.numbers.insert(number, encoding.clone());
        }
        self.names.insert(encoding.name().to_owned(), encoding);
    }

    /// The one of this name.
    pub fn named(&self, name: &str) -> Option<&Arc<dyn ValueEncoding>> {
        self.names.get(name)
    }

    /// Those that Lance has given no number, in the order of their names.
    pub fn extended(&self) -> impl Iterator<Item = (&str, &Arc<dyn ValueEncoding>)> {
        let known = self.names().into_iter().filter_map(|name| self.names.get_key_value(name));
        known.filter(|(_, encoding)| encoding.number().is_none()).map(|(name, encoding)| (name.as_str(), encoding))
    }

    /// In order.
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.names.keys().map(String::as_str).collect();
        names.sort_unstable();
        names
    }

    /// Understands the description of a compression.
    pub fn parse(&self, message: &CompressiveEncoding, limits: &Limits) -> Result<Arc<dyn Compression>> {
        Encodings { known: self, depth: 0, limits }.parse(message)
    }

    /// The same ones for describing pages.
    pub fn describing(&self) -> Self {
        ValueEncodings { met: Some(Arc::default()), ..self.clone() }
    }

    /// The names of encodings beyond Lance's that were met since this was last asked.
    pub fn take_met(&self) -> BTreeSet<String> {
        let met = self.met.as_ref().map(|met| met.lock().unwrap_or_else(PoisonError::into_inner));
        met.map(|mut met| std::mem::take(&mut *met)).unwrap_or_default()
    }

    /// Notes the name of an encoding that is met while pages are described. The encoding itself is needed only if it is the
    /// program's own.
    fn meet(&self, name: &str) -> Option<Arc<dyn Compression>> {
        let met = self.met.as_ref()?;
        met.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned());
        let native = self.named(name).is_some_and(|encoding| encoding.runner() == Runner::Native);
        (!native).then(|| Arc::new(ByPlugin(name.to_owned())) as Arc<dyn Compression>)
    }
}

/// Compressions within compressions, at most.
const DEEPEST: usize = 32;

/// What understands the descriptions of compressions inside of another.
pub struct Encodings<'a> {
    known: &'a ValueEncodings,
    depth: usize,
    limits: &'a Limits,
}

impl Encodings<'_> {
    /// Ceilings for what understanding a description takes.
    pub fn limits(&self) -> &Limits {
        self.limits
    }

    /// Understands a description.
    pub fn parse(&self, message: &CompressiveEncoding) -> Result<Arc<dyn Compression>> {
        if self.depth >= DEEPEST {
            return Err(Error::corrupt("bad_encoding", format!("more than {DEEPEST} encodings inside each other")));
        }
        let inside = Encodings { known: self.known, depth: self.depth + 1, limits: self.limits };
        match message.number {
            0 => Err(Error::corrupt("bad_encoding", "an encoding that is not named")),
            CompressiveEncoding::EXTENSION => {
                let any = Any::decode(message.message.clone()).map_err(|e| bad_metadata("the encoding's name", e))?;
                let name = any.type_url.rsplit('/').next().unwrap_or_default();
                if let Some(named) = self.known.meet(name) {
                    return Ok(named);
                }
                let plugin = || Setting::Plugin.does("names a plugin that decodes it");
                let known = self.known.names.get(name).ok_or_else(|| self.unknown(name, plugin()))?;
                known.parse(any.value, &inside)
            }
            number => {
                let known = self.known.numbers.get(&number).ok_or_else(|| {
                    let name = format!("field {number} of lance.encodings21.CompressiveEncoding");
                    self.unknown(&name, "a newer version may read it".into())
                })?;
                known.parse(message.message.clone(), &inside)
            }
        }
    }

    /// Understands a description that has to be there.
    pub(crate) fn child(
        &self,
        message: Option<&CompressiveEncoding>,
        what: impl fmt::Display,
    ) -> Result<Arc<dyn Compression>> {
        let lacks = || Error::corrupt("bad_encoding", format!("{what} lacks its values"));
        self.parse(message.ok_or_else(lacks)?)
    }

    fn unknown(&self, name: &str, hint: Hint) -> Error {
        let known = self.known.names().join(", ");
        let others = format!("known compressions: {known}; other columns can be read");
        unknown_name("page", name).hint(hint.and(others))
    }
}

/// A compression that only a plugin decodes, while pages are described: nothing is run for that.
struct ByPlugin(String);

impl fmt::Display for ByPlugin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "plugin({})", self.0.escape_debug())
    }
}

impl Compression for ByPlugin {
    fn form(&self) -> Form {
        Form::Nothing
    }

    fn in_chunks(&self) -> Option<&dyn InChunks> {
        Some(self)
    }
}

impl InChunks for ByPlugin {
    fn any_buffers(&self) -> bool {
        true
    }

    fn append(&self, _: Chunk<'_>, _: Output<'_>) -> Result<()> {
        Err(Error::internal("a description is not decoded"))
    }
}
