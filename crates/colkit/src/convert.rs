//! From any format to any other, one batch at a time.
//!
//! A conversion is prepared first: all inputs are opened, their schemas brought together, the columns and the
//! condition resolved. Only then is a file started. Half of the memory goes to reading, half to writing.

use crate::fidelity::{carried, laid_out};
use crate::narrow::{narrowed, to_types};
use crate::{ColumnName, CreateOptions, Filter, Input, OpenFile, OpenOptions, ScanBuilder, TextOptions, type_name};
use arrow::datatypes::{DataType, Field, FieldRef, Fields, Schema, SchemaRef, TimeUnit};
use arrow::record_batch::RecordBatch;
use colkit_core::plan::batch_of;
use colkit_core::{Error, Format, Result, Scan, Setting, Sink, TableWriter, Types, WriteOptions};
use std::collections::HashMap;
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
    inputs: Vec<Input>,
    open: OpenOptions,
    columns: Option<Vec<ColumnName>>,
    filters: Vec<Filter>,
    create: CreateOptions,
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
        let sink = crate::create(path, self.inputs.iter().filter_map(Input::place), self.create.existing)?;
        let written = self.prepare(target).and_then(|prepared| prepared.write(sink));
        written.map_err(|e| e.file(path.display().to_string()))
    }

    /// Opens the inputs and works out what will be written to a file of format `target`.
    pub fn prepare(self, target: Arc<dyn Format>) -> Result<Prepared> {
        let CreateOptions { write, drop_metadata, .. } = self.create;
        let mut opening = self.open.suited_to(target.as_ref(), write.nulls);
        opening.read.limits.memory = write.memory / 2;
        opening.threads = write.threads;
        let files = open_alike(&self.inputs, &opening)?;
        let Some(first) = files.first() else {
            return Err(Error::request("no_input", "there is nothing to convert"));
        };
        let mut chosen = first.scan().memory(write.memory / 2);
        if let Some(columns) = self.columns {
            chosen = chosen.columns(columns);
        }
        let scan = first.named(self.filters.into_iter().fold(chosen, ScanBuilder::filter).build())?;
        let read_schema = scan.projection.schema(&nullable_where_any_is(&files, &first.schema()))?;
        let mut notes = Vec::new();
        let (read_schema, left_out) =
            carried(&read_schema, target.as_ref(), drop_metadata).map_err(|e| e.file(first.input().name()))?;
        let read_schema = Arc::new(laid_out(&read_schema, target.as_ref()));
        notes.extend(left_out);
        let schema = match write.types {
            // Text holds integers of any size.
            Types::Lossy if !opening.registry.is_text(target.name()) => {
                narrowed(&files, &scan, &read_schema, target.as_ref())?
            }
            _ => read_schema.clone(),
        };
        for (from, to) in read_schema.fields().iter().zip(schema.fields()).filter(|(from, to)| from != to) {
            let (from, to, name) = (type_name(from.data_type()), type_name(to.data_type()), from.name());
            notes.push(format!("column {name:?}: {from} written as {to}"));
        }
        let inferred = files.iter().all(|f| opening.registry.infers_types(f.format().name()));
        let schema = if inferred { storable_times(&schema, target.as_ref()) } else { schema };
        // What inference noticed is of use only to those who let it infer.
        for file in files.iter().filter(|f| opening.registry.is_text(f.format().name())) {
            notes.extend(file.found().map(|found| format!("{}: read with {found}", file.input().name())));
            notes.extend(
                file.verify()?
                    .findings
                    .into_iter()
                    .map(|f| format!("{}: {}: {}", file.input().name(), f.part, f.message)),
            );
        }
        let write = WriteOptions { memory: write.memory / 2, ..write };
        Ok(Prepared { files, scan, schema, target, write, notes })
    }
}

/// The schema with dates and timestamps as `target` can store them: in a finer unit, or else as the text that they were read
/// from.
fn storable_times(schema: &SchemaRef, target: &dyn Format) -> SchemaRef {
    use TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
    let stored = |t: DataType| target.stores(&t).then_some(t);
    let storable = |data_type: &DataType| match data_type {
        DataType::Date32 => stored(DataType::Date32).unwrap_or(DataType::Utf8),
        DataType::Timestamp(unit, zone) => {
            let units = [Second, Millisecond, Microsecond, Nanosecond].into_iter().filter(|finer| finer >= unit);
            let mut units = units.filter_map(|unit| stored(DataType::Timestamp(unit, zone.clone())));
            units.next().unwrap_or(DataType::Utf8)
        }
        other => other.clone(),
    };
    let field = |f: &FieldRef| Arc::new(f.as_ref().clone().with_data_type(storable(f.data_type())));
    let fields: Vec<FieldRef> = schema.fields().iter().map(field).collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

/// A conversion whose inputs are open and agree.
pub struct Prepared {
    files: Vec<OpenFile>,
    scan: Scan,
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

    /// The open inputs.
    pub fn files(&self) -> &[OpenFile] {
        &self.files
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
        let mut parts = Parts {
            prepared: &self,
            next,
            rows,
            current: None,
            summary: ConversionSummary {
                columns: self.schema.fields().len(),
                input_bytes: self.files.iter().map(OpenFile::stored_bytes).sum(),
                notes: self.notes.clone(),
                ..ConversionSummary::default()
            },
        };
        for file in &self.files {
            for batch in file.read(&self.scan)? {
                // Inputs agree in names and types; their schemas may still differ in metadata and nullability.
                let batch = batch?;
                let columns = to_types(batch.columns(), &self.schema)?;
                parts.write(&batch_of(&self.schema, columns, batch.num_rows())?)?;
            }
        }
        if parts.summary.files == 0 && parts.current.is_none() {
            parts.start()?;
        }
        parts.finish()?;
        Ok(parts.summary)
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

/// The schema of the first file, with columns that may be null in any file marked so.
fn nullable_where_any_is(files: &[OpenFile], first: &SchemaRef) -> SchemaRef {
    let schemas: Vec<SchemaRef> = files.iter().map(OpenFile::schema).collect();
    let nullable = |i: usize| schemas.iter().filter_map(|s| s.fields().get(i)).any(|f| f.is_nullable());
    let fields = first.fields().iter().enumerate().map(|(i, f)| f.as_ref().clone().with_nullable(nullable(i)));
    Arc::new(Schema::new_with_metadata(fields.collect::<Vec<_>>(), first.metadata().clone()))
}

/// Opens all inputs such that they have the same columns.
///
/// Text says nothing about its types, so one file may look like integers and the next like fractions. Where text
/// inputs differ, they are opened again with the narrowest type that holds both.
fn open_alike(inputs: &[Input], opening: &OpenOptions) -> Result<Vec<OpenFile>> {
    let files = inputs.iter().map(|i| opening.open_input(i)).collect::<Result<Vec<_>>>()?;
    // Objects may leave out members and have them in any order: their columns are those of all files together.
    let is_objects = |f: &OpenFile| f.format().name() == "ndjson";
    let by_name = match differing(&files) {
        None => return Ok(files),
        Some(Differing::Names(error)) if !files.iter().any(is_objects) => return Err(error),
        Some(Differing::Names(_)) => true,
        Some(Differing::Types(_)) => false,
    };
    let is_text = |f: &OpenFile| opening.registry.infers_types(f.format().name());
    // One typed input decides; among texts alone the narrowest type that holds all of them does.
    let mut types: Vec<(String, DataType)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    let deciding = files.iter().filter(|f| !is_text(f)).take(1).chain(files.iter().filter(|f| is_text(f)));
    let typed = files.iter().any(|f| !is_text(f));
    for field in deciding.map(|f| f.schema().fields().clone()).flat_map(|f| f.iter().cloned().collect::<Vec<_>>()) {
        let place = *places.entry(field.name().clone()).or_insert(types.len());
        match types.get_mut(place) {
            None => types.push((field.name().clone(), field.data_type().clone())),
            Some(_) if typed => {}
            Some((_, seen)) => *seen = wider(seen, field.data_type()),
        }
    }
    let columns = by_name.then(|| types.clone());
    let typed = opening.clone().with_text_types(types);
    let named = opening.clone().with_text(TextOptions { columns, ..opening.text.clone() });
    let reopen = |f: OpenFile| match by_name && is_objects(&f) {
        true => named.open_input(f.input()),
        false if is_text(&f) && !by_name => typed.open_input(f.input()),
        false => Ok(f),
    };
    let files = files.into_iter().map(reopen).collect::<Result<Vec<_>>>()?;
    match differing(&files) {
        None => Ok(files),
        Some(Differing::Names(error) | Differing::Types(error)) => Err(error),
    }
}

/// The narrowest type that texts of both types can be read as without change.
fn wider(a: &DataType, b: &DataType) -> DataType {
    use DataType::{Date32, Decimal128, Float64, Int32, Int64, List, Null, Struct, Timestamp, UInt64, Utf8};
    match (a, b) {
        (a, b) if a == b => a.clone(),
        (Null, other) | (other, Null) => other.clone(),
        (Int32, Int64) | (Int64, Int32) => Int64,
        (Int32, Float64) | (Float64, Int32) => Float64,
        (Int32 | Int64 | UInt64 | Decimal128(38, 0), Int32 | Int64 | UInt64 | Decimal128(38, 0)) => Decimal128(38, 0),
        (Date32, Timestamp(unit, None)) | (Timestamp(unit, None), Date32) => Timestamp(*unit, None),
        (Timestamp(a, zone), Timestamp(b, other)) if zone == other => Timestamp(*a.max(b), zone.clone()),
        (List(a), List(b)) => {
            let nullable = a.is_nullable() || b.is_nullable();
            List(Arc::new(Field::new("item", wider(a.data_type(), b.data_type()), nullable)))
        }
        (Struct(a), Struct(b)) => Struct(wider_fields(a, b)),
        _ => Utf8,
    }
}

/// The columns or members of both, those of the first one first, with the narrowest types that texts of both can be read
/// as without change. All may be null.
pub fn wider_fields(a: &Fields, b: &Fields) -> Fields {
    let mut all: Vec<Field> = a.iter().map(|f| f.as_ref().clone().with_nullable(true)).collect();
    let mut places: HashMap<String, usize> = HashMap::new();
    for (place, field) in a.iter().enumerate() {
        places.entry(field.name().clone()).or_insert(place);
    }
    for field in b {
        let place = *places.entry(field.name().clone()).or_insert(all.len());
        match all.get_mut(place) {
            Some(known) => *known = known.clone().with_data_type(wider(known.data_type(), field.data_type())),
            None => all.push(field.as_ref().clone().with_nullable(true)),
        }
    }
    all.into()
}

/// How the schema of a later file differs from the first one's.
enum Differing {
    Names(Error),
    Types(Error),
}

fn differing(files: &[OpenFile]) -> Option<Differing> {
    let first = files.first()?;
    let names = |s: &Schema| s.fields().iter().map(|f| f.name().clone()).collect::<Vec<_>>();
    let ours = first.schema();
    let error = |file: &OpenFile, what: String| {
        Error::data("schemas_differ", format!("{what} of {}", first.input().name()))
            .file(file.input().name())
            .hint("inputs of one conversion must have the same columns")
    };
    let others = || files.iter().skip(1).map(|file| (file, file.schema()));
    if let Some((file, theirs)) = others().find(|(_, theirs)| names(&ours) != names(theirs)) {
        let what = format!("its columns {:?} are not the columns {:?}", names(&theirs), names(&ours));
        return Some(Differing::Names(error(file, what)));
    }
    others().find_map(|(file, theirs)| {
        let mut pairs = ours.fields().iter().zip(theirs.fields());
        let (a, b) = pairs.find(|(a, b)| a.data_type() != b.data_type())?;
        let (ours, theirs) = (type_name(a.data_type()), type_name(b.data_type()));
        let what = format!("its column {:?} is of type {theirs}, not {ours} like that", a.name());
        Some(Differing::Types(error(file, what)))
    })
}
