//! One query, in a session of its own.

use crate::{Planned, SessionOptions, plan, statements};
use datafusion::common::plan_err;
use datafusion::dataframe::DataFrame;
use datafusion::error::Result;
use datafusion::execution::context::SQLOptions;

/// The rows of a query over files: `SELECT ... FROM 'trades.lance'`. A file, a pattern of files, a folder or a URL stands
/// wherever a table can.
///
/// It only reads: statements that create or write something are refused. [`SessionOptions`] is for those, for several queries, and
/// for limits on memory; [`plain`](crate::plain) turns errors into those of colkit. Text of strangers may nest deeply: plan and
/// run it on threads with a stack of [`STACK_BYTES`](crate::STACK_BYTES).
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> datafusion::error::Result<()> {
/// # let folder = tempfile::tempdir()?;
/// # std::env::set_current_dir(&folder)?;
/// # std::fs::write("trades.csv", "sym,price\nBTC,64000.5\nETH,3100.25\nBTC,64100\n")?;
/// let rows = colkit_sql::query("SELECT sym, max(price) AS top FROM 'trades.csv' GROUP BY sym ORDER BY top").await?;
/// rows.show().await?;
/// # Ok(())
/// # }
/// ```
pub async fn query(sql: &str) -> Result<DataFrame> {
    let context = SessionOptions::new().start()?;
    let state = context.state();
    let mut statements = statements(&state, sql)?;
    let (Some(statement), None) = (statements.pop_front(), statements.pop_front()) else {
        return plan_err!("expected one query");
    };
    let Planned::Rows(plan) = plan(&state, statement).await? else {
        return plan_err!("COPY writes files, which a query does not");
    };
    let reading = SQLOptions::new().with_allow_ddl(false).with_allow_dml(false).with_allow_statements(false);
    reading.verify_plan(&plan)?;
    context.execute_logical_plan(plan).await
}
