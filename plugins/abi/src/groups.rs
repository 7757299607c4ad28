//! Wanted values of a chunk of groups.

use super::decode::words::Word;
use super::decode::{GROUP, Group};
use core::ops::Range;

/// Decodes these values of a chunk of `count` to `out`.
pub fn decode<'a, T: Word, G: Group<'a, T>>(mut bytes: &'a [u8], count: usize, wanted: Range<usize>, out: &mut [T]) -> Result<(), &'static str> {
    let mut some = [T::default(); GROUP];
    for start in (0..count).step_by(GROUP) {
        let end = count.min(start + GROUP);
        if start >= wanted.end {
            return Ok(());
        }
        let (group, rest) = G::split(bytes, end - start).map_err(|e| e.0)?;
        bytes = rest;
        if end <= wanted.start {
            continue;
        }
        let (from, to) = (start.max(wanted.start), end.min(wanted.end));
        let place = out.get_mut(from - wanted.start..to - wanted.start).ok_or("more values than were asked for")?;
        if place.len() == end - start {
            group.decode(place).map_err(|e| e.0)?;
        } else {
            let values = some.get_mut(..end - start).unwrap_or_default();
            group.decode(values).map_err(|e| e.0)?;
            place.copy_from_slice(values.get(from - start..to - start).unwrap_or_default());
        }
    }
    if bytes.is_empty() { Ok(()) } else { Err("bytes behind the last group of a chunk") }
}
