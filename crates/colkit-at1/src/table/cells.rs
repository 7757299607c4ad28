//! The cells of a block: texts with a line end between each two.
//!
//! Cells are short, so a search for each line end would mostly be starting a search. Eight bytes are looked at at a time, and
//! all line ends among them noted; cells that nobody wants are only counted.

/// Where reading stands.
#[derive(Clone, Copy, Debug, Default)]
pub struct Place {
    /// Where the next cell begins. Past the end if there is none.
    start: usize,
    /// The word that comes next.
    word: usize,
    /// The line ends in the word before it that have not been used: the top bit of each such byte.
    ends: u64,
}

impl Place {
    /// How many bytes have been read.
    pub fn at(self) -> usize {
        self.start
    }
}

/// Cells from a place on.
#[derive(Clone, Copy, Debug)]
pub struct Cells<'a> {
    bytes: &'a [u8],
    /// Where it stands.
    pub place: Place,
}

const WORD: usize = size_of::<u64>();
const ONES: u64 = 0x0101_0101_0101_0101;
const TOPS: u64 = ONES << 7;

/// The top bit of each byte that is a line end.
#[inline]
fn line_ends(word: u64) -> u64 {
    // Zero where there is a line end; adding 0x7F to seven bits reaches the top bit unless they are all zero.
    let other = word ^ (ONES * 0x0A);
    !(((other & !TOPS) + !TOPS) | other) & TOPS
}

impl<'a> Cells<'a> {
    /// The cells of a block from `place` on.
    pub fn new(bytes: &'a [u8], place: Place) -> Self {
        Cells { bytes, place }
    }

    /// Notes the line ends of the next word; `false` if there is none.
    #[inline]
    fn advance(&mut self) -> bool {
        let rest = self.bytes.get(self.place.word..).unwrap_or_default();
        let word = match rest.first_chunk::<WORD>() {
            Some(word) => u64::from_le_bytes(*word),
            None if rest.is_empty() => return false,
            // The last bytes: nothing follows that could be a line end.
            None => rest.iter().rev().fold(0, |word, byte| (word << 8) | u64::from(*byte)),
        };
        self.place.ends = line_ends(word);
        self.place.word += WORD;
        true
    }

    /// Leaves out so many cells.
    pub fn skip_cells(&mut self, mut count: u64) {
        while count > 0 {
            // The product adds up all bytes in the topmost.
            let here = (self.place.ends >> 7).wrapping_mul(ONES) >> 56;
            if here < count {
                count -= here;
                self.place.ends = 0;
                if !self.advance() {
                    // There is at most the last cell left, which has no line end.
                    self.place.start = self.bytes.len() + 1;
                    return;
                }
                continue;
            }
            for _ in 1..count {
                self.place.ends &= self.place.ends - 1;
            }
            self.next();
            return;
        }
    }
}

impl<'a> Iterator for Cells<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        while self.place.ends == 0 {
            if !self.advance() {
                let last = self.bytes.get(self.place.start..)?;
                self.place.start = self.bytes.len() + 1;
                return Some(last);
            }
        }
        let Place { start, word, ends } = self.place;
        let end = word - WORD + ends.trailing_zeros() as usize / 8;
        self.place = Place { start: end + 1, word, ends: ends & (ends - 1) };
        self.bytes.get(start..end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts() -> Vec<Vec<u8>> {
        let mut texts: Vec<Vec<u8>> =
            ["", "\n", "a", "a\n", "\n\n\n\n\n\n\n\n\n", "1234567\n", "12345678\n9", "\u{8a}\u{b}\n\t\u{7f}\n\u{8a}\n"]
                .map(|t| t.as_bytes().to_vec())
                .to_vec();
        // Every length around a word, every byte beside a line end.
        for n in 0..600u32 {
            let mut text = Vec::new();
            for i in 0..n % 40 {
                let mixed = (n * 97 + i).wrapping_mul(0x9E37_79B9) >> 24;
                let byte = u8::try_from(mixed).unwrap();
                text.push(if mixed.is_multiple_of(3) { b'\n' } else { byte });
            }
            texts.push(text);
        }
        texts
    }

    #[test]
    fn cells_are_what_splitting_gives() {
        for text in texts() {
            let expected: Vec<&[u8]> = text.split(|b| *b == b'\n').collect();
            let cells = Cells::new(&text, Place::default());
            assert_eq!(cells.collect::<Vec<_>>(), expected, "{text:?}");
            for from in 0..expected.len() + 2 {
                for skip in 0..expected.len() + 2 {
                    let mut cells = Cells::new(&text, Place::default());
                    cells.by_ref().take(from).for_each(drop);
                    cells.skip_cells(skip as u64);
                    let left = expected.get(from + skip..).unwrap_or_default();
                    assert_eq!(Cells::new(&text, cells.place).collect::<Vec<_>>(), left, "{text:?} {from} {skip}");
                }
            }
        }
    }
}
