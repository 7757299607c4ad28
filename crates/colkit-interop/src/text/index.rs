//! Where the rows of a file lie.

use colkit_core::{ByteRange, Region, RegionKind, blocks_of};
use std::ops::Range;

/// The start of a record.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Checkpoint {
    pub offset: u64,
    /// The number of the first row that starts here or later, from 0.
    pub row: u64,
    /// The line, from 1.
    pub line: u64,
}

/// The text between two checkpoints.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub range: ByteRange,
    pub rows: Range<u64>,
    /// The line it starts at.
    pub line: u64,
}

/// The rows of a file, in pieces.
#[derive(Debug)]
pub(crate) struct TextIndex {
    pub(super) size: u64,
    /// Bytes of the byte order mark.
    pub(super) mark: u64,
    pub rows: u64,
    /// In file order; the first is where the rows start.
    pub(super) checkpoints: Vec<Checkpoint>,
}

impl TextIndex {
    /// The piece that starts at a checkpoint.
    pub(super) fn piece(&self, index: usize) -> Option<Piece> {
        let start = self.checkpoints.get(index)?;
        let (end, row) = self.checkpoints.get(index + 1).map_or((self.size, self.rows), |next| (next.offset, next.row));
        Some(Piece { range: ByteRange::between(start.offset, end), rows: start.row..row, line: start.line })
    }

    /// The piece that holds this row.
    pub(super) fn piece_of(&self, row: u64) -> Option<Piece> {
        self.pieces(&(row..row + 1)).next().and_then(|index| self.piece(index))
    }

    /// The pieces that hold these rows.
    pub(super) fn pieces(&self, rows: &Range<u64>) -> Range<usize> {
        blocks_of(&self.checkpoints, |c| c.row, rows)
    }

    /// The byte map's regions.
    pub(super) fn regions(&self) -> Vec<Region> {
        let data = self.checkpoints.first().map_or(self.size, |c| c.offset);
        let mut regions = vec![
            Region::new(ByteRange::between(0, self.mark), RegionKind::Header, "byte order mark"),
            Region::new(ByteRange::between(self.mark, data), RegionKind::Header, "header record"),
        ];
        regions.extend((0..self.checkpoints.len()).filter_map(|index| self.piece(index)).map(|piece| {
            if piece.rows.is_empty() {
                Region::new(piece.range, RegionKind::Padding, "blank lines")
            } else {
                Region::new(piece.range, RegionKind::Data, format!("rows {}..{}", piece.rows.start, piece.rows.end))
            }
        }));
        regions
    }
}
