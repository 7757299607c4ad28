//! Everything that differs between the three formats.
//!
//! ```text
//!               GPP                     CFF                     COLM
//! fixed header  0 magic  "GPP1"         0 magic  "CFF1"         0 magic  "COLM"
//!               4 version      u8  = 1  4 version      u32 = 1  4 version         u32 = 1
//!               5 endianness   u8  = 1  8 row count    u64      8 column count    u32
//!               6 reserved     2x  = 0  16 column count u32    12 row count       u32
//!               8 row count    u64                             16 metadata offset u64
//!              16 column count u32                             24 data offset     u64
//! entry         name length    u16      name length    u32     name length        u32
//!               name                    name                   name
//!               type           u8       type           u8      type               u8
//!               offset         u64      offset         u64     compressed size    u64
//!               compressed     u64      compressed     u64     uncompressed size  u64
//!               uncompressed   u64      uncompressed   u64     offset             u64
//! ```
//!
//! All numbers are little-endian, nothing is aligned, offsets count from the start of the file.

use colkit_core::{Error, Result};

/// How a string column's payload looks once inflated, for N rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StringLayout {
    /// `u32 offsets[N + 1]` into the bytes that follow them.
    Offsets,
    /// For each row a `u32` length and so many bytes.
    Lengths,
}

/// The type of a column, with its code in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlainType {
    Int32 = 1,
    Float64 = 2,
    Text = 3,
    Bool = 4,
}

impl PlainType {
    pub fn code(self) -> u8 {
        self as u8
    }

    pub fn name(self) -> &'static str {
        match self {
            PlainType::Int32 => "int32",
            PlainType::Float64 => "float64",
            PlainType::Text => "string",
            PlainType::Bool => "bool",
        }
    }
}

/// What the fixed part of a header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FixedHeader {
    pub rows: u64,
    pub columns: u32,
    /// Where the column entries start.
    pub metadata: u64,
    /// Where blocks may start, if the header says so.
    pub data: Option<u64>,
}

/// One of the three formats.
pub(crate) struct Dialect {
    pub name: &'static str,
    pub extensions: &'static [&'static str],
    pub magic: [u8; 4],
    /// Length of the fixed part of the header.
    pub fixed: usize,
    /// Length of the field that holds a name's length.
    pub name_length: usize,
    /// Whether an entry's block offset stands behind the two sizes.
    pub offset_last: bool,
    pub booleans: bool,
    pub strings: StringLayout,
    pub max_rows: u64,
    pub max_name: u64,
    /// Whether a table without columns (and rows) can be written.
    pub no_columns: bool,
    /// Reads the fixed header behind the magic. Gets exactly `fixed` bytes.
    pub parse_fixed: fn(&mut FieldReader<'_>) -> Result<FixedHeader>,
    pub write_fixed: fn(&FixedHeader, &mut Vec<u8>),
}

impl Dialect {
    /// Length of a column entry without its name.
    pub fn entry(&self) -> usize {
        self.name_length + 1 + 3 * 8
    }

    pub fn kind(&self, code: u8) -> Option<PlainType> {
        match code {
            1 => Some(PlainType::Int32),
            2 => Some(PlainType::Float64),
            3 => Some(PlainType::Text),
            4 if self.booleans => Some(PlainType::Bool),
            _ => None,
        }
    }

    pub fn error(&self, corrupt: Error) -> Error {
        corrupt.part(self.name)
    }
}

pub(crate) static GPP: Dialect = Dialect {
    name: "gppcol",
    extensions: &["gppcol"],
    magic: *b"GPP1",
    fixed: 20,
    name_length: 2,
    offset_last: false,
    booleans: true,
    strings: StringLayout::Offsets,
    max_rows: u64::MAX,
    max_name: u16::MAX as u64,
    no_columns: true,
    parse_fixed: |fields| {
        let version = fields.u8()?;
        check_version(version.into(), fields)?;
        let endianness = fields.u8()?;
        if endianness != 1 {
            let message = format!("expected endianness 1 (little-endian), found {endianness}");
            return Err(Error::unsupported("big_endian", message).at(5));
        }
        let reserved = fields.u16()?;
        if reserved != 0 {
            let message = format!("expected reserved bytes 00 00, found {:02x?}", reserved.to_le_bytes());
            return Err(Error::unsupported("bad_reserved", message)
                .at(6)
                .hint("a newer version may have written this file"));
        }
        Ok(FixedHeader { rows: fields.u64()?, columns: fields.u32()?, metadata: 20, data: None })
    },
    write_fixed: |header, out| {
        out.extend_from_slice(b"GPP1\x01\x01\0\0");
        out.extend_from_slice(&header.rows.to_le_bytes());
        out.extend_from_slice(&header.columns.to_le_bytes());
    },
};

pub(crate) static CFF: Dialect = Dialect {
    name: "cff",
    extensions: &["cff"],
    magic: *b"CFF1",
    fixed: 20,
    name_length: 4,
    offset_last: false,
    booleans: false,
    strings: StringLayout::Offsets,
    max_rows: u64::MAX,
    max_name: u32::MAX as u64,
    no_columns: false,
    parse_fixed: |fields| {
        let version = fields.u32()?;
        check_version(version, fields)?;
        Ok(FixedHeader { rows: fields.u64()?, columns: fields.u32()?, metadata: 20, data: None })
    },
    write_fixed: |header, out| {
        out.extend_from_slice(b"CFF1\x01\0\0\0");
        out.extend_from_slice(&header.rows.to_le_bytes());
        out.extend_from_slice(&header.columns.to_le_bytes());
    },
};

pub(crate) static COLM: Dialect = Dialect {
    name: "colfile",
    extensions: &["colfile"],
    magic: *b"COLM",
    fixed: 32,
    name_length: 4,
    offset_last: true,
    booleans: false,
    strings: StringLayout::Lengths,
    max_rows: u32::MAX as u64,
    max_name: u32::MAX as u64,
    no_columns: false,
    parse_fixed: |fields| {
        let version = fields.u32()?;
        check_version(version, fields)?;
        let (columns, rows) = (fields.u32()?, fields.u32()?);
        Ok(FixedHeader { rows: rows.into(), columns, metadata: fields.u64()?, data: Some(fields.u64()?) })
    },
    write_fixed: |header, out| {
        out.extend_from_slice(b"COLM\x01\0\0\0");
        out.extend_from_slice(&header.columns.to_le_bytes());
        // The writer refuses more rows than the field holds before it comes here.
        out.extend_from_slice(&u32::try_from(header.rows).unwrap_or(u32::MAX).to_le_bytes());
        out.extend_from_slice(&header.metadata.to_le_bytes());
        out.extend_from_slice(&header.data.unwrap_or(header.metadata).to_le_bytes());
    },
};

fn check_version(version: u32, fields: &FieldReader<'_>) -> Result<()> {
    if version == 1 {
        return Ok(());
    }
    Err(Error::unsupported("unknown_version", format!("expected version 1, found {version}"))
        .at(fields.start + 4)
        .hint("only version 1 is defined"))
}

/// Little-endian fields of a run of bytes that starts at a known offset of the file.
pub(crate) struct FieldReader<'a> {
    bytes: &'a [u8],
    start: u64,
    at: usize,
}

impl<'a> FieldReader<'a> {
    pub fn new(bytes: &'a [u8], start: u64) -> Self {
        FieldReader { bytes, start, at: 0 }
    }

    /// Bytes taken so far.
    pub fn taken(&self) -> usize {
        self.at
    }

    /// The file offset of the next field.
    pub fn offset(&self) -> u64 {
        self.start + self.at as u64
    }

    pub fn bytes(&mut self, length: usize) -> Result<&'a [u8]> {
        let end = self.at.checked_add(length);
        let Some(found) = end.and_then(|end| self.bytes.get(self.at..end)) else {
            let message = format!("expected {length} more bytes, found {}", self.bytes.len() - self.at);
            return Err(Error::corrupt("truncated", message).at(self.offset()));
        };
        self.at += length;
        Ok(found)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.bytes(N)?);
        Ok(array)
    }

    pub fn u8(&mut self) -> Result<u8> {
        Ok(u8::from_le_bytes(self.array()?))
    }

    pub fn u16(&mut self) -> Result<u16> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    pub fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }
}
