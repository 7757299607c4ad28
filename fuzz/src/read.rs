//! Everything that can be asked of a file, and the laws that hold even for a hostile one.

use crate::{limits, options};
use arrow::array::{Array, UInt64Array};
use arrow::compute::{concat_batches, take_record_batch};
use arrow::record_batch::RecordBatch;
use bytes::Bytes;
use colkit_core::drive::blocking;
use colkit_core::{Format, LateMaterialization, Op, Predicate, Projection, Result, Scan, Source, Table, Value};
use std::sync::Arc;

/// A file may say that it has any number of rows; so many are looked at.
const ROWS: usize = 4096;

/// Opens a file and asks everything of it. Errors are fine, broken laws are not.
pub fn everything(format: &dyn Format, file: &[u8]) {
    // A copy of its own, so that reading beyond its end is noticed.
    let file = Bytes::copy_from_slice(file);
    let _ = ask(format, &file);
}

fn ask(format: &dyn Format, file: &Bytes) -> Result<()> {
    format.sniff(file, file);
    let table = &blocking::run(format.open(file.size(), &options()), file)?;
    table.properties();
    table.statistics();
    if let Ok(layout) = table.layout().and_then(|machine| blocking::run(machine, file)) {
        // Regions may claim the same bytes, which the layout then says; but each byte is somewhere.
        let end = layout.regions.iter().fold(0, |at, region| {
            assert_eq!(region.range.start(), at, "the byte map of any file that opens: {layout:#?}");
            region.range.end()
        });
        assert_eq!(end, file.size(), "the byte map of any file that opens: {layout:#?}");
    }
    let _ = table.verify().and_then(|machine| blocking::run(machine, file));
    let all = rows(table, file, &scan(Projection::all()));
    for column in 0..table.schema().fields().len().min(3) {
        let _ = rows(table, file, &scan(Projection::columns([column])));
    }
    take(table, file, all.as_ref().ok());
    if let Ok(all) = &all {
        conditions(table, file, all);
    }
    all.map(|_| ())
}

/// A scan in small batches and little memory.
pub fn scan(projection: Projection) -> Scan {
    Scan { batch_rows: 500, batch_bytes: 1 << 20, memory: limits().memory, ..Scan::of(projection) }
}

/// The first rows of a scan.
pub fn rows(table: &Arc<dyn Table>, file: &Bytes, scan: &Scan) -> Result<RecordBatch> {
    let mut at = 0;
    for split in blocking::run(table.splits(scan)?, file)? {
        assert!(split.rows.start >= at && split.rows.end <= table.row_count(), "splits follow each other");
        at = split.rows.end;
    }
    let read = blocking::scan(table.clone(), Arc::new(file.clone()), scan, 1, u64::MAX)?;
    let schema = read.schema();
    let (mut batches, mut count) = (Vec::new(), 0);
    for batch in read {
        let batch = batch?;
        assert!(batch.num_rows() <= scan.batch_rows.max(1) || batch.num_columns() == 0, "a batch is too large");
        batch.columns().iter().for_each(|array| valid(array.as_ref()));
        count += batch.num_rows();
        if batch.num_columns() > 0 {
            batches.push(batch);
        }
        if count >= ROWS {
            break;
        }
    }
    Ok(concat_batches(&schema, &batches)?)
}

/// A condition finds the same rows, whether it is decided first or looked at on whole rows. They need not be those of the scan: a
/// file may lie about its bounds.
fn conditions(table: &Arc<dyn Table>, file: &Bytes, all: &RecordBatch) {
    let schema = table.schema();
    let value = |column: usize| Value::of_row(all.columns().get(column)?, all.num_rows() / 2);
    let compared = |column: usize, op: Op| Predicate::compare(column, op, value(column)?).bind(&schema).ok();
    let predicates = (0..all.num_columns().min(2)).flat_map(|c| [compared(c, Op::Eq), compared(c, Op::Ge)]);
    for predicate in predicates.flatten() {
        let found = |late: LateMaterialization| {
            let scan = Scan { predicate: Some(predicate.clone()), late, ..scan(Projection::all()) };
            rows(table, file, &scan)
        };
        let (Ok(first), Ok(beside)) = (found(LateMaterialization::Always), found(LateMaterialization::Never)) else {
            continue;
        };
        // Batches are cut differently, so that one may have more of the first rows than the other.
        let count = first.num_rows().min(beside.num_rows());
        assert!(count >= ROWS || first.num_rows() == beside.num_rows(), "{predicate:?}");
        assert_eq!(first.slice(0, count).columns(), beside.slice(0, count).columns(), "{predicate:?}");
    }
}

/// Whatever a file says, an array that comes out of it keeps the rules of Arrow: others read it without checking.
fn valid(array: &dyn Array) {
    if let Err(error) = array.to_data().validate_full() {
        panic!("an array that is none: {error}");
    }
}

/// Single rows are those of the scan, if both can be had.
fn take(table: &Arc<dyn Table>, file: &Bytes, all: Option<&RecordBatch>) {
    let count = all.map_or(table.row_count().min(3), |all| all.num_rows() as u64);
    let mut wanted = Vec::new();
    if let Some(last) = count.checked_sub(1) {
        wanted.extend([last, 0, count / 2, 0]);
    }
    let projection = Projection::all();
    let source: Arc<dyn Source> = Arc::new(file.clone());
    let take = |rows: &[u64]| blocking::take(table.clone(), source.clone(), rows, &projection, &limits(), 1);
    let taken = take(&wanted);
    // Far rows, that no scan has seen.
    if let Some(last) = table.row_count().checked_sub(1) {
        let _ = take(&[last, last / 2]);
    }
    let (Ok(taken), Some(all)) = (taken, all) else { return };
    taken.columns().iter().for_each(|array| valid(array.as_ref()));
    assert_eq!(taken.num_rows(), wanted.len(), "rows taken");
    if all.num_columns() > 0
        && let Ok(expected) = take_record_batch(all, &UInt64Array::from(wanted))
    {
        assert_eq!(taken.columns(), expected.columns(), "rows taken are those of the scan");
    }
}
