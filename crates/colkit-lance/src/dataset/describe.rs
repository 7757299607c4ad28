//! The byte map of a dataset, and what `verify` adds to reading it.

use super::data_file::FragmentFile;
use super::table::Inner;
use crate::coroutine::Io;
use crate::read::LanceFile;
use crate::schema::Node;
use crate::{describe, verify};
use colkit_core::{ByteRange, Checksums, Error, Layout, Region, RegionKind, Result, Verified};
use std::collections::{HashMap, HashSet};

/// The byte map: the manifest, then the files of each fragment, one after another.
pub(super) async fn layout(dataset: &Inner, io: &Io) -> Result<Layout> {
    let limits = &dataset.opening.options.limits;
    let manifest = ByteRange::between(0, dataset.manifest_bytes);
    let mut regions = vec![Region::new(manifest, RegionKind::Metadata, "manifest")];
    let (mut at, mut overlaps) = (dataset.manifest_bytes, Vec::new());
    for fragment in &dataset.fragments {
        let contents = fragment.contents(&dataset.opening)?;
        for known in &contents.files {
            let file = known.open(io, &dataset.opening).await?;
            let columns = table_columns(dataset, &known.columns, &file);
            let inner = file.clone();
            let machine = file.container.coroutine(move |io| async move { describe::layout(&inner, &io).await });
            let map = io.run(known.object.inside(machine)).await.map_err(|e| e.file(known.name.clone()))?;
            limits.check_regions(regions.len().saturating_add(map.regions.len()))?;
            overlaps.extend(map.overlaps);
            let range = ByteRange::at(at, map.size)?;
            let parts = map.regions.into_iter().map(|region| moved(region, at, &columns)).collect();
            regions.push(Region::new(range, RegionKind::Data, known.name.clone()).parts(parts));
            at = range.end();
        }
        if let Some(deletions) = &contents.deletions {
            let length = deletions.measure(io).await?;
            let range = ByteRange::at(at, length)?;
            regions.push(Region::new(range, RegionKind::Metadata, deletions.name.clone()));
            at = range.end();
        }
    }
    let mut layout = Layout::cover(at, regions);
    layout.overlaps = overlaps;
    Ok(layout)
}

/// For each top-level column of a file which column of the table it is.
fn table_columns(dataset: &Inner, columns: &HashMap<i32, usize>, file: &LanceFile) -> Vec<Option<usize>> {
    fn ids(node: &Node, found: &mut Vec<i32>) {
        found.push(node.id);
        node.children.iter().for_each(|child| ids(child, found));
    }
    let roots = dataset.fields.roots.iter().map(|root| {
        let mut found = Vec::new();
        ids(root, &mut found);
        found.iter().filter_map(|id| columns.get(id).copied()).collect::<HashSet<usize>>()
    });
    let roots: Vec<HashSet<usize>> = roots.collect();
    let of = |own: &Node| roots.iter().position(|root| own.columns().iter().any(|column| root.contains(column)));
    file.fields.roots.iter().map(of).collect()
}

fn moved(mut region: Region, by: u64, columns: &[Option<usize>]) -> Region {
    region.range = ByteRange::between(region.range.start() + by, region.range.end() + by);
    region.column = region.column.and_then(|column| columns.get(column).copied().flatten());
    region.parts = region.parts.into_iter().map(|part| moved(part, by, columns)).collect();
    region
}

/// Checks what reading all values does not: checksums and statistics of data files, deleted rows, row ids.
pub(super) async fn check(dataset: &Inner, io: &Io) -> Result<Verified> {
    let mut verified = Verified::by(Checksums::Parts("the data files, not the manifest and deletion files".into()));
    for fragment in &dataset.fragments {
        let contents = match fragment.contents(&dataset.opening) {
            Ok(contents) => contents,
            Err(error) => {
                verified.errors.push(error);
                continue;
            }
        };
        for known in &contents.files {
            match check_file(dataset, io, known).await {
                Ok(Checksums::All) => {}
                Ok(_) => verified.checksums = Checksums::None,
                Err(error) => verified.errors.push(error),
            }
        }
        if let Err(error) = fragment.deleted(io, &dataset.opening).await {
            verified.errors.push(error);
        }
        if let Err(error) = fragment.ids(io, &dataset.opening).await {
            verified.errors.push(error);
        }
    }
    if dataset.fragments.is_empty() {
        verified.checksums = Checksums::None;
    }
    if !dataset.fragments.is_sorted_by(|a, b| a.id < b.id) {
        verified
            .errors
            .push(Error::corrupt("bad_dataset", "fragments are not in the order of their ids, or there twice"));
    }
    Ok(verified)
}

async fn check_file(dataset: &Inner, io: &Io, known: &FragmentFile) -> Result<Checksums> {
    let file = known.open(io, &dataset.opening).await?;
    let inner = file.clone();
    let machine = file.container.coroutine(move |io| async move {
        let covered = verify::checksums(&inner, &io).await?;
        verify::statistics(&inner, &io).await?;
        Ok(covered)
    });
    io.run(known.object.inside(machine)).await.map_err(|e| e.file(known.name.clone()))
}
