//! One toolkit for columnar files: what a Rust program adds to its `Cargo.toml`.
//!
//! Everything speaks the words of [`colkit_core`], re-exported here. On top of them: the [`Registry`] of all formats,
//! [`open`] by content, [`Conversion`] from any format to any other, [`diff`] and [`verify`].
//!
//! ```no_run
//! let file = colkit::open("trades.cff")?;
//! println!("{} rows", file.row_count());
//! for batch in file.scan(&colkit::Scan::default())? {
//!     println!("{:?}", batch?);
//! }
//! # Ok::<(), colkit::Error>(())
//! ```
//!
//! Nothing here prints, and nothing here keeps a table in memory.

#![forbid(unsafe_code)]

mod absent;
mod columns;
mod convert;
mod diff;
mod fidelity;
mod input;
mod narrow;
mod open;
#[cfg(feature = "fs")]
mod place;
mod registry;
#[cfg(feature = "object-store")]
mod remote;
mod target;
mod text;
mod type_name;
mod verify;

pub use arrow;
#[cfg(feature = "at1")]
pub use colkit_at1 as at1;
#[cfg(feature = "mmap")]
pub use colkit_core::MappedSource;
#[cfg(feature = "fs")]
pub use colkit_core::{Attributes, FileSink, FileSource, FolderSink, TreeSink, already_there};
pub use colkit_core::{
    Batches, BoundPredicate, ByteRange, Checksums, Class, ColumnNames, ColumnRef, ColumnRegions, ColumnStatistics,
    Comparison, Counting, Decimal, Error, Existing, Finding, Format, Lane, Late, Layout, Limits, Literal, MemorySink,
    Nulls, Op, Predicate, Projection, ReadCount, ReadOptions, Region, RegionKind, Result, RowFilter, Scan, Scanner,
    Selection, Sink, Source, Split, StreamSink, Table, TableFile, TableWriter, Types, Value, Verified, WriteOptions,
    WriteSummary, available_threads, cells, coalesce, column_index, drive, json, make_unique, memory, plan, pool,
    recognise, recognition,
};
#[cfg(any(feature = "arrow-ipc", feature = "parquet", feature = "text"))]
pub use colkit_interop as interop;
#[cfg(feature = "object-store")]
pub use colkit_store as store;
/// Lance files, with what is particular to them.
#[cfg(feature = "lance")]
pub mod lance {
    pub use colkit_lance::container::Version;
    pub use colkit_lance::{Lance, Prefer, Writing};
}
pub use columns::ColumnName;
pub use convert::{Conversion, ConversionSummary, NextSink, Prepared, wider_fields};
pub use diff::{ByKey, CellDifference, DiffOptions, Difference, Key, diff};
pub use fidelity::without_views;
pub use input::Input;
pub use open::{NamedBatches, OpenFile, Opening};
pub use registry::Registry;
#[cfg(feature = "object-store")]
pub use remote::RemoteFile;
pub use target::target_format;
#[cfg(feature = "fs")]
pub use target::{check_target, create, same_file};
pub use text::TextReading;
pub use type_name::type_name;
pub use verify::{Verdict, verify};

/// Opens the file at `path`, whatever known format it is in.
#[cfg(feature = "fs")]
pub fn open(path: impl AsRef<std::path::Path>) -> Result<OpenFile> {
    Opening::default().open(&Input::path(path)?)
}
