//! Zone maps of a top-level column: what its values lie between, for every so many rows, for every page and for all.
//!
//! Blocks of rows and pages end at different rows. Every run of rows that belongs to one of each is looked at once; blocks and
//! pages are sums of such runs.

use super::bounds::{BOUND_BYTES, Bounds, above, below};
use crate::bloom::{self, Filter};
use crate::extensions::{Bound, ColumnZones, PageZone, Zone};
use arrow::array::{Array, ArrayRef};
use colkit_core::{Result, Value};

/// Rows of a zone.
pub(super) const ZONE_ROWS: usize = 8192;

/// What is known of some rows.
#[derive(Clone, Default)]
pub(crate) struct Summary {
    bounds: Bounds,
    nulls: u64,
    rows: usize,
}

/// Collects the zones of a column, and its bloom filters if it has some.
#[derive(Default)]
pub(super) struct ZoneMap {
    blocks: Vec<Zone>,
    pages: Vec<PageZone>,
    block: Summary,
    page: Summary,
    all: Summary,
    bloom: Option<Vec<Filter>>,
    /// Hashes of the values of the open block.
    hashes: Vec<u64>,
}

/// What is known of a column's zones.
pub(super) struct ColumnZoneMap {
    pub zones: ColumnZones,
    /// Of all rows.
    pub all: Zone,
    pub bloom: Option<Vec<Filter>>,
}

impl ZoneMap {
    pub fn new(bloom: bool) -> Self {
        ZoneMap { bloom: bloom.then(Vec::new), ..ZoneMap::default() }
    }

    /// Takes the next rows.
    pub fn push(&mut self, array: &ArrayRef) -> Result<()> {
        let mut at = 0;
        while at < array.len() {
            let rows = (ZONE_ROWS - self.block.rows).min(array.len() - at);
            let part = array.slice(at, rows);
            let found = Summary::of(&part)?;
            self.block.add(&found);
            self.page.add(&found);
            if self.bloom.is_some() {
                self.hashes.append(&mut bloom::hashes(&part)?);
            }
            at += rows;
            if self.block.rows == ZONE_ROWS {
                self.end_block();
            }
        }
        Ok(())
    }

    fn end_block(&mut self) {
        self.blocks.push(std::mem::take(&mut self.block).zone());
        if let Some(filters) = &mut self.bloom {
            filters.push(Filter::of(std::mem::take(&mut self.hashes)));
        }
    }

    /// The rows since the last page are a page.
    pub fn end_page(&mut self) {
        let page = std::mem::take(&mut self.page);
        self.all.add(&page);
        self.pages.push(PageZone { rows: page.rows as u64, zone: Some(page.zone()) });
    }

    /// All zones, and the one of all rows.
    pub fn finish(mut self) -> ColumnZoneMap {
        if self.block.rows > 0 {
            self.end_block();
        }
        if self.page.rows > 0 {
            self.end_page();
        }
        let filter_bytes = self.bloom.iter().flatten().map(|f| f.0.len() as u64).collect();
        let zones = ColumnZones { zones: self.blocks, pages: self.pages, filter_bytes };
        ColumnZoneMap { zones, all: self.all.zone(), bloom: self.bloom }
    }
}

impl Summary {
    pub fn of(array: &ArrayRef) -> Result<Summary> {
        Ok(Summary { bounds: Bounds::of(array)?, nulls: array.logical_null_count() as u64, rows: array.len() })
    }

    pub fn add(&mut self, more: &Summary) {
        self.bounds.add(&more.bounds);
        self.nulls += more.nulls;
        self.rows += more.rows;
    }

    pub fn zone(&self) -> Zone {
        let short = |v: &Value| match v {
            Value::Text(s) => s.len() <= BOUND_BYTES,
            Value::Bytes(b) => b.len() <= BOUND_BYTES,
            _ => true,
        };
        let Bounds::Between(min, max) = &self.bounds else {
            return Zone { null_count: self.nulls, ..Zone::default() };
        };
        Zone {
            min: Bound::of(&below(min)),
            max: above(max).as_ref().and_then(Bound::of),
            null_count: self.nulls,
            inexact: !(short(min) && short(max)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{Float64Array, Int32Array, StringArray};
    use std::sync::Arc;

    fn all(array: ArrayRef) -> Zone {
        let mut map = ZoneMap::default();
        map.push(&array).unwrap();
        map.finish().all
    }

    #[test]
    fn zones_are_cut_by_rows() {
        let mut map = ZoneMap::default();
        for part in 0..5 {
            let numbers: Int32Array = (0..5000).map(|i| (i > 0).then_some(part * 5000 + i)).collect();
            map.push(&(Arc::new(numbers) as ArrayRef)).unwrap();
            if part % 2 == 1 {
                map.end_page();
            }
        }
        let ColumnZoneMap { zones, all, .. } = map.finish();
        let ColumnZones { zones, pages, .. } = zones;
        assert_eq!(zones.len(), 4);
        assert_eq!(zones.iter().map(|z| z.null_count).sum::<u64>(), 5);
        assert_eq!(zones[1].statistics().min, Some(Value::Int(8192)));
        assert_eq!(all.statistics().max, Some(Value::Int(24_999)));
        assert_eq!(pages.iter().map(|p| p.rows).collect::<Vec<_>>(), [10_000, 10_000, 5000]);
        let page = pages[1].zone.clone().unwrap().statistics();
        assert_eq!((page.min, page.max), (Some(Value::Int(10_001)), Some(Value::Int(19_999))));
        assert_eq!(page.null_count, Some(2));
    }

    #[test]
    fn long_texts_are_cut_on_the_safe_side() {
        let (low, high) = ("é".repeat(40), "z".repeat(100));
        let found = all(Arc::new(StringArray::from(vec![low.as_str(), high.as_str()]))).statistics();
        let (Some(Value::Text(min)), Some(Value::Text(max))) = (found.min, found.max) else { panic!("no bounds") };
        // é lies above z.
        assert!(min.as_str() <= high.as_str() && high.starts_with(&min) && min.len() == 64);
        assert!(max.as_str() >= low.as_str() && max.len() <= 65 && !found.exact);
        let top = char::MAX.to_string().repeat(30);
        assert_eq!(all(Arc::new(StringArray::from(vec![top.as_str()]))).max, None);
    }

    #[test]
    fn nan_is_outside() {
        let found = all(Arc::new(Float64Array::from(vec![f64::NAN, 2.0, -1.0]))).statistics();
        assert_eq!((found.min, found.max), (Some(Value::Float(-1.0)), Some(Value::Float(2.0))));
        assert_eq!(all(Arc::new(Float64Array::from(vec![f64::NAN]))).min, None);
    }
}
