//! Which rows a condition may hold for, by what colkit adds to files: zone maps and bloom filters.

use crate::bloom::{self, Filter};
use crate::coroutine::Io;
use crate::extensions::Zones;
use crate::read::LanceFile;
use arrow::datatypes::DataType;
use colkit_core::{BoundPredicate, ByteRange, Result, Value};
use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

/// The rows among these that cannot be ruled out, as ranges in order.
pub(crate) async fn may_match(
    file: &LanceFile,
    io: &Io,
    predicate: &BoundPredicate,
    rows: Range<u64>,
) -> Result<Vec<Range<u64>>> {
    let Some(zones) = file.zones(io).await? else { return Ok(vec![rows]) };
    let schema = file.fields.schema.clone();
    let types = |column: usize| schema.fields().get(column).map(|f| plain(f.data_type()));
    let each = zones.rows_per_zone;
    let mut left = Vec::new();
    let mut at = rows.start;
    while at < rows.end {
        let number = at / each;
        let end = number.saturating_add(1).saturating_mul(each).min(rows.end);
        let place = usize::try_from(number).unwrap_or(usize::MAX);
        if predicate.may_match(&|column| Some(zones.columns.get(column)?.zones.get(place)?.statistics())) {
            left.push((place, at..end));
        }
        at = end;
    }
    let hash_of = |column: usize, value: &Value| types(column).and_then(|t| bloom::hash_of(value, t));
    let places: Vec<usize> = left.iter().map(|(place, _)| *place).collect();
    let absent = absent(file, io, &zones, &bloom::looked_for(predicate, &hash_of), &places).await?;
    let mut ranges: Vec<Range<u64>> = Vec::new();
    for (place, rows) in left {
        let is_absent = |column: usize, value: &Value| {
            hash_of(column, value).is_some_and(|hash| absent.contains(&(column, place, hash)))
        };
        let zone = |column: usize| Some(zones.columns.get(column)?.zones.get(place)?.statistics());
        if !absent.is_empty() && !bloom::narrowed(predicate, &is_absent).may_match(&zone) {
            continue;
        }
        match ranges.last_mut() {
            Some(last) if last.end == rows.start => last.end = rows.end,
            _ => ranges.push(rows),
        }
    }
    Ok(ranges)
}

/// A filter, or the block of it that a hash falls into, to be asked for these hashes.
struct Ask<'a> {
    column: usize,
    zone: usize,
    range: ByteRange,
    hashes: &'a [u64],
}

/// Which hashes of which columns occur in which of these zones for certain not, by their bloom filters: column, zone, hash.
async fn absent(
    file: &LanceFile,
    io: &Io,
    zones: &Zones,
    looked_for: &BTreeMap<usize, Vec<u64>>,
    among: &[usize],
) -> Result<HashSet<(usize, usize, u64)>> {
    let mut asks = Vec::new();
    for (column, hashes) in looked_for {
        let Some(filters) = file.filter_ranges(zones, *column)? else { continue };
        for zone in among {
            let Some(filter) = filters.get(*zone).copied() else { continue };
            let ask = |range, hashes| Ask { column: *column, zone: *zone, range, hashes };
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
    let found = asks.iter().zip(bytes).flat_map(|(ask, bytes)| {
        // A block is a filter too, of one block.
        let filter = Filter(bytes);
        let absent = move |hash: &&u64| !filter.may_hold(**hash);
        ask.hashes.iter().filter(absent).map(|hash| (ask.column, ask.zone, *hash))
    });
    Ok(found.collect())
}

/// The type of the values.
fn plain(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::Dictionary(_, values) => values,
        other => other,
    }
}
