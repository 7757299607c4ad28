//! The last 40 bytes of a file, and the versions it can name.
//!
//! | offset | type | meaning |
//! |---|---|---|
//! | 0 | u64 | position of the first column's metadata |
//! | 8 | u64 | position of the column table: 16 bytes per column, position and size of its metadata |
//! | 16 | u64 | position of the global buffer table: 16 bytes per buffer, position and size |
//! | 24 | u32 | number of global buffers |
//! | 28 | u32 | number of columns |
//! | 32 | u16, u16 | major and minor version |
//! | 36 | 4 bytes | `LANC` |
//!
//! The invariant of a [`Footer`]: both tables lie inside the file and have exactly the room their counts need.

use crate::bytes_at::{u16_at, u32_at, u64_at};
use colkit_core::{ByteRange, Error, Result};
use std::fmt;

/// The four bytes that end every Lance file.
pub const MAGIC: &[u8; 4] = b"LANC";

/// A version of the file format. Each is its own value: nothing is decided by comparing them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Version {
    /// 2.0: array encodings; every field has a column. Stored as 0.3, seldom as 2.0.
    V2_0,
    /// 2.1: page layouts with repetition and definition levels; only leaves have columns.
    V2_1,
    /// 2.2: 2.1 with large chunks, constant pages, maps.
    V2_2,
    /// 2.3: not settled yet. Columns whose pages use layouts of 2.2 can be read.
    V2_3,
}

impl Version {
    /// The version a footer's two numbers stand for.
    pub fn from_numbers(major: u16, minor: u16) -> Result<Self> {
        match (major, minor) {
            (0, 3) | (2, 0) => Ok(Version::V2_0),
            (2, 1) => Ok(Version::V2_1),
            (2, 2) => Ok(Version::V2_2),
            (2, 3) => Ok(Version::V2_3),
            (0, 0..=2) => {
                Err(Error::unsupported("unknown_version", format!("version {major}.{minor} is the first Lance format"))
                    .hint("only version 2 files (2.0, 2.1, 2.2) are supported; rewrite it with a recent Lance release"))
            }
            _ => Err(Error::unsupported("unknown_version", format!("unknown Lance file version {major}.{minor}"))
                .hint("supported are 2.0 (stored as 0.3), 2.1, 2.2 and the parts of 2.3 that equal 2.2")),
        }
    }

    /// The two numbers that its files carry.
    pub(crate) fn numbers(self) -> (u16, u16) {
        match self {
            Version::V2_0 => (0, 3),
            Version::V2_1 => (2, 1),
            Version::V2_2 => (2, 2),
            Version::V2_3 => (2, 3),
        }
    }

    /// Which Lance releases read such files.
    pub fn readers(self) -> &'static str {
        match self {
            Version::V2_0 => "Lance 0.16 and later",
            Version::V2_1 => "Lance 0.38 and later",
            Version::V2_2 => "Lance 4.0 and later",
            Version::V2_3 => "unstable: only the release that wrote it is sure to read it",
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Version::V2_0 => "2.0",
            Version::V2_1 => "2.1",
            Version::V2_2 => "2.2",
            Version::V2_3 => "2.3",
        })
    }
}

/// Where the tables of a file are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Footer {
    /// The file's version.
    pub version: Version,
    /// Where the columns' metadata lies.
    pub column_metadata: ByteRange,
    /// Position and size of each column's metadata.
    pub column_table: ByteRange,
    /// Position and size of each global buffer.
    pub global_table: ByteRange,
    /// Number of columns.
    pub columns: u32,
    /// Number of global buffers.
    pub global_buffers: u32,
}

/// Bytes of one table entry.
pub const ENTRY: u64 = 16;

impl Footer {
    /// Bytes of a footer.
    pub const LENGTH: u64 = 40;

    /// Reads the footer of a file of `size` bytes.
    pub fn parse(bytes: &[u8], size: u64) -> Result<Self> {
        let start = size.saturating_sub(Self::LENGTH);
        let magic = bytes.get(36..40).unwrap_or_default();
        if magic != MAGIC {
            return Err(Error::corrupt(
                "bad_magic",
                format!("expected \"LANC\" as the last bytes, found {magic:02x?}"),
            )
            .at(size.saturating_sub(4))
            .part("footer")
            .hint("the file may be cut off, or is no Lance file"));
        }
        let version = Version::from_numbers(u16_at(bytes, 32)?, u16_at(bytes, 34)?)
            .map_err(|e| e.at(start + 32).part("footer"))?;
        let (first, columns_at, globals_at) = (u64_at(bytes, 0)?, u64_at(bytes, 8)?, u64_at(bytes, 16)?);
        let (global_buffers, columns) = (u32_at(bytes, 24)?, u32_at(bytes, 28)?);
        let fits = |from: u64, to: u64, count: u32| to.checked_sub(from) == Some(ENTRY * u64::from(count));
        if first > columns_at || !fits(columns_at, globals_at, columns) || !fits(globals_at, start, global_buffers) {
            return Err(Error::corrupt(
                "bad_footer",
                format!(
                    "tables at {first}, {columns_at} and {globals_at} do not hold {columns} columns and \
                     {global_buffers} global buffers before the footer at {start}"
                ),
            )
            .at(start)
            .part("footer"));
        }
        Ok(Footer {
            version,
            column_metadata: ByteRange::between(first, columns_at),
            column_table: ByteRange::between(columns_at, globals_at),
            global_table: ByteRange::between(globals_at, start),
            columns,
            global_buffers,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn footer(numbers: [u64; 3], counts: [u32; 2], version: [u16; 2]) -> Vec<u8> {
        let mut bytes: Vec<u8> = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
        bytes.extend(counts.iter().flat_map(|n| n.to_le_bytes()));
        bytes.extend(version.iter().flat_map(|n| n.to_le_bytes()));
        bytes.extend(MAGIC);
        bytes
    }

    #[test]
    fn tables_must_fit() {
        let good = Footer::parse(&footer([95, 200, 216], [1, 1], [0, 3]), 272).unwrap();
        assert_eq!((good.version, good.columns, good.global_table.len()), (Version::V2_0, 1, 16));
        for bad in [[201, 200, 216], [95, 199, 216], [95, 200, 217], [95, 200, u64::MAX]] {
            assert_eq!(Footer::parse(&footer(bad, [1, 1], [0, 3]), 272).unwrap_err().code(), "bad_footer");
        }
    }

    #[test]
    fn unknown_versions_name_the_known_ones() {
        let error = Footer::parse(&footer([95, 200, 216], [1, 1], [2, 9]), 272).unwrap_err();
        assert_eq!(error.code(), "unknown_version");
        assert!(error.to_string().contains("2.9") && error.to_string().contains("2.2"));
        assert_eq!(Footer::parse(&footer([95, 200, 216], [1, 1], [0, 1]), 272).unwrap_err().code(), "unknown_version");
    }
}
