//! Binds the literals of a predicate to column types.
//!
//! A literal is what the user wrote; a column type holds only some values. Binding locates the literal among these: it
//! is one of them, lies between two, or beyond all. The comparison then becomes one with a value of the column type, or
//! a constant:
//!
//! ```text
//! d > 1.555   on decimals with two places   is   d > 1.55
//! d = 1.555                                 is   never true
//! t <= 1.5 s  on seconds                    is   t <= 1 s
//! i < 300     on one-byte integers          is   true for every value
//! ```
//!
//! Floating-point columns are the exception: the literal is rounded to the nearest value of the column type, as it was
//! when the values were written. A finite literal beyond the largest value is not infinity.

use super::bound::{BoundPredicate, Literal};
use super::{Op, Predicate};
use crate::decimal::Nearest;
use crate::{Decimal, Error, Result, Value};
use arrow::array::timezone::Tz;
use arrow::array::{
    ArrayData, ArrayRef, ArrowPrimitiveType, BinaryArray, BooleanArray, FixedSizeBinaryArray, Float64Array,
    StringArray, make_array,
};
use arrow::buffer::Buffer;
use arrow::compute::kernels::cast_utils::{Parser as _, string_to_datetime, string_to_time_nanoseconds};
use arrow::compute::{CastOptions, cast, cast_with_options};
use arrow::datatypes::{DataType, Date32Type, Float16Type, Schema, TimeUnit, i256};
use std::cmp::Ordering;
use std::sync::Arc;

/// A comparison of a column with a literal, bound to the column's type.
#[derive(Clone, Debug, PartialEq)]
pub enum Comparison {
    /// With a value that the column can hold.
    With(Op, Literal),
    /// The same answer for every value that is not null.
    Known(bool),
    /// With null: neither true nor false.
    Unknown,
}

impl Comparison {
    /// Binds a comparison with `value` to columns of this type.
    pub fn bind(op: Op, value: &Value, data_type: &DataType) -> Result<Comparison> {
        let data_type = match data_type {
            DataType::Dictionary(_, values) => values,
            other => other,
        };
        if *value == Value::Null || *data_type == DataType::Null {
            return Ok(Comparison::Unknown);
        }
        Ok(match place(value, data_type)? {
            Nearest::At(array) => Comparison::With(op, Literal::new(array)),
            Nearest::After(array) => match op {
                Op::Eq => Comparison::Known(false),
                Op::Ne => Comparison::Known(true),
                Op::Lt | Op::Le => Comparison::With(Op::Le, Literal::new(array)),
                Op::Gt | Op::Ge => Comparison::With(Op::Gt, Literal::new(array)),
            },
            Nearest::Below => Comparison::Known(op.holds(Ordering::Greater)),
            Nearest::Above => Comparison::Known(op.holds(Ordering::Less)),
        })
    }
}

impl Predicate {
    /// The predicate with every literal bound to the type of its column in `schema`; an error for comparisons that make no
    /// sense.
    pub fn bind(&self, schema: &Schema) -> Result<BoundPredicate> {
        self.bind_as(false, schema)
    }

    /// Binds the predicate, or what it denies. Values have one order, so that what is not less is equal or greater.
    fn bind_as(&self, denied: bool, schema: &Schema) -> Result<BoundPredicate> {
        let type_of = |column: usize| match schema.fields().get(column) {
            Some(field) => Ok(field.data_type()),
            None => Err(Error::request("no_such_column", format!("there is no column {column}"))),
        };
        let all = |of: &[Predicate]| of.iter().map(|p| p.bind_as(denied, schema)).collect::<Result<Vec<_>>>();
        Ok(match self {
            Predicate::Compare { column, op, value } => {
                let op = if denied { op.denied() } else { *op };
                match Comparison::bind(op, value, type_of(*column)?)? {
                    Comparison::With(op, literal) => BoundPredicate::Compare { column: *column, op, literal },
                    Comparison::Known(answer) => BoundPredicate::Known { column: *column, answer },
                    Comparison::Unknown => BoundPredicate::Unknown,
                }
            }
            Predicate::In { column, values } => in_list(*column, values, denied, type_of(*column)?)?,
            Predicate::IsNull { column } => {
                type_of(*column)?;
                BoundPredicate::IsNull { column: *column, denied }
            }
            Predicate::And(of) if denied => BoundPredicate::Or(all(of)?),
            Predicate::And(of) => BoundPredicate::And(all(of)?),
            Predicate::Or(of) if denied => BoundPredicate::And(all(of)?),
            Predicate::Or(of) => BoundPredicate::Or(all(of)?),
            Predicate::Not(p) => p.bind_as(!denied, schema)?,
        })
    }
}

/// Values that the column cannot hold are in no list; null makes what is not found unknown.
fn in_list(column: usize, values: &[Value], denied: bool, data_type: &DataType) -> Result<BoundPredicate> {
    let mut literals = Vec::new();
    let mut unknown = false;
    for value in values {
        match Comparison::bind(Op::Eq, value, data_type)? {
            Comparison::With(_, literal) => literals.push(literal),
            Comparison::Known(_) => {}
            Comparison::Unknown => unknown = true,
        }
    }
    let list = BoundPredicate::In { column, literals, denied };
    Ok(match (unknown, denied) {
        (false, _) => list,
        (true, false) => BoundPredicate::Or(vec![list, BoundPredicate::Unknown]),
        (true, true) => BoundPredicate::And(vec![list, BoundPredicate::Unknown]),
    })
}

/// Where a literal lies among the values of a type, which come as arrays of one value.
fn place(value: &Value, data_type: &DataType) -> Result<Nearest<ArrayRef>> {
    let refuse = || mismatch(data_type, value);
    match (value, data_type) {
        (Value::Bool(b), DataType::Boolean) => Ok(Nearest::At(Arc::new(BooleanArray::from(vec![*b])))),
        (_, t) if t.is_floating() => match nearest(value, t).ok_or_else(refuse)? {
            Nearest::At(x) => Ok(Nearest::At(float(x, t)?)),
            Nearest::After(x) => Ok(Nearest::After(float(x, t)?)),
            Nearest::Below => Ok(Nearest::Below),
            Nearest::Above => Ok(Nearest::Above),
        },
        (_, t) if t.is_integer() || t.is_decimal() => {
            let units = among_units(value, decimal_scale(t)).ok_or_else(refuse)?;
            whole(units, t)
        }
        (
            _,
            DataType::Date32 | DataType::Date64 | DataType::Time32(_) | DataType::Time64(_) | DataType::Timestamp(..),
        ) => {
            let text = match value {
                Value::Text(text) => text.clone(),
                Value::Int(_) => value.to_string(),
                _ => return Err(refuse()),
            };
            whole(in_time_units(&text, data_type).ok_or_else(refuse)?, data_type)
        }
        (Value::Text(text), DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View) => {
            Ok(Nearest::At(cast(&StringArray::from(vec![text.as_str()]), data_type)?))
        }
        (Value::Text(text), t) if is_binary(t) => bytes(text.as_bytes(), t),
        (Value::Bytes(b), t) if is_binary(t) => bytes(b, t),
        (Value::Text(text), DataType::Interval(_)) => {
            let strict = CastOptions { safe: false, ..CastOptions::default() };
            let interval = cast_with_options(&StringArray::from(vec![text.as_str()]), data_type, &strict);
            Ok(Nearest::At(interval.map_err(|e| refuse().caused_by(e))?))
        }
        _ => Err(refuse()),
    }
}

fn mismatch(data_type: &DataType, value: &Value) -> Error {
    let error =
        Error::request("type_mismatch", format!("a column of type {data_type} cannot be compared with {value}"));
    match data_type {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => error.hint("put text in quotes"),
        _ => error,
    }
}

fn is_binary(data_type: &DataType) -> bool {
    use DataType::{Binary, BinaryView, FixedSizeBinary, LargeBinary};
    matches!(data_type, Binary | LargeBinary | BinaryView | FixedSizeBinary(_))
}

fn decimal_scale(data_type: &DataType) -> i8 {
    use DataType::{Decimal32, Decimal64, Decimal128, Decimal256};
    match data_type {
        Decimal32(_, scale) | Decimal64(_, scale) | Decimal128(_, scale) | Decimal256(_, scale) => *scale,
        _ => 0,
    }
}

/// A number among the multiples of `10^-scale`. NaN is larger than every number.
fn among_units(value: &Value, scale: i8) -> Option<Nearest<i256>> {
    match value {
        Value::Int(int) => Some(Decimal::from(*int).in_units(scale)),
        Value::Decimal(number) => Some(number.in_units(scale)),
        Value::Float(x) => Some(match Decimal::of_float(*x) {
            Some(number) => number.in_units(scale),
            None if *x == f64::NEG_INFINITY => Nearest::Below,
            None => Nearest::Above,
        }),
        _ => None,
    }
}

/// A place among units as one among the values of a type that counts them.
fn whole(place: Nearest<i256>, data_type: &DataType) -> Result<Nearest<ArrayRef>> {
    let width = data_type.primitive_width().unwrap_or(8);
    let spare = u8::try_from(256 - 8 * width).unwrap_or(0);
    let (least, most) = match data_type.is_unsigned_integer() {
        true => (i256::ZERO, i256::MAX >> (spare - 1)),
        false => (i256::MIN >> spare, i256::MAX >> spare),
    };
    let array = |units: i256| -> Result<ArrayRef> {
        let bytes = units.to_le_bytes();
        let data = ArrayData::builder(data_type.clone())
            .len(1)
            .add_buffer(Buffer::from(bytes.get(..width).unwrap_or_default()))
            .align_buffers(true);
        Ok(make_array(data.build()?))
    };
    Ok(match place {
        Nearest::At(units) | Nearest::After(units) if units < least => Nearest::Below,
        Nearest::At(units) | Nearest::After(units) if units > most => Nearest::Above,
        Nearest::At(units) => Nearest::At(array(units)?),
        Nearest::After(units) => Nearest::After(array(units)?),
        Nearest::Below => Nearest::Below,
        Nearest::Above => Nearest::Above,
    })
}

/// The nearest number that a floating point type can hold, widened.
fn nearest(value: &Value, data_type: &DataType) -> Option<Nearest<f64>> {
    type Half = <Float16Type as ArrowPrimitiveType>::Native;
    let rounded = |text: &str| -> Option<f64> {
        Some(match data_type {
            DataType::Float16 => Half::from_f64(text.parse().ok()?).to_f64(),
            DataType::Float32 => text.parse::<f32>().ok()?.into(),
            _ => text.parse().ok()?,
        })
    };
    let x = match value {
        Value::Float(x) if !x.is_finite() => return Some(Nearest::At(*x)),
        Value::Float(x) => rounded(&x.to_string())?,
        Value::Int(_) | Value::Decimal(_) => rounded(&value.to_string())?,
        _ => return None,
    };
    let largest = match data_type {
        DataType::Float16 => Half::MAX.to_f64(),
        DataType::Float32 => f32::MAX.into(),
        _ => f64::MAX,
    };
    Some(match x {
        f64::INFINITY => Nearest::After(largest),
        f64::NEG_INFINITY => Nearest::After(x),
        _ => Nearest::At(x),
    })
}

fn float(x: f64, data_type: &DataType) -> Result<ArrayRef> {
    Ok(cast(&Float64Array::from(vec![x]), data_type)?)
}

const NANOS_PER_DAY: i128 = 86_400_000_000_000;

/// A date or time as it is written, among the units of a type.
fn in_time_units(text: &str, data_type: &DataType) -> Option<Nearest<i256>> {
    let (text, cut) = cut_fraction(text.trim());
    let per_unit = |unit: &TimeUnit| match unit {
        TimeUnit::Second => 1_000_000_000,
        TimeUnit::Millisecond => 1_000_000,
        TimeUnit::Microsecond => 1000,
        TimeUnit::Nanosecond => 1,
    };
    let (nanos, unit) = match data_type {
        DataType::Date32 => (instant(&text, None)?, NANOS_PER_DAY),
        DataType::Date64 => (instant(&text, None)?, per_unit(&TimeUnit::Millisecond)),
        DataType::Timestamp(unit, zone) => (instant(&text, zone.as_deref())?, per_unit(unit)),
        DataType::Time32(unit) | DataType::Time64(unit) => {
            (string_to_time_nanoseconds(&text).ok()?.into(), per_unit(unit))
        }
        _ => return None,
    };
    let units = i256::from_i128(nanos.div_euclid(unit));
    Some(if nanos.rem_euclid(unit) == 0 && !cut { Nearest::At(units) } else { Nearest::After(units) })
}

/// The text with a fraction of at most nine digits, and whether anything was cut off.
fn cut_fraction(text: &str) -> (String, bool) {
    let Some((front, rest)) = text.split_once('.') else { return (text.to_owned(), false) };
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (digits, zone) = rest.split_at_checked(end).unwrap_or((rest, ""));
    let (kept, beyond) = digits.split_at_checked(9).unwrap_or((digits, ""));
    (format!("{front}.{kept}{zone}"), beyond.bytes().any(|b| b != b'0'))
}

/// Nanoseconds since 1970; without a zone of its own the text is read in that of the column.
fn instant(text: &str, zone: Option<&str>) -> Option<i128> {
    if zone.is_none() && (text.len() <= 10 || text.starts_with(['+', '-'])) {
        return Date32Type::parse(text).map(|days| i128::from(days) * NANOS_PER_DAY);
    }
    let zone: Tz = zone.unwrap_or("+00:00").parse().ok()?;
    let time = string_to_datetime(&zone, text)
        .or_else(|e| with_seconds(text).map_or(Err(e), |t| string_to_datetime(&zone, &t)));
    let time = time.ok()?;
    Some(i128::from(time.timestamp()) * 1_000_000_000 + i128::from(time.timestamp_subsec_nanos()))
}

/// A moment that is written without seconds, such as `2024-05-01 10:30` or `2024-05-01T10:30Z`, with them.
pub fn with_seconds(text: &str) -> Option<String> {
    let (minutes, zone) = text.split_at_checked(16)?;
    let digits = |range| minutes.get(range).is_some_and(|part: &str| part.bytes().all(|b| b.is_ascii_digit()));
    let marks = [(4, b'-'), (7, b'-'), (13, b':')];
    let well = marks.iter().all(|(at, mark)| minutes.as_bytes().get(*at) == Some(mark))
        && matches!(minutes.as_bytes().get(10), Some(b' ' | b'T' | b't'))
        && digits(0..4)
        && digits(5..7)
        && digits(8..10)
        && digits(11..13)
        && digits(14..16)
        && !zone.starts_with([':', '.']);
    well.then(|| format!("{minutes}:00{zone}"))
}

/// Bytes among those that a type can hold: all, or those of one length.
fn bytes(bytes: &[u8], data_type: &DataType) -> Result<Nearest<ArrayRef>> {
    let DataType::FixedSizeBinary(length) = data_type else {
        return Ok(Nearest::At(cast(&BinaryArray::from(vec![bytes]), data_type)?));
    };
    let length = usize::try_from(*length).unwrap_or(0);
    let array =
        |of: &[u8]| -> Result<ArrayRef> { Ok(Arc::new(FixedSizeBinaryArray::try_from_iter(std::iter::once(of))?)) };
    if let Some((front, rest)) = bytes.split_at_checked(length) {
        return Ok(if rest.is_empty() { Nearest::At(array(front)?) } else { Nearest::After(array(front)?) });
    }
    // Below all that begin like this: after the last of those before, which ends in the highest bytes.
    let Some(last) = bytes.iter().rposition(|b| *b != 0) else { return Ok(Nearest::Below) };
    let mut before = vec![u8::MAX; length];
    before.iter_mut().zip(bytes.iter().take(last + 1)).for_each(|(to, from)| *to = *from);
    if let Some(byte) = before.get_mut(last) {
        *byte -= 1;
    }
    Ok(Nearest::After(array(&before)?))
}
