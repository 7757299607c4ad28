//! Small pieces of syntax for rewrites.

use datafusion::error::{DataFusionError, Result};
use datafusion::sql::sqlparser::ast::{Expr, Ident, Query, SetExpr, TableFactor};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::parser::Parser;

/// A query written here.
pub(crate) fn query(text: &str) -> Result<Box<Query>> {
    let parsed = Parser::new(&GenericDialect {}).try_with_sql(text).and_then(|mut parser| parser.parse_query());
    parsed.map_err(|e| DataFusionError::SQL(Box::new(e), None))
}

/// An expression written here.
pub(super) fn expr(text: &str) -> Result<Expr> {
    let parsed = Parser::new(&GenericDialect {}).try_with_sql(text).and_then(|mut parser| parser.parse_expr());
    parsed.map_err(|e| DataFusionError::SQL(Box::new(e), None))
}

/// `SELECT * FROM table`, followed by `rest`.
pub(crate) fn all_of(table: TableFactor, rest: &str) -> Result<Box<Query>> {
    let mut query = query(&format!("SELECT * FROM t {rest}"))?;
    if let SetExpr::Select(select) = query.body.as_mut()
        && let Some(from) = select.from.first_mut()
    {
        from.relation = table;
    }
    Ok(query)
}

/// A name that is taken as it is.
pub(super) fn quoted(name: impl Into<String>) -> Ident {
    Ident::with_quote('"', name)
}
