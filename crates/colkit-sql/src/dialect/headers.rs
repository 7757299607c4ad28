//! Headers that read like the expressions typed: `count(*)`, `sum(price)`, `a + 1`.
//!
//! DataFusion would name the columns of a result after its own reading of them: `sum(t.csv.price)`, `t.csv.a + Int64(1)`.

use super::snippets::quoted;
use datafusion::sql::sqlparser::ast::{
    Expr, Ident, OrderBy, OrderByExpr, OrderByKind, Query, Select, SelectItem, SetExpr, TableFactor, Value, VisitorMut,
};
use std::collections::HashSet;
use std::ops::ControlFlow;

/// Gives every expression without a name one: its text. Expressions of the same text are numbered.
pub(super) struct Headers;

impl VisitorMut for Headers {
    type Break = ();

    /// What distinct rows are ordered by must be one of their columns, and is looked for by its name: so it is called by its
    /// number.
    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let SetExpr::Select(select) = query.body.as_ref() else { return ControlFlow::Continue(()) };
        let Some(OrderBy { kind: OrderByKind::Expressions(order), .. }) = &mut query.order_by else {
            return ControlFlow::Continue(());
        };
        let one = |item: &SelectItem| matches!(item, SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. });
        if select.distinct.is_none() || !select.projection.iter().all(one) {
            return ControlFlow::Continue(());
        }
        for OrderByExpr { expr: by, .. } in order {
            let is_it = |item: &SelectItem| matches!(item, SelectItem::UnnamedExpr(expr) if expr == by);
            if let Some(place) = select.projection.iter().position(is_it).filter(|_| needs_name(by, &HashSet::new())) {
                *by = Expr::Value(Value::Number((place + 1).to_string(), false).with_empty_span());
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        let tables = tables_of(select);
        let mut taken: HashSet<String> = select.projection.iter().filter_map(given_name).collect();
        for item in &mut select.projection {
            let SelectItem::UnnamedExpr(expr) = item else { continue };
            if !needs_name(expr, &tables) {
                continue;
            }
            let typed = expr.to_string();
            let numbered = (2..).map(|n| format!("{typed}_{n}"));
            let name = std::iter::once(typed.clone()).chain(numbered).find(|name| taken.insert(name.clone()));
            *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias: quoted(name.unwrap_or(typed)) };
        }
        ControlFlow::Continue(())
    }
}

/// The names that the tables of a query are called by in it.
fn tables_of(select: &Select) -> HashSet<String> {
    let relations =
        select.from.iter().flat_map(|f| std::iter::once(&f.relation).chain(f.joins.iter().map(|j| &j.relation)));
    let name = |table: &TableFactor| match table {
        TableFactor::Table { alias: Some(alias), .. } | TableFactor::Derived { alias: Some(alias), .. } => {
            Some(alias.name.value.clone())
        }
        TableFactor::Table { name, .. } => name.0.last().and_then(|part| part.as_ident()).map(|i| i.value.clone()),
        _ => None,
    };
    relations.filter_map(name).collect()
}

/// The name that a column of the result has already.
fn given_name(item: &SelectItem) -> Option<String> {
    match item {
        SelectItem::ExprWithAlias { alias, .. } => Some(alias.value.clone()),
        SelectItem::UnnamedExpr(Expr::Identifier(name)) => Some(name.value.clone()),
        SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts)) => parts.last().map(|name| name.value.clone()),
        _ => None,
    }
}

/// Columns keep their names. What may be a column of a table is one, unless the first part can only be a column itself.
fn needs_name(expr: &Expr, tables: &HashSet<String>) -> bool {
    match expr {
        Expr::Identifier(_) => false,
        Expr::CompoundIdentifier(parts) => {
            let is_table = |name: &Ident| tables.iter().any(|t| t.eq_ignore_ascii_case(&name.value));
            parts.first().is_some_and(|first| !is_table(first)) && parts.len() == 2 && !tables.is_empty()
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::super::snippets::query;
    use super::*;
    use datafusion::sql::sqlparser::ast::VisitMut;

    fn named(text: &str) -> String {
        let mut query = query(text).unwrap();
        let _ = query.visit(&mut Headers);
        query.to_string()
    }

    #[test]
    fn expressions_are_named_by_their_text() {
        assert_eq!(
            named("SELECT a, t.b, count(*), a+1, a + 1, x AS y, * FROM t"),
            "SELECT a, t.b, count(*) AS \"count(*)\", a + 1 AS \"a + 1\", a + 1 AS \"a + 1_2\", x AS y, * FROM t"
        );
        assert_eq!(
            named("SELECT DISTINCT a % 2, b FROM t ORDER BY a % 2 DESC, b"),
            "SELECT DISTINCT a % 2 AS \"a % 2\", b FROM t ORDER BY 1 DESC, b"
        );
        assert_eq!(named("SELECT s.a FROM 'x.csv'"), "SELECT s.a AS \"s.a\" FROM 'x.csv'");
        assert_eq!(named("SELECT 'a \"b\"'"), "SELECT 'a \"b\"' AS \"'a \"\"b\"\"'\"");
    }
}
