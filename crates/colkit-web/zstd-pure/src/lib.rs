//! The part of the crate `zstd` that readers of Arrow and Parquet files call, over the decoder `ruzstd`, which is Rust: a browser
//! has no C. It decompresses and compares the checksums of frames; it does not compress, and says so.

#![forbid(unsafe_code)]

use std::io;
use std::ops::RangeInclusive;

/// The levels of the library in C, all of which are refused when it comes to compressing.
pub fn compression_level_range() -> RangeInclusive<zstd_safe::CompressionLevel> {
    -131_072..=22
}

/// Whole frames at once.
pub mod bulk {
    use super::*;
    use crate::zstd_safe::WriteBuf;
    use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
    use std::io::Read;
    use std::marker::PhantomData;

    /// Frames that refer further back are refused: their window is allocated before the first byte is unpacked.
    const LARGEST_WINDOW: u64 = 64 << 20;

    /// Would make frames.
    pub struct Compressor<'a>(PhantomData<&'a ()>);

    impl Compressor<'static> {
        /// Every level is good until something is compressed.
        pub fn new(_: i32) -> io::Result<Self> {
            Ok(Compressor(PhantomData))
        }
    }

    impl Compressor<'_> {
        /// Says that it cannot.
        pub fn compress(&mut self, _: &[u8]) -> io::Result<Vec<u8>> {
            Err(cannot())
        }

        /// Says that it cannot.
        pub fn compress_to_buffer<W: WriteBuf>(&mut self, _: &[u8], _: &mut W) -> io::Result<usize> {
            Err(cannot())
        }
    }

    fn cannot() -> io::Error {
        io::Error::new(io::ErrorKind::Unsupported, "zstd: this program was built without the compressor")
    }

    /// Takes frames apart.
    pub struct Decompressor<'a>(FrameDecoder, PhantomData<&'a ()>);

    impl Decompressor<'static> {
        /// One that keeps its memory from frame to frame.
        pub fn new() -> io::Result<Self> {
            let mut decoder = FrameDecoder::new();
            decoder.set_max_window_size(LARGEST_WINDOW);
            Ok(Decompressor(decoder, PhantomData))
        }
    }

    impl Decompressor<'_> {
        /// What all frames of `source` hold, which is no more than `capacity` bytes.
        pub fn decompress(&mut self, source: &[u8], capacity: usize) -> io::Result<Vec<u8>> {
            let mut out = Vec::new();
            self.append(source, &mut out, capacity)?;
            Ok(out)
        }

        /// The same, into the room of `target`; returns how much of it is filled.
        pub fn decompress_to_buffer<W: WriteBuf>(&mut self, source: &[u8], target: &mut W) -> io::Result<usize> {
            target.fill(&mut |out, most| self.append(source, out, most))
        }

        /// Appends what all frames of `source` hold, which is no more than `most` bytes.
        fn append(&mut self, mut source: &[u8], out: &mut Vec<u8>, most: usize) -> io::Result<usize> {
            let start = out.len();
            while !source.is_empty() {
                let at_frame = source;
                match self.0.reset(&mut source) {
                    Ok(()) => self.append_frame(&mut source, out, start.saturating_add(most))?,
                    Err(error) => source = skippable(at_frame).ok_or_else(|| damaged(error))?,
                }
            }
            Ok(out.len() - start)
        }

        /// Appends the frame whose header was read, of which the rest is at the start of `source`, up to this length of `out`.
        fn append_frame(&mut self, source: &mut &[u8], out: &mut Vec<u8>, end: usize) -> io::Result<()> {
            let start = out.len();
            while !self.0.is_finished() || self.0.can_collect() > 0 {
                if !self.0.is_finished() {
                    self.0.decode_blocks(&mut *source, BlockDecodingStrategy::UptoBlocks(1)).map_err(damaged)?;
                }
                let (at, more) = (out.len(), self.0.can_collect());
                if end - at < more {
                    return Err(damaged("a frame holds more than it should"));
                }
                out.resize(at + more, 0);
                self.0.read_exact(out.get_mut(at..).unwrap_or_default())?;
            }
            // The decoder reads size and checksum and compares neither. 0 is also the size of a frame that does not say it.
            let size = self.0.content_size();
            if size > 0 && size != (out.len() - start) as u64 {
                return Err(damaged("a frame does not hold as much as it says"));
            }
            let stored = self.0.get_checksum_from_data();
            if stored.is_some() && stored != self.0.get_calculated_checksum() {
                return Err(damaged("the checksum of a frame does not match"));
            }
            Ok(())
        }
    }

    /// What follows a frame that is to be skipped.
    fn skippable(source: &[u8]) -> Option<&[u8]> {
        let (magic, rest) = source.split_first_chunk::<4>()?;
        let (length, rest) = rest.split_first_chunk::<4>()?;
        let is_skippable = u32::from_le_bytes(*magic) & 0xFFFF_FFF0 == 0x184D_2A50;
        is_skippable.then(|| rest.get(usize::try_from(u32::from_le_bytes(*length)).ok()?..)).flatten()
    }

    fn damaged(why: impl std::fmt::Display) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, format!("zstd: {why}"))
    }
}

/// What the bindings to the library in C are asked.
pub mod zstd_safe {
    use std::io::{self, Cursor};

    /// Somewhere to write to, of which the room is known.
    pub trait WriteBuf {
        /// Lets `append` add to the bytes that are there, as many as there is room for; returns how many it added.
        fn fill(&mut self, append: &mut Append<'_>) -> io::Result<usize>;
    }

    /// Adds at most so many bytes.
    pub type Append<'a> = dyn FnMut(&mut Vec<u8>, usize) -> io::Result<usize> + 'a;

    /// From the position on, within what is reserved.
    impl WriteBuf for Cursor<&mut Vec<u8>> {
        fn fill(&mut self, append: &mut Append<'_>) -> io::Result<usize> {
            let at = usize::try_from(self.position()).unwrap_or(usize::MAX);
            let out = self.get_mut();
            out.truncate(at);
            let room = out.capacity() - out.len();
            append(out, room)
        }
    }

    /// A level.
    pub type CompressionLevel = i32;

    /// The size of a frame's content cannot be told.
    #[derive(Debug)]
    pub struct ContentSizeError;

    /// How many bytes the first frame holds; `None` if it does not say. Its fields are read by hand, since the decoder would
    /// allocate the window that they claim.
    pub fn get_frame_content_size(source: &[u8]) -> Result<Option<u64>, ContentSizeError> {
        content_size(source).ok_or(ContentSizeError)
    }

    fn content_size(source: &[u8]) -> Option<Option<u64>> {
        let rest = source.strip_prefix(&[0x28, 0xB5, 0x2F, 0xFD])?;
        let (descriptor, rest) = rest.split_first()?;
        let single = descriptor & 0x20 != 0;
        let dictionary = [0, 1, 2, 4].get(usize::from(descriptor & 3)).copied()?;
        let rest = rest.get(usize::from(!single) + dictionary..)?;
        let number = |bytes: usize| {
            let field = rest.get(..bytes)?;
            Some(field.iter().rev().fold(0, |sum, byte| (sum << 8) | u64::from(*byte)))
        };
        Some(match (descriptor >> 6, single) {
            (0, false) => None,
            (0, true) => Some(number(1)?),
            (1, _) => Some(number(2)? + 256),
            (2, _) => Some(number(4)?),
            _ => Some(number(8)?),
        })
    }

    /// No frame of so many bytes is longer.
    pub fn compress_bound(length: usize) -> usize {
        length.saturating_add(length >> 8).saturating_add(128)
    }
}

#[cfg(test)]
mod tests {
    use super::bulk::Decompressor;
    use super::zstd_safe::get_frame_content_size;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    fn frame(text: &[u8]) -> Vec<u8> {
        compress_to_vec(text, CompressionLevel::Fastest)
    }

    #[test]
    fn frames_follow_each_other_and_some_are_skipped() {
        let skipped = [0x50, 0x2A, 0x4D, 0x18, 2, 0, 0, 0, 9, 9];
        let frames = [frame(b"hello "), skipped.to_vec(), frame(b"world")].concat();
        assert_eq!(Decompressor::new().unwrap().decompress(&frames, 11).unwrap(), b"hello world");
        assert!(Decompressor::new().unwrap().decompress(&frames, 10).is_err());
    }

    #[test]
    fn damaged_checksums_are_noticed() {
        let mut frame = frame(&b"something that is long enough ".repeat(100));
        assert!(Decompressor::new().unwrap().decompress(&frame, 3000).is_ok());
        let last = frame.len() - 1;
        frame[last] ^= 1;
        let error = Decompressor::new().unwrap().decompress(&frame, 3000).unwrap_err();
        assert!(error.to_string().contains("checksum"), "{error}");
    }

    #[test]
    fn sizes_are_read_from_headers() {
        // A single segment: one, two and four bytes of size; then one with a window and no size.
        assert_eq!(get_frame_content_size(&[0x28, 0xB5, 0x2F, 0xFD, 0x20, 7]).unwrap(), Some(7));
        assert_eq!(get_frame_content_size(&[0x28, 0xB5, 0x2F, 0xFD, 0x60, 1, 1]).unwrap(), Some(513));
        assert_eq!(get_frame_content_size(&[0x28, 0xB5, 0x2F, 0xFD, 0xA0, 1, 0, 0, 0]).unwrap(), Some(1));
        assert_eq!(get_frame_content_size(&[0x28, 0xB5, 0x2F, 0xFD, 0x00, 0x58]).unwrap(), None);
        assert!(get_frame_content_size(b"no frame").is_err());
    }
}
