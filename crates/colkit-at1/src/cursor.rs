//! The primitives every stream is made of, read with every claim checked.
//!
//! | name    | bytes |
//! |---------|-------|
//! | `uv`    | unsigned LEB128: 7 bits per byte, low group first, high bit = more; at most 10 bytes, at most 2^64 - 1 |
//! | `sv`    | signed: `uv` of `(n << 1) ^ (n >> 63)` |
//! | `lp`    | `uv` length, then that many bytes |
//! | `bits`  | flag `i` is bit `i & 7` of byte `i >> 3` |
//! | `cells` | LF-joined texts; an empty stream is one empty cell, never none |
//!
//! Invariant: a length is compared with the bytes that remain before anything is done with it.

use colkit_core::{Error, Result};
use memchr::memchr;

/// Where bytes came from, for error messages.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The stream's name.
    pub stream: &'a str,
    /// The file offset of its packed data.
    pub offset: u64,
    /// Whether the bytes lie in the file as they are, so that positions can be added to the offset.
    pub stored: bool,
}

impl Place<'_> {
    /// An error about the byte at `position` of this stream.
    pub fn corrupt(&self, position: usize, code: &'static str, message: impl Into<String>) -> Error {
        let error = Error::corrupt(code, message);
        if self.stored {
            error.at(self.offset.saturating_add(position as u64)).part(format!("stream {:?}", self.stream))
        } else {
            error.at(self.offset).part(format!("stream {:?}, unpacked byte {position}", self.stream))
        }
    }
}

/// Splits a `uv` off the front. `None`: it is cut short, or does not fit 64 bits.
pub fn split_uv(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (&first, mut rest) = bytes.split_first()?;
    if first < 0x80 {
        return Some((u64::from(first), rest));
    }
    let mut value = u64::from(first & 0x7F);
    for shift in (7..64).step_by(7) {
        let (&byte, after) = rest.split_first()?;
        rest = after;
        if shift == 63 && byte > 1 {
            return None;
        }
        value |= u64::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return Some((value, rest));
        }
    }
    None
}

/// Splits an `sv` off the front.
pub fn split_sv(bytes: &[u8]) -> Option<(i64, &[u8])> {
    let (zigzag, rest) = split_uv(bytes)?;
    Some(((zigzag >> 1).cast_signed() ^ -(zigzag & 1).cast_signed(), rest))
}

/// Reads a stream, or a part of one, from the front.
#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    rest: &'a [u8],
    /// Position in the stream of the end of `rest`.
    end: usize,
    place: Place<'a>,
}

impl<'a> Cursor<'a> {
    /// Reads `bytes`, which begin at `start` of the stream that `place` names.
    pub fn new(bytes: &'a [u8], start: usize, place: Place<'a>) -> Self {
        Cursor { rest: bytes, end: start + bytes.len(), place }
    }

    /// Bytes not read yet.
    pub fn left(&self) -> usize {
        self.rest.len()
    }

    /// The bytes not read yet.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Position in the stream.
    pub fn position(&self) -> usize {
        self.end - self.rest.len()
    }

    /// An error about the byte that comes next.
    pub fn corrupt(&self, code: &'static str, message: impl Into<String>) -> Error {
        self.place.corrupt(self.position(), code, message)
    }

    fn truncated(&self, what: &str) -> Error {
        self.corrupt("truncated", format!("expected {what}, found the end of the stream"))
    }

    /// One byte.
    pub fn byte(&mut self) -> Result<u8> {
        match self.rest.split_first() {
            Some((&byte, rest)) => {
                self.rest = rest;
                Ok(byte)
            }
            None => Err(self.truncated("a byte")),
        }
    }

    /// A byte that is 0 or 1.
    pub fn flag(&mut self, what: &str) -> Result<bool> {
        match self.rest.first() {
            Some(&value) if value > 1 => Err(self.corrupt("bad_flag", format!("{what} is {value}, expected 0 or 1"))),
            _ => Ok(self.byte()? == 1),
        }
    }

    /// An unsigned number.
    pub fn uv(&mut self) -> Result<u64> {
        match split_uv(self.rest) {
            Some((value, rest)) => {
                self.rest = rest;
                Ok(value)
            }
            None => Err(self.bad_varint()),
        }
    }

    /// A signed number.
    pub fn sv(&mut self) -> Result<i64> {
        match split_sv(self.rest) {
            Some((value, rest)) => {
                self.rest = rest;
                Ok(value)
            }
            None => Err(self.bad_varint()),
        }
    }

    fn bad_varint(&self) -> Error {
        if self.rest.iter().take(10).any(|b| *b < 0x80) || self.rest.len() >= 10 {
            self.corrupt("bad_varint", "a number does not fit 64 bits")
        } else {
            self.truncated("a number")
        }
    }

    /// A number of things that take at least one byte each of `room` bytes.
    pub fn count(&mut self, what: &str, room: usize) -> Result<usize> {
        let before = self.clone();
        let count = self.uv()?;
        match usize::try_from(count) {
            Ok(n) if n <= room => Ok(n),
            _ => Err(before.corrupt("bad_count", format!("{count} {what}, but there is room for {room} at most"))),
        }
    }

    /// An index below `count`.
    pub fn index(&mut self, what: &str, count: usize) -> Result<usize> {
        let before = self.clone();
        let index = self.uv()?;
        match usize::try_from(index) {
            Ok(i) if i < count => Ok(i),
            _ => Err(before.corrupt("bad_index", format!("{what} {index} of {count}"))),
        }
    }

    /// The next `n` bytes.
    pub fn take(&mut self, n: u64) -> Result<&'a [u8]> {
        match usize::try_from(n).ok().and_then(|n| self.rest.split_at_checked(n)) {
            Some((taken, rest)) => {
                self.rest = rest;
                Ok(taken)
            }
            None => Err(self.corrupt(
                "truncated",
                format!("expected {n} bytes, found {} until the end of the stream", self.left()),
            )),
        }
    }

    /// A part of its own of the next `n` bytes.
    pub fn part(&mut self, n: u64) -> Result<Cursor<'a>> {
        let start = self.position();
        Ok(Cursor::new(self.take(n)?, start, self.place))
    }

    /// A text with its length in front.
    pub fn lp(&mut self) -> Result<&'a [u8]> {
        let length = self.uv()?;
        self.take(length)
    }

    /// `n` texts with their lengths in front.
    pub fn texts(&mut self, what: &str) -> Result<Vec<&'a [u8]>> {
        let count = self.count(what, self.left())?;
        (0..count).map(|_| self.lp()).collect()
    }

    /// Nothing may be left.
    pub fn finish(&self) -> Result<()> {
        if self.rest.is_empty() {
            return Ok(());
        }
        Err(self.corrupt("bytes_left_over", format!("{} bytes left over", self.left())))
    }
}

/// Reads cells one after another.
#[derive(Clone, Debug)]
pub struct Cells<'a> {
    /// What has not been given yet; `None` once the last cell is given.
    rest: Option<&'a [u8]>,
    /// Position in the stream of the end of the cells.
    end: usize,
    place: Place<'a>,
}

impl<'a> Cells<'a> {
    /// The cells in `bytes`, which begin at `start` of their stream.
    pub fn new(bytes: &'a [u8], start: usize, place: Place<'a>) -> Self {
        Cells { rest: Some(bytes), end: start + bytes.len(), place }
    }

    /// The next cell.
    pub fn take(&mut self) -> Result<&'a [u8]> {
        let Some(rest) = self.rest else {
            return Err(self.place.corrupt(self.end, "cells_used_up", "more cells are used than there are"));
        };
        Ok(match memchr(b'\n', rest).and_then(|at| rest.split_at_checked(at)) {
            Some((cell, after)) => {
                self.rest = after.get(1..);
                cell
            }
            None => {
                self.rest = None;
                rest
            }
        })
    }
}

/// All cells of a stream.
pub fn cells(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split(|b| *b == b'\n')
}

/// Flag `i` of a bitmap; beyond its end every flag is clear.
pub fn bit(bits: &[u8], i: usize) -> bool {
    bits.get(i >> 3).is_some_and(|byte| byte >> (i & 7) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place() -> Place<'static> {
        Place { stream: "meta", offset: 100, stored: true }
    }

    #[test]
    fn varints_of_every_length() {
        for value in (0..64).flat_map(|s| [1u64 << s, (1u64 << s) - 1]).chain([u64::MAX]) {
            let mut bytes = Vec::new();
            let mut rest = value;
            while rest >= 0x80 {
                bytes.push(u8::try_from(rest & 0x7F).unwrap() | 0x80);
                rest >>= 7;
            }
            bytes.push(u8::try_from(rest).unwrap());
            bytes.push(7);
            assert_eq!(split_uv(&bytes), Some((value, &[7][..])));
            assert_eq!(split_uv(&bytes[..bytes.len() - 2]), None, "cut");
        }
        assert_eq!(split_uv(&[0x80, 0x00]), Some((0, &[][..])), "longer than need be, but allowed");
        assert_eq!(split_uv(&[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x02]), None);
        assert_eq!(split_sv(&[3]).unwrap().0, -2);
        assert_eq!(split_sv(&[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01]).unwrap().0, i64::MIN);
    }

    #[test]
    fn errors_say_where() {
        let mut cursor = Cursor::new(&[1, 2, 9], 4, place());
        assert!(cursor.flag("trailing").unwrap());
        let error = cursor.flag("trailing").unwrap_err();
        assert_eq!((error.offset(), error.part_name()), (Some(105), Some("stream \"meta\"")));
        assert_eq!(cursor.take(u64::MAX).unwrap_err().code(), "truncated");
        assert_eq!(cursor.count("rows", 1).unwrap_err().offset(), Some(105));
        assert_eq!(cursor.finish().unwrap_err().code(), "bytes_left_over");
    }

    #[test]
    fn an_empty_stream_is_one_empty_cell() {
        for (bytes, expected) in [(&b""[..], 1), (b"\n", 2), (b"a\nb", 2)] {
            let mut cells = Cells::new(bytes, 0, place());
            for _ in 0..expected {
                cells.take().unwrap();
            }
            assert_eq!(cells.take().unwrap_err().code(), "cells_used_up");
        }
    }
}
