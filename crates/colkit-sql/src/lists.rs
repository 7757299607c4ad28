//! Rewrites `IN` lists so that the optimizer preserves their null semantics.
//!
//! DataFusion merges lists on the same column. It simplifies `x NOT IN (1) OR x NOT IN (2)` to true and `x IN (1) AND x
//! IN (2)` to false, even if `x` is null and the result is unknown, and treats a null in a list like any other value.
//! So nulls are removed from lists here, and lists on the same column are merged before the optimizer sees them. For
//! that, `NOT` is pushed down to the lists, as the optimizer would do later.

use datafusion::common::ScalarValue;
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator, lit};

/// The answer for every value, and null for null.
pub(crate) fn known(expr: &Expr, answer: bool) -> Expr {
    let unknown = lit(ScalarValue::Boolean(None));
    match answer {
        true => expr.clone().is_not_null().or(unknown),
        false => expr.clone().is_null().and(unknown),
    }
}

/// `x IN (1, NULL)` as `x IN (1) OR NULL`; `None` if there is no null in the list.
pub(crate) fn without_nulls(list: &InList) -> Option<Expr> {
    let is_null = |item: &Expr| matches!(item, Expr::Literal(value, _) if value.is_null());
    if !list.list.iter().any(is_null) {
        return None;
    }
    let unknown = lit(ScalarValue::Boolean(None));
    let values: Vec<Expr> = list.list.iter().filter(|item| !is_null(item)).cloned().collect();
    if values.is_empty() {
        return Some(unknown);
    }
    let values = Expr::InList(InList { list: values, ..list.clone() });
    Some(if list.negated { values.and(unknown) } else { values.or(unknown) })
}

/// `NOT` of an expression in which there may be lists, moved inwards; `None` if it stays where it is.
pub(crate) fn denied(expr: &Expr) -> Option<Expr> {
    match expr {
        Expr::InList(list) => Some(Expr::InList(InList { negated: !list.negated, ..list.clone() })),
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            let op = match op {
                Operator::And => Operator::Or,
                Operator::Or => Operator::And,
                _ => return None,
            };
            let not = |e: &Expr| denied(e).unwrap_or_else(|| Expr::Not(Box::new(e.clone())));
            let (left, right) = (not(left), not(right));
            let together = bring_together(&left, op, &right);
            Some(together.unwrap_or_else(|| Expr::BinaryExpr(BinaryExpr::new(Box::new(left), op, Box::new(right)))))
        }
        _ => None,
    }
}

/// Two sides of an `AND` or `OR` with the lists among their operands brought together, if there are any. Within each side
/// that has been done before.
pub(crate) fn bring_together(left: &Expr, op: Operator, right: &Expr) -> Option<Expr> {
    let (mut operands, added) = (operands(left, op), operands(right, op));
    let mut merged: Vec<(usize, Expr)> = Vec::new();
    let mut rest = Vec::new();
    for next in added {
        // One that has just been merged may not be met again in the same round: its place says so.
        let free = operands.iter().enumerate().filter(|(place, _)| merged.iter().all(|(taken, _)| taken != place));
        let mut met = free.filter_map(|(place, known)| Some((place, both(known, op, next)?)));
        match met.next() {
            Some(found) => merged.push(found),
            None => rest.push(next),
        }
    }
    if merged.is_empty() {
        return None;
    }
    for (place, expr) in &merged {
        if let Some(operand) = operands.get_mut(*place) {
            *operand = expr;
        }
    }
    operands.extend(rest);
    let join = |a: Expr, b: Expr| Expr::BinaryExpr(BinaryExpr::new(Box::new(a), op, Box::new(b)));
    operands.into_iter().cloned().reduce(join)
}

/// What is joined by `op`, from left to right.
fn operands(expr: &Expr, op: Operator) -> Vec<&Expr> {
    let (mut found, mut waiting) = (Vec::new(), vec![expr]);
    while let Some(next) = waiting.pop() {
        match next {
            Expr::BinaryExpr(BinaryExpr { left, op: own, right }) if *own == op => {
                waiting.extend([right.as_ref(), left])
            }
            other => found.push(other),
        }
    }
    found
}

/// Two lists on the same values as one.
fn both(a: &Expr, op: Operator, b: &Expr) -> Option<Expr> {
    let (Expr::InList(a), Expr::InList(b)) = (a, b) else { return None };
    let constant = |list: &InList| list.list.iter().all(|item| matches!(item, Expr::Literal(..)));
    if a.expr != b.expr || a.expr.is_volatile() || !constant(a) || !constant(b) {
        return None;
    }
    let of = |a: &InList, b: &InList, in_both: bool| -> Vec<Expr> {
        a.list.iter().filter(|item| b.list.contains(item) == in_both).cloned().collect()
    };
    let either = || [a.list.clone(), of(b, a, false)].concat();
    let (list, negated) = match (op, a.negated, b.negated) {
        (Operator::And, false, false) => (of(a, b, true), false),
        (Operator::And, false, true) => (of(a, b, false), false),
        (Operator::And, true, false) => (of(b, a, false), false),
        (Operator::And, true, true) => (either(), true),
        (Operator::Or, false, false) => (either(), false),
        (Operator::Or, false, true) => (of(b, a, false), true),
        (Operator::Or, true, false) => (of(a, b, false), true),
        (Operator::Or, true, true) => (of(a, b, true), true),
        _ => return None,
    };
    Some(match list.is_empty() {
        true => known(&a.expr, negated),
        false => Expr::InList(InList { expr: a.expr.clone(), list, negated }),
    })
}
