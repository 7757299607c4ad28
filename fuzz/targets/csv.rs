//! Any CSV. In whatever pieces it is read, the types found and the rows must be the same.
#![no_main]

use bytes::Bytes;
use colkit_core::cells::Inference;
use colkit_core::drive::blocking;
use colkit_core::{Format, Projection, Result, Source};
use colkit_fuzz::read;
use colkit_interop::csv::{LookFor, Pieces};
use colkit_interop::{CsvFormat, CsvOptions};

libfuzzer_sys::fuzz_target!(init: colkit_fuzz::prepare(), |data: &[u8]| {
    // The first byte says how to read the rest.
    let Some((first, text)) = data.split_first() else { return };
    let flag = |bit: u8| first >> bit & 1 == 1;
    let options = CsvOptions {
        delimiter: if flag(0) { b';' } else { b',' },
        header: !flag(1),
        inference: Inference {
            empty_is_null: flag(2),
            booleans: !flag(3),
            null_words: if flag(7) { vec!["NA".into(), "-".into()] } else { Vec::new() },
            ..if flag(4) { Inference::full() } else { Inference::plain() }
        },
        look_for: LookFor { delimiter: flag(4), header: flag(4), quote: flag(4), lines: flag(4), spelling: flag(4) },
        pad_short_rows: flag(5),
        rename_duplicates: flag(6),
        ..CsvOptions::default()
    };
    let tiny = CsvOptions { pieces: Pieces { chunk: 1 + u64::from(first % 13), checkpoint: 5 }, ..options.clone() };
    let whole = CsvFormat { options, ..CsvFormat::default() };
    let pieces = CsvFormat { options: tiny, ..CsvFormat::default() };
    read::everything(&whole, text);
    let text = Bytes::copy_from_slice(text);
    let table = |format: &CsvFormat| -> Result<_> {
        let table = blocking::run(format.open(text.size(), &colkit_fuzz::options()), &text)?;
        read::rows(&table, &text, &read::scan(Projection::all()))
    };
    match (table(&whole), table(&pieces)) {
        (Ok(whole), Ok(pieces)) => {
            assert_eq!(whole.schema(), pieces.schema(), "the types found");
            assert_eq!(whole.columns(), pieces.columns(), "the rows");
        }
        // If several things are wrong, which one is met first depends on the pieces.
        (Err(_), Err(_)) => {}
        (whole, pieces) => panic!("read whole: {whole:?}; read in pieces: {pieces:?}"),
    }
});
