//! Converts Arrow types to the four types of these formats.
//!
//! By default, anything that would change is refused. Two independent options allow more: `types` permits another type
//! (lossless or lossy), `nulls` fills in default values. The type of a column is decided once, before the first row.

use crate::dialect::{Dialect, PlainType};
use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Float64Array, Int32Array, LargeStringArray, StringArray};
use arrow::buffer::NullBuffer;
use arrow::compute::{CastOptions, cast, cast_with_options};
use arrow::datatypes::{DataType, Field, Float64Type, Int32Type, Int64Type};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use base64::prelude::{BASE64_STANDARD, Engine};
use colkit_core::{Error, Nulls, Result, Setting, Types, json};
use std::sync::Arc;

/// What a column of the input becomes.
#[derive(Clone, Debug)]
pub(crate) struct ColumnConversion {
    pub kind: PlainType,
    how: CastMode,
    nulls: Nulls,
    name: String,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum CastMode {
    /// The same values; at most another memory layout.
    Same,
    /// Integers, each of which must fit int32.
    FitInt32,
    /// Integers, each of which must be a whole float64.
    FitFloat64,
    Boolean01,
    /// Bytes, each of which must be UTF-8.
    FitUtf8,
    Base64,
    /// The value as text.
    Display,
    /// Lists, structs and maps as JSON text.
    Json,
}

impl ColumnConversion {
    /// Decides what `field` becomes, or refuses it.
    pub fn plan(field: &Field, number: usize, dialect: &Dialect, types: Types, nulls: Nulls) -> Result<Self> {
        use DataType as T;
        let planned = |kind, how| ColumnConversion { kind, how, nulls, name: field.name().clone() };
        let exact = types != Types::Refuse;
        let lossy = types == Types::Lossy;
        let of_type = match field.data_type() {
            T::Dictionary(_, values) => values.as_ref(),
            other => other,
        };
        Ok(match of_type {
            T::Int32 => planned(PlainType::Int32, CastMode::Same),
            T::Float64 => planned(PlainType::Float64, CastMode::Same),
            T::Utf8 | T::LargeUtf8 | T::Utf8View | T::Null => planned(PlainType::Text, CastMode::Same),
            T::Boolean if dialect.booleans => planned(PlainType::Bool, CastMode::Same),
            T::Boolean if exact => planned(PlainType::Int32, CastMode::Boolean01),
            T::Int8 | T::Int16 | T::UInt8 | T::UInt16 if exact => planned(PlainType::Int32, CastMode::FitInt32),
            T::Int64 | T::UInt32 | T::UInt64 if lossy => planned(PlainType::Float64, CastMode::FitFloat64),
            T::Int64 | T::UInt32 | T::UInt64 if exact => planned(PlainType::Int32, CastMode::FitInt32),
            T::Float16 | T::Float32 if exact => planned(PlainType::Float64, CastMode::Same),
            T::Binary | T::LargeBinary | T::BinaryView | T::FixedSizeBinary(_) if lossy => {
                planned(PlainType::Text, CastMode::Base64)
            }
            T::Binary | T::LargeBinary | T::BinaryView | T::FixedSizeBinary(_) if exact => {
                planned(PlainType::Text, CastMode::FitUtf8)
            }
            t if lossy && t.is_nested() => planned(PlainType::Text, CastMode::Json),
            t if lossy && is_textual(t) => planned(PlainType::Text, CastMode::Display),
            t => {
                let kinds =
                    if dialect.booleans { "int32, float64, string and bool" } else { "int32, float64 and string" };
                let message = format!("{} holds {kinds}, found type {t}", dialect.name);
                let error =
                    Error::data("type_not_supported", message).part(format!("column {number} {:?}", field.name()));
                return Err(match (helped_by_exact(t), is_textual(t) || helped_by_exact(t)) {
                    (true, _) if !exact => {
                        error.hint(Setting::ExactTypes.does("writes it as another type with the same values"))
                    }
                    (_, true) => error.hint(Setting::LossyTypes.does("writes it as text or as the nearest number")),
                    _ => error.hint(Setting::Columns.does("can leave the column out")),
                });
            }
        })
    }

    /// Whether the type changes, in words for the summary.
    pub fn note(&self, from: &DataType) -> Option<String> {
        (self.how != CastMode::Same || matches!(from, DataType::Float16 | DataType::Float32))
            .then(|| format!("column {:?}: {from} written as {}", self.name, self.kind.name()))
    }

    /// Converts an array whose first value is row `row` of the table. Returns the values and how many were filled in.
    pub fn apply(&self, array: &ArrayRef, row: u64) -> Result<(PlainValues, u64)> {
        let array = match array.data_type() {
            DataType::Dictionary(_, values) => cast(array, values)?,
            _ => array.clone(),
        };
        let nulls = array.logical_nulls().filter(|n| n.null_count() > 0);
        if let (Some(nulls), Nulls::Refuse) = (&nulls, self.nulls) {
            let first = row + nulls.iter().position(|valid| !valid).unwrap_or_default() as u64;
            return Err(Error::data("null_not_supported", format!("row {first}: the format has no null"))
                .part(format!("column {:?}", self.name))
                .hint(Setting::FillNulls.does("writes an empty text, NaN, 0 or false instead")));
        }
        let filled = nulls.as_ref().map_or(0, |n| n.null_count() as u64);
        Ok((self.values(&array, nulls.as_ref(), row)?, filled))
    }

    fn values(&self, array: &ArrayRef, nulls: Option<&NullBuffer>, row: u64) -> Result<PlainValues> {
        Ok(match (self.kind, self.how) {
            (PlainType::Int32, CastMode::FitInt32) => {
                PlainValues::Int32(fill_int32(&self.fit(array, nulls, row, DataType::Int32)?))
            }
            (PlainType::Int32, CastMode::Boolean01) => PlainValues::Int32(fill_int32(&cast(array, &DataType::Int32)?)),
            (PlainType::Int32, _) => PlainValues::Int32(fill_int32(array)),
            (PlainType::Float64, CastMode::FitFloat64) => {
                PlainValues::Float64(fill_float64(&self.whole_floats(array, nulls, row)?))
            }
            (PlainType::Float64, _) => PlainValues::Float64(fill_float64(&cast(array, &DataType::Float64)?)),
            (PlainType::Bool, _) => PlainValues::Bool(fill_bool(array)),
            (PlainType::Text, CastMode::FitUtf8) => fill_text(&self.utf8(array, row)?)?,
            (PlainType::Text, CastMode::Base64) => fill_text(&base64(array)?)?,
            (PlainType::Text, CastMode::Display) => fill_text(&display(array)?)?,
            (PlainType::Text, CastMode::Json) => fill_text(&(Arc::new(json::texts(array)?) as ArrayRef))?,
            (PlainType::Text, _) => fill_text(array)?,
        })
    }

    fn out_of_range(&self, row: u64, found: impl std::fmt::Display, expected: &str) -> Error {
        Error::data("value_out_of_range", format!("row {row}: expected {expected}, found {found}"))
            .part(format!("column {:?}", self.name))
    }

    /// Casts integers, refusing the first that does not fit.
    fn fit(&self, array: &ArrayRef, nulls: Option<&NullBuffer>, row: u64, to: DataType) -> Result<ArrayRef> {
        let safe = CastOptions { safe: true, ..CastOptions::default() };
        let fitted = cast_with_options(array, &to, &safe)?;
        match first_lost(&fitted, nulls) {
            None => Ok(fitted),
            Some(i) => Err(self
                .out_of_range(row + i as u64, text_of(array, i), "a value that fits int32")
                .hint(Setting::LossyTypes.does("writes float64, or text where a value is too large for that"))),
        }
    }

    /// Integers as floats, refusing the first beyond 2^53 in size.
    fn whole_floats(&self, array: &ArrayRef, nulls: Option<&NullBuffer>, row: u64) -> Result<ArrayRef> {
        const LARGEST: i64 = 1 << 53;
        let refuse = |i: usize| {
            self.out_of_range(row + i as u64, text_of(array, i), "a value within +-2^53, where float64 is exact")
                .hint("convert the column to text first")
        };
        let wide = cast_with_options(array, &DataType::Int64, &CastOptions { safe: true, ..CastOptions::default() })?;
        if let Some(i) = first_lost(&wide, nulls) {
            return Err(refuse(i));
        }
        let integers = wide.as_primitive::<Int64Type>();
        if let Some(i) = integers.iter().position(|v| v.is_some_and(|v| !(-LARGEST..=LARGEST).contains(&v))) {
            return Err(refuse(i));
        }
        Ok(cast(&wide, &DataType::Float64)?)
    }

    fn utf8(&self, array: &ArrayRef, row: u64) -> Result<ArrayRef> {
        let bytes = cast(array, &DataType::LargeBinary)?;
        let bytes = bytes.as_binary::<i64>();
        let bad = bytes.iter().position(|v| v.is_some_and(|v| std::str::from_utf8(v).is_err()));
        if let Some(i) = bad {
            return Err(self
                .out_of_range(row + i as u64, "another byte sequence", "UTF-8")
                .hint(Setting::LossyTypes.does("writes bytes as base64")));
        }
        Ok(cast(bytes, &DataType::LargeUtf8)?)
    }
}

/// Values of one of the four kinds, without nulls.
pub(crate) enum PlainValues {
    Int32(Int32Array),
    Float64(Float64Array),
    Bool(BooleanArray),
    Text(StringArray),
    LargeText(LargeStringArray),
}

/// Types that have a usual way to be written as text.
fn is_textual(data_type: &DataType) -> bool {
    use DataType as T;
    matches!(
        data_type,
        T::Date32 | T::Date64 | T::Time32(_) | T::Time64(_) | T::Timestamp(_, _) | T::Duration(_) | T::Interval(_)
    ) || matches!(data_type, T::Decimal32(..) | T::Decimal64(..) | T::Decimal128(..) | T::Decimal256(..))
        || data_type.is_nested()
}

fn helped_by_exact(data_type: &DataType) -> bool {
    use DataType as T;
    data_type.is_integer()
        || matches!(data_type, T::Float16 | T::Float32 | T::Boolean | T::Binary | T::LargeBinary | T::BinaryView)
        || matches!(data_type, T::FixedSizeBinary(_))
}

/// The first value that was there before a cast and is not any more.
fn first_lost(after: &ArrayRef, before: Option<&NullBuffer>) -> Option<usize> {
    let was_valid = |i: usize| before.is_none_or(|n| n.is_valid(i));
    (0..after.len()).find(|&i| after.is_null(i) && was_valid(i))
}

fn text_of(array: &ArrayRef, i: usize) -> String {
    let formatter = ArrayFormatter::try_new(array, &FormatOptions::default());
    formatter.map(|f| f.value(i).to_string()).unwrap_or_default()
}

fn fill_int32(array: &ArrayRef) -> Int32Array {
    let values = array.as_primitive::<Int32Type>();
    if values.null_count() == 0 {
        return values.clone();
    }
    values.iter().map(|v| Some(v.unwrap_or(0))).collect()
}

fn fill_float64(array: &ArrayRef) -> Float64Array {
    let values = array.as_primitive::<Float64Type>();
    if values.null_count() == 0 {
        return values.clone();
    }
    const QUIET_NAN: f64 = f64::from_bits(0x7FF8_0000_0000_0000);
    values.iter().map(|v| Some(v.unwrap_or(QUIET_NAN))).collect()
}

fn fill_bool(array: &ArrayRef) -> BooleanArray {
    let values = array.as_boolean();
    if values.null_count() == 0 {
        return values.clone();
    }
    values.iter().map(|v| Some(v.unwrap_or(false))).collect()
}

fn fill_text(array: &ArrayRef) -> Result<PlainValues> {
    Ok(match array.data_type() {
        DataType::Utf8 if array.null_count() == 0 => PlainValues::Text(array.as_string::<i32>().clone()),
        DataType::LargeUtf8 if array.null_count() == 0 => PlainValues::LargeText(array.as_string::<i64>().clone()),
        DataType::Null => PlainValues::Text(StringArray::from_iter_values(std::iter::repeat_n("", array.len()))),
        _ => {
            let large = cast(array, &DataType::LargeUtf8)?;
            let filled = large.as_string::<i64>().iter().map(|v| v.unwrap_or_default());
            PlainValues::LargeText(LargeStringArray::from_iter_values(filled))
        }
    })
}

fn display(array: &ArrayRef) -> Result<ArrayRef> {
    let formatter = ArrayFormatter::try_new(array, &FormatOptions::default().with_null(""))?;
    let text = (0..array.len()).map(|i| formatter.value(i).try_to_string());
    let text = text.collect::<std::result::Result<Vec<_>, _>>()?;
    Ok(Arc::new(LargeStringArray::from_iter_values(text)))
}

fn base64(array: &ArrayRef) -> Result<ArrayRef> {
    let bytes = cast(array, &DataType::LargeBinary)?;
    let text = bytes.as_binary::<i64>().iter().map(|v| BASE64_STANDARD.encode(v.unwrap_or_default()));
    Ok(Arc::new(LargeStringArray::from_iter_values(text)))
}
