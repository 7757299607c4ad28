//! Statistics, zone maps and checksums inside of files.

use crate::random::Random;
use crate::vectors::lance;
use arrow::array::{ArrayRef, Int64Array, StringArray};
use arrow::record_batch::RecordBatch;
use bytes::Bytes;
use colkit_core::conformance;
use colkit_core::drive::blocking;
use colkit_core::{Op, Predicate, Projection, ReadOptions, RegionKind, Scan, Source, TableFile, Value, WriteOptions};
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
    let predicate = Predicate::And(vec![
        Predicate::compare(0, Op::Ge, Value::Int(1_000_000)),
        Predicate::compare(0, Op::Lt, Value::Int(1_002_000)),
    ]);
    let scan = Scan { predicate: Some(predicate), ..Scan::default() };
    let (read, _) = conformance::bytes_read(&lance(), &bytes, &scan);
    assert!(read * 50 < bytes.len() as u64, "{read} of {} bytes", bytes.len());
    let found: usize = file(&bytes).scan(&scan).unwrap().map(|b| b.unwrap().num_rows()).sum();
    assert_eq!(found, 2000);
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

#[test]
fn every_flipped_bit_of_data_is_found() {
    let bytes = written(&Random(3).table());
    let table = file(&bytes);
    blocking::run(table.table().verify().unwrap(), &bytes).unwrap();
    let layout = table.layout().unwrap();
    let mut places = 0;
    for region in layout.regions.iter().filter(|r| r.kind == RegionKind::Data) {
        for at in (region.range.start()..region.range.end()).step_by(97) {
            let mut damaged = bytes.to_vec();
            damaged[at as usize] ^= 1 << (at % 8);
            let damaged = Bytes::from(damaged);
            let table = file(&damaged);
            let error = blocking::run(table.table().verify().unwrap(), &damaged).unwrap_err();
            assert_eq!((error.code(), error.offset()), ("bad_checksum", Some(region.range.start())), "byte {at}");
            assert!(error.part_name().unwrap().contains("page"), "{error}");
            places += 1;
        }
    }
    assert!(places > 0 && bytes.size() > 0);
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
        let scan =
            Scan { projection: Projection::all(), predicate: Some(Predicate::IsNull { column: 0 }), ..Scan::default() };
        let found: usize = table.scan(&scan).unwrap().map(|b| b.unwrap().num_rows()).sum();
        assert_eq!(found, batch.column(0).logical_null_count(), "seed {seed}");
    }
}
