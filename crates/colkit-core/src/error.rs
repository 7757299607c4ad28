//! The error type of all crates. It says where an error happened and what to do about it.
//!
//! An [`Error`] has a class to match on, a stable code (`bad_magic`, `value_out_of_range`, ...) and a location: file,
//! byte offset, part of the file. It is boxed, so that a `Result` stays as small as a pointer.

use crate::Hint;
use arrow::error::ArrowError;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Where to report a bug.
pub const REPORT_TO: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/issues");

/// The result of everything in colkit.
pub type Result<T> = std::result::Result<T, Error>;

/// What kind of trouble it is: decides what a caller can do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Class {
    /// The file breaks the rules of its own format.
    Corrupt,
    /// The file is valid, or may be, but says something this version does not know.
    Unsupported,
    /// Doing it would exceed a configured limit.
    Limit,
    /// The data given for writing or conversion cannot be represented as asked.
    Data,
    /// The request itself is wrong: an unknown column, an impossible range, a bad option.
    Request,
    /// The operating system or the store failed.
    Io,
    /// A bug in colkit.
    Internal,
}

impl Class {
    /// All of them.
    pub const ALL: [Class; 7] =
        [Class::Request, Class::Data, Class::Corrupt, Class::Unsupported, Class::Limit, Class::Io, Class::Internal];

    /// The name used in machine-readable output.
    pub fn name(self) -> &'static str {
        match self {
            Class::Corrupt => "corrupt",
            Class::Unsupported => "unsupported",
            Class::Limit => "limit",
            Class::Data => "data",
            Class::Request => "request",
            Class::Io => "io",
            Class::Internal => "internal",
        }
    }
}

/// An error that locates itself. Build one with the constructor of its class, then add what is known:
///
/// ```
/// use colkit_core::Error;
/// let e = Error::corrupt("bad_magic", "expected \"GPP1\", found \"GPPX\"").at(0).part("header").file("t.gppcol");
/// assert_eq!(e.code(), "bad_magic");
/// assert_eq!(e.to_string(), "t.gppcol: at byte 0: header: expected \"GPP1\", found \"GPPX\" [bad_magic]");
/// ```
pub struct Error(Box<Inner>);

const _: () = assert!(size_of::<Error>() <= 16);

pub(crate) struct Inner {
    pub class: Class,
    pub code: &'static str,
    pub message: String,
    pub file: Option<String>,
    pub offset: Option<u64>,
    pub part: Option<String>,
    pub hint: Option<Hint>,
    pub source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// An error of any class.
    pub fn new(class: Class, code: &'static str, message: impl Into<String>) -> Self {
        Error(Box::new(Inner {
            class,
            code,
            message: message.into(),
            file: None,
            offset: None,
            part: None,
            hint: None,
            source: None,
        }))
    }

    /// The file breaks its format's rules.
    pub fn corrupt(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(Class::Corrupt, code, message)
    }

    /// The file asks for something this version does not know.
    pub fn unsupported(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(Class::Unsupported, code, message)
    }

    /// A limit would be exceeded.
    pub fn limit(what: impl fmt::Display, asked: impl fmt::Display, allowed: impl fmt::Display) -> Self {
        Self::new(Class::Limit, "limit_exceeded", format!("{what} would need {asked}, the limit is {allowed}"))
    }

    /// The data cannot be written as asked.
    pub fn data(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(Class::Data, code, message)
    }

    /// The request is wrong.
    pub fn request(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(Class::Request, code, message)
    }

    /// The operating system or a store failed.
    pub fn io(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(Class::Io, code, message)
    }

    /// A bug in colkit: what happened cannot happen, whatever the file, the data and the request.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(Class::Internal, "internal_error", message)
            .hint(format!("this is a bug in colkit; please report it at {REPORT_TO}"))
    }

    /// A thread that panicked.
    pub fn panicked(what: &str) -> Self {
        Self::internal(format!("{what} panicked"))
    }

    /// The file's byte offset at which the trouble lies. The first (innermost) offset given stays.
    pub fn at(mut self, offset: u64) -> Self {
        self.0.offset.get_or_insert(offset);
        self
    }

    /// The offset was one in a part of the file that begins at `start`.
    pub fn moved(mut self, start: u64) -> Self {
        self.0.offset = self.0.offset.map(|offset| offset.saturating_add(start));
        self
    }

    /// The part of the file. An outer part is put in front of an inner one.
    pub fn part(mut self, part: impl Into<String>) -> Self {
        let outer = part.into();
        self.0.part = Some(match self.0.part.take() {
            Some(inner) => format!("{outer}: {inner}"),
            None => outer,
        });
        self
    }

    /// The file's name. The first one given stays.
    pub fn file(mut self, file: impl Into<String>) -> Self {
        self.0.file.get_or_insert_with(|| file.into());
        self
    }

    /// What the user can do about it. The first hint given stays.
    pub fn hint(mut self, hint: impl Into<Hint>) -> Self {
        self.0.hint.get_or_insert_with(|| hint.into());
        self
    }

    /// The error below this one.
    pub fn caused_by(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// The same error once more, for somebody else to carry; without the error below it.
    pub fn again(&self) -> Self {
        let Inner { class, code, message, file, offset, part, hint, source: _ } = self.0.as_ref();
        Error(Box::new(Inner {
            class: *class,
            code,
            message: message.clone(),
            file: file.clone(),
            offset: *offset,
            part: part.clone(),
            hint: hint.clone(),
            source: None,
        }))
    }

    pub(crate) fn inner(&self) -> &Inner {
        &self.0
    }

    /// What kind of trouble.
    pub fn class(&self) -> Class {
        self.0.class
    }

    /// The stable name of this error, one of [`codes::ALL`](crate::codes::ALL).
    pub fn code(&self) -> &'static str {
        self.0.code
    }

    /// The message alone, without place and hint.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The byte offset in the file, where there is one.
    pub fn offset(&self) -> Option<u64> {
        self.0.offset
    }

    /// The part of the file, where known.
    pub fn part_name(&self) -> Option<&str> {
        self.0.part.as_deref()
    }

    /// The file's name, where known.
    pub fn file_name(&self) -> Option<&str> {
        self.0.file.as_deref()
    }

    /// What to do about it, where known.
    pub fn advice(&self) -> Option<&Hint> {
        self.0.hint.as_ref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let e = &self.0;
        if let Some(file) = &e.file {
            write!(f, "{file}: ")?;
        }
        if let Some(offset) = e.offset {
            write!(f, "at byte {offset}: ")?;
        }
        if let Some(part) = &e.part {
            write!(f, "{part}: ")?;
        }
        write!(f, "{} [{}]", e.message, e.code)?;
        if let Some(hint) = &e.hint {
            write!(f, "; {hint}")?;
        }
        Ok(())
    }
}

/// `Error` and the error as JSON. Some libraries pass errors of others on as `Debug` text; from this one the error can be read back.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let json = serde_json::to_string(self).map_err(|_| fmt::Error)?;
        write!(f, "Error {json}")
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|e| e as &(dyn std::error::Error + 'static))
    }
}

/// An error of ours that went through somebody else's code comes back as it was.
impl From<std::io::Error> for Error {
    fn from(e: std::io::Error) -> Self {
        use std::io::ErrorKind;
        let e = match e.downcast::<Error>() {
            Ok(ours) => return ours,
            Err(e) => e,
        };
        let what = e.to_string();
        match e.kind() {
            ErrorKind::NotFound => Error::io("not_found", what),
            ErrorKind::PermissionDenied => Error::io("not_allowed", what),
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Error::io("disk_full", what),
            ErrorKind::TimedOut => Error::io("timed_out", what),
            _ => Error::io("io", what),
        }
        .caused_by(e)
    }
}

/// An arrow kernel refused: the data did not fit what was asked of it. An error of ours that arrow carried comes back as it
/// was.
impl From<ArrowError> for Error {
    fn from(e: ArrowError) -> Self {
        let other = |e: ArrowError| Error::data("arrow_error", e.to_string()).caused_by(e);
        match e {
            ArrowError::IoError(_, e) => e.into(),
            ArrowError::ExternalError(inner) => match inner.downcast::<Error>() {
                Ok(ours) => *ours,
                Err(inner) => other(ArrowError::ExternalError(inner)),
            },
            e => other(e),
        }
    }
}

/// For readers of record batches, whose errors are arrow's.
impl From<Error> for ArrowError {
    fn from(e: Error) -> Self {
        ArrowError::ExternalError(Box::new(e))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_carries_place_and_advice() {
        let e = Error::limit("column 3", "9 GiB", "512 MiB").hint("read less").part("scan").file("a.cff").at(7);
        assert_eq!(
            e.to_string(),
            "a.cff: at byte 7: scan: column 3 would need 9 GiB, the limit is 512 MiB [limit_exceeded]; read less"
        );
        assert_eq!(e.class(), Class::Limit);
    }

    #[test]
    fn arrow_carries_our_errors_unchanged() {
        let carried = ArrowError::from(Error::corrupt("bad_magic", "m").at(5).file("t.cff"));
        let back = Error::from(carried);
        assert_eq!((back.code(), back.offset(), back.file_name()), ("bad_magic", Some(5), Some("t.cff")));
        let theirs = Error::from(ArrowError::from_external_error("elsewhere".into()));
        assert_eq!((theirs.code(), theirs.message()), ("arrow_error", "External error: elsewhere"));
    }

    #[test]
    fn inner_places_win_and_parts_nest() {
        let e = Error::corrupt("x", "m").at(5).part("block").at(0).part("column 2");
        assert_eq!(e.offset(), Some(5));
        assert_eq!(e.part_name(), Some("column 2: block"));
        assert_eq!(e.moved(10).offset(), Some(15));
    }

    #[test]
    fn errors_of_ours_survive_other_peoples_code() {
        let there_and_back = Error::from(std::io::Error::other(Error::corrupt("bad_magic", "m").at(3)));
        assert_eq!((there_and_back.code(), there_and_back.offset()), ("bad_magic", Some(3)));
        let full = || std::io::Error::from(std::io::ErrorKind::StorageFull);
        assert_eq!(Error::from(full()).code(), "disk_full");
        let through_arrow = Error::from(ArrowError::IoError(String::new(), full()));
        assert_eq!((through_arrow.class(), through_arrow.code()), (Class::Io, "disk_full"));
    }

    #[test]
    fn a_bug_asks_for_a_report() {
        let e = Error::internal("a column belongs to no lane");
        assert_eq!(e.class(), Class::Internal);
        assert!(e.to_string().ends_with(&format!("please report it at {REPORT_TO}")), "{e}");
    }
}
