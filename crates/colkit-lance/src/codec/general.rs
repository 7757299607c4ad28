//! General compression of whole buffers: LZ4 blocks and zstd frames, each with its size in front.
//!
//! | scheme | bytes |
//! |---|---|
//! | lz4 | u32 size, one LZ4 block |
//! | zstd | u64 size, one zstd frame; early writers left the size out |
//!
//! The size is a claim: memory grows with what is really unpacked.
//!
//! LZ4 blocks of decimals may have a regular shape, [`Strides`], of which any value can be had alone.

use super::zstd::{self, Compressor};
use crate::bytes_at::{size, u32_at, u64_at};
use bytes::Bytes;
use colkit_core::pool::Pooled;
use colkit_core::{Error, Limits, Result};
use std::io::Read;
use std::ops::Range;

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

    /// Whether buffers can be packed.
    pub fn can_pack(self) -> bool {
        self != Scheme::Zstd || zstd::CAN_PACK
    }

    /// Unpacks a buffer; an empty one holds nothing.
    pub fn decompress(self, bytes: &[u8], limits: &Limits) -> Result<Bytes> {
        let mut out = Pooled::default();
        self.append(bytes, limits, &mut out)?;
        Ok(out.into_bytes())
    }

    /// Unpacks a buffer to the end of `out`.
    pub fn append(self, bytes: &[u8], limits: &Limits, out: &mut Pooled) -> Result<()> {
        match self {
            _ if bytes.is_empty() => Ok(()),
            Scheme::Lz4 => lz4(bytes, limits, out),
            Scheme::Zstd => unpack_zstd(bytes, limits, out),
        }
    }

    /// How many bytes a buffer says that it unpacks to.
    pub fn claim(self, bytes: &[u8]) -> Option<u64> {
        match self {
            Scheme::Lz4 => u32_at(bytes, 0).ok().map(u64::from),
            Scheme::Zstd if is_bare(bytes) => None,
            Scheme::Zstd => u64_at(bytes, 0).ok(),
        }
    }
}

/// Packs buffers.
pub(crate) struct Packer {
    pub scheme: Scheme,
    zstd: Option<Compressor>,
}

impl Packer {
    /// The level is zstd's; lz4 has none.
    pub fn new(scheme: Scheme, level: i32) -> Result<Self> {
        let zstd = match scheme {
            Scheme::Lz4 => None,
            Scheme::Zstd => Some(Compressor::new(level)?),
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
                let frame = zstd.pack(bytes)?;
                Ok([&(bytes.len() as u64).to_le_bytes()[..], &frame].concat())
            }
        }
    }
}

pub(super) fn damaged(scheme: &str, why: impl std::fmt::Display) -> Error {
    Error::corrupt("bad_compressed_data", format!("{scheme}: {why}"))
}

/// An LZ4 block cannot grow by more than this factor.
const LZ4_GROWTH: u64 = 255;

fn lz4(bytes: &[u8], limits: &Limits, out: &mut Pooled) -> Result<()> {
    let claimed = u64::from(u32_at(bytes, 0)?);
    let block = bytes.get(4..).unwrap_or_default();
    Limits::check_memory("an lz4 block", claimed, limits.memory)?;
    if claimed > (block.len() as u64).saturating_mul(LZ4_GROWTH) {
        return Err(damaged("lz4", format!("{} bytes cannot unpack to {claimed}", block.len())));
    }
    let length = size(claimed)?;
    let room = out.room(length).get_mut(..length).unwrap_or_default();
    let unpacked = lz4_flex::block::decompress_into(block, room).map_err(|e| damaged("lz4", e))?;
    if unpacked != length {
        return Err(damaged("lz4", format!("expected {claimed} bytes, unpacked {unpacked}")));
    }
    out.advance(length);
    Ok(())
}

/// An LZ4 block of values of 16 bytes that differ in their low bytes only: each is one sequence of the same length, its low
/// bytes as literals and the others from the value before.
///
/// | bytes | content |
/// |---|---|
/// | 4 | number of bytes, as in every lz4 buffer |
/// | 2 | token `F0 + 12 - low`, and `low + 1`: 16 + `low` literals follow |
/// | 16 + `low` | the first value, the low bytes of the second |
/// | 2 | offset 16: the rest of the second |
/// | (`low` + 3) each | token `low * 16 + 12 - low`, the low bytes of a value, offset 16 |
/// | 18 | token `F0`, 1, and the last value: a block must end with literals |
///
/// Any LZ4 decoder unpacks it. This one needs no bookkeeping, and finds a value by its number.
pub(crate) struct Strides<'a> {
    count: usize,
    first: u128,
    /// The bits that are the value's own.
    mask: u64,
    /// Those of a sequence that must be as they are, and how.
    fixed: u64,
    pattern: u64,
    second: u64,
    last: u128,
    /// The sequences of the third value and those after it. The last one is long enough for 8 bytes from any of the others.
    rest: &'a [u8],
    stride: usize,
}

/// Bytes of a value.
const WIDE: usize = 16;

impl<'a> Strides<'a> {
    /// The block, if it has so many values and this shape at both ends; the sequences between are looked at when it is used.
    pub fn new(bytes: &'a [u8], count: usize) -> Option<Self> {
        if count < 8 || u64::from(u32_at(bytes, 0).ok()?) != (count as u64).checked_mul(WIDE as u64)? {
            return None;
        }
        let (token, rest) = bytes.get(4..)?.split_first()?;
        let low = 12u8.checked_sub(token.checked_sub(0xF0)?).filter(|low| (1..=5).contains(low))?;
        let (more, rest) = rest.split_first()?;
        let (first, rest) = rest.split_first_chunk::<WIDE>()?;
        let (second, rest) = rest.split_at_checked(usize::from(low) + 2)?;
        let (between, last) = rest.split_last_chunk::<18>()?;
        let [0xF0, 1, last @ ..] = last else { return None };
        let stride = usize::from(low) + 3;
        let good =
            *more == low + 1 && second.ends_with(&[16, 0]) && between.len() == (count - 3).checked_mul(stride)?;
        let shift = 8 * (u32::from(low) + 1);
        good.then(|| Strides {
            count,
            first: u128::from_le_bytes(*first),
            mask: (1 << (8 * low)) - 1,
            fixed: 0xFF | 0xFFFF << shift,
            pattern: u64::from(low << 4 | (12 - low)) | 16 << shift,
            second: second.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
            last: u128::from_le_bytes(*last),
            rest,
            stride,
        })
    }

    /// The sequences between the second value and the last, each with what follows it.
    fn sequences(&self) -> impl Iterator<Item = u64> + '_ {
        let windows = self.rest.windows(8).step_by(self.stride).take(self.count - 3);
        windows.map(|w| u64::from_le_bytes(w.try_into().unwrap_or_default()))
    }

    /// The first value with these low bytes in it.
    fn with_low(&self, low: u64) -> u128 {
        self.first & !u128::from(self.mask) | u128::from(low & self.mask)
    }

    /// A value; 0 beyond the last.
    fn get(&self, index: usize) -> u128 {
        match index {
            0 => self.first,
            1 => self.with_low(self.second),
            _ if index + 1 == self.count => self.last,
            _ => {
                let sequence = self.rest.get((index - 2) * self.stride..).and_then(|s| s.first_chunk());
                sequence.map_or(0, |s| self.with_low(u64::from_le_bytes(*s) >> 8))
            }
        }
    }

    /// Appends the values of these ranges; false, and nothing appended, if a sequence is not as it should be, whether or not
    /// its value is wanted: single values must be those of the whole block.
    pub fn append(&self, wanted: &[Range<usize>], out: &mut Pooled) -> bool {
        if let [all] = wanted
            && *all == (0..self.count)
        {
            return self.append_all(out);
        }
        let wrong = self.sequences().fold(0, |wrong, word| wrong | (word & self.fixed ^ self.pattern));
        if wrong == 0 {
            let values = wanted.iter().cloned().flatten().map(|index| self.get(index));
            values.for_each(|value| out.extend_from_slice(&value.to_le_bytes()));
        }
        wrong == 0
    }

    fn append_all(&self, out: &mut Pooled) -> bool {
        let (values, _) = out.room(self.count * WIDE).as_chunks_mut::<WIDE>();
        let Some([first, second, rest @ ..]) = values.get_mut(..self.count) else { return false };
        *first = self.first.to_le_bytes();
        *second = self.with_low(self.second).to_le_bytes();
        let high = self.with_low(0);
        // All are looked at before anybody is told: one look at the end is cheaper than one at each.
        let mut wrong = 0;
        for (to, word) in rest.iter_mut().zip(self.sequences()) {
            wrong |= word & self.fixed ^ self.pattern;
            *to = (high | u128::from(word >> 8 & self.mask)).to_le_bytes();
        }
        if let Some(last) = rest.last_mut() {
            *last = self.last.to_le_bytes();
        }
        if wrong == 0 {
            out.advance(self.count * WIDE);
        }
        wrong == 0
    }
}

const ZSTD_MAGIC: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];

/// A claim of this size may be believed before it is proven.
const SMALL_FRAME: u64 = 1 << 20;

/// Whether a frame has no size in front. The fifth byte's bit 4 is unused in frames, so a size that happens to look like the
/// magic is told apart.
fn is_bare(bytes: &[u8]) -> bool {
    bytes.len() < 8 || (bytes.starts_with(&ZSTD_MAGIC) && bytes.get(4).is_some_and(|b| b & 0x10 == 0))
}

fn unpack_zstd(bytes: &[u8], limits: &Limits, out: &mut Pooled) -> Result<()> {
    let (claimed, frame) = match is_bare(bytes) {
        true => (None, bytes),
        false => (Some(u64_at(bytes, 0)?), bytes.get(8..).unwrap_or_default()),
    };
    if claimed == Some(0) {
        return Ok(());
    }
    let most = claimed.unwrap_or(limits.memory);
    Limits::check_memory("a zstd frame", most, limits.memory)?;
    // Chunks are small: what they claim is reserved, and the memory of the decompressor is kept for the next.
    if let Some(size_claimed) = claimed.filter(|c| *c <= SMALL_FRAME) {
        let length = size(size_claimed)?;
        let room = out.room(length).get_mut(..length).unwrap_or_default();
        let unpacked = zstd::unpack(frame, room, limits)?;
        if unpacked != length {
            return Err(damaged("zstd", format!("expected {length} bytes, unpacked {unpacked}")));
        }
        out.advance(length);
        return Ok(());
    }
    // Small outputs are reserved at once; beyond that the claim has to prove itself.
    let trusted = most.min((frame.len() as u64).saturating_mul(16).max(64 << 10));
    out.reserve(size(if claimed.is_some() { trusted } else { 0 })?);
    let mut reader = zstd::reader(frame, limits)?.take(most.saturating_add(1));
    let before = out.len();
    loop {
        let read = reader.read(out.room(STEP)).map_err(|e| damaged("zstd", e))?;
        if read == 0 {
            break;
        }
        out.advance(read);
    }
    let unpacked = (out.len() - before) as u64;
    if claimed.is_some_and(|c| c != unpacked) || unpacked > most {
        return Err(damaged("zstd", format!("expected {most} bytes, unpacked {unpacked}")));
    }
    Ok(())
}

/// Bytes of a large frame that are unpacked at once, at least.
const STEP: usize = 16 << 10;

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

        let frame = ::zstd::bulk::compress(text.as_bytes(), 3).unwrap();
        assert_eq!(Scheme::Zstd.decompress(&frame, &limits).unwrap(), text.as_bytes());
        let sized = |n: u64| [&n.to_le_bytes()[..], &frame].concat();
        assert_eq!(Scheme::Zstd.decompress(&sized(text.len() as u64), &limits).unwrap(), text.as_bytes());
        for wrong in [1, text.len() as u64 - 1, text.len() as u64 + 1, 1 << 28, u64::MAX] {
            assert!(Scheme::Zstd.decompress(&sized(wrong), &limits).is_err(), "{wrong}");
        }
        assert_eq!(Scheme::Zstd.decompress(&[], &limits).unwrap(), Bytes::new());
    }
    /// As the writer makes them.
    fn strides(values: &[u128], low: usize) -> Vec<u8> {
        let bytes: Vec<[u8; 16]> = values.iter().map(|v| v.to_le_bytes()).collect();
        let low_byte = u8::try_from(low).unwrap();
        let mut out = u32::try_from(values.len() * 16).unwrap().to_le_bytes().to_vec();
        out.extend([0xF0 | (12 - low_byte), low_byte + 1]);
        out.extend(bytes[0]);
        out.extend(&bytes[1][..low]);
        out.extend([16, 0]);
        for value in &bytes[2..values.len() - 1] {
            out.push(low_byte << 4 | (12 - low_byte));
            out.extend(&value[..low]);
            out.extend([16, 0]);
        }
        out.extend([0xF0, 1]);
        out.extend(bytes[values.len() - 1]);
        out
    }

    #[test]
    #[expect(clippy::single_range_in_vec_init, reason = "a list of ranges")]
    fn strides_unpack_as_any_other_block() {
        let limits = Limits::default();
        for low in 1..=5usize {
            for count in [8, 9, 10, 100, 512] {
                let high = 0x1234_5678_9ABC_DEF0_1234_5678_9ABC_DEF0u128 >> (8 * low) << (8 * low);
                let value =
                    |i: usize| high | u128::from((i as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - 8 * low));
                let values: Vec<u128> = (0..count).map(value).collect();
                let packed = strides(&values, low);
                let expected: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
                assert_eq!(Scheme::Lz4.decompress(&packed, &limits).unwrap(), expected);
                let shape = Strides::new(&packed, count).unwrap();
                for wanted in [vec![0..count], vec![0..1, 3..4, count - 1..count], vec![1..count], vec![]] {
                    let mut out = Pooled::default();
                    out.extend_from_slice(b"before");
                    assert!(shape.append(&wanted, &mut out));
                    let expected: Vec<u8> =
                        wanted.iter().flat_map(|r| &values[r.clone()]).flat_map(|v| v.to_le_bytes()).collect();
                    assert_eq!(out.as_slice()[6..], expected);
                }
                assert!(Strides::new(&packed, count - 1).is_none());
                assert!(Strides::new(&packed[..packed.len() - 1], count).is_none());
            }
        }
    }

    /// Whatever is changed: what is still taken for strides unpacks to the same as by the general decoder.
    #[test]
    #[expect(clippy::single_range_in_vec_init, reason = "a list of ranges")]
    fn changed_strides_are_seen_or_mean_the_same() {
        let limits = Limits::default();
        let values: Vec<u128> = (0..12u128).map(|i| (77 << 32) + i * 1_000_003 % 50_000).collect();
        let packed = strides(&values, 2);
        for at in 0..packed.len() {
            for flip in [1u8, 0x10, 0x80, 0xFF] {
                let mut changed = packed.clone();
                changed[at] ^= flip;
                let mut out = Pooled::default();
                let whole = Strides::new(&changed, 12).is_some_and(|s| s.append(&[0..12], &mut out));
                if whole {
                    assert_eq!(Scheme::Lz4.decompress(&changed, &limits).unwrap(), out.as_slice(), "byte {at}");
                    let one_by_one: Vec<Range<usize>> = (0..12).map(|i| i..i + 1).collect();
                    let mut again = Pooled::default();
                    assert!(Strides::new(&changed, 12).unwrap().append(&one_by_one, &mut again));
                    assert_eq!(again.as_slice(), out.as_slice());
                } else {
                    assert!(out.is_empty());
                }
            }
        }
    }
}
