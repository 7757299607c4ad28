//! The encodings beyond Lance's: what is written with them comes back, exactly.

use crate::random::Random;
use crate::vectors::{lance, same};
use arrow::array::*;
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::*;
use arrow::record_batch::RecordBatch;
use bytes::Bytes;
use colkit_core::conformance::{self, Laws};
use colkit_core::drive::blocking;
use colkit_core::{Format, Projection, ReadOptions, TableFile, WriteOptions};
use colkit_lance::container::Version;
use colkit_lance::encoding::Registry;
use colkit_lance::{EncodingSet, Lance, LanceWriteOptions, Prefer};
use std::sync::Arc;

fn options(prefer: Prefer) -> LanceWriteOptions {
    LanceWriteOptions::new().with_prefer(prefer).with_encodings(EncodingSet::Extended)
}

fn format(prefer: Prefer) -> Arc<dyn Format> {
    Arc::new(Lance::new().with_write_options(options(prefer)))
}

fn stock() -> Arc<dyn Format> {
    Arc::new(Lance::with_encodings(Registry::standard()))
}

fn write(format: &Arc<dyn Format>, batch: &RecordBatch) -> Bytes {
    conformance::write(format, batch, 10_000, &WriteOptions::default()).unwrap().0
}

fn open(format: &Arc<dyn Format>, bytes: &Bytes) -> TableFile {
    TableFile::open(format.clone(), Arc::new(bytes.clone()), &ReadOptions::default()).unwrap()
}

fn scrambled(i: i64) -> i64 {
    (i.wrapping_mul(0x5851_F42D_4C95_7F2D) >> 20) & 0xFFFF
}

const ROWS: i64 = 60_000;

/// Columns for which the encodings are made.
fn table() -> RecordBatch {
    let times = || (0..ROWS).map(|i| 1_600_000_000_000_000 + i * 1_000_000 + scrambled(i) / 64 * 1000);
    let prices = || (0..ROWS).map(|i| scrambled(i) as f64 / 100.0);
    let some = |i: i64| scrambled(i) % 10 != 3;
    let nulls = NullBuffer::from_iter((0..ROWS).map(some));
    let lists = || OffsetBuffer::<i32>::from_lengths((0..ROWS).map(|i| (i % 5) as usize));
    let items = (0..ROWS).map(|i| i % 5).sum::<i64>();
    let item = Arc::new(Field::new("item", DataType::Float64, true));
    let decimals = Float64Array::from_iter_values((0..items).map(|i| scrambled(i) as f64 / 10.0));
    let triples = Float64Array::from_iter_values((0..3 * ROWS).map(|i| scrambled(i) as f64 / 10.0));
    let time = TimestampMicrosecondArray::from_iter_values(times());
    let members = [
        (Arc::new(Field::new("t", time.data_type().clone(), true)), Arc::new(time.clone()) as ArrayRef),
        (
            Arc::new(Field::new("p", DataType::Float32, true)),
            Arc::new(Float32Array::from_iter((0..ROWS).zip(prices()).map(|(i, p)| some(i).then_some(p as f32)))) as _,
        ),
    ];
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("time", Arc::new(time)),
        ("price", Arc::new(Float64Array::from_iter_values(prices()))),
        ("key", Arc::new(Int64Array::from_iter_values((0..ROWS).map(|i| (1 << 40) + 7 * i + scrambled(i) % 3000)))),
        ("date", Arc::new(Date32Array::from_iter_values((0..ROWS).map(|i| 19_000 + (i / 7) as i32 + (i % 3) as i32)))),
        (
            "maybe",
            Arc::new(TimestampMicrosecondArray::from_iter(
                times().enumerate().map(|(i, t)| some(i as i64).then_some(t)),
            )),
        ),
        ("maybe price", Arc::new(Float64Array::from_iter((0..ROWS).zip(prices()).map(|(i, p)| some(i).then_some(p))))),
        (
            "money",
            Arc::new(
                Decimal128Array::from_iter_values((0..ROWS).map(|i| i128::from(scrambled(i) - 30_000)))
                    .with_precision_and_scale(20, 2)
                    .unwrap(),
            ),
        ),
        ("list", Arc::new(ListArray::new(item.clone(), lists(), Arc::new(decimals), Some(nulls.clone())))),
        ("three", Arc::new(FixedSizeListArray::new(item, 3, Arc::new(triples), Some(nulls.clone())))),
        (
            "struct",
            Arc::new(StructArray::new(
                members.iter().map(|(f, _)| f.clone()).collect(),
                members.iter().map(|(_, a)| a.clone()).collect(),
                Some(nulls),
            )),
        ),
        ("text", Arc::new(StringArray::from_iter_values((0..ROWS).map(|i| format!("text {}", i * i % 97))))),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

/// The encodings of a column's pages, as `inspect` shows them.
fn encodings(bytes: &Bytes, column: usize) -> String {
    let opening = Lance::new().open_table(bytes.len() as u64, &ReadOptions::default());
    let columns = blocking::run(blocking::run(opening, bytes).unwrap().describe(), bytes).unwrap();
    let pages = columns.iter().filter(|c| c.root == Some(column)).flat_map(|c| &c.pages);
    pages.map(|p| p.summary.as_ref().unwrap().encoding.clone()).collect::<Vec<_>>().join("; ")
}

#[test]
fn they_are_used_where_they_help() {
    let bytes = write(&format(Prefer::Balance), &table());
    for (column, expected) in [(0, "frame(64)"), (1, "alp(64)"), (2, "frame(64)"), (3, "frame(32)"), (6, "frame(128)")]
    {
        let found = encodings(&bytes, column);
        assert!(found.contains(expected), "column {column} is {found}");
    }
    let plain = write(&lance(), &table());
    println!("{} bytes, {} without", bytes.len(), plain.len());
    assert!(bytes.len() * 10 < plain.len() * 8, "{} against {}", bytes.len(), plain.len());
}

/// Vectors without a pattern, some of them null.
fn vectors(rows: usize, width: usize, nulls: bool) -> RecordBatch {
    let mut random = Random(5);
    let mut normal = || (0..6).map(|_| random.below(1 << 20) as f32 / (1 << 20) as f32).sum::<f32>() - 3.0;
    let items = Float32Array::from_iter_values((0..rows * width).map(|_| normal()));
    let nulls = nulls.then(|| NullBuffer::from_iter((0..rows).map(|i| i % 100 != 3)));
    let item = Arc::new(Field::new("item", DataType::Float32, true));
    let vectors = FixedSizeListArray::new(item, i32::try_from(width).unwrap(), Arc::new(items), nulls);
    RecordBatch::try_from_iter([("vector", Arc::new(vectors) as ArrayRef)]).unwrap()
}

#[test]
fn vectors_become_smaller() {
    for (rows, width, nulls) in [(1000, 768, false), (1001, 100, true), (40, 5000, false)] {
        let (batch, format) = (vectors(rows, width, nulls), format(Prefer::Balance));
        let bytes = write(&format, &batch);
        // Very long ones do not fit into chunks.
        if width < 5000 {
            let found = encodings(&bytes, 0);
            assert!(found.contains(&format!("fixed_size_list({width}, alp(32))")), "{found}");
            assert!(bytes.len() * 10 < rows * width * 4 * 9 + 300_000, "{} bytes", bytes.len());
        }
        same(&conformance::read_all(&format, &bytes).unwrap(), &batch, "vectors");
        let file = open(&format, &bytes);
        for row in [0, 1, rows / 2, rows - 1] {
            same(&file.take(&[row as u64], &Projection::all()).unwrap(), &batch.slice(row, 1), "one vector");
        }
    }
}

#[test]
fn all_shapes_come_back() {
    for prefer in [Prefer::Balance, Prefer::Size, Prefer::Speed, Prefer::RandomAccess] {
        for rows in [1, 2, 1023, 1024, 1025, 4100, 20_000] {
            let batch = table().slice(0, rows);
            same(&conformance::read_all(&format(prefer), &write(&format(prefer), &batch)).unwrap(), &batch, "shapes");
        }
    }
    conformance::round_trip(&format(Prefer::Balance), &table().slice(100, 5000), Laws { columns_apart: true });
    let format: Arc<dyn Format> =
        Arc::new(Lance::new().with_write_options(options(Prefer::Balance).with_version(Version::V2_2)));
    same(&conformance::read_all(&format, &write(&format, &table())).unwrap(), &table(), "2.2");
}

#[test]
fn random_tables_come_back() {
    for seed in 100..140 {
        let mut random = Random(seed);
        let batch = random.table();
        let name = format!("seed {seed}: {:?}", batch.schema().fields());
        for prefer in [Prefer::Balance, Prefer::Size] {
            let options = WriteOptions { memory: 1 << 20, ..WriteOptions::default() };
            let piece = [usize::MAX, 700, 64][random.below(3)];
            let (bytes, _) = conformance::write(&format(prefer), &batch, piece, &options).unwrap();
            same(&conformance::read_all(&format(prefer), &bytes).unwrap(), &batch, &name);
        }
    }
}

#[test]
fn single_rows_are_taken() {
    let (batch, format) = (table(), format(Prefer::Balance));
    let bytes = write(&format, &batch);
    let file = open(&format, &bytes);
    for row in (0..ROWS as usize).step_by(613) {
        let taken = file.take(&[row as u64], &Projection::all()).unwrap();
        same(&taken, &batch.slice(row, 1), "one row");
    }
    let rows: Vec<u64> = (0..ROWS as u64).step_by(3).collect();
    let taken = file.take(&rows, &Projection::all()).unwrap();
    for (place, row) in rows.iter().enumerate().step_by(500) {
        same(&taken.slice(place, 1), &batch.slice(*row as usize, 1), "every third");
    }
}

#[test]
fn floats_keep_their_bits() {
    let strange =
        [0, 1, 1 << 63, 0x7FF0 << 48, 0xFFF0 << 48, 0x7FF8_0000_0000_0001, 0xFFF0_0000_0000_0777, 0x000F << 48];
    let bits = |i: u64| if i % 9 == 4 { strange[(i / 9 % 8) as usize] } else { ((i % 1000) as f64 / 100.0).to_bits() };
    let values = Float64Array::from_iter_values((0..50_000).map(|i| f64::from_bits(bits(i))));
    let batch = RecordBatch::try_from_iter([("x", Arc::new(values) as ArrayRef)]).unwrap();
    let back = conformance::read_all(&format(Prefer::Balance), &write(&format(Prefer::Balance), &batch)).unwrap();
    let found = back.column(0).as_primitive::<Float64Type>();
    assert!(found.values().iter().enumerate().all(|(i, x)| x.to_bits() == bits(i as u64)));
}

#[test]
fn readers_without_them_name_them() {
    let bytes = write(&format(Prefer::Balance), &table());
    let file = open(&stock(), &bytes);
    let error = file.take(&[7], &Projection::columns([1])).unwrap_err();
    assert!(["unknown_encoding", "plugin_refused"].contains(&error.code()), "{error}");
    assert!(error.to_string().contains("colkit.Alp"), "{error}");
    assert_eq!(file.take(&[7], &Projection::columns([10])).unwrap(), table().slice(7, 1).project(&[10]).unwrap());
}

#[test]
fn damaged_files_do_no_harm() {
    let batch = table();
    let mut random = Random(77);
    for prefer in [Prefer::Balance, Prefer::Size] {
        let bytes = write(&format(prefer), &batch);
        let unchecked = ReadOptions { checksums: false, ..ReadOptions::default() };
        for _ in 0..150 {
            let mut damaged = bytes.to_vec();
            for _ in 0..1 + random.below(20) {
                let at = random.below(bytes.len() - 4000);
                damaged[at] ^= 1 << random.below(8);
            }
            let file = TableFile::open(format(prefer), Arc::new(Bytes::from(damaged)), &unchecked);
            let Ok(file) = file else { continue };
            // Other values, or an error.
            for column in 0..batch.num_columns() {
                let _ = file.take(&[0, 1500, 19_999], &Projection::columns([column]));
            }
        }
    }
}
