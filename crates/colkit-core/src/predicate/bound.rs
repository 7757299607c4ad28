//! A predicate bound to column types, as it is evaluated on rows.

use super::Op;
use super::mask::mask;
use crate::{Error, Result};
use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, Scalar};
use arrow::buffer::BooleanBuffer;
use arrow::compute::kernels::cmp;
use arrow::compute::{and_kleene, cast, is_not_null, is_null, or_kleene};
use arrow::datatypes::{ArrowNativeType, DataType, Float16Type, Float32Type, Float64Type};
use arrow::record_batch::RecordBatch;

/// A value of its column's type (of the values' type, if the column is a dictionary).
#[derive(Clone, Debug)]
pub struct Literal {
    /// One value.
    array: ArrayRef,
}

impl Literal {
    /// The only value of an array.
    pub fn new(array: ArrayRef) -> Self {
        Literal { array }
    }

    /// An array of this one value.
    pub fn array(&self) -> &ArrayRef {
        &self.array
    }

    pub(super) fn is_nan(&self) -> bool {
        nans(&self.array).is_some_and(|nan| nan.count_set_bits() > 0)
    }
}

impl PartialEq for Literal {
    fn eq(&self, other: &Self) -> bool {
        self.array.as_ref() == other.array.as_ref()
    }
}

/// A condition on a row whose literals are values of their columns. Made by [`super::Predicate::bind`].
#[derive(Clone, Debug, PartialEq)]
pub enum BoundPredicate {
    /// The column compares to the value like this.
    Compare {
        /// Which column.
        column: usize,
        /// How.
        op: Op,
        /// With what.
        literal: Literal,
    },
    /// The column is one of the values.
    In {
        /// Which column.
        column: usize,
        /// The values.
        literals: Vec<Literal>,
        /// It is none of them.
        denied: bool,
    },
    /// The same for every value of the column; unknown for null.
    Known {
        /// Which column.
        column: usize,
        /// Whether it holds.
        answer: bool,
    },
    /// The column is null.
    IsNull {
        /// Which column.
        column: usize,
        /// It is not null.
        denied: bool,
    },
    /// Neither true nor false, for every row.
    Unknown,
    /// All of these. Without any: true.
    And(Vec<BoundPredicate>),
    /// One of these. Without any: false.
    Or(Vec<BoundPredicate>),
}

impl BoundPredicate {
    /// The columns it looks at, sorted, each once.
    pub fn columns(&self) -> Vec<usize> {
        fn collect(p: &BoundPredicate, into: &mut Vec<usize>) {
            match p {
                BoundPredicate::Compare { column, .. }
                | BoundPredicate::In { column, .. }
                | BoundPredicate::Known { column, .. }
                | BoundPredicate::IsNull { column, .. } => into.push(*column),
                BoundPredicate::Unknown => {}
                BoundPredicate::And(all) | BoundPredicate::Or(all) => all.iter().for_each(|p| collect(p, into)),
            }
        }
        let mut columns = Vec::new();
        collect(self, &mut columns);
        columns.sort_unstable();
        columns.dedup();
        columns
    }

    /// For each row of a batch whether it matches; unknown is null. `position` says where in it a column of the table is.
    pub fn evaluate(&self, batch: &RecordBatch, position: &dyn Fn(usize) -> Option<usize>) -> Result<BooleanArray> {
        self.evaluate_on(batch.num_rows(), &|index| batch.columns().get(position(index)?).cloned())
    }

    /// The same for so many rows, whose columns are found by their position in the table.
    pub(crate) fn evaluate_on(&self, rows: usize, find: &dyn Fn(usize) -> Option<ArrayRef>) -> Result<BooleanArray> {
        let column = |index: usize| {
            find(index).ok_or_else(|| Error::internal(format!("the predicate's column {index} was not read")))
        };
        let all = |of: &[BoundPredicate], empty: bool, combine: Kleene| {
            let Some((first, rest)) = of.split_first() else { return Ok(BooleanArray::from(vec![empty; rows])) };
            let first = first.evaluate_on(rows, find)?;
            rest.iter().try_fold(first, |sum, p| Ok(combine(&sum, &p.evaluate_on(rows, find)?)?))
        };
        match self {
            BoundPredicate::Compare { column: index, op, literal } => compare(&column(*index)?, *op, literal),
            BoundPredicate::In { column: index, literals, denied } => {
                let array = column(*index)?;
                let (op, combine): (_, Kleene) = if *denied { (Op::Ne, and_kleene) } else { (Op::Eq, or_kleene) };
                let Some((first, rest)) = literals.split_first() else { return Ok(constant(&array, *denied)) };
                let first = compare(&array, op, first)?;
                rest.iter().try_fold(first, |sum, l| Ok(combine(&sum, &compare(&array, op, l)?)?))
            }
            BoundPredicate::Known { column: index, answer } => Ok(constant(&column(*index)?, *answer)),
            BoundPredicate::IsNull { column: index, denied: false } => Ok(is_null(&column(*index)?)?),
            BoundPredicate::IsNull { column: index, denied: true } => Ok(is_not_null(&column(*index)?)?),
            BoundPredicate::Unknown => Ok(BooleanArray::new_null(rows)),
            BoundPredicate::And(of) => all(of, true, and_kleene),
            BoundPredicate::Or(of) => all(of, false, or_kleene),
        }
    }
}

type Kleene = fn(&BooleanArray, &BooleanArray) -> std::result::Result<BooleanArray, arrow::error::ArrowError>;

/// For each value how it compares with the literal, which is of the same type; null for null.
pub(super) fn compare(array: &ArrayRef, op: Op, literal: &Literal) -> Result<BooleanArray> {
    let data_type = match array.data_type() {
        DataType::Dictionary(_, values) => values,
        other => other,
    };
    if data_type.is_floating() {
        let array = if array.data_type() == data_type { array.clone() } else { cast(array, data_type)? };
        return Ok(match data_type {
            DataType::Float16 => compare_floats::<Float16Type>(&array, op, literal, |x| x.is_nan()),
            DataType::Float32 => compare_floats::<Float32Type>(&array, op, literal, |x| x.is_nan()),
            _ => compare_floats::<Float64Type>(&array, op, literal, |x| x.is_nan()),
        });
    }
    if let Some(answer) = compare_integers(array, op, literal) {
        return Ok(answer);
    }
    // The column may come as views of the type that the literal was bound to.
    let literal = match literal.array.data_type() == data_type {
        true => literal.array.clone(),
        false => cast(&literal.array, data_type)?,
    };
    let value = Scalar::new(literal);
    Ok(match op {
        Op::Eq => cmp::eq(array, &value),
        Op::Ne => cmp::neq(array, &value),
        Op::Lt => cmp::lt(array, &value),
        Op::Le => cmp::lt_eq(array, &value),
        Op::Gt => cmp::gt(array, &value),
        Op::Ge => cmp::gt_eq(array, &value),
    }?)
}

/// NaN equals NaN and is larger than every number; -0.0 equals 0.0.
#[expect(clippy::neg_cmp_op_on_partial_ord, reason = "NaN is meant to be on this side")]
fn compare_floats<T: ArrowPrimitiveType>(
    array: &ArrayRef,
    op: Op,
    literal: &Literal,
    is_nan: fn(T::Native) -> bool,
) -> BooleanArray
where
    T::Native: PartialOrd,
{
    let array = array.as_primitive::<T>();
    let Some(value) = literal.array.as_primitive_opt::<T>().and_then(|a| a.values().first().copied()) else {
        return BooleanArray::new_null(array.len());
    };
    let values = array.values();
    let bits = match (op, is_nan(value)) {
        (Op::Eq, false) => mask(values, |x| x == value),
        (Op::Ne, false) => mask(values, |x| x != value),
        (Op::Lt, false) => mask(values, |x| x < value),
        (Op::Le, false) => mask(values, |x| x <= value),
        // What is neither smaller nor equal is larger or NaN.
        (Op::Gt, false) => mask(values, |x| !(x <= value)),
        (Op::Ge, false) => mask(values, |x| !(x < value)),
        (Op::Eq | Op::Ge, true) => mask(values, is_nan),
        (Op::Ne | Op::Lt, true) => mask(values, |x| !is_nan(x)),
        (Op::Le, true) => BooleanBuffer::new_set(array.len()),
        (Op::Gt, true) => BooleanBuffer::new_unset(array.len()),
    };
    BooleanArray::new(bits, array.nulls().cloned())
}

/// Which values of floating point are NaN; `None` for other types. Nulls may be either.
pub(super) fn nans(array: &ArrayRef) -> Option<BooleanBuffer> {
    Some(match array.data_type() {
        DataType::Float16 => mask(array.as_primitive::<Float16Type>().values(), |x| x.is_nan()),
        DataType::Float32 => mask(array.as_primitive::<Float32Type>().values(), |x| x.is_nan()),
        DataType::Float64 => mask(array.as_primitive::<Float64Type>().values(), |x| x.is_nan()),
        _ => return None,
    })
}

/// Values that are integers underneath; `None` for others.
fn compare_integers(array: &ArrayRef, op: Op, literal: &Literal) -> Option<BooleanArray> {
    use DataType::{
        Date32, Date64, Decimal32, Decimal64, Duration, Int8, Int16, Int32, Int64, Time32, Time64, Timestamp, UInt8,
        UInt16, UInt32, UInt64,
    };
    fn bits<N: ArrowNativeType + Ord>(array: &ArrayRef, op: Op, literal: &Literal) -> Option<BooleanBuffer> {
        let (data, literal) = (array.to_data(), literal.array.to_data());
        let value = *literal.buffers().first()?.typed_data::<N>().get(literal.offset())?;
        let values = data.buffers().first()?.typed_data::<N>().get(data.offset()..)?.get(..data.len())?;
        Some(match op {
            Op::Eq => mask(values, |x| x == value),
            Op::Ne => mask(values, |x| x != value),
            Op::Lt => mask(values, |x| x < value),
            Op::Le => mask(values, |x| x <= value),
            Op::Gt => mask(values, |x| x > value),
            Op::Ge => mask(values, |x| x >= value),
        })
    }
    if array.data_type() != literal.array.data_type() {
        return None;
    }
    let bits = match array.data_type() {
        Int8 => bits::<i8>(array, op, literal),
        Int16 => bits::<i16>(array, op, literal),
        Int32 | Date32 | Time32(_) | Decimal32(..) => bits::<i32>(array, op, literal),
        Int64 | Date64 | Time64(_) | Timestamp(..) | Duration(_) | Decimal64(..) => bits::<i64>(array, op, literal),
        UInt8 => bits::<u8>(array, op, literal),
        UInt16 => bits::<u16>(array, op, literal),
        UInt32 => bits::<u32>(array, op, literal),
        UInt64 => bits::<u64>(array, op, literal),
        _ => None,
    };
    Some(BooleanArray::new(bits?, array.nulls().cloned()))
}

/// The same answer for every row that is not null.
fn constant(array: &ArrayRef, answer: bool) -> BooleanArray {
    let bits = if answer { BooleanBuffer::new_set(array.len()) } else { BooleanBuffer::new_unset(array.len()) };
    BooleanArray::new(bits, array.logical_nulls())
}

#[cfg(test)]
mod tests {
    use super::super::Predicate;
    use super::*;
    use crate::{Decimal, Value};
    use arrow::array::{
        Date32Array, Decimal128Array, Decimal256Array, DictionaryArray, FixedSizeBinaryArray, Float32Array,
        Float64Array, Int8Array, Int32Array, Time32SecondArray, TimestampSecondArray, UInt64Array,
    };
    use arrow::datatypes::{Field, Schema, i256};
    use std::sync::Arc;

    fn evaluated(array: ArrayRef, predicate: &Predicate) -> Vec<Option<bool>> {
        let schema = Arc::new(Schema::new(vec![Field::new("c", array.data_type().clone(), true)]));
        let bound = predicate.bind(&schema).unwrap();
        let batch = RecordBatch::try_new(schema, vec![array]).unwrap();
        bound.evaluate(&batch, &Some).unwrap().iter().collect()
    }

    /// Which rows match a condition on the column `c`: 1, 0, or - for unknown.
    fn rows(array: impl Array + 'static, condition: &str) -> String {
        let schema = Schema::new(vec![Field::new("c", array.data_type().clone(), true)]);
        let predicate = Predicate::parse(condition, &schema).unwrap();
        let sign = |answer: Option<bool>| match answer {
            None => '-',
            Some(true) => '1',
            Some(false) => '0',
        };
        evaluated(Arc::new(array), &predicate).into_iter().map(sign).collect()
    }

    #[test]
    fn integers_against_any_number() {
        let t = |condition| rows(Int32Array::from(vec![Some(1), Some(2), Some(3), None]), condition);
        assert_eq!(t("c > 1.5"), "011-");
        assert_eq!(t("c <= 2.5"), "110-");
        assert_eq!(t("c = 2.5"), "000-");
        assert_eq!(t("c != 2.5"), "111-");
        assert_eq!(t("c = 2.000"), "010-");
        assert_eq!(t("c < 1099511627776"), "111-");
        assert_eq!(t("c > -inf"), "111-");
        assert_eq!(t("c < nan"), "111-");
        assert_eq!(t("c = -1099511627776"), "000-");
        assert_eq!(t("c = null"), "----");
        assert_eq!(t("c in (1, 2.5, 7e300)"), "100-");
        assert_eq!(t("c not in (1, 2.5)"), "011-");
        assert_eq!(t("c not in (1, null)"), "0---");
        assert_eq!(t("not (c > 1.5 and c < 3)"), "101-");
        assert_eq!(rows(UInt64Array::from(vec![0, u64::MAX]), "c > 18446744073709551614"), "01");
        assert_eq!(rows(UInt64Array::from(vec![0, u64::MAX]), "c >= -0.5"), "11");
        assert_eq!(rows(Int8Array::from(vec![-128, 127]), "c between -128.5 and 126.5"), "10");
    }

    #[test]
    fn decimals_that_the_column_cannot_hold() {
        let cents = || Decimal128Array::from(vec![155, 156, 57395]).with_precision_and_scale(15, 2).unwrap();
        assert_eq!(rows(cents(), "c > 1.555"), "011");
        assert_eq!(rows(cents(), "c = 1.555"), "000");
        assert_eq!(rows(cents(), "c != 1.555"), "111");
        assert_eq!(rows(cents(), "c = 573.95"), "001");
        assert_eq!(rows(cents(), "c = 573.950000000000000000000000000000000000000000000000"), "001");
        assert_eq!(rows(cents(), "c > 0.0000006127"), "111");
        assert_eq!(rows(cents(), "c < 1.55000000000000000000000000000000000000000001"), "100");
        assert_eq!(rows(cents(), "c < 1e500"), "111");
        let wide = Decimal256Array::from(vec![i256::MIN, i256::MAX]).with_precision_and_scale(76, 0).unwrap();
        assert_eq!(rows(wide, "c > 99999999999999999999999999999999999999999999999.5"), "01");
    }

    #[test]
    fn floats_have_one_order() {
        let t = |condition| rows(Float64Array::from(vec![-0.0, -f64::NAN, f64::NAN, 2.5, f64::INFINITY]), condition);
        assert_eq!(t("c = 0"), "10000");
        assert_eq!(t("c in (0, 1, 2, nan)"), "11100");
        assert_eq!(t("c != 2.5"), "11101");
        assert_eq!(t("c > 2.5"), "01101");
        assert_eq!(t("not c > 2.5"), "10010");
        assert_eq!(t("c >= nan"), "01100");
        assert_eq!(t("c < nan"), "10011");
        assert_eq!(t("c <= 1e400"), "10010");
        assert_eq!(t("c > 1e400"), "01101");
        assert_eq!(t("c = inf"), "00001");
        let short = Float32Array::from(vec![0.1, f32::MAX, f32::NEG_INFINITY]);
        assert_eq!(rows(short.clone(), "c = 0.1"), "100");
        assert_eq!(rows(short.clone(), "c <= 1e39"), "111");
        assert_eq!(rows(short.clone(), "c < -1e39"), "001");
        assert_eq!(rows(short, "c >= -1e39"), "110");
    }

    #[test]
    fn times_beyond_the_unit_of_the_column() {
        let times = || TimestampSecondArray::from(vec![0, 1, 86_400]);
        assert_eq!(rows(times(), "c >= '1970-01-02'"), "001");
        assert_eq!(rows(times(), "c = '1970-01-01T00:00:01.5'"), "000");
        assert_eq!(rows(times(), "c > '1970-01-01 00:00:00.0000000001'"), "011");
        assert_eq!(rows(times(), "c = '1970-01-01T01:00:01.000+01:00'"), "010");
        assert_eq!(rows(times().with_timezone("+01:00"), "c = '1970-01-01 01:00:01'"), "010");
        assert_eq!(rows(times(), "c < '9999-12-31'"), "111");
        assert_eq!(rows(Time32SecondArray::from(vec![1, 2]), "c < '00:00:01.5'"), "10");
        assert_eq!(rows(Date32Array::from(vec![0, 1]), "c > '1970-01-01T12:00:00'"), "01");
        assert_eq!(rows(Date32Array::from(vec![0, 1]), "c = '1970-1-2'"), "01");
        assert_eq!(rows(Date32Array::from(vec![0, 1]), "c = 19700102"), "01");
    }

    #[test]
    fn bytes_of_one_length_against_others() {
        let bytes = || FixedSizeBinaryArray::try_from_iter([b"ab", b"b\0", b"bb"].into_iter()).unwrap();
        assert_eq!(rows(bytes(), "c = 'ab'"), "100");
        assert_eq!(rows(bytes(), "c >= 'b'"), "011");
        assert_eq!(rows(bytes(), "c < 'b'"), "100");
        assert_eq!(rows(bytes(), "c = 'b'"), "000");
        assert_eq!(rows(bytes(), "c > 'aba'"), "011");
        assert_eq!(rows(bytes(), "c > ''"), "111");
    }

    #[test]
    fn dictionaries_are_compared_by_their_values() {
        let words: DictionaryArray<arrow::datatypes::Int8Type> = [Some("a"), None, Some("b")].into_iter().collect();
        assert_eq!(rows(words, "c >= 'b'"), "0-1");
        let floats =
            DictionaryArray::new(Int8Array::from(vec![0, 1]), Arc::new(Float64Array::from(vec![-0.0, f64::NAN])));
        assert_eq!(rows(floats, "c in (0)"), "10");
    }

    #[test]
    fn nonsense_is_refused() {
        let refused = |data_type: DataType, value: Value| {
            let schema = Schema::new(vec![Field::new("c", data_type, true)]);
            let error = Predicate::compare(0, Op::Eq, value).bind(&schema).unwrap_err();
            assert_eq!(error.code(), "type_mismatch");
        };
        refused(DataType::Utf8, Value::Int(5));
        refused(DataType::Int32, Value::Text("5".into()));
        refused(DataType::Boolean, Value::Int(1));
        refused(DataType::Date32, Value::Text("soon".into()));
        refused(DataType::Date32, Value::Int(3));
        refused(DataType::Date32, Value::Decimal(Decimal::parse("1.5").unwrap()));
    }
}
