//! Any `.at1` file, restored. With the feature `reference`: what the reference decoder restores too must be the same bytes.
#![no_main]

use bytes::Bytes;
use colkit_core::{MemorySink, Sink, Source};
use std::sync::Arc;

libfuzzer_sys::fuzz_target!(init: colkit_fuzz::prepare(), |data: &[u8]| {
    let restored = colkit_fuzz::at1::restore(data);
    if colkit_at1::is_bundle(data) {
        let source: Arc<dyn Source> = Arc::new(Bytes::copy_from_slice(data));
        let options = colkit_at1::RestoreOptions { limits: colkit_fuzz::limits(), threads: 1, ..Default::default() };
        let Ok(bundle) = colkit_at1::Bundle::open(&source, &options.limits) else { return };
        let _ = colkit_at1::restore_entries(bundle.entries, &options, &mut |entry| {
            let name = &entry.name;
            assert!(!name.starts_with('/') && !name.split('/').any(|part| part == ".."), "a name that leads elsewhere");
            Ok(Box::new(MemorySink::new()) as Box<dyn Sink>)
        });
        return;
    }
    // The reference decoder is asked only about what we accept: it is C, and what it makes of the rest is its own affair.
    #[cfg(feature = "reference")]
    if let Ok(ours) = restored
        // Its binding does not survive an empty file.
        && !ours.is_empty()
        && let Ok(theirs) = at1::decode(data)
    {
        assert!(ours == theirs, "restored to {} bytes, by the reference decoder to {}", ours.len(), theirs.len());
    }
    #[cfg(not(feature = "reference"))]
    let _ = restored;
});
libfuzzer_sys::fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    colkit_fuzz::change::file(data, size, max_size, seed, colkit_fuzz::at1::change)
});
