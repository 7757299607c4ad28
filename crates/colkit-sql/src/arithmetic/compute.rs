//! The operations themselves.

use super::Op;
use arrow::array::{Array, ArrayRef, ArrowNativeTypeOp, ArrowPrimitiveType, AsArray, Datum, PrimitiveArray};
use arrow::compute::kernels::arity::try_binary;
use arrow::compute::kernels::numeric::{add, div, mul, rem, sub};
use arrow::datatypes::{ArrowNativeType, DataType, Decimal128Type, Int64Type, UInt64Type};
use arrow::error::ArrowError;
use datafusion::common::{ScalarValue, internal_datafusion_err};
use datafusion::error::DataFusionError;
use datafusion::logical_expr::ColumnarValue;
use std::fmt::Display;
use std::sync::Arc;

/// Why there is no result.
pub(super) enum Failed {
    /// With these values.
    Overflow(String),
    ByZero,
    Other(DataFusionError),
}

impl From<ArrowError> for Failed {
    fn from(error: ArrowError) -> Self {
        match error {
            ArrowError::ArithmeticOverflow(said) => {
                let values = said.strip_prefix("Overflow happened on: ").unwrap_or(&said).to_owned();
                Failed::Overflow(format!("{values} does not fit"))
            }
            ArrowError::DivideByZero => Failed::ByZero,
            other => Failed::Other(other.into()),
        }
    }
}

impl From<DataFusionError> for Failed {
    fn from(error: DataFusionError) -> Self {
        Failed::Other(error)
    }
}

type Computed<T> = Result<T, Failed>;

fn overflow(values: impl Display) -> ArrowError {
    ArrowError::ArithmeticOverflow(values.to_string())
}

/// An operation on two values of the same type, or on a number and how far to shift it.
pub(super) fn computed(op: Op, left: &ColumnarValue, right: &ColumnarValue, rows: usize) -> Computed<ColumnarValue> {
    let kernel = match op {
        Op::Add => add,
        Op::Subtract => sub,
        Op::Multiply => mul,
        Op::Divide => div,
        Op::Remainder => rem,
        _ => return on_arrays(left, right, rows, |l, r| shifted(op, l, r)),
    };
    if left.data_type().is_decimal() {
        return on_arrays(left, right, rows, |l, r| wide(op, l, r));
    }
    let kernel = |l: &dyn Datum, r: &dyn Datum| kernel(l, r);
    Ok(match (left, right) {
        (ColumnarValue::Array(l), ColumnarValue::Array(r)) => ColumnarValue::Array(kernel(l, r)?),
        (ColumnarValue::Array(l), ColumnarValue::Scalar(r)) => ColumnarValue::Array(kernel(l, &r.to_scalar()?)?),
        (ColumnarValue::Scalar(l), ColumnarValue::Array(r)) => ColumnarValue::Array(kernel(&l.to_scalar()?, r)?),
        (ColumnarValue::Scalar(l), ColumnarValue::Scalar(r)) => {
            let one = kernel(&l.to_scalar()?, &r.to_scalar()?)?;
            ColumnarValue::Scalar(ScalarValue::try_from_array(&one, 0)?)
        }
    })
}

fn on_arrays(
    left: &ColumnarValue,
    right: &ColumnarValue,
    rows: usize,
    compute: impl Fn(&ArrayRef, &ArrayRef) -> Result<ArrayRef, ArrowError>,
) -> Computed<ColumnarValue> {
    if let (ColumnarValue::Scalar(l), ColumnarValue::Scalar(r)) = (left, right) {
        let one = compute(&l.to_array()?, &r.to_array()?)?;
        return Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&one, 0)?));
    }
    let (left, right) = (left.clone().into_array(rows)?, right.clone().into_array(rows)?);
    Ok(ColumnarValue::Array(compute(&left, &right)?))
}

/// Integers in 128 bits.
fn wide(op: Op, left: &ArrayRef, right: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let (l, r) = (left.as_primitive::<Decimal128Type>(), right.as_primitive::<Decimal128Type>());
    let done: PrimitiveArray<Decimal128Type> = try_binary(l, r, |l, r| {
        let (sign, done) = match op {
            Op::Add => ("+", l.add_checked(r)),
            Op::Subtract => ("-", l.sub_checked(r)),
            Op::Multiply => ("*", l.mul_checked(r)),
            Op::Divide => ("/", l.div_checked(r)),
            _ => ("%", l.mod_checked(r)),
        };
        // A decimal has 38 digits, which is less than 128 bits hold.
        done.and_then(|done| match done.unsigned_abs() < 10_u128.pow(38) {
            true => Ok(done),
            false => Err(overflow(format!("{l} {sign} {r}"))),
        })
    })?;
    Ok(Arc::new(done.with_data_type(op.result(left.data_type()))))
}

/// `l << r` is `l` times a power of two, and `l >> r` what is left when it is divided by one, rounded down.
fn shifted(op: Op, left: &ArrayRef, right: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    match right.data_type() {
        DataType::UInt64 => shifted_by(op, left, right.as_primitive::<UInt64Type>()),
        _ => shifted_by(op, left, right.as_primitive::<Int64Type>()),
    }
}

fn shifted_by<R: ArrowPrimitiveType>(op: Op, left: &ArrayRef, right: &PrimitiveArray<R>) -> Result<ArrayRef, ArrowError>
where
    R::Native: Into<i128> + Display,
{
    match left.data_type() {
        DataType::UInt64 => shifted_as::<UInt64Type, R>(op, left.as_primitive(), right),
        _ => shifted_as::<Int64Type, R>(op, left.as_primitive(), right),
    }
}

fn shifted_as<L: ArrowPrimitiveType, R: ArrowPrimitiveType>(
    op: Op,
    left: &PrimitiveArray<L>,
    right: &PrimitiveArray<R>,
) -> Result<ArrayRef, ArrowError>
where
    L::Native: Into<i128> + TryFrom<i128> + Display,
    R::Native: Into<i128> + Display,
{
    let sign = if op == Op::ShiftLeft { "<<" } else { ">>" };
    let done: PrimitiveArray<L> = try_binary(left, right, |l, r| {
        let failed = || overflow(format!("{l} {sign} {r}"));
        let (number, by): (i128, i128) = (l.into(), r.into());
        let by = u32::try_from(by).ok();
        let exact = match (op, by) {
            // A shift by a negative number, or by more than four thousand million.
            (_, None) => None,
            (_, Some(_)) if number == 0 => Some(0),
            (Op::ShiftLeft, Some(by)) if by < 64 => Some(number << by),
            (Op::ShiftLeft, Some(_)) => None,
            (_, Some(by)) => Some(number >> by.min(127)),
        };
        exact.and_then(|exact| L::Native::try_from(exact).ok()).ok_or_else(failed)
    })?;
    Ok(Arc::new(done))
}

/// An operation on one value.
pub(super) fn computed_one(op: Op, operand: &ColumnarValue) -> Computed<ColumnarValue> {
    let (array, constant) = match operand {
        ColumnarValue::Array(array) => (array.clone(), false),
        ColumnarValue::Scalar(scalar) => (scalar.to_array()?, true),
    };
    let done = match array.data_type() {
        DataType::Int64 => one::<Int64Type>(op, &array)?,
        DataType::UInt64 => array,
        DataType::Decimal128(_, 0) => one::<Decimal128Type>(op, &array)?,
        other => return Err(Failed::Other(internal_datafusion_err!("integer arithmetic on {other}"))),
    };
    Ok(match constant {
        true => ColumnarValue::Scalar(ScalarValue::try_from_array(&done, 0)?),
        false => ColumnarValue::Array(done),
    })
}

fn one<T: ArrowPrimitiveType>(op: Op, array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let array = array.as_primitive::<T>();
    let negated = |x: T::Native| x.neg_checked();
    let done: PrimitiveArray<T> = array.try_unary(|x| match op {
        Op::Absolute if x.is_ge(T::Native::usize_as(0)) => Ok(x),
        _ => negated(x),
    })?;
    Ok(Arc::new(done.with_data_type(array.data_type().clone())))
}
