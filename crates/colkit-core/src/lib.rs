//! The vocabulary of colkit.
//!
//! A [`Format`] says which bytes it needs and what they mean; a host fetches them from a [`Source`]; out come a
//! [`Table`] and its record batches. Everything else only ever talks to those words.
//!
//! Formats do no I/O: they are [`Machine`]s that ask for byte ranges. [`TableFile`] is an open file driven by blocking
//! reads and threads; with the feature `object-store`, [`drive::store::Remote`] runs the same machines over a store. Both
//! scan with a [`Scanner`].

#[cfg(feature = "fs")]
mod beneath;
pub mod cells;
#[cfg(feature = "conformance")]
pub mod conformance;
mod decimal;
pub mod drive;
mod encoded;
mod error;
mod file;
mod format;
pub mod json;
mod lanes;
mod layout;
mod limits;
mod machine;
pub mod memory;
mod names;
mod pick;
pub mod plan;
pub mod pool;
mod predicate;
mod range;
#[cfg(feature = "fs")]
mod rights;
mod scanner;
mod selection;
mod sink;
mod source;
mod table;
#[cfg(feature = "fs")]
mod temporary;
#[cfg(feature = "fs")]
mod there;
#[cfg(feature = "fs")]
mod tree;
mod value;
mod values;

pub use decimal::Decimal;
pub use drive::blocking::Batches;
pub use error::{Class, Error, Result};
pub use file::{TableFile, recognise, recognition};
pub use format::{Format, Nulls, ReadOptions, TableWriter, Types, WriteOptions, WriteSummary, available_threads};
pub use layout::{ColumnRegions, Layout, Region, RegionKind};
pub use limits::Limits;
pub use machine::{BatchMachine, Boxed, Machine, Step, ready};
pub use names::{ColumnNames, column_index, first_repeated, make_unique, unique_names};
pub use pick::{check_rows, pick, spans};
pub use predicate::{BoundPredicate, Comparison, Literal, Op, Predicate};
pub use range::{ByteRange, coalesce};
pub use scanner::{Ahead, Next, Rows, Scanner, Task};
pub use selection::Selection;
#[cfg(feature = "fs")]
pub use sink::FileSink;
pub use sink::{Existing, MemorySink, Sink, StreamSink};
#[cfg(feature = "fs")]
pub use source::FileSource;
#[cfg(feature = "mmap")]
pub use source::MappedSource;
pub use source::{Counting, ReadCount, Source};
pub use table::{
    Checksums, ColumnRef, ColumnStatistics, Finding, Lane, Late, Projection, RowFilter, Scan, Split, Table, Verified,
};
#[cfg(feature = "fs")]
pub use temporary::FolderSink;
#[cfg(feature = "fs")]
pub use there::already_there;
#[cfg(feature = "fs")]
pub use tree::{Attributes, TreeSink};
pub use value::Value;
pub use values::check_values;
