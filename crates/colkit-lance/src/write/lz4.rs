//! LZ4 blocks: what they take to unpack, and those whose sequences are all alike.

use super::choice::cost;
use super::codec::{Codec, Flat};
use super::messages_of::general;
use super::values::Fixed;
use crate::codec::general::{Packer, Scheme};
use crate::encoding::CompressiveEncoding;
use colkit_core::{Error, Result};
use std::ops::Range;

/// Picoseconds that the sequences of an LZ4 block take.
pub(super) fn sequences(mut block: &[u8]) -> u64 {
    // A length of 15 goes on in the next bytes, until one is not 255.
    fn length(first: u8, block: &mut &[u8]) -> usize {
        let mut length = usize::from(first);
        let mut more = if first == 15 { 255 } else { 0 };
        while more == 255
            && let Some((next, rest)) = block.split_first()
        {
            (more, *block) = (*next, rest);
            length += usize::from(more);
        }
        length
    }
    let mut time = 0;
    while let Some((token, rest)) = block.split_first() {
        block = rest;
        let literals = length(token >> 4, &mut block);
        block = block.get(literals..).unwrap_or_default();
        let Some((offset, rest)) = block.split_first_chunk::<2>() else { break };
        block = rest;
        let (offset, copied) = (usize::from(u16::from_le_bytes(*offset)), length(token & 15, &mut block) + 4);
        time += cost::SEQUENCE;
        // One byte that is repeated is not copied, but filled in.
        if 1 < offset && offset < copied {
            time += copied as u64 * cost::OVERLAP;
        }
    }
    time
}

/// Values of 16 bytes, compressed by LZ4 so that each one is stored alike where they differ in a few low bytes only, as decimals do:
/// a decoder finds any of them without the others, and needs no branches. Other LZ4 blocks are smaller, but slower to unpack.
pub(super) struct Stride<'a> {
    pub fixed: &'a Fixed,
    pub packer: &'a Packer,
}

impl Codec for Stride<'_> {
    fn message(&self) -> CompressiveEncoding {
        general(Flat(self.fixed).message(), Scheme::Lz4)
    }

    fn general(&self) -> Option<Scheme> {
        Some(Scheme::Lz4)
    }

    fn bytes(&self, items: &Range<usize>) -> usize {
        Flat(self.fixed).bytes(items)
    }

    fn time(&self, items: &Range<usize>, encoded: &[Vec<u8>]) -> u64 {
        let packed = encoded.first().map_or(&[][..], Vec::as_slice);
        let plain = Flat(self.fixed).time(items, &[]);
        plain
            + match low_bytes(self.fixed.get(items.clone())) {
                Some(_) => items.len() as u64 * cost::STRIDE,
                None => Scheme::Lz4.time(self.bytes(items), packed),
            }
    }

    fn encode(&self, items: Range<usize>) -> Result<Vec<Vec<u8>>> {
        let values = self.fixed.get(items);
        Ok(vec![match stride(values)? {
            Some(block) => block,
            None => self.packer.pack(values)?,
        }])
    }
}

/// Most low bytes in which values may differ: a decoder takes those of one value, the token before and the offset after them as
/// one word.
const MOST_LOW_BYTES: usize = 5;

/// In how many low bytes values of 16 bytes differ, if there are enough of them and they differ in few.
fn low_bytes(values: &[u8]) -> Option<usize> {
    let (values, []) = values.as_chunks::<16>() else { return None };
    let first = u128::from_le_bytes(*values.first().filter(|_| values.len() >= 8)?);
    let differ = values.iter().fold(0, |differ, v| differ | (u128::from_le_bytes(*v) ^ first));
    let low = usize::try_from(u128::BITS - differ.leading_zeros()).ok()?.div_ceil(8).max(1);
    (low <= MOST_LOW_BYTES).then_some(low)
}

/// These values of 16 bytes as an LZ4 block with its size in front, if they differ in their `n` low bytes only.
///
/// | bytes | sequence |
/// |---|---|
/// | 2, 16 + n, 2 | the first value and the low bytes of the second; its high bytes, a match at offset 16 |
/// | 1, n, 2 each | the low bytes of a value; its high bytes, a match at offset 16 |
/// | 2, 16 | the last value: LZ4 wants a block to end in literals |
fn stride(values: &[u8]) -> Result<Option<Vec<u8>>> {
    let Some(low) = low_bytes(values) else { return Ok(None) };
    let size = u32::try_from(values.len()).map_err(|_| Error::limit("lz4", values.len(), u32::MAX))?;
    let [few, rest] = [low, 12 - low].map(|n| u8::try_from(n).unwrap_or(0));
    let mut block = Vec::with_capacity(values.len() / 16 * (low + 3) + 40);
    block.extend(size.to_le_bytes());
    // A token says how many literals and how many bytes of the match beyond 4; 15 literals and more go on in the next byte.
    block.extend([0xF0 | rest, few + 1]);
    let (first, rest_of) = values.split_at_checked(16).unwrap_or_default();
    block.extend_from_slice(first);
    let (between, last) = rest_of.split_at_checked(rest_of.len().saturating_sub(16)).unwrap_or_default();
    for (i, value) in between.chunks_exact(16).enumerate() {
        if i > 0 {
            block.push(few << 4 | rest);
        }
        block.extend_from_slice(value.get(..low).unwrap_or_default());
        block.extend(16u16.to_le_bytes());
    }
    block.extend([0xF0, 1]);
    block.extend_from_slice(last);
    Ok(Some(block))
}

#[cfg(test)]
mod tests {
    use super::*;
    use colkit_core::Limits;

    #[test]
    fn sequences_are_counted() {
        let packed = |bytes: &[u8]| sequences(&lz4_flex::block::compress(bytes));
        assert_eq!(packed(b"abc"), 0);
        // Longer than a length of one byte can say.
        assert_eq!(packed(&[7; 10_000]), cost::SEQUENCE);
        let period = packed(&b"period".repeat(1000));
        assert!((5_900..6_000).contains(&((period - cost::SEQUENCE) / cost::OVERLAP)), "{period}");
        let noise: Vec<u8> = (0..600u32).map(|i| i.wrapping_mul(2_654_435_761).to_be_bytes()[0]).collect();
        let twice = [&noise[..], &noise[..], b"the end is never part of a match"].concat();
        assert_eq!(packed(&twice), cost::SEQUENCE);
        let block = stride(&(0..100u128).flat_map(u128::to_le_bytes).collect::<Vec<u8>>()).unwrap().unwrap();
        assert_eq!(sequences(&block[4..]), 98 * cost::SEQUENCE);
        // Whatever the bytes are, it ends.
        (0..600).for_each(|n| assert!(sequences(&noise[n..]) < cost::OVERLAP * 600 * 255));
    }

    #[test]
    fn alike_sequences_are_lz4() {
        for count in [8, 9, 100, 512] {
            for low in 1..=7u32 {
                let of = |i: u128| (i * 0x9E37_79B9_7F4A_7C15) % (1 << (8 * low));
                for high in [0, u128::MAX << 64, 77 << 70] {
                    let number = |i: u128| high | of(i);
                    let values: Vec<u8> = (0..count).flat_map(|i| number(i).to_le_bytes()).collect();
                    let Some(block) = stride(&values).unwrap() else {
                        assert!(low > 5);
                        continue;
                    };
                    assert!(low <= 5);
                    assert_eq!(Scheme::Lz4.decompress(&block, &Limits::default()).unwrap(), values);
                }
            }
        }
        assert_eq!(stride(&[0; 7 * 16]).unwrap(), None);
        assert_eq!(stride(&[0; 130]).unwrap(), None);
        let constant = stride(&[9; 160]).unwrap().unwrap();
        assert_eq!(Scheme::Lz4.decompress(&constant, &Limits::default()).unwrap(), [9; 160][..]);
        // A negative number among others differs in all bytes.
        let mixed: Vec<u8> = (-5i128..40).flat_map(i128::to_le_bytes).collect();
        assert_eq!(stride(&mixed).unwrap(), None);
    }
}
