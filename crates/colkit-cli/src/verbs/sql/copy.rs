//! `COPY ... TO`: written by colkit's formats, under the same rules as other output files.

use super::SqlSession;
use super::answer::{plain_batch, plain_schema, watch};
use super::options::parsed;
use super::partitions::Partitions;
use crate::Io;
use crate::args::{CompressionArg, FitArgs, LanceArgs, SqlArgs};
use crate::request::is_stream;
use crate::rows::RowOutput;
use crate::verbs::convert::compressed;
use clap::Args;
use colkit::arrow::array::{ArrayRef, UInt64Array};
use colkit::arrow::record_batch::RecordBatch;
use colkit::lance::Lance;
use colkit::{Error, Existing, Format, Registry, Result, TextOptions, target_format};
use colkit_sql::datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use colkit_sql::datafusion::logical_expr::LogicalPlan;
use colkit_sql::datafusion::prelude::DataFrame;
use colkit_sql::{Copy, plain};
use std::path::Path;
use std::sync::Arc;

/// What can be said in the brackets behind `COPY ... TO 'FILE'`.
#[derive(Args, Debug)]
struct CopyArgs {
    /// Overwrite what is there
    #[arg(long, alias = "overwrite", alias = "overwrite-or-ignore")]
    force: bool,
    /// Compression level
    #[arg(long)]
    level: Option<u32>,
    /// Codec of Parquet and Arrow
    #[arg(long)]
    compression: Option<CompressionArg>,
    /// CSV: the delimiter
    #[arg(long, alias = "delim", alias = "sep", value_parser = crate::args::parse_delimiter)]
    delimiter: Option<u8>,
    /// CSV: whether there is a header
    #[arg(long, action = clap::ArgAction::Set)]
    header: Option<bool>,
    #[command(flatten)]
    fit: FitArgs,
    #[command(flatten)]
    lance: LanceArgs,
}

/// Refuses a `COPY` inside of another statement.
pub fn check_no_copy(plan: &LogicalPlan) -> Result<()> {
    let mut inside = false;
    // EXPLAIN alone runs nothing; EXPLAIN ANALYZE does.
    let found = plan.apply(|node| match node {
        LogicalPlan::Explain(_) => Ok(TreeNodeRecursion::Jump),
        LogicalPlan::Copy(_) => {
            inside = true;
            Ok(TreeNodeRecursion::Stop)
        }
        _ => Ok(TreeNodeRecursion::Continue),
    });
    found.map_err(|e| plain(&e))?;
    match inside {
        true => Err(Error::request("copy_inside", "COPY is a statement of its own")),
        false => Ok(()),
    }
}

impl SqlSession {
    /// Writes what is copied. Answers with the number of rows.
    pub fn copy(&mut self, copy: &Copy, args: &SqlArgs, io: &mut Io) -> Result<RecordBatch> {
        let target = Path::new(&copy.target);
        if is_stream(target) {
            return Err(Error::request(
                "not_a_file_name",
                "COPY writes files; an answer goes to standard output by itself",
            ));
        }
        let options: CopyArgs = parsed("COPY", &copy.options, &[])?;
        let existing = if options.force { Existing::Replace } else { args.existing() };
        let fit = if copy.options.iter().any(|(name, _)| ["nulls", "types", "drop_metadata"].contains(&name.as_str())) {
            options.fit
        } else {
            args.print.fit
        };
        let rows = if copy.partition_by.is_empty() && !copy.target.ends_with('/') {
            let format = options.format(copy.format.as_deref(), Some(target))?;
            let printing = RowOutput::to(target, format, existing, fit)?.with_level(options.level);
            let frame = DataFrame::new(self.context.state(), copy.rows.clone());
            self.write(frame, &printing, args, io)?.1
        } else {
            if copy.partition_by.is_empty() {
                return Err(Error::request("not_a_file_name", "COPY writes a folder only with PARTITION_BY")
                    .file(copy.target.clone())
                    .hint("leave out the / at the end to write a file, or add (PARTITION_BY (column))"));
            }
            let format = options.format(copy.format.as_deref().or(Some("parquet")), None)?;
            self.copy_partitions(copy, format, (existing, fit, options.level), args, io)?
        };
        let count: ArrayRef = Arc::new(UInt64Array::from(vec![rows]));
        Ok(RecordBatch::try_from_iter([("count", count)])?)
    }

    /// Writes a folder with one file for each combination of values.
    fn copy_partitions(
        &mut self,
        copy: &Copy,
        format: Arc<dyn Format>,
        (existing, fit, level): (Existing, FitArgs, Option<u32>),
        args: &SqlArgs,
        io: &mut Io,
    ) -> Result<u64> {
        let sorted = Partitions::sorted(&copy.rows, &copy.partition_by).map_err(|e| plain(&e))?;
        let frame = DataFrame::new(self.context.state(), sorted);
        let inputs = self.files_of(&frame)?;
        let (plan, mut rows) = self.started(frame)?;
        let progress = watch(&plan, io);
        let schema = plain_schema(&rows.schema());
        let target = Path::new(&copy.target);
        let mut folder = Partitions::start(target, &schema, &copy.partition_by, format, existing, &inputs)?;
        folder = folder.with(fit, level, args.reading.memory / 2);
        let mut given = 0;
        while let Some(batch) = self.next(&mut rows)? {
            let batch = plain_batch(&batch, &schema)?;
            given += batch.num_rows() as u64;
            folder.write(&batch, io)?;
        }
        drop(progress);
        folder.finish()?;
        Ok(given)
    }
}

impl CopyArgs {
    /// The format to write, with its options.
    fn format(&self, name: Option<&str>, path: Option<&Path>) -> Result<Arc<dyn Format>> {
        let name = name.map(|name| if name == "json" { "ndjson" } else { name });
        let lance = self.lance.write_options();
        let registry = match &lance {
            Some(options) => Registry::default().configured(Lance::new().with_write_options(options.clone())),
            None => Registry::default(),
        };
        let format = target_format(&registry, name, path, "FORMAT")?;
        let other = |what: &str| Error::request("option_of_another_format", format!("{what} {}", format.name()));
        if lance.is_some() && format.name() != "lance" {
            return Err(other(
                "prefer, lance_version, bloom, page_size, encodings and deferred_encodings are for Lance files, not",
            ));
        }
        let is_csv = matches!(format.name(), "csv" | "tsv");
        if !is_csv && (self.delimiter.is_some() || self.header.is_some()) {
            return Err(other("delimiter and header are for CSV, not"));
        }
        let text = TextOptions { delimiter: self.delimiter, header: self.header, ..TextOptions::default() };
        let format = if is_csv { registry.named(format.name(), &text)? } else { format };
        compressed(format, self.compression)
    }
}
