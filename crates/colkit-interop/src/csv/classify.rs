//! What kind of thing a cell says, and the narrowest type that keeps what every cell of a column says.
//!
//! Each kind is a bit; a column collects the bits of its cells, and the type follows from the set alone. So the order
//! of rows does not matter, nothing is sampled, and a column whose set can only be text is not looked at any more.

use super::CsvOptions;
use super::number::parse_float;
use arrow::datatypes::DataType;

/// A set of kinds of cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Kinds(u8);

impl Kinds {
    pub const EMPTY: Kinds = Kinds(1);
    /// One of six spellings of true and false.
    pub const BOOL: Kinds = Kinds(2);
    /// An integer within 32 bits.
    pub const INT32: Kinds = Kinds(4);
    /// Another integer that float64 holds exactly.
    pub const INT53: Kinds = Kinds(8);
    /// Another integer within 64 bits.
    pub const INT64: Kinds = Kinds(16);
    /// A number with a fraction or an exponent, or `-0`.
    pub const REAL: Kinds = Kinds(32);
    /// Not a number, or infinity.
    pub const SPECIAL: Kinds = Kinds(64);
    /// Anything else.
    pub const TEXT: Kinds = Kinds(128);

    pub fn add(&mut self, other: Kinds) {
        self.0 |= other.0;
    }

    pub fn contains(self, other: Kinds) -> bool {
        self.0 & other.0 == other.0
    }

    fn only(self, allowed: &[Kinds]) -> bool {
        self.0 & !allowed.iter().fold(0, |sum, k| sum | k.0) == 0
    }

    /// The type of a column whose cells, empty ones apart, are of these kinds.
    pub fn data_type(self, options: &CsvOptions) -> DataType {
        use Kinds as K;
        let filled = Kinds(self.0 & !K::EMPTY.0);
        let numbers = [K::INT32, K::INT53, K::REAL];
        if filled == Kinds(0) {
            DataType::Utf8
        } else if filled == K::BOOL && options.booleans {
            DataType::Boolean
        } else if filled == K::INT32 {
            DataType::Int32
        } else if options.integers64 && filled.only(&[K::INT32, K::INT53, K::INT64]) {
            DataType::Int64
        } else if filled.only(&[K::INT32, K::INT53, K::REAL, K::SPECIAL]) && numbers.iter().any(|k| filled.contains(*k))
        {
            DataType::Float64
        } else {
            DataType::Utf8
        }
    }

    /// Whether the column is text whatever cells may follow.
    pub fn settled(self, options: &CsvOptions) -> bool {
        let text = |kinds: Kinds| kinds.data_type(options) == DataType::Utf8;
        text(self) && text(Kinds(self.0 | Kinds::INT32.0))
    }

    /// The kind of one cell.
    #[inline]
    pub fn of(cell: &[u8]) -> Kinds {
        match cell {
            [] => Kinds::EMPTY,
            [b'0'..=b'9', ..] => number(cell, false, cell),
            [b'-', rest @ ..] => number(rest, true, cell),
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

/// True or false, in one of the six spellings.
#[inline]
pub(super) fn parse_bool(cell: &[u8]) -> Option<bool> {
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

/// The kind of a cell that is `unsigned`, with a minus in front if `negative`: an integer, a JSON number or text.
#[inline]
fn number(unsigned: &[u8], negative: bool, cell: &[u8]) -> Kinds {
    let whole = leading_digits(unsigned);
    let rest = unsigned.get(whole..).unwrap_or_default();
    if whole == 0 {
        return if negative && is_infinity(unsigned) { Kinds::SPECIAL } else { Kinds::TEXT };
    }
    if whole > 1 && unsigned.first() == Some(&b'0') {
        return Kinds::TEXT;
    }
    if rest.is_empty() { integer(unsigned, negative) } else { real(rest, cell) }
}

fn integer(digits: &[u8], negative: bool) -> Kinds {
    match digits.len() {
        1 if negative && digits == b"0" => Kinds::REAL,
        1..=9 => Kinds::INT32,
        10..=19 => {
            // 19 digits stay below 2^64.
            let magnitude = digits.iter().fold(0u64, |sum, d| sum.wrapping_mul(10).wrapping_add(u64::from(d & 15)));
            let beyond_positive = u64::from(negative);
            if magnitude <= i32::MAX.unsigned_abs() as u64 + beyond_positive {
                Kinds::INT32
            } else if magnitude <= 1 << 53 {
                Kinds::INT53
            } else if magnitude <= i64::MAX.unsigned_abs() + beyond_positive {
                Kinds::INT64
            } else {
                Kinds::TEXT
            }
        }
        _ => Kinds::TEXT,
    }
}

/// The kind of a number by what follows its whole part: `.digits`, an exponent, or both.
fn real(mut rest: &[u8], cell: &[u8]) -> Kinds {
    if let [b'.', fraction @ ..] = rest {
        let digits = leading_digits(fraction);
        if digits == 0 {
            return Kinds::TEXT;
        }
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
    if safe || parse_float(cell).is_some() { Kinds::REAL } else { Kinds::TEXT }
}
