//! Reads one file, or the part of it that belongs to a partition.
//!
//! DataFusion divides large files into byte ranges. A range stands for the splits whose first row lies in it, with the
//! rows spread evenly over the bytes: which rows these are depends only on the file, the columns and the range, never
//! on a filter, so that every row is read by exactly one partition.

use crate::error::{external, plain};
use crate::metrics::ReadMetrics;
use crate::open_files::{OpenFiles, OpenTable};
use crate::prune::condition;
use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, PrimitiveArray, new_null_array};
use arrow::compute::{BatchCoalescer, cast};
use arrow::datatypes::{ArrowPrimitiveType, DataType, Float16Type, Float32Type, Float64Type, Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use colkit::without_views;
use colkit_core::drive::store::StoreScan;
use colkit_core::plan::{ReadPlan, batch_of};
use colkit_core::{Projection, ReadCount, RowFilter, Scan, Scanner, Split};
use datafusion::datasource::listing::{FileRange, PartitionedFile};
use datafusion::datasource::physical_plan::{FileOpenFuture, FileOpener};
use datafusion::error::Result;
use datafusion::physical_expr::utils::{collect_columns, reassign_expr_columns};
use datafusion::physical_expr::{PhysicalExpr, conjunction, split_conjunction};
use datafusion::physical_expr_common::physical_expr::snapshot_generation;
use futures::{StreamExt, stream};
use object_store::ObjectStore;
use std::ops::Range;
use std::sync::Arc;

/// Opens the files of one partition.
#[derive(Clone)]
pub(crate) struct Opener {
    pub tables: Arc<OpenFiles>,
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
        let mut reader = self.reader(file).await?;
        reader.begin(file.range.as_ref(), file.object_meta.size).await?;
        Ok(reader)
    }

    /// The splits of the whole file: all of them, and those that are left of them.
    pub async fn splits(self, file: &PartitionedFile) -> Result<WholeFile> {
        let mut reader = self.reader(file).await?;
        let scan = reader.scan.scanner().plan().scan.clone();
        let all = reader.open.splits(&scan).await?;
        let rows = reader.open.table.row_count();
        let left = match reader.known {
            Some(_) => reader.plan(0..rows).await?,
            None => all.clone(),
        };
        Ok(WholeFile { rows, starts: all.into_iter().map(|split| split.rows.start).collect(), left })
    }

    async fn reader(self, file: &PartitionedFile) -> Result<Reader> {
        let open = self.tables.open_as(&self.store, &file.object_meta, self.format, &self.file_schema).await?;
        let table = open.table.schema();
        let output = Arc::new(self.file_schema.project(&self.columns)?);
        let columns = Columns::new(output.clone(), &table);
        let known = self.filter.iter().chain(&self.hints).cloned().collect::<Vec<_>>();
        let known = (!known.is_empty()).then(|| conjunction(known));
        let mut filters: Vec<Arc<dyn RowFilter>> = Vec::new();
        for condition in self.filter.iter().flat_map(split_conjunction) {
            filters.push(Arc::new(Condition::new(condition, &self.file_schema, &table)?));
        }
        let is_filtered = !filters.is_empty();
        let scan = Scan {
            projection: Projection::columns(columns.own.iter().flatten().copied()),
            batch_rows: self.batch_rows,
            memory: open.memory,
            filters,
            views: has_views(&self.file_schema),
            ..Scan::default()
        };
        let plan = ReadPlan::new(open.table.as_ref(), &scan).map_err(|e| external(e.file(open.name.clone())))?;
        let scanner = Scanner::new(open.table.clone(), plan, Vec::new(), open.bytes.ahead(), open.most);
        // Conditions leave some rows of each batch, or none.
        let coalescer = is_filtered && !output.fields().is_empty();
        let coalescer = coalescer.then(|| {
            BatchCoalescer::new(output, self.batch_rows).with_biggest_coalesce_batch_size(Some(self.batch_rows / 2))
        });
        Ok(Reader {
            scan: StoreScan::new(open.bytes.clone(), scanner),
            open,
            columns,
            known,
            generation: 0,
            coalescer,
            finished: false,
            counted: Counted::default(),
            metrics: self.metrics,
        })
    }
}

/// What a scan reads of a file.
pub(crate) struct WholeFile {
    rows: u64,
    /// The first rows of all splits.
    starts: Vec<u64>,
    /// What is read of them.
    left: Vec<Split>,
}

impl WholeFile {
    /// What the owner of a range reads.
    pub fn within(&self, range: Option<&FileRange>, size: u64) -> Vec<Split> {
        let Some(range) = range else { return self.left.clone() };
        let is_mine = |split: &&Split| {
            let whole = self.starts.partition_point(|start| *start <= split.rows.start);
            let start = whole.checked_sub(1).and_then(|at| self.starts.get(at));
            start.is_some_and(|start| belongs(*start, self.rows, range, size))
        };
        self.left.iter().filter(is_mine).cloned().collect()
    }
}

/// A condition of the query, as the scan engine asks it.
#[derive(Debug)]
struct Condition {
    /// On the columns that it looks at.
    condition: Arc<dyn PhysicalExpr>,
    columns: Columns,
}

impl Condition {
    fn new(condition: &Arc<dyn PhysicalExpr>, wanted: &Schema, table: &Schema) -> Result<Self> {
        let mut indices = Vec::new();
        for column in collect_columns(condition) {
            indices.push(wanted.index_of(column.name())?);
        }
        indices.sort_unstable();
        indices.dedup();
        let schema = Arc::new(wanted.project(&indices)?);
        let condition = reassign_expr_columns(condition.clone(), &schema)?;
        Ok(Condition { condition, columns: Columns::new(schema, table) })
    }
}

impl RowFilter for Condition {
    fn columns(&self) -> Vec<usize> {
        self.columns.own.iter().flatten().copied().collect()
    }

    fn keep(&self, batch: &RecordBatch) -> colkit::Result<BooleanArray> {
        let keep = || -> Result<BooleanArray> {
            let batch = self.columns.of(batch)?;
            let mask = self.condition.evaluate(&batch)?.into_array(batch.num_rows())?;
            Ok(mask.as_boolean().clone())
        };
        keep().map_err(|e| plain(&e))
    }
}

/// How the columns that are wanted follow from those that the file has: by name, in the type that is wanted.
#[derive(Debug)]
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
        batch_of(&self.schema, columns, batch.num_rows()).map_err(external)
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
    scan: StoreScan,
    columns: Columns,
    /// All that is known about rows that are wanted, on the columns of the table.
    known: Option<Arc<dyn PhysicalExpr>>,
    /// The state of it that the splits were planned with.
    generation: u64,
    /// Gathers rows where conditions leave few of each batch.
    coalescer: Option<BatchCoalescer>,
    finished: bool,
    counted: Counted,
    metrics: ReadMetrics,
}

/// What the metrics know already.
#[derive(Default)]
struct Counted {
    rows: u64,
    read: ReadCount,
}

impl Reader {
    fn named(&self, error: colkit::Error) -> datafusion::error::DataFusionError {
        external(error.file(self.open.name.clone()))
    }

    /// Finds out what is to be read.
    async fn begin(&mut self, range: Option<&FileRange>, size: u64) -> Result<()> {
        let scan = self.scan.scanner().plan().scan.clone();
        let whole = self.open.splits(&scan).await?;
        let mine: Vec<Split> = match range {
            None => whole,
            Some(range) => {
                let rows = self.open.table.row_count();
                whole.into_iter().filter(|s| belongs(s.rows.start, rows, range, size)).collect()
            }
        };
        let (Some(first), Some(last)) = (mine.first(), mine.last()) else { return Ok(()) };
        let splits = match self.known {
            Some(_) => self.plan(first.rows.start..last.rows.end).await?,
            None => mine.clone(),
        };
        self.metrics.planned(&mine, &splits, self.open.bytes.gap);
        self.scan.scanner().set_pending(splits);
        Ok(())
    }

    /// Plans these rows by what is known now.
    async fn plan(&mut self, rows: Range<u64>) -> Result<Vec<Split>> {
        let predicate = match &self.known {
            None => None,
            Some(known) => {
                self.generation = snapshot_generation(known);
                condition(known, &self.open.table.schema())
            }
        };
        let scan = Scan { rows: Some(rows), predicate, ..self.scan.scanner().plan().scan.clone() };
        self.open.splits(&scan).await
    }

    /// Plans what has not been started once more, if more is known about it by now.
    async fn replan(&mut self) -> Result<()> {
        let tightened = self.known.as_ref().is_some_and(|k| snapshot_generation(k) != self.generation);
        if tightened && let Some(rows) = self.scan.scanner().pending() {
            let before = self.scan.scanner().pending_count();
            let splits = self.plan(rows).await?;
            self.metrics.ruled_out_later(before.saturating_sub(splits.len()));
            self.scan.scanner().set_pending(splits);
        }
        Ok(())
    }

    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(batch) = self.coalescer.as_mut().and_then(BatchCoalescer::next_completed_batch) {
                return Ok(Some(batch));
            }
            if self.finished {
                return Ok(None);
            }
            self.replan().await?;
            let rows = self.scan.next_rows().await.map_err(|e| self.named(e))?;
            self.count();
            let Some(rows) = rows else {
                self.finished = true;
                if let Some(coalescer) = &mut self.coalescer {
                    coalescer.finish_buffered_batch()?;
                }
                continue;
            };
            let batch = rows.finish().map_err(|e| self.named(e))?;
            if batch.num_rows() == 0 {
                continue;
            }
            let batch = self.columns.of(&batch)?;
            match &mut self.coalescer {
                Some(coalescer) => coalescer.push_batch(batch)?,
                None => return Ok(Some(batch)),
            }
        }
    }

    /// Tells the metrics what has happened since the last time.
    fn count(&mut self) {
        let rows = self.scan.scanner().decoded().iter().copied().max().unwrap_or(0);
        let read = self.scan.count();
        self.metrics.decoded(rows.saturating_sub(self.counted.rows));
        self.metrics.read(ReadCount {
            requests: read.requests - self.counted.read.requests,
            bytes: read.bytes - self.counted.read.bytes,
        });
        self.counted = Counted { rows, read };
    }
}

/// Whether texts are wanted as views.
fn has_views(schema: &Schema) -> bool {
    schema.fields().iter().any(|f| without_views(f.data_type()) != *f.data_type())
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
