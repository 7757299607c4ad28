//! Rows matched by key, in whatever order they are.
//!
//! Of each row on the left a fingerprint of its key, one of its other values and its number are kept: 40 bytes. Where those
//! of all rows would not fit into half of the memory, both files are read more than once, each time for a share of the keys.
//! Fingerprints of keys have 128 bits, those of values 64, both under secrets drawn anew each time.

use super::columns::{Pair, chosen_columns};
use super::comparable::{Comparable, Opened};
use super::{CellDifference, Comparand, DiffOptions, Difference, RowSource, differing_cells, scan_both, show};
use crate::ColumnName;
use arrow::array::ArrayRef;
use arrow::row::{RowConverter, Rows, SortField};
use colkit_core::{Error, Result};
use serde::Serialize;
use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};

/// What became of the rows of the left table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ByKey {
    /// The columns of the key.
    pub columns: Vec<String>,
    /// Rows that are only on the right.
    pub added: u64,
    /// Rows that are only on the left.
    pub removed: u64,
    /// Rows that are on both sides with differing values.
    pub changed: u64,
    /// Rows that are on both sides.
    pub unchanged: u64,
    /// The keys of the first rows that are only on the right.
    pub first_added: Vec<Key>,
    /// The keys of the first rows that are only on the left.
    pub first_removed: Vec<Key>,
}

/// The values of a key's columns, as text; `None` is null.
pub type Key = BTreeMap<String, Option<String>>;

/// A row on the left.
struct Entry {
    key: u128,
    values: u64,
    row: u64,
}

/// The bytes of an entry and of what is counted beside it.
const ENTRY_BYTES: u64 = (size_of::<Entry>() + size_of::<usize>()) as u64;

/// Compares rows of the same key.
pub(super) async fn by_key<T: Comparand>(
    a: &Opened<T>,
    b: &Opened<T>,
    key: &[ColumnName],
    pairs: Vec<Pair>,
    options: &DiffOptions,
    mut report: Difference,
) -> Result<Difference> {
    let matched = chosen_columns(key, (&a.file, a.text), (&b.file, b.text))?;
    if let Some(difference) = matched.differences.first() {
        return Err(Error::request("bad_key", format!("rows cannot be matched by key: {difference}")));
    }
    let columns = matched.pairs;
    let keys = columns.len();
    let others = pairs.into_iter().filter(|p| !columns.iter().any(|k| k.left == p.left));
    let pairs: Vec<Pair> = columns.iter().cloned().chain(others).collect();
    report.compared_columns = pairs.len();

    let budget = (options.memory / 2).max(ENTRY_BYTES);
    let passes = a.file.row_count().saturating_mul(ENTRY_BYTES).div_ceil(budget).max(1);
    let mut found = Found::new(options.cells);
    let secrets = Secrets::default();
    for pass in 0..u128::from(passes) {
        let mine = |key: u128| key % u128::from(passes) == pass;
        let (left, right) = scan_both(a, b, &pairs, options.memory / 2).await?;
        let share = a.file.row_count().div_ceil(passes);
        let mut entries = Vec::with_capacity(usize::try_from(share + share / 8).unwrap_or(0));
        each_row(
            left,
            &pairs,
            keys,
            |p| &p.comparable.0,
            &secrets,
            |row, key, values| {
                if mine(key) {
                    entries.push(Entry { key, values, row });
                }
            },
        )
        .await?;
        let mut entries = Entries::new(entries);
        each_row(
            right,
            &pairs,
            keys,
            |p| &p.comparable.1,
            &secrets,
            |row, key, values| {
                if mine(key) {
                    found.note(entries.next_of(key), row, values);
                }
            },
        )
        .await?;
        entries.rest().for_each(|row| found.removed.push((row, row)));
    }

    let names = pairs.iter().take(keys).map(|p| p.name.clone()).collect();
    report.compared_rows = found.unchanged + found.changed.count;
    report.differing_rows = found.changed.count;
    report.first = changed_cells(a, b, &pairs, keys, &found.changed.first(), options.cells).await?;
    report.by_key = Some(ByKey {
        columns: names,
        added: found.added.count,
        removed: found.removed.count,
        changed: found.changed.count,
        unchanged: found.unchanged,
        first_added: keys_of(&b.file, &columns, |p| p.right, &found.added.first()).await?,
        first_removed: keys_of(&a.file, &columns, |p| p.left, &found.removed.first()).await?,
    });
    Ok(report)
}

/// The rows of the left table by key. Of rows with the same key the first on the left belongs to the first on the right.
struct Entries {
    entries: Vec<Entry>,
    /// At the first entry of a key, how many of that key were asked for.
    asked: Vec<usize>,
}

impl Entries {
    fn new(mut entries: Vec<Entry>) -> Self {
        entries.sort_unstable_by_key(|e| (e.key, e.row));
        Entries { asked: vec![0; entries.len()], entries }
    }

    /// The next row of this key.
    fn next_of(&mut self, key: u128) -> Option<&Entry> {
        let first = self.entries.partition_point(|e| e.key < key);
        let asked = self.asked.get_mut(first)?;
        let entry = self.entries.get(first + *asked).filter(|e| e.key == key)?;
        *asked += 1;
        Some(entry)
    }

    /// The rows that nobody asked for.
    fn rest(&self) -> impl Iterator<Item = u64> {
        let mut left_over = 0;
        self.entries.chunk_by(|a, b| a.key == b.key).flat_map(move |same| {
            let asked = self.asked.get(left_over).copied().unwrap_or(0);
            left_over += same.len();
            same.iter().skip(asked).map(|e| e.row)
        })
    }
}

/// What was found so far.
struct Found {
    unchanged: u64,
    added: FirstRows,
    removed: FirstRows,
    changed: FirstRows,
}

impl Found {
    fn new(most: usize) -> Self {
        let rows = || FirstRows { most, count: 0, rows: Vec::new() };
        Found { unchanged: 0, added: rows(), removed: rows(), changed: rows() }
    }

    /// A row on the right, and the one on the left that it belongs to.
    fn note(&mut self, left: Option<&Entry>, right: u64, values: u64) {
        match left {
            None => self.added.push((right, right)),
            Some(left) if left.values == values => self.unchanged += 1,
            Some(left) => self.changed.push((left.row, right)),
        }
    }
}

/// How many rows there were, and the first of them, in whatever order they came.
struct FirstRows {
    most: usize,
    count: u64,
    rows: Vec<(u64, u64)>,
}

impl FirstRows {
    fn push(&mut self, row: (u64, u64)) {
        self.count += 1;
        self.rows.push(row);
        if self.rows.len() > self.most.saturating_mul(2).saturating_add(1024) {
            self.rows = self.first();
        }
    }

    fn first(&self) -> Vec<(u64, u64)> {
        let mut rows = self.rows.clone();
        rows.sort_unstable();
        rows.truncate(self.most);
        rows
    }
}

/// What fingerprints are made with.
#[derive(Default)]
struct Secrets {
    key: (RandomState, RandomState),
    values: RandomState,
}

impl Secrets {
    fn key(&self, bytes: &[u8]) -> u128 {
        (u128::from(self.key.0.hash_one(bytes)) << 64) | u128::from(self.key.1.hash_one(bytes))
    }

    fn values(&self, bytes: &[u8]) -> u64 {
        self.values.hash_one(bytes)
    }
}

/// Gives the number and both fingerprints of each row, of which the first `keys` columns are the key.
async fn each_row(
    mut batches: impl RowSource,
    pairs: &[Pair],
    keys: usize,
    side: fn(&Pair) -> &Comparable,
    secrets: &Secrets,
    mut give: impl FnMut(u64, u128, u64) + Send,
) -> Result<()> {
    let (keys, values) = pairs.split_at(keys.min(pairs.len()));
    let (mut key_rows, mut value_rows) = (ByteRows::default(), ByteRows::default());
    let mut row = 0;
    while let Some(batch) = batches.next().await? {
        let (of_keys, of_values) = batch.columns().split_at(keys.len());
        let of_keys = key_rows.of(of_keys, keys, side)?;
        let of_values = value_rows.of(of_values, values, side)?;
        for i in 0..batch.num_rows() {
            let key = of_keys.as_ref().map_or(0, |rows| secrets.key(rows.row(i).as_ref()));
            let values = of_values.as_ref().map_or(0, |rows| secrets.values(rows.row(i).as_ref()));
            give(row, key, values);
            row += 1;
        }
    }
    Ok(())
}

/// Rows as bytes that are equal where the values are.
#[derive(Default)]
struct ByteRows(Option<RowConverter>);

impl ByteRows {
    /// The rows of these columns; none if there are no columns.
    fn of(&mut self, columns: &[ArrayRef], pairs: &[Pair], side: fn(&Pair) -> &Comparable) -> Result<Option<Rows>> {
        let mut arrays = Vec::with_capacity(columns.len());
        for (column, pair) in columns.iter().zip(pairs) {
            arrays.extend(side(pair).arrays(column)?);
        }
        if arrays.is_empty() {
            return Ok(None);
        }
        let converter = match &mut self.0 {
            Some(converter) => converter,
            none => {
                let fields = arrays.iter().map(|a| SortField::new(a.data_type().clone())).collect();
                none.insert(RowConverter::new(fields)?)
            }
        };
        Ok(Some(converter.convert_columns(&arrays)?))
    }
}

/// The values that differ in these pairs of rows, the first `most` of them.
async fn changed_cells<T: Comparand>(
    a: &Opened<T>,
    b: &Opened<T>,
    pairs: &[Pair],
    keys: usize,
    rows: &[(u64, u64)],
    most: usize,
) -> Result<Vec<CellDifference>> {
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let left = a.file.take(rows.iter().map(|r| r.0).collect(), pairs.iter().map(|p| p.left).collect()).await?;
    let right = b.file.take(rows.iter().map(|r| r.1).collect(), pairs.iter().map(|p| p.right).collect()).await?;
    let (left, right) = (left.columns(), right.columns());
    let mut cells = Vec::new();
    for (i, column) in differing_cells(left, right, pairs)?.into_iter().take(most) {
        let (Some(pair), Some((row, _))) = (pairs.get(column), rows.get(i)) else { continue };
        cells.push(CellDifference {
            row: *row,
            key: Some(key_of(pairs.get(..keys).unwrap_or_default(), left, i)?),
            column: pair.name.clone(),
            left: show(left.get(column), i)?,
            right: show(right.get(column), i)?,
        });
    }
    Ok(cells)
}

/// The keys of these rows.
async fn keys_of(
    file: &impl Comparand,
    columns: &[Pair],
    index: fn(&Pair) -> usize,
    rows: &[(u64, u64)],
) -> Result<Vec<Key>> {
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let batch = file.take(rows.iter().map(|r| r.0).collect(), columns.iter().map(index).collect()).await?;
    (0..batch.num_rows()).map(|i| key_of(columns, batch.columns(), i)).collect()
}

fn key_of(columns: &[Pair], arrays: &[ArrayRef], row: usize) -> Result<Key> {
    columns.iter().zip(arrays).map(|(pair, array)| Ok((pair.name.clone(), show(Some(array), row)?))).collect()
}
