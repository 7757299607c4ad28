//! What comes out of a decoder, against what was claimed.

use std::io::Read;

/// Whether more comes out than claimed. What is broken inside is for the decoder that is in earnest to refuse.
pub(crate) fn exceeds(unpacking: impl Read, claim: u64) -> bool {
    let unpacked = std::io::copy(&mut unpacking.take(claim.saturating_add(1)), &mut std::io::sink());
    unpacked.is_ok_and(|unpacked| unpacked > claim)
}

/// What a byte of LZ4 unpacks to at most.
pub(crate) const LZ4_RATIO: u64 = 255;
