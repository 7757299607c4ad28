//! Printing rows in one of several shapes, to standard output or to a file that appears when it is complete.

mod arrow_stream;
mod format;
mod json_document;
mod ndjson;
mod table;

use crate::args::{FitArgs, PrintArgs, ShapeArg};
use crate::{Io, Stream};
use colkit::arrow::datatypes::SchemaRef;
use colkit::arrow::record_batch::RecordBatch;
use colkit::{Format, Input, OpenFile, Registry, Result, Sink, StreamSink, TextReading};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

/// Takes the rows of a table, then what there is to say about them.
pub trait RowPrinter {
    /// Prints a batch.
    fn write(&mut self, batch: &RecordBatch) -> Result<()>;

    /// Prints what comes after the rows and makes the output visible. Returns notes for the user.
    fn finish(self: Box<Self>) -> Result<Vec<String>>;
}

/// How rows are to be printed, and where.
pub struct Printing {
    shape: Shape,
    out: Option<std::path::PathBuf>,
    fit: FitArgs,
}

/// What the rows are of.
pub struct Subject {
    /// What they are read from, which must not be written to.
    pub inputs: Vec<Input>,
    /// What reading them cost, asked for after the last row.
    pub cost: Box<dyn Fn() -> Vec<(&'static str, serde_json::Value)>>,
}

impl Subject {
    /// The rows of a file.
    pub fn file(file: &OpenFile) -> Self {
        let input = file.input().clone();
        let cost = move || {
            let read = input.read_count();
            vec![
                ("bytes_read", read.bytes.into()),
                ("requests", read.requests.into()),
                ("file_bytes", input.size().into()),
            ]
        };
        Subject { inputs: vec![file.input().clone()], cost: Box::new(cost) }
    }
}

enum Shape {
    Table,
    Text(&'static str),
    /// A file in a format that carries types, for which nothing is changed.
    Native(Arc<dyn Format>),
    Ndjson,
    Arrow,
    JsonDocument,
}

impl Printing {
    /// What the arguments mean: `--json` is a document with the rows in it, a file name may say the shape, and
    /// otherwise people on a terminal get a table and programs get CSV.
    pub fn new(args: &PrintArgs, json: bool, io: &Io) -> Result<Self> {
        let shape = match (args.shape, &args.out) {
            (Some(_), _) if json => {
                return Err(colkit::Error::request("conflicting_options", "--json and --as cannot be used together")
                    .hint("--as ndjson prints rows as JSON; --json prints a document about the request"));
            }
            (None, _) if json => Shape::JsonDocument,
            (Some(shape), _) => shape.into(),
            (None, Some(path)) => by_extension(path),
            (None, None) if io.stdout.width.is_some() => Shape::Table,
            (None, None) => Shape::Text("csv"),
        };
        Ok(Printing { shape, out: args.out.clone(), fit: args.fit })
    }

    /// Starts printing rows of this schema.
    pub fn start(&self, schema: &SchemaRef, subject: Subject, io: &Io, memory: u64) -> Result<Box<dyn RowPrinter>> {
        let (sink, width): (Box<dyn Sink>, _) = match &self.out {
            None => (Box::new(StreamSink(io.stdout.clone())), io.stdout.width),
            Some(path) => (colkit::create(path, &subject.inputs)?, None),
        };
        let style = if self.out.is_none() { io.stdout.clone() } else { Stream::new(Box::new(std::io::sink())) };
        Ok(match &self.shape {
            Shape::Table => Box::new(table::TablePrinter::new(schema, sink, width, style)),
            Shape::Ndjson => Box::new(ndjson::NdjsonPrinter::new(schema, sink)),
            Shape::Arrow => Box::new(arrow_stream::ArrowPrinter::new(schema, sink)?),
            Shape::JsonDocument => Box::new(json_document::DocumentPrinter::new(schema, sink, subject)?),
            Shape::Native(format) => {
                Box::new(format::NativePrinter::new(format.as_ref(), schema, sink, memory, self.fit)?)
            }
            Shape::Text(name) => Box::new(format::FormatPrinter::new(name, schema, sink, memory)?),
        })
    }
}

impl From<ShapeArg> for Shape {
    fn from(shape: ShapeArg) -> Self {
        match shape {
            ShapeArg::Table => Shape::Table,
            ShapeArg::Csv => Shape::Text("csv"),
            ShapeArg::Tsv => Shape::Text("tsv"),
            ShapeArg::Ndjson => Shape::Ndjson,
            ShapeArg::Arrow => Shape::Arrow,
        }
    }
}

fn by_extension(path: &Path) -> Shape {
    match path.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase).as_deref() {
        Some("tsv" | "tab") => Shape::Text("tsv"),
        Some("ndjson" | "jsonl") => Shape::Ndjson,
        Some("txt") => Shape::Table,
        other => {
            let registry = Registry::default();
            let formats = registry.formats(&TextReading::default());
            let named = formats.into_iter().find(|f| other.is_some_and(|e| f.extensions().contains(&e)));
            named.filter(|f| !registry.is_text(f.name())).map_or(Shape::Text("csv"), Shape::Native)
        }
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
