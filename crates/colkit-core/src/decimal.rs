//! Decimal literals with all their digits.

use arrow::datatypes::i256;
use std::fmt;

/// A number in decimal notation: nothing of it is rounded, however long or small it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decimal {
    negative: bool,
    /// Without zeros at either end; zero has none.
    digits: String,
    /// The power of ten that the last digit counts.
    exponent: i64,
}

/// Where something lies among the values that a type can hold.
#[derive(Clone, Debug, PartialEq)]
pub enum Nearest<T> {
    /// It is this value.
    At(T),
    /// It is between this value and the next one.
    After(T),
    /// Every value is larger.
    Below,
    /// Every value is smaller.
    Above,
}

/// Powers of ten beyond this are all alike: no type comes near them.
const FAR: i64 = 1 << 40;

impl Decimal {
    /// Reads a number such as `-12.50`, `.5` or `6.127e-7`.
    pub fn parse(text: &str) -> Option<Decimal> {
        let (negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let (number, exponent) = match text.split_once(['e', 'E']) {
            Some((number, exponent)) => (number, power(exponent)?),
            None => (text, 0),
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let all = format!("{whole}{fraction}");
        if all.is_empty() || !all.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        let significant = all.trim_end_matches('0');
        let digits = significant.trim_start_matches('0').to_owned();
        let length = |s: &str| i64::try_from(s.len()).unwrap_or(FAR);
        let exponent = exponent + length(&all) - length(significant) - length(fraction);
        let zero = digits.is_empty();
        Some(Decimal { negative: negative && !zero, digits, exponent: if zero { 0 } else { exponent } })
    }

    /// The number that people write for a float: whole numbers exactly, others by their shortest digits. `None` for NaN
    /// and infinity.
    pub fn of_float(float: f64) -> Option<Decimal> {
        let whole = float.fract() == 0.0 && float.abs() < 1e38;
        Self::parse(&if whole { format!("{float:.0}") } else { format!("{float:e}") })
    }

    /// The number with the other sign.
    pub fn negated(self) -> Self {
        Decimal { negative: !self.negative && !self.digits.is_empty(), ..self }
    }

    /// Where it lies among the multiples of `10^-scale`, counted in these.
    pub fn in_units(&self, scale: i8) -> Nearest<i256> {
        let beyond = if self.negative { Nearest::Below } else { Nearest::Above };
        // The power of ten that the last digit has in these units.
        let shift = self.exponent + i64::from(scale);
        let length = i64::try_from(self.digits.len()).unwrap_or(FAR);
        if self.digits.is_empty() {
            return Nearest::At(i256::ZERO);
        }
        // More digits than the largest integer has.
        if length.saturating_add(shift) > 77 {
            return beyond;
        }
        let kept = usize::try_from(length.saturating_add(shift.min(0))).unwrap_or(0);
        let zeros = usize::try_from(shift).unwrap_or(0);
        let sign = if self.negative { "-" } else { "" };
        let whole = format!("{sign}0{}{}", self.digits.get(..kept).unwrap_or_default(), "0".repeat(zeros));
        match i256::from_string(&whole) {
            None => beyond,
            Some(whole) if shift >= 0 => Nearest::At(whole),
            // The last digit is not zero, so something was cut off.
            Some(whole) if self.negative => whole.checked_sub(i256::ONE).map_or(Nearest::Below, Nearest::After),
            Some(whole) => Nearest::After(whole),
        }
    }
}

/// The exponent of a number, no further than all types reach.
fn power(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let size = digits.parse::<i64>().unwrap_or(FAR).min(FAR);
    Some(if text.starts_with('-') { -size } else { size })
}

impl From<i128> for Decimal {
    fn from(int: i128) -> Self {
        let text = int.unsigned_abs().to_string();
        let digits = text.trim_end_matches('0').to_owned();
        let exponent = i64::try_from(text.len() - digits.len()).unwrap_or(0);
        Decimal { negative: int < 0, exponent: if int == 0 { 0 } else { exponent }, digits }
    }
}

/// In a form that [`Decimal::parse`] and the parsers of floats read back.
impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.negative { "-" } else { "" };
        let places = usize::try_from(-self.exponent).unwrap_or(usize::MAX);
        match (self.digits.as_str(), self.exponent) {
            ("", _) => f.write_str("0"),
            (digits, 0) => write!(f, "{sign}{digits}"),
            (digits, -40..0) => {
                let padded = format!("{digits:0>width$}", width = places + 1);
                let (whole, fraction) = padded.split_at_checked(padded.len() - places).unwrap_or(("0", "0"));
                write!(f, "{sign}{whole}.{fraction}")
            }
            (digits, exponent) => write!(f, "{sign}{digits}e{exponent}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn units(text: &str, scale: i8) -> Nearest<i256> {
        Decimal::parse(text).unwrap().in_units(scale)
    }

    #[test]
    fn numbers_keep_their_digits() {
        for text in ["0", "1", "-1.5", "0.0000006127", "573.95", "123456789012345678901234567890.123456789", "1e300"] {
            assert_eq!(Decimal::parse(text).unwrap().to_string(), text);
        }
        let same = |a: &str, b: &str| assert_eq!(Decimal::parse(a), Decimal::parse(b), "{a} {b}");
        same("1.50", "15e-1");
        same("-0.0", "0");
        same(".5", "+0.5");
        same("1000", "1E+3");
        assert_eq!(Decimal::from(-1200), Decimal::parse("-1200").unwrap());
        assert_eq!(Decimal::from(0), Decimal::parse("0").unwrap());
        for wrong in ["", ".", "-", "1e", "1e+", "1.2.3", "0x1", "--1", "1e1e1", "é", "1_0"] {
            assert_eq!(Decimal::parse(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn places_among_units_are_exact() {
        let int = i256::from_i128;
        assert_eq!(units("1.55", 2), Nearest::At(int(155)));
        assert_eq!(units("1.555", 2), Nearest::After(int(155)));
        assert_eq!(units("-1.555", 2), Nearest::After(int(-156)));
        assert_eq!(units("0.0000006127", 2), Nearest::After(int(0)));
        assert_eq!(units("-0.0000006127", 2), Nearest::After(int(-1)));
        assert_eq!(units("1e-999999999999999999999", 2), Nearest::After(int(0)));
        assert_eq!(units("1200", -2), Nearest::At(int(12)));
        assert_eq!(units("1250", -2), Nearest::After(int(12)));
        assert_eq!(units("1e76", 0), Nearest::At(i256::from_string(&format!("1{}", "0".repeat(76))).unwrap()));
        assert_eq!(units("9e76", 0), Nearest::Above);
        assert_eq!(units("-1e99999999999999999999", 0), Nearest::Below);
        assert_eq!(units(&format!("1{}", "0".repeat(500)), 0), Nearest::Above);
    }

    #[test]
    fn floats_are_taken_as_written() {
        assert_eq!(Decimal::of_float(0.1), Decimal::parse("0.1"));
        assert_eq!(Decimal::of_float(1_152_921_504_606_847_232.0), Decimal::parse("1152921504606847232"));
        assert_eq!(Decimal::of_float(-5e-324), Decimal::parse("-5e-324"));
        assert_eq!(Decimal::of_float(f64::NAN), None);
        assert_eq!(Decimal::of_float(f64::INFINITY), None);
    }
}
