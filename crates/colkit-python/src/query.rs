//! SQL over files and Arrow data.

use crate::error::Failure;
use crate::scan::{Batches, Reader};
use crate::work;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use arrow::record_batch::{RecordBatch, RecordBatchReader};
use colkit::{Error, OpenOptions, Stop};
use colkit_sql::datafusion::common::{TableReference, plan_err};
use colkit_sql::datafusion::datasource::MemTable;
use colkit_sql::datafusion::error::DataFusionError;
use colkit_sql::datafusion::execution::SendableRecordBatchStream;
use colkit_sql::datafusion::execution::context::SQLOptions;
use colkit_sql::datafusion::prelude::SessionContext;
use colkit_sql::{Planned, STACK_BYTES, SessionOptions, plain, plan, statements};
use futures::StreamExt;
use pyo3::prelude::*;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Runtime;

/// How long Ctrl-C may go unnoticed by a query.
const PATIENCE: Duration = Duration::from_millis(50);

/// The rows of a query. `files` are names of tables and where they are, `data` names and Arrow data.
#[pyfunction]
#[pyo3(signature = (query, files, data, memory=None, threads=None))]
pub fn sql(
    py: Python<'_>,
    query: String,
    files: Vec<(String, String)>,
    data: Vec<(String, Bound<'_, PyAny>)>,
    memory: Option<u64>,
    threads: Option<usize>,
) -> PyResult<Batches> {
    let threads = threads.unwrap_or_else(colkit::available_threads).max(1);
    let session = SessionOptions::new().with_open_options(OpenOptions::new().with_threads(threads));
    let session = memory.into_iter().fold(session, SessionOptions::with_memory);
    let data = data.into_iter().map(|(name, table)| Ok((name, crate::data::reader(&table)?)));
    let data = data.collect::<PyResult<Vec<_>>>()?;
    let stop = Stop::new();
    let work = move |stop: &Stop| -> Result<Rows, Failure> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(threads)
            .thread_name("colkit-sql")
            .thread_stack_size(STACK_BYTES)
            .enable_all()
            .build()
            .map_err(Error::from)?;
        let context = session.start().map_err(|e| plain(&e))?;
        for (name, reader) in data {
            register(&context, &name, reader, stop)?;
        }
        // A query may nest deeply: it is planned on a thread with a large stack.
        let planned = runtime.spawn(async move { start(&context, &query, &files).await });
        let planned = wait(&runtime, stop, planned)?.map_err(|_| Error::panicked("the query"))?;
        let stream = planned.map_err(|e| plain(&e))?;
        Ok(Rows { schema: stream.schema(), stream, runtime: Some(runtime), stop: stop.clone() })
    };
    let rows = work::watched(py, stop.clone(), work, |_| Ok(()))?;
    Ok(Batches::new(Box::new(rows), stop))
}

/// Arrow data as a table.
fn register(context: &SessionContext, name: &str, reader: Reader, stop: &Stop) -> Result<(), Failure> {
    let schema = reader.schema();
    let mut batches = Vec::new();
    for batch in reader {
        stop.check()?;
        batches.push(batch.map_err(Error::from)?);
    }
    let table = MemTable::try_new(schema, vec![batches]).map_err(|e| plain(&e))?;
    context.register_table(TableReference::bare(name), Arc::new(table)).map_err(|e| plain(&e))?;
    Ok(())
}

async fn start(
    context: &SessionContext,
    query: &str,
    files: &[(String, String)],
) -> Result<SendableRecordBatchStream, DataFusionError> {
    for (name, place) in files {
        let table = context.table_provider(TableReference::bare(place.as_str())).await?;
        context.register_table(TableReference::bare(name.as_str()), table)?;
    }
    let state = context.state();
    let mut all = statements(&state, query)?;
    let (Some(statement), None) = (all.pop_front(), all.pop_front()) else {
        return plan_err!("expected one query");
    };
    let Planned::Rows(plan) = plan(&state, statement).await? else {
        return plan_err!("COPY writes files, which a query does not: write() takes the rows of a query");
    };
    let reading = SQLOptions::new().with_allow_ddl(false).with_allow_dml(false).with_allow_statements(false);
    reading.verify_plan(&plan)?;
    context.execute_logical_plan(plan).await?.execute_stream().await
}

/// Waits for something, until it is time to stop.
fn wait<T>(runtime: &Runtime, stop: &Stop, work: impl Future<Output = T>) -> Result<T, Error> {
    runtime.block_on(async {
        let mut work = std::pin::pin!(work);
        loop {
            if let Ok(done) = tokio::time::timeout(PATIENCE, work.as_mut()).await {
                return Ok(done);
            }
            stop.check()?;
        }
    })
}

/// The rows of a query as they are asked for.
struct Rows {
    schema: SchemaRef,
    stream: SendableRecordBatchStream,
    runtime: Option<Runtime>,
    stop: Stop,
}

impl Iterator for Rows {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        match wait(self.runtime.as_ref()?, &self.stop, self.stream.next()) {
            Ok(next) => next.map(|batch| batch.map_err(|e| plain(&e).into())),
            Err(stopped) => Some(Err(stopped.into())),
        }
    }
}

impl RecordBatchReader for Rows {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}

impl Drop for Rows {
    fn drop(&mut self) {
        // A blocking shutdown would wait for what nobody wants any more.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
