//! An open text file.

use super::index::TextIndex;
use super::rows::{RowReader, Rows};
use arrow::datatypes::SchemaRef;
use colkit_core::{
    Boxed, ColumnRef, Finding, Lane, Layout, Result, Scan, Selection, Split, Table, Verified, ready, select_rows, spans,
};
use std::ops::Range;
use std::sync::Arc;

/// How the records of an open file are read.
pub(crate) trait Records: Send + Sync {
    /// Facts about the file, for people.
    fn properties(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// Reads these columns, of which `schema` says what to keep. Batches have about so many rows.
    fn reader(&self, columns: &[ColumnRef], schema: &SchemaRef, batch_rows: usize) -> Box<dyn RowReader>;
}

pub(crate) struct TextTable {
    schema: SchemaRef,
    index: Arc<TextIndex>,
    records: Box<dyn Records>,
    findings: Vec<Finding>,
}

impl TextTable {
    pub fn new(schema: SchemaRef, index: TextIndex, records: impl Records + 'static, findings: Vec<Finding>) -> Self {
        TextTable { schema, index: Arc::new(index), records: Box::new(records), findings }
    }
}

impl Table for TextTable {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn row_count(&self) -> u64 {
        self.index.rows
    }

    fn properties(&self) -> Vec<(&'static str, String)> {
        let encoding = if self.index.mark > 0 { "UTF-8 with byte order mark" } else { "UTF-8" };
        let mut properties = self.records.properties();
        properties.push(("encoding", encoding.to_string()));
        properties
    }

    fn splits(&self, scan: &Scan) -> Result<Boxed<Vec<Split>>> {
        let rows = scan.row_range(self.index.rows)?;
        let pieces = self.index.pieces(&rows).filter_map(|index| self.index.piece(index));
        let within = |of: Range<u64>| of.start.max(rows.start)..of.end.min(rows.end);
        Ok(ready(pieces.map(|p| Split { rows: within(p.rows), ranges: vec![p.range] }).collect()))
    }

    fn read(&self, scan: &Scan, rows: &Selection) -> Result<Vec<Lane>> {
        let columns = scan.projection.resolve(&self.schema)?;
        if columns.is_empty() {
            return Ok(Vec::new());
        }
        let schema = scan.projection.schema(&self.schema)?;
        let part = |span: Range<u64>| {
            let batch_rows = usize::try_from(span.end - span.start).unwrap_or(usize::MAX).min(scan.batch_rows);
            let reader = self.records.reader(&columns, &schema, batch_rows);
            let machine = Rows::new(self.index.clone(), schema.clone(), reader, span.clone(), scan);
            (span, vec![Lane { columns: (0..columns.len()).collect(), machine: Box::new(machine) }])
        };
        // Rows outside of a span are passed over, not converted.
        let spans = spans(rows, |row| self.index.piece_of(row).map_or(self.index.rows, |piece| piece.rows.end));
        Ok(select_rows(rows, spans.into_iter().map(part).collect()))
    }

    fn layout(&self) -> Result<Boxed<Layout>> {
        Ok(ready(Layout::cover(self.index.size, self.index.regions())))
    }

    fn verify(&self) -> Result<Boxed<Verified>> {
        Ok(ready(self.findings.clone().into()))
    }
}
