//! Words of some bits each, packed.
//!
//! 1024 words lie in the order of FastLanes, so that whole vectors are unpacked: a row has 128 bytes, with as many lanes as
//! words fit into it; lane by lane, the words of all rows of values follow each other. Fewer words lie one after another, from
//! the lowest bit on.

use super::{GROUP, Malformed};

/// Where the first of eight rows of values goes, in sixteenths of a row of 128.
const ORDER: [usize; 8] = [0, 4, 2, 6, 1, 5, 3, 7];

/// Bytes that `len` words of `width` bits take.
pub(crate) fn packed_bytes(len: usize, width: usize) -> usize {
    (len * width).div_ceil(8)
}

/// An unsigned number of 8, 16, 32 or 64 bits; arithmetic wraps around.
pub(crate) trait Word: Copy + Default + PartialEq {
    const BITS: usize;
    const BYTES: usize;

    /// From as many bytes, the lowest first. Fewer are taken as zero.
    fn read(bytes: &[u8]) -> Self;

    /// If it has no more bits than this.
    fn narrow(wide: u64) -> Option<Self>;

    /// Unpacks `out.len()` words of `width` bits, at most [`Word::BITS`], times `factor`, plus `reference`.
    fn unpack(packed: &[u8], width: usize, factor: Self, reference: Self, out: &mut [Self]) -> Result<(), Malformed>;

    /// Replaces each word by the sum of all up to it, and `base`.
    fn sum(base: Self, out: &mut [Self]);
}

macro_rules! word {
    ($t:ty, $rows:ident) => {
        impl Word for $t {
            const BITS: usize = <$t>::BITS as usize;
            const BYTES: usize = size_of::<$t>();

            fn read(bytes: &[u8]) -> Self {
                bytes.first_chunk().map_or(0, |b| <$t>::from_le_bytes(*b))
            }

            fn narrow(wide: u64) -> Option<Self> {
                <$t>::try_from(wide).ok()
            }

            fn unpack(packed: &[u8], width: usize, factor: $t, reference: $t, out: &mut [$t]) -> Result<(), Malformed> {
                if width == 0 {
                    out.fill(reference);
                    return Ok(());
                }
                let added = if factor == 1 { reference } else { 0 };
                match out.first_chunk_mut::<GROUP>() {
                    Some(whole) => $rows(packed, width, added, whole)?,
                    None => sequence(packed, width, out, |word: u64| {
                        // The lowest bits are all that was packed.
                        <$t>::read(&word.to_le_bytes()).wrapping_add(added)
                    })?,
                }
                if factor != 1 {
                    each(out, |word: $t| word.wrapping_mul(factor).wrapping_add(reference));
                }
                Ok(())
            }

            fn sum(base: $t, out: &mut [$t]) {
                let mut sum = base;
                each(out, |word: $t| {
                    sum = sum.wrapping_add(word);
                    sum
                });
            }
        }

        /// 1024 words of `width` bits, at least one, plus `added`.
        fn $rows(packed: &[u8], width: usize, added: $t, out: &mut [$t; GROUP]) -> Result<(), Malformed> {
            const BITS: usize = <$t>::BITS as usize;
            const BYTES: usize = size_of::<$t>();
            let short = Malformed("too few bytes for the words of a group");
            let rows = packed.as_chunks::<128>().0.get(..width).ok_or(short)?;
            let mask = <$t>::MAX >> (BITS - width);
            for row in 0..BITS {
                let (from, shift) = (row * width / BITS, row * width % BITS);
                let to = ORDER.get(row / 8).copied().unwrap_or(0) * 16 + row % 8 * 128;
                let (Some(lower), Some(out)) = (rows.get(from), out.get_mut(to..to + GROUP / BITS)) else {
                    return Err(short);
                };
                let lower = lower.as_chunks::<BYTES>().0;
                if shift + width <= BITS {
                    for (out, word) in out.iter_mut().zip(lower) {
                        *out = (<$t>::from_le_bytes(*word) >> shift & mask).wrapping_add(added);
                    }
                    continue;
                }
                let upper = rows.get(from + 1).ok_or(short)?.as_chunks::<BYTES>().0;
                let rest = BITS - shift;
                for (out, (lower, upper)) in out.iter_mut().zip(lower.iter().zip(upper)) {
                    let word = <$t>::from_le_bytes(*lower) >> shift | <$t>::from_le_bytes(*upper) << rest;
                    *out = (word & mask).wrapping_add(added);
                }
            }
            Ok(())
        }
    };
}
word!(u8, rows_of_8);
word!(u16, rows_of_16);
word!(u32, rows_of_32);
word!(u64, rows_of_64);

/// Replaces each word, in order. A module counts what it does wherever a loop begins again, so that is done once for several words.
#[inline]
pub(crate) fn each<T: Copy>(out: &mut [T], mut next: impl FnMut(T) -> T) {
    let (several, rest) = out.as_chunks_mut::<16>();
    for words in several {
        words.iter_mut().for_each(|word| *word = next(*word));
    }
    rest.iter_mut().for_each(|word| *word = next(*word));
}

/// Words of `width` bits one after another, at most 64 each.
fn sequence<T>(packed: &[u8], width: usize, out: &mut [T], word: impl Fn(u64) -> T) -> Result<(), Malformed> {
    let short = Malformed("too few bytes for the words of a group");
    let packed = packed.get(..packed_bytes(out.len(), width)).ok_or(short)?;
    let mask = u64::MAX >> (64 - width.clamp(1, 64));
    for (i, out) in out.iter_mut().enumerate() {
        let (byte, bit) = (i * width / 8, i * width % 8);
        let from = packed.get(byte..).unwrap_or_default();
        let bytes = from.first_chunk().copied().unwrap_or_else(|| {
            let mut bytes = [0u8; 16];
            bytes.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
            bytes
        });
        let [lower, upper] = [0, 8].map(|at| u64::read(bytes.get(at..).unwrap_or_default()));
        let whole = if bit == 0 { lower } else { lower >> bit | upper << (64 - bit) };
        *out = word(whole & mask);
    }
    Ok(())
}
