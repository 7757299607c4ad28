//! The protobuf messages of datasets (package `lance.table`).

use crate::schema::messages::Field;
use bytes::Bytes;
use prost::{Message, Oneof};
use std::collections::BTreeMap;

/// A version of a dataset.
#[derive(Clone, PartialEq, Message)]
pub struct Manifest {
    /// The schema, parents before children.
    #[prost(message, repeated, tag = "1")]
    pub fields: Vec<Field>,
    /// The fragments, in the order of their rows: each a [`DataFragment`]. There may be many, of which few are looked at.
    #[prost(bytes = "bytes", repeated, tag = "2")]
    pub fragments: Vec<Bytes>,
    /// The number of the version.
    #[prost(uint64, tag = "3")]
    pub version: u64,
    /// Arrow's schema metadata.
    #[prost(btree_map = "string, bytes", tag = "5")]
    pub schema_metadata: BTreeMap<String, Bytes>,
    /// Where in the file the indices are.
    #[prost(uint64, optional, tag = "6")]
    pub index_section: Option<u64>,
    /// When it was committed.
    #[prost(message, optional, tag = "7")]
    pub timestamp: Option<Timestamp>,
    /// What a reader must know about.
    #[prost(uint64, tag = "9")]
    pub reader_feature_flags: u64,
    /// What a writer must know about.
    #[prost(uint64, tag = "10")]
    pub writer_feature_flags: u64,
    /// The highest number that a fragment had so far.
    #[prost(uint32, optional, tag = "11")]
    pub max_fragment_id: Option<u32>,
    /// The name of the transaction's file.
    #[prost(string, tag = "12")]
    pub transaction_file: String,
    /// Who wrote it.
    #[prost(message, optional, tag = "13")]
    pub writer_version: Option<WriterVersion>,
    /// The first row id that is not used.
    #[prost(uint64, tag = "14")]
    pub next_row_id: u64,
    /// What new data files are.
    #[prost(message, optional, tag = "15")]
    pub data_format: Option<DataFormat>,
    /// Where data files are that do not lie in the dataset.
    #[prost(message, repeated, tag = "18")]
    pub base_paths: Vec<BasePath>,
    /// The branch; none is main.
    #[prost(string, optional, tag = "20")]
    pub branch: Option<String>,
    /// Where in the file the transaction is, as releases 1 to 11 say it.
    #[prost(uint64, optional, tag = "21")]
    pub old_transaction_section: Option<u64>,
    /// The same, as later releases say it.
    #[prost(uint64, optional, tag = "23")]
    pub transaction_section: Option<u64>,
}

/// A point in time.
#[derive(Clone, Copy, PartialEq, Message)]
pub struct Timestamp {
    /// Seconds since 1970, UTC.
    #[prost(int64, tag = "1")]
    pub seconds: i64,
    /// Nanoseconds within the second.
    #[prost(int32, tag = "2")]
    pub nanos: i32,
}

/// Who wrote a version.
#[derive(Clone, PartialEq, Message)]
pub struct WriterVersion {
    /// The library.
    #[prost(string, tag = "1")]
    pub library: String,
    /// Its version.
    #[prost(string, tag = "2")]
    pub version: String,
}

/// What new data files are.
#[derive(Clone, PartialEq, Message)]
pub struct DataFormat {
    /// `lance`.
    #[prost(string, tag = "1")]
    pub file_format: String,
    /// `2.0`, `2.1`, ...
    #[prost(string, tag = "2")]
    pub version: String,
}

/// Some rows of a dataset.
#[derive(Clone, PartialEq, Message)]
pub struct DataFragment {
    /// Its number.
    #[prost(uint64, tag = "1")]
    pub id: u64,
    /// Its files: each has all rows of some columns.
    #[prost(message, repeated, tag = "2")]
    pub files: Vec<DataFile>,
    /// Which rows are deleted.
    #[prost(message, optional, tag = "3")]
    pub deletion_file: Option<DeletionFile>,
    /// Rows, deleted ones too; 0 is not known.
    #[prost(uint64, tag = "4")]
    pub physical_rows: u64,
    /// A [`RowIdSequence`].
    #[prost(bytes = "bytes", optional, tag = "5")]
    pub row_ids: Option<Bytes>,
    /// When each row was last changed, as a [`VersionSequence`].
    #[prost(bytes = "bytes", optional, tag = "7")]
    pub updated_at: Option<Bytes>,
    /// When each row was added, as a [`VersionSequence`].
    #[prost(bytes = "bytes", optional, tag = "9")]
    pub created_at: Option<Bytes>,
    /// Row ids in a file of their own. No release writes that.
    #[prost(message, optional, tag = "6")]
    pub external_row_ids: Option<Anything>,
    /// Values that replace those of data files.
    #[prost(message, repeated, tag = "11")]
    pub overlays: Vec<Anything>,
    /// Row ids in a hidden column.
    #[prost(message, optional, tag = "12")]
    pub row_ids_as_column: Option<Anything>,
}

/// What counting the rows of a [`DataFragment`] needs of it.
#[derive(Clone, Copy, PartialEq, Message)]
pub struct FragmentCounts {
    /// Its number.
    #[prost(uint64, tag = "1")]
    pub id: u64,
    /// Which rows are deleted.
    #[prost(message, optional, tag = "3")]
    pub deletion_file: Option<DeletionCount>,
    /// Rows, deleted ones too; 0 is not known.
    #[prost(uint64, tag = "4")]
    pub physical_rows: u64,
}

/// What counting needs of a [`DeletionFile`].
#[derive(Clone, Copy, PartialEq, Message)]
pub struct DeletionCount {
    /// How many rows; 0 is not known.
    #[prost(uint64, tag = "4")]
    pub num_deleted_rows: u64,
}

/// A message that is only known to be there.
#[derive(Clone, Copy, PartialEq, Message)]
pub struct Anything {}

/// A Lance file of a fragment.
#[derive(Clone, PartialEq, Message)]
pub struct DataFile {
    /// Its name in the folder `data`.
    #[prost(string, tag = "1")]
    pub path: String,
    /// The fields that it has values of.
    #[prost(int32, repeated, tag = "2")]
    pub fields: Vec<i32>,
    /// The columns of these; -1 is none.
    #[prost(int32, repeated, tag = "3")]
    pub column_indices: Vec<i32>,
    /// The file's version.
    #[prost(uint32, tag = "4")]
    pub file_major_version: u32,
    /// The file's version.
    #[prost(uint32, tag = "5")]
    pub file_minor_version: u32,
    /// Its length; 0 is not known.
    #[prost(uint64, tag = "6")]
    pub file_size_bytes: u64,
    /// Where it is, if not in the dataset.
    #[prost(uint32, optional, tag = "7")]
    pub base_id: Option<u32>,
}

/// The deleted rows of a fragment.
#[derive(Clone, PartialEq, Message)]
pub struct DeletionFile {
    /// 0 is an Arrow file, 1 a roaring bitmap.
    #[prost(int32, tag = "1")]
    pub file_type: i32,
    /// The version that rows were deleted from.
    #[prost(uint64, tag = "2")]
    pub read_version: u64,
    /// A random number.
    #[prost(uint64, tag = "3")]
    pub id: u64,
    /// How many rows; 0 is not known.
    #[prost(uint64, tag = "4")]
    pub num_deleted_rows: u64,
    /// Where it is, if not in the dataset.
    #[prost(uint32, optional, tag = "7")]
    pub base_id: Option<u32>,
}

/// Another place for files.
#[derive(Clone, PartialEq, Message)]
pub struct BasePath {
    /// By which files name it.
    #[prost(uint32, tag = "1")]
    pub id: u32,
    /// Whether it is a dataset, with folders for data and deletions; otherwise files lie right there.
    #[prost(bool, tag = "3")]
    pub is_dataset_root: bool,
    /// A path or URL.
    #[prost(string, tag = "4")]
    pub path: String,
}

/// The row ids of a fragment, deleted rows included.
#[derive(Clone, PartialEq, Message)]
pub struct RowIdSequence {
    /// One after another.
    #[prost(message, repeated, tag = "1")]
    pub segments: Vec<U64Segment>,
}

/// The versions of the rows of a fragment, deleted rows included.
#[derive(Clone, PartialEq, Message)]
pub struct VersionSequence {
    /// One after another.
    #[prost(message, repeated, tag = "1")]
    pub runs: Vec<VersionRun>,
}

/// Rows of one version.
#[derive(Clone, PartialEq, Message)]
pub struct VersionRun {
    /// As many rows as there are numbers in it; which ones says nothing.
    #[prost(message, optional, tag = "1")]
    pub span: Option<U64Segment>,
    /// The version.
    #[prost(uint64, tag = "2")]
    pub version: u64,
}

/// Some numbers.
#[derive(Clone, PartialEq, Message)]
pub struct U64Segment {
    /// In one of these forms.
    #[prost(oneof = "Segment", tags = "1, 2, 3, 4, 5")]
    pub segment: Option<Segment>,
}

/// The forms of numbers.
#[derive(Clone, PartialEq, Oneof)]
pub enum Segment {
    /// All in a range.
    #[prost(message, tag = "1")]
    Range(Range),
    /// All in a range but these.
    #[prost(message, tag = "2")]
    RangeWithHoles(RangeWithHoles),
    /// Those in a range whose bit is set, the least significant first.
    #[prost(message, tag = "3")]
    RangeWithBitmap(RangeWithBitmap),
    /// These, ascending.
    #[prost(message, tag = "4")]
    Sorted(EncodedU64Array),
    /// These.
    #[prost(message, tag = "5")]
    Array(EncodedU64Array),
}

/// A range of numbers.
#[derive(Clone, Copy, PartialEq, Message)]
pub struct Range {
    /// The first.
    #[prost(uint64, tag = "1")]
    pub start: u64,
    /// One past the last.
    #[prost(uint64, tag = "2")]
    pub end: u64,
}

/// A range of numbers, some of them left out.
#[derive(Clone, PartialEq, Message)]
pub struct RangeWithHoles {
    /// The first.
    #[prost(uint64, tag = "1")]
    pub start: u64,
    /// One past the last.
    #[prost(uint64, tag = "2")]
    pub end: u64,
    /// Those left out.
    #[prost(message, optional, tag = "3")]
    pub holes: Option<EncodedU64Array>,
}

/// A range of numbers, some of them chosen.
#[derive(Clone, PartialEq, Message)]
pub struct RangeWithBitmap {
    /// The first.
    #[prost(uint64, tag = "1")]
    pub start: u64,
    /// One past the last.
    #[prost(uint64, tag = "2")]
    pub end: u64,
    /// A bit for each.
    #[prost(bytes = "bytes", tag = "3")]
    pub bitmap: Bytes,
}

/// Numbers of a fixed width.
#[derive(Clone, PartialEq, Message)]
pub struct EncodedU64Array {
    /// In one of these forms.
    #[prost(oneof = "Numbers", tags = "1, 2, 3")]
    pub array: Option<Numbers>,
}

/// The widths of numbers.
#[derive(Clone, PartialEq, Oneof)]
pub enum Numbers {
    /// Distances of 2 bytes from a number.
    #[prost(message, tag = "1")]
    U16(Offsets),
    /// Distances of 4 bytes from a number.
    #[prost(message, tag = "2")]
    U32(Offsets),
    /// Numbers of 8 bytes.
    #[prost(message, tag = "3")]
    U64(Offsets),
}

/// Distances from a number.
#[derive(Clone, PartialEq, Message)]
pub struct Offsets {
    /// The number.
    #[prost(uint64, tag = "1")]
    pub base: u64,
    /// The distances.
    #[prost(bytes = "bytes", tag = "2")]
    pub values: Bytes,
}

/// What made a version.
#[derive(Clone, PartialEq, Message)]
pub struct Transaction {
    /// What was done.
    #[prost(
        oneof = "Operation",
        tags = "100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 111, 112, 113, 114, 115"
    )]
    pub operation: Option<Operation>,
}

/// What can be done to a dataset.
#[derive(Clone, PartialEq, Oneof)]
pub enum Operation {
    /// Append.
    #[prost(message, tag = "100")]
    Append(Anything),
    /// Delete.
    #[prost(message, tag = "101")]
    Delete(Anything),
    /// Overwrite.
    #[prost(message, tag = "102")]
    Overwrite(Anything),
    /// Create index.
    #[prost(message, tag = "103")]
    CreateIndex(Anything),
    /// Rewrite.
    #[prost(message, tag = "104")]
    Rewrite(Anything),
    /// Merge.
    #[prost(message, tag = "105")]
    Merge(Anything),
    /// Restore.
    #[prost(message, tag = "106")]
    Restore(Anything),
    /// Reserve fragments.
    #[prost(message, tag = "107")]
    ReserveFragments(Anything),
    /// Update.
    #[prost(message, tag = "108")]
    Update(Anything),
    /// Project.
    #[prost(message, tag = "109")]
    Project(Anything),
    /// Update config.
    #[prost(message, tag = "110")]
    UpdateConfig(Anything),
    /// Replace data.
    #[prost(message, tag = "111")]
    DataReplacement(Anything),
    /// Update write-ahead log.
    #[prost(message, tag = "112")]
    UpdateMemWal(Anything),
    /// Clone.
    #[prost(message, tag = "113")]
    Clone(Anything),
    /// Update base paths.
    #[prost(message, tag = "114")]
    UpdateBases(Anything),
    /// Overlay data.
    #[prost(message, tag = "115")]
    DataOverlay(Anything),
}

impl Operation {
    /// What it is called.
    pub fn name(&self) -> &'static str {
        match self {
            Operation::Append(_) => "append",
            Operation::Delete(_) => "delete",
            Operation::Overwrite(_) => "overwrite",
            Operation::CreateIndex(_) => "create index",
            Operation::Rewrite(_) => "rewrite",
            Operation::Merge(_) => "merge",
            Operation::Restore(_) => "restore",
            Operation::ReserveFragments(_) => "reserve fragments",
            Operation::Update(_) => "update",
            Operation::Project(_) => "project",
            Operation::UpdateConfig(_) => "update config",
            Operation::DataReplacement(_) => "replace data",
            Operation::UpdateMemWal(_) => "update write-ahead log",
            Operation::Clone(_) => "clone",
            Operation::UpdateBases(_) => "update base paths",
            Operation::DataOverlay(_) => "overlay data",
        }
    }
}
