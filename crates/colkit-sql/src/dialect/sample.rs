//! `USING SAMPLE 10%`, `USING SAMPLE 100 ROWS` and `TABLESAMPLE`: some of the rows, at random.
//!
//! A share is a condition that each row passes by chance; a number of rows is the beginning of a random order.

use super::snippets::{all_of, expr, quoted};
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Select, TableAlias, TableFactor,
    TableSampleKind, TableSampleMethod, TableSampleUnit, Value, VisitorMut,
};
use std::ops::ControlFlow;

/// The function that [`super::tokens`] makes of `USING SAMPLE`, behind `QUALIFY`.
pub(super) const MARK: &str = "using_sample";

pub(super) struct Samples;

enum Amount {
    Share(f64),
    Rows(u64),
}

impl VisitorMut for Samples {
    type Break = String;

    /// A sample of all rows that a query reads, before its other conditions.
    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<String> {
        let Some(Expr::Function(function)) = &select.qualify else { return ControlFlow::Continue(()) };
        if function.name.to_string() != MARK {
            return ControlFlow::Continue(());
        }
        let amount = match marked(function) {
            Ok(amount) => amount,
            Err(what) => return ControlFlow::Break(what),
        };
        select.qualify = None;
        let sampled = match amount {
            Amount::Share(share) => by_chance(share).map(|chance| {
                select.selection = Some(match select.selection.take() {
                    None => chance,
                    Some(condition) => Expr::BinaryOp {
                        left: Box::new(Expr::Nested(Box::new(condition))),
                        op: BinaryOperator::And,
                        right: Box::new(chance),
                    },
                });
            }),
            Amount::Rows(_) => match select.from.as_mut_slice() {
                [from] if from.joins.is_empty() => sample(&mut from.relation, &amount),
                _ => Err("USING SAMPLE of a number of rows of several tables is not supported: write \
                          SELECT * FROM (SELECT ...) USING SAMPLE 100 ROWS"
                    .into()),
            },
        };
        match sampled {
            Ok(()) => ControlFlow::Continue(()),
            Err(what) => ControlFlow::Break(what),
        }
    }

    /// A sample of one table. The inner one comes first: what is put around it is visited no more.
    fn post_visit_table_factor(&mut self, table: &mut TableFactor) -> ControlFlow<String> {
        let kind = match table {
            TableFactor::Table { sample, .. } | TableFactor::Derived { sample, .. } => sample.take(),
            _ => None,
        };
        let Some(TableSampleKind::BeforeTableAlias(clause) | TableSampleKind::AfterTableAlias(clause)) = kind else {
            return ControlFlow::Continue(());
        };
        let refused = |what: &str| ControlFlow::Break(format!("{what} is not supported"));
        if clause.seed.is_some() {
            return refused("a seed of TABLESAMPLE");
        }
        if clause.bucket.is_some() || clause.offset.is_some() {
            return refused("TABLESAMPLE by buckets or with an offset");
        }
        if !matches!(
            clause.name,
            None | Some(TableSampleMethod::Bernoulli | TableSampleMethod::System | TableSampleMethod::Row)
        ) {
            return refused("this method of TABLESAMPLE");
        }
        let Some(quantity) = &clause.quantity else { return refused("TABLESAMPLE without a number") };
        let rows = matches!(quantity.unit, Some(TableSampleUnit::Rows));
        let sampled = amount(&quantity.value.to_string(), rows).and_then(|amount| sample(table, &amount));
        match sampled {
            Ok(()) => ControlFlow::Continue(()),
            Err(what) => ControlFlow::Break(what),
        }
    }
}

/// What stands behind `USING SAMPLE`.
fn marked(function: &Function) -> Result<Amount, String> {
    let FunctionArguments::List(list) = &function.args else { return Err("USING SAMPLE needs a number".into()) };
    let text = |arg: &FunctionArg| match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(value))) => match &value.value {
            Value::Number(text, _) | Value::SingleQuotedString(text) => Some(text.clone()),
            _ => None,
        },
        _ => None,
    };
    match list.args.as_slice() {
        [number, unit] => amount(&text(number).unwrap_or_default(), text(unit).as_deref() == Some("rows")),
        _ => Err("USING SAMPLE needs a number".into()),
    }
}

fn amount(number: &str, rows: bool) -> Result<Amount, String> {
    if rows {
        return number.parse().map(Amount::Rows).map_err(|_| format!("a sample of {number} rows is not supported"));
    }
    let share =
        number.parse().ok().filter(|percent| (0.0..=100.0).contains(percent)).map(|percent: f64| percent / 100.0);
    share.map(Amount::Share).ok_or_else(|| format!("a sample of {number} percent is not supported"))
}

fn by_chance(share: f64) -> Result<Expr, String> {
    expr(&format!("random() < CAST('{share}' AS DOUBLE)")).map_err(|e| e.to_string())
}

/// Replaces a table by a sample of it, of the same name.
fn sample(table: &mut TableFactor, amount: &Amount) -> Result<(), String> {
    let rest = match amount {
        Amount::Share(share) => format!("WHERE random() < CAST('{share}' AS DOUBLE)"),
        Amount::Rows(rows) => format!("ORDER BY random() LIMIT {rows}"),
    };
    let name = match table {
        TableFactor::Table { name, .. } => name.0.last().and_then(|part| part.as_ident()).map(|i| i.value.clone()),
        _ => None,
    };
    let alias = match table {
        TableFactor::Table { alias, .. } | TableFactor::Derived { alias, .. } => alias.take(),
        _ => None,
    };
    let alias =
        alias.or_else(|| Some(TableAlias { explicit: true, name: quoted(name?), columns: Vec::new(), at: None }));
    let subquery = all_of(table.clone(), &rest).map_err(|e| e.to_string())?;
    *table = TableFactor::Derived { lateral: false, subquery, alias, sample: None };
    Ok(())
}
