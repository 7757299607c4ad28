//! From a position in a buffer to what a person can find: line, column, byte offset.

use super::tokens::Fault;
use colkit_core::Error;

/// Where a buffer lies in the file. Lines are only counted when somebody asks.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub bytes: &'a [u8],
    /// The file's offset of the first byte.
    pub offset: u64,
    /// The line of the first byte, counted from 1.
    pub line: u64,
}

impl Place<'_> {
    /// The line of a position.
    pub fn line_of(&self, at: usize) -> u64 {
        self.line + lines(self.bytes.get(..at).unwrap_or(self.bytes))
    }

    /// The error, with where it is. `name` is the column's, by its position.
    pub(super) fn locate<'n>(&self, fault: Fault, name: impl Fn(usize) -> Option<&'n str>) -> Error {
        let line = self.line_of(fault.at);
        let part = match fault.column {
            None => format!("line {line}"),
            Some(column) => format!("line {line}, {}", column_label(column, name(column))),
        };
        fault.error.at(self.offset + fault.at as u64).part(part)
    }
}

/// A column as messages call it: by number, counted from 1, and by name.
pub(super) fn column_label(column: usize, name: Option<&str>) -> String {
    match name {
        Some(name) => format!("column {} ({name:?})", column + 1),
        None => format!("column {}", column + 1),
    }
}

/// The number of line feeds.
pub(super) fn lines(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}
