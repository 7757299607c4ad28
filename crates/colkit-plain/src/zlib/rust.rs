//! zlib-rs: the same without C, at half the speed.

use super::InflateError;
use arrow::buffer::Buffer;
use flate2::{Compression, Decompress, FlushDecompress, Status};
use std::io::Write;

pub(crate) fn inflate(input: &[u8], raw: usize) -> Result<Buffer, InflateError> {
    // With room for one byte more, a stream that is too long shows itself, and one that is not can come to its end.
    let words = raw / 8 + 1;
    let mut output: Vec<u64> = Vec::new();
    output.try_reserve_exact(words).map_err(|_| InflateError::Memory)?;
    output.resize(words, 0);
    let room = bytemuck::cast_slice_mut(&mut output).get_mut(..raw + 1).unwrap_or_default();
    let mut inflate = Decompress::new(true);
    let status = inflate.decompress(input, room, FlushDecompress::Finish);
    let whole = inflate.total_in() == input.len() as u64 && inflate.total_out() == raw as u64;
    match status {
        Ok(Status::StreamEnd) if whole => Ok(Buffer::from_vec(output).slice_with_length(0, raw)),
        _ => Err(InflateError::Refused),
    }
}

pub(crate) fn deflate(input: &[u8], level: u32) -> Option<Vec<u8>> {
    // What libdeflate has beyond level 9, zlib does not have.
    let level = Some(level).filter(|level| *level <= 12)?.min(9);
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), Compression::new(level));
    encoder.write_all(input).ok()?;
    encoder.finish().ok()
}

/// The largest prime below 65536.
const MODULUS: u32 = 65521;

/// So many bytes can be added up before the sums overflow.
const CHUNK: usize = 5552;

pub(crate) fn adler32(adler: u32, bytes: &[u8]) -> u32 {
    let (mut a, mut b) = (adler & 0xFFFF, adler >> 16);
    for chunk in bytes.chunks(CHUNK) {
        for byte in chunk {
            a += u32::from(*byte);
            b += a;
        }
        (a, b) = (a % MODULUS, b % MODULUS);
    }
    b << 16 | a
}
