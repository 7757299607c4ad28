//! Floating-point numbers that are short decimals: a whole number and a power of ten. Or any other ones, whose exponents are near each
//! other.
//!
//! | at | a group |
//! |---|---|
//! | 0 | `u8` e, at most 18; or 255 |
//! | 1 | `u8` f, at most 18; 0 if e is 255 |
//! | 2 | `u16` number of exceptions |
//! | 4 | `u32` zero |
//! | 8 | the whole numbers, as a group of frames |
//! | | the exceptions: `u16` the place of each, then the values as they are |
//!
//! A whole number `n` is signed, below 2^51 in size, of 64 bits for doubles and of 32 bits for singles. It stands for the double
//! `n * 10^f * 10^-e`, multiplied from left to right, each rounded; for singles that is rounded to a single.
//! If e is 255 it stands for its own bits: the highest flipped, then all rotated right by one. So numbers are in the order of
//! their exponents, with the sign as the lowest bit.

use super::frame::Frame;
use super::words::{Word, each};
use super::{Exceptions, Group, Malformed};

/// Powers of ten.
pub(crate) const TENS: [f64; 19] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18];

/// What they are divided by, as near as a double gets.
pub(crate) const TENTHS: [f64; 19] = [
    1e-0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12, 1e-13, 1e-14, 1e-15, 1e-16, 1e-17,
    1e-18,
];

/// Instead of a power of ten: numbers are bits.
pub(crate) const ROTATED: u8 = 255;

/// Bits of a double in whose last bits whole numbers count, 2^52 + 2^51. What is added to the bits is added to the number, so a
/// whole number becomes a double by an addition and a subtraction, which vectors have.
const COUNTING: u64 = 0x4338_0000_0000_0000;

/// The word of a floating-point number.
pub(crate) trait FloatWord: Word {
    /// Turns whole numbers into the words of the numbers that they stand for.
    fn scale(out: &mut [Self], up: f64, down: f64);

    /// Turns numbers into the words whose bits they are.
    fn rotate(out: &mut [Self]);
}

impl FloatWord for u64 {
    #[inline]
    fn scale(out: &mut [u64], up: f64, down: f64) {
        let zero = f64::from_bits(COUNTING);
        each(out, |word: u64| {
            let number = f64::from_bits(word.wrapping_add(COUNTING)) - zero;
            (number * up * down).to_bits()
        });
    }

    #[inline]
    fn rotate(out: &mut [u64]) {
        each(out, |word: u64| (word ^ 1 << 63).rotate_right(1));
    }
}

impl FloatWord for u32 {
    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "it is rounded to a single")]
    fn scale(out: &mut [u32], up: f64, down: f64) {
        each(out, |word: u32| ((f64::from(word.cast_signed()) * up * down) as f32).to_bits());
    }

    #[inline]
    fn rotate(out: &mut [u32]) {
        each(out, |word: u32| (word ^ 1 << 31).rotate_right(1));
    }
}

/// A group of such numbers.
pub(crate) struct Alp<'a, T> {
    /// What numbers are multiplied by, one after the other; `None` if they are bits.
    powers: Option<(f64, f64)>,
    numbers: Frame<'a, T>,
    exceptions: Exceptions<'a>,
}

impl<'a, T: FloatWord> Group<'a, T> for Alp<'a, T> {
    fn split(bytes: &'a [u8], len: usize) -> Result<(Self, &'a [u8]), Malformed> {
        let Some(([e, f, low, high, reserved @ ..], rest)) = bytes.split_first_chunk::<8>() else {
            return Err(Malformed("a group without its head"));
        };
        let exceptions = usize::from(u16::from_le_bytes([*low, *high]));
        let powers = match (TENS.get(usize::from(*f)), TENTHS.get(usize::from(*e))) {
            (Some(up), Some(down)) => Some((*up, *down)),
            _ if (*e, *f) == (ROTATED, 0) => None,
            _ => return Err(Malformed("a power of ten beyond 18")),
        };
        if exceptions > len || *reserved != [0; 4] {
            return Err(Malformed("a group whose head makes no sense"));
        }
        let (numbers, rest) = Frame::split(rest, len)?;
        let (exceptions, rest) = Exceptions::split(rest, exceptions, T::BYTES)?;
        Ok((Alp { powers, numbers, exceptions }, rest))
    }

    #[inline]
    fn decode(&self, out: &mut [T]) -> Result<(), Malformed> {
        self.numbers.decode(out)?;
        match self.powers {
            Some((up, down)) => T::scale(out, up, down),
            None => T::rotate(out),
        }
        self.exceptions.place(out)
    }
}
