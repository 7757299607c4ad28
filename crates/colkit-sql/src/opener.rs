//! Reading one file, or the part of it that belongs to a partition.
//!
//! DataFusion cuts large files into byte ranges. Here a range stands for the splits whose first row lies in it, if the rows
//! of the file are thought of as spread evenly over its bytes: which rows those are depends on the file, the columns and
//! the range alone, never on a filter, so that every row is read by exactly one partition.

use crate::error::told;
use crate::metrics::ReadMetrics;
use crate::prune::condition;
use crate::tables::{OpenTable, Tables};
use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, PrimitiveArray, new_null_array};
use arrow::compute::{BatchCoalescer, cast, filter_record_batch};
use arrow::datatypes::{ArrowPrimitiveType, DataType, Float16Type, Float32Type, Float64Type, Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use colkit::drive::decoded_bytes;
use colkit::drive::store::SplitReader;
use colkit::plan::{ReadPlan, batch_of};
use colkit::{Limits, Projection, Scan, Split, Table};
use datafusion::common::runtime::SpawnedTask;
use datafusion::datasource::listing::{FileRange, PartitionedFile};
use datafusion::datasource::physical_plan::{FileOpenFuture, FileOpener};
use datafusion::error::Result;
use datafusion::physical_expr::utils::{collect_columns, reassign_expr_columns};
use datafusion::physical_expr::{PhysicalExpr, conjunction};
use datafusion::physical_expr_common::physical_expr::snapshot_generation;
use futures::{StreamExt, stream};
use object_store::ObjectStore;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// Opens the files of one partition.
#[derive(Clone)]
pub(crate) struct Opener {
    pub tables: Arc<Tables>,
    pub store: Arc<dyn ObjectStore>,
    pub format: Option<&'static str>,
    /// The columns of the table that files have.
    pub file_schema: SchemaRef,
    /// Which of them to return.
    pub columns: Vec<usize>,
    /// Which rows to return.
    pub filter: Option<Arc<dyn PhysicalExpr>>,
    /// What is known about rows that are wanted, and may become known while reading.
    pub hints: Option<Arc<dyn PhysicalExpr>>,
    pub batch_rows: usize,
    pub metrics: ReadMetrics,
}

impl FileOpener for Opener {
    fn open(&self, file: PartitionedFile) -> Result<FileOpenFuture> {
        let opener = self.clone();
        Ok(Box::pin(async move {
            let reader = opener.start(&file).await?;
            let batches = stream::try_unfold(reader, |mut reader| async move {
                Ok(reader.next().await?.map(|batch| (batch, reader)))
            });
            Ok(batches.boxed())
        }))
    }
}

impl Opener {
    async fn start(self, file: &PartitionedFile) -> Result<Reader> {
        let open = self.tables.open_as(&self.store, &file.object_meta, self.format, &self.file_schema).await?;
        let output = Arc::new(self.file_schema.project(&self.columns)?);
        // What the filter looks at is read too, behind what is asked for.
        let mut wanted = self.columns;
        for column in self.filter.iter().flat_map(collect_columns) {
            let index = self.file_schema.index_of(column.name())?;
            if !wanted.contains(&index) {
                wanted.push(index);
            }
        }
        let schema = Arc::new(self.file_schema.project(&wanted)?);
        let known = self.filter.iter().chain(&self.hints).cloned().collect::<Vec<_>>();
        let known = (!known.is_empty()).then(|| conjunction(known));
        let filter = self.filter.map(|f| reassign_expr_columns(f, &schema)).transpose()?;
        let columns = Columns::new(schema, &open.table.schema());
        let scan = Scan {
            projection: Projection::columns(columns.own.iter().flatten().copied()),
            batch_rows: self.batch_rows,
            memory: open.memory,
            ..Scan::default()
        };
        let plan = ReadPlan::new(open.table.as_ref(), &scan).map_err(|e| told(e.file(open.name.clone())))?;
        let coalescer = BatchCoalescer::new(output.clone(), self.batch_rows)
            .with_biggest_coalesce_batch_size(Some(self.batch_rows / 2));
        let mut reader = Reader {
            open,
            columns,
            output,
            filter,
            known,
            generation: 0,
            plan,
            pending: VecDeque::new(),
            current: None,
            ahead: None,
            coalescer,
            given: 0,
            metrics: self.metrics,
        };
        reader.begin(file.range.as_ref(), file.object_meta.size).await?;
        Ok(reader)
    }
}

/// How the columns that are wanted follow from those that the file has: by name, in the type that is wanted.
struct Columns {
    /// The columns that are wanted.
    schema: SchemaRef,
    /// For each where in the file it is.
    own: Vec<Option<usize>>,
}

impl Columns {
    fn new(schema: SchemaRef, file: &Schema) -> Self {
        let own = schema.fields().iter().map(|f| file.index_of(f.name()).ok()).collect();
        Columns { schema, own }
    }

    fn of(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let mut read = batch.columns().iter();
        let column = |(field, own): (&arrow::datatypes::FieldRef, &Option<usize>)| -> Result<ArrayRef> {
            match own.and_then(|_| read.next()) {
                None => Ok(new_null_array(field.data_type(), batch.num_rows())),
                Some(array) if array.data_type() == field.data_type() => Ok(with_one_nan(array)),
                Some(array) => Ok(with_one_nan(&cast(array, field.data_type())?)),
            }
        };
        let columns = self.schema.fields().iter().zip(&self.own).map(column).collect::<Result<Vec<_>>>()?;
        batch_of(&self.schema, columns, batch.num_rows()).map_err(told)
    }
}

/// The array with every NaN made the same one. NaN is larger than every number and equal to itself, but DataFusion goes by
/// bits, and has one with a sign come first.
fn with_one_nan(array: &ArrayRef) -> ArrayRef {
    fn of<T: ArrowPrimitiveType>(array: &ArrayRef, odd: fn(T::Native) -> bool, nan: T::Native) -> ArrayRef {
        let floats = array.as_primitive::<T>();
        if !floats.values().iter().any(|x| odd(*x)) {
            return array.clone();
        }
        let one: PrimitiveArray<T> = floats.unary(|x| if odd(x) { nan } else { x });
        Arc::new(one)
    }
    type Half = <Float16Type as ArrowPrimitiveType>::Native;
    match array.data_type() {
        DataType::Float16 => of::<Float16Type>(array, |x| x.is_nan(), Half::NAN),
        DataType::Float32 => of::<Float32Type>(array, f32::is_nan, f32::NAN),
        DataType::Float64 => of::<Float64Type>(array, f64::is_nan, f64::NAN),
        _ => array.clone(),
    }
}

/// A file, or a part of it, on its way through.
struct Reader {
    open: Arc<OpenTable>,
    columns: Columns,
    output: SchemaRef,
    /// The filter, on the columns that are wanted.
    filter: Option<Arc<dyn PhysicalExpr>>,
    /// All that is known about rows that are wanted, on the columns of the table.
    known: Option<Arc<dyn PhysicalExpr>>,
    /// The state of it that `pending` was planned with.
    generation: u64,
    plan: ReadPlan,
    pending: VecDeque<Split>,
    current: Option<SplitReader>,
    /// The next split, being fetched while the current one is decoded.
    ahead: Option<SpawnedTask<colkit::Result<SplitReader>>>,
    coalescer: BatchCoalescer,
    /// Bytes decoded so far.
    given: u64,
    metrics: ReadMetrics,
}

impl Reader {
    fn told(&self, error: colkit::Error) -> datafusion::error::DataFusionError {
        told(error.file(self.open.name.clone()))
    }

    /// Finds out what is to be read.
    async fn begin(&mut self, range: Option<&FileRange>, size: u64) -> Result<()> {
        let whole = self.open.splits(&self.plan.scan).await?;
        let mine: Vec<Split> = match range {
            None => whole,
            Some(range) => {
                let rows = self.open.table.row_count();
                whole.into_iter().filter(|s| belongs(s.rows.start, rows, range, size)).collect()
            }
        };
        let (Some(first), Some(last)) = (mine.first(), mine.last()) else { return Ok(()) };
        self.replan(first.rows.start..last.rows.end).await?;
        self.metrics.planned(&mine, &self.pending, self.open.bytes.gap);
        Ok(())
    }

    /// Plans these rows by what is known now.
    async fn replan(&mut self, rows: Range<u64>) -> Result<()> {
        let predicate = match &self.known {
            None => None,
            Some(known) => {
                self.generation = snapshot_generation(known);
                condition(known, &self.open.table.schema())
            }
        };
        self.plan.scan.predicate = predicate.clone();
        let scan = Scan { rows: Some(rows), predicate, ..self.plan.scan.clone() };
        self.pending = self.open.splits(&scan).await?.into();
        Ok(())
    }

    /// The next split to read, ready to give rows.
    async fn next_split(&mut self) -> Result<Option<SplitReader>> {
        if let Some(task) = self.ahead.take() {
            let fetched = task.join().await.map_err(|e| datafusion::error::DataFusionError::External(Box::new(e)))?;
            return Ok(Some(fetched.map_err(|e| self.told(e))?));
        }
        let tightened = self.known.as_ref().is_some_and(|k| snapshot_generation(k) != self.generation);
        if tightened && let (Some(first), Some(last)) = (self.pending.front(), self.pending.back()) {
            let (before, rows) = (self.pending.len(), first.rows.start..last.rows.end);
            self.replan(rows).await?;
            self.metrics.ruled_out_later(before.saturating_sub(self.pending.len()));
        }
        let Some(split) = self.pending.pop_front() else { return Ok(None) };
        Ok(Some(self.reader_of(&split)?))
    }

    fn reader_of(&self, split: &Split) -> Result<SplitReader> {
        let table: &dyn Table = self.open.table.as_ref();
        self.open.bytes.start(table, &self.plan.scan, &self.plan.read_schema, split).map_err(|e| self.told(e))
    }

    /// Lets the store work on the next split while this one is being decoded.
    fn fetch_ahead(&mut self) -> Result<()> {
        if self.open.bytes.is_local() || self.ahead.is_some() {
            return Ok(());
        }
        let Some(split) = self.pending.pop_front() else { return Ok(()) };
        let (open, mut reader) = (self.open.clone(), self.reader_of(&split)?);
        self.ahead = Some(SpawnedTask::spawn(async move {
            open.bytes.fetch_ahead(&mut reader).await?;
            Ok(reader)
        }));
        Ok(())
    }

    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(batch) = self.coalescer.next_completed_batch() {
                return Ok(Some(batch));
            }
            let Some(split) = &mut self.current else {
                match self.next_split().await? {
                    Some(split) => {
                        self.current = Some(split);
                        self.fetch_ahead()?;
                    }
                    None if self.coalescer.get_buffered_rows() > 0 => self.coalescer.finish_buffered_batch()?,
                    None => return Ok(None),
                }
                continue;
            };
            match self.open.bytes.next_batch(split).await {
                Err(error) => return Err(self.told(error)),
                Ok(None) => {
                    self.metrics.read(split.count());
                    self.current = None;
                }
                Ok(Some(batch)) => {
                    self.metrics.decoded(batch.num_rows());
                    self.given = self.given.saturating_add(decoded_bytes(&batch));
                    Limits::check_output(self.given, self.open.most).map_err(|e| self.told(e))?;
                    let batch = self.columns.of(&batch)?;
                    if let Some(batch) = self.keep(batch)? {
                        return Ok(Some(batch));
                    }
                }
            }
        }
    }

    /// Keeps the rows and columns that are asked for: at once, or gathered with those of other batches.
    fn keep(&mut self, batch: RecordBatch) -> Result<Option<RecordBatch>> {
        let Some(filter) = &self.filter else { return Ok(Some(batch)) };
        let rows = batch.num_rows();
        let mask = filter.evaluate(&batch)?.into_array(rows)?;
        let mask: &BooleanArray = mask.as_boolean();
        let columns = batch.columns().iter().take(self.output.fields().len()).cloned().collect();
        let batch = batch_of(&self.output, columns, rows).map_err(told)?;
        if self.output.fields().is_empty() {
            return Ok(Some(filter_record_batch(&batch, mask)?).filter(|b| b.num_rows() > 0));
        }
        match mask.true_count() {
            0 => {}
            all if all == rows => self.coalescer.push_batch(batch)?,
            _ => self.coalescer.push_batch_with_filter(batch, mask)?,
        }
        Ok(None)
    }
}

/// Whether the row lies in the range, rows being spread evenly over the bytes of the file.
fn belongs(row: u64, rows: u64, range: &FileRange, size: u64) -> bool {
    let place = u128::from(row) * u128::from(size) / u128::from(rows.max(1));
    let bound = |at: i64| u128::try_from(at).unwrap_or(0);
    bound(range.start) <= place && place < bound(range.end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_belongs_to_one_range() {
        let (rows, size) = (1000, 777);
        let cuts = [0, 1, 250, 251, 600, 777];
        for row in 0..rows {
            let owners = cuts.windows(2).filter(|w| belongs(row, rows, &FileRange { start: w[0], end: w[1] }, size));
            assert_eq!(owners.count(), 1, "row {row}");
        }
    }
}
