//! Rows in groups, each column of each group packed alone: what qcolumnar, qjson and qjson2 are made of, written.
//!
//! See [`crate::queryable::shape`] for the streams. Blocks go to a spool as soon as some groups are complete, so what is held is
//! bounded by a batch of groups whatever the length of the input. A column's type holds for the whole file, so every
//! block keeps both zone maps it could have until the end.

use super::compress::{Effort, Method, best_method, quick_method, smallest_packed};
use super::put::{Joined, put_sv, put_uv};
use super::spool::Spool;
use crate::backend::Backend;
use crate::number::parse_int;
use crate::table::text::cell_text;
use bytes::Bytes;
use colkit_core::cells::Kinds;
use colkit_core::drive::parallel;
use colkit_core::{ByteRange, Result, Source};
use std::path::PathBuf;
use std::sync::Arc;

/// How groups are made.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Rows of a group.
    pub group_rows: usize,
    /// Text that waits to be packed at most, as far as single groups allow; and packed blocks that stay in memory.
    pub batch_bytes: usize,
    /// How hard to try.
    pub effort: Effort,
    /// At the default effort, whether blocks should unpack quickly, even if they are somewhat larger then.
    pub quick: bool,
    /// Threads.
    pub threads: usize,
    /// Where to keep what does not fit into memory.
    pub spill_folder: Option<PathBuf>,
}

/// Columns shorter than this in their first group are tried with every method in every group.
const SHORT: usize = 96 << 10;

/// What the writer of a table says about a column, instead of its cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Given {
    /// Text, even if it looks like numbers.
    Text,
    /// Integers; an empty cell, or `null`, is none.
    Integer,
    /// Decimals; the same.
    Decimal,
}

/// What text cells come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellsOf {
    /// CSV. With `crlf`, the cells of the last column end with the CR of their line.
    Csv { crlf: bool },
    /// JSON: the scalars as they stand.
    Json,
}

/// Takes rows and packs them.
pub struct Groups {
    settings: Settings,
    /// The types, if they do not follow from the cells.
    given: Option<Vec<Given>>,
    /// The group being filled.
    columns: Vec<Joined>,
    /// Complete groups, column by column.
    waiting: Vec<(usize, Joined)>,
    waiting_bytes: usize,
    /// For each column the method that packs it, once that is known.
    methods: Vec<Option<Method>>,
    facts: Vec<BlockStats>,
    /// What the cells of each column are; nothing once there is one that nothing says.
    kinds: Option<Vec<Kinds>>,
    /// What they are cells of.
    pub text: CellsOf,
    blocks: Spool,
    rows: u64,
}

/// What is known about a block.
#[derive(Clone, Copy)]
struct BlockStats {
    length: u64,
    integers: Option<(i64, i64)>,
    decimals: Option<(f64, f64)>,
}

/// What comes out.
pub struct Finished {
    /// Rows.
    pub rows: u64,
    /// Groups.
    pub groups: u64,
    /// The types of the columns.
    pub kinds: Vec<u8>,
    /// The index.
    pub index: Vec<u8>,
    /// The blocks.
    pub blocks: Arc<dyn Source>,
    /// Their lengths.
    pub lengths: Vec<u64>,
    /// What the cells of each column are, if that can be said.
    pub cells: Option<Vec<Kinds>>,
}

impl Groups {
    /// No rows yet, of `width` columns.
    pub fn new(width: usize, settings: Settings) -> Self {
        Groups {
            columns: vec![Joined::default(); width],
            waiting: Vec::new(),
            waiting_bytes: 0,
            methods: vec![None; width],
            facts: Vec::new(),
            kinds: Some(vec![Kinds::default(); width]),
            text: CellsOf::Csv { crlf: false },
            blocks: Spool::new(settings.batch_bytes, settings.spill_folder.clone()),
            rows: 0,
            given: None,
            settings,
        }
    }

    /// Columns of these types, whatever is in them.
    pub fn with_types(self, given: Vec<Given>) -> Self {
        Groups { given: Some(given), kinds: None, ..self }
    }

    /// Appends a row of as many cells as there are columns.
    #[inline]
    pub fn push<'c>(&mut self, cells: impl Iterator<Item = &'c [u8]>) -> Result<()> {
        cells.zip(&mut self.columns).for_each(|(cell, column)| column.push(cell));
        self.rows += 1;
        if self.rows.is_multiple_of(self.settings.group_rows as u64) { self.close_group() } else { Ok(()) }
    }

    /// Rows so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    fn close_group(&mut self) -> Result<()> {
        for (k, column) in self.columns.iter_mut().enumerate() {
            let column = std::mem::take(column);
            self.waiting_bytes += column.bytes().len() + size_of::<Joined>();
            self.waiting.push((k, column));
        }
        if self.waiting_bytes >= self.settings.batch_bytes { self.pack() } else { Ok(()) }
    }

    fn pack(&mut self) -> Result<()> {
        let Settings { effort, quick, threads, .. } = self.settings;
        let quick = quick && effort == Effort::Default;
        if effort == Effort::Default && self.facts.is_empty() {
            let first = self.waiting.iter().take(self.methods.len()).collect();
            let method = |(_, column): &(usize, Joined)| match column.bytes() {
                short if short.len() < SHORT => Ok(None),
                cells if quick => quick_method(cells).map(Some),
                cells => best_method(cells, effort).map(Some),
            };
            self.methods = parallel::map(first, threads, method)?;
        }
        let waiting = std::mem::take(&mut self.waiting);
        self.waiting_bytes = 0;
        let pack = |(k, column): (usize, Joined)| {
            let cells = column.bytes();
            let (backend, packed) = match self.methods.get(k).copied().flatten() {
                Some(method) => method.pack(cells)?,
                None if quick => quick_method(cells)?.pack(cells)?,
                None => smallest_packed(cells, effort)?,
            };
            let tag = if backend == Backend::Xz { 0 } else { 1 };
            let (integers, decimals) = match self.given.as_ref().and_then(|g| g.get(k)) {
                None => (integers(&mut column.iter()), decimals(&mut column.iter())),
                Some(Given::Text) => (None, None),
                Some(Given::Integer) => (integers(&mut column.iter().filter(is_there)).or(Some((0, 0))), None),
                Some(Given::Decimal) => (None, decimals(&mut column.iter().filter(is_there)).or(Some((0.0, 0.0)))),
            };
            let last = k + 1 == self.methods.len();
            let kinds = self.kinds.as_ref().and_then(|_| match self.text {
                CellsOf::Csv { crlf } => Some(kinds(&mut column.iter(), crlf && last)),
                CellsOf::Json => json_kinds(&mut column.iter()),
            });
            Ok((k, kinds, tag, packed, integers, decimals))
        };
        for (k, kinds, tag, packed, integers, decimals) in parallel::map(waiting, threads, pack)? {
            self.blocks.write(&[tag])?;
            self.blocks.write(&packed)?;
            self.facts.push(BlockStats { length: packed.len() as u64 + 1, integers, decimals });
            match (kinds, self.kinds.as_mut().and_then(|all| all.get_mut(k))) {
                (Some(kinds), Some(all)) => all.add(kinds),
                _ => self.kinds = None,
            }
        }
        Ok(())
    }

    /// Packs what is left.
    pub fn finish(mut self) -> Result<Finished> {
        let width = self.methods.len();
        if !self.rows.is_multiple_of(self.settings.group_rows as u64) {
            self.close_group()?;
        }
        self.pack()?;
        let of = |k: usize| self.facts.iter().skip(k).step_by(width.max(1));
        let given = |k: usize| self.given.as_ref().and_then(|g| g.get(k)).copied();
        let kind = |k: usize| match () {
            () if given(k) == Some(Given::Integer) => 1,
            () if given(k) == Some(Given::Decimal) => 2,
            () if self.facts.is_empty() => 0,
            () if of(k).all(|f| f.integers.is_some()) => 1,
            () if of(k).all(|f| f.decimals.is_some()) => 2,
            () => 0,
        };
        let kinds: Vec<u8> = (0..width).map(kind).collect();
        let mut index = Vec::new();
        for (facts, kind) in self.facts.iter().zip(kinds.iter().cycle()) {
            put_uv(facts.length, &mut index);
            match (kind, facts.integers, facts.decimals) {
                (1, Some((min, max)), _) => {
                    put_sv(min, &mut index);
                    put_sv(max, &mut index);
                }
                (2, _, Some((min, max))) => {
                    index.extend_from_slice(&min.to_le_bytes());
                    index.extend_from_slice(&max.to_le_bytes());
                }
                _ => {}
            }
        }
        let groups = self.rows.div_ceil(self.settings.group_rows as u64);
        let lengths = self.facts.iter().map(|f| f.length).collect();
        let blocks = self.blocks.into_source()?;
        Ok(Finished { rows: self.rows, groups, kinds, index, blocks, lengths, cells: self.kinds })
    }
}

impl Finished {
    /// Goes through all rows again: the cells of each.
    pub fn visit(&self, mut row: impl FnMut(&[&[u8]]) -> Result<()>) -> Result<()> {
        let width = self.kinds.len();
        let mut at = 0;
        for lengths in self.lengths.chunks(width.max(1)) {
            let mut columns: Vec<Bytes> = Vec::with_capacity(width);
            for length in lengths {
                let block = self.blocks.read(ByteRange::at(at, *length)?)?;
                at += length;
                let backend = if block.first() == Some(&0) { Backend::Xz } else { Backend::Zstd };
                columns.push(backend.unpack(&block.slice(1..), u64::MAX)?);
            }
            let mut cells: Vec<_> = columns.iter().map(|c| c.split(|b| *b == b'\n')).collect();
            loop {
                let next: Vec<&[u8]> = cells.iter_mut().map_while(Iterator::next).collect();
                if next.len() < width || next.is_empty() {
                    break;
                }
                row(&next)?;
            }
        }
        Ok(())
    }

    /// Appends what all `meta` of queryable codecs end with.
    pub fn put_meta(&self, group_rows: usize, out: &mut Vec<u8>) {
        put_uv(self.kinds.len() as u64, out);
        put_uv(group_rows as u64, out);
        put_uv(self.rows, out);
        put_uv(self.groups, out);
        out.extend_from_slice(&self.kinds);
    }
}

/// Whether a cell is a value, and not the lack of one.
fn is_there(cell: &&[u8]) -> bool {
    !matches!(*cell, b"" | b"null")
}

/// What some cells are, read as CSV.
fn kinds(cells: &mut dyn Iterator<Item = &[u8]>, crlf: bool) -> Kinds {
    let mut kinds = Kinds::default();
    for cell in cells {
        let cell = cell_text(if crlf { cell.strip_suffix(b"\r").unwrap_or(cell) } else { cell });
        kinds.add(if cell.doubled.is_some() { Kinds::TEXT } else { Kinds::of(cell.raw) });
    }
    kinds
}

/// What some scalars of JSON are; `None` if one is not what it should be, or a number that no type here holds.
fn json_kinds(cells: &mut dyn Iterator<Item = &[u8]>) -> Option<Kinds> {
    let kind = |cell: &[u8]| match cell {
        b"null" => Some(Kinds::NULL),
        b"true" | b"false" => Some(Kinds::BOOL),
        [b'"', .., b'"'] => {
            let escaped = memchr::memchr(b'\\', cell).is_some();
            let valid = std::str::from_utf8(cell).is_ok();
            (valid && (!escaped || serde_json::from_slice::<String>(cell).is_ok())).then_some(Kinds::TEXT)
        }
        number => Some(Kinds::of(number)).filter(|kinds| is_json_number(number) && !kinds.has(Kinds::TEXT)),
    };
    cells.map(kind).try_fold(Kinds::default(), |all, kinds| Some(all.and(kinds?)))
}

/// The smallest and largest of some integers; `None` if there is none, or something else among them.
fn integers(cells: &mut dyn Iterator<Item = &[u8]>) -> Option<(i64, i64)> {
    let first = parse_int(cells.next()?)?;
    cells.map(parse_int).try_fold((first, first), |(min, max), n| Some((min.min(n?), max.max(n?))))
}

/// The smallest and largest of some JSON numbers, as floats; `None` if there is none, or something else among them.
fn decimals(cells: &mut dyn Iterator<Item = &[u8]>) -> Option<(f64, f64)> {
    let value = |cell: &[u8]| {
        if !is_json_number(cell) {
            return None;
        }
        std::str::from_utf8(cell).ok()?.parse::<f64>().ok().filter(|v| v.is_finite())
    };
    let first = value(cells.next()?)?;
    cells.map(value).try_fold((first, first), |(min, max), n| Some((min.min(n?), max.max(n?))))
}

/// Whether a text is `-?(0|[1-9][0-9]*)(.[0-9]+)?([eE][+-]?[0-9]+)?`.
pub fn is_json_number(text: &[u8]) -> bool {
    let digits = |text: &[u8]| text.iter().take_while(|b| b.is_ascii_digit()).count();
    let text = text.strip_prefix(b"-").unwrap_or(text);
    let whole = digits(text);
    if whole == 0 || (whole > 1 && text.first() == Some(&b'0')) {
        return false;
    }
    let mut rest = text.get(whole..).unwrap_or_default();
    if let Some(after) = rest.strip_prefix(b".") {
        let fraction = digits(after);
        if fraction == 0 {
            return false;
        }
        rest = after.get(fraction..).unwrap_or_default();
    }
    if let [b'e' | b'E', after @ ..] = rest {
        let after = after.strip_prefix(b"+").or_else(|| after.strip_prefix(b"-")).unwrap_or(after);
        let exponent = digits(after);
        return exponent > 0 && exponent == after.len();
    }
    rest.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_numbers() {
        for good in ["0", "-1", "10.50", "1e5", "1E+5", "-0", "0.1e-7", "123456789012345678901234567890"] {
            assert!(is_json_number(good.as_bytes()), "{good}");
        }
        for bad in ["", "-", "01", ".5", "5.", "+1", "1e", "1e+", "nan", "0x1", "1 ", "1.e3", "--1"] {
            assert!(!is_json_number(bad.as_bytes()), "{bad}");
        }
    }
}
