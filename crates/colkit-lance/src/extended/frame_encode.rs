//! Whole numbers to groups of frames.
//!
//! A group is tried in four ways, as numbers and as differences, with the smallest as the reference and with one that leaves
//! a few out that are far below; the smallest is taken. For each, the width is the one that costs least together with its exceptions.

use super::decode::GROUP;
use super::decode::frame::{DIFFERENCES, FACTOR};
use super::decode::words::packed_bytes;
use crate::codec::bitpack::{Word, pack_to};

/// Values as numbers; those of 16 bytes must fit.
pub(super) fn numbers(values: &[u8], bytes: u8, signed: bool) -> Vec<i64> {
    macro_rules! each {
        ($t:ty) => {
            values.as_chunks().0.iter().map(|b| i64::from(<$t>::from_le_bytes(*b))).collect()
        };
    }
    match (bytes, signed) {
        (1, false) => each!(u8),
        (1, true) => each!(i8),
        (2, false) => each!(u16),
        (2, true) => each!(i16),
        (4, false) => each!(u32),
        (4, true) => each!(i32),
        (16, _) => values.as_chunks::<16>().0.iter().map(low_half).collect(),
        _ => each!(i64),
    }
}

fn low_half(bytes: &[u8; 16]) -> i64 {
    bytes.first_chunk().map_or(0, |b| i64::from_le_bytes(*b))
}

/// How words can be stored.
pub(super) struct Plan {
    reference: i64,
    factor: u64,
    width: usize,
    /// What that takes.
    pub bytes: usize,
}

/// Appends a group of at most 1024 numbers of so many bits.
pub(super) fn encode_group(values: &[i64], bits: usize, out: &mut Vec<u8>) {
    let plain = plan(values, bits);
    let pairs = values.iter().zip(values.iter().skip(1));
    let differences: Vec<i64> = pairs.map(|(a, b)| b.wrapping_sub(*a)).collect();
    if differences.is_empty() || plain.bytes == 0 {
        return append(values, &plain, None, bits, out);
    }
    let by_differences = plan(&differences, bits);
    // Sums take time.
    if by_differences.bytes + 8 >= plain.bytes - plain.bytes / 16 {
        return append(values, &plain, None, bits, out);
    }
    let mut words = vec![by_differences.reference];
    words.extend(differences);
    let base = values.first().copied().unwrap_or(0).wrapping_sub(by_differences.reference);
    append(&words, &by_differences, Some(base), bits, out);
}

/// Appends a group of at most 1024 floating-point numbers, as their bits in the order of exponents.
pub(super) fn encode_exponents(values: &[i64], bits: usize, out: &mut Vec<u8>) {
    append(values, &exponents(values, bits), None, bits, out);
}

/// The best way to store the bits of floating-point numbers: those whose exponents are in a window are packed.
pub(super) fn exponents(values: &[i64], bits: usize) -> Plan {
    // The mantissa, and the sign behind it.
    let below = if bits == 32 { 24 } else { 53 };
    let place = |value: &i64| value >> below;
    let (Some(first), Some(last)) = (values.iter().map(place).min(), values.iter().map(place).max()) else {
        return Plan { reference: 0, factor: 1, width: 0, bytes: 0 };
    };
    let count = |from: i64, to: i64| usize::try_from(to.saturating_sub(from)).unwrap_or(usize::MAX);
    let mut found = vec![0usize; count(first, last) + 1];
    for value in values {
        if let Some(found) = found.get_mut(count(first, place(value))) {
            *found += 1;
        }
    }
    let mut best = Plan { reference: 0, factor: 1, width: bits, bytes: usize::MAX };
    for more in 0..=bits - below {
        let window = found.len().min(1 << more);
        let mut inside: usize = found.iter().take(window).sum();
        let (mut most, mut start) = (inside, 0);
        for (from, (left, entered)) in found.iter().zip(found.iter().skip(window)).enumerate() {
            inside = inside + entered - left;
            if inside > most {
                (most, start) = (inside, from + 1);
            }
        }
        let bytes = packed_bytes(values.len(), below + more) + (values.len() - most) * (2 + bits / 8);
        if bytes < best.bytes {
            let reference = (first + i64::try_from(start).unwrap_or(0)) << below;
            best = Plan { reference, factor: 1, width: below + more, bytes };
        }
        if window == found.len() {
            break;
        }
    }
    best
}

/// The best way to store these words as they are.
fn plan(words: &[i64], bits: usize) -> Plan {
    let lowest = words.iter().copied().min().unwrap_or(0);
    let first = plan_from(words, lowest, bits);
    // A few that are far below the others would make all of them wide.
    let few = words.len() / 64;
    if few == 0 || first.width == 0 {
        return first;
    }
    let mut lowest = words.to_vec();
    lowest.select_nth_unstable(few);
    lowest.truncate(few + 1);
    lowest.sort_unstable();
    let steps = lowest.iter().zip(lowest.iter().skip(1));
    let reference = steps.max_by_key(|(below, above)| above.abs_diff(**below)).map_or(0, |(_, above)| *above);
    let second = plan_from(words, reference, bits);
    if second.bytes < first.bytes { second } else { first }
}

fn difference(word: i64, reference: i64) -> Option<u64> {
    (word >= reference).then(|| word.wrapping_sub(reference).cast_unsigned())
}

fn plan_from(words: &[i64], reference: i64, bits: usize) -> Plan {
    let factor = common_factor(words.iter().filter_map(|word| difference(*word, reference)));
    let factor = if factor > u64::MAX >> (64 - bits.clamp(1, 64)) { 1 } else { factor };
    let mut lengths = [0usize; 65];
    let mut exceptions = 0;
    for word in words {
        match difference(*word, reference) {
            Some(difference) => {
                let packed = if factor > 1 { difference / factor } else { difference };
                let length = usize::try_from(u64::BITS - packed.leading_zeros()).unwrap_or(64);
                if let Some(count) = lengths.get_mut(length) {
                    *count += 1;
                }
            }
            None => exceptions += 1,
        }
    }
    let mut best = Plan { reference, factor, width: bits, bytes: usize::MAX };
    // From the widest on, those that are wider are exceptions.
    for width in (0..=64).rev() {
        let stored = packed_bytes(words.len(), width) + exceptions * (2 + bits / 8);
        if width <= bits && stored < best.bytes {
            best = Plan { reference, factor, width, bytes: stored };
        }
        exceptions += lengths.get(width).copied().unwrap_or(0);
    }
    best
}

/// What all of these are multiples of.
fn common_factor(mut words: impl Iterator<Item = u64>) -> u64 {
    let mut factor = 0;
    while factor != 1 {
        let Some(mut word) = words.next() else { break };
        while word != 0 {
            (factor, word) = (word, factor % word);
        }
    }
    factor.max(1)
}

/// Zeros up to a multiple of 8 bytes from `start`.
pub(super) fn pad(out: &mut Vec<u8>, start: usize) {
    out.resize(start + (out.len() - start).next_multiple_of(8), 0);
}

fn append(words: &[i64], plan: &Plan, base: Option<i64>, bits: usize, out: &mut Vec<u8>) {
    let Plan { reference, factor, width, .. } = *plan;
    let start = out.len();
    let mask = u64::MAX >> (64 - bits.clamp(1, 64));
    let most = if width == 0 { 0 } else { u64::MAX >> (64 - width.min(64)) };
    let (mut packed, mut exceptions) = (Vec::with_capacity(GROUP), Vec::new());
    for (place, word) in words.iter().enumerate() {
        let scaled = |difference: u64| if factor > 1 { difference / factor } else { difference };
        let fits = difference(*word, reference).map(scaled).filter(|packed| *packed <= most);
        packed.push(fits.unwrap_or(0));
        if fits.is_none() {
            exceptions.push((u16::try_from(place).unwrap_or(u16::MAX), *word));
        }
    }
    let flags = if base.is_some() { DIFFERENCES } else { 0 } | if factor > 1 { FACTOR } else { 0 };
    out.extend([u8::try_from(width).unwrap_or(64), flags]);
    out.extend(u16::try_from(exceptions.len()).unwrap_or(u16::MAX).to_le_bytes());
    out.extend([0; 4]);
    out.extend((reference.cast_unsigned() & mask).to_le_bytes());
    out.extend(base.map(|base| (base.cast_unsigned() & mask).to_le_bytes()).into_iter().flatten());
    out.extend((factor > 1).then(|| factor.to_le_bytes()).into_iter().flatten());
    match bits {
        8 => pack::<u8>(&packed, width, out),
        16 => pack::<u16>(&packed, width, out),
        32 => pack::<u32>(&packed, width, out),
        _ => pack::<u64>(&packed, width, out),
    }
    pad(out, start);
    exceptions.iter().for_each(|(place, _)| out.extend(place.to_le_bytes()));
    pad(out, start);
    for (_, word) in &exceptions {
        out.extend(word.to_le_bytes().iter().take(bits / 8));
    }
    pad(out, start);
}

/// Packs words to `width` bits: 1024 as FastLanes has them, fewer one after another.
fn pack<T: Word>(words: &[u64], width: usize, out: &mut Vec<u8>) {
    if words.len() == GROUP {
        let mut group = [T::default(); GROUP];
        for (to, word) in group.iter_mut().zip(words) {
            *to = bytemuck::pod_read_unaligned(word.to_le_bytes().get(..size_of::<T>()).unwrap_or_default());
        }
        out.append(&mut pack_to(&group, width));
        return;
    }
    let start = out.len();
    out.resize(start + packed_bytes(words.len(), width), 0);
    let room = out.get_mut(start..).unwrap_or_default();
    for (i, word) in words.iter().enumerate() {
        let bytes = (u128::from(*word) << (i * width % 8)).to_le_bytes();
        for (to, from) in room.get_mut(i * width / 8..).unwrap_or_default().iter_mut().zip(bytes) {
            *to |= from;
        }
    }
}
