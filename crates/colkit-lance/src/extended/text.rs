//! Texts and bytes of any length: their bytes, or codes of symbols, and beside them their lengths, packed.
//!
//! The description is the table of symbols: `u8` how many there are, `u8` the length of each, 1 to 8, then their bytes one after
//! another. Without symbols, texts are as they are. With them a code below 255 stands for its symbol, 255 for the byte that
//! follows.
//!
//! A chunk has two buffers: the bytes or codes of all values, then how many of these each value has, as groups of frames of 32 bits.
//! The first one may be compressed by what Lance has for that.

use super::decode::frame::Frame;
use super::decode::{GROUP, Group};
use super::frame_encode::encode_group;
use super::{WRITES, bad_description, malformed, module};
use crate::codec::fsst::{Compressor, SymbolTable};
use crate::encoding::{
    Bytes, Chunk, ChunkEncoder, Compression, EmbeddedModule, Encodings, Form, InChunks, Output, PageTexts,
    ValueEncoding, mismatch,
};
use crate::values::Values;
use crate::write::cost;
use colkit_core::{Error, Result};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Texts beside their lengths.
pub(super) struct TextEncoding;

const NAME: &str = "colkit.Text";

/// What unpacking a length takes, in picoseconds.
const LENGTH_TIME: u64 = 1000;

/// Text that is worth a table of symbols.
const WORTH: usize = 32 << 10;

/// Texts that are coded to see how small all would be.
const SAMPLE: usize = 2048;

impl ValueEncoding for TextEncoding {
    fn name(&self) -> &str {
        NAME
    }

    fn parse(&self, message: Bytes, _: &Encodings<'_>) -> Result<Arc<dyn Compression>> {
        let symbols = match *message {
            [0] => None,
            _ => Some(SymbolTable::compact(&message).map_err(|_| bad_description(NAME, &message))?),
        };
        Ok(Arc::new(Text { symbols }))
    }

    fn module(&self) -> Option<EmbeddedModule> {
        module(include_bytes!("modules/text.wasm"), include_str!("modules/text.sha256"))
    }

    fn text_encoders<'a>(&self, texts: PageTexts<'a>) -> Result<Vec<Box<dyn ChunkEncoder + 'a>>> {
        if !WRITES {
            return Ok(Vec::new());
        }
        let mut encoders: Vec<Box<dyn ChunkEncoder + 'a>> = vec![Box::new(TextEncoder::new(texts, None))];
        if texts.get(0..texts.count()).len() >= WORTH && texts.texts.longest() >= 5 {
            let symbols = Compressor::train(texts.count(), |i| texts.texts.get(i));
            // A table without symbols stands for texts as they are.
            if symbols.compact_table() != [0] {
                encoders.push(Box::new(TextEncoder::new(texts, Some(symbols))));
            }
        }
        Ok(encoders)
    }
}

/// Such texts, by symbols if there are any.
pub(crate) struct Text {
    symbols: Option<SymbolTable>,
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.symbols.is_some() { "text(fsst)" } else { "text" })
    }
}

impl Compression for Text {
    fn form(&self) -> Form {
        Form::Variable
    }

    fn in_chunks(&self) -> Option<&dyn InChunks> {
        Some(self)
    }
}

impl InChunks for Text {
    fn buffers(&self) -> u64 {
        2
    }

    fn append(&self, chunk: Chunk<'_>, out: Output<'_>) -> Result<()> {
        let Values::Variable(out) = out.0 else { return Err(mismatch()) };
        let bytes = chunk.buffer(0)?;
        let offsets = offsets(&chunk, bytes.len())?;
        for range in chunk.wanted {
            let offsets = offsets.get(range.start..=range.end).ok_or_else(bad_lengths)?;
            let (Some(from), Some(to)) = (offsets.first(), offsets.last()) else { return Err(bad_lengths()) };
            let part = bytes.get(*from as usize..*to as usize).ok_or_else(bad_lengths)?;
            match &self.symbols {
                None => out.extend_small(part, offsets)?,
                Some(symbols) => out.extend_decoded(symbols, part, offsets)?,
            }
        }
        Ok(())
    }
}

impl Text {
    /// Whether the first buffer is what the texts are.
    pub fn is_plain(&self) -> bool {
        self.symbols.is_none()
    }
}

/// Where the texts of a chunk begin and end in its first buffer, which has so many bytes.
pub(crate) fn offsets(chunk: &Chunk<'_>, bytes: usize) -> Result<Vec<u32>> {
    let mut lengths = chunk.buffer(1)?;
    // As many as values of a chunk, whose number is not believed before its groups are there.
    let mut offsets = vec![0u32; chunk.count.min(lengths.len().saturating_mul(GROUP)) + 1];
    let (_, ends) = offsets.split_at_mut(1);
    for start in (0..chunk.count).step_by(GROUP) {
        let len = GROUP.min(chunk.count - start);
        let (group, rest) = Frame::<u32>::split(lengths, len).map_err(malformed)?;
        let room = ends.get_mut(start..start + len).ok_or_else(bad_lengths)?;
        group.decode(room).map_err(malformed)?;
        lengths = rest;
    }
    let mut end = 0u32;
    for length in ends.iter_mut() {
        end = end.checked_add(*length).ok_or_else(bad_lengths)?;
        *length = end;
    }
    if !lengths.is_empty() || usize::try_from(end).ok() != Some(bytes) {
        return Err(bad_lengths());
    }
    Ok(offsets)
}

fn bad_lengths() -> Error {
    Error::corrupt("bad_chunk", "texts whose lengths are not those of their bytes")
}

struct TextEncoder<'a> {
    texts: PageTexts<'a>,
    symbols: Option<Compressor>,
    /// Of the sample: bytes before and after, and bytes of lengths of 1024 values.
    before: usize,
    after: usize,
    lengths: usize,
}

impl<'a> TextEncoder<'a> {
    fn new(texts: PageTexts<'a>, symbols: Option<Compressor>) -> Self {
        let mut encoder = TextEncoder { texts, symbols, before: 0, after: 0, lengths: 0 };
        let groups = texts.count().div_ceil(GROUP);
        let (mut count, mut lengths) = (0, 0);
        for group in (0..groups).step_by(groups.div_ceil(SAMPLE / GROUP).max(1)) {
            let range = group * GROUP..((group + 1) * GROUP).min(texts.count());
            encoder.before += texts.get(range.clone()).len();
            count += range.len();
            let (bytes, packed) = encoder.encoded(range);
            encoder.after += bytes.len();
            lengths += packed.len();
        }
        encoder.lengths = (lengths * GROUP).div_ceil(count.max(1));
        encoder
    }

    /// The bytes or codes of these values, and their lengths.
    fn encoded(&self, values: Range<usize>) -> (Vec<u8>, Vec<u8>) {
        let (mut bytes, mut lengths) = (Vec::new(), Vec::with_capacity(values.len()));
        for i in values {
            let (text, start) = (self.texts.texts.get(i), bytes.len());
            match &self.symbols {
                None => bytes.extend_from_slice(text),
                Some(symbols) => symbols.append(text, &mut bytes),
            }
            lengths.push(i64::try_from(bytes.len() - start).unwrap_or(i64::MAX));
        }
        let mut packed = Vec::new();
        lengths.chunks(GROUP).for_each(|group| encode_group(group, 32, &mut packed));
        (bytes, packed)
    }
}

impl ChunkEncoder for TextEncoder<'_> {
    fn message(&self) -> Bytes {
        self.symbols.as_ref().map_or_else(|| vec![0].into(), |symbols| symbols.compact_table().into())
    }

    fn buffers(&self) -> usize {
        2
    }

    fn bytes(&self, values: Range<usize>) -> usize {
        let lengths = (self.lengths * values.len()).div_ceil(GROUP);
        self.texts.get(values).len() * self.after.max(1) / self.before.max(1) + lengths
    }

    fn time(&self, values: usize) -> u64 {
        let bytes = self.texts.get(0..self.texts.count()).len() as u64;
        let part = |all: u64| all.saturating_mul(values as u64) / (self.texts.count() as u64).max(1);
        let content = match &self.symbols {
            None => part(bytes) * cost::BYTE,
            Some(_) => part(bytes) * self.after as u64 / (self.before as u64).max(1) * cost::CODE,
        };
        values as u64 * (cost::TEXT + LENGTH_TIME) + content
    }

    fn compressible(&self) -> bool {
        self.symbols.is_none()
    }

    fn encode(&self, values: Range<usize>) -> Result<Vec<Vec<u8>>> {
        let (bytes, lengths) = self.encoded(values);
        Ok(vec![bytes, lengths])
    }
}
