//! The column chunks of the columnar codec.
//!
//! | type | name    | chunk |
//! |------|---------|-------|
//! | 0    | TEXT    | `cells` |
//! | 1    | INT     | `sv` until the end; running sum |
//! | 2    | DEC     | byte D <= 18; `sv` until the end; running sum, D digits after the point |
//! | 3    | NUMEXC  | byte sub (0 int, 1 dec); if dec: byte D; `uv` count; `bits(count)`; `uv` n, n x `lp` exception; one `sv` per set bit |
//! | 4    | DERIVED | `uv` source column; `uv` n, n x `lp`: the j-th distinct cell of the source stands for the j-th text |
//! | 5    | DICT    | `uv` count; `uv` n, n x `lp`; count x `uv` index |
//! | 6    | SHUF    | `uv` count; `sv` min; byte W 1..=8; W planes of count bytes, least significant first |
//!
//! Running sums start at 0 and wrap. Cells are contents: quotes are not in them.

use crate::cursor::{Cursor, bit, split_sv, split_uv};
use crate::number::{push_fixed, push_int};
use colkit_core::Result;
use std::collections::HashMap;
use std::hash::Hash;

/// A piece of a chunk.
type Range32 = (u32, u32);

/// The cells of one column, ready to be printed in any order.
#[derive(Debug)]
pub enum Column<'a> {
    /// Texts; where each ends.
    Text { bytes: &'a [u8], ends: Vec<u32> },
    /// Whole numbers.
    Int(Vec<i64>),
    /// Numbers with a fixed count of decimals.
    Fixed { values: Vec<i64>, scale: u8 },
    /// Numbers, and texts where the flag is clear: the value is then the number of the text.
    Mixed { values: Vec<i64>, scale: Option<u8>, numbers: &'a [u8], bytes: &'a [u8], texts: Vec<Range32> },
    /// Each cell is one of a few texts.
    Choice { bytes: &'a [u8], texts: Vec<Range32>, indices: Vec<u32> },
}

/// One cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cell<'a> {
    /// A text.
    Text(&'a [u8]),
    /// A whole number.
    Int(i64),
    /// A number with so many decimals.
    Fixed(i64, u8),
}

impl Cell<'_> {
    /// Appends the cell's text.
    pub fn push(self, out: &mut Vec<u8>) {
        match self {
            Cell::Text(text) => out.extend_from_slice(text),
            Cell::Int(n) => push_int(n, out),
            Cell::Fixed(n, scale) => push_fixed(n, scale, out),
        }
    }
}

fn slice(bytes: &[u8], (start, end): Range32) -> &[u8] {
    bytes.get(start as usize..end as usize).unwrap_or_default()
}

impl<'a> Column<'a> {
    /// Number of cells.
    pub fn len(&self) -> usize {
        match self {
            Column::Text { ends, .. } => ends.len(),
            Column::Int(values) | Column::Fixed { values, .. } | Column::Mixed { values, .. } => values.len(),
            Column::Choice { indices, .. } => indices.len(),
        }
    }

    /// Cell `i`.
    #[inline]
    pub fn cell(&self, i: usize) -> Option<Cell<'a>> {
        Some(match self {
            Column::Text { bytes, ends } => {
                let start = match i.checked_sub(1) {
                    Some(before) => ends.get(before)?.checked_add(1)?,
                    None => 0,
                };
                Cell::Text(slice(bytes, (start, *ends.get(i)?)))
            }
            Column::Int(values) => Cell::Int(*values.get(i)?),
            Column::Fixed { values, scale } => Cell::Fixed(*values.get(i)?, *scale),
            Column::Mixed { values, scale, numbers, bytes, texts } => {
                let value = *values.get(i)?;
                match (bit(numbers, i), scale) {
                    (true, None) => Cell::Int(value),
                    (true, Some(scale)) => Cell::Fixed(value, *scale),
                    (false, _) => Cell::Text(slice(bytes, *texts.get(usize::try_from(value).ok()?)?)),
                }
            }
            Column::Choice { bytes, texts, indices } => {
                Cell::Text(slice(bytes, *texts.get(*indices.get(i)? as usize)?))
            }
        })
    }

    /// How many bytes of memory decoding this chunk takes, going by what it says; `source_cells` tells the number of
    /// cells of a column to its left.
    pub fn memory(kind: u8, chunk: &[u8], source_cells: impl FnOnce(u64) -> u64) -> u64 {
        let length = chunk.len() as u64;
        let numbers = || chunk.iter().filter(|b| **b < 0x80).count() as u64;
        let count_at = |skip: usize| chunk.get(skip..).and_then(split_uv).map_or(0, |(count, _)| count);
        match kind {
            0 => 4 * (memchr::memchr_iter(b'\n', chunk).count() as u64 + 1),
            1 | 2 => 8 * numbers(),
            3 => 16 * count_at(if chunk.first() == Some(&1) { 2 } else { 1 }).min(8 * length),
            4 => {
                let (source, rest) = split_uv(chunk).unwrap_or_default();
                let (cells, texts) = (source_cells(source), split_uv(rest).map_or(0, |(n, _)| n).min(length));
                4 * cells + 8 * texts + 48 * texts.min(cells)
            }
            5 => 4 * count_at(0).min(length) + 8 * numbers().min(length),
            _ => 8 * count_at(0).min(length),
        }
    }

    /// Decodes the chunk of column `k`; `before` are the columns to its left.
    pub fn decode(kind: u8, mut chunk: Cursor<'a>, before: &[Column<'a>]) -> Result<Column<'a>> {
        if u32::try_from(chunk.left()).is_err() {
            return Err(chunk.corrupt("chunk_too_long", "a column chunk of 4 GiB or more"));
        }
        match kind {
            0 => Ok(text(chunk.rest())),
            1 => Ok(Column::Int(running_sums(&mut chunk, None)?)),
            2 => {
                let scale = scale(&mut chunk)?;
                Ok(Column::Fixed { values: running_sums(&mut chunk, None)?, scale })
            }
            3 => mixed(chunk),
            4 => derived(chunk, before),
            5 => dict(chunk),
            6 => shuffled(chunk),
            _ => Err(chunk.corrupt("bad_column_type", format!("column type {kind}, expected 0 to 6"))),
        }
    }
}

fn text(bytes: &[u8]) -> Column<'_> {
    let mut ends = Vec::with_capacity(memchr::memchr_iter(b'\n', bytes).count() + 1);
    let positions = memchr::memchr_iter(b'\n', bytes).chain([bytes.len()]);
    ends.extend(positions.filter_map(|at| u32::try_from(at).ok()));
    Column::Text { bytes, ends }
}

fn scale(chunk: &mut Cursor<'_>) -> Result<u8> {
    match chunk.rest().first() {
        Some(&scale) if scale > 18 => {
            Err(chunk.corrupt("bad_scale", format!("{scale} digits after the point, expected 18 at most")))
        }
        _ => chunk.byte(),
    }
}

/// Running sums of `count` numbers, or of all there are.
fn running_sums(chunk: &mut Cursor<'_>, count: Option<usize>) -> Result<Vec<i64>> {
    let mut rest = chunk.rest();
    let most = count.unwrap_or(usize::MAX);
    let mut values = Vec::with_capacity(rest.iter().filter(|b| **b < 0x80).count().min(most));
    let mut sum = 0i64;
    while values.len() < most && !rest.is_empty() {
        let Some((delta, after)) = split_sv(rest) else { break };
        sum = sum.wrapping_add(delta);
        values.push(sum);
        rest = after;
    }
    chunk.take((chunk.left() - rest.len()) as u64)?;
    if count.is_none_or(|n| values.len() < n) && !(count.is_none() && rest.is_empty()) {
        chunk.sv()?;
    }
    Ok(values)
}

/// `uv` n, n x `lp`, as positions in the chunk that began at `start`.
fn texts(chunk: &mut Cursor<'_>, start: usize, count: usize) -> Result<Vec<Range32>> {
    let position = |at: usize| u32::try_from(at - start).unwrap_or(u32::MAX);
    (0..count)
        .map(|_| {
            let length = chunk.lp()?.len();
            let end = chunk.position();
            Ok((position(end - length), position(end)))
        })
        .collect()
}

fn mixed(mut chunk: Cursor<'_>) -> Result<Column<'_>> {
    let (bytes, start) = (chunk.rest(), chunk.position());
    let scale = if chunk.flag("the kind of number")? { Some(scale(&mut chunk)?) } else { None };
    let count = chunk.count("cells", bytes.len().saturating_mul(8))?;
    let numbers = chunk.take(count.div_ceil(8) as u64)?;
    let n = chunk.count("exceptions", count)?;
    let texts = texts(&mut chunk, start, n)?;
    let ones = (0..count).filter(|i| bit(numbers, *i)).count();
    if count - ones > n {
        return Err(chunk.corrupt("cells_used_up", format!("{n} exceptions for {} cells", count - ones)));
    }
    let mut sums = running_sums(&mut chunk, Some(ones))?.into_iter();
    let mut exception = 0i64;
    let values = (0..count).map(|i| {
        if bit(numbers, i) {
            return sums.next().unwrap_or_default();
        }
        exception += 1;
        exception - 1
    });
    let values: Vec<i64> = values.collect();
    if count - ones < n {
        return Err(chunk.corrupt("bytes_left_over", format!("{} exceptions left over", n - (count - ones))));
    }
    chunk.finish()?;
    Ok(Column::Mixed { values, scale, numbers, bytes, texts })
}

fn dict(mut chunk: Cursor<'_>) -> Result<Column<'_>> {
    let (bytes, start) = (chunk.rest(), chunk.position());
    let count = chunk.count("cells", bytes.len())?;
    let n = chunk.count("dictionary entries", bytes.len())?;
    let texts = texts(&mut chunk, start, n)?;
    let mut indices = Vec::with_capacity(count.min(chunk.left()));
    for _ in 0..count {
        indices.push(u32::try_from(chunk.index("dictionary entry", n)?).unwrap_or(u32::MAX));
    }
    chunk.finish()?;
    Ok(Column::Choice { bytes, texts, indices })
}

fn shuffled(mut chunk: Cursor<'_>) -> Result<Column<'_>> {
    let count = chunk.uv()?;
    let min = chunk.sv()?;
    let width = usize::from(chunk.byte()?);
    if !(1..=8).contains(&width) {
        return Err(chunk.corrupt("bad_width", format!("{width} byte planes, expected 1 to 8")));
    }
    let planes = chunk.rest();
    if !planes.len().is_multiple_of(width) || (planes.len() / width) as u64 != count {
        let message = format!("{count} cells of {width} bytes, but {} bytes", planes.len());
        return Err(chunk.corrupt("bad_count", message));
    }
    let mut values = vec![0u64; planes.len() / width];
    for (p, plane) in planes.chunks_exact(values.len().max(1)).enumerate() {
        values.iter_mut().zip(plane).for_each(|(value, byte)| *value |= u64::from(*byte) << (8 * p));
    }
    Ok(Column::Int(values.into_iter().map(|x| min.wrapping_add(x.cast_signed())).collect()))
}

fn derived<'a>(mut chunk: Cursor<'a>, before: &[Column<'a>]) -> Result<Column<'a>> {
    let (bytes, start) = (chunk.rest(), chunk.position());
    let source = chunk.index("source column", before.len())?;
    let n = chunk.count("texts", bytes.len())?;
    let texts = texts(&mut chunk, start, n)?;
    chunk.finish()?;
    let Some(source) = before.get(source) else {
        return Err(chunk.corrupt("bad_index", format!("source column {source} is not there")));
    };
    let indices = match source {
        Column::Int(values) | Column::Fixed { values, .. } => number_distinct(values.iter().copied(), n),
        Column::Text { .. } => {
            let cell = |i| match source.cell(i) {
                Some(Cell::Text(text)) => text,
                _ => &[],
            };
            number_distinct((0..source.len()).map(cell), n)
        }
        Column::Choice { bytes, texts, indices } => {
            // Equal entries count as one; then no cell needs to be looked at.
            let entries = number_distinct(texts.iter().map(|t| slice(bytes, *t)), usize::MAX).unwrap_or_default();
            number_distinct(indices.iter().map(|i| entries.get(*i as usize)), n)
        }
        Column::Mixed { .. } => {
            let text = |i: usize| {
                let mut text = Vec::new();
                if let Some(cell) = source.cell(i) {
                    cell.push(&mut text);
                }
                text
            };
            number_distinct((0..source.len()).map(text), n)
        }
    };
    let indices = indices
        .ok_or_else(|| chunk.corrupt("cells_used_up", format!("{n} texts, but more distinct cells in the source")))?;
    Ok(Column::Choice { bytes, texts, indices })
}

/// For each key the number of distinct keys that came before it first; `None` if there are more than `most`.
fn number_distinct<K: Eq + Hash>(keys: impl Iterator<Item = K>, most: usize) -> Option<Vec<u32>> {
    let mut numbers = HashMap::new();
    keys.map(|key| {
        let next = numbers.len();
        let number = *numbers.entry(key).or_insert(next);
        if number < most { u32::try_from(number).ok() } else { None }
    })
    .collect()
}
