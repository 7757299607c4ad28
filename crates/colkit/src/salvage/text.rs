//! Damaged text: lines that cannot be read are cut out, until the rest can. An array of JSON that is cut ends with its last
//! whole element.

use super::pieces::Pieces;
use super::{Damage, Lost};
use crate::{Input, OpenFile, OpenOptions};
use colkit_core::{ByteRange, Class, Error, Result};
use std::sync::Arc;

/// Lines that are cut out at most: each costs a pass over the text before it.
const MOST_LINES: usize = 1000;
/// Bytes that are looked at for the end of a line at a time.
const STEP: u64 = 1 << 16;

/// Opens a text without the lines that cannot be read.
pub(super) fn open(input: &Input, options: &OpenOptions, memory: u64) -> Result<(OpenFile, Vec<Lost>)> {
    let mut kept = vec![ByteRange::between(0, input.size())];
    let mut lost = Vec::new();
    let is_json = options.format_of(input).is_ok_and(|format| format.name() == "ndjson");
    // Of CSV; JSON shows its own end.
    if let Some(end) = unfinished_line(input)?.filter(|_| !is_json) {
        lost.push(Lost::text(end, Error::corrupt("truncated", "the last line has no end, so that it may be cut")));
        kept = vec![ByteRange::between(0, end.start())];
    }
    let mut end: &'static [u8] = b"";
    if let Some(whole) = cut_array(input)?.filter(|_| is_json) {
        let rest = ByteRange::between(whole, input.size());
        lost.push(Lost::text(rest, Error::corrupt("truncated", "the array is never closed, so that it may be cut")));
        (kept, end) = (vec![ByteRange::between(0, whole)], b"]");
    }
    loop {
        let pieces = Pieces::new(input.bytes(), &kept, 0).with_end(end);
        let text = input.with_bytes(Arc::new(pieces));
        let error = match readable(&text, options, memory) {
            Ok(file) => return Ok((file, lost)),
            Err(error) => error,
        };
        let at = error.offset().filter(|_| error.class() == Class::Corrupt && lost.len() < MOST_LINES);
        let Some(line) = at.map(|at| line_around(&text, at)).transpose()?.filter(|line| !line.is_empty()) else {
            return Err(error);
        };
        let stored = cut_out(&mut kept, line);
        // The first line of CSV says what the columns are.
        if stored.start() == 0 && !is_json {
            return Err(error);
        }
        lost.push(Lost::text(stored, error));
    }
}

/// Opens the text and reads all of it.
fn readable(text: &Input, options: &OpenOptions, memory: u64) -> Result<OpenFile> {
    let file = options.open_input(text)?;
    for batch in file.scan().memory(memory).batches()? {
        batch?;
    }
    Ok(file)
}

/// Where the last whole element of an array of JSON ends, if the array is not closed; `None` for any other text.
fn cut_array(input: &Input) -> Result<Option<u64>> {
    let (mut depth, mut quoted, mut escaped, mut at, mut end) = (0_u64, false, false, 0, None);
    while at < input.size() {
        let block = input.bytes().read(ByteRange::between(at, input.size().min(at + STEP)))?;
        for byte in block {
            at += 1;
            match byte {
                _ if std::mem::take(&mut escaped) => {}
                b'\\' if quoted => escaped = true,
                b'"' => quoted = !quoted,
                _ if quoted => {}
                b'[' | b'{' => {
                    depth += 1;
                    if depth == 1 && byte == b'[' {
                        end = Some(at);
                    }
                }
                b']' | b'}' => {
                    depth = depth.saturating_sub(1);
                    match depth {
                        0 => return Ok(None),
                        1 => end = end.map(|_| at),
                        _ => {}
                    }
                }
                // Something else comes first.
                byte if end.is_none() && !byte.is_ascii_whitespace() => return Ok(None),
                _ => {}
            }
            if depth > 0 && end.is_none() {
                return Ok(None);
            }
        }
    }
    Ok(end)
}

/// The last line, if it does not end: whether its last cell is whole cannot be told.
fn unfinished_line(input: &Input) -> Result<Option<ByteRange>> {
    let size = input.size();
    let start = line_start(input, size)?;
    Ok((start < size && start > 0).then(|| ByteRange::between(start, size)))
}

/// The line that a byte is in, with its end.
fn line_around(input: &Input, at: u64) -> Result<ByteRange> {
    let size = input.size();
    // An error at the very end is one of the last line.
    let at = at.min(size.saturating_sub(1));
    let start = line_start(input, at)?;
    let mut from = at;
    while from < size {
        let to = size.min(from + STEP);
        let bytes = input.bytes().read(ByteRange::between(from, to))?;
        if let Some(found) = bytes.iter().position(|b| *b == b'\n') {
            return Ok(ByteRange::between(start, from + found as u64 + 1));
        }
        from = to;
    }
    Ok(ByteRange::between(start, size))
}

/// Where the line starts that the byte before `at` belongs to, or that starts there.
fn line_start(input: &Input, at: u64) -> Result<u64> {
    let mut to = at;
    while to > 0 {
        let from = to.saturating_sub(STEP);
        let bytes = input.bytes().read(ByteRange::between(from, to))?;
        if let Some(found) = bytes.iter().rposition(|b| *b == b'\n') {
            return Ok(from + found as u64 + 1);
        }
        to = from;
    }
    Ok(0)
}

/// Cuts a range of what is kept out of it. Returns where it is in the file.
fn cut_out(kept: &mut Vec<ByteRange>, line: ByteRange) -> ByteRange {
    let mut start = 0;
    let mut result = Vec::with_capacity(kept.len() + 1);
    let mut stored: Option<ByteRange> = None;
    for range in kept.iter() {
        let end = start + range.len();
        let (from, to) = (line.start().clamp(start, end), line.end().clamp(start, end));
        let place = |at: u64| range.start() + (at - start);
        for part in [ByteRange::between(range.start(), place(from)), ByteRange::between(place(to), range.end())] {
            if !part.is_empty() {
                result.push(part);
            }
        }
        if from < to {
            let first = stored.map_or(place(from), |s| s.start());
            stored = Some(ByteRange::between(first, place(to)));
        }
        start = end;
    }
    *kept = result;
    stored.unwrap_or(line)
}

impl Lost {
    fn text(bytes: ByteRange, error: Error) -> Self {
        Lost { damage: Damage::Bytes(bytes), error }
    }
}
