//! Scanning one field: pieces of bounded size, one after another, cut into batches.

use super::LanceFile;
use crate::schema::{Kind, Node};
use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use bytes::Bytes;
use colkit_core::{Boxed, Machine, Result, Scan, Selection, Step};
use std::ops::Range;
use std::sync::Arc;

/// Chunks hold powers of two up to this many values; pieces that end on a multiple seldom cut one.
pub(crate) const ALIGNED: u64 = 4096;

/// Reads one field from front to back.
///
/// A piece is what is read and decoded at once. How many rows that is follows from what the rows so far took when
/// decoded: neither a dictionary of long texts nor a column of blobs can blow up a batch by more than its first piece.
pub(crate) struct Pieces {
    file: Arc<LanceFile>,
    node: Arc<Node>,
    schema: SchemaRef,
    rows: Selection,
    /// Rows read so far.
    read: u64,
    piece_rows: u64,
    /// Bytes a piece should decode to.
    piece_bytes: u64,
    batch_rows: usize,
    batch_bytes: usize,
    /// Whether a piece must not reach into another page: keys of joined dictionaries may not fit their type.
    one_page: bool,
    /// Whether dictionaries of pages may stay.
    encoded: bool,
    running: Option<Boxed<ArrayRef>>,
    ready: Option<Ready>,
}

struct Ready {
    array: ArrayRef,
    given: usize,
    batch_rows: usize,
}

impl Pieces {
    /// The rows of a field; `memory` is this lane's share.
    pub fn new(
        file: Arc<LanceFile>,
        node: Arc<Node>,
        schema: SchemaRef,
        rows: Selection,
        scan: &Scan,
        memory: u64,
    ) -> Self {
        let piece_bytes = memory.min(scan.batch_bytes as u64).clamp(SMALLEST_PIECE, LARGEST_PIECE);
        let piece_rows = first_piece(&file, &node, piece_bytes);
        let encoded = scan.encoded && node.children.is_empty();
        let one_page = encoded || has_dictionary(&node);
        Pieces {
            file,
            node,
            schema,
            rows,
            read: 0,
            piece_rows,
            piece_bytes,
            batch_rows: scan.batch_rows.max(1),
            batch_bytes: scan.batch_bytes,
            one_page,
            encoded,
            running: None,
            ready: None,
        }
    }

    /// The rows of the next piece.
    fn next_rows(&self) -> Selection {
        let wanted = self.piece_rows.max(1);
        let ahead = self.rows.next(self.read, wanted);
        if !self.one_page && !self.rows.is_range() {
            return ahead;
        }
        let Range { start, mut end } = ahead.span();
        let page_end = self.page_end(start);
        if self.one_page || (page_end < end.saturating_add(wanted / 4) && page_end > start + wanted / 4) {
            // Nothing has to be joined, and dictionaries of pages need no merging, if a piece ends with its page.
            end = end.min(page_end).max(start + 1);
            if page_end < end.saturating_add(wanted / 4) {
                end = page_end;
            }
        } else if end < self.rows.end() && end / ALIGNED * ALIGNED > start {
            // Ending on a border leaves no chunk to be decoded twice.
            end = end / ALIGNED * ALIGNED;
        }
        self.rows.part(&(start..end))
    }

    fn start_piece(&mut self) {
        let rows = self.next_rows();
        self.read += rows.len();
        let (file, node, encoded) = (self.file.clone(), self.node.clone(), self.encoded);
        let read = move |io| async move { file.read(&io, &node, rows, encoded).await };
        self.running = Some(self.file.container.coroutine(read));
    }

    /// The first row after this one at which a page of the field ends.
    fn page_end(&self, row: u64) -> u64 {
        self.node
            .columns()
            .iter()
            .filter_map(|c| self.file.known_reader(*c))
            .filter(|r| r.length() == self.file.fields.rows)
            .map(|r| r.page_end(row))
            .min()
            .unwrap_or(u64::MAX)
    }

    fn batch(&self, column: ArrayRef) -> Result<RecordBatch> {
        let schema = match self.schema.fields().first() {
            Some(field) if self.encoded && field.data_type() != column.data_type() => {
                Arc::new(Schema::new(vec![field.as_ref().clone().with_data_type(column.data_type().clone())]))
            }
            _ => self.schema.clone(),
        };
        Ok(RecordBatch::try_new(schema, vec![column])?)
    }

    fn piece(&mut self, array: ArrayRef) {
        let rows = array.len().max(1);
        let bytes = array.to_data().get_slice_memory_size().unwrap_or(0).max(1);
        let per_row = bytes.div_ceil(rows);
        let wanted = (self.piece_bytes / per_row as u64).max(1);
        // Growing step by step, since later rows may be wider than the first.
        self.piece_rows = wanted.min(self.piece_rows.saturating_mul(8)).min(MOST_ROWS);
        let batch_rows = self.batch_rows.min((self.batch_bytes / per_row).max(1));
        self.ready = Some(Ready { array, given: 0, batch_rows });
    }
}

fn has_dictionary(node: &Node) -> bool {
    matches!(node.field.data_type(), DataType::Dictionary(..)) || node.children.iter().any(has_dictionary)
}

/// Bytes that a piece decodes to: so few that they are still in the processor's cache when the next step looks at them, and
/// not so few that starting a piece counts.
const SMALLEST_PIECE: u64 = 64 << 10;
const LARGEST_PIECE: u64 = 1 << 20;

/// Rows of a piece at most, however narrow.
const MOST_ROWS: u64 = 1 << 20;

/// Whether values may be of any size.
pub(crate) fn has_blob(node: &Node) -> bool {
    node.kind == Kind::Blob || node.children.iter().any(has_blob)
}

/// Rows of the first piece, by what the column takes in the file.
fn first_piece(file: &LanceFile, node: &Node, piece_bytes: u64) -> u64 {
    if has_blob(node) {
        return 16;
    }
    let stored: u64 = node
        .columns()
        .iter()
        .filter_map(|c| file.container.known_column(*c))
        .flat_map(|c| c.ranges().map(|r| r.len()))
        .fold(0, u64::saturating_add);
    let per_row = stored.div_ceil(file.fields.rows.max(1)).max(1);
    // Encodings shrink; a first piece that assumes a factor of 8 is seldom too large.
    (piece_bytes / 8 / per_row).clamp(64, 8 * ALIGNED)
}

impl Machine for Pieces {
    type Output = Option<RecordBatch>;

    fn step(&mut self, mut got: Vec<Bytes>) -> Result<Step<Self::Output>> {
        loop {
            if let Some(ready) = &mut self.ready {
                let rows = ready.batch_rows.min(ready.array.len() - ready.given);
                let part = ready.array.slice(ready.given, rows);
                ready.given += rows;
                if ready.given >= ready.array.len() {
                    self.ready = None;
                }
                if rows > 0 {
                    return Ok(Step::Ready(Some(self.batch(part)?)));
                }
            }
            match &mut self.running {
                Some(running) => match running.step(std::mem::take(&mut got))? {
                    Step::Need(ranges) => return Ok(Step::Need(ranges)),
                    Step::Ready(array) => {
                        self.running = None;
                        self.piece(array);
                    }
                },
                None if self.read >= self.rows.len() => return Ok(Step::Ready(None)),
                None => self.start_piece(),
            }
        }
    }
}
