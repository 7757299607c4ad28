//! What is read of the file, in threads that the keys do not wait for.

use crate::escape::one_line;
use colkit::arrow::array::{Array, ArrayRef};
use colkit::arrow::record_batch::RecordBatch;
use colkit::arrow::util::display::{ArrayFormatter, FormatOptions};
use colkit::core::drive::blocking;
use colkit::core::plan::ReadPlan;
use colkit::core::{BoundPredicate, Projection, Scan};
use colkit::{ByteRange, Layout, OpenFile, Result, Stop};
use std::fmt::{self, Write};
use std::ops::Range;
use std::time::{Duration, Instant};

/// Bytes of a cell's text that are kept for the grid.
const CELL: usize = 400;

/// Bytes of a value's text that are shown alone.
const VALUE: usize = 1 << 20;

/// Rows of a batch while rows are looked for.
const BATCH: usize = 1 << 16;

/// Rows that are found at most.
pub const MOST_FOUND: usize = 10_000_000;

/// Rows of the grid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowSet {
    Range(Range<u64>),
    List(Vec<u64>),
}

/// A part of the grid.
#[derive(Debug)]
pub struct Window {
    /// Where its first row is among those that are shown.
    pub first: u64,
    /// The number of each row in the file.
    pub numbers: Vec<u64>,
    pub columns: Range<usize>,
    /// The cells of each row.
    pub cells: Vec<Vec<Cell>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    pub text: String,
    pub is_null: bool,
}

/// What was found of a condition.
#[derive(Debug, Default)]
pub struct Found {
    /// More rows for which it holds.
    pub rows: Vec<u64>,
    /// How many rows have been looked at.
    pub looked: u64,
    /// Whether all were, and none is left out.
    pub complete: bool,
    pub ended: bool,
}

/// Reads these rows and columns.
pub fn window(file: &OpenFile, first: u64, rows: RowSet, columns: Range<usize>, stop: &Stop) -> Result<Window> {
    let file = file.stopped_by(stop);
    let mut cells = Vec::new();
    let numbers: Vec<u64> = match &rows {
        RowSet::Range(range) => range.clone().collect(),
        RowSet::List(list) => list.clone(),
    };
    if columns.is_empty() || numbers.is_empty() {
        cells = vec![Vec::new(); numbers.len()];
        return Ok(Window { first, numbers, columns, cells });
    }
    match rows {
        RowSet::Range(range) => {
            for batch in file.scan().rows(range).columns(columns.clone()).batches()? {
                add_cells(&batch?, &mut cells)?;
            }
        }
        RowSet::List(list) => add_cells(&file.take(list).columns(columns.clone()).batch()?, &mut cells)?,
    }
    Ok(Window { first, numbers, columns, cells })
}

fn add_cells(batch: &RecordBatch, cells: &mut Vec<Vec<Cell>>) -> Result<()> {
    let options = options();
    let columns = batch.columns().iter().map(|c| Ok((c, ArrayFormatter::try_new(c.as_ref(), &options)?)));
    let columns = columns.collect::<Result<Vec<_>>>()?;
    for row in 0..batch.num_rows() {
        let cell = |(array, formatter): &(&ArrayRef, ArrayFormatter<'_>)| {
            let (text, _) = bounded(formatter, row, CELL);
            Cell { text: one_line(&text).into_owned(), is_null: array.is_null(row) }
        };
        cells.push(columns.iter().map(cell).collect());
    }
    Ok(())
}

fn options() -> FormatOptions<'static> {
    FormatOptions::default().with_null("null").with_display_error(true)
}

/// One value, and whether its text was cut.
pub fn value(file: &OpenFile, row: u64, column: usize, stop: &Stop) -> Result<(String, bool)> {
    let batch = file.stopped_by(stop).take([row]).columns([column]).batch()?;
    let options = options();
    let array = batch.columns().first().ok_or_else(|| colkit::Error::internal("a row without its column"))?;
    Ok(bounded(&ArrayFormatter::try_new(array.as_ref(), &options)?, 0, VALUE))
}

/// The text of a value, of at most so many bytes, and whether there is more.
fn bounded(formatter: &ArrayFormatter<'_>, row: usize, most: usize) -> (String, bool) {
    let mut out = Bounded { text: String::new(), most };
    let cut = write!(out, "{}", formatter.value(row)).is_err();
    (out.text, cut)
}

struct Bounded {
    text: String,
    most: usize,
}

impl Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = self.most.saturating_sub(self.text.len());
        if text.len() <= room {
            self.text.push_str(text);
            return Ok(());
        }
        let end = (0..=room).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        self.text.push_str(text.get(..end).unwrap_or_default());
        Err(fmt::Error)
    }
}

/// Looks for rows for which a condition holds, and tells of them now and then. Parts of the file that cannot have any are not
/// read.
pub fn search(file: &OpenFile, condition: &BoundPredicate, stop: &Stop, tell: &mut dyn FnMut(Found)) -> Result<()> {
    const OFTEN: Duration = Duration::from_millis(100);
    let file = file.stopped_by(stop);
    let columns = condition.columns();
    let mut found = Found::default();
    let mut total = 0;
    let mut told = Instant::now();
    for range in candidates(&file, condition)? {
        let mut row = range.start;
        let scan = file.scan().rows(range).columns(columns.iter().copied()).batch_rows(BATCH);
        for batch in scan.batches()? {
            let batch = batch?;
            let position = |column: usize| columns.iter().position(|c| *c == column);
            let holds = condition.evaluate(&batch, &position)?;
            for (index, holds) in (row..).zip(holds.iter()) {
                if holds == Some(true) {
                    found.rows.push(index);
                    total += 1;
                }
            }
            row += batch.num_rows() as u64;
            found.looked = row;
            if total >= MOST_FOUND {
                tell(Found { ended: true, ..found });
                return Ok(());
            }
            if told.elapsed() > OFTEN {
                tell(std::mem::take(&mut found));
                found.looked = row;
                told = Instant::now();
            }
        }
    }
    tell(Found { looked: file.row_count(), complete: true, ended: true, ..found });
    Ok(())
}

/// Where rows may be for which the condition holds.
fn candidates(file: &OpenFile, condition: &BoundPredicate) -> Result<Vec<Range<u64>>> {
    let table = file.table_file().table();
    let projection = Projection::columns(condition.columns());
    let scan = Scan { predicate: Some(condition.clone()), ..Scan::of(projection) };
    let plan = ReadPlan::new(table.as_ref(), &scan)?;
    let splits = blocking::run(table.splits(&plan.scan)?, file.table_file().source().as_ref())?;
    let mut ranges: Vec<Range<u64>> = Vec::new();
    for split in splits {
        match ranges.last_mut() {
            Some(last) if last.end == split.rows.start => last.end = split.rows.end,
            _ => ranges.push(split.rows),
        }
    }
    Ok(ranges)
}

/// The byte map.
pub fn layout(file: &OpenFile, stop: &Stop) -> Result<Layout> {
    file.stopped_by(stop).layout()
}

/// Bytes of the file.
pub fn bytes(file: &OpenFile, range: Range<u64>, stop: &Stop) -> Result<Vec<u8>> {
    let file = file.stopped_by(stop);
    Ok(file.table_file().source().read(ByteRange::between(range.start, range.end))?.to_vec())
}
