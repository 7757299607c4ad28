//! The number of different values, estimated from their hashes: HyperLogLog, with the estimator of Ertl (2017), which needs no
//! tables and no other method for small numbers.

/// Registers that each hold the longest run of zeros among the hashes that fell to them.
#[derive(Clone)]
pub(super) struct HyperLogLog {
    registers: Vec<u8>,
    /// The first so many bits of a hash choose its register.
    precision: u32,
}

impl HyperLogLog {
    /// `2^precision` registers of a byte each.
    pub fn new(precision: u32) -> Self {
        HyperLogLog { registers: vec![0; 1 << precision], precision }
    }

    /// Takes the hash of a value.
    pub fn add(&mut self, hash: u64) {
        let index = usize::try_from(hash >> (64 - self.precision)).unwrap_or(0);
        // The bit behind the hash ends the run at the latest there.
        let rest = (hash << self.precision) | (1 << (self.precision - 1));
        let zeros = u8::try_from(rest.leading_zeros() + 1).unwrap_or(u8::MAX);
        if let Some(register) = self.registers.get_mut(index)
            && zeros > *register
        {
            *register = zeros;
        }
    }

    /// Takes what another with as many registers has seen.
    pub fn merge(&mut self, other: &HyperLogLog) {
        for (mine, theirs) in self.registers.iter_mut().zip(&other.registers) {
            *mine = (*mine).max(*theirs);
        }
    }

    /// The standard error of [`estimate`](Self::estimate), relative to it.
    pub fn error(&self) -> f64 {
        1.04 / (self.registers.len() as f64).sqrt()
    }

    /// How many different hashes there were, roughly.
    pub fn estimate(&self) -> f64 {
        let longest = 64 - self.precision;
        let mut count = vec![0u64; longest as usize + 2];
        for register in &self.registers {
            if let Some(count) = count.get_mut(usize::from(*register)) {
                *count += 1;
            }
        }
        let m = self.registers.len() as f64;
        let of = |zeros: u32| count.get(zeros as usize).map_or(0.0, |n| *n as f64);
        let mut z = m * tau(1.0 - of(longest + 1) / m);
        for zeros in (1..=longest).rev() {
            z = 0.5 * (z + of(zeros));
        }
        z += m * sigma(of(0) / m);
        let alpha = 0.5 / std::f64::consts::LN_2;
        alpha * m * m / z
    }
}

/// The sum of `x^(2^k) * 2^(k-1)`: the part of empty registers.
fn sigma(mut x: f64) -> f64 {
    if x >= 1.0 {
        return f64::INFINITY;
    }
    let (mut y, mut z) = (1.0, x);
    loop {
        x *= x;
        let before = z;
        z += x * y;
        y += y;
        if z <= before {
            return z;
        }
    }
}

/// The part of full registers.
fn tau(mut x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return 0.0;
    }
    let (mut y, mut z) = (1.0, 1.0 - x);
    loop {
        x = x.sqrt();
        let before = z;
        y *= 0.5;
        z -= (1.0 - x).powi(2) * y;
        if z >= before {
            return z / 3.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::mix;

    #[test]
    fn estimates_are_within_four_standard_errors() {
        for precision in [8, 12, 14] {
            for number in [0u64, 1, 10, 100, 1_000, 20_000, 300_000] {
                let mut sketch = HyperLogLog::new(precision);
                for n in 0..number {
                    sketch.add(mix(n));
                    sketch.add(mix(n));
                }
                let off = (sketch.estimate() - number as f64).abs();
                assert!(off <= 4.0 * sketch.error() * number as f64 + 0.5, "{number} with {precision}: {off}");
            }
        }
    }

    #[test]
    fn parts_give_what_the_whole_gives() {
        let mut parts = [HyperLogLog::new(10), HyperLogLog::new(10)];
        let mut whole = HyperLogLog::new(10);
        for n in 0..10_000u64 {
            whole.add(mix(n));
            parts[usize::from(n % 3 == 0)].add(mix(n));
        }
        let [mut first, second] = parts;
        first.merge(&second);
        assert_eq!(first.registers, whole.registers);
    }
}
