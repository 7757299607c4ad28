//! The three ways in which bytes are packed.
//!
//! | id | name   | payload |
//! |----|--------|---------|
//! | 0  | xz     | one `.xz` stream |
//! | 1  | zstd   | one zstd frame whose header says its content size |
//! | 2  | stored | the bytes themselves |
//!
//! Both compressors say in advance what they unpack to (xz in its index at the end, zstd in its frame header). That
//! claim is checked against the limits first; unpacking then must give exactly as much.

use crate::cursor::split_uv;
use crate::output::Output;
use bytes::Bytes;
use colkit_core::{Error, Result, memory};

#[cfg(not(all(feature = "xz", feature = "zstd")))]
#[cfg_attr(feature = "pure", allow(dead_code, reason = "then there is a decompressor"))]
mod absent;
#[cfg(feature = "pure")]
#[cfg_attr(all(feature = "xz", feature = "zstd"), allow(dead_code, reason = "then only tests use it"))]
mod pure;
#[cfg(feature = "xz")]
mod xz;
#[cfg(feature = "zstd")]
mod zstd;

#[cfg(not(any(feature = "xz", feature = "pure")))]
use absent as unxz;
#[cfg(not(any(feature = "zstd", feature = "pure")))]
use absent as unzstd;
#[cfg(all(feature = "pure", not(feature = "xz")))]
use pure::xz as unxz;
#[cfg(all(feature = "pure", not(feature = "zstd")))]
use pure::zstd as unzstd;
#[cfg(feature = "xz")]
use xz as unxz;
#[cfg(feature = "zstd")]
use zstd as unzstd;

/// How a stream starts that is packed with xz.
pub const XZ_MAGIC: [u8; 6] = [0xFD, b'7', b'z', b'X', b'Z', 0x00];
const XZ_HEADER: usize = 12;
const XZ_FOOTER: usize = 12;
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];

/// Memory that one xz decoder may use: four times the largest dictionary of the usual presets.
#[cfg(any(feature = "xz", feature = "pure"))]
const XZ_MEMORY: u64 = 256 << 20;
/// Largest zstd window, as a power of two: 128 MiB.
#[cfg(any(feature = "zstd", feature = "pure"))]
const ZSTD_WINDOW_LOG: u32 = 27;
/// No zstd frame unpacks to more than this many times its length (a block of 4 bytes may stand for 128 KiB).
const ZSTD_EXPANSION: u64 = 32 << 10;

/// How bytes are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// LZMA in an `.xz` stream.
    Xz,
    /// Zstandard.
    Zstd,
    /// As they are.
    Stored,
}

impl Backend {
    /// The backend with this number.
    pub fn from_id(id: u8) -> Option<Self> {
        match id {
            0 => Some(Backend::Xz),
            1 => Some(Backend::Zstd),
            2 => Some(Backend::Stored),
            _ => None,
        }
    }

    /// Its number.
    #[cfg(feature = "write")]
    pub fn id(self) -> u8 {
        match self {
            Backend::Xz => 0,
            Backend::Zstd => 1,
            Backend::Stored => 2,
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Backend::Xz => "xz",
            Backend::Zstd => "zstd",
            Backend::Stored => "stored",
        }
    }

    /// How many bytes `packed` says it unpacks to.
    pub fn raw_size(self, packed: &[u8]) -> Result<u64> {
        match self {
            Backend::Xz => xz_raw_size(packed),
            Backend::Zstd => zstd_raw_size(packed),
            Backend::Stored => Ok(packed.len() as u64),
        }
    }

    /// Unpacks the whole; an error if that is more than `limit` bytes.
    pub fn unpack(self, packed: &Bytes, limit: u64) -> Result<Bytes> {
        let size = self.raw_size(packed)?;
        if size > limit {
            return Err(too_large(size, limit));
        }
        match self {
            Backend::Xz => unxz::unpack(packed, size).map(Bytes::from),
            Backend::Zstd => unzstd::unpack(packed, size).map(Bytes::from),
            Backend::Stored => Ok(packed.clone()),
        }
    }
}

/// The error for streams that are larger than the memory they may take.
pub fn too_large(asked: u64, limit: u64) -> Error {
    Error::limit("unpacking", format!("{asked} bytes of memory"), limit).hint(memory::hint())
}

fn xz_error(message: &str) -> Error {
    Error::corrupt("bad_compressed_data", format!("xz: {message}"))
}

fn zstd_error(message: &str) -> Error {
    Error::corrupt("bad_compressed_data", format!("zstd: {message}"))
}

/// Adds up the block sizes in the index, which lies before the footer (`crc, size of the index / 4 - 1, flags, "YZ"`).
fn xz_raw_size(packed: &[u8]) -> Result<u64> {
    if !packed.starts_with(&XZ_MAGIC) {
        return Err(xz_error("expected the xz magic at the start"));
    }
    let ends = || xz_error("expected an xz footer at the end (cut short, or bytes after the stream)");
    let footer = packed.len().checked_sub(XZ_FOOTER).and_then(|at| packed.get(at..)).ok_or_else(ends)?;
    let &[_, _, _, _, a, b, c, d, _, _, b'Y', b'Z'] = footer else { return Err(ends()) };
    let index_size = (u64::from(u32::from_le_bytes([a, b, c, d])) + 1) * 4;
    let index_at = usize::try_from(index_size).ok().and_then(|n| packed.len().checked_sub(XZ_FOOTER + n));
    let index = index_at.filter(|at| *at >= XZ_HEADER).and_then(|at| packed.get(at..packed.len() - XZ_FOOTER));
    let bad = || xz_error("its index is damaged");
    let (0, rest) = index.and_then(<[u8]>::split_first).ok_or_else(bad)? else { return Err(bad()) };
    let (blocks, mut rest) = split_uv(rest).ok_or_else(bad)?;
    let mut total = 0u64;
    for _ in 0..blocks {
        let (_packed, after) = split_uv(rest).ok_or_else(bad)?;
        let (raw, after) = split_uv(after).ok_or_else(bad)?;
        total = total.checked_add(raw).ok_or_else(bad)?;
        rest = after;
    }
    Ok(total)
}

fn zstd_raw_size(packed: &[u8]) -> Result<u64> {
    match zstd_content_size(packed)? {
        size if size > (packed.len() as u64).saturating_mul(ZSTD_EXPANSION) => {
            Err(zstd_error(&format!("the frame claims {size} bytes, more than it can hold")))
        }
        size => Ok(size),
    }
}

/// The content size in the header of a frame, which must say it.
///
/// ```text
/// magic (4), byte descriptor: bits 0, 1 length of the dictionary id; 3 reserved; 5 single segment; 6, 7 length of the size
/// (byte window, unless single segment), dictionary id, content size
/// ```
fn zstd_content_size(frame: &[u8]) -> Result<u64> {
    let Some(rest) = frame.strip_prefix(&ZSTD_MAGIC) else {
        return Err(zstd_error("expected the zstd magic at the start"));
    };
    let damaged = || zstd_error("the frame header is damaged");
    let (descriptor, rest) = rest.split_first().ok_or_else(damaged)?;
    if descriptor & 0x08 != 0 {
        return Err(damaged());
    }
    let single_segment = descriptor & 0x20 != 0;
    let window = usize::from(!single_segment);
    let dictionary = match descriptor & 3 {
        3 => 4,
        length => usize::from(length),
    };
    let size = rest.get(window + dictionary..).ok_or_else(damaged)?;
    let size = match (descriptor >> 6, size) {
        (0, _) if !single_segment => return Err(zstd_error("the frame does not say its content size")),
        (0, [a, ..]) => u64::from(*a),
        (1, [a, b, ..]) => u64::from(u16::from_le_bytes([*a, *b])) + 256,
        (2, [a, b, c, d, ..]) => u64::from(u32::from_le_bytes([*a, *b, *c, *d])),
        (3, [a, b, c, d, e, f, g, h, ..]) => u64::from_le_bytes([*a, *b, *c, *d, *e, *f, *g, *h]),
        _ => return Err(damaged()),
    };
    Ok(size)
}

/// Unpacks bytes as they arrive.
pub enum Unpacker {
    /// An `.xz` stream.
    Xz(Box<unxz::Unpacker>),
    /// A zstd frame.
    Zstd(Box<unzstd::Unpacker>),
    /// The bytes themselves.
    Stored,
}

/// Bytes unpacked at a time.
const PIECE: usize = 128 << 10;

impl Unpacker {
    /// Starts to unpack.
    pub fn new(backend: Backend) -> Result<Self> {
        Ok(match backend {
            Backend::Xz => Unpacker::Xz(Box::new(unxz::Unpacker::new()?)),
            Backend::Zstd => Unpacker::Zstd(Box::new(unzstd::Unpacker::new()?)),
            Backend::Stored => Unpacker::Stored,
        })
    }

    /// Unpacks the next packed bytes.
    pub fn push(&mut self, packed: &[u8], out: &mut Output<'_>) -> Result<()> {
        match self {
            Unpacker::Xz(xz) => xz.push(packed, out),
            Unpacker::Zstd(zstd) => zstd.push(packed, out),
            Unpacker::Stored => packed.chunks(PIECE).try_for_each(|piece| out.put(piece)),
        }
    }

    /// There are no more bytes: the payload must be complete.
    pub fn finish(self, out: &mut Output<'_>) -> Result<()> {
        match self {
            Unpacker::Xz(xz) => xz.finish(out),
            Unpacker::Zstd(zstd) => zstd.finish(out),
            Unpacker::Stored => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn xz(data: &[u8]) -> Bytes {
        let mut writer = liblzma::write::XzEncoder::new(Vec::new(), 1);
        writer.write_all(data).unwrap();
        writer.finish().unwrap().into()
    }

    fn zstd(data: &[u8]) -> Bytes {
        ::zstd::bulk::compress(data, 1).unwrap().into()
    }

    fn streamed(backend: Backend, packed: &[u8], piece: usize) -> Result<Vec<u8>> {
        let mut all = crate::output::InMemory { limit: 1 << 30, ..Default::default() };
        let mut out = Output::new(&mut all, 1 << 30);
        let mut unpacker = Unpacker::new(backend)?;
        for part in packed.chunks(piece) {
            unpacker.push(part, &mut out)?;
        }
        unpacker.finish(&mut out)?;
        out.flush()?;
        Ok(all.bytes)
    }

    #[test]
    fn whole_and_in_pieces_agree() {
        let long: Vec<u8> = (0..700_000u32).flat_map(|i| (i / 7).to_le_bytes()).collect();
        for data in [&b""[..], b"a", b"abc\n", &long] {
            for (backend, packed) in [(Backend::Xz, xz(data)), (Backend::Zstd, zstd(data))] {
                assert_eq!(backend.raw_size(&packed).unwrap(), data.len() as u64);
                assert_eq!(backend.unpack(&packed, 1 << 30).unwrap(), data);
                for piece in [1, 17, 100_000] {
                    if data.len() < 1000 || piece > 1 {
                        assert!(streamed(backend, &packed, piece).unwrap() == data, "{backend:?} by {piece}");
                    }
                }
                for cut in [0, 5, packed.len() / 2, packed.len() - 1] {
                    assert!(backend.unpack(&packed.slice(..cut), 1 << 30).is_err(), "{backend:?} cut at {cut}");
                    assert!(streamed(backend, &packed[..cut], 9).is_err(), "{backend:?} cut at {cut}");
                }
                let more = [&packed[..], b"\0\0\0\0"].concat();
                assert!(backend.unpack(&more.clone().into(), 1 << 30).is_err());
                assert_eq!(streamed(backend, &more, 50).unwrap_err().code(), "bytes_left_over");
            }
        }
    }

    #[test]
    fn claims_are_checked_before_anything_is_reserved() {
        let packed = zstd(&[0; 1 << 20]);
        assert_eq!(Backend::Zstd.unpack(&packed, 1 << 10).unwrap_err().code(), "limit_exceeded");
        // A header that claims 2^40 bytes in 9 bytes of frame.
        let liar = Bytes::from_static(&[0x28, 0xB5, 0x2F, 0xFD, 0xE0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0]);
        assert_eq!(Backend::Zstd.unpack(&liar, u64::MAX).unwrap_err().code(), "bad_compressed_data");
    }
}
