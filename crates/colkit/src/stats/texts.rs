//! Columns of text and of bytes.

use super::cell::Cell;
use super::distinct::Distinct;
use super::sample::Sample;
use super::{ColumnStats, Count, Lengths, Room, TopValues, top_of};
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::DataType;
use std::collections::HashMap;

/// The smallest and the largest value.
type Bounds = (Box<[u8]>, Box<[u8]>);

/// What is known about a column of text or bytes.
pub(super) struct Texts {
    is_text: bool,
    bounds: Option<Bounds>,
    lengths: LengthCount,
    distinct: Distinct<Box<[u8]>>,
    sample: Sample<Box<[u8]>>,
}

impl Texts {
    pub fn new(room: Room, data_type: &DataType) -> Self {
        Texts {
            is_text: matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View),
            bounds: None,
            lengths: LengthCount::default(),
            distinct: Distinct::new(room),
            sample: Sample::new(room.sampled, room.bytes),
        }
    }

    pub fn add(&mut self, array: &ArrayRef, rows: &[u64]) {
        let (values, numbers): (Vec<&[u8]>, Vec<u64>) = match array.data_type() {
            DataType::Utf8 => valid(array.as_string::<i32>().iter().map(|v| v.map(str::as_bytes)), rows),
            DataType::LargeUtf8 => valid(array.as_string::<i64>().iter().map(|v| v.map(str::as_bytes)), rows),
            DataType::Utf8View => valid(array.as_string_view().iter().map(|v| v.map(str::as_bytes)), rows),
            DataType::Binary => valid(array.as_binary::<i32>().iter(), rows),
            DataType::LargeBinary => valid(array.as_binary::<i64>().iter(), rows),
            DataType::BinaryView => valid(array.as_binary_view().iter(), rows),
            DataType::FixedSizeBinary(_) => valid(array.as_fixed_size_binary().iter(), rows),
            _ => return,
        };
        let (Some(least), Some(most)) = (values.iter().min(), values.iter().max()) else { return };
        match &mut self.bounds {
            None => self.bounds = Some(((*least).into(), (*most).into())),
            Some((min, max)) => {
                if **least < **min {
                    *min = (*least).into();
                }
                if **most > **max {
                    *max = (*most).into();
                }
            }
        }
        let is_text = self.is_text;
        self.lengths.add(values.iter().map(|value| if is_text { characters(value) } else { value.len() as u64 }));
        self.distinct.add(values.iter().copied(), |value| Box::from(value));
        self.sample.add(&numbers, values.iter().map(|value| || Box::from(*value)));
    }

    pub fn merge(&mut self, other: Self) {
        self.bounds = match (self.bounds.take(), other.bounds) {
            (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
            (a, b) => a.or(b),
        };
        self.lengths.merge(&other.lengths);
        self.distinct.merge(other.distinct);
        self.sample.merge(other.sample);
    }

    pub fn finish(self, stats: &mut ColumnStats) {
        let data_type = stats.data_type.clone();
        let cell = |value: &[u8]| Cell::of_bytes(value, &data_type);
        if let Some((min, max)) = &self.bounds {
            (stats.min, stats.max) = (Some(cell(min)), Some(cell(max)));
        }
        stats.lengths = self.lengths.finish();
        let (sample, whole, seen) = self.sample.finish();
        let in_sample = sample.len() as u64;
        let (counts, exact, distinct) = match self.distinct.finish() {
            Ok(counts) => {
                let distinct = Count::exact(counts.len() as u64);
                (counts, true, distinct)
            }
            Err((estimate, error)) => {
                let mut counts: HashMap<Box<[u8]>, u64, ahash::RandomState> = HashMap::default();
                for value in sample {
                    *counts.entry(value).or_insert(0) += 1;
                }
                let counts: Vec<_> = counts.into_iter().collect();
                let distinct =
                    if whole { Count::exact(counts.len() as u64) } else { Count::estimate(estimate, error, seen) };
                (counts, whole, distinct)
            }
        };
        stats.distinct = Some(distinct);
        let in_sample = if exact { seen } else { in_sample };
        let mut counts = counts;
        counts.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        let values = top_of(counts, exact, seen, in_sample);
        stats.top = Some(TopValues { exact, values: values.into_iter().map(|(v, n)| (cell(&v), n)).collect() });
    }
}

/// The values that are there, and the random numbers of their rows.
fn valid<'a>(values: impl Iterator<Item = Option<&'a [u8]>>, rows: &[u64]) -> (Vec<&'a [u8]>, Vec<u64>) {
    values.zip(rows).filter_map(|(value, row)| Some((value?, *row))).unzip()
}

/// Characters of a text.
fn characters(text: &[u8]) -> u64 {
    // Every byte but those that continue a character.
    text.iter().filter(|byte| **byte & 0b1100_0000 != 0b1000_0000).count() as u64
}

/// The shortest, the longest and the sum of lengths.
#[derive(Default)]
pub(super) struct LengthCount {
    bounds: Option<(u64, u64)>,
    sum: u128,
    count: u64,
}

impl LengthCount {
    pub fn add(&mut self, lengths: impl Iterator<Item = u64>) {
        for length in lengths {
            let (least, most) = self.bounds.unwrap_or((length, length));
            self.bounds = Some((least.min(length), most.max(length)));
            self.sum += u128::from(length);
            self.count += 1;
        }
    }

    pub fn merge(&mut self, other: &Self) {
        self.bounds = match (self.bounds, other.bounds) {
            (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
            (a, b) => a.or(b),
        };
        self.sum += other.sum;
        self.count += other.count;
    }

    pub fn finish(&self) -> Option<Lengths> {
        let (shortest, longest) = self.bounds?;
        Some(Lengths { shortest, longest, mean: self.sum as f64 / self.count as f64 })
    }
}
