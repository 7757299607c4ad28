//! Opens two tables so that their columns can be compared, and converts columns of different types to a common one.
//!
//! Text has no types, so it is read as the types of the other side. Values are never rounded: a cell that is more precise than
//! the type (`1.555` and a decimal of two digits) differs from every value, as does a cell that cannot be parsed.

use super::exact::{common_type, is_written_as};
use super::{Comparand, Openable, RowSource};
use crate::OpenOptions;
use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, StringArray, new_null_array};
use arrow::compute::kernels::cmp::eq;
use arrow::compute::{CastOptions, can_cast_types, cast, cast_with_options, not, nullif};
use arrow::datatypes::{DataType, Field, Schema, TimeUnit};
use arrow::row::{RowConverter, SortField};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use colkit_core::{Nulls, Result, Scan, column_index, json};
use std::sync::Arc;

/// An open file, and whether it is text.
pub(super) struct Opened<T> {
    pub file: T,
    pub text: bool,
}

/// Opens two tables for comparison.
pub(super) async fn open_both<O: Openable>(
    a: &O,
    b: &O,
    opening: &OpenOptions,
) -> Result<(Opened<O::Table>, Opened<O::Table>)> {
    let typed = |file| Opened { file, text: false };
    let text = |file| Opened { file, text: true };
    Ok(match (a.is_text(opening).await?, b.is_text(opening).await?) {
        (true, false) => {
            let b = b.open(opening).await?;
            (text(open_like(a, &b, opening).await?), typed(b))
        }
        (false, true) => {
            let a = a.open(opening).await?;
            let b = open_like(b, &a, opening).await?;
            (typed(a), text(b))
        }
        (false, false) => (typed(a.open(opening).await?), typed(b.open(opening).await?)),
        (true, true) => {
            let (left, right) = (a.open(opening).await?, b.open(opening).await?);
            let types = cells_of_both(&left.schema(), &right.schema());
            (text(read_as(a, left, &types, opening).await?), text(read_as(b, right, &types, opening).await?))
        }
    })
}

/// The columns of two text files whose inferred types cannot be compared, to be read as strings.
fn cells_of_both(left: &Schema, right: &Schema) -> Vec<(String, DataType)> {
    let differs = |field: &&Arc<Field>| {
        let other = right.fields().find(field.name()).map(|(_, other)| other.data_type());
        other.is_some_and(|other| comparable((field.data_type(), false), (other, false)).is_none())
    };
    left.fields().iter().filter(differs).map(|field| (field.name().clone(), DataType::Utf8)).collect()
}

/// The text with its columns of these names read to these types, opened again if it was opened with others.
async fn read_as<O: Openable>(
    unopened: &O,
    opened: O::Table,
    types: &[(String, DataType)],
    opening: &OpenOptions,
) -> Result<O::Table> {
    let schema = opened.schema();
    let other =
        |(name, wanted): &&(String, DataType)| schema.fields().find(name).is_some_and(|(_, f)| f.data_type() != wanted);
    let types: Vec<_> = types.iter().filter(other).cloned().collect();
    if types.is_empty() { Ok(opened) } else { with_types(unopened, types, opening).await }
}

async fn with_types<O: Openable>(
    unopened: &O,
    types: Vec<(String, DataType)>,
    opening: &OpenOptions,
) -> Result<O::Table> {
    unopened.open(&opening.clone().with_text_types(types)).await
}

/// Opens text so that its columns can be compared with those of `model`: integers as such, nested JSON as the type of the other
/// side, other columns whose types differ as strings.
async fn open_like<O: Openable>(unopened: &O, model: &O::Table, opening: &OpenOptions) -> Result<O::Table> {
    let opening = opening.suited_to(model.format().as_ref(), Nulls::Refuse);
    let plain = unopened.open(&opening).await?;
    let theirs = model.schema();
    let is_json = plain.format().name() == "ndjson";
    let mut types = Vec::new();
    for ours in plain.schema().fields() {
        let Some((_, theirs)) = theirs.fields().find(ours.name()) else { continue };
        let (name, inferred, wanted) = (ours.name(), ours.data_type(), theirs.data_type());
        // JSON has lists and objects of its own.
        let nested = is_json && (inferred.is_nested() || wanted.is_nested());
        if inferred == wanted || (inferred.is_integer() && wanted.is_integer()) {
            continue;
        }
        if nested && can_read(unopened, name, wanted, &opening).await {
            types.push((name.clone(), wanted.clone()));
        } else if !nested {
            types.push((name.clone(), DataType::Utf8));
        }
    }
    if types.is_empty() { Ok(plain) } else { with_types(unopened, types, &opening).await }
}

/// Whether the text of a column can be read to this type; the only way to know is to try.
async fn can_read<O: Openable>(unopened: &O, name: &str, data_type: &DataType, opening: &OpenOptions) -> bool {
    let attempt = async {
        let file = with_types(unopened, vec![(name.into(), data_type.clone())], opening).await?;
        let schema = file.schema();
        let column = column_index(&schema, name)?;
        let mut rows = file.scan(vec![column], Scan::default().memory).await?;
        while rows.next().await?.is_some() {}
        Result::Ok(())
    };
    attempt.await.is_ok()
}

/// How a column is converted for comparison.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Comparable {
    /// It is compared as it is.
    Same,
    /// Cast to a type that holds every value.
    Cast(DataType),
    /// Cast to this type; a second array holds the values that it cannot represent, as strings.
    CastOr(DataType),
    /// Parsed as this type; a second array holds the cells that are not exactly such a value.
    Read(DataType),
    /// Printed, as it would be written to text.
    Written,
}

/// How two columns, of a text file or not, are compared; `None` if their values have nothing in common.
pub(super) fn comparable(left: (&DataType, bool), right: (&DataType, bool)) -> Option<(Comparable, Comparable)> {
    if left.0 == right.0 {
        let same = if has_row_form(left.0) { Comparable::Same } else { Comparable::Written };
        return Some((same.clone(), same));
    }
    match (left, right) {
        ((DataType::Utf8, true), (typed, _)) => Some(text_and(typed)),
        ((typed, _), (DataType::Utf8, true)) => {
            let (text, typed) = text_and(typed);
            Some((typed, text))
        }
        ((left, _), (right, _)) => typed_and_typed(left, right),
    }
}

/// Whether a row converter takes values of the type. Others are compared as they are printed.
fn has_row_form(data_type: &DataType) -> bool {
    RowConverter::supports_fields(&[SortField::new(data_type.clone())])
}

/// How columns of two different types are compared.
fn typed_and_typed(left: &DataType, right: &DataType) -> Option<(Comparable, Comparable)> {
    let is_decimal = |data_type: &DataType| data_type.is_decimal();
    match (left, right) {
        // A decimal equals a float that prints as the same digits.
        (float, decimal) if float.is_floating() && is_decimal(decimal) => {
            Some((Comparable::CastOr(float.clone()), Comparable::Read(float.clone())))
        }
        (decimal, float) if float.is_floating() && is_decimal(decimal) => {
            Some((Comparable::Read(float.clone()), Comparable::CastOr(float.clone())))
        }
        _ => {
            let common = common_type(left, right)?;
            let castable = can_cast_types(left, &common) && can_cast_types(right, &common) && has_row_form(&common);
            castable.then(|| (Comparable::CastOr(common.clone()), Comparable::CastOr(common)))
        }
    }
}

/// How a column of text and a typed column are compared.
fn text_and(typed: &DataType) -> (Comparable, Comparable) {
    let values = match typed {
        DataType::Dictionary(_, values) => values.as_ref(),
        other => other,
    };
    match values {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
            (Comparable::Cast(DataType::LargeUtf8), Comparable::Cast(DataType::LargeUtf8))
        }
        t if is_read(t) => (Comparable::Read(t.clone()), Comparable::CastOr(t.clone())),
        _ => (Comparable::Written, Comparable::Written),
    }
}

/// Whether values of this type can be read from what is written of them.
fn is_read(data_type: &DataType) -> bool {
    use DataType::{Boolean, Date32, Date64, Decimal32, Decimal64, Decimal128, Decimal256, Time32, Time64, Timestamp};
    let known = data_type.is_integer()
        || data_type.is_floating()
        || matches!(data_type, Boolean | Date32 | Date64 | Time32(_) | Time64(_) | Timestamp(..))
        || matches!(data_type, Decimal32(..) | Decimal64(..) | Decimal128(..) | Decimal256(..));
    known && can_cast_types(&DataType::Utf8, data_type)
}

impl Comparable {
    /// The arrays to compare: as many and of the same types on both sides.
    pub fn arrays(&self, array: &ArrayRef) -> Result<Vec<ArrayRef>> {
        Ok(match self {
            Comparable::Same => vec![array.clone()],
            Comparable::Cast(to) => vec![cast(array, to)?],
            Comparable::CastOr(to) => cast_or_print(array, to)?,
            Comparable::Read(to) => read(array, to)?,
            Comparable::Written => vec![Arc::new(written(array)?)],
        })
    }
}

/// Values cast to a type, and the values that it cannot represent.
fn cast_or_print(array: &ArrayRef, to: &DataType) -> Result<Vec<ArrayRef>> {
    // Nested values that do not fit would become null unnoticed.
    let options = CastOptions { safe: !to.is_nested(), ..CastOptions::default() };
    let values = cast_with_options(array, to, &options)?;
    let is_exact = match (array.data_type().is_integer(), to.is_floating()) {
        (true, true) => Some(eq(&cast(&values, array.data_type())?, array)?),
        _ => None,
    };
    let is_kept =
        |row: usize| values.is_valid(row) && is_exact.as_ref().is_none_or(|e| e.is_valid(row) && e.value(row));
    if (0..array.len()).all(|row| array.is_null(row) || is_kept(row)) {
        return Ok(vec![values, new_null_array(&DataType::Utf8, array.len())]);
    }
    let kept: BooleanArray = (0..array.len()).map(|row| Some(is_kept(row))).collect();
    let lost = nullif(&written(array)?, &kept)?;
    Ok(vec![nullif(&values, &not(&kept)?)?, lost])
}

/// Text read to a type, and the cells that are no such value. An empty cell is null.
fn read(text: &ArrayRef, to: &DataType) -> Result<Vec<ArrayRef>> {
    let text = &cast(text, &DataType::Utf8)?;
    let filled: StringArray = text.as_string::<i32>().iter().map(|cell| cell.filter(|c| !c.is_empty())).collect();
    let values = cast(&filled, to)?;
    let fits: StringArray =
        filled.iter().enumerate().map(|(i, cell)| cell.filter(|c| values.is_valid(i) && says_no_more(c, to))).collect();
    let others = filled.iter().zip(&fits).map(|(cell, fits)| cell.filter(|_| fits.is_none())).collect::<StringArray>();
    if others.null_count() == others.len() {
        return Ok(vec![values, Arc::new(others)]);
    }
    Ok(vec![cast(&fits, to)?, Arc::new(others)])
}

/// Whether a text that was read to a type says no more than the value does.
fn says_no_more(text: &str, data_type: &DataType) -> bool {
    let fraction = || {
        let digits = text.rsplit_once('.').map_or("", |(_, f)| f);
        let digits = digits.find(|c: char| !c.is_ascii_digit()).and_then(|end| digits.get(..end)).unwrap_or(digits);
        digits.trim_end_matches('0').len()
    };
    let digits_of = |unit: &TimeUnit| match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 3,
        TimeUnit::Microsecond => 6,
        TimeUnit::Nanosecond => 9,
    };
    match data_type {
        DataType::Boolean => ["true", "false"].iter().any(|word| text.eq_ignore_ascii_case(word)),
        DataType::Date32 => !text.contains(':'),
        DataType::Date64 => fraction() <= digits_of(&TimeUnit::Millisecond),
        DataType::Time32(unit) | DataType::Time64(unit) | DataType::Timestamp(unit, _) => fraction() <= digits_of(unit),
        DataType::Decimal32(_, scale)
        | DataType::Decimal64(_, scale)
        | DataType::Decimal128(_, scale)
        | DataType::Decimal256(_, scale) => {
            !text.contains(['e', 'E']) && fraction() <= usize::try_from(*scale).unwrap_or(0)
        }
        DataType::Float16 | DataType::Float32 | DataType::Float64 => is_written_as(text, data_type),
        _ => true,
    }
}

/// What is written of values in a cell of text; nothing is null.
fn written(array: &ArrayRef) -> Result<StringArray> {
    if array.data_type().is_nested() {
        return Ok(cast(&json::texts(array)?, &DataType::Utf8)?.as_string::<i32>().clone());
    }
    let format = FormatOptions::new().with_display_error(false);
    let formatter = ArrayFormatter::try_new(array, &format)?;
    let cell = |row: usize| -> Result<Option<String>> {
        if array.is_null(row) {
            return Ok(None);
        }
        Ok(Some(formatter.value(row).try_to_string()?).filter(|t| !t.is_empty()))
    };
    (0..array.len()).map(cell).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_read_without_rounding() {
        let cells = |texts: &[&str], to: &DataType| {
            let array: ArrayRef = Arc::new(StringArray::from(texts.to_vec()));
            let read = read(&array, to).unwrap();
            let others = read[1].as_string::<i32>().iter().flatten().map(str::to_owned).collect::<Vec<_>>();
            (read[0].null_count(), others)
        };
        let others = |texts: &[&str]| texts.iter().map(|t| (*t).to_owned()).collect::<Vec<_>>();
        assert_eq!(cells(&["1.50", "1.555", "", "x"], &DataType::Decimal128(9, 2)), (3, others(&["1.555", "x"])));
        assert_eq!(cells(&["2024-01-01", "2024-13-01"], &DataType::Date32), (1, others(&["2024-13-01"])));
        let seconds = DataType::Timestamp(TimeUnit::Second, None);
        assert_eq!(
            cells(&["2024-01-01T00:00:01", "2024-01-01T00:00:01.5", "2024-01-01T00:00:01.0"], &seconds),
            (1, others(&["2024-01-01T00:00:01.5"]))
        );
        assert_eq!(cells(&["true", "FALSE", "1"], &DataType::Boolean), (1, others(&["1"])));
        assert_eq!(cells(&["200", "-1", "7"], &DataType::UInt8), (1, others(&["-1"])));
    }
}
