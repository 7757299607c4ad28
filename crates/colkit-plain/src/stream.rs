//! Decodes a column while it is inflated: one batch in memory, not the whole column.

use crate::dialect::{PlainType, StringLayout};
use crate::header::ColumnEntry;
use crate::inflate::{InflateStream, ready};
use crate::strings::{LengthPieces, OffsetStrings};
use arrow::array::{ArrayRef, BooleanArray, Float64Array, Int32Array};
use arrow::buffer::BooleanBuffer;
use bytes::Bytes;
use colkit_core::{Error, Limits, Result, Step};
use std::ops::Range;
use std::sync::Arc;

/// Inflated at a time where the size of what comes next does not matter.
pub(crate) const PIECE: usize = 64 << 10;

/// CastMode large batches may get.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BatchSize {
    pub rows: usize,
    pub bytes: usize,
}

/// Reads the rows of a range of a column, batch by batch.
pub(crate) struct StreamedColumn {
    inflate: InflateStream,
    decoder: Decoder,
    /// Rows of the range not given yet.
    left: u64,
    /// Whether the range reaches the column's last row; then everything behind it is checked too.
    to_the_end: bool,
    size: BatchSize,
}

enum Decoder {
    Int32(FixedWidthDecoder<i32>),
    Float64(FixedWidthDecoder<f64>),
    Bool { bytes: FixedWidthDecoder<u8>, row: u64 },
    Offsets(OffsetStrings),
    Lengths(LengthPieces),
}

impl StreamedColumn {
    pub fn new(
        column: &ColumnEntry,
        strings: StringLayout,
        row_count: u64,
        rows: Range<u64>,
        size: BatchSize,
        limits: &Limits,
    ) -> Self {
        let longest = limits.value_bytes;
        let decoder = match (column.kind, strings) {
            (PlainType::Int32, _) => Decoder::Int32(FixedWidthDecoder::starting_at(rows.start)),
            (PlainType::Float64, _) => Decoder::Float64(FixedWidthDecoder::starting_at(rows.start)),
            (PlainType::Bool, _) => {
                Decoder::Bool { bytes: FixedWidthDecoder::starting_at(rows.start), row: rows.start }
            }
            (PlainType::Text, StringLayout::Offsets) => {
                Decoder::Offsets(OffsetStrings::new(row_count, rows.clone(), column.raw, longest))
            }
            (PlainType::Text, StringLayout::Lengths) => {
                Decoder::Lengths(LengthPieces::new(row_count, rows.start, column.raw, longest))
            }
        };
        StreamedColumn {
            inflate: InflateStream::new(column),
            decoder,
            left: rows.end.saturating_sub(rows.start),
            to_the_end: rows.end == row_count,
            size: BatchSize { rows: size.rows.max(1), bytes: size.bytes.max(1) },
        }
    }

    /// The next values; `None` after the last, once everything that can be checked has been.
    pub fn next(&mut self, got: Vec<Bytes>) -> Result<Step<Option<ArrayRef>>> {
        if let Some(bytes) = got.into_iter().next() {
            self.inflate.feed(bytes);
        }
        if self.left == 0 {
            ready!(self.end()?);
            return Ok(Step::Ready(None));
        }
        let inflate = &mut self.inflate;
        let rows = self.size.rows.min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let array: ArrayRef = match &mut self.decoder {
            Decoder::Int32(numbers) => Arc::new(Int32Array::from(ready!(numbers.next(inflate, rows)?))),
            Decoder::Float64(numbers) => Arc::new(Float64Array::from(ready!(numbers.next(inflate, rows)?))),
            Decoder::Bool { bytes, row } => {
                let bools = bools(&ready!(bytes.next(inflate, rows)?), *row)?;
                *row += rows as u64;
                Arc::new(bools)
            }
            Decoder::Offsets(strings) => Arc::new(ready!(strings.next(inflate, rows, self.size.bytes)?)),
            Decoder::Lengths(strings) => Arc::new(ready!(strings.next(inflate, rows, self.size.bytes)?)),
        };
        self.left -= array.len() as u64;
        Ok(Step::Ready(Some(array)))
    }

    /// A column read to its end must end as it says; one that was left early owes nothing.
    fn end(&mut self) -> Result<Step<()>> {
        if !self.to_the_end {
            return Ok(Step::Ready(()));
        }
        match &mut self.decoder {
            // With no rows asked for, the offsets have not been looked at yet.
            Decoder::Offsets(strings) => ready!(strings.read_offsets(&mut self.inflate)?),
            Decoder::Lengths(strings) => strings.check_end()?,
            _ => {}
        }
        self.inflate.finish()
    }
}

/// Passes over payload bytes.
#[derive(Default)]
pub(crate) struct SkipBytes {
    left: u64,
    scratch: Vec<u8>,
    filled: usize,
}

impl SkipBytes {
    pub fn bytes(left: u64) -> Self {
        SkipBytes { left, ..SkipBytes::default() }
    }

    pub fn run(&mut self, inflate: &mut InflateStream) -> Result<Step<()>> {
        while self.left > 0 {
            if self.scratch.is_empty() {
                self.scratch = vec![0; PIECE.min(usize::try_from(self.left).unwrap_or(PIECE))];
            }
            ready!(inflate.fill(&mut self.scratch, &mut self.filled)?);
            self.left -= self.filled as u64;
            *self = SkipBytes::bytes(self.left);
        }
        Ok(Step::Ready(()))
    }
}

/// Fixed-width values, inflated straight into the array's own memory.
struct FixedWidthDecoder<T> {
    skip: SkipBytes,
    values: Vec<T>,
    filled: usize,
}

impl<T: bytemuck::Pod> FixedWidthDecoder<T> {
    fn starting_at(row: u64) -> Self {
        FixedWidthDecoder { skip: SkipBytes::bytes(row * size_of::<T>() as u64), values: Vec::new(), filled: 0 }
    }

    fn next(&mut self, inflate: &mut InflateStream, rows: usize) -> Result<Step<Vec<T>>> {
        ready!(self.skip.run(inflate)?);
        if self.values.is_empty() {
            self.values = vec![T::zeroed(); rows];
        }
        ready!(inflate.fill(bytemuck::cast_slice_mut(&mut self.values), &mut self.filled)?);
        self.filled = 0;
        Ok(Step::Ready(std::mem::take(&mut self.values)))
    }
}

/// Bytes 0 and 1, packed into bits. `row` is the number of the first, for errors.
pub(crate) fn bools(bytes: &[u8], row: u64) -> Result<BooleanArray> {
    if let Some((at, found)) = bytes.iter().enumerate().find(|(_, b)| **b > 1) {
        let message = format!("row {}: expected 00 or 01, found {found:02x}", row + at as u64);
        return Err(Error::corrupt("bad_bool", message));
    }
    Ok(BooleanBuffer::collect_bool(bytes.len(), |i| bytes.get(i) == Some(&1)).into())
}
