//! Columns being written: raw bytes in memory until there are too many, then compressed segments in a temporary file.
//!
//! A column must end up as one zlib stream, but rows arrive for all columns at once. A *part* collects raw bytes; when
//! the writer's budget is used up, they are deflated as independent segments, each ended by a sync flush, so that
//! segments can simply follow each other:
//!
//! ```text
//! zlib header | segment | segment | ... | 03 00 (final empty block) | Adler-32 of all raw bytes
//! ```
//!
//! A column that was never spilled becomes one plain stream. Nothing is compressed twice.

mod store;

use crate::zlib;
use colkit_core::{Error, Result, Sink};
use flate2::{Compress, Compression, FlushCompress, Status};
use std::path::Path;
use store::Store;

/// Raw bytes of one segment at most: large enough to cost next to no compression, small enough to share out.
const SEGMENT: usize = 4 << 20;

/// A run of a column's payload: values, or offsets, or the bytes of strings.
#[derive(Default)]
pub(crate) struct Part {
    pub raw: Vec<u8>,
    spilled: Option<Spilled>,
}

/// What of a part is in the spill file.
struct Spilled {
    extents: Vec<Extent>,
    length: u64,
    adler: u32,
}

#[derive(Clone, Copy)]
struct Extent {
    offset: u64,
    length: u64,
}

impl Part {
    /// Memory it holds.
    pub fn memory(&self) -> usize {
        self.raw.capacity()
    }

    /// Room for so many more bytes. Doubling would waste up to half of the memory allowed, so it grows by a quarter.
    pub fn make_room(&mut self, more: usize) {
        if self.raw.capacity() - self.raw.len() < more {
            self.raw.reserve_exact(more.max(self.raw.len() / 4));
        }
    }

    /// Raw bytes in all.
    pub fn length(&self) -> u64 {
        self.raw.len() as u64 + self.spilled.as_ref().map_or(0, |s| s.length)
    }

    pub fn is_spilled(&self) -> bool {
        self.spilled.is_some()
    }

    fn adler(&self) -> u32 {
        self.spilled.as_ref().map_or(1, |s| s.adler)
    }
}

/// Compressed segments that wait for their columns to be complete.
pub(crate) struct SpillFile {
    store: Store,
    length: u64,
}

impl SpillFile {
    pub fn new(folder: Option<&Path>) -> Self {
        SpillFile { store: Store::new(folder), length: 0 }
    }

    fn append(&mut self, bytes: &[u8]) -> Result<Extent> {
        self.store.append(bytes)?;
        let extent = Extent { offset: self.length, length: bytes.len() as u64 };
        self.length += extent.length;
        Ok(extent)
    }

    /// Compresses the raw bytes of `parts` on all threads and moves them to the file.
    pub fn spill<'a>(&mut self, parts: impl Iterator<Item = &'a mut Part>, level: u32, threads: usize) -> Result<()> {
        let mut parts: Vec<&mut Part> = parts.filter(|p| !p.raw.is_empty()).collect();
        let segments = parts.iter().enumerate().flat_map(|(i, p)| p.raw.chunks(SEGMENT).map(move |c| (i, c)));
        let segments: Vec<(usize, &[u8])> = segments.collect();
        let mut extents = Vec::with_capacity(segments.len());
        // A few at a time, so that little is held twice.
        for few in segments.chunks(2 * threads.max(1)) {
            let deflate = |(i, raw): (usize, &[u8])| Ok((i, deflate_segment(raw, level)?));
            for (i, bytes) in colkit_core::drive::parallel::map(few.to_vec(), threads, deflate)? {
                extents.push((i, self.append(&bytes)?));
            }
        }
        for part in &mut parts {
            let (length, adler) = (part.length(), zlib::adler32(part.adler(), &part.raw));
            let extents = part.spilled.take().map_or(Vec::new(), |s| s.extents);
            part.spilled = Some(Spilled { extents, length, adler });
            part.raw = Vec::new();
        }
        for (i, extent) in extents {
            if let Some(spilled) = parts.get_mut(i).and_then(|p| p.spilled.as_mut()) {
                spilled.extents.push(extent);
            }
        }
        Ok(())
    }
}

/// Deflates `raw` so that another segment can follow.
fn deflate_segment(raw: &[u8], level: u32) -> Result<Vec<u8>> {
    let failed = || Error::data("deflate", "the compressor failed");
    let mut compress = Compress::new(Compression::new(level), false);
    let mut out = Vec::with_capacity(raw.len() / 2 + 64);
    loop {
        let used = usize::try_from(compress.total_in()).map_err(|_| failed())?;
        let rest = raw.get(used..).unwrap_or_default();
        let before = out.len();
        let status = compress.compress_vec(rest, &mut out, FlushCompress::Sync).map_err(|_| failed())?;
        // A flush is complete once it leaves room in the output.
        let all_in = usize::try_from(compress.total_in()).is_ok_and(|n| n == raw.len());
        if all_in && out.len() < out.capacity() {
            return Ok(out);
        }
        if status == Status::BufError && out.len() == before && out.len() < out.capacity() {
            return Err(failed());
        }
        out.reserve(out.capacity().max(4096));
    }
}

/// A column's finished block.
pub(crate) enum Block {
    Plain(Vec<u8>),
    /// Segments of the parts in order, and the checksum of everything.
    Segments {
        extents: Vec<Segments>,
        adler: u32,
        level: u32,
    },
}

/// The segments of one part.
pub(crate) struct Segments(Vec<Extent>);

impl Block {
    pub fn length(&self) -> u64 {
        match self {
            Block::Plain(bytes) => bytes.len() as u64,
            Block::Segments { extents, .. } => {
                let stored: u64 = extents.iter().flat_map(|s| &s.0).map(|e| e.length).sum();
                2 + stored + 2 + 4
            }
        }
    }

    pub fn write(&self, spill: &SpillFile, sink: &mut dyn Sink) -> Result<()> {
        match self {
            Block::Plain(bytes) => sink.write(bytes),
            Block::Segments { extents, adler, level } => {
                sink.write(&zlib_header(*level))?;
                for extent in extents.iter().flat_map(|s| &s.0) {
                    spill.store.copy(*extent, sink)?;
                }
                sink.write(&[3, 0])?;
                sink.write(&adler.to_be_bytes())
            }
        }
    }
}

/// The two bytes a zlib stream starts with: 32 KiB window, and how hard the compressor tried.
fn zlib_header(level: u32) -> [u8; 2] {
    [
        0x78,
        match level {
            0 | 1 => 0x01,
            2..=5 => 0x5e,
            6 => 0x9c,
            _ => 0xda,
        },
    ]
}

/// Completes a column whose parts follow each other. Parts that were spilled must have no raw bytes left.
pub(crate) fn finish(parts: Vec<Part>, level: u32) -> Result<Block> {
    if parts.iter().any(|p| p.spilled.is_some()) {
        let adler = parts.iter().fold(1, |a, p| combine_adler32(a, p.adler(), p.length()));
        let extents = parts.into_iter().map(|p| Segments(p.spilled.map_or(Vec::new(), |s| s.extents))).collect();
        return Ok(Block::Segments { extents, adler, level });
    }
    let mut parts = parts.into_iter().map(|p| p.raw);
    let mut raw = parts.next().unwrap_or_default();
    for more in parts {
        raw.extend_from_slice(&more);
    }
    let stream = zlib::deflate(&raw, level);
    stream.map(Block::Plain).ok_or_else(|| Error::limit("compressing a column", raw.len(), "the memory there is"))
}

/// The checksum of two runs of bytes from the checksums of each; the second is `length` bytes long.
fn combine_adler32(first: u32, second: u32, length: u64) -> u32 {
    const M: u64 = 65_521;
    let (a_low, a_high) = (u64::from(first & 0xffff), u64::from(first >> 16));
    let (b_low, b_high) = (u64::from(second & 0xffff), u64::from(second >> 16));
    let low = (a_low + b_low + M - 1) % M;
    let high = (a_high + b_high + (length % M) * ((a_low + M - 1) % M)) % M;
    u32::try_from(high << 16 | low).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use colkit_core::MemorySink;

    #[test]
    fn checksums_combine() {
        let data: Vec<u8> = (0..200_000u32).map(|i| (i * 7 % 251) as u8).collect();
        for cut in [0, 1, 65_521, 100_000, 200_000] {
            let (a, b) = data.split_at(cut);
            let combined = combine_adler32(zlib::adler32(1, a), zlib::adler32(1, b), b.len() as u64);
            assert_eq!(combined, zlib::adler32(1, &data), "cut at {cut}");
        }
    }

    #[test]
    fn spilled_and_plain_columns_inflate_to_the_same() {
        let data: Vec<u8> = (0..9_000_000u32).map(|i| (i % 1000 / 7) as u8).collect();
        for level in [0, 1, 6, 9] {
            let mut spill = SpillFile::new(None);
            let mut parts = [Part::default(), Part::default()];
            for (i, piece) in data.chunks(2_000_003).enumerate() {
                parts[usize::from(i > 2)].raw.extend_from_slice(piece);
                if i != 1 {
                    spill.spill(parts.iter_mut(), level, 2).unwrap();
                }
            }
            let block = finish(parts.into(), level).unwrap();
            let sink = MemorySink::new();
            let mut out: Box<dyn Sink> = Box::new(sink.clone());
            block.write(&spill, out.as_mut()).unwrap();
            out.commit().unwrap();
            let bytes = sink.bytes().unwrap();
            assert_eq!(bytes.len() as u64, block.length());
            assert_eq!(zlib::inflate(&bytes, data.len()).unwrap().as_slice(), data, "level {level}");
        }
    }
}
