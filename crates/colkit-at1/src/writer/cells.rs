//! Values as the texts of cells.

use crate::encode::groups::Given;
use arrow::array::{Array, ArrayRef, AsArray, Float32Array, Float64Array, Int64Array, LargeStringArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float32Type, Float64Type, Int64Type};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use colkit_core::{Error, Hint, Result, Setting, Types, json};
use memchr::{memchr, memchr3};
use std::io::Write;

/// Decimals of so many digits are the same as floats.
const EXACT_DIGITS: u8 = 15;

/// What a column of this type is written as. Numbers stay numbers, only wider; whatever would become text without being text is
/// refused unless `types` allows it.
pub fn type_of(data_type: &DataType, types: Types) -> Result<Given> {
    use DataType as T;
    let refused = |hint: Hint| {
        let message = format!("AT-1 holds int64, float64 and text, found type {data_type}");
        Err(Error::data("type_not_supported", message)
            .hint(hint.and(Setting::Columns.does("can leave the column out"))))
    };
    match data_type {
        T::Dictionary(_, values) => type_of(values, types),
        t if t.is_integer() => Ok(Given::Integer),
        T::Float16 | T::Float32 | T::Float64 => Ok(Given::Decimal),
        T::Decimal32(digits, scale) | T::Decimal64(digits, scale) | T::Decimal128(digits, scale)
            if *digits <= EXACT_DIGITS && *scale >= 0 =>
        {
            Ok(Given::Decimal)
        }
        T::Utf8 | T::LargeUtf8 | T::Utf8View | T::Null => Ok(Given::Text),
        T::Binary | T::LargeBinary | T::BinaryView if types == Types::Refuse => {
            refused(Setting::ExactTypes.does("writes bytes that are UTF-8 as text"))
        }
        T::Binary | T::LargeBinary | T::BinaryView => Ok(Given::Text),
        t if types != Types::Lossy => refused(Setting::LossyTypes.does(match t.is_nested() {
            true => "writes it as JSON text",
            false => "writes it as text",
        })),
        _ => Ok(Given::Text),
    }
}

/// That a column becomes text that was none, in words for the summary.
pub fn note(data_type: &DataType, kind: Given, name: &str) -> Option<String> {
    use DataType as T;
    let is_text = |t: &DataType| matches!(t, T::Utf8 | T::LargeUtf8 | T::Utf8View | T::Null);
    let data_type = match data_type {
        T::Dictionary(_, values) => values,
        other => other,
    };
    (kind == Given::Text && !is_text(data_type)).then(|| format!("column {name:?}: {data_type} written as text"))
}

/// A column of a batch.
pub struct Cells {
    array: ArrayRef,
    values: Values,
    /// NaN and infinities, which are written as null.
    pub not_numbers: u64,
}

enum Values {
    Int(Int64Array),
    Float(Float64Array),
    Float32(Float32Array),
    /// Numbers whose text is known.
    Number(LargeStringArray),
    Text(LargeStringArray),
}

impl Cells {
    /// The cells of an array whose first value is row `row` of the table.
    pub fn of(array: &ArrayRef, kind: Given, lossy: bool, row: u64) -> Result<Self> {
        let array = match array.data_type() {
            DataType::Dictionary(_, values) => cast(array, values)?,
            _ => array.clone(),
        };
        let mut not_numbers = 0;
        let values = match (kind, array.data_type()) {
            (Given::Integer, _) => {
                let wide = cast(&array, &DataType::Int64)?;
                if let Some(i) = (0..wide.len()).find(|i| wide.is_null(*i) && array.is_valid(*i)) {
                    let message = format!("row {}: expected a value that fits int64", row + i as u64);
                    return Err(Error::data("value_out_of_range", message));
                }
                Values::Int(wide.as_primitive::<Int64Type>().clone())
            }
            (Given::Decimal, DataType::Float16 | DataType::Float32) => {
                let floats = cast(&array, &DataType::Float32)?.as_primitive::<Float32Type>().clone();
                let odd = |v: Option<f32>| v.is_some_and(|v| !v.is_finite());
                not_numbers = check_finite(floats.iter().map(odd), lossy, row)?;
                Values::Float32(floats)
            }
            (Given::Decimal, DataType::Float64) => {
                let floats = array.as_primitive::<Float64Type>().clone();
                let odd = |v: Option<f64>| v.is_some_and(|v| !v.is_finite());
                not_numbers = check_finite(floats.iter().map(odd), lossy, row)?;
                Values::Float(floats)
            }
            (Given::Decimal, _) => Values::Number(text(&array)?),
            (Given::Text, _) => Values::Text(text(&array)?),
        };
        Ok(Cells { array, values, not_numbers })
    }

    /// Whether there is something that a line of CSV cannot say.
    pub fn needs_json(&self) -> bool {
        let Values::Text(texts) = &self.values else { return false };
        self.array.logical_null_count() > 0 || memchr(b'\n', texts.value_data()).is_some()
    }

    /// Appends the cell of a row, as CSV or as JSON.
    pub fn push(&self, row: usize, is_json: bool, out: &mut Vec<u8>) -> Result<()> {
        let finite = match &self.values {
            Values::Float(values) => values.value(row).is_finite(),
            Values::Float32(values) => values.value(row).is_finite(),
            _ => true,
        };
        if self.is_null(row) || !finite {
            if is_json {
                out.extend_from_slice(b"null");
            }
            return Ok(());
        }
        match &self.values {
            Values::Int(values) => crate::number::push_int(values.value(row), out),
            Values::Float(values) => write!(out, "{:?}", values.value(row))?,
            Values::Float32(values) => write!(out, "{:?}", values.value(row))?,
            Values::Number(texts) => out.extend_from_slice(texts.value(row).as_bytes()),
            Values::Text(texts) if is_json => push_json(texts.value(row), out),
            Values::Text(texts) => push_csv(texts.value(row).as_bytes(), out),
        }
        Ok(())
    }

    fn is_null(&self, row: usize) -> bool {
        match self.array.data_type() {
            DataType::Null => true,
            _ => self.array.is_null(row),
        }
    }
}

/// The number of flagged values, if they may be written as null.
fn check_finite(odd: impl Iterator<Item = bool> + Clone, lossy: bool, row: u64) -> Result<u64> {
    let count = odd.clone().filter(|o| *o).count() as u64;
    if count > 0 && !lossy {
        let first = row + odd.into_iter().position(|o| o).unwrap_or_default() as u64;
        return Err(Error::data("value_out_of_range", format!("row {first}: NaN and infinities are no numbers here"))
            .hint(Setting::LossyTypes.does("writes them as null")));
    }
    Ok(count)
}

/// The values as text; null where there is none.
fn text(array: &ArrayRef) -> Result<LargeStringArray> {
    if matches!(array.data_type(), DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Null) {
        return Ok(cast(array, &DataType::LargeUtf8)?.as_string::<i64>().clone());
    }
    if matches!(array.data_type(), DataType::Binary | DataType::LargeBinary | DataType::BinaryView) {
        let bytes = cast(array, &DataType::LargeBinary)?;
        let texts = bytes.as_binary::<i64>().iter().map(|v| v.map(std::str::from_utf8).transpose());
        let texts = texts.collect::<std::result::Result<Vec<_>, _>>();
        return texts.map(LargeStringArray::from).map_err(|_| {
            Error::data("value_out_of_range", "bytes that are not UTF-8 have no text")
                .hint(Setting::Columns.does("can leave the column out"))
        });
    }
    if array.data_type().is_nested() {
        let encode = json::encoder(array)?;
        let mut texts = Vec::with_capacity(array.len());
        for row in 0..array.len() {
            let mut out = Vec::new();
            if array.is_valid(row) {
                encode(row, &mut out)?;
            }
            texts.push(array.is_valid(row).then(|| String::from_utf8_lossy(&out).into_owned()));
        }
        return Ok(LargeStringArray::from(texts));
    }
    let formatter = ArrayFormatter::try_new(array, &FormatOptions::default())?;
    let value = |i: usize| match array.is_null(i) {
        true => Ok(None),
        false => formatter.value(i).try_to_string().map(Some),
    };
    let texts = (0..array.len()).map(value).collect::<std::result::Result<Vec<_>, _>>()?;
    Ok(LargeStringArray::from(texts))
}

/// Appends a text as a CSV cell, quoted if it needs to be.
pub fn push_csv(text: &[u8], out: &mut Vec<u8>) {
    if memchr3(b'"', b',', b'\r', text).is_none() && memchr(b'\n', text).is_none() {
        out.extend_from_slice(text);
        return;
    }
    out.push(b'"');
    for byte in text {
        if *byte == b'"' {
            out.push(b'"');
        }
        out.push(*byte);
    }
    out.push(b'"');
}

/// Appends a text as a JSON string.
pub fn push_json(text: &str, out: &mut Vec<u8>) {
    // Writing to memory does not fail.
    let _ = serde_json::to_writer(out, text);
}
