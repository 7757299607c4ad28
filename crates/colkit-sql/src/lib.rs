//! SQL over columnar files: colkit's formats as tables of [DataFusion](datafusion).
//!
//! ```text
//! query       one query, in a session of its own
//! session     sessions that know our formats and stores; names of files as tables
//! statements  from text to statements, within limits
//! table       the files behind a name
//! format      schemas and statistics of files, for planning
//! source      what is pushed down: columns, filters
//! opener      reading the splits that belong to a partition
//! prune       filters as conditions that rule out splits
//! literals    numbers, dates and times that are compared as they are written
//! lists       lists of values, with nulls as SQL means them
//! sum         sums that do not wrap around
//! joins       semi and anti joins, without work that grows with the square of the rows
//! bounded     functions whose results could take all memory
//! tables      files that are open
//! files       which files a query is about
//! explain     what a query planned to read and what it read
//! ```
//!
//! [`query()`] runs one query. [`ColkitSession::with_colkit`] adds all of this to anybody's `SessionContext`; [`Sessions`]
//! starts one with memory limit, spilling and stores by URL.

#![forbid(unsafe_code)]

mod bounded;
mod error;
mod explain;
mod files;
mod format;
mod joins;
mod lists;
mod literals;
mod metrics;
mod opener;
mod prune;
mod query;
mod session;
mod source;
mod statements;
mod statistics;
mod sum;
mod table;
mod tables;

pub use datafusion;
pub use error::plain;
pub use explain::{TableRead, explain};
pub use files::files_of;
pub use format::ColkitFormat;
pub use literals::approximate_numbers;
pub use query::query;
pub use session::{ColkitSession, Sessions};
pub use source::ColkitSource;
pub use statements::{STACK_BYTES, statements};
pub use table::ColkitTable;
