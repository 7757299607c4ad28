//! The name of a format.

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Command};
use colkit::{Registry, TextOptions};
use std::ffi::OsStr;

/// Takes any text, because formats have other names too and an unknown one is an error of its own. Shells offer the names.
#[derive(Clone)]
pub struct FormatName {
    /// Names beside those of the formats.
    more: &'static [&'static str],
}

impl FormatName {
    /// A format to read.
    pub fn read() -> Self {
        FormatName { more: &["lines"] }
    }

    /// A format to write.
    pub fn written() -> Self {
        FormatName { more: &[] }
    }
}

impl TypedValueParser for FormatName {
    type Value = String;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let formats = Registry::default().formats(&TextOptions::default());
        let names: Vec<_> = formats.iter().map(|f| PossibleValue::new(f.name())).collect();
        Some(Box::new(names.into_iter().chain(self.more.iter().copied().map(PossibleValue::new))))
    }
}
