//! The portable format of 32-bit roaring bitmaps.
//!
//! ```text
//! no runs    u32 12346, u32 n
//! with runs  u16 12347, u16 n-1, one bit for each container: whether it is one of runs
//! then       n x (u16 key, u16 count-1), n x u32 offset (with runs only if n >= 4), n containers:
//!            run      u16 r, r x (u16 start, u16 length-1)
//!            array    count x u16, if count <= 4096
//!            bitmap   8192 bytes, the least significant bit of each first
//! ```
//!
//! A container holds the low 16 bits of values that have its key as high ones.

use crate::bytes_at::{slice_at, u16_at, u32_at};
use colkit_core::{Error, Result};

const WITHOUT_RUNS: u32 = 12346;
const WITH_RUNS: u16 = 12347;
const MOST_IN_ARRAY: usize = 4096;
const BITMAP_BYTES: usize = 8192;

/// Bytes that are read one after another.
struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn u16(&mut self) -> Result<u16> {
        let value = u16_at(self.bytes, self.at)?;
        self.at += 2;
        Ok(value)
    }

    fn u32(&mut self) -> Result<u32> {
        let value = u32_at(self.bytes, self.at)?;
        self.at += 4;
        Ok(value)
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let taken = slice_at(self.bytes, self.at, count)?;
        self.at += count;
        Ok(taken)
    }
}

fn bad(what: impl Into<String>) -> Error {
    Error::corrupt("bad_deletions", what)
}

/// The values, ascending.
pub(super) fn parse(bytes: &[u8]) -> Result<Vec<u32>> {
    let mut from = Cursor { bytes, at: 0 };
    let cookie = from.u32()?;
    let (count, runs): (usize, &[u8]) = if cookie == WITHOUT_RUNS {
        (usize::try_from(from.u32()?).unwrap_or(usize::MAX), &[])
    } else if u16_at(bytes, 0)? == WITH_RUNS {
        let count = usize::from(u16_at(bytes, 2)?) + 1;
        (count, from.take(count.div_ceil(8))?)
    } else {
        return Err(bad(format!("{cookie} is not how a roaring bitmap begins")).at(0));
    };
    let headers = from.take(count.checked_mul(4).ok_or_else(|| bad(format!("{count} containers")))?)?;
    if runs.is_empty() || count >= 4 {
        from.take(count * 4)?;
    }
    let mut values = Vec::new();
    let mut last_key = None;
    for (number, header) in headers.chunks_exact(4).enumerate() {
        let (key, cardinality) = (u16_at(header, 0)?, usize::from(u16_at(header, 2)?) + 1);
        if last_key.is_some_and(|last| last >= key) {
            return Err(bad("the containers of a bitmap do not ascend"));
        }
        last_key = Some(key);
        let before = values.len();
        let value = |low: u16| u32::from(key) << 16 | u32::from(low);
        if runs.get(number / 8).is_some_and(|bits| bits >> (number % 8) & 1 == 1) {
            for _ in 0..from.u16()? {
                let (start, length) = (from.u16()?, from.u16()?);
                let end = start.checked_add(length).ok_or_else(|| bad("a run beyond its container"))?;
                values.extend((start..=end).map(value));
                if values.len() - before > cardinality {
                    break;
                }
            }
        } else if cardinality <= MOST_IN_ARRAY {
            let lows = from.take(cardinality * 2)?.chunks_exact(2);
            values.extend(lows.filter_map(|low| Some(value(u16::from_le_bytes(*low.first_chunk()?)))));
        } else {
            for (byte, bits) in from.take(BITMAP_BYTES)?.iter().enumerate() {
                let set = (0..8).filter(|bit| bits >> bit & 1 == 1);
                values.extend(set.filter_map(|bit| Some(value(u16::try_from(byte * 8 + bit).ok()?))));
            }
        }
        if values.len() - before != cardinality {
            return Err(bad(format!(
                "{} values in a container that is said to have {cardinality}",
                values.len() - before
            )));
        }
        let ascends = values.get(before..).is_some_and(|new| new.is_sorted_by(|a, b| a < b));
        if !ascends {
            return Err(bad("the values of a bitmap do not ascend"));
        }
    }
    if from.at != bytes.len() {
        return Err(Error::corrupt("bytes_left_over", "bytes after the end of the bitmap").at(from.at as u64));
    }
    Ok(values)
}

/// A bitmap of these values, which ascend.
pub(super) fn write(values: &[u32]) -> Vec<u8> {
    let containers: Vec<&[u32]> = values.chunk_by(|a, b| a >> 16 == b >> 16).collect();
    let mut bytes = WITHOUT_RUNS.to_le_bytes().to_vec();
    bytes.extend(u32::try_from(containers.len()).unwrap_or(u32::MAX).to_le_bytes());
    let low = |value: u32| u16::try_from(value & 0xFFFF).unwrap_or(u16::MAX);
    for container in &containers {
        let key = container.first().map_or(0, |first| low(first >> 16));
        bytes.extend(key.to_le_bytes());
        bytes.extend(u16::try_from(container.len().saturating_sub(1)).unwrap_or(u16::MAX).to_le_bytes());
    }
    let mut at = bytes.len() + 4 * containers.len();
    for container in &containers {
        bytes.extend(u32::try_from(at).unwrap_or(u32::MAX).to_le_bytes());
        at += if container.len() <= MOST_IN_ARRAY { container.len() * 2 } else { BITMAP_BYTES };
    }
    for container in containers {
        if container.len() <= MOST_IN_ARRAY {
            container.iter().for_each(|value| bytes.extend(low(*value).to_le_bytes()));
            continue;
        }
        let mut bits = vec![0u8; BITMAP_BYTES];
        for value in container.iter().map(|value| low(*value)) {
            if let Some(byte) = bits.get_mut(usize::from(value / 8)) {
                *byte |= 1 << (value % 8);
            }
        }
        bytes.extend(bits);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_forms_of_containers() {
        let runs = b"\x3b\x30\0\0\x01\0\0\x11\0\x03\0\0\0\x06\0\x14\0\x09\0\x27\0\0\0";
        let expected: Vec<u32> = (0..7).chain(20..30).chain([39]).collect();
        assert_eq!(parse(runs).unwrap(), expected);
        let mut array = b"\x3a\x30\0\0\x02\0\0\0\0\0\x01\0\x02\0\0\0\x18\0\0\0\x1c\0\0\0".to_vec();
        array.extend([5, 0, 9, 0, 7, 0]);
        assert_eq!(parse(&array).unwrap(), [5, 9, 2 << 16 | 7]);
        let mut bitmap = b"\x3a\x30\0\0\x01\0\0\0\0\0\xff\x7f\x10\0\0\0".to_vec();
        bitmap.extend([0x55; 8192]);
        assert_eq!(parse(&bitmap).unwrap(), (0..65536).step_by(2).collect::<Vec<u32>>());
    }

    #[test]
    fn what_is_written_is_read() {
        for values in [vec![0], vec![5, 9, 2 << 16 | 7, u32::MAX], (0..90_000).step_by(2).collect::<Vec<u32>>()] {
            assert_eq!(parse(&write(&values)).unwrap(), values);
        }
        assert!(
            write(&(0..12_000).step_by(2).collect::<Vec<u32>>()).starts_with(b"\x3a\x30\0\0\x01\0\0\0\0\0\x6f\x17")
        );
    }

    #[test]
    fn what_is_wrong_is_refused() {
        let good = b"\x3a\x30\0\0\x01\0\0\0\0\0\x01\0\x10\0\0\0\x05\0\x09\0".to_vec();
        assert_eq!(parse(&good).unwrap(), [5, 9]);
        for cut in 0..good.len() {
            assert!(parse(&good[..cut]).is_err(), "{cut}");
        }
        let more = [good.as_slice(), &[0]].concat();
        assert_eq!(parse(&more).unwrap_err().code(), "bytes_left_over");
        let mut same = good.clone();
        same[16] = 9;
        assert_eq!(parse(&same).unwrap_err().code(), "bad_deletions");
        assert!(parse(b"\x3a\x30\0\0\xff\xff\xff\xff").is_err());
        assert!(parse(b"\x3b\x30\0\0\x01\0\0\x00\0\x01\0\xff\xff\xff\xff").is_err());
    }
}
