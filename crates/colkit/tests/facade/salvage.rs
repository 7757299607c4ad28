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
