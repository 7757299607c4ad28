//! `js ->> 'a' = 'x'` is a comparison, and not the arrow of one: in PostgreSQL and DuckDB, arrows bind more tightly than
//! comparisons. The parser reads them the other way round.

use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, VisitorMut};
use std::ops::ControlFlow;

pub(super) struct ArrowsFirst;

impl VisitorMut for ArrowsFirst {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        while let Some(turned) = turned(expr) {
            *expr = turned;
        }
        ControlFlow::Continue(())
    }
}

/// An arrow with a comparison on one of its sides as a comparison with an arrow on one of its sides.
fn turned(expr: &Expr) -> Option<Expr> {
    let Expr::BinaryOp { left, op: op @ (BinaryOperator::Arrow | BinaryOperator::LongArrow), right } = expr else {
        return None;
    };
    let mut outer = right.as_ref().clone();
    if let Some(path) = first_operand(&mut outer) {
        let arrow = Expr::BinaryOp { left: left.clone(), op: op.clone(), right: Box::new(path.clone()) };
        *path = arrow;
        return Some(outer);
    }
    let mut outer = left.as_ref().clone();
    let value = last_operand(&mut outer)?;
    let arrow = Expr::BinaryOp { left: Box::new(value.clone()), op: op.clone(), right: right.clone() };
    *value = turned(&arrow).unwrap_or(arrow);
    Some(outer)
}

fn compares(op: &BinaryOperator) -> bool {
    use BinaryOperator::{Eq, Gt, GtEq, Lt, LtEq, NotEq, Spaceship};
    matches!(op, Eq | NotEq | Lt | LtEq | Gt | GtEq | Spaceship)
}

/// What a comparison begins with.
fn first_operand(expr: &mut Expr) -> Option<&mut Expr> {
    match expr {
        Expr::BinaryOp { left, op, .. } if compares(op) => Some(left),
        Expr::IsNull(x) | Expr::IsNotNull(x) | Expr::IsTrue(x) | Expr::IsFalse(x) => Some(x),
        Expr::IsDistinctFrom(x, _) | Expr::IsNotDistinctFrom(x, _) => Some(x),
        Expr::InList { expr, .. } | Expr::InSubquery { expr, .. } | Expr::Between { expr, .. } => Some(expr),
        Expr::Like { expr, .. } | Expr::ILike { expr, .. } | Expr::SimilarTo { expr, .. } => Some(expr),
        _ => None,
    }
}

/// What a comparison ends with.
fn last_operand(expr: &mut Expr) -> Option<&mut Expr> {
    match expr {
        Expr::BinaryOp { right, op, .. } if compares(op) => Some(right),
        Expr::IsDistinctFrom(_, x) | Expr::IsNotDistinctFrom(_, x) => Some(x),
        Expr::Between { high, .. } => Some(high),
        Expr::Like { pattern, .. } | Expr::ILike { pattern, .. } => Some(pattern),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::snippets::expr;
    use super::*;
    use datafusion::sql::sqlparser::ast::VisitMut;

    /// The expression with brackets around its arrows.
    fn read(text: &str) -> String {
        struct Brackets;
        impl VisitorMut for Brackets {
            type Break = ();
            fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
                if let Expr::BinaryOp { op: BinaryOperator::Arrow | BinaryOperator::LongArrow, .. } = expr {
                    *expr = Expr::Nested(Box::new(expr.clone()));
                }
                ControlFlow::Continue(())
            }
        }
        let mut expr = expr(text).unwrap();
        let _ = expr.visit(&mut ArrowsFirst);
        let _ = expr.visit(&mut Brackets);
        expr.to_string()
    }

    #[test]
    fn arrows_bind_more_tightly_than_comparisons() {
        assert_eq!(read("j ->> 'a' = 'x'"), "(j ->> 'a') = 'x'");
        assert_eq!(read("'x' = j ->> 'a'"), "'x' = (j ->> 'a')");
        assert_eq!(read("j -> 'a' ->> 'b' <> 'x' AND k"), "((j -> 'a') ->> 'b') <> 'x' AND k");
        assert_eq!(read("j ->> 'a' = k ->> 'b'"), "(j ->> 'a') = (k ->> 'b')");
        assert_eq!(read("j ->> 'a' IS NULL"), "(j ->> 'a') IS NULL");
        assert_eq!(read("j ->> 'a' IN ('x', 'y')"), "(j ->> 'a') IN ('x', 'y')");
        assert_eq!(read("j ->> 'a' LIKE 'x%'"), "(j ->> 'a') LIKE 'x%'");
        assert_eq!(read("j ->> 'a' BETWEEN '1' AND '2'"), "(j ->> 'a') BETWEEN '1' AND '2'");
        assert_eq!(read("a = 1 OR j ->> 'a' > 'x'"), "a = 1 OR (j ->> 'a') > 'x'");
        assert_eq!(read("(j = k) -> 'a'"), "((j = k) -> 'a')");
    }
}
