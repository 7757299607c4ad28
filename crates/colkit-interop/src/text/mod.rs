//! What formats of records in text have in common: CSV and NDJSON.
//!
//! Such a file says nothing about its columns or its length, so opening one reads it all, once (`open`), and notes a
//! checkpoint every few MiB (`index`). From then on it is a table like any other (`table`): the pieces between
//! checkpoints are read in parallel (`rows`). A format says what a record is, twice: a [`Surveyor`] looks at records
//! when their types are not known yet, a [`RowReader`] makes arrays of them.

mod excerpt;
mod index;
mod open;
mod output;
mod rows;
mod table;
mod window;

pub(crate) use excerpt::{Excerpt, Fault, Parsed, column_label, lines};
pub(crate) use index::TextIndex;
pub(crate) use open::{Pass, Surveyor};
pub(crate) use output::{TextOutput, refuse_all};
pub(crate) use rows::{Progress, RowReader};
pub(crate) use table::{Records, TextTable};

use colkit_core::Limits;

/// In what pieces files are read. Results do not depend on it; tests make the pieces tiny to prove that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pieces {
    /// Bytes asked for at a time while opening.
    pub chunk: u64,
    /// Bytes between checkpoints, at least.
    pub checkpoint: u64,
}

impl Default for Pieces {
    fn default() -> Self {
        Pieces { chunk: 4 << 20, checkpoint: 4 << 20 }
    }
}

/// What a UTF-8 file may start with.
pub(crate) const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// Bytes of a record at most: positions within one are kept in 31 bits, and its text must fit an array.
const RECORD_BYTES: u64 = 1 << 30;

/// The part of the memory that one record may have: its text is held while it is fetched, cut, converted and printed.
const RECORD_SHARE: u64 = 4;

/// How long a record may be.
pub(crate) fn record_limit(limits: &Limits) -> u64 {
    limits.value_bytes.min(RECORD_BYTES).min(limits.memory / RECORD_SHARE)
}
