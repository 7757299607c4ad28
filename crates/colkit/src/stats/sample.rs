//! A random sample of the values of a column that is the same whoever reads which part of it: every row has a random number of its own,
//! made from its position, and the values of the rows with the smallest numbers are kept.
//!
//! Samples of parts merge into the sample of the whole. A sample that never dropped a value is the column.

/// What a value needs for being kept.
pub(super) trait Sampled {
    /// Bytes that it holds elsewhere.
    fn held(&self) -> usize {
        0
    }
}

impl Sampled for i64 {}
impl Sampled for u64 {}
impl Sampled for f64 {}
impl Sampled for i128 {}
impl Sampled for Box<[u8]> {
    fn held(&self) -> usize {
        self.len()
    }
}

/// The values of the rows with the smallest numbers.
pub(super) struct Sample<V> {
    /// How many are kept at most.
    most: usize,
    /// How many bytes they may hold.
    most_bytes: usize,
    /// Rows with this number or a larger one are not in it.
    below: u64,
    kept: Vec<(u64, V)>,
    held: usize,
    /// Values there were.
    seen: u64,
}

impl<V: Sampled> Sample<V> {
    pub fn new(most: usize, most_bytes: usize) -> Self {
        Sample { most: most.max(1), most_bytes, below: u64::MAX, kept: Vec::new(), held: 0, seen: 0 }
    }

    /// Takes values and the numbers of their rows.
    pub fn add(&mut self, numbers: &[u64], values: impl Iterator<Item = impl FnOnce() -> V>) {
        self.seen += numbers.len() as u64;
        for (number, value) in numbers.iter().zip(values) {
            if *number < self.below {
                self.keep(*number, value());
            }
        }
    }

    fn keep(&mut self, number: u64, value: V) {
        self.held += value.held();
        self.kept.push((number, value));
        if self.kept.len() >= self.most.saturating_mul(2) {
            self.shrink();
        }
        if self.held > self.most_bytes {
            // Long values: fewer of them do.
            self.most = (self.kept.len() / 4).max(1).min(self.most);
            self.shrink();
        }
    }

    /// Drops what is too much.
    fn shrink(&mut self) {
        if self.kept.len() <= self.most {
            return;
        }
        let (_, first_dropped, _) = self.kept.select_nth_unstable_by_key(self.most, |(number, _)| *number);
        self.below = first_dropped.0;
        self.kept.truncate(self.most);
        self.held = self.kept.iter().map(|(_, value)| value.held()).sum();
    }

    /// Takes what another has kept.
    pub fn merge(&mut self, other: Sample<V>) {
        self.seen += other.seen;
        self.most = self.most.min(other.most);
        self.below = self.below.min(other.below);
        let below = self.below;
        self.kept.extend(other.kept);
        self.kept.retain(|(number, _)| *number < below);
        self.held = self.kept.iter().map(|(_, value)| value.held()).sum();
        self.shrink();
    }

    /// The values, whether they are all there were, and how many there were.
    pub fn finish(mut self) -> (Vec<V>, bool, u64) {
        self.shrink();
        let exact = self.kept.len() as u64 == self.seen;
        (self.kept.into_iter().map(|(_, value)| value).collect(), exact, self.seen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::mix;

    fn of(rows: impl Iterator<Item = u64>, most: usize) -> Sample<u64> {
        let mut sample = Sample::new(most, 1 << 20);
        let rows: Vec<u64> = rows.collect();
        let numbers: Vec<u64> = rows.iter().map(|row| mix(*row)).collect();
        sample.add(&numbers, rows.iter().map(|row| move || *row));
        sample
    }

    #[test]
    fn parts_give_the_sample_of_the_whole() {
        let sorted = |sample: Sample<u64>| {
            let (mut values, exact, seen) = sample.finish();
            values.sort_unstable();
            (values, exact, seen)
        };
        let whole = sorted(of(0..10_000, 100));
        let mut merged = of((0..10_000).filter(|n| n % 7 == 0), 100);
        merged.merge(of((0..10_000).filter(|n| n % 7 != 0), 100));
        assert_eq!(sorted(merged), whole);
        assert_eq!((whole.0.len(), whole.1, whole.2), (100, false, 10_000));
        assert_eq!(sorted(of(0..90, 100)), ((0..90).collect(), true, 90));
    }

    #[test]
    fn long_values_are_fewer() {
        let mut sample: Sample<Box<[u8]>> = Sample::new(1000, 10_000);
        for row in 0..500u64 {
            sample.add(&[mix(row)], std::iter::once(|| vec![0u8; 1000].into_boxed_slice()));
        }
        let (values, exact, seen) = sample.finish();
        assert!(values.len() <= 10 && !values.is_empty() && !exact && seen == 500, "{}", values.len());
    }
}
