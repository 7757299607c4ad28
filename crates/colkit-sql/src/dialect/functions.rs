//! Functions that DataFusion has by another name, or with arguments in another order.

use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, ObjectName, Value, VisitorMut,
};
use std::ops::ControlFlow;

pub(super) struct Functions;

impl VisitorMut for Functions {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Function(function) = expr {
            rename(function);
        }
        ControlFlow::Continue(())
    }
}

fn rename(function: &mut Function) {
    let Some(name) = function.name.0.first().and_then(|part| part.as_ident()) else { return };
    let name = name.value.to_ascii_lowercase();
    let FunctionArguments::List(list) = &mut function.args else { return };
    match name.as_str() {
        "strftime" => {
            // Some put the format first.
            if let [first, second] = list.args.as_slice()
                && text_of(first).is_some()
                && text_of(second).is_none()
            {
                list.args.swap(0, 1);
            }
            call(function, "to_char");
        }
        "regexp_matches" => call(function, "regexp_like"),
        "date_diff" | "datediff" => {
            if let Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(first))) = list.args.first_mut()
                && let Expr::Identifier(unit) = first
            {
                let unit = Value::SingleQuotedString(unit.value.clone()).with_span(unit.span);
                *first = Expr::Value(unit);
            }
        }
        _ => {}
    }
}

fn call(function: &mut Function, name: &str) {
    function.name = ObjectName::from(vec![Ident::new(name)]);
}

/// The text that an argument is, if it is a literal.
pub(crate) fn text_of(arg: &FunctionArg) -> Option<&str> {
    match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(value))) => match &value.value {
            Value::SingleQuotedString(text) => Some(text),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::snippets::query;
    use super::*;
    use datafusion::sql::sqlparser::ast::VisitMut;

    #[test]
    fn functions_are_called_by_the_names_that_are_known() {
        let renamed = |text: &str| {
            let mut query = query(&format!("SELECT {text}")).unwrap();
            let _ = query.visit(&mut Functions);
            query.to_string()
        };
        assert_eq!(renamed("strftime(ts, '%Y')"), "SELECT to_char(ts, '%Y')");
        assert_eq!(renamed("STRFTIME('%Y', ts)"), "SELECT to_char(ts, '%Y')");
        assert_eq!(renamed("regexp_matches(upper(s), 'a.c')"), "SELECT regexp_like(upper(s), 'a.c')");
        assert_eq!(renamed("datediff(day, a, b)"), "SELECT datediff('day', a, b)");
        assert_eq!(renamed("upper(s)"), "SELECT upper(s)");
    }
}
