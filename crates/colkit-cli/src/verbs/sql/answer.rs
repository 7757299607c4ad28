//! Runs a query and writes its rows: to a file, a terminal or a pager.

use super::SqlSession;
use super::explanation::{JobReport, cost, report_cost};
use super::interrupt::Interrupts;
use super::pager::Pager;
use super::session::RemoteExecution;
use super::spool::Spool;
use crate::Io;
use crate::args::SqlArgs;
use crate::human::{count, plural};
use crate::progress::Progress;
use crate::rows::{RowOutput, RowSource};
use colkit::arrow::array::{ArrayRef, RecordBatchOptions};
use colkit::arrow::compute::cast;
use colkit::arrow::datatypes::{Field, Schema, SchemaRef};
use colkit::arrow::record_batch::RecordBatch;
use colkit::{Result, without_views};
use colkit_sql::datafusion::execution::SendableRecordBatchStream;
use colkit_sql::datafusion::physical_plan::{ExecutionPlan, execute_stream};
use colkit_sql::datafusion::prelude::DataFrame;
use colkit_sql::{explain, files_of, plain};
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::runtime::Handle;

impl SqlSession {
    /// The files that the query reads, which must not be written to.
    pub fn files_of(&self, frame: &DataFrame) -> Result<Vec<PathBuf>> {
        let state = self.context.state();
        let files = self.runtime.block_on(files_of(frame.logical_plan(), &state)).map_err(|e| plain(&e))?;
        let spooled = self.spooled.as_ref().map(Spool::path);
        Ok(files.into_iter().filter(|f| Some(f.as_path()) != spooled).collect())
    }

    /// The plan of a query that begins to run, and its rows.
    pub fn started(&self, frame: DataFrame) -> Result<(Arc<dyn ExecutionPlan>, SendableRecordBatchStream)> {
        self.wait(async {
            let task = Arc::new(frame.task_ctx());
            let plan = frame.create_physical_plan().await?;
            let rows = execute_stream(plan.clone(), task)?;
            Ok((plan, rows))
        })
    }

    /// What became of a query on a cluster.
    pub fn report(&self, plan: &Arc<dyn ExecutionPlan>) -> Result<Option<JobReport>> {
        report_of(plan, self.cluster.as_ref(), &self.runtime.handle())
    }

    /// Tells a cluster that nobody waits for a query any more.
    #[cfg(feature = "cluster")]
    fn give_up(&self, plan: &Arc<dyn ExecutionPlan>) {
        if let Some((cluster, job)) = self.cluster.as_ref().zip(colkit_cluster::job_of(plan)) {
            let _ = self.runtime.block_on(cluster.cancel(&job));
        }
    }

    #[cfg(not(feature = "cluster"))]
    fn give_up(&self, _: &Arc<dyn ExecutionPlan>) {}

    /// Runs a query and writes its rows. Returns the executed plan and the number of rows.
    pub fn write(
        &mut self,
        frame: DataFrame,
        printing: &RowOutput,
        args: &SqlArgs,
        io: &mut Io,
    ) -> Result<(Arc<dyn ExecutionPlan>, u64)> {
        let inputs = if printing.is_to_file() { self.files_of(&frame)? } else { Vec::new() };
        let (plan, mut rows) = self.started(frame)?;
        let schema = plain_schema(&rows.schema());
        let cost = {
            let (plan, cluster, runtime) = (plan.clone(), self.cluster.clone(), self.runtime.handle());
            move || match report_of(&plan, cluster.as_ref(), &runtime) {
                Ok(Some(report)) => report_cost(&report),
                _ => cost(&explain(&plan)),
            }
        };
        if schema.fields().is_empty() {
            while self.next(&mut rows)?.is_some() {}
            return Ok((plan, 0));
        }
        let subject = RowSource { inferred: false, inputs, cost: Box::new(cost) };
        let pager = self.pager.as_deref().filter(|_| printing.is_table() && !printing.is_to_file());
        let pager = pager.map(|command| Pager::new(command, io));
        let most = if printing.is_to_file() || pager.is_some() { u64::MAX } else { self.most_rows };
        let Some(pager) = pager else {
            let given = self.write_rows((&plan, rows), &schema, (printing, subject, most), args, io)?;
            return Ok((plan, given));
        };
        // The pager gets Ctrl-C too; the first one stops the query and leaves what is shown.
        let alone = !self.interrupts.is_shell();
        if alone {
            self.interrupts = Interrupts::of_statement();
        }
        let terminal = std::mem::replace(&mut io.stdout, pager.stream());
        let written = self.write_rows((&plan, rows), &schema, (printing, subject, most), args, io);
        let closed = std::mem::replace(&mut io.stdout, terminal).is_closed();
        if alone {
            self.interrupts = Interrupts::none();
        }
        pager.finish(io)?;
        match written {
            Err(_) if closed => Ok((plan, 0)),
            written => written.map(|given| (plan, given)),
        }
    }

    /// Writes the rows of a query that runs. Returns how many there are.
    fn write_rows(
        &mut self,
        (plan, mut rows): (&Arc<dyn ExecutionPlan>, SendableRecordBatchStream),
        schema: &SchemaRef,
        (printing, subject, most): (&RowOutput, RowSource, u64),
        args: &SqlArgs,
        io: &mut Io,
    ) -> Result<u64> {
        // Sorts and joins hold most of the memory.
        let mut printer = printing.start(schema, subject, io, args.reading.memory / 2)?;
        let mut progress = Some(watch(plan, io));
        let scrolls = !printing.is_to_file() && io.stdout.width.is_some();
        let mut given = 0;
        while let Some(batch) = self.next(&mut rows).inspect_err(|_| self.give_up(plan))? {
            // No progress while rows scroll by.
            progress = progress.filter(|_| !scrolls);
            let batch = plain_batch(&batch, schema)?;
            let room = usize::try_from(most.saturating_sub(given)).unwrap_or(usize::MAX);
            given += batch.num_rows() as u64;
            printer.write(&batch.slice(0, batch.num_rows().min(room)))?;
        }
        drop(progress);
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
        Ok(given)
    }
}

#[cfg(feature = "cluster")]
fn report_of(
    plan: &Arc<dyn ExecutionPlan>,
    cluster: Option<&RemoteExecution>,
    runtime: &Handle,
) -> Result<Option<JobReport>> {
    match cluster.zip(colkit_cluster::job_of(plan)) {
        Some((cluster, job)) => runtime.block_on(cluster.report(&job)).map(Some),
        None => Ok(None),
    }
}

#[cfg(not(feature = "cluster"))]
fn report_of(_: &Arc<dyn ExecutionPlan>, _: Option<&RemoteExecution>, _: &Handle) -> Result<Option<JobReport>> {
    Ok(None)
}

/// Shows how much of what the query plans to read has been read.
pub fn watch(plan: &Arc<dyn ExecutionPlan>, io: &Io) -> Progress {
    let plan = plan.clone();
    Progress::watch_query(io, move || {
        let reads = explain(&plan);
        (reads.iter().map(|r| r.bytes_read).sum(), reads.iter().map(|r| r.bytes_planned).sum())
    })
}

/// The schema with string and binary views replaced by types that every format supports.
pub fn plain_schema(schema: &Schema) -> SchemaRef {
    let plain = |f: &Arc<Field>| f.as_ref().clone().with_data_type(without_views(f.data_type()));
    Arc::new(Schema::new_with_metadata(
        schema.fields().iter().map(plain).collect::<Vec<_>>(),
        schema.metadata().clone(),
    ))
}

pub fn plain_batch(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
    let plain = |(array, field): (&ArrayRef, &Arc<Field>)| match array.data_type() == field.data_type() {
        true => Ok(array.clone()),
        false => Ok(cast(array, field.data_type())?),
    };
    let columns = batch.columns().iter().zip(schema.fields()).map(plain).collect::<Result<Vec<_>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    // A query's result may have nulls in columns that its schema declares non-null.
    Ok(RecordBatch::try_new_with_options(schema.clone(), columns, &options)?)
}
