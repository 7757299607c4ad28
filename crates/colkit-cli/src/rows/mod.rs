//! Prints rows in one of several output formats, to stdout or to a file that appears when it is complete.

mod arrow_stream;
mod format;
mod json_document;
mod ndjson;
mod table;

#[cfg(feature = "view")]
pub use table::cut;

use crate::args::{FitArgs, PrintArgs, ShapeArg};
use crate::request::is_stream;
use crate::{Io, Stream};
use colkit::arrow::datatypes::SchemaRef;
use colkit::arrow::record_batch::RecordBatch;
use colkit::{
    Compression, CreateOptions, Error, Existing, Format, OpenFile, OpenOptions, Pattern, Registry, Result, Sink,
    StreamSink, TextOptions, WriteOptions, check_target, create, target_format,
};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Prints the rows of a table.
pub trait RowPrinter {
    /// Prints a batch.
    fn write(&mut self, batch: &RecordBatch) -> Result<()>;

    /// Prints the end of the output and commits it. Returns notes for the user.
    fn finish(self: Box<Self>) -> Result<Vec<String>>;
}

/// Where rows are printed to, and in which format.
pub struct RowOutput {
    shape: Shape,
    out: Option<PathBuf>,
    existing: Existing,
    fit: FitArgs,
    /// What is highlighted on a terminal.
    highlight: Option<Pattern>,
    level: Option<u32>,
}

/// Where the rows come from.
pub struct RowSource {
    /// Whether types were inferred from text.
    pub inferred: bool,
    /// The paths and URLs they are read from, which must not be written to.
    pub inputs: Vec<PathBuf>,
    /// What reading them cost; called after the last row.
    pub cost: ReadCost,
}

/// What reading something cost.
type ReadCost = Box<dyn Fn() -> Vec<(&'static str, serde_json::Value)>>;

impl RowSource {
    /// Rows that are not read from a file.
    #[cfg(feature = "sql")]
    pub fn nothing() -> Self {
        RowSource { inferred: false, inputs: Vec::new(), cost: Box::new(Vec::new) }
    }

    /// The rows of a file.
    pub fn file(file: &OpenFile) -> Self {
        let (input, size) = (file.input().clone(), file.bytes());
        let cost = move || {
            let read = input.read_count();
            vec![("bytes_read", read.bytes.into()), ("requests", read.requests.into()), ("file_bytes", size.into())]
        };
        let inputs = file.input().places().into_iter().map(Path::to_path_buf).collect();
        RowSource { inferred: file.is_inferred(), inputs, cost: Box::new(cost) }
    }
}

enum Shape {
    Table,
    Text(Arc<dyn Format>),
    Ndjson,
    /// A file, for which nothing is changed unless an option allows it.
    File(Arc<dyn Format>),
    Arrow,
    JsonDocument,
}

impl RowOutput {
    /// What the arguments mean: `--json` is a document with the rows in it, a file name may say the shape, and
    /// otherwise people on a terminal get a table and programs get CSV.
    pub fn new(args: &PrintArgs, existing: Existing, json: bool, io: &Io) -> Result<Self> {
        let out = args.out.clone().filter(|out| !is_stream(out));
        let shape = match (args.shape, &out) {
            (Some(_), _) if json => {
                return Err(Error::request("conflicting_options", "--json and --as cannot be used together")
                    .hint("--as ndjson prints rows as JSON; --json prints a document about the request"));
            }
            (None, Some(path)) if json && !path.extension().is_none_or(|e| e.eq_ignore_ascii_case("json")) => {
                return Err(Error::request("conflicting_options", "--json writes a JSON document")
                    .file(path.display().to_string())
                    .hint("end the name with .json, or leave out --json to write rows in the format of the ending"));
            }
            (None, _) if json => Shape::JsonDocument,
            (Some(shape), Some(_)) => Shape::for_file(shape)?,
            (Some(shape), None) => shape.try_into()?,
            (None, Some(path)) => by_extension(path)?,
            (None, None) if io.stdout.width.is_some() => Shape::Table,
            (None, None) => ShapeArg::Csv.try_into()?,
        };
        // Checked before reading starts, which may take long.
        if let Some(path) = &out {
            check_target(path, existing)?;
        }
        Ok(RowOutput { shape, out, existing, fit: args.fit, highlight: None, level: None })
    }

    /// Rows in this format, to a file. If its name says so, text is compressed on the way.
    #[cfg(feature = "sql")]
    pub fn to(path: &Path, format: Arc<dyn Format>, existing: Existing, fit: FitArgs) -> Result<Self> {
        check_target(path, existing)?;
        let out = Some(path.to_path_buf());
        let shape = match format.name() {
            "ndjson" => Shape::for_file(ShapeArg::Ndjson)?,
            _ => Shape::File(format),
        };
        Ok(RowOutput { shape, out, existing, fit, highlight: None, level: None })
    }

    /// The same, with a level of compression.
    #[cfg(feature = "sql")]
    pub fn with_level(self, level: Option<u32>) -> Self {
        RowOutput { level, ..self }
    }

    /// Whether rows go to a file.
    #[cfg(feature = "sql")]
    pub fn is_to_file(&self) -> bool {
        self.out.is_some()
    }

    /// The same, with what matches highlighted on a terminal.
    pub fn highlighting(self, pattern: &Pattern) -> Self {
        RowOutput { highlight: Some(pattern.clone()), ..self }
    }

    /// Reads text with types that the output file can store.
    pub fn suited(&self, options: OpenOptions) -> OpenOptions {
        match &self.shape {
            Shape::File(format) => options.suited_to(format.as_ref(), self.fit.nulls()),
            _ => options,
        }
    }

    /// Whether rows are printed as aligned text for people.
    pub fn is_table(&self) -> bool {
        matches!(self.shape, Shape::Table)
    }

    /// Starts printing rows of this schema.
    pub fn start(&self, schema: &SchemaRef, subject: RowSource, io: &Io, memory: u64) -> Result<Box<dyn RowPrinter>> {
        let (sink, width): (Box<dyn Sink>, _) = match &self.out {
            None if self.shape.is_for_display() => (Box::new(StreamSink(io.stdout.clone())), io.stdout.width),
            None => (Box::new(StreamSink(io.stdout.raw())), io.stdout.width),
            Some(path) => {
                let sink = create(path, subject.inputs.iter().map(PathBuf::as_path), self.existing)?;
                match Compression::in_name(path) {
                    Some((compression, _)) => (compression.sink(sink, self.level)?, None),
                    None => (sink, None),
                }
            }
        };
        let style = if self.out.is_none() { io.stdout.clone() } else { Stream::new(Box::new(std::io::sink())) };
        Ok(match &self.shape {
            Shape::Table => {
                let highlight = self.highlight.clone().filter(|_| style.colour);
                Box::new(table::TablePrinter::new(schema, sink, width, style, highlight))
            }
            Shape::Ndjson => Box::new(ndjson::NdjsonPrinter::new(schema, sink)),
            Shape::Arrow => Box::new(arrow_stream::ArrowPrinter::new(schema, sink)?),
            Shape::JsonDocument => Box::new(json_document::DocumentPrinter::new(schema, sink, subject)?),
            Shape::File(format) => {
                let write = WriteOptions {
                    memory: memory / 2,
                    nulls: self.fit.nulls(),
                    types: self.fit.types(),
                    level: self.level,
                    ..WriteOptions::default()
                };
                let options = CreateOptions::new()
                    .with_write_options(write)
                    .with_drop_metadata(self.fit.drop_metadata)
                    .with_inferred_types(subject.inferred);
                let name = self.out.as_ref().map_or_else(String::new, |path| path.display().to_string());
                Box::new(format::FilePrinter(options.create_in(format.as_ref(), sink, schema, &name)?))
            }
            Shape::Text(format) => Box::new(format::FormatPrinter::new(format.as_ref(), schema, sink, memory)?),
        })
    }
}

impl Shape {
    /// Whether it is text for a person or a document about the rows, and not the rows as data.
    fn is_for_display(&self) -> bool {
        matches!(self, Shape::Table | Shape::JsonDocument)
    }

    /// The shape of a file that `--as` names.
    fn for_file(shape: ShapeArg) -> Result<Self> {
        let named = |name: &str| Registry::default().named(name, &TextOptions::default()).map(Shape::File);
        match shape {
            ShapeArg::Csv => named("csv"),
            ShapeArg::Tsv => named("tsv"),
            ShapeArg::Ndjson => named("ndjson"),
            ShapeArg::Table | ShapeArg::Arrow => shape.try_into(),
        }
    }
}

impl TryFrom<ShapeArg> for Shape {
    type Error = Error;

    fn try_from(shape: ShapeArg) -> Result<Self> {
        let text = |name: &str| Registry::default().named(name, &TextOptions::default()).map(Shape::Text);
        Ok(match shape {
            ShapeArg::Table => Shape::Table,
            ShapeArg::Csv => text("csv")?,
            ShapeArg::Tsv => text("tsv")?,
            ShapeArg::Ndjson => Shape::Ndjson,
            ShapeArg::Arrow => Shape::Arrow,
        })
    }
}

/// The shape that the name of a file stands for.
fn by_extension(path: &Path) -> Result<Shape> {
    if path.extension().is_some_and(|e| e.eq_ignore_ascii_case("txt")) {
        return Ok(Shape::Table);
    }
    let format = target_format(&Registry::default(), None, Some(path), "--as")?;
    match format.name() {
        // Compressed or not: the sink does that.
        "csv" => Shape::for_file(ShapeArg::Csv),
        "tsv" => Shape::for_file(ShapeArg::Tsv),
        "ndjson" => Shape::for_file(ShapeArg::Ndjson),
        _ => Ok(Shape::File(format)),
    }
}

/// A sink for those who know only [`Write`].
pub struct SinkWriter(Box<dyn Sink>);

impl Write for SinkWriter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.write(bytes).map_err(std::io::Error::other)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
