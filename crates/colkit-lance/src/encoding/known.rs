//! The compressions of values that are known, and how descriptions of them are understood.

use super::{Compression, CompressiveEncoding, ValueEncoding, unknown_name};
use crate::container::bad_metadata;
use crate::container::messages::Any;
use colkit_core::{Error, Hint, Result, Setting};
use prost::Message;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// The compressions that a reader knows, by name and by number.
#[derive(Clone, Default)]
pub(crate) struct ValueEncodings {
    names: HashMap<String, Arc<dyn ValueEncoding>>,
    numbers: HashMap<u32, Arc<dyn ValueEncoding>>,
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
    pub fn parse(&self, message: &CompressiveEncoding) -> Result<Arc<dyn Compression>> {
        Encodings { known: self, depth: 0 }.parse(message)
    }
}

/// Compressions within compressions, at most.
const DEEPEST: usize = 32;

/// What understands the descriptions of compressions inside of another.
pub struct Encodings<'a> {
    known: &'a ValueEncodings,
    depth: usize,
}

impl Encodings<'_> {
    /// Understands a description.
    pub fn parse(&self, message: &CompressiveEncoding) -> Result<Arc<dyn Compression>> {
        if self.depth >= DEEPEST {
            return Err(Error::corrupt("bad_encoding", format!("more than {DEEPEST} encodings inside each other")));
        }
        let inside = Encodings { known: self.known, depth: self.depth + 1 };
        match message.number {
            0 => Err(Error::corrupt("bad_encoding", "an encoding that is not named")),
            CompressiveEncoding::EXTENSION => {
                let any = Any::decode(message.message.clone()).map_err(|e| bad_metadata("the encoding's name", e))?;
                let name = any.type_url.rsplit('/').next().unwrap_or_default();
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
