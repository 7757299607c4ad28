//! Bit packing in FastLanes order: 1024 values at a time, `128 * width` bytes.
//!
//! The values are unsigned words of 8, 16, 32 or 64 bits; each keeps its lowest `width` bits. A group is transposed
//! so that it can be unpacked by whole vectors; the `fastlanes` crate knows the order.

use bytemuck::Pod;
use colkit_core::pool::Pooled;
use colkit_core::{Error, Result};
use fastlanes::BitPacking;
use std::borrow::Cow;
use std::ops::Range;

/// Values in a group.
pub(crate) const GROUP: usize = 1024;

/// A word that can be packed.
pub(crate) trait Word: BitPacking + Pod + Default + arrow::datatypes::ArrowNativeType {
    /// The width that a word in front of a group gives.
    fn as_width(self) -> usize;

    /// Its bits.
    fn as_bits(self) -> u64;
}

macro_rules! word {
    ($($t:ty),*) => {$(
        impl Word for $t {
            fn as_width(self) -> usize {
                usize::try_from(self).unwrap_or(usize::MAX)
            }

            fn as_bits(self) -> u64 {
                self.into()
            }
        }
    )*};
}
word!(u8, u16, u32, u64);

/// Bytes as words; copied only if they are not aligned.
pub(crate) fn words<T: Word>(bytes: &[u8]) -> Cow<'_, [T]> {
    match bytemuck::try_cast_slice(bytes) {
        Ok(words) => Cow::Borrowed(words),
        Err(_) => {
            let whole = bytes.chunks_exact(size_of::<T>());
            Cow::Owned(whole.map(bytemuck::pod_read_unaligned).collect())
        }
    }
}

/// One packed group.
pub(crate) struct Group<'a, T: Word> {
    width: usize,
    packed: Cow<'a, [T]>,
}

impl<'a, T: Word> Group<'a, T> {
    /// Bytes of a group packed to `width` bits.
    pub fn bytes(width: usize) -> usize {
        width.saturating_mul(GROUP / 8)
    }

    /// The group at the front of `bytes`.
    pub fn new(width: usize, bytes: &'a [u8]) -> Result<Self> {
        if width > T::T {
            return Err(Error::corrupt("bad_bit_width", format!("{width} bits of a value of {} bits", T::T)));
        }
        let Some(bytes) = bytes.get(..Self::bytes(width)) else {
            return Err(Error::corrupt(
                "buffer_too_short",
                format!("1024 values of {width} bits need {} bytes, found {}", Self::bytes(width), bytes.len()),
            ));
        };
        Ok(Group { width, packed: words(bytes) })
    }

    /// The group at the front of `bytes`, its width in a word before it.
    pub fn with_header(bytes: &'a [u8]) -> Result<Self> {
        let (header, rest) = bytes.split_at_checked(size_of::<T>()).ok_or_else(|| {
            Error::corrupt("buffer_too_short", format!("{} bytes are too few for a bit width", bytes.len()))
        })?;
        Self::new(bytemuck::pod_read_unaligned::<T>(header).as_width(), rest)
    }

    /// All 1024 values.
    #[expect(unsafe_code, reason = "fastlanes offers a width known only at run time as unsafe alone")]
    pub fn unpack(&self, out: &mut [T; GROUP]) {
        // SAFETY: `new` made `packed` exactly 1024 * width / T words and width <= T; `out` has 1024.
        unsafe { T::unchecked_unpack(self.width, &self.packed, out) }
    }

    /// One value; `index` below 1024.
    #[expect(unsafe_code, reason = "fastlanes offers a width known only at run time as unsafe alone")]
    pub fn get(&self, index: usize) -> T {
        // SAFETY: as above; fastlanes checks the index itself, and `%` keeps that check from ever failing.
        unsafe { T::unchecked_unpack_single(self.width, &self.packed, index % GROUP) }
    }

    /// Appends the values of these ranges, all below 1024.
    pub fn append(&self, wanted: &[Range<usize>], out: &mut Pooled) {
        let count: usize = wanted.iter().map(Range::len).sum();
        // Unpacking everything costs about as much as a few dozen single values.
        if count <= 24 {
            for index in wanted.iter().cloned().flatten() {
                out.extend_from_slice(bytemuck::bytes_of(&self.get(index)));
            }
            return;
        }
        // Values from the first on are unpacked to where they belong; what follows them is overwritten by the next group.
        if let [range] = wanted
            && range.start == 0
            && let Some(room) = room_for(out)
        {
            self.unpack(room);
            out.advance(range.len().min(GROUP) * size_of::<T>());
            return;
        }
        let mut all = [T::default(); GROUP];
        self.unpack(&mut all);
        for range in wanted {
            out.extend_from_slice(bytemuck::cast_slice(all.get(range.clone()).unwrap_or_default()));
        }
    }
}

/// Room for a group at the end of `out`, if that is a place for such words.
pub(crate) fn room_for<T: Word>(out: &mut Pooled) -> Option<&mut [T; GROUP]> {
    let room = out.room(GROUP * size_of::<T>()).get_mut(..GROUP * size_of::<T>())?;
    bytemuck::try_cast_slice_mut(room).ok()?.first_chunk_mut()
}

/// Packs a group to the width that its largest value needs; returns that width and the bytes.
pub(crate) fn pack<T: Word>(group: &[T; GROUP]) -> (usize, Vec<u8>) {
    let all = group.iter().fold(0u64, |all, v| all | v.as_bits());
    let width = 64 - usize::try_from(all.leading_zeros()).unwrap_or(0);
    (width, pack_to(group, width))
}

/// Packs a group to `width` bits, at most those of a word.
#[expect(unsafe_code, reason = "fastlanes offers a width known only at run time as unsafe alone")]
pub(crate) fn pack_to<T: Word>(group: &[T; GROUP], width: usize) -> Vec<u8> {
    let width = width.min(T::T);
    let mut packed = vec![T::default(); GROUP * width / T::T];
    // SAFETY: `packed` has exactly 1024 * width / T words and width <= T; `group` has 1024.
    unsafe { T::unchecked_pack(width, group, &mut packed) }
    bytemuck::cast_slice(&packed).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The order as the format's description gives it.
    fn by_formula(packed: &[u32], width: usize) -> Vec<u32> {
        const ORDER: [usize; 8] = [0, 4, 2, 6, 1, 5, 3, 7];
        let mut values = vec![0; GROUP];
        for lane in 0..32 {
            for row in 0..32 {
                let (word, shift) = (row * width / 32, row * width % 32);
                let mut x = u64::from(packed[word * 32 + lane] >> shift);
                if shift + width > 32 {
                    x |= u64::from(packed[(word + 1) * 32 + lane]) << (32 - shift);
                }
                values[ORDER[row / 8] * 16 + (row % 8) * 128 + lane] = u32::try_from(x & ((1 << width) - 1)).unwrap();
            }
        }
        values
    }

    #[test]
    fn the_order_is_the_formats() {
        for width in [1, 7, 13, 31] {
            let packed: Vec<u32> =
                (0..32 * u32::try_from(width).unwrap()).map(|i| i.wrapping_mul(2_654_435_761)).collect();
            let bytes: Vec<u8> = packed.iter().flat_map(|w| w.to_le_bytes()).collect();
            let group = Group::<u32>::new(width, &bytes).unwrap();
            let mut all = [0; GROUP];
            group.unpack(&mut all);
            assert_eq!(all.to_vec(), by_formula(&packed, width));
            assert!((0..GROUP).all(|i| group.get(i) == all[i]));
        }
    }

    #[test]
    fn what_is_packed_unpacks() {
        for width in [0, 1, 9, 33, 64] {
            let most = if width == 0 { 0 } else { u64::MAX >> (64 - width) };
            let values = std::array::from_fn(|i| (i as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) & most);
            let (found, bytes) = pack::<u64>(&values);
            assert_eq!((found, bytes.len()), (width, 128 * width));
            let mut all = [7; GROUP];
            Group::new(found, &bytes).unwrap().unpack(&mut all);
            assert_eq!(all, values);
        }
    }

    #[test]
    #[expect(clippy::single_range_in_vec_init, reason = "a list of ranges")]
    fn any_ranges_are_those_of_the_whole_group() {
        let group = std::array::from_fn(|i| u32::try_from(i).unwrap().wrapping_mul(2_654_435_761) >> 13);
        let (width, bytes) = pack::<u32>(&group);
        let group_of = Group::<u32>::new(width, &bytes).unwrap();
        for wanted in [vec![0..1024], vec![0..100], vec![0..3], vec![5..900], vec![0..50, 60..70, 1000..1024], vec![]] {
            // Also where a group of words cannot lie.
            for before in [0, 3, 4] {
                let mut out = Pooled::default();
                out.extend_from_slice(&[7; 4][..before]);
                group_of.append(&wanted, &mut out);
                let expected: Vec<u8> =
                    wanted.iter().flat_map(|r| &group[r.clone()]).flat_map(|v| v.to_le_bytes()).collect();
                assert_eq!(out.as_slice()[before..], expected);
            }
        }
    }

    #[test]
    fn widths_and_lengths_are_checked() {
        assert_eq!(Group::<u16>::new(17, &[0; 4096]).err().unwrap().code(), "bad_bit_width");
        assert_eq!(Group::<u16>::new(3, &[0; 383]).err().unwrap().code(), "buffer_too_short");
        assert_eq!(Group::<u8>::with_header(&[]).err().unwrap().code(), "buffer_too_short");
        let mut out = [1u64; GROUP];
        Group::<u64>::with_header(&[0; 8]).unwrap().unpack(&mut out);
        assert_eq!(out, [0; GROUP]);
    }
}
