//! Any zlib stream: what it inflates to, by our reading (two libraries) and by a third.
#![no_main]

use arrow::array::AsArray;
use arrow::datatypes::Float64Type;
use bytes::Bytes;
use colkit_core::drive::blocking;
use colkit_core::{Format, Projection, Result, Scan, Source};
use colkit_fuzz::change::{Dice, PIECE};
use colkit_fuzz::{plain, read};

/// The values of a block, as bytes; a scan with little memory inflates piece by piece.
fn ours(stream: &[u8], raw: u64, memory: u64) -> Result<Vec<u8>> {
    let file = Bytes::from(plain::around_stream(stream, raw));
    let table = blocking::run(colkit_plain::Gpp.open(file.size(), &colkit_fuzz::options()), &file)?;
    let scan = Scan { batch_rows: 4096, memory, ..read::scan(Projection::all()) };
    let rows = read::rows(&table, &file, &scan)?;
    let values = rows.column(0).as_primitive::<Float64Type>();
    Ok(values.values().iter().flat_map(|v| v.to_bits().to_le_bytes()).collect())
}

libfuzzer_sys::fuzz_target!(init: colkit_fuzz::prepare(), |data: &[u8]| {
    let theirs = miniz_oxide::inflate::decompress_to_vec_zlib_with_limit(data, 32 << 10);
    let raw = theirs.as_ref().map_or(64, |t| t.len() as u64 / 8 * 8);
    let whole = ours(data, raw, 32 << 20);
    let pieces = ours(data, raw, raw);
    match (&whole, &pieces) {
        (Ok(whole), Ok(pieces)) => assert_eq!(whole, pieces, "inflated at once, and piece by piece"),
        (Err(_), Err(_)) => {}
        (whole, pieces) => panic!("at once: {whole:?}; piece by piece: {pieces:?}"),
    }
    if let (Ok(ours), Ok(theirs)) = (&whole, &theirs) {
        assert_eq!(ours, theirs, "inflated by us and by them");
    }
});
libfuzzer_sys::fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    colkit_fuzz::change::file(data, size, max_size, seed, deflated_again)
});

/// Changes what a stream inflates to, and deflates it in another way.
fn deflated_again(stream: &[u8], _: usize, dice: &mut Dice) -> Option<Vec<u8>> {
    let mut raw = miniz_oxide::inflate::decompress_to_vec_zlib_with_limit(stream, PIECE).ok()?;
    let most = raw.len() + 64;
    dice.change(&mut raw, most);
    raw.resize(raw.len().next_multiple_of(8), 0);
    Some(miniz_oxide::deflate::compress_to_vec_zlib(&raw, dice.below(10) as u8))
}
