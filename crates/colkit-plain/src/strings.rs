//! Streaming decoders for string payloads.
//!
//! With *offsets*, the ends of all strings come first and are kept (4 bytes per row of the range read); the bytes
//! follow batch by batch, their number known in advance. With *lengths*, each string is preceded by its length, which
//! is checked against the declared size of the payload.

use crate::inflate::{InflateStream, ready};
use crate::stream::{PIECE, SkipBytes};
use arrow::array::StringArray;
use arrow::buffer::{Buffer, OffsetBuffer};
use colkit_core::{Error, Limits, Result, Step};
use std::ops::Range;

/// The most bytes that the strings of one batch can have: Arrow counts them in 31 bits.
const LONGEST: usize = i32::MAX.cast_unsigned() as usize;

/// `u32 offsets[rows + 1]`, then the bytes.
pub(crate) struct OffsetStrings {
    /// All rows of the column.
    row_count: u64,
    /// Rows to give.
    rows: Range<u64>,
    /// Bytes behind the offsets.
    blob: u64,
    longest: u64,
    /// Offsets seen so far, of all rows.
    seen: u64,
    last: u32,
    piece: Vec<u8>,
    filled: usize,
    /// The offsets of `rows`, and one more.
    kept: Vec<u32>,
    skip: Option<SkipBytes>,
    /// Strings given so far.
    given: usize,
    bytes: Vec<u8>,
}

impl OffsetStrings {
    pub fn new(row_count: u64, rows: Range<u64>, raw: u64, longest: u64) -> Self {
        let blob = raw.saturating_sub(4 * (row_count + 1));
        OffsetStrings {
            row_count,
            rows,
            blob,
            longest,
            seen: 0,
            last: 0,
            piece: Vec::new(),
            filled: 0,
            kept: Vec::new(),
            skip: None,
            given: 0,
            bytes: Vec::new(),
        }
    }

    /// Reads and checks all offsets, keeping those of the range.
    pub fn read_offsets(&mut self, inflate: &mut InflateStream) -> Result<Step<()>> {
        while self.seen <= self.row_count {
            if self.piece.is_empty() {
                let left = (self.row_count + 1 - self.seen) * 4;
                self.piece = vec![0; PIECE.min(usize::try_from(left).unwrap_or(PIECE))];
            }
            ready!(inflate.fill(&mut self.piece, &mut self.filled)?);
            self.filled = 0;
            let piece = std::mem::take(&mut self.piece);
            let (offsets, _) = piece.as_chunks::<4>();
            for offset in offsets {
                self.check_offset(u32::from_le_bytes(*offset))?;
            }
        }
        Ok(Step::Ready(()))
    }

    fn check_offset(&mut self, offset: u32) -> Result<()> {
        if offset < self.last || (self.seen == 0 && offset != 0) {
            return Err(bad_offset(self.seen, self.last, offset));
        }
        if self.seen == self.row_count && u64::from(offset) != self.blob {
            return Err(bad_last_offset(self.blob, offset.into()));
        }
        if self.rows.start <= self.seen && self.seen <= self.rows.end {
            if self.kept.is_empty() {
                // No more than was counted before it was begun.
                let rows = usize::try_from(self.rows.end - self.rows.start).unwrap_or(usize::MAX);
                self.kept.reserve_exact(rows.saturating_add(1));
            }
            self.kept.push(offset);
        }
        self.last = offset;
        self.seen += 1;
        Ok(())
    }

    pub fn next(&mut self, inflate: &mut InflateStream, rows: usize, bytes: usize) -> Result<Step<StringArray>> {
        ready!(self.read_offsets(inflate)?);
        let first_byte = self.kept.first().copied().unwrap_or_default();
        ready!(self.skip.get_or_insert_with(|| SkipBytes::bytes(first_byte.into())).run(inflate)?);
        let ends = self.kept.get(self.given..).unwrap_or_default();
        let first = ends.first().copied().unwrap_or_default();
        let limit = u64::from(first).saturating_add(bytes.min(LONGEST) as u64);
        let ends = ends.get(1..=rows).unwrap_or_default();
        let fitting = ends.partition_point(|end| u64::from(*end) <= limit).max(1);
        let length = ends.get(fitting - 1).map_or(0, |end| end - first);
        if fitting == 1 {
            let row = self.rows.start + self.given as u64;
            Limits::check(&format!("row {row}"), length.into(), self.longest.min(LONGEST as u64))?;
        }
        ready!(fill_growing(inflate, &mut self.bytes, &mut self.filled, length as usize)?);
        let row = self.rows.start + self.given as u64;
        let kept = self.kept.iter().skip(self.given).take(fitting + 1);
        let offsets = kept.map(|o| (o - first).cast_signed()).collect();
        self.filled = 0;
        self.given += fitting;
        Ok(Step::Ready(strings(offsets, std::mem::take(&mut self.bytes), row)?))
    }
}

/// Fills `buffer` up to `length` bytes, taking memory only as bytes really arrive.
fn fill_growing(
    inflate: &mut InflateStream,
    buffer: &mut Vec<u8>,
    filled: &mut usize,
    length: usize,
) -> Result<Step<()>> {
    const STEP: usize = 4 << 20;
    loop {
        let target = length.min(*filled + STEP - *filled % STEP);
        if buffer.len() < target {
            buffer.resize(target, 0);
        }
        ready!(inflate.fill(buffer, filled)?);
        if *filled >= length {
            return Ok(Step::Ready(()));
        }
    }
}

/// Arrow strings from offsets that start at 0 and bytes of the same length; `row` is the number of the first.
fn strings(offsets: Vec<i32>, bytes: Vec<u8>, row: u64) -> Result<StringArray> {
    let offsets = OffsetBuffer::new(offsets.into());
    let bytes = Buffer::from_vec(bytes);
    StringArray::try_new(offsets.clone(), bytes.clone(), None).map_err(|_| bad_utf8(&offsets, &bytes, row))
}

/// Says which string is not UTF-8.
pub(crate) fn bad_utf8(offsets: &[i32], bytes: &[u8], row: u64) -> Error {
    let at = |offset: i32| usize::try_from(offset).unwrap_or_default();
    for (i, pair) in offsets.windows(2).enumerate() {
        let [start, end] = pair else { continue };
        if let Err(e) = std::str::from_utf8(bytes.get(at(*start)..at(*end)).unwrap_or_default()) {
            let message = format!("row {}: expected UTF-8, found another byte sequence ({e})", row + i as u64);
            return Error::corrupt("bad_utf8", message);
        }
    }
    Error::corrupt("bad_utf8", "expected UTF-8")
}

pub(crate) fn bad_offset(row: u64, before: u32, found: u32) -> Error {
    let expected = if row == 0 { "0".to_string() } else { format!("at least {before}") };
    Error::corrupt("bad_offsets", format!("expected offset {row} to be {expected}, found {found}"))
}

pub(crate) fn bad_last_offset(bytes: u64, found: u64) -> Error {
    Error::corrupt("bad_offsets", format!("expected the last offset to be {bytes}, the number of bytes, found {found}"))
}

/// Strings as lengths and bytes, taken out of a payload that may come in pieces.
pub(crate) struct LengthStrings {
    /// Rows of the column not read yet.
    rows_left: u64,
    /// Payload bytes not read yet.
    raw_left: u64,
    longest: u64,
    /// The number of the next row.
    row: u64,
    /// Rows to pass over before the first that is kept.
    skip: u64,
    length: [u8; 4],
    length_filled: usize,
    /// Bytes still to come of the string being read.
    string_left: Option<u64>,
    offsets: Vec<i32>,
    bytes: Vec<u8>,
}

impl LengthStrings {
    pub fn new(row_count: u64, first_row: u64, raw: u64, longest: u64) -> Self {
        LengthStrings {
            rows_left: row_count,
            raw_left: raw,
            longest: longest.min(LONGEST as u64),
            row: 0,
            skip: first_row,
            length: [0; 4],
            length_filled: 0,
            string_left: None,
            offsets: vec![0],
            bytes: Vec::new(),
        }
    }

    /// Strings collected since the last [`LengthStrings::take`].
    pub fn rows(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Reads from `piece` until it is used up or so many rows or bytes are collected.
    pub fn read(&mut self, piece: &mut &[u8], rows: usize, bytes: usize) -> Result<()> {
        while !piece.is_empty() && self.rows() < rows && (self.bytes.len() < bytes || self.string_left.is_some()) {
            let Some(left) = self.string_left else {
                if self.length_filled == 0 && self.skip == 0 && self.read_whole_strings(piece, rows, bytes) {
                    continue;
                }
                self.read_length(piece)?;
                continue;
            };
            let take = usize::try_from(left).unwrap_or(usize::MAX).min(piece.len());
            let (head, tail) = piece.split_at(take);
            if self.skip == 0 {
                self.bytes.extend_from_slice(head);
            }
            *piece = tail;
            self.raw_left -= take as u64;
            self.string_left = Some(left - take as u64);
            self.end_string_if_complete();
        }
        Ok(())
    }

    /// The quick way: strings that lie in the piece with their lengths and break no rule. Stops at the first that does
    /// not, which then goes the slow way. Returns whether there was any.
    fn read_whole_strings(&mut self, piece: &mut &[u8], rows: usize, bytes: usize) -> bool {
        let before = self.rows();
        let wanted = rows - before;
        self.offsets.reserve(wanted.min(piece.len() / 4));
        self.bytes.reserve(bytes.min(piece.len()).saturating_sub(self.bytes.len()));
        while self.rows() < rows && self.bytes.len() < bytes && self.rows_left > 0 {
            let Some((length, rest)) = piece.split_first_chunk::<4>() else { break };
            let length = u32::from_le_bytes(*length);
            let Some((string, rest)) = rest.split_at_checked(length as usize) else { break };
            let room = self.raw_left.saturating_sub(4 * self.rows_left);
            let Ok(end) = i32::try_from(self.bytes.len() + string.len()) else { break };
            if u64::from(length) > room.min(self.longest) {
                break;
            }
            self.bytes.extend_from_slice(string);
            self.offsets.push(end);
            self.raw_left -= 4 + u64::from(length);
            self.rows_left -= 1;
            self.row += 1;
            *piece = rest;
        }
        self.rows() > before
    }

    fn read_length(&mut self, piece: &mut &[u8]) -> Result<()> {
        if self.rows_left == 0 {
            return self.check_end();
        }
        let take = (4 - self.length_filled).min(piece.len());
        let (head, tail) = piece.split_at(take);
        for (slot, byte) in self.length.iter_mut().skip(self.length_filled).zip(head) {
            *slot = *byte;
        }
        *piece = tail;
        self.length_filled += take;
        if self.length_filled < 4 {
            return Ok(());
        }
        self.length_filled = 0;
        self.raw_left = self.raw_left.saturating_sub(4);
        self.rows_left -= 1;
        let length = u64::from(u32::from_le_bytes(self.length));
        let room = self.raw_left.saturating_sub(4 * self.rows_left);
        if length > room {
            let message = format!("row {}: expected a string of at most {room} bytes, found length {length}", self.row);
            return Err(Error::corrupt("bad_string_length", message));
        }
        if self.skip == 0 {
            Limits::check(&format!("row {}", self.row), length, self.longest)?;
            let total = (self.bytes.len() as u64).saturating_add(length);
            Limits::check("the strings of one batch", total, LONGEST as u64)?;
        }
        self.string_left = Some(length);
        self.end_string_if_complete();
        Ok(())
    }

    fn end_string_if_complete(&mut self) {
        if self.string_left != Some(0) {
            return;
        }
        self.string_left = None;
        self.row += 1;
        if self.skip > 0 {
            self.skip -= 1;
        } else {
            // Checked against the limit for a batch when the length was read.
            self.offsets.push(i32::try_from(self.bytes.len()).unwrap_or(i32::MAX));
        }
    }

    /// After the last row: nothing may be left of the payload.
    pub fn check_end(&self) -> Result<()> {
        if self.raw_left > 0 {
            let message =
                format!("expected the payload to end after the last string, found {} more bytes", self.raw_left);
            return Err(Error::corrupt("bad_string_length", message));
        }
        Ok(())
    }

    /// The strings collected so far, as an array.
    pub fn take(&mut self) -> Result<StringArray> {
        let offsets = std::mem::replace(&mut self.offsets, vec![0]);
        let row = self.row - (offsets.len() as u64 - 1);
        strings(offsets, std::mem::take(&mut self.bytes), row)
    }
}

/// [`LengthStrings`] fed by an inflater.
pub(crate) struct LengthPieces {
    strings: LengthStrings,
    piece: Vec<u8>,
    filled: usize,
    /// Bytes of the piece used already; the piece is complete when this is set.
    used: Option<usize>,
    /// Payload bytes not inflated yet.
    raw_left: u64,
}

impl LengthPieces {
    pub fn new(row_count: u64, first_row: u64, raw: u64, longest: u64) -> Self {
        let strings = LengthStrings::new(row_count, first_row, raw, longest);
        LengthPieces { strings, piece: Vec::new(), filled: 0, used: None, raw_left: raw }
    }

    pub fn check_end(&self) -> Result<()> {
        self.strings.check_end()
    }

    pub fn next(&mut self, inflate: &mut InflateStream, rows: usize, bytes: usize) -> Result<Step<StringArray>> {
        loop {
            let Some(used) = self.used else {
                if self.piece.is_empty() {
                    self.piece = vec![0; PIECE.min(usize::try_from(self.raw_left).unwrap_or(PIECE))];
                }
                ready!(inflate.fill(&mut self.piece, &mut self.filled)?);
                self.raw_left -= self.filled as u64;
                self.used = Some(0);
                continue;
            };
            let mut rest = self.piece.get(used..).unwrap_or_default();
            self.strings.read(&mut rest, rows, bytes)?;
            self.used = Some(self.piece.len() - rest.len());
            let complete = self.strings.string_left.is_none();
            if self.strings.rows() == rows || (complete && self.strings.rows() > 0 && self.strings.bytes.len() >= bytes)
            {
                return Ok(Step::Ready(self.strings.take()?));
            }
            if rest.is_empty() {
                if self.raw_left == 0 {
                    let message = format!("row {}: the payload ends before its string", self.strings.row);
                    return Err(Error::corrupt("bad_string_length", message));
                }
                self.piece.clear();
                self.filled = 0;
                self.used = None;
            }
        }
    }
}
