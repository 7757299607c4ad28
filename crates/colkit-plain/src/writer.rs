//! The writer: collects columns, then writes header and blocks in one pass at the end.
//!
//! Nothing is written to the sink before the last row is known, so the sink need not seek and a failure leaves nothing
//! behind. Memory is bounded by the budget; see `spill`.

use crate::convert::{ColumnConversion, PlainValues};
use crate::dialect::{Dialect, FixedHeader, PlainType, StringLayout};
use crate::spill::{self, Block, ColumnBuffer, SpillFile};
use arrow::array::{Array, GenericStringArray, OffsetSizeTrait};
use arrow::datatypes::{Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use colkit_core::drive::parallel;
use colkit_core::{Error, Result, Sink, TableWriter, WriteOptions, WriteSummary, check_batch, unique_names};

const DEFAULT_LEVEL: u32 = 6;

/// Parts smaller than this stay in memory when others are spilled: short segments compress badly.
const WORTH_SPILLING: usize = 64 << 10;

pub(crate) struct PlainWriter {
    dialect: &'static Dialect,
    schema: SchemaRef,
    sink: Box<dyn Sink>,
    columns: Vec<ColumnWriter>,
    rows: u64,
    spill: SpillFile,
    /// Bytes to hold at most.
    budget: usize,
    level: u32,
    threads: usize,
    notes: Vec<String>,
}

struct ColumnWriter {
    name: String,
    conversion: ColumnConversion,
    /// Values; or with [`StringLayout::Offsets`] the offsets and then the bytes.
    parts: Vec<ColumnBuffer>,
    /// Bytes of all strings so far.
    text: u64,
    filled: u64,
}

impl PlainWriter {
    pub fn new(
        dialect: &'static Dialect,
        schema: &SchemaRef,
        sink: Box<dyn Sink>,
        options: &WriteOptions,
    ) -> Result<Self> {
        let level = options.level.unwrap_or(DEFAULT_LEVEL);
        if level > 9 {
            return Err(Error::request("bad_level", format!("expected a zlib level from 0 to 9, found {level}")));
        }
        if schema.fields().is_empty() && !dialect.no_columns {
            return Err(Error::data("no_columns", format!("{} needs at least one column", dialect.name)));
        }
        let mut notes = Vec::new();
        let names = names(dialect, schema, options.rename_duplicates, &mut notes)?;
        let mut columns = Vec::with_capacity(names.len());
        for ((number, field), name) in schema.fields().iter().enumerate().zip(names) {
            let conversion = ColumnConversion::plan(field, number, dialect, options.types, options.nulls)?;
            notes.extend(conversion.note(field.data_type()));
            columns.push(ColumnWriter::new(dialect, name, conversion));
        }
        Ok(PlainWriter {
            dialect,
            schema: schema.clone(),
            sink,
            columns,
            rows: 0,
            spill: SpillFile::new(options.spill_folder.as_deref()),
            // The rest is for the batch that arrives.
            budget: usize::try_from(options.memory / 8 * 7).unwrap_or(usize::MAX),
            level,
            threads: options.threads,
            notes,
        })
    }

    fn spill_if_full(&mut self) -> Result<()> {
        // Never by the number of threads: the file is the same with any.
        if self.needed(2) <= self.budget {
            return Ok(());
        }
        let parts = || self.columns.iter().flat_map(|c| &c.parts);
        // On a very wide table no part may be large; then all of them must go.
        let least = if parts().any(|p| p.raw.len() >= WORTH_SPILLING) { WORTH_SPILLING } else { 1 };
        let parts = self.columns.iter_mut().flat_map(|c| &mut c.parts).filter(|p| p.raw.len() >= least);
        self.spill.spill(parts, self.level, self.threads)
    }
}

impl PlainWriter {
    /// What the columns take, and finishing them on so many threads: each has one in hand, joins its parts and compresses
    /// them. Blocks that are done take no more than the columns they replace.
    fn needed(&self, threads: usize) -> usize {
        let held: usize = self.columns.iter().flat_map(|c| &c.parts).map(ColumnBuffer::memory).sum();
        let mut sizes: Vec<usize> = self.columns.iter().map(|c| c.parts.iter().map(|p| p.raw.len()).sum()).collect();
        sizes.sort_unstable_by(|a, b| b.cmp(a));
        sizes.iter().take(threads).map(|size| size.saturating_mul(2)).fold(held, usize::saturating_add)
    }
}

/// The column names to write: each once, none too long.
fn names(dialect: &Dialect, schema: &Schema, rename: bool, notes: &mut Vec<String>) -> Result<Vec<String>> {
    for (number, field) in schema.fields().iter().enumerate() {
        if field.name().len() as u64 > dialect.max_name {
            let message = format!("a name may have {} bytes, found {}", dialect.max_name, field.name().len());
            return Err(Error::data("name_not_supported", message).part(format!("column {number}")));
        }
    }
    unique_names(schema, rename, notes)
}

impl ColumnWriter {
    fn new(dialect: &Dialect, name: String, conversion: ColumnConversion) -> Self {
        let mut parts = vec![ColumnBuffer::default()];
        if conversion.kind == PlainType::Text && dialect.strings == StringLayout::Offsets {
            parts.push(ColumnBuffer::default());
        }
        let mut column = ColumnWriter { name, conversion, parts, text: 0, filled: 0 };
        if let [offsets, _] = column.parts.as_mut_slice() {
            offsets.raw.extend_from_slice(&0u32.to_le_bytes());
        }
        column
    }

    fn append(&mut self, values: &PlainValues, row: u64) -> Result<()> {
        match values {
            PlainValues::Int32(v) => self.append_raw(bytemuck::cast_slice(v.values())),
            PlainValues::Float64(v) => self.append_raw(bytemuck::cast_slice(v.values())),
            PlainValues::Bool(v) => {
                if let Some(part) = self.parts.first_mut() {
                    part.make_room(v.len());
                    part.raw.extend(v.values().iter().map(u8::from));
                }
            }
            PlainValues::Text(v) => self.append_text(v, row)?,
            PlainValues::LargeText(v) => self.append_text(v, row)?,
        }
        Ok(())
    }

    fn append_raw(&mut self, bytes: &[u8]) {
        if let Some(part) = self.parts.first_mut() {
            part.make_room(bytes.len());
            part.raw.extend_from_slice(bytes);
        }
    }

    fn append_text<O: OffsetSizeTrait>(&mut self, text: &GenericStringArray<O>, row: u64) -> Result<()> {
        let offsets = text.value_offsets();
        let start = offsets.first().map_or(0, |o| o.as_usize());
        let end = offsets.last().map_or(0, |o| o.as_usize());
        let bytes = text.value_data().get(start..end).unwrap_or_default();
        match self.parts.as_mut_slice() {
            [ends, blob] => {
                if self.text + bytes.len() as u64 > u32::MAX.into() {
                    let message = format!("row {row} ff.: the strings of a column may have 2^32-1 bytes in all");
                    return Err(Error::data("column_too_large", message)
                        .part(format!("column {:?}", self.name))
                        .hint("split the table, or use a format without this limit, such as colfile"));
                }
                // Cannot be cut off: the sum was just checked to fit.
                let before = u32::try_from(self.text).unwrap_or(u32::MAX);
                let end = |o: &O| before + u32::try_from(o.as_usize() - start).unwrap_or(u32::MAX);
                let at = ends.raw.len();
                ends.make_room(4 * text.len());
                ends.raw.resize(at + 4 * text.len(), 0);
                let (slots, _) = ends.raw.get_mut(at..).unwrap_or_default().as_chunks_mut();
                for (slot, offset) in slots.iter_mut().zip(offsets.iter().skip(1)) {
                    *slot = end(offset).to_le_bytes();
                }
                blob.make_room(bytes.len());
                blob.raw.extend_from_slice(bytes);
            }
            [part] => {
                part.make_room(bytes.len() + 4 * text.len());
                for (i, value) in text.iter().enumerate() {
                    let value = value.unwrap_or_default();
                    let length = u32::try_from(value.len()).map_err(|_| {
                        let message = format!("row {}: a string may have 2^32-1 bytes", row + i as u64);
                        Error::data("value_too_large", message).part(format!("column {:?}", self.name))
                    })?;
                    part.raw.extend_from_slice(&length.to_le_bytes());
                    part.raw.extend_from_slice(value.as_bytes());
                }
            }
            _ => {}
        }
        self.text += bytes.len() as u64;
        Ok(())
    }

    fn raw_length(&self) -> u64 {
        self.parts.iter().map(ColumnBuffer::length).sum()
    }
}

impl TableWriter for PlainWriter {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        check_batch(&self.schema, batch)?;
        let rows = self.rows + batch.num_rows() as u64;
        if rows > self.dialect.max_rows {
            let message = format!("{} holds {} rows at most", self.dialect.name, self.dialect.max_rows);
            return Err(Error::data("too_many_rows", message).hint("split the table"));
        }
        if self.columns.is_empty() && rows > 0 {
            return Err(Error::data("no_columns", format!("{rows} rows without a column cannot be written")));
        }
        let row = self.rows;
        let columns = self.columns.iter_mut().zip(batch.columns()).collect();
        // Sharing out less than this would cost more than it saves.
        let threads = if batch.num_rows() * batch.num_columns() < 64 << 10 { 1 } else { self.threads };
        parallel::map(columns, threads, |(column, array)| {
            let (values, filled) = column.conversion.apply(array, row)?;
            column.filled += filled;
            column.append(&values, row)
        })?;
        self.rows = rows;
        self.spill_if_full()
    }

    fn finish(mut self: Box<Self>) -> Result<WriteSummary> {
        // Columns that are in the spill file already get their last segment; the others become plain streams.
        let started = self.columns.iter_mut().filter(|c| c.parts.iter().any(ColumnBuffer::is_spilled));
        self.spill.spill(started.flat_map(|c| &mut c.parts), self.level, self.threads)?;

        let fits = |threads: &usize| self.needed(*threads) <= self.budget;
        let threads = (1..=self.threads).rev().find(fits).unwrap_or(self.threads.min(2));
        let (mut entries, mut parts) = (Vec::new(), Vec::new());
        for column in self.columns {
            if column.filled > 0 {
                self.notes.push(format!("column {:?}: {} nulls filled in", column.name, column.filled));
            }
            entries.push((column.raw_length(), column.conversion.kind, column.name));
            parts.push(column.parts);
        }
        let level = self.level;
        let blocks = parallel::map(parts, threads, |parts| spill::finish(parts, level))?;

        let header = encode_header(self.dialect, self.rows, &entries, &blocks)?;
        self.sink.write(&header)?;
        for block in &blocks {
            block.write(&self.spill, self.sink.as_mut())?;
        }
        self.sink.commit()?;
        let bytes = header.len() as u64 + blocks.iter().map(Block::length).sum::<u64>();
        Ok(WriteSummary::new(self.rows, bytes, self.notes))
    }
}

/// The header for blocks that follow it and each other directly.
fn encode_header(
    dialect: &Dialect,
    rows: u64,
    entries: &[(u64, PlainType, String)],
    blocks: &[Block],
) -> Result<Vec<u8>> {
    let metadata = dialect.fixed as u64;
    let length = |(_, _, name): &(u64, PlainType, String)| (dialect.entry() + name.len()) as u64;
    let data = metadata + entries.iter().map(length).sum::<u64>();
    let columns = u32::try_from(entries.len())
        .map_err(|_| Error::data("too_many_columns", format!("{} columns are too many", entries.len())))?;
    let mut out = Vec::new();
    (dialect.write_fixed)(&FixedHeader { rows, columns, metadata, data: Some(data) }, &mut out);
    let mut offset = data;
    for ((raw, kind, name), block) in entries.iter().zip(blocks) {
        let name_length = u32::try_from(name.len()).unwrap_or(u32::MAX).to_le_bytes();
        out.extend(name_length.iter().take(dialect.name_length));
        out.extend_from_slice(name.as_bytes());
        out.push(kind.code());
        let stored = block.length();
        let numbers = if dialect.offset_last { [stored, *raw, offset] } else { [offset, stored, *raw] };
        out.extend(numbers.iter().flat_map(|n| n.to_le_bytes()));
        offset += stored;
    }
    Ok(out)
}
