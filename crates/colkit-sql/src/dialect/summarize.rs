//! `SUMMARIZE t` and `SUMMARIZE SELECT ...`: one row for each column, with its range and what is typical of it.
//!
//! The parser sees `SELECT summarize(*) FROM ...`; the plan is made once the columns are known.

use super::tokens::{at, is_word, word};
use arrow::datatypes::DataType;
use datafusion::common::{Column, ScalarValue};
use datafusion::error::Result;
use datafusion::functions::core::expr_fn::{get_field, named_struct};
use datafusion::functions::encoding::expr_fn::encode;
use datafusion::functions_aggregate::expr_fn::{approx_distinct, approx_percentile_cont, avg, count, max, min, stddev};
use datafusion::functions_nested::expr_fn::make_array;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, cast, ident, lit};
use datafusion::sql::sqlparser::ast::{
    self, FunctionArg, FunctionArgExpr, FunctionArguments, SelectItem, SetExpr, Statement,
};
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

/// `SUMMARIZE t` as `SELECT summarize(*) FROM t`.
pub(super) fn respelled(statement: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let (Some(first), true) = (statement.first(), is_word(statement.first(), "SUMMARIZE")) else { return statement };
    let rest = statement.get(1..).unwrap_or_default();
    if rest.iter().all(|t| t.token == Token::SemiColon) {
        return statement;
    }
    let mut out = vec![word(first, "SELECT"), at(first, Token::make_word("summarize", None))];
    out.extend([Token::LParen, Token::Mul, Token::RParen].map(|token| at(first, token)));
    out.push(word(first, "FROM"));
    if ["SELECT", "WITH", "FROM", "VALUES"].iter().any(|query| is_word(rest.first(), query)) {
        let (query, end) = match rest.split_last() {
            Some((end, query)) if end.token == Token::SemiColon => (query, Some(end)),
            _ => (rest, None),
        };
        out.push(at(first, Token::LParen));
        out.extend(query.iter().cloned());
        out.push(at(first, Token::RParen));
        out.extend(end.cloned());
    } else {
        out.extend(rest.iter().cloned());
    }
    out
}

/// What is to be summarized, if a statement asks for that: the same query for all columns.
pub(crate) fn summarized(statement: &Statement) -> Option<Statement> {
    let Statement::Query(query) = statement else { return None };
    let SetExpr::Select(select) = query.body.as_ref() else { return None };
    let [
        SelectItem::UnnamedExpr(ast::Expr::Function(f))
        | SelectItem::ExprWithAlias { expr: ast::Expr::Function(f), .. },
    ] = select.projection.as_slice()
    else {
        return None;
    };
    let of_all = matches!(&f.args, FunctionArguments::List(list)
        if matches!(list.args.as_slice(), [FunctionArg::Unnamed(FunctionArgExpr::Wildcard)]));
    if !of_all || !f.name.to_string().eq_ignore_ascii_case("summarize") {
        return None;
    }
    let mut query = query.clone();
    if let SetExpr::Select(select) = query.body.as_mut() {
        select.projection = vec![SelectItem::Wildcard(Default::default())];
    }
    Some(Statement::Query(query))
}

/// The columns of a summary.
const COLUMNS: [&str; 12] = [
    "column_name",
    "column_type",
    "min",
    "max",
    "approx_unique",
    "avg",
    "std",
    "q25",
    "q50",
    "q75",
    "count",
    "null_percentage",
];

/// One row for each column of a plan, in one pass over it.
pub(crate) fn summary(plan: LogicalPlan) -> Result<LogicalPlan> {
    let fields: Vec<(Expr, String, DataType)> = plan
        .schema()
        .iter()
        .map(|(table, field)| {
            let column = Expr::Column(Column::new(table.cloned(), field.name()));
            (column, field.name().clone(), field.data_type().clone())
        })
        .collect();
    let mut aggregates = vec![count(lit(1)).alias("rows")];
    for (number, (column, _, data_type)) in fields.iter().enumerate() {
        for (name, value) in values(column, data_type) {
            aggregates.extend(value.map(|v| v.alias(format!("{name} {number}"))));
        }
    }
    let of_column = |(number, (column, name, data_type)): (usize, &(Expr, String, DataType))| {
        let mut parts = vec![lit("column_name"), lit(name.clone()), lit("column_type"), lit(type_name(data_type))];
        for (part, value) in values(column, data_type) {
            let value = value.map(|_| ident(format!("{part} {number}")));
            let text = value.map_or(null(&DataType::Utf8), |v| match part {
                "min" | "max" => as_text(v, data_type),
                _ => cast(v, DataType::Utf8),
            });
            let value = match part {
                "approx_unique" => cast(text, DataType::Int64),
                "count" => {
                    let (there, rows) = (cast(text, DataType::Int64), || cast(ident("rows"), DataType::Float64));
                    let share = (rows() - cast(there.clone(), DataType::Float64)) * lit(100.0) / rows();
                    parts.extend([lit("count"), there]);
                    parts.push(lit("null_percentage"));
                    cast(datafusion::functions::math::expr_fn::round(vec![share, lit(2)]), DataType::Float64)
                }
                "avg" | "std" | "q25" | "q50" | "q75" => cast(text, DataType::Float64),
                _ => text,
            };
            if part != "count" {
                parts.push(lit(part));
            }
            parts.push(value);
        }
        named_struct(parts)
    };
    let rows: Vec<Expr> = fields.iter().enumerate().map(of_column).collect();
    let columns = COLUMNS.map(|name| get_field(ident("summary"), name).alias(name));
    if rows.is_empty() {
        return LogicalPlanBuilder::from(plan).aggregate(Vec::<Expr>::new(), aggregates)?.build();
    }
    LogicalPlanBuilder::from(plan)
        .aggregate(Vec::<Expr>::new(), aggregates)?
        .project([make_array(rows).alias("summary")])?
        .unnest_column("summary")?
        .project(columns)?
        .build()
}

/// What is computed of a column, by the name of the result; nothing where the type has no such thing.
fn values(column: &Expr, data_type: &DataType) -> [(&'static str, Option<Expr>); 9] {
    let ordered = !data_type.is_nested() && !matches!(data_type, DataType::Null);
    let number = data_type.is_numeric();
    let float = || cast(column.clone(), DataType::Float64);
    let quantile = |share: f64| number.then(|| approx_percentile_cont(float().sort(true, false), lit(share), None));
    let countable = ordered && !matches!(data_type, DataType::Boolean | DataType::Float16 | DataType::Interval(_));
    [
        ("min", ordered.then(|| min(column.clone()))),
        ("max", ordered.then(|| max(column.clone()))),
        ("approx_unique", countable.then(|| approx_distinct(as_counted(column, data_type)))),
        ("avg", number.then(|| avg(float()))),
        ("std", number.then(|| stddev(float()))),
        ("q25", quantile(0.25)),
        ("q50", quantile(0.5)),
        ("q75", quantile(0.75)),
        ("count", Some(count(column.clone()))),
    ]
}

/// A column as values whose number can be estimated.
fn as_counted(column: &Expr, data_type: &DataType) -> Expr {
    if data_type.is_integer() || matches!(data_type, DataType::Utf8 | DataType::Utf8View | DataType::LargeUtf8) {
        column.clone()
    } else {
        as_text(column.clone(), data_type)
    }
}

/// A value as text: bytes, which need not be any, as hexadecimal digits.
fn as_text(value: Expr, data_type: &DataType) -> Expr {
    match data_type.is_binary() {
        true => encode(cast(value, DataType::Binary), lit("hex")),
        false => cast(value, DataType::Utf8),
    }
}

fn null(data_type: &DataType) -> Expr {
    cast(lit(ScalarValue::Null), data_type.clone())
}

/// The type in the words of the command.
fn type_name(data_type: &DataType) -> String {
    colkit::type_name(&colkit::without_views(data_type))
}
