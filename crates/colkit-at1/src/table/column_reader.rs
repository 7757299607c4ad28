//! Reading one column of a queryable file: ask for the blocks of a piece, unpack them, give batches, and so on.

use super::groups::{Column, Inner};
use super::text::{cell_text, json_text, push_text, text, unquote};
use crate::codec::queryable::{Line, Position};
use crate::codec::shape::Glue;
use crate::number::parse_int;
use arrow::array::{ArrayRef, Float64Builder, Int64Builder, StringBuilder};
use arrow::datatypes::{DataType, FieldRef, SchemaRef};
use arrow::record_batch::RecordBatch;
use bytes::Bytes;
use colkit_core::cells::{CellColumn, Inference};
use colkit_core::plan::batch_of;
use colkit_core::{Class, Error, Machine, Result, Scan, Step};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// Reads one column of some rows, piece by piece.
pub struct ColumnReader {
    table: Arc<Inner>,
    column: usize,
    /// How often the column is wanted.
    repeat: usize,
    schema: SchemaRef,
    rows: Range<u64>,
    pieces: Range<usize>,
    state: State,
    batch_rows: usize,
    batch_bytes: usize,
    memory: u64,
}

enum State {
    /// Ask for the next piece.
    Next,
    /// Its blocks were asked for.
    Waiting(usize),
    /// Its lines are being read, up to this one.
    Reading { at: Position, end: u64, cells: Vec<ShapeCells> },
}

/// The unpacked cells of one shape in a piece.
#[derive(Default)]
struct ShapeCells {
    /// The cells of each group.
    groups: VecDeque<Bytes>,
    /// The row that comes next, and where in the front group.
    next_row: u64,
    group_end: u64,
    group_rows: u64,
    last_row: u64,
    at: usize,
}

impl ShapeCells {
    /// The cell of the next row.
    fn next(&mut self) -> &[u8] {
        if self.next_row == self.group_end {
            self.groups.pop_front();
            self.group_end = self.group_end.saturating_add(self.group_rows).min(self.last_row);
            self.at = 0;
        }
        self.next_row += 1;
        let cells = self.groups.front().map(|b| &b[..]).unwrap_or_default();
        let rest = cells.get(self.at..).unwrap_or_default();
        let cell = memchr::memchr(b'\n', rest).and_then(|end| rest.get(..end)).unwrap_or(rest);
        self.at += cell.len() + 1;
        cell
    }
}

impl ColumnReader {
    /// Reads `column` of these rows, to batches in which it stands `repeat` times.
    pub fn new(
        table: Arc<Inner>,
        column: usize,
        repeat: usize,
        schema: SchemaRef,
        rows: Range<u64>,
        scan: &Scan,
    ) -> Self {
        let pieces = table.pieces_of(&rows);
        ColumnReader {
            table,
            column,
            repeat,
            schema,
            rows,
            pieces,
            state: State::Next,
            batch_rows: scan.batch_rows.max(1),
            batch_bytes: scan.batch_bytes.max(1),
            memory: scan.memory,
        }
    }

    /// Unpacks the blocks of a piece.
    fn unpack(&self, piece: usize, got: Vec<Bytes>) -> Result<Vec<ShapeCells>> {
        let table = &self.table;
        let mut got = got.into_iter();
        let mut all: Vec<ShapeCells> = table.lines.shapes.iter().map(|_| ShapeCells::default()).collect();
        let mut packed = Vec::new();
        let mut raw = 0u64;
        for (s, c, g) in table.blocks_of(piece, self.column) {
            let Some(shape) = table.lines.shapes.get(s) else { continue };
            let block = match shape.in_memory(shape.block(g, c)?) {
                Some(bytes) => bytes,
                None => got.next().unwrap_or_default(),
            };
            raw = raw.saturating_add(shape.raw_size(g, c, &block)?);
            packed.push((s, c, g, block));
        }
        if raw > self.memory {
            return Err(crate::backend::too_large(raw, self.memory).part(format!("column {}", self.column)));
        }
        let start = table.lines.cuts.get(piece);
        for (s, c, g, block) in packed {
            let (Some(shape), Some(cells)) = (table.lines.shapes.get(s), all.get_mut(s)) else { continue };
            if cells.groups.is_empty() {
                let rows = shape.rows_of(g);
                cells.next_row = rows.start;
                cells.group_end = rows.end;
                cells.group_rows = shape.group_rows;
                cells.last_row = shape.rows;
            }
            cells.groups.push_back(shape.unpack(g, c, &block, self.memory)?);
        }
        // Groups that began before the piece.
        for (s, cells) in all.iter_mut().enumerate() {
            let row = start.map_or(0, |cut| cut.row(s));
            while cells.next_row < row && !cells.groups.is_empty() {
                cells.next();
            }
        }
        Ok(all)
    }

    /// The next rows of the piece that is being read. `None` at its end.
    fn read(&self, at: &mut Position, end: u64, cells: &mut [ShapeCells]) -> Result<Option<RecordBatch>> {
        let table = &self.table;
        let field = table.schema.fields().get(self.column);
        let is_json = table.lines.shapes.iter().any(|s| matches!(s.glue, Glue::Segments(_)));
        let mut values = Values::new(field, table.inference.as_ref(), is_json);
        let first = self.rows.start.saturating_add(table.header);
        let last = self.rows.end.saturating_add(table.header).min(end);
        let (sources, strip_cr) = match table.columns.get(self.column) {
            Some(Column::Values(sources)) => {
                (Some(sources), table.crlf && sources.first().copied().flatten() == Some(width(table)))
            }
            _ => (None, false),
        };
        while at.line < last && values.rows < self.batch_rows && values.bytes < self.batch_bytes {
            let wanted = at.line >= first;
            match (table.lines.next(at)?, sources) {
                (Line::Verbatim(line), None) if wanted => values.push_text(line),
                (Line::Row { shape, row }, Some(sources)) => {
                    if sources.get(shape).copied().flatten().is_none() {
                        if wanted {
                            values.push_null();
                        }
                        continue;
                    }
                    let cell = cells.get_mut(shape).map(ShapeCells::next).unwrap_or_default();
                    if !wanted {
                        continue;
                    }
                    let cell = if strip_cr { cell.strip_suffix(b"\r").unwrap_or(cell) } else { cell };
                    values.push(cell, is_json).map_err(|e| {
                        let name = table.schema.fields().get(self.column).map_or("", |f| f.name());
                        e.part(format!("column {name:?}, structured row {row}"))
                    })?;
                }
                _ if wanted => values.push_null(),
                _ => {}
            }
        }
        if values.rows == 0 {
            return Ok(None);
        }
        let rows = values.rows;
        let array = values.finish()?;
        Ok(Some(batch_of(&self.schema, vec![array; self.repeat], rows)?))
    }
}

/// The last column of the only shape.
fn width(table: &Inner) -> usize {
    table.lines.shapes.first().map_or(0, |s| s.width().saturating_sub(1))
}

impl Machine for ColumnReader {
    type Output = Option<RecordBatch>;

    fn step(&mut self, got: Vec<Bytes>) -> Result<Step<Self::Output>> {
        let mut got = got;
        loop {
            match std::mem::replace(&mut self.state, State::Next) {
                State::Next => {
                    let Some(piece) = self.pieces.next() else { return Ok(Step::Ready(None)) };
                    self.state = State::Waiting(piece);
                    let ranges = self.table.ranges_of(piece, self.column)?;
                    if !ranges.is_empty() {
                        return Ok(Step::Need(ranges));
                    }
                }
                State::Waiting(piece) => {
                    let cells = self.unpack(piece, std::mem::take(&mut got))?;
                    let cuts = &self.table.lines.cuts;
                    if let (Some(at), Some(end)) = (cuts.get(piece).cloned(), cuts.get(piece + 1)) {
                        self.state = State::Reading { at, end: end.line, cells };
                    }
                }
                State::Reading { mut at, end, mut cells } => {
                    if let Some(batch) = self.read(&mut at, end, &mut cells)? {
                        self.state = State::Reading { at, end, cells };
                        return Ok(Step::Ready(Some(batch)));
                    }
                }
            }
        }
    }
}

/// The values of a batch.
struct Values {
    builder: Builder,
    rows: usize,
    bytes: usize,
    scratch: String,
}

enum Builder {
    Text(StringBuilder),
    Int(Int64Builder),
    Float(Float64Builder),
    /// Cells of a type that follows from them.
    Inferred(CellColumn),
}

impl Values {
    fn new(field: Option<&FieldRef>, inference: Option<&Arc<Inference>>, is_json: bool) -> Self {
        let builder = match (field.map(|f| f.data_type()), inference) {
            // A string of JSON may hold escapes.
            (Some(data_type), Some(inference)) if !is_json || *data_type != DataType::Utf8 => {
                Builder::Inferred(CellColumn::new(data_type, field.is_some_and(|f| f.is_nullable()), inference))
            }
            (Some(DataType::Int64), None) => Builder::Int(Int64Builder::new()),
            (Some(DataType::Float64), None) => Builder::Float(Float64Builder::new()),
            _ => Builder::Text(StringBuilder::new()),
        };
        Values { builder, rows: 0, bytes: 0, scratch: String::new() }
    }

    fn push_null(&mut self) {
        self.rows += 1;
        self.bytes += 1;
        match &mut self.builder {
            Builder::Text(b) => b.append_null(),
            Builder::Int(b) => b.append_null(),
            Builder::Float(b) => b.append_null(),
            Builder::Inferred(b) => b.append_null(),
        }
    }

    fn push_text(&mut self, cell: &[u8]) {
        self.rows += 1;
        self.bytes += cell.len() + 4;
        if let Builder::Text(b) = &mut self.builder {
            match std::str::from_utf8(cell) {
                Ok(text) => b.append_value(text),
                Err(_) => {
                    self.scratch.clear();
                    push_text(cell, &mut self.scratch);
                    b.append_value(&self.scratch);
                }
            }
        }
    }

    fn push(&mut self, cell: &[u8], is_json: bool) -> Result<()> {
        match &mut self.builder {
            Builder::Inferred(b) => {
                b.append(std::iter::once(cell_text(cell))).map_err(|_| not_of_its_type(cell))?;
                self.rows += 1;
                self.bytes += cell.len() + 4;
            }
            Builder::Text(_) if is_json => match json_text(cell) {
                Some(text) => self.push_text(&text),
                None => self.push_null(),
            },
            Builder::Text(_) => self.push_text(&unquote(cell)),
            _ if cell.is_empty() || (is_json && cell == b"null") => self.push_null(),
            Builder::Int(b) => {
                b.append_value(parse_int(cell).or_else(|| parse(cell)).ok_or_else(|| not_a_number(cell))?);
                self.rows += 1;
                self.bytes += 8;
            }
            Builder::Float(b) => {
                b.append_value(parse(cell).ok_or_else(|| not_a_number(cell))?);
                self.rows += 1;
                self.bytes += 8;
            }
        }
        Ok(())
    }

    fn finish(self) -> Result<ArrayRef> {
        Ok(match self.builder {
            Builder::Text(mut b) => Arc::new(b.finish()),
            Builder::Int(mut b) => Arc::new(b.finish()),
            Builder::Float(mut b) => Arc::new(b.finish()),
            Builder::Inferred(mut b) => b.finish()?,
        })
    }
}

/// A number as Rust reads it, for writers that are less strict than the format.
pub fn parse<T: std::str::FromStr>(cell: &[u8]) -> Option<T> {
    std::str::from_utf8(cell).ok()?.trim().parse().ok()
}

fn not_of_its_type(cell: &[u8]) -> Error {
    let shown: String = text(cell).chars().take(60).collect();
    Error::new(Class::Data, "bad_cell", format!("the cell {shown:?} is not of the column's type"))
}

fn not_a_number(cell: &[u8]) -> Error {
    let shown: String = text(cell).chars().take(40).collect();
    Error::corrupt("cell_not_a_number", format!("the cell {shown:?} is not a number of the column's type"))
        .hint("unpack the file to see its text")
}
