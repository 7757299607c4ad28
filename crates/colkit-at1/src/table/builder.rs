//! Columns whose types are found while their cells arrive.
//!
//! The type depends on the cells alone, not on how a writer happened to pack them:
//!
//! | every cell that is not empty is | type |
//! |----------------------------------|------|
//! | a canonical integer of 64 bits | int64 |
//! | a JSON number of at most 15 digits | float64: as many digits as it always gives back |
//! | a canonical decimal, all of one scale | decimal128(19, scale): exact |
//! | anything else, or if there is none | text |
//!
//! In columns of numbers an empty cell is null; in text it is the empty text. A cell that is missing (a short row, a
//! line that is not a row) is null in any column.

use super::text::{json_number, push_text};
use crate::number::{parse_fixed, parse_int, push_fixed, push_int};
use arrow::array::{ArrayRef, Decimal128Array, Float64Array, Int64Array, StringBuilder};
use arrow::buffer::NullBuffer;
use colkit_core::{Error, Result};
use std::sync::Arc;

/// Significant digits that a float64 always gives back.
const FLOAT_DIGITS: usize = 15;
/// The first integer with more digits than that.
const FLOAT_EXACT: u64 = 1_000_000_000_000_000;

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Present,
    Empty,
    Missing,
}

enum Cells {
    Ints(Vec<i64>),
    Fixed(Vec<i64>, u8),
    /// Texts, and where each ends.
    Texts(Vec<u8>, Vec<usize>),
}

/// Collects the cells of a column.
pub struct ColumnBuilder {
    states: Vec<State>,
    present: usize,
    /// Some cell is known to be text even if it looks like a number.
    only_text: bool,
    cells: Cells,
}

impl ColumnBuilder {
    /// An empty column.
    pub fn new() -> Self {
        ColumnBuilder { states: Vec::new(), present: 0, only_text: false, cells: Cells::Ints(Vec::new()) }
    }

    /// Number of cells so far.
    pub fn len(&self) -> usize {
        self.states.len()
    }

    /// Memory it takes, roughly.
    pub fn memory(&self) -> u64 {
        let cells = match &self.cells {
            Cells::Ints(values) | Cells::Fixed(values, _) => 8 * values.len(),
            Cells::Texts(bytes, ends) => bytes.len() + 8 * ends.len(),
        };
        (cells + self.states.len()) as u64
    }

    /// Cells that are missing, up to so many in all.
    pub fn fill(&mut self, len: usize) {
        while self.len() < len {
            self.push_blank(State::Missing);
        }
    }

    fn push_blank(&mut self, state: State) {
        self.states.push(state);
        match &mut self.cells {
            Cells::Ints(values) | Cells::Fixed(values, _) => values.push(0),
            Cells::Texts(bytes, ends) => ends.push(bytes.len()),
        }
    }

    /// A whole number.
    pub fn push_int(&mut self, n: i64) {
        if let Cells::Fixed(..) = self.cells {
            self.turn_to_text();
        }
        self.present += 1;
        self.states.push(State::Present);
        match &mut self.cells {
            Cells::Ints(values) | Cells::Fixed(values, _) => values.push(n),
            Cells::Texts(bytes, ends) => {
                push_int(n, bytes);
                ends.push(bytes.len());
            }
        }
    }

    /// A number with so many decimals.
    pub fn push_fixed(&mut self, n: i64, scale: u8) {
        match &mut self.cells {
            Cells::Fixed(_, s) if *s == scale => {}
            Cells::Ints(values) if self.present == 0 => self.cells = Cells::Fixed(std::mem::take(values), scale),
            Cells::Texts(..) => {}
            _ => self.turn_to_text(),
        }
        self.present += 1;
        self.states.push(State::Present);
        match &mut self.cells {
            Cells::Ints(values) | Cells::Fixed(values, _) => values.push(n),
            Cells::Texts(bytes, ends) => {
                push_fixed(n, scale, bytes);
                ends.push(bytes.len());
            }
        }
    }

    /// Any text.
    pub fn push(&mut self, cell: &[u8]) {
        if cell.is_empty() {
            return self.push_blank(State::Empty);
        }
        if !matches!(self.cells, Cells::Texts(..)) {
            if let Some(n) = parse_int(cell) {
                return self.push_int(n);
            }
            if let Some((n, scale)) = parse_fixed(cell) {
                return self.push_fixed(n, scale);
            }
            self.turn_to_text();
        }
        self.present += 1;
        self.states.push(State::Present);
        if let Cells::Texts(bytes, ends) = &mut self.cells {
            bytes.extend_from_slice(cell);
            ends.push(bytes.len());
        }
    }

    /// A text, whatever it looks like.
    pub fn push_text(&mut self, cell: &[u8]) {
        if !matches!(self.cells, Cells::Texts(..)) {
            self.turn_to_text();
        }
        self.present += 1;
        self.only_text = true;
        self.states.push(State::Present);
        if let Cells::Texts(bytes, ends) = &mut self.cells {
            bytes.extend_from_slice(cell);
            ends.push(bytes.len());
        }
    }

    /// Numbers so far become the texts they came from: they are canonical, so nothing is lost.
    fn turn_to_text(&mut self) {
        let mut bytes = Vec::new();
        let mut ends = Vec::with_capacity(self.states.len());
        let scale = match &self.cells {
            Cells::Fixed(_, scale) => Some(*scale),
            _ => None,
        };
        if let Cells::Ints(values) | Cells::Fixed(values, _) = &self.cells {
            for (value, state) in values.iter().zip(&self.states) {
                match (state, scale) {
                    (State::Present, None) => push_int(*value, &mut bytes),
                    (State::Present, Some(scale)) => push_fixed(*value, scale, &mut bytes),
                    _ => {}
                }
                ends.push(bytes.len());
            }
        }
        self.cells = Cells::Texts(bytes, ends);
    }

    /// The column, of the narrowest type that holds all its cells exactly.
    pub fn finish(self) -> Result<ArrayRef> {
        let numbers: Vec<bool> = self.states.iter().map(|s| *s == State::Present).collect();
        let nulls = Some(NullBuffer::from(numbers)).filter(|n| n.null_count() > 0);
        match self.cells {
            Cells::Ints(values) if self.present > 0 => Ok(Arc::new(Int64Array::new(values.into(), nulls))),
            Cells::Ints(_) => texts(&[], &[], &self.states),
            Cells::Fixed(values, scale) if values.iter().all(|v| v.unsigned_abs() < FLOAT_EXACT) => {
                // Both are exact in a float, so the division rounds like reading the text would.
                let unit = 10f64.powi(i32::from(scale));
                #[expect(clippy::cast_precision_loss, reason = "below 2^53, as was just checked")]
                let values: Vec<f64> = values.into_iter().map(|v| v as f64 / unit).collect();
                Ok(Arc::new(Float64Array::new(values.into(), nulls)))
            }
            Cells::Fixed(values, scale) => {
                let values: Vec<i128> = values.into_iter().map(i128::from).collect();
                let scale = i8::try_from(scale).unwrap_or(0);
                let array = Decimal128Array::new(values.into(), nulls).with_precision_and_scale(19, scale)?;
                Ok(Arc::new(array))
            }
            Cells::Texts(bytes, ends) => match floats(&bytes, &ends, &self.states) {
                Some(values) if !self.only_text => Ok(Arc::new(Float64Array::new(values.into(), nulls))),
                _ => texts(&bytes, &ends, &self.states),
            },
        }
    }
}

/// The texts one after another.
fn each<'a>(bytes: &'a [u8], ends: &'a [usize]) -> impl Iterator<Item = &'a [u8]> {
    let starts = std::iter::once(0).chain(ends.iter().copied());
    starts.zip(ends).map(|(start, end)| bytes.get(start..*end).unwrap_or_default())
}

/// All texts as floats, if each is a number that a float gives back.
fn floats(bytes: &[u8], ends: &[usize], states: &[State]) -> Option<Vec<f64>> {
    let float = |(text, state): (&[u8], &State)| {
        if *state != State::Present {
            return Some(0.0);
        }
        json_number(text).filter(|digits| *digits <= FLOAT_DIGITS)?;
        std::str::from_utf8(text).ok()?.parse().ok().filter(|x: &f64| x.is_finite())
    };
    each(bytes, ends).zip(states).map(float).collect()
}

fn texts(bytes: &[u8], ends: &[usize], states: &[State]) -> Result<ArrayRef> {
    if i32::try_from(bytes.len().saturating_mul(2)).is_err() {
        return Err(Error::limit("a text column", format!("{} bytes", bytes.len()), "1 GiB"));
    }
    let mut builder = StringBuilder::with_capacity(states.len(), bytes.len());
    let mut scratch = String::new();
    let mut all = each(bytes, ends);
    for state in states {
        let cell = all.next().unwrap_or_default();
        match state {
            State::Missing => builder.append_null(),
            State::Present | State::Empty => {
                scratch.clear();
                push_text(cell, &mut scratch);
                builder.append_value(&scratch);
            }
        }
    }
    Ok(Arc::new(builder.finish()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{Array, AsArray};
    use arrow::datatypes::{DataType, Float64Type};

    fn column(cells: &[Option<&str>]) -> ArrayRef {
        let mut builder = ColumnBuilder::new();
        for cell in cells {
            match cell {
                Some(cell) => builder.push(cell.as_bytes()),
                None => builder.fill(builder.len() + 1),
            }
        }
        builder.finish().unwrap()
    }

    #[test]
    fn the_type_follows_from_the_cells() {
        for (cells, data_type) in [
            (&[Some("1"), Some(""), None, Some("-5")][..], DataType::Int64),
            (&[Some("1.50"), Some("")], DataType::Float64),
            (&[Some("1"), Some("1.5"), Some("1e3")], DataType::Float64),
            (&[Some("12345678901234.56"), Some("0.01")], DataType::Decimal128(19, 2)),
            (&[Some("12345678901234.56"), Some("0.1")], DataType::Utf8),
            (&[Some("1"), Some("007")], DataType::Utf8),
            (&[Some(""), None], DataType::Utf8),
            (&[Some("1.5"), Some("x")], DataType::Utf8),
            (&[], DataType::Utf8),
        ] {
            assert_eq!(column(cells).data_type(), &data_type, "{cells:?}");
        }
    }

    #[test]
    fn nothing_is_lost_on_the_way_to_text() {
        let cells = [Some("1.50"), Some(""), None, Some("2.25"), Some("7"), Some("x")];
        let array = column(&cells);
        let read: Vec<Option<&str>> = array.as_string::<i32>().iter().collect();
        assert_eq!(read, cells);
        let floats = column(&[Some("0.07"), Some(""), Some("123456789.99")]);
        let floats = floats.as_primitive::<Float64Type>();
        assert_eq!((floats.value(0), floats.is_null(1), floats.value(2)), (0.07, true, 123_456_789.99));
    }
}
