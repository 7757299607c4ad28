//! Translates a DataFusion filter to a predicate that colkit's formats can prune by.
//!
//! The predicate may be weaker than the filter: it must be true for every row for which the filter is. Expressions
//! without a counterpart are dropped from an `AND` and void an `OR`. The filter itself is evaluated on the rows that
//! are read, so nothing here decides about a single row.

use arrow::datatypes::{DataType, Schema};
use colkit_core::{BoundPredicate, Op};
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
pub(crate) fn condition(filter: &Arc<dyn PhysicalExpr>, schema: &Schema) -> Option<BoundPredicate> {
    necessary(&snapshot_physical_expr(filter.clone()).ok()?, schema)
}

fn necessary(filter: &Arc<dyn PhysicalExpr>, schema: &Schema) -> Option<BoundPredicate> {
    if let Some(binary) = filter.downcast_ref::<BinaryExpr>() {
        return match binary.op() {
            Operator::And => {
                let parts: Vec<_> =
                    split_conjunction(filter).into_iter().filter_map(|p| necessary(p, schema)).collect();
                (!parts.is_empty()).then_some(BoundPredicate::And(parts))
            }
            Operator::Or => {
                Some(BoundPredicate::Or(vec![necessary(binary.left(), schema)?, necessary(binary.right(), schema)?]))
            }
            op => comparison(binary.left(), *op, binary.right(), schema)
                .or_else(|| comparison(binary.right(), op.swap()?, binary.left(), schema)),
        };
    }
    if let Some(list) = filter.downcast_ref::<InListExpr>().filter(|l| !l.negated()) {
        let (column, data_type) = column_of(list.expr(), schema)?;
        let values = list.list().iter().map(|e| Some(e.downcast_ref::<Literal>()?.value()));
        // Nothing equals null.
        let values = values.filter(|v| v.is_none_or(|v| !v.is_null()));
        let literals = values.map(|v| literal(v?, data_type)).collect::<Option<Vec<_>>>()?;
        return Some(BoundPredicate::In { column, literals, denied: false });
    }
    if let Some(null) = filter.downcast_ref::<IsNullExpr>() {
        return Some(BoundPredicate::IsNull { column: column_of(null.arg(), schema)?.0, denied: false });
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
) -> Option<BoundPredicate> {
    let (column, data_type) = column_of(left, schema)?;
    let op = match op {
        Operator::Eq => Op::Eq,
        Operator::Lt => Op::Lt,
        Operator::LtEq => Op::Le,
        Operator::Gt => Op::Gt,
        Operator::GtEq => Op::Ge,
        _ => return None,
    };
    let literal = literal(right.downcast_ref::<Literal>()?.value(), data_type)?;
    Some(BoundPredicate::Compare { column, op, literal })
}

/// A value that is not null and of the column's type: in files of one table a column may have several.
fn literal(value: &ScalarValue, data_type: &DataType) -> Option<colkit_core::Literal> {
    let data_type = match data_type {
        DataType::Dictionary(_, values) => values.as_ref(),
        other => other,
    };
    let value = match value {
        ScalarValue::Dictionary(_, inner) => inner.as_ref(),
        other => other,
    };
    let text = |t: &DataType| matches!(t, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
    let bytes = |t: &DataType| matches!(t, DataType::Binary | DataType::LargeBinary | DataType::BinaryView);
    let own = value.data_type();
    let same = own == *data_type || (text(&own) && text(data_type)) || (bytes(&own) && bytes(data_type));
    if value.is_null() || !same {
        return None;
    }
    Some(colkit_core::Literal::new(value.cast_to(data_type).ok()?.to_array().ok()?))
}

/// `LIKE 'abc%'` begins with `abc`: it is at least `abc` and below `abd`.
fn prefix(like: &LikeExpr, schema: &Schema) -> Option<BoundPredicate> {
    let (column, data_type) = column_of(like.expr(), schema)?;
    let pattern = like.pattern().downcast_ref::<Literal>()?.value().try_as_str()??;
    let start = pattern.split(['%', '_', '\\']).next()?;
    let last = start.chars().next_back()?;
    let compare = |op: Op, text: &str| {
        let literal = literal(&ScalarValue::Utf8(Some(text.to_owned())), data_type)?;
        Some(BoundPredicate::Compare { column, op, literal })
    };
    let at_least = compare(Op::Ge, start)?;
    let mut above = start.to_owned();
    above.pop();
    match char::from_u32(u32::from(last) + 1) {
        None => Some(at_least),
        Some(next) => {
            above.push(next);
            Some(BoundPredicate::And(vec![at_least, compare(Op::Lt, &above)?]))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::datatypes::{Field, TimeUnit};
    use colkit_core::Predicate;
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

    fn of(expr: &Expr) -> Option<BoundPredicate> {
        let df = DFSchema::try_from(schema()).unwrap();
        let expr = create_physical_expr(expr, &df, &Default::default(), &Default::default()).unwrap();
        condition(&expr, &schema())
    }

    fn bound(condition: &str) -> Option<BoundPredicate> {
        Some(Predicate::parse(condition, &schema()).unwrap().bind(&schema()).unwrap())
    }

    #[test]
    fn comparisons_are_translated_either_way_round() {
        assert_eq!(of(&col("a").lt(lit(5i32))), bound("a < 5"));
        assert_eq!(of(&lit(5i32).gt(col("a"))), bound("a < 5"));
        assert_eq!(
            of(&col("a").lt(lit(5i32)).and(col("a").not_eq(lit(3i32)))),
            Some(BoundPredicate::And(bound("a < 5").into_iter().collect()))
        );
        assert_eq!(of(&col("a").lt(lit(5i32)).or(col("a").not_eq(lit(3i32)))), None);
        assert_eq!(of(&col("a").in_list(vec![lit(1i32), lit(2i32)], true)), None);
        assert_eq!(of(&col("a").in_list(vec![lit(1i32), lit(ScalarValue::Int32(None))], false)), bound("a in (1)"));
        let time = lit(ScalarValue::TimestampMillisecond(Some(1500), None));
        assert_eq!(of(&col("t").gt_eq(time)), bound("t >= '1970-01-01T00:00:01.500'"));
        let long = lit(ScalarValue::Decimal128(Some(123_456_789_012_345), 15, 2));
        assert_eq!(of(&col("d").eq(long)), bound("d = 1234567890123.45"));
        assert_eq!(of(&col("d").eq(lit(1.5))), None, "of another type");
    }

    #[test]
    fn prefixes_become_ranges() {
        assert_eq!(of(&col("s").like(lit("ab%"))), bound("s >= 'ab' and s < 'ac'"));
        assert_eq!(of(&col("s").like(lit("ab_c"))), bound("s >= 'ab' and s < 'ac'"));
        assert_eq!(of(&col("s").like(lit("%b"))), None);
        assert_eq!(of(&col("s").not_like(lit("ab%"))), None);
    }

    #[test]
    fn floats_are_compared_alike() {
        assert_eq!(of(&col("x").gt(lit(5.0))), bound("x > 5"));
        assert_eq!(of(&col("x").eq(lit(0.0))), bound("x = 0"));
        assert_eq!(of(&col("x").lt_eq(lit(f64::NAN))), bound("x <= nan"));
    }
}
