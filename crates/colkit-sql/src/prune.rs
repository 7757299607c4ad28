//! From a filter of DataFusion to a condition that colkit's formats can prune by.
//!
//! The condition need not say all that the filter says: it must only hold for every row for which the filter holds. What
//! has no counterpart is left out of an `AND` and gives up an `OR`. The filter itself is evaluated on the rows that are
//! read, so nothing here decides about a single row.

use arrow::array::{Array, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Schema};
use colkit::{Op, Predicate, Value};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::{BinaryExpr, Column, InListExpr, IsNullExpr, LikeExpr, Literal};
use datafusion::physical_expr::{PhysicalExpr, split_conjunction};
use datafusion::physical_expr_common::physical_expr::snapshot_physical_expr;
use std::sync::Arc;

/// The condition that follows from `filter`, whose columns are called as in `schema`; `None` if none does.
///
/// Filters that tighten while a query runs (from joins and `LIMIT`s) are taken as they are now: what they rule out now
/// they will rule out later.
pub(crate) fn condition(filter: &Arc<dyn PhysicalExpr>, schema: &Schema) -> Option<Predicate> {
    necessary(&snapshot_physical_expr(filter.clone()).ok()?, schema)
}

fn necessary(filter: &Arc<dyn PhysicalExpr>, schema: &Schema) -> Option<Predicate> {
    if let Some(binary) = filter.downcast_ref::<BinaryExpr>() {
        return match binary.op() {
            Operator::And => {
                let parts: Vec<_> =
                    split_conjunction(filter).into_iter().filter_map(|p| necessary(p, schema)).collect();
                (!parts.is_empty()).then_some(Predicate::And(parts))
            }
            Operator::Or => {
                Some(Predicate::Or(vec![necessary(binary.left(), schema)?, necessary(binary.right(), schema)?]))
            }
            op => comparison(binary.left(), *op, binary.right(), schema)
                .or_else(|| comparison(binary.right(), op.swap()?, binary.left(), schema)),
        };
    }
    if let Some(list) = filter.downcast_ref::<InListExpr>().filter(|l| !l.negated()) {
        let (column, data_type) = column_of(list.expr(), schema)?;
        let value = |e: &Arc<dyn PhysicalExpr>| {
            let literal = e.downcast_ref::<Literal>()?.value();
            // Nothing equals null.
            if literal.is_null() {
                Some(Value::Null)
            } else {
                comparable(literal, Operator::Eq, data_type).map(|(_, v)| v)
            }
        };
        let values = list.list().iter().map(value).collect::<Option<Vec<_>>>()?;
        let values = values.into_iter().filter(|v| *v != Value::Null).collect();
        return Some(Predicate::In { column, values });
    }
    if let Some(null) = filter.downcast_ref::<IsNullExpr>() {
        return Some(Predicate::IsNull { column: column_of(null.arg(), schema)?.0 });
    }
    if let Some(like) = filter.downcast_ref::<LikeExpr>().filter(|l| !l.negated() && !l.case_insensitive()) {
        return prefix(like, schema);
    }
    None
}

/// The column that an expression is, by its name.
fn column_of<'a>(expr: &Arc<dyn PhysicalExpr>, schema: &'a Schema) -> Option<(usize, &'a DataType)> {
    let name = expr.downcast_ref::<Column>()?.name();
    let (index, field) = schema.column_with_name(name)?;
    Some((index, field.data_type()))
}

fn comparison(
    left: &Arc<dyn PhysicalExpr>,
    op: Operator,
    right: &Arc<dyn PhysicalExpr>,
    schema: &Schema,
) -> Option<Predicate> {
    let (column, data_type) = column_of(left, schema)?;
    let (op, value) = comparable(right.downcast_ref::<Literal>()?.value(), op, data_type)?;
    Some(Predicate::compare(column, op, value))
}

/// A comparison with a literal in colkit's words.
fn comparable(literal: &ScalarValue, op: Operator, data_type: &DataType) -> Option<(Op, Value)> {
    let op = match op {
        Operator::Eq => Op::Eq,
        Operator::Lt => Op::Lt,
        Operator::LtEq => Op::Le,
        Operator::Gt => Op::Gt,
        Operator::GtEq => Op::Ge,
        _ => return None,
    };
    let value = value_of(literal, data_type)?;
    if let Value::Float(x) = value {
        // Zone maps know nothing of NaN, which SQL takes for the largest number, and have one zero where SQL has two.
        return (op == Op::Eq && !x.is_nan() && x != 0.0).then_some((op, value));
    }
    Some((op, value))
}

/// A literal as a condition would name it: numbers as they are, dates, times and decimals as people write them.
fn value_of(literal: &ScalarValue, data_type: &DataType) -> Option<Value> {
    let data_type = match data_type {
        DataType::Dictionary(_, values) => values.as_ref(),
        other => other,
    };
    let literal = match literal {
        ScalarValue::Dictionary(_, inner) => inner.as_ref(),
        other => other,
    };
    let text = |t: &DataType| matches!(t, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
    if literal.is_null() || (literal.data_type() != *data_type && !(text(&literal.data_type()) && text(data_type))) {
        return None;
    }
    Some(match literal {
        ScalarValue::Boolean(Some(b)) => Value::Bool(*b),
        ScalarValue::Utf8(Some(s)) | ScalarValue::LargeUtf8(Some(s)) | ScalarValue::Utf8View(Some(s)) => {
            Value::Text(s.clone())
        }
        ScalarValue::Binary(Some(b)) | ScalarValue::LargeBinary(Some(b)) => Value::Bytes(b.clone()),
        ScalarValue::Float32(Some(x)) => Value::Float((*x).into()),
        ScalarValue::Float64(Some(x)) => Value::Float(*x),
        ScalarValue::Decimal128(Some(unscaled), _, scale) => decimal(*unscaled, *scale)?,
        ScalarValue::UInt64(Some(i)) => Value::Int((*i).into()),
        other if other.data_type().is_integer() => {
            let ScalarValue::Int64(Some(i)) = other.cast_to(&DataType::Int64).ok()? else { return None };
            Value::Int(i.into())
        }
        other if other.data_type().is_temporal() => {
            let written = cast(&other.to_array().ok()?, &DataType::Utf8).ok()?;
            let written = written.as_string::<i32>();
            Value::Text(written.is_valid(0).then(|| written.value(0).to_owned())?)
        }
        _ => return None,
    })
}

/// A decimal as a number that is written with the same digits.
fn decimal(unscaled: i128, scale: i8) -> Option<Value> {
    let factor = 10i128.checked_pow(u32::try_from(scale).ok()?)?;
    if unscaled % factor == 0 {
        return Some(Value::Int(unscaled / factor));
    }
    // Numbers of up to 15 digits come back from a float as they were.
    if unscaled.unsigned_abs() >= 10u128.pow(15) {
        return None;
    }
    let (whole, rest) =
        (unscaled.unsigned_abs() / factor.unsigned_abs(), unscaled.unsigned_abs() % factor.unsigned_abs());
    let sign = if unscaled < 0 { "-" } else { "" };
    format!("{sign}{whole}.{rest:0width$}", width = usize::try_from(scale).ok()?).parse().ok().map(Value::Float)
}

/// `LIKE 'abc%'` begins with `abc`: it is at least `abc` and below `abd`.
fn prefix(like: &LikeExpr, schema: &Schema) -> Option<Predicate> {
    let (column, data_type) = column_of(like.expr(), schema)?;
    let Value::Text(pattern) = value_of(like.pattern().downcast_ref::<Literal>()?.value(), data_type)? else {
        return None;
    };
    let start = pattern.split(['%', '_', '\\']).next()?;
    let last = start.chars().next_back()?;
    let at_least = Predicate::compare(column, Op::Ge, Value::Text(start.to_owned()));
    let mut above = start.to_owned();
    above.pop();
    match char::from_u32(u32::from(last) + 1) {
        None => Some(at_least),
        Some(next) => {
            above.push(next);
            Some(Predicate::And(vec![at_least, Predicate::compare(column, Op::Lt, Value::Text(above))]))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::datatypes::{Field, TimeUnit};
    use datafusion::common::DFSchema;
    use datafusion::logical_expr::{Expr, col, lit};
    use datafusion::physical_expr::create_physical_expr;

    fn schema() -> Schema {
        Schema::new(vec![
            Field::new("a", DataType::Int32, true),
            Field::new("t", DataType::Timestamp(TimeUnit::Millisecond, None), true),
            Field::new("d", DataType::Decimal128(15, 2), true),
            Field::new("s", DataType::Utf8, true),
            Field::new("x", DataType::Float64, true),
        ])
    }

    fn of(expr: &Expr) -> Option<Predicate> {
        let df = DFSchema::try_from(schema()).unwrap();
        let expr = create_physical_expr(expr, &df, &Default::default(), &Default::default()).unwrap();
        condition(&expr, &schema())
    }

    #[test]
    fn comparisons_are_translated_either_way_round() {
        let less = Predicate::compare(0, Op::Lt, Value::Int(5));
        assert_eq!(of(&col("a").lt(lit(5i32))), Some(less.clone()));
        assert_eq!(of(&lit(5i32).gt(col("a"))), Some(less.clone()));
        assert_eq!(
            of(&col("a").lt(lit(5i32)).and(col("a").not_eq(lit(3i32)))),
            Some(Predicate::And(vec![less.clone()]))
        );
        assert_eq!(of(&col("a").lt(lit(5i32)).or(col("a").not_eq(lit(3i32)))), None);
        assert_eq!(of(&col("a").in_list(vec![lit(1i32), lit(2i32)], true)), None);
        let time = lit(ScalarValue::TimestampMillisecond(Some(1500), None));
        let at = Value::Text("1970-01-01T00:00:01.500".into());
        assert_eq!(of(&col("t").gt_eq(time)), Some(Predicate::compare(1, Op::Ge, at)));
    }

    #[test]
    fn decimals_keep_their_digits() {
        assert_eq!(decimal(-150, 2), Some(Value::Float(-1.5)));
        assert_eq!(decimal(5, 2), Some(Value::Float(0.05)));
        assert_eq!(decimal(200, 2), Some(Value::Int(2)));
        assert_eq!(decimal(1_234_567_890_123_456_789, 2), None);
    }

    #[test]
    fn prefixes_become_ranges() {
        let between = |low: &str, high: &str| {
            Predicate::And(vec![
                Predicate::compare(3, Op::Ge, Value::Text(low.into())),
                Predicate::compare(3, Op::Lt, Value::Text(high.into())),
            ])
        };
        assert_eq!(of(&col("s").like(lit("ab%"))), Some(between("ab", "ac")));
        assert_eq!(of(&col("s").like(lit("ab_c"))), Some(between("ab", "ac")));
        assert_eq!(of(&col("s").like(lit("%b"))), None);
        assert_eq!(of(&col("s").not_like(lit("ab%"))), None);
    }

    #[test]
    fn floats_are_pruned_only_where_nan_cannot_matter() {
        assert_eq!(of(&col("x").gt(lit(5.0))), None);
        assert_eq!(of(&col("x").eq(lit(0.0))), None);
        assert_eq!(of(&col("x").eq(lit(5.0))), Some(Predicate::compare(4, Op::Eq, Value::Float(5.0))));
    }
}
