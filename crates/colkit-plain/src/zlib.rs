//! zlib streams of whole buffers: three functions, in C (feature `libdeflate`) or in Rust.

#[cfg(feature = "libdeflate")]
mod libdeflate;
#[cfg(any(test, not(feature = "libdeflate")))]
mod rust;

#[cfg(feature = "libdeflate")]
use libdeflate as library;
#[cfg(not(feature = "libdeflate"))]
use rust as library;

use arrow::buffer::Buffer;

/// Why a block could not be inflated whole.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum InflateError {
    /// It is not one valid zlib stream of exactly that length. What exactly is wrong, libdeflate cannot tell reliably.
    Refused,
    /// The memory for the result could not be had.
    Memory,
}

/// Inflates a zlib stream that must take all of `input` and give exactly `raw` bytes. The buffer is aligned to 8.
pub(crate) fn inflate(input: &[u8], raw: usize) -> Result<Buffer, InflateError> {
    library::inflate(input, raw)
}

/// Compresses `input` to one zlib stream. Levels 0 (stored) to 12.
pub(crate) fn deflate(input: &[u8], level: u32) -> Option<Vec<u8>> {
    library::deflate(input, level)
}

/// Continues an Adler-32 checksum over `bytes`; the first one starts at 1.
pub(crate) fn adler32(adler: u32, bytes: &[u8]) -> u32 {
    library::adler32(adler, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    type Inflate = fn(&[u8], usize) -> Result<Buffer, InflateError>;
    type Deflate = fn(&[u8], u32) -> Option<Vec<u8>>;

    fn whole_streams_and_nothing_else(inflate: Inflate, deflate: Deflate) {
        for raw in [&b""[..], b"x", b"hello hello hello hello", &[7; 100_000]] {
            for level in [0, 1, 6, 9, 12] {
                let stream = deflate(raw, level).unwrap();
                let inflated = inflate(&stream, raw.len()).unwrap();
                assert_eq!((inflated.as_slice(), inflated.as_ptr().align_offset(8)), (raw, 0));
                assert_eq!(stream[stream.len() - 4..], adler32(1, raw).to_be_bytes());
                assert_eq!(inflate(&stream, raw.len() + 1), Err(InflateError::Refused));
                if !raw.is_empty() {
                    assert_eq!(inflate(&stream, raw.len() - 1), Err(InflateError::Refused));
                }
                let longer = [stream.as_slice(), b"junk"].concat();
                assert_eq!(inflate(&longer, raw.len()), Err(InflateError::Refused));
                assert_eq!(inflate(&stream[..stream.len() - 1], raw.len()), Err(InflateError::Refused));
                let mut changed = stream;
                *changed.last_mut().unwrap() ^= 1;
                assert_eq!(inflate(&changed, raw.len()), Err(InflateError::Refused));
            }
        }
        assert_eq!(inflate(b"", 0), Err(InflateError::Refused));
        assert!(deflate(b"x", 99).is_none());
    }

    #[test]
    fn whole_streams_come_back_and_nothing_else_does() {
        whole_streams_and_nothing_else(inflate, deflate);
        whole_streams_and_nothing_else(rust::inflate, rust::deflate);
        // One reads what the other writes.
        whole_streams_and_nothing_else(inflate, rust::deflate);
        whole_streams_and_nothing_else(rust::inflate, deflate);
    }

    #[test]
    fn checksums_continue() {
        for adler32 in [adler32, rust::adler32] {
            assert_eq!(adler32(adler32(1, b"Wiki"), b"pedia"), 0x11E6_0398);
            assert_eq!(adler32(5, b""), 5);
        }
        let bytes = vec![255; 100_000];
        assert_eq!(rust::adler32(1, &bytes), adler32(1, &bytes));
    }
}
