//! Finding the bytes that end an unquoted cell: delimiter, LF, CR.
//!
//! Eight bytes at a time, in a plain 64-bit word. Cells are short, so a search function called per cell would spend
//! its time starting up; here the matches of a word are remembered and handed out one by one.

const LOW_BITS: u64 = 0x7F7F_7F7F_7F7F_7F7F;

/// Walks over the stops of a buffer in order.
pub(super) struct Stops<'a> {
    bytes: &'a [u8],
    delimiter: u64,
    /// Where the current word starts.
    word: usize,
    /// The top bit of each byte of the current word that is a stop and was not handed out yet.
    hits: u64,
}

/// Sets the top bit of each byte that is zero, and no other bit. (The shorter trick with a subtraction also marks
/// bytes above a match.)
const fn zero_bytes(word: u64) -> u64 {
    !(((word & LOW_BITS) + LOW_BITS) | word | LOW_BITS)
}

const fn repeated(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}

impl<'a> Stops<'a> {
    /// The stops from position `at` on. The delimiter is not NUL: that byte fills up the last word.
    pub fn new(bytes: &'a [u8], delimiter: u8, at: usize) -> Self {
        let mut stops = Stops { bytes, delimiter: repeated(delimiter), word: at, hits: 0 };
        stops.restart(at);
        stops
    }

    /// Goes on from position `at`.
    pub fn restart(&mut self, at: usize) {
        self.word = at;
        self.look();
    }

    #[inline]
    fn look(&mut self) {
        let rest = self.bytes.get(self.word..).unwrap_or_default();
        let word = match rest.first_chunk::<8>() {
            Some(eight) => u64::from_le_bytes(*eight),
            None => rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
        };
        self.hits = zero_bytes(word ^ self.delimiter)
            | zero_bytes(word ^ const { repeated(b'\n') })
            | zero_bytes(word ^ const { repeated(b'\r') });
    }

    /// The position of the next stop.
    #[inline]
    pub fn next(&mut self) -> Option<usize> {
        while self.hits == 0 {
            self.word += 8;
            if self.word >= self.bytes.len() {
                // Stays at the end however often it is asked.
                self.word = self.bytes.len();
                return None;
            }
            self.look();
        }
        let at = self.word + self.hits.trailing_zeros() as usize / 8;
        self.hits &= self.hits - 1;
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_stop_is_found_once(bytes in proptest::collection::vec(prop_oneof![Just(b','), Just(b'\n'), Just(b'\r'), any::<u8>()], 0..60), from in 0usize..60) {
            let mut stops = Stops::new(&bytes, b',', from);
            let found: Vec<usize> = std::iter::from_fn(|| stops.next()).collect();
            let expected: Vec<usize> =
                (from..bytes.len()).filter(|i| matches!(bytes[*i], b',' | b'\n' | b'\r')).collect();
            prop_assert_eq!(found, expected);
            prop_assert_eq!(stops.next(), None);
        }
    }
}
