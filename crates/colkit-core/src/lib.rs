//! The core of colkit: the traits that formats implement, the scan engine, and the drivers that do I/O.
//!
//! A [`Format`] requests byte ranges and decodes them; a driver fetches them from a [`Source`]; the result is a
//! [`Table`] and its record batches. Everything else is built on these.
//!
//! Formats do no I/O: they are [`Machine`]s that request byte ranges. [`TableFile`] is an open file with the blocking
//! driver; with the feature `object-store`, [`drive::store::Remote`] runs the same machines over an object store. Both
//! scan with a [`Scanner`].

mod attributes;
pub mod cells;
pub mod codes;
#[cfg(feature = "conformance")]
pub mod conformance;
pub mod coroutine;
mod decimal;
pub mod drive;
mod encoded;
mod error;
mod error_wire;
mod file;
#[cfg(feature = "fs")]
mod folder;
mod format;
mod hint;
pub mod json;
mod lanes;
mod layout;
mod limits;
mod machine;
pub mod memory;
mod names;
mod objects;
#[cfg(feature = "fs")]
mod output_path;
#[cfg(feature = "fs")]
mod permissions;
pub mod plan;
pub mod pool;
mod predicate;
mod range;
mod scanner;
mod select_rows;
mod selection;
mod sink;
mod slots;
mod source;
mod stop;
mod table;
#[cfg(feature = "fs")]
mod temporary;
#[cfg(feature = "fs")]
mod tree;
mod value;
mod values;
mod views;

pub use attributes::Attributes;
pub use decimal::Decimal;
pub use drive::blocking::Batches;
pub use error::{Class, Error, REPORT_TO, Result};
pub use file::{TableFile, recognise, recognition};
pub use format::{
    Format, Nulls, ReadOptions, TableWriter, Types, WriteOptions, WriteSummary, available_threads, check_batch,
};
pub use hint::{Hint, Setting};
pub use lanes::join_lanes;
pub use layout::{ColumnRegions, Layout, PluginNeed, PluginState, Region, RegionKind};
pub use limits::Limits;
pub use machine::{BatchMachine, Boxed, Machine, Step, ready};
pub use names::{ColumnNames, column_index, first_repeated, make_unique, unique_names};
pub use objects::{Object, ObjectPart, Objects};
#[cfg(feature = "fs")]
pub use output_path::already_exists;
pub use predicate::{BoundPredicate, Comparison, Literal, Op, Predicate, ZoneMap, with_seconds};
pub use range::{ByteRange, coalesce, merge_overlapping};
pub use scanner::{Next, ReadAhead, Rows, Scanner, Task};
pub use select_rows::{blocks_of, check_rows, keep_rows, select_rows, spans};
pub use selection::Selection;
#[cfg(feature = "fs")]
pub use sink::FileSink;
pub use sink::{Existing, MemorySink, Sink, StreamSink};
pub use slots::{Slots, SlotsSource};
#[cfg(feature = "mmap")]
pub use source::MappedSource;
pub use source::{Counting, ReadCount, Source};
#[cfg(feature = "fs")]
pub use source::{FileSource, FolderSource};
pub use stop::Stop;
pub use table::{
    Checksums, ColumnRef, ColumnStatistics, Finding, Lane, LateMaterialization, Projection, RowFilter, Scan, Split,
    Table, ValueTest, Verified,
};
#[cfg(feature = "fs")]
pub use temporary::FolderSink;
#[cfg(feature = "fs")]
pub use tree::TreeSink;
pub use value::Value;
pub use values::check_values;
pub use views::with_views;

/// The examples of the README, as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
