//! `ORDER BY ALL`: by every column of the result, from left to right.

use datafusion::sql::sqlparser::ast::{
    Expr, OrderByExpr, OrderByKind, OrderByOptions, Query, SelectItem, SetExpr, Value, VisitorMut,
};
use std::ops::ControlFlow;

pub(super) struct OrderByAll;

impl VisitorMut for OrderByAll {
    type Break = String;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<String> {
        let Some(order) = &mut query.order_by else { return ControlFlow::Continue(()) };
        let options = match &order.kind {
            OrderByKind::All(options) => *options,
            OrderByKind::Expressions(by) => match by.as_slice() {
                [OrderByExpr { expr: Expr::Identifier(name), options, with_fill: None }]
                    if name.quote_style.is_none() && name.value.eq_ignore_ascii_case("all") =>
                {
                    *options
                }
                _ => return ControlFlow::Continue(()),
            },
        };
        let Some(columns) = columns(&query.body) else {
            return ControlFlow::Break(
                "ORDER BY ALL needs the columns by name: it does not know how many * stands for".into(),
            );
        };
        order.kind = OrderByKind::Expressions((1..=columns).map(|n| by_number(n, options)).collect());
        ControlFlow::Continue(())
    }
}

/// The number of columns that a query gives, if its text tells.
fn columns(body: &SetExpr) -> Option<usize> {
    match body {
        SetExpr::Select(select) => {
            let one = |item: &SelectItem| matches!(item, SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. });
            select.projection.iter().all(one).then_some(select.projection.len())
        }
        SetExpr::Query(query) => columns(&query.body),
        SetExpr::SetOperation { left, .. } => columns(left),
        SetExpr::Values(values) => values.rows.first().map(|row| row.len()),
        _ => None,
    }
}

fn by_number(number: usize, options: OrderByOptions) -> OrderByExpr {
    let expr = Expr::Value(Value::Number(number.to_string(), false).with_empty_span());
    OrderByExpr { expr, options, with_fill: None }
}
