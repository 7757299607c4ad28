//! From any format to any other, one batch at a time.
//!
//! A conversion is prepared first: all inputs are opened, their schemas brought together, the columns and the
//! condition resolved. Only then is a file started. Half of the memory goes to reading, half to writing.

use crate::narrow::{narrowed, to_types};
use crate::{ColumnName, Input, OpenFile, Opening, type_name};
use arrow::datatypes::{DataType, Schema, SchemaRef};
use colkit_core::plan::batch_of;
use colkit_core::{Error, Format, Result, Scan, Sink, Types, WriteOptions};
use std::sync::Arc;

/// What to convert. The rows of all inputs follow each other.
#[derive(Clone, Default)]
pub struct Conversion {
    /// What to read, in this order.
    pub inputs: Vec<Input>,
    /// How to open it.
    pub opening: Opening,
    /// Which columns; `None` keeps all.
    pub columns: Option<Vec<ColumnName>>,
    /// Which rows: a condition such as `price >= 10`.
    pub condition: Option<String>,
    /// How to write; its memory and threads are those of the whole conversion.
    pub write: WriteOptions,
}

/// What a conversion did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConversionSummary {
    /// Rows written.
    pub rows: u64,
    /// Columns written.
    pub columns: usize,
    /// Bytes of all inputs together.
    pub input_bytes: u64,
    /// Bytes written.
    pub output_bytes: u64,
    /// Things the user should know: stand-ins for nulls, renamed columns, changed types.
    pub notes: Vec<String>,
}

impl Conversion {
    /// Opens the inputs and works out what will be written to a file of format `target`.
    pub fn prepare(self, target: Arc<dyn Format>) -> Result<Prepared> {
        let mut opening = self.opening.suited_to(target.as_ref());
        opening.read.limits.memory = self.write.memory / 2;
        opening.threads = self.write.threads;
        let files = open_alike(&self.inputs, &opening)?;
        let Some(first) = files.first() else {
            return Err(Error::request("no_input", "there is nothing to convert"));
        };
        let chosen = first.select(self.columns.as_deref(), self.condition.as_deref())?;
        let scan = Scan { memory: self.write.memory / 2, ..chosen };
        let read_schema = scan.projection.schema(&nullable_where_any_is(&files, &first.schema()))?;
        let schema = match self.write.types {
            Types::Lossy => narrowed(&files, &scan, &read_schema, target.as_ref())?,
            Types::Refuse | Types::Exact => read_schema.clone(),
        };
        let mut notes = Vec::new();
        for (from, to) in read_schema.fields().iter().zip(schema.fields()).filter(|(from, to)| from != to) {
            let (from, to, name) = (type_name(from.data_type()), type_name(to.data_type()), from.name());
            notes.push(format!("column {name:?}: {from} written as {to}"));
        }
        // What inference noticed is of use only to those who let it infer.
        for file in files.iter().filter(|f| opening.registry.is_text(f.format().name())) {
            notes.extend(
                file.verify()?.into_iter().map(|f| format!("{}: {}: {}", file.input().name(), f.part, f.message)),
            );
        }
        let write = WriteOptions { memory: self.write.memory / 2, ..self.write };
        Ok(Prepared { files, scan, schema, target, write, notes })
    }
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
        let mut writer = self.target.writer(self.schema.clone(), sink, &self.write)?;
        for file in &self.files {
            for batch in file.scan(&self.scan)? {
                // Inputs agree in names and types; their schemas may still differ in metadata and nullability.
                let batch = batch?;
                let columns = to_types(batch.columns(), &self.schema)?;
                writer.write(&batch_of(&self.schema, columns, batch.num_rows())?)?;
            }
        }
        let summary = writer.finish()?;
        Ok(ConversionSummary {
            rows: summary.rows,
            columns: self.schema.fields().len(),
            input_bytes: self.files.iter().map(|f| f.input().size()).sum(),
            output_bytes: summary.bytes,
            notes: [self.notes, summary.notes].concat(),
        })
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
fn open_alike(inputs: &[Input], opening: &Opening) -> Result<Vec<OpenFile>> {
    let files = inputs.iter().map(|i| opening.open(i)).collect::<Result<Vec<_>>>()?;
    match differing(&files) {
        None => return Ok(files),
        Some(Differing::Names(error)) => return Err(error),
        Some(Differing::Types(_)) => {}
    }
    let is_text = |f: &OpenFile| opening.registry.is_text(f.format().name());
    // One typed input decides; among texts alone the narrowest type that holds all of them does.
    let mut types: Vec<(String, DataType)> = Vec::new();
    let deciding = files.iter().filter(|f| !is_text(f)).take(1).chain(files.iter().filter(|f| is_text(f)));
    let typed = files.iter().any(|f| !is_text(f));
    for field in deciding.map(|f| f.schema().fields().clone()).flat_map(|f| f.iter().cloned().collect::<Vec<_>>()) {
        match types.iter_mut().find(|(name, _)| name == field.name()) {
            None => types.push((field.name().clone(), field.data_type().clone())),
            Some(_) if typed => {}
            Some((_, seen)) => *seen = wider(seen, field.data_type()),
        }
    }
    let text = opening.text.clone().with_types(types);
    let opening = Opening { text, ..opening.clone() };
    let reopen = |f: OpenFile| if is_text(&f) { opening.open(f.input()) } else { Ok(f) };
    let files = files.into_iter().map(reopen).collect::<Result<Vec<_>>>()?;
    match differing(&files) {
        None => Ok(files),
        Some(Differing::Names(error) | Differing::Types(error)) => Err(error),
    }
}

/// The narrowest type that texts of both types can be read as without change.
fn wider(a: &DataType, b: &DataType) -> DataType {
    use DataType::{Float64, Int32, Int64, Utf8};
    match (a, b) {
        (a, b) if a == b => a.clone(),
        (Int32, Int64) | (Int64, Int32) => Int64,
        (Int32, Float64) | (Float64, Int32) => Float64,
        _ => Utf8,
    }
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
