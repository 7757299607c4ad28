//! What is in a file: its pages for people, its bytes for the map.

use crate::blob;
use crate::container::inside;
use crate::coroutine::Io;
use crate::encoding::{ColumnForm, Decoded, PageSummary, Runner, Target};
use crate::extensions::{self, Zones};
use crate::read::LanceFile;
use crate::rows::Rows;
use crate::schema::{Kind, Node};
use crate::seal::BLOCK;
use colkit_core::{ByteRange, ColumnStatistics, Layout, PluginNeed, PluginState, Region, RegionKind, Result};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// A physical column.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnSummary {
    /// Its number in the file.
    pub column: usize,
    /// The path of the field it belongs to, such as `a.b.item`; empty if it belongs to none.
    pub path: String,
    /// The top-level column of the schema.
    pub root: Option<usize>,
    /// Its pages.
    pub pages: Vec<PageEntry>,
    /// Buffers of the column itself.
    pub buffers: Vec<ByteRange>,
}

/// A page.
#[derive(Clone, Debug, PartialEq)]
pub struct PageEntry {
    /// Items or rows in it.
    pub rows: u64,
    /// Where its buffers are.
    pub buffers: Vec<ByteRange>,
    /// What its values lie between, if the file says so for the pages of this column.
    pub statistics: Option<ColumnStatistics>,
    /// The encodings beyond Lance's that it uses, by name.
    pub extended: Vec<String>,
    /// What it is; or why that is not known.
    pub summary: std::result::Result<PageSummary, String>,
}

/// The path and top-level column of each physical column.
pub(crate) fn owners(roots: &[Node]) -> HashMap<usize, (String, usize)> {
    fn walk(node: &Node, path: &str, root: usize, owners: &mut HashMap<usize, (String, usize)>) {
        let path = if path.is_empty() { node.field.name().clone() } else { format!("{path}.{}", node.field.name()) };
        node.children.iter().for_each(|c| walk(c, &path, root, owners));
        if let Some(column) = node.bytes_column {
            owners.insert(column, (format!("{path}.bytes"), root));
        }
        if let Some(column) = node.column {
            owners.insert(column, (path, root));
        }
    }
    let mut owners = HashMap::new();
    roots.iter().enumerate().for_each(|(root, node)| walk(node, "", root, &mut owners));
    owners
}

pub(crate) async fn columns(file: &Arc<LanceFile>, io: &Io) -> Result<Vec<ColumnSummary>> {
    let numbers: Vec<usize> = (0..file.container.column_count()).collect();
    let metadata = file.container.fetch_columns(io, &numbers).await?;
    let owners = owners(&file.fields.roots);
    let zones = file.zones(io).await?;
    let registry = file.registry.describing();
    let mut summaries = Vec::with_capacity(metadata.len());
    for (column, metadata) in numbers.into_iter().zip(metadata) {
        let (path, root) = owners.get(&column).cloned().map_or((String::new(), None), |(p, r)| (p, Some(r)));
        let lengths: Vec<u64> = metadata.pages.iter().map(|p| p.length).collect();
        let known = root.and_then(|root| page_statistics(file, zones.as_ref()?, root, column, &lengths));
        let pages = metadata.pages.iter().enumerate().map(|(number, page)| {
            let statistics = known.as_ref().and_then(|k| k.get(number).cloned());
            let globals = file.container.global_buffers();
            let known = registry.page(page, &metadata, globals, file.container.size(), &file.limits);
            let summary = known.map(|p| p.summary()).map_err(|e| e.to_string());
            let extended = registry.values().take_met().into_iter().collect();
            PageEntry { rows: page.length, buffers: page.buffers.clone(), statistics, extended, summary }
        });
        summaries.push(ColumnSummary { column, path, root, pages: pages.collect(), buffers: metadata.buffers.clone() });
    }
    Ok(summaries)
}

/// What is known of the values of each page of a column that is itself a top-level one, with pages of these lengths.
fn page_statistics(
    file: &LanceFile,
    zones: &Zones,
    root: usize,
    column: usize,
    lengths: &[u64],
) -> Option<Vec<ColumnStatistics>> {
    let node = file.fields.roots.get(root).filter(|n| n.column == Some(column))?;
    let pages = &zones.columns.get(root)?.pages;
    let same = pages.iter().map(|p| p.rows).eq(lengths.iter().copied());
    same.then(|| pages.iter().flat_map(|p| &p.zone).map(|z| extensions::shown(z, node.field.data_type())).collect())
}

/// Buffers start on multiples of this; what lies between is padding.
const ALIGNMENT: u64 = 64;

/// What lies around pages and column metadata.
fn frame(file: &LanceFile) -> Vec<Region> {
    let container = &file.container;
    let footer = container.footer();
    let end = ByteRange::between(footer.global_table.end(), container.size());
    let mut regions = vec![
        Region::new(footer.column_table, RegionKind::Metadata, "column table"),
        Region::new(footer.global_table, RegionKind::Metadata, "global buffer table"),
        Region::new(end, RegionKind::Header, "footer"),
    ];
    for (index, range) in container.global_buffers().iter().enumerate() {
        regions.push(Region::new(*range, RegionKind::Metadata, global_name(file, index)));
    }
    regions
}

pub(crate) async fn layout(file: &Arc<LanceFile>, io: &Io) -> Result<Layout> {
    let container = &file.container;
    let mut regions = frame(file);
    let columns = columns(file, io).await?;
    let plugins = needs(file, &columns);
    for column in columns {
        let place = if column.path.is_empty() { format!("column {}", column.column) } else { column.path.clone() };
        let of = |region: Region| match column.root {
            Some(root) => region.column(root),
            None => region,
        };
        if let Some(metadata) = container.known_column(column.column) {
            regions.push(of(Region::new(metadata.range, RegionKind::Metadata, format!("metadata of {place}"))));
            // Those in a global buffer are part of it.
            let whole = |range: &&ByteRange| {
                !container.global_buffers().iter().any(|g| g.start() <= range.start() && range.end() <= g.end())
            };
            for range in metadata.deferred.iter().filter(whole) {
                regions.push(Region::new(*range, RegionKind::Metadata, "shared encoding"));
            }
        }
        for (index, range) in column.buffers.iter().enumerate() {
            regions.push(of(Region::new(*range, RegionKind::Data, format!("{place}: column buffer {index}"))));
        }
        for (number, page) in column.pages.iter().enumerate() {
            for (index, range) in page.buffers.iter().enumerate() {
                let summary = page.summary.as_ref().ok();
                let content = summary.and_then(|s| s.buffers.get(index)).filter(|name| !name.is_empty());
                let name = format!("{place}: page {number} buffer {index}");
                let mut region = of(Region::new(*range, RegionKind::Data, name));
                region.encoding = content.cloned();
                regions.push(region);
            }
        }
        for range in blobs(file, io, &column).await? {
            regions.push(of(Region::new(range, RegionKind::Data, format!("{place}: blob"))));
        }
    }
    let mut layout = cover(container.size(), regions);
    layout.plugins = plugins;
    Ok(layout)
}

/// The plugins that columns need, by the names of the encodings that they decode.
fn needs(file: &LanceFile, columns: &[ColumnSummary]) -> Vec<PluginNeed> {
    let mut users: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    for column in columns {
        for name in column.pages.iter().flat_map(|page| &page.extended) {
            users.entry(name).or_default().extend(column.root);
        }
    }
    let values = file.registry.values();
    let need = |(name, columns): (&str, BTreeSet<usize>)| {
        let (state, sha256) = match values.named(name).map(|encoding| encoding.runner()) {
            Some(Runner::Native) => return None,
            Some(Runner::Plugin { sha256 }) => (PluginState::Loaded, Some(sha256)),
            Some(Runner::Refused { sha256 }) => (PluginState::Refused, Some(sha256)),
            Some(Runner::Unusable { sha256 }) => (PluginState::Unusable, Some(sha256)),
            None => (PluginState::Missing, None),
        };
        Some(PluginNeed { name: name.to_owned(), state, sha256, columns: columns.into_iter().collect() })
    };
    users.into_iter().filter_map(need).collect()
}

/// The names of the columns that need a plugin which was not allowed to run, for messages.
pub(crate) async fn refused_columns(file: &Arc<LanceFile>, io: &Io) -> Option<String> {
    let needs = needs(file, &columns(file, io).await.ok()?);
    let refused = needs.into_iter().filter(|need| need.state == PluginState::Refused);
    let columns: BTreeSet<usize> = refused.flat_map(|need| need.columns).collect();
    let names = columns.iter().filter_map(|c| Some(format!("{:?}", file.fields.roots.get(*c)?.field.name())));
    let mut names: Vec<String> = names.collect();
    let more = names.len().saturating_sub(MOST_COLUMNS);
    names.truncate(MOST_COLUMNS);
    names.extend((more > 0).then(|| format!("and {more} more")));
    (!names.is_empty()).then(|| names.join(", "))
}

/// Columns that a message names at most.
const MOST_COLUMNS: usize = 20;

/// What a global buffer holds, as far as that is known.
fn global_name(file: &LanceFile, index: usize) -> String {
    if index == 0 {
        return "file descriptor".to_owned();
    }
    let number = index.to_string();
    let known = file.fields.own.iter().find(|(_, value)| value.split(' ').next() == Some(number.as_str()));
    known.map_or_else(|| format!("global buffer {index}"), |(key, _)| format!("global buffer {index} ({key})"))
}

/// What lies in the block of checksums that begins here, for people.
pub(crate) async fn parts_at(file: &Arc<LanceFile>, io: &Io, start: u64) -> String {
    let block = ByteRange::between(start, start.saturating_add(BLOCK));
    let regions = match layout(file, io).await {
        Ok(layout) => layout.regions,
        // Where metadata is damaged, there is no map of all of it.
        Err(_) => {
            let columns = file.container.footer().column_metadata;
            let columns = Region::new(columns, RegionKind::Metadata, "metadata of columns");
            [columns].into_iter().chain(frame(file)).collect()
        }
    };
    let overlaps = |r: &&Region| r.range.start() < block.end() && block.start() < r.range.end();
    let named = regions.iter().filter(overlaps).filter(|r| r.kind != RegionKind::Padding);
    let mut names: Vec<String> = named
        .map(|r| match r.column {
            Some(_) if r.kind == RegionKind::Data => format!("column {}", r.name),
            _ => r.name.clone(),
        })
        .take(MOST_NAMED + 1)
        .collect();
    if names.len() > MOST_NAMED {
        names.truncate(MOST_NAMED);
        names.push("...".to_owned());
    }
    names.join(" or ")
}

/// Parts of a file that a message names at most.
const MOST_NAMED: usize = 3;

/// Where the values of a blob column lie. A column that cannot be read has none to show.
async fn blobs(file: &Arc<LanceFile>, io: &Io, column: &ColumnSummary) -> Result<Vec<ByteRange>> {
    let Ok(reader) = file.reader(io, column.column).await else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for index in 0..column.pages.len() {
        let Ok(page) = reader.page(file, index) else { continue };
        if let Some(machine) = page.clone().outside() {
            found.extend(io.run(machine).await.unwrap_or_default());
        } else if reader.form == ColumnForm::Blob {
            let rows = Rows::range(0..column.pages.get(index).map_or(0, |p| p.rows));
            let target =
                Target { field: blob::description_field(), kind: Kind::Packed, around: Vec::new(), encoded: false };
            let decoded = io.run(page.read(rows, target)).await;
            let Ok(Decoded::Array(array)) = decoded else { continue };
            let stored = blob::descriptions(&array)?.into_iter().filter(|d| d.size > 0);
            found.extend(stored.filter_map(|d| inside(d.position, d.size, file.container.size()).ok()));
        }
    }
    Ok(found)
}

/// The byte map. Buffers that are used twice appear once; real overlaps are cut and reported.
fn cover(size: u64, mut regions: Vec<Region>) -> Layout {
    regions.retain(|r| !r.range.is_empty());
    regions.sort_by_key(|r| (r.range.start(), r.range.end()));
    regions.dedup_by(|next, kept| next.range == kept.range);
    let mut overlaps = Vec::new();
    let mut apart: Vec<Region> = Vec::with_capacity(regions.len());
    for mut region in regions {
        if let Some(last) = apart.last()
            && region.range.start() < last.range.end()
        {
            overlaps.push((last.name.clone(), region.name.clone()));
            region.range = ByteRange::between(last.range.end(), region.range.end());
            if region.range.is_empty() {
                continue;
            }
        }
        apart.push(region);
    }
    let mut layout = Layout::cover(size, apart);
    layout.overlaps = overlaps;
    let mut after_buffer = false;
    for region in &mut layout.regions {
        let padding = after_buffer && region.range.len() < ALIGNMENT && region.range.end() % ALIGNMENT == 0;
        if region.kind == RegionKind::Gap && padding {
            region.kind = RegionKind::Padding;
            "padding".clone_into(&mut region.name);
        }
        after_buffer = region.kind != RegionKind::Gap;
    }
    layout
}
