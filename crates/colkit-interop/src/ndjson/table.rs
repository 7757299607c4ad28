//! An open NDJSON file.

use super::rows::Rows;
use arrow::datatypes::SchemaRef;
use colkit_core::{
    Boxed, ByteRange, Finding, Lane, Layout, Region, RegionKind, Result, Scan, Selection, Split, Table, Verified, pick,
    ready, spans,
};
use std::ops::Range;
use std::sync::Arc;

/// The start of a line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Checkpoint {
    pub offset: u64,
    /// The number of the row that starts here or after, from 0.
    pub row: u64,
    /// The line, from 1.
    pub line: u64,
}

/// What opening found out.
pub(super) struct Survey {
    pub schema: SchemaRef,
    pub size: u64,
    pub bom: u64,
    pub rows: u64,
    /// In file order; the first is where the lines start.
    pub checkpoints: Vec<Checkpoint>,
    pub findings: Vec<Finding>,
    pub nesting: u32,
}

/// The text between two checkpoints.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub range: ByteRange,
    pub rows: Range<u64>,
    /// The line it starts at.
    pub line: u64,
}

impl Survey {
    pub fn piece(&self, index: usize) -> Option<Piece> {
        let start = self.checkpoints.get(index)?;
        let (end, row) = self.checkpoints.get(index + 1).map_or((self.size, self.rows), |next| (next.offset, next.row));
        Some(Piece { range: ByteRange::between(start.offset, end), rows: start.row..row, line: start.line })
    }

    /// The piece that holds this row.
    pub fn piece_of(&self, row: u64) -> Option<Piece> {
        self.pieces(&(row..row + 1)).next_back().and_then(|index| self.piece(index))
    }

    /// The pieces that hold these rows.
    pub fn pieces(&self, rows: &Range<u64>) -> Range<usize> {
        if rows.is_empty() {
            return 0..0;
        }
        let first = self.checkpoints.partition_point(|c| c.row <= rows.start).saturating_sub(1);
        first..self.checkpoints.partition_point(|c| c.row < rows.end)
    }
}

pub(super) struct NdjsonTable(Arc<Survey>);

impl NdjsonTable {
    pub fn new(survey: Survey) -> Self {
        NdjsonTable(Arc::new(survey))
    }
}

impl Table for NdjsonTable {
    fn schema(&self) -> SchemaRef {
        self.0.schema.clone()
    }

    fn row_count(&self) -> u64 {
        self.0.rows
    }

    fn properties(&self) -> Vec<(&'static str, String)> {
        vec![("encoding", if self.0.bom > 0 { "UTF-8 with byte order mark" } else { "UTF-8" }.to_string())]
    }

    fn splits(&self, scan: &Scan) -> Result<Boxed<Vec<Split>>> {
        let rows = scan.row_range(self.0.rows)?;
        let pieces = self.0.pieces(&rows).filter_map(|index| self.0.piece(index)).filter(|p| !p.rows.is_empty());
        let within = |of: Range<u64>| of.start.max(rows.start)..of.end.min(rows.end);
        Ok(ready(pieces.map(|p| Split { rows: within(p.rows), ranges: vec![p.range] }).collect()))
    }

    fn read(&self, scan: &Scan, rows: &Selection) -> Result<Vec<Lane>> {
        let columns = scan.projection.resolve(&self.0.schema)?;
        if columns.is_empty() {
            return Ok(Vec::new());
        }
        let schema = scan.projection.schema(&self.0.schema)?;
        let part = |span: Range<u64>| {
            let machine = Rows::new(self.0.clone(), schema.clone(), &columns, span.clone(), scan);
            (span, vec![Lane { columns: (0..columns.len()).collect(), machine: Box::new(machine) }])
        };
        let spans = spans(rows, |row| self.0.piece_of(row).map_or(self.0.rows, |piece| piece.rows.end));
        Ok(pick(rows, spans.into_iter().map(part).collect()))
    }

    fn layout(&self) -> Result<Boxed<Layout>> {
        let survey = &self.0;
        let mut regions = vec![Region::new(ByteRange::between(0, survey.bom), RegionKind::Header, "byte order mark")];
        regions.extend((0..survey.checkpoints.len()).filter_map(|index| survey.piece(index)).map(|piece| {
            if piece.rows.is_empty() {
                Region::new(piece.range, RegionKind::Padding, "blank lines")
            } else {
                Region::new(piece.range, RegionKind::Data, format!("rows {}..{}", piece.rows.start, piece.rows.end))
            }
        }));
        Ok(ready(Layout::cover(survey.size, regions)))
    }

    fn verify(&self) -> Result<Boxed<Verified>> {
        Ok(ready(self.0.findings.clone().into()))
    }
}
