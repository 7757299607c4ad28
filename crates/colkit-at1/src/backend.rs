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
use liblzma::stream::{Action, Status, Stream as Xz};
use std::cell::RefCell;
use zstd::zstd_safe::{DCtx, DParameter, InBuffer, OutBuffer, find_frame_compressed_size, get_frame_content_size};

/// How a stream starts that is packed with xz.
pub const XZ_MAGIC: [u8; 6] = [0xFD, b'7', b'z', b'X', b'Z', 0x00];
const XZ_HEADER: usize = 12;
const XZ_FOOTER: usize = 12;
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];

/// Memory that one xz decoder may use: four times the largest dictionary of the usual presets.
const XZ_MEMORY: u64 = 256 << 20;
/// Largest zstd window, as a power of two: 128 MiB.
const ZSTD_WINDOW: u32 = 27;
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
            Backend::Xz => unpack_xz(packed, size).map(Bytes::from),
            Backend::Zstd => unpack_zstd(packed, size).map(Bytes::from),
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

fn unpack_xz(packed: &[u8], size: u64) -> Result<Vec<u8>> {
    // The claim may be a lie: reserve what such a length can plausibly hold, and let the rest grow. One byte more
    // than claimed, so that too much output is noticed and the decoder never stands before a full buffer.
    let claimed = usize::try_from(size).map_err(|_| too_large(size, usize::MAX as u64))?;
    let mut out = Vec::with_capacity(claimed.min(packed.len().saturating_mul(1024)).saturating_add(1));
    let mut xz = new_xz()?;
    loop {
        if out.len() == out.capacity() {
            out.reserve(out.len().min(claimed.saturating_sub(out.len())).saturating_add(1));
        }
        let done = usize::try_from(xz.total_in()).unwrap_or(usize::MAX);
        let rest = packed.get(done..).unwrap_or_default();
        let status = xz.process_vec(rest, &mut out, Action::Run).map_err(failed_xz)?;
        if out.len() > claimed {
            return Err(xz_error("it holds more bytes than its index says"));
        }
        match status {
            Status::StreamEnd => break,
            Status::MemNeeded => return Err(xz_error("the stream is cut short")),
            Status::Ok | Status::GetCheck => {}
        }
    }
    if xz.total_in() != packed.len() as u64 {
        return Err(Error::corrupt("bytes_left_over", "there are bytes after the xz stream"));
    }
    if out.len() != claimed {
        return Err(xz_error("it holds fewer bytes than its index says"));
    }
    Ok(out)
}

fn new_xz() -> Result<Xz> {
    Xz::new_stream_decoder(XZ_MEMORY, 0).map_err(failed_xz)
}

fn failed_xz(e: liblzma::stream::Error) -> Error {
    match e {
        liblzma::stream::Error::MemLimit => {
            Error::limit("the dictionary of an xz stream", "more memory", format!("{XZ_MEMORY} bytes"))
        }
        liblzma::stream::Error::Mem => Error::limit("the dictionary of an xz stream", "more memory", "what there is"),
        e => xz_error(&e.to_string()).caused_by(e),
    }
}

fn zstd_raw_size(packed: &[u8]) -> Result<u64> {
    if !packed.starts_with(&ZSTD_MAGIC) {
        return Err(zstd_error("expected the zstd magic at the start"));
    }
    match get_frame_content_size(packed) {
        Err(_) => Err(zstd_error("the frame header is damaged")),
        Ok(None) => Err(zstd_error("the frame does not say its content size")),
        Ok(Some(size)) if size > (packed.len() as u64).saturating_mul(ZSTD_EXPANSION) => {
            Err(zstd_error(&format!("the frame claims {size} bytes, more than it can hold")))
        }
        Ok(Some(size)) => Ok(size),
    }
}

fn failed_zstd(code: usize) -> Error {
    zstd_error(zstd::zstd_safe::get_error_name(code))
}

thread_local! {
    /// One per thread: it is larger than many a block.
    static UNZSTD: RefCell<DCtx<'static>> = RefCell::new(DCtx::create());
}

fn unpack_zstd(packed: &[u8], size: u64) -> Result<Vec<u8>> {
    let frame = find_frame_compressed_size(packed).map_err(failed_zstd)?;
    if frame != packed.len() {
        return Err(Error::corrupt("bytes_left_over", "there are bytes after the zstd frame"));
    }
    let size = usize::try_from(size).map_err(|_| too_large(size, usize::MAX as u64))?;
    let mut out = Vec::with_capacity(size);
    let written = UNZSTD.with_borrow_mut(|context| context.decompress(&mut out, packed)).map_err(failed_zstd)?;
    if written != size {
        return Err(zstd_error("the frame holds fewer bytes than its header says"));
    }
    Ok(out)
}

/// Unpacks bytes as they arrive, holding only a window of them.
pub struct Unpacker {
    state: State,
    ended: bool,
}

enum State {
    Xz(Box<Xz>),
    Zstd { context: Box<DCtx<'static>>, head: Vec<u8>, started: bool },
    Stored,
}

/// Bytes unpacked at a time.
const PIECE: usize = 128 << 10;
/// A zstd frame header is at most this long.
const ZSTD_HEADER: usize = 18;

impl Unpacker {
    /// Starts to unpack.
    pub fn new(backend: Backend) -> Result<Self> {
        let state = match backend {
            Backend::Xz => State::Xz(Box::new(new_xz()?)),
            Backend::Zstd => {
                let mut context = DCtx::create();
                context.set_parameter(DParameter::WindowLogMax(ZSTD_WINDOW)).map_err(failed_zstd)?;
                State::Zstd { context: Box::new(context), head: Vec::new(), started: false }
            }
            Backend::Stored => State::Stored,
        };
        Ok(Unpacker { state, ended: false })
    }

    /// Unpacks the next packed bytes.
    pub fn push(&mut self, packed: &[u8], out: &mut Output<'_>) -> Result<()> {
        match &mut self.state {
            State::Stored => packed.chunks(PIECE).try_for_each(|piece| out.put(piece)),
            State::Xz(xz) => push_xz(xz, packed, &mut self.ended, out),
            State::Zstd { context, head, started } => {
                if *started {
                    return push_zstd(context, packed, &mut self.ended, out);
                }
                head.extend_from_slice(packed);
                if head.len() < ZSTD_HEADER {
                    return Ok(());
                }
                *started = true;
                begin_zstd(context, head, &mut self.ended, out)
            }
        }
    }

    /// There are no more bytes: the payload must be complete.
    pub fn finish(mut self, out: &mut Output<'_>) -> Result<()> {
        match &mut self.state {
            State::Stored => return Ok(()),
            State::Zstd { context, head, started: false } => begin_zstd(context, head, &mut self.ended, out)?,
            State::Xz(_) | State::Zstd { .. } => {}
        }
        match self.state {
            State::Xz(_) if !self.ended => Err(xz_error("the stream is cut short")),
            State::Zstd { .. } if !self.ended => Err(zstd_error("the frame is cut short")),
            _ => Ok(()),
        }
    }
}

fn push_xz(xz: &mut Xz, packed: &[u8], ended: &mut bool, out: &mut Output<'_>) -> Result<()> {
    let start = xz.total_in();
    let mut piece = Vec::with_capacity(PIECE);
    loop {
        let done = usize::try_from(xz.total_in() - start).unwrap_or(usize::MAX);
        let rest = packed.get(done..).unwrap_or_default();
        if *ended {
            return match rest {
                [] => Ok(()),
                _ => Err(Error::corrupt("bytes_left_over", "there are bytes after the xz stream")),
            };
        }
        let status = xz.process_vec(rest, &mut piece, Action::Run).map_err(failed_xz)?;
        *ended = matches!(status, Status::StreamEnd);
        // Output that did not fill the buffer means that everything the input gives has been given.
        let drained = piece.len() < piece.capacity();
        out.put(&piece)?;
        piece.clear();
        if !*ended && drained && (rest.is_empty() || xz.total_in() - start == packed.len() as u64) {
            return Ok(());
        }
    }
}

/// Looks at the frame header, which is complete now, and unpacks what came with it.
fn begin_zstd(context: &mut DCtx<'_>, head: &[u8], ended: &mut bool, out: &mut Output<'_>) -> Result<()> {
    if !head.starts_with(&ZSTD_MAGIC) {
        return Err(zstd_error("expected the zstd magic at the start"));
    }
    match get_frame_content_size(head) {
        Ok(Some(_)) => push_zstd(context, head, ended, out),
        Ok(None) => Err(zstd_error("the frame does not say its content size")),
        Err(_) => Err(zstd_error("the frame header is damaged")),
    }
}

fn push_zstd(context: &mut DCtx<'_>, packed: &[u8], ended: &mut bool, out: &mut Output<'_>) -> Result<()> {
    let mut input = InBuffer::around(packed);
    let mut piece: Vec<u8> = Vec::with_capacity(PIECE);
    loop {
        if *ended {
            return if input.pos() == packed.len() {
                Ok(())
            } else {
                Err(Error::corrupt("bytes_left_over", "there are bytes after the zstd frame"))
            };
        }
        piece.clear();
        let hint = context.decompress_stream(&mut OutBuffer::around(&mut piece), &mut input).map_err(failed_zstd)?;
        *ended = hint == 0;
        let drained = piece.len() < piece.capacity();
        out.put(&piece)?;
        if !*ended && drained && input.pos() == packed.len() {
            return Ok(());
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
        zstd::bulk::compress(data, 1).unwrap().into()
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
