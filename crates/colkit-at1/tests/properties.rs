//! Random tables through a small encoder: restored to the byte, read to the value, pruned without loss.

use crate::encode::{Cells, Packing, columnar, csv, qcolumnar, stream_set, streaming, whole};
use crate::tables::at1;
use crate::vectors::{strict, unpack};
use arrow::datatypes::DataType;
use bytes::Bytes;
use colkit_core::conformance::{self, Laws};
use colkit_core::{Counting, Op, Predicate, Projection, ReadOptions, Scan, TableFile, Value};
use proptest::prelude::*;
use std::sync::Arc;

fn column(rows: usize) -> impl Strategy<Value = Cells> {
    let text = "[a-zäé]{0,6}";
    prop_oneof![
        proptest::collection::vec(text, rows).prop_map(Cells::Text),
        proptest::collection::vec(any::<i64>(), rows).prop_map(Cells::Int),
        (proptest::collection::vec(any::<i64>(), rows), 1u8..=18).prop_map(|(v, s)| Cells::Dec(v, s)),
        proptest::collection::vec(any::<u8>(), rows).prop_map(Cells::Shuf),
        (proptest::collection::vec(text, 1..5), proptest::collection::vec(any::<usize>(), rows))
            .prop_map(|(entries, i)| Cells::Dict(i.into_iter().map(|i| i % entries.len()).collect(), entries)),
    ]
}

fn table() -> impl Strategy<Value = (usize, Vec<Cells>)> {
    (1usize..40).prop_flat_map(|rows| (Just(rows), proptest::collection::vec(column(rows), 1..5)))
}

fn packing(which: usize) -> impl Fn(&str) -> Packing {
    const ALL: [Packing; 4] = [Packing::Stored, Packing::Zstd, Packing::Xz, Packing::Published];
    move |name| if name == "blocks" { Packing::Stored } else { ALL[(which + name.len()) % 4] }
}

fn restored(container: &[u8]) -> Vec<u8> {
    let bytes = Bytes::copy_from_slice(container);
    let one = unpack(&bytes, &strict(1)).unwrap();
    assert_eq!(one, unpack(&bytes, &strict(3)).unwrap());
    one[""].to_vec()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn tables_come_back((rows, columns) in table(), which in 0usize..4, group in 1usize..20, cut in 0usize..40) {
        let original = csv(&columns, rows);
        let file = whole(4, &stream_set(&columnar(&columns, rows, true), packing(which)), &original);
        prop_assert_eq!(restored(&file), original.clone());
        let plain = conformance::reads(&at1(), &file.into(), Laws { columns_apart: false });
        prop_assert_eq!(plain.num_rows(), rows);

        let file = whole(7, &stream_set(&qcolumnar(&columns, rows, group), packing(which)), &original);
        prop_assert_eq!(restored(&file), original.clone());
        let queryable = conformance::reads(&at1(), &file.into(), Laws { columns_apart: true });
        prop_assert_eq!(queryable.num_rows(), rows);
        for (a, b) in plain.columns().iter().zip(queryable.columns()) {
            if a.data_type() == b.data_type() && a.data_type() != &DataType::Float64 {
                prop_assert_eq!(a, b);
            }
        }

        let cut = cut % rows;
        let part = |range: std::ops::Range<usize>| -> Vec<Cells> {
            let pick = |c: &Cells| match c {
                Cells::Text(v) => Cells::Text(v[range.clone()].to_vec()),
                Cells::Int(v) => Cells::Int(v[range.clone()].to_vec()),
                Cells::Dec(v, s) => Cells::Dec(v[range.clone()].to_vec(), *s),
                Cells::Dict(i, e) => Cells::Dict(i[range.clone()].to_vec(), e.clone()),
                Cells::Shuf(v) => Cells::Shuf(v[range.clone()].to_vec()),
            };
            columns.iter().map(pick).collect()
        };
        if cut > 0 {
            let frames = [(0..cut, true), (cut..rows, false)].map(|(range, header)| {
                stream_set(&columnar(&part(range.clone()), range.len(), header), packing(which))
            });
            let file = streaming(4, &frames, &original);
            prop_assert_eq!(restored(&file), original);
            prop_assert_eq!(conformance::read_all(&at1(), &file.into()).unwrap(), plain);
        }
    }
}

#[test]
fn a_range_query_reads_a_sliver_of_a_large_file() {
    let rows = 2_000_000;
    let ids: Vec<i64> = (0..rows as i64).map(|i| i * 3).collect();
    let noise = |seed: u64| {
        let mut x = seed;
        move || {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (x >> 33) as i64
        }
    };
    let mut next = noise(7);
    let values: Vec<i64> = (0..rows).map(|_| next() % 1_000_000).collect();
    let columns = [Cells::Int(ids), Cells::Dec(values, 2)];
    let body = stream_set(&qcolumnar(&columns, rows, 8192), |name| match name {
        "blocks" => Packing::Stored,
        _ => Packing::Zstd,
    });
    let file = Bytes::from(whole(7, &body, b"not restored here"));
    let source = Arc::new(Counting::new(file.clone()));
    let table = TableFile::open(at1(), source.clone(), &ReadOptions::default()).unwrap();
    let low = Predicate::compare(0, Op::Ge, Value::Int(3_000_000));
    let high = Predicate::compare(0, Op::Lt, Value::Int(3_000_300));
    let predicate = Predicate::And(vec![low, high]).bind(&table.schema()).unwrap();
    let scan = Scan { projection: Projection::all(), predicate: Some(predicate), ..Scan::default() };
    let found: usize = table.scan(&scan).unwrap().map(|b| b.unwrap().num_rows()).sum();
    assert_eq!(found, 100);
    let share = source.count().bytes as f64 / file.len() as f64;
    assert!(share < 0.02, "read {:.2} % of {} bytes", share * 100.0, file.len());

    let opened = source.count().bytes;
    let taken = table.take(&[1_999_999, 5], &Projection::columns([0])).unwrap();
    assert_eq!(taken.num_rows(), 2);
    assert!((source.count().bytes - opened) < file.len() as u64 / 50);
}
