//! The session that statements run in.

use super::interrupt::Interrupts;
use super::spool::Spool;
use super::{options, pager};
use crate::Io;
use crate::args::SqlArgs;
use crate::request::is_stream;
use colkit::arrow::datatypes::SchemaRef;
use colkit::store::{StoreCount, Stores};
use colkit::{Error, Result};
use colkit_sql::datafusion::prelude::SessionContext;
use colkit_sql::{OpenWords, STACK_BYTES, SessionOptions, plain};
use std::path::Path;
use std::sync::Arc;
use tokio::runtime::{Handle, Runtime};

/// A DataFusion session with its runtime, stores and temporary files.
pub struct SqlSession {
    // Declared before the runtime, so that it is dropped first.
    pub context: SessionContext,
    /// Who runs the queries, if this process does not.
    pub cluster: Option<RemoteExecution>,
    pub stores: Stores,
    /// Request counts of the stores after the last statement.
    pub counted: Vec<(String, StoreCount)>,
    /// A copy of stdin, once it is used as a table.
    pub spooled: Option<Spool>,
    /// What stops a statement.
    pub interrupts: Interrupts,
    /// Rows printed of an answer.
    pub most_rows: u64,
    /// What shows long answers.
    pub pager: Option<String>,
    pub runtime: QueryRuntime,
}

/// Where queries run. It is left without waiting for them: one that was stopped may compute for hours before it notices.
pub struct QueryRuntime {
    handle: Handle,
    // Taken when it ends.
    runtime: Option<Runtime>,
}

impl QueryRuntime {
    pub fn start(threads: usize) -> Result<Self> {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let runtime = builder.worker_threads(threads).thread_stack_size(STACK_BYTES).enable_all().build()?;
        Ok(QueryRuntime { handle: runtime.handle().clone(), runtime: Some(runtime) })
    }

    /// Waits for something.
    pub fn block_on<T>(&self, work: impl Future<Output = T>) -> T {
        self.handle.block_on(work)
    }

    /// The runtime, for those who outlive it.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Lets something run.
    #[cfg(feature = "view")]
    pub fn spawn<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> tokio::task::JoinHandle<T> {
        self.handle.spawn(work)
    }
}

impl Drop for QueryRuntime {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Where queries run if not in this process.
#[cfg(feature = "cluster")]
pub type RemoteExecution = colkit_cluster::Cluster;

/// Nowhere: this build has no cluster.
#[cfg(not(feature = "cluster"))]
#[derive(Clone, Debug)]
pub enum RemoteExecution {}

/// Connects to the cluster that `--cluster` names.
#[cfg(feature = "cluster")]
fn on_cluster(args: &SqlArgs, runtime: &QueryRuntime, options: &mut SessionOptions) -> Result<Option<RemoteExecution>> {
    let Some(address) = &args.cluster else { return Ok(None) };
    let tls = crate::verbs::cluster::tls(args.cluster_tls.as_deref())?;
    let cluster = runtime.block_on(colkit_cluster::Cluster::connect(address, tls.as_ref()))?;
    cluster.check_executors()?;
    let process = crate::verbs::cluster::process(args.reading.clone()).with_tls(tls);
    *options = cluster.session(std::mem::take(options), &process);
    Ok(Some(cluster))
}

#[cfg(not(feature = "cluster"))]
fn on_cluster(_: &SqlArgs, _: &QueryRuntime, _: &mut SessionOptions) -> Result<Option<RemoteExecution>> {
    Ok(None)
}

/// Fails now rather than later if nothing can be written to `--spill-dir`.
fn check_spill_folder(folder: &Path) -> Result<()> {
    let named = |e: std::io::Error| Error::from(e).file(folder.display().to_string()).part("folder to spill to");
    tempfile::tempfile_in(folder).map(drop).map_err(named)
}

/// Memory for sorts, joins and aggregations. The rest is for reading and writing, of which little memory leaves them less.
pub fn query_memory(memory: u64) -> u64 {
    if memory <= 128 << 20 { memory / 2 } else { memory - memory / 4 }
}

impl SqlSession {
    pub fn start(args: &SqlArgs, io: &mut Io) -> Result<Self> {
        let runtime = QueryRuntime::start(args.reading.thread_count())?;
        let stores = Stores::shared().separate();
        let mut options = SessionOptions::new()
            .with_open_options(args.reading.open_options()?.with_moved(places(&args.places.moved)))
            .with_memory(query_memory(args.reading.memory))
            .with_stores(stores.clone());
        let reading = args.reading.clone();
        options = options.with_table_options(Arc::new(move |given| options::open_with(&reading, given)));
        if let Some(folder) = &args.spill_dir {
            check_spill_folder(folder)?;
            options = options.with_spill_folder(folder);
        }
        let words = OpenWords { format: args.reading.from.clone(), options: args.given.reading() };
        options = options.with_words(words);
        let cluster = on_cluster(args, &runtime, &mut options)?;
        let context = options.start().map_err(|e| plain(&e))?;
        let mut session = SqlSession {
            context,
            cluster,
            stores,
            counted: Vec::new(),
            spooled: None,
            interrupts: Interrupts::none(),
            most_rows: u64::MAX,
            pager: pager::wanted(args, io),
            runtime,
        };
        for table in &args.tables {
            let Some((name, path)) = table.split_once('=').filter(|(n, p)| !n.is_empty() && !p.is_empty()) else {
                return Err(Error::request("bad_table", format!("expected NAME=PATH, found {table:?}"))
                    .hint("such as --table trades=data/trades.lance"));
            };
            session.register(name, path, io)?;
        }
        Ok(session)
    }

    /// Registers the table at `path` as `name`.
    pub fn register(&mut self, name: &str, path: &str, io: &mut Io) -> Result<()> {
        let path = match is_stream(Path::new(path)) {
            true => self.standard_input(io)?,
            false => path.to_owned(),
        };
        let context = &self.context;
        self.runtime
            .block_on(async {
                let table = context.table_provider(file_name(&path)).await?;
                context.register_table(file_name(name), table)?;
                Ok(())
            })
            .map_err(|e| plain(&e))
    }

    /// Copies stdin to a file, because queries read a table at several positions at once.
    pub fn standard_input(&mut self, io: &mut Io) -> Result<String> {
        if self.cluster.is_some() {
            return Err(Error::unsupported(
                "not_on_cluster",
                "a cluster cannot read the standard input of this process",
            )
            .hint("write it to a store that the executors can read"));
        }
        let spool = match &self.spooled {
            Some(spool) => spool,
            None => self.spooled.insert(Spool::of(&mut io.stdin)?),
        };
        Ok(spool.path().display().to_string())
    }

    /// The registered tables and their columns.
    pub fn names(&self) -> Vec<(String, Vec<String>)> {
        let mut tables = Vec::new();
        let catalogs = self.context.catalog_names();
        let schemas = catalogs.iter().filter_map(|c| self.context.catalog(c)).flat_map(|c| {
            let names = c.schema_names();
            names
                .into_iter()
                .filter(|n| n != "information_schema")
                .filter_map(move |n| c.schema(&n))
                .collect::<Vec<_>>()
        });
        for schema in schemas {
            for name in schema.table_names() {
                let table = self.runtime.block_on(schema.table(&name)).ok().flatten();
                let columns = table.map(|t| t.schema().fields().iter().map(|f| f.name().clone()).collect());
                tables.push((name, columns.unwrap_or_default()));
            }
        }
        tables.sort();
        tables
    }

    /// The columns of a table or file.
    pub fn schema_of(&self, name: &str) -> Result<SchemaRef> {
        let table = self.runtime.block_on(self.context.table_provider(file_name(name)));
        Ok(table.map_err(|e| plain(&e))?.schema())
    }
}

/// A table reference taken literally: dots do not separate catalogs, and case is kept.
pub fn file_name(name: &str) -> colkit_sql::datafusion::common::TableReference {
    colkit_sql::datafusion::common::TableReference::bare(name.to_owned())
}

/// Where files were and are. Stores know no `..`, so paths are made plain.
pub fn places(moved: &[(String, String)]) -> Vec<(String, String)> {
    let plain = |path: &String| std::fs::canonicalize(path).map_or(path.clone(), |p| p.display().to_string());
    moved.iter().map(|(old, new)| (old.clone(), plain(new))).collect()
}
