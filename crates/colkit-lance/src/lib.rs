//! The Lance file format, version 2 (`.lance`): container, schema, encodings of 2.0, 2.1 and 2.2, scans and random
//! access.
//!
//! [`Lance`] is the format as colkit knows formats. [`container`] is useful alone: it finds the byte ranges of any
//! column without knowing a single encoding. [`encoding`] is the registry through which encodings are added.

mod blob;
mod bloom;
mod bytes_at;
mod codec;
pub mod container;
mod coroutine;
pub mod dataset;
mod describe;
pub mod encoding;
#[cfg(feature = "extended-read")]
mod extended;
mod extensions;
mod format;
mod nulls;
mod packed;
mod prune;
mod read;
mod rows;
pub mod schema;
mod seal;
mod splits;
mod table;
mod v20;
mod v21;
mod values;
mod verify;
mod write;
mod zone_maps;

pub use describe::{ColumnSummary, PageEntry};
pub use format::Lance;
pub use rows::Rows;
pub use table::LanceTable;
pub use write::{EncodingSet, LanceWriteOptions, Prefer};

/// The examples of the README, as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
