//! Read, write, convert, compare and verify columnar files: Lance, Parquet, Arrow, AT-1, CSV, NDJSON and more. Files are
//! recognised by content, only what is asked for is read, and rows are Arrow [record batches](arrow::record_batch).
//!
//! # Scan some columns, where a condition holds
//!
//! ```
//! # let folder = tempfile::tempdir()?;
//! # std::env::set_current_dir(&folder)?;
//! # std::fs::write("trades.csv", "sym,price\nBTC,64000.5\nETH,3100.25\nSOL,99.5\nADA,0.4\n")?;
//! # colkit::convert("trades.csv", "trades.lance")?;
//! let file = colkit::open("trades.lance")?;
//! for batch in file.scan().columns(["sym", "price"]).filter("price > 100").batches()? {
//!     println!("{} rows", batch?.num_rows());
//! }
//! # Ok::<(), colkit::Error>(())
//! ```
//!
//! [`ScanBuilder`] has more: row ranges, batch sizes, memory. [`Batches`] is a
//! [`RecordBatchReader`](arrow::record_batch::RecordBatchReader), so it goes wherever arrow takes one. [`OpenOptions`] sets
//! formats, limits and threads.
//!
//! # Take rows
//!
//! ```
//! # let folder = tempfile::tempdir()?;
//! # std::env::set_current_dir(&folder)?;
//! # std::fs::write("trades.csv", "sym,price\nBTC,64000.5\nETH,3100.25\nSOL,99.5\nADA,0.4\n")?;
//! # colkit::convert("trades.csv", "trades.lance")?;
//! # use colkit::arrow::util::pretty::pretty_format_batches;
//! let file = colkit::open("trades.lance")?;
//! let rows = file.take([3, 0]).columns(["sym", "price"]).batch()?;
//! println!("{}", pretty_format_batches(&[rows])?);
//! # Ok::<(), colkit::Error>(())
//! ```
//!
//! # Write Arrow batches
//!
//! ```
//! # let folder = tempfile::tempdir()?;
//! # std::env::set_current_dir(&folder)?;
//! # use colkit::arrow::array::{ArrayRef, Float64Array, StringArray};
//! # use colkit::arrow::record_batch::{RecordBatch, RecordBatchIterator};
//! # use std::sync::Arc;
//! let sym: ArrayRef = Arc::new(StringArray::from(vec!["BTC", "ETH", "SOL", "ADA"]));
//! let price: ArrayRef = Arc::new(Float64Array::from(vec![64000.5, 3100.25, 99.5, 0.4]));
//! let batch = RecordBatch::try_from_iter([("sym", sym), ("price", price)])?;
//! let reader = RecordBatchIterator::new([Ok(batch.clone())], batch.schema());
//! let written = colkit::write("trades.lance", reader)?;
//! println!("{} rows, {} bytes", written.rows, written.bytes);
//! # Ok::<(), colkit::Error>(())
//! ```
//!
//! The extension names the format. A file that is there is not overwritten, unless [`CreateOptions`] says so.
//!
//! # Convert
//!
//! ```
//! # let folder = tempfile::tempdir()?;
//! # std::env::set_current_dir(&folder)?;
//! # std::fs::write("trades.csv", "sym,price\nBTC,64000.5\nETH,3100.25\nSOL,99.5\nADA,0.4\n")?;
//! # colkit::convert("trades.csv", "trades.lance")?;
//! let converted = colkit::convert("trades.lance", "trades.parquet")?;
//! println!("{} rows, {} bytes", converted.rows, converted.output_bytes);
//! # Ok::<(), colkit::Error>(())
//! ```
//!
//! [`Conversion`] takes several inputs, columns and filters.
//!
#![cfg_attr(feature = "object-store", doc = include_str!("store.md"))]
//! # More
//!
//! - SQL is the crate `colkit-sql`: this one never depends on a query engine.
//! - [`diff`] compares two tables, [`verify`] checks a file from the first byte to the last, [`salvage`] reads what is left of a
//!   damaged one.
//! - [`Registry`] holds the formats; a format of your own implements [`Format`].
//! - [`core`] is what all this is made of: the traits of formats, sources and sinks, and the scan engine.
//!
//! Nothing here prints, and nothing here keeps a table in memory. What files from strangers can do is bounded by [`Limits`].

#![forbid(unsafe_code)]

mod columns;
mod compressed;
mod convert;
mod create;
#[cfg(all(feature = "fs", feature = "lance"))]
mod dataset;
mod diff;
#[cfg(all(feature = "text", feature = "fs"))]
mod encoding;
mod fidelity;
#[cfg(feature = "fs")]
mod glob;
pub mod hosted;
mod input;
#[cfg(feature = "fs")]
mod listing;
mod narrow;
mod not_built;
mod open;
mod pattern;
#[cfg(feature = "fs")]
mod place;
mod registry;
#[cfg(feature = "object-store")]
mod remote;
pub mod report;
mod salvage;
mod scan;
mod select;
mod several;
mod stats;
#[cfg(feature = "fs")]
mod stream_start;
mod target;
mod text;
mod type_name;
mod verify;
mod whole_lines;
mod write;

pub use arrow;
#[cfg(feature = "at1")]
pub use colkit_at1 as at1;
pub use colkit_core as core;
#[cfg(feature = "mmap")]
pub use colkit_core::MappedSource;
pub use colkit_core::cells::{DateFormat, Inference, NumberSpelling, Spelling};
pub use colkit_core::plan::Planned;
pub use colkit_core::{
    ByteRange, Checksums, Class, ColumnRegions, Error, Existing, Finding, Format, Hint, Layout, Limits, MemorySink,
    Nulls, Op, PluginNeed, PluginState, Predicate, REPORT_TO, ReadCount, Region, RegionKind, Result, Setting, Sink,
    Source, Stop, StreamSink, TableFile, TableWriter, Types, Value, Verified, WriteOptions, WriteSummary,
    available_threads, codes,
};
#[cfg(feature = "fs")]
pub use colkit_core::{FileSink, FileSource};
#[cfg(any(feature = "arrow-ipc", feature = "parquet", feature = "text"))]
pub use colkit_interop as interop;
/// Encodings of Lance files as WebAssembly modules.
#[cfg(feature = "plugins")]
pub use colkit_plugin as plugin;
#[cfg(feature = "object-store")]
pub use colkit_store as store;
/// Lance files, with what is particular to them.
#[cfg(feature = "lance")]
pub mod lance {
    pub use colkit_lance::container::Version;
    pub use colkit_lance::encoding;
    pub use colkit_lance::{EncodingSet, Lance, LanceWriteOptions, Prefer};
}
pub use columns::ColumnName;
pub use compressed::Compression;
#[cfg(feature = "fs")]
pub use convert::convert;
pub use convert::{Conversion, ConversionSummary, NextSink, Prepared};
pub use create::CreateOptions;
#[cfg(all(feature = "fs", feature = "lance"))]
pub use dataset::{
    Cleanup, CompactOptions, CompactSummary, DatasetMode, DatasetSummary, DatasetVersion, DatasetWriteOptions,
    DeleteSummary, Removable, Tag, cleanup, compact, delete_rows, is_dataset, remove_tag, restore, set_tag, tags,
    versions, write_dataset,
};
pub use diff::{ByKey, CellDifference, DiffOptions, Difference, Key, diff};
#[cfg(all(feature = "text", feature = "fs"))]
pub use encoding::TextEncoding;
pub use fidelity::without_views;
pub use input::{DatasetOptions, Input};
#[cfg(feature = "object-store")]
pub use listing::is_of_table;
#[cfg(feature = "fs")]
pub use listing::{Listed, key as key_of_folder};
pub use open::{OpenFile, OpenOptions};
pub use pattern::Pattern;
pub use registry::Registry;
#[cfg(feature = "object-store")]
pub use remote::{BatchStream, RemoteFile};
pub use salvage::{Damage, Lost, Salvage, salvage};
pub use scan::{Batches, Filter, ScanBuilder, TakeBuilder};
pub use several::wider_fields;
pub use stats::{Cell, ColumnStats, Count, Gathering, Histogram, Lengths, Quantiles, TableStats, TopValues};
pub use target::target_format;
#[cfg(feature = "fs")]
pub use target::{check_target, create};
pub use text::{Quote, TextOptions};
pub use type_name::type_name;
pub use verify::{Verdict, verify};
#[cfg(feature = "fs")]
pub use write::write;

/// Opens the file at `path`, whatever known format it is in. A folder, or a pattern such as `part-*.csv`, is all its files as
/// one table.
#[cfg(feature = "fs")]
pub fn open(path: impl AsRef<std::path::Path>) -> Result<OpenFile> {
    OpenOptions::new().open(path)
}

/// The manifest that the name of a dataset stands for, a folder or a URL, perhaps with a version such as `trips.lance@3`; `None`
/// if it is no dataset. A manifest can be opened like a file, and is then the dataset at that version.
#[cfg(all(feature = "fs", feature = "lance"))]
pub fn dataset_manifest(name: &str) -> Result<Option<String>> {
    dataset::manifest(name)
}

/// Opens the object at a URL such as `s3://bucket/trades.lance`, whatever known format it is in.
///
/// Credentials come from the environment, as [`Stores`](store::Stores) says.
#[cfg(feature = "object-store")]
pub async fn open_url(url: &str) -> Result<RemoteFile> {
    OpenOptions::new().open_url(url).await
}

/// The examples of the README, as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
