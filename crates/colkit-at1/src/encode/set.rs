//! Streams before and after packing, and the stream set they go into.

use super::compress::{self, Effort};
use super::put::{put_lp, put_uv};
use crate::backend::Backend;
use colkit_core::Result;
use colkit_core::drive::parallel;

/// A named stream, not packed yet.
#[derive(Clone, Debug)]
pub struct Stream {
    /// Its name.
    pub name: String,
    /// What is in it.
    pub bytes: Vec<u8>,
    /// Where something of another nature begins, such as the next column: a good place to cut it for packing.
    pub cuts: Vec<usize>,
}

impl Stream {
    /// A stream of one piece.
    pub fn new(name: impl Into<String>, bytes: Vec<u8>) -> Self {
        Stream { name: name.into(), bytes, cuts: Vec::new() }
    }

    /// What is between the cuts.
    pub fn pieces(&self) -> impl Iterator<Item = &[u8]> {
        let ends = self.cuts.iter().copied().chain([self.bytes.len()]);
        let starts = [0].into_iter().chain(self.cuts.iter().copied());
        starts.zip(ends).filter_map(|(start, end)| self.bytes.get(start..end)).filter(|piece| !piece.is_empty())
    }
}

/// A named stream, packed.
#[derive(Clone, Debug)]
pub struct PackedStream {
    /// Its name.
    pub name: String,
    /// How it is packed.
    pub backend: Backend,
    /// The packed bytes.
    pub bytes: Vec<u8>,
}

/// A part must be so long to be packed on its own.
const PART: usize = 32 << 10;
/// Nothing longer than this is packed in one piece because its parts have something in common: that takes much memory.
const LONGEST_IN_ONE: usize = 32 << 20;
/// A part longer than this is cut further, except at best effort: several cores are worth more than a longer memory.
const LONGEST_PART: usize = 16 << 20;

/// Packs every stream in the smallest way, on all threads.
pub fn pack_streams(streams: Vec<Stream>, effort: Effort, threads: usize) -> Result<Vec<PackedStream>> {
    let mut work: Vec<(usize, std::ops::Range<usize>)> = Vec::new();
    for (i, stream) in streams.iter().enumerate() {
        let mut parts = parts(stream, effort);
        if effort == Effort::Default && have_much_in_common(stream, &parts, threads)? {
            parts = std::iter::once(0..stream.bytes.len()).collect();
        }
        let several = parts.len() > 1;
        work.extend(parts.into_iter().map(|range| (i, range)));
        if effort == Effort::Best && several {
            // Also in one piece: columns may have much in common.
            work.push((i, 0..stream.bytes.len()));
        }
    }
    let pack = |(i, range): (usize, std::ops::Range<usize>)| {
        let Some(stream) = streams.get(i) else { return Ok((i, (Backend::Stored, Vec::new()))) };
        let bytes = stream.bytes.get(range).unwrap_or_default();
        let packed = match bytes.len() == stream.bytes.len() {
            true if !stream.cuts.is_empty() && effort == Effort::Default => compress::smallest_far(bytes),
            true => compress::smallest(bytes, effort),
            // Only xz can be joined from parts.
            false => compress::smallest_xz(bytes, effort),
        };
        packed.map(|packed| (i, packed))
    };
    let mut packed = parallel::map(work, threads, pack)?.into_iter().peekable();
    let mut out = Vec::with_capacity(streams.len());
    for (i, stream) in streams.iter().enumerate() {
        let mut parts = Vec::new();
        while let Some((_, part)) = packed.next_if(|(of, _)| *of == i) {
            parts.push(part);
        }
        let whole = if effort == Effort::Best || parts.len() == 1 { parts.pop() } else { None };
        let joined = if parts.len() > 1 { compress::join(&parts).map(|bytes| (Backend::Xz, bytes)) } else { None };
        let candidates = [whole, joined].into_iter().flatten();
        let stored = || (Backend::Stored, stream.bytes.clone());
        let (backend, bytes) = candidates.min_by_key(|(_, b)| b.len()).unwrap_or_else(stored);
        let (backend, bytes) = if bytes.len() > stream.bytes.len() { stored() } else { (backend, bytes) };
        out.push(PackedStream { name: stream.name.clone(), backend, bytes });
    }
    Ok(out)
}

/// What of a stream is looked at to see what its parts have in common.
const LOOK: usize = 1 << 20;

/// Whether a stream is clearly smaller in one piece than in parts: names that come again in paths and descriptions, say. What
/// is looked at is the beginning of each part, and of long parts more, so that it is about the same rows of each.
fn have_much_in_common(stream: &Stream, parts: &[std::ops::Range<usize>], threads: usize) -> Result<bool> {
    let length = stream.bytes.len();
    if parts.len() < 2 || length > LONGEST_IN_ONE {
        return Ok(false);
    }
    let share = |part: &std::ops::Range<usize>| {
        let wanted = part.len().min(part.len().saturating_mul(LOOK) / length);
        stream.bytes.get(part.start..part.start + wanted).unwrap_or_default().to_vec()
    };
    let mut looks: Vec<Vec<u8>> = parts.iter().map(share).collect();
    looks.push(looks.concat());
    let mut sizes = parallel::map(looks, threads, |look| Ok(compress::XZ_6.pack(&look)?.1.len()))?;
    let together = sizes.pop().unwrap_or_default();
    Ok(together.saturating_mul(100) < sizes.iter().sum::<usize>().saturating_mul(98))
}

/// The ranges a stream is packed in.
fn parts(stream: &Stream, effort: Effort) -> Vec<std::ops::Range<usize>> {
    let end = stream.bytes.len();
    if effort == Effort::Fast {
        return std::iter::once(0..end).collect();
    }
    let mut parts = Vec::new();
    let mut start = 0;
    for cut in stream.cuts.iter().copied().filter(|c| *c < end).chain([end]) {
        if cut - start.min(cut) >= PART && (end - cut >= PART || cut == end) {
            parts.push(start..cut);
            start = cut;
        }
    }
    if start < end || parts.is_empty() {
        parts.push(start..end);
    }
    if effort == Effort::Best {
        return parts;
    }
    let cut = |part: std::ops::Range<usize>| {
        let pieces = part.len().div_ceil(LONGEST_PART).max(1);
        let length = part.len().div_ceil(pieces).max(1);
        (0..pieces).map(move |i| (part.start + i * length)..(part.start + (i + 1) * length).min(part.end))
    };
    parts.into_iter().flat_map(cut).collect()
}

/// Appends what stands before the data of a stream, in the reference framing.
pub fn put_entry(name: &str, backend: Backend, length: u64, out: &mut Vec<u8>) {
    put_lp(name.as_bytes(), out);
    out.push(backend.id());
    put_uv(length, out);
}
