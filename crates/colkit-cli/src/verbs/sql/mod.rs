//! `sql`: queries files of any format.

mod answer;
mod complete;
mod copy;
mod explanation;
mod interrupt;
mod options;
mod pager;
mod partitions;
mod session;
mod shell;
mod spool;

#[cfg(feature = "view")]
pub use answer::{plain_batch, plain_schema};
#[cfg(feature = "cluster")]
pub use options::{flags, open_with, parsed};
#[cfg(feature = "view")]
pub use session::places;
#[cfg(any(feature = "cluster", feature = "view"))]
pub use session::{QueryRuntime, query_memory};

use crate::args::SqlArgs;
use crate::human::plural;
use crate::request::is_stream;
use crate::rows::{RowOutput, RowSource};
use crate::{Io, Outcome};
use colkit::arrow::record_batch::RecordBatch;
use colkit::{Error, Result};
use colkit_sql::datafusion::execution::SendableRecordBatchStream;
use colkit_sql::datafusion::prelude::DataFrame;
use colkit_sql::datafusion::sql::parser::Statement;
use colkit_sql::{Copy, Planned, STACK_BYTES, explain, plain, statements};
use copy::check_no_copy;
use explanation::{print_explanation, print_report, requests_since};
use futures::StreamExt;
use session::{SqlSession, file_name};
use std::collections::VecDeque;
use std::io::{IsTerminal, Read, Write};
use std::time::Instant;

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
    // Whoever runs a query elsewhere has to be told that it ends.
    if session.cluster.is_some() {
        session.interrupts = interrupt::Interrupts::of_statement();
    }
    session.execute(&text, args, io)?;
    Ok(Outcome::Success)
}

/// A statement that is planned.
enum Step {
    Rows(DataFrame),
    Copy(Copy),
}

impl SqlSession {
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
            let stores = requests_since(&self.counted, &self.stores.counts());
            match self.report(&plan)? {
                Some(report) => print_report(&report, &stores, io)?,
                None => print_explanation(&explain(&plan), &stores, io)?,
            }
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
                done = work => done.map_err(|e| self.plain(&e)),
            }
        })
    }

    /// What went wrong, here or on the cluster.
    fn plain(&self, error: &colkit_sql::datafusion::error::DataFusionError) -> Error {
        #[cfg(feature = "cluster")]
        if let Some(cluster) = &self.cluster {
            return cluster.plain(error);
        }
        plain(error)
    }

    /// The next rows.
    fn next(&self, rows: &mut SendableRecordBatchStream) -> Result<Option<RecordBatch>> {
        self.wait(async { rows.next().await.transpose() })
    }
}
