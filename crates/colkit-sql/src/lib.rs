//! SQL over columnar files: colkit's formats as tables of [DataFusion](datafusion).
//!
//! ```text
//! session     sessions that know our formats and stores; names of files as tables
//! statements  from text to statements, within limits
//! table       the files behind a name
//! format      schemas and statistics of files, for planning
//! source      what is pushed down: columns, filters
//! opener      reading the splits that belong to a partition
//! prune       filters as conditions that rule out splits
//! joins       semi and anti joins, without work that grows with the square of the rows
//! bounded     functions whose results could take all memory
//! tables      files that are open
//! explain     what a query planned to read and what it read
//! ```
//!
//! [`ColkitSession::with_colkit`] adds all of this to anybody's `SessionContext`; [`Sessions`] starts one with memory limit,
//! spilling and stores by URL.

#![forbid(unsafe_code)]

mod bounded;
mod error;
mod explain;
mod format;
mod joins;
mod metrics;
mod opener;
mod prune;
mod session;
mod source;
mod statements;
mod statistics;
mod table;
mod tables;

pub use datafusion;
pub use error::plain;
pub use explain::{TableRead, explain};
pub use format::ColkitFormat;
pub use session::{ColkitSession, Sessions};
pub use source::ColkitSource;
pub use statements::{STACK_BYTES, statements};
pub use table::ColkitTable;
