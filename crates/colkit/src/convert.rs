//! From any format to any other, one batch at a time.
//!
//! A conversion is prepared first: all inputs are opened, their schemas brought together, the columns and the
//! condition resolved. Only then is a file started. Half of the memory goes to reading, half to writing.

use crate::fidelity::{carried, laid_out, storable_times};
use crate::narrow::{narrowed, to_types};
use crate::select::Selected;
use crate::{ColumnName, CreateOptions, Filter, Input, OpenFile, OpenOptions, ScanBuilder, type_name};
use arrow::datatypes::{Field, Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use colkit_core::plan::batch_of;
use colkit_core::{Error, Format, Result, Scan, Setting, Sink, TableWriter, Types, WriteOptions};
use std::sync::Arc;

/// Converts the file at `from` to the format that the extension of `to` stands for. [`Conversion`] says more.
#[cfg(feature = "fs")]
pub fn convert(from: impl AsRef<std::path::Path>, to: impl AsRef<std::path::Path>) -> Result<ConversionSummary> {
    Conversion::new([Input::path(from)?]).write_to(to)
}

/// What to convert: one input, or several with the same columns, whose rows follow each other.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # std::env::set_current_dir(&folder)?;
/// # std::fs::write("trades.csv", "sym,price\nBTC,64000.5\nETH,3100.25\nSOL,99.5\nADA,0.4\n")?;
/// # colkit::convert("trades.csv", "trades.lance")?;
/// use colkit::{Conversion, CreateOptions, Input};
/// let inputs = [Input::path("trades.lance")?, Input::path("trades.csv")?];
/// let summary = Conversion::new(inputs)
///     .columns(["sym", "price"])
///     .filter("price > 100")
///     .create_options(CreateOptions::new().with_level(9))
///     .write_to("expensive.parquet")?;
/// assert_eq!((summary.rows, summary.columns), (4, 2));
/// # Ok::<(), colkit::Error>(())
/// ```
#[derive(Clone, Default)]
#[must_use = "nothing is converted until it is written"]
pub struct Conversion {
    pub(crate) inputs: Vec<Input>,
    pub(crate) open: OpenOptions,
    columns: Option<Vec<ColumnName>>,
    select: Option<String>,
    filters: Vec<Filter>,
    pub(crate) create: CreateOptions,
}

/// What a conversion did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConversionSummary {
    /// Rows written.
    pub rows: u64,
    /// Columns written.
    pub columns: usize,
    /// Bytes of all inputs together.
    pub input_bytes: u64,
    /// Bytes written.
    pub output_bytes: u64,
    /// Files written.
    pub files: usize,
    /// Things the user should know: stand-ins for nulls, renamed columns, changed types.
    pub notes: Vec<String>,
}

/// Starts the output of this number, counted from 0.
pub type NextSink<'a> = dyn FnMut(usize) -> Result<Box<dyn Sink>> + 'a;

impl Conversion {
    /// Converts all rows of all columns of these inputs, one after another.
    pub fn new(inputs: impl IntoIterator<Item = Input>) -> Self {
        Conversion { inputs: inputs.into_iter().collect(), ..Self::default() }
    }

    /// Opens the inputs like this. Memory and threads are those of the [`CreateOptions`].
    pub fn open_options(mut self, options: OpenOptions) -> Self {
        self.open = options;
        self
    }

    /// Keeps only these columns; see [`ScanBuilder::columns`](crate::ScanBuilder::columns).
    pub fn columns(mut self, columns: impl IntoIterator<Item = impl Into<ColumnName>>) -> Self {
        self.columns = Some(columns.into_iter().map(Into::into).collect());
        self
    }

    /// Renames, casts, leaves out and reorders columns, instead of [`columns`](Conversion::columns); see
    /// [`ScanBuilder::select`](crate::ScanBuilder::select). [`Types::Lossy`] lets values change.
    pub fn select(mut self, list: impl Into<String>) -> Self {
        self.select = Some(list.into());
        self
    }

    /// Keeps only rows for which this holds; see [`ScanBuilder::filter`](crate::ScanBuilder::filter).
    pub fn filter(mut self, filter: impl Into<Filter>) -> Self {
        self.filters.push(filter.into());
        self
    }

    /// Writes like this. Its memory and threads are those of the whole conversion, half of the memory for reading.
    pub fn create_options(mut self, options: CreateOptions) -> Self {
        self.create = options;
        self
    }

    /// Converts to the file at `path`, which appears when it is complete.
    #[cfg(feature = "fs")]
    pub fn write_to(self, path: impl AsRef<std::path::Path>) -> Result<ConversionSummary> {
        let path = path.as_ref();
        let target = self.create.format_of(path)?;
        let sink = crate::create(path, self.inputs.iter().flat_map(Input::places), self.create.existing)?;
        let written = self.prepare(target).and_then(|prepared| prepared.write(sink));
        written.map_err(|e| e.file(path.display().to_string()))
    }

    /// Opens the inputs and works out what will be written to a file of format `target`.
    pub fn prepare(self, target: Arc<dyn Format>) -> Result<Prepared> {
        let CreateOptions { write, drop_metadata, .. } = self.create;
        let mut opening = self.open.suited_to(target.as_ref(), write.nulls);
        opening.read.limits.memory = write.memory / 2;
        opening.threads = write.threads;
        if self.inputs.is_empty() {
            return Err(Error::request("no_input", "there is nothing to convert"));
        }
        let file = opening.open_input(&Input::several(self.inputs))?;
        let mut chosen = file.scan().memory(write.memory / 2);
        if let Some(columns) = self.columns {
            chosen = chosen.columns(columns);
        }
        if let Some(list) = self.select {
            chosen = if write.types == Types::Lossy { chosen.select_lossy(list) } else { chosen.select(list) };
        }
        let chosen = self.filters.into_iter().fold(chosen, ScanBuilder::filter);
        let (scan, selected) = file.named(chosen.build().and_then(|scan| Ok((scan, chosen.selected()?))))?;
        let read_schema = match &selected {
            // Casts leave nulls where values do not fit.
            Some(selected) => all_nullable(&selected.schema),
            None => scan.projection.schema(&file.schema())?,
        };
        let mut notes = Vec::new();
        let (read_schema, left_out) =
            carried(&read_schema, target.as_ref(), drop_metadata).map_err(|e| e.file(file.input().name()))?;
        let read_schema = Arc::new(laid_out(&read_schema, target.as_ref()));
        notes.extend(left_out);
        let schema = match write.types {
            // Text holds integers of any size.
            Types::Lossy if selected.is_none() && !opening.registry.is_text(target.name()) => {
                narrowed(&file, &scan, &read_schema, target.as_ref())?
            }
            _ => read_schema.clone(),
        };
        for (from, to) in read_schema.fields().iter().zip(schema.fields()).filter(|(from, to)| from != to) {
            let (from, to, name) = (type_name(from.data_type()), type_name(to.data_type()), from.name());
            notes.push(format!("column {name:?}: {from} written as {to}"));
        }
        let schema = if file.is_inferred() { storable_times(&schema, target.as_ref()) } else { schema };
        // What inference noticed is of use only to those who let it infer.
        if file.is_text() {
            notes.extend(file.found_by_file().into_iter().map(|(name, found)| format!("{name}: read with {found}")));
            let several = file.input().parts().is_some();
            notes.extend(file.verify()?.findings.into_iter().map(|f| match several {
                true => format!("{}: {}", f.part, f.message),
                false => format!("{}: {}: {}", file.input().name(), f.part, f.message),
            }));
        }
        let write = WriteOptions { memory: write.memory / 2, ..write };
        Ok(Prepared { file, scan, selected, schema, target, write, notes })
    }
}

/// The schema with nulls in every column.
fn all_nullable(schema: &SchemaRef) -> SchemaRef {
    let fields: Vec<Field> = schema.fields().iter().map(|f| f.as_ref().clone().with_nullable(true)).collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

/// A conversion whose inputs are open and agree.
pub struct Prepared {
    file: OpenFile,
    scan: Scan,
    selected: Option<Selected>,
    schema: SchemaRef,
    target: Arc<dyn Format>,
    write: WriteOptions,
    notes: Vec<String>,
}

impl Prepared {
    /// The columns that will be written.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The open inputs, as one table.
    pub fn file(&self) -> &OpenFile {
        &self.file
    }

    /// Reads everything and writes it to `sink`, which stays empty-handed if anything fails.
    pub fn write(self, sink: Box<dyn Sink>) -> Result<ConversionSummary> {
        let mut sink = Some(sink);
        let only = &mut |_| sink.take().ok_or_else(|| Error::internal("there is only one output"));
        self.write_parts(u64::MAX, only)
    }

    /// Reads everything and writes it to several outputs of `rows` rows each, the last one maybe fewer. Each output
    /// is complete before the next one is started; there is always one, even for no rows.
    pub fn write_parts(self, rows: u64, next: &mut NextSink<'_>) -> Result<ConversionSummary> {
        if rows == 0 {
            return Err(Error::request("bad_rows", "parts of 0 rows"));
        }
        let mut parts = Parts { prepared: &self, next, rows, current: None, summary: self.summary() };
        self.each_batch(&mut |batch| parts.write(batch))?;
        if parts.summary.files == 0 && parts.current.is_none() {
            parts.start()?;
        }
        parts.finish()?;
        Ok(parts.summary)
    }
}

impl Prepared {
    /// Reads everything, batch by batch.
    pub(crate) fn each_batch(&self, take: &mut dyn FnMut(&RecordBatch) -> Result<()>) -> Result<()> {
        let mut row = 0;
        for batch in self.file.read(&self.scan)? {
            let mut batch = batch?;
            if let Some(selected) = &self.selected {
                let first = row;
                row += batch.num_rows() as u64;
                batch = self.file.named(selected.apply(&batch, first))?;
            }
            let columns = to_types(batch.columns(), &self.schema)?;
            take(&batch_of(&self.schema, columns, batch.num_rows())?)?;
        }
        Ok(())
    }

    /// What is known before anything is written.
    pub(crate) fn summary(&self) -> ConversionSummary {
        ConversionSummary {
            columns: self.schema.fields().len(),
            input_bytes: self.file.stored_bytes(),
            notes: self.notes.clone(),
            ..ConversionSummary::default()
        }
    }

    /// How it is written.
    #[cfg(all(feature = "fs", feature = "lance"))]
    pub(crate) fn write_options(&self) -> &WriteOptions {
        &self.write
    }
}

/// The output under way.
struct Parts<'a, 'n> {
    prepared: &'a Prepared,
    next: &'a mut NextSink<'n>,
    /// Rows of each output.
    rows: u64,
    current: Option<(Box<dyn TableWriter>, u64)>,
    summary: ConversionSummary,
}

impl Parts<'_, '_> {
    fn start(&mut self) -> Result<()> {
        let p = self.prepared;
        let sink = (self.next)(self.summary.files)?;
        self.current = Some((p.target.writer(p.schema.clone(), sink, &p.write)?, self.rows));
        Ok(())
    }

    /// Completes the output under way.
    fn finish(&mut self) -> Result<()> {
        let Some((writer, _)) = self.current.take() else { return Ok(()) };
        let summary = writer.finish()?;
        self.summary.rows += summary.rows;
        self.summary.output_bytes += summary.bytes;
        self.summary.files += 1;
        let new = summary.notes.into_iter().filter(|n| !self.summary.notes.contains(n)).collect::<Vec<_>>();
        self.summary.notes.extend(new);
        Ok(())
    }

    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let mut rest = batch.clone();
        while rest.num_rows() > 0 {
            if self.current.is_none() {
                self.start()?;
            }
            let Some((writer, room)) = &mut self.current else { break };
            let rows = rest.num_rows().min(usize::try_from(*room).unwrap_or(usize::MAX));
            writer.write(&rest.slice(0, rows)).map_err(|e| with_a_way_out(e, self.prepared.write.types))?;
            *room -= rows as u64;
            if *room == 0 {
                self.finish()?;
            }
            rest = rest.slice(rows, rest.num_rows() - rows);
        }
        Ok(())
    }
}

/// A value that its column's type in the target cannot hold fits another type.
fn with_a_way_out(error: Error, types: Types) -> Error {
    match (error.code(), types) {
        ("value_out_of_range", Types::Refuse | Types::Exact) => {
            error.hint(Setting::LossyTypes.does("uses another type that holds every value, if need be text"))
        }
        _ => error,
    }
}
