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
mod describe;
pub mod encoding;
mod format;
mod nulls;
mod packed;
mod prove;
mod prune;
mod read;
mod rows;
pub mod schema;
mod seal;
mod table;
mod trust;
mod v20;
mod v21;
mod values;
mod write;

pub use describe::{ColumnSummary, PageEntry};
pub use format::Lance;
pub use rows::Rows;
pub use table::LanceTable;
pub use write::{LanceWriteOptions, Prefer};
