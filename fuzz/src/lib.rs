//! What the fuzz targets share: asking everything of a file (`read`), and taking files apart, changing a piece and putting
//! them together again so that lengths and checksums are right and the change reaches the decoders behind them (`change`,
//! `plain`, `at1`, `lance`, `dataset`).
//!
//! A target fails if anything panics, reads or writes beyond its memory, takes more than `-rss_limit_mb` or `-timeout`, or
//! breaks a law: arrays must be valid, the byte map must cover the file, single rows must be those of a scan.

pub mod at1;
pub mod batch;
pub mod change;
pub mod dataset;
pub mod lance;
pub mod plain;
pub mod protobuf;
pub mod read;
pub mod varint;

use colkit_core::{Limits, ReadOptions};

/// Ceilings that leave no room for surprises: a fuzzer's files are small.
pub fn limits() -> Limits {
    Limits {
        memory: 32 << 20,
        columns: 1 << 10,
        name_bytes: 1 << 12,
        value_bytes: 16 << 20,
        output_bytes: 32 << 20,
        nesting: 32,
        ..Limits::default()
    }
}

/// How the targets open files.
pub fn options() -> ReadOptions {
    ReadOptions { limits: limits(), checksums: false, ..ReadOptions::default() }
}

/// A panic is a finding, unless it is in a decoder that is not ours and becomes an error.
pub fn prepare() {
    let abort = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !colkit_interop::inside_decoder() {
            abort(info);
        }
    }));
}

/// A target that asks everything of files of one format, changed by one function.
#[macro_export]
macro_rules! reader {
    ($format:expr, $change:path) => {
        libfuzzer_sys::fuzz_target!(init: $crate::prepare(), |data: &[u8]| {
            $crate::read::everything(&$format, data);
        });
        libfuzzer_sys::fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
            $crate::change::file(data, size, max_size, seed, $change)
        });
    };
}
