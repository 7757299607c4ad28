//! Mini-block pages: narrow values, cut into chunks that are decoded whole.
//!
//! | buffer | content |
//! |---|---|
//! | 0 | chunk words |
//! | 1 | the chunks |
//! | 2 | the dictionary, if there is one |
//! | last | the repetition index, if there are lists |
//!
//! A chunk: `u16` number of levels, `u16` bytes of repetition levels, `u16` bytes of definition levels (each if there
//! are such levels), `u16` or `u32` bytes of each value buffer; then these parts. Everything starts on a multiple of 8.

use super::block;
use super::chunk;
use super::compressive::Compressive;
use super::layers::{Layers, Levels};
use super::messages::MiniBlockLayout;
use super::search::Chunks;
use crate::bytes_at::{size, slice_at, u16_at, u32_at};
use crate::coroutine::{Io, coroutine};
use crate::encoding::{Decoded, Page, PageContext, PageSummary, Target, buffer_at, part_of};
use crate::nulls::with_nulls;
use crate::packed::split_records;
use crate::rows::Rows;
use crate::values::{Values, bad_values, wrong_type};
use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, PrimitiveArray, make_array};
use arrow::buffer::NullBuffer;
use arrow::compute::{TakeOptions, take};
use arrow::datatypes::{DataType, UInt8Type, UInt16Type, UInt32Type, UInt64Type};
use bytes::Bytes;
use colkit_core::{Boxed, ByteRange, Error, Result};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// A mini-block page.
pub(super) struct MiniBlock {
    context: PageContext,
    rep: Option<Compressive>,
    def: Option<Compressive>,
    values: Compressive,
    dictionary: Option<Compressive>,
    num_dictionary_items: u64,
    layers: Layers,
    num_buffers: usize,
    index_depth: u32,
    num_items: u64,
    large: bool,
    chunks: OnceLock<Chunks>,
    items: OnceLock<ArrayRef>,
}

/// Value buffers of a chunk: far fewer in practice.
const MOST_BUFFERS: u64 = 64;

impl MiniBlock {
    pub fn parse(layout: MiniBlockLayout, context: PageContext) -> Result<Self> {
        let values =
            layout.value_compression.ok_or_else(|| Error::corrupt("bad_encoding", "a page lacks its values"))?;
        let values = Compressive::parse(values)?;
        if layout.num_buffers != values.buffers() || layout.num_buffers > MOST_BUFFERS {
            return Err(Error::corrupt(
                "bad_encoding",
                format!("{values} needs {} buffers in a chunk, the page says {}", values.buffers(), layout.num_buffers),
            ));
        }
        let layers = Layers::parse(&layout.layers)?;
        if (layers.max_rep > 0) != layout.rep_compression.is_some()
            || (layers.max_rep > 0) != (layout.repetition_index_depth > 0)
        {
            return Err(Error::corrupt("bad_levels", "lists need repetition levels and an index, others have neither"));
        }
        if layout.def_compression.is_some() && layers.max_def == 0 {
            return Err(Error::corrupt("bad_levels", "definition levels although nothing can be null"));
        }
        if layers.max_rep == 0 && layout.num_items != context.length {
            return Err(Error::corrupt(
                "row_count_mismatch",
                format!("{} values in a page of {} rows", layout.num_items, context.length),
            ));
        }
        Ok(MiniBlock {
            rep: layout.rep_compression.map(Compressive::parse).transpose()?,
            def: layout.def_compression.map(Compressive::parse).transpose()?,
            dictionary: layout.dictionary.map(Compressive::parse).transpose()?,
            values,
            num_dictionary_items: layout.num_dictionary_items,
            layers,
            num_buffers: size(layout.num_buffers)?,
            index_depth: layout.repetition_index_depth,
            num_items: layout.num_items,
            large: layout.has_large_chunk,
            chunks: OnceLock::new(),
            items: OnceLock::new(),
            context,
        })
    }

    fn buffer(&self, index: usize, what: &str) -> Result<ByteRange> {
        buffer_at(&self.context.buffers, index, what)
    }

    /// Fetches what is needed to find rows, unless it is known already.
    async fn prepare(&self, io: &Io, target: &Target) -> Result<&Chunks> {
        if let (Some(known), true) = (self.chunks.get(), self.dictionary.is_none() || self.items.get().is_some()) {
            return Ok(known);
        }
        let mut ranges = vec![self.buffer(0, "the chunk words")?];
        if self.dictionary.is_some() {
            ranges.push(self.buffer(2, "the dictionary")?);
        }
        if self.index_depth > 0 {
            ranges.push(self.buffer(2 + usize::from(self.dictionary.is_some()), "the repetition index")?);
        }
        let mut fetched = io.read(ranges).await?.into_iter();
        let words = fetched.next().unwrap_or_default();
        if let Some(encoding) = &self.dictionary {
            let value_type = match target.field.data_type() {
                DataType::Dictionary(_, value) => value,
                other => other,
            };
            let (bytes, count) = (fetched.next().unwrap_or_default(), size(self.num_dictionary_items)?);
            let items = block::array(encoding, &bytes, count, value_type, &self.context.limits);
            let items = items.map_err(|e| e.part("dictionary"))?;
            let _ = self.items.set(items);
        }
        let mut chunks = Chunks::parse(&words, self.large, self.num_items, self.buffer(1, "the chunks")?.len())?;
        if self.index_depth > 0 {
            chunks = chunks.with_rows(&fetched.next().unwrap_or_default(), self.index_depth, self.context.length)?;
        }
        Ok(self.chunks.get_or_init(|| chunks))
    }

    async fn read_rows(&self, io: &Io, rows: Rows, target: &Target) -> Result<Decoded> {
        self.layers.check(&target.around)?;
        let chunks = self.prepare(io, target).await?;
        let runs = runs(chunks, &rows);
        let data = self.buffer(1, "the chunks")?;
        let ranges = runs.iter().map(|run| part_of(data, chunks.bytes(&run.chunks))).collect::<Result<Vec<_>>>()?;
        let fetched = io.read(ranges).await?;

        let kind = match (&self.dictionary, target.field.data_type()) {
            (Some(_), _) => &DataType::Null,
            (None, other) => other,
        };
        let mut decoded = Decoding {
            page: self,
            chunks,
            values: chunk::collector(&self.values, kind, size(rows.len())?)?,
            levels: Levels {
                rep: self.rep.is_some().then(Vec::new),
                def: self.def.is_some().then(Vec::new),
                entries: 0,
            },
        };
        for (run, bytes) in runs.iter().zip(&fetched) {
            if self.rep.is_some() {
                decoded.run_with_lists(run, bytes)?;
            } else {
                decoded.run(run, bytes)?;
            }
        }
        let Decoding { values, levels, .. } = decoded;
        let (nulls, layers) = self.layers.unravel(levels, &target.around)?;
        Ok(Decoded::Shaped { values: self.finish(values, nulls, target)?, layers })
    }

    fn finish(&self, values: Values, nulls: Option<NullBuffer>, target: &Target) -> Result<ArrayRef> {
        let data_type = target.field.data_type();
        if let Some(items) = self.items.get() {
            return look_up(values, nulls, items, data_type);
        }
        match (&self.values, values) {
            (Compressive::PackedStruct { .. }, Values::Fixed { width, data }) => {
                let count = data.len().checked_div(width).unwrap_or(0);
                with_nulls(split_records(&data, width, count, data_type)?, nulls)
            }
            (_, values) => values.array(data_type, nulls),
        }
    }
}

/// Consecutive chunks, and the wanted rows of the page that lie in them.
struct Run {
    chunks: Range<usize>,
    rows: Vec<Range<u64>>,
}

fn runs(chunks: &Chunks, rows: &Rows) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for range in rows.ranges() {
        let held = chunks.holding(range);
        match runs.last_mut() {
            Some(last) if held.start < last.chunks.end => {
                last.chunks.end = last.chunks.end.max(held.end);
                last.rows.push(range.clone());
            }
            _ => runs.push(Run { chunks: held, rows: vec![range.clone()] }),
        }
    }
    runs
}

/// The parts of a chunk.
struct Parts<'a> {
    levels: usize,
    rep: &'a [u8],
    def: &'a [u8],
    values: Vec<&'a [u8]>,
}

/// Rows of a page while they are decoded.
struct Decoding<'a> {
    page: &'a MiniBlock,
    chunks: &'a Chunks,
    values: Values,
    levels: Levels,
}

impl<'a> Decoding<'a> {
    /// The bytes of one chunk of a run.
    fn chunk_bytes<'b>(&self, run: &Run, chunk: usize, bytes: &'b Bytes) -> Result<&'b [u8]> {
        let (all, own) = (self.chunks.bytes(&run.chunks), self.chunks.bytes(&(chunk..chunk + 1)));
        slice_at(bytes, size(own.start - all.start)?, size(own.end - own.start)?)
    }

    fn parts<'b>(&self, chunk: &'b [u8]) -> Result<Parts<'b>> {
        let page = self.page;
        let levels = usize::from(u16_at(chunk, 0)?);
        let mut at = 2;
        let mut small = |present: bool| -> Result<usize> {
            if !present {
                return Ok(0);
            }
            at += 2;
            Ok(usize::from(u16_at(chunk, at - 2)?))
        };
        let (rep_size, def_size) = (small(page.rep.is_some())?, small(page.def.is_some())?);
        let mut sizes = [0usize; 8];
        let mut more = Vec::new();
        for i in 0..page.num_buffers {
            let buffer_size =
                if page.large { size(u32_at(chunk, at)?.into())? } else { usize::from(u16_at(chunk, at)?) };
            at += if page.large { 4 } else { 2 };
            match sizes.get_mut(i) {
                Some(slot) => *slot = buffer_size,
                None => more.push(buffer_size),
            }
        }
        let mut at = at.next_multiple_of(8);
        let mut part = |len: usize, present: bool| -> Result<&'b [u8]> {
            if !present {
                return Ok(&[]);
            }
            let part = slice_at(chunk, at, len)?;
            at = at.saturating_add(len).next_multiple_of(8);
            Ok(part)
        };
        let (rep, def) = (part(rep_size, page.rep.is_some())?, part(def_size, page.def.is_some())?);
        let sizes = sizes.iter().chain(&more).take(page.num_buffers);
        let values = sizes.map(|len| part(*len, true)).collect::<Result<Vec<_>>>()?;
        Ok(Parts { levels, rep, def, values })
    }

    fn append(&mut self, chunk: usize, parts: &Parts<'_>, wanted: &[Range<usize>]) -> Result<()> {
        let all = self.chunks.values(chunk);
        let count = size(all.end - all.start)?;
        if wanted.last().is_some_and(|w| w.end > count) {
            return Err(Error::corrupt("bad_chunk", format!("{wanted:?} of {count} values")));
        }
        let (encoding, limits) = (&self.page.values, &self.page.context.limits);
        chunk::append(encoding, &parts.values, count, wanted, &mut self.values, limits)
    }

    /// Without lists a row is a value.
    fn run(&mut self, run: &Run, bytes: &Bytes) -> Result<()> {
        let mut rows = run.rows.iter().cloned().peekable();
        let mut wanted: Vec<Range<usize>> = Vec::new();
        for chunk in run.chunks.clone() {
            let own = self.chunks.values(chunk);
            wanted.clear();
            while let Some(range) = rows.peek_mut().filter(|r| r.start < own.end) {
                let end = range.end.min(own.end);
                wanted.push(size(range.start - own.start)?..size(end - own.start)?);
                range.start = end;
                if range.start < range.end {
                    break;
                }
                rows.next();
            }
            let parts = self.parts(self.chunk_bytes(run, chunk, bytes)?)?;
            self.append(chunk, &parts, &wanted)?;
            let count: usize = wanted.iter().map(Range::len).sum();
            self.levels.entries += count;
            if let (Some(encoding), Some(def)) = (&self.page.def, &mut self.levels.def) {
                let limits = &self.page.context.limits;
                let all = size(own.end - own.start)?;
                if parts.levels != all {
                    return Err(Error::corrupt("bad_levels", format!("{} levels for {all} values", parts.levels)));
                }
                if count == all {
                    block::levels(encoding, parts.def, all, def, limits)?;
                } else {
                    let mut levels = Vec::with_capacity(all);
                    block::levels(encoding, parts.def, all, &mut levels, limits)?;
                    wanted.iter().for_each(|w| def.extend_from_slice(levels.get(w.clone()).unwrap_or_default()));
                }
            }
        }
        Ok(())
    }

    /// With lists, the levels of the whole run tell which entries and values belong to which row.
    fn run_with_lists(&mut self, run: &Run, bytes: &Bytes) -> Result<()> {
        let limits = &self.page.context.limits;
        let (mut rep, mut def) = (Vec::new(), Vec::new());
        let mut chunks = Vec::with_capacity(run.chunks.len());
        for chunk in run.chunks.clone() {
            let parts = self.parts(self.chunk_bytes(run, chunk, bytes)?)?;
            if let Some(encoding) = &self.page.rep {
                block::levels(encoding, parts.rep, parts.levels, &mut rep, limits)?;
            }
            if let Some(encoding) = &self.page.def {
                block::levels(encoding, parts.def, parts.levels, &mut def, limits)?;
            }
            chunks.push((chunk, parts));
        }
        let first_value = self.chunks.values(run.chunks.start).start;
        let mut cursor = Cursor {
            layers: &self.page.layers,
            rep: &rep,
            def: &def,
            row: self.chunks.first_row(run.chunks.start),
            entry: 0,
            value: 0,
        };
        let mut wanted_values: Vec<Range<u64>> = Vec::with_capacity(run.rows.len());
        for rows in &run.rows {
            let (from_entry, from_value) = cursor.seek(rows.start)?;
            let (to_entry, to_value) = cursor.seek(rows.end)?;
            self.levels.entries += to_entry - from_entry;
            if let Some(out) = &mut self.levels.rep {
                out.extend_from_slice(rep.get(from_entry..to_entry).unwrap_or_default());
            }
            if let Some(out) = &mut self.levels.def {
                out.extend_from_slice(def.get(from_entry..to_entry).unwrap_or_default());
            }
            if to_value > from_value {
                wanted_values.push(first_value + from_value..first_value + to_value);
            }
        }
        let mut values = wanted_values.into_iter().peekable();
        let mut wanted = Vec::new();
        for (chunk, parts) in &chunks {
            let own = self.chunks.values(*chunk);
            wanted.clear();
            while let Some(range) = values.peek_mut().filter(|r| r.start < own.end) {
                let end = range.end.min(own.end);
                wanted.push(size(range.start - own.start)?..size(end - own.start)?);
                range.start = end;
                if range.start < range.end {
                    break;
                }
                values.next();
            }
            if !wanted.is_empty() {
                self.append(*chunk, parts, &wanted)?;
            }
        }
        if values.next().is_some() {
            return Err(Error::corrupt("bad_levels", "the levels count more values than the chunks hold"));
        }
        Ok(())
    }
}

/// Walks the entries of a run from row to row.
struct Cursor<'a> {
    layers: &'a Layers,
    rep: &'a [u16],
    def: &'a [u16],
    /// The row that the next row start begins.
    row: u64,
    entry: usize,
    value: u64,
}

impl Cursor<'_> {
    /// The entry at which a row starts, and the values before it. Past the last row that is the end of the run.
    fn seek(&mut self, row: u64) -> Result<(usize, u64)> {
        loop {
            match self.rep.get(self.entry) {
                Some(rep) if *rep == self.layers.max_rep => {
                    if self.row == row {
                        return Ok((self.entry, self.value));
                    }
                    self.row += 1;
                }
                Some(_) => {}
                None if self.row == row => return Ok((self.entry, self.value)),
                None => {
                    return Err(Error::corrupt(
                        "bad_levels",
                        format!("row {row} is not where the repetition index says: the levels end at row {}", self.row),
                    ));
                }
            }
            let visible =
                !self.layers.hides() || self.def.get(self.entry).is_none_or(|d| *d <= self.layers.max_visible);
            self.value += u64::from(visible);
            self.entry += 1;
        }
    }
}

/// Turns indices into what they stand for.
fn look_up(values: Values, nulls: Option<NullBuffer>, items: &ArrayRef, data_type: &DataType) -> Result<ArrayRef> {
    let Values::Fixed { width, data } = values else {
        return Err(wrong_type("indices of no fixed width", data_type));
    };
    if let DataType::Dictionary(key, _) = data_type {
        if key.primitive_width() != Some(width) {
            return Err(wrong_type(&format!("indices of {width} bytes"), data_type));
        }
        let count = data.len() / width.max(1);
        let nulls = nulls.filter(|n| n.null_count() > 0);
        let array = arrow::array::ArrayData::builder(data_type.clone())
            .len(count)
            .nulls(nulls)
            .align_buffers(true)
            .add_buffer(data.into())
            .add_child_data(items.to_data());
        return Ok(make_array(array.build().map_err(bad_values)?));
    }
    match width {
        1 => look_up_in::<UInt8Type>(data.into(), nulls, items),
        2 => look_up_in::<UInt16Type>(data.into(), nulls, items),
        4 => look_up_in::<UInt32Type>(data.into(), nulls, items),
        8 => look_up_in::<UInt64Type>(data.into(), nulls, items),
        _ => Err(wrong_type(&format!("indices of {width} bytes"), data_type)),
    }
}

fn look_up_in<T: ArrowPrimitiveType>(
    data: arrow::buffer::Buffer,
    nulls: Option<NullBuffer>,
    items: &ArrayRef,
) -> Result<ArrayRef> {
    let count = data.len() / size_of::<T::Native>();
    let indices = arrow::buffer::ScalarBuffer::<T::Native>::new(data, 0, count);
    let indices = PrimitiveArray::<T>::try_new(indices, nulls).map_err(bad_values)?;
    take(items, &indices, Some(TakeOptions { check_bounds: true })).map_err(bad_values)
}

impl Page for MiniBlock {
    fn summary(&self) -> PageSummary {
        let values = match &self.dictionary {
            Some(dictionary) => {
                format!("dictionary({}, {dictionary}, {} items)", self.values, self.num_dictionary_items)
            }
            None => self.values.to_string(),
        };
        let levels = |what: &str, encoding: &Option<Compressive>| {
            encoding.as_ref().map(|e| format!(", {what} {e}")).unwrap_or_default()
        };
        let encoding = format!("{values}{}{}", levels("repetition", &self.rep), levels("definition", &self.def));
        let mut buffers = vec!["chunk words".to_owned(), format!("chunks of {encoding}")];
        buffers.extend(self.dictionary.as_ref().map(|d| format!("dictionary: {d}")));
        buffers.extend((self.index_depth > 0).then(|| "repetition index".to_owned()));
        PageSummary { layout: "mini_block".into(), encoding, buffers, values: Some(self.num_items) }
    }

    fn read(self: Arc<Self>, rows: Rows, target: Target) -> Boxed<Decoded> {
        coroutine(move |io| async move { self.read_rows(&io, rows, &target).await })
    }
}
