//! One bit per value: whether a comparison is true for it.
//!
//! A filter compares every value that it reads, so comparisons process many values at a time with the widest SIMD
//! instructions available.

use arrow::buffer::{BooleanBuffer, Buffer};

/// For each value whether `holds`.
pub(super) fn mask<N: Copy>(values: &[N], holds: impl Fn(N) -> bool) -> BooleanBuffer {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has the instructions that the function is compiled for.
        #[expect(unsafe_code, reason = "calling a function with instructions that not every processor has")]
        let words = unsafe { words_with_avx2(values, holds) };
        return BooleanBuffer::new(Buffer::from_vec(words), 0, values.len());
    }
    BooleanBuffer::new(Buffer::from_vec(words(values, holds)), 0, values.len())
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
#[target_feature(enable = "avx2")]
fn words_with_avx2<N: Copy>(values: &[N], holds: impl Fn(N) -> bool) -> Vec<u64> {
    words(values, holds)
}

/// The bits of 64 values to a word, the first in its lowest bit.
#[inline(always)]
fn words<N: Copy>(values: &[N], holds: impl Fn(N) -> bool) -> Vec<u64> {
    let (full, rest) = values.as_chunks::<64>();
    let mut words = Vec::with_capacity(full.len() + 1);
    for values in full {
        words.push(word(&values.map(|value| u8::from(holds(value)))));
    }
    if !rest.is_empty() {
        let mut answers = [0u8; 64];
        answers.iter_mut().zip(rest).for_each(|(answer, value)| *answer = u8::from(holds(*value)));
        words.push(word(&answers));
    }
    words
}

/// 64 bytes that are 0 or 1 as bits.
#[inline(always)]
fn word(answers: &[u8; 64]) -> u64 {
    // The factor moves the lowest bit of byte i to bit i of the highest byte; no two meet on the way.
    const TO_HIGHEST: u64 = 0x0102_0408_1020_4080;
    let eights = answers.as_chunks::<8>().0.iter();
    let bits = |eight: &[u8; 8]| u64::from_le_bytes(*eight).wrapping_mul(TO_HIGHEST) >> 56;
    eights.enumerate().fold(0, |word, (i, eight)| word | bits(eight) << (8 * i))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_gives_the_bits_of_the_plain_loop() {
        for length in [0usize, 1, 7, 63, 64, 65, 128, 200, 1000] {
            let values: Vec<i64> = (0i64..).take(length).map(|i| (i * 7919) % 101 - 50).collect();
            for bound in [-60, -3, 0, 17, 60] {
                let expected: Vec<bool> = values.iter().map(|v| *v < bound).collect();
                let expected = BooleanBuffer::from(expected);
                assert_eq!(mask(&values, |v| v < bound), expected, "{length} values below {bound}");
                let plain = Buffer::from_vec(words(&values, |v| v < bound));
                assert_eq!(BooleanBuffer::new(plain, 0, length), expected, "{length} values below {bound}");
            }
        }
    }
}
