//! `FROM t PIVOT (sum(x) FOR k IN ('a', 'b'))` and `UNPIVOT`.

use datafusion::common::{Column, DFSchema, ScalarValue, not_impl_err, plan_err};
use datafusion::error::Result;
use datafusion::functions::core::expr_fn::coalesce;
use datafusion::logical_expr::planner::{PlannedRelation, RelationPlanner, RelationPlannerContext, RelationPlanning};
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, ident, lit};
use datafusion::sql::sqlparser::ast::{self, ExprWithAlias, NullInclusion, PivotValueSource, TableFactor};
use std::collections::HashSet;

/// Plans both.
#[derive(Debug)]
pub(crate) struct Pivots;

impl RelationPlanner for Pivots {
    fn plan_relation(
        &self,
        relation: TableFactor,
        context: &mut dyn RelationPlannerContext,
    ) -> Result<RelationPlanning> {
        let (plan, alias) = match relation {
            TableFactor::Pivot { table, aggregate_functions, value_column, value_source, default_on_null, alias } => {
                let input = context.plan(*table)?;
                let [by] = value_column.as_slice() else {
                    return not_impl_err!("PIVOT by several columns is not supported");
                };
                let PivotValueSource::List(values) = value_source else {
                    return not_impl_err!("PIVOT needs its values: FOR {by} IN ('a', 'b')");
                };
                let pivot = Pivot { aggregates: &aggregate_functions, by, values: &values, default: default_on_null };
                (pivot.plan(input, context)?, alias)
            }
            TableFactor::Unpivot { table, value, name, columns, null_inclusion, alias } => {
                let input = context.plan(*table)?;
                let ast::Expr::Identifier(value) = value else {
                    return not_impl_err!("UNPIVOT into several columns is not supported");
                };
                let (value, name) = (context.normalize_ident(value), context.normalize_ident(name));
                let keeps_nulls = matches!(null_inclusion, Some(NullInclusion::IncludeNulls));
                (unpivot(input, (&name, &value), columns, keeps_nulls, context)?, alias)
            }
            other => return Ok(RelationPlanning::Original(Box::new(other))),
        };
        Ok(RelationPlanning::Planned(Box::new(PlannedRelation::new(plan, alias))))
    }
}

struct Pivot<'a> {
    aggregates: &'a [ExprWithAlias],
    by: &'a ast::Expr,
    values: &'a [ExprWithAlias],
    default: Option<ast::Expr>,
}

impl Pivot<'_> {
    /// Grouped by all columns that are not mentioned; each aggregate once for each value.
    fn plan(self, input: LogicalPlan, context: &mut dyn RelationPlannerContext) -> Result<LogicalPlan> {
        let schema = input.schema().clone();
        let by = context.sql_to_expr(self.by.clone(), &schema)?;
        let default = self.default.map(|default| context.sql_to_expr(default, &schema)).transpose()?;
        let mut mentioned: HashSet<Column> = by.column_refs().into_iter().cloned().collect();
        let mut cells = Vec::new();
        for ExprWithAlias { expr, alias } in self.aggregates {
            let Expr::AggregateFunction(aggregate) = context.sql_to_expr(expr.clone(), &schema)?.unalias() else {
                return plan_err!("PIVOT needs an aggregate such as sum(price), found {expr}");
            };
            mentioned.extend(Expr::AggregateFunction(aggregate.clone()).column_refs().into_iter().cloned());
            let name = alias.as_ref().map_or_else(|| expr.to_string(), |alias| context.normalize_ident(alias.clone()));
            cells.push((aggregate, name));
        }
        let group: Vec<Expr> = others(&schema, &mentioned);
        let (mut aggregates, mut columns) = (Vec::new(), group.clone());
        for ExprWithAlias { expr: value, alias } in self.values {
            let name = match (alias, context.sql_to_expr(value.clone(), &DFSchema::empty())?) {
                (Some(alias), _) => context.normalize_ident(alias.clone()),
                (None, Expr::Literal(ScalarValue::Utf8(Some(text)), _)) => text,
                (None, _) => value.to_string(),
            };
            let value = context.sql_to_expr(value.clone(), &DFSchema::empty())?;
            for (aggregate, called) in &cells {
                let name = if cells.len() == 1 { name.clone() } else { format!("{name}_{called}") };
                let mut cell = aggregate.clone();
                let this = by.clone().eq(value.clone());
                cell.params.filter = Some(Box::new(match cell.params.filter.take() {
                    Some(filter) => filter.and(this),
                    None => this,
                }));
                let hidden = format!("pivot {}", aggregates.len());
                aggregates.push(Expr::AggregateFunction(cell).alias(&hidden));
                columns.push(match &default {
                    Some(default) => coalesce(vec![ident(&hidden), default.clone()]).alias(name),
                    None => ident(&hidden).alias(name),
                });
            }
        }
        LogicalPlanBuilder::from(input).aggregate(group, aggregates)?.project(columns)?.build()
    }
}

/// The columns that are not among these.
fn others(schema: &DFSchema, mentioned: &HashSet<Column>) -> Vec<Expr> {
    schema.columns().into_iter().filter(|c| !mentioned.contains(c)).map(Expr::Column).collect()
}

/// One row for each of the columns, with its name and its value.
fn unpivot(
    input: LogicalPlan,
    (name, value): (&str, &str),
    columns: Vec<ExprWithAlias>,
    keeps_nulls: bool,
    context: &mut dyn RelationPlannerContext,
) -> Result<LogicalPlan> {
    let schema = input.schema().clone();
    let mut sources = Vec::new();
    for ExprWithAlias { expr, alias } in columns {
        let column = context.sql_to_expr(expr.clone(), &schema)?;
        let called = match (&alias, &column) {
            (Some(alias), _) => alias.value.clone(),
            (None, Expr::Column(column)) => column.name.clone(),
            (None, _) => expr.to_string(),
        };
        sources.push((column, called));
    }
    let mentioned: HashSet<Column> = sources.iter().flat_map(|(c, _)| c.column_refs()).cloned().collect();
    let kept = others(&schema, &mentioned);
    let mut parts = sources.into_iter().map(|(column, called)| {
        let filtered = match keeps_nulls {
            true => LogicalPlanBuilder::from(input.clone()),
            false => LogicalPlanBuilder::from(input.clone()).filter(column.clone().is_not_null())?,
        };
        let added = [lit(called).alias(name), column.alias(value)];
        filtered.project(kept.iter().cloned().chain(added))
    });
    let Some(first) = parts.next() else { return plan_err!("UNPIVOT needs columns") };
    parts.try_fold(first?, |all, part| all.union(part?.build()?))?.build()
}
