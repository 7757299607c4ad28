//! Rows of a fixed number of values: in a chunk a bitmap of those that are not null, if there is one, then the values; in a
//! full-zip page each row alone, beginning with the bitmaps of its levels.

use super::{BuiltIn, bad, flat, in_chunks, known, unsupported};
use crate::bytes_at::{size, slice_at};
use crate::encoding::{Chunk, Compression, CompressiveEncoding, Form, InChunks, Output, PerValue, mismatch};
use crate::nulls::with_nulls;
use crate::packed::{plain_array, plain_width};
use crate::values::{Values, bits_of, byte_width, wrong_type};
use arrow::array::{ArrayRef, BooleanBufferBuilder};
use arrow::buffer::{Buffer, NullBuffer};
use arrow::datatypes::DataType;
use colkit_core::{Error, Limits, Result};
use prost::Message;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

pub(crate) static ENCODING: BuiltIn = BuiltIn {
    number: 11,
    name: "lance.encodings21.FixedSizeList",
    parse: |message, encodings| {
        let list: ListMessage = ENCODING.message(message)?;
        if list.items_per_value > u64::from(u32::MAX) {
            return Err(bad(format!("a fixed-size list of {} items", list.items_per_value)));
        }
        let inner = encodings.child(list.values.as_ref(), "a fixed-size list")?;
        Ok(Arc::new(FixedSizeList { dimension: size(list.items_per_value)?, has_validity: list.has_validity, inner }))
    },
};

#[derive(Clone, PartialEq, Message)]
struct ListMessage {
    #[prost(uint64, tag = "1")]
    items_per_value: u64,
    #[prost(message, optional, tag = "2")]
    values: Option<CompressiveEncoding>,
    #[prost(bool, tag = "3")]
    has_validity: bool,
}

/// What describes rows of so many values.
pub(crate) fn describe(dimension: u64, has_validity: bool, inner: CompressiveEncoding) -> CompressiveEncoding {
    ENCODING.describe(&ListMessage { items_per_value: dimension, values: Some(inner), has_validity })
}

/// What is inside, if it is this compression.
pub(crate) fn inside(encoding: &CompressiveEncoding) -> Option<CompressiveEncoding> {
    let found = encoding.number == ENCODING.number;
    found.then(|| ListMessage::decode(encoding.message.clone()).ok()?.values)?
}

struct FixedSizeList {
    dimension: usize,
    has_validity: bool,
    inner: Arc<dyn Compression>,
}

impl fmt::Display for FixedSizeList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nulls = if self.has_validity { ", with nulls" } else { "" };
        write!(f, "fixed_size_list({}, {}{nulls})", self.dimension, self.inner)
    }
}

impl Compression for FixedSizeList {
    fn form(&self) -> Form {
        let items = Box::new(self.inner.form());
        Form::Lists { dimension: self.dimension, has_validity: self.has_validity, items }
    }

    fn in_chunks(&self) -> Option<&dyn InChunks> {
        self.inner.in_chunks().map(|_| self as &dyn InChunks)
    }

    fn per_value(&self) -> Option<&dyn PerValue> {
        Some(self)
    }
}

impl InChunks for FixedSizeList {
    fn buffers(&self) -> u64 {
        u64::from(self.has_validity) + self.inner.in_chunks().map_or(1, InChunks::buffers)
    }

    fn any_buffers(&self) -> bool {
        self.inner.in_chunks().is_some_and(InChunks::any_buffers)
    }

    fn append(&self, chunk: Chunk<'_>, out: Output<'_>) -> Result<()> {
        let Values::Lists { valid, items, count: rows, .. } = out.0 else { return Err(mismatch()) };
        let scaled = |r: &Range<usize>| match (r.start.checked_mul(self.dimension), r.end.checked_mul(self.dimension)) {
            (Some(start), Some(end)) => Ok(start..end),
            _ => Err(Error::corrupt("bad_chunk", "more items than can be counted")),
        };
        let item_ranges = chunk.wanted.iter().map(scaled).collect::<Result<Vec<_>>>()?;
        if let (true, Some(valid)) = (self.has_validity, valid) {
            flat::append_bits(chunk.buffer(0)?, &item_ranges, valid)?;
        }
        let inside = Chunk {
            buffers: chunk.buffers.get(usize::from(self.has_validity)..).unwrap_or_default(),
            count: chunk.count.saturating_mul(self.dimension),
            wanted: &item_ranges,
            limits: chunk.limits,
            scratch: chunk.scratch,
            validity: None,
        };
        in_chunks(self.inner.as_ref())?.append(inside, Output(items))?;
        *rows += chunk.wanted.iter().map(Range::len).sum::<usize>();
        Ok(())
    }
}

impl PerValue for FixedSizeList {
    fn append(&self, _: &[u8], _: &Limits, _: Output<'_>) -> Result<()> {
        Err(mismatch())
    }

    fn fixed(
        &self,
        data: Buffer,
        width: usize,
        data_type: &DataType,
        nulls: Option<NullBuffer>,
        _: &Limits,
    ) -> Result<ArrayRef> {
        let count = data.len() / width.max(1);
        let levels = self.levels()?;
        if levels.iter().all(|l| !l.has_validity) {
            if plain_width(data_type).ok() == Some(width) {
                return with_nulls(plain_array(data, data_type, count)?, nulls);
            }
            if levels.last().is_none_or(|l| l.bits != 1) {
                return Err(wrong_type(&format!("lists of {width} bytes"), data_type));
            }
        }
        lists(&levels, &data, width, count)?.array(data_type, nulls)
    }

    fn variable(&self, _: &[&[u8]], _: &DataType, _: Option<NullBuffer>, _: &Limits) -> Result<ArrayRef> {
        Err(unsupported(format!("{self} in a full-zip page of any width")))
    }
}

impl FixedSizeList {
    /// The levels of lists, outermost first.
    fn levels(&self) -> Result<Vec<Level>> {
        let (mut levels, mut at) = (Vec::new(), self);
        loop {
            let bits = known::<flat::Flat>(at.inner.as_ref()).map(|flat| flat.bits);
            let (dimension, has_validity) = (at.dimension, at.has_validity);
            levels.push(Level { dimension, has_validity, bits: bits.unwrap_or(0) });
            match (bits, known::<FixedSizeList>(at.inner.as_ref())) {
                (Some(_), _) => return Ok(levels),
                (None, Some(inside)) => at = inside,
                (None, None) => return Err(unsupported(format!("fixed-size lists of {}", at.inner))),
            }
        }
    }
}

/// One level of fixed-size lists inside a value.
struct Level {
    dimension: usize,
    has_validity: bool,
    /// Bits of what is inside, if that is no list.
    bits: u64,
}

/// Takes apart values that begin with the bitmaps of their levels.
fn lists(levels: &[Level], data: &[u8], width: usize, count: usize) -> Result<Values> {
    let bits = levels.last().map_or(0, |l| l.bits);
    let mut items = 1usize;
    let mut valid = Vec::with_capacity(levels.len());
    let mut counts = Vec::with_capacity(levels.len());
    for level in levels {
        items = items.checked_mul(level.dimension).ok_or_else(|| wrong_size(width))?;
        valid.push(level.has_validity.then(|| BooleanBufferBuilder::new(0)));
        counts.push(items);
    }
    let item_bytes = if bits == 1 { items.div_ceil(8) } else { items.saturating_mul(byte_width(bits)?) };
    let mut values = Values::fixed(bits, 0)?;
    for record in data.chunks_exact(width.max(1)).take(count) {
        let mut at = 0;
        for (bitmap, items) in valid.iter_mut().zip(&counts) {
            if let Some(bitmap) = bitmap {
                let bytes = items.div_ceil(8);
                bitmap.append_buffer(&bits_of(slice_at(record, at, bytes)?, 0, *items)?);
                at += bytes;
            }
        }
        let rest = slice_at(record, at, item_bytes)?;
        if at + item_bytes != width {
            return Err(wrong_size(width));
        }
        match &mut values {
            Values::Bits(out) => out.append_buffer(&bits_of(rest, 0, items)?),
            Values::Fixed { data, .. } => data.extend_from_slice(rest),
            _ => return Err(wrong_size(width)),
        }
    }
    // From the inside out: each level wraps what is inside.
    let mut lists_at = counts;
    for (level, valid) in levels.iter().zip(valid).rev() {
        lists_at.pop();
        let rows = count.saturating_mul(lists_at.last().copied().unwrap_or(1));
        values = Values::Lists { dimension: level.dimension, valid, items: Box::new(values), count: rows };
    }
    Ok(values)
}

fn wrong_size(width: usize) -> Error {
    Error::corrupt("bad_encoding", format!("fixed-size lists do not fit into values of {width} bytes"))
}
