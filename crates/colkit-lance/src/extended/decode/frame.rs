//! Numbers near a reference, or whose differences are.
//!
//! | at | a group |
//! |---|---|
//! | 0 | `u8` bits of a packed word |
//! | 1 | `u8` flags: 1 they are differences, 2 there is a factor |
//! | 2 | `u16` number of exceptions |
//! | 4 | `u32` zero |
//! | 8 | `u64` the reference |
//! | | with flag 1: `u64` the base |
//! | | with flag 2: `u64` the factor; else it is 1 |
//! | | the packed words |
//! | | the exceptions: `u16` the place of each, then the words |
//!
//! Each of the last three is followed by zeros up to a multiple of 8 bytes. Word `i` is `packed[i] * factor + reference`, or
//! what an exception says. With flag 1, value `i` is the base plus all words up to `i`, otherwise word `i`.

use super::words::{Word, packed_bytes};
use super::{Exceptions, Group, Malformed, padded};

pub(crate) const DIFFERENCES: u8 = 1;
pub(crate) const FACTOR: u8 = 2;

/// A group of such numbers.
pub(crate) struct Frame<'a, T> {
    width: usize,
    reference: T,
    factor: T,
    base: Option<T>,
    packed: &'a [u8],
    exceptions: Exceptions<'a>,
}

fn number<T: Word>(bytes: &mut &[u8]) -> Result<T, Malformed> {
    let (number, rest) = bytes.split_first_chunk().ok_or(Malformed("a group without its head"))?;
    *bytes = rest;
    T::narrow(u64::from_le_bytes(*number)).ok_or(Malformed("a reference that is wider than the values"))
}

impl<'a, T: Word> Group<'a, T> for Frame<'a, T> {
    fn split(bytes: &'a [u8], len: usize) -> Result<(Self, &'a [u8]), Malformed> {
        let Some(([width, flags, low, high, reserved @ ..], mut rest)) = bytes.split_first_chunk::<8>() else {
            return Err(Malformed("a group without its head"));
        };
        let (width, exceptions) = (usize::from(*width), usize::from(u16::from_le_bytes([*low, *high])));
        if width > T::BITS || exceptions > len || *flags > 3 || *reserved != [0; 4] {
            return Err(Malformed("a group whose head makes no sense"));
        }
        let reference = number(&mut rest)?;
        let base = if flags & DIFFERENCES != 0 { Some(number(&mut rest)?) } else { None };
        let factor = if flags & FACTOR != 0 { number(&mut rest)? } else { T::narrow(1).unwrap_or_default() };
        let (packed, rest) = padded(rest, packed_bytes(len, width))?;
        let (exceptions, rest) = Exceptions::split(rest, exceptions, T::BYTES)?;
        Ok((Frame { width, reference, factor, base, packed, exceptions }, rest))
    }

    #[inline]
    fn decode(&self, out: &mut [T]) -> Result<(), Malformed> {
        T::unpack(self.packed, self.width, self.factor, self.reference, out)?;
        self.exceptions.place(out)?;
        if let Some(base) = self.base {
            T::sum(base, out);
        }
        Ok(())
    }
}
