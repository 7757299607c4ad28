//! Whether zone maps are right: every cell of a block must lie inside its map, or a query would miss rows.

use super::Queryable;
use super::shape::{Block, Shape, Zone};
use crate::fetched::Fetched;
use crate::output::Output;
use crate::table::column_reader::parse;
use crate::table::text::text;
use colkit_core::{Error, Result, Source};
use std::ops::Range;

impl Queryable {
    /// Checks the blocks of some pieces, which have been fetched if they are not in memory.
    pub fn check_zones(&self, pieces: Range<usize>, blocks: &Fetched, out: &mut Output<'_>) -> Result<()> {
        for (shape, group) in self.groups(pieces) {
            for column in 0..shape.width() {
                check(shape, group, column, blocks, out)?;
            }
        }
        Ok(())
    }
}

fn check(shape: &Shape, group: u64, column: usize, blocks: &Fetched, out: &mut Output<'_>) -> Result<()> {
    let block = shape.block(group, column)?;
    if let Zone::None = block.zone {
        return Ok(());
    }
    let packed = match shape.file_range(group, column..column + 1)? {
        Some(range) => blocks.read(range)?,
        None => shape.in_memory(block).unwrap_or_default(),
    };
    let size = shape.raw_size(group, column, &packed)?;
    out.hold(size)?;
    let cells = shape.unpack(group, column, &packed, size)?;
    match crate::cursor::cells(&cells).find(|cell| !is_inside(block, cell)) {
        None => Ok(()),
        Some(cell) => {
            let message = format!("the cell {:?} lies outside of {:?}", text(cell), block.zone);
            let part = format!("zone map of column {column} in group {group}");
            Err(Error::corrupt("zone_map_mismatch", message).part(part))
        }
    }
}

fn is_inside(block: &Block, cell: &[u8]) -> bool {
    match block.zone {
        Zone::None => true,
        Zone::Integer(min, max) => parse::<i64>(cell).is_none_or(|n| (min..=max).contains(&n)),
        // NaN in a map keeps its group in every query.
        Zone::Decimal(min, max) => {
            parse::<f64>(cell).is_none_or(|x| min.is_nan() || max.is_nan() || (min..=max).contains(&x))
        }
    }
}
