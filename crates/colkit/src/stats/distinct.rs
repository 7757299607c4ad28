//! Different values and how often each occurs: counted as long as they are few, estimated from then on.

use super::Room;
use super::hyper_log_log::HyperLogLog;
use ahash::RandomState;
use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;

/// A value that can be counted.
pub(super) trait Counted: Hash + Eq {
    /// Bytes that it holds elsewhere.
    fn held(&self) -> usize {
        0
    }
}

impl Counted for u64 {}
impl Counted for i64 {}
impl Counted for i128 {}
impl Counted for Box<[u8]> {
    fn held(&self) -> usize {
        self.len()
    }
}

/// The different values of a column.
pub(super) struct Distinct<K> {
    room: Room,
    held: usize,
    known: Known<K>,
    /// The same in all parts and all runs, unlike that of the map: a file must not be able to choose what collides there.
    hasher: RandomState,
}

enum Known<K> {
    Counts(HashMap<K, u64, RandomState>),
    Estimate(HyperLogLog),
}

impl<K: Counted> Distinct<K> {
    pub fn new(room: Room) -> Self {
        let hasher = RandomState::with_seeds(0x636f_6c6b, 0x6974_2073, 0x7461_7469, 0x7374_6963);
        Distinct { room, held: 0, known: Known::Counts(HashMap::default()), hasher }
    }

    /// Takes values.
    pub fn add<'a, Q: Hash + Eq + ?Sized + 'a>(&mut self, values: impl Iterator<Item = &'a Q>, own: impl Fn(&Q) -> K)
    where
        K: Borrow<Q>,
    {
        for value in values {
            match &mut self.known {
                Known::Estimate(sketch) => sketch.add(self.hasher.hash_one(value)),
                Known::Counts(counts) => {
                    if let Some(count) = counts.get_mut(value) {
                        *count += 1;
                        continue;
                    }
                    let owned = own(value);
                    self.held += owned.held();
                    counts.insert(owned, 1);
                    if counts.len() > self.room.counted || self.held > self.room.bytes {
                        self.estimate();
                    }
                }
            }
        }
    }

    /// Counts no longer.
    fn estimate(&mut self) {
        if let Known::Counts(counts) = &self.known {
            let mut sketch = HyperLogLog::new(self.room.precision);
            counts.keys().for_each(|value| sketch.add(self.hasher.hash_one(value)));
            self.known = Known::Estimate(sketch);
            self.held = 0;
        }
    }

    /// Takes what another has seen.
    pub fn merge(&mut self, other: Distinct<K>) {
        match other.known {
            Known::Estimate(theirs) => {
                self.estimate();
                if let Known::Estimate(sketch) = &mut self.known {
                    sketch.merge(&theirs);
                }
            }
            Known::Counts(theirs) => {
                for (value, number) in theirs {
                    match &mut self.known {
                        Known::Estimate(sketch) => sketch.add(self.hasher.hash_one(&value)),
                        Known::Counts(counts) => {
                            self.held += value.held();
                            *counts.entry(value).or_insert(0) += number;
                            if counts.len() > self.room.counted || self.held > self.room.bytes {
                                self.estimate();
                            }
                        }
                    }
                }
            }
        }
    }

    /// The values and how often each occurs, or how many there are, roughly, and the standard error of that.
    pub fn finish(self) -> Result<Vec<(K, u64)>, (f64, f64)> {
        match self.known {
            Known::Counts(counts) => Ok(counts.into_iter().collect()),
            Known::Estimate(sketch) => Err((sketch.estimate(), sketch.error())),
        }
    }
}
