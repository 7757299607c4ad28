//! Parses the cells of a column into an array.

use super::Inference;
use super::kinds::parse_bool;
use super::number::{parse_float, parse_int, parse_wide};
use super::time::{parse_date, parse_moment};
use crate::{Error, Result};
use arrow::array::{
    ArrayRef, ArrowPrimitiveType, BooleanBuilder, Date32Builder, Decimal128Builder, Float64Builder, Int32Builder,
    Int64Builder, NullBufferBuilder, PrimitiveBuilder, StringArray, UInt64Builder,
};
use arrow::buffer::{OffsetBuffer, ScalarBuffer};
use arrow::compute::{CastOptions, cast, cast_with_options};
use arrow::datatypes::{DataType, TimeUnit};
use std::sync::Arc;

/// The text of a cell as it stands in the file, without the quotes around it.
#[derive(Clone, Copy, Debug)]
pub struct CellText<'a> {
    /// The content.
    pub raw: &'a [u8],
    /// The quote that is written twice in it, wherever it occurs.
    pub doubled: Option<u8>,
}

impl CellText<'_> {
    /// Appends the content, each doubled quote written once.
    #[inline]
    pub fn append_to(self, out: &mut Vec<u8>) {
        let Some(quote) = self.doubled else {
            return out.extend_from_slice(self.raw);
        };
        let mut skip = false;
        for byte in self.raw {
            skip = *byte == quote && !skip;
            if !skip {
                out.push(*byte);
            }
        }
    }
}

/// Whether cells can be read as this type.
pub fn is_cell_type(data_type: &DataType) -> bool {
    match data_type {
        DataType::Boolean | DataType::Utf8 | DataType::Date32 | DataType::Timestamp(..) => true,
        DataType::Decimal128(_, scale) => *scale >= 0,
        DataType::Float32 | DataType::Float64 => true,
        other => other.is_integer(),
    }
}

/// A column under construction.
pub struct CellColumn {
    data_type: DataType,
    nullable: bool,
    inference: Arc<Inference>,
    values: Values,
}

enum Values {
    Int32(Int32Builder),
    Int64(Int64Builder),
    UInt64(UInt64Builder),
    Float64(Float64Builder),
    Decimal(Decimal128Builder, i8),
    Bool(BooleanBuilder),
    Date(Date32Builder),
    Time(Int64Builder, TimeUnit, bool),
    /// UTF-8 is checked once for all, at the end.
    Text {
        bytes: Vec<u8>,
        offsets: Vec<i32>,
        nulls: NullBufferBuilder,
    },
}

impl CellColumn {
    /// A column of a type that [`is_cell_type`] lets pass; any other is read as text. Empty cells of columns that are not
    /// text are null if it is `nullable`, else an error.
    pub fn new(data_type: &DataType, nullable: bool, inference: &Arc<Inference>) -> Self {
        // They grow as cells come: a wide table must not take room for rows that it does not have.
        let values = match data_type {
            DataType::Int32 => Values::Int32(Int32Builder::with_capacity(0)),
            DataType::UInt64 => Values::UInt64(UInt64Builder::with_capacity(0)),
            DataType::Float64 | DataType::Float32 => Values::Float64(Float64Builder::with_capacity(0)),
            DataType::Boolean => Values::Bool(BooleanBuilder::with_capacity(0)),
            DataType::Date32 => Values::Date(Date32Builder::with_capacity(0)),
            DataType::Timestamp(unit, zone) => Values::Time(Int64Builder::with_capacity(0), *unit, zone.is_some()),
            DataType::Decimal128(_, scale) => {
                Values::Decimal(Decimal128Builder::with_capacity(0).with_data_type(data_type.clone()), *scale)
            }
            other if other.is_integer() => Values::Int64(Int64Builder::with_capacity(0)),
            _ => Values::Text { bytes: Vec::new(), offsets: vec![0], nulls: NullBufferBuilder::new(0) },
        };
        CellColumn { data_type: data_type.clone(), nullable, inference: inference.clone(), values }
    }

    /// Appends cells. An error is the position of the first one that is not of the column's type, or that the array has
    /// no room for.
    pub fn append<'a>(&mut self, cells: impl Iterator<Item = CellText<'a>>) -> std::result::Result<(), usize> {
        let is_null = |cell: &[u8]| {
            if cell.is_empty() { self.nullable } else { self.inference.is_null_word(cell) }
        };
        let words = !self.inference.null_words.is_empty();
        let null = Nulls { is_null, words };
        let bad = match &mut self.values {
            Values::Int32(b) => numbers(cells, null, b, |c| parse_int(c).and_then(|i| i32::try_from(i).ok())),
            Values::Int64(b) => numbers(cells, null, b, parse_int),
            Values::UInt64(b) => numbers(cells, null, b, |c| u64::try_from(parse_wide(c, 0)?).ok()),
            Values::Float64(b) => numbers(cells, null, b, parse_float),
            Values::Decimal(b, scale) => {
                let (scale, DataType::Decimal128(precision, _)) = (*scale, &self.data_type) else { return Err(0) };
                let most = 10u128.checked_pow(u32::from(*precision)).unwrap_or(u128::MAX);
                numbers(cells, null, b, |c| parse_wide(c, scale).filter(|v| v.unsigned_abs() < most))
            }
            Values::Date(b) => numbers(cells, null, b, parse_date),
            Values::Time(b, unit, zoned) => {
                let (unit, zoned) = (*unit, *zoned);
                numbers(cells, null, b, |c| parse_moment(c).filter(|m| m.zoned == zoned)?.in_unit(unit))
            }
            Values::Bool(b) => {
                let mut cells = cells;
                cells.position(|cell| match (null.holds(cell.raw), parse_bool(cell.raw)) {
                    (true, _) => {
                        b.append_null();
                        false
                    }
                    (false, Some(value)) => {
                        b.append_value(value);
                        false
                    }
                    (false, None) => true,
                })
            }
            Values::Text { bytes, offsets, nulls } => {
                let mut cells = cells;
                cells.position(|cell| {
                    if words && self.inference.is_null_word(cell.raw) {
                        nulls.append_null();
                    } else {
                        cell.append_to(bytes);
                        nulls.append_non_null();
                    }
                    match i32::try_from(bytes.len()) {
                        Ok(end) => {
                            offsets.push(end);
                            false
                        }
                        Err(_) => true,
                    }
                })
            }
        };
        bad.map_or(Ok(()), Err)
    }

    /// Appends a null: a cell that is not there.
    pub fn append_null(&mut self) {
        match &mut self.values {
            Values::Int32(b) => b.append_null(),
            Values::Int64(b) | Values::Time(b, ..) => b.append_null(),
            Values::UInt64(b) => b.append_null(),
            Values::Float64(b) => b.append_null(),
            Values::Decimal(b, _) => b.append_null(),
            Values::Date(b) => b.append_null(),
            Values::Bool(b) => b.append_null(),
            Values::Text { offsets, nulls, .. } => {
                offsets.extend(offsets.last().copied());
                nulls.append_null();
            }
        }
    }

    /// The array of what was appended since the last time.
    pub fn finish(&mut self) -> Result<ArrayRef> {
        let array: ArrayRef = match &mut self.values {
            Values::Int32(b) => Arc::new(b.finish()),
            Values::Int64(b) => Arc::new(b.finish()),
            Values::UInt64(b) => Arc::new(b.finish()),
            Values::Float64(b) => Arc::new(b.finish()),
            Values::Decimal(b, _) => Arc::new(b.finish()),
            Values::Date(b) => Arc::new(b.finish()),
            // The numbers are those of the unit already.
            Values::Time(b, ..) => cast(&b.finish(), &self.data_type)?,
            Values::Bool(b) => Arc::new(b.finish()),
            Values::Text { bytes, offsets, nulls } => {
                let (capacity, rows) = (bytes.len(), offsets.len());
                let bytes = std::mem::replace(bytes, Vec::with_capacity(capacity));
                let ends = std::mem::replace(offsets, Vec::with_capacity(rows));
                offsets.push(0);
                let ends = OffsetBuffer::new(ScalarBuffer::from(ends));
                Arc::new(StringArray::try_new(ends, bytes.into(), nulls.finish()).map_err(|e| {
                    Error::corrupt("bad_utf8", "a cell is not UTF-8")
                        .hint("the file may have been changed while it was being read")
                        .caused_by(e)
                })?)
            }
        };
        if *array.data_type() == self.data_type || matches!(self.values, Values::Text { .. }) {
            return Ok(array);
        }
        let exactly = CastOptions { safe: false, ..CastOptions::default() };
        Ok(cast_with_options(&array, &self.data_type, &exactly)?)
    }
}

/// Which cells of a column that is not text are null.
#[derive(Clone, Copy)]
struct Nulls<F> {
    is_null: F,
    /// Whether words other than the empty one may be null.
    words: bool,
}

impl<F: Fn(&[u8]) -> bool> Nulls<F> {
    #[inline]
    fn holds(&self, cell: &[u8]) -> bool {
        (cell.is_empty() || self.words) && (self.is_null)(cell)
    }
}

/// Appends the number in each cell; returns the position of the first cell that has none. Cells with doubled quotes are
/// not unpacked: only text may hold a quote.
fn numbers<'a, T: ArrowPrimitiveType>(
    mut cells: impl Iterator<Item = CellText<'a>>,
    nulls: Nulls<impl Fn(&[u8]) -> bool>,
    builder: &mut PrimitiveBuilder<T>,
    parse: impl Fn(&[u8]) -> Option<T::Native>,
) -> Option<usize> {
    cells.position(|cell| {
        if nulls.holds(cell.raw) {
            builder.append_null();
            return false;
        }
        match parse(cell.raw) {
            Some(value) => {
                builder.append_value(value);
                false
            }
            None => true,
        }
    })
}
