//! When values of different types are equal: types that hold the values of two others exactly, and digits of floats.

use arrow::datatypes::{ArrowPrimitiveType, DECIMAL256_MAX_PRECISION, DataType, Field, Fields, Float16Type, TimeUnit};
use std::sync::Arc;

type Half = <Float16Type as ArrowPrimitiveType>::Native;

/// The type that holds the values of both types, or of one of them where no type holds both; `None` if no value of one can equal
/// a value of the other.
pub(super) fn common_type(a: &DataType, b: &DataType) -> Option<DataType> {
    use DataType::{
        Boolean, Date32, Date64, Dictionary, Duration, Float32, Float64, Map, Null, RunEndEncoded, Struct, Time32,
        Time64, Timestamp,
    };
    Some(match (a, b) {
        (a, b) if a == b => a.clone(),
        (Null, other) | (other, Null) => other.clone(),
        (Dictionary(_, values), other) | (other, Dictionary(_, values)) => common_type(values, other)?,
        (RunEndEncoded(_, values), other) | (other, RunEndEncoded(_, values)) => {
            common_type(values.data_type(), other)?
        }
        (a, b) if is_string(a) && is_string(b) => DataType::LargeUtf8,
        (a, b) if is_binary(a) && is_binary(b) => DataType::LargeBinary,
        (a, b) if a.is_integer() && b.is_integer() => DataType::Decimal128(20, 0),
        (a, b) if a.is_floating() && b.is_floating() => Float64,
        (float, int) | (int, float) if float.is_floating() && int.is_integer() => match float {
            Float32 | Float64 => float.clone(),
            _ => Float32,
        },
        (a, b) if is_number(a) && is_number(b) => {
            DataType::Decimal256(DECIMAL256_MAX_PRECISION, scale(a).max(scale(b)))
        }
        (Date32 | Date64, Date32 | Date64) => Timestamp(TimeUnit::Millisecond, None),
        (Date32 | Date64, Timestamp(unit, None)) | (Timestamp(unit, None), Date32 | Date64) => {
            Timestamp((*unit).max(TimeUnit::Millisecond), None)
        }
        // Both are instants; the zone decides how they print.
        (Timestamp(a, Some(_)), Timestamp(b, Some(_))) => Timestamp(*a.max(b), Some("+00:00".into())),
        (Timestamp(a, None), Timestamp(b, None)) => Timestamp(*a.max(b), None),
        (Time32(_) | Time64(_), Time32(_) | Time64(_)) => Time64(TimeUnit::Nanosecond),
        (Duration(a), Duration(b)) => Duration(*a.max(b)),
        (Struct(a), Struct(b)) => Struct(common_fields(a, b)?),
        (Map(a, _), Map(b, _)) => match (a.data_type(), b.data_type()) {
            (Struct(x), Struct(y)) if x.len() == y.len() => Map(Arc::new(map_entries(x, y)?), false),
            _ => return None,
        },
        (Boolean, _) | (_, Boolean) => return None,
        (a, b) => {
            let item = exact_common_type(items(a)?, items(b)?)?;
            DataType::LargeList(Arc::new(Field::new_list_field(item, true)))
        }
    })
}

/// The fields of two structs that have the same names in the same order.
fn common_fields(a: &Fields, b: &Fields) -> Option<Fields> {
    let same_names = a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.name() == b.name());
    let common = |(a, b): (&Arc<Field>, &Arc<Field>)| {
        Some(Field::new(a.name(), exact_common_type(a.data_type(), b.data_type())?, true))
    };
    if same_names { a.iter().zip(b).map(common).collect() } else { None }
}

/// The entries of a map: a key and a value, whatever they are called.
fn map_entries(a: &Fields, b: &Fields) -> Option<Field> {
    let common = |(place, (a, b)): (usize, (&Arc<Field>, &Arc<Field>))| {
        let name = if place == 0 { "key" } else { "value" };
        Some(Field::new(name, exact_common_type(a.data_type(), b.data_type())?, place > 0))
    };
    let fields = a.iter().zip(b).enumerate().map(common).collect::<Option<Fields>>()?;
    Some(Field::new("entries", DataType::Struct(fields), false))
}

/// The common type of nested values: one that holds all of them, because there is no second array for those that do not fit.
fn exact_common_type(a: &DataType, b: &DataType) -> Option<DataType> {
    use DataType::{Float32, Float64, Int8, Int16, Int32, UInt8, UInt16, UInt32};
    match (a, b) {
        (float, int) | (int, float) if float.is_floating() && int.is_integer() => match int {
            Int8 | Int16 | UInt8 | UInt16 | Int32 | UInt32 => Some(Float64),
            _ => None,
        },
        (a, b) if a != b && is_number(a) && is_number(b) && (a.is_decimal() || b.is_decimal()) => {
            (!matches!(a, Float32 | Float64) && !matches!(b, Float32 | Float64)).then(|| common_type(a, b)).flatten()
        }
        _ => common_type(a, b),
    }
}

fn items(list: &DataType) -> Option<&DataType> {
    use DataType::{FixedSizeList, LargeList, LargeListView, List, ListView};
    match list {
        List(item) | LargeList(item) | FixedSizeList(item, _) | ListView(item) | LargeListView(item) => {
            Some(item.data_type())
        }
        _ => None,
    }
}

fn is_string(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

fn is_binary(data_type: &DataType) -> bool {
    use DataType::{Binary, BinaryView, FixedSizeBinary, LargeBinary};
    matches!(data_type, Binary | LargeBinary | BinaryView | FixedSizeBinary(_))
}

fn is_number(data_type: &DataType) -> bool {
    data_type.is_integer() || data_type.is_decimal()
}

fn scale(number: &DataType) -> i8 {
    match number {
        DataType::Decimal32(_, scale)
        | DataType::Decimal64(_, scale)
        | DataType::Decimal128(_, scale)
        | DataType::Decimal256(_, scale) => *scale,
        _ => 0,
    }
}

/// Whether a number in text is what a float prints as, with as many digits as the text has: `0.1` and `0.10000000000000001` are
/// the float64 nearest to a tenth, but `9007199254740993` is no float64.
pub(super) fn is_written_as(text: &str, float: &DataType) -> bool {
    let Some(written) = Digits::of(text) else {
        // Infinities and NaN.
        return text.parse::<f64>().is_ok_and(|value| !value.is_finite());
    };
    let places = written.digits.len().saturating_sub(1);
    let printed = match float {
        DataType::Float16 => text.parse::<f32>().map(|value| format!("{:.places$e}", Half::from_f32(value).to_f32())),
        DataType::Float32 => text.parse::<f32>().map(|value| format!("{value:.places$e}")),
        _ => text.parse::<f64>().map(|value| format!("{value:.places$e}")),
    };
    printed.ok().and_then(|printed| Digits::of(&printed)).is_some_and(|printed| printed == written)
}

/// A number as it is written: its significant digits, and the power of ten of the first.
#[derive(Debug, PartialEq)]
struct Digits {
    digits: String,
    exponent: i64,
}

impl Digits {
    /// `None` if the text is not a finite number.
    fn of(text: &str) -> Option<Digits> {
        let text = text.trim().trim_start_matches(['+', '-']);
        let (number, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let all = format!("{whole}{fraction}");
        if all.is_empty() || !all.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        let leading = all.len() - all.trim_start_matches('0').len();
        let digits = all.trim_matches('0');
        if digits.is_empty() {
            return Some(Digits { digits: String::new(), exponent: 0 });
        }
        let first = i64::try_from(whole.len()).ok()? - 1 - i64::try_from(leading).ok()?;
        Some(Digits { digits: digits.to_owned(), exponent: first.checked_add(exponent.parse().ok()?)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_a_float_if_it_has_its_digits() {
        use DataType::{Float16, Float32, Float64};
        for (text, float, is_equal) in [
            ("0.1", Float64, true),
            ("0.10000000000000001", Float64, true),
            ("0.1000000000000000055511151231257827", Float64, true),
            ("0.1000000000000000055511151231257828", Float64, false),
            ("9007199254740993", Float64, false),
            ("9007199254740992", Float64, true),
            ("-1.5e3", Float64, true),
            ("1e400", Float64, false),
            ("inf", Float64, true),
            ("0", Float64, true),
            ("-0.00", Float32, true),
            ("100", Float32, true),
            ("16777217", Float32, false),
            ("3.14159", Float32, true),
            ("2049", Float16, false),
            ("2048", Float16, true),
        ] {
            assert_eq!(is_written_as(text, &float), is_equal, "{text} as {float}");
        }
    }

    #[test]
    fn common_types_hold_both() {
        use DataType::{Decimal128, Decimal256, Float64, Int32, Int64, LargeUtf8, Timestamp, UInt64, Utf8};
        let list = |name: &str, t: DataType| DataType::List(Arc::new(Field::new(name, t, true)));
        assert_eq!(common_type(&Int32, &Int64), Some(Decimal128(20, 0)));
        assert_eq!(common_type(&UInt64, &Decimal128(9, 2)), Some(Decimal256(76, 2)));
        assert_eq!(common_type(&Utf8, &Int64), None);
        let strings = DataType::LargeList(Arc::new(Field::new_list_field(Utf8, true)));
        assert_eq!(common_type(&list("item", Utf8), &list("element", Utf8)), Some(strings));
        let strings = DataType::LargeList(Arc::new(Field::new_list_field(LargeUtf8, true)));
        assert_eq!(common_type(&list("item", LargeUtf8), &list("element", Utf8)), Some(strings));
        assert_eq!(common_type(&list("item", Int64), &list("element", Float64)), None);
        let naive = Timestamp(TimeUnit::Second, None);
        assert_eq!(common_type(&naive, &Timestamp(TimeUnit::Second, Some("UTC".into()))), None);
    }
}
