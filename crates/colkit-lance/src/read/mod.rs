//! From pages to arrays: finding pages by row, putting nested columns together, scanning and taking.

mod column;
mod lane;
mod lists;
mod shaped;

pub(crate) use column::ColumnReader;
pub(crate) use lane::{Pieces, has_blob};

use crate::container::{ColumnMetadata, Container, Version};
use crate::coroutine::{BoxFuture, Io};
use crate::describe;
use crate::encoding::Registry;
use crate::extensions::{self, Statistics, Zones};
use crate::rows::Rows;
use crate::schema::{Fields, Kind, Node};
use crate::zone_maps;
use arrow::array::ArrayRef;
use bytes::Bytes;
use colkit_core::{ByteRange, ColumnStatistics, Error, Limits, Result, ZoneMap};
use prost::Message;
use std::sync::{Arc, OnceLock};

/// An open file and what has been understood of it so far.
pub(crate) struct LanceFile {
    pub container: Arc<Container>,
    pub fields: Fields,
    pub registry: Arc<Registry>,
    pub limits: Limits,
    /// The message with the statistics; empty if the file has none.
    stated: Bytes,
    /// Of the top-level columns, understood when first asked for: a file may have thousands, and most who open it want few.
    statistics: OnceLock<Vec<ColumnStatistics>>,
    zones: OnceLock<Option<Arc<Zones>>>,
    /// Of the top-level columns, made of `zones` when a condition first looks at them.
    zone_maps: Vec<OnceLock<Option<ZoneMap>>>,
    readers: Vec<OnceLock<Arc<ColumnReader>>>,
}

impl LanceFile {
    pub fn new(container: Arc<Container>, fields: Fields, registry: Arc<Registry>, limits: Limits) -> Self {
        let mut readers = Vec::new();
        readers.resize_with(container.column_count(), OnceLock::new);
        let mut zone_maps = Vec::new();
        zone_maps.resize_with(fields.roots.len(), OnceLock::new);
        let (stated, statistics, zones) = (Bytes::new(), OnceLock::new(), OnceLock::new());
        LanceFile { container, fields, registry, limits, stated, statistics, zones, zone_maps, readers }
    }

    /// Reads the statistics of a file that has some.
    pub async fn load_statistics(&mut self, io: &Io) -> Result<()> {
        if let Some(range) = extensions::place(&self.container, &self.fields.own, extensions::STATISTICS) {
            let stated = self.container.fetch(io, vec![range]).await.map_err(|e| e.part(extensions::STATISTICS))?;
            self.stated = stated.into_iter().next().unwrap_or_default();
        }
        Ok(())
    }

    /// Statistics of the top-level columns; none if the file has none, or nothing that can be understood: `verify` says so.
    pub fn statistics(&self) -> &[ColumnStatistics] {
        self.statistics.get_or_init(|| {
            let found = Statistics::decode(self.stated.clone()).ok();
            let columns = found.map(|s| s.columns).filter(|c| c.len() == self.fields.roots.len());
            let types = self.fields.schema.fields().iter().map(|f| f.data_type());
            columns.iter().flatten().zip(types).map(|(zone, t)| extensions::shown(zone, t)).collect()
        })
    }

    /// The zone maps of a file that has some.
    pub async fn zones(&self, io: &Io) -> Result<Option<Arc<Zones>>> {
        if let Some(known) = self.zones.get() {
            return Ok(known.clone());
        }
        let found = extensions::load::<Zones>(&self.container, io, &self.fields.own, extensions::ZONES).await?;
        let found = found.filter(|z| z.rows_per_zone > 0 && z.columns.len() == self.fields.roots.len());
        Ok(self.zones.get_or_init(|| found.map(Arc::new)).clone())
    }

    /// The zone map of a top-level column, if it speaks of all rows.
    pub fn zone_map(&self, zones: &Zones, column: usize) -> Option<&ZoneMap> {
        let make = || {
            let stated = &zones.columns.get(column)?.zones;
            let data_type = self.fields.schema.fields().get(column)?.data_type();
            let all = stated.len() as u64 == self.fields.rows.div_ceil(zones.rows_per_zone);
            all.then(|| zone_maps::zone_map(stated, data_type)).flatten()
        };
        self.zone_maps.get(column)?.get_or_init(make).as_ref()
    }

    /// Where the bloom filter of each zone of a top-level column is, if the column has some.
    pub fn filter_ranges(&self, zones: &Zones, column: usize) -> Result<Option<Vec<ByteRange>>> {
        let Some(sizes) = zones.columns.get(column).map(|c| &c.filter_bytes).filter(|sizes| !sizes.is_empty()) else {
            return Ok(None);
        };
        let key = format!("{}{column}", extensions::BLOOM);
        let buffer = extensions::place(&self.container, &self.fields.own, &key);
        buffer.map(|buffer| extensions::filter_ranges(buffer, sizes)).transpose()
    }

    /// Makes the metadata of these columns known, in one go.
    pub async fn prepare(&self, io: &Io, columns: &[usize]) -> Result<()> {
        if columns.iter().all(|c| self.known_reader(*c).is_some()) {
            return Ok(());
        }
        let metadata = self.container.fetch_columns(io, columns).await?;
        for (column, metadata) in columns.iter().zip(metadata) {
            self.understand(*column, metadata)?;
        }
        Ok(())
    }

    fn understand(&self, column: usize, metadata: Arc<ColumnMetadata>) -> Result<Arc<ColumnReader>> {
        let slot = self.readers.get(column).ok_or_else(|| no_such_column(column))?;
        if let Some(known) = slot.get() {
            return Ok(known.clone());
        }
        let reader = ColumnReader::new(self, column, metadata).map_err(|e| e.part(format!("column {column}")))?;
        Ok(slot.get_or_init(|| Arc::new(reader)).clone())
    }

    /// The reader of a column, if its metadata has been fetched already.
    pub fn known_reader(&self, column: usize) -> Option<&Arc<ColumnReader>> {
        self.readers.get(column)?.get()
    }

    /// The reader of a column.
    pub async fn reader(&self, io: &Io, column: usize) -> Result<Arc<ColumnReader>> {
        if let Some(known) = self.known_reader(column) {
            return Ok(known.clone());
        }
        let mut metadata = self.container.fetch_columns(io, &[column]).await?;
        self.understand(column, metadata.pop().ok_or_else(|| no_such_column(column))?)
    }

    /// An error unless the columns of a top-level field have as many rows as the file.
    pub fn check_length(&self, node: &Node) -> Result<()> {
        let rows = self.fields.rows;
        let check = |column: usize, expected: Option<u64>| match self.known_reader(column) {
            Some(reader) if Some(reader.length()) != expected => Err(Error::corrupt(
                "row_count_mismatch",
                format!("the file has {rows} rows, but the pages of column {column} hold {}", reader.length()),
            )
            .at(reader.metadata.range.start())),
            _ => Ok(()),
        };
        match self.container.version() {
            Version::V2_0 => node.column.map_or(Ok(()), |c| check(c, Some(rows))),
            Version::V2_1 | Version::V2_2 | Version::V2_3 => {
                // Below a fixed-size list of structs a row counts as often as the list has items.
                fn leaves(node: &Node, rows: Option<u64>, found: &mut Vec<(usize, Option<u64>)>) {
                    let below = match node.kind {
                        Kind::FixedSizeList(n) => rows.and_then(|r| r.checked_mul(n.into())),
                        _ => rows,
                    };
                    found.extend(node.column.map(|c| (c, rows)));
                    node.children.iter().for_each(|c| leaves(c, below, found));
                }
                let mut found = Vec::new();
                leaves(node, Some(rows), &mut found);
                found.into_iter().try_for_each(|(column, expected)| check(column, expected))
            }
        }
    }

    /// Numbers the columns of an old 2.0 file whose text takes two columns each.
    pub async fn renumber(&mut self, io: &Io) -> Result<()> {
        let all: Vec<usize> = (0..self.container.column_count()).collect();
        let metadata = self.container.fetch_columns(io, &all).await?;
        let mut split = Vec::with_capacity(metadata.len());
        for (column, metadata) in metadata.into_iter().enumerate() {
            let first = metadata.pages.first().map(|p| {
                self.registry.page(p, &metadata, self.container.global_buffers(), self.container.size(), &self.limits)
            });
            split.push(matches!(first, Some(Ok(page)) if page.list_items().is_some()) && column < all.len());
        }
        self.fields.renumber(&|column| split.get(column) == Some(&true));
        Ok(())
    }

    /// Rows of a field. With `encoded` a column may come as a dictionary, if all rows are in one page.
    pub fn read(self: &Arc<Self>, io: &Io, node: &Arc<Node>, rows: Rows, encoded: bool) -> BoxFuture<ArrayRef> {
        let (file, io, node) = (self.clone(), io.clone(), node.clone());
        Box::pin(async move {
            file.prepare(&io, &node.columns()).await?;
            file.check_length(&node)?;
            let expected = rows.len();
            let name = node.field.name().clone();
            let array = match file.container.version() {
                Version::V2_0 => lists::read(file.clone(), io.clone(), node, rows).await,
                Version::V2_1 | Version::V2_2 | Version::V2_3 => {
                    shaped::read(file.clone(), io.clone(), node, rows, encoded).await
                }
            };
            let array = match array {
                Err(e) if e.code() == "plugin_refused" => Err(with_columns(e, &file, &io).await),
                other => other,
            };
            let array = array.map_err(|e| e.part(format!("field {name:?}")))?;
            if array.len() as u64 != expected {
                return Err(Error::corrupt(
                    "row_count_mismatch",
                    format!("field {name:?}: expected {expected} rows, its pages hold {}", array.len()),
                ));
            }
            Ok(array)
        })
    }
}

/// The error that a plugin may not run, with the columns that need it.
async fn with_columns(e: Error, file: &Arc<LanceFile>, io: &Io) -> Error {
    let Some(columns) = describe::refused_columns(file, io).await else { return e };
    let mut all = Error::new(e.class(), e.code(), format!("{}; columns that need it: {columns}", e.message()));
    if let Some(hint) = e.advice() {
        all = all.hint(hint.clone());
    }
    if let Some(offset) = e.offset() {
        all = all.at(offset);
    }
    match e.part_name() {
        Some(part) => all.part(part),
        None => all,
    }
}

fn no_such_column(column: usize) -> Error {
    Error::corrupt("missing_column", format!("the schema needs a column {column} that the file does not have"))
}
