//! Decompressors in Rust, for where those in C are not built. They read from a slice: a payload that arrives in pieces is held
//! until it is complete.

use super::{PIECE, XZ_MEMORY, ZSTD_WINDOW_LOG, too_large, xz_error, zstd_content_size, zstd_error};
use crate::output::Output;
use colkit_core::{Error, Result};
use std::io::{ErrorKind, Read};

/// One of the two decompressors.
trait Decoder<'a>: Read + Sized {
    /// Starts with the first byte.
    fn start(packed: &'a [u8]) -> Result<Self>;

    /// The error for what reading says.
    fn failed(error: std::io::Error) -> Error;

    /// All has been read: checks what is left to check, and returns the bytes behind the end.
    fn end(self) -> Result<&'a [u8]>;
}

fn finish<'a, D: Decoder<'a>>(decoder: D) -> Result<()> {
    match decoder.end()? {
        [] => Ok(()),
        _ => Err(Error::corrupt("bytes_left_over", "there are bytes after the packed data")),
    }
}

/// Unpacks what says that it holds `size` bytes.
fn unpack<'a, D: Decoder<'a>>(packed: &'a [u8], size: u64) -> Result<Vec<u8>> {
    let claimed = usize::try_from(size).map_err(|_| too_large(size, usize::MAX as u64))?;
    // The claim may be a lie: reserve what such a length can plausibly hold.
    let mut all = Vec::with_capacity(claimed.min(packed.len().saturating_mul(1024)));
    let mut decoder = D::start(packed)?;
    decoder.by_ref().take(size.saturating_add(1)).read_to_end(&mut all).map_err(D::failed)?;
    if all.len() != claimed {
        let found = if all.len() > claimed { "more" } else { "fewer" };
        return Err(D::failed(std::io::Error::other(format!("it holds {found} bytes than it says"))));
    }
    finish(decoder)?;
    Ok(all)
}

/// Unpacks piece by piece.
fn print<'a, D: Decoder<'a>>(packed: &'a [u8], out: &mut Output<'_>) -> Result<()> {
    let mut decoder = D::start(packed)?;
    let mut piece = vec![0; PIECE];
    loop {
        let read = decoder.read(&mut piece).map_err(D::failed)?;
        if read == 0 {
            return finish(decoder);
        }
        out.put(piece.get(..read).unwrap_or_default())?;
    }
}

macro_rules! backend {
    ($module:ident, $decoder:ident) => {
        pub mod $module {
            use crate::output::Output;
            use colkit_core::Result;

            /// Unpacks what says that it holds `size` bytes.
            pub fn unpack(packed: &[u8], size: u64) -> Result<Vec<u8>> {
                super::unpack::<super::$decoder<'_>>(packed, size)
            }

            /// Collects what arrives, and unpacks it at the end.
            pub struct Unpacker(Vec<u8>);

            impl Unpacker {
                /// Nothing has come yet.
                pub fn new() -> Result<Self> {
                    Ok(Unpacker(Vec::new()))
                }

                /// Takes the next bytes.
                pub fn push(&mut self, packed: &[u8], out: &mut Output<'_>) -> Result<()> {
                    out.hold_input((self.0.len() + packed.len()) as u64)?;
                    self.0.extend_from_slice(packed);
                    Ok(())
                }

                /// There are no more bytes.
                pub fn finish(self, out: &mut Output<'_>) -> Result<()> {
                    super::print::<super::$decoder<'_>>(&self.0, out)
                }
            }
        }
    };
}

backend!(xz, XzDecoder);
backend!(zstd, ZstdDecoder);

struct XzDecoder<'a>(lzma_rust2::XzReader<&'a [u8]>);

impl Read for XzDecoder<'_> {
    fn read(&mut self, room: &mut [u8]) -> std::io::Result<usize> {
        self.0.read(room)
    }
}

impl<'a> Decoder<'a> for XzDecoder<'a> {
    fn start(packed: &'a [u8]) -> Result<Self> {
        let kibibytes = u32::try_from(XZ_MEMORY >> 10).unwrap_or(u32::MAX);
        Ok(XzDecoder(lzma_rust2::XzReader::new_mem_limit(packed, false, kibibytes)))
    }

    fn failed(error: std::io::Error) -> Error {
        match error.kind() {
            ErrorKind::OutOfMemory => {
                Error::limit("the dictionary of an xz stream", "more memory", format!("{XZ_MEMORY} bytes"))
            }
            ErrorKind::UnexpectedEof => xz_error("the stream is cut short"),
            _ => xz_error(&error.to_string()).caused_by(error),
        }
    }

    fn end(self) -> Result<&'a [u8]> {
        Ok(self.0.into_inner())
    }
}

struct ZstdDecoder<'a> {
    reader: ruzstd::decoding::StreamingDecoder<&'a [u8], ruzstd::decoding::FrameDecoder>,
    /// Bytes that the frame says it holds, and those that came out.
    size: u64,
    read: u64,
}

impl Read for ZstdDecoder<'_> {
    fn read(&mut self, room: &mut [u8]) -> std::io::Result<usize> {
        let read = self.reader.read(room)?;
        self.read += read as u64;
        Ok(read)
    }
}

impl<'a> Decoder<'a> for ZstdDecoder<'a> {
    fn start(packed: &'a [u8]) -> Result<Self> {
        let size = zstd_content_size(packed)?;
        let mut decoder = ruzstd::decoding::FrameDecoder::new();
        decoder.set_max_window_size(1 << ZSTD_WINDOW_LOG);
        let reader = ruzstd::decoding::StreamingDecoder::new_with_decoder(packed, decoder);
        Ok(ZstdDecoder { reader: reader.map_err(|e| zstd_error(&e.to_string()))?, size, read: 0 })
    }

    fn failed(error: std::io::Error) -> Error {
        zstd_error(&error.to_string()).caused_by(error)
    }

    /// Compares the size and the checksum, which `ruzstd` leaves to others.
    fn end(self) -> Result<&'a [u8]> {
        if self.read != self.size {
            return Err(zstd_error("the content does not have the size that the frame says"));
        }
        let (rest, decoder) = self.reader.into_parts();
        match decoder.get_checksum_from_data() {
            Some(stored) if decoder.get_calculated_checksum() != Some(stored) => {
                Err(zstd_error("the content does not have the checksum of the frame"))
            }
            _ => Ok(rest),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Backend;
    use bytes::Bytes;

    fn packed() -> [(Backend, Vec<u8>); 2] {
        let data: Vec<u8> = (0..300_000u32).flat_map(|i| (i / 7).to_le_bytes()).collect();
        let mut xz = liblzma::write::XzEncoder::new(Vec::new(), 1);
        std::io::Write::write_all(&mut xz, &data).unwrap();
        let mut zstd = ::zstd::bulk::Compressor::new(1).unwrap();
        zstd.include_checksum(true).unwrap();
        [(Backend::Xz, xz.finish().unwrap()), (Backend::Zstd, zstd.compress(&data).unwrap())]
    }

    /// What both ways of a decompressor in Rust make of bytes.
    fn unpacked(backend: Backend, packed: &[u8]) -> Option<Vec<u8>> {
        let size = backend.raw_size(packed).ok()?;
        let mut all = crate::output::InMemory { limit: 1 << 30, ..Default::default() };
        let mut out = Output::new(&mut all, 1 << 30);
        let (whole, printed) = match backend {
            Backend::Xz => (xz::unpack(packed, size), print::<XzDecoder<'_>>(packed, &mut out)),
            _ => (zstd::unpack(packed, size), print::<ZstdDecoder<'_>>(packed, &mut out)),
        };
        out.flush().unwrap();
        let printed = printed.ok().map(|()| all.bytes);
        assert_eq!(whole.ok(), printed, "{backend:?}");
        printed
    }

    #[test]
    fn both_libraries_unpack_and_refuse_the_same() {
        for (backend, packed) in packed() {
            let in_c = |packed: &[u8]| backend.unpack(&Bytes::copy_from_slice(packed), 1 << 30).ok();
            assert!(unpacked(backend, &packed).is_some_and(|data| Some(data) == in_c(&packed).map(Vec::from)));
            for at in [4, 7, packed.len() / 2, packed.len() - 3, packed.len() - 1] {
                let mut changed = packed.clone();
                changed[at] ^= 1;
                assert_eq!(unpacked(backend, &changed), in_c(&changed).map(Vec::from), "{backend:?}, byte {at}");
                assert_eq!(unpacked(backend, &packed[..at]), None, "{backend:?} cut at {at}");
            }
            let longer = [&packed[..], b"\0\0\0\0"].concat();
            assert_eq!(unpacked(backend, &longer), None, "{backend:?}");
        }
    }
}
