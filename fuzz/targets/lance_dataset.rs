//! Manifests, transactions and deletion files of Lance datasets; the versions that are made of them.
#![no_main]

libfuzzer_sys::fuzz_target!(init: colkit_fuzz::prepare(), |data: &[u8]| {
    colkit_fuzz::dataset::everything(data);
});
libfuzzer_sys::fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    colkit_fuzz::change::file(data, size, max_size, seed, colkit_fuzz::dataset::change)
});
