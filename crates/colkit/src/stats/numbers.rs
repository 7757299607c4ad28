//! Columns of numbers, dates, times and decimals: everything that has an order and a distance.

use super::cell::Cell;
use super::distinct::{Counted, Distinct};
use super::sample::{Sample, Sampled};
use super::{ColumnStats, Count, Histogram, QUANTILES, Quantiles, Room, TopValues, top_of};
use arrow::array::{Array, ArrayRef};
use arrow::buffer::{NullBuffer, ScalarBuffer};
use arrow::datatypes::{ArrowNativeType, DataType};
use std::cmp::Ordering;

/// Bars of a histogram.
const BARS: usize = 16;

/// A number as it is kept.
pub(super) trait Number: Copy + PartialOrd + Sampled + Send {
    /// What equal numbers have in common.
    type Key: Counted + Copy;
    fn key(self) -> Self::Key;
    fn of_key(key: Self::Key) -> Self;
    fn near(self) -> f64;
    /// The sum, where integers have an exact one.
    fn sum(values: &[Self]) -> Option<i128>;
    fn cell(self, data_type: &DataType) -> Option<Cell>;

    fn is_nan(self) -> bool {
        false
    }

    fn order(&self, other: &Self) -> Ordering {
        self.partial_cmp(other).unwrap_or(Ordering::Equal)
    }
}

macro_rules! integer {
    ($type:ty) => {
        impl Number for $type {
            type Key = $type;
            fn key(self) -> $type {
                self
            }
            fn of_key(key: $type) -> Self {
                key
            }
            fn near(self) -> f64 {
                self as f64
            }
            fn sum(values: &[Self]) -> Option<i128> {
                values.iter().try_fold(0i128, |sum, value| sum.checked_add(i128::from(*value)))
            }
            fn cell(self, data_type: &DataType) -> Option<Cell> {
                Cell::of_int(i128::from(self), data_type)
            }
        }
    };
}

integer!(i64);
integer!(u64);
integer!(i128);

impl Number for f64 {
    type Key = u64;
    fn key(self) -> u64 {
        // There are two zeros, and they are equal.
        if self == 0.0 { 0 } else { self.to_bits() }
    }
    fn of_key(key: u64) -> Self {
        f64::from_bits(key)
    }
    fn near(self) -> f64 {
        self
    }
    fn sum(_: &[Self]) -> Option<i128> {
        None
    }
    fn cell(self, data_type: &DataType) -> Option<Cell> {
        Cell::of_float(self, data_type)
    }
    fn is_nan(self) -> bool {
        self.is_nan()
    }
}

/// What is known about a column of numbers.
pub(super) struct Numbers<N: Number> {
    count: u64,
    nans: u64,
    bounds: Option<(N, N)>,
    sum: Option<i128>,
    mean: f64,
    /// The sum of squared distances from the mean.
    spread: f64,
    distinct: Distinct<N::Key>,
    sample: Sample<N>,
}

impl<N: Number> Numbers<N> {
    pub fn new(room: Room) -> Self {
        Numbers {
            count: 0,
            nans: 0,
            bounds: None,
            sum: Some(0),
            mean: 0.0,
            spread: 0.0,
            distinct: Distinct::new(room),
            sample: Sample::new(room.sampled, usize::MAX),
        }
    }

    /// Takes the values of a batch, and the random numbers of its rows.
    pub fn add(&mut self, values: &[N], nulls: Option<&NullBuffer>, rows: &[u64]) {
        let wanted = |place: usize| nulls.is_none_or(|n| n.is_valid(place));
        let some_nan = values.iter().any(|v| v.is_nan());
        if nulls.is_none_or(|n| n.null_count() == 0) && !some_nan {
            return self.add_all(values, rows);
        }
        let valid = values.iter().zip(rows).enumerate().filter(|(place, _)| wanted(*place)).map(|(_, both)| both);
        let mut nans = 0;
        let (mut kept, mut numbers) = (Vec::with_capacity(values.len()), Vec::with_capacity(values.len()));
        for (value, row) in valid {
            if value.is_nan() {
                nans += 1;
            } else {
                kept.push(*value);
                numbers.push(*row);
            }
        }
        self.nans += nans;
        self.add_all(&kept, &numbers);
    }

    /// Takes values of which none is null or NaN.
    fn add_all(&mut self, values: &[N], rows: &[u64]) {
        let Some(first) = values.first() else { return };
        let mut bounds = self.bounds.unwrap_or((*first, *first));
        for value in values {
            bounds.0 = if *value < bounds.0 { *value } else { bounds.0 };
            bounds.1 = if *value > bounds.1 { *value } else { bounds.1 };
        }
        self.bounds = Some(bounds);
        self.sum = self.sum.zip(N::sum(values)).and_then(|(a, b)| a.checked_add(b));
        let count = values.len() as f64;
        let mean = values.iter().map(|v| v.near()).sum::<f64>() / count;
        let spread = values.iter().map(|v| (v.near() - mean) * (v.near() - mean)).sum();
        self.join(values.len() as u64, mean, spread);
        let keys: Vec<N::Key> = values.iter().map(|v| v.key()).collect();
        self.distinct.add(keys.iter(), |key| *key);
        self.sample.add(rows, values.iter().map(|v| move || *v));
    }

    /// Mean and spread of both together.
    fn join(&mut self, count: u64, mean: f64, spread: f64) {
        let (a, b) = (self.count as f64, count as f64);
        if count > 0 {
            let apart = mean - self.mean;
            self.mean += apart * b / (a + b);
            self.spread += spread + apart * apart * a * b / (a + b);
            self.count += count;
        }
    }

    pub fn merge(&mut self, other: Self) {
        self.nans += other.nans;
        self.bounds = match (self.bounds, other.bounds) {
            (Some(a), Some(b)) => Some((if b.0 < a.0 { b.0 } else { a.0 }, if b.1 > a.1 { b.1 } else { a.1 })),
            (a, b) => a.or(b),
        };
        self.sum = self.sum.zip(other.sum).and_then(|(a, b)| a.checked_add(b));
        self.join(other.count, other.mean, other.spread);
        self.distinct.merge(other.distinct);
        self.sample.merge(other.sample);
    }

    pub fn finish(self, stats: &mut ColumnStats) {
        let data_type = stats.data_type.clone();
        let cell = |value: N| value.cell(&data_type);
        if data_type.is_floating() {
            stats.nans = Some(self.nans);
        }
        if let Some((min, max)) = self.bounds {
            (stats.min, stats.max) = (cell(min), cell(max));
        }
        self.mean_and_deviation(stats);
        let (mut sample, whole, seen) = self.sample.finish();
        sample.sort_unstable_by(Number::order);
        let (counts, distinct) = match self.distinct.finish() {
            Ok(counts) => {
                let distinct = Count::exact(counts.len() as u64);
                (Some(counts.into_iter().map(|(key, n)| (N::of_key(key), n)).collect()), distinct)
            }
            Err(_) if whole => {
                let counts = runs(&sample);
                let distinct = Count::exact(counts.len() as u64);
                (Some(counts), distinct)
            }
            Err((estimate, error)) => (None, Count::estimate(estimate, error, seen)),
        };
        let exact = counts.is_some();
        let mut ordered: Vec<(N, u64)> = counts.unwrap_or_else(|| runs(&sample));
        ordered.sort_unstable_by(|a, b| a.0.order(&b.0));
        stats.distinct = Some(distinct);
        let in_sample: u64 = ordered.iter().map(|(_, n)| n).sum();
        let quantile = |share: f64| at(&ordered, share, in_sample).and_then(cell).map(|value| (share, value));
        stats.quantiles = Some(Quantiles { exact, values: QUANTILES.into_iter().filter_map(quantile).collect() });
        stats.histogram = self.bounds.and_then(|bounds| histogram(&ordered, bounds, exact, seen, in_sample));
        let values = top_of(ordered, exact, seen, in_sample);
        let values = values.into_iter().filter_map(|(value, n)| Some((cell(value)?, n)));
        stats.top = Some(TopValues { exact, values: values.collect() });
    }

    fn mean_and_deviation(&self, stats: &mut ColumnStats) {
        if self.count == 0 {
            return;
        }
        let scale = match &stats.data_type {
            DataType::Decimal32(_, s) | DataType::Decimal64(_, s) | DataType::Decimal128(_, s) => {
                10f64.powi(-i32::from(*s))
            }
            _ => 1.0,
        };
        let exact_mean = self.sum.map(|sum| mean_of(sum, self.count));
        if stats.data_type.is_temporal() {
            let rounded = self.sum.map(|sum| sum.div_euclid(i128::from(self.count)));
            stats.mean = rounded.and_then(|mean| Cell::of_int(mean, &stats.data_type));
            return;
        }
        stats.mean = Cell::of_float(exact_mean.unwrap_or(self.mean) * scale, &DataType::Float64);
        if self.count > 1 {
            let deviation = (self.spread / (self.count - 1) as f64).sqrt() * scale;
            stats.std = Some(deviation).filter(|d| d.is_finite());
        }
    }
}

/// The mean, with the fraction of the division kept apart so that large sums do not lose it.
fn mean_of(sum: i128, count: u64) -> f64 {
    let count = i128::from(count);
    (sum.div_euclid(count)) as f64 + (sum.rem_euclid(count)) as f64 / count as f64
}

/// Sorted values as values and how often each occurs.
fn runs<N: Number>(sorted: &[N]) -> Vec<(N, u64)> {
    let mut runs: Vec<(N, u64)> = Vec::new();
    for value in sorted {
        match runs.last_mut() {
            Some((last, count)) if last.key() == value.key() => *count += 1,
            _ => runs.push((*value, 1)),
        }
    }
    runs
}

/// The smallest value that so large a share of all is not larger than.
fn at<N: Number>(ordered: &[(N, u64)], share: f64, count: u64) -> Option<N> {
    let wanted = share * count as f64;
    let mut before = 0;
    for (value, number) in ordered {
        before += number;
        if before as f64 >= wanted {
            return Some(*value);
        }
    }
    None
}

fn histogram<N: Number>(
    ordered: &[(N, u64)],
    (min, max): (N, N),
    exact: bool,
    seen: u64,
    in_sample: u64,
) -> Option<Histogram> {
    let (low, high) = (min.near(), max.near());
    let width = (high - low) / BARS as f64;
    if !width.is_finite() || width <= 0.0 {
        return None;
    }
    let mut counts = vec![0u64; BARS];
    for (value, number) in ordered {
        let place = ((value.near() - low) / width).floor();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "limited to the number of bars")]
        let place = place.clamp(0.0, (BARS - 1) as f64) as usize;
        if let Some(count) = counts.get_mut(place) {
            *count += number;
        }
    }
    if !exact {
        counts.iter_mut().for_each(|count| *count = super::scaled(*count, seen, in_sample));
    }
    Some(Histogram { exact, counts })
}

/// The values of an array as integers of 64 bits: dates and times in their own unit, decimals without their point.
pub(super) fn integers(array: &ArrayRef) -> Option<ScalarBuffer<i64>> {
    fn wider<T: ArrowNativeType + Into<i64>>(array: &ArrayRef) -> Option<ScalarBuffer<i64>> {
        Some(natives::<T>(array)?.iter().map(|v| (*v).into()).collect::<Vec<i64>>().into())
    }
    match array.data_type() {
        DataType::Int8 => wider::<i8>(array),
        DataType::Int16 => wider::<i16>(array),
        DataType::UInt8 => wider::<u8>(array),
        DataType::UInt16 => wider::<u16>(array),
        DataType::UInt32 => wider::<u32>(array),
        t if t.primitive_width() == Some(4) => wider::<i32>(array),
        t if t.primitive_width() == Some(8) => natives(array),
        _ => None,
    }
}

/// The values of an array of numbers, as they lie in memory.
pub(super) fn natives<T: ArrowNativeType>(array: &ArrayRef) -> Option<ScalarBuffer<T>> {
    let data = array.to_data();
    let buffer = data.buffers().first()?.clone();
    Some(ScalarBuffer::new(buffer, data.offset(), data.len()))
}
