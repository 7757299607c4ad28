//! Checksums over a stream set: a stream of its own, which decoders that do not know it ignore.
//!
//! The trailer hashes the restored file, so it says nothing to a query that reads a few blocks, nor about bytes that do not
//! change what is restored. The stream `colkit.crc32` does:
//!
//! | bytes | CRC-32, little-endian, of |
//! |-------|---------------------------|
//! | 0..4  | all that opening reads: the head of the file, the number of streams, their headers and their data |
//! | 4..8  | the data of stored blocks, one stream after the other; each block also has a checksum of its own |
//!
//! In file order, without the data of `colkit.crc32` itself. A structured frame has one over its own set, and the first
//! frame, which is always structured, also over what stands before it. Opening compares
//! the first before anything is believed; `verify` compares both. A bundle has none: there the manifest is xz, which checks
//! itself, and has a CRC-32 of each entry.

use crate::container::Container;
use crate::queryable::is_stored_blocks;
use crate::stream_set::Entry;
use colkit_core::{ByteRange, Error, Result};
use crc32fast::Hasher;

/// The name of the stream.
pub const NAME: &str = "colkit.crc32";
/// Its length.
pub const LENGTH: u64 = 8;

/// The bytes of the stream.
pub fn encode(opened: u32, blocks: u32) -> Vec<u8> {
    [opened.to_le_bytes(), blocks.to_le_bytes()].concat()
}

/// What the stream says, if the set has it.
fn decode(entries: &[Entry]) -> Option<(&Entry, Result<(u32, u32)>)> {
    let entry = entries.iter().find(|e| e.name == NAME)?;
    let sums = entry.packed.as_ref().and_then(|b| Some((b.first_chunk::<4>()?, b.get(4..)?.first_chunk::<4>()?)));
    let sums =
        sums.filter(|_| entry.data.len() == LENGTH).map(|(a, b)| (u32::from_le_bytes(*a), u32::from_le_bytes(*b)));
    Some((entry, sums.ok_or_else(|| bad(entry.data.start(), "expected two checksums of four bytes".into()))))
}

fn bad(at: u64, message: String) -> Error {
    Error::corrupt("checksum_mismatch", message).at(at).part(format!("stream {NAME:?}"))
}

fn changed(entry: &Entry, what: &str) -> Error {
    bad(entry.data.start(), format!("{what} differ from what was written: their CRC-32 is another"))
}

/// Whether a name is ours but for one bit: then it is damaged, and what it stands for would go unnoticed.
pub fn is_damaged_name(name: &[u8]) -> bool {
    is_one_bit_off(name, NAME.as_bytes())
}

/// Whether two texts of one length differ in a single bit.
pub fn is_one_bit_off(found: &[u8], right: &[u8]) -> bool {
    let bits = || found.iter().zip(right).map(|(a, b)| (a ^ b).count_ones()).sum::<u32>();
    found.len() == right.len() && bits() == 1
}

/// The checksum of what opening reads, made while walking through a set.
#[derive(Clone, Debug)]
pub struct Opened {
    hash: Hasher,
    /// Whether all of it was seen: what is not needed is not fetched.
    complete: bool,
}

impl Opened {
    /// Begins with what stands before the set.
    pub fn after(head: &[u8]) -> Self {
        let mut hash = Hasher::new();
        hash.update(head);
        Opened { hash, complete: true }
    }

    /// The number of streams, or a header.
    pub fn header(&mut self, bytes: &[u8]) {
        self.hash.update(bytes);
    }

    /// A stream, with its data if that was fetched.
    pub fn stream(&mut self, entry: &Entry) {
        match &entry.packed {
            _ if entry.name == NAME || is_stored_blocks(entry) => {}
            Some(data) => self.hash.update(data),
            None => self.complete = false,
        }
    }

    /// Compares, if the set has checksums and all that they cover was seen.
    pub fn check(self, entries: &[Entry]) -> Result<()> {
        match decode(entries) {
            Some((entry, sums)) if self.complete => match sums?.0 == self.hash.finalize() {
                true => Ok(()),
                false => Err(changed(entry, "the streams that say how to read the others")),
            },
            _ => Ok(()),
        }
    }
}

/// Compares both checksums of a whole file, given all its bytes in order.
pub struct Whole {
    opened: Hasher,
    blocks: Hasher,
    /// Where the data of this stream lies, and where that of stored blocks does.
    own: ByteRange,
    apart: Vec<ByteRange>,
    /// How far it has come, and where it ends.
    at: u64,
    end: u64,
    sums: Vec<u8>,
}

impl Whole {
    /// For this file, if it carries such checksums.
    pub fn of(container: &Container) -> Option<Self> {
        let entries = container.entries();
        let own = entries.iter().find(|e| e.name == NAME)?.data;
        let apart = entries.iter().filter(|e| is_stored_blocks(e)).map(|e| e.data).collect();
        let (opened, blocks) = (Hasher::new(), Hasher::new());
        Some(Whole { opened, blocks, own, apart, at: 0, end: container.body_end, sums: Vec::new() })
    }

    /// What comes next, at most `length` bytes of one kind; `None` at the end.
    pub fn next(&self, length: u64) -> Option<ByteRange> {
        let edges = self.apart.iter().chain([&self.own]).flat_map(|r| [r.start(), r.end()]);
        let edge = edges.filter(|edge| *edge > self.at).min().unwrap_or(self.end);
        (self.at < self.end)
            .then(|| ByteRange::between(self.at, edge.min(self.end).min(self.at.saturating_add(length))))
    }

    /// Takes the bytes of the range that was said to come next.
    pub fn take(&mut self, range: ByteRange, bytes: &[u8]) {
        match () {
            () if self.own.contains(range) => self.sums.extend_from_slice(bytes),
            () if self.apart.iter().any(|apart| apart.contains(range)) => self.blocks.update(bytes),
            () => self.opened.update(bytes),
        }
        self.at = range.end();
    }

    /// Compares.
    pub fn finish(self) -> Result<()> {
        if encode(self.opened.finalize(), self.blocks.finalize()) == self.sums {
            return Ok(());
        }
        Err(bad(self.own.start(), "the bytes of the file differ from what was written: their CRC-32 is another".into()))
    }
}
