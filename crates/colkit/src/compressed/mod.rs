//! Files that are compressed as a whole, such as `x.csv.gz`: gzip, zstd, xz, bzip2.
//!
//! They are recognised by their first bytes, whatever they are called. Reading tables takes more than one place at once, so
//! they are decompressed to a temporary file first (`read`), as a stream from a pipe is copied to one. Text is written so
//! if the name of the file ends so (`write`).

#[cfg(feature = "compressed")]
mod read;
#[cfg(feature = "compressed")]
mod write;

#[cfg(feature = "compressed")]
pub(crate) use read::{decompressed, decompressed_prefix};

#[cfg(not(feature = "compressed"))]
use bytes::Bytes;
#[cfg(feature = "compressed")]
use colkit_core::Sink;
use colkit_core::{Error, Format, Result};
#[cfg(not(feature = "compressed"))]
use colkit_core::{Limits, Source};
use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;

/// A way to compress a whole file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// RFC 1952, of any number of members.
    Gzip,
    /// RFC 8878, of any number of frames.
    Zstd,
    /// The container of LZMA2, of any number of streams.
    Xz,
    /// Of any number of streams.
    Bzip2,
}

impl Compression {
    /// All of them.
    pub const ALL: [Compression; 4] = [Compression::Gzip, Compression::Zstd, Compression::Xz, Compression::Bzip2];

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Compression::Gzip => "gzip",
            Compression::Zstd => "zstd",
            Compression::Xz => "xz",
            Compression::Bzip2 => "bzip2",
        }
    }

    /// What the names of files end with.
    pub fn extension(self) -> &'static str {
        match self {
            Compression::Gzip => "gz",
            Compression::Zstd => "zst",
            Compression::Xz => "xz",
            Compression::Bzip2 => "bz2",
        }
    }

    /// How many bytes of a file tell how it is compressed.
    pub(crate) const HEAD_BYTES: u64 = 16;

    /// How a file with these first bytes is compressed.
    pub fn of(head: &[u8]) -> Option<Self> {
        match head {
            [0x1F, 0x8B, 8, ..] => Some(Compression::Gzip),
            // The second is a frame to be skipped, which parallel compressors put first.
            [0x28, 0xB5, 0x2F, 0xFD, ..] | [0x50..=0x5F, 0x2A, 0x4D, 0x18, ..] => Some(Compression::Zstd),
            [0xFD, b'7', b'z', b'X', b'Z', 0, ..] => Some(Compression::Xz),
            // Three letters and a digit may begin a text, so the mark of the first block or of the end has to follow.
            [b'B', b'Z', b'h', b'1'..=b'9', rest @ ..]
                if rest.starts_with(b"\x31\x41\x59\x26\x53\x59") || rest.starts_with(b"\x17\x72\x45\x38\x50\x90") =>
            {
                Some(Compression::Bzip2)
            }
            _ => None,
        }
    }

    /// The last bytes of a Lance file. It may begin with a compressed page, and is not compressed as a whole for that.
    pub(crate) const NOT_AT_THE_END: &[u8] = b"LANC";

    /// The text format `text`, its files compressed like this.
    #[cfg(feature = "compressed")]
    pub(crate) fn of_text(self, text: Arc<dyn Format>) -> Result<Arc<dyn Format>> {
        Ok(Arc::new(write::CompressedText { text, compression: self }))
    }

    #[cfg(not(feature = "compressed"))]
    pub(crate) fn of_text(self, _: Arc<dyn Format>) -> Result<Arc<dyn Format>> {
        Err(self.not_built())
    }

    #[cfg(not(feature = "compressed"))]
    fn not_built(self) -> Error {
        let what = format!("{}: this program was built without the feature `compressed`", self.name());
        Error::unsupported("not_built", what)
    }

    /// Compresses what is written to a sink, at this level or the usual one.
    #[cfg(feature = "compressed")]
    pub fn sink(self, sink: Box<dyn Sink>, level: Option<u32>) -> Result<Box<dyn Sink>> {
        Ok(Box::new(write::CompressingSink::start(self, sink, level)?))
    }

    /// The error for a format whose files are not compressed as a whole.
    pub(crate) fn not_for(self, format: &dyn Format) -> Error {
        let (name, extension) = (format.name(), self.extension());
        let what = format!("files in the format {name} are not compressed as a whole");
        Error::request("bad_compression", what)
            .hint(format!("leave out .{extension} from the name; the format compresses its parts itself"))
    }

    /// How a file of this name is to be compressed, and its name without that ending.
    pub fn in_name(path: &Path) -> Option<(Self, &Path)> {
        let extension = path.extension().and_then(OsStr::to_str)?.to_ascii_lowercase();
        let compression = Self::ALL.into_iter().find(|c| c.extension() == extension)?;
        Some((compression, Path::new(path.file_stem()?)))
    }
}

/// The content of `source`, which is compressed like that.
#[cfg(not(feature = "compressed"))]
pub(crate) fn decompressed(_: &dyn Source, compression: Compression, _: &Limits) -> Result<Bytes> {
    Err(compression.not_built())
}

/// The same up to where it is damaged.
#[cfg(not(feature = "compressed"))]
pub(crate) fn decompressed_prefix(
    _: &dyn Source,
    compression: Compression,
    _: &Limits,
) -> Result<(Bytes, Option<Error>)> {
    Err(compression.not_built())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compressed_files_are_known_by_their_first_bytes() {
        assert_eq!(Compression::of(b"\x1F\x8B\x08\x00"), Some(Compression::Gzip));
        assert_eq!(Compression::of(b"BZh9\x31\x41\x59\x26\x53\x59"), Some(Compression::Bzip2));
        assert_eq!(Compression::of(b"BZh9,price\n"), None);
        assert_eq!(Compression::of(b"a,b\n"), None);
        assert_eq!(Compression::of(b""), None);
    }

    #[test]
    fn names_say_how_to_compress() {
        let plain = Path::new("x.csv");
        assert_eq!(Compression::in_name(Path::new("in/x.csv.GZ")), Some((Compression::Gzip, plain)));
        assert_eq!(Compression::in_name(Path::new("x.csv.zst")), Some((Compression::Zstd, plain)));
        assert_eq!(Compression::in_name(plain), None);
        assert_eq!(Compression::in_name(Path::new(".gz")), None);
    }
}
