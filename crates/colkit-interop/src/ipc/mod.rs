//! Arrow IPC: record batches as they lie in memory, in a file with an index at its end or in a stream.
//!
//! ```text
//! file    "ARROW1" 0 0 | message* | end | footer | i32 length of the footer | "ARROW1"
//! stream  message* | end
//! message ff ff ff ff | i32 length of the metadata | metadata (flatbuffer) | body
//! ```
//!
//! Opening either gives the same index: the schema, and for every record batch where each buffer of each column lies
//! (`index`). A file's footer says where its messages are (`open_file`); a stream is walked from message to message,
//! over the bodies (`open_stream`). A column is read by fetching its own buffers and nothing else, and handing them to
//! arrow's decoder under a message of our own that has only them in it (`column`).

mod column;
mod dictionaries;
mod endian;
mod index;
mod message;
mod open_file;
mod open_stream;
mod table;
mod write;

use arrow::datatypes::{DataType, SchemaRef};
use colkit_core::{Boxed, Format, ReadOptions, Result, Sink, Table, TableWriter, WriteOptions};
use std::sync::Arc;
use write::{IpcWriter, settings};

/// How buffers are compressed when writing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IpcCompression {
    /// Not at all: the file can be mapped into memory and used as it is.
    #[default]
    None,
    /// LZ4 frames.
    Lz4,
    /// Zstandard.
    Zstd,
}

/// Arrow IPC file, also known as Feather version 2.
#[derive(Clone, Copy, Debug, Default)]
pub struct ArrowFile {
    /// How to write.
    pub compression: IpcCompression,
}

/// Arrow IPC stream.
#[derive(Clone, Copy, Debug, Default)]
pub struct ArrowStream {
    /// How to write.
    pub compression: IpcCompression,
}

impl Format for ArrowFile {
    fn name(&self) -> &'static str {
        "arrow"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["arrow", "feather", "ipc"]
    }

    fn sniff(&self, head: &[u8], tail: &[u8]) -> bool {
        head.starts_with(message::MAGIC) || (head.is_empty() && tail.ends_with(message::MAGIC))
    }

    fn open(&self, size: u64, options: &ReadOptions) -> Boxed<Arc<dyn Table>> {
        open_file::open(size, options)
    }

    fn stores(&self, _: &DataType) -> bool {
        true
    }

    fn keeps_metadata(&self) -> bool {
        true
    }

    fn writer(&self, schema: SchemaRef, sink: Box<dyn Sink>, options: &WriteOptions) -> Result<Box<dyn TableWriter>> {
        Ok(Box::new(IpcWriter::file(schema, sink, settings(self.compression, options)?)?))
    }
}

impl Format for ArrowStream {
    fn name(&self) -> &'static str {
        "arrow-stream"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["arrows"]
    }

    fn sniff(&self, head: &[u8], _: &[u8]) -> bool {
        // The marker, then the length of the schema message: not negative, and a multiple of 8 as the format asks.
        matches!(head, [0xFF, 0xFF, 0xFF, 0xFF, a, _, _, d, ..] if a % 8 == 0 && *d < 0x80)
    }

    fn open(&self, size: u64, options: &ReadOptions) -> Boxed<Arc<dyn Table>> {
        open_stream::open(size, options)
    }

    fn stores(&self, _: &DataType) -> bool {
        true
    }

    fn keeps_metadata(&self) -> bool {
        true
    }

    fn writer(&self, schema: SchemaRef, sink: Box<dyn Sink>, options: &WriteOptions) -> Result<Box<dyn TableWriter>> {
        Ok(Box::new(IpcWriter::stream(schema, sink, settings(self.compression, options)?)?))
    }
}
