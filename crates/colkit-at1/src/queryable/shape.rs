//! Rows of one shape in groups, each column of each group packed alone: the heart of qcolumnar (7), qjson (8) and, several
//! times over, qjson2 (11).
//!
//! | stream      | content |
//! |-------------|---------|
//! | `meta`      | `uv` nlines, byte trailing, (qcolumnar: `lp` delim), `uv` ncols, `uv` rg, `uv` n_struct, `uv` nrg, ncols type bytes |
//! | `row_modes` | nlines bytes: 0 verbatim, 1 structured |
//! | `verbatim`  | cells: the lines that are not rows |
//! | `template`  | qjson: `uv` ncols + 1, then so many `lp` segments around the values |
//! | `paths`     | qjson: `uv` ncols, then so many `lp` names |
//! | `index`     | for each group, for each column: `uv` length; type 1: `sv` min, `sv` max; type 2: f64 min, f64 max |
//! | `blocks`    | the blocks in the same order; a block is a byte tag (0 xz, 1 zstd) and its payload |
//!
//! Types: 0 text, 1 integer, 2 decimal. A block unpacks to the cells of its column, one for each row of its group.
//! When `blocks` is stored, every block can be fetched from the file alone.

use crate::backend::Backend;
use crate::cursor::{Cursor, Place};
use crate::stream_set::Streams;
use bytes::Bytes;
use colkit_core::{ByteRange, Error, Result};
use std::ops::Range;

/// What a column holds, and so which zone map it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Anything.
    Text,
    /// Canonical integers of 64 bits.
    Integer,
    /// JSON numbers.
    Decimal,
}

/// The smallest and the largest value of a block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Zone {
    /// Not known: text.
    None,
    /// Of integers.
    Integer(i64, i64),
    /// Of decimals, as floats.
    Decimal(f64, f64),
}

/// One column of one group.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    /// Offset in `blocks`.
    pub at: u64,
    /// Length, tag included.
    pub length: u64,
    /// What its values lie between.
    pub zone: Zone,
}

/// Where the blocks are.
#[derive(Clone, Debug)]
pub enum Blocks {
    /// In the file as they are, from this offset on.
    File(u64),
    /// They had to be unpacked as a whole.
    Memory(Bytes),
}

/// What is printed around the values of a row.
#[derive(Clone, Debug)]
pub enum RowTemplate {
    /// This between each two.
    Delimiter(Bytes),
    /// These before, between and after them.
    Segments(Vec<Bytes>),
}

/// Rows of one shape.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Number of lines.
    pub nlines: u64,
    /// Whether a line end follows the last line.
    pub trailing: bool,
    /// The types of the columns.
    pub kinds: Vec<Kind>,
    /// The names of the columns, where the file has them.
    pub names: Option<Vec<Bytes>>,
    /// What is around the values.
    pub glue: RowTemplate,
    /// Rows per group; only the last group may have fewer.
    pub group_rows: u64,
    /// Number of structured rows.
    pub rows: u64,
    /// All blocks: for each group, for each column.
    pub index: Vec<Block>,
    /// Where the blocks are.
    pub blocks: Blocks,
    /// One byte per line: 0 verbatim, 1 structured.
    pub row_modes: Bytes,
    /// The lines that are not rows.
    pub verbatim: Bytes,
    /// What the names of its streams begin with: nothing, or `t0:` and so on.
    pub prefix: String,
}

impl Shape {
    /// Reads the shape whose streams' names begin with `prefix`.
    pub fn open(streams: &Streams, prefix: &str, delimited: bool) -> Result<Self> {
        let name = |stream: &str| format!("{prefix}{stream}");
        let meta_name = name("meta");
        let mut meta = streams.cursor(&meta_name);
        let nlines = meta.uv()?;
        let trailing = meta.flag("trailing")?;
        let delimiter = if delimited { Some(Bytes::copy_from_slice(meta.lp()?)) } else { None };
        let ncols = meta.uv()?;
        let group_rows = meta.uv()?;
        let rows = meta.uv()?;
        let groups = meta.uv()?;
        if group_rows == 0 {
            return Err(meta.corrupt("bad_count", "0 rows per group"));
        }
        if groups != rows.div_ceil(group_rows) {
            let message = format!("{groups} groups of {group_rows} for {rows} rows");
            return Err(meta.corrupt("bad_count", message));
        }
        let kinds = kinds(&mut meta, ncols)?;
        meta.finish()?;
        let modes_name = name("row_modes");
        let modes = streams.per_line(&modes_name, nlines, 1)?;
        let structured = modes.iter().map(|m| u64::from(*m)).sum::<u64>();
        if structured != rows {
            let message = format!("{rows} rows, but row_modes has {structured}");
            return Err(meta.corrupt("row_count_mismatch", message));
        }
        let (glue, names) = match delimiter {
            Some(delimiter) => (RowTemplate::Delimiter(delimiter), None),
            None => {
                let segments = segments(streams, &name("template"), kinds.len())?;
                (RowTemplate::Segments(segments), paths(streams, &name("paths"), kinds.len())?)
            }
        };
        let blocks_name = name("blocks");
        let (blocks, length) = match streams.in_file(&blocks_name) {
            Some(data) => (Blocks::File(data.start()), data.len()),
            None => {
                let bytes = streams.bytes(&blocks_name);
                let length = bytes.len() as u64;
                (Blocks::Memory(bytes), length)
            }
        };
        let index = index(streams.cursor(&name("index")), groups, &kinds, length)?;
        Ok(Shape {
            nlines,
            trailing,
            kinds,
            names,
            glue,
            group_rows,
            rows,
            index,
            blocks,
            row_modes: streams.bytes(&modes_name),
            verbatim: streams.bytes(&name("verbatim")),
            prefix: prefix.to_string(),
        })
    }

    /// Number of columns.
    pub fn width(&self) -> usize {
        self.kinds.len()
    }

    /// Number of groups.
    pub fn groups(&self) -> u64 {
        self.rows.div_ceil(self.group_rows)
    }

    /// The rows of a group.
    pub fn rows_of(&self, group: u64) -> Range<u64> {
        let start = group.saturating_mul(self.group_rows).min(self.rows);
        start..start.saturating_add(self.group_rows).min(self.rows)
    }

    /// The block of a column in a group.
    pub fn block(&self, group: u64, column: usize) -> Result<&Block> {
        let at = usize::try_from(group).ok().and_then(|g| g.checked_mul(self.width())?.checked_add(column));
        at.filter(|_| column < self.width())
            .and_then(|at| self.index.get(at))
            .ok_or_else(|| Error::internal(format!("there is no block of column {column} in group {group}")))
    }

    /// The bytes of all blocks of a group, in the file.
    pub fn file_range(&self, group: u64, columns: Range<usize>) -> Result<Option<ByteRange>> {
        let (Blocks::File(offset), Some(last)) = (&self.blocks, columns.end.checked_sub(1)) else { return Ok(None) };
        if columns.is_empty() {
            return Ok(None);
        }
        let (first, last) = (self.block(group, columns.start)?, self.block(group, last)?);
        let start = offset.saturating_add(first.at);
        Ok(Some(ByteRange::between(start, offset.saturating_add(last.at).saturating_add(last.length))))
    }

    /// The packed bytes of a block, if they are in memory.
    pub fn in_memory(&self, block: &Block) -> Option<Bytes> {
        match &self.blocks {
            Blocks::File(_) => None,
            Blocks::Memory(bytes) => {
                let start = usize::try_from(block.at).ok()?;
                let end = start.checked_add(usize::try_from(block.length).ok()?)?;
                (end <= bytes.len()).then(|| bytes.slice(start..end))
            }
        }
    }

    fn place<'a>(&self, stream: &'a str, block: &Block) -> (Place<'a>, usize) {
        let (offset, stored) = match self.blocks {
            Blocks::File(offset) => (offset, true),
            Blocks::Memory(_) => (0, false),
        };
        (Place { stream, offset, stored }, usize::try_from(block.at).unwrap_or(usize::MAX))
    }

    /// How many bytes the packed block of a column says it unpacks to.
    pub fn raw_size(&self, group: u64, column: usize, packed: &[u8]) -> Result<u64> {
        self.with_payload(group, column, packed, |backend, payload| backend.raw_size(payload))
    }

    fn with_payload<T>(
        &self,
        group: u64,
        column: usize,
        packed: &[u8],
        f: impl FnOnce(Backend, &[u8]) -> Result<T>,
    ) -> Result<T> {
        let block = self.block(group, column)?;
        let name = format!("{}blocks", self.prefix);
        let (place, at) = self.place(&name, block);
        let located = |e: Error| {
            let e = if place.stored { e.at(place.offset.saturating_add(at as u64)) } else { e.at(place.offset) };
            e.part(format!("block of column {column} in group {group}"))
        };
        match packed.split_first() {
            Some((tag @ (0 | 1), payload)) => {
                f(if *tag == 0 { Backend::Xz } else { Backend::Zstd }, payload).map_err(located)
            }
            tag => {
                let found = tag.map_or("nothing".to_string(), |(tag, _)| tag.to_string());
                let message = format!("block tag {found}, expected 0 (xz) or 1 (zstd)");
                Err(located(Error::corrupt("bad_block_tag", message)))
            }
        }
    }

    /// Unpacks the block of a column: exactly as many cells as its group has rows.
    pub fn unpack(&self, group: u64, column: usize, packed: &Bytes, limit: u64) -> Result<Bytes> {
        let rows = self.rows_of(group);
        self.with_payload(group, column, packed, |backend, payload| {
            let cells = backend.unpack(&packed.slice_ref(payload), limit)?;
            let found = memchr::memchr_iter(b'\n', &cells).count() as u64 + 1;
            let expected = rows.end - rows.start;
            if found != expected {
                let message = format!("{found} cells for a group of {expected} rows");
                return Err(Error::corrupt("row_count_mismatch", message));
            }
            Ok(cells)
        })
    }
}

fn kinds(meta: &mut Cursor<'_>, ncols: u64) -> Result<Vec<Kind>> {
    let before = meta.clone();
    let types = meta.take(ncols)?;
    let kind = |(at, id): (usize, &u8)| match id {
        0 => Ok(Kind::Text),
        1 => Ok(Kind::Integer),
        2 => Ok(Kind::Decimal),
        _ => {
            let mut place = before.clone();
            place.take(at as u64)?;
            Err(place.corrupt("bad_column_type", format!("column type {id}, expected 0, 1 or 2")))
        }
    };
    types.iter().enumerate().map(kind).collect()
}

fn segments(streams: &Streams, name: &str, ncols: usize) -> Result<Vec<Bytes>> {
    let mut template = streams.cursor(name);
    let segments = template.texts("segments")?;
    if segments.len() != ncols + 1 {
        let message = format!("{} segments around {ncols} values, expected one more than values", segments.len());
        return Err(template.corrupt("bad_count", message));
    }
    template.finish()?;
    Ok(segments.into_iter().map(Bytes::copy_from_slice).collect())
}

/// Names are for queries only: a file without them can still be restored.
fn paths(streams: &Streams, name: &str, ncols: usize) -> Result<Option<Vec<Bytes>>> {
    let mut paths = streams.cursor(name);
    if paths.left() == 0 {
        return Ok(None);
    }
    let names = paths.texts("paths")?;
    if names.len() != ncols {
        return Err(paths.corrupt("bad_count", format!("{} paths for {ncols} columns", names.len())));
    }
    paths.finish()?;
    Ok(Some(names.into_iter().map(Bytes::copy_from_slice).collect()))
}

fn index(mut index: Cursor<'_>, groups: u64, kinds: &[Kind], blocks: u64) -> Result<Vec<Block>> {
    let count = groups.checked_mul(kinds.len() as u64).and_then(|n| usize::try_from(n).ok());
    let Some(count) = count.filter(|n| *n <= index.left()) else {
        let message = format!("{groups} groups of {} blocks do not fit into {} bytes", kinds.len(), index.left());
        return Err(index.corrupt("bad_count", message));
    };
    let mut all = Vec::with_capacity(count);
    let mut at = 0u64;
    for kind in kinds.iter().cycle().take(count) {
        let before = index.clone();
        let length = index.uv()?;
        if length == 0 || length > blocks - at {
            let message = format!("a block of {length} bytes at {at} of {blocks}");
            return Err(before.corrupt("block_out_of_range", message));
        }
        let zone = match kind {
            Kind::Text => Zone::None,
            Kind::Integer => Zone::Integer(index.sv()?, index.sv()?),
            Kind::Decimal => Zone::Decimal(float(&mut index)?, float(&mut index)?),
        };
        all.push(Block { at, length, zone });
        at += length;
    }
    index.finish()?;
    if at != blocks {
        return Err(index.corrupt("bytes_left_over", format!("{} bytes of blocks belong to no block", blocks - at)));
    }
    Ok(all)
}

fn float(cursor: &mut Cursor<'_>) -> Result<f64> {
    let bytes = cursor.take(8)?;
    Ok(f64::from_le_bytes(<[u8; 8]>::try_from(bytes).unwrap_or_default()))
}
