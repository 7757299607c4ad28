//! Classifies cells, and finds the narrowest type that preserves every cell of a column.
//!
//! Each kind is a bit; a column collects the bits of its cells, and the type follows from the set alone. So the order
//! of rows does not matter, nothing is sampled, and cells of a column that can only be text need not be classified.

use super::Inference;
use super::column::CellText;
use super::number::parse_float;
use super::time::{Moment, parse_moment};
use arrow::datatypes::{DataType, TimeUnit};

/// A set of kinds of cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kinds(u32);

impl Kinds {
    /// No characters.
    pub const EMPTY: Kinds = Kinds(1);
    /// A word that stands for null.
    pub const NULL: Kinds = Kinds(1 << 1);
    /// One of six spellings of true and false.
    pub const BOOL: Kinds = Kinds(1 << 2);
    /// An integer within 32 bits.
    pub const INT32: Kinds = Kinds(1 << 3);
    /// Another integer that float64 holds exactly.
    pub const INT53: Kinds = Kinds(1 << 4);
    /// Another integer within 64 bits with a sign.
    pub const INT64: Kinds = Kinds(1 << 5);
    /// Another integer within 64 bits.
    pub const UINT64: Kinds = Kinds(1 << 6);
    /// An integer below zero: beside its size.
    pub const NEGATIVE: Kinds = Kinds(1 << 7);
    /// A number with a fraction or an exponent, or `-0`.
    pub const REAL: Kinds = Kinds(1 << 8);
    /// Not a number, or infinity.
    pub const SPECIAL: Kinds = Kinds(1 << 9);
    /// A number written `+5`, `.5` or `5.`: beside what it is.
    pub const LOOSE: Kinds = Kinds(1 << 10);
    /// A date.
    pub const DATE: Kinds = Kinds(1 << 11);
    /// A date and time of day.
    pub const LOCAL: Kinds = Kinds(1 << 12);
    /// A date and time of day with a zone.
    pub const ZONED: Kinds = Kinds(1 << 13);
    /// A time that needs milliseconds: beside what it is, like the next three.
    pub const MILLIS: Kinds = Kinds(1 << 14);
    /// A time that needs microseconds.
    pub const MICROS: Kinds = Kinds(1 << 15);
    /// A time that needs nanoseconds.
    pub const NANOS: Kinds = Kinds(1 << 16);
    /// A time too far away for nanoseconds.
    pub const FAR: Kinds = Kinds(1 << 17);
    /// Anything else.
    pub const TEXT: Kinds = Kinds(1 << 18);

    /// The set as a number, to be kept in a file.
    pub fn bits(self) -> u32 {
        self.0
    }

    /// The set of such a number; `None` if it has kinds that are not known here.
    pub fn from_bits(bits: u32) -> Option<Kinds> {
        (bits < Kinds::TEXT.0 << 1).then_some(Kinds(bits))
    }

    /// Every kind of either set.
    pub const fn and(self, other: Kinds) -> Kinds {
        Kinds(self.0 | other.0)
    }

    /// Adds the kinds of another cell.
    pub fn add(&mut self, other: Kinds) {
        self.0 |= other.0;
    }

    /// Whether it has any of these.
    pub fn has(self, any: Kinds) -> bool {
        self.0 & any.0 != 0
    }

    /// Whether it has all of these.
    pub fn has_all(self, all: Kinds) -> bool {
        self.0 & all.0 == all.0
    }

    fn only(self, allowed: Kinds) -> bool {
        self.0 & !allowed.0 == 0
    }

    /// Whether a column of these cells may hold nulls, if it is of this type.
    pub fn nullable(self, data_type: &DataType, inference: &Inference) -> bool {
        match data_type {
            // Once a column must be text, its other cells are not looked at.
            DataType::Utf8 => !inference.null_words.is_empty(),
            _ => self.has(Kinds::EMPTY.and(Kinds::NULL)),
        }
    }

    /// The type of a column whose cells, empty ones and nulls apart, are of these kinds.
    pub fn data_type(self, inference: &Inference) -> DataType {
        use Kinds as K;
        const SIGNED: Kinds = K::INT32.and(K::INT53).and(K::INT64).and(K::NEGATIVE);
        const UNSIGNED: Kinds = K::INT32.and(K::INT53).and(K::INT64).and(K::UINT64);
        const NUMBERS: Kinds = K::INT32.and(K::INT53).and(K::REAL);
        const PRECISION: Kinds = K::MILLIS.and(K::MICROS).and(K::NANOS).and(K::FAR);
        let filled = Kinds(self.0 & !(K::EMPTY.0 | K::NULL.0 | K::LOOSE.0));
        if filled == Kinds(0) || (self.has(K::LOOSE) && !inference.loose_numbers) {
            DataType::Utf8
        } else if filled == K::BOOL && inference.booleans {
            DataType::Boolean
        } else if filled.only(K::INT32.and(K::NEGATIVE)) {
            DataType::Int32
        } else if filled.only(SIGNED) && inference.integers64 {
            DataType::Int64
        } else if filled.only(UNSIGNED) && inference.unsigned64 {
            DataType::UInt64
        } else if filled.only(NUMBERS.and(K::SPECIAL).and(K::NEGATIVE)) && filled.has(NUMBERS) {
            DataType::Float64
        } else if filled.only(K::DATE.and(K::FAR)) && inference.dates {
            DataType::Date32
        } else if inference.timestamps && filled.only(K::DATE.and(K::LOCAL).and(PRECISION)) && filled.has(K::LOCAL) {
            self.unit().map_or(DataType::Utf8, |unit| DataType::Timestamp(unit, None))
        } else if inference.timestamps && filled.only(K::ZONED.and(PRECISION)) {
            self.unit().map_or(DataType::Utf8, |unit| DataType::Timestamp(unit, Some("UTC".into())))
        } else {
            DataType::Utf8
        }
    }

    /// The coarsest unit that holds all times, if there is one.
    fn unit(self) -> Option<TimeUnit> {
        if self.has(Kinds::NANOS) {
            (!self.has(Kinds::FAR)).then_some(TimeUnit::Nanosecond)
        } else if self.has(Kinds::MICROS) {
            Some(TimeUnit::Microsecond)
        } else if self.has(Kinds::MILLIS) {
            Some(TimeUnit::Millisecond)
        } else {
            Some(TimeUnit::Second)
        }
    }

    /// Whether the column is text whatever cells may follow.
    pub fn settled(self, inference: &Inference) -> bool {
        let text = |kinds: Kinds| kinds.data_type(inference) == DataType::Utf8;
        text(self) && text(self.and(Kinds::INT32))
    }

    /// The kinds of one cell.
    #[inline]
    pub fn of_cell(cell: CellText<'_>, inference: &Inference) -> Kinds {
        if inference.is_null_word(cell.raw) {
            Kinds::NULL
        } else if cell.doubled.is_some() {
            // Nothing with a quote in it is a number.
            Kinds::TEXT
        } else {
            Kinds::of(cell.raw)
        }
    }

    /// The kinds of a text.
    #[inline]
    pub fn of(cell: &[u8]) -> Kinds {
        match cell {
            [] => Kinds::EMPTY,
            [b'0'..=b'9', ..] => number(cell, false, cell),
            [b'-', rest @ ..] => number(rest, true, cell),
            [b'+', rest @ ..] if matches!(rest, [b'0'..=b'9' | b'.', ..]) => loosely(number(rest, false, cell)),
            [b'.', ..] => number(cell, false, cell),
            [b't' | b'T' | b'f' | b'F', ..] => match parse_bool(cell) {
                Some(_) => Kinds::BOOL,
                None => Kinds::TEXT,
            },
            [b'n' | b'N', ..] if cell.eq_ignore_ascii_case(b"nan") => Kinds::SPECIAL,
            [b'i' | b'I', ..] if is_infinity(cell) => Kinds::SPECIAL,
            _ => Kinds::TEXT,
        }
    }
}

/// The same number, loosely written.
fn loosely(kinds: Kinds) -> Kinds {
    let number = Kinds::INT32.and(Kinds::INT53).and(Kinds::INT64).and(Kinds::UINT64).and(Kinds::REAL);
    if kinds.has(number) { kinds.and(Kinds::LOOSE) } else { Kinds::TEXT }
}

/// True or false, in one of the six spellings.
#[inline]
pub fn parse_bool(cell: &[u8]) -> Option<bool> {
    match cell {
        b"true" | b"True" | b"TRUE" => Some(true),
        b"false" | b"False" | b"FALSE" => Some(false),
        _ => None,
    }
}

fn is_infinity(word: &[u8]) -> bool {
    word.eq_ignore_ascii_case(b"inf") || word.eq_ignore_ascii_case(b"infinity")
}

fn leading_digits(text: &[u8]) -> usize {
    text.iter().position(|b| !b.is_ascii_digit()).unwrap_or(text.len())
}

/// The kinds of a cell that is `unsigned`, with a sign in front: an integer, another number, a time or text.
#[inline]
fn number(unsigned: &[u8], negative: bool, cell: &[u8]) -> Kinds {
    let whole = leading_digits(unsigned);
    let rest = unsigned.get(whole..).unwrap_or_default();
    match rest {
        [b'-', ..] if whole == 4 && unsigned.len() == cell.len() => time(cell),
        _ if whole > 1 && unsigned.first() == Some(&b'0') => Kinds::TEXT,
        [] if whole > 0 => integer(unsigned, negative),
        [b'.', ..] => real(whole, rest, cell),
        _ if whole > 0 => real(whole, rest, cell),
        _ if negative && is_infinity(unsigned) => Kinds::SPECIAL,
        _ => Kinds::TEXT,
    }
}

#[inline(never)]
fn time(cell: &[u8]) -> Kinds {
    let Some(moment) = parse_moment(cell) else { return Kinds::TEXT };
    let what = match moment {
        Moment { zoned: true, .. } => Kinds::ZONED,
        _ if cell.len() > 10 => Kinds::LOCAL,
        _ => Kinds::DATE,
    };
    let precision = match moment.nanos {
        0 => Kinds(0),
        n if n % 1_000_000 == 0 => Kinds::MILLIS,
        n if n % 1_000 == 0 => Kinds::MICROS,
        _ => Kinds::NANOS,
    };
    let distance = if moment.in_unit(TimeUnit::Nanosecond).is_none() { Kinds::FAR } else { Kinds(0) };
    what.and(precision).and(distance)
}

fn integer(digits: &[u8], negative: bool) -> Kinds {
    if digits.len() <= 9 && !negative {
        return Kinds::INT32;
    }
    let magnitude = digits.iter().try_fold(0u64, |sum, d| sum.checked_mul(10)?.checked_add(u64::from(d & 15)));
    let beyond_positive = u64::from(negative);
    let size = match magnitude {
        // An integer has no negative zero.
        Some(0) if negative => return Kinds::REAL,
        Some(m) if m <= i32::MAX.unsigned_abs() as u64 + beyond_positive => Kinds::INT32,
        Some(m) if m <= 1 << 53 => Kinds::INT53,
        Some(m) if m <= i64::MAX.unsigned_abs() + beyond_positive => Kinds::INT64,
        Some(_) if !negative => Kinds::UINT64,
        _ => return Kinds::TEXT,
    };
    if negative { size.and(Kinds::NEGATIVE) } else { size }
}

/// The kinds of a number by what follows the `whole` digits before its point: `.digits`, an exponent, or both.
fn real(whole: usize, mut rest: &[u8], cell: &[u8]) -> Kinds {
    let mut loose = whole == 0;
    if let [b'.', fraction @ ..] = rest {
        let digits = leading_digits(fraction);
        if whole + digits == 0 {
            return Kinds::TEXT;
        }
        loose |= digits == 0;
        rest = fraction.get(digits..).unwrap_or_default();
    }
    let mut exponent_digits = 0;
    if let [b'e' | b'E', exponent @ ..] = rest {
        let digits = match exponent {
            [b'+' | b'-', digits @ ..] => digits,
            digits => digits,
        };
        if digits.is_empty() || leading_digits(digits) != digits.len() {
            return Kinds::TEXT;
        }
        exponent_digits = digits.len();
    } else if !rest.is_empty() {
        return Kinds::TEXT;
    }
    // Within 200 digits and 99 more powers of ten nothing overflows or underflows; the rest has to be tried.
    let safe = cell.len() <= 200 && exponent_digits <= 2;
    if !safe && parse_float(cell).is_none() {
        Kinds::TEXT
    } else if loose {
        Kinds::REAL.and(Kinds::LOOSE)
    } else {
        Kinds::REAL
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full(cells: &[&str]) -> DataType {
        let inference = Inference { null_words: vec!["NA".into()], ..Inference::full() };
        let mut kinds = Kinds::default();
        for cell in cells {
            kinds.add(Kinds::of_cell(CellText { raw: cell.as_bytes(), doubled: None }, &inference));
        }
        kinds.data_type(&inference)
    }

    fn timestamp(unit: TimeUnit, zone: Option<&str>) -> DataType {
        DataType::Timestamp(unit, zone.map(Into::into))
    }

    #[test]
    fn the_type_follows_from_all_cells() {
        use TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
        for (cells, expected) in [
            (&["9", "100", "", "25"][..], DataType::Int32),
            (&["NA", "1.5"], DataType::Float64),
            (&["", "NA"], DataType::Utf8),
            (&["true", "", "FALSE"], DataType::Boolean),
            (&["-1", "2147483648"], DataType::Int64),
            (&["1", "18446744073709551615"], DataType::UInt64),
            (&["-1", "18446744073709551615"], DataType::Utf8),
            (&["18446744073709551616"], DataType::Utf8),
            (&["+5", "7"], DataType::Int32),
            (&[".5", "5.", "-.5e3", "+5.e1"], DataType::Float64),
            (&["007"], DataType::Utf8),
            (&["+007"], DataType::Utf8),
            (&["+-5"], DataType::Utf8),
            (&["."], DataType::Utf8),
            (&["-"], DataType::Utf8),
            (&["+nan"], DataType::Utf8),
            (&["2024-01-31", ""], DataType::Date32),
            (&["2024-01-31", "9999-12-31"], DataType::Date32),
            (&["2024-01-31", "2024-02-30"], DataType::Utf8),
            (&["2024-01-31", "2024-01-31 10:00"], timestamp(Second, None)),
            (&["2024-01-31T10:00:00.500"], timestamp(Millisecond, None)),
            (&["2024-01-31T10:00:00.000"], timestamp(Second, None)),
            (&["2024-01-31T10:00:00.5", "2024-01-31T10:00:00.000001"], timestamp(Microsecond, None)),
            (&["2024-01-31T10:00:00.000000001"], timestamp(Nanosecond, None)),
            (&["2024-01-31T10:00:00.000000001", "9999-12-31"], DataType::Utf8),
            (&["2024-01-31T10:00:00Z", "2024-01-31T10:00:00+02:00"], timestamp(Second, Some("UTC"))),
            (&["2024-01-31T10:00:00Z", "2024-01-31T10:00:00"], DataType::Utf8),
            (&["2024-01-31", "2024-01-31T10:00:00Z"], DataType::Utf8),
            (&["2024-01-31", "5"], DataType::Utf8),
        ] {
            assert_eq!(full(cells), expected, "{cells:?}");
        }
    }

    #[test]
    fn what_is_settled_stays_text() {
        let settled = |cells: &[&str], inference: &Inference| {
            let mut kinds = Kinds::default();
            cells.iter().for_each(|cell| kinds.add(Kinds::of(cell.as_bytes())));
            kinds.settled(inference)
        };
        for cells in [&["x"][..], &["true", "1"], &["2024-01-31", "1"], &["18446744073709551615", "-1"]] {
            assert!(settled(cells, &Inference::full()), "{cells:?}");
        }
        for cells in [&[""][..], &["nan"], &["1"]] {
            assert!(!settled(cells, &Inference::full()), "{cells:?}");
        }
        assert!(settled(&["+5"], &Inference::plain()) && settled(&["2024-01-31"], &Inference::plain()));
    }
}
