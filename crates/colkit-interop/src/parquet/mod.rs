//! Parquet: row groups of column chunks of pages, and a footer that says where everything is.
//!
//! ```text
//! "PAR1" | column chunks, row group after row group | [page index] [bloom filters] | footer (Thrift)
//!        | u32 length of the footer | "PAR1"
//! ```
//!
//! The footer and the page index are read when the file is opened, and every place they name is checked against the
//! file (`open`). Row groups, and with a page index single pages, that a condition rules out are left out (`prune`).
//! What is read is planned from the same numbers (`plan`); the pages themselves are decoded by the parquet crate's
//! push decoder, which asks for ranges as our machines do (`column`). Structures are checked before it reads them
//! (`thrift`, `depth`), and so is how much memory pages will take (`size`, `delta`). What we write has a checksum for every byte (`checksums`, `pages`).

mod checksums;
mod column;
mod delta;
mod depth;
mod open;
mod pages;
mod plan;
mod prune;
mod size;
mod table;
mod thrift;
mod types;
mod write;

use arrow::datatypes::{DataType, SchemaRef};
use colkit_core::{Boxed, Format, ReadOptions, Result, Sink, Table, TableWriter, WriteOptions};
use std::sync::Arc;

/// How pages are compressed when writing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ParquetCompression {
    /// Not at all.
    None,
    /// Snappy: what every reader knows.
    Snappy,
    /// Zstandard, level 3 unless told otherwise.
    #[default]
    Zstd,
    /// LZ4 blocks (`LZ4_RAW`).
    Lz4,
    /// Gzip, level 6 unless told otherwise.
    Gzip,
    /// Brotli, level 5 unless told otherwise.
    Brotli,
}

/// Apache Parquet.
#[derive(Clone, Copy, Debug, Default)]
pub struct Parquet {
    /// How to write.
    pub compression: ParquetCompression,
}

/// At the start and at the end of a file.
const MAGIC: &[u8] = b"PAR1";

/// The same, if the footer is encrypted.
const ENCRYPTED_MAGIC: &[u8] = b"PARE";

impl Format for Parquet {
    fn name(&self) -> &'static str {
        "parquet"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["parquet", "pq"]
    }

    fn sniff(&self, head: &[u8], tail: &[u8]) -> bool {
        let is_magic = |bytes: Option<&[u8]>| matches!(bytes, Some(m) if m == MAGIC || m == ENCRYPTED_MAGIC);
        is_magic(head.get(..4)) || (head.is_empty() && is_magic(tail.last_chunk::<4>().map(|m| m.as_slice())))
    }

    fn open(&self, size: u64, options: &ReadOptions) -> Boxed<Arc<dyn Table>> {
        open::open(size, options)
    }

    fn stores(&self, data_type: &DataType) -> bool {
        write::stores(data_type)
    }

    fn keeps_metadata(&self) -> bool {
        true
    }

    fn writer(&self, schema: SchemaRef, sink: Box<dyn Sink>, options: &WriteOptions) -> Result<Box<dyn TableWriter>> {
        Ok(Box::new(write::ParquetWriter::new(schema, sink, self.compression, options)?))
    }
}
