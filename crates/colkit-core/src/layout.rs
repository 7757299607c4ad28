//! The byte map of a file: every byte is in exactly one region.

use crate::ByteRange;
use arrow::datatypes::{DataType, Fields};
use serde::Serialize;

/// What a region of a file is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RegionKind {
    /// Magic, version, counts.
    Header,
    /// Schema, offsets, indexes, statistics.
    Metadata,
    /// Values.
    Data,
    /// Bytes that only keep alignment.
    Padding,
    /// Bytes that nothing refers to.
    Gap,
}

/// A named piece of a file, with smaller pieces inside it where it has any.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Region {
    /// Where it lies.
    pub range: ByteRange,
    /// What it is for.
    pub kind: RegionKind,
    /// What it is, in the format's own words.
    pub name: String,
    /// The column it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<usize>,
    /// How it is encoded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encoding: Option<String>,
    /// How many bytes it stands for once decoded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_bytes: Option<u64>,
    /// Parts, in file order. Bytes of the region between its parts belong to the region itself.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Region>,
}

impl Region {
    /// A region with a name and nothing else said about it.
    pub fn new(range: ByteRange, kind: RegionKind, name: impl Into<String>) -> Self {
        Region { range, kind, name: name.into(), column: None, encoding: None, raw_bytes: None, parts: Vec::new() }
    }

    /// Belongs to a column.
    pub fn column(mut self, column: usize) -> Self {
        self.column = Some(column);
        self
    }

    /// Is encoded like this, and decodes to so many bytes.
    pub fn encoded(mut self, encoding: impl Into<String>, raw_bytes: u64) -> Self {
        self.encoding = Some(encoding.into());
        self.raw_bytes = Some(raw_bytes);
        self
    }

    /// Adds this region and its parts to what is known of their columns. `counted` is the column whose bytes a region
    /// around this one has counted already.
    fn add_to<'a>(&'a self, columns: &mut [ColumnRegions<'a>], counted: Option<usize>) {
        let mut counted = counted;
        if let Some((index, column)) = self.column.and_then(|index| Some((index, columns.get_mut(index)?))) {
            if self.kind == RegionKind::Data && counted != Some(index) {
                column.stored_bytes += self.range.len();
                column.raw_bytes = column.raw_bytes.zip(self.raw_bytes).map(|(sum, raw)| sum.saturating_add(raw));
                counted = Some(index);
            }
            if let Some(encoding) = self.encoding.as_deref().filter(|e| !column.encodings.contains(e)) {
                column.encodings.push(encoding);
            }
        }
        for part in &self.parts {
            part.add_to(columns, counted);
        }
    }

    /// Has these parts.
    pub fn parts(mut self, parts: Vec<Region>) -> Self {
        self.parts = parts;
        self
    }
}

/// What the regions of a file say about one column, at any depth.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ColumnRegions<'a> {
    /// Bytes of its data as stored.
    pub stored_bytes: u64,
    /// Bytes of its data once decoded, if that is known: the regions say so, or all values have the same size.
    pub raw_bytes: Option<u64>,
    /// How it is encoded, each way once.
    pub encodings: Vec<&'a str>,
}

/// All regions of a file, sorted, covering it without hole or overlap.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Layout {
    /// The file's length.
    pub size: u64,
    /// The regions in file order.
    pub regions: Vec<Region>,
    /// Pairs of regions that claim the same bytes. Empty for every file that opened.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub overlaps: Vec<(String, String)>,
    /// Plugins without which columns cannot be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub plugins: Vec<PluginNeed>,
}

/// A plugin without which columns cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PluginNeed {
    /// The encoding that it decodes.
    pub name: String,
    /// Whether it is there.
    pub state: PluginState,
    /// The SHA-256 of the plugin that is loaded, or that the file brings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// The columns, by their numbers.
    pub columns: Vec<usize>,
}

/// Whether a plugin is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PluginState {
    /// It is loaded.
    Loaded,
    /// Nobody has it.
    Missing,
    /// The file brings it, and nobody allowed it to run.
    Refused,
    /// The file brings it, and it cannot be used.
    Unusable,
}

impl Layout {
    /// The byte map made of `regions`: sorted, empty ones dropped, holes filled with named gaps.
    pub fn cover(size: u64, mut regions: Vec<Region>) -> Self {
        regions.retain(|r| !r.range.is_empty());
        regions.sort_by_key(|r| (r.range.start(), r.range.end()));
        let mut covered = Vec::with_capacity(regions.len());
        let mut overlaps = Vec::new();
        let mut at = 0;
        let mut last_name = String::new();
        for region in regions {
            if region.range.start() > at {
                covered.push(Region::new(ByteRange::between(at, region.range.start()), RegionKind::Gap, "gap"));
            } else if region.range.start() < at {
                overlaps.push((last_name.clone(), region.name.clone()));
            }
            at = at.max(region.range.end());
            last_name.clone_from(&region.name);
            covered.push(region);
        }
        if at < size {
            covered.push(Region::new(ByteRange::between(at, size), RegionKind::Gap, "bytes after the last block"));
        }
        Layout { size, regions: covered, overlaps, plugins: Vec::new() }
    }

    /// Whether every byte of the file is in exactly one region.
    pub fn covers_exactly_once(&self) -> bool {
        let mut at = 0;
        for region in &self.regions {
            if region.range.start() != at {
                return false;
            }
            at = region.range.end();
        }
        at == self.size && self.overlaps.is_empty()
    }

    /// Regions nothing refers to.
    pub fn gaps(&self) -> impl Iterator<Item = &Region> {
        self.regions.iter().filter(|r| r.kind == RegionKind::Gap)
    }

    /// What the regions say about each column of a table of so many rows, found in one walk over them.
    pub fn columns(&self, fields: &Fields, rows: u64) -> Vec<ColumnRegions<'_>> {
        let mut columns = vec![ColumnRegions { raw_bytes: Some(0), ..ColumnRegions::default() }; fields.len()];
        for region in &self.regions {
            region.add_to(&mut columns, None);
        }
        for (column, field) in columns.iter_mut().zip(fields) {
            let values = || Some(rows.saturating_mul(bits(field.data_type())?).div_ceil(8));
            column.raw_bytes = column.raw_bytes.or_else(values);
        }
        columns
    }
}

/// Bits of every value, if all have the same.
fn bits(data_type: &DataType) -> Option<u64> {
    match data_type {
        DataType::Boolean => Some(1),
        DataType::FixedSizeBinary(bytes) => Some(u64::try_from(*bytes).ok()?.saturating_mul(8)),
        DataType::FixedSizeList(item, count) => {
            Some(bits(item.data_type())?.saturating_mul(u64::try_from(*count).ok()?))
        }
        other => Some(other.primitive_width()? as u64 * 8),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::datatypes::Field;
    use std::sync::Arc;

    fn data(a: u64, b: u64) -> Region {
        Region::new(ByteRange::between(a, b), RegionKind::Data, format!("{a}"))
    }

    #[test]
    fn holes_are_named_and_overlaps_found() {
        let layout = Layout::cover(100, vec![data(50, 60), data(0, 20), data(20, 20)]);
        assert!(layout.covers_exactly_once());
        assert_eq!(layout.gaps().map(|g| g.range.len()).collect::<Vec<_>>(), vec![30, 40]);
        let bad = Layout::cover(30, vec![data(0, 20), data(19, 30)]);
        assert_eq!(bad.overlaps, vec![("0".to_string(), "19".to_string())]);
        assert!(!bad.covers_exactly_once());
    }

    #[test]
    fn bytes_of_columns_are_counted_once() {
        let page = data(0, 50).column(1).encoded("fsst", 200);
        let parts = vec![data(0, 10).column(1), data(10, 50).column(1).encoded("lz4", 100)];
        let both = Region::new(ByteRange::between(50, 90), RegionKind::Data, "both");
        let both = both.parts(vec![
            data(50, 60).column(0),
            data(60, 90).column(1).encoded("fsst", 30),
            data(60, 90).column(7),
        ]);
        let layout = Layout::cover(90, vec![page.parts(parts), both]);
        let types = [DataType::Utf8, DataType::Utf8];
        let fields: Fields = types.map(|t| Field::new("x", t, false)).to_vec().into();
        let columns = layout.columns(&fields, 9);
        assert_eq!(columns[0], ColumnRegions { stored_bytes: 10, raw_bytes: None, encodings: vec![] });
        let both = vec!["fsst", "lz4"];
        assert_eq!(columns[1], ColumnRegions { stored_bytes: 80, raw_bytes: Some(230), encodings: both });
    }

    #[test]
    fn what_regions_do_not_say_is_told_by_the_type() {
        let layout = Layout::cover(40, (0..4).map(|i| data(i * 10, i * 10 + 10).column(0)).collect());
        let item = Arc::new(Field::new("item", DataType::Float32, true));
        for (data_type, raw) in [
            (DataType::Int64, Some(72)),
            (DataType::Boolean, Some(2)),
            (DataType::FixedSizeList(item, 3), Some(108)),
            (DataType::Utf8, None),
        ] {
            let fields: Fields = vec![Field::new("x", data_type, false)].into();
            assert_eq!(layout.columns(&fields, 9)[0].raw_bytes, raw);
        }
    }
}
