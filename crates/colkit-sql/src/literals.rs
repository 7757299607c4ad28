//! Numbers, dates and times in SQL are compared exactly as written.
//!
//! Numbers without an exponent are decimals, those with one are floats. In a comparison with a column, a literal is
//! bound to the column's type as in colkit's own predicates: exactly, even if the type cannot hold it. DataFusion would
//! coerce both to a common type, or cast the literal to the column's.

use crate::arithmetic::CheckIntegers;
use crate::lists::{bring_together, denied, known, without_nulls};
use colkit_core::{Comparison, Decimal, Op, Value};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::error::Result;
use datafusion::logical_expr::expr::{Between, Cast, InList};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, LogicalPlan, Operator, lit};
use datafusion::optimizer::AnalyzerRule;
use datafusion::optimizer::analyzer::Analyzer;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{self, ExactNumberInfo, visit_expressions_mut};
use std::ops::ControlFlow;
use std::sync::Arc;

/// DataFusion's rules for what expressions mean, and ours.
pub(crate) fn analyzer_rules() -> Vec<Arc<dyn AnalyzerRule + Send + Sync>> {
    // Literals are bound to the types that arithmetic will have.
    let mut rules: Vec<Arc<dyn AnalyzerRule + Send + Sync>> =
        vec![Arc::new(CheckIntegers { coerced: false }), Arc::new(BindLiterals)];
    rules.extend(Analyzer::new().rules);
    rules.push(Arc::new(CheckIntegers { coerced: true }));
    rules.push(Arc::new(RoundOnce));
    rules
}

/// Makes numbers with an exponent, and very long ones, floating point numbers. The parser would take them for decimals, too, and
/// refuse what no decimal can hold. Moments that are written without seconds get them.
pub fn approximate_numbers(statement: &mut Statement) {
    match statement {
        Statement::Statement(statement) => approximate_in(statement.as_mut()),
        Statement::CopyTo(copy) => {
            if let datafusion::sql::parser::CopyToSource::Query(query) = &mut copy.source {
                approximate_in(query.as_mut());
            }
        }
        Statement::Explain(explain) => approximate_numbers(&mut explain.statement),
        Statement::CreateExternalTable(_) | Statement::Reset(_) => {}
    }
}

fn approximate_in<T: ast::VisitMut>(part: &mut T) {
    // Nothing breaks the visit off.
    let _: ControlFlow<()> = visit_expressions_mut(part, |expr| {
        if let ast::Expr::Value(value) = expr
            && let ast::Value::Number(number, _) = &value.value
            && (number.contains(['e', 'E']) || number.bytes().filter(u8::is_ascii_digit).count() > LONGEST)
            && Decimal::parse(number).is_some()
        {
            let text = ast::Value::SingleQuotedString(number.clone()).with_span(value.span);
            *expr = ast::Expr::Cast {
                kind: ast::CastKind::Cast,
                expr: Box::new(ast::Expr::Value(text)),
                data_type: ast::DataType::Double(ExactNumberInfo::None),
                array: false,
                format: None,
            };
        }
        if let ast::Expr::TypedString(typed) = expr
            && matches!(typed.data_type, ast::DataType::Timestamp(..))
            && let ast::Value::SingleQuotedString(text) = &mut typed.value.value
            && let Some(whole) = colkit_core::with_seconds(text)
        {
            *text = whole;
        }
        if let ast::Expr::UnaryOp { op: ast::UnaryOperator::Not, expr: operand } = expr
            && has_decimal(operand)
        {
            let operand = ast::Expr::Nested(operand.clone());
            let no = ast::Expr::Value(ast::Value::Boolean(false).with_empty_span());
            *expr = ast::Expr::BinaryOp { left: Box::new(operand), op: ast::BinaryOperator::Eq, right: Box::new(no) };
        }
        ControlFlow::Continue(())
    });
}

/// Whether there is a decimal in an expression. The planner wants to know the type of what `NOT` is applied to before literals are
/// bound, and gives up where no decimal type holds both the literal and the column; it does not ask what is compared with
/// false, which means the same.
fn has_decimal(expr: &ast::Expr) -> bool {
    let is_decimal = |e: &ast::Expr| matches!(e, ast::Expr::Value(value) if matches!(&value.value, ast::Value::Number(n, _) if n.contains('.')));
    let found: ControlFlow<()> = ast::visit_expressions(expr, |e| match is_decimal(e) {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    });
    found.is_break()
}

/// Digits of the longest number that is a decimal. There are wider ones, but the planner finds no type that holds one of those and
/// the values of a column. (In a comparison all digits count anyway.)
const LONGEST: usize = 38;

/// Rewrites the expressions of a plan from the inside out, keeping the names of columns.
pub(crate) fn rewrite(
    plan: LogicalPlan,
    change: impl Fn(Expr, &DFSchema) -> Result<Transformed<Expr>>,
) -> Result<LogicalPlan> {
    let changed = plan.transform_up_with_subqueries(|plan| {
        let mut schema = merge_schema(&plan.inputs());
        if let LogicalPlan::TableScan(scan) = &plan {
            schema.merge(&DFSchema::try_from_qualified_schema(scan.table_name.clone(), &scan.source.schema())?);
        }
        let names = NamePreserver::new(&plan);
        plan.map_expressions(|expr| {
            let name = names.save(&expr);
            let changed = expr.transform_up(|e| change(e, &schema))?;
            Ok(changed.update_data(|e| name.restore(e)))
        })?
        .map_data(|plan| plan.recompute_schema())
    });
    Ok(changed?.data)
}

/// Compares columns with literals exactly; divides decimals as floating point numbers.
#[derive(Debug)]
struct BindLiterals;

impl AnalyzerRule for BindLiterals {
    fn name(&self) -> &str {
        "bind_literals"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        rewrite(plan, bind)
    }
}

fn bind(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let bound = match &expr {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Divide, right }) => divide(left, right, schema)?,
        Expr::BinaryExpr(BinaryExpr { left, op: op @ (Operator::And | Operator::Or), right }) => {
            bring_together(left, *op, right)
        }
        Expr::Not(operand) => denied(operand),
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            let denied = || denied(left).filter(|_| *op == Operator::Eq && is_false(right));
            let swapped = || compare(right, op.swap()?, left, schema);
            compare(left, *op, right, schema).or_else(swapped).or_else(denied)
        }
        Expr::Between(between) => bind_between(between, schema),
        Expr::InList(list) => match bind_list(list, schema) {
            Some(Expr::InList(bound)) => Some(without_nulls(&bound).unwrap_or(Expr::InList(bound))),
            Some(answer) => Some(answer),
            None => without_nulls(list),
        },
        _ => None,
    };
    Ok(match bound {
        Some(bound) => Transformed::yes(bound),
        None => Transformed::no(expr),
    })
}

fn is_false(expr: &Expr) -> bool {
    matches!(expr, Expr::Literal(ScalarValue::Boolean(Some(false)), _))
}

/// Decimals divide like floating point numbers: a quotient of decimals would be cut after a few digits.
fn divide(left: &Expr, right: &Expr, schema: &DFSchema) -> Result<Option<Expr>> {
    let decimal = |e: &Expr| e.get_type(schema).is_ok_and(|t| t.is_decimal());
    if !decimal(left) && !decimal(right) {
        return Ok(None);
    }
    let float = |e: &Expr| e.clone().cast_to(&DataType::Float64, schema);
    Ok(Some(float(left)? / float(right)?))
}

fn compare(left: &Expr, op: Operator, right: &Expr, schema: &DFSchema) -> Option<Expr> {
    let op = match op {
        Operator::Eq => Op::Eq,
        Operator::NotEq => Op::Ne,
        Operator::Lt => Op::Lt,
        Operator::LtEq => Op::Le,
        Operator::Gt => Op::Gt,
        Operator::GtEq => Op::Ge,
        _ => return None,
    };
    let data_type = bindable(left, schema)?;
    bound(left, op, &literal(right, &data_type)?, &data_type)
}

fn bind_between(between: &Between, schema: &DFSchema) -> Option<Expr> {
    let Between { expr, negated, low, high } = between;
    let data_type = bindable(expr, schema)?;
    let of = |op: Op, side: &Expr| bound(expr, op, &literal(side, &data_type)?, &data_type);
    Some(match negated {
        false => of(Op::Ge, low)?.and(of(Op::Le, high)?),
        true => of(Op::Lt, low)?.or(of(Op::Gt, high)?),
    })
}

fn bind_list(list: &InList, schema: &DFSchema) -> Option<Expr> {
    let data_type = bindable(&list.expr, schema)?;
    let mut items = Vec::new();
    for item in &list.list {
        match Comparison::bind(Op::Eq, &literal(item, &data_type)?, &data_type).ok()? {
            Comparison::With(_, value) => {
                let value = ScalarValue::try_from_array(value.array(), 0).ok()?;
                // Lists are compared bit by bit.
                let zero = value.arithmetic_negate().ok().filter(|v| data_type.is_floating() && is_zero(v));
                items.extend(zero.map(lit));
                items.push(lit(value));
            }
            Comparison::Known(_) => {}
            Comparison::Unknown => items.push(lit(ScalarValue::try_from(&data_type).ok()?)),
        }
    }
    Some(match items.is_empty() {
        true => known(&list.expr, list.negated),
        false => Expr::InList(InList { expr: list.expr.clone(), list: items, negated: list.negated }),
    })
}

fn is_zero(value: &ScalarValue) -> bool {
    matches!(value.cast_to(&DataType::Float64), Ok(ScalarValue::Float64(Some(x))) if x == 0.0)
}

/// The type of an expression, if it is one whose literals are bound here, and the expression is not a literal itself.
fn bindable(expr: &Expr, schema: &DFSchema) -> Option<DataType> {
    let data_type = expr.get_type(schema).ok()?;
    let temporal = matches!(
        data_type,
        DataType::Date32 | DataType::Date64 | DataType::Time32(_) | DataType::Time64(_) | DataType::Timestamp(..)
    );
    ((data_type.is_numeric() || temporal) && !expr.column_refs().is_empty()).then_some(data_type)
}

/// A literal that may be compared with values of this type.
fn literal(expr: &Expr, data_type: &DataType) -> Option<Value> {
    let text = |v: &ScalarValue| v.try_as_str().flatten().map(str::to_owned);
    match expr {
        Expr::Literal(value, _) if value.is_null() => Some(Value::Null),
        Expr::Literal(value, _) if data_type.is_numeric() => number(value),
        Expr::Literal(value, _) => text(value).map(Value::Text),
        Expr::Cast(Cast { expr, field }) => match (expr.as_ref(), field.data_type()) {
            // A number with an exponent, or 'NaN'.
            (Expr::Literal(value, _), DataType::Float64) if data_type.is_numeric() => {
                let text = text(value)?;
                Decimal::parse(&text).map(Value::Decimal).or_else(|| text.parse().ok().map(Value::Float))
            }
            // TIMESTAMP '...', which would be one of nanoseconds.
            (Expr::Literal(value, _), DataType::Timestamp(_, None)) if !data_type.is_numeric() => {
                text(value).map(Value::Text)
            }
            _ => None,
        },
        Expr::Negative(expr) => match literal(expr, data_type)? {
            Value::Int(int) => int.checked_neg().map(Value::Int),
            Value::Float(x) => Some(Value::Float(-x)),
            Value::Decimal(number) => Some(Value::Decimal(number.negated())),
            _ => None,
        },
        _ => None,
    }
}

fn number(value: &ScalarValue) -> Option<Value> {
    Some(match value {
        ScalarValue::Float16(Some(x)) => Value::Float(x.to_f64()),
        ScalarValue::Float32(Some(x)) => Value::Float((*x).into()),
        ScalarValue::Float64(Some(x)) => Value::Float(*x),
        ScalarValue::UInt64(Some(int)) => Value::Int((*int).into()),
        _ if value.data_type().is_integer() => match value.cast_to(&DataType::Int64).ok()? {
            ScalarValue::Int64(Some(int)) => Value::Int(int.into()),
            _ => return None,
        },
        _ => Value::Decimal(decimal(value)?),
    })
}

fn decimal(value: &ScalarValue) -> Option<Decimal> {
    let (unscaled, scale) = match value {
        ScalarValue::Decimal32(Some(v), _, scale) => (v.to_string(), scale),
        ScalarValue::Decimal64(Some(v), _, scale) => (v.to_string(), scale),
        ScalarValue::Decimal128(Some(v), _, scale) => (v.to_string(), scale),
        ScalarValue::Decimal256(Some(v), _, scale) => (v.to_string(), scale),
        _ => return None,
    };
    Decimal::parse(&format!("{unscaled}e{}", -i16::from(*scale)))
}

/// A comparison with a literal as one with a value of the type, or as what is known of it.
fn bound(expr: &Expr, op: Op, value: &Value, data_type: &DataType) -> Option<Expr> {
    Some(match Comparison::bind(op, value, data_type).ok()? {
        Comparison::With(op, value) => {
            let value = lit(ScalarValue::try_from_array(value.array(), 0).ok()?);
            let expr = expr.clone();
            match op {
                Op::Eq => expr.eq(value),
                Op::Ne => expr.not_eq(value),
                Op::Lt => expr.lt(value),
                Op::Le => expr.lt_eq(value),
                Op::Gt => expr.gt(value),
                Op::Ge => expr.gt_eq(value),
            }
        }
        Comparison::Known(answer) => known(expr, answer),
        Comparison::Unknown => lit(ScalarValue::Boolean(None)),
    })
}

/// Takes a decimal literal that is needed as a floating point number for the nearest one. The cast would first round its
/// digits, and then their quotient by a power of ten.
#[derive(Debug)]
struct RoundOnce;

impl AnalyzerRule for RoundOnce {
    fn name(&self) -> &str {
        "round_once"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        rewrite(plan, |expr, _| {
            Ok(match nearest(&expr) {
                Some(value) => Transformed::yes(lit(value)),
                None => Transformed::no(expr),
            })
        })
    }
}

fn nearest(expr: &Expr) -> Option<ScalarValue> {
    let Expr::Cast(Cast { expr, field }) = expr else { return None };
    let Expr::Literal(value, _) = expr.as_ref() else { return None };
    let written = decimal(value)?.to_string();
    match field.data_type() {
        DataType::Float32 => Some(ScalarValue::Float32(Some(written.parse().ok()?))),
        DataType::Float64 => Some(ScalarValue::Float64(Some(written.parse().ok()?))),
        _ => None,
    }
}
