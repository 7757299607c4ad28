//! Finding the bytes that end an unquoted cell: delimiter, LF, CR.
//!
//! Cells are short, so a search function called per cell would spend its time starting up. Here 64 bytes are compared
//! at once into a word with one bit per byte, and the matches are handed out one by one.

/// Bytes looked at together: as many as a word has bits.
const BLOCK: usize = 64;

/// Walks over the stops of a buffer in order.
pub(super) struct Separators<'a> {
    bytes: &'a [u8],
    delimiter: u8,
    /// Where the current block starts.
    block: usize,
    /// One bit for each byte of the block that is a stop and was not handed out yet.
    hits: u64,
}

impl<'a> Separators<'a> {
    /// The stops from position `at` on. The delimiter is not NUL: that byte fills up the last block.
    pub fn new(bytes: &'a [u8], delimiter: u8, at: usize) -> Self {
        let mut separators = Separators { bytes, delimiter, block: at, hits: 0 };
        separators.look();
        separators
    }

    /// Leaves out the stops before `at`, which is not before the last one handed out.
    #[inline]
    pub fn skip_to(&mut self, at: usize) {
        match u32::try_from(at - self.block) {
            Ok(inside) if inside < u64::BITS => self.hits &= u64::MAX << inside,
            _ => {
                self.block = at;
                self.look();
            }
        }
    }

    #[inline]
    fn look(&mut self) {
        let rest = self.bytes.get(self.block..).unwrap_or_default();
        self.hits = match rest.first_chunk::<BLOCK>() {
            Some(block) => stops_in(block, self.delimiter),
            None => {
                let mut last = [0; BLOCK];
                last.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
                stops_in(&last, self.delimiter)
            }
        };
    }

    /// The position of the next stop.
    #[inline]
    pub fn next(&mut self) -> Option<usize> {
        while self.hits == 0 {
            if self.bytes.len().saturating_sub(self.block) <= BLOCK {
                return None;
            }
            self.block += BLOCK;
            self.look();
        }
        let at = self.block + self.hits.trailing_zeros() as usize;
        self.hits &= self.hits - 1;
        Some(at)
    }
}

/// One bit for each byte that is a stop. Two loops, because compilers turn the first into vector instructions.
#[inline]
fn stops_in(block: &[u8; BLOCK], delimiter: u8) -> u64 {
    let flags = block.map(|b| u8::from((b == delimiter) | (b == b'\n') | (b == b'\r')));
    let (eights, _) = flags.as_chunks::<8>();
    // The product moves the lowest bit of each of eight bytes into the top byte, the first one lowest.
    let bits = |eight: &[u8; 8]| u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56;
    eights.iter().rev().fold(0, |word, eight| word << 8 | bits(eight))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_stop_is_found_once(bytes in proptest::collection::vec(prop_oneof![Just(b','), Just(b'\n'), Just(b'\r'), any::<u8>()], 0..200), from in 0usize..200) {
            let mut separators = Separators::new(&bytes, b',', from);
            let found: Vec<usize> = std::iter::from_fn(|| separators.next()).collect();
            let expected: Vec<usize> =
                (from..bytes.len()).filter(|i| matches!(bytes[*i], b',' | b'\n' | b'\r')).collect();
            prop_assert_eq!(found, expected);
            prop_assert_eq!(separators.next(), None);
        }

        #[test]
        fn skipping_leaves_out_what_lies_before(bytes in proptest::collection::vec(prop_oneof![Just(b','), Just(b'x')], 0..300), steps in proptest::collection::vec(1usize..100, 1..9)) {
            let mut separators = Separators::new(&bytes, b',', 0);
            let mut at = 0;
            for step in steps {
                at += step;
                separators.skip_to(at);
                let expected = (at..bytes.len()).find(|i| bytes[*i] == b',');
                let found = separators.next();
                prop_assert_eq!(found, expected);
                at = found.map_or(at, |f| f + 1);
            }
        }
    }
}
