//! Encodings of values in the chunks of a mini-block page.
//!
//! A codec turns a range of a page's values into the value buffers of one chunk, and says how large chunks may be.
//! What it makes is what reading's `compressive` decodes.

use super::choice::cost;
use super::lz4::sequences;
use super::messages_of::{
    bitpacked, byte_stream_split, fixed_size_list, flat, fsst, general, packed_struct, rle, variable,
};
use super::values::{Fixed, Lists, Records, Variable};
use crate::codec::bitpack::{GROUP, Word, pack, words};
use crate::codec::fsst::Compressor;
use crate::codec::general::{Packer, Scheme};
use crate::encoding::CompressiveEncoding;
use arrow::buffer::BooleanBuffer;
use bytes::Bytes;
use colkit_core::{Error, Result};
use std::ops::Range;

impl Scheme {
    /// Picoseconds that it takes to unpack so many bytes from what they were packed to.
    pub(super) fn time(self, bytes: usize, packed: &[u8]) -> u64 {
        match self {
            Scheme::Lz4 => bytes as u64 * cost::LZ4 + sequences(packed.get(4..).unwrap_or_default()),
            Scheme::Zstd => bytes as u64 * cost::ZSTD.0 + packed.len() as u64 * cost::ZSTD.1,
        }
    }
}

/// How large chunks may be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chunking {
    /// Most values of a chunk, a power of two.
    pub most_values: usize,
    /// Bytes that a chunk of plain values should have: little enough to read one for a single value.
    pub plain: usize,
    /// Bytes of values that should be compressed together.
    pub general: usize,
    /// Whether the words of chunks have 32 bits, so that chunks may have more than 32 KiB.
    pub large: bool,
}

/// How to encode the values of a chunk.
pub(super) trait Codec {
    fn message(&self) -> CompressiveEncoding;

    /// Value buffers of a chunk.
    fn buffers(&self) -> usize {
        1
    }

    /// Whether every chunk but the last must have exactly [`GROUP`] values.
    fn groups(&self) -> bool {
        false
    }

    /// By what a chunk is compressed as a whole, if it is.
    fn general(&self) -> Option<Scheme> {
        None
    }

    /// Bytes that a chunk should have, before any general compression.
    fn wish(&self, chunking: &Chunking) -> usize {
        if self.general().is_some() { chunking.general } else { chunking.plain }
    }

    /// Bytes that should be compressed together, if a chunk is compressed as a whole.
    fn general_wish(&self, chunking: &Chunking) -> usize {
        chunking.general
    }

    /// Bytes that the page needs elsewhere in the file.
    fn beside(&self) -> usize {
        0
    }

    /// Bytes before any general compression, as far as they can be known without encoding.
    fn bytes(&self, items: &Range<usize>) -> usize;

    /// Picoseconds that it takes to decode these values from what they were encoded to.
    fn time(&self, items: &Range<usize>, encoded: &[Vec<u8>]) -> u64;

    /// The value buffers of a chunk with these values.
    fn encode(&self, items: Range<usize>) -> Result<Vec<Vec<u8>>>;
}

/// Booleans as they are.
pub(super) struct Bits<'a>(pub &'a BooleanBuffer);

impl Codec for Bits<'_> {
    fn message(&self) -> CompressiveEncoding {
        flat(1)
    }

    fn bytes(&self, items: &Range<usize>) -> usize {
        items.len().div_ceil(8)
    }

    fn time(&self, items: &Range<usize>, _: &[Vec<u8>]) -> u64 {
        self.bytes(items) as u64 * cost::BYTE
    }

    fn encode(&self, items: Range<usize>) -> Result<Vec<Vec<u8>>> {
        Ok(vec![bit_bytes(self.0, items)])
    }
}

/// These bits, from the front of a byte on.
fn bit_bytes(bits: &BooleanBuffer, items: Range<usize>) -> Vec<u8> {
    let part: BooleanBuffer = bits.slice(items.start, items.len()).iter().collect();
    part.into_inner().get(..items.len().div_ceil(8)).unwrap_or_default().to_vec()
}

/// Values as they lie in memory.
pub(super) struct Flat<'a>(pub &'a Fixed);

impl Codec for Flat<'_> {
    fn message(&self) -> CompressiveEncoding {
        flat(self.0.width as u64 * 8)
    }

    fn bytes(&self, items: &Range<usize>) -> usize {
        items.len() * self.0.width
    }

    fn time(&self, items: &Range<usize>, _: &[Vec<u8>]) -> u64 {
        self.bytes(items) as u64 * cost::BYTE
    }

    fn encode(&self, items: Range<usize>) -> Result<Vec<Vec<u8>>> {
        Ok(vec![self.0.get(items).to_vec()])
    }
}

/// The low bits of 1024 words at a time.
pub(super) struct Bitpacked<'a>(pub &'a Fixed);

impl Bitpacked<'_> {
    fn group<T: Word>(&self, items: Range<usize>) -> Vec<u8> {
        let mut group = [T::default(); GROUP];
        let values = words::<T>(self.0.get(items));
        for (to, from) in group.iter_mut().zip(values.iter()) {
            *to = *from;
        }
        let (width, mut packed) = pack(&group);
        let mut bytes = bytemuck::bytes_of(&T::from_usize(width).unwrap_or_default()).to_vec();
        bytes.append(&mut packed);
        bytes
    }
}

impl Codec for Bitpacked<'_> {
    fn message(&self) -> CompressiveEncoding {
        bitpacked(self.0.width as u64 * 8)
    }

    fn groups(&self) -> bool {
        true
    }

    fn bytes(&self, items: &Range<usize>) -> usize {
        items.len() * self.0.width
    }

    fn time(&self, items: &Range<usize>, _: &[Vec<u8>]) -> u64 {
        items.len() as u64 * (cost::BITS + self.0.width as u64 * cost::BYTE)
    }

    fn encode(&self, items: Range<usize>) -> Result<Vec<Vec<u8>>> {
        Ok(vec![match self.0.width {
            1 => self.group::<u8>(items),
            2 => self.group::<u16>(items),
            4 => self.group::<u32>(items),
            _ => self.group::<u64>(items),
        }])
    }
}

/// Runs of one value: the values, and how often each occurs.
pub(super) struct Runs<'a>(pub &'a Fixed);

impl Runs<'_> {
    /// Runs of all values.
    pub fn count(&self) -> usize {
        self.ends_of(0..self.0.len()).len()
    }

    /// The runs of these values: where each ends.
    fn ends<T: Word + PartialEq>(&self, items: Range<usize>) -> Vec<usize> {
        let values = words::<T>(self.0.get(items));
        let changes = values.iter().zip(values.iter().skip(1)).enumerate().filter(|(_, (a, b))| a != b);
        let mut ends: Vec<usize> = changes.map(|(i, _)| i + 1).collect();
        ends.extend((!values.is_empty()).then_some(values.len()));
        ends
    }

    fn ends_of(&self, items: Range<usize>) -> Vec<usize> {
        match self.0.width {
            1 => self.ends::<u8>(items),
            2 => self.ends::<u16>(items),
            4 => self.ends::<u32>(items),
            _ => self.ends::<u64>(items),
        }
    }
}

impl Codec for Runs<'_> {
    fn message(&self) -> CompressiveEncoding {
        rle(self.0.width as u64 * 8)
    }

    fn buffers(&self) -> usize {
        2
    }

    fn bytes(&self, items: &Range<usize>) -> usize {
        (self.ends_of(items.clone()).len() + items.len() / 255) * (self.0.width + 1)
    }

    fn time(&self, items: &Range<usize>, _: &[Vec<u8>]) -> u64 {
        let runs = self.bytes(items) / (self.0.width + 1);
        runs as u64 * cost::RUN + (items.len() * self.0.width) as u64 * cost::BYTE
    }

    fn encode(&self, items: Range<usize>) -> Result<Vec<Vec<u8>>> {
        let (mut values, mut lengths) = (Vec::new(), Vec::new());
        let mut start = 0;
        for end in self.ends_of(items.clone()) {
            let value = self.0.get(items.start + start..items.start + start + 1);
            while start < end {
                let length = u8::try_from(end - start).unwrap_or(u8::MAX);
                values.extend_from_slice(value);
                lengths.push(length);
                start += usize::from(length);
            }
        }
        Ok(vec![values, lengths])
    }
}

/// The first bytes of all values, then the second bytes, ...
pub(super) struct Split<'a>(pub &'a Fixed);

impl Codec for Split<'_> {
    fn message(&self) -> CompressiveEncoding {
        byte_stream_split(self.0.width as u64 * 8)
    }

    fn bytes(&self, items: &Range<usize>) -> usize {
        items.len() * self.0.width
    }

    fn time(&self, items: &Range<usize>, _: &[Vec<u8>]) -> u64 {
        (items.len() * self.0.width) as u64 * (cost::SPLIT + cost::BYTE)
    }

    fn encode(&self, items: Range<usize>) -> Result<Vec<Vec<u8>>> {
        let mut streams = Vec::with_capacity(items.len() * self.0.width);
        let values = self.0.get(items);
        for byte in 0..self.0.width {
            streams.extend(values.iter().skip(byte).step_by(self.0.width.max(1)));
        }
        Ok(vec![streams])
    }
}

/// Offsets, then bytes.
pub(super) struct Texts<'a>(pub &'a Variable);

impl Codec for Texts<'_> {
    fn message(&self) -> CompressiveEncoding {
        variable(self.0.large)
    }

    fn bytes(&self, items: &Range<usize>) -> usize {
        (items.len() + 1) * self.0.offset_width() + self.0.bytes(items.clone()).len()
    }

    fn time(&self, items: &Range<usize>, _: &[Vec<u8>]) -> u64 {
        items.len() as u64 * cost::TEXT + self.bytes(items) as u64 * cost::BYTE
    }

    fn encode(&self, items: Range<usize>) -> Result<Vec<Vec<u8>>> {
        let width = self.0.offset_width();
        let start = (items.len() + 1) * width;
        let mut bytes = Vec::with_capacity(self.bytes(&items) + width);
        for end in self.0.ends(items.clone()) {
            push_offset(&mut bytes, start + end, self.0.large)?;
        }
        bytes.extend_from_slice(self.0.bytes(items));
        bytes.resize(bytes.len().next_multiple_of(width), b'H');
        Ok(vec![bytes])
    }
}

/// Appends an offset of the width of its type.
pub(super) fn push_offset(bytes: &mut Vec<u8>, offset: usize, large: bool) -> Result<()> {
    if large {
        bytes.extend((offset as u64).to_le_bytes());
    } else {
        let small = u32::try_from(offset).map_err(|_| Error::limit("text of a page", offset, u32::MAX))?;
        bytes.extend(small.to_le_bytes());
    }
    Ok(())
}

/// Texts by a table of symbols.
pub(super) struct Symbols {
    table: Bytes,
    pub coded: Variable,
}

impl Symbols {
    /// The texts, coded by symbols made for them.
    pub fn new(texts: &Variable, compressor: &Compressor) -> Self {
        let mut coded = Variable { offsets: Vec::with_capacity(texts.len() + 1), data: Vec::new(), large: texts.large };
        coded.offsets.push(0);
        for i in 0..texts.len() {
            compressor.append(texts.get(i), &mut coded.data);
            coded.offsets.push(coded.data.len());
        }
        Symbols { table: compressor.table().into(), coded }
    }
}

impl Codec for Symbols {
    fn message(&self) -> CompressiveEncoding {
        fsst(self.table.clone(), self.coded.large)
    }

    fn bytes(&self, items: &Range<usize>) -> usize {
        Texts(&self.coded).bytes(items)
    }

    fn time(&self, items: &Range<usize>, _: &[Vec<u8>]) -> u64 {
        items.len() as u64 * cost::TEXT + self.coded.bytes(items.clone()).len() as u64 * cost::CODE
    }

    fn encode(&self, items: Range<usize>) -> Result<Vec<Vec<u8>>> {
        Texts(&self.coded).encode(items)
    }
}

/// The members of packed structs, record by record.
pub(super) struct Packed<'a>(pub &'a Records);

impl Codec for Packed<'_> {
    fn message(&self) -> CompressiveEncoding {
        packed_struct(&self.0.bits)
    }

    fn bytes(&self, items: &Range<usize>) -> usize {
        Flat(&self.0.fixed).bytes(items)
    }

    fn time(&self, items: &Range<usize>, _: &[Vec<u8>]) -> u64 {
        self.bytes(items) as u64 * cost::BYTE
    }

    fn encode(&self, items: Range<usize>) -> Result<Vec<Vec<u8>>> {
        Flat(&self.0.fixed).encode(items)
    }
}

/// Lists of one length: which items are not null, then the items.
pub(super) struct Wide<'a>(pub &'a Lists);

impl Codec for Wide<'_> {
    fn message(&self) -> CompressiveEncoding {
        fixed_size_list(self.0)
    }

    fn buffers(&self) -> usize {
        1 + self.0.levels.iter().filter(|(_, valid)| valid.is_some()).count()
    }

    fn bytes(&self, items: &Range<usize>) -> usize {
        let row = self.0.items_per_row() * (self.0.bits + self.buffers() - 1);
        (items.len() * row).div_ceil(8)
    }

    fn time(&self, items: &Range<usize>, _: &[Vec<u8>]) -> u64 {
        self.bytes(items) as u64 * cost::BYTE
    }

    fn encode(&self, items: Range<usize>) -> Result<Vec<Vec<u8>>> {
        let mut buffers = Vec::new();
        let mut each = 1;
        for (dimension, valid) in &self.0.levels {
            each *= dimension;
            buffers.extend(valid.as_ref().map(|v| bit_bytes(v, items.start * each..items.end * each)));
        }
        let (from, to) = (items.start * each * self.0.bits, items.end * each * self.0.bits);
        buffers.push(if self.0.bits == 1 {
            let all = BooleanBuffer::new(self.0.data.clone(), 0, self.0.rows * each);
            bit_bytes(&all, from..to)
        } else {
            self.0.data.get(from / 8..to / 8).unwrap_or_default().to_vec()
        });
        Ok(buffers)
    }
}

/// The first buffer of another encoding, compressed.
pub(super) struct General<'a, C> {
    pub inner: C,
    pub packer: &'a Packer,
}

impl<C: Codec> Codec for General<'_, C> {
    fn message(&self) -> CompressiveEncoding {
        general(self.inner.message(), self.packer.scheme)
    }

    fn buffers(&self) -> usize {
        self.inner.buffers()
    }

    fn groups(&self) -> bool {
        self.inner.groups()
    }

    fn wish(&self, chunking: &Chunking) -> usize {
        self.inner.general_wish(chunking)
    }

    fn beside(&self) -> usize {
        self.inner.beside()
    }

    fn general(&self) -> Option<Scheme> {
        Some(self.packer.scheme)
    }

    fn bytes(&self, items: &Range<usize>) -> usize {
        self.inner.bytes(items)
    }

    fn time(&self, items: &Range<usize>, encoded: &[Vec<u8>]) -> u64 {
        let packed = encoded.first().map_or(&[][..], Vec::as_slice);
        self.packer.scheme.time(self.inner.bytes(items), packed) + self.inner.time(items, &[])
    }

    fn encode(&self, items: Range<usize>) -> Result<Vec<Vec<u8>>> {
        let mut buffers = self.inner.encode(items)?;
        if let Some(first) = buffers.first_mut() {
            *first = self.packer.pack(first)?;
        }
        Ok(buffers)
    }
}
