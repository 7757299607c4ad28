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

    /// Appends what `codes` stand for. `scratch` is room that is kept from value to value.
    pub fn decode(&self, codes: &[u8], out: &mut Vec<u8>, scratch: &mut Vec<u8>) -> Result<()> {
        if !self.compressed {
            out.extend_from_slice(codes);
            return Ok(());
        }
        // Every symbol is written as 8 bytes, of which the next one overwrites what is too much.
        let room = codes.len().saturating_mul(8);
        if scratch.len() < room {
            scratch.resize(room.next_power_of_two(), 0);
        }
        let mut at = 0;
        let mut codes = codes.iter();
        while let Some(&code) = codes.next() {
            let place = usize::from(code);
            let known = self.symbols.get(place).copied().zip(self.lengths.get(place).copied());
            let (mut symbol, mut length) = known.unwrap_or_default();
            if length == 0 {
                if code != ESCAPE {
                    return Err(bad_codes("a code without a symbol"));
                }
                let literal = codes.next().ok_or_else(|| bad_codes("an escape at the end of a value"))?;
                (symbol, length) = (u64::from(*literal), 1);
            }
            if let Some(to) = scratch.get_mut(at..at + 8) {
                to.copy_from_slice(&symbol.to_le_bytes());
            }
            at += usize::from(length);
        }
        out.extend_from_slice(scratch.get(..at).unwrap_or_default());
        Ok(())
    }
}

/// Room for decoding many values at once, kept from chunk to chunk.
#[derive(Default)]
pub(crate) struct Scratch {
    text: Vec<u8>,
    /// Where in the text each code begins, and the end. The second half of an escape begins nowhere.
    starts: Vec<u32>,
    offsets: Vec<u32>,
}

/// Codes that are decoded without looking for escapes, and the most bytes that they write to.
const BLOCK: usize = 8;
const BLOCK_ROOM: usize = 8 * BLOCK + 8;
const NOWHERE: u32 = u32::MAX;

impl SymbolTable {
    /// Whether values lie as they are.
    pub fn is_raw(&self) -> bool {
        !self.compressed
    }

    /// Decodes values that lie one after another, given where the first begins and where each ends (in codes, counted
    /// from anywhere). Returns the text and the same places in it.
    ///
    /// Values are short, and stopping at the end of each costs more than decoding it: so all codes are decoded in one
    /// go, and the ends are looked up afterwards.
    pub fn decode_many<'a>(
        &self,
        codes: &[u8],
        offsets: &[u32],
        scratch: &'a mut Scratch,
    ) -> Result<(&'a [u8], &'a [u32])> {
        let Scratch { text, starts, offsets: places } = scratch;
        let room = codes.len().saturating_mul(8).saturating_add(BLOCK_ROOM);
        u32::try_from(room).map_err(|_| bad_codes("more than 512 MiB in one chunk"))?;
        if text.len() < room {
            text.resize(room.next_power_of_two(), 0);
        }
        if starts.len() <= codes.len() {
            starts.resize(codes.len().saturating_add(1).next_power_of_two(), 0);
        }
        let (mut at, mut done) = (0, 0);
        while done < codes.len() {
            match self.decode_block(codes, done, text, at, starts) {
                Some(end) => (at, done) = (end, done + BLOCK),
                None => (at, done) = self.decode_one(codes, done, text, at, starts)?,
            }
        }
        if let Some(end) = starts.get_mut(codes.len()) {
            *end = u32::try_from(at).unwrap_or(NOWHERE);
        }
        let first = offsets.first().copied().unwrap_or(0);
        places.clear();
        let known = starts.get(..=codes.len()).unwrap_or_default();
        places.extend(offsets.iter().map(|o| known.get(o.wrapping_sub(first) as usize).copied().unwrap_or(NOWHERE)));
        Ok((text.get(..at).unwrap_or_default(), places))
    }

    /// The next 8 codes, unless there are fewer, or one is an escape or stands for nothing. Returns where they end.
    #[inline]
    #[expect(clippy::indexing_slicing, reason = "a byte is an index into 256 entries, and `& 63` one into 72 - 8")]
    fn decode_block(&self, codes: &[u8], done: usize, text: &mut [u8], at: usize, starts: &mut [u32]) -> Option<usize> {
        let codes: &[u8; BLOCK] = codes.get(done..)?.first_chunk()?;
        let text: &mut [u8; BLOCK_ROOM] = text.get_mut(at..)?.first_chunk_mut()?;
        let starts: &mut [u32; BLOCK] = starts.get_mut(done..)?.first_chunk_mut()?;
        let base = u32::try_from(at).ok()?;
        let (mut place, mut known) = (0usize, true);
        for (code, start) in codes.iter().zip(starts) {
            let code = usize::from(*code);
            // Every symbol is written as 8 bytes, of which the next one overwrites what is too much.
            text[place & 63..][..8].copy_from_slice(&self.symbols[code].to_le_bytes());
            *start = base + u32::try_from(place).ok()?;
            known &= self.lengths[code] > 0;
            place += usize::from(self.lengths[code]);
        }
        known.then_some(at + place)
    }

    /// One code, with its literal if it is an escape. Returns where it ends, in the text and in the codes.
    fn decode_one(
        &self,
        codes: &[u8],
        done: usize,
        text: &mut [u8],
        at: usize,
        starts: &mut [u32],
    ) -> Result<(usize, usize)> {
        let code = codes.get(done).copied().unwrap_or(ESCAPE);
        let place = usize::from(code);
        let known = self.symbols.get(place).copied().zip(self.lengths.get(place).copied());
        let (mut symbol, mut length) = known.unwrap_or_default();
        let mut used = 1;
        if let Some(start) = starts.get_mut(done) {
            *start = u32::try_from(at).unwrap_or(NOWHERE);
        }
        if length == 0 {
            if code != ESCAPE {
                return Err(bad_codes("a code without a symbol"));
            }
            let literal = codes.get(done + 1).ok_or_else(|| bad_codes("an escape at the end of a value"))?;
            if let Some(start) = starts.get_mut(done + 1) {
                *start = NOWHERE;
            }
            (symbol, length, used) = (u64::from(*literal), 1, 2);
        }
        if let Some(to) = text.get_mut(at..at + 8) {
            to.copy_from_slice(&symbol.to_le_bytes());
        }
        Ok((at + usize::from(length), done + used))
    }
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
        let mut out = b">".to_vec();
        let scratch = &mut Vec::new();
        symbols.decode(&[0, 1, 255, b'o', 0], &mut out, scratch).unwrap();
        assert_eq!(out, b">hello wohello");
        assert_eq!(symbols.decode(&[2], &mut out, scratch).unwrap_err().code(), "bad_compressed_data");
        assert_eq!(symbols.decode(&[255], &mut out, scratch).unwrap_err().code(), "bad_compressed_data");
        let mut raw = Vec::new();
        SymbolTable::parse(&table(0)).unwrap().decode(&[0, 255], &mut raw, scratch).unwrap();
        assert_eq!(raw, [0, 255]);
    }

    #[test]
    #[expect(clippy::cast_possible_truncation, reason = "small numbers")]
    fn many_values_decode_as_one_by_one() {
        let symbols = SymbolTable::parse(&table(1)).unwrap();
        let values: Vec<Vec<u8>> = (0..300usize)
            .map(|i| {
                (0..i % 13)
                    .flat_map(|j| if (i * 7 + j) % 11 == 0 { vec![255, b'x'] } else { vec![(j % 2) as u8] })
                    .collect()
            })
            .collect();
        let mut offsets = vec![5u32];
        values.iter().for_each(|v| offsets.push(offsets.last().unwrap() + v.len() as u32));
        let (mut expected, mut ends) = (Vec::new(), vec![0]);
        for value in &values {
            symbols.decode(value, &mut expected, &mut Vec::new()).unwrap();
            ends.push(expected.len() as u32);
        }
        let mut scratch = Scratch::default();
        let codes = values.concat();
        assert_eq!(symbols.decode_many(&codes, &offsets, &mut scratch).unwrap(), (&expected[..], &ends[..]));
        // A value that ends within an escape ends nowhere.
        let escape = codes.iter().position(|c| *c == 255).unwrap() as u32;
        let (_, places) = symbols.decode_many(&codes, &[0, escape + 1], &mut scratch).unwrap();
        assert_eq!(places, [0, NOWHERE]);
        for bad in [&[0, 1, 2][..], &[0, 0, 0, 0, 0, 0, 0, 2], &[255], &[0, 255]] {
            let error = symbols.decode_many(bad, &[0, bad.len() as u32], &mut scratch).unwrap_err();
            assert_eq!(error.code(), "bad_compressed_data");
        }
    }

    #[test]
    fn what_is_compressed_decodes() {
        let values: Vec<String> = (0..2000).map(|i| format!("https://example.org/{i}/index.html")).collect();
        let compressor = Compressor::train(values.len(), |i| values[i].as_bytes());
        let symbols = SymbolTable::parse(&compressor.table()).unwrap();
        let (mut out, mut codes) = (Vec::new(), Vec::new());
        for value in &values {
            let from = codes.len();
            compressor.append(value.as_bytes(), &mut codes);
            symbols.decode(&codes[from..], &mut out, &mut Vec::new()).unwrap();
        }
        assert_eq!(out, values.concat().as_bytes());
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
