//! `'trades.csv'.price`: a column of a table in single quotes.

use datafusion::sql::sqlparser::ast::{AccessExpr, Expr, Ident, Value, VisitorMut};
use std::ops::ControlFlow;

pub(super) struct QuotedTables;

impl VisitorMut for QuotedTables {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::CompoundFieldAccess { root, access_chain } = expr
            && let Expr::Value(table) = root.as_ref()
            && let Value::SingleQuotedString(table) = &table.value
            && let [AccessExpr::Dot(Expr::Identifier(column))] = access_chain.as_slice()
        {
            *expr = Expr::CompoundIdentifier(vec![Ident::with_quote('"', table.clone()), column.clone()]);
        }
        ControlFlow::Continue(())
    }
}
