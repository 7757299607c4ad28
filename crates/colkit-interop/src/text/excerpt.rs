//! From a position in a buffer to what a person can find: line, column, byte offset.

use colkit_core::Error;

/// A part of a file's text. Lines are only counted when somebody asks.
#[derive(Clone, Copy)]
pub(crate) struct Excerpt<'a> {
    pub bytes: &'a [u8],
    /// The file's offset of the first byte.
    pub offset: u64,
    /// The line of the first byte, counted from 1.
    pub line: u64,
}

/// Something wrong at a position of an excerpt.
#[derive(Debug)]
pub(crate) struct Fault {
    pub at: usize,
    /// The position of the column, if it is one column's fault.
    pub column: Option<usize>,
    pub error: Error,
}

pub(crate) type Parsed<T> = Result<T, Fault>;

impl Fault {
    pub fn new(at: usize, error: Error) -> Self {
        Fault { at, column: None, error }
    }

    pub fn in_column(self, column: usize) -> Self {
        Fault { column: Some(column), ..self }
    }
}

impl Excerpt<'_> {
    /// The line of a position.
    pub fn line_of(&self, at: usize) -> u64 {
        self.line + lines(self.bytes.get(..at).unwrap_or(self.bytes))
    }

    /// The error, with where it is. `name` is the column's, by its position.
    pub fn locate<'n>(&self, fault: Fault, name: impl Fn(usize) -> Option<&'n str>) -> Error {
        let line = self.line_of(fault.at);
        let part = match fault.column {
            None => format!("line {line}"),
            Some(column) => format!("line {line}, {}", column_label(column, name(column))),
        };
        fault.error.at(self.offset + fault.at as u64).part(part)
    }
}

/// A column as messages call it: by number, counted from 1, and by name.
pub(crate) fn column_label(column: usize, name: Option<&str>) -> String {
    match name {
        Some(name) => format!("column {} ({name:?})", column + 1),
        None => format!("column {}", column + 1),
    }
}

/// The number of line feeds.
pub(crate) fn lines(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}
