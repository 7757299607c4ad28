//! Little-endian numbers and slices out of bytes that may be too short.

use bytes::Bytes;
use colkit_core::{Error, Result};

fn array_at<const N: usize>(bytes: &[u8], at: usize) -> Result<[u8; N]> {
    let found = at.checked_add(N).and_then(|end| bytes.get(at..end)).and_then(|b| b.try_into().ok());
    found.ok_or_else(|| too_short(bytes.len(), at, N))
}

fn too_short(have: usize, at: usize, need: usize) -> Error {
    Error::corrupt("buffer_too_short", format!("expected {need} bytes at {at} of a buffer of {have} bytes"))
}

pub(crate) fn u16_at(bytes: &[u8], at: usize) -> Result<u16> {
    Ok(u16::from_le_bytes(array_at(bytes, at)?))
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Result<u32> {
    Ok(u32::from_le_bytes(array_at(bytes, at)?))
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> Result<u64> {
    Ok(u64::from_le_bytes(array_at(bytes, at)?))
}

/// An unsigned number of 1 to 8 bytes.
pub(crate) fn uint_at(bytes: &[u8], at: usize, width: usize) -> Result<u64> {
    match width {
        2 => Ok(u16_at(bytes, at)?.into()),
        4 => Ok(u32_at(bytes, at)?.into()),
        8 => u64_at(bytes, at),
        _ => {
            let mut wide = [0; 8];
            let (to, from) = (wide.iter_mut(), slice_at(bytes, at, width)?);
            to.zip(from).for_each(|(to, from)| *to = *from);
            Ok(u64::from_le_bytes(wide))
        }
    }
}

/// `len` bytes from `at`.
pub(crate) fn slice_at(bytes: &[u8], at: usize, len: usize) -> Result<&[u8]> {
    at.checked_add(len).and_then(|end| bytes.get(at..end)).ok_or_else(|| too_short(bytes.len(), at, len))
}

/// `len` bytes from `at`, sharing the buffer.
pub(crate) fn cut(bytes: &Bytes, at: usize, len: usize) -> Result<Bytes> {
    match at.checked_add(len) {
        Some(end) if end <= bytes.len() => Ok(bytes.slice(at..end)),
        _ => Err(too_short(bytes.len(), at, len)),
    }
}

/// A count from a file as a size in memory.
pub(crate) fn size(n: u64) -> Result<usize> {
    usize::try_from(n).map_err(|_| Error::limit("a buffer", n, usize::MAX))
}

/// A product that must not wrap: sizes that a file claims.
pub(crate) fn times(a: u64, b: u64) -> Result<u64> {
    a.checked_mul(b).ok_or_else(|| Error::corrupt("bad_number", format!("{a} x {b} exceeds 2^64")))
}
