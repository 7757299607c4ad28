//! One flipped bit in a file that we wrote. The blocks have a checksum and the header has none, nor room for one: what can be
//! noticed is, and what cannot is listed here.

use arrow::array::{ArrayRef, BooleanArray, Float64Array, Int32Array, StringArray};
use arrow::record_batch::RecordBatch;
use bytes::Bytes;
use colkit_core::conformance::{flipped_bits, write};
use colkit_core::{Checksums, Format, ReadOptions, RegionKind, TableFile, WriteOptions};
use colkit_plain::{Cff, Colm, Gpp};
use std::ops::Range;
use std::sync::Arc;

fn table(with_bool: bool) -> RecordBatch {
    let rows = 0..200i32;
    let texts = rows.clone().map(|i| format!("text {} of {}", i * 7 % 50, i % 3));
    let mut columns: Vec<(&str, ArrayRef)> = vec![
        ("id", Arc::new(Int32Array::from_iter_values(rows.clone().map(|i| i * i % 1009)))),
        ("price", Arc::new(Float64Array::from_iter_values(rows.clone().map(|i| f64::from(i * 13 % 97) / 4.0)))),
        ("note", Arc::new(StringArray::from_iter_values(texts))),
    ];
    if with_bool {
        columns.push(("ok", Arc::new(BooleanArray::from_iter(rows.map(|i| Some(i % 3 == 0))))));
    }
    RecordBatch::try_from_iter(columns).unwrap()
}

/// Where the names of columns are.
fn names(good: &Bytes, batch: &RecordBatch, header_end: usize) -> Vec<Range<usize>> {
    let at = |name: &str| {
        let found = good[..header_end].windows(name.len()).position(|w| w == name.as_bytes()).unwrap();
        found..found + name.len()
    };
    batch.schema().fields().iter().map(|f| at(f.name())).collect()
}

#[test]
fn flips_are_found_but_in_names_and_the_number_of_columns() {
    let formats: [(Arc<dyn Format>, bool, Range<usize>); 3] =
        [(Arc::new(Gpp), true, 16..20), (Arc::new(Cff), false, 16..20), (Arc::new(Colm), false, 8..12)];
    for (format, with_bool, column_count) in formats {
        let name = format.name();
        let batch = table(with_bool);
        let (good, _) = write(&format, &batch, usize::MAX, &WriteOptions::default()).unwrap();
        let file = TableFile::open(format.clone(), Arc::new(good.clone()), &ReadOptions::default()).unwrap();
        assert_eq!(
            file.verify().unwrap().checksums,
            Checksums::Parts("the column blocks, not the header".into()),
            "{name}"
        );
        let layout = file.layout().unwrap();
        let data = layout.regions.iter().find(|r| r.kind == RegionKind::Data).unwrap().range;
        let header_end = usize::try_from(data.start()).unwrap();
        let in_a_name = |at: usize| names(&good, &batch, header_end).iter().any(|range| range.contains(&at));
        // All bits of the header, one of each byte of the blocks.
        let flips =
            flipped_bits(
                &format,
                &good,
                |at| if at < header_end { (0..8).collect() } else { vec![(at * 5 % 8) as u8] },
            );
        for (at, bit) in &flips.wrong {
            assert!(
                in_a_name(*at) || column_count.contains(at),
                "{name}: bit {bit} of byte {at} is read as something else"
            );
        }
        for (at, bit) in &flips.unnoticed {
            // In a block it is a bit that inflating does not need: all values and their Adler-32 are the same.
            assert!(in_a_name(*at) || *at >= header_end, "{name}: bit {bit} of byte {at} goes unnoticed");
        }
        let harmless = flips.unnoticed.iter().filter(|(at, _)| *at >= header_end).count();
        assert!(harmless * 100 < flips.count, "{name}: {harmless} of {}", flips.count);
    }
}
