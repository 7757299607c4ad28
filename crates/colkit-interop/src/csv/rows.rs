//! Reading rows: the second pass, which knows the types.
//!
//! The text of one piece (checkpoint to checkpoint) is fetched whole, cut into blocks of rows, and the columns that
//! are wanted are converted, one column of a block at a time.

use super::columns::ColumnBuilder;
use super::place::Place;
use super::table::{Piece, Survey};
use super::tokens::{Block, Portion};
use arrow::datatypes::{DataType, SchemaRef};
use arrow::record_batch::RecordBatch;
use bytes::Bytes;
use colkit_core::plan::batch_of;
use colkit_core::{Error, Machine, Result, Scan, Step};
use std::ops::Range;
use std::sync::Arc;

pub(super) struct Rows {
    survey: Arc<Survey>,
    schema: SchemaRef,
    builders: Vec<ColumnBuilder>,
    /// Rows still to give; those collected in the builders are not counted any more.
    wanted: Range<u64>,
    /// Pieces still to fetch.
    pieces: Range<usize>,
    current: Option<Current>,
    block: Block,
    /// Rows and, roughly, bytes in the builders.
    rows: usize,
    bytes: usize,
    batch_rows: usize,
    batch_bytes: usize,
    /// Roughly the bytes a row takes apart from its text, and whether there is text.
    row_bytes: usize,
    text: bool,
}

/// The piece being read.
struct Current {
    piece: Piece,
    bytes: Bytes,
    /// How far it was read, and the row there.
    at: usize,
    row: u64,
}

impl Rows {
    pub fn new(survey: Arc<Survey>, schema: SchemaRef, columns: &[usize], wanted: Range<u64>, scan: &Scan) -> Self {
        let builders: Vec<ColumnBuilder> = columns
            .iter()
            .zip(schema.fields())
            .map(|(i, field)| ColumnBuilder::new(*i, field, &survey.inference))
            .collect();
        let pieces = survey.pieces(&wanted);
        let text = schema.fields().iter().any(|f| *f.data_type() == DataType::Utf8);
        let row_bytes = schema.fields().iter().map(|f| f.data_type().primitive_width().unwrap_or(4)).sum();
        Rows {
            survey,
            schema,
            builders,
            wanted,
            pieces,
            current: None,
            block: Block::default(),
            rows: 0,
            bytes: 0,
            batch_rows: scan.batch_rows.max(1),
            batch_bytes: scan.batch_bytes.max(1),
            row_bytes,
            text,
        }
    }

    /// Reads the next block of the current piece.
    fn block(&mut self, current: &mut Current) -> Result<()> {
        let skip = self.wanted.start.saturating_sub(current.row);
        let until_full = (self.batch_rows - self.rows) as u64;
        let rows = if skip > 0 { skip } else { (self.wanted.end - self.wanted.start).min(until_full) };
        let portion = Portion {
            columns: self.survey.schema.fields().len(),
            rows: usize::try_from(rows).unwrap_or(usize::MAX),
            bytes: self.batch_bytes,
            at_end: true,
        };
        let place = Place { bytes: &current.bytes, offset: current.piece.range.start(), line: current.piece.line };
        let schema = &self.survey.schema;
        let name = |column: usize| Some(schema.fields().get(column)?.name().as_str());
        let cut = self.survey.dialect.cut(&current.bytes, current.at, portion, &mut self.block);
        let end = cut.map_err(|fault| place.locate(fault, name))?;
        if skip == 0 {
            for builder in &mut self.builders {
                let added = builder.append(&self.block, &current.bytes);
                added.map_err(|fault| place.locate(fault, name))?;
            }
            self.rows += self.block.rows;
            self.wanted.start += self.block.rows as u64;
            let text = if self.text { end - current.at } else { 0 };
            self.bytes += self.block.rows * self.row_bytes + text;
        }
        if end == current.at {
            let message = format!("the piece has {} rows, it had {:?} before", current.row, current.piece.rows);
            return Err(Error::corrupt("row_count_mismatch", message)
                .at(place.offset)
                .hint("the file may have been changed while it was being read"));
        }
        current.at = end;
        current.row += self.block.rows as u64;
        Ok(())
    }

    fn batch(&mut self) -> Result<RecordBatch> {
        let arrays = self.builders.iter_mut().map(ColumnBuilder::finish).collect::<Result<Vec<_>>>()?;
        let batch = batch_of(&self.schema, arrays, self.rows)?;
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
                    self.block(&mut current)?;
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
