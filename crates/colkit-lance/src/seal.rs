//! The seal of a file that colkit wrote: checksums of every block of it, in a global buffer that stock readers never ask for.
//!
//! ```text
//! body: pages, statistics, zone maps, ... | seal | tail: file descriptor, column metadata, tables, footer
//!
//! seal: level 0 | level 1 | ... | zeros up to a multiple of 64 | size of the file u64 | block size u32 | magic | CRC-32
//! ```
//!
//! Blocks have 1024 bytes, counted from the start of the body and from the start of the tail; the last of each may be shorter.
//! Level 0 has the CRC-32 of every block of the body and of the tail. Each further level has that of every block of the level
//! before it, until a level is no longer than a block. The last CRC-32 is about everything from that level on.
//!
//! So a few bytes prove all others: a read is widened to whole blocks and compared with level 0, of which it reads the blocks
//! that it needs, which are compared with level 1, and so on. Where a level is follows from where the seal begins and ends and
//! from the size of the file.

use crate::bytes_at::{cut, u32_at, u64_at};
use crate::coroutine::Io;
use bytes::Bytes;
use colkit_core::{ByteRange, Error, Result, merge_overlapping};
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes that have a checksum of their own. Single rows are often found in less, but reading less costs the same; and the
/// checksums are 0.4 % of the file.
pub(crate) const BLOCK: u64 = 1024;

/// Bytes of a checksum.
const ENTRY: u64 = 4;

/// Checksums in a block.
const FAN: u64 = BLOCK / ENTRY;

const MAGIC: &[u8; 8] = b"COLKSEAL";

/// Bytes after the levels: size of the file, block size, magic, CRC-32.
const TRAILER: u64 = 24;

const ALIGNMENT: u64 = 64;

/// Checksums of the tail are read together with the trailer if they lie within this.
const NEAR: u64 = 16 << 10;

/// Blocks of checksums that are kept: those of a gigabyte.
const MOST_KNOWN: usize = 4096;

/// Where the parts of a sealed file are.
#[derive(Clone, Debug, PartialEq, Eq)]
struct SealLayout {
    body: ByteRange,
    tail: ByteRange,
    /// Lowest first; at least one.
    levels: Vec<ByteRange>,
    /// The highest level.
    top: ByteRange,
}

impl SealLayout {
    /// Of a seal that begins at `start`, in a file with so many bytes after it.
    fn new(start: u64, tail: u64) -> Option<SealLayout> {
        let (mut levels, mut at) = (Vec::new(), start);
        let mut blocks = start.div_ceil(BLOCK).checked_add(tail.div_ceil(BLOCK))?;
        let top = loop {
            let level = ByteRange::at(at, blocks.checked_mul(ENTRY)?).ok()?;
            levels.push(level);
            at = level.end();
            blocks = level.len().div_ceil(BLOCK);
            if blocks <= 1 {
                break level;
            }
        };
        let end = at.checked_add(TRAILER)?.checked_next_multiple_of(ALIGNMENT)?;
        Some(SealLayout { body: ByteRange::between(0, start), tail: ByteRange::at(end, tail).ok()?, levels, top })
    }

    fn end(&self) -> u64 {
        self.tail.start()
    }

    /// The number of the highest level.
    fn top_level(&self) -> usize {
        self.levels.len() - 1
    }

    /// Which entries of level 0 are about these bytes, whole blocks of the body or of the tail.
    fn entries(&self, range: ByteRange) -> Range<u64> {
        let (region, before) =
            if self.body.contains(range) { (self.body, 0) } else { (self.tail, self.body.len().div_ceil(BLOCK)) };
        let block = |at: u64| before + at.saturating_sub(region.start()).div_ceil(BLOCK);
        block(range.start())..block(range.end())
    }

    /// A block of a level.
    fn block(&self, (level, number): BlockPlace) -> ByteRange {
        let level = self.levels.get(level).copied().unwrap_or(self.top);
        let start = level.start().saturating_add(number.saturating_mul(BLOCK)).min(level.end());
        ByteRange::between(start, start.saturating_add(BLOCK).min(level.end()))
    }

    /// The whole blocks that hold these bytes.
    fn widened(&self, range: ByteRange) -> Result<ByteRange> {
        let region = [self.body, self.tail].into_iter().find(|region| region.contains(range)).ok_or_else(|| {
            Error::corrupt("checksum_mismatch", format!("bytes {range} belong to the checksums themselves"))
                .at(range.start())
        })?;
        let down = |at: u64| at - (at - region.start()) % BLOCK;
        let up = |at: u64| down(at.saturating_add(BLOCK - 1)).min(region.end());
        Ok(ByteRange::between(down(range.start()), up(range.end())))
    }
}

/// A block of checksums: its level and its number there.
type BlockPlace = (usize, u64);

/// Blocks of checksums that are proven, by their places.
type KnownBlocks = HashMap<BlockPlace, Bytes, ahash::RandomState>;

/// What proves the bytes of a file.
#[derive(Debug)]
pub(crate) struct Seal {
    layout: SealLayout,
    /// The highest level, proven.
    top: Bytes,
    known: Mutex<KnownBlocks>,
}

/// What to say of bytes that have another checksum than they should.
pub(crate) fn bad_checksum(range: ByteRange) -> Error {
    let message = format!("the {} bytes differ from what was written: their checksum is another", range.len());
    Error::corrupt("checksum_mismatch", message).at(range.start())
}

impl Seal {
    /// The bytes that prove a seal, if `buffer`, the last global buffer of a file of `size` bytes, can be one.
    pub fn proof(buffer: ByteRange, size: u64) -> Option<ByteRange> {
        let layout =
            SealLayout::new(buffer.start(), size.checked_sub(buffer.end())?).filter(|s| s.end() == buffer.end())?;
        let first = layout.entries(layout.tail).start / FAN;
        let near = layout.block((0, first)).start();
        let from = if layout.end() - near <= NEAR { near } else { layout.top.start() };
        Some(ByteRange::between(from, layout.end()))
    }

    /// The seal that `bytes` prove, those of [`Seal::proof`]; `None` if it is something else.
    pub fn open(buffer: ByteRange, size: u64, bytes: &Bytes) -> Result<Option<Arc<Seal>>> {
        let tail = size.saturating_sub(buffer.end());
        let Some((layout, range)) = SealLayout::new(buffer.start(), tail).zip(Self::proof(buffer, size)) else {
            return Ok(None);
        };
        let part = |part: ByteRange| {
            let at = part.start().checked_sub(range.start()).and_then(|at| usize::try_from(at).ok());
            cut(bytes, at.unwrap_or(usize::MAX), part.len_usize()?)
        };
        let trailer = part(ByteRange::between(layout.end() - TRAILER, layout.end()))?;
        if trailer.get(12..20) != Some(MAGIC) {
            return Ok(None);
        }
        let covered = ByteRange::between(layout.top.start(), layout.end() - ENTRY);
        if crc32fast::hash(&part(covered)?) != u32_at(&trailer, 20)? {
            return Err(bad_checksum(covered).part("checksums"));
        }
        if (u64_at(&trailer, 0)?, u64::from(u32_at(&trailer, 8)?)) != (size, BLOCK) {
            let message = format!("the checksums are about another file than this one of {size} bytes");
            return Err(Error::corrupt("checksum_mismatch", message).at(covered.end()).part("checksums"));
        }
        let top = Bytes::copy_from_slice(&part(layout.top)?);
        let seal = Seal { layout, top, known: Mutex::default() };
        let mut blocks = Vec::new();
        for (level, levels) in seal.layout.levels.iter().enumerate().take(seal.layout.top_level()) {
            let all = (0..levels.len().div_ceil(BLOCK)).map(|number| (level, number));
            blocks.extend(all.filter(|place| range.contains(seal.layout.block(*place))));
        }
        let given = blocks.iter().map(|place| part(seal.layout.block(*place))).collect::<Result<Vec<_>>>()?;
        seal.admit(&mut KnownBlocks::default(), &blocks, given)?;
        Ok(Some(Arc::new(seal)))
    }

    /// Reads these bytes, and proves them.
    pub async fn read(&self, io: &Io, ranges: &[ByteRange]) -> Result<Vec<Bytes>> {
        let wide = self.wide(ranges)?;
        let merged = merge_overlapping(&wide);
        let (mut known, missing) = self.needed(&merged);
        let mut asked = merged.clone();
        asked.extend(missing.iter().map(|place| self.layout.block(*place)));
        let mut got = io.fetch(asked).await?;
        let checksums = got.split_off(merged.len());
        self.admit(&mut known, &missing, checksums)?;
        merged.iter().zip(&got).try_for_each(|(range, bytes)| self.compare(*range, bytes, &known))?;
        let answer = |(range, wide): (&ByteRange, &ByteRange)| {
            let place = merged.partition_point(|m| m.start() <= wide.start()).saturating_sub(1);
            match merged.get(place).zip(got.get(place)) {
                Some((from, bytes)) if !range.is_empty() => {
                    let at = usize::try_from(range.start() - from.start()).unwrap_or(usize::MAX);
                    cut(bytes, at, range.len_usize()?)
                }
                _ => Ok(Bytes::new()),
            }
        };
        ranges.iter().zip(&wide).map(answer).collect()
    }

    /// What reading these bytes reads.
    pub fn plan(&self, ranges: &[ByteRange]) -> Result<Vec<ByteRange>> {
        let mut merged = merge_overlapping(&self.wide(ranges)?);
        let (_, missing) = self.needed(&merged);
        merged.extend(missing.iter().map(|place| self.layout.block(*place)));
        Ok(merged)
    }

    /// Proves the end of the file, of which these are the last bytes, and returns as much of it as could be proven. Damage to
    /// what lies before the tail is for those to find who want to read that.
    pub async fn tail(&self, io: &Io, bytes: Bytes) -> Result<Bytes> {
        let size = self.layout.tail.end();
        let from = size.saturating_sub(bytes.len() as u64);
        let whole = |region: ByteRange| {
            let missing = from.saturating_sub(region.start()).next_multiple_of(BLOCK);
            ByteRange::between(region.start().saturating_add(missing).min(region.end()), region.end())
        };
        let (body, tail) = (whole(self.layout.body), whole(self.layout.tail));
        let (mut known, missing) = self.needed(&[body, tail]);
        let checksums = io.fetch(missing.iter().map(|place| self.layout.block(*place)).collect()).await?;
        self.admit(&mut known, &missing, checksums)?;
        let part = |range: ByteRange| {
            let at = usize::try_from(range.start().saturating_sub(from)).unwrap_or(usize::MAX);
            cut(&bytes, at, range.len_usize()?)
        };
        self.compare(tail, &part(tail)?, &known)?;
        let proven = if body.is_empty() || self.compare(body, &part(body)?, &known).is_err() { tail } else { body };
        part(ByteRange::between(proven.start(), size))
    }

    /// All bytes of the file but the seal itself, in pieces.
    pub fn pieces(&self) -> impl Iterator<Item = ByteRange> {
        let piece = BLOCK * FAN;
        [self.layout.body, self.layout.tail].into_iter().flat_map(move |region| {
            let starts = (0..region.len().div_ceil(piece)).map(move |i| region.start() + i * piece);
            starts.map(move |start| ByteRange::between(start, (start + piece).min(region.end())))
        })
    }

    fn wide(&self, ranges: &[ByteRange]) -> Result<Vec<ByteRange>> {
        let wide = |r: &ByteRange| if r.is_empty() { Ok(*r) } else { self.layout.widened(*r) };
        ranges.iter().map(wide).collect()
    }

    /// The blocks of checksums that prove these bytes: those that are known, and the places of the others.
    fn needed(&self, ranges: &[ByteRange]) -> (KnownBlocks, Vec<BlockPlace>) {
        let cache = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut known, mut missing) = (KnownBlocks::default(), BTreeSet::new());
        if self.layout.top_level() == 0 {
            return (known, Vec::new());
        }
        let mut next = 0;
        for range in ranges {
            let entries = self.layout.entries(*range);
            // Ranges are in order, and many share a block of checksums.
            for number in next.max(entries.start / FAN)..entries.end.div_ceil(FAN) {
                next = number + 1;
                let mut place = (0, number);
                while place.0 < self.layout.top_level() && !known.contains_key(&place) {
                    if let Some(block) = cache.get(&place) {
                        known.insert(place, block.clone());
                        break;
                    }
                    if !missing.insert(place) {
                        break;
                    }
                    place = (place.0 + 1, place.1 / FAN);
                }
            }
        }
        (known, missing.into_iter().collect())
    }

    /// Proves these blocks of checksums, given from the lowest level on, by those above them.
    fn admit(&self, known: &mut KnownBlocks, places: &[BlockPlace], given: Vec<Bytes>) -> Result<()> {
        for (place, bytes) in places.iter().zip(given).rev() {
            let (level, number) = *place;
            let above = self.block(known, (level + 1, number / FAN))?;
            if crc32fast::hash(&bytes) != entry(above, number)? {
                return Err(bad_checksum(self.layout.block(*place)).part("checksums"));
            }
            // A part of a larger buffer would keep all of it.
            known.insert(*place, Bytes::copy_from_slice(&bytes));
        }
        if !places.is_empty() {
            let mut cache = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            if cache.len() + places.len() > MOST_KNOWN {
                cache.clear();
            }
            cache.extend(known.iter().take(MOST_KNOWN).map(|(place, block)| (*place, block.clone())));
        }
        Ok(())
    }

    fn block<'a>(&'a self, known: &'a KnownBlocks, place: BlockPlace) -> Result<&'a Bytes> {
        if place.0 >= self.layout.top_level() {
            return Ok(&self.top);
        }
        known.get(&place).ok_or_else(|| Error::corrupt("checksum_mismatch", "checksums that nothing proves"))
    }

    /// Compares whole blocks of the file with their checksums.
    fn compare(&self, range: ByteRange, bytes: &Bytes, known: &KnownBlocks) -> Result<()> {
        let block_bytes = usize::try_from(BLOCK).unwrap_or(usize::MAX);
        let entries = self.layout.entries(range);
        let mut rest: &[u8] = bytes;
        for group in entries.start / FAN..entries.end.div_ceil(FAN) {
            let own = entries.start.max(group * FAN)..entries.end.min((group + 1) * FAN);
            let place = |number: u64| usize::try_from((number - group * FAN) * ENTRY).unwrap_or(usize::MAX);
            let checksums = self.block(known, (0, group))?.get(place(own.start)..place(own.end));
            let (checksums, _) = checksums.ok_or_else(|| bad_checksum(range).part("checksums"))?.as_chunks();
            let (here, after) = rest.split_at(rest.len().min(checksums.len() * block_bytes));
            let mut blocks = here.chunks(block_bytes);
            let differs =
                |said: &[u8; 4]| crc32fast::hash(blocks.next().unwrap_or_default()) != u32::from_le_bytes(*said);
            if let Some(wrong) = checksums.iter().position(differs) {
                let at = range.start() + (own.start - entries.start + wrong as u64) * BLOCK;
                return Err(bad_checksum(ByteRange::between(at, (at + BLOCK).min(range.end()))));
            }
            rest = after;
        }
        Ok(())
    }
}

/// The checksum of this number, in the block of checksums that has it.
fn entry(block: &Bytes, number: u64) -> Result<u32> {
    u32_at(block, usize::try_from(number % FAN * ENTRY).unwrap_or(usize::MAX))
}

/// Checksums of bytes that come piece by piece.
#[derive(Default)]
pub(crate) struct Blocks {
    open: crc32fast::Hasher,
    filled: usize,
    crc32: Vec<u32>,
}

impl Blocks {
    /// The next bytes.
    pub fn add(&mut self, mut bytes: &[u8]) {
        let block = usize::try_from(BLOCK).unwrap_or(usize::MAX);
        while !bytes.is_empty() {
            let (part, rest) = bytes.split_at(bytes.len().min(block - self.filled));
            self.open.update(part);
            self.filled += part.len();
            if self.filled == block {
                self.end();
            }
            bytes = rest;
        }
    }

    /// The bytes so far end a block.
    fn end(&mut self) {
        if self.filled > 0 {
            self.crc32.push(std::mem::take(&mut self.open).finalize());
            self.filled = 0;
        }
    }

    fn of(bytes: &[u8]) -> Blocks {
        let mut blocks = Blocks::default();
        blocks.add(bytes);
        blocks.end();
        blocks
    }

    fn bytes(&self) -> Vec<u8> {
        self.crc32.iter().flat_map(|crc| crc.to_le_bytes()).collect()
    }
}

/// Bytes of a seal that begins at `start`, in a file with so many bytes after it.
pub(crate) fn length(start: u64, tail: u64) -> Result<u64> {
    let layout =
        SealLayout::new(start, tail).ok_or_else(|| Error::limit("a file", "more than 2^64 bytes", u64::MAX))?;
    Ok(layout.end() - start)
}

/// The seal of a body with these blocks and of this tail, which follows it.
pub(crate) fn seal(mut body: Blocks, start: u64, tail: &[u8]) -> Result<Vec<u8>> {
    body.end();
    body.crc32.append(&mut Blocks::of(tail).crc32);
    let mut bytes = body.bytes();
    let mut top = 0;
    while (bytes.len() - top) as u64 > BLOCK {
        let level = Blocks::of(bytes.get(top..).unwrap_or_default()).bytes();
        top = bytes.len();
        bytes.extend(level);
    }
    let length = length(start, tail.len() as u64)?;
    bytes.resize(usize::try_from(length - TRAILER).unwrap_or(usize::MAX), 0);
    bytes.extend((start + length + tail.len() as u64).to_le_bytes());
    bytes.extend(u32::try_from(BLOCK).unwrap_or(0).to_le_bytes());
    bytes.extend(MAGIC);
    bytes.extend(crc32fast::hash(bytes.get(top..).unwrap_or_default()).to_le_bytes());
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coroutine::{coroutine, sealed};
    use colkit_core::Source;
    use colkit_core::drive::blocking;

    /// A file of so many bytes before and after its seal, and where that is.
    fn file(body: usize, tail: usize) -> (Bytes, ByteRange) {
        let noise = |n: usize| (0..n).map(|i| (i * 7 + i / 251).to_le_bytes()[0]).collect::<Vec<u8>>();
        let (mut bytes, tail) = (noise(body), noise(tail));
        let mut blocks = Blocks::default();
        bytes.chunks(777).for_each(|part| blocks.add(part));
        let seal = seal(blocks, body as u64, &tail).unwrap();
        let place = ByteRange::at(body as u64, seal.len() as u64).unwrap();
        bytes.extend(seal);
        bytes.extend(tail);
        (bytes.into(), place)
    }

    fn open(bytes: &Bytes, place: ByteRange) -> Result<Option<Arc<Seal>>> {
        let proof = Seal::proof(place, bytes.size()).unwrap();
        Seal::open(place, bytes.size(), &bytes.read(proof)?)
    }

    #[test]
    fn reads_are_proven_whatever_their_size() {
        for (body, tail) in
            [(64, 40), (1024, 1024), (5120, 3000), (300_032, 5000), (64, 300_000), (64 << 20, 2_000_000)]
        {
            let (bytes, place) = file(body, tail);
            let seal = open(&bytes, place).unwrap().unwrap();
            assert!(place.len() <= bytes.size() / 250 + 128, "{} of {}", place.len(), bytes.size());
            let end = place.end();
            let ranges: Vec<ByteRange> = [(0, 1), (10, 60), (end, end + 1), (end + 7, end + 30), (3, 3), (0, 64)]
                .map(|(a, b)| ByteRange::between(a, b))
                .into_iter()
                .chain([ByteRange::between(0, body as u64), ByteRange::between(end, bytes.size())])
                .collect();
            let asked = ranges.clone();
            let got = blocking::run(sealed(Some(seal), |io| async move { io.read(asked).await }), &bytes).unwrap();
            assert_eq!(got, bytes.read_many(&ranges).unwrap(), "{body} {tail}");
        }
    }

    #[test]
    fn every_flipped_byte_is_found() {
        for (body, tail) in [(128, 100), (1088, 50), (400_000 / 64 * 64, 3000)] {
            let (bytes, place) = file(body, tail);
            let step = if bytes.len() > 10_000 { 97 } else { 1 };
            let own = body..bytes.len() - tail;
            for at in (0..bytes.len()).step_by(step).chain(own) {
                let mut damaged = bytes.to_vec();
                damaged[at] ^= 1 << (at % 8);
                let damaged = Bytes::from(damaged);
                let found = open(&damaged, place).and_then(|seal| {
                    let Some(seal) = seal else { return Err(Error::corrupt("checksum_mismatch", "no seal")) };
                    let all: Vec<ByteRange> = seal.pieces().collect();
                    blocking::run(sealed(Some(seal), |io| async move { io.read(all).await }), &damaged)
                });
                assert_eq!(found.unwrap_err().code(), "checksum_mismatch", "byte {at} of {}", bytes.len());
            }
        }
    }

    #[test]
    fn checksums_are_read_once() {
        let (bytes, place) = file(8 << 20, 1000);
        let seal = open(&bytes, place).unwrap().unwrap();
        let range = ByteRange::between(2_000_500, 2_000_600);
        let mut machine = sealed(Some(seal.clone()), |io| async move { io.read_one(range).await });
        let Ok(colkit_core::Step::Need(first)) = machine.step(Vec::new()) else { panic!("needs bytes") };
        assert_eq!(first.iter().map(|r| r.len()).collect::<Vec<_>>(), [BLOCK, BLOCK]);
        assert_eq!(seal.plan(&[range]).unwrap(), first);
        let got = first.iter().map(|r| bytes.read(*r).unwrap()).collect();
        machine.step(got).unwrap();
        assert_eq!(seal.plan(&[range]).unwrap(), first[..1]);
    }

    #[test]
    fn the_end_of_a_file_is_proven_as_far_as_it_is_there() {
        for (body, tail) in [(64, 40), (6400, 3000), (600_000 / 64 * 64, 90_000)] {
            let (bytes, place) = file(body, tail);
            for length in [40, 1100, 5000, 70_000, bytes.len()] {
                let length = length.min(bytes.len());
                let seal = open(&bytes, place).unwrap().unwrap();
                let end = bytes.slice(bytes.len() - length..);
                let machine = coroutine(move |io| async move { seal.tail(&io, end).await });
                let proven = blocking::run(machine, &bytes).unwrap();
                assert!(
                    bytes.ends_with(&proven) && proven.len() + 1023 >= length.min(tail),
                    "{length}: {}",
                    proven.len()
                );
            }
        }
    }
}
