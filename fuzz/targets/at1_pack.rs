//! Any bytes, packed: they must come back, also from the reference decoder (feature `reference`).
#![no_main]

use bytes::Bytes;
use colkit_at1::{Codec, Effort, PackOptions, PackPriority};
use colkit_core::MemorySink;

libfuzzer_sys::fuzz_target!(init: colkit_fuzz::prepare(), |data: &[u8]| {
    // The first byte says how to pack the rest.
    let Some((first, original)) = data.split_first() else { return };
    let codec = usize::from(first >> 3).checked_sub(1).and_then(|i| Codec::ALL.get(i)).copied();
    let options = PackOptions {
        codec: codec.filter(|c| *c != Codec::Bundle),
        aim: if first & 1 == 0 { PackPriority::Queryable } else { PackPriority::Smallest },
        effort: Effort::Fast,
        stream: first & 6 == 6,
        threads: 1,
        ..PackOptions::default()
    };
    let sink = MemorySink::new();
    colkit_at1::pack(&Bytes::copy_from_slice(original), Box::new(sink.clone()), &options).expect("anything can be packed");
    let packed = sink.bytes().expect("what is packed is there");
    assert!(colkit_fuzz::at1::restore(&packed).expect("what was packed can be restored") == original);
    colkit_fuzz::read::everything(&colkit_at1::At1, &packed);
    // The reference decoder's binding does not survive an empty file.
    #[cfg(feature = "reference")]
    assert!(original.is_empty() || at1::decode(&packed).expect("the reference decoder restores what was packed") == original);
});
