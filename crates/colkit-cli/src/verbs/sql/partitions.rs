//! A folder of files, one for each combination of values: `year=2024/month=1/part-00000.parquet`.
//!
//! Rows come sorted by these values, so that one file is written at a time. The folder appears when it is complete.

use crate::Io;
use crate::args::FitArgs;
use crate::rows::{RowOutput, RowPrinter, RowSource};
use colkit::arrow::array::{Array, ArrayRef};
use colkit::arrow::compute::{cast, partition};
use colkit::arrow::datatypes::{DataType, Schema, SchemaRef};
use colkit::arrow::record_batch::RecordBatch;
use colkit::core::FolderSink;
use colkit::{Error, Existing, Format, Result};
use colkit_sql::datafusion::common::Column;
use colkit_sql::datafusion::error::Result as PlanResult;
use colkit_sql::datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, SortExpr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a folder is called for rows without a value.
const NULL: &str = "__HIVE_DEFAULT_PARTITION__";

pub struct Partitions {
    target: PathBuf,
    folder: FolderSink,
    existing: Existing,
    /// The places of the columns that name folders, and of the others.
    by: Vec<usize>,
    kept: Vec<usize>,
    schema: SchemaRef,
    format: Arc<dyn Format>,
    fit: FitArgs,
    level: Option<u32>,
    memory: u64,
    /// The file being written, and the names of its folders.
    open: Option<(Vec<String>, Box<dyn RowPrinter>)>,
}

impl Partitions {
    /// The rows in the order in which they are written. Within a file they stay in the order that was asked for.
    pub fn sorted(rows: &LogicalPlan, by: &[String]) -> PlanResult<LogicalPlan> {
        let column = |name: &String| SortExpr::new(Expr::Column(Column::from_name(name)), true, true);
        let first = by.iter().map(column);
        match rows {
            LogicalPlan::Sort(sort) if sort.fetch.is_none() => {
                let order = first.chain(sort.expr.iter().cloned());
                LogicalPlanBuilder::from(sort.input.as_ref().clone()).sort(order)?.build()
            }
            rows => LogicalPlanBuilder::from(rows.clone()).sort(first)?.build(),
        }
    }

    /// Starts a folder, which must be new or may be replaced.
    pub fn start(
        target: &Path,
        schema: &SchemaRef,
        by: &[String],
        format: Arc<dyn Format>,
        existing: Existing,
        inputs: &[PathBuf],
    ) -> Result<Self> {
        let named = || target.display().to_string();
        if named().contains("://") {
            return Err(
                Error::unsupported("not_implemented", "PARTITION_BY writes folders of this computer").file(named())
            );
        }
        let is_empty = std::fs::read_dir(target).is_ok_and(|mut entries| entries.next().is_none());
        if target.symlink_metadata().is_ok() && !is_empty {
            if existing == Existing::Refuse || !target.is_dir() {
                return Err(Error::request("already_exists", "this folder exists and is not empty")
                    .file(named())
                    .hint("(FORCE) replaces it, with all that is in it"));
            }
            let inside = std::path::absolute(target)?;
            if let Some(input) = inputs.iter().find(|i| i.starts_with(&inside)) {
                let what = format!("the query reads {}, which is in the folder to write", input.display());
                return Err(Error::request("output_is_input", what).file(named()));
            }
        }
        let place = |name: &String| {
            schema
                .index_of(name)
                .map_err(|_| Error::request("no_such_column", format!("there is no column {name} to partition by")))
        };
        let by = by.iter().map(place).collect::<Result<Vec<_>>>()?;
        let kept: Vec<usize> = (0..schema.fields().len()).filter(|c| !by.contains(c)).collect();
        if kept.is_empty() {
            return Err(Error::data("no_columns", "PARTITION_BY leaves no columns for the files"));
        }
        let fields: Vec<_> = kept.iter().filter_map(|c| schema.fields().get(*c).cloned()).collect();
        let folder = FolderSink::create(target).map_err(|e| Error::from(e).file(named()))?;
        super::interrupt::remove_at_end(folder.path());
        Ok(Partitions {
            target: target.to_path_buf(),
            folder,
            existing,
            by,
            kept,
            schema: Arc::new(Schema::new(fields)),
            format,
            fit: FitArgs::default(),
            level: None,
            memory: 1 << 29,
            open: None,
        })
    }

    /// The same, with files written like this.
    pub fn with(self, fit: FitArgs, level: Option<u32>, memory: u64) -> Self {
        Partitions { fit, level, memory, ..self }
    }

    /// Adds rows.
    pub fn write(&mut self, batch: &RecordBatch, io: &Io) -> Result<()> {
        let keys: Vec<ArrayRef> = self.by.iter().map(|c| batch.column(*c).clone()).collect();
        let names = keys.iter().map(|k| Ok(cast(k, &DataType::Utf8)?)).collect::<Result<Vec<_>>>()?;
        let rest = batch.project(&self.kept)?;
        let rest = RecordBatch::try_new(self.schema.clone(), rest.columns().to_vec())?;
        for range in partition(&names)?.ranges() {
            let folders: Vec<String> = self
                .by
                .iter()
                .zip(&names)
                .map(|(c, n)| folder(batch.schema().field(*c).name(), n, range.start))
                .collect();
            if self.open.as_ref().is_none_or(|(open, _)| *open != folders) {
                self.close()?;
                let printer = self.create(&folders, io)?;
                self.open = Some((folders, printer));
            }
            if let Some((_, printer)) = &mut self.open {
                printer.write(&rest.slice(range.start, range.len()))?;
            }
        }
        Ok(())
    }

    fn create(&self, folders: &[String], io: &Io) -> Result<Box<dyn RowPrinter>> {
        let folder = folders.iter().fold(self.folder.path().to_path_buf(), |path, name| path.join(name));
        std::fs::create_dir_all(&folder)?;
        let extension = self.format.extensions().first().copied().unwrap_or_default();
        let path = folder.join(format!("part-00000.{extension}"));
        let output = RowOutput::to(&path, self.format.clone(), Existing::Refuse, self.fit)?.with_level(self.level);
        output.start(&self.schema, RowSource::nothing(), io, self.memory)
    }

    fn close(&mut self) -> Result<()> {
        self.open.take().map_or(Ok(()), |(_, printer)| printer.finish().map(drop))
    }

    /// Gives the folder its name.
    pub fn finish(mut self) -> Result<()> {
        self.close()?;
        let failed = |e: std::io::Error| Error::from(e).file(self.target.display().to_string());
        if self.existing == Existing::Refuse || !self.target.is_dir() {
            return self.folder.commit(&self.target).map_err(failed);
        }
        // What was there stays until the new folder has its name.
        let aside = FolderSink::create(&self.target).map_err(failed)?;
        let before = aside.path().join("before");
        std::fs::rename(&self.target, &before).map_err(failed)?;
        self.folder.commit(&self.target).map_err(|e| {
            let _ = std::fs::rename(&before, &self.target);
            failed(e)
        })
    }
}

/// The name of the folder for a value.
fn folder(column: &str, values: &ArrayRef, row: usize) -> String {
    use colkit::arrow::array::AsArray;
    let value = if values.is_null(row) { NULL.to_owned() } else { escaped(values.as_string::<i32>().value(row)) };
    format!("{}={value}", escaped(column))
}

/// A value as part of a path.
fn escaped(value: &str) -> String {
    let plain = |c: char| !c.is_control() && !"/\\:%=?*\"<>|#[]".contains(c);
    let mut out = String::new();
    for c in value.chars() {
        match plain(c) {
            true => out.push(c),
            false => c.to_string().bytes().for_each(|b| out.push_str(&format!("%{b:02X}"))),
        }
    }
    // These mean other folders.
    if matches!(out.as_str(), "." | "..") { out.replace('.', "%2E") } else { out }
}
