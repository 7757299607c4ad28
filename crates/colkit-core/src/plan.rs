//! Turns a scan request into a read plan, and read batches back into what was requested.
//!
//! Predicates need columns that the caller may not have projected. The plan adds them to the projection, splits the
//! conditions into stages that are evaluated one after another, and drops the added columns afterwards.

use crate::encoded::{Kept, batch_as_stored, decided_by_value, decoded};
use crate::table::ColumnRef;
use crate::views::with_views;
use crate::{BoundPredicate, Error, Projection, Result, RowFilter, Scan, Split, Table, ValueTest, coalesce};
use arrow::array::{Array, ArrayRef, BooleanArray, RecordBatchOptions};
use arrow::buffer::BooleanBuffer;
use arrow::compute::prep_null_mask_filter;
use arrow::datatypes::{DataType, FieldRef, Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use std::sync::Arc;

/// A scan as it will be run.
#[derive(Clone, Debug)]
pub struct ReadPlan {
    /// The scan with the columns of its conditions added to the projection.
    pub scan: Scan,
    /// The schema of the batches read.
    pub read_schema: SchemaRef,
    /// The schema of the batches returned.
    pub schema: SchemaRef,
    /// The conditions. No two look at the same column; the cheapest comes first.
    pub(crate) stages: Vec<Stage>,
    columns: Vec<ColumnRef>,
}

/// What a scan is going to read, as far as that is known before. Where conditions leave few rows, it will be less.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Planned {
    /// Units of work.
    pub splits: usize,
    /// Their rows.
    pub rows: u64,
    /// Columns, those of conditions included.
    pub columns: usize,
    /// Ranges of bytes.
    pub ranges: usize,
    /// Their bytes.
    pub bytes: u64,
}

impl Planned {
    /// What reading these splits takes.
    pub(crate) fn new(plan: &ReadPlan, splits: &[Split]) -> Self {
        let ranges: Vec<_> = splits.iter().flat_map(|s| s.ranges.iter().copied()).collect();
        let ranges = coalesce(&ranges, 0);
        Planned {
            splits: splits.len(),
            rows: splits.iter().map(|s| s.rows.end.saturating_sub(s.rows.start)).sum(),
            columns: plan.read_schema.fields().len(),
            ranges: ranges.len(),
            bytes: ranges.iter().map(|r| r.len()).sum(),
        }
    }
}

/// Conditions that are decided together, because they look at the same columns.
#[derive(Clone, Debug)]
pub(crate) struct Stage {
    /// Where their columns are among those that are read; sorted.
    pub columns: Vec<usize>,
    conditions: Vec<Condition>,
    /// What it takes to look at those columns, roughly.
    pub cost: u64,
}

#[derive(Clone, Debug)]
enum Condition {
    Bound(BoundPredicate),
    Custom(Arc<dyn RowFilter>),
}

impl Condition {
    fn columns(&self) -> Vec<usize> {
        match self {
            Condition::Bound(predicate) => predicate.columns(),
            Condition::Custom(filter) => filter.columns(),
        }
    }

    /// For each row whether it is wanted. `column` finds a column of the table.
    fn keep(&self, rows: usize, column: &dyn Fn(usize) -> Option<ArrayRef>) -> Result<BooleanArray> {
        match self {
            Condition::Bound(predicate) => predicate.evaluate_on(rows, column),
            Condition::Custom(filter) => {
                let lost = |c: usize| Error::internal(format!("column {c} of a filter was not read"));
                let arrays = filter.columns().into_iter().map(|c| column(c).ok_or_else(|| lost(c)));
                let arrays = arrays.collect::<Result<Vec<_>>>()?;
                let field = |a: &ArrayRef| arrow::datatypes::Field::new("", a.data_type().clone(), true);
                let schema = Arc::new(Schema::new(arrays.iter().map(field).collect::<Vec<_>>()));
                filter.keep(&batch_of(&schema, arrays, rows)?)
            }
        }
    }
}

impl ReadPlan {
    /// Plans `scan` of `table`.
    pub fn new(table: &dyn Table, scan: &Scan) -> Result<Self> {
        let table_schema: SchemaRef = table.schema();
        let mut columns = scan.projection.resolve(&table_schema)?;
        let mut conditions = Vec::new();
        match &scan.predicate {
            None => {}
            Some(BoundPredicate::And(all)) if !all.is_empty() => {
                conditions.extend(all.iter().cloned().map(Condition::Bound));
            }
            Some(other) => conditions.push(Condition::Bound(other.clone())),
        }
        conditions.extend(scan.filters.iter().cloned().map(Condition::Custom));
        let mut stages: Vec<Stage> = Vec::new();
        for condition in conditions {
            let mut needed: Vec<usize> = Vec::new();
            for index in condition.columns() {
                needed.push(position(&columns, index).unwrap_or_else(|| {
                    columns.push(ColumnRef { index, within: Vec::new() });
                    columns.len() - 1
                }));
            }
            // Those that share a column with it become one stage.
            let (mut same, other): (Vec<Stage>, Vec<Stage>) =
                stages.into_iter().partition(|s| s.columns.iter().any(|c| needed.contains(c)));
            stages = other;
            let mut stage = Stage { columns: needed, conditions: vec![condition], cost: 0 };
            for earlier in same.drain(..).rev() {
                stage.columns.extend(earlier.columns);
                stage.conditions.splice(0..0, earlier.conditions);
            }
            stage.columns.sort_unstable();
            stage.columns.dedup();
            stages.push(stage);
        }
        let projection = Projection::parts(columns.clone());
        let types = |schema: SchemaRef| if scan.views { with_views(&schema) } else { schema };
        let read_schema = types(projection.schema(&table_schema)?);
        for stage in &mut stages {
            let of = |c: &usize| columns.get(*c).map_or(0, |column| cost(table, &table_schema, column.index));
            stage.cost = stage.columns.iter().map(of).fold(0, u64::saturating_add);
        }
        stages.sort_by_key(|stage| stage.cost);
        let schema = types(scan.projection.schema(&table_schema)?);
        let (batch_rows, batch_bytes) = batch_size(scan, columns.len());
        let scan = Scan { projection, batch_rows, batch_bytes, ..scan.clone() };
        Ok(ReadPlan { scan, read_schema, schema, stages, columns })
    }

    /// The scan with only the columns at these positions of what is read, as they are stored or as their types say.
    pub(crate) fn scan_of(&self, positions: &[usize], encoded: bool) -> Scan {
        let columns = positions.iter().filter_map(|p| self.columns.get(*p).cloned()).collect();
        Scan { projection: Projection::parts(columns), encoded, ..self.scan.clone() }
    }

    /// Whether the column at this position of what is read becomes views.
    pub(crate) fn is_view(&self, position: usize) -> bool {
        let field = self.read_schema.fields().get(position).filter(|_| self.scan.views);
        field.is_some_and(|f| matches!(f.data_type(), DataType::Utf8View | DataType::BinaryView))
    }

    /// The fields at these positions of what is read.
    pub(crate) fn fields_of(&self, positions: &[usize]) -> Vec<FieldRef> {
        positions.iter().filter_map(|p| self.read_schema.fields().get(*p).cloned()).collect()
    }

    /// For each row whether a stage keeps it, never null. The batch has the columns of the stage, possibly encoded.
    pub(crate) fn decide(&self, stage: &Stage, batch: &RecordBatch) -> Result<BooleanArray> {
        let place = |table_column: usize| {
            let position = position(&self.columns, table_column)?;
            let place = stage.columns.binary_search(&position).ok()?;
            batch.columns().get(place).cloned()
        };
        self.all_of(&stage.conditions, batch.num_rows(), &place)
    }

    fn all_of(
        &self,
        conditions: &[Condition],
        rows: usize,
        column: &dyn Fn(usize) -> Option<ArrayRef>,
    ) -> Result<BooleanArray> {
        let mut all: Option<BooleanArray> = None;
        for condition in conditions {
            let mask = self.keep(condition, rows, column)?;
            // Unknown is not true.
            let mask = if mask.null_count() > 0 { prep_null_mask_filter(&mask) } else { mask };
            all = Some(match all {
                None => mask,
                Some(all) => BooleanArray::new(all.values() & mask.values(), None),
            });
        }
        Ok(all.unwrap_or_else(|| BooleanArray::from(vec![true; rows])))
    }

    /// For each row whether a condition wants it. Columns may be encoded.
    fn keep(
        &self,
        condition: &Condition,
        rows: usize,
        column: &dyn Fn(usize) -> Option<ArrayRef>,
    ) -> Result<BooleanArray> {
        let data_type =
            |index: usize| Some(self.read_schema.fields().get(position(&self.columns, index)?)?.data_type());
        if let Condition::Custom(filter) = condition
            && let Some(test) = filter.value_test()
        {
            let columns = filter.columns().into_iter().filter_map(|index| column(index).zip(data_type(index)));
            return any_passes(test, rows, columns);
        }
        if let [only] = condition.columns().as_slice()
            && let (Some(array), Some(data_type)) = (column(*only), data_type(*only))
        {
            let of_values = |values: ArrayRef| condition.keep(values.len(), &|_| Some(values.clone()));
            if let Some(mask) = decided_by_value(&array, data_type, &of_values)? {
                return Ok(mask);
            }
        }
        let mut plain = Vec::new();
        for index in condition.columns() {
            if let (Some(array), Some(data_type)) = (column(index), data_type(index)) {
                plain.push((index, decoded(array, data_type)?));
            }
        }
        condition.keep(rows, &|index| plain.iter().find(|(i, _)| *i == index).map(|(_, array)| array.clone()))
    }

    /// The rows and columns that were asked for of a batch that was read, as their types say. `decided` means that all of its rows
    /// are wanted.
    pub(crate) fn finish(&self, batch: &RecordBatch, decided: bool) -> Result<RecordBatch> {
        let conditions: Vec<Condition> = self.stages.iter().flat_map(|s| s.conditions.iter().cloned()).collect();
        let columns = batch.columns().iter().zip(self.schema.fields());
        if decided || conditions.is_empty() {
            let columns = columns.map(|(array, field)| decoded(array.clone(), field.data_type()));
            return batch_of(&self.schema, columns.collect::<Result<_>>()?, batch.num_rows());
        }
        let column = |index: usize| batch.columns().get(position(&self.columns, index)?).cloned();
        let mask = self.all_of(&conditions, batch.num_rows(), &column)?;
        let kept = Kept::new(&mask, batch.columns());
        let columns = columns.map(|(array, field)| kept.rows_of(array, field.data_type()));
        batch_of(&self.schema, columns.collect::<Result<_>>()?, kept.count())
    }

    /// The rows of a stage that it keeps, as the types of its columns say.
    pub(crate) fn kept(&self, stage: &Stage, batch: &RecordBatch, mask: &BooleanArray) -> Result<RecordBatch> {
        let (kept, fields) = (Kept::new(mask, batch.columns()), self.fields_of(&stage.columns));
        let columns = batch.columns().iter().zip(&fields).map(|(array, field)| kept.rows_of(array, field.data_type()));
        batch_as_stored(&fields, columns.collect::<Result<_>>()?, kept.count())
    }
}

/// For each row whether one of its values passes the test, or none if it is negated.
fn any_passes<'a>(
    test: &dyn ValueTest,
    rows: usize,
    columns: impl Iterator<Item = (ArrayRef, &'a DataType)>,
) -> Result<BooleanArray> {
    let mut any = BooleanBuffer::new_unset(rows);
    for (array, data_type) in columns {
        let mask = match decided_by_value(&array, data_type, &|values| test.passes(&values))? {
            Some(mask) => mask,
            None => test.passes(&decoded(array, data_type)?)?,
        };
        let mask = if mask.null_count() > 0 { prep_null_mask_filter(&mask) } else { mask };
        any = &any | mask.values();
    }
    Ok(BooleanArray::new(if test.is_negated() { !&any } else { any }, None))
}

/// What it takes to look at a column: its bytes in the file, or something like it.
fn cost(table: &dyn Table, schema: &Schema, column: usize) -> u64 {
    let width = schema.fields().get(column).map_or(0, |field| match field.data_type() {
        DataType::Boolean => 1,
        DataType::FixedSizeBinary(n) => u64::try_from(*n).unwrap_or(0),
        other => other.primitive_width().map_or(32, |n| n as u64),
    });
    table.column_bytes(column).unwrap_or_else(|| width.saturating_mul(table.row_count()))
}

/// Batches small enough that all columns together, with what lies ready and what is being made, stay within the scan's
/// memory: up to four splits with three batches each are under way, and decoders need some room too.
fn batch_size(scan: &Scan, columns: usize) -> (usize, usize) {
    let share = usize::try_from(scan.memory / 16).unwrap_or(usize::MAX) / columns.max(1);
    (scan.batch_rows.min((share / 8).max(64)), scan.batch_bytes.min(share.max(4096)))
}

/// Where a whole column of the table stands in the projection.
fn position(columns: &[ColumnRef], index: usize) -> Option<usize> {
    columns.iter().position(|c| c.index == index && c.within.is_empty())
}

/// A batch of no columns, or of columns that fit the schema.
pub fn batch_of(schema: &SchemaRef, columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(RecordBatch::try_new_with_options(schema.clone(), columns, &options)?)
}
