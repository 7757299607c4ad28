//! Datasets: the directories that Lance writes, with the files of a table, its versions and its deleted rows.
//!
//! ```text
//! trips.lance/_versions/N.manifest    one version: schema, fragments, and which field is in which column of which file
//!             data/*.lance            data files; each has some columns of the rows of one fragment
//!             _deletions/*            rows of a fragment that are no longer there
//! ```
//!
//! A manifest is opened like a file, and the files that it names are [objects](colkit_core::Objects) beside it. Rows of the
//! table are those of its fragments, one after another, without those that were deleted. Nothing but the manifest is read
//! before rows are asked for.

mod assemble;
mod base;
mod blob;
mod data_file;
mod deletion_ipc;
mod deletions;
mod describe;
mod draft;
mod fragment;
mod history;
mod lane;
mod lineage;
mod manifest;
mod messages;
mod names;
mod new_table;
mod next;
mod referenced;
mod roaring;
mod row_ids;
mod table;
mod transaction;
mod wire;

pub use base::{Base, FragmentSummary, TransactionPlace};
pub use deletions::{DeletionVector, Kind as DeletionKind};
pub use draft::has_transaction_file;
pub use history::{Nanoseconds, Reference, VersionSummary, operation, parse_time, shown_time};
pub use lineage::Lineage;
pub use names::{VERSIONS, VersionName, file_name, is_manifest, is_reference, versions};
pub use new_table::{FileColumns, NewFile, NewTable};
pub use next::{Change, Deletion, Next, Rewritten, Writer};
pub(crate) use table::Dataset;
pub use transaction::{Seen, Start, Transaction};
