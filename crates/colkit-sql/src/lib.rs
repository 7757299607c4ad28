//! SQL over columnar files: colkit's formats as [DataFusion](datafusion) tables.
//!
//! ```text
//! query       one query, in a session of its own
//! session     sessions that know colkit's formats and stores; file names as tables
//! given       tables that a session has instead of all files
//! statements  parses text into statements, within limits
//! dialect     rewrites statements of other dialects to what DataFusion can plan
//! plan        plans statements
//! table_functions  files with options: csv('x.csv', delimiter => ';')
//! json        JSON in text columns
//! date_diff   boundaries between two moments
//! table       the files behind a table name
//! format      schemas and statistics of files, for planning
//! source      projection and filter pushdown
//! opener      reads the splits of a partition
//! prune       translates filters to predicates that prune splits
//! literals    exact comparison with numbers, dates and times
//! lists       IN lists with SQL's null semantics
//! arithmetic  integer arithmetic that does not wrap around
//! sum         sums that do not wrap around
//! joins       semi and anti joins without quadratic cost
//! result_size  functions whose results could use up all memory
//! open_files  cache of open files
//! parts       tables and scans in parts, to be sent elsewhere
//! place       which files a name stands for
//! files_table  the files of a place as one table
//! spill       what does not fit into memory
//! files       the files that a query reads
//! explain     what a query planned to read and what it read
//! ```
//!
//! [`query()`] runs one query. [`ColkitSession::with_colkit`] adds colkit's tables to any `SessionContext`; [`SessionOptions`]
//! creates one with a memory limit, spilling and object stores.

#![forbid(unsafe_code)]

mod arithmetic;
mod date_diff;
mod dialect;
mod error;
mod explain;
mod files;
mod files_table;
mod format;
mod given;
mod joins;
mod json;
mod lists;
mod literals;
mod metrics;
mod open_files;
mod opener;
mod parts;
mod place;
mod plan;
mod prune;
mod query;
mod result_size;
mod session;
mod source;
mod spill;
mod splits;
mod statements;
mod statistics;
mod sum;
mod syntax_error;
mod table;
mod table_functions;

pub use datafusion;
pub use error::plain;
pub use explain::{TableRead, explain, read_of};
pub use files::{files_at, files_of};
pub use format::ColkitFormat;
pub use given::GivenTable;
pub use literals::approximate_numbers;
pub use parts::{FilePool, OpenByWords, OpenWords, PlaceParts, TableParts};
pub use plan::{Copy, Planned, plan};
pub use query::query;
pub use session::{Adapt, ColkitSession, SessionOptions};
pub use source::ColkitSource;
pub use splits::{FileSplits, planned_splits};
pub use statements::{STACK_BYTES, statements};
pub use table::ColkitTable;
pub use table_functions::{OpenWith, QueryOptions};

/// The examples of the README, as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
