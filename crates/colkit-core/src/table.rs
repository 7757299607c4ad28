//! An open file: its schema, rows, statistics and layout.

use crate::{BatchMachine, BoundPredicate, Boxed, ByteRange, ColumnNames, Error, Layout, Result, Selection, Value};
use arrow::array::{ArrayRef, BooleanArray};
use arrow::datatypes::{DataType, FieldRef, Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::Arc;

/// Which columns, in which order. Columns may repeat.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Projection(Option<Vec<ColumnRef>>);

/// One column of a projection, whole or in part.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ColumnRef {
    /// Position in the table's schema.
    pub index: usize,
    /// For nested columns: the parts to keep, each a path of child positions. Empty keeps the whole column.
    pub within: Vec<Vec<usize>>,
}

impl Projection {
    /// Every column.
    pub fn all() -> Self {
        Projection(None)
    }

    /// These columns, by position.
    pub fn columns(indices: impl IntoIterator<Item = usize>) -> Self {
        Projection(Some(indices.into_iter().map(|index| ColumnRef { index, within: Vec::new() }).collect()))
    }

    /// These columns or parts of columns.
    pub fn parts(columns: Vec<ColumnRef>) -> Self {
        Projection(Some(columns))
    }

    /// These columns, by name. A name that is missing or stands for several columns is an error.
    pub fn named<S: AsRef<str>>(schema: &Schema, names: impl IntoIterator<Item = S>) -> Result<Self> {
        let known = ColumnNames::new(schema);
        let indices = names.into_iter().map(|n| known.index(n.as_ref())).collect::<Result<Vec<_>>>()?;
        Ok(Self::columns(indices))
    }

    /// The columns for a table with this schema; an error if one lies outside it.
    pub fn resolve(&self, schema: &Schema) -> Result<Vec<ColumnRef>> {
        let count = schema.fields().len();
        match &self.0 {
            None => Ok((0..count).map(|index| ColumnRef { index, within: Vec::new() }).collect()),
            Some(columns) => {
                if let Some(bad) = columns.iter().find(|c| c.index >= count) {
                    return Err(Error::request(
                        "no_such_column",
                        format!("column number {} of a table with {count} columns", bad.index),
                    ));
                }
                Ok(columns.clone())
            }
        }
    }

    /// The schema of what a read of this projection returns.
    pub fn schema(&self, schema: &Schema) -> Result<SchemaRef> {
        let columns = self.resolve(schema)?;
        let fields = columns.iter().filter_map(|c| Some(keep_parts(schema.fields().get(c.index)?, &c.within)));
        Ok(Arc::new(Schema::new_with_metadata(fields.collect::<Vec<_>>(), schema.metadata().clone())))
    }

    /// Positions of the columns, for formats without nesting.
    pub fn indices(&self, schema: &Schema) -> Result<Vec<usize>> {
        Ok(self.resolve(schema)?.into_iter().map(|c| c.index).collect())
    }
}

/// The field with only the parts named by `paths` left in it. A list's item is child 0.
fn keep_parts(field: &FieldRef, paths: &[Vec<usize>]) -> FieldRef {
    if paths.iter().any(Vec::is_empty) || paths.is_empty() {
        return field.clone();
    }
    let inside = |child: usize| -> Vec<Vec<usize>> {
        let below = paths.iter().filter_map(|p| p.split_first()).filter(|(first, _)| **first == child);
        below.map(|(_, rest)| rest.to_vec()).collect()
    };
    let item = |item: &FieldRef| keep_parts(item, &inside(0));
    let data_type = match field.data_type() {
        DataType::Struct(children) => {
            let kept = children.iter().enumerate().map(|(i, child)| (child, inside(i))).filter(|(_, p)| !p.is_empty());
            DataType::Struct(kept.map(|(child, paths)| keep_parts(child, &paths)).collect())
        }
        DataType::List(f) => DataType::List(item(f)),
        DataType::LargeList(f) => DataType::LargeList(item(f)),
        DataType::FixedSizeList(f, n) => DataType::FixedSizeList(item(f), *n),
        other => other.clone(),
    };
    Arc::new(field.as_ref().clone().with_data_type(data_type))
}

/// What to read and in what pieces.
#[derive(Clone, Debug)]
pub struct Scan {
    /// Columns to return.
    pub projection: Projection,
    /// Rows to return: those for which this is true.
    pub predicate: Option<BoundPredicate>,
    /// Only these rows of the table, counted before the predicate.
    pub rows: Option<Range<u64>>,
    /// Rows of a batch at most.
    pub batch_rows: usize,
    /// Bytes of a batch, roughly, at most (a single row may be larger).
    pub batch_bytes: usize,
    /// Memory the scan may hold, in bytes.
    pub memory: u64,
    /// More conditions on rows, beside the predicate.
    pub filters: Vec<Arc<dyn RowFilter>>,
    /// Whether other columns wait until the conditions are decided.
    pub late: LateMaterialization,
    /// Whether a column may come as it is stored: as a dictionary of its values (keys of `u8`, `u16` or `u32`), or as runs
    /// (ends of `i32`) of its values or of such a dictionary. The engine asks for that where it decides conditions.
    pub encoded: bool,
    /// Whether columns of text and bytes come as `Utf8View` and `BinaryView`. What is nested in others stays as it is.
    pub views: bool,
}

/// When to read the columns that no condition looks at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LateMaterialization {
    /// After the conditions are decided, where few rows are left by them; beside them otherwise.
    #[default]
    Adaptive,
    /// Always after.
    Always,
    /// Never after.
    Never,
}

/// A condition on rows that only its maker understands: that of a query engine, for example.
pub trait RowFilter: Send + Sync + std::fmt::Debug {
    /// The columns of the table that it looks at, each once.
    fn columns(&self) -> Vec<usize>;

    /// For each row whether it is wanted. The batch has those columns, in that order.
    fn keep(&self, batch: &RecordBatch) -> Result<BooleanArray>;

    /// The test of single values that this condition consists of, if that is all there is to it. It is then asked instead of
    /// [`keep`](RowFilter::keep), and once for each value of a column that is stored as a dictionary or as runs.
    fn value_test(&self) -> Option<&dyn ValueTest> {
        None
    }
}

/// A condition on rows of which one value must pass a test, whichever column it is in.
pub trait ValueTest: Send + Sync {
    /// For each of these values whether it passes.
    fn passes(&self, values: &ArrayRef) -> Result<BooleanArray>;

    /// Whether rows are wanted of which no value passes, instead.
    fn is_negated(&self) -> bool {
        false
    }
}

impl Default for Scan {
    fn default() -> Self {
        Scan {
            projection: Projection::all(),
            predicate: None,
            rows: None,
            batch_rows: 32 * 1024,
            batch_bytes: 8 << 20,
            memory: 512 << 20,
            filters: Vec::new(),
            late: LateMaterialization::Adaptive,
            encoded: false,
            views: false,
        }
    }
}

impl Scan {
    /// All rows of these columns.
    pub fn of(projection: Projection) -> Self {
        Scan { projection, ..Self::default() }
    }

    /// The row range to read of a table with `row_count` rows; an error if it lies outside.
    pub fn row_range(&self, row_count: u64) -> Result<Range<u64>> {
        match &self.rows {
            None => Ok(0..row_count),
            Some(r) if r.start <= r.end && r.end <= row_count => Ok(r.clone()),
            Some(r) => Err(Error::request(
                "no_such_rows",
                format!("rows {}..{} of a table with {row_count} rows", r.start, r.end),
            )),
        }
    }
}

/// An independent unit of work, as plain data: it can be sent to another thread or another machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Split {
    /// The rows it covers.
    pub rows: Range<u64>,
    /// The bytes it will read, as far as they are known before reading.
    pub ranges: Vec<ByteRange>,
}

/// A part of what is read that can be read on its own: some of the columns, all of the rows.
///
/// The batches of all lanes, laid side by side, are what was asked for. Lanes yield the same rows but may cut them
/// differently.
pub struct Lane {
    /// Which columns of the scan's projection it yields, in the order of its batches' columns.
    pub columns: Vec<usize>,
    /// Yields the batches.
    pub machine: BatchMachine,
}

/// What is known about a column without reading it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ColumnStatistics {
    /// No value is smaller. NaN is not counted.
    pub min: Option<Value>,
    /// No value is larger. NaN is not counted.
    pub max: Option<Value>,
    /// Number of nulls.
    pub null_count: Option<u64>,
    /// Whether `min` and `max` themselves occur.
    pub exact: bool,
    /// Whether there is certainly no NaN.
    pub nan_free: bool,
}

/// Something `verify` found that is not an error.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Finding {
    /// Where.
    pub part: String,
    /// What.
    pub message: String,
}

/// What the checksums of a file cover: how much of a good verdict is proven, and how much only looks right.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Checksums {
    /// Nothing: the file carries none.
    #[default]
    None,
    /// These parts, and not others: "the column blocks, not the header".
    Parts(String),
    /// Every byte.
    All,
}

impl Checksums {
    /// `none`, `parts` or `all`.
    pub fn name(&self) -> &'static str {
        match self {
            Checksums::None => "none",
            Checksums::Parts(_) => "parts",
            Checksums::All => "all",
        }
    }
}

impl std::fmt::Display for Checksums {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Checksums::None => f.write_str("structure only: this file carries no checksums"),
            Checksums::Parts(parts) => write!(f, "checksums cover {parts}"),
            Checksums::All => f.write_str("checksums cover every byte"),
        }
    }
}

/// What a format's own checks gave.
#[derive(Debug, Default)]
pub struct Verified {
    /// What the checksums cover that were compared.
    pub checksums: Checksums,
    /// What is odd but allowed.
    pub findings: Vec<Finding>,
    /// What is wrong with parts that do not keep others from being checked.
    pub errors: Vec<Error>,
}

impl Verified {
    /// Nothing odd, nothing wrong, as far as these checksums tell.
    pub fn by(checksums: Checksums) -> Self {
        Verified { checksums, ..Self::default() }
    }

    /// The first error, if there is one.
    pub fn into_result(self) -> Result<Self> {
        match self.errors.into_iter().next() {
            Some(error) => Err(error),
            None => Ok(Verified { errors: Vec::new(), ..self }),
        }
    }
}

impl From<Vec<Finding>> for Verified {
    fn from(findings: Vec<Finding>) -> Self {
        Verified { findings, ..Self::default() }
    }
}

/// An open file: metadata parsed once and only as far as needed, cheap to share between threads.
pub trait Table: Send + Sync {
    /// The columns.
    fn schema(&self) -> SchemaRef;

    /// The number of rows.
    fn row_count(&self) -> u64;

    /// Bytes of all objects that the table is made of, if they are more than the file that was opened.
    fn bytes(&self) -> Option<u64> {
        None
    }

    /// Facts about the format and this file, for people: version, codec, settings.
    fn properties(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// What the file says about its columns without reading their data; one entry per column, or none at all.
    fn statistics(&self) -> Vec<ColumnStatistics> {
        Vec::new()
    }

    /// The units of work of a scan, in row order, those that cannot contain a matching row left out.
    fn splits(&self, scan: &Scan) -> Result<Boxed<Vec<Split>>>;

    /// Reads the scan's columns of exactly these rows, in order. Its conditions are none of the table's business.
    ///
    /// A table makes of the selection what it can: blocks without wanted rows need not be read, nor values be decoded.
    /// [`select_rows`](crate::select_rows()) does the rest.
    fn read(&self, scan: &Scan, rows: &Selection) -> Result<Vec<Lane>>;

    /// Bytes that a column takes in the file, if that is known: what it costs to look at.
    fn column_bytes(&self, _column: usize) -> Option<u64> {
        None
    }

    /// The byte map of the file.
    fn layout(&self) -> Result<Boxed<Layout>>;

    /// Checks that go beyond opening the file and decoding all of it. Whoever compares checksums says what they cover.
    fn verify(&self) -> Result<Boxed<Verified>> {
        Ok(crate::ready(Verified::default()))
    }
}
