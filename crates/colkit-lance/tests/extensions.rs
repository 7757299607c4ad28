//! Statistics, zone maps and checksums inside of files.

use crate::random::Random;
use crate::vectors::lance;
use arrow::array::{
    Array, ArrayRef, AsArray, Date32Array, Decimal128Array, Decimal256Array, FixedSizeBinaryArray, Int64Array,
    LargeBinaryArray, StringArray, TimestampMillisecondArray,
};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Int64Type, Schema, TimeUnit, i256};
use arrow::record_batch::RecordBatch;
use bytes::Bytes;
use colkit_core::conformance;
use colkit_core::drive::blocking;
use colkit_core::{
    BoundPredicate, Counting, Format, Op, Predicate, Projection, ReadOptions, RegionKind, Result, Scan, Source,
    TableFile, Value, WriteOptions,
};
use colkit_lance::container::Version;
use colkit_lance::{Lance, LanceWriteOptions};
use std::sync::Arc;

fn file(bytes: &Bytes) -> TableFile {
    TableFile::open(lance(), Arc::new(bytes.clone()), &ReadOptions::default()).unwrap()
}

fn written(batch: &RecordBatch) -> Bytes {
    conformance::write(&lance(), batch, 10_000, &WriteOptions::default()).unwrap().0
}

fn sorted(rows: i64) -> RecordBatch {
    let noise = |i: i64| i.wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as i64);
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows));
    let others: ArrayRef = Arc::new(Int64Array::from_iter_values((0..rows).map(noise)));
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values((0..rows).map(|i| format!("{:x}", noise(i)))));
    RecordBatch::try_from_iter([("n", numbers), ("o", others), ("t", texts)]).unwrap()
}

#[test]
fn a_narrow_filter_reads_little() {
    let bytes = written(&sorted(2_000_000));
    let (rows, read) = found(&bytes, "n >= 1000000 and n < 1002000");
    assert!(read * 100 < bytes.len() as u64, "{read} of {} bytes", bytes.len());
    assert_eq!(rows, 2000);
}

/// Rows that a condition leaves, and bytes that are read for it.
fn found(bytes: &Bytes, condition: &str) -> (usize, u64) {
    let table = file(bytes);
    let predicate = Predicate::parse(condition, &table.schema()).unwrap().bind(&table.schema()).unwrap();
    let scan = Scan { predicate: Some(predicate), ..Scan::default() };
    let rows = table.scan(&scan).unwrap().map(|b| b.unwrap().num_rows()).sum();
    (rows, conformance::bytes_read(&lance(), bytes, &scan).0)
}

#[test]
fn bloom_filters_rule_out_what_lies_in_no_order() {
    let batch = sorted(400_000);
    let writing = LanceWriteOptions::new().with_bloom(["o", "t"]);
    let format: Arc<dyn Format> = Arc::new(Lance::new().with_write_options(writing));
    let with = conformance::write(&format, &batch, 10_000, &WriteOptions::default()).unwrap().0;
    let without = written(&batch);
    let others = batch.column(1).as_primitive::<Int64Type>();
    let texts = batch.column(2).as_string::<i32>();
    let there = others.value(123_456);
    for condition in [
        format!("o = {there}"),
        format!("o in (12345, {there})"),
        format!("t = '{}'", texts.value(77)),
        format!("o = {there} and n >= 0"),
    ] {
        let ((rows, read), (same_rows, all)) = (found(&with, &condition), found(&without, &condition));
        assert_eq!((rows, same_rows), (1, 1), "{condition}");
        assert!(read * 3 < all, "{condition}: {read} and {all} bytes");
    }
    let (rows, read) = found(&with, "o = 12345 or t = 'nothing'");
    assert!(rows == 0 && read * 4 < found(&without, "o = 12345 or t = 'nothing'").1, "{read}");
    assert_eq!(found(&with, "not (o = 12345)").0, 400_000);
    for row in (0..400_000).step_by(9973) {
        assert_eq!(found(&with, &format!("o = {}", others.value(row))).0, 1, "row {row}");
    }
    let unknown = LanceWriteOptions::new().with_bloom(["nobody"]);
    let format: Arc<dyn Format> = Arc::new(Lance::new().with_write_options(unknown));
    assert_eq!(conformance::write(&format, &batch, 10, &WriteOptions::default()).unwrap_err().code(), "no_such_column");
}

#[test]
fn dates_times_and_decimals_have_bounds_too() {
    let rows = 200_000;
    let days: ArrayRef = Arc::new(Date32Array::from_iter_values((0..rows).map(|i| i / 100)));
    let times: ArrayRef =
        Arc::new(TimestampMillisecondArray::from_iter_values((0..rows).map(|i| i64::from(i) * 60_000)));
    let prices = Decimal128Array::from_iter_values((0..rows).map(|i| i128::from(i) * 25));
    let prices: ArrayRef = Arc::new(prices.with_precision_and_scale(15, 2).unwrap());
    let noise: ArrayRef = Arc::new(Int64Array::from_iter_values(
        (0..rows).map(|i| i64::from(i).wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as i64)),
    ));
    let batch = RecordBatch::try_from_iter([("d", days), ("t", times), ("p", prices), ("x", noise)]).unwrap();
    let bytes = written(&batch);
    let everything = found(&bytes, "x != 0").1;
    for (condition, expected) in
        [("d = '1970-01-11'", 100), ("t < '1970-01-01T01:00:00'", 60), ("p between 100 and 101.5", 7)]
    {
        let (rows, read) = found(&bytes, condition);
        assert_eq!(rows, expected, "{condition}");
        assert!(read * 5 < everything, "{condition}: {read} of {everything}");
    }
}

/// A table sorted by each of its columns, whose types all have an order; and its last column, which is only long.
fn sorted_by_all(rows: i64) -> RecordBatch {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows));
    let wide = Decimal256Array::from_iter_values((0..rows).map(i256::from));
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values((0..rows).map(|i| format!("{:05}", i / 1000))));
    let fixed: Vec<[u8; 8]> = (0..rows as u64).map(u64::to_be_bytes).collect();
    let key = DataType::Dictionary(Box::new(DataType::Int16), Box::new(DataType::Utf8));
    let noise = |i: i64| i.wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as i64);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("w", Arc::new(wide.with_precision_and_scale(50, 2).unwrap())),
        ("f", Arc::new(FixedSizeBinaryArray::try_from_iter(fixed.iter()).unwrap())),
        ("k", cast(&texts, &key).unwrap()),
        ("b", cast(&texts, &DataType::LargeBinary).unwrap()),
        ("s", cast(&numbers, &DataType::Duration(TimeUnit::Millisecond)).unwrap()),
        ("h", cast(&Int64Array::from_iter_values((0..rows).map(|i| i / 100)), &DataType::Float16).unwrap()),
        ("x", Arc::new(Int64Array::from_iter_values((0..rows).map(noise)))),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn bound(batch: &RecordBatch, column: usize, op: Op, value: Value) -> Result<BoundPredicate> {
    Predicate::compare(column, op, value).bind(&batch.schema())
}

#[test]
fn every_type_with_an_order_is_pruned() {
    let batch = sorted_by_all(100_000);
    let bytes = written(&batch);
    let everything = found(&bytes, "x != 0").1;
    let text = |s: &str| Value::Text(s.into());
    let row = |i: u64| Value::Bytes(i.to_be_bytes().to_vec());
    for (column, value, expected) in [
        (0, Value::Float(500.00), 1),
        (1, row(50_000), 1),
        (2, text("00050"), 1000),
        (3, text("00050"), 1000),
        (5, Value::Int(500), 100),
    ] {
        let scan = Scan { predicate: Some(bound(&batch, column, Op::Eq, value).unwrap()), ..Scan::default() };
        let rows: usize = file(&bytes).scan(&scan).unwrap().map(|b| b.unwrap().num_rows()).sum();
        let (read, _) = conformance::bytes_read(&lance(), &bytes, &scan);
        assert_eq!(rows, expected, "column {column}");
        assert!(read * 3 < everything, "column {column}: {read} of {everything}");
    }
    let statistics = file(&bytes).table().statistics();
    assert_eq!((&statistics[4].min, &statistics[4].max), (&Some(Value::Int(0)), &Some(Value::Int(99_999))));
    assert_eq!((&statistics[2].min, &statistics[2].max), (&Some(text("00000")), &Some(text("00099"))));
    // A number is no length of time. That is said, not answered with nothing.
    assert_eq!(bound(&batch, 4, Op::Lt, Value::Int(-1)).unwrap_err().code(), "type_mismatch");
}

#[test]
fn bloom_filters_of_all_types_hold_what_is_there() {
    let batch = sorted_by_all(20_000);
    let writing = LanceWriteOptions::new().with_bloom(["f", "k", "b", "s", "h", "x"]);
    let format: Arc<dyn Format> = Arc::new(Lance::new().with_write_options(writing));
    let bytes = conformance::write(&format, &batch, 10_000, &WriteOptions::default()).unwrap().0;
    let row = |i: u64| Value::Bytes(i.to_be_bytes().to_vec());
    let text = |s: &str| Value::Text(s.into());
    for (column, value, expected) in
        [(1, row(15_000), 1), (2, text("00015"), 1000), (3, text("00015"), 1000), (5, Value::Int(150), 100)]
    {
        let scan = Scan { predicate: Some(bound(&batch, column, Op::Eq, value).unwrap()), ..Scan::default() };
        let rows: usize = file(&bytes).scan(&scan).unwrap().map(|b| b.unwrap().num_rows()).sum();
        assert_eq!(rows, expected, "column {column}");
    }
    let wide = LanceWriteOptions::new().with_bloom(["w"]);
    let format: Arc<dyn Format> = Arc::new(Lance::new().with_write_options(wide));
    assert_eq!(
        conformance::write(&format, &batch, 10, &WriteOptions::default()).unwrap_err().code(),
        "type_not_supported"
    );
}

#[test]
fn of_bloom_filters_only_blocks_are_read() {
    let batch = sorted(1_000_000);
    let writing = LanceWriteOptions::new().with_bloom(["o"]);
    let format: Arc<dyn Format> = Arc::new(Lance::new().with_write_options(writing));
    let with = conformance::write(&format, &batch, 100_000, &WriteOptions::default()).unwrap().0;
    let filters = with.len() as u64 - written(&batch).len() as u64;
    assert!(filters > 1_300_000, "{filters}");
    // Not there: everything that is read is metadata, zone maps and one block of each zone that a bloom filter lets through.
    let (rows, read) = found(&with, "o = 12345");
    assert_eq!(rows, 0);
    let (_, of_one) = found(&with, "o = 12345 and n < 10");
    assert!(read < filters / 2 && of_one < read, "{of_one}, {read} and {filters}");
    // Many values look at filters as a whole.
    let others = batch.column(1).as_primitive::<Int64Type>();
    let many: Vec<String> = (0..400).map(|i| others.value(i * 2500).to_string()).collect();
    assert_eq!(found(&with, &format!("o in ({})", many.join(", "))).0, 400);
}

#[test]
fn pages_have_bounds_of_their_own() {
    let batch = sorted(300_000);
    let writing = LanceWriteOptions::new().with_page_bytes(1 << 20);
    let format: Arc<dyn Format> = Arc::new(Lance::new().with_write_options(writing));
    let bytes = conformance::write(&format, &batch, 30_000, &WriteOptions::default()).unwrap().0;
    let opened = blocking::run(Lance::new().open_table(bytes.len() as u64, &ReadOptions::default()), &bytes).unwrap();
    let columns = blocking::run(opened.describe(), &bytes).unwrap();
    let mut first = 0;
    assert!(columns[0].pages.len() > 1);
    for page in &columns[0].pages {
        let found = page.statistics.as_ref().unwrap();
        let last = first + i128::from(page.rows) - 1;
        assert_eq!((&found.min, &found.max), (&Some(Value::Int(first)), &Some(Value::Int(last))));
        assert_eq!(found.null_count, Some(0));
        first = last + 1;
    }
    assert!(columns[2].pages.iter().all(|p| p.statistics.as_ref().is_some_and(|s| s.min.is_some())));
}

#[test]
fn statistics_need_no_data() {
    let bytes = written(&sorted(20_000));
    let table = file(&bytes);
    let statistics = table.table().statistics();
    assert_eq!(statistics.len(), 3);
    assert_eq!((&statistics[0].min, &statistics[0].max), (&Some(Value::Int(0)), &Some(Value::Int(19_999))));
    assert_eq!((statistics[0].null_count, statistics[0].exact), (Some(0), true));
    assert!(table.schema().metadata().is_empty(), "what colkit adds is not the user's metadata");
}

fn verify(bytes: &Bytes) -> Result<()> {
    let table = TableFile::open(lance(), Arc::new(bytes.clone()), &ReadOptions::default())?;
    table.verify().map(drop)
}

/// The file with one bit changed.
fn flipped(bytes: &Bytes, at: usize) -> Bytes {
    let mut damaged = bytes.to_vec();
    damaged[at] ^= 1 << (at * 5 % 8);
    damaged.into()
}

/// A small table with most that colkit adds to files.
fn small(version: Version) -> (RecordBatch, Bytes) {
    let numbers = Int64Array::from_iter((0..400).map(|i| (i % 7 > 0).then_some(i * 977 % 1000)));
    let texts = StringArray::from_iter((0..400).map(|i| (i % 5 > 0).then(|| format!("text {}", i % 90))));
    let columns: [(&str, ArrayRef); 2] = [("n", Arc::new(numbers)), ("t", Arc::new(texts))];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let writing = LanceWriteOptions::new().with_version(version).with_bloom(["n"]);
    let format: Arc<dyn Format> = Arc::new(Lance::new().with_write_options(writing));
    let bytes = conformance::write(&format, &batch, 100, &WriteOptions::default()).unwrap().0;
    (batch, bytes)
}

/// What scans, single rows and conditions give, as long as nothing complains.
fn answers(bytes: &Bytes) -> Result<(Vec<RecordBatch>, RecordBatch, usize)> {
    let table = TableFile::open(lance(), Arc::new(bytes.clone()), &ReadOptions::default())?.with_threads(1);
    let all = table.scan(&Scan::default())?.collect::<Result<Vec<_>>>()?;
    let some = table.take(&[399, 7], &Projection::all())?;
    let predicate = Some(Predicate::compare(0, Op::Eq, Value::Int(977)).bind(&table.schema())?);
    let found = table.scan(&Scan { predicate, ..Scan::default() })?.map(|b| b.map(|b| b.num_rows()));
    Ok((all, some, found.sum::<Result<usize>>()?))
}

#[test]
fn one_flipped_bit_anywhere_is_found() {
    for version in [Version::V2_0, Version::V2_1, Version::V2_2] {
        let (batch, bytes) = small(version);
        verify(&bytes).unwrap();
        let right = answers(&bytes).unwrap();
        assert_eq!((&right.0[0], right.2), (&batch, 1));
        // Everything after the pages, and some of the pages.
        let metadata = bytes.len() - 3500.min(bytes.len());
        let step = if std::env::var_os("COLKIT_EVERY_BYTE").is_some() { 1 } else { 13 };
        for at in (0..metadata).step_by(step).chain((metadata..bytes.len()).step_by(step.min(2))) {
            let damaged = flipped(&bytes, at);
            assert!(verify(&damaged).is_err(), "{version}: byte {at} of {}: verify finds nothing", bytes.len());
            if let Ok(found) = answers(&damaged) {
                assert_eq!(found, right, "{version}: byte {at} of {}", bytes.len());
            }
        }
    }
}

#[test]
fn damage_is_named_by_its_place() {
    let bytes = written(&sorted(20_000));
    let layout = file(&bytes).layout().unwrap();
    let mut places = 0;
    for region in layout.regions.iter().filter(|r| r.kind == RegionKind::Data) {
        let at = region.range.start();
        let damaged = flipped(&bytes, at as usize);
        let error = verify(&damaged).unwrap_err();
        assert_eq!((error.code(), error.offset()), ("checksum_mismatch", Some(at / 1024 * 1024)), "byte {at}");
        assert!(error.part_name().unwrap().contains("column "), "{error}");
        let (table, column) = (file(&damaged), region.column.unwrap());
        let scan = Scan::of(Projection::columns([column]));
        let error = table.scan(&scan).and_then(|batches| batches.collect::<Result<Vec<_>>>()).unwrap_err();
        assert_eq!(error.code(), "checksum_mismatch", "{error}");
        let name = table.schema().field(column).name().clone();
        assert!(error.part_name().unwrap().starts_with(&format!("field {name:?}: column ")), "{error}");
        places += 1;
    }
    assert!(places > 0);
}

#[test]
fn checksums_can_be_left_alone() {
    let (batch, bytes) = small(Version::V2_1);
    let layout = file(&bytes).layout().unwrap();
    let padding = layout.regions.iter().find(|r| r.kind == RegionKind::Padding).unwrap();
    let damaged = flipped(&bytes, padding.range.start() as usize);
    assert_eq!(verify(&damaged).unwrap_err().code(), "checksum_mismatch");
    let trusting = ReadOptions { checksums: false, ..ReadOptions::default() };
    let table = TableFile::open(lance(), Arc::new(damaged), &trusting).unwrap();
    assert_eq!(table.scan(&Scan::default()).unwrap().next().unwrap().unwrap(), batch);
    table.verify().unwrap();
}

#[test]
fn a_flipped_bit_of_a_blob_is_found() {
    let metadata = [("lance-encoding:blob".to_owned(), "true".to_owned())].into_iter().collect();
    let field = Field::new("b", DataType::LargeBinary, true).with_metadata(metadata);
    let values = LargeBinaryArray::from_iter_values((0..20u8).map(|i| vec![i; 1000]));
    let batch = RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![Arc::new(values)]).unwrap();
    for version in [Version::V2_0, Version::V2_1, Version::V2_2] {
        let writing = LanceWriteOptions::new().with_version(version);
        let format: Arc<dyn Format> = Arc::new(Lance::new().with_write_options(writing));
        let bytes = conformance::write(&format, &batch, 7, &WriteOptions::default()).unwrap().0;
        verify(&bytes).unwrap();
        let damaged = flipped(&bytes, 1024 + 500);
        let error = verify(&damaged).unwrap_err();
        assert_eq!((error.code(), error.offset()), ("checksum_mismatch", Some(1024)), "{error}");
        assert!(error.part_name().unwrap().contains("column b: blob"), "{error}");
        let take = |row| file(&damaged).take(&[row], &Projection::all());
        assert_eq!(take(1).unwrap_err().code(), "checksum_mismatch");
        assert_eq!(take(9).unwrap(), batch.slice(9, 1));
    }
}

#[test]
fn checksums_are_small_and_so_are_proven_reads() {
    let batch = sorted(1_000_000);
    let bytes = written(&batch);
    let layout = file(&bytes).layout().unwrap();
    let seal = layout.regions.iter().find(|r| r.name.contains("colkit.seal")).unwrap();
    assert!(seal.range.len() * 200 < bytes.size(), "{} of {}", seal.range.len(), bytes.len());
    let read = |checksums| {
        let source = Arc::new(Counting::new(bytes.clone()));
        let options = ReadOptions { checksums, ..ReadOptions::default() };
        let table = TableFile::open(lance(), source.clone(), &options).unwrap();
        table.take(&[500_000], &Projection::all()).unwrap();
        source.count().bytes
    };
    let (proven, plain) = (read(true), read(false));
    assert!(proven < plain + 16 * 1024, "{proven} and {plain} bytes for one row");
}

/// Files of before there were seals, with checksums of buffers.
#[test]
fn older_files_are_read_and_verified() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/older");
    let bytes = Bytes::from(std::fs::read(folder.join("checksums_of_buffers.lance")).unwrap());
    verify(&bytes).unwrap();
    assert_eq!(found(&bytes, "n = 977").0, 1);
    assert!(file(&bytes).schema().metadata().is_empty());
    let layout = file(&bytes).layout().unwrap();
    for region in layout.regions.iter().filter(|r| r.kind == RegionKind::Data) {
        let error = verify(&flipped(&bytes, region.range.start() as usize)).unwrap_err();
        assert_eq!((error.code(), error.offset()), ("checksum_mismatch", Some(region.range.start())), "{error}");
    }
}

/// Writers that know nothing of what colkit adds keep its names among the metadata.
#[test]
fn names_that_came_from_another_file_mean_nothing() {
    let (batch, _) = small(Version::V2_1);
    let stale = [("colkit.seal", "4 of 00000000000000001234"), ("colkit.zones", "2"), ("colkit.bloom.0", "3")];
    let metadata = stale.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    let schema = Schema::new_with_metadata(batch.schema().fields().clone(), metadata);
    let inherited = RecordBatch::try_new(Arc::new(schema), batch.columns().to_vec()).unwrap();
    let bytes = written(&inherited);
    verify(&bytes).unwrap();
    assert_eq!((found(&bytes, "n = 977").0, file(&bytes).schema().metadata().len()), (1, 0));
    // As pylance 4.0.0 copies one of our files.
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/older");
    let copied = Bytes::from(std::fs::read(folder.join("copied_by_pylance.lance")).unwrap());
    verify(&copied).unwrap();
    assert_eq!((found(&copied, "n = 977").0, file(&copied).schema().metadata().len()), (1, 0));
}

/// What colkit says about values is compared with them, whatever checksums say.
#[test]
fn statistics_that_are_not_true_are_found() {
    let (batch, bytes) = small(Version::V2_1);
    let largest = i128::from(arrow::compute::max(batch.column(0).as_primitive::<Int64Type>()).unwrap());
    let layout = file(&bytes).layout().unwrap();
    for name in ["colkit.statistics", "colkit.zones", "colkit.bloom.0"] {
        let region = layout.regions.iter().find(|r| r.name.contains(name)).unwrap().range;
        let range = region.start() as usize..region.end() as usize;
        let mut untrue = bytes.to_vec();
        if name == "colkit.bloom.0" {
            untrue[range.end - 32..range.end].fill(0);
        } else {
            let said = largest.to_le_bytes();
            let at = range.start + bytes[range].windows(16).position(|w| w == said).unwrap();
            untrue[at..at + 16].copy_from_slice(&(largest - 1).to_le_bytes());
        }
        let untrue = Bytes::from(untrue);
        assert_eq!(verify(&untrue).unwrap_err().code(), "checksum_mismatch", "{name}");
        let trusting = ReadOptions { checksums: false, ..ReadOptions::default() };
        let table = TableFile::open(lance(), Arc::new(untrue), &trusting).unwrap();
        let error = table.verify().unwrap_err();
        assert_eq!((error.code(), error.part_name()), ("bad_statistics", Some("column \"n\"")), "{name}: {error}");
    }
}

/// Zones of another size than there are maps for rule out nothing.
#[test]
fn zones_that_are_not_those_of_the_rows_say_nothing() {
    let bytes = written(&sorted(50_000));
    let layout = file(&bytes).layout().unwrap();
    let zones = layout.regions.iter().find(|r| r.name.contains("colkit.zones")).unwrap().range.start() as usize;
    assert_eq!(bytes[zones..zones + 3], [0x08, 0x80, 0x40], "8192 rows in a zone");
    let mut other = bytes.to_vec();
    other[zones + 1..zones + 3].copy_from_slice(&[0x81, 0x00]); // one row in a zone
    let trusting = ReadOptions { checksums: false, ..ReadOptions::default() };
    let table = TableFile::open(lance(), Arc::new(Bytes::from(other)), &trusting).unwrap();
    for row in [5, 49_999] {
        let predicate = Some(bound(&sorted(0), 0, Op::Eq, Value::Int(row)).unwrap());
        let scan = Scan { predicate, ..Scan::default() };
        let found: usize = table.scan(&scan).unwrap().map(|b| b.unwrap().num_rows()).sum();
        assert_eq!(found, 1, "row {row}");
    }
}

#[test]
fn zones_never_lose_a_row() {
    for seed in 0..20 {
        let batch = Random(500 + seed).table();
        let bytes = written(&batch);
        let table = file(&bytes);
        for (column, found) in table.table().statistics().iter().enumerate() {
            let nulls = batch.column(column).logical_null_count() as u64;
            assert_eq!(found.null_count, Some(nulls), "seed {seed} column {column}");
        }
        let nulls = BoundPredicate::IsNull { column: 0, denied: false };
        let scan = Scan { projection: Projection::all(), predicate: Some(nulls), ..Scan::default() };
        let found: usize = table.scan(&scan).unwrap().map(|b| b.unwrap().num_rows()).sum();
        assert_eq!(found, batch.column(0).logical_null_count(), "seed {seed}");
    }
}
