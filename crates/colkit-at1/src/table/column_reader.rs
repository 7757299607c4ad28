//! Reading one column of a queryable file: ask for the blocks of a piece, unpack them, give batches, and so on.

use super::cells::{Cells, Place};
use super::groups::{Column, Inner};
use super::text::{cell_text, json_text, push_text, text, unquote};
use crate::number::parse_int;
use crate::queryable::shape::RowTemplate;
use crate::queryable::{Line, Position};
use arrow::array::{ArrayRef, Float64Builder, Int64Builder, StringBuilder};
use arrow::datatypes::{DataType, FieldRef, SchemaRef};
use arrow::record_batch::RecordBatch;
use bytes::Bytes;
use colkit_core::cells::{CellColumn, Inference, parse_float};
use colkit_core::plan::batch_of;
use colkit_core::{Error, Machine, Result, Scan, Step};
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
    wanted: Wanted,
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
    /// All its lines are rows of the only shape.
    Plain(Plain),
}

/// A piece of nothing but rows of the only shape.
struct Plain {
    cells: Bytes,
    /// Where the next cell is, and which row it belongs to.
    place: Place,
    row: u64,
    /// The row after the last one.
    end: u64,
    /// How many rows before these are lines that were not taken apart.
    verbatim: u64,
}

/// Rows that are still to be read.
struct Wanted {
    /// All of them: sorted, disjoint, none empty.
    ranges: Arc<[Range<u64>]>,
    /// The range that comes next, and what of it has been read already.
    next: usize,
    done: u64,
}

impl Wanted {
    /// The next row.
    fn first(&self) -> Option<u64> {
        self.ranges.get(self.next).map(|range| range.start.max(self.done))
    }

    /// Whether `row`, which does not lie before any that was asked about, is wanted.
    fn has(&mut self, row: u64) -> bool {
        while self.ranges.get(self.next).is_some_and(|range| range.end <= row) {
            self.next += 1;
        }
        self.ranges.get(self.next).is_some_and(|range| range.start <= row)
    }

    /// The next rows that follow each other, at most so many and before `end`.
    fn take(&mut self, most: usize, end: u64) -> Option<Range<u64>> {
        let range = self.ranges.get(self.next)?;
        let start = range.start.max(self.done);
        let stop = range.end.min(end).min(start.saturating_add(most as u64));
        if start >= stop {
            return None;
        }
        self.done = stop;
        if stop == range.end {
            self.next += 1;
        }
        Some(start..stop)
    }
}

/// Cells that are read before their size is looked at again.
const STRIDE: usize = 256;

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
    /// Reads `column` of these rows (sorted and disjoint ranges, none empty), to batches in which it stands `repeat` times.
    pub fn new(
        table: Arc<Inner>,
        column: usize,
        repeat: usize,
        schema: SchemaRef,
        rows: Arc<[Range<u64>]>,
        scan: &Scan,
    ) -> Self {
        ColumnReader {
            table,
            column,
            repeat,
            schema,
            wanted: Wanted { ranges: rows, next: 0, done: 0 },
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

    /// How a piece is read whose blocks have been unpacked.
    fn begin(&self, piece: usize, mut cells: Vec<ShapeCells>) -> Result<State> {
        let table = &self.table;
        let cuts = &table.lines.cuts;
        let (Some(mut at), Some(end)) = (cuts.get(piece).cloned(), cuts.get(piece + 1)) else { return Ok(State::Next) };
        while at.line < table.header.min(end.line) {
            table.lines.next(&mut at)?;
        }
        let is_value = matches!(table.columns.get(self.column), Some(Column::Values(_)));
        if let ([only], true) = (&mut cells[..], is_value && table.lines.are_rows(at.line..end.line))
            && only.groups.len() == 1
            && only.next_row == at.row(0)
        {
            let (row, end) = (at.line - table.header, end.line - table.header);
            let cells = only.groups.pop_front().unwrap_or_default();
            let verbatim = row.saturating_sub(only.next_row);
            return Ok(State::Plain(Plain { cells, place: Place::default(), row, end, verbatim }));
        }
        Ok(State::Reading { at, end: end.line, cells })
    }

    fn values(&self) -> Values {
        let table = &self.table;
        let is_json = table.lines.shapes.iter().any(|s| matches!(s.glue, RowTemplate::Segments(_)));
        let last = match table.columns.get(self.column) {
            Some(Column::Values(sources)) => sources.first().copied().flatten() == Some(width(table)),
            _ => false,
        };
        let field = table.schema.fields().get(self.column);
        Values::new(field, table.inference.as_ref(), is_json, table.crlf && last)
    }

    fn batch(&self, values: Values) -> Result<Option<RecordBatch>> {
        if values.rows == 0 {
            return Ok(None);
        }
        let rows = values.rows;
        let array = values.finish()?;
        Ok(Some(batch_of(&self.schema, vec![array; self.repeat], rows)?))
    }

    fn located(&self, e: Error, row: u64) -> Error {
        let name = self.table.schema.fields().get(self.column).map_or("", |f| f.name());
        e.part(format!("column {name:?}, structured row {row}"))
    }

    /// The next rows of a piece of nothing but rows. `None` at its end.
    fn read_plain(&mut self, piece: &mut Plain) -> Result<Option<RecordBatch>> {
        let mut values = self.values();
        while values.rows < self.batch_rows && values.bytes < self.batch_bytes {
            let most = STRIDE.min(self.batch_rows - values.rows);
            let Some(rows) = self.wanted.take(most, piece.end) else { break };
            let mut cells = Cells::new(&piece.cells, piece.place);
            cells.skip_cells(rows.start.saturating_sub(piece.row));
            let count = usize::try_from(rows.end - rows.start).unwrap_or(usize::MAX);
            let row = rows.start.saturating_sub(piece.verbatim);
            values.push_all(&mut cells, count).map_err(|(e, i)| self.located(e, row + i as u64))?;
            (piece.place, piece.row) = (cells.place, rows.end);
        }
        self.batch(values)
    }

    /// The next rows of the piece that is being read. `None` at its end.
    fn read(&mut self, at: &mut Position, end: u64, cells: &mut [ShapeCells]) -> Result<Option<RecordBatch>> {
        let mut values = self.values();
        let table = &self.table;
        let sources = match table.columns.get(self.column) {
            Some(Column::Values(sources)) => Some(sources),
            _ => None,
        };
        while at.line < end && values.rows < self.batch_rows && values.bytes < self.batch_bytes {
            let wanted = self.wanted.has(at.line.saturating_sub(table.header));
            if self.wanted.first().is_none() {
                break;
            }
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
                    if wanted {
                        values.push(cell).map_err(|e| self.located(e, row))?;
                    }
                }
                _ if wanted => values.push_null(),
                _ => {}
            }
        }
        // Those that were read must not be asked for again.
        self.wanted.has(at.line.saturating_sub(table.header));
        self.wanted.done = at.line.saturating_sub(table.header);
        self.batch(values)
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
                    let Some(row) = self.wanted.first() else { return Ok(Step::Ready(None)) };
                    let piece = self.table.pieces_of(&(row..row.saturating_add(1))).start;
                    if piece >= self.table.lines.pieces() {
                        return Ok(Step::Ready(None));
                    }
                    self.state = State::Waiting(piece);
                    let ranges = self.table.ranges_of(piece, self.column)?;
                    if !ranges.is_empty() {
                        return Ok(Step::Need(ranges));
                    }
                }
                State::Waiting(piece) => {
                    let cells = self.unpack(piece, std::mem::take(&mut got))?;
                    self.state = self.begin(piece, cells)?;
                }
                State::Reading { mut at, end, mut cells } => {
                    if let Some(batch) = self.read(&mut at, end, &mut cells)? {
                        self.state = State::Reading { at, end, cells };
                        return Ok(Step::Ready(Some(batch)));
                    }
                }
                State::Plain(mut piece) => {
                    if let Some(batch) = self.read_plain(&mut piece)? {
                        self.state = State::Plain(piece);
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
    is_json: bool,
    /// A CR at the end of a cell belongs to the line end.
    crlf: bool,
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
    fn new(field: Option<&FieldRef>, inference: Option<&Arc<Inference>>, is_json: bool, crlf: bool) -> Self {
        let builder = match (field.map(|f| f.data_type()), inference) {
            // A string of JSON may hold escapes.
            (Some(data_type), Some(inference)) if !is_json || *data_type != DataType::Utf8 => {
                Builder::Inferred(CellColumn::new(data_type, field.is_some_and(|f| f.is_nullable()), inference))
            }
            (Some(DataType::Int64), None) => Builder::Int(Int64Builder::new()),
            (Some(DataType::Float64), None) => Builder::Float(Float64Builder::new()),
            _ => Builder::Text(StringBuilder::new()),
        };
        Values { builder, is_json, crlf, rows: 0, bytes: 0, scratch: String::new() }
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

    /// The next `count` cells. An error comes with the position of its cell.
    fn push_all(&mut self, cells: &mut Cells<'_>, count: usize) -> std::result::Result<(), (Error, usize)> {
        let (mut before, crlf) = (*cells, self.crlf);
        if let Builder::Inferred(b) = &mut self.builder {
            let texts = cells.by_ref().take(count).map(|cell| cell_text(without_cr(cell, crlf)));
            let from = before.place.at();
            b.append(texts).map_err(|i| (not_of_its_type(before.nth(i).unwrap_or_default()), i))?;
            self.rows += count;
            self.bytes += cells.place.at().saturating_sub(from) + 4 * count;
            return Ok(());
        }
        for (i, cell) in cells.by_ref().take(count).enumerate() {
            self.push(cell).map_err(|e| (e, i))?;
        }
        Ok(())
    }

    fn push(&mut self, cell: &[u8]) -> Result<()> {
        let cell = without_cr(cell, self.crlf);
        match &mut self.builder {
            Builder::Inferred(b) => {
                b.append(std::iter::once(cell_text(cell))).map_err(|_| not_of_its_type(cell))?;
                self.rows += 1;
                self.bytes += cell.len() + 4;
            }
            Builder::Text(_) if self.is_json => match json_text(cell) {
                Some(text) => self.push_text(&text),
                None => self.push_null(),
            },
            Builder::Text(_) => self.push_text(&unquote(cell)),
            _ if cell.is_empty() || (self.is_json && cell == b"null") => self.push_null(),
            Builder::Int(b) => {
                b.append_value(parse_int(cell).or_else(|| parse(cell)).ok_or_else(|| not_a_number(cell))?);
                self.rows += 1;
                self.bytes += 8;
            }
            Builder::Float(b) => {
                b.append_value(parse_float(cell).or_else(|| parse(cell)).ok_or_else(|| not_a_number(cell))?);
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

#[inline]
fn without_cr(cell: &[u8], crlf: bool) -> &[u8] {
    if crlf { cell.strip_suffix(b"\r").unwrap_or(cell) } else { cell }
}

/// A number as Rust reads it, for writers that are less strict than the format.
pub fn parse<T: std::str::FromStr>(cell: &[u8]) -> Option<T> {
    std::str::from_utf8(cell).ok()?.trim().parse().ok()
}

fn not_of_its_type(cell: &[u8]) -> Error {
    let shown: String = text(cell).chars().take(60).collect();
    Error::data("bad_cell", format!("the cell {shown:?} is not of the column's type"))
}

fn not_a_number(cell: &[u8]) -> Error {
    let shown: String = text(cell).chars().take(40).collect();
    Error::corrupt("cell_not_a_number", format!("the cell {shown:?} is not a number of the column's type"))
        .hint("unpack the file to see its text")
}
