//! NDJSON: one JSON object per line, each a row; or an array of objects, which is read the same way (`framing`).
//!
//! Files are read as `crate::text` says. Opening one checks every record, and every value adds to the shape of its column
//! (`open`, `shape`); reading makes arrays of the columns that are wanted (`rows`, `build`). Nothing is sampled, so the
//! types do not depend on the order of the records. The rules are in `docs/formats/ndjson.md`.

mod build;
mod cursor;
mod framing;
mod open;
mod rows;
mod shape;
mod write;

use crate::text::{BYTE_ORDER_MARK, Pieces};
use arrow::datatypes::{DataType, SchemaRef};
use colkit_core::{Boxed, Format, ReadOptions, Result, Sink, Table, TableWriter, WriteOptions};
use std::sync::Arc;

/// How NDJSON is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NdjsonOptions {
    /// Types of some columns, instead of what their values suggest.
    pub schema: Vec<(String, DataType)>,
    /// The columns, instead of all that the objects have: what is missing is null, what is not named is left out.
    pub columns: Option<Vec<(String, DataType)>>,
    /// Columns of `true` and `false` are bool. Set to false for targets that have no bool: then they are text.
    pub booleans: bool,
    /// Integer columns beyond 32 bits are integers, for targets that have wider ones, instead of float64 or text.
    pub integers64: bool,
    /// In what pieces files are read.
    #[doc(hidden)]
    pub pieces: Pieces,
}

impl Default for NdjsonOptions {
    fn default() -> Self {
        NdjsonOptions { schema: Vec::new(), columns: None, booleans: true, integers64: true, pieces: Pieces::default() }
    }
}

/// Newline-delimited JSON.
#[derive(Clone, Debug, Default)]
pub struct NdjsonFormat {
    /// How types are found.
    pub options: NdjsonOptions,
}

impl Format for NdjsonFormat {
    fn name(&self) -> &'static str {
        "ndjson"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["ndjson", "jsonl"]
    }

    fn sniff(&self, head: &[u8], tail: &[u8]) -> bool {
        looks_like_objects(head, tail)
    }

    fn has_magic(&self) -> bool {
        false
    }

    fn open(&self, size: u64, options: &ReadOptions) -> Boxed<Arc<dyn Table>> {
        open::open(self.options.clone(), size, options.limits.clone())
    }

    fn stores(&self, data_type: &DataType) -> bool {
        match data_type {
            DataType::Int32 | DataType::Float64 | DataType::Boolean | DataType::Utf8 => true,
            DataType::Int64 | DataType::UInt64 => self.options.integers64,
            DataType::List(item) => self.stores(item.data_type()),
            DataType::Struct(fields) => !fields.is_empty() && fields.iter().all(|f| self.stores(f.data_type())),
            _ => false,
        }
    }

    fn writer(&self, schema: SchemaRef, sink: Box<dyn Sink>, options: &WriteOptions) -> Result<Box<dyn TableWriter>> {
        Ok(Box::new(write::NdjsonWriter::new(schema, sink, options)?))
    }
}

/// Text whose first line with anything on it starts an object with a quoted name, or is `{}`; or an array of such objects. A
/// CSV header may start with a brace too, but not like that: a quote inside a cell that is not quoted is refused there.
pub(crate) fn looks_like_objects(head: &[u8], tail: &[u8]) -> bool {
    if tail.is_empty() {
        // Formats with a magic are asked first.
        return false;
    }
    let text = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head);
    let mut marks = text.iter().filter(|b| !matches!(b, b' ' | b'\t' | b'\r' | b'\n'));
    let first = marks.next();
    let is_array = first == Some(&b'[');
    let opened = if is_array { marks.next() } else { first };
    if is_array && opened == Some(&b']') {
        return marks.next().is_none();
    }
    opened == Some(&b'{') && matches!(marks.next(), Some(b'"' | b'}'))
}

#[cfg(test)]
mod tests {
    use super::looks_like_objects;

    #[test]
    fn objects_are_told_from_other_text() {
        assert!(looks_like_objects(b"{\"a\":1}\n", b"}\n"));
        assert!(looks_like_objects(b"\xEF\xBB\xBF\n { \"a\": 1}\n", b"}\n"));
        assert!(looks_like_objects(b"{}\n", b"{}\n"));
        assert!(looks_like_objects(b"[\n  {\n    \"a\": 1}]", b"]") && looks_like_objects(b"[ ]\n", b"]\n"));
        assert!(!looks_like_objects(b"{\"a\":1}\n", b""), "formats with a magic are asked first");
        for other in [&b"a,b\n"[..], b"[1,2]", b"[a],b\n", b"{a},b\n", b"\"{\",b", b""] {
            assert!(!looks_like_objects(other, b"x"));
        }
    }
}
