//! An open file or stream.

use super::column::{IpcColumn, ranges};
use super::index::Index;
use crate::parts::each_once;
use crate::regions::layout;
use arrow::datatypes::{FieldRef, Schema, SchemaRef};
use colkit_core::{
    Boxed, ByteRange, ColumnRef, Finding, Lane, Layout, Projection, Region, RegionKind, Result, Scan, Selection, Split,
    Table, Verified, ready, select_rows, spans,
};
use std::ops::Range;
use std::sync::Arc;

/// Batches are read together up to this many bytes: writers of streams make small ones.
const SPLIT_BYTES: u64 = 8 << 20;

pub(super) struct IpcTable(Arc<Index>);

impl IpcTable {
    pub fn new(mut index: Index) -> Self {
        index.admit_nulls();
        IpcTable(Arc::new(index))
    }

    /// What reading a column in a batch fetches, its dictionaries apart.
    fn column_ranges(&self, batch: usize, column: usize) -> Vec<ByteRange> {
        let batch = self.0.batches.get(batch);
        batch.and_then(|b| Some(ranges(&b.batch, b.slots.get(column)?))).unwrap_or_default()
    }

    fn dictionary_ranges(&self, batch: usize, column: usize) -> Vec<ByteRange> {
        let dictionaries = self.0.dictionaries_of(column, batch);
        let dictionaries = dictionaries.iter().filter_map(|d| self.0.dictionaries.get(*d));
        dictionaries.flat_map(|d| ranges(&d.values, &d.slot)).collect()
    }

    /// Columns of a projection, each once, with the positions they are wanted at.
    fn chosen(&self, projection: &Projection) -> Result<Vec<(ColumnRef, Vec<usize>)>> {
        Ok(each_once(projection.resolve(&self.0.schema)?, |column| column.index))
    }
}

impl Table for IpcTable {
    fn schema(&self) -> SchemaRef {
        self.0.schema.clone()
    }

    fn row_count(&self) -> u64 {
        self.0.rows
    }

    fn properties(&self) -> Vec<(&'static str, String)> {
        let mut properties = self.0.properties.clone();
        properties.push(("batches", self.0.batches.len().to_string()));
        if let Some(first) = self.0.batches.first() {
            let codec = first.batch.compression.map_or("none".into(), |c| format!("{c:?}").to_ascii_lowercase());
            properties.push(("compression", codec));
        }
        if !self.0.dictionaries.is_empty() {
            properties.push(("dictionaries", self.0.dictionaries.len().to_string()));
        }
        properties
    }

    fn splits(&self, scan: &Scan) -> Result<Boxed<Vec<Split>>> {
        let rows = scan.row_range(self.0.rows)?;
        let columns = self.chosen(&scan.projection)?;
        let mut splits: Vec<Split> = Vec::new();
        let mut bytes = 0;
        for number in self.0.batches_of(&rows) {
            let Some(batch) = self.0.batches.get(number) else { continue };
            let of = batch.rows.start.max(rows.start)..batch.rows.end.min(rows.end);
            let needed: Vec<ByteRange> =
                columns.iter().flat_map(|(c, _)| self.column_ranges(number, c.index)).collect();
            let size: u64 = needed.iter().map(|r| r.len()).sum();
            match splits.last_mut() {
                Some(last) if bytes + size <= SPLIT_BYTES => {
                    last.rows.end = of.end;
                    last.ranges.extend(needed);
                    bytes += size;
                }
                _ => {
                    bytes = size;
                    splits.push(Split { rows: of, ranges: needed });
                }
            }
        }
        for split in &mut splits {
            let batches = self.0.batches_of(&split.rows);
            for (column, _) in &columns {
                // A stream may bring new dictionaries between two batches.
                for batch in batches.clone() {
                    split.ranges.extend(self.dictionary_ranges(batch, column.index));
                }
            }
            split.ranges.sort_unstable();
            split.ranges.dedup();
        }
        Ok(ready(splits))
    }

    fn read(&self, scan: &Scan, rows: &Selection) -> Result<Vec<Lane>> {
        let schema = scan.projection.schema(&self.0.schema)?;
        let chosen = self.chosen(&scan.projection)?;
        let part = |span: Range<u64>| {
            let lanes = chosen.iter().map(|(column, positions)| {
                let fields = positions.iter().filter_map(|p| schema.fields().get(*p).cloned());
                let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
                let machine = IpcColumn::new(self.0.clone(), column.index, schema, span.clone(), scan.batch_rows);
                Lane { columns: positions.clone(), machine: Box::new(machine) }
            });
            (span.clone(), lanes.collect())
        };
        let end = |row: u64| self.0.batches_of(&(row..row + 1)).next().and_then(|b| self.0.batches.get(b));
        let spans = spans(rows, |row| end(row).map_or(self.0.rows, |batch| batch.rows.end));
        Ok(select_rows(rows, spans.into_iter().map(part).collect()))
    }

    fn column_bytes(&self, column: usize) -> Option<u64> {
        let ranges = (0..self.0.batches.len()).flat_map(|batch| self.column_ranges(batch, column));
        Some(ranges.map(|r| r.len()).fold(0, u64::saturating_add))
    }

    fn verify(&self) -> Result<Boxed<Verified>> {
        let columns = self.0.with_nulls.iter().filter_map(|column| self.0.schema.fields().get(*column));
        let message = "it is said to have no nulls, but has some";
        let finding = |f: &FieldRef| Finding { part: format!("column {:?}", f.name()), message: message.into() };
        Ok(ready(columns.map(finding).collect::<Vec<_>>().into()))
    }

    fn layout(&self) -> Result<Boxed<Layout>> {
        let buffers: usize = self.0.batches.iter().map(|b| b.batch.buffers.len()).sum();
        self.0.limits.check_regions(self.0.regions.len() + buffers)?;
        let mut regions = self.0.regions.clone();
        for (number, batch) in self.0.batches.iter().enumerate() {
            for (column, field) in self.0.schema.fields().iter().enumerate() {
                let name = format!("column {:?}, rows {}..{}", field.name(), batch.rows.start, batch.rows.end);
                for range in self.column_ranges(number, column) {
                    let mut region = Region::new(range, RegionKind::Data, name.clone()).column(column);
                    region.raw_bytes = batch.batch.compression.is_none().then_some(range.len());
                    regions.push(region);
                }
            }
        }
        for dictionary in &self.0.dictionaries {
            let name = format!("values of dictionary {}", dictionary.id);
            for range in ranges(&dictionary.values, &dictionary.slot) {
                // Several columns may share it: it is no column's own.
                regions.push(Region::new(range, RegionKind::Metadata, name.clone()));
            }
        }
        let mut layout = padded(layout(self.0.size, regions));
        for region in layout.regions.iter_mut().filter(|r| r.kind == RegionKind::Gap) {
            let inside = |end: u64| region.range.start() <= end && end <= region.range.end();
            if self.0.end_of_messages.is_some_and(inside) && region.range.len() < 128 {
                region.kind = RegionKind::Padding;
                region.name = "end of the messages".into();
            }
        }
        Ok(ready(layout))
    }
}

/// The short gaps between buffers are there to align them.
fn padded(mut layout: Layout) -> Layout {
    for region in &mut layout.regions {
        if region.kind == RegionKind::Gap && region.range.len() < 64 {
            region.kind = RegionKind::Padding;
            region.name = "padding".into();
        }
    }
    layout
}
