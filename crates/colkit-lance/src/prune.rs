//! Which rows a condition may hold for, by what colkit adds to files: zone maps and bloom filters.

use crate::bloom::{self, Filter};
use crate::coroutine::Io;
use crate::extensions::Zones;
use crate::read::LanceFile;
use arrow::buffer::BooleanBuffer;
use colkit_core::{BoundPredicate, ByteRange, Literal, Result};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

/// The rows among these that cannot be ruled out, as ranges in order. `column_of` finds the file's own column for one that the
/// predicate names.
pub(crate) async fn may_match(
    file: &LanceFile,
    io: &Io,
    predicate: &BoundPredicate,
    rows: Range<u64>,
    column_of: &(dyn Fn(usize) -> Option<usize> + Sync),
) -> Result<Vec<Range<u64>>> {
    let Some(stated) = file.zones(io).await? else { return Ok(vec![rows]) };
    let known = |column: usize| file.zone_map(&stated, column_of(column)?);
    if !predicate.columns().into_iter().any(|column| known(column).is_some()) {
        // Nothing tells one zone from another, and a file may claim any number of them.
        let may = predicate.prune(1, &|_| None).value(0);
        return Ok(if may { vec![rows] } else { Vec::new() });
    }
    let each = stated.rows_per_zone;
    let place = |zone: u64| usize::try_from(zone).unwrap_or(usize::MAX);
    let zones = place(rows.start / each)..place(rows.end.div_ceil(each));
    let map = |column: usize| known(column)?.slice(zones.clone());
    let mut kept = predicate.prune(zones.len(), &map);
    let left: Vec<usize> = kept.set_indices().map(|zone| zones.start + zone).collect();
    let looked_for = bloom::looked_for(predicate).into_iter();
    let looked_for = looked_for.filter_map(|(column, hashes)| Some(((column, column_of(column)?), hashes))).collect();
    let absent = absent(file, io, &stated, &looked_for, &left).await?;
    if !absent.is_empty() {
        let may_hold = |column: usize, literal: &Literal| {
            let without = absent.get(&(column, bloom::hash_of(literal)?))?;
            Some(BooleanBuffer::collect_bool(zones.len(), |zone| !without.contains(&(zones.start + zone))))
        };
        kept = &kept & &predicate.prune_with(zones.len(), &map, &may_hold);
    }
    let first_row = |zone: usize| ((zones.start + zone) as u64).saturating_mul(each);
    let run = |(start, end): (usize, usize)| first_row(start).max(rows.start)..first_row(end).min(rows.end);
    Ok(kept.set_slices().map(run).collect())
}

/// A filter, or the block of it that a hash falls into, to be asked for these hashes.
struct FilterQuery<'a> {
    column: usize,
    zone: usize,
    range: ByteRange,
    hashes: &'a [u64],
}

/// A column, and the hash of one of its values.
type Hashed = (usize, u64);

/// The values that certainly do not occur in some of these zones, by their bloom filters, and which zones these are. Columns
/// are told by their place in the predicate's table and in the file.
async fn absent(
    file: &LanceFile,
    io: &Io,
    zones: &Zones,
    looked_for: &BTreeMap<(usize, usize), Vec<u64>>,
    among: &[usize],
) -> Result<HashMap<Hashed, HashSet<usize>>> {
    let mut asks = Vec::new();
    for ((column, own), hashes) in looked_for {
        let Some(filters) = file.filter_ranges(zones, *own)? else { continue };
        for zone in among {
            let Some(filter) = filters.get(*zone).copied() else { continue };
            let ask = |range, hashes| FilterQuery { column: *column, zone: *zone, range, hashes };
            // A block per hash, unless these would be a good part of the filter.
            if filter.len() / (4 * bloom::BLOCK_BYTES as u64) < hashes.len() as u64 {
                asks.push(ask(filter, hashes.as_slice()));
            } else {
                let block = |hash: &[u64]| bloom::block_range(*hash.first()?, filter);
                asks.extend(hashes.chunks(1).filter_map(|hash| Some(ask(block(hash)?, hash))));
            }
        }
    }
    let bytes = file.container.fetch(io, asks.iter().map(|a| a.range).collect()).await?;
    let mut absent: HashMap<Hashed, HashSet<usize>> = HashMap::new();
    for (ask, bytes) in asks.iter().zip(bytes) {
        // A block is a filter too, of one block.
        let filter = Filter(bytes);
        for hash in ask.hashes.iter().filter(|hash| !filter.may_hold(**hash)) {
            absent.entry((ask.column, *hash)).or_default().insert(ask.zone);
        }
    }
    Ok(absent)
}
