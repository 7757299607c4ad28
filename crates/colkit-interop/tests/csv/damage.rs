//! A flipped byte makes another text, which may well be good CSV; but whatever bytes are read, nothing panics, hangs,
//! or leaves a byte of the file unaccounted for.

use super::{format, in_pieces};
use arrow::array::AsArray;
use arrow::datatypes::Int32Type;
use arrow::record_batch::RecordBatch;
use bytes::Bytes;
use colkit_core::conformance::read_all;
use colkit_core::drive::blocking;
use colkit_core::{Counting, Limits, Projection, Result, Scan, Selection, Source, Table, TableFile};
use colkit_interop::CsvOptions;
use proptest::prelude::*;
use std::sync::Arc;

const GOOD: &str =
    "\u{feff}id,\"na\"\"me\",f,b\r\n1,Zoë,1.5,true\n-2,\"a\r\n\"\"b\"\"\",-1e3,FALSE\r\n\n3,x\"y,nan,True";

fn take(table: &Arc<dyn Table>, bytes: &Bytes, rows: &[u64]) -> Result<RecordBatch> {
    blocking::take(table.clone(), Arc::new(bytes.clone()), rows, &Projection::all(), &Limits::default(), 1)
}

/// Asks everything of a file that may be any bytes.
fn use_everything(bytes: &Bytes, options: CsvOptions) -> Result<usize> {
    let format = format(options);
    let table = blocking::run(format.open(bytes.len() as u64, &Default::default()), bytes)?;
    assert!(blocking::run(table.layout()?, bytes)?.covers_exactly_once());
    blocking::run(table.verify()?, bytes)?;
    let all = read_all(&format, bytes).expect("what opened reads: every row was seen");
    assert_eq!(all.num_rows() as u64, table.row_count());
    if let Some(last) = table.row_count().checked_sub(1) {
        let taken = take(&table, bytes, &[last, 0]).unwrap();
        assert_eq!(taken.slice(1, 1), all.slice(0, 1));
    }
    Ok(all.num_rows())
}

#[test]
fn flips_and_cuts_do_no_harm() {
    let good = GOOD.as_bytes();
    assert_eq!(use_everything(&Bytes::from_static(good), CsvOptions::default()).unwrap(), 3);
    for at in 0..good.len() {
        same_in_pieces(&Bytes::copy_from_slice(&good[..at]), 5);
        for value in [b',', b'\n', b'\r', b'"', 0, 0x80, 0xFF, good[at] ^ 1, good[at] ^ 0x10] {
            let mut bytes = good.to_vec();
            bytes[at] = value;
            same_in_pieces(&bytes.into(), 3);
        }
    }
}

/// Whether a file is refused does not depend on how much is read at once. Which of two errors comes first may.
fn same_in_pieces(bytes: &Bytes, chunk: u64) {
    let whole = use_everything(bytes, CsvOptions::default());
    let pieces = use_everything(bytes, in_pieces(chunk, 1));
    match (whole, pieces) {
        (Ok(whole), Ok(pieces)) => assert_eq!(whole, pieces, "{bytes:?}"),
        (Err(_), Err(_)) => {}
        (whole, pieces) => panic!("{bytes:?}: whole {whole:?}, in pieces {pieces:?}"),
    }
}

#[test]
fn a_file_that_changes_after_opening_gives_an_error() {
    let before = Bytes::from_static(b"a,b\n1,x\n2,y\n3,z\n");
    let format = format(in_pieces(4, 4));
    let table = blocking::run(format.open(before.len() as u64, &Default::default()), &before).unwrap();
    let code = |after: &'static [u8]| {
        assert_eq!(after.len(), before.len());
        take(&table, &Bytes::from_static(after), &[1]).unwrap_err().code()
    };
    assert_eq!(code(b"a,b\n1,x\nq,y\n3,z\n"), "bad_cell");
    assert_eq!(code(b"a,b\n1,x\n,yy\n3,z\n"), "bad_cell");
    assert_eq!(code(b"a,b\n1,x\n2yy\n3,z\n"), "csv_ragged");
    assert_eq!(code(b"a,b\n1,x\n\n\n\n\n3,z\n"), "row_count_mismatch");
    assert_eq!(code(b"a,b\n1,x\n2,\xFF\n3,z\n"), "bad_utf8");
}

#[test]
fn opening_reads_every_byte_once_and_long_records_in_few_steps() {
    let text = format!("a,b\n1,\"{}\"\n2,x\n", "line\n".repeat(20_000));
    let source = Arc::new(Counting::remembering(Bytes::from(text)));
    let file = TableFile::open(format(in_pieces(16, 16)), source.clone(), &Default::default()).unwrap();
    assert_eq!(file.row_count(), 2);
    let ranges = source.ranges();
    assert_eq!(ranges.iter().map(|r| r.len()).sum::<u64>(), source.size());
    assert!(ranges.windows(2).all(|w| w[0].end() == w[1].start()), "{ranges:?}");
    assert!(ranges.len() < 25, "the window doubles: {ranges:?}");
}

#[test]
fn a_split_is_any_range_of_rows() {
    let text = Bytes::from(format!("a,b\n{}", (0..50).map(|i| format!("{i},x{i}\n")).collect::<String>()));
    let file = TableFile::open(format(in_pieces(16, 16)), Arc::new(text.clone()), &Default::default()).unwrap();
    let scan = Scan { batch_rows: 7, ..Scan::default() };
    let lane = file.table().read(&scan, &Selection::range(3..48)).unwrap().pop().unwrap();
    let mut machine = lane.machine;
    let mut next = 3;
    while let Some(batch) = blocking::next(&mut machine, &text).unwrap() {
        let values = batch.column(0).as_primitive::<Int32Type>().values().to_vec();
        assert!(values.len() <= 7);
        assert_eq!(values, (next..next + values.len() as i32).collect::<Vec<_>>());
        next += values.len() as i32;
    }
    assert_eq!(next, 48);
}

#[test]
fn padding_a_wide_table_stays_within_bounds() {
    let names: Vec<String> = (0..50_000).map(|i| format!("c{i}")).collect();
    let text = format!("{}\n{}", names.join(","), "1\n".repeat(40));
    let options = CsvOptions { pad_short_rows: true, ..CsvOptions::default() };
    let file = TableFile::open(format(options), Arc::new(Bytes::from(text)), &Default::default()).unwrap();
    assert_eq!(file.row_count(), 40);
    let last = Scan::of(Projection::columns([0, 49_999]));
    let rows: usize = file.scan(&last).unwrap().map(|b| b.unwrap().num_rows()).sum();
    assert_eq!(rows, 40);
}

proptest! {
    #[test]
    fn any_bytes(bytes in proptest::collection::vec(prop_oneof![
        3 => Just(b'"'), 3 => Just(b','), 2 => Just(b'\n'), 1 => Just(b'\r'), 6 => b'0'..=b'9', 2 => any::<u8>(),
    ], 0..60), chunk in 1u64..9) {
        same_in_pieces(&Bytes::from(bytes), chunk);
    }
}
