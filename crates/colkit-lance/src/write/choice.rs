//! Which encoding: every one that applies is asked for its size on a few chunks spread over the page, and how long it
//! takes to decode them; the one that costs least wins. So the choice is cheap, and always the same for the same values.

use super::codec::{Chunking, Codec};
use super::hints::{Compression, Hints};
use super::options::Prefer;
use super::values::Variable;
use crate::codec::bitpack::GROUP;
use crate::codec::general::{Packer, Scheme};
use crate::container::Version;
use colkit_core::{Error, Result};
use prost::Message;

/// What decoding takes, in picoseconds on one core. Measured by
///
/// ```text
/// cargo run --release -p colkit-lance --example lance_costs
/// ```
///
/// which prints most of this table beside the columns that it is derived from; what is said of LZ4 and zstd is fitted to them.
/// What matters is how the numbers compare with each other, so they need not be measured again for each machine, but
/// whenever a decoder becomes much faster.
pub(crate) mod cost {
    /// A byte that is only copied; every byte that comes out of another encoding costs this too.
    pub const BYTE: u64 = 180;
    /// A value of some bits.
    pub const BITS: u64 = 200;
    /// A run.
    pub const RUN: u64 = 7000;
    /// A byte that is put together with those of other streams.
    pub const SPLIT: u64 = 110;
    /// A text, whatever its length.
    pub const TEXT: u64 = 4000;
    /// A code of FSST.
    pub const CODE: u64 = 1500;
    /// A value of fixed width that is looked up in a dictionary.
    pub const LOOKED_UP: u64 = 100;
    /// A text that is looked up in a dictionary.
    pub const TEXT_LOOKED_UP: u64 = 5000;
    /// A byte that LZ4 gives.
    pub const LZ4: u64 = 60;
    /// A sequence of LZ4: some bytes, and some of those before.
    pub const SEQUENCE: u64 = 4000;
    /// A byte of a sequence that repeats bytes of its own: they are copied one after another.
    pub const OVERLAP: u64 = 1200;
    /// A value of an LZ4 block whose sequences are all alike, by a decoder that knows the shape.
    pub const STRIDE: u64 = 500;
    /// zstd: a byte that comes out, and one that goes in.
    pub const ZSTD: (u64, u64) = (800, 4000);
    /// zstd begins, for values that are compressed one by one.
    pub const BEGIN: u64 = 1_500_000;
}

/// Picoseconds that are worth a byte. A quarter of a gigabyte per second is what a core gets to see of a good disk or of
/// an object store; `speed` is for files that are in memory already.
const BALANCE: u64 = 4000;
const SPEED: u64 = 2000;

/// What is wanted of the encodings of a leaf.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice {
    pub prefer: Prefer,
    /// Of zstd, if asked for.
    pub level: Option<i32>,
    pub version: Version,
    pub hints: Hints,
    /// Physical columns of the file, which share the decoders that it brings.
    pub sharers: usize,
}

impl Choice {
    /// Values as they are.
    pub fn plain() -> Choice {
        Choice { prefer: Prefer::Speed, level: None, version: Version::V2_0, hints: Hints::default(), sharers: 1 }
    }

    /// The general compressions to try.
    pub fn packers(&self) -> Result<Vec<Packer>> {
        let schemes: &[(Scheme, i32)] = match (self.hints.compression, self.prefer) {
            (Some(Compression::None | Compression::Symbols), _) | (None, Prefer::RandomAccess) => &[],
            (Some(Compression::Zstd), _) => &[(Scheme::Zstd, 3)],
            (Some(Compression::Lz4), _) | (None, Prefer::Speed) => &[(Scheme::Lz4, 0)],
            (None, Prefer::Balance) => &[(Scheme::Lz4, 0), (Scheme::Zstd, 1)],
            (None, Prefer::Size) => &[(Scheme::Zstd, 9)],
        };
        let level = self.hints.level.or(self.level);
        // What was asked for by name is an error if it cannot be had.
        let schemes = schemes.iter().filter(|(scheme, _)| self.forces_general() || scheme.can_pack());
        schemes.map(|(scheme, default)| Packer::new(*scheme, level.unwrap_or(*default))).collect()
    }

    /// What may compress these values one by one. Lance unpacks a null like an empty value, and finds no length in lz4's: such
    /// pages get zstd, which is all that Lance itself writes there.
    pub fn value_packers(&self, texts: &Variable) -> Result<Vec<Packer>> {
        let mut packers = self.packers()?;
        if packers.iter().any(|p| p.scheme == Scheme::Lz4) && (0..texts.len()).any(|i| texts.get(i).is_empty()) {
            packers.retain(|p| p.scheme == Scheme::Zstd);
            if packers.is_empty() && Scheme::Zstd.can_pack() {
                packers.push(Packer::new(Scheme::Zstd, 1)?);
            }
        }
        Ok(packers)
    }

    /// What may compress dictionaries.
    pub fn dictionary_packers(&self) -> Result<Vec<Packer>> {
        let schemes: &[Scheme] = match (self.hints.dictionary_compression, self.prefer) {
            (Some(Compression::None | Compression::Symbols), _) | (None, Prefer::RandomAccess) => &[],
            (Some(Compression::Lz4), _) | (None, Prefer::Speed) => &[Scheme::Lz4],
            (Some(Compression::Zstd), _) | (None, Prefer::Size) => &[Scheme::Zstd],
            (None, Prefer::Balance) => &[Scheme::Lz4, Scheme::Zstd],
        };
        let level = self.hints.dictionary_level.or(self.level).unwrap_or(3);
        let asked = self.hints.dictionary_compression.is_some();
        schemes.iter().filter(|scheme| asked || scheme.can_pack()).map(|scheme| Packer::new(*scheme, level)).collect()
    }

    /// Whether general compression was asked for by name, and so is used wherever it makes values smaller.
    pub fn forces_general(&self) -> bool {
        matches!(self.hints.compression, Some(Compression::Zstd | Compression::Lz4))
    }

    pub fn chunking(&self) -> Chunking {
        // Readers insist on small words in 2.1 and on large ones in 2.2.
        let large = self.version == Version::V2_2;
        let (most_values, plain, general) = match self.prefer {
            Prefer::Size if large => (1 << 15, 16 << 10, 1 << 20),
            Prefer::Size => (1 << 15, 16 << 10, 128 << 10),
            Prefer::Speed => (4096, 8 << 10, 32 << 10),
            Prefer::Balance | Prefer::RandomAccess => (4096, 8 << 10, 8 << 10),
        };
        match self.hints.chunk_bytes {
            // A chunk may be smaller than asked, never larger than it can be.
            Some(bytes) => Chunking { most_values: 4096, plain: bytes, general: bytes, large },
            None => Chunking { most_values, plain, general, large },
        }
    }

    /// Chunks that are encoded to see how large all would be.
    fn samples(&self) -> usize {
        match self.prefer {
            Prefer::Size => 6,
            Prefer::Balance | Prefer::Speed | Prefer::RandomAccess => 3,
        }
    }

    /// What so many bytes cost that take so long to decode, in bytes. What was asked for by name is measured by its size alone.
    pub fn weigh(&self, bytes: usize, picoseconds: u64, general: bool) -> usize {
        let more = match self.prefer {
            _ if self.forces_general() => 0,
            // Compression that gains nothing is left out.
            Prefer::Size => bytes / 100 * usize::from(general),
            Prefer::Balance => usize::try_from(picoseconds / BALANCE).unwrap_or(usize::MAX),
            Prefer::Speed | Prefer::RandomAccess => usize::try_from(picoseconds / SPEED).unwrap_or(usize::MAX),
        };
        bytes.saturating_add(more)
    }
}

/// An encoding and what it would need for all values of a page, about.
pub(super) struct Found<'a> {
    pub codec: Box<dyn Codec + 'a>,
    pub bytes: usize,
    /// The bytes, and more for the time that they take.
    pub cost: usize,
}

/// Bytes that this encoding would need for `count` values, and picoseconds to decode them, about.
fn estimate(codec: &dyn Codec, count: usize, choice: &Choice) -> Result<(usize, u64)> {
    let chunking = choice.chunking();
    let wish = codec.wish(&chunking);
    let mut size = if codec.groups() { GROUP } else { chunking.most_values };
    while !codec.groups() && size > 2 && codec.bytes(&(0..size.min(count))) > wish {
        size /= 2;
    }
    let chunks = count.div_ceil(size);
    // Small chunks vary more.
    let samples = (choice.samples() * 4096).div_ceil(size).max(choice.samples());
    let step = chunks.div_ceil(samples).max(1);
    let (mut bytes, mut values, mut time) = (0usize, 0usize, 0u64);
    for chunk in (0..chunks).step_by(step) {
        let items = chunk * size..((chunk + 1) * size).min(count);
        values += items.len();
        let buffers = codec.encode(items.clone())?;
        time += codec.time(&items, &buffers);
        bytes += buffers.iter().map(|b| b.len().next_multiple_of(8)).sum::<usize>() + 8;
    }
    let message = (codec.message().encoded_len() + codec.beside()) as u64;
    let all = |part: u64| part.saturating_mul(count as u64) / (values as u64).max(1);
    Ok((usize::try_from(all(bytes as u64) + message).unwrap_or(usize::MAX), all(time)))
}

/// The encoding that costs least.
pub(super) fn cheapest<'a>(codecs: Vec<Box<dyn Codec + 'a>>, count: usize, choice: &Choice) -> Result<Found<'a>> {
    let mut best: Option<Found<'a>> = None;
    for codec in codecs {
        let (bytes, time) = estimate(codec.as_ref(), count, choice)?;
        let cost = choice.weigh(bytes, time, codec.general().is_some());
        if best.as_ref().is_none_or(|b| cost < b.cost) {
            best = Some(Found { codec, bytes, cost });
        }
    }
    best.ok_or_else(|| Error::internal("no encoding for these values"))
}
