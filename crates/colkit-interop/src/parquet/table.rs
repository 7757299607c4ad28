//! An open Parquet file.

use super::MAGIC;
use super::checksums::Seal;
use super::column::{Columns, File, Wanted};
use super::plan::{Plan, chunk_range, leaves_by_column, leaves_of};
use super::prune::FileStatistics;
use super::types::Readers;
use crate::parts::each_once;
use crate::regions::layout;
use ::parquet::file::metadata::ParquetMetaData;
use arrow::datatypes::{Schema, SchemaRef};
use colkit_core::coroutine::coroutine;
use colkit_core::{
    Boxed, ByteRange, Checksums, ColumnRef, ColumnStatistics, Error, Finding, Lane, Layout, Limits, Projection, Region,
    RegionKind, Result, Scan, Selection, Split, Table, Verified, memory, ready,
};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// Row groups smaller than this are read together with the next ones.
const SPLIT_BYTES: u64 = 2 << 20;

pub(super) struct ParquetTable {
    file: File,
    schema: SchemaRef,
    size: u64,
    footer: ByteRange,
    seal: Option<Seal>,
    findings: Vec<Finding>,
    /// The first row of every row group, and the number of rows.
    starts: Vec<u64>,
    /// The leaves of every column.
    leaves: Vec<Range<usize>>,
}

/// A column that is read, the leaves it needs, and where it is wanted.
struct Chosen {
    column: ColumnRef,
    leaves: Vec<usize>,
    positions: Vec<usize>,
}

/// Lanes of a split at most: each has a decoder, which has a place for every column of the file.
const MOST_LANES: usize = 64;

/// Columns that are read together: each by itself, unless there are very many.
fn in_lanes(mut chosen: Vec<Chosen>) -> Vec<Vec<Chosen>> {
    let most = chosen.len().div_ceil(MOST_LANES);
    // A decoder gives columns in the order of the file, each once.
    chosen.sort_by_key(|c| c.column.index);
    let mut lanes: Vec<Vec<Chosen>> = Vec::new();
    for next in chosen {
        match lanes.last_mut() {
            Some(lane) if lane.len() < most && lane.last().is_some_and(|c| c.column.index != next.column.index) => {
                lane.push(next);
            }
            _ => lanes.push(vec![next]),
        }
    }
    lanes
}

impl ParquetTable {
    pub fn new(
        readers: Readers,
        size: u64,
        footer: ByteRange,
        seal: Option<Seal>,
        encrypted: bool,
        findings: Vec<Finding>,
    ) -> Self {
        let schema = readers.plain.schema().clone();
        let mut starts = vec![0];
        for group in readers.plain.metadata().row_groups() {
            let rows = u64::try_from(group.num_rows()).unwrap_or(0);
            starts.push(starts.last().copied().unwrap_or(0) + rows);
        }
        let leaves = leaves_by_column(readers.plain.metadata(), schema.fields().len());
        let file = File { readers, size, sealed: seal.is_some(), encrypted };
        ParquetTable { file, schema, size, footer, seal, findings, starts, leaves }
    }

    fn metadata(&self) -> &ParquetMetaData {
        self.file.readers.plain.metadata()
    }

    fn plan(&self) -> Plan<'_> {
        Plan { metadata: self.metadata(), starts: &self.starts }
    }

    fn file_statistics(&self) -> FileStatistics<'_> {
        FileStatistics { metadata: self.metadata(), schema: &self.schema, leaves: &self.leaves }
    }

    fn chosen(&self, projection: &Projection) -> Result<Vec<Chosen>> {
        let once = each_once(projection.resolve(&self.schema)?, ColumnRef::clone);
        let chosen = once.into_iter().filter_map(|(column, positions)| {
            let (field, leaves) = self.schema.fields().get(column.index).zip(self.leaves.get(column.index))?;
            let leaves = leaves_of(&column, field.data_type(), leaves);
            Some(Chosen { column, leaves, positions })
        });
        Ok(chosen.collect())
    }

    /// Rows per batch such that a batch of the column stays within its bytes, as far as the footer knows.
    fn batch_rows(&self, groups: &[usize], leaves: &[usize], scan: &Scan) -> usize {
        let mut per_row = 1;
        for group in groups.iter().filter_map(|g| self.metadata().row_groups().get(*g)) {
            let chunks = leaves.iter().filter_map(|l| group.columns().get(*l));
            let bytes: i64 = chunks
                .map(|c| c.uncompressed_size().max(c.unencoded_byte_array_data_bytes().unwrap_or(0)))
                .fold(0, i64::saturating_add);
            per_row = per_row.max(bytes.checked_div(group.num_rows()).unwrap_or(0));
        }
        let per_row = usize::try_from(per_row).unwrap_or(usize::MAX);
        scan.batch_rows.min(scan.batch_bytes / per_row.max(1)).max(1)
    }

    /// Lanes for these rows.
    fn lanes(&self, rows: &Selection, scan: &Scan) -> Result<Vec<Lane>> {
        let plan = self.plan();
        let schema = scan.projection.schema(&self.schema)?;
        let mut lanes = Vec::new();
        for together in in_lanes(self.chosen(&scan.projection)?) {
            let positions: Vec<usize> = together.iter().flat_map(|c| c.positions.iter().copied()).collect();
            let leaves: Vec<usize> = together.iter().flat_map(|c| c.leaves.iter().copied()).collect();
            let fields = positions.iter().filter_map(|p| schema.fields().get(*p).cloned());
            let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
            let (decoded, kept) = decoded(&plan, &leaves, rows);
            let mut groups: Vec<usize> = decoded.ranges().iter().flat_map(|r| plan.groups(r)).collect();
            groups.dedup();
            let wanted = Wanted {
                mask: plan.mask(&leaves),
                rows: decoded.len(),
                kept,
                batch_rows: self.batch_rows(&groups, &leaves, scan),
                memory: scan.memory,
                groups: groups.into_iter().map(|group| (group, plan.selection(group, &decoded))).collect(),
                times: together.iter().map(|c| c.positions.len()).collect(),
                leaves,
            };
            let name = |c: &Chosen| self.schema.fields().get(c.column.index).map_or("", |f| f.name());
            let part = match together.as_slice() {
                [first, .., last] => format!("columns {:?} to {:?}", name(first), name(last)),
                one => format!("column {:?}", one.first().map_or("", name)),
            };
            let columns = Columns::new(self.file.clone(), wanted, schema, part);
            lanes.push(Lane { columns: positions, machine: Box::new(columns) });
        }
        Ok(lanes)
    }

    fn plan_splits(&self, scan: &Scan) -> Result<Vec<Split>> {
        let rows = scan.row_range(self.row_count())?;
        let (plan, known) = (self.plan(), self.file_statistics());
        let chosen = self.chosen(&scan.projection)?;
        let leaves: Vec<usize> = chosen.iter().flat_map(|c| c.leaves.iter().copied()).collect();
        // Up to four splits are under way at once.
        let budget = (scan.memory / 16).max(1 << 20);
        let mut splits: Vec<(Split, u64)> = Vec::new();
        let groups = match &scan.predicate {
            None => plan.groups(&rows).collect(),
            Some(p) => known.may_match(plan.groups(&rows), p),
        };
        for group in groups {
            let of = plan.group_rows(group);
            let of = of.start.max(rows.start)..of.end.min(rows.end);
            let runs = match &scan.predicate {
                None => vec![of],
                Some(p) => known.runs(&plan, group, &of, p),
            };
            for run in runs.into_iter().filter(|r| !r.is_empty()) {
                let bytes = |rows: &Range<u64>| {
                    let ranges: Vec<ByteRange> =
                        chosen.iter().flat_map(|c| plan.ranges(group, &c.leaves, rows)).collect();
                    (ranges.iter().map(|r| r.len()).sum::<u64>(), ranges)
                };
                let (cost, _) = bytes(&run);
                let pieces =
                    if cost > budget { plan.cut(group, &leaves, run, cost.div_ceil(budget)) } else { vec![run] };
                for piece in pieces {
                    let (cost, ranges) = bytes(&piece);
                    Limits::check("a row group", cost, scan.memory)
                        .map_err(|e| e.part(format!("row group {group}")).hint(memory::hint()))?;
                    match splits.last_mut() {
                        // Small row groups one after another, and large ones that cannot be cut, so that only one of
                        // them is in memory.
                        Some((last, size))
                            if last.rows.end == piece.start && (*size + cost <= SPLIT_BYTES || cost > 2 * budget) =>
                        {
                            last.rows.end = piece.end;
                            last.ranges.extend(ranges);
                            *size += cost;
                        }
                        _ => splits.push((Split { rows: piece, ranges }, cost)),
                    }
                }
            }
        }
        Ok(splits.into_iter().map(|(split, _)| split).collect())
    }
}

impl Table for ParquetTable {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn row_count(&self) -> u64 {
        self.starts.last().copied().unwrap_or(0)
    }

    fn properties(&self) -> Vec<(&'static str, String)> {
        let file = self.metadata().file_metadata();
        let mut properties = vec![("version", file.version().to_string())];
        if let Some(writer) = file.created_by() {
            properties.push(("written by", writer.to_string()));
        }
        properties.push(("row groups", self.metadata().num_row_groups().to_string()));
        let chunks = self.metadata().row_groups().iter().flat_map(|g| g.columns());
        let mut codecs: Vec<String> =
            chunks.take(10_000).map(|c| format!("{:?}", c.compression_codec()).to_ascii_lowercase()).collect();
        codecs.sort_unstable();
        codecs.dedup();
        properties.push(("compression", codecs.join(", ")));
        let index = match (self.metadata().offset_index(), self.metadata().column_index()) {
            (Some(_), Some(_)) => "places and bounds of pages",
            (Some(_), None) => "places of pages",
            _ => "none",
        };
        properties.push(("page index", index.to_string()));
        if self.seal.is_some() {
            properties.push(("checksums", "of every byte".to_string()));
        }
        properties
    }

    fn statistics(&self) -> Vec<ColumnStatistics> {
        let known = self.file_statistics();
        (0..self.schema.fields().len()).map(|column| known.of_file(column).unwrap_or_default()).collect()
    }

    fn splits(&self, scan: &Scan) -> Result<Boxed<Vec<Split>>> {
        Ok(ready(self.plan_splits(scan)?))
    }

    fn read(&self, scan: &Scan, rows: &Selection) -> Result<Vec<Lane>> {
        self.lanes(rows, scan)
    }

    fn column_bytes(&self, column: usize) -> Option<u64> {
        let leaves = self.leaves.get(column)?;
        let chunks =
            self.metadata().row_groups().iter().flat_map(|g| g.columns().get(leaves.clone()).unwrap_or_default());
        Some(chunks.map(|c| u64::try_from(c.compressed_size()).unwrap_or(0)).fold(0, u64::saturating_add))
    }

    fn layout(&self) -> Result<Boxed<Layout>> {
        let magic = MAGIC.len() as u64;
        let mut regions = vec![
            Region::new(ByteRange::between(0, magic), RegionKind::Header, "magic"),
            Region::new(self.footer, RegionKind::Metadata, "footer"),
            Region::new(
                ByteRange::between(self.footer.end(), self.size),
                RegionKind::Header,
                "length of the footer, magic",
            ),
        ];
        let plan = self.plan();
        let owners: HashMap<usize, usize> = self
            .leaves
            .iter()
            .enumerate()
            .flat_map(|(column, of)| of.clone().map(move |leaf| (leaf, column)))
            .collect();
        for (number, group) in self.metadata().row_groups().iter().enumerate() {
            for (leaf, chunk) in group.columns().iter().enumerate() {
                let Some((range, &column)) = chunk_range(chunk).zip(owners.get(&leaf)) else { continue };
                let path = chunk.column_path().string();
                let codec = format!("{:?}", chunk.compression_codec()).to_ascii_lowercase();
                let encodings: Vec<String> = chunk.encodings().map(|e| format!("{e}")).collect();
                let raw = u64::try_from(chunk.uncompressed_size()).unwrap_or(0);
                let mut region = Region::new(range, RegionKind::Data, format!("row group {number}, {path}"))
                    .column(column)
                    .encoded(format!("{} {codec}", encodings.join("+")), raw);
                for (page, place) in plan.pages(number, leaf).into_iter().flatten().enumerate() {
                    let place = u64::try_from(place.offset).ok().zip(u64::try_from(place.compressed_page_size).ok());
                    let Some(place) = place.and_then(|(at, n)| ByteRange::at(at, n).ok()) else { continue };
                    region.parts.push(Region::new(place, RegionKind::Data, format!("page {page}")));
                }
                regions.push(region);
                for (kind, offset, length) in [
                    ("column index", chunk.column_index_offset(), chunk.column_index_length()),
                    ("offset index", chunk.offset_index_offset(), chunk.offset_index_length()),
                    ("bloom filter", chunk.bloom_filter_offset(), chunk.bloom_filter_length()),
                ] {
                    let place = offset
                        .zip(length)
                        .and_then(|(at, n)| ByteRange::at(u64::try_from(at).ok()?, u64::try_from(n).ok()?).ok());
                    let Some(place) = place.filter(|p| p.end() <= self.footer.start()) else { continue };
                    let name = format!("{kind} of row group {number}, {path}");
                    regions.push(Region::new(place, RegionKind::Metadata, name));
                }
            }
        }
        Ok(ready(layout(self.size, regions)))
    }

    fn verify(&self) -> Result<Boxed<Verified>> {
        // What reading all rows does not check: the magic at the start, and a page index that is not used.
        let (seal, findings) = (self.seal, self.findings.clone());
        Ok(coroutine(move |io| async move {
            let head = ByteRange::between(0, MAGIC.len() as u64);
            let got = io.read(std::iter::once(head).chain(seal.map(|s| s.index)).collect()).await?;
            if got.first().is_none_or(|head| head.as_ref() != MAGIC) {
                return Err(Error::corrupt("bad_magic", "expected \"PAR1\" at the start").at(0));
            }
            if let (Some(seal), [_, index]) = (seal, got.as_slice()) {
                seal.check_index(index)?;
            }
            let checksums = if seal.is_some() { Checksums::All } else { Checksums::None };
            Ok(Verified { findings, ..Verified::by(checksums) })
        }))
    }
}

/// The rows to decode to get these rows, and where those are among them.
fn decoded(plan: &Plan<'_>, leaves: &[usize], rows: &Selection) -> (Selection, Selection) {
    let (mut decoded, mut kept) = (Selection::default(), Selection::default());
    let mut count = 0;
    for range in rows.ranges() {
        let wide = plan.decoded(leaves, range);
        let new = wide.start.max(decoded.end())..wide.end;
        count += new.end.saturating_sub(new.start);
        decoded.push(new);
        let end = count - (decoded.end() - range.end);
        kept.push(end - (range.end - range.start)..end);
    }
    (decoded, kept)
}
