//! zstd frames, by the library that this crate was built with: the one in C (feature `zstd`), or else the decoder in Rust
//! (feature `pure`), or none.
//!
//! Each of the modules below has the same three items.

#[cfg(not(any(feature = "zstd", feature = "pure")))]
use absent as library;
#[cfg(feature = "zstd")]
use c as library;
#[cfg(all(feature = "pure", not(feature = "zstd")))]
use rust as library;

pub(crate) use library::{reader, unpack};

#[cfg(not(feature = "zstd"))]
pub(crate) use absent::Compressor;
#[cfg(feature = "zstd")]
pub(crate) use c::Compressor;

/// Whether frames can be made.
pub(crate) const CAN_PACK: bool = cfg!(feature = "zstd");

#[cfg(any(feature = "zstd", feature = "pure"))]
fn damaged(why: impl std::fmt::Display) -> colkit_core::Error {
    super::general::damaged("zstd", why)
}

#[cfg(feature = "zstd")]
mod c {
    use super::damaged;
    use colkit_core::{Limits, Result};
    use std::cell::RefCell;
    use std::io::Read;
    use zstd::bulk::{self, Decompressor};
    use zstd::stream::read::Decoder;

    thread_local! {
        static UNPACKER: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
    }

    /// Unpacks a frame into `room`, which it must fit; returns how much of that it fills.
    pub fn unpack(frame: &[u8], room: &mut [u8], _: &Limits) -> Result<usize> {
        let unpacked = UNPACKER.with_borrow_mut(|unpacker| match unpacker {
            Some(known) => known.decompress_to_buffer(frame, room),
            None => unpacker.insert(Decompressor::new()?).decompress_to_buffer(frame, room),
        });
        unpacked.map_err(damaged)
    }

    /// Unpacks a frame step by step.
    pub fn reader<'a>(frame: &'a [u8], _: &Limits) -> Result<impl Read + 'a> {
        Ok(Decoder::with_buffer(frame).map_err(damaged)?.single_frame())
    }

    /// Makes frames. What it keeps from one to the next is memory only.
    pub struct Compressor(RefCell<bulk::Compressor<'static>>);

    impl Compressor {
        pub fn new(level: i32) -> Result<Self> {
            Ok(Compressor(RefCell::new(bulk::Compressor::new(level)?)))
        }

        pub fn pack(&self, bytes: &[u8]) -> Result<Vec<u8>> {
            Ok(self.0.borrow_mut().compress(bytes)?)
        }
    }
}

#[cfg(feature = "pure")]
#[cfg_attr(feature = "zstd", allow(dead_code, reason = "then only tests use it"))]
mod rust {
    use super::damaged;
    use colkit_core::{Limits, Result};
    use ruzstd::decoding::{FrameDecoder, StreamingDecoder};
    use std::borrow::BorrowMut;
    use std::cell::RefCell;
    use std::io::{self, Read};

    /// Frames that refer further back are refused, as by the library in C.
    const LARGEST_WINDOW: u64 = 128 << 20;

    thread_local! {
        static UNPACKER: RefCell<FrameDecoder> = RefCell::new(FrameDecoder::new());
    }

    /// Unpacks a frame into `room`, which it must fit; returns how much of that it fills.
    pub fn unpack(frame: &[u8], room: &mut [u8], limits: &Limits) -> Result<usize> {
        UNPACKER.with_borrow_mut(|unpacker| {
            let mut reader = Checked::new(frame, unpacker, limits)?;
            let mut unpacked = 0;
            while let Some(rest) = room.get_mut(unpacked..).filter(|rest| !rest.is_empty()) {
                match reader.read(rest).map_err(damaged)? {
                    0 => break,
                    read => unpacked += read,
                }
            }
            if reader.read(&mut [0]).map_err(damaged)? > 0 {
                return Err(damaged(format!("it unpacks to more than {unpacked} bytes")));
            }
            // A frame need not say it; 0 is also what one says that does not.
            let said = reader.0.decoder.content_size();
            if said > 0 && said != unpacked as u64 {
                return Err(damaged(format!("it unpacks to {unpacked} bytes rather than {said}")));
            }
            match reader.0.get_ref().len() {
                0 => Ok(unpacked),
                behind => Err(damaged(format!("{behind} bytes behind the frame"))),
            }
        })
    }

    /// Unpacks a frame step by step.
    pub fn reader<'a>(frame: &'a [u8], limits: &Limits) -> Result<impl Read + 'a> {
        Checked::new(frame, FrameDecoder::new(), limits)
    }

    /// Compares the checksum at the end, which `ruzstd` leaves to others.
    struct Checked<'a, D: BorrowMut<FrameDecoder>>(StreamingDecoder<&'a [u8], D>);

    impl<'a, D: BorrowMut<FrameDecoder>> Checked<'a, D> {
        fn new(frame: &'a [u8], mut decoder: D, limits: &Limits) -> Result<Self> {
            // The window is allocated before the first byte is unpacked.
            decoder.borrow_mut().set_max_window_size(limits.memory.min(LARGEST_WINDOW));
            Ok(Checked(StreamingDecoder::new_with_decoder(frame, decoder).map_err(damaged)?))
        }
    }

    impl<D: BorrowMut<FrameDecoder>> Read for Checked<'_, D> {
        fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
            let read = self.0.read(room)?;
            if read == 0 && !room.is_empty() {
                let decoder = self.0.decoder.borrow();
                let stored = decoder.get_checksum_from_data();
                if stored.is_some() && stored != decoder.get_calculated_checksum() {
                    return Err(io::Error::other("the checksum of the frame does not match"));
                }
            }
            Ok(read)
        }
    }
}

#[cfg(not(feature = "zstd"))]
#[cfg_attr(feature = "pure", allow(dead_code, reason = "then there is a decoder"))]
mod absent {
    use colkit_core::{Error, Limits, Result};
    use std::io::Read;

    fn not_built() -> Error {
        Error::unsupported("not_built", "zstd: this program was built without the feature `zstd`")
    }

    pub fn unpack(_: &[u8], _: &mut [u8], _: &Limits) -> Result<usize> {
        Err(not_built())
    }

    pub fn reader<'a>(_: &'a [u8], _: &Limits) -> Result<impl Read + 'a> {
        Err::<std::io::Empty, Error>(not_built())
    }

    /// There is none.
    pub enum Compressor {}

    impl Compressor {
        pub fn new(_: i32) -> Result<Self> {
            Err(not_built())
        }

        pub fn pack(&self, _: &[u8]) -> Result<Vec<u8>> {
            match *self {}
        }
    }
}

#[cfg(all(feature = "zstd", feature = "pure"))]
#[cfg(test)]
mod tests {
    use super::*;
    use colkit_core::Limits;
    use std::io::Read;

    /// A frame with a checksum, and what it holds.
    fn frame() -> (Vec<u8>, Vec<u8>) {
        let raw: Vec<u8> = (0..200_000u32).flat_map(|i| (i.wrapping_mul(i) % 1009).to_le_bytes()).collect();
        let mut compressor = ::zstd::bulk::Compressor::new(3).unwrap();
        compressor.include_checksum(true).unwrap();
        (compressor.compress(&raw).unwrap(), raw)
    }

    /// What both ways of the decoder in Rust say.
    fn unpacked(frame: &[u8], length: usize, limits: &Limits) -> [Option<Vec<u8>>; 2] {
        let mut room = vec![0; length];
        let whole = rust::unpack(frame, &mut room, limits).ok().map(|length| room[..length].to_vec());
        let mut stepwise = Vec::new();
        let read = rust::reader(frame, limits).ok().and_then(|mut r| r.read_to_end(&mut stepwise).ok());
        [whole, read.map(|_| stepwise)]
    }

    #[test]
    fn both_libraries_unpack_the_same() {
        let (frame, raw) = frame();
        let limits = Limits::default();
        let mut room = vec![0; raw.len()];
        assert_eq!(unpack(&frame, &mut room, &limits).unwrap(), raw.len());
        assert_eq!(room, raw);
        assert_eq!(unpacked(&frame, raw.len(), &limits), [Some(raw.clone()), Some(raw)]);
    }

    #[test]
    fn the_decoder_in_rust_refuses_what_the_one_in_c_refuses() {
        let (frame, raw) = frame();
        let limits = Limits::default();
        assert!(rust::unpack(&frame, &mut vec![0; raw.len() - 1], &limits).is_err());
        let mut longer = frame.clone();
        longer.push(0);
        assert!(rust::unpack(&longer, &mut vec![0; raw.len()], &limits).is_err());
        // The checksum is the last four bytes.
        for at in [0, frame.len() / 2, frame.len() - 1] {
            let mut changed = frame.clone();
            changed[at] ^= 1;
            assert!(unpack(&changed, &mut vec![0; raw.len()], &limits).is_err(), "byte {at}");
            assert_eq!(unpacked(&changed, raw.len(), &limits), [None, None], "byte {at}");
        }
        assert_eq!(unpacked(&frame[..frame.len() - 5], raw.len(), &limits), [None, None]);
        let little = Limits { memory: 1 << 10, ..Limits::default() };
        assert_eq!(unpacked(&frame, raw.len(), &little), [None, None], "the window is larger than that");
    }
}
