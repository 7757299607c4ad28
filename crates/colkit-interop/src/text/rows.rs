//! Reading rows: the second pass, which knows the types.
//!
//! The text of one piece (checkpoint to checkpoint) is fetched whole. Rows before the first wanted one are passed over,
//! the wanted ones collected until they fill a batch.

use super::excerpt::Excerpt;
use super::index::{Piece, TextIndex};
use arrow::array::ArrayRef;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use bytes::Bytes;
use colkit_core::plan::batch_of;
use colkit_core::{Error, Machine, Result, Scan, Step};
use std::ops::Range;
use std::sync::Arc;

/// Makes arrays of records.
pub(crate) trait RowReader: Send {
    /// Passes over at most so many rows of `text`, from position `at` on.
    fn skip(&mut self, text: Excerpt<'_>, at: usize, rows: usize) -> Result<Progress>;

    /// Collects at most so many rows of `text`, from position `at` on, that take about so many bytes in a batch; at least
    /// one record.
    fn collect(&mut self, text: Excerpt<'_>, at: usize, rows: usize, bytes: usize) -> Result<Progress>;

    /// The columns of what was collected since the last time.
    fn finish(&mut self) -> Result<Vec<ArrayRef>>;
}

/// What was read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Progress {
    /// Where the first record that was not read starts.
    pub end: usize,
    pub rows: usize,
    /// Roughly the bytes that they take in a batch.
    pub bytes: usize,
}

/// Gives the rows of a range, batch by batch.
pub(super) struct Rows {
    index: Arc<TextIndex>,
    schema: SchemaRef,
    reader: Box<dyn RowReader>,
    /// Rows still to give; those that the reader has collected are not counted any more.
    wanted: Range<u64>,
    /// Pieces still to fetch.
    pieces: Range<usize>,
    current: Option<Current>,
    /// What the reader has collected.
    rows: usize,
    bytes: usize,
    batch_rows: usize,
    batch_bytes: usize,
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
    pub fn new(
        index: Arc<TextIndex>,
        schema: SchemaRef,
        reader: Box<dyn RowReader>,
        wanted: Range<u64>,
        scan: &Scan,
    ) -> Self {
        Rows {
            pieces: index.pieces(&wanted),
            index,
            schema,
            reader,
            wanted,
            current: None,
            rows: 0,
            bytes: 0,
            batch_rows: scan.batch_rows.max(1),
            batch_bytes: scan.batch_bytes.max(1),
        }
    }

    /// Reads more of the current piece.
    fn advance(&mut self, current: &mut Current) -> Result<()> {
        let Current { piece, bytes, at, row } = current;
        let text = Excerpt { bytes, offset: piece.range.start(), line: piece.line };
        let before = usize::try_from(self.wanted.start.saturating_sub(*row)).unwrap_or(usize::MAX);
        let read = if before > 0 {
            self.reader.skip(text, *at, before)?
        } else {
            let left = usize::try_from(self.wanted.end - self.wanted.start).unwrap_or(usize::MAX);
            let rows = left.min(self.batch_rows - self.rows);
            let read = self.reader.collect(text, *at, rows, self.batch_bytes - self.bytes)?;
            self.rows += read.rows;
            self.bytes += read.bytes;
            self.wanted.start += read.rows as u64;
            read
        };
        if read.end == *at {
            let message = format!("the piece has {row} rows, it had {:?} before", piece.rows);
            return Err(Error::corrupt("row_count_mismatch", message)
                .at(text.offset)
                .hint("the file may have been changed while it was being read"));
        }
        *at = read.end;
        *row += read.rows as u64;
        Ok(())
    }

    fn batch(&mut self) -> Result<RecordBatch> {
        let rows = std::mem::take(&mut self.rows);
        self.bytes = 0;
        batch_of(&self.schema, self.reader.finish()?, rows)
    }
}

impl Machine for Rows {
    type Output = Option<RecordBatch>;

    fn step(&mut self, got: Vec<Bytes>) -> Result<Step<Self::Output>> {
        if let Some(bytes) = got.into_iter().next() {
            let piece = self.index.piece(self.pieces.start);
            self.pieces.start += 1;
            self.current = piece.map(|piece| Current { row: piece.rows.start, piece, bytes, at: 0 });
        }
        while !self.wanted.is_empty() {
            if self.rows >= self.batch_rows || self.bytes >= self.batch_bytes {
                return Ok(Step::Ready(Some(self.batch()?)));
            }
            match self.current.take() {
                Some(mut current) => {
                    self.advance(&mut current)?;
                    if current.row < current.piece.rows.end {
                        self.current = Some(current);
                    }
                }
                None => match self.index.piece(self.pieces.start).filter(|_| !self.pieces.is_empty()) {
                    Some(piece) => return Ok(Step::Need(vec![piece.range])),
                    None => return Err(Error::request("no_such_rows", "rows beyond the end of the table")),
                },
            }
        }
        self.current = None;
        if self.rows > 0 { Ok(Step::Ready(Some(self.batch()?))) } else { Ok(Step::Ready(None)) }
    }
}
