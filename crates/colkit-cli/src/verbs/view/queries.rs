//! SQL over the tables that were given, and over nothing else. Nothing can be written.

use super::given::NamedTable;
use crate::args::ViewArgs;
use crate::verbs::sql::{QueryRuntime, places, plain_batch, plain_schema, query_memory};
use axum::body::Bytes;
use colkit::arrow::ipc::writer::StreamWriter;
use colkit::store::Stores;
use colkit::{Error, Result};
use colkit_sql::datafusion::error::DataFusionError;
use colkit_sql::datafusion::execution::context::SQLOptions;
use colkit_sql::datafusion::physical_plan::{ExecutionPlan, displayable, execute_stream};
use colkit_sql::datafusion::prelude::SessionContext;
use colkit_sql::datafusion::sql::parser::Statement;
use colkit_sql::datafusion::sql::sqlparser::ast;
use colkit_sql::{GivenTable, Planned, SessionOptions, TableRead, explain, plain, statements};
use futures::StreamExt;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// Queries whose cost is remembered.
const REMEMBERED: usize = 32;

/// Runs queries, on threads of their own.
pub struct Queries {
    // Declared before the runtime, so that it is dropped first.
    context: SessionContext,
    tables: Vec<NamedTable>,
    /// The plans of queries that ran, and what they read.
    ran: Mutex<VecDeque<(String, Value)>>,
    runtime: QueryRuntime,
}

impl Queries {
    pub fn start(args: &ViewArgs, tables: Vec<NamedTable>) -> Result<Self> {
        let options = SessionOptions::new()
            .with_open_options(args.reading.open_options()?.with_moved(places(&args.dataset.places.moved)))
            .with_memory(query_memory(args.reading.memory))
            .with_stores(Stores::shared().separate());
        let given =
            |t: &NamedTable| GivenTable { name: t.name.clone(), alias: Some(t.file.clone()), place: t.place.clone() };
        let context = options.start_with_tables(tables.iter().map(given).collect()).map_err(|e| plain(&e))?;
        let runtime = QueryRuntime::start(args.reading.thread_count())?;
        Ok(Queries { context, tables, ran: Mutex::default(), runtime })
    }

    /// The names of all tables.
    pub fn names(&self) -> Vec<&str> {
        self.tables.iter().map(|t| t.name.as_str()).collect()
    }

    /// Runs a query. What is received is an Arrow IPC stream in pieces, or an error at its end. The query ends when nobody
    /// receives any more.
    pub fn run(self: &Arc<Self>, text: String) -> Receiver<Result<Bytes>> {
        let (rows, received) = channel(2);
        let queries = self.clone();
        self.runtime.spawn(async move {
            let done = tokio::select! {
                biased;
                () = rows.closed() => Ok(()),
                done = queries.send(&text, &rows) => done,
            };
            if let Err(error) = done {
                let _ = rows.send(Err(error)).await;
            }
        });
        received
    }

    async fn send(&self, text: &str, rows: &Sender<Result<Bytes>>) -> Result<()> {
        let failed = |e: DataFusionError| plain(&e);
        let plan = self.planned(text).await?;
        let mut batches = execute_stream(plan.clone(), self.context.task_ctx()).map_err(failed)?;
        let schema = plain_schema(&batches.schema());
        let mut writer = StreamWriter::try_new(Vec::new(), &schema)?;
        while let Some(batch) = batches.next().await {
            writer.write(&plain_batch(&batch.map_err(failed)?, &schema)?)?;
            if rows.send(Ok(std::mem::take(writer.get_mut()).into())).await.is_err() {
                return Ok(());
            }
        }
        writer.finish()?;
        // Before the end is sent: who has seen it may ask what the query read.
        self.remember(text, self.document(&plan, true));
        let _ = rows.send(Ok(writer.into_inner()?.into())).await;
        Ok(())
    }

    /// The plan of a query; of one that ran, with what it read.
    pub async fn plan(self: &Arc<Self>, text: String) -> Result<Value> {
        let known = self.ran().iter().find(|(ran, _)| *ran == text).map(|(_, document)| document.clone());
        if let Some(known) = known {
            return Ok(known);
        }
        let queries = self.clone();
        let planned = self.runtime.spawn(async move {
            let plan = queries.planned(&text).await?;
            Ok(queries.document(&plan, false))
        });
        planned.await.unwrap_or_else(|_| Err(Error::panicked("planning a query")))
    }

    /// Plans one query that only reads.
    async fn planned(&self, text: &str) -> Result<Arc<dyn ExecutionPlan>> {
        let failed = |e: DataFusionError| plain(&e);
        let state = self.context.state();
        let mut statements = statements(&state, text).map_err(failed)?;
        let (Some(statement), None) = (statements.pop_front(), statements.pop_front()) else {
            return Err(Error::request("bad_sql", "expected one query").hint("such as SELECT 1"));
        };
        if matches!(&statement, Statement::Statement(typed) if matches!(**typed, ast::Statement::Drop { .. })) {
            return Err(only_reads());
        }
        let Planned::Rows(plan) = colkit_sql::plan(&state, statement).await.map_err(|e| self.named(&e))? else {
            return Err(only_reads());
        };
        let reading = SQLOptions::new().with_allow_ddl(false).with_allow_dml(false).with_allow_statements(false);
        reading.verify_plan(&plan).map_err(|_| only_reads())?;
        let frame = self.context.execute_logical_plan(plan).await.map_err(failed)?;
        frame.create_physical_plan().await.map_err(failed)
    }

    /// An error of planning. Only the given tables can be meant.
    fn named(&self, error: &DataFusionError) -> Error {
        let error = plain(error);
        let missing = error.code() == "bad_sql" && error.message().starts_with("there is no table");
        if missing { error.hint(format!("the tables are {}", self.names().join(", "))) } else { error }
    }

    fn document(&self, plan: &Arc<dyn ExecutionPlan>, ran: bool) -> Value {
        let table = |read: &TableRead| {
            let known = self.tables.iter().find(|t| t.place == read.table).map(|t| t.name.clone());
            let name = known.unwrap_or_else(|| read.table.rsplit('/').next().unwrap_or_default().to_owned());
            json!({"name": name, "bytes": ran.then_some(read.bytes_read), "total": read.files_bytes})
        };
        let tables: Vec<Value> = explain(plan).iter().map(table).collect();
        json!({"plan": displayable(plan.as_ref()).indent(false).to_string(), "tables": tables, "ran": ran})
    }

    fn remember(&self, text: &str, document: Value) {
        let mut ran = self.ran();
        ran.retain(|(known, _)| known != text);
        ran.push_back((text.to_owned(), document));
        if ran.len() > REMEMBERED {
            ran.pop_front();
        }
    }

    fn ran(&self) -> std::sync::MutexGuard<'_, VecDeque<(String, Value)>> {
        self.ran.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn only_reads() -> Error {
    Error::request("bad_sql", "the explorer only reads: statements that create, change or write something are refused")
        .hint("colkit sql runs them")
}
