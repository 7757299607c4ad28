//! `sql`: queries files of any format.

mod complete;
mod copy;
mod interrupt;
mod options;
mod partitions;
mod shell;
mod spool;

use crate::args::SqlArgs;
use crate::human::{bytes, count, plural};
use crate::request::is_stream;
use crate::rows::{RowOutput, RowSource};
use crate::{Io, Outcome};
use colkit::arrow::array::{ArrayRef, RecordBatchOptions};
use colkit::arrow::compute::cast;
use colkit::arrow::datatypes::{Field, Schema, SchemaRef};
use colkit::arrow::record_batch::RecordBatch;
use colkit::core::FolderSink;
use colkit::store::{StoreCount, Stores};
use colkit::{Error, Result, without_views};
use colkit_sql::datafusion::execution::SendableRecordBatchStream;
use colkit_sql::datafusion::physical_plan::{ExecutionPlan, execute_stream};
use colkit_sql::datafusion::prelude::{DataFrame, SessionContext};
use colkit_sql::datafusion::sql::parser::Statement;
use colkit_sql::{Copy, Planned, STACK_BYTES, SessionOptions, TableRead, explain, files_of, plain, statements};
use copy::check_no_copy;
use futures::StreamExt;
use interrupt::Interrupts;
use serde_json::json;
use spool::Spool;
use std::collections::VecDeque;
use std::io::{IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use tokio::runtime::Runtime;

/// Runs on a thread with a stack large enough for deeply nested queries.
pub fn run(args: &SqlArgs, io: &mut Io) -> Result<Outcome> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("colkit-sql".into()).stack_size(STACK_BYTES);
        let thread = thread.spawn_scoped(scope, || run_on_this_thread(args, io))?;
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn run_on_this_thread(args: &SqlArgs, io: &mut Io) -> Result<Outcome> {
    let shell = args.query.is_none() && args.file.is_none() && std::io::stdin().is_terminal();
    let mut session = SqlSession::start(args, io)?;
    if shell {
        return shell::run(&mut session, args, io);
    }
    let text = match (&args.query, &args.file) {
        (Some(query), _) => query.clone(),
        (None, Some(file)) if !is_stream(file) => {
            std::fs::read_to_string(file).map_err(|e| Error::from(e).file(file.display().to_string()))?
        }
        (None, _) => {
            let mut text = String::new();
            io.stdin.read_to_string(&mut text)?;
            text
        }
    };
    session.execute(&text, args, io)?;
    Ok(Outcome::Success)
}

/// A statement that is planned.
enum Step {
    Rows(DataFrame),
    Copy(Copy),
}

/// A DataFusion session with its runtime, stores and temporary files.
struct SqlSession {
    // Declared before the runtime, so that it is dropped first.
    context: SessionContext,
    stores: Stores,
    /// Request counts of the stores after the last statement.
    counted: Vec<(String, StoreCount)>,
    /// A copy of stdin, once it is used as a table.
    spooled: Option<Spool>,
    /// Spill directory, removed with the session.
    _spill: Option<FolderSink>,
    /// What stops a statement.
    interrupts: Interrupts,
    /// Rows printed of an answer.
    most_rows: u64,
    runtime: Runtime,
}

/// A new directory in `--spill-dir`. Ctrl-C removes it, and the next process what a killed one left.
fn spill_folder(requested: Option<&Path>) -> Result<Option<FolderSink>> {
    let create = |folder: &Path| {
        FolderSink::create(&folder.join("spill"))
            .map_err(|e| Error::from(e).file(folder.display().to_string()).part("folder to spill to"))
    };
    let folder = requested.map(create).transpose()?;
    if let Some(folder) = &folder {
        interrupt::remove_at_end(folder.path());
    }
    Ok(folder)
}

/// Memory for sorts, joins and aggregations. The rest is for reading and writing, of which little memory leaves them less.
fn query_memory(memory: u64) -> u64 {
    if memory <= 128 << 20 { memory / 2 } else { memory - memory / 4 }
}

impl SqlSession {
    fn start(args: &SqlArgs, io: &mut Io) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(args.reading.thread_count())
            .thread_stack_size(STACK_BYTES)
            .enable_all()
            .build()?;
        let stores = Stores::shared().separate();
        let spill = spill_folder(args.spill_dir.as_deref())?;
        let mut options = SessionOptions::new()
            .with_open_options(args.reading.open_options()?.with_moved(places(&args.places.moved)))
            .with_memory(query_memory(args.reading.memory))
            .with_stores(stores.clone());
        let reading = args.reading.clone();
        options = options.with_table_options(Arc::new(move |given| options::open_with(&reading, given)));
        if let Some(folder) = &spill {
            options = options.with_spill_folder(folder.path());
        }
        let context = options.start().map_err(|e| plain(&e))?;
        let mut session = SqlSession {
            context,
            stores,
            counted: Vec::new(),
            spooled: None,
            _spill: spill,
            interrupts: Interrupts::none(),
            most_rows: u64::MAX,
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
    fn register(&mut self, name: &str, path: &str, io: &mut Io) -> Result<()> {
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
    fn standard_input(&mut self, io: &mut Io) -> Result<String> {
        let spool = match &self.spooled {
            Some(spool) => spool,
            None => self.spooled.insert(Spool::of(&mut io.stdin)?),
        };
        Ok(spool.path().display().to_string())
    }

    /// Runs all statements of `text` and prints their results.
    fn execute(&mut self, text: &str, args: &SqlArgs, io: &mut Io) -> Result<()> {
        let printing = RowOutput::new(&args.print, args.existing(), args.script.json, io)?;
        let statements = statements(&self.context.state(), text).map_err(|e| plain(&e))?;
        if statements.is_empty() {
            return Err(Error::request("bad_sql", "there is no statement to run").hint("such as SELECT 1"));
        }
        if self.spooled.is_none() && self.reads_standard_input(&statements)? {
            self.register("-", "-", io)?;
        }
        let mut waiting: Vec<Step> = Vec::new();
        let mut left = statements.len();
        for statement in statements {
            let context = &self.context;
            let step = self.wait(async {
                Ok(match colkit_sql::plan(&context.state(), statement).await? {
                    Planned::Rows(plan) => Step::Rows(context.execute_logical_plan(plan).await?),
                    Planned::Copy(copy) => Step::Copy(copy),
                })
            })?;
            if let Step::Rows(frame) = &step {
                check_no_copy(frame.logical_plan())?;
            }
            left -= 1;
            // What is wrong with a statement is said before any of them prints something. But what follows a COPY may read
            // what it writes.
            let writes = matches!(step, Step::Copy(_));
            waiting.push(step);
            if left > 0 && !writes {
                continue;
            }
            let last = waiting.len() - 1;
            for (i, step) in waiting.drain(..).enumerate() {
                // Only the result of the last statement is written to a file.
                if (left == 0 && i == last) || args.print.out.is_none() {
                    self.print(step, &printing, args, io)?;
                } else {
                    self.drain(step, args, io)?;
                }
            }
        }
        Ok(())
    }

    /// Whether stdin is one of the tables.
    fn reads_standard_input(&self, statements: &VecDeque<Statement>) -> Result<bool> {
        let state = self.context.state();
        for statement in statements {
            let tables = state.resolve_table_references(statement).map_err(|e| plain(&e))?;
            if tables.contains(&file_name("-")) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn drain(&mut self, step: Step, args: &SqlArgs, io: &mut Io) -> Result<()> {
        match step {
            Step::Copy(copy) => self.copy(&copy, args, io).map(drop),
            Step::Rows(frame) => self.wait(frame.collect()).map(drop),
        }
    }

    fn print(&mut self, step: Step, printing: &RowOutput, args: &SqlArgs, io: &mut Io) -> Result<()> {
        let began = Instant::now();
        let frame = match step {
            Step::Rows(frame) => frame,
            Step::Copy(copy) => {
                let count = self.copy(&copy, args, io)?;
                let mut printer = printing.start(&count.schema(), RowSource::nothing(), io, args.reading.memory)?;
                printer.write(&count)?;
                return printer.finish().map(drop);
            }
        };
        let (plan, given) = self.write(frame, printing, args, io)?;
        if args.print.explain {
            print_explanation(&explain(&plan), &requests_since(&self.counted, &self.stores.counts()), io)?;
        }
        self.counted = self.stores.counts();
        if let Some(out) = &args.print.out
            && !args.script.json
        {
            let seconds = began.elapsed().as_secs_f64();
            writeln!(io.stderr, "{}: {} in {seconds:.2} s", out.display(), plural(given, "row"))?;
        }
        Ok(())
    }

    /// Waits for something of a query, unless it is interrupted.
    fn wait<T>(&self, work: impl Future<Output = colkit_sql::datafusion::error::Result<T>>) -> Result<T> {
        self.runtime.block_on(async {
            tokio::select! {
                biased;
                () = self.interrupts.pressed() => Err(Error::io("interrupted", "the query was stopped")),
                done = work => done.map_err(|e| plain(&e)),
            }
        })
    }

    /// The next rows.
    fn next(&self, rows: &mut SendableRecordBatchStream) -> Result<Option<RecordBatch>> {
        self.wait(async { rows.next().await.transpose() })
    }

    /// The files that the query reads, which must not be written to.
    fn files_of(&self, frame: &DataFrame) -> Result<Vec<PathBuf>> {
        let state = self.context.state();
        let files = self.runtime.block_on(files_of(frame.logical_plan(), &state)).map_err(|e| plain(&e))?;
        let spooled = self.spooled.as_ref().map(Spool::path);
        Ok(files.into_iter().filter(|f| Some(f.as_path()) != spooled).collect())
    }

    /// Runs a query and writes its rows. Returns the executed plan and the number of rows.
    fn write(
        &mut self,
        frame: DataFrame,
        printing: &RowOutput,
        args: &SqlArgs,
        io: &mut Io,
    ) -> Result<(Arc<dyn ExecutionPlan>, u64)> {
        let inputs = if printing.is_to_file() { self.files_of(&frame)? } else { Vec::new() };
        let started = self.wait(async {
            let task = Arc::new(frame.task_ctx());
            let plan = frame.create_physical_plan().await?;
            let rows = execute_stream(plan.clone(), task)?;
            Ok((plan, rows))
        });
        let (plan, mut rows): (Arc<dyn ExecutionPlan>, SendableRecordBatchStream) = started?;
        let schema = plain_schema(&rows.schema());
        let cost = {
            let plan = plan.clone();
            move || cost(&explain(&plan))
        };
        if schema.fields().is_empty() {
            while self.next(&mut rows)?.is_some() {}
            return Ok((plan, 0));
        }
        let subject = RowSource { inputs, cost: Box::new(cost) };
        // Sorts and joins hold most of the memory.
        let mut printer = printing.start(&schema, subject, io, args.reading.memory / 2)?;
        let most = if printing.is_to_file() { u64::MAX } else { self.most_rows };
        let mut given = 0;
        while let Some(batch) = self.next(&mut rows)? {
            let batch = plain_batch(&batch, &schema)?;
            let room = usize::try_from(most.saturating_sub(given)).unwrap_or(usize::MAX);
            given += batch.num_rows() as u64;
            printer.write(&batch.slice(0, batch.num_rows().min(room)))?;
        }
        if given > most {
            writeln!(
                io.stderr,
                "note: {} of {} shown; .rows all shows all of them",
                count(most),
                plural(given, "row")
            )?;
        }
        for note in printer.finish()? {
            writeln!(io.stderr, "note: {note}")?;
        }
        Ok((plan, given))
    }
}

/// A table reference taken literally: dots do not separate catalogs, and case is kept.
fn file_name(name: &str) -> colkit_sql::datafusion::common::TableReference {
    colkit_sql::datafusion::common::TableReference::bare(name.to_owned())
}

/// The schema with string and binary views replaced by types that every format supports.
fn plain_schema(schema: &Schema) -> SchemaRef {
    let plain = |f: &Arc<Field>| f.as_ref().clone().with_data_type(without_views(f.data_type()));
    Arc::new(Schema::new(schema.fields().iter().map(plain).collect::<Vec<_>>()))
}

fn plain_batch(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
    let plain = |(array, field): (&ArrayRef, &Arc<Field>)| match array.data_type() == field.data_type() {
        true => Ok(array.clone()),
        false => Ok(cast(array, field.data_type())?),
    };
    let columns = batch.columns().iter().zip(schema.fields()).map(plain).collect::<Result<Vec<_>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    // A query's result may have nulls in columns that its schema declares non-null.
    Ok(RecordBatch::try_new_with_options(schema.clone(), columns, &options)?)
}

/// The requests made between two counts.
fn requests_since(before: &[(String, StoreCount)], after: &[(String, StoreCount)]) -> Vec<(String, StoreCount)> {
    let since = |(name, now): &(String, StoreCount)| {
        let then = before.iter().find(|(n, _)| n == name).map_or_else(StoreCount::default, |(_, c)| *c);
        let count = StoreCount {
            reads: now.reads - then.reads,
            bytes: now.bytes - then.bytes,
            heads: now.heads - then.heads,
            lists: now.lists - then.lists,
        };
        (name.clone(), count)
    };
    after.iter().map(since).collect()
}

/// What the query read, as JSON.
fn cost(reads: &[TableRead]) -> Vec<(&'static str, serde_json::Value)> {
    let tables: Vec<_> = reads.iter().map(document).collect();
    vec![
        ("bytes_read", reads.iter().map(|r| r.bytes_read).sum::<u64>().into()),
        ("requests", reads.iter().map(|r| r.requests).sum::<u64>().into()),
        ("tables", tables.into()),
    ]
}

fn document(read: &TableRead) -> serde_json::Value {
    json!({
        "table": read.table,
        "files": read.files,
        "partitions": read.partitions,
        "splits": read.splits,
        "splits_pruned": read.splits_pruned,
        "rows_pruned": read.rows_pruned,
        "ranges_planned": read.ranges_planned,
        "requests_planned": read.requests_planned,
        "bytes_planned": read.bytes_planned,
        "requests": read.requests,
        "bytes_read": read.bytes_read,
        "rows_decoded": read.rows_decoded,
        "rows_out": read.rows_out,
    })
}

/// Prints what the query planned to read and what it read.
fn print_explanation(reads: &[TableRead], stores: &[(String, StoreCount)], io: &mut Io) -> Result<()> {
    if reads.is_empty() {
        writeln!(io.stderr, "read: nothing; answered from file metadata")?;
    }
    for r in reads {
        let files = if r.files > 1 { format!(" and {} more", plural(r.files - 1, "file")) } else { String::new() };
        writeln!(io.stderr, "{}{files}, {}", io.stderr.bold(&r.table), plural(r.partitions, "partition"))?;
        let (splits, pruned) = (plural(r.splits, "split"), plural(r.splits_pruned, "split"));
        writeln!(io.stderr, "  plan: {splits}; {pruned} pruned ({})", plural(r.rows_pruned, "row"))?;
        let ranges = plural(r.ranges_planned, "byte range");
        let requests = plural(r.requests_planned, "request");
        writeln!(io.stderr, "  plan: {ranges} in {requests}, {}", plural(r.bytes_planned, "byte"))?;
        let size = bytes(r.bytes_read);
        writeln!(io.stderr, "  read: {} ({size}) in {}", plural(r.bytes_read, "byte"), plural(r.requests, "request"))?;
        writeln!(io.stderr, "  rows: {} decoded, {} returned", count(r.rows_decoded), count(r.rows_out))?;
    }
    for (name, c) in stores.iter().filter(|(name, c)| name != "file://" && *c != StoreCount::default()) {
        let (reads, got) = (plural(c.reads, "range request"), plural(c.bytes, "byte"));
        let (heads, lists) = (plural(c.heads, "HEAD request"), plural(c.lists, "list request"));
        writeln!(io.stderr, "{name}: {reads} ({got}), {heads}, {lists}, including open")?;
    }
    Ok(())
}

impl SqlSession {
    /// The registered tables and their columns.
    fn names(&self) -> Vec<(String, Vec<String>)> {
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
    fn schema_of(&self, name: &str) -> Result<SchemaRef> {
        let table = self.runtime.block_on(self.context.table_provider(file_name(name)));
        Ok(table.map_err(|e| plain(&e))?.schema())
    }
}

/// Where files were and are. Stores know no `..`, so paths are made plain.
fn places(moved: &[(String, String)]) -> Vec<(String, String)> {
    let plain = |path: &String| std::fs::canonicalize(path).map_or(path.clone(), |p| p.display().to_string());
    moved.iter().map(|(old, new)| (old.clone(), plain(new))).collect()
}
