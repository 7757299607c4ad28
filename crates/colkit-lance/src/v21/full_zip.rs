//! Full-zip pages: wide values. The levels and the bytes of an entry lie together, so a row is one range.
//!
//! | part of an entry | present |
//! |---|---|
//! | control word, 0, 1, 2 or 4 bytes: `rep << bits_def \| def` | if the page has levels |
//! | the value, `bits_per_value / 8` bytes | fixed width: if the entry has a value, null or not |
//! | length, 4 or 8 bytes, and the value | variable width: if the entry has a value that is not null |
//!
//! Buffer 0 holds the entries. Buffer 1, unless every row is equally long, says at which byte each row starts.

use super::compression::per_value;
use super::layers::{Layers, Levels};
use super::messages::{Details, FullZipLayout};
use crate::bytes_at::{cut, size, slice_at, times, uint_at};
use crate::coroutine::{Io, coroutine};
use crate::encoding::{Compression, Decoded, Page, PageBytes, PageContext, PageSummary, Target, buffer_at, part_of};
use crate::nulls::null_array;
use crate::rows::Rows;
use arrow::buffer::Buffer;
use bytes::Bytes;
use colkit_core::pool::Pooled;
use colkit_core::{Boxed, ByteRange, Error, Result};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// A full-zip page.
pub(super) struct FullZip {
    context: PageContext,
    bits_rep: u32,
    bits_def: u32,
    form: Form,
    values: Arc<dyn Compression>,
    layers: Layers,
    num_visible: u64,
    /// The row index, if it was worth keeping.
    index: OnceLock<Bytes>,
}

#[derive(Clone, Copy)]
enum Form {
    /// Values of so many bytes.
    Fixed(usize),
    /// Lengths of so many bytes before the values.
    Variable(usize),
}

/// A row index up to this size is read whole and kept.
const SMALL_INDEX: u64 = 64 << 10;

impl FullZip {
    pub fn parse(layout: FullZipLayout, context: PageContext) -> Result<Self> {
        let bad = |what: String| Error::corrupt("bad_encoding", what);
        let form = match layout.details {
            Some(Details::BitsPerValue(bits)) => Form::Fixed(crate::values::byte_width(bits.into())?),
            Some(Details::BitsPerOffset(32)) => Form::Variable(4),
            Some(Details::BitsPerOffset(64)) => Form::Variable(8),
            // A width of zero is not written down.
            None => Form::Fixed(0),
            Some(Details::BitsPerOffset(bits)) => return Err(bad(format!("lengths of {bits} bits"))),
        };
        if layout.bits_rep > 16 || layout.bits_def > 16 {
            return Err(Error::corrupt(
                "bad_levels",
                format!("levels of {} and {} bits", layout.bits_rep, layout.bits_def),
            ));
        }
        let layers = Layers::parse(&layout.layers)?;
        if (layers.max_rep > 0) != (layout.bits_rep > 0) && context.length > 0 {
            return Err(Error::corrupt("bad_levels", "lists and repetition levels do not go together"));
        }
        let values = layout.value_compression.ok_or_else(|| bad("a page lacks its values".into()))?;
        Ok(FullZip {
            bits_rep: layout.bits_rep,
            bits_def: layout.bits_def,
            form,
            values: context.compression(&values)?,
            layers,
            num_visible: layout.num_visible_items.into(),
            index: OnceLock::new(),
            context,
        })
    }

    fn control_width(&self) -> usize {
        match self.bits_rep + self.bits_def {
            0 => 0,
            1..=8 => 1,
            9..=16 => 2,
            _ => 4,
        }
    }

    /// Whether all rows are equally long, and how long.
    fn stride(&self) -> Option<u64> {
        match self.form {
            Form::Fixed(width) if self.bits_rep == 0 => Some((self.control_width() + width) as u64),
            _ => None,
        }
    }

    /// The bytes of buffer 0 that each range of rows needs, and how to walk through them.
    async fn row_bytes(&self, io: &Io, rows: &Rows) -> Result<Vec<(ByteRange, Walk)>> {
        let data = buffer_at(&self.context.buffers, 0, "the values")?;
        if let Some(stride) = self.stride() {
            let part = |r: &Range<u64>| {
                let bytes = part_of(data, times(r.start, stride)?..times(r.end, stride)?)?;
                Ok((bytes, Walk { rows: r.end - r.start, row: 0, starts: None }))
            };
            return rows.ranges().iter().map(part).collect();
        }
        let index = buffer_at(&self.context.buffers, 1, "the row index")?;
        let entries = self.context.length.saturating_add(1);
        let width = index.len() / entries;
        if !matches!(width, 1 | 2 | 4 | 8) || width * entries != index.len() {
            return Err(Error::corrupt("bad_encoding", format!("{} bytes for {entries} row starts", index.len())));
        }
        let worth_keeping = index.len() <= SMALL_INDEX || rows.ranges().len() as u64 > self.context.length / 32;
        let whole = match self.index.get() {
            Some(index) => Some(index.clone()),
            None if worth_keeping => {
                let bytes = io.read_one(index).await?;
                Some(self.index.get_or_init(|| bytes).clone())
            }
            None => None,
        };
        // Of each range the starts of its rows, and the end of the last.
        let entries = |r: &Range<u64>| Ok::<_, Error>(times(r.start, width)?..times(r.end.saturating_add(1), width)?);
        let parts = rows.ranges().iter().map(entries).collect::<Result<Vec<_>>>()?;
        let numbers: Vec<Bytes> = match whole {
            Some(whole) => {
                let part = |r: &Range<u64>| cut(&whole, size(r.start)?, size(r.end - r.start)?);
                parts.iter().map(part).collect::<Result<_>>()?
            }
            None => io.read(parts.into_iter().map(|r| part_of(index, r)).collect::<Result<_>>()?).await?,
        };
        let width = size(width)?;
        let part = |(numbers, r): (Bytes, &Range<u64>)| {
            let starts = Starts { first: uint_at(&numbers, 0, width)?, numbers, width };
            let rows = r.end - r.start;
            Ok((part_of(data, starts.first..starts.at(rows)?)?, Walk { rows, row: 0, starts: Some(starts) }))
        };
        numbers.into_iter().zip(rows.ranges()).map(part).collect()
    }

    async fn read_rows(&self, io: &Io, rows: Rows, target: &Target) -> Result<Decoded> {
        self.layers.check(&target.around)?;
        if rows.end() > self.context.length {
            return Err(Error::corrupt("row_count_mismatch", format!("row {} of {}", rows.end(), self.context.length)));
        }
        let (ranges, walks): (_, Vec<Walk>) = self.row_bytes(io, &rows).await?.into_iter().unzip();
        let mut fetched = io.read(ranges).await?;
        let mut levels =
            Levels { rep: (self.bits_rep > 0).then(Vec::new), def: (self.bits_def > 0).then(Vec::new), entries: 0 };
        let data_type = target.field.data_type();
        let limits = &self.context.limits;
        match self.form {
            Form::Fixed(0) => {
                // Lists of nothing but nulls: no byte is stored for their items.
                for (bytes, walk) in fetched.iter().zip(walks) {
                    self.split_fixed(bytes, 0, &mut levels, &mut Pooled::default(), walk)?;
                }
                let visible = levels.def.as_ref().map_or(levels.entries, |d| self.layers.visible(d));
                let (_, layers) = self.layers.unravel(levels, &target.around)?;
                Ok(Decoded::Shaped { values: null_array(data_type, visible as u64, limits)?, layers })
            }
            Form::Fixed(width) => {
                let data: Buffer = if self.control_width() == 0 && fetched.len() == 1 {
                    // Nothing but values, one after another: they stay where they were read to.
                    levels.entries = size(rows.len())?;
                    fetched.pop().unwrap_or_default().into()
                } else {
                    let mut data = Pooled::with_capacity(fetched.iter().map(Bytes::len).sum());
                    for (bytes, walk) in fetched.iter().zip(walks) {
                        self.split_fixed(bytes, width, &mut levels, &mut data, walk)?;
                    }
                    data.into_buffer()
                };
                let (nulls, layers) = self.layers.unravel(levels, &target.around)?;
                let values = per_value(self.values.as_ref())?.fixed(data, width, data_type, nulls, limits)?;
                Ok(Decoded::Shaped { values, layers })
            }
            Form::Variable(length_width) => {
                let mut raw = Vec::new();
                for (bytes, walk) in fetched.iter().zip(walks) {
                    self.split_variable(bytes, length_width, &mut levels, &mut raw, walk)?;
                }
                let (nulls, layers) = self.layers.unravel(levels, &target.around)?;
                let values = per_value(self.values.as_ref())?.variable(&raw, data_type, nulls, limits)?;
                Ok(Decoded::Shaped { values, layers })
            }
        }
    }

    /// Reads a control word.
    fn control(&self, word: u64, levels: &mut Levels) -> Control {
        let mask = |bits: u32| (1u64 << bits) - 1;
        let low = |x: u64| u16::try_from(x & 0xFFFF).unwrap_or(0);
        let (rep, def) = (low(word >> self.bits_def & mask(self.bits_rep)), low(word & mask(self.bits_def)));
        levels.entries += 1;
        if let Some(out) = &mut levels.rep {
            out.push(rep);
        }
        if let Some(out) = &mut levels.def {
            out.push(def);
        }
        Control { starts_row: rep == self.layers.max_rep, visible: def <= self.layers.max_visible, valid: def == 0 }
    }

    /// Takes entries of fixed width apart.
    fn split_fixed(
        &self,
        bytes: &[u8],
        width: usize,
        levels: &mut Levels,
        data: &mut Pooled,
        mut walk: Walk,
    ) -> Result<()> {
        let control = self.control_width();
        if control == 0 {
            levels.entries += size(walk.rows)?;
            data.extend_from_slice(bytes);
            return Ok(());
        }
        let mut at = 0;
        while at < bytes.len() {
            let entry = self.control(uint_at(bytes, at, control)?, levels);
            walk.entry(entry.starts_row, at)?;
            at += control;
            if entry.visible {
                data.extend_from_slice(slice_at(bytes, at, width)?);
                at += width;
            }
        }
        walk.end()
    }

    /// Takes entries of any width apart. Nulls count as empty values.
    fn split_variable<'a>(
        &self,
        bytes: &'a [u8],
        width: usize,
        levels: &mut Levels,
        out: &mut Vec<&'a [u8]>,
        mut walk: Walk,
    ) -> Result<()> {
        let control = self.control_width();
        let mut at = 0;
        while at < bytes.len() {
            let word = if control == 0 { 0 } else { uint_at(bytes, at, control)? };
            let entry = self.control(word, levels);
            walk.entry(entry.starts_row, at)?;
            at += control;
            if entry.visible && entry.valid {
                let length = size(uint_at(bytes, at, width)?)?;
                at += width;
                out.push(slice_at(bytes, at, length)?);
                at += length;
            } else if entry.visible {
                out.push(&[]);
            }
        }
        walk.end()
    }
}

/// What a control word says of its entry.
struct Control {
    starts_row: bool,
    visible: bool,
    valid: bool,
}

/// The row index of rows that follow each other: where each starts, and where the last ends.
struct Starts {
    numbers: Bytes,
    width: usize,
    first: u64,
}

impl Starts {
    fn at(&self, row: u64) -> Result<u64> {
        uint_at(&self.numbers, size(row)?.saturating_mul(self.width), self.width)
    }
}

/// The way through the entries of rows that follow each other. The row index is a claim: rows must start where it says,
/// because single rows are found by it alone.
struct Walk {
    rows: u64,
    /// The row that starts next.
    row: u64,
    /// Unless rows are equally long.
    starts: Option<Starts>,
}

impl Walk {
    /// An entry, so many bytes after the first.
    fn entry(&mut self, starts_row: bool, at: usize) -> Result<()> {
        if !starts_row {
            return if self.row > 0 { Ok(()) } else { Err(self.contradicts("is not where the row index says")) };
        }
        if let Some(starts) = &self.starts
            && starts.at(self.row)?.checked_sub(starts.first) != Some(at as u64)
        {
            return Err(self.contradicts("starts elsewhere than the row index says"));
        }
        self.row += 1;
        Ok(())
    }

    fn end(&self) -> Result<()> {
        if self.row == self.rows { Ok(()) } else { Err(self.contradicts("ends elsewhere than the row index says")) }
    }

    fn contradicts(&self, what: &str) -> Error {
        Error::corrupt("bad_levels", format!("row {} of {} {what}", self.row, self.rows))
    }
}

impl Page for FullZip {
    fn summary(&self) -> PageSummary {
        let levels = match (self.bits_rep, self.bits_def) {
            (0, 0) => String::new(),
            (rep, def) => format!(", levels of {rep} + {def} bits"),
        };
        let encoding = format!("{}{levels}", self.values);
        let mut buffers = vec![format!("values: {encoding}")];
        if self.context.buffers.len() > 1 {
            buffers.push("row index".into());
        }
        PageSummary { layout: "full_zip".into(), encoding, buffers, values: Some(self.num_visible) }
    }

    fn learn(self: Arc<Self>) -> Option<Boxed<()>> {
        let index = buffer_at(&self.context.buffers, 1, "the row index").ok()?;
        let little = self.stride().is_none() && self.index.get().is_none() && index.len() <= SMALL_INDEX;
        little.then(|| {
            coroutine(move |io| async move {
                let bytes = io.read_one(index).await?;
                let _ = self.index.set(bytes);
                Ok(())
            })
        })
    }

    fn bytes_of(&self, rows: &Range<u64>) -> Option<PageBytes> {
        let data = buffer_at(&self.context.buffers, 0, "the values").ok()?;
        let bytes = match (self.stride(), self.index.get()) {
            (Some(stride), _) => times(rows.start, stride).ok()?..times(rows.end, stride).ok()?,
            (None, Some(index)) => {
                let width = index.len() as u64 / self.context.length.saturating_add(1);
                let at = |row: u64| uint_at(index, size(times(row, width).ok()?).ok()?, size(width).ok()?).ok();
                at(rows.start)?..at(rows.end)?
            }
            (None, None) => return None,
        };
        Some(PageBytes { rows: vec![part_of(data, bytes).ok()?], once: Vec::new() })
    }

    fn read(self: Arc<Self>, rows: Rows, target: Target) -> Boxed<Decoded> {
        coroutine(move |io| async move { self.read_rows(&io, rows, &target).await })
    }
}
