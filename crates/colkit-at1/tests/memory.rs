//! Packing holds what it was told to hold, however long the input is. A process of its own: what is allocated is counted for
//! all threads of it.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, missing_docs, reason = "test code")]

use bytes::Bytes;
use colkit_at1::{Effort, PackOptions, PackPriority, pack};
use colkit_core::{ByteRange, FileSink, Result, Source};

#[global_allocator]
static MEMORY: peak_alloc::PeakAlloc = peak_alloc::PeakAlloc;

/// A table that is nowhere: each of its lines follows from its number.
struct Endless {
    lines: u64,
}

const LINE: u64 = 32;

impl Source for Endless {
    fn size(&self) -> u64 {
        self.lines * LINE
    }

    fn read(&self, range: ByteRange) -> Result<Bytes> {
        let (first, last) = (range.start() / LINE, range.end().div_ceil(LINE));
        let mut text = String::new();
        for i in first..last {
            let noise = i.wrapping_mul(6_364_136_223_846_793_005) >> 40;
            text += &format!("{i:010},{noise:09},{:>10}\n", ["red", "green", "blue"][usize::try_from(i % 3).unwrap()]);
        }
        let skipped = usize::try_from(range.start() - first * LINE).unwrap();
        let length = usize::try_from(range.len()).unwrap();
        Ok(Bytes::from(text).slice(skipped..skipped + length))
    }
}

#[test]
fn packing_holds_a_part_of_a_long_input() {
    let folder = tempfile::tempdir().unwrap();
    let source = Endless { lines: 1 << 20 };
    // One thread: with several, what was restored may wait for its turn, up to 64 MiB.
    let base = PackOptions { effort: Effort::Fast, threads: 1, memory: 4 << 20, ..PackOptions::default() };
    let ways = [
        ("groups", base.clone()),
        ("frames", PackOptions { aim: PackPriority::Smallest, ..base.clone() }),
        ("raw", PackOptions { codec: Some(colkit_at1::Codec::Raw), ..base }),
    ];
    for (name, options) in ways {
        MEMORY.reset_peak_usage();
        let before = MEMORY.current_usage();
        let sink = FileSink::create(folder.path().join(name)).unwrap();
        let summary = pack(&source, Box::new(sink), &options).unwrap();
        let held = MEMORY.peak_usage() - before;
        assert_eq!(summary.input_bytes, 32 << 20);
        assert!(held < 24 << 20, "{name}: {held} bytes");
    }
}
