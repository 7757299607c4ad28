//! Expressions as somebody would type them, for messages.

use super::Op;
use datafusion::logical_expr::expr::{Alias, Cast};
use datafusion::logical_expr::{BinaryExpr, Expr};

/// An operation on operands of these names.
pub(super) fn spelled(op: Op, operands: &[String]) -> String {
    let sign = match op {
        Op::Add => "+",
        Op::Subtract => "-",
        Op::Multiply => "*",
        Op::Divide => "/",
        Op::Remainder => "%",
        Op::ShiftLeft => "<<",
        Op::ShiftRight => ">>",
        Op::Negate => return format!("(- {})", operands.join(", ")),
        Op::Absolute => return format!("abs({})", operands.join(", ")),
    };
    operands.join(&format!(" {sign} "))
}

/// An expression without the names of tables and of types.
pub(super) fn in_words(expr: &Expr) -> String {
    match expr {
        Expr::Column(column) => column.name.clone(),
        Expr::Literal(value, _) => value.to_string(),
        Expr::Alias(Alias { expr, .. }) | Expr::Cast(Cast { expr, .. }) => in_words(expr),
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => format!("{} {op} {}", operand(left), operand(right)),
        Expr::Negative(inner) => format!("-{}", operand(inner)),
        Expr::ScalarFunction(call) => match call.func.inner().downcast_ref::<super::Checked>() {
            Some(super::Checked { typed: Some(typed), .. }) => typed.clone(),
            _ => format!("{}({})", call.func.name(), in_words_all(&call.args)),
        },
        Expr::AggregateFunction(call) => format!("{}({})", call.func.name(), in_words_all(&call.params.args)),
        other => other.schema_name().to_string(),
    }
}

fn in_words_all(exprs: &[Expr]) -> String {
    exprs.iter().map(in_words).collect::<Vec<_>>().join(", ")
}

/// The operand of an operation: in brackets if it is one itself.
fn operand(expr: &Expr) -> String {
    let words = in_words(expr);
    let operation = match expr {
        Expr::BinaryExpr(_) | Expr::Negative(_) => true,
        Expr::ScalarFunction(call) => {
            call.func.inner().downcast_ref::<super::Checked>().is_some_and(|checked| checked.op != Op::Absolute)
        }
        Expr::Alias(Alias { expr, .. }) | Expr::Cast(Cast { expr, .. }) => return operand(expr),
        _ => false,
    };
    if operation { format!("({words})") } else { words }
}
