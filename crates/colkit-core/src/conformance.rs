//! Conformance tests that every format must pass.
//!
//! [`reads`] checks all ways of reading a valid file against each other, [`round_trip`] that written data is read back,
//! [`hostile`] that corruption does no harm, [`flipped_bits`] the effect of single bit flips, [`faulty_reads`] and
//! [`full_disk`] that I/O errors are reported. A failed check panics with what was expected.

#![expect(
    clippy::panic,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a broken law fails the test that calls it"
)]
#![expect(clippy::indexing_slicing, clippy::missing_panics_doc, reason = "test support over data that was just made")]

mod faults;
mod flips;

pub use faults::{faulty_reads, full_disk};
pub use flips::{Bit, Flips, flipped_bits};

use crate::drive::blocking;
use crate::{
    BoundPredicate, ByteRange, Counting, Format, LateMaterialization, MemorySink, Op, Predicate, Projection,
    ReadOptions, RegionKind, Result, RowFilter, Scan, Source, Table, TableFile, Value, WriteOptions, coalesce,
    with_views,
};
use arrow::array::{Array, ArrayRef, BooleanArray, UInt64Array};
use arrow::compute::{cast, concat_batches, filter_record_batch, take, take_record_batch};
use arrow::datatypes::DataType;
use arrow::record_batch::RecordBatch;
use bytes::Bytes;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::Duration;

/// Which laws apply to a format beyond those that apply to all.
#[derive(Clone, Copy, Debug)]
pub struct Laws {
    /// Columns lie apart, so that a read of some touches the bytes of no other.
    pub columns_apart: bool,
}

/// A file in memory.
fn open(format: &Arc<dyn Format>, bytes: &Bytes) -> Result<TableFile> {
    TableFile::open(format.clone(), Arc::new(bytes.clone()), &ReadOptions::default())
}

/// All rows of a scan as one batch.
fn collect(file: &TableFile, scan: &Scan) -> Result<RecordBatch> {
    let batches = file.scan(scan)?;
    let schema = batches.schema();
    let parts = batches.collect::<Result<Vec<_>>>()?;
    for part in &parts {
        assert!(part.num_rows() <= scan.batch_rows.max(1) || part.num_columns() == 0, "a batch is larger than asked");
    }
    joined(&schema, &parts)
}

fn joined(schema: &arrow::datatypes::SchemaRef, parts: &[RecordBatch]) -> Result<RecordBatch> {
    if schema.fields().is_empty() {
        let rows = parts.iter().map(RecordBatch::num_rows).sum();
        return crate::plan::batch_of(schema, Vec::new(), rows);
    }
    Ok(concat_batches(schema, parts)?)
}

/// Reads a whole table from good bytes.
pub fn read_all(format: &Arc<dyn Format>, bytes: &Bytes) -> Result<RecordBatch> {
    collect(&open(format, bytes)?, &Scan::default())
}

/// Checks every law of reading on a good file, and returns its rows.
pub fn reads(format: &Arc<dyn Format>, bytes: &Bytes, laws: Laws) -> RecordBatch {
    let file = open(format, bytes).expect("a good file opens");
    let all = collect(&file, &Scan::default()).expect("a good file reads");
    assert_eq!(all.num_rows() as u64, file.row_count(), "row count");
    assert_eq!(all.schema().fields(), file.schema().fields(), "schema");
    batch_size_does_not_matter(&file, &all);
    views_agree(&file, &all);
    projection_agrees(&file, &all);
    row_ranges_agree(&file, &all);
    take_agrees(&file, &all);
    predicates_agree(&file, &all);
    splits_cover_the_table(&file);
    the_layout_covers_every_byte_once(&file);
    #[cfg(feature = "object-store")]
    the_async_driver_agrees(format, bytes, &all);
    if laws.columns_apart {
        a_pruned_read_touches_only_its_columns(format, bytes, &all);
    }
    all
}

fn batch_size_does_not_matter(file: &TableFile, all: &RecordBatch) {
    for (batch_rows, batch_bytes, memory, threads) in
        [(1, 1 << 20, 512 << 20, 1), (7, 64, 512 << 20, 3), (1000, 1 << 20, 1 << 20, 2), (1 << 20, 1 << 30, 8 << 20, 2)]
    {
        if all.num_rows() / batch_rows > 5000 {
            continue;
        }
        let scan = Scan { batch_rows, batch_bytes, memory, ..Scan::default() };
        match collect(&file.clone().with_threads(threads), &scan) {
            Ok(read) => assert_eq!(&read, all, "batches of {batch_rows} rows on {threads} threads"),
            Err(e) => assert_eq!(e.code(), "limit_exceeded", "batches of {batch_rows} rows: {e}"),
        }
    }
}

/// The rows with views in place of text and bytes.
fn viewed(batch: &RecordBatch) -> RecordBatch {
    let schema = with_views(&batch.schema());
    let columns = batch.columns().iter().zip(schema.fields()).map(|(array, f)| cast(array, f.data_type()).unwrap());
    crate::plan::batch_of(&schema, columns.collect(), batch.num_rows()).unwrap()
}

fn views_agree(file: &TableFile, all: &RecordBatch) {
    let expected = viewed(all);
    for (batch_rows, threads) in [(32 * 1024, 1), (1000, 2)] {
        let scan = Scan { views: true, batch_rows, ..Scan::default() };
        let read = collect(&file.clone().with_threads(threads), &scan).unwrap();
        assert_eq!(read, expected, "views, batches of {batch_rows} rows");
    }
}

fn projection_agrees(file: &TableFile, all: &RecordBatch) {
    let columns = all.num_columns();
    let mut choices: Vec<Vec<usize>> = vec![vec![], (0..columns).rev().collect()];
    choices.extend((0..columns.min(20)).map(|c| vec![c]));
    if columns > 1 {
        choices.push(vec![columns - 1, 0, columns - 1]);
    }
    for choice in choices {
        let read = collect(file, &Scan::of(Projection::columns(choice.clone()))).unwrap();
        assert_eq!(read.num_rows(), all.num_rows(), "rows of projection {choice:?}");
        assert_eq!(read, all.project(&choice).unwrap(), "projection {choice:?}");
    }
    let beyond = Scan::of(Projection::columns([columns]));
    assert_eq!(file.scan(&beyond).err().expect("no such column").code(), "no_such_column");
}

/// Row ranges worth trying on a table of this length.
fn some_ranges(rows: u64) -> Vec<Range<u64>> {
    let mut ranges = vec![0..0, 0..rows.min(1), rows / 3..rows - rows / 3, rows..rows, rows.saturating_sub(1)..rows];
    ranges.push(rows / 2..(rows / 2 + 10).min(rows));
    ranges
}

fn row_ranges_agree(file: &TableFile, all: &RecordBatch) {
    for rows in some_ranges(file.row_count()) {
        let scan = Scan { rows: Some(rows.clone()), ..Scan::default() };
        let read = collect(file, &scan).unwrap();
        let size = |n: u64| usize::try_from(n).unwrap();
        assert_eq!(read, all.slice(size(rows.start), size(rows.end - rows.start)), "rows {rows:?}");
    }
    let beyond = Scan { rows: Some(0..file.row_count() + 1), ..Scan::default() };
    assert_eq!(file.scan(&beyond).err().expect("no such rows").code(), "no_such_rows");
}

fn take_agrees(file: &TableFile, all: &RecordBatch) {
    let count = file.row_count();
    let mut lists: Vec<Vec<u64>> = vec![vec![]];
    if count > 0 {
        lists.push(vec![0]);
        lists.push(vec![count - 1, 0, count / 2, 0, count - 1]);
        lists.push((0..count).rev().step_by(usize::try_from(count / 50 + 1).unwrap()).collect());
        // Many rows, and runs of them.
        lists.push((0..count).step_by(2).take(20_000).collect());
        lists.push((0..count).filter(|row| row % 100 < 30 || row % 977 == 0).take(20_000).collect());
    }
    let last = Projection::columns(all.num_columns().checked_sub(1));
    let projections = [Projection::all(), last, Projection::columns([])];
    for list in &lists {
        for projection in &projections {
            let columns = projection.indices(&all.schema()).unwrap();
            if columns.is_empty() {
                assert_eq!(file.take(list, projection).unwrap().num_rows(), list.len(), "take of no columns");
                continue;
            }
            let expected = take_record_batch(all, &UInt64Array::from(list.clone())).unwrap();
            let taken = file.take(list, projection).unwrap();
            assert_eq!(taken, expected.project(&columns).unwrap(), "take {list:?} of columns {columns:?}");
        }
    }
    assert_eq!(file.take(&[count], &Projection::all()).unwrap_err().code(), "no_such_rows");
}

/// A value of the column to compare with, if its literal is written as zone maps hold it.
fn asked(array: &ArrayRef, row: usize) -> Option<Value> {
    let t = array.data_type();
    let plain = t.is_integer() || t.is_floating() || matches!(t, DataType::Boolean | DataType::Utf8 | DataType::Binary);
    Value::of_row(array, row).filter(|_| plain)
}

fn predicates_agree(file: &TableFile, all: &RecordBatch) {
    let mut predicates = Vec::new();
    for (column, array) in all.columns().iter().enumerate().take(8) {
        predicates.push(Predicate::IsNull { column });
        for row in [0, all.num_rows() / 2, all.num_rows().saturating_sub(1)] {
            let Some(value) = asked(array, row) else { continue };
            for op in [Op::Eq, Op::Ne, Op::Lt, Op::Ge] {
                predicates.push(Predicate::compare(column, op, value.clone()));
            }
            let not_less = Predicate::Not(Box::new(Predicate::compare(column, Op::Lt, value.clone())));
            let first = Predicate::In { column, values: vec![value] };
            predicates.push(Predicate::And(vec![not_less.clone(), first.clone()]));
            predicates.push(Predicate::Or(vec![not_less, first]));
        }
    }
    // Conditions on several columns are decided one after another.
    let single: Vec<Predicate> = predicates.iter().step_by(5).take(6).cloned().collect();
    for pair in single.windows(2) {
        predicates.push(Predicate::And(pair.to_vec()));
    }
    if !single.is_empty() {
        predicates.push(Predicate::And(single));
    }
    for (number, predicate) in predicates.iter().enumerate() {
        let bound = predicate.bind(&all.schema()).unwrap();
        let mask = bound.evaluate(all, &Some).unwrap();
        let expected = filter_record_batch(all, &mask).unwrap();
        let scan = Scan { predicate: Some(bound.clone()), ..Scan::default() };
        assert_eq!(collect(file, &scan).unwrap(), expected, "{predicate:?}");
        let narrow = Scan { projection: Projection::columns([0]), ..scan.clone() };
        assert_eq!(collect(file, &narrow).unwrap(), expected.project(&[0]).unwrap(), "column 0 where {predicate:?}");
        let late = if number % 2 == 0 { LateMaterialization::Always } else { LateMaterialization::Never };
        let threads = 1 + number % 3;
        let other = Scan { late, batch_rows: 1 + number * 37 % 5000, ..scan };
        if expected.num_rows() / other.batch_rows < 5000 && all.num_rows() / other.batch_rows < 5000 {
            let read = collect(&file.clone().with_threads(threads), &other).unwrap();
            assert_eq!(read, expected, "{late:?} on {threads} threads: {predicate:?}");
            let read = collect(file, &Scan { views: true, ..other }).unwrap();
            assert_eq!(read, viewed(&expected), "{late:?} as views: {predicate:?}");
        }
        if number % 4 == 0 {
            let filter: Arc<dyn RowFilter> = Arc::new(Opaque { columns: bound.columns(), predicate: bound });
            let custom = Scan { filters: vec![filter], late: LateMaterialization::Always, ..Scan::default() };
            assert_eq!(collect(file, &custom).unwrap(), expected, "a filter of the caller's own: {predicate:?}");
        }
    }
}

/// A condition that the engine does not understand.
#[derive(Debug)]
struct Opaque {
    columns: Vec<usize>,
    predicate: BoundPredicate,
}

impl RowFilter for Opaque {
    fn columns(&self) -> Vec<usize> {
        self.columns.clone()
    }

    fn keep(&self, batch: &RecordBatch) -> Result<BooleanArray> {
        self.predicate.evaluate(batch, &|index| self.columns.iter().position(|c| *c == index))
    }
}

fn splits_cover_the_table(file: &TableFile) {
    let splits = blocking::run(file.table().splits(&Scan::default()).unwrap(), file.source().as_ref()).unwrap();
    let mut at = 0;
    for split in &splits {
        assert_eq!(split.rows.start, at, "splits follow each other");
        assert!(split.rows.end > at || file.row_count() == 0, "no split is empty");
        for range in &split.ranges {
            assert!(range.end() <= file.source().size(), "a split's bytes lie inside the file");
        }
        at = split.rows.end;
    }
    assert_eq!(at, file.row_count(), "splits cover all rows");
}

fn the_layout_covers_every_byte_once(file: &TableFile) {
    let layout = file.layout().unwrap();
    assert_eq!(layout.size, file.source().size());
    assert!(layout.covers_exactly_once(), "{layout:#?}");
    fn inside(region: &crate::Region) {
        for part in &region.parts {
            assert!(region.range.contains(part.range), "{part:?} lies inside {}", region.name);
            inside(part);
        }
    }
    layout.regions.iter().for_each(inside);
}

#[cfg(feature = "object-store")]
fn the_async_driver_agrees(format: &Arc<dyn Format>, bytes: &Bytes, all: &RecordBatch) {
    use futures::TryStreamExt;
    use object_store::{ObjectStoreExt, memory::InMemory, path::Path};
    futures::executor::block_on(async {
        let store = Arc::new(InMemory::new());
        let path = Path::from("file");
        store.put(&path, bytes.clone().into()).await.unwrap();
        let object = store.head(&path).await.unwrap();
        let remote = Arc::new(crate::drive::store::Remote::new(store, &object));
        let options = ReadOptions { prefetch: 64 << 10, ..ReadOptions::default() };
        let table = remote.run(format.open(remote.size(), &options)).await.unwrap();
        let limits = crate::Limits::default();
        let read = async |scan: Scan| {
            let batches: Vec<RecordBatch> =
                remote.clone().scan(table.clone(), &scan, &limits).try_collect().await.unwrap();
            joined(&table.schema(), &batches).unwrap()
        };
        assert_eq!(&read(Scan::default()).await, all, "a stream");
        if let Some(value) = all.columns().first().and_then(|c| asked(c, all.num_rows() / 2)) {
            let bound = Predicate::compare(0, Op::Eq, value).bind(&all.schema()).unwrap();
            let expected = filter_record_batch(all, &bound.evaluate(all, &Some).unwrap()).unwrap();
            for late in [LateMaterialization::Adaptive, LateMaterialization::Always, LateMaterialization::Never] {
                let scan = Scan { predicate: Some(bound.clone()), late, ..Scan::default() };
                assert_eq!(read(scan).await, expected, "a stream with a condition, {late:?}");
            }
        }
        if let Some(last) = table.row_count().checked_sub(1) {
            let taken = remote.take(table.clone(), &[last, 0, last], &Projection::all(), &limits).await.unwrap();
            let expected = take_record_batch(all, &UInt64Array::from(vec![last, 0, last])).unwrap();
            assert_eq!(taken, expected, "rows of a store");
        }
    });
}

fn a_pruned_read_touches_only_its_columns(format: &Arc<dyn Format>, bytes: &Bytes, all: &RecordBatch) {
    for column in 0..all.num_columns().min(20) {
        let source = Arc::new(Counting::remembering(bytes.clone()));
        // Checksums are about blocks, which neighbours may share: what is wanted shows without them.
        let options = ReadOptions { checksums: false, ..ReadOptions::default() };
        let file = TableFile::open(format.clone(), source.clone(), &options).unwrap();
        collect(&file, &Scan::of(Projection::columns([column]))).unwrap();
        let layout = file.layout().unwrap();
        let allowed = layout.regions.iter().filter(|r| match r.kind {
            RegionKind::Header | RegionKind::Metadata | RegionKind::Padding => true,
            RegionKind::Data => r.column == Some(column),
            RegionKind::Gap => false,
        });
        let allowed = coalesce(&allowed.map(|r| r.range).collect::<Vec<_>>(), 0);
        for range in source.ranges() {
            assert!(
                range.is_empty() || allowed.iter().any(|a| a.contains(range)),
                "reading column {column} touched bytes {range}, which are not its own: {layout:#?}"
            );
        }
    }
}

/// Writes `batch` to a file in memory, cut into pieces of `piece` rows.
pub fn write(
    format: &Arc<dyn Format>,
    batch: &RecordBatch,
    piece: usize,
    options: &WriteOptions,
) -> Result<(Bytes, crate::WriteSummary)> {
    let sink = MemorySink::new();
    let mut writer = format.writer(batch.schema(), Box::new(sink.clone()), options)?;
    let mut at = 0;
    while at < batch.num_rows() {
        let rows = piece.max(1).min(batch.num_rows() - at);
        writer.write(&batch.slice(at, rows))?;
        at += rows;
    }
    let summary = writer.finish()?;
    let bytes = sink.bytes().expect("a finished file was committed");
    assert_eq!(summary.bytes, bytes.len() as u64, "the summary counts the bytes");
    assert_eq!(summary.rows, batch.num_rows() as u64, "the summary counts the rows");
    Ok((bytes, summary))
}

/// Checks that a batch within the format's types comes back as it was, however it is written, and that the same input
/// gives the same bytes on any number of threads.
pub fn round_trip(format: &Arc<dyn Format>, batch: &RecordBatch, laws: Laws) {
    let one = WriteOptions { threads: 1, ..WriteOptions::default() };
    let small = WriteOptions { threads: 3, memory: 1 << 20, ..WriteOptions::default() };
    let (whole, _) = write(format, batch, usize::MAX, &one).expect("the batch can be written");
    let (again, _) = write(format, batch, usize::MAX, &WriteOptions { threads: 4, ..one.clone() }).unwrap();
    assert_eq!(whole, again, "the same input gives the same bytes");
    for (piece, options) in [(1000, &one), (77, &small)] {
        let (bytes, _) = write(format, batch, piece, options).unwrap();
        let read = read_all(format, &bytes).unwrap();
        assert_eq!(read.columns(), batch.columns(), "written in pieces of {piece} rows");
    }
    let read = reads(format, &whole, laws);
    assert_eq!(read.columns(), batch.columns(), "read equals written");
}

/// Everything that can be asked of a possibly damaged file. Returns its columns if nothing complained.
fn use_everything(format: &Arc<dyn Format>, bytes: &Bytes) -> Result<Vec<ArrayRef>> {
    let options = ReadOptions::default();
    let table = blocking::run(format.open(bytes.size(), &options), bytes)?;
    assert!(blocking::run(table.layout()?, bytes)?.covers_exactly_once(), "the layout of any file that opens");
    blocking::run(table.verify()?, bytes)?.into_result()?;
    for column in 0..table.schema().fields().len() {
        // A broken column must not stop the others, whatever comes of it.
        let _ = read_in_order(&table, bytes, &Scan::of(Projection::columns([column])));
    }
    let rows: Vec<u64> = [table.row_count().checked_sub(1), table.row_count().checked_div(2)]
        .into_iter()
        .flatten()
        .filter(|r| *r < table.row_count())
        .collect();
    let source: Arc<dyn Source> = Arc::new(bytes.clone());
    let taken = blocking::take(table.clone(), source, &rows, &Projection::all(), &options.limits, 1);
    let all = read_in_order(&table, bytes, &Scan::default())?;
    let rows = UInt64Array::from(rows);
    for (found, column) in taken?.columns().iter().zip(&all) {
        assert_eq!(column.len() as u64, table.row_count(), "a column has all rows");
        assert_eq!(found, &take(column, &rows, None)?, "single rows are those of the scan");
    }
    Ok(all)
}

fn read_in_order(table: &Arc<dyn Table>, bytes: &Bytes, scan: &Scan) -> Result<Vec<ArrayRef>> {
    let batches = blocking::scan(table.clone(), Arc::new(bytes.clone()), scan, 1, u64::MAX)?;
    let schema = batches.schema();
    Ok(joined(&schema, &batches.collect::<Result<Vec<_>>>()?)?.columns().to_vec())
}

/// Damages a good file in every way of one byte or one cut: each must give the right values or an error, and soon.
pub fn hostile(format: &Arc<dyn Format>, good: &Bytes) {
    let expected = use_everything(format, good).expect("a good file reads");
    let flips = (0..good.len()).flat_map(|at| [0x01, 0x80, 0xFF, 0x10].map(|mask| (at, mask)));
    let damaged = flips.map(|(at, mask)| {
        let mut bytes = good.to_vec();
        bytes[at] ^= mask;
        (format!("byte {at} xor {mask:#x}"), Bytes::from(bytes))
    });
    let cut = (0..good.len()).map(|at| (format!("cut to {at} bytes"), good.slice(..at)));
    let cases: Vec<(String, Bytes)> = damaged.chain(cut).collect();
    each_in_time(cases, format.clone(), move |what, result| {
        // A header without a checksum cannot tell another number of columns, or another type of the same size, from
        // a wrong one. Whatever is still said to be the same column must have the same values.
        for (found, right) in result.unwrap_or_default().iter().zip(&expected) {
            if found.data_type() == right.data_type() {
                assert_eq!(found, right, "{what}: wrong values without an error");
            }
        }
    });
}

/// How long anything that must end may take, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(60);

/// Does this on another thread, so that it fails the test instead of hanging it if it never ends.
fn in_time<T: Send + 'static>(what: &str, work: impl FnOnce() -> T + Send + 'static) -> T {
    let (send, receive) = mpsc::channel();
    std::thread::spawn(move || send.send(work()));
    receive.recv_timeout(PATIENCE).unwrap_or_else(|e| panic!("{what}: panicked or did not end ({e})"))
}

/// Reads each case on another thread, so that one that never ends fails the test instead of hanging it.
fn each_in_time(cases: Vec<(String, Bytes)>, format: Arc<dyn Format>, check: impl Fn(&str, Result<Vec<ArrayRef>>)) {
    let (send, receive) = mpsc::channel();
    let names: Vec<String> = cases.iter().map(|(name, _)| name.clone()).collect();
    std::thread::spawn(move || {
        for (_, bytes) in cases {
            if send.send(use_everything(&format, &bytes)).is_err() {
                return;
            }
        }
    });
    for name in names {
        match receive.recv_timeout(PATIENCE) {
            Ok(result) => check(&name, result),
            Err(e) => panic!("{name}: reading panicked or did not end ({e})"),
        }
    }
}

/// Reads a file that must be refused, and returns the error's code.
pub fn refused(format: &Arc<dyn Format>, bytes: &Bytes) -> &'static str {
    match use_everything(format, bytes) {
        Err(e) => e.code(),
        Ok(_) => panic!("a malformed file was accepted"),
    }
}

/// Checks a folder of malformed files: each is listed in its `errors.txt`, as `NAME CODE`, and refused with that code;
/// nothing else is listed. `refuse` reads a file and returns the code of the error.
pub fn malformed(folder: &Path, refuse: impl Fn(&str, &Bytes) -> &'static str) {
    let mut listed = BTreeMap::new();
    for line in std::fs::read_to_string(folder.join("errors.txt")).unwrap().lines() {
        let (name, code) = line.split_once(' ').expect("a name and a code");
        assert_eq!(listed.insert(name.to_string(), code.to_string()), None, "{name} is listed twice");
    }
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap()) {
        let name = entry.file_name().into_string().unwrap();
        if name != "errors.txt" {
            let code = refuse(&name, &std::fs::read(entry.path()).unwrap().into());
            found.insert(name, code.to_string());
        }
    }
    assert_eq!(found, listed, "the files and their errors are those of errors.txt");
}

/// The bytes a scan of these columns reads, after opening.
pub fn bytes_read(format: &Arc<dyn Format>, bytes: &Bytes, scan: &Scan) -> (u64, Vec<ByteRange>) {
    let source = Arc::new(Counting::remembering(bytes.clone()));
    let file = TableFile::open(format.clone(), source.clone(), &ReadOptions::default()).unwrap();
    collect(&file, scan).unwrap();
    (source.count().bytes, source.ranges())
}
