//! Which encoding: every one that applies is asked for its size on a few chunks spread over the page, the smallest
//! wins. So the choice is cheap, and always the same for the same values.

use super::codec::{Chunking, Codec};
use super::hints::{Compression, Hints};
use super::options::Prefer;
use super::values::Variable;
use crate::codec::bitpack::GROUP;
use crate::codec::general::{Packer, Scheme};
use crate::container::Version;
use colkit_core::{Error, Result};
use prost::Message;

/// What is wanted of the encodings of a leaf.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice {
    pub prefer: Prefer,
    /// Of zstd, if asked for.
    pub level: Option<i32>,
    pub version: Version,
    pub hints: Hints,
}

impl Choice {
    /// Values as they are.
    pub fn plain() -> Choice {
        Choice { prefer: Prefer::Speed, level: None, version: Version::V2_0, hints: Hints::default() }
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
        schemes.iter().map(|(scheme, default)| Packer::new(*scheme, level.unwrap_or(*default))).collect()
    }

    /// What compresses these values one by one, if anything does: they are long, so the strongest is worth its time. Lance
    /// unpacks a null like an empty value, and finds no length in lz4's: such pages get zstd, which is all that Lance
    /// itself writes there.
    pub fn value_packer(&self, texts: &Variable) -> Result<Option<Packer>> {
        let some_empty = || (0..texts.len()).any(|i| texts.get(i).is_empty());
        match self.packers()?.pop() {
            Some(packer) if packer.scheme == Scheme::Lz4 && some_empty() => Packer::new(Scheme::Zstd, 1).map(Some),
            packer => Ok(packer),
        }
    }

    /// What compresses dictionaries, if anything does.
    pub fn dictionary_packer(&self) -> Result<Option<Packer>> {
        let scheme = match (self.hints.dictionary_compression, self.prefer) {
            (Some(Compression::None | Compression::Symbols), _) | (None, Prefer::RandomAccess) => return Ok(None),
            (Some(Compression::Lz4), _) | (None, Prefer::Speed) => Scheme::Lz4,
            (Some(Compression::Zstd), _) | (None, Prefer::Balance | Prefer::Size) => Scheme::Zstd,
        };
        Packer::new(scheme, self.hints.dictionary_level.or(self.level).unwrap_or(3)).map(Some)
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

    /// Compressed chunks cost time to unpack: they count as if they were larger by so many percent. By default they must
    /// make up for it by their size.
    fn handicap(&self, scheme: Scheme) -> usize {
        match (self.prefer, scheme) {
            (Prefer::Size, _) => 1,
            (Prefer::Balance, Scheme::Zstd) => 150,
            (Prefer::Balance, Scheme::Lz4) => 60,
            (Prefer::Speed | Prefer::RandomAccess, _) => 10,
        }
    }
}

/// Bytes that this encoding would need for `count` values, about.
pub(super) fn estimate(codec: &dyn Codec, count: usize, choice: &Choice) -> Result<usize> {
    let chunking = choice.chunking();
    let wish = if codec.general().is_some() { chunking.general } else { chunking.plain };
    let mut size = if codec.groups() { GROUP } else { chunking.most_values };
    while !codec.groups() && size > 2 && codec.bytes(&(0..size.min(count))) > wish {
        size /= 2;
    }
    let chunks = count.div_ceil(size);
    // Small chunks vary more.
    let samples = (choice.samples() * 4096).div_ceil(size).max(choice.samples());
    let step = chunks.div_ceil(samples).max(1);
    let (mut bytes, mut values) = (0usize, 0usize);
    for chunk in (0..chunks).step_by(step) {
        let items = chunk * size..((chunk + 1) * size).min(count);
        values += items.len();
        bytes += codec.encode(items)?.iter().map(|b| b.len().next_multiple_of(8)).sum::<usize>() + 8;
    }
    let message = codec.message().encoded_len() as u64;
    let scaled = bytes as u64 * count as u64 / (values as u64).max(1) + message;
    Ok(usize::try_from(scaled).unwrap_or(usize::MAX))
}

/// The encoding that needs the fewest bytes, and how many.
pub(super) fn smallest<'a>(
    codecs: Vec<Box<dyn Codec + 'a>>,
    count: usize,
    choice: &Choice,
) -> Result<(usize, Box<dyn Codec + 'a>)> {
    let mut best: Option<(usize, Box<dyn Codec + 'a>)> = None;
    for codec in codecs {
        let bytes = estimate(codec.as_ref(), count, choice)?;
        let handicap = match codec.general() {
            Some(scheme) if !choice.forces_general() => choice.handicap(scheme),
            _ => 0,
        };
        let bytes = bytes.saturating_add(bytes.saturating_mul(handicap) / 100);
        if best.as_ref().is_none_or(|(least, _)| bytes < *least) {
            best = Some((bytes, codec));
        }
    }
    best.ok_or_else(|| Error::data("bad_values", "no encoding for these values"))
}
