//! Pages without values (all null) or with one value for all rows.
//!
//! | inline value | buffers | content |
//! |---|---|---|
//! | no | 0 | all null |
//! | no | 2 | all null, or nothing visible; repetition and definition levels |
//! | yes | 0 or 2 | that value; with levels if there are buffers |
//! | no | 1 or 3 | the value in buffer 0; then levels |

use super::compression::as_block;
use super::compression::flat::Flat;
use super::layers::{Layers, Levels};
use super::messages::{CompressiveEncoding, ConstantLayout};
use crate::bytes_at::{cut, size, u32_at};
use crate::coroutine::{Io, coroutine};
use crate::encoding::{Compression, Decoded, Page, PageContext, PageSummary, Target, buffer_at};
use crate::nulls::null_array;
use crate::packed::{plain_array, plain_width};
use crate::rows::Rows;
use crate::values::{Values, bad_values, bits_of, wrong_type};
use arrow::array::{Array, ArrayData, ArrayRef, BooleanBufferBuilder, UInt32Array, make_array};
use arrow::buffer::{NullBuffer, ScalarBuffer};
use arrow::compute::take;
use arrow::datatypes::DataType;
use bytes::Bytes;
use colkit_core::{Boxed, Error, Limits, Result};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// How levels are compressed, and how many there are.
type LevelBlock = (Arc<dyn Compression>, u64);

/// A page of one value or none.
pub(super) struct Constant {
    context: PageContext,
    layers: Layers,
    inline: Option<Bytes>,
    rep: Option<LevelBlock>,
    def: Option<LevelBlock>,
    known: OnceLock<ConstantParts>,
}

/// The levels of the page, and its value.
struct ConstantParts {
    rep: Option<Vec<u16>>,
    def: Option<Vec<u16>>,
    /// With lists: the entry at which each row starts, and the end.
    starts: Option<Vec<usize>>,
    /// One element.
    value: Option<ArrayRef>,
}

impl Constant {
    pub fn parse(layout: ConstantLayout, context: PageContext) -> Result<Self> {
        let layers = Layers::parse(&layout.layers)?;
        let buffers = context.buffers.len();
        if !matches!((layout.inline_value.is_some(), buffers), (false, 0..=3) | (true, 0 | 2)) {
            return Err(Error::corrupt("bad_encoding", format!("a constant page with {buffers} buffers")));
        }
        let levels = |encoding: Option<CompressiveEncoding>, count| -> Result<Option<LevelBlock>> {
            Ok(match encoding {
                Some(encoding) => Some((context.compression(&encoding)?, count)),
                None => None,
            })
        };
        Ok(Constant {
            layers,
            inline: layout.inline_value,
            rep: levels(layout.rep_compression, layout.num_rep_values)?,
            def: levels(layout.def_compression, layout.num_def_values)?,
            known: OnceLock::new(),
            context,
        })
    }

    /// Number of the value's buffer, and of the first buffer with levels.
    fn buffers(&self) -> (Option<usize>, Option<usize>) {
        match self.context.buffers.len() {
            1 => (Some(0), None),
            2 => (None, Some(0)),
            3 => (Some(0), Some(1)),
            _ => (None, None),
        }
    }

    async fn prepare(&self, io: &Io, data_type: &DataType) -> Result<&ConstantParts> {
        if let Some(known) = self.known.get() {
            return Ok(known);
        }
        let ranges = (0..self.context.buffers.len()).map(|i| buffer_at(&self.context.buffers, i, "a constant page"));
        let fetched = io.read(ranges.collect::<Result<Vec<_>>>()?).await?;
        let (value_at, levels_at) = self.buffers();
        let levels = |index: usize, encoding: &Option<LevelBlock>| -> Result<Option<Vec<u16>>> {
            let Some(bytes) = levels_at.and_then(|at| fetched.get(at + index)).filter(|b| !b.is_empty()) else {
                return Ok(None);
            };
            let flat: Arc<dyn Compression> = Arc::new(Flat { bits: 16 });
            let (encoding, count) = match encoding {
                Some((encoding, count)) => (encoding, size(*count)?),
                None => (&flat, bytes.len() / 2),
            };
            // Runs of 255 in three bytes, or 1024 values packed into nothing: no level costs less than that.
            Limits::check_memory("the levels of a page", count as u64, self.context.limits.memory / 2)?;
            if count > bytes.len().saturating_mul(16 << 10) {
                return Err(Error::corrupt("bad_levels", format!("{count} levels in {} bytes", bytes.len())));
            }
            let mut levels = Vec::new();
            as_block(encoding.as_ref())?.levels(bytes, count, &self.context.limits, &mut levels)?;
            Ok(Some(levels))
        };
        let (rep, def) = (levels(0, &self.rep)?, levels(1, &self.def)?);
        let starts = match &rep {
            Some(rep) => Some(self.row_starts(rep, def.as_deref())?),
            None => None,
        };
        if let (None, Some(def)) = (&starts, &def)
            && def.len() as u64 != self.context.length
        {
            return Err(Error::corrupt(
                "bad_levels",
                format!("{} levels in a page of {} rows", def.len(), self.context.length),
            ));
        }
        let value = match (&self.inline, value_at.and_then(|at| fetched.get(at))) {
            (Some(inline), _) => Some(inline_value(inline, data_type)?),
            (None, Some(bytes)) => Some(buffer_value(bytes, data_type)?),
            (None, None) => None,
        };
        Ok(self.known.get_or_init(|| ConstantParts { rep, def, starts, value }))
    }

    fn row_starts(&self, rep: &[u16], def: Option<&[u16]>) -> Result<Vec<usize>> {
        let starting = rep.iter().enumerate().filter(|(_, r)| **r == self.layers.max_rep).map(|(i, _)| i);
        let mut starts: Vec<usize> = starting.collect();
        let whole = starts.len() as u64 == self.context.length && starts.first().is_none_or(|first| *first == 0);
        if !whole || def.is_some_and(|d| d.len() != rep.len()) {
            return Err(Error::corrupt(
                "bad_levels",
                format!("{} rows start in the levels of a page of {}", starts.len(), self.context.length),
            ));
        }
        starts.push(rep.len());
        Ok(starts)
    }

    async fn read_rows(&self, io: &Io, rows: Rows, target: &Target) -> Result<Decoded> {
        self.layers.check(&target.around)?;
        if rows.end() > self.context.length {
            return Err(Error::corrupt("row_count_mismatch", format!("row {} of {}", rows.end(), self.context.length)));
        }
        let data_type = target.field.data_type();
        let known = self.prepare(io, data_type).await?;
        if self.layers.max_rep > 0 && known.starts.is_none() {
            return Err(Error::corrupt("bad_levels", "lists without repetition levels"));
        }
        let mut levels = Levels {
            rep: known.rep.as_ref().map(|_| Vec::new()),
            def: known.def.as_ref().map(|_| Vec::new()),
            entries: 0,
        };
        for range in rows.ranges() {
            let entries = known.entries(range)?;
            levels.entries += entries.len();
            let copy = |all: &Option<Vec<u16>>, out: &mut Option<Vec<u16>>| {
                if let (Some(all), Some(out)) = (all, out) {
                    out.extend_from_slice(all.get(entries.clone()).unwrap_or_default());
                }
            };
            copy(&known.rep, &mut levels.rep);
            copy(&known.def, &mut levels.def);
        }
        let visible = levels.def.as_ref().map_or(levels.entries, |d| self.layers.visible(d));
        let (nulls, layers) = self.layers.unravel(levels, &target.around)?;
        let values = match &known.value {
            None => null_array(data_type, visible as u64, &self.context.limits)?,
            Some(value) => repeat(value, visible, nulls, &self.context.limits)?,
        };
        Ok(Decoded::Shaped { values, layers })
    }
}

impl ConstantParts {
    fn entries(&self, rows: &Range<u64>) -> Result<Range<usize>> {
        let (from, to) = (size(rows.start)?, size(rows.end)?);
        match &self.starts {
            None => Ok(from..to),
            Some(starts) => match (starts.get(from), starts.get(to)) {
                (Some(from), Some(to)) => Ok(*from..*to),
                _ => Err(Error::corrupt("bad_levels", format!("rows {rows:?} are not in the levels"))),
            },
        }
    }
}

fn inline_value(bytes: &Bytes, data_type: &DataType) -> Result<ArrayRef> {
    if data_type == &DataType::Boolean && bytes.len() == 1 {
        let mut bits = BooleanBufferBuilder::new(1);
        bits.append_buffer(&bits_of(bytes.clone(), 0, 1)?);
        return Values::Bits(bits).array(data_type, None);
    }
    if plain_width(data_type)? != bytes.len() {
        return Err(wrong_type(&format!("a constant of {} bytes", bytes.len()), data_type));
    }
    plain_array(bytes.clone().into(), data_type, 1)
}

/// Number of buffers, their sizes, then the buffers of an array of one element.
fn buffer_value(bytes: &Bytes, data_type: &DataType) -> Result<ArrayRef> {
    let count = size(u32_at(bytes, 0)?.into())?;
    if count > 3 {
        return Err(Error::unsupported("unknown_encoding", format!("a constant of {count} buffers")));
    }
    let mut builder = ArrayData::builder(data_type.clone()).len(1).align_buffers(true);
    let mut at = 4 + 4 * count;
    for i in 0..count {
        let length = size(u32_at(bytes, 4 + 4 * i)?.into())?;
        builder = builder.add_buffer(cut(bytes, at, length)?.into());
        at += length;
    }
    Ok(make_array(builder.build().map_err(bad_values)?))
}

/// The value once for each slot.
fn repeat(value: &ArrayRef, count: usize, nulls: Option<NullBuffer>, limits: &Limits) -> Result<ArrayRef> {
    let each = value.to_data().get_slice_memory_size().unwrap_or(8) as u64;
    Limits::check_memory("a constant column", each.saturating_mul(count as u64), limits.memory)?;
    let zeros = UInt32Array::try_new(ScalarBuffer::from(vec![0u32; count]), nulls).map_err(bad_values)?;
    take(value, &zeros, None).map_err(bad_values)
}

impl Page for Constant {
    fn summary(&self) -> PageSummary {
        let (value_at, levels_at) = self.buffers();
        let encoding = match (&self.inline, value_at) {
            (Some(_), _) => "constant(inline)",
            (None, Some(_)) => "constant",
            (None, None) => "all_null",
        };
        let mut buffers = Vec::new();
        buffers.extend(value_at.map(|_| "the value".to_owned()));
        if levels_at.is_some() {
            buffers.extend(["repetition levels".to_owned(), "definition levels".to_owned()]);
        }
        PageSummary { layout: "constant".into(), encoding: encoding.into(), buffers, values: None }
    }

    fn read(self: Arc<Self>, rows: Rows, target: Target) -> Boxed<Decoded> {
        coroutine(move |io| async move { self.read_rows(&io, rows, &target).await })
    }
}
