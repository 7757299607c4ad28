//! Runs of chunks: from their bytes to levels and values of the wanted rows.
//!
//! Without lists a row is a value and chunks are independent. With lists a row may span chunks, so the levels of a whole
//! run are decoded first; they tell which entries and values belong to which row.

use super::compression::as_block;
use super::layers::{Layers, Levels};
use super::mini_block::MiniBlock;
use super::search::Chunks;
use crate::bytes_at::{size, slice_at, u16_at, u32_at};
use crate::encoding::{Chunk, InChunks, Output, Validity};
use crate::rows::Rows;
use crate::values::Values;
use bytes::Bytes;
use colkit_core::pool::Pooled;
use colkit_core::{Error, Limits, Result};
use std::iter::Peekable;
use std::ops::Range;

/// Consecutive chunks, and the wanted rows of the page that lie in them.
pub(super) struct Run {
    pub chunks: Range<usize>,
    pub rows: Vec<Range<u64>>,
}

/// The chunks that must be read, as few as possible.
pub(super) fn runs(chunks: &Chunks, rows: &Rows) -> Vec<Run> {
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
pub(super) struct Decoding<'a> {
    pub page: &'a MiniBlock,
    pub chunks: &'a Chunks,
    pub decoder: &'a dyn InChunks,
    pub values: Values,
    pub levels: Levels,
    /// What the decoder says about nulls.
    pub validity: Validity,
    /// Memory that is kept from chunk to chunk.
    pub unpacked: Pooled,
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
        let (limits, scratch) = (&self.page.context.limits, &mut self.unpacked);
        self.validity.begin(self.values.len());
        let validity = Some(&mut self.validity);
        let chunk = Chunk { buffers: &parts.values, count, wanted, limits, scratch, validity };
        self.decoder.append(chunk, Output(&mut self.values))?;
        Limits::check_memory("the values of one batch", self.values.bytes(), limits.memory)
    }

    /// Without lists a row is a value.
    pub fn run(&mut self, run: &Run, bytes: &Bytes) -> Result<()> {
        let mut rows = run.rows.iter().cloned().peekable();
        let mut wanted: Vec<Range<usize>> = Vec::new();
        for chunk in run.chunks.clone() {
            let own = self.chunks.values(chunk);
            next_within(&mut rows, &own, &mut wanted)?;
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
                    as_block(encoding.as_ref())?.levels(parts.def, all, limits, def)?;
                } else {
                    let mut levels = Vec::with_capacity(all);
                    as_block(encoding.as_ref())?.levels(parts.def, all, limits, &mut levels)?;
                    wanted.iter().for_each(|w| def.extend_from_slice(levels.get(w.clone()).unwrap_or_default()));
                }
            }
        }
        Ok(())
    }

    /// With lists, the levels of the whole run tell which entries and values belong to which row.
    pub fn run_with_lists(&mut self, run: &Run, bytes: &Bytes) -> Result<()> {
        let limits = &self.page.context.limits;
        let (mut rep, mut def) = (Vec::new(), Vec::new());
        let mut chunks = Vec::with_capacity(run.chunks.len());
        for chunk in run.chunks.clone() {
            let parts = self.parts(self.chunk_bytes(run, chunk, bytes)?)?;
            let before = rep.len();
            if let Some(encoding) = &self.page.rep {
                as_block(encoding.as_ref())?.levels(parts.rep, parts.levels, limits, &mut rep)?;
            }
            if let Some(encoding) = &self.page.def {
                as_block(encoding.as_ref())?.levels(parts.def, parts.levels, limits, &mut def)?;
            }
            let own = (rep.get(before..).unwrap_or_default(), def.get(before..).unwrap_or_default());
            self.check(chunk, parts.levels, own).map_err(|e| e.part(format!("chunk {chunk}")))?;
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
            next_within(&mut values, &own, &mut wanted)?;
            if !wanted.is_empty() {
                self.append(*chunk, parts, &wanted)?;
            }
        }
        Ok(())
    }

    /// An error unless the levels of a chunk have the rows and values that the page says.
    fn check(&self, chunk: usize, levels: usize, (rep, def): (&[u16], &[u16])) -> Result<()> {
        let layers = &self.page.layers;
        self.chunks.check_rows(chunk, rep, layers.max_rep)?;
        let own = self.chunks.values(chunk);
        let (said, found) = (own.end - own.start, if self.page.def.is_some() { layers.visible(def) } else { levels });
        if found as u64 != said {
            return Err(Error::corrupt("bad_levels", format!("the levels have {found} values, the chunk {said}")));
        }
        Ok(())
    }
}

/// Takes the parts of `ranges` that lie before the end of `own`, counted from its start.
fn next_within<I: Iterator<Item = Range<u64>>>(
    ranges: &mut Peekable<I>,
    own: &Range<u64>,
    wanted: &mut Vec<Range<usize>>,
) -> Result<()> {
    wanted.clear();
    while let Some(range) = ranges.peek_mut().filter(|r| r.start < own.end) {
        let end = range.end.min(own.end);
        wanted.push(size(range.start - own.start)?..size(end - own.start)?);
        range.start = end;
        if range.start < range.end {
            break;
        }
        ranges.next();
    }
    Ok(())
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
