//! Plans statements: those of DataFusion, and what this dialect adds to them.

use crate::approximate_numbers;
use crate::dialect::{all_of, query, summarized, summary};
use crate::error::external;
use crate::table_functions::TableCalls;
use arrow::datatypes::Schema;
use datafusion::error::Result;
use datafusion::execution::context::SessionState;
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder, ident, lit};
use datafusion::sql::parser::{CopyToSource, CopyToStatement, Statement};
use datafusion::sql::sqlparser::ast::{self, DescribeAlias, TableFactor};

/// What a statement asks for.
#[derive(Debug)]
pub enum Planned {
    /// Rows, or something of the session.
    Rows(LogicalPlan),
    /// Rows in files.
    Copy(Copy),
}

/// `COPY ... TO`.
#[derive(Debug)]
pub struct Copy {
    /// The rows.
    pub rows: LogicalPlan,
    /// The file or folder to write.
    pub target: String,
    /// The format, if it is named.
    pub format: Option<String>,
    /// The columns whose values name folders.
    pub partition_by: Vec<String>,
    /// The other options, by name in lower case.
    pub options: Vec<(String, String)>,
}

/// Plans a statement that [`statements`](crate::statements) gave.
pub async fn plan(state: &SessionState, mut statement: Statement) -> Result<Planned> {
    if let Some(calls) = state.config().get_extension::<TableCalls>() {
        calls.resolve(&mut statement)?;
    }
    approximate_numbers(&mut statement);
    match statement {
        Statement::CopyTo(copy) => plan_copy(state, copy).await.map(Planned::Copy),
        statement => plan_rows(state, statement).await.map(Planned::Rows),
    }
}

async fn plan_rows(state: &SessionState, statement: Statement) -> Result<LogicalPlan> {
    if let Statement::Statement(typed) = &statement {
        if let Some(query) = summarized(typed) {
            let statement = Statement::Statement(Box::new(query));
            return summary(state.statement_to_plan(statement).await?);
        }
        match typed.as_ref() {
            ast::Statement::ShowTables { show_options, .. }
                if show_options.filter_position.is_none() && show_options.show_in.is_none() =>
            {
                let tables = ast::Statement::Query(query(TABLES)?);
                return state.statement_to_plan(Statement::Statement(Box::new(tables))).await;
            }
            ast::Statement::Drop { object_type: ast::ObjectType::Table, names, .. } => {
                if let Some(file) = names.iter().find_map(file_named) {
                    return Err(external(
                        colkit::Error::request("bad_sql", format!("{file} is a file, and SQL does not remove files"))
                            .hint("DROP TABLE drops tables that CREATE TABLE or CREATE VIEW made"),
                    ));
                }
            }
            ast::Statement::Explain {
                describe_alias: DescribeAlias::Describe | DescribeAlias::Desc,
                statement,
                ..
            } => {
                let plan = state.statement_to_plan(Statement::Statement(statement.clone())).await?;
                return described(plan.schema().as_arrow());
            }
            _ => {}
        }
    }
    match state.statement_to_plan(statement).await? {
        LogicalPlan::DescribeTable(table) => described(&table.schema),
        plan => Ok(plan),
    }
}

/// The name, if it is that of a file.
fn file_named(name: &ast::ObjectName) -> Option<String> {
    let [part] = name.0.as_slice() else { return None };
    let name = &part.as_ident()?.value;
    (name.contains("://") || std::path::Path::new(name).exists()).then(|| name.clone())
}

/// `SHOW TABLES`: those of the user.
const TABLES: &str = "SELECT table_name, table_type FROM information_schema.tables \
    WHERE table_schema <> 'information_schema' ORDER BY table_name";

/// The columns of a table, with types in the words of the command.
fn described(schema: &Schema) -> Result<LogicalPlan> {
    let row = |f: &arrow::datatypes::FieldRef| {
        let data_type = colkit::type_name(&colkit::without_views(f.data_type()));
        vec![lit(f.name().clone()), lit(data_type), lit(if f.is_nullable() { "YES" } else { "NO" })]
    };
    let rows: Vec<_> = schema.fields().iter().map(row).collect();
    let names = ["column_name", "column_type", "null"];
    let none = rows.is_empty();
    let rows = if none { vec![vec![lit(""), lit(""), lit("")]] } else { rows };
    let columns = names.iter().zip(1..).map(|(name, number)| ident(format!("column{number}")).alias(*name));
    LogicalPlanBuilder::values(rows)?.project(columns)?.limit(0, none.then_some(0))?.build()
}

async fn plan_copy(state: &SessionState, copy: CopyToStatement) -> Result<Copy> {
    let CopyToStatement { source, target, partitioned_by, stored_as, options } = copy;
    let query = match source {
        CopyToSource::Query(query) => query,
        CopyToSource::Relation(table) => all_of(named(table), "")?,
    };
    let rows = state.statement_to_plan(Statement::Statement(Box::new(ast::Statement::Query(query)))).await?;
    let text = |value: ast::Value| value.clone().into_string().unwrap_or_else(|| value.to_string());
    let options = options.into_iter().map(|(name, value)| (name.to_ascii_lowercase(), text(value))).collect();
    let format = stored_as.map(|format| format.to_ascii_lowercase());
    Ok(Copy { rows, target, format, partition_by: partitioned_by, options })
}

/// A table by its name alone.
fn named(name: ast::ObjectName) -> TableFactor {
    TableFactor::Table {
        name,
        alias: None,
        args: None,
        with_hints: Vec::new(),
        version: None,
        with_ordinality: false,
        partitions: Vec::new(),
        json_path: None,
        sample: None,
        index_hints: Vec::new(),
    }
}
