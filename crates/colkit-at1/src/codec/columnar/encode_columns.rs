//! The column chunks of the columnar codec, written: of all types that can hold a column, the one that packs smallest.
//!
//! See [`super::columns`] for their bytes. A number is only taken for one if printing it gives the cell again.

use crate::encode::compress::{Effort, MEASURE, Method};
use crate::encode::put::{Joined, bits, put_deltas, put_lp, put_sv, put_uv};
use crate::number::{parse_fixed, parse_int};
use colkit_core::Result;
use std::collections::HashMap;

const TEXT: u8 = 0;
const INT: u8 = 1;
const DEC: u8 = 2;
const NUMEXC: u8 = 3;
const DERIVED: u8 = 4;
const DICT: u8 = 5;
const SHUF: u8 = 6;

/// Cells that are measured of a long column.
const SAMPLE: usize = 32 << 10;
/// A dictionary has at most so many entries.
const LARGEST_DICT: usize = 1 << 16;
/// A derived column knows at most so many texts: other decoders search them one by one.
const LARGEST_MAP: usize = 4096;

/// A column chunk.
#[derive(Clone, Debug)]
pub struct Chunk {
    /// Its type.
    pub kind: u8,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// The distinct cells of a column, and which of them each cell is.
pub struct Distinct {
    /// Number of distinct cells; the cells are numbered by first appearance.
    pub count: usize,
    /// For each cell its number.
    pub numbers: Vec<u32>,
    /// For each number the first cell that has it.
    first: Vec<u32>,
}

impl Distinct {
    /// Numbers the cells; `None` if there are too many different ones to be of use.
    pub fn of(cells: &[&[u8]]) -> Option<Self> {
        let most = LARGEST_DICT.min(cells.len() / 2 + 2);
        let mut numbers_of: HashMap<&[u8], u32> = HashMap::new();
        let mut numbers = Vec::with_capacity(cells.len());
        let mut first = Vec::new();
        for (i, cell) in cells.iter().enumerate() {
            let next = u32::try_from(first.len()).ok()?;
            let number = *numbers_of.entry(cell).or_insert(next);
            if number == next {
                if first.len() >= most {
                    return None;
                }
                first.push(u32::try_from(i).ok()?);
            }
            numbers.push(number);
        }
        Some(Distinct { count: first.len(), numbers, first })
    }
}

/// A column as numbers, where its cells are such.
enum Numbers {
    None,
    /// All cells.
    All(Vec<i64>, Option<u8>),
    /// Most of the cells.
    Most(Vec<Option<i64>>, Option<u8>),
}

fn numbers(cells: &[&[u8]]) -> Numbers {
    // A look at some cells spares the rest of the work for texts.
    let step = cells.len() / 64 + 1;
    let looks: Vec<bool> =
        cells.iter().step_by(step).map(|c| parse_int(c).is_some() || parse_fixed(c).is_some()).collect();
    if looks.iter().filter(|n| **n).count() * 2 < looks.len() {
        return Numbers::None;
    }
    let mut ints = 0usize;
    let mut by_scale = [0usize; 19];
    for cell in cells {
        if parse_int(cell).is_some() {
            ints += 1;
        } else if let Some(count) = parse_fixed(cell).and_then(|(_, scale)| by_scale.get_mut(usize::from(scale))) {
            *count += 1;
        }
    }
    let (scale, decimals) =
        (0u8..).zip(by_scale).max_by_key(|(scale, count)| (*count, std::cmp::Reverse(*scale))).unwrap_or_default();
    let (scale, found) = if decimals > ints { (Some(scale), decimals) } else { (None, ints) };
    let value = |cell: &&[u8]| match scale {
        None => parse_int(cell),
        Some(scale) => parse_fixed(cell).filter(|(_, s)| *s == scale).map(|(n, _)| n),
    };
    if found == cells.len() {
        Numbers::All(cells.iter().filter_map(value).collect(), scale)
    } else if found * 2 > cells.len() {
        Numbers::Most(cells.iter().map(value).collect(), scale)
    } else {
        Numbers::None
    }
}

fn deltas(values: &[i64], scale: Option<u8>) -> Chunk {
    let mut bytes = Vec::with_capacity(values.len() * 2);
    bytes.extend(scale);
    put_deltas(values.iter().copied(), &mut bytes);
    Chunk { kind: if scale.is_some() { DEC } else { INT }, bytes }
}

fn with_exceptions(cells: &[&[u8]], values: &[Option<i64>], scale: Option<u8>) -> Chunk {
    let mut bytes = Vec::with_capacity(values.len() * 2);
    match scale {
        None => bytes.push(0),
        Some(scale) => bytes.extend([1, scale]),
    }
    put_uv(values.len() as u64, &mut bytes);
    bytes.extend(bits(values.iter().map(Option::is_some)));
    let exceptions = || cells.iter().zip(values).filter(|(_, v)| v.is_none());
    put_uv(exceptions().count() as u64, &mut bytes);
    exceptions().for_each(|(cell, _)| put_lp(cell, &mut bytes));
    put_deltas(values.iter().copied().flatten(), &mut bytes);
    Chunk { kind: NUMEXC, bytes }
}

fn shuffled(values: &[i64]) -> Option<Chunk> {
    let (min, max) = (*values.iter().min()?, *values.iter().max()?);
    let range = max.abs_diff(min);
    let width = usize::try_from((64 - range.leading_zeros()).div_ceil(8).max(1)).ok()?;
    let mut bytes = Vec::with_capacity(values.len() * width + 24);
    put_uv(values.len() as u64, &mut bytes);
    put_sv(min, &mut bytes);
    bytes.push(u8::try_from(width).ok()?);
    for plane in 0..width {
        let byte = |v: &i64| v.abs_diff(min).to_le_bytes().get(plane).copied().unwrap_or_default();
        bytes.extend(values.iter().map(byte));
    }
    Some(Chunk { kind: SHUF, bytes })
}

/// A dictionary, the most frequent entries first.
fn dictionary(cells: &[&[u8]], distinct: &Distinct) -> Chunk {
    let mut uses = vec![0usize; distinct.count];
    for number in &distinct.numbers {
        if let Some(count) = uses.get_mut(*number as usize) {
            *count += 1;
        }
    }
    let mut order: Vec<u32> = (0u32..).take(distinct.count).collect();
    order.sort_by_key(|n| (std::cmp::Reverse(uses.get(*n as usize).copied()), *n));
    let mut rank = vec![0u64; distinct.count];
    for (place, number) in order.iter().enumerate() {
        if let Some(rank) = rank.get_mut(*number as usize) {
            *rank = place as u64;
        }
    }
    let mut bytes = Vec::with_capacity(cells.len() + 64);
    put_uv(cells.len() as u64, &mut bytes);
    put_uv(distinct.count as u64, &mut bytes);
    for number in &order {
        put_lp(entry(cells, distinct, *number), &mut bytes);
    }
    for number in &distinct.numbers {
        put_uv(rank.get(*number as usize).copied().unwrap_or_default(), &mut bytes);
    }
    Chunk { kind: DICT, bytes }
}

fn entry<'a>(cells: &[&'a [u8]], distinct: &Distinct, number: u32) -> &'a [u8] {
    let first = distinct.first.get(number as usize).and_then(|at| cells.get(*at as usize));
    first.copied().unwrap_or_default()
}

/// The chunk that derives a column from another to its left, if that decides it.
fn derived(source: usize, of: &Distinct, cells: &[&[u8]], distinct: &Distinct) -> Option<Chunk> {
    if of.numbers.len() != cells.len() || of.count > LARGEST_MAP {
        return None;
    }
    let mut map: Vec<Option<u32>> = vec![None; of.count];
    for (from, to) in of.numbers.iter().zip(&distinct.numbers) {
        let known = map.get_mut(*from as usize)?;
        if *known.get_or_insert(*to) != *to {
            return None;
        }
    }
    let mut bytes = Vec::new();
    put_uv(source as u64, &mut bytes);
    put_uv(map.len() as u64, &mut bytes);
    for to in map {
        put_lp(entry(cells, distinct, to?), &mut bytes);
    }
    Some(Chunk { kind: DERIVED, bytes })
}

/// How many bytes a chunk takes, about.
fn measured(chunk: &Chunk, effort: Effort) -> Result<usize> {
    let method = match effort {
        Effort::Fast => Method::Zstd(3),
        Effort::Default => MEASURE,
        Effort::Best => crate::encode::compress::XZ_6,
    };
    Ok(method.pack(&chunk.bytes)?.1.len())
}

fn candidates(cells: &[&[u8]], text: impl FnOnce() -> Vec<u8>, distinct: Option<&Distinct>) -> Vec<Chunk> {
    let mut all = Vec::new();
    match numbers(cells) {
        Numbers::None => {}
        Numbers::All(values, scale) => {
            all.push(deltas(&values, scale));
            if scale.is_none() {
                all.extend(shuffled(&values));
            }
        }
        Numbers::Most(values, scale) => all.push(with_exceptions(cells, &values, scale)),
    }
    if let Some(distinct) = distinct.filter(|d| d.count <= cells.len() / 4 + 1) {
        all.push(dictionary(cells, distinct));
    }
    all.push(Chunk { kind: TEXT, bytes: text() });
    all
}

/// The smallest chunk for a column. `earlier` are the columns to its left, as far as they have few distinct cells.
pub fn choose(
    column: &Joined,
    distinct: Option<&Distinct>,
    earlier: &[Option<Distinct>],
    effort: Effort,
) -> Result<Chunk> {
    let cells: Vec<&[u8]> = column.iter().collect();
    if cells.is_empty() {
        return Ok(Chunk { kind: TEXT, bytes: Vec::new() });
    }
    // What another column decides is nearly free; nothing needs to be measured, unless it is tiny as it is.
    if let Some(own) = distinct.filter(|d| d.count > 1) {
        let mut sources: Vec<(usize, &Distinct)> =
            earlier.iter().enumerate().filter_map(|(i, d)| Some((i, d.as_ref()?))).collect();
        sources.retain(|(_, d)| d.count >= own.count);
        sources.sort_by_key(|(i, d)| (d.count, *i));
        if let Some(chunk) = sources.iter().find_map(|(i, of)| derived(*i, of, &cells, own))
            && chunk.bytes.len() * 4 < column.bytes().len()
        {
            return Ok(chunk);
        }
    }
    let whole = || column.bytes().to_vec();
    if cells.len() <= SAMPLE * 2 {
        return smallest(candidates(&cells, whole, distinct), effort);
    }
    // The middle is more typical than the beginning.
    let start = (cells.len() - SAMPLE) / 2;
    let sample = cells.get(start..start + SAMPLE).unwrap_or_default();
    let sampled = candidates(sample, || sample.join(&b'\n'), Distinct::of(sample).as_ref());
    let kind = smallest(sampled, effort)?.kind;
    let exact = match kind {
        TEXT => None,
        DICT => distinct.filter(|d| d.count <= cells.len() / 4 + 1).map(|d| dictionary(&cells, d)),
        _ => match numbers(&cells) {
            Numbers::None => None,
            Numbers::All(values, None) if kind == SHUF => shuffled(&values),
            Numbers::All(values, scale) => Some(deltas(&values, scale)),
            Numbers::Most(values, scale) => Some(with_exceptions(&cells, &values, scale)),
        },
    };
    Ok(exact.unwrap_or_else(|| Chunk { kind: TEXT, bytes: whole() }))
}

fn smallest(all: Vec<Chunk>, effort: Effort) -> Result<Chunk> {
    let mut best: Option<(usize, Chunk)> = None;
    for chunk in all {
        let size = measured(&chunk, effort)?;
        if best.as_ref().is_none_or(|(least, _)| size < *least) {
            best = Some((size, chunk));
        }
    }
    Ok(best.map_or(Chunk { kind: TEXT, bytes: Vec::new() }, |(_, chunk)| chunk))
}

#[cfg(test)]
mod tests {
    use super::super::columns::Column;
    use super::*;
    use crate::cursor::{Cursor, Place};

    fn kind_of(cells: &[String]) -> u8 {
        let mut column = Joined::default();
        cells.iter().for_each(|c| column.push(c.as_bytes()));
        let slices: Vec<&[u8]> = column.iter().collect();
        let distinct = Distinct::of(&slices);
        let all = candidates(&slices, || column.bytes().to_vec(), distinct.as_ref());
        for chunk in &all {
            let place = Place { stream: "values", offset: 0, stored: false };
            let decoded = Column::decode(chunk.kind, Cursor::new(&chunk.bytes, 0, place), &[]).unwrap();
            assert_eq!(decoded.len(), cells.len());
            for (i, cell) in cells.iter().enumerate() {
                let mut text = Vec::new();
                decoded.cell(i).unwrap().push(&mut text);
                assert_eq!(text, cell.as_bytes(), "type {}", chunk.kind);
            }
        }
        choose(&column, distinct.as_ref(), &[], Effort::Default).unwrap().kind
    }

    #[test]
    fn every_candidate_holds_its_cells_and_the_best_is_taken() {
        let numbers = |f: fn(u64) -> String| -> Vec<String> { (0..3000).map(f).collect() };
        let scrambled = |i: u64| {
            let mixed = i.wrapping_mul(0x9E37_79B9_7F4A_7C15);
            let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB) >> 40
        };
        assert_eq!(kind_of(&numbers(|i| (i * 3).to_string())), INT);
        assert_eq!(kind_of(&(0..3000).map(|i| scrambled(i).to_string()).collect::<Vec<_>>()), SHUF);
        assert_eq!(kind_of(&numbers(|i| format!("{}.{:02}", i / 7, i % 100))), DEC);
        assert_eq!(kind_of(&numbers(|i| if i % 50 == 0 { "NA".into() } else { (i * 3).to_string() })), NUMEXC);
        let words = ["alpha-alpha", "beta-beta", "gamma-gamma", "delta", "epsilon-epsilon"];
        let word = |i: u64| words[usize::try_from(scrambled(i)).unwrap() % 5].to_string();
        assert_eq!(kind_of(&(0..3000).map(word).collect::<Vec<_>>()), DICT);
        assert_eq!(kind_of(&(0..300).map(|i| format!("x{:x}", scrambled(i))).collect::<Vec<_>>()), TEXT);
        let odd =
            ["007", "+5", "1e3", "-0", "-0.00", "1.50", "1.5", "", " 1", "9223372036854775808", "-9223372036854775808"];
        kind_of(&odd.map(String::from));
        kind_of(&["9223372036854775807".into(), "-9223372036854775808".into(), "0".into()]);
        kind_of(&["".into()]);
    }
}
