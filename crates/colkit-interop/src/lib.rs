//! Other people's formats behind colkit's traits: CSV and TSV, NDJSON, Arrow IPC, Parquet.

#![forbid(unsafe_code)]

#[cfg(any(feature = "arrow-ipc", feature = "parquet"))]
mod claims;
#[cfg(feature = "text")]
pub mod csv;
#[cfg(any(feature = "arrow-ipc", feature = "parquet"))]
mod decoder_panics;
#[cfg(any(feature = "arrow-ipc", feature = "parquet"))]
mod footer;
#[cfg(feature = "arrow-ipc")]
pub mod ipc;
#[cfg(feature = "text")]
pub mod ndjson;
#[cfg(feature = "parquet")]
pub mod parquet;
#[cfg(any(feature = "arrow-ipc", feature = "parquet", feature = "text"))]
#[cfg_attr(not(feature = "parquet"), allow(dead_code, reason = "the others need only a part of it"))]
mod parts;
#[cfg(any(feature = "arrow-ipc", feature = "parquet"))]
mod regions;
#[cfg(any(feature = "arrow-ipc", feature = "parquet"))]
mod sink;
#[cfg(feature = "text")]
mod text;

#[cfg(feature = "text")]
pub use csv::{CsvFormat, CsvOptions, parse_schema};
#[cfg(any(feature = "arrow-ipc", feature = "parquet"))]
pub use decoder_panics::inside_decoder;
#[cfg(feature = "arrow-ipc")]
pub use ipc::{ArrowFile, ArrowStream, IpcCompression};
#[cfg(feature = "text")]
pub use ndjson::{NdjsonFormat, NdjsonOptions};
#[cfg(feature = "parquet")]
pub use parquet::{Parquet, ParquetCompression};

/// The examples of the README, as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
