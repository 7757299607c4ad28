//! FSST: short strings by a table of up to 255 symbols of 1 to 8 bytes.
//!
//! | bytes of the table | content |
//! |---|---|
//! | 0 | number of symbols n |
//! | 1, 2 | of use to the encoder only |
//! | 3 | 1 = compressed, 0 = the values are stored as they are |
//! | 4..8 | `TSSF` |
//! | 8..8+8n | the symbols |
//! | 8+8n..8+9n | their lengths |
//!
//! Each value is decoded on its own: a byte below 255 stands for a symbol, 255 says that the next byte is literal.

use crate::values::bad_offsets;
use colkit_core::pool::Pooled;
use colkit_core::{Error, Result};

const TABLE_BYTES: usize = 2312;
const ESCAPE: u8 = 255;

/// A symbol table, ready to decode.
#[derive(Debug)]
pub(crate) struct SymbolTable {
    compressed: bool,
    /// Symbols by code, their first byte lowest.
    symbols: Box<[u64; 256]>,
    /// Their lengths. Codes that stand for nothing have length 0.
    lengths: Box<[u8; 256]>,
}

fn bad_table(why: String) -> Error {
    Error::corrupt("bad_symbol_table", why)
}

impl SymbolTable {
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        if bytes.len() != TABLE_BYTES || bytes.get(4..8) != Some(b"TSSF") {
            return Err(bad_table(format!("an FSST table has 2312 bytes and a mark, found {} bytes", bytes.len())));
        }
        let count = usize::from(bytes.first().copied().unwrap_or(0));
        let entries = bytes.get(8..8 + 8 * count).unwrap_or_default().chunks_exact(8);
        let lengths = bytes.get(8 + 8 * count..8 + 9 * count).unwrap_or_default();
        if let Some(length) = lengths.iter().find(|length| !(1..=8).contains(*length)) {
            return Err(bad_table(format!("a symbol of {length} bytes")));
        }
        let mut table = SymbolTable {
            compressed: bytes.get(3) == Some(&1),
            symbols: Box::new([0; 256]),
            lengths: Box::new([0; 256]),
        };
        for (slot, symbol) in table.symbols.iter_mut().zip(entries) {
            *slot = u64::from_le_bytes(symbol.try_into().unwrap_or_default());
        }
        for (slot, length) in table.lengths.iter_mut().zip(lengths) {
            *slot = *length;
        }
        Ok(table)
    }

    /// A table as short as can be: the number of symbols, their lengths, and their bytes one after another.
    #[cfg(feature = "extended-read")]
    pub fn compact(bytes: &[u8]) -> Result<Self> {
        let Some((count, rest)) = bytes.split_first() else { return Err(bad_table("an empty table".into())) };
        let short = || bad_table("fewer bytes than symbols".into());
        let (lengths, mut rest) = rest.split_at_checked(usize::from(*count)).ok_or_else(short)?;
        let mut table = vec![*count, 0, 0, 1, b'T', b'S', b'S', b'F'];
        for length in lengths {
            let (symbol, after) = rest.split_at_checked(usize::from(*length)).ok_or_else(short)?;
            let mut padded = symbol.to_vec();
            padded.resize(LONGEST, 0);
            table.append(&mut padded);
            rest = after;
        }
        table.extend_from_slice(lengths);
        table.resize(TABLE_BYTES, 0);
        if rest.is_empty() { Self::parse(&table) } else { Err(bad_table("more bytes than symbols".into())) }
    }

    /// Appends what `codes` stand for.
    pub fn decode(&self, codes: &[u8], out: &mut Pooled) -> Result<()> {
        if !self.compressed {
            out.extend_from_slice(codes);
            return Ok(());
        }
        let (mut open, mut at) = (false, 0);
        let room = out.room(codes.len().saturating_mul(LONGEST).saturating_add(LONGEST));
        for code in codes {
            at += self.decode_one(*code, &mut open, room, at)?.0;
        }
        whole(open)?;
        out.advance(at);
        Ok(())
    }

    /// Bytes that decoding so many codes may write to.
    pub fn room(codes: usize) -> Result<usize> {
        let room = codes.saturating_mul(LONGEST).saturating_add(BLOCK_ROOM);
        u32::try_from(room).map_err(|_| bad_codes("more than 512 MiB in one chunk"))?;
        Ok(room)
    }

    /// One code: how many bytes it stands for, and whether it is the literal of an escape. Every symbol is written as 8
    /// bytes, of which the next one overwrites what is too much.
    fn decode_one(&self, code: u8, open: &mut bool, room: &mut [u8], at: usize) -> Result<(usize, bool)> {
        let place = usize::from(code);
        let known = self.symbols.get(place).copied().zip(self.lengths.get(place).copied());
        let (mut symbol, mut length) = known.unwrap_or_default();
        let literal = std::mem::take(open);
        if literal {
            (symbol, length) = (u64::from(code), 1);
        } else if length == 0 {
            if code != ESCAPE {
                return Err(bad_codes("a code without a symbol"));
            }
            *open = true;
        }
        if let Some(to) = room.get_mut(at..).and_then(|r| r.first_chunk_mut()) {
            *to = symbol.to_le_bytes();
        }
        Ok((usize::from(length), literal))
    }
}

/// Where blocks of codes lie in the text, kept from chunk to chunk as memory.
#[derive(Default)]
pub(crate) struct Scratch {
    blocks: Vec<Block>,
    escapes: bool,
}

/// What 8 codes have become.
#[derive(Clone, Copy, Default)]
struct Block {
    /// How many bytes each stands for, that of the first in the lowest byte.
    lengths: u64,
    /// Where the first begins.
    start: u32,
    /// A bit for each that is the literal of an escape: no value begins there.
    literals: u8,
}

/// Codes that are decoded without looking for escapes, the most bytes that one stands for, and those that a block writes to.
const BLOCK: usize = 8;
const LONGEST: usize = 8;
const BLOCK_ROOM: usize = LONGEST * BLOCK + LONGEST;

/// A 1 in every byte.
const ONES: u64 = 0x0101_0101_0101_0101;

/// Whether one of the bytes, all below 128, is 0.
fn has_zero(bytes: u64) -> bool {
    bytes.wrapping_sub(ONES) & (ONES << 7) != 0
}

impl SymbolTable {
    /// Whether values lie as they are.
    pub fn is_raw(&self) -> bool {
        !self.compressed
    }

    /// Appends what the codes of many values stand for, and remembers where the codes are in it, for [`Scratch::ends`].
    ///
    /// Values are short, and stopping at the end of each costs more than decoding it: so all codes are decoded in one
    /// go, and the ends are looked up afterwards.
    pub fn decode_many(&self, codes: &[u8], out: &mut Pooled, scratch: &mut Scratch) -> Result<()> {
        let room = out.room(Self::room(codes.len())?);
        let (blocks, rest) = codes.as_chunks::<BLOCK>();
        scratch.blocks.clear();
        scratch.blocks.reserve(blocks.len() + 1);
        scratch.escapes = false;
        let (mut at, mut open) = (0, false);
        for codes in blocks {
            let start = u32::try_from(at).unwrap_or(u32::MAX);
            match self.decode_block(codes, room, at).filter(|_| !open) {
                Some((lengths, length)) => {
                    scratch.blocks.push(Block { lengths, start, literals: 0 });
                    at += length;
                }
                None => {
                    scratch.escapes = true;
                    scratch.blocks.push(self.decode_slowly(codes, &mut open, room, &mut at)?);
                }
            }
        }
        // This one is there even if it is empty: values may end where it begins.
        scratch.blocks.push(self.decode_slowly(rest, &mut open, room, &mut at)?);
        scratch.escapes |= rest.contains(&ESCAPE);
        whole(open)?;
        out.advance(at);
        Ok(())
    }

    /// 8 codes: their lengths, and the sum of these; `None` if one is an escape or stands for nothing.
    #[inline]
    #[expect(clippy::indexing_slicing, reason = "a byte is an index into 256 entries, and `& 63` one into 72 - 8")]
    fn decode_block(&self, codes: &[u8; BLOCK], room: &mut [u8], at: usize) -> Option<(u64, usize)> {
        let room: &mut [u8; BLOCK_ROOM] = room.get_mut(at..)?.first_chunk_mut()?;
        let (mut place, mut lengths) = (0usize, 0);
        for (i, code) in codes.iter().enumerate() {
            let code = usize::from(*code);
            room[place & 63..][..LONGEST].copy_from_slice(&self.symbols[code].to_le_bytes());
            let length = self.lengths[code];
            lengths |= u64::from(length) << (8 * i);
            place += usize::from(length);
        }
        (!has_zero(lengths)).then_some((lengths, place))
    }

    /// At most 8 codes, with escapes.
    fn decode_slowly(&self, codes: &[u8], open: &mut bool, room: &mut [u8], at: &mut usize) -> Result<Block> {
        let mut block = Block { start: u32::try_from(*at).unwrap_or(u32::MAX), ..Block::default() };
        for (i, code) in codes.iter().enumerate() {
            let (length, literal) = self.decode_one(*code, open, room, *at)?;
            block.lengths |= (length as u64) << (8 * i);
            block.literals |= u8::from(literal) << i;
            *at += length;
        }
        Ok(block)
    }
}

impl Scratch {
    /// Where each value ends in what was appended, given where the first begins in the codes and where each ends (counted from
    /// anywhere).
    pub fn ends<'a>(
        &'a self,
        codes: &[u8],
        offsets: &'a [u32],
    ) -> Result<impl ExactSizeIterator<Item = u32> + use<'a>> {
        let (first, ends) = offsets.split_first().ok_or_else(bad_offsets)?;
        let place = move |end: &u32| {
            let code = end.wrapping_sub(*first) as usize;
            (self.blocks.get(code / BLOCK).copied().unwrap_or_default(), code % BLOCK)
        };
        let inside = |end: &u32| {
            let (block, within) = place(end);
            block.literals >> within & 1 == 1
        };
        let last = ends.last().unwrap_or(first);
        if !crate::values::ascends(offsets)
            || (last - first) as usize != codes.len()
            || (self.escapes && ends.iter().any(inside))
        {
            return Err(bad_offsets());
        }
        Ok(ends.iter().map(move |end| {
            let (block, within) = place(end);
            // The product has the sum of all bytes in its highest byte; the mask keeps those before the end.
            let before = block.lengths & ((1 << (8 * within)) - 1);
            block.start + u32::try_from(before.wrapping_mul(ONES) >> 56).unwrap_or(0)
        }))
    }
}

/// An error if an escape has no literal.
fn whole(open: bool) -> Result<()> {
    if open { Err(bad_codes("an escape at the end of a value")) } else { Ok(()) }
}

/// Bytes of values that a symbol table is made from.
const TRAINING_BYTES: usize = 256 << 10;

/// A symbol table, ready to encode.
pub(crate) struct Compressor(fsst::Compressor);

impl Compressor {
    /// The symbols that suit these values.
    pub fn train<'a>(count: usize, value: impl Fn(usize) -> &'a [u8]) -> Self {
        let total: usize = (0..count).map(|i| value(i).len()).sum();
        let step = (total / TRAINING_BYTES).max(1);
        let sample: Vec<&[u8]> = (0..count).step_by(step).map(value).collect();
        Compressor(fsst::Compressor::train(&sample))
    }

    /// The table as files hold it.
    pub fn table(&self) -> Vec<u8> {
        let (symbols, lengths) = (self.0.symbol_table(), self.0.symbol_lengths());
        let mut table = vec![u8::try_from(symbols.len()).unwrap_or(0), 0, 0, 1, b'T', b'S', b'S', b'F'];
        table.extend(symbols.iter().flat_map(|s| s.to_u64().to_le_bytes()));
        table.extend_from_slice(lengths);
        table.resize(TABLE_BYTES, 0);
        table
    }

    /// The same, as [`SymbolTable::compact`] takes it.
    #[cfg(feature = "extended-read")]
    pub fn compact_table(&self) -> Vec<u8> {
        let (symbols, lengths) = (self.0.symbol_table(), self.0.symbol_lengths());
        let mut table = vec![u8::try_from(symbols.len()).unwrap_or(0)];
        table.extend_from_slice(lengths.get(..symbols.len()).unwrap_or_default());
        for (symbol, length) in symbols.iter().zip(lengths) {
            table.extend(symbol.to_u64().to_le_bytes().iter().take((*length).into()));
        }
        table
    }

    /// Appends the codes of a value.
    #[expect(unsafe_code, reason = "fsst offers encoding into given memory as unsafe alone; a Vec per value is slow")]
    pub fn append(&self, value: &[u8], out: &mut Vec<u8>) {
        // As `fsst::Compressor::compress` reserves it: at worst every byte is escaped, and words are written whole.
        out.reserve(value.len() * 2 + 8);
        let room = out.spare_capacity_mut();
        // SAFETY: `room` has at least twice the bytes of the value and 8 more, which is what encoding may write.
        let written = unsafe { self.0.compress_into(value, room) };
        // SAFETY: `compress_into` says how many bytes of `room`, which begins at the end of `out`, it has written.
        unsafe { out.set_len(out.len() + written) };
    }
}

fn bad_codes(why: &str) -> Error {
    Error::corrupt("bad_compressed_data", format!("fsst: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(switch: u8) -> Vec<u8> {
        let mut bytes = vec![2, 0, 0, switch, b'T', b'S', b'S', b'F'];
        bytes.extend(b"hello\0\0\0");
        bytes.extend(b" w\0\0\0\0\0\0");
        bytes.extend([5, 2]);
        bytes.resize(TABLE_BYTES, 0);
        bytes
    }

    #[test]
    fn symbols_and_literals() {
        let symbols = SymbolTable::parse(&table(1)).unwrap();
        let mut out = Pooled::default();
        out.extend_from_slice(b">");
        symbols.decode(&[0, 1, 255, b'o', 0], &mut out).unwrap();
        assert_eq!(out.as_slice(), b">hello wohello");
        assert_eq!(symbols.decode(&[2], &mut out).unwrap_err().code(), "bad_compressed_data");
        assert_eq!(symbols.decode(&[255], &mut out).unwrap_err().code(), "bad_compressed_data");
        let mut raw = Pooled::default();
        SymbolTable::parse(&table(0)).unwrap().decode(&[0, 255], &mut raw).unwrap();
        assert_eq!(raw.as_slice(), [0, 255]);
    }

    fn decode_many(symbols: &SymbolTable, codes: &[u8], offsets: &[u32]) -> Result<(Vec<u8>, Vec<u32>)> {
        let (mut out, mut scratch) = (Pooled::default(), Scratch::default());
        symbols.decode_many(codes, &mut out, &mut scratch)?;
        let ends = scratch.ends(codes, offsets)?.collect();
        Ok((out.as_slice().to_vec(), ends))
    }

    #[test]
    #[expect(clippy::cast_possible_truncation, reason = "small numbers")]
    fn many_values_decode_as_one_by_one() {
        let symbols = SymbolTable::parse(&table(1)).unwrap();
        // Without escapes, with some, and with 255 as their literal.
        for (often, literal) in [(usize::MAX, b'x'), (11, b'x'), (3, 255)] {
            let values: Vec<Vec<u8>> = (0..300usize)
                .map(|i| {
                    (0..i % 13)
                        .flat_map(|j| if (i * 7 + j) % often == 1 { vec![255, literal] } else { vec![(j % 2) as u8] })
                        .collect()
                })
                .collect();
            let mut offsets = vec![5u32];
            values.iter().for_each(|v| offsets.push(offsets.last().unwrap() + v.len() as u32));
            let (mut expected, mut ends) = (Pooled::default(), Vec::new());
            for value in &values {
                symbols.decode(value, &mut expected).unwrap();
                ends.push(expected.len() as u32);
            }
            let codes = values.concat();
            assert_eq!(decode_many(&symbols, &codes, &offsets).unwrap(), (expected.as_slice().to_vec(), ends));
            // A value that ends within an escape ends nowhere.
            if let Some(escape) = codes.iter().position(|c| *c == 255) {
                let offsets = [0, escape as u32 + 1, codes.len() as u32];
                assert_eq!(decode_many(&symbols, &codes, &offsets).unwrap_err().code(), "bad_offsets");
            }
            for bad in [&[0, 1][..], &[0, codes.len() as u32 + 1], &[0, 9, 8, codes.len() as u32], &[]] {
                assert_eq!(decode_many(&symbols, &codes, bad).unwrap_err().code(), "bad_offsets");
            }
        }
        for bad in [&[0, 1, 2][..], &[0, 0, 0, 0, 0, 0, 0, 2], &[255], &[0, 255], &[0, 0, 0, 0, 0, 0, 0, 255]] {
            let error = decode_many(&symbols, bad, &[0, bad.len() as u32]).unwrap_err();
            assert_eq!(error.code(), "bad_compressed_data");
        }
    }

    #[test]
    fn what_is_compressed_decodes() {
        let values: Vec<String> = (0..2000).map(|i| format!("https://example.org/{i}/index.html")).collect();
        let compressor = Compressor::train(values.len(), |i| values[i].as_bytes());
        let symbols = SymbolTable::parse(&compressor.table()).unwrap();
        let (mut out, mut codes) = (Pooled::default(), Vec::new());
        for value in &values {
            let from = codes.len();
            compressor.append(value.as_bytes(), &mut codes);
            symbols.decode(&codes[from..], &mut out).unwrap();
        }
        assert_eq!(out.as_slice(), values.concat().as_bytes());
        assert!(codes.len() * 2 < out.len());
        assert!(SymbolTable::parse(&Compressor::train(0, |_| b"").table()).is_ok());
    }

    #[test]
    fn tables_are_checked() {
        assert!(SymbolTable::parse(&table(1)[..2311]).is_err());
        let mut bad = table(1);
        bad[8 + 16] = 9;
        assert_eq!(SymbolTable::parse(&bad).unwrap_err().code(), "bad_symbol_table");
    }
}
