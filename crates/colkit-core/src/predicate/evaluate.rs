//! Evaluating a predicate on decoded rows.

use super::{Op, Predicate};
use crate::{Error, Result, Value};
use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Float64Array, Scalar, StringArray};
use arrow::buffer::BooleanBuffer;
use arrow::compute::kernels::cmp;
use arrow::compute::{CastOptions, and_kleene, cast, cast_with_options, is_null, not, or_kleene};
use arrow::datatypes::{DataType, Float64Type};
use arrow::record_batch::RecordBatch;
use std::cmp::Ordering;

impl Predicate {
    /// For each row whether it matches; unknown is null. `position` says where in the batch a column of the table is.
    pub fn evaluate(&self, batch: &RecordBatch, position: &dyn Fn(usize) -> Option<usize>) -> Result<BooleanArray> {
        let column = |index: usize| {
            position(index)
                .and_then(|p| batch.columns().get(p))
                .ok_or_else(|| Error::request("no_such_column", format!("the predicate's column {index} was not read")))
        };
        let all = |of: &[Predicate], start: bool, combine: Kleene| {
            let start = BooleanArray::from(vec![start; batch.num_rows()]);
            of.iter().try_fold(start, |sum, p| Ok(combine(&sum, &p.evaluate(batch, position)?)?))
        };
        match self {
            Predicate::Compare { column: index, op, value } => compare(column(*index)?, *op, value),
            Predicate::In { column: index, values } => {
                let array = column(*index)?;
                let none = BooleanArray::from(vec![false; batch.num_rows()]);
                values.iter().try_fold(none, |sum, v| Ok(or_kleene(&sum, &compare(array, Op::Eq, v)?)?))
            }
            Predicate::IsNull { column: index } => Ok(is_null(column(*index)?)?),
            Predicate::And(of) => all(of, true, and_kleene),
            Predicate::Or(of) => all(of, false, or_kleene),
            Predicate::Not(p) => Ok(not(&p.evaluate(batch, position)?)?),
        }
    }
}

type Kleene = fn(&BooleanArray, &BooleanArray) -> std::result::Result<BooleanArray, arrow::error::ArrowError>;

fn compare(array: &ArrayRef, op: Op, value: &Value) -> Result<BooleanArray> {
    let data_type = array.data_type();
    match (data_type, value) {
        (_, Value::Null) => Ok(BooleanArray::new_null(array.len())),
        (DataType::Dictionary(_, values), _) => compare(&cast(array, values)?, op, value),
        (t, Value::Int(_) | Value::Float(_)) if t.is_integer() => compare_integers(array, op, value),
        (t, Value::Int(_) | Value::Float(_)) if t.is_floating() => {
            let floats = cast(array, &DataType::Float64)?;
            Ok(compare_floats(floats.as_primitive::<Float64Type>(), op, value))
        }
        _ => kernel(op)(array, &literal(value, data_type)?),
    }
}

/// The arrow kernel for a comparison of values that have one order.
fn kernel(op: Op) -> impl Fn(&ArrayRef, &Scalar<ArrayRef>) -> Result<BooleanArray> {
    move |array, value| {
        Ok(match op {
            Op::Eq => cmp::eq(array, value),
            Op::Ne => cmp::neq(array, value),
            Op::Lt => cmp::lt(array, value),
            Op::Le => cmp::lt_eq(array, value),
            Op::Gt => cmp::gt(array, value),
            Op::Ge => cmp::gt_eq(array, value),
        }?)
    }
}

fn compare_floats(array: &Float64Array, op: Op, value: &Value) -> BooleanArray {
    let holds = |x: f64| match Value::Float(x).compare(value) {
        Some(ordering) => op.holds(ordering),
        None => op == Op::Ne,
    };
    let values = array.values();
    let bits = BooleanBuffer::collect_bool(values.len(), |i| values.get(i).is_some_and(|x| holds(*x)));
    BooleanArray::new(bits, array.nulls().cloned())
}

/// An integer column against any number: the number is turned into an integer bound of the column's own type, or
/// into a plain yes or no where it lies outside of that type.
fn compare_integers(array: &ArrayRef, op: Op, value: &Value) -> Result<BooleanArray> {
    let (op, bound) = match *value {
        Value::Float(x) if x.is_nan() => return Ok(constant(array, op == Op::Ne)),
        Value::Float(x) if x.fract() != 0.0 => match op {
            Op::Eq => return Ok(constant(array, false)),
            Op::Ne => return Ok(constant(array, true)),
            Op::Lt | Op::Le => (Op::Le, saturating_int(x.floor())),
            Op::Gt | Op::Ge => (Op::Ge, saturating_int(x.ceil())),
        },
        Value::Float(x) => (op, saturating_int(x)),
        Value::Int(i) => (op, i),
        _ => return Err(mismatch(array.data_type(), value)),
    };
    let (min, max) = integer_bounds(array.data_type());
    if bound < min {
        return Ok(constant(array, op.holds(Ordering::Greater)));
    }
    if bound > max {
        return Ok(constant(array, op.holds(Ordering::Less)));
    }
    kernel(op)(array, &literal(&Value::Int(bound), array.data_type())?)
}

/// The integer nearest to a whole float; far outside of every integer type it stays outside.
#[expect(clippy::cast_possible_truncation, reason = "float to integer casts saturate, which is what is wanted")]
fn saturating_int(whole: f64) -> i128 {
    whole as i128
}

fn integer_bounds(data_type: &DataType) -> (i128, i128) {
    match data_type {
        DataType::Int8 => (i8::MIN.into(), i8::MAX.into()),
        DataType::Int16 => (i16::MIN.into(), i16::MAX.into()),
        DataType::Int32 => (i32::MIN.into(), i32::MAX.into()),
        DataType::UInt8 => (0, u8::MAX.into()),
        DataType::UInt16 => (0, u16::MAX.into()),
        DataType::UInt32 => (0, u32::MAX.into()),
        DataType::UInt64 => (0, u64::MAX.into()),
        _ => (i64::MIN.into(), i64::MAX.into()),
    }
}

/// The same answer for every row that is not null.
fn constant(array: &ArrayRef, answer: bool) -> BooleanArray {
    let bits = if answer { BooleanBuffer::new_set(array.len()) } else { BooleanBuffer::new_unset(array.len()) };
    BooleanArray::new(bits, array.logical_nulls())
}

/// The value as a single arrow value of the column's type.
fn literal(value: &Value, data_type: &DataType) -> Result<Scalar<ArrayRef>> {
    let own: ArrayRef = match value {
        Value::Bool(b) if *data_type == DataType::Boolean => std::sync::Arc::new(BooleanArray::from(vec![*b])),
        Value::Bytes(b) => std::sync::Arc::new(arrow::array::BinaryArray::from(vec![b.as_slice()])),
        // Through its text, so that decimals, dates and times read what a person would write.
        Value::Int(_) | Value::Float(_) => std::sync::Arc::new(StringArray::from(vec![value.to_string()])),
        Value::Text(s) if !data_type.is_numeric() && *data_type != DataType::Boolean => {
            std::sync::Arc::new(StringArray::from(vec![s.as_str()]))
        }
        _ => return Err(mismatch(data_type, value)),
    };
    if matches!(value, Value::Int(_) | Value::Float(_)) && is_text(data_type) {
        return Err(mismatch(data_type, value));
    }
    let strict = CastOptions { safe: false, ..CastOptions::default() };
    let array = cast_with_options(&own, data_type, &strict).map_err(|e| mismatch(data_type, value).caused_by(e))?;
    Ok(Scalar::new(array))
}

fn is_text(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

fn mismatch(data_type: &DataType, value: &Value) -> Error {
    let error =
        Error::request("type_mismatch", format!("a column of type {data_type} cannot be compared with {value}"));
    if is_text(data_type) { error.hint("put text in quotes") } else { error }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{Int32Array, TimestampSecondArray};
    use arrow::datatypes::{Field, Schema};
    use std::sync::Arc;

    fn matches(array: ArrayRef, op: Op, value: Value) -> Vec<Option<bool>> {
        let schema = Schema::new(vec![Field::new("c", array.data_type().clone(), true)]);
        let batch = RecordBatch::try_new(Arc::new(schema), vec![array]).unwrap();
        Predicate::compare(0, op, value).evaluate(&batch, &Some).unwrap().iter().collect()
    }

    #[test]
    fn integers_against_any_number() {
        let ints: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), Some(2), Some(3), None]));
        let t = |op, v| matches(ints.clone(), op, v);
        assert_eq!(t(Op::Gt, Value::Float(1.5)), [Some(false), Some(true), Some(true), None]);
        assert_eq!(t(Op::Le, Value::Float(2.5)), [Some(true), Some(true), Some(false), None]);
        assert_eq!(t(Op::Eq, Value::Float(2.5)), [Some(false), Some(false), Some(false), None]);
        assert_eq!(t(Op::Lt, Value::Int(1 << 40)), [Some(true), Some(true), Some(true), None]);
        assert_eq!(t(Op::Gt, Value::Float(f64::NEG_INFINITY)), [Some(true), Some(true), Some(true), None]);
        assert_eq!(t(Op::Eq, Value::Int(-(1 << 40))), [Some(false), Some(false), Some(false), None]);
        assert_eq!(t(Op::Eq, Value::Null), [None; 4]);
    }

    #[test]
    fn floats_follow_ieee() {
        let floats: ArrayRef = Arc::new(Float64Array::from(vec![-0.0, f64::NAN, 2.5]));
        assert_eq!(matches(floats.clone(), Op::Eq, Value::Int(0)), [Some(true), Some(false), Some(false)]);
        assert_eq!(matches(floats, Op::Ne, Value::Float(2.5)), [Some(true), Some(true), Some(false)]);
    }

    #[test]
    fn times_are_compared_as_people_write_them() {
        let times: ArrayRef = Arc::new(TimestampSecondArray::from(vec![0, 86_400]));
        assert_eq!(matches(times, Op::Ge, Value::Text("1970-01-02".into())), [Some(false), Some(true)]);
    }

    #[test]
    fn nonsense_is_refused() {
        let text: ArrayRef = Arc::new(StringArray::from(vec!["a"]));
        let schema = Schema::new(vec![Field::new("c", DataType::Utf8, true)]);
        let batch = RecordBatch::try_new(Arc::new(schema), vec![text]).unwrap();
        let error = Predicate::compare(0, Op::Eq, Value::Int(5)).evaluate(&batch, &Some).unwrap_err();
        assert_eq!(error.code(), "type_mismatch");
    }
}
