//! Opening a file: the fixed header, then one entry per column, then every check that needs no block.
//!
//! Only header bytes are asked for. CastMode long the entries are is known only once they are parsed, so they are fetched
//! in a few rounds, each as large as the rest must be at least.

use crate::dialect::{Dialect, FieldReader, FixedHeader, PlainType, StringLayout};
use crate::table::PlainTable;
use colkit_core::coroutine::{Io, coroutine};
use colkit_core::{Boxed, ByteRange, Error, Limits, ReadOptions, Result, Table};
use std::sync::Arc;

/// What the header says about one column.
#[derive(Clone, Debug)]
pub(crate) struct ColumnEntry {
    pub name: String,
    pub kind: PlainType,
    /// Where its zlib stream lies.
    pub block: ByteRange,
    /// Bytes it inflates to.
    pub raw: u64,
    /// Where its entry lies in the header.
    pub entry: ByteRange,
}

/// Opens a file of `size` bytes. Payloads larger than `largest_whole` will be streamed.
pub(crate) fn open(
    dialect: &'static Dialect,
    size: u64,
    options: &ReadOptions,
    largest_whole: u64,
) -> Boxed<Arc<dyn Table>> {
    let header =
        Header { dialect, size, options: options.clone(), metadata: Vec::new(), parsed: 0, columns: Vec::new() };
    coroutine(move |io| async move {
        let table = header.read(&io, largest_whole).await.map_err(|e| dialect.error(e.part("header")))?;
        let table: Arc<dyn Table> = Arc::new(table);
        Ok(table)
    })
}

/// A header being read.
struct Header {
    dialect: &'static Dialect,
    size: u64,
    options: ReadOptions,
    /// Bytes from the start of the entries on, as far as fetched.
    metadata: Vec<u8>,
    /// CastMode many of them are parsed.
    parsed: usize,
    columns: Vec<ColumnEntry>,
}

impl Header {
    async fn read(mut self, io: &Io, largest_whole: u64) -> Result<PlainTable> {
        let first = (self.dialect.fixed as u64).max(self.options.prefetch).min(self.size);
        if first == 0 {
            return Err(Error::corrupt("truncated", "the file is empty").at(0));
        }
        let head = io.read_one(ByteRange::between(0, first)).await?;
        let fixed = self.parse_fixed(&head)?;
        // What was fetched beyond the fixed header is metadata already.
        let start = usize::try_from(fixed.metadata).unwrap_or(usize::MAX);
        self.metadata.extend_from_slice(head.get(start..).unwrap_or_default());
        while self.columns.len() < fixed.columns as usize {
            let missing = self.parse_entry(&fixed)?;
            if missing > 0 {
                let more = io.read_one(self.next_fetch(&fixed, missing)).await?;
                self.metadata.extend_from_slice(&more);
            }
        }
        let header_end = fixed.metadata + self.parsed as u64;
        check_blocks(self.dialect, &fixed, &self.columns, header_end, self.size)?;
        let Header { dialect, size, columns, options, .. } = self;
        Ok(PlainTable::new(dialect, size, fixed, header_end, columns, options.limits, largest_whole))
    }

    /// The range that brings at least `missing` more bytes, and at least what the other entries need.
    fn next_fetch(&self, fixed: &FixedHeader, missing: u64) -> ByteRange {
        let others = (fixed.columns as usize - self.columns.len()).saturating_sub(1) * self.dialect.entry();
        let from = fixed.metadata + self.metadata.len() as u64;
        let wanted = missing.saturating_add(others as u64).max(self.options.prefetch);
        ByteRange::between(from, from.saturating_add(wanted).min(self.metadata_limit(fixed)))
    }

    /// Where the entries must have ended.
    fn metadata_limit(&self, fixed: &FixedHeader) -> u64 {
        fixed.data.unwrap_or(self.size)
    }

    fn parse_fixed(&self, head: &[u8]) -> Result<FixedHeader> {
        let magic = head.get(..4).unwrap_or(head);
        if !self.dialect.magic.starts_with(magic) {
            let (expected, found) = (self.dialect.magic.escape_ascii(), magic.escape_ascii());
            return Err(Error::corrupt("bad_magic", format!("expected magic \"{expected}\", found \"{found}\"")).at(0));
        }
        let Some(bytes) = head.get(4..self.dialect.fixed) else {
            let message = format!("expected {} bytes of header, the file has {}", self.dialect.fixed, self.size);
            return Err(Error::corrupt("truncated", message).at(self.size));
        };
        let fixed = (self.dialect.parse_fixed)(&mut FieldReader::new(bytes, 4))?;
        if fixed.columns == 0 && !self.dialect.no_columns {
            return Err(Error::corrupt("bad_column_count", "expected at least one column, found 0"));
        }
        if fixed.columns == 0 && fixed.rows > 0 {
            let message = format!("{} rows without a column cannot be", fixed.rows);
            return Err(Error::corrupt("bad_row_count", message).at(8));
        }
        if let Some(data) = fixed.data {
            let sections = format!("metadata at {}, data at {data}, file of {} bytes", fixed.metadata, self.size);
            if fixed.metadata < self.dialect.fixed as u64 || data <= fixed.metadata || data > self.size {
                let rule = "expected header end <= metadata < data <= file size";
                return Err(Error::corrupt("bad_section_offset", format!("{rule}, found {sections}")).at(16));
            }
        }
        let available = self.metadata_limit(&fixed).saturating_sub(fixed.metadata);
        let least = u64::from(fixed.columns) * self.dialect.entry() as u64;
        if least > available {
            let message = format!("{} columns need at least {least} bytes, {available} are there", fixed.columns);
            return Err(Error::corrupt("truncated", message).at(fixed.metadata));
        }
        self.options.limits.check_columns(fixed.columns.into())?;
        Ok(fixed)
    }

    /// Parses the next entry, or says how many bytes are missing for it.
    fn parse_entry(&mut self, fixed: &FixedHeader) -> Result<u64> {
        let number = self.columns.len();
        let at_column = |e: Error| e.part(format!("entry of column {number}"));
        let start = fixed.metadata + self.parsed as u64;
        let available = self.metadata.get(self.parsed..).unwrap_or_default();
        let room = self.metadata_limit(fixed).saturating_sub(start);
        let cut = |needed: u64| {
            let message = format!("expected {needed} bytes, {room} are left before the end of the header");
            at_column(Error::corrupt("truncated", message).at(start))
        };
        let missing = |needed: u64| {
            if needed > room { Err(cut(needed)) } else { Ok(needed.saturating_sub(available.len() as u64)) }
        };
        let least = self.dialect.entry() as u64;
        if missing(least)? > 0 {
            return missing(least);
        }
        let mut fields = FieldReader::new(available, start);
        let name_length = if self.dialect.name_length == 2 { fields.u16()?.into() } else { fields.u32()? };
        let length = least + u64::from(name_length);
        let lacking = missing(length)?;
        Limits::check("a column name", name_length.into(), self.options.limits.name_bytes).map_err(at_column)?;
        if lacking > 0 {
            return Ok(lacking);
        }
        let name_offset = fields.offset();
        let name = std::str::from_utf8(fields.bytes(name_length as usize)?).map_err(|e| {
            let message = format!("the name is not UTF-8 ({e})");
            at_column(Error::corrupt("bad_name", message).at(name_offset))
        })?;
        let type_offset = fields.offset();
        let code = fields.u8()?;
        let Some(kind) = self.dialect.kind(code) else {
            let known = if self.dialect.booleans { "1, 2, 3 or 4" } else { "1, 2 or 3" };
            let message = format!("column {name:?}: expected type {known}, found {code}");
            return Err(at_column(Error::unsupported("unknown_type", message).at(type_offset)));
        };
        let (first, second, third) = (fields.u64()?, fields.u64()?, fields.u64()?);
        let (offset, stored, raw) =
            if self.dialect.offset_last { (third, first, second) } else { (first, second, third) };
        let block = ByteRange::at(offset, stored).map_err(at_column)?;
        let entry = ByteRange::between(start, start + length);
        self.columns.push(ColumnEntry { name: name.to_string(), kind, block, raw, entry });
        self.parsed += fields.taken();
        Ok(0)
    }
}

/// Rules that tie blocks, sizes and rows together.
fn check_blocks(
    dialect: &Dialect,
    fixed: &FixedHeader,
    columns: &[ColumnEntry],
    header_end: u64,
    size: u64,
) -> Result<()> {
    let data = fixed.data.unwrap_or(header_end);
    for (number, column) in columns.iter().enumerate() {
        let wrong = |code, message: String| {
            let part = format!("entry of column {number} {:?}", column.name);
            Err(Error::corrupt(code, message).at(column.entry.start()).part(part))
        };
        let (block, raw) = (column.block, column.raw);
        if block.start() < data || block.end() > size {
            return wrong("block_out_of_range", format!("expected a block inside {data}..{size}, found {block}"));
        }
        let (least, most) = payload_size(dialect, column.kind, fixed.rows);
        if u128::from(raw) < least || u128::from(raw) > most {
            let expected = if least == most { format!("{least}") } else { format!("{least} to {most}") };
            let rows = format!("{} rows of {}", fixed.rows, column.kind.name());
            return wrong("size_mismatch", format!("{rows} inflate to {expected} bytes, found {raw}"));
        }
        // DEFLATE yields at most 258 bytes from 2 bits.
        if u128::from(raw) > 1032 * u128::from(block.len()) {
            return wrong("size_impossible", format!("{} bytes cannot inflate to {raw}", block.len()));
        }
    }
    let mut blocks: Vec<(ByteRange, usize)> = columns.iter().enumerate().map(|(i, c)| (c.block, i)).collect();
    blocks.retain(|(block, _)| !block.is_empty());
    blocks.sort_unstable();
    for pair in blocks.windows(2) {
        if let [(first, a), (second, b)] = pair
            && second.start() < first.end()
        {
            let message = format!("the blocks of columns {a} ({first}) and {b} ({second}) overlap");
            return Err(Error::corrupt("block_overlap", message).at(second.start()));
        }
    }
    Ok(())
}

/// The smallest and largest payload that `rows` values can have.
pub(crate) fn payload_size(dialect: &Dialect, kind: PlainType, rows: u64) -> (u128, u128) {
    let rows = u128::from(rows);
    let longest = u128::from(u32::MAX);
    match (kind, dialect.strings) {
        (PlainType::Int32, _) => (4 * rows, 4 * rows),
        (PlainType::Float64, _) => (8 * rows, 8 * rows),
        (PlainType::Bool, _) => (rows, rows),
        (PlainType::Text, StringLayout::Offsets) if rows == 0 => (4, 4),
        (PlainType::Text, StringLayout::Offsets) => (4 * (rows + 1), 4 * (rows + 1) + longest),
        (PlainType::Text, StringLayout::Lengths) => (4 * rows, 4 * rows + rows * longest),
    }
}
