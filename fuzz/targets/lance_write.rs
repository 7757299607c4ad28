//! Any table, written as `.lance` in any way: a scan and single rows must give it back.
#![no_main]

use bytes::Bytes;
use colkit_core::drive::blocking;
use colkit_core::{Format, MemorySink, Projection, Source, WriteOptions};
use colkit_fuzz::batch::Feed;
use colkit_fuzz::read;
use colkit_lance::container::Version;
use colkit_lance::{Lance, LanceWriteOptions, Prefer};

libfuzzer_sys::fuzz_target!(init: colkit_fuzz::prepare(), |data: &[u8]| {
    let mut feed = Feed(data);
    let how = feed.byte();
    let mut writing = LanceWriteOptions::new()
        .with_prefer([Prefer::Balance, Prefer::Size, Prefer::Speed, Prefer::RandomAccess][usize::from(how & 3)])
        .with_page_bytes(if how & 16 == 0 { 8 << 20 } else { 256 });
    writing.version = [None, Some(Version::V2_0), Some(Version::V2_1), Some(Version::V2_2)][usize::from(how >> 2 & 3)];
    let batch = feed.batch();
    let format = Lance::default().with_write_options(writing);
    let sink = MemorySink::new();
    let options = WriteOptions { threads: 1, ..WriteOptions::default() };
    let Ok(mut writer) = format.writer(batch.schema(), Box::new(sink.clone()), &options) else { return };
    match writer.write(&batch).and_then(|()| writer.finish()) {
        Ok(_) => {}
        // Only the values tell: version 2.0 has null structs in its types, but not in its files.
        Err(e) if e.code() == "type_not_supported" => return,
        Err(e) => panic!("what was begun can be written: {e}"),
    }
    let file: Bytes = sink.bytes().expect("what is written is there");
    // Scan against single rows, and the laws.
    read::everything(&format, &file);
    let table = blocking::run(format.open(file.size(), &colkit_fuzz::options()), &file).expect("what was written opens");
    let rows = read::rows(&table, &file, &read::scan(Projection::all())).expect("what was written reads");
    assert_eq!(rows.columns(), batch.columns(), "what was written");
});
