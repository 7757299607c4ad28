//! What is saved of a damaged file was in it, where it is said to have been.

use super::sample::{formats, input, write};
use colkit::arrow::array::{ArrayRef, AsArray, Int32Array, StringArray};
use colkit::arrow::compute::concat_batches;
use colkit::arrow::datatypes::Int32Type;
use colkit::arrow::record_batch::RecordBatch;
use colkit::{Damage, MemorySink, OpenOptions, Registry, Salvage, TextOptions, WriteOptions, salvage};
use std::sync::Arc;

const MEMORY: u64 = 256 << 20;

/// Every value says which row it is of.
fn table(rows: i32) -> RecordBatch {
    let numbers: ArrayRef = Arc::new(Int32Array::from_iter_values(0..rows));
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values((0..rows).map(|i| format!("row {i}, {}", i * 7919))));
    RecordBatch::try_from_iter_with_nullable([("n", numbers, false), ("t", texts, false)]).unwrap()
}

/// The rows that were saved.
fn rows_of(saved: &Salvage) -> RecordBatch {
    let arrow = Registry::default().named("arrow", &TextOptions::default()).unwrap();
    let sink = MemorySink::new();
    saved.write(arrow.as_ref(), Box::new(sink.clone()), &WriteOptions::default()).unwrap();
    let file = OpenOptions::new().open_input(&input("saved.arrow", sink.bytes().unwrap().to_vec())).unwrap();
    let batches = file.scan().batches().unwrap().collect::<Result<Vec<_>, _>>().unwrap();
    concat_batches(saved.schema(), &batches).unwrap()
}

/// Whether the format has a checksum over every value.
fn proves_values(format: &str) -> bool {
    matches!(format, "lance" | "parquet" | "gppcol" | "cff" | "colfile")
}

#[test]
fn a_good_file_is_saved_whole() {
    let batch = table(500);
    for format in formats() {
        let options = OpenOptions::new().with_format(format.name());
        let saved = salvage(&input("t", write(format.as_ref(), &batch)), &options, MEMORY).unwrap();
        assert!(saved.is_complete(), "{}: {:?}", format.name(), saved.lost());
        let rows = rows_of(&saved);
        assert_eq!(rows.columns(), batch.columns(), "{}", format.name());
    }
}

#[test]
fn a_cut_arrow_file_keeps_the_batches_before_the_cut() {
    let arrow = Registry::default().named("arrow", &TextOptions::default()).unwrap();
    let mut bytes = write(arrow.as_ref(), &table(500));
    bytes.truncate(bytes.len() - 4);
    let saved = salvage(&input("t.arrow", bytes), &OpenOptions::new(), MEMORY).unwrap();
    assert!(!saved.is_complete());
    assert_eq!(rows_of(&saved).num_rows(), 500);
}

#[test]
fn saved_rows_were_there_at_the_place_that_is_told() {
    let batch = table(300);
    let mut random = 99u64;
    let mut below = |end: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize % end
    };
    for format in formats() {
        let whole = write(format.as_ref(), &batch);
        for round in 0..60 {
            let mut bytes = whole.clone();
            if round % 2 == 0 {
                bytes.truncate(below(whole.len()));
            } else {
                let at = below(whole.len());
                bytes[at] ^= 1 << below(8);
            }
            let options = OpenOptions::new().with_format(format.name());
            let Ok(saved) = salvage(&input("t", bytes), &options, MEMORY) else { continue };
            if proves_values(format.name()) || (round % 2 == 0 && format.name() != "at1") {
                check(&saved, &batch, format.name(), round);
            }
        }
    }
}

fn check(saved: &Salvage, batch: &RecordBatch, format: &str, round: usize) {
    let rows = rows_of(saved);
    let places: Vec<usize> = saved.rows().iter().flat_map(|r| r.start as usize..r.end as usize).collect();
    assert_eq!(places.len(), rows.num_rows());
    for (name, column) in saved.schema().fields().iter().map(|f| f.name()).zip(rows.columns()) {
        // A damaged header may hold another name or type.
        let Some(original) = batch.column_by_name(name) else { continue };
        if original.data_type() != column.data_type() {
            continue;
        }
        for (row, place) in places.iter().enumerate() {
            let at = format!("{format}, round {round}, column {name}, row {row} at {place}");
            assert_eq!(column.slice(row, 1).to_data(), original.slice(*place, 1).to_data(), "{at}");
        }
    }
}

#[test]
fn bad_lines_are_left_out_and_told() {
    let text = "a,b\n1,x\n2\n3,z\n4,\"open\n5,w\n6,v";
    let saved = salvage(&input("t.csv", text), &OpenOptions::new(), MEMORY).unwrap();
    let rows = rows_of(&saved);
    let numbers: Vec<i32> = rows.column(0).as_primitive::<Int32Type>().values().to_vec();
    assert_eq!(numbers, [1, 3, 5], "{:?}", saved.lost());
    let bytes: Vec<_> = saved.lost().iter().map(|l| l.damage.clone()).collect();
    assert!(bytes.iter().all(|d| matches!(d, Damage::Bytes(_))) && bytes.len() == 3, "{bytes:?}");
    let text = "{\"a\":1}\n{\"a\":\n{\"a\":3}\n";
    let saved = salvage(&input("t.ndjson", text), &OpenOptions::new(), MEMORY).unwrap();
    assert_eq!((saved.row_count(), saved.lost().len()), (2, 1));
}

#[test]
fn a_cut_array_of_json_keeps_its_whole_elements() {
    let text = "[{\"a\":1,\"b\":\"x]\"},\n {\"a\":2,\"b\":\"\\\"{\"}, {\"a\":3,\"b\":\"y\"}]";
    let options = OpenOptions::new().with_format("ndjson");
    let whole = salvage(&input("t.json", text), &options, MEMORY).unwrap();
    assert!(whole.is_complete() && whole.row_count() == 3);
    let all = rows_of(&whole);
    let ends: Vec<usize> = text.match_indices('}').map(|(at, _)| at + 1).collect();
    for end in 0..text.len() {
        let rows = ends.iter().filter(|at| **at <= end).count();
        match salvage(&input("t.json", &text[..end]), &options, MEMORY) {
            Ok(saved) => {
                assert_eq!((saved.row_count(), saved.is_complete()), (rows as u64, false), "{end}: {:?}", saved.lost());
                assert_eq!(rows_of(&saved).columns(), all.slice(0, rows).columns(), "{end}");
            }
            Err(error) => assert_eq!(rows, 0, "{end}: {error}"),
        }
    }
}

/// Writes rows in several groups and pages, as far as the format has them.
fn written_in_parts(format: &str, batch: &RecordBatch) -> Vec<u8> {
    let format = Registry::default().named(format, &TextOptions::default()).unwrap();
    let sink = MemorySink::new();
    let options = WriteOptions { memory: 1 << 20, ..WriteOptions::default() };
    let mut writer = format.writer(batch.schema(), Box::new(sink.clone()), &options).unwrap();
    for start in (0..batch.num_rows()).step_by(1000) {
        writer.write(&batch.slice(start, 1000.min(batch.num_rows() - start))).unwrap();
    }
    writer.finish().unwrap();
    sink.bytes().unwrap().to_vec()
}

#[test]
fn every_row_that_can_be_read_alone_is_saved() {
    let batch = table(40_000);
    let mut random = 7u64;
    let mut below = |end: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize % end
    };
    for name in ["lance", "parquet", "at1", "arrow", "cff"] {
        let whole = written_in_parts(name, &batch);
        let options = OpenOptions::new().with_format(name);
        let mut some = 0;
        for round in 0..8 {
            let mut bytes = whole.clone();
            let at = below(whole.len() - 64);
            bytes[at..at + 32].iter_mut().for_each(|b| *b ^= 0x5A);
            let damaged = input("t", bytes);
            let saved = salvage(&damaged, &options, MEMORY);
            let Ok(file) = options.open_input(&damaged) else { continue };
            let readable = |row: u64| -> bool {
                let read = file.scan().rows(row..row + 1).batches();
                read.is_ok_and(|mut all| all.all(|batch| batch.is_ok()))
            };
            let Ok(saved) = saved else {
                assert!((0..20).all(|_| !readable(below(40_000) as u64)), "{name}, byte {at}: rows can be read");
                continue;
            };
            some += u32::from(!saved.is_complete());
            let dropped = saved.schema().fields().len() < 2;
            let is_saved = |row: u64| saved.rows().iter().any(|range| range.contains(&row));
            // At the edges of what is lost, and anywhere.
            let edges = saved.rows().iter().flat_map(|r| [r.start.saturating_sub(1), r.end]);
            let rows: Vec<u64> =
                edges.chain((0..30).map(|_| below(40_000) as u64)).filter(|row| *row < 40_000).collect();
            for row in rows {
                assert!(is_saved(row) || !readable(row) || dropped, "{name}, byte {at}, row {row}: {:?}", saved.rows());
            }
            if proves_values(name) {
                check(&saved, &batch, name, round);
            }
        }
        assert!(some > 0 || name == "arrow", "{name}: nothing was damaged");
    }
}

#[test]
fn a_damaged_part_of_a_long_file_costs_its_rows_only() {
    let batch = table(100_000);
    for name in ["lance", "parquet"] {
        let format = Registry::default().named(name, &TextOptions::default()).unwrap();
        let mut bytes = write(format.as_ref(), &batch);
        let at = bytes.len() / 3;
        bytes[at] ^= 0x10;
        match salvage(&input("t", bytes), &OpenOptions::new(), MEMORY) {
            Ok(saved) => {
                assert!(!saved.is_complete(), "{name}");
                check(&saved, &batch, name, 0);
            }
            Err(error) => assert_eq!(name, "parquet", "{error}"),
        }
    }
}
