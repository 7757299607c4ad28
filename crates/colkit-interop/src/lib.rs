//! Other people's formats behind colkit's traits: CSV and TSV, NDJSON, Arrow IPC, Parquet.

#![forbid(unsafe_code)]

mod claims;
pub mod csv;
mod footer;
mod guard;
pub mod ipc;
pub mod ndjson;
pub mod parquet;
mod parts;
mod regions;
mod sink;
mod text;

pub use csv::{CsvFormat, CsvOptions, parse_schema};
pub use guard::inside_decoder;
pub use ipc::{ArrowFile, ArrowStream, IpcCompression};
pub use ndjson::{NdjsonFormat, NdjsonOptions};
pub use parquet::{Parquet, ParquetCompression};

/// The examples of the README, as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
