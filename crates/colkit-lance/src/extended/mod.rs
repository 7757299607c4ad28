//! Compressions beyond those of Lance: a file each, and a line each in the table.
//!
//! A file holds the name of its compression, how its description is understood, how values are decoded in a chunk, and how
//! they are encoded. Files that use one bring a module that decodes it, for readers that do not know it.

mod alp;
mod alp_encode;
pub(crate) mod decode;
mod frame;
mod frame_encode;
mod pco;
#[cfg(test)]
mod tests;
pub(crate) mod text;

use crate::encoding::{Bytes, Chunk, EmbeddedModule, PageValues, ValueEncoding};
use bytemuck::Pod;
use colkit_core::pool::Pooled;
use colkit_core::{Error, Result};
use decode::words::Word;
use decode::{GROUP, Group, Malformed};
use std::ops::Range;
use std::sync::Arc;

/// All of them.
pub(crate) fn all() -> [Arc<dyn ValueEncoding>; 4] {
    [
        Arc::new(alp::AlpEncoding),
        Arc::new(frame::FrameEncoding),
        Arc::new(pco::PcoEncoding),
        Arc::new(text::TextEncoding),
    ]
}

/// Whether this program writes them. Where that is known not to be so, encoders and modules are not part of it.
const WRITES: bool = cfg!(feature = "extended");

/// A module that `plugins/build.sh` has built: its bytes, and their SHA-256.
fn module(bytes: &'static [u8], sha256: &str) -> Option<EmbeddedModule> {
    WRITES.then(|| EmbeddedModule { bytes: Bytes::from_static(bytes), sha256: sha256.trim().to_owned() })
}

fn malformed(what: Malformed) -> Error {
    Error::corrupt("bad_chunk", what.0)
}

/// A description that is not understood.
fn bad_description(name: &str, description: &[u8]) -> Error {
    Error::corrupt("bad_encoding", format!("{name} does not know the description {description:?}"))
}

/// Appends the wanted values of a chunk of groups; `put` appends those of a group that are wanted only in part.
fn append<'a, T, G>(chunk: &Chunk<'a>, out: &mut Pooled, in_place: bool, put: fn(&[T], &mut Pooled)) -> Result<()>
where
    T: Word + Pod,
    G: Group<'a, T>,
{
    let mut rest = chunk.buffer(0)?;
    let mut wanted = chunk.wanted.iter().cloned();
    let mut next = wanted.next();
    let mut group_values = [T::default(); GROUP];
    for start in (0..chunk.count).step_by(GROUP) {
        let Some(range) = next.clone() else { return Ok(()) };
        let end = (start + GROUP).min(chunk.count);
        let (group, after) = G::split(rest, end - start).map_err(malformed)?;
        rest = after;
        if range.start >= end {
            continue;
        }
        if in_place
            && range.start <= start
            && range.end >= end
            && let Some(room) = room(out, end - start)
        {
            group.decode(room).map_err(malformed)?;
            out.advance((end - start) * T::BYTES);
            if range.end == end {
                next = wanted.next();
            }
            continue;
        }
        let values = group_values.get_mut(..end - start).unwrap_or_default();
        group.decode(values).map_err(malformed)?;
        while let Some(range) = next.clone().filter(|range| range.start < end) {
            let part = range.start.max(start) - start..range.end.min(end) - start;
            put(values.get(part).unwrap_or_default(), out);
            if range.end > end {
                break;
            }
            next = wanted.next();
        }
    }
    if !rest.is_empty() {
        return Err(malformed(Malformed("bytes behind the last group of a chunk")));
    }
    Ok(())
}

/// Room for so many words at the end of `out`, if that is a place for such words.
fn room<T: Word + Pod>(out: &mut Pooled, count: usize) -> Option<&mut [T]> {
    let room = out.room(count * T::BYTES).get_mut(..count * T::BYTES)?;
    bytemuck::try_cast_slice_mut(room).ok()
}

/// Appends words as they are.
fn put_plain<T: Pod>(words: &[T], out: &mut Pooled) {
    out.extend_from_slice(bytemuck::cast_slice(words));
}

/// What a page is like, from a look at some of its groups.
struct Sample {
    /// Bytes of 1024 values.
    bytes: usize,
}

impl Sample {
    /// Encodes a few groups that are spread over the page.
    fn of(values: &PageValues<'_>, mut encode: impl FnMut(Range<usize>) -> Vec<u8>) -> Sample {
        let groups = values.count().div_ceil(GROUP);
        let (mut bytes, mut count) = (0, 0);
        for group in (0..groups).step_by(groups.div_ceil(4).max(1)) {
            let range = group * GROUP..((group + 1) * GROUP).min(values.count());
            count += range.len();
            bytes += encode(range).len();
        }
        Sample { bytes: (bytes * GROUP).div_ceil(count.max(1)) }
    }

    /// Bytes of so many values, about.
    fn bytes(&self, count: usize) -> usize {
        (self.bytes * count).div_ceil(GROUP)
    }
}
