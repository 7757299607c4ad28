//! Which parts of a file may hold a row that matches, by what the file says about their values.
//!
//! The parts are *zones*: blocks of rows, row groups, pages. A [`ZoneMap`] has an entry for each of them, and a predicate is
//! compared with all entries at once. Whatever is not known rules out nothing.
//!
//! ```text
//! zone        0    1    2    3
//! min        10   20    -    5     x = 22 may hold in zones 1 and 2: the smallest value of zone 2 is not known
//! max        19   25   30    9
//! ```

use super::Op;
use super::bound::{BoundPredicate, Literal, compare, nans};
use super::mask::mask;
use crate::{ColumnStatistics, Value};
use arrow::array::{Array, ArrayRef, BooleanArray, UInt64Array};
use arrow::buffer::BooleanBuffer;
use arrow::compute::nullif;
use std::collections::BTreeMap;
use std::ops::Range;

/// What is known about the values of a column in each of several zones.
#[derive(Clone, Debug)]
pub struct ZoneMap {
    min: ArrayRef,
    max: ArrayRef,
    null_count: UInt64Array,
    nan_free: bool,
}

impl ZoneMap {
    /// For each zone the bounds of its values and its number of nulls; null where that is not known.
    ///
    /// No value is smaller than `min` or larger than `max`; they need not occur, and NaN is not counted. They are of the
    /// column's type, or of its values' type if it is a dictionary: bounds of another type say nothing, and neither does NaN. `None`
    /// if the arrays are not equally long.
    pub fn new(min: ArrayRef, max: ArrayRef, null_count: UInt64Array) -> Option<ZoneMap> {
        let (min, max) = (without_nan(min)?, without_nan(max)?);
        let same = min.len() == max.len() && max.len() == null_count.len();
        same.then_some(ZoneMap { min, max, null_count, nan_free: false })
    }

    /// The same of a column that certainly has no NaN.
    pub fn nan_free(self) -> ZoneMap {
        ZoneMap { nan_free: true, ..self }
    }

    /// What is known about some of the zones, if they are there.
    pub fn slice(&self, zones: Range<usize>) -> Option<ZoneMap> {
        let length = zones.end.checked_sub(zones.start)?;
        (zones.end <= self.null_count.len()).then(|| ZoneMap {
            min: self.min.slice(zones.start, length),
            max: self.max.slice(zones.start, length),
            null_count: self.null_count.slice(zones.start, length),
            nan_free: self.nan_free,
        })
    }

    /// What is known about a zone, for people.
    pub fn statistics(&self, zone: usize) -> ColumnStatistics {
        let counted = zone < self.null_count.len() && self.null_count.is_valid(zone);
        ColumnStatistics {
            min: Value::of_row(&self.min, zone),
            max: Value::of_row(&self.max, zone),
            null_count: counted.then(|| self.null_count.value(zone)),
            exact: false,
            nan_free: self.nan_free,
        }
    }

    /// Where a value between the bounds may compare with the literal like this.
    fn may_compare(&self, op: Op, literal: &Literal) -> BooleanBuffer {
        let holds = |bounds: &ArrayRef, op: Op| {
            // No bound speaks of NaN.
            let comparable = bounds.data_type() == literal.array().data_type() && !literal.is_nan();
            let answers = comparable.then(|| compare(bounds, op, literal).ok()).flatten();
            answers.map_or_else(|| BooleanBuffer::new_set(bounds.len()), |answers| unless_false(&answers))
        };
        match op {
            Op::Eq => &holds(&self.min, Op::Le) & &holds(&self.max, Op::Ge),
            Op::Lt | Op::Le => holds(&self.min, op),
            Op::Gt | Op::Ge => holds(&self.max, op),
            // Bounds need not occur, so that even one value between them may be another.
            Op::Ne => BooleanBuffer::new_set(self.null_count.len()),
        }
    }

    /// Where a value may be null.
    fn may_be_null(&self) -> BooleanBuffer {
        let some = mask(self.null_count.values(), |count| count != 0);
        unless_false(&BooleanArray::new(some, self.null_count.nulls().cloned()))
    }
}

/// Bounds of which those that are NaN are not known.
fn without_nan(bounds: ArrayRef) -> Option<ArrayRef> {
    match nans(&bounds) {
        Some(nan) => nullif(&bounds, &BooleanArray::new(nan, None)).ok(),
        None => Some(bounds),
    }
}

/// True and unknown.
fn unless_false(answers: &BooleanArray) -> BooleanBuffer {
    match answers.nulls() {
        Some(known) => answers.values() | &!known.inner(),
        None => answers.values().clone(),
    }
}

impl BoundPredicate {
    /// For each of so many zones whether some row of it may match, going by the zone map of every column that has one.
    /// `false` is a promise that none does; `true` promises nothing.
    pub fn prune(&self, zones: usize, map: &dyn Fn(usize) -> Option<ZoneMap>) -> BooleanBuffer {
        self.prune_with(zones, map, &|_, _| None)
    }

    /// The same where more is known than bounds: `may_hold` says which zones may hold a value of a column.
    pub fn prune_with(
        &self,
        zones: usize,
        map: &dyn Fn(usize) -> Option<ZoneMap>,
        may_hold: &dyn Fn(usize, &Literal) -> Option<BooleanBuffer>,
    ) -> BooleanBuffer {
        let known = |column: usize| Some((column, map(column).filter(|map| map.null_count.len() == zones)?));
        let maps = self.columns().into_iter().filter_map(known).collect();
        Zones { count: zones, maps, may_hold }.may_match(self, &[])
    }

    /// The column that cannot be NaN where this holds.
    fn rules_out_nan(&self) -> Option<usize> {
        match self {
            BoundPredicate::Compare { column, op: Op::Eq | Op::Lt | Op::Le, literal } => {
                (!literal.is_nan()).then_some(*column)
            }
            BoundPredicate::In { column, literals, denied: false } => {
                literals.iter().all(|l| !l.is_nan()).then_some(*column)
            }
            _ => None,
        }
    }
}

/// What is known about the columns of a predicate.
struct Zones<'a> {
    count: usize,
    /// As long as there are zones.
    maps: BTreeMap<usize, ZoneMap>,
    may_hold: &'a dyn Fn(usize, &Literal) -> Option<BooleanBuffer>,
}

impl Zones<'_> {
    /// The zones in which the predicate may hold. Rows with NaN in one of the columns `without` are of no interest.
    fn may_match(&self, predicate: &BoundPredicate, without: &[usize]) -> BooleanBuffer {
        match predicate {
            BoundPredicate::Compare { column, op: Op::Eq, literal } => self.may_equal(*column, literal),
            BoundPredicate::Compare { column, op, literal } => {
                // Bounds do not speak of NaN, which is larger than every number.
                let floating = literal.array().data_type().is_floating() && !without.contains(column);
                let nan_holds = floating && matches!(op, Op::Gt | Op::Ge);
                match self.maps.get(column) {
                    Some(map) if map.nan_free || !nan_holds => map.may_compare(*op, literal),
                    _ => self.all(true),
                }
            }
            BoundPredicate::In { column, literals, denied: false } => {
                literals.iter().fold(self.all(false), |any, literal| &any | &self.may_equal(*column, literal))
            }
            BoundPredicate::Known { answer, .. } => self.all(*answer),
            BoundPredicate::IsNull { column, denied: false } => {
                self.maps.get(column).map_or_else(|| self.all(true), ZoneMap::may_be_null)
            }
            BoundPredicate::In { .. } | BoundPredicate::IsNull { .. } => self.all(true),
            BoundPredicate::Unknown => self.all(false),
            BoundPredicate::And(all) => {
                let numbers = all.iter().filter_map(BoundPredicate::rules_out_nan);
                let without: Vec<usize> = without.iter().copied().chain(numbers).collect();
                all.iter().fold(self.all(true), |sum, p| &sum & &self.may_match(p, &without))
            }
            BoundPredicate::Or(any) => any.iter().fold(self.all(false), |sum, p| &sum | &self.may_match(p, without)),
        }
    }

    fn may_equal(&self, column: usize, literal: &Literal) -> BooleanBuffer {
        let between = self.maps.get(&column).map_or_else(|| self.all(true), |map| map.may_compare(Op::Eq, literal));
        match (self.may_hold)(column, literal).filter(|held| held.len() == self.count) {
            Some(held) => &between & &held,
            None => between,
        }
    }

    fn all(&self, answer: bool) -> BooleanBuffer {
        if answer { BooleanBuffer::new_set(self.count) } else { BooleanBuffer::new_unset(self.count) }
    }
}

#[cfg(test)]
mod tests;
