//! Writing datasets: new ones, new rows for old ones, new rows in the place of old ones.

use super::commit::{Committed, Committing, Verdict};
use super::data_files::{DataFiles, FileSize};
use super::fit::Fit;
use super::options::{DatasetMode, DatasetWriteOptions};
use super::{Folder, Versions};
use crate::fidelity::laid_out;
use crate::narrow::to_types;
use crate::{Conversion, Input, Prepared};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::record_batch::{RecordBatch, RecordBatchReader};
use colkit_core::plan::batch_of;
use colkit_core::{Error, Result, Setting, Types, WriteOptions};
use colkit_lance::dataset::{Base, Change, FileColumns, NewTable, Seen};
use colkit_lance::{Lance, LanceWriteOptions};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DatasetSummary {
    /// The version that was made.
    pub version: u64,
    /// Rows written.
    pub rows: u64,
    /// Columns written.
    pub columns: usize,
    /// Data files written.
    pub files: usize,
    /// Bytes of all inputs together.
    pub input_bytes: u64,
    /// Bytes of the data files.
    pub output_bytes: u64,
    /// Things the user should know.
    pub notes: Vec<String>,
}

/// Writes all batches of `reader` to the dataset at a path or URL.
pub fn write_dataset(
    path: impl AsRef<Path>,
    reader: impl RecordBatchReader,
    options: &DatasetWriteOptions,
) -> Result<DatasetSummary> {
    let target = Target::open(path.as_ref(), options)?;
    let schema = Arc::new(laid_out(&reader.schema(), &Lance::new()));
    let mut reader = reader;
    let rows = &mut |take: &mut dyn FnMut(&RecordBatch) -> Result<()>| {
        reader.by_ref().try_for_each(|batch| {
            let batch = batch?;
            take(&batch_of(&schema, to_types(batch.columns(), &schema)?, batch.num_rows())?)
        })
    };
    target.write(&schema, rows, &WriteOptions::default(), Vec::new())
}

impl Conversion {
    /// Converts to the dataset at a path or URL.
    pub fn write_dataset(self, path: impl AsRef<Path>, options: &DatasetWriteOptions) -> Result<DatasetSummary> {
        let target = Target::open(path.as_ref(), options)?;
        let inputs: Vec<PathBuf> = self.inputs.iter().flat_map(Input::places).map(Path::to_path_buf).collect();
        let lance = Arc::new(Lance::new().with_write_options(target.lance.clone()));
        let prepared = match &target.base {
            Some(base) if target.append => self.prepare_for(base, lance)?,
            _ => self.prepare(lance)?,
        };
        let known = prepared.summary();
        let rows = &mut |take: &mut dyn FnMut(&RecordBatch) -> Result<()>| prepared.each_batch(take);
        // That a text had no nulls so far says nothing about rows to come.
        let given = match prepared.file().is_inferred() {
            true => Arc::new(nullable(prepared.schema())),
            false => prepared.schema().clone(),
        };
        let mut summary = target.write(&given, rows, prepared.write_options(), inputs)?;
        summary.input_bytes = known.input_bytes;
        summary.notes.splice(0..0, known.notes);
        Ok(summary)
    }
}

impl Conversion {
    /// The same as [`prepare`](Conversion::prepare), with text read as the types of a dataset: it says nothing about its own.
    fn prepare_for(self, base: &Base, lance: Arc<Lance>) -> Result<Prepared> {
        let types = base.schema().fields().iter().map(|f| (f.name().clone(), f.data_type().clone()));
        let mut types: Vec<(String, DataType)> = types.collect();
        let with = |types: &[(String, DataType)]| {
            let mut conversion = self.clone();
            conversion.open = conversion.open.with_text_types(types.to_vec());
            conversion.prepare(lance.clone())
        };
        match with(&types) {
            Err(error) if error.code() == "no_such_column" => {}
            prepared => return prepared,
        }
        // Some text lacks a column, which only a look at it tells.
        for input in &self.inputs {
            let there = self.open.open_input(input)?.schema();
            types.retain(|(name, _)| there.index_of(name).is_ok());
        }
        with(&types)
    }
}

/// Gives all batches to whom it is told.
type Rows<'a> = dyn FnMut(&mut dyn FnMut(&RecordBatch) -> Result<()>) -> Result<()> + 'a;

/// A dataset to write to.
struct Target {
    folder: Folder,
    base: Option<Base>,
    append: bool,
    size: FileSize,
    committing: Committing,
    lance: LanceWriteOptions,
}

impl Target {
    fn open(path: &Path, options: &DatasetWriteOptions) -> Result<Self> {
        let folder = Folder::at(path)?;
        let committing = Committing { unsafely: options.unsafe_commit, ..Committing::default() };
        let named = |e: Error| e.file(path.display().to_string());
        let there = Versions::of(folder.clone())?;
        let base = match (&there, options.mode) {
            (Some(_), DatasetMode::Create) => {
                return Err(named(Error::request("already_exists", "there is a dataset")).hint(
                    Setting::Append.does("adds rows").and(Setting::OverwriteDataset.does("makes a new version")),
                ));
            }
            (None, DatasetMode::Append) => {
                return Err(named(Error::request("no_such_version", "there is no dataset to append to"))
                    .hint("write to it without that option to make one"));
            }
            (Some(versions), _) => Some(versions.newest_base(&committing.limits)?),
            (None, _) => None,
        };
        if let Some(base) = &base {
            base.check_writable().map_err(named)?;
        }
        let append = options.mode == DatasetMode::Append;
        let mut lance = options.lance.clone();
        if let Some(base) = &base {
            let version = base.file_version().map_err(named)?;
            if append {
                base.check_rows_writable().map_err(named)?;
                if lance.version.is_some_and(|wanted| wanted != version) {
                    return Err(named(Error::request(
                        "conflicting_options",
                        "the dataset has files of another version",
                    ))
                    .hint("leave out the version"));
                }
                lance.version = Some(version);
            }
            lance.version = lance.version.or(Some(version));
        }
        if let (None, Folder::Local(path)) = (&base, &folder)
            && path.exists()
            && (!path.is_dir() || std::fs::read_dir(path)?.next().is_some())
        {
            return Err(named(Error::request("already_exists", "something else than a dataset is there"))
                .hint("a new dataset needs a name of its own, or an empty folder"));
        }
        Ok(Target { folder, base, append, size: options.size()?, committing, lance })
    }

    fn write(
        &self,
        given: &SchemaRef,
        rows: &mut Rows,
        write: &WriteOptions,
        inputs: Vec<PathBuf>,
    ) -> Result<DatasetSummary> {
        let mut notes = Vec::new();
        let plan = match &self.base {
            Some(base) if self.append => {
                let fit = Fit::new(base.schema(), given).map_err(|e| e.file(self.folder.name()))?;
                let (columns, schema) = (base.file_columns(&fit.columns)?, base.file_schema(&fit.columns));
                Plan::Append { fit, columns, schema }
            }
            _ => {
                let types = if write.types == Types::Refuse { Types::Refuse } else { Types::Exact };
                Plan::Overwrite(NewTable::new(given, self.lance.file_version(), types, &mut notes)?)
            }
        };
        let schema = plan.schema();
        let inputs = if self.folder.is_local() { local(inputs) } else { Vec::new() };
        let mut files = DataFiles::new(&self.folder, schema.clone(), &self.lance, write, self.size, inputs);
        let written = rows(&mut |batch| {
            let batch = match &plan {
                Plan::Append { fit, .. } => fit.batch(batch, &schema)?,
                Plan::Overwrite(_) => batch_of(&schema, to_types(batch.columns(), &schema)?, batch.num_rows())?,
            };
            files.write(&batch)
        });
        let finished = written.and_then(|()| files.end_file());
        if let Err(error) = finished {
            files.discard();
            return Err(error);
        }
        notes.extend(files.notes().to_vec());
        let (new, columns) = (files.files().to_vec(), schema.fields().len());
        let mut summary = DatasetSummary {
            version: self.base.as_ref().map_or(0, Base::version),
            rows: new.iter().map(|file| file.rows).sum(),
            columns,
            files: new.len(),
            output_bytes: new.iter().map(|file| file.bytes).sum(),
            notes,
            ..DatasetSummary::default()
        };
        if self.append && new.is_empty() {
            return Ok(summary);
        }
        let (change, judge): (Change, Box<super::commit::Judge>) = match plan {
            Plan::Append { columns, .. } => {
                let judged = columns.clone();
                (Change::Append(columns, new), Box::new(move |base, now, seen| follow_append(&judged, base, now, seen)))
            }
            Plan::Overwrite(table) => (Change::Overwrite(table, new), Box::new(|_, _, seen| follow_overwrite(seen))),
        };
        match self.committing.commit(&self.folder, self.base.as_ref(), &change, &judge) {
            Ok(Committed::Version(version)) => summary.version = version,
            Ok(Committed::Again) => return Err(Error::internal("rows to be written again")),
            Err(error) => {
                // Only where it is certain that no version has the files.
                if matches!(error.code(), "target_changed" | "already_exists" | "no_exclusive_create") {
                    files.discard();
                }
                return Err(error);
            }
        }
        Ok(summary)
    }
}

fn nullable(schema: &Schema) -> Schema {
    let fields: Vec<Field> = schema.fields().iter().map(|f| f.as_ref().clone().with_nullable(true)).collect();
    Schema::new_with_metadata(fields, schema.metadata().clone())
}

enum Plan {
    Append { fit: Fit, columns: FileColumns, schema: SchemaRef },
    Overwrite(NewTable),
}

impl Plan {
    fn schema(&self) -> SchemaRef {
        match self {
            Plan::Append { schema, .. } => schema.clone(),
            Plan::Overwrite(table) => table.schema().clone(),
        }
    }
}

fn follow_append(columns: &FileColumns, base: &Base, now: &Base, seen: Seen) -> Verdict {
    match seen {
        Seen::Rows => Verdict::Follow,
        Seen::Columns if now.takes(columns, base) => Verdict::Follow,
        Seen::Columns | Seen::Everything => Verdict::Refuse,
    }
}

fn follow_overwrite(seen: Seen) -> Verdict {
    match seen {
        Seen::Rows => Verdict::Follow,
        Seen::Columns | Seen::Everything => Verdict::Refuse,
    }
}

/// Those of them that are files on this machine.
fn local(inputs: Vec<PathBuf>) -> Vec<PathBuf> {
    inputs.into_iter().filter(|input| input.is_file()).collect()
}
