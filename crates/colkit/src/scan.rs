//! Builders: what to read of a file. The same for files on disk and in stores.

use crate::pattern::Search;
use crate::select::Selected;
use crate::{ColumnName, OpenFile, Pattern};
use arrow::datatypes::{Schema, SchemaRef};
use arrow::error::ArrowError;
use arrow::record_batch::{RecordBatch, RecordBatchReader};
use colkit_core::plan::{Planned, ReadPlan};
use colkit_core::{Error, Predicate, Projection, Result, RowFilter, Scan};
use std::ops::{Bound, Range, RangeBounds};
use std::sync::Arc;

/// A scan of a file: all rows of all columns in row order, unless the methods here narrow it.
///
/// [`OpenFile::scan`] makes one whose rows come [`batches`](ScanBuilder::batches) at a time.
#[cfg_attr(
    feature = "object-store",
    doc = "[`RemoteFile::scan`](crate::RemoteFile::scan) makes one whose rows come as a"
)]
#[cfg_attr(feature = "object-store", doc = "[`stream`](ScanBuilder::stream).")]
#[derive(Clone)]
#[must_use = "nothing is read until the batches are asked for"]
pub struct ScanBuilder<'a, F> {
    pub(crate) file: &'a F,
    schema: SchemaRef,
    row_count: u64,
    columns: Option<Vec<ColumnName>>,
    filters: Vec<Filter>,
    searches: Vec<(Pattern, Option<Vec<ColumnName>>)>,
    /// What is selected, and whether values may change for it.
    select: Option<(String, bool)>,
    rows: Option<Range<u64>>,
    batch_rows: Option<usize>,
    memory: Option<u64>,
    views: bool,
}

impl<'a, F> ScanBuilder<'a, F> {
    pub(crate) fn new(file: &'a F, schema: SchemaRef, row_count: u64) -> Self {
        let (columns, filters, searches, select) = (None, Vec::new(), Vec::new(), None);
        let (rows, batch_rows, memory) = (None, None, None);
        ScanBuilder {
            file,
            schema,
            row_count,
            columns,
            filters,
            searches,
            select,
            rows,
            batch_rows,
            memory,
            views: false,
        }
    }

    /// Reads only these columns, in this order: by name (`"price"`), by the path to a part of a nested column (`"b.c"`), or by
    /// position (`3`).
    pub fn columns(mut self, columns: impl IntoIterator<Item = impl Into<ColumnName>>) -> Self {
        self.columns = Some(columns.into_iter().map(Into::into).collect());
        self
    }

    /// Reads only rows for which this holds, such as `"price > 100 and sym in ('BTC', 'ETH')"`. It may look at columns that
    /// are not returned. Several filters must all hold.
    pub fn filter(mut self, filter: impl Into<Filter>) -> Self {
        self.filters.push(filter.into());
        self
    }

    /// Reads only rows in which the text of a value matches, whichever column it is in.
    pub fn matching(mut self, pattern: Pattern) -> Self {
        self.searches.push((pattern, None));
        self
    }

    /// Reads only rows in which the text of a value of these columns matches.
    pub fn matching_in(mut self, pattern: Pattern, columns: impl IntoIterator<Item = impl Into<ColumnName>>) -> Self {
        self.searches.push((pattern, Some(columns.into_iter().map(Into::into).collect())));
        self
    }

    /// Reads only these rows of the table, counted from 0 and before any filter. Rows beyond the end are an error.
    pub fn rows(mut self, rows: impl RangeBounds<u64>) -> Self {
        let start = match rows.start_bound() {
            Bound::Included(first) => *first,
            Bound::Excluded(before) => before.saturating_add(1),
            Bound::Unbounded => 0,
        };
        let end = match rows.end_bound() {
            Bound::Included(last) => last.saturating_add(1),
            Bound::Excluded(end) => *end,
            Bound::Unbounded => self.row_count,
        };
        self.rows = Some(start..end);
        self
    }

    /// Returns batches of at most this many rows.
    pub fn batch_rows(mut self, rows: usize) -> Self {
        self.batch_rows = Some(rows);
        self
    }

    /// Holds at most this many bytes in memory, or fewer if the file was opened with a lower limit.
    pub fn memory(mut self, bytes: u64) -> Self {
        self.memory = Some(bytes);
        self
    }

    /// Returns text and bytes as Arrow views (`Utf8View`, `BinaryView`), for consumers that work with views: values of a dictionary
    /// are then not copied for each row. What is nested in other columns and what has long offsets stays as it is, and so does
    /// everything that is [selected](ScanBuilder::select).
    pub fn views(mut self) -> Self {
        self.views = true;
        self
    }

    /// What is made of the columns that are read.
    pub(crate) fn selected(&self) -> Result<Option<Selected>> {
        let select = self.select.as_ref();
        select.map(|(text, lossy)| Selected::new(text, &self.schema, *lossy)).transpose()
    }

    /// The scan as the engine takes it. Names and types are checked here, before anything is read.
    pub(crate) fn build(&self) -> Result<Scan> {
        let default = Scan::default();
        let mut filters = self.filters.clone();
        let mut searches: Vec<Arc<dyn RowFilter>> = Vec::new();
        for (pattern, columns) in &self.searches {
            let columns = searched(columns.as_deref(), &self.schema)?;
            filters.extend(pattern.bounds(&self.schema, &columns).map(Filter::from));
            searches.push(Arc::new(Search { pattern: pattern.clone(), columns }));
        }
        let projection = match self.selected()? {
            Some(selected) => selected.projection,
            None => projection(self.columns.as_deref(), &self.schema)?,
        };
        Ok(Scan {
            projection,
            predicate: Filter::all(&filters, &self.schema)?.map(|p| p.bind(&self.schema)).transpose()?,
            filters: searches,
            rows: self.rows.clone(),
            batch_rows: self.batch_rows.unwrap_or(default.batch_rows),
            memory: self.memory.unwrap_or(default.memory),
            views: self.views && self.select.is_none(),
            ..default
        })
    }
}

impl ScanBuilder<'_, OpenFile> {
    /// Renames, casts, leaves out and reorders columns, instead of [`columns`](ScanBuilder::columns): a list such as
    /// `"a, b as c, d::date, e.f"`, `"* except (x, y)"` or `"-x, -y"`. Filters see the columns as they are in the file.
    ///
    /// A value that is not the same as the other type is an error that names it.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # std::env::set_current_dir(&folder)?;
    /// # std::fs::write("trades.csv", "sym,price\nBTC,64000.5\nETH,3100.25\nSOL,99.5\nADA,0.4\n")?;
    /// let file = colkit::open("trades.csv")?;
    /// let batches = file.scan().select("price::decimal(10, 2) as cost, sym").batches()?;
    /// assert_eq!(batches.schema().field(0).name(), "cost");
    /// # Ok::<(), colkit::Error>(())
    /// ```
    pub fn select(mut self, list: impl Into<String>) -> Self {
        self.select = Some((list.into(), false));
        self
    }

    /// The same, but a value that is not the same as the other type becomes the nearest there is, or null.
    pub fn select_lossy(mut self, list: impl Into<String>) -> Self {
        self.select = Some((list.into(), true));
        self
    }

    /// Starts reading.
    pub fn batches(self) -> Result<Batches> {
        let (scan, selected) = self.file.named(self.build().and_then(|scan| Ok((scan, self.selected()?))))?;
        let batches = self.file.read(&scan)?;
        Ok(Batches { selected, ..batches })
    }

    /// The schema of the batches. Names and types are checked, and nothing is read.
    pub fn schema(&self) -> Result<SchemaRef> {
        let file = self.file;
        let plan = self.build().and_then(|scan| ReadPlan::new(file.table_file().table().as_ref(), &scan));
        let plan = file.named(plan)?;
        Ok(file.named(self.selected())?.map_or(plan.schema, |selected| selected.schema))
    }

    /// What would be read, without reading it.
    pub fn planned(self) -> Result<Planned> {
        let file = self.file;
        file.named(self.build().and_then(|scan| file.table_file().planned(&scan)))
    }
}

/// Single rows of a file, in the order asked for; rows may repeat. All columns, unless some are named.
#[derive(Clone)]
#[must_use = "nothing is read until the batch is asked for"]
pub struct TakeBuilder<'a, F> {
    pub(crate) file: &'a F,
    pub(crate) rows: Vec<u64>,
    columns: Option<Vec<ColumnName>>,
}

impl<'a, F> TakeBuilder<'a, F> {
    pub(crate) fn new(file: &'a F, rows: Vec<u64>) -> Self {
        TakeBuilder { file, rows, columns: None }
    }

    /// Reads only these columns; see [`ScanBuilder::columns`].
    pub fn columns(mut self, columns: impl IntoIterator<Item = impl Into<ColumnName>>) -> Self {
        self.columns = Some(columns.into_iter().map(Into::into).collect());
        self
    }

    pub(crate) fn projection(&self, schema: &Schema) -> Result<Projection> {
        projection(self.columns.as_deref(), schema)
    }
}

impl TakeBuilder<'_, OpenFile> {
    /// Reads the rows, all of them into one batch.
    pub fn batch(self) -> Result<RecordBatch> {
        let file = self.file;
        file.named(self.projection(&file.schema()).and_then(|p| file.table_file().take(&self.rows, &p)))
    }
}

/// The columns that are searched, each once. Parts of them cannot be searched alone.
fn searched(columns: Option<&[ColumnName]>, schema: &Schema) -> Result<Vec<usize>> {
    let mut indices = Vec::new();
    for column in projection(columns, schema)?.resolve(schema)? {
        if !column.within.is_empty() {
            return Err(Error::request("bad_columns", "a part of a nested column cannot be searched alone")
                .hint("search the whole column"));
        }
        if !indices.contains(&column.index) {
            indices.push(column.index);
        }
    }
    Ok(indices)
}

fn projection(columns: Option<&[ColumnName]>, schema: &Schema) -> Result<Projection> {
    let projection = columns.map_or(Ok(Projection::all()), |names| ColumnName::projection(names, schema))?;
    projection.resolve(schema)?;
    Ok(projection)
}

/// A condition on rows: text to be parsed, or a [`Predicate`] that was built.
#[derive(Clone, Debug)]
pub struct Filter(FilterKind);

#[derive(Clone, Debug)]
enum FilterKind {
    Text(String),
    Predicate(Predicate),
}

impl Filter {
    /// All of these as one predicate on a table with this schema; `None` if there are none.
    pub(crate) fn all(filters: &[Filter], schema: &Schema) -> Result<Option<Predicate>> {
        let predicates = filters.iter().map(|filter| match &filter.0 {
            FilterKind::Text(text) => Predicate::parse(text, schema),
            FilterKind::Predicate(predicate) => Ok(predicate.clone()),
        });
        let mut all = predicates.collect::<Result<Vec<_>>>()?;
        Ok(if all.len() > 1 { Some(Predicate::And(all)) } else { all.pop() })
    }
}

impl From<&str> for Filter {
    fn from(text: &str) -> Self {
        Filter(FilterKind::Text(text.into()))
    }
}

impl From<String> for Filter {
    fn from(text: String) -> Self {
        Filter(FilterKind::Text(text))
    }
}

impl From<&String> for Filter {
    fn from(text: &String) -> Self {
        text.as_str().into()
    }
}

impl From<Predicate> for Filter {
    fn from(predicate: Predicate) -> Self {
        Filter(FilterKind::Predicate(predicate))
    }
}

/// The batches of a scan, in row order. After an error there is nothing more.
///
/// The errors are arrow's, as [`RecordBatchReader`] wants them. `?` in a function that returns [`colkit::Result`](Result)
/// turns each back into the [`Error`](colkit_core::Error) that it was.
#[must_use = "batches are read as they are asked for"]
pub struct Batches {
    name: String,
    batches: colkit_core::Batches,
    selected: Option<Selected>,
    /// Rows so far.
    rows: u64,
}

impl Batches {
    pub(crate) fn new(name: &str, batches: colkit_core::Batches) -> Self {
        Batches { name: name.into(), batches, selected: None, rows: 0 }
    }

    /// The schema of the batches.
    pub fn schema(&self) -> SchemaRef {
        self.selected.as_ref().map_or_else(|| self.batches.schema(), |selected| selected.schema.clone())
    }

    /// What was planned to be read.
    pub fn planned(&self) -> Planned {
        self.batches.planned()
    }

    /// How many rows have been decoded so far of each column that is read: those asked for, then those of conditions.
    pub fn decoded(&self) -> Vec<(String, u64)> {
        self.batches.decoded()
    }
}

impl Iterator for Batches {
    type Item = std::result::Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut next = self.batches.next()?;
        if let (Some(selected), Ok(batch)) = (&self.selected, &next) {
            let first = self.rows;
            self.rows += batch.num_rows() as u64;
            next = selected.apply(batch, first);
        }
        Some(next.map_err(|e| e.file(self.name.clone()).into()))
    }
}

impl RecordBatchReader for Batches {
    fn schema(&self) -> SchemaRef {
        self.schema()
    }
}
