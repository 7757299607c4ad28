//! Numbers and dates in other spellings than those that this module reads: `1.234,5`, `31.12.2024`.
//!
//! A [`Spelling`] rewrites a cell to what everybody else here knows: a decimal point, no thousands separators, ISO 8601.
//! It never makes two different values of one cell: what is a number only in the usual spelling is none in another.

use super::date_format::DateFormat;
use super::kinds::Kinds;

/// How numbers and dates are written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spelling {
    /// Numbers, if they are not written as in programs.
    pub numbers: Option<NumberSpelling>,
    /// Dates and times, beside ISO 8601.
    pub dates: Option<DateFormat>,
}

/// How numbers are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NumberSpelling {
    /// What stands before the fraction: a point or a comma.
    pub decimal: u8,
    /// What may stand between groups of three digits.
    pub thousands: Option<char>,
}

/// A cell that is neither a number nor a date, and not empty either.
const NO_VALUE: &[u8] = b"\0";

const NUMBER: Kinds =
    Kinds::INT32.and(Kinds::INT53).and(Kinds::INT64).and(Kinds::UINT64).and(Kinds::REAL).and(Kinds::LOOSE);

impl Spelling {
    /// Whether it is the usual one, in which nothing needs to be rewritten.
    pub fn is_usual(&self) -> bool {
        *self == Self::default()
    }

    /// The cell in the usual spelling. `buffer` is for those that have to be rewritten.
    pub fn usual<'a>(&self, cell: &'a [u8], buffer: &'a mut Vec<u8>) -> &'a [u8] {
        // Null words, `nan`, `true` and text begin otherwise, most of them.
        if !matches!(cell, [b'0'..=b'9' | b'-' | b'+' | b'.' | b',', ..]) && self.dates.is_none() {
            return cell;
        }
        if let Some(numbers) = self.numbers {
            if numbers.rewrite(cell, buffer) {
                return buffer;
            }
            if Kinds::of(cell).has(NUMBER) {
                return NO_VALUE;
            }
        }
        match &self.dates {
            Some(dates) if dates.rewrite(cell, buffer) => buffer.as_slice(),
            _ => cell,
        }
    }
}

impl NumberSpelling {
    /// Puts a number in the usual spelling into `out`; `false` if the cell is none.
    fn rewrite(self, cell: &[u8], out: &mut Vec<u8>) -> bool {
        out.clear();
        let mut rest = cell;
        if let [sign @ (b'-' | b'+'), unsigned @ ..] = rest {
            out.push(*sign);
            rest = unsigned;
        }
        let first = digits(&mut rest, out);
        if let Some(separator) = self.thousands {
            let mut bytes = [0; 4];
            let separator = separator.encode_utf8(&mut bytes).as_bytes();
            while let Some(group) = rest.strip_prefix(separator).filter(|_| (1..=3).contains(&first)) {
                rest = group;
                if digits(&mut rest, out) != 3 {
                    return false;
                }
            }
        }
        let mut fraction = 0;
        if let Some(after) = rest.strip_prefix(&[self.decimal]) {
            out.push(b'.');
            rest = after;
            fraction = digits(&mut rest, out);
        }
        if let [b'e' | b'E', ..] = rest {
            out.extend_from_slice(rest);
            rest = &[];
        }
        first + fraction > 0 && rest.is_empty()
    }
}

/// Moves leading digits to `out`; how many those were.
fn digits(text: &mut &[u8], out: &mut Vec<u8>) -> usize {
    let count = text.iter().take_while(|b| b.is_ascii_digit()).count();
    let (digits, rest) = text.split_at_checked(count).unwrap_or((&[], text));
    out.extend_from_slice(digits);
    *text = rest;
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usual(spelling: &Spelling, cell: &str) -> String {
        String::from_utf8(spelling.usual(cell.as_bytes(), &mut Vec::new()).to_vec()).unwrap()
    }

    #[test]
    fn numbers_are_rewritten_or_refused() {
        let numbers =
            |decimal, thousands| Spelling { numbers: Some(NumberSpelling { decimal, thousands }), dates: None };
        let german = numbers(b',', Some('.'));
        for (cell, expected) in [
            ("1,5", "1.5"),
            ("-1.234,56", "-1234.56"),
            ("1234,5", "1234.5"),
            ("1.234.567", "1234567"),
            ("1,5e3", "1.5e3"),
            ("12", "12"),
            (",5", ".5"),
            ("1.5", "\0"),
            ("1.23", "\0"),
            ("1.234.5", "1.234.5"),
            ("12345.678,9", "12345.678,9"),
            ("nan", "nan"),
            ("", ""),
            ("-", "-"),
            ("Straße 1,5", "Straße 1,5"),
        ] {
            assert_eq!(usual(&german, cell), expected, "{cell}");
        }
        let swiss = numbers(b'.', Some('\''));
        assert_eq!((usual(&swiss, "1'234.5"), usual(&swiss, "12.5")), ("1234.5".into(), "12.5".into()));
        let french = numbers(b',', Some('\u{202f}'));
        assert_eq!(usual(&french, "12\u{202f}345,5"), "12345.5");
        assert_eq!(usual(&numbers(b',', None), "1.234,5"), "1.234,5");
    }

    #[test]
    fn dates_are_rewritten_beside_iso_ones() {
        let spelling = Spelling { numbers: None, dates: Some(DateFormat::parse("%d.%m.%Y").unwrap()) };
        assert_eq!(usual(&spelling, "31.12.2024"), "2024-12-31");
        assert_eq!(usual(&spelling, "2024-12-31"), "2024-12-31");
        assert_eq!(usual(&spelling, "1.5"), "1.5");
    }
}
