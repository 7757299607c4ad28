//! General compression of whole buffers: LZ4 blocks and zstd frames, each with its size in front.
//!
//! | scheme | bytes |
//! |---|---|
//! | lz4 | u32 size, one LZ4 block |
//! | zstd | u64 size, one zstd frame; early writers left the size out |
//!
//! The size is a claim: memory grows with what is really unpacked.

use crate::bytes_at::{size, u32_at, u64_at};
use bytes::Bytes;
use colkit_core::{Error, Limits, Result};
use std::cell::RefCell;
use std::io::Read;

/// How a buffer is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scheme {
    Lz4,
    Zstd,
}

impl Scheme {
    pub fn name(self) -> &'static str {
        match self {
            Scheme::Lz4 => "lz4",
            Scheme::Zstd => "zstd",
        }
    }

    /// Unpacks a buffer; an empty one holds nothing.
    pub fn decompress(self, bytes: &[u8], limits: &Limits) -> Result<Bytes> {
        if bytes.is_empty() {
            return Ok(Bytes::new());
        }
        match self {
            Scheme::Lz4 => lz4(bytes, limits),
            Scheme::Zstd => zstd(bytes, limits),
        }
    }
}

/// Packs buffers. What the compressor keeps from one buffer to the next is memory only.
pub(crate) struct Packer {
    pub scheme: Scheme,
    zstd: Option<RefCell<zstd::bulk::Compressor<'static>>>,
}

impl Packer {
    /// The level is zstd's; lz4 has none.
    pub fn new(scheme: Scheme, level: i32) -> Result<Self> {
        let zstd = match scheme {
            Scheme::Lz4 => None,
            Scheme::Zstd => Some(RefCell::new(zstd::bulk::Compressor::new(level)?)),
        };
        Ok(Packer { scheme, zstd })
    }

    /// Packs a buffer; an empty one stays empty.
    pub fn pack(&self, bytes: &[u8]) -> Result<Vec<u8>> {
        if bytes.is_empty() {
            return Ok(Vec::new());
        }
        match &self.zstd {
            None => {
                let size = u32::try_from(bytes.len()).map_err(|_| Error::limit("lz4", bytes.len(), u32::MAX))?;
                Ok([&size.to_le_bytes()[..], &lz4_flex::block::compress(bytes)].concat())
            }
            Some(zstd) => {
                let frame = zstd.borrow_mut().compress(bytes)?;
                Ok([&(bytes.len() as u64).to_le_bytes()[..], &frame].concat())
            }
        }
    }
}

fn damaged(scheme: &str, why: impl std::fmt::Display) -> Error {
    Error::corrupt("bad_compressed_data", format!("{scheme}: {why}"))
}

/// An LZ4 block cannot grow by more than this factor.
const LZ4_GROWTH: u64 = 255;

fn lz4(bytes: &[u8], limits: &Limits) -> Result<Bytes> {
    let claimed = u64::from(u32_at(bytes, 0)?);
    let block = bytes.get(4..).unwrap_or_default();
    Limits::check_memory("an lz4 block", claimed, limits.memory)?;
    if claimed > (block.len() as u64).saturating_mul(LZ4_GROWTH) {
        return Err(damaged("lz4", format!("{} bytes cannot unpack to {claimed}", block.len())));
    }
    let unpacked = lz4_flex::block::decompress(block, size(claimed)?).map_err(|e| damaged("lz4", e))?;
    if unpacked.len() as u64 != claimed {
        return Err(damaged("lz4", format!("expected {claimed} bytes, unpacked {}", unpacked.len())));
    }
    Ok(unpacked.into())
}

const ZSTD_MAGIC: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];

/// A claim of this size may be believed before it is proven.
const SMALL_FRAME: u64 = 1 << 20;

thread_local! {
    static UNPACKER: RefCell<Option<zstd::bulk::Decompressor<'static>>> = const { RefCell::new(None) };
}

fn zstd(bytes: &[u8], limits: &Limits) -> Result<Bytes> {
    // The fifth byte's bit 4 is unused in frames, so a size that happens to look like the magic is told apart.
    let bare = bytes.len() < 8 || (bytes.starts_with(&ZSTD_MAGIC) && bytes.get(4).is_some_and(|b| b & 0x10 == 0));
    let (claimed, frame) =
        if bare { (None, bytes) } else { (Some(u64_at(bytes, 0)?), bytes.get(8..).unwrap_or_default()) };
    if claimed == Some(0) {
        return Ok(Bytes::new());
    }
    let most = claimed.unwrap_or(limits.memory);
    Limits::check_memory("a zstd frame", most, limits.memory)?;
    // Chunks are small: what they claim is reserved, and the memory of the decompressor is kept for the next.
    if let Some(size_claimed) = claimed.filter(|c| *c <= SMALL_FRAME) {
        let capacity = size(size_claimed)?;
        let unpacked = UNPACKER.with_borrow_mut(|unpacker| match unpacker {
            Some(known) => known.decompress(frame, capacity),
            None => unpacker.insert(zstd::bulk::Decompressor::new()?).decompress(frame, capacity),
        });
        let unpacked = unpacked.map_err(|e| damaged("zstd", e))?;
        if unpacked.len() != capacity {
            return Err(damaged("zstd", format!("expected {capacity} bytes, unpacked {}", unpacked.len())));
        }
        return Ok(unpacked.into());
    }
    // Small outputs are reserved at once; beyond that the claim has to prove itself.
    let trusted = most.min((frame.len() as u64).saturating_mul(16).max(64 << 10));
    let mut unpacked = Vec::with_capacity(size(if claimed.is_some() { trusted } else { 0 })?);
    let reader = zstd::stream::read::Decoder::with_buffer(frame).map_err(|e| damaged("zstd", e))?.single_frame();
    reader.take(most.saturating_add(1)).read_to_end(&mut unpacked).map_err(|e| damaged("zstd", e))?;
    if claimed.is_some_and(|c| c != unpacked.len() as u64) || unpacked.len() as u64 > most {
        return Err(damaged("zstd", format!("expected {most} bytes, unpacked {}", unpacked.len())));
    }
    Ok(unpacked.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_schemes_unpack_and_distrust_sizes() {
        let text = "one two three ".repeat(500);
        let limits = Limits::default();
        let mut packed = u32::try_from(text.len()).unwrap().to_le_bytes().to_vec();
        packed.extend(lz4_flex::block::compress(text.as_bytes()));
        assert_eq!(Scheme::Lz4.decompress(&packed, &limits).unwrap(), text.as_bytes());
        packed[3] = 0x7F;
        assert!(Scheme::Lz4.decompress(&packed, &limits).is_err());

        let frame = zstd::bulk::compress(text.as_bytes(), 3).unwrap();
        assert_eq!(Scheme::Zstd.decompress(&frame, &limits).unwrap(), text.as_bytes());
        let sized = |n: u64| [&n.to_le_bytes()[..], &frame].concat();
        assert_eq!(Scheme::Zstd.decompress(&sized(text.len() as u64), &limits).unwrap(), text.as_bytes());
        for wrong in [1, text.len() as u64 - 1, text.len() as u64 + 1, 1 << 28, u64::MAX] {
            assert!(Scheme::Zstd.decompress(&sized(wrong), &limits).is_err(), "{wrong}");
        }
        assert_eq!(Scheme::Zstd.decompress(&[], &limits).unwrap(), Bytes::new());
    }
}
