//! `sample`: prints rows chosen at random, each as likely as any other.

use super::take::print;
use crate::args::SampleArgs;
use crate::request::Opened;
use crate::{Io, Outcome};
use colkit::Result;
use std::collections::BTreeSet;

pub fn run(args: &SampleArgs, io: &mut Io) -> Result<Outcome> {
    let Opened { file, columns, printing } = args.common.open(io)?;
    let rows = chosen(args.rows, file.row_count(), args.seed);
    print(&file, rows, columns, &printing, &args.common.print, args.common.reading.memory, io)
}

/// So many different row numbers below `row_count`, in order; all if there are no more.
fn chosen(rows: u64, row_count: u64, seed: u64) -> Vec<u64> {
    if rows >= row_count {
        return (0..row_count).collect();
    }
    // Floyd's algorithm: every set of so many rows is as likely, and no number is drawn twice.
    let mut random = Random(seed);
    let mut chosen = BTreeSet::new();
    for last in row_count - rows..row_count {
        let row = random.below(last + 1);
        if !chosen.insert(row) {
            chosen.insert(last);
        }
    }
    chosen.into_iter().collect()
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `end`, each as likely: the last, incomplete round of numbers is drawn again.
    fn below(&mut self, end: u64) -> u64 {
        let rounds = u64::MAX - u64::MAX % end;
        loop {
            let number = self.next();
            if number < rounds {
                return number % end;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_different_in_order_and_the_same_for_a_seed() {
        let rows = chosen(100, 1000, 7);
        assert_eq!(rows.len(), 100);
        assert!(rows.windows(2).all(|pair| pair[0] < pair[1]) && rows[99] < 1000);
        assert_eq!(rows, chosen(100, 1000, 7));
        assert_ne!(rows, chosen(100, 1000, 8));
        assert_eq!(chosen(5, 3, 0), [0, 1, 2]);
        assert!(chosen(0, 3, 0).is_empty() && chosen(3, 0, 0).is_empty());
    }

    #[test]
    fn every_row_is_as_likely() {
        let mut counts = [0u32; 10];
        (0..10_000).flat_map(|seed| chosen(3, 10, seed)).for_each(|row| counts[usize::try_from(row).unwrap()] += 1);
        assert!(counts.iter().all(|count| (2800..3200).contains(count)), "{counts:?}");
    }
}
