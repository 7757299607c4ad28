//! What is in a file: its pages for people, its bytes for the map.

use crate::coroutine::Io;
use crate::encoding::PageSummary;
use crate::read::LanceFile;
use crate::schema::Node;
use colkit_core::{ByteRange, Layout, Region, RegionKind, Result};
use std::collections::HashMap;
use std::sync::Arc;

/// A physical column.
#[derive(Clone, Debug, PartialEq, Eq)]
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageEntry {
    /// Items or rows in it.
    pub rows: u64,
    /// Where its buffers are.
    pub buffers: Vec<ByteRange>,
    /// What it is; or why that is not known.
    pub summary: std::result::Result<PageSummary, String>,
}

/// The path and top-level column of each physical column.
fn owners(roots: &[Node]) -> HashMap<usize, (String, usize)> {
    fn walk(node: &Node, path: &str, root: usize, owners: &mut HashMap<usize, (String, usize)>) {
        let path = if path.is_empty() { node.field.name().clone() } else { format!("{path}.{}", node.field.name()) };
        node.children.iter().for_each(|c| walk(c, &path, root, owners));
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
    let mut summaries = Vec::with_capacity(metadata.len());
    for (column, metadata) in numbers.into_iter().zip(metadata) {
        let (path, root) = owners.get(&column).cloned().map_or((String::new(), None), |(p, r)| (p, Some(r)));
        let pages = metadata.pages.iter().map(|page| {
            let globals = file.container.global_buffers();
            let known = file.registry.page(page, &metadata, globals, file.container.size(), &file.limits);
            let summary = known.map(|p| p.summary()).map_err(|e| e.to_string());
            PageEntry { rows: page.length, buffers: page.buffers.clone(), summary }
        });
        summaries.push(ColumnSummary { column, path, root, pages: pages.collect(), buffers: metadata.buffers.clone() });
    }
    Ok(summaries)
}

pub(crate) async fn layout(file: &Arc<LanceFile>, io: &Io) -> Result<Layout> {
    let _ = (file, io, RegionKind::Data);
    Ok(Layout::cover(0, Vec::<Region>::new()))
}
