//! Collecting a table line by line.
//!
//! Every line of the file is a row, but for its header. A line that is not taken apart goes whole into the column
//! `_line`, and is null in all others; that column exists only if there is such a line. So no line is ever lost.

use super::builder::ColumnBuilder;
use super::text::{push_text, split_fields, text, unquote};
use crate::stream_set::Streams;
use arrow::array::{ArrayRef, StringBuilder};
use arrow::datatypes::{Field, Schema};
use arrow::record_batch::RecordBatch;
use colkit_core::plan::batch_of;
use colkit_core::{Error, Limits, Result};
use std::sync::Arc;

/// The column for lines that are not rows.
pub const LINE: &str = "_line";

/// A table, and what else is to be said about it.
pub type Collected = (RecordBatch, Vec<(&'static str, String)>);

/// Collects the table of a file, stream set by stream set.
pub trait RowCollector: Send {
    /// Adds the rows of a stream set.
    fn push(&mut self, streams: &Streams) -> Result<()>;

    /// Adds the lines of a text that was not taken apart.
    fn push_raw(&mut self, text: &[u8]) -> Result<()>;

    /// The table.
    fn finish(self: Box<Self>) -> Result<Collected>;
}

/// What makes rows of the lines of a codec.
pub trait LineRows: Default + Send + 'static {
    /// Adds the rows of a stream set.
    fn push(&mut self, streams: &Streams, rows: &mut Rows) -> Result<()>;
}

/// Collects what `R` makes of lines.
pub fn collect<R: LineRows>(limits: &Limits) -> Box<dyn RowCollector> {
    Box::new(LineCollector { lines: R::default(), rows: Rows::new(limits) })
}

struct LineCollector<R> {
    lines: R,
    rows: Rows,
}

impl<R: LineRows> RowCollector for LineCollector<R> {
    fn push(&mut self, streams: &Streams) -> Result<()> {
        self.lines.push(streams, &mut self.rows)
    }

    fn push_raw(&mut self, text: &[u8]) -> Result<()> {
        self.rows.push_raw(text)
    }

    fn finish(self: Box<Self>) -> Result<Collected> {
        self.rows.finish()
    }
}

/// Whether the line before a stream set or a text is ended, so that a row can begin.
#[derive(Default)]
pub struct LineEnds {
    unended: bool,
}

impl LineEnds {
    /// Lines begin, and the last of them is ended or not.
    pub fn begin(&mut self, trailing: bool) -> Result<()> {
        if std::mem::replace(&mut self.unended, !trailing) {
            let message = "a frame ends in the middle of a line, so its rows cannot be separated";
            return Err(Error::unsupported("no_table_view", message).hint("unpack the file instead"));
        }
        Ok(())
    }
}

/// Columns under construction.
pub struct Rows {
    names: Vec<String>,
    columns: Vec<ColumnBuilder>,
    /// Lines that are not taken apart, by row.
    lines: Vec<(usize, String)>,
    line_bytes: u64,
    rows: usize,
    /// The ceilings for it.
    pub limits: Limits,
    /// What separates the fields of lines that were not taken apart, if that is known.
    pub delimiter: Option<Vec<u8>>,
    /// Lines that are not rows but name the columns.
    pub header_lines: usize,
    ends: LineEnds,
}

impl Rows {
    /// No rows yet.
    pub fn new(limits: &Limits) -> Self {
        Rows {
            names: Vec::new(),
            columns: Vec::new(),
            lines: Vec::new(),
            line_bytes: 0,
            rows: 0,
            limits: limits.clone(),
            delimiter: None,
            header_lines: 0,
            ends: LineEnds::default(),
        }
    }

    /// Lines begin, and the last of them is ended or not.
    pub fn begin(&mut self, trailing: bool) -> Result<()> {
        self.ends.begin(trailing)
    }

    /// Number of rows so far.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Number of columns so far.
    pub fn width(&self) -> usize {
        self.columns.len()
    }

    /// Whether columns have names already.
    pub fn has_names(&self) -> bool {
        !self.names.is_empty()
    }

    /// Names for the columns.
    pub fn set_names(&mut self, names: Vec<String>) -> Result<()> {
        self.widen(names.len())?;
        self.names = names;
        Ok(())
    }

    /// One more column.
    pub fn add_name(&mut self, name: String) -> Result<()> {
        self.names.push(name);
        self.widen(self.names.len())
    }

    /// At least so many columns.
    pub fn widen(&mut self, width: usize) -> Result<()> {
        self.limits.check_columns(width as u64)?;
        if self.columns.len() < width {
            self.columns.resize_with(width, ColumnBuilder::new);
        }
        Ok(())
    }

    /// The column to push the current row's cell to, short of nothing that came before.
    pub fn column(&mut self, index: usize) -> Option<&mut ColumnBuilder> {
        let rows = self.rows;
        let column = self.columns.get_mut(index)?;
        column.fill(rows);
        Some(column)
    }

    /// The current row is complete; cells it does not have are missing.
    pub fn finish_row(&mut self) -> Result<()> {
        self.rows += 1;
        if self.rows.is_multiple_of(4096) { self.check() } else { Ok(()) }
    }

    /// The current row is a line that is not taken apart.
    pub fn push_line(&mut self, line: &[u8]) -> Result<()> {
        let line = text(line);
        self.line_bytes += (line.len() + size_of::<(usize, String)>()) as u64;
        self.lines.push((self.rows, line));
        self.finish_row()
    }

    /// Nine bytes at least for each cell, present or not; texts beyond that.
    fn check(&self) -> Result<()> {
        let cells = (self.rows as u64).saturating_mul(self.columns.len() as u64).saturating_mul(9);
        let texts: u64 = self.columns.iter().map(ColumnBuilder::memory).sum();
        Limits::check_memory(
            "the table in memory",
            cells.max(texts).saturating_add(self.line_bytes),
            self.limits.memory,
        )
    }

    /// The lines of a text that was not taken apart at all, split into fields as a writer would have done it.
    fn push_raw(&mut self, text: &[u8]) -> Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        self.begin(text.ends_with(b"\n"))?;
        let lines = text.strip_suffix(b"\n").unwrap_or(text);
        for line in lines.split(|b| *b == b'\n') {
            let fields = self.delimiter.as_deref().map(|d| split_fields(line, d)).filter(|f| f.len() <= self.width());
            match fields {
                None => self.push_line(line)?,
                Some(fields) => {
                    for (i, field) in fields.into_iter().enumerate() {
                        if let Some(column) = self.column(i) {
                            column.push(&unquote(field));
                        }
                    }
                    self.finish_row()?;
                }
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Collected> {
        self.check()?;
        let mut fields = Vec::with_capacity(self.columns.len() + 1);
        let mut arrays: Vec<ArrayRef> = Vec::with_capacity(self.columns.len() + 1);
        for (i, mut column) in std::mem::take(&mut self.columns).into_iter().enumerate() {
            column.fill(self.rows);
            let array = column.finish()?;
            let name = self.names.get(i).filter(|n| !n.is_empty()).cloned().unwrap_or_else(|| default_name(i));
            fields.push(Field::new(name, array.data_type().clone(), true));
            arrays.push(array);
        }
        if !self.lines.is_empty() {
            let array = line_column(&self.lines, self.rows)?;
            fields.push(Field::new(LINE, array.data_type().clone(), true));
            arrays.push(array);
        }
        let properties = vec![
            ("header_lines", self.header_lines.to_string()),
            ("lines_not_taken_apart", self.lines.len().to_string()),
        ];
        Ok((batch_of(&Arc::new(Schema::new(fields)), arrays, self.rows)?, properties))
    }
}

/// The name of a column that has none.
pub fn default_name(index: usize) -> String {
    format!("column_{index}")
}

/// The names in a header line.
pub fn header_names(line: &[u8], delimiter: &[u8]) -> Vec<String> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    split_fields(line, delimiter).into_iter().map(|field| text(&unquote(field))).collect()
}

fn line_column(lines: &[(usize, String)], rows: usize) -> Result<ArrayRef> {
    let bytes: usize = lines.iter().map(|(_, line)| line.len()).sum();
    if i32::try_from(bytes).is_err() {
        return Err(Error::limit("the column _line", format!("{bytes} bytes"), "2 GiB"));
    }
    let mut builder = StringBuilder::with_capacity(rows, bytes);
    let mut lines = lines.iter().peekable();
    for row in 0..rows {
        match lines.next_if(|(at, _)| *at == row) {
            Some((_, line)) => builder.append_value(line),
            None => builder.append_null(),
        }
    }
    Ok(Arc::new(builder.finish()))
}

/// A text column that is collected by hand, for lists and lines.
pub fn append(builder: &mut StringBuilder, cell: &[u8], scratch: &mut String) {
    scratch.clear();
    push_text(cell, scratch);
    builder.append_value(&scratch);
}
