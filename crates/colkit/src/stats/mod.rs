//! Statistics of the columns of a table, in one pass over its batches.
//!
//! | question | few different values, or few values | many |
//! |---|---|---|
//! | nulls, NaN, minimum, maximum, mean, standard deviation, lengths | exact | exact |
//! | different values | counted | estimated from hashes ([HyperLogLog](hyper_log_log)) |
//! | quantiles, histogram, most frequent values | counted | from a [random sample](sample) of the values |
//!
//! Every thread gathers what passes it, and in the end all is merged. What is held for a column is bounded, whatever its values
//! are, and so small that all columns together stay within the memory of the scan.

mod cell;
mod column;
mod distinct;
mod hyper_log_log;
mod numbers;
mod sample;
mod texts;

use crate::{OpenFile, ScanBuilder};
use arrow::datatypes::{DataType, SchemaRef};
use arrow::record_batch::RecordBatch;
pub use cell::Cell;
use colkit_core::drive::parallel::share;
use colkit_core::{Error, Projection, Result, Scan, Table};
use column::Column;
use std::sync::{Mutex, PoisonError};

/// The shares that quantiles are given for.
const QUANTILES: [f64; 4] = [0.25, 0.5, 0.75, 0.95];
/// The most frequent values: so many of them.
const TOP: usize = 5;
/// A value that occurs less often in a sample says little about how often it occurs.
const LEAST_IN_SAMPLE: u64 = 16;

/// What is known about the columns of a table.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TableStats {
    /// Rows that were looked at.
    pub rows: u64,
    /// One for each column.
    pub columns: Vec<ColumnStats>,
}

/// What is known about a column. What its type does not have, or what was not asked for, is `None`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ColumnStats {
    /// The column's name.
    pub name: String,
    /// Its type.
    pub data_type: DataType,
    /// Rows.
    pub rows: u64,
    /// Rows without a value.
    pub nulls: Option<u64>,
    /// Rows with NaN. All that follows is about the other values.
    pub nans: Option<u64>,
    /// Different values.
    pub distinct: Option<Count>,
    /// The smallest value. Text is ordered by its bytes.
    pub min: Option<Cell>,
    /// The largest value.
    pub max: Option<Cell>,
    /// The mean; that of dates and times is one, too, rounded down.
    pub mean: Option<Cell>,
    /// The standard deviation of a sample (divided by n - 1).
    pub std: Option<f64>,
    /// Values that given shares of all values are not larger than.
    pub quantiles: Option<Quantiles>,
    /// The most frequent values, the most frequent first.
    pub top: Option<TopValues>,
    /// How the values are spread between the smallest and the largest.
    pub histogram: Option<Histogram>,
    /// Lengths: characters of text, bytes of binary, items of lists.
    pub lengths: Option<Lengths>,
}

/// A number that is exact or an estimate.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Count {
    /// The number.
    pub value: u64,
    /// Whether it was counted.
    pub exact: bool,
    /// The standard error of an estimate, relative to it: two of three are closer.
    pub error: f64,
}

/// Quantiles.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Quantiles {
    /// Whether they are those of all values. Those of the sample are off by less than half a percent of the rows, 99 times of
    /// 100, if the sample has its full size.
    pub exact: bool,
    /// Shares and values. Each is a value of the column.
    pub values: Vec<(f64, Cell)>,
}

/// The most frequent values.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TopValues {
    /// Whether their numbers were counted; they are scaled up from a sample otherwise.
    pub exact: bool,
    /// Values and how often each occurs.
    pub values: Vec<(Cell, u64)>,
}

/// How values are spread: the range from the smallest to the largest, cut into equal parts.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Histogram {
    /// Whether values were counted; numbers are scaled up from a sample otherwise.
    pub exact: bool,
    /// Values in each part.
    pub counts: Vec<u64>,
}

/// Lengths of values.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Lengths {
    /// The shortest.
    pub shortest: u64,
    /// The longest.
    pub longest: u64,
    /// The mean.
    pub mean: f64,
}

impl Count {
    fn exact(value: u64) -> Self {
        Count { value, exact: true, error: 0.0 }
    }

    /// There are no more different values than values.
    fn estimate(estimate: f64, error: f64, most: u64) -> Self {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "an estimate, limited to the values"
        )]
        let value = (estimate.max(1.0) as u64).min(most);
        Count { value, exact: false, error }
    }
}

/// What may be held for a column on one thread.
#[derive(Clone, Copy, Debug)]
struct Room {
    /// Different values that are counted.
    counted: usize,
    /// Values of the sample.
    sampled: usize,
    /// Bytes that texts may take, once in the counts and once in the sample.
    bytes: usize,
    /// Binary logarithm of the registers for estimates.
    precision: u32,
}

impl Room {
    /// Parts of so many bytes.
    fn within(bytes: u64) -> Self {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        let precision = (bytes / 64).max(1).ilog2().clamp(6, 14);
        Room {
            counted: (bytes / 256).clamp(16, 1 << 14),
            sampled: (bytes / 64).clamp(64, 1 << 16),
            bytes: (bytes / 8).clamp(1 << 10, 4 << 20),
            precision,
        }
    }
}

impl ColumnStats {
    fn new(name: &str, data_type: &DataType) -> Self {
        ColumnStats {
            name: name.into(),
            data_type: data_type.clone(),
            rows: 0,
            nulls: None,
            nans: None,
            distinct: None,
            min: None,
            max: None,
            mean: None,
            std: None,
            quantiles: None,
            top: None,
            histogram: None,
            lengths: None,
        }
    }
}

impl ScanBuilder<'_, OpenFile> {
    /// Statistics of the columns of this scan: one pass over its rows.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # std::env::set_current_dir(&folder)?;
    /// # std::fs::write("trades.csv", "sym,price\nBTC,64000.5\nETH,3100.25\nSOL,99.5\nADA,0.4\n")?;
    /// let stats = colkit::open("trades.csv")?.scan().filter("price < 10000").stats()?;
    /// let price = &stats.columns[1];
    /// assert_eq!((stats.rows, price.nulls, price.distinct.unwrap().value), (3, Some(0), 3));
    /// assert_eq!(price.max.as_ref().unwrap().to_string(), "3100.25");
    /// # Ok::<(), colkit::Error>(())
    /// ```
    pub fn stats(self) -> Result<TableStats> {
        let file = self.file;
        let mut scan = file.named(self.build())?;
        let memory = scan.memory;
        // Half for reading, half for what is gathered.
        scan.memory = memory / 2;
        // A view of a repeated text costs a copy of 16 bytes.
        scan.views = true;
        let schema = file.named(scan.projection.schema(&file.schema()))?;
        let columns = file.named(gather(file, &scan, &schema, memory / 2))?;
        Ok(Gathering { schema, columns, rows: 0 }.finish())
    }
}

/// Statistics of batches as they go by, for whoever reads them.
pub struct Gathering {
    schema: SchemaRef,
    columns: Vec<Column>,
    rows: u64,
}

impl Gathering {
    /// Nothing yet, of batches with this schema or with views for its texts. About so many bytes of memory are used.
    pub fn new(schema: SchemaRef, memory: u64) -> Self {
        let room = Room::within(memory / (2 * schema.fields().len().max(1) as u64));
        let columns = empty(&schema, room);
        Gathering { schema, columns, rows: 0 }
    }

    /// Takes the values of a batch.
    pub fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        add_batch(&mut self.columns, batch, self.rows)?;
        self.rows += batch.num_rows() as u64;
        Ok(())
    }

    /// What comes of it.
    pub fn finish(self) -> TableStats {
        let mut rows = self.rows;
        let columns = self.columns.into_iter().zip(self.schema.fields()).map(|(column, field)| {
            let mut stats = ColumnStats::new(field.name(), field.data_type());
            column.finish(&mut stats);
            rows = stats.rows;
            stats
        });
        let columns = columns.collect();
        TableStats { rows, columns }
    }
}

fn empty(schema: &SchemaRef, room: Room) -> Vec<Column> {
    schema.fields().iter().map(|f| Column::new(f, room)).collect()
}

/// Adds a batch whose first row has this position.
fn add_batch(columns: &mut [Column], batch: &RecordBatch, first: u64) -> Result<()> {
    let numbers: Vec<u64> = (first..first + batch.num_rows() as u64).map(mix).collect();
    columns.iter_mut().zip(batch.columns()).try_for_each(|(column, array)| column.add(array, &numbers))
}

impl OpenFile {
    /// What the file says about these columns without being read: the number of rows and, as far as the format keeps them and they
    /// are exact, nulls, minimum and maximum.
    pub fn stats_from_metadata(&self, columns: Option<&[crate::ColumnName]>) -> Result<TableStats> {
        self.named(known(self.table_file().table().as_ref(), columns))
    }
}

/// What a table says about these columns without being read.
pub(crate) fn known(table: &dyn Table, columns: Option<&[crate::ColumnName]>) -> Result<TableStats> {
    let schema = table.schema();
    let projection = columns.map_or(Ok(Projection::all()), |names| crate::ColumnName::projection(names, &schema))?;
    let known = table.statistics();
    let mut columns = Vec::new();
    for (column, field) in projection.resolve(&schema)?.iter().zip(projection.schema(&schema)?.fields()) {
        let mut stats = ColumnStats::new(field.name(), field.data_type());
        stats.rows = table.row_count();
        // What is known is known of whole columns.
        if let Some(known) = known.get(column.index).filter(|_| column.within.is_empty()) {
            stats.nulls = known.null_count;
            if known.exact {
                let cell = |value: &Option<_>| Cell::of_value(value.as_ref()?, field.data_type());
                (stats.min, stats.max) = (cell(&known.min), cell(&known.max));
            }
        }
        columns.push(stats);
    }
    Ok(TableStats { rows: table.row_count(), columns })
}

/// The batches that are left, and how many rows have been handed out.
struct Rest<I> {
    batches: I,
    rows: u64,
    error: Option<Error>,
}

impl<I: Iterator<Item = Result<RecordBatch>>> Rest<I> {
    /// The next batch and the position of its first row. After an error there is none.
    fn next(&mut self) -> Option<(RecordBatch, u64)> {
        if self.error.is_some() {
            return None;
        }
        match self.batches.next()? {
            Ok(batch) => {
                let first = self.rows;
                self.rows += batch.num_rows() as u64;
                Some((batch, first))
            }
            Err(error) => {
                self.error = Some(error);
                None
            }
        }
    }
}

fn gather(file: &OpenFile, scan: &Scan, schema: &SchemaRef, memory: u64) -> Result<Vec<Column>> {
    let threads = file.threads().max(1);
    let parts = (threads as u64 + 1).saturating_mul(schema.fields().len().max(1) as u64);
    let room = Room::within(memory / parts);
    let batches = file.table_file().scan(scan)?;
    let rest = Mutex::new(Rest { batches, rows: 0, error: None });
    let merged: Mutex<Option<Vec<Column>>> = Mutex::new(None);
    share(threads, || {
        let mut mine = empty(schema, room);
        while let Some((batch, first)) = rest.lock().unwrap_or_else(PoisonError::into_inner).next() {
            if let Err(error) = add_batch(&mut mine, &batch, first) {
                rest.lock().unwrap_or_else(PoisonError::into_inner).error.get_or_insert(error);
            }
        }
        let mut merged = merged.lock().unwrap_or_else(PoisonError::into_inner);
        match merged.as_mut() {
            None => *merged = Some(mine),
            Some(all) => all.iter_mut().zip(mine).for_each(|(column, more)| column.merge(more)),
        }
    });
    if let Some(error) = rest.into_inner().unwrap_or_else(PoisonError::into_inner).error {
        return Err(error);
    }
    Ok(merged.into_inner().unwrap_or_else(PoisonError::into_inner).unwrap_or_else(|| empty(schema, room)))
}

/// A number that looks random, another one for every row (the finaliser of SplitMix64).
fn mix(row: u64) -> u64 {
    let mut z = row.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The most frequent of these values; of equally frequent ones the first. If they are a sample, their numbers are scaled up.
fn top_of<V>(mut counts: Vec<(V, u64)>, exact: bool, seen: u64, in_sample: u64) -> Vec<(V, u64)> {
    counts.sort_by_key(|(_, number)| std::cmp::Reverse(*number));
    counts.truncate(TOP);
    if !exact {
        counts.retain(|(_, number)| *number >= LEAST_IN_SAMPLE);
        counts.iter_mut().for_each(|(_, number)| *number = scaled(*number, seen, in_sample));
    }
    counts
}

/// A number of values of the sample as one of all values.
fn scaled(number: u64, seen: u64, in_sample: u64) -> u64 {
    let all = u128::from(number) * u128::from(seen) / u128::from(in_sample.max(1));
    u64::try_from(all).unwrap_or(u64::MAX)
}
