//! Floating-point numbers to whole numbers and powers of ten, or to bits in the order of their exponents.
//!
//! What counts is that the decoder gets back the same bits: a number for which it does not is an exception.

use super::decode::alp::{ROTATED, TENS, TENTHS};
use super::frame_encode;

/// Powers of ten, `10^-e` and `10^f`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Powers {
    e: u8,
    f: u8,
}

/// No powers: the bits themselves.
const BITS: Powers = Powers { e: ROTATED, f: 0 };

/// Of a page, so many are kept; each group takes the best of them.
const KEPT: usize = 4;

/// Numbers of a page that all powers are tried on, and numbers of a group that the best ones are tried on.
const PAGE_SAMPLE: usize = 256;
const GROUP_SAMPLE: usize = 32;

/// 2^52 + 2^51: what is added to it is rounded to a whole number.
const COUNTING: f64 = 6_755_399_441_055_744.0;

impl Powers {
    fn tens(self) -> (f64, f64) {
        let at = |table: &[f64; 19], place: u8| table.get(usize::from(place)).copied().unwrap_or(1.0);
        (at(&TENS, self.f), at(&TENTHS, self.e))
    }

    /// The whole number that stands for a double.
    fn double(self, value: f64) -> Option<i64> {
        let (up, down) = self.tens();
        let (to_e, to_f) = Powers { e: self.f, f: self.e }.tens();
        let counted = value * to_e * to_f + COUNTING;
        let number = counted.to_bits().wrapping_sub(COUNTING.to_bits()).cast_signed();
        let back = (counted - COUNTING) * up * down;
        (number.unsigned_abs() < 1 << 51 && back.to_bits() == value.to_bits()).then_some(number)
    }

    /// The whole number that stands for a single.
    #[expect(clippy::cast_possible_truncation, reason = "it is rounded to a single, as the decoder does")]
    fn single(self, value: f32) -> Option<i64> {
        let (up, down) = self.tens();
        let (to_e, to_f) = Powers { e: self.f, f: self.e }.tens();
        let counted = f64::from(value) * to_e * to_f + COUNTING;
        let number = counted.to_bits().wrapping_sub(COUNTING.to_bits()).cast_signed();
        let back = ((counted - COUNTING) * up * down) as f32;
        (i32::try_from(number).is_ok() && back.to_bits() == value.to_bits()).then_some(number)
    }

    /// The whole numbers for values of so many bytes each.
    fn numbers(self, values: &[u8], bytes: u8, step: usize) -> Vec<Option<i64>> {
        match bytes {
            4 => values.as_chunks().0.iter().step_by(step).map(|b| self.single(f32::from_le_bytes(*b))).collect(),
            _ => values.as_chunks().0.iter().step_by(step).map(|b| self.double(f64::from_le_bytes(*b))).collect(),
        }
    }

    /// Bits that some of these values would take, about.
    fn cost(self, values: &[u8], bytes: u8, sample: usize) -> usize {
        let step = (values.len() / usize::from(bytes).max(1)).div_ceil(sample).max(1);
        if self == BITS {
            return frame_encode::exponents(&rotated(values, bytes, step), usize::from(bytes) * 8).bytes * 8;
        }
        let numbers = self.numbers(values, bytes, step);
        let fit = numbers.iter().flatten();
        let range = fit.clone().max().zip(fit.clone().min()).map_or(0, |(most, least)| most.abs_diff(*least));
        let width = usize::try_from(u64::BITS - range.leading_zeros()).unwrap_or(64);
        let count = fit.count();
        count * width + (numbers.len() - count) * (usize::from(bytes) * 8 + 16)
    }
}

/// The bits of values of so many bytes each, in the order of their exponents.
fn rotated(values: &[u8], bytes: u8, step: usize) -> Vec<i64> {
    let single = |b: &[u8; 4]| (u32::from_le_bytes(*b).rotate_left(1) ^ 1 << 31).cast_signed().into();
    let double = |b: &[u8; 8]| (u64::from_le_bytes(*b).rotate_left(1) ^ 1 << 63).cast_signed();
    match bytes {
        4 => values.as_chunks().0.iter().step_by(step).map(single).collect(),
        _ => values.as_chunks().0.iter().step_by(step).map(double).collect(),
    }
}

/// The powers that serve these values best, the best first; none if nothing is gained by any.
pub(super) fn find_powers(values: &[u8], bytes: u8) -> Vec<Powers> {
    // Singles are computed as doubles, which are so precise that one power is enough.
    let all =
        (0..=18).flat_map(|e| (0..=e).map(move |f| Powers { e, f })).filter(|p| bytes == 8 || p.f == 0 && p.e <= 10);
    let all = all.chain([BITS]);
    let mut costs: Vec<(usize, Powers)> = all.map(|powers| (powers.cost(values, bytes, PAGE_SAMPLE), powers)).collect();
    costs.sort_by_key(|(cost, powers)| (*cost, powers.e));
    let count = (values.len() / usize::from(bytes).max(1)).min(PAGE_SAMPLE);
    costs.retain(|(cost, _)| *cost < count * usize::from(bytes) * 8);
    costs.truncate(KEPT);
    costs.into_iter().map(|(_, powers)| powers).collect()
}

/// Appends a group of at most 1024 values.
pub(super) fn encode_group(values: &[u8], bytes: u8, known: &[Powers], out: &mut Vec<u8>) {
    let powers = match known {
        [] => Powers { e: 0, f: 0 },
        [only] => *only,
        [first, ..] => {
            let best = known.iter().min_by_key(|powers| powers.cost(values, bytes, GROUP_SAMPLE));
            best.copied().unwrap_or(*first)
        }
    };
    if powers == BITS {
        let numbers = rotated(values, bytes, 1);
        out.extend([ROTATED, 0, 0, 0, 0, 0, 0, 0]);
        return frame_encode::encode_exponents(&numbers, usize::from(bytes) * 8, out);
    }
    let numbers = powers.numbers(values, bytes, 1);
    // Exceptions get the number before them, which costs little.
    let mut last = numbers.iter().flatten().next().copied().unwrap_or(0);
    let mut whole = Vec::with_capacity(numbers.len());
    for number in &numbers {
        last = number.unwrap_or(last);
        whole.push(last);
    }
    let exceptions: Vec<usize> = numbers.iter().enumerate().filter(|(_, n)| n.is_none()).map(|(i, _)| i).collect();
    out.extend([powers.e, powers.f]);
    out.extend(u16::try_from(exceptions.len()).unwrap_or(u16::MAX).to_le_bytes());
    out.extend([0; 4]);
    frame_encode::encode_group(&whole, usize::from(bytes) * 8, out);
    let start = out.len();
    for place in &exceptions {
        out.extend(u16::try_from(*place).unwrap_or(u16::MAX).to_le_bytes());
    }
    frame_encode::pad(out, start);
    let width = usize::from(bytes);
    for place in &exceptions {
        out.extend_from_slice(values.get(place * width..(place + 1) * width).unwrap_or_default());
    }
    frame_encode::pad(out, start);
}
