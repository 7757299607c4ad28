//! Reading rows: the second pass, which knows the types.
//!
//! The text of one piece (checkpoint to checkpoint) is fetched whole and read line by line; members of columns that
//! are not wanted are passed over.

use super::build::Column;
use super::cursor::{Cursor, Fault, Parsed};
use super::open::is_blank;
use super::table::{Piece, Survey};
use crate::csv::Place;
use crate::parts::keep;
use arrow::array::new_null_array;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use bytes::Bytes;
use colkit_core::plan::batch_of;
use colkit_core::{ColumnRef, Error, Machine, Result, Scan, Step};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

pub(super) struct Rows {
    survey: Arc<Survey>,
    schema: SchemaRef,
    /// Which builder each column of the output comes from.
    outputs: Vec<usize>,
    builders: Vec<(String, Column)>,
    by_name: HashMap<String, usize>,
    /// Rows still to give; those collected in the builders are not counted any more.
    wanted: Range<u64>,
    pieces: Range<usize>,
    current: Option<Current>,
    rows: usize,
    bytes: usize,
    batch_rows: usize,
    batch_bytes: usize,
    scratch: Vec<u8>,
}

/// The piece being read.
struct Current {
    piece: Piece,
    bytes: Bytes,
    at: usize,
    row: u64,
}

impl Rows {
    pub fn new(survey: Arc<Survey>, schema: SchemaRef, columns: &[ColumnRef], wanted: Range<u64>, scan: &Scan) -> Self {
        let mut builders: Vec<(String, Column)> = Vec::new();
        let mut by_name = HashMap::new();
        let mut outputs = Vec::new();
        let first = scan.batch_rows.min(1024).min(usize::try_from(wanted.end - wanted.start).unwrap_or(usize::MAX));
        for column in columns {
            let Some(field) = survey.schema.fields().get(column.index) else { continue };
            let builder = *by_name.entry(field.name().clone()).or_insert_with(|| {
                builders.push((field.name().clone(), Column::new(field.data_type(), first)));
                builders.len() - 1
            });
            outputs.push(builder);
        }
        Rows {
            pieces: survey.pieces(&wanted),
            survey,
            schema,
            outputs,
            builders,
            by_name,
            wanted,
            current: None,
            rows: 0,
            bytes: 0,
            batch_rows: scan.batch_rows.max(1),
            batch_bytes: scan.batch_bytes.max(1),
            scratch: Vec::new(),
        }
    }

    /// Reads lines until the batch is full, or the piece or the rows end.
    fn lines(&mut self, current: &mut Current) -> Result<()> {
        let bytes = current.bytes.clone();
        let full = |rows: &Rows| rows.rows >= rows.batch_rows || rows.bytes >= rows.batch_bytes;
        while !self.wanted.is_empty() && current.row < current.piece.rows.end && !full(self) {
            let rest = bytes.get(current.at..).unwrap_or_default();
            let length = memchr::memchr(b'\n', rest).map_or(rest.len(), |at| at + 1);
            if length == 0 {
                let message = format!("the piece has {} rows, it had {:?} before", current.row, current.piece.rows);
                return Err(Error::corrupt("row_count_mismatch", message)
                    .at(current.piece.range.start())
                    .hint("the file may have been changed while it was being read"));
            }
            let line = bytes.get(..current.at + length).unwrap_or_default();
            let start = current.at;
            current.at += length;
            if is_blank(line.get(start..).unwrap_or_default()) {
                continue;
            }
            if current.row >= self.wanted.start {
                self.row(line, start).map_err(|fault| {
                    let place = Place { bytes: &bytes, offset: current.piece.range.start(), line: current.piece.line };
                    fault.error.at(place.offset + fault.at as u64).part(format!("line {}", place.line_of(start)))
                })?;
                self.rows += 1;
                self.bytes += length;
                self.wanted.start += 1;
            }
            current.row += 1;
        }
        Ok(())
    }

    fn row(&mut self, line: &[u8], start: usize) -> Parsed<()> {
        let mut cursor = Cursor::new(line, start, self.survey.nesting);
        cursor.kind()?;
        let (builders, by_name, scratch) = (&mut self.builders, &self.by_name, &mut self.scratch);
        let before = self.rows;
        let mut expected = 0;
        cursor.object(|cursor, name| {
            let at_hand = builders.get(expected).filter(|(known, _)| known.as_bytes() == name).map(|_| expected);
            let found = || by_name.get(std::str::from_utf8(name).unwrap_or_default()).copied();
            let Some(index) = at_hand.or_else(found) else { return cursor.skip(scratch) };
            expected = index + 1;
            let Some((name, column)) = builders.get_mut(index) else { return cursor.skip(scratch) };
            if column.len() > before {
                let message = format!("a second member called {name:?} in one object");
                return Err(Fault { at: cursor.at(), error: Error::corrupt("duplicate_name", message) });
            }
            column.append(cursor, scratch).map_err(|mut fault| {
                fault.error = fault.error.part(format!("column {name:?}"));
                fault
            })
        })?;
        cursor.end()?;
        for (_, column) in builders {
            if column.len() == before {
                column.append_null();
            }
        }
        Ok(())
    }

    fn batch(&mut self) -> Result<RecordBatch> {
        let arrays = self.builders.iter_mut().map(|(_, column)| column.finish()).collect::<Result<Vec<_>>>()?;
        let outputs = self.outputs.iter().zip(self.schema.fields());
        let columns = outputs.map(|(index, field)| match arrays.get(*index) {
            Some(array) => keep(array, field),
            None => Ok(new_null_array(field.data_type(), self.rows)),
        });
        let batch = batch_of(&self.schema, columns.collect::<Result<Vec<_>>>()?, self.rows)?;
        self.rows = 0;
        self.bytes = 0;
        Ok(batch)
    }
}

impl Machine for Rows {
    type Output = Option<RecordBatch>;

    fn step(&mut self, got: Vec<Bytes>) -> Result<Step<Self::Output>> {
        if let Some(bytes) = got.into_iter().next() {
            let piece = self.survey.piece(self.pieces.start);
            self.pieces.start += 1;
            self.current = piece.map(|piece| Current { row: piece.rows.start, piece, bytes, at: 0 });
        }
        while !self.wanted.is_empty() {
            if self.rows >= self.batch_rows || self.bytes >= self.batch_bytes {
                return Ok(Step::Ready(Some(self.batch()?)));
            }
            match self.current.take() {
                Some(mut current) => {
                    self.lines(&mut current)?;
                    if current.row < current.piece.rows.end {
                        self.current = Some(current);
                    }
                }
                None => match self.survey.piece(self.pieces.start).filter(|_| !self.pieces.is_empty()) {
                    Some(piece) => return Ok(Step::Need(vec![piece.range])),
                    None => return Err(Error::request("no_such_rows", "rows beyond the end of the table")),
                },
            }
        }
        self.current = None;
        if self.rows > 0 { Ok(Step::Ready(Some(self.batch()?))) } else { Ok(Step::Ready(None)) }
    }
}
