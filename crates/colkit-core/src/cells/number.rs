//! Parses numbers from text.
//!
//! These functions accept more than inference does (`+5`, `007`, `.5` and `5.`), because columns with an explicit type
//! use them too. Values that would silently change are errors: integers out of range, and literals that overflow or
//! underflow float64.

/// An integer: optional sign, digits.
#[inline]
pub fn parse_int(cell: &[u8]) -> Option<i64> {
    let (negative, digits) = match cell {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    if digits.is_empty() {
        return None;
    }
    let mut value = 0i64;
    for byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        // Downwards, since the smallest i64 has no positive counterpart.
        value = value.checked_mul(10)?.checked_sub(digit.into())?;
    }
    if negative { Some(value) } else { value.checked_neg() }
}

/// A number without exponent as so many units of its last decimal place, of which there are `scale`. Exact, or nothing.
pub fn parse_wide(cell: &[u8], scale: i8) -> Option<i128> {
    let (negative, unsigned) = match cell {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    let mut parts = unsigned.splitn(2, |b| *b == b'.');
    let (whole, fraction) = (parts.next()?, parts.next().unwrap_or_default());
    let scale = usize::try_from(scale).ok()?;
    let (fraction, finer) = fraction.split_at_checked(scale).unwrap_or((fraction, &[]));
    if whole.len() + fraction.len() == 0 || finer.iter().any(|b| *b != b'0') {
        return None;
    }
    let zeros = std::iter::repeat_n(&b'0', scale - fraction.len());
    let units = whole.iter().chain(fraction).chain(zeros).try_fold(0i128, |sum, byte| {
        byte.is_ascii_digit().then(|| sum.checked_mul(10)?.checked_add(i128::from(byte & 15)))?
    })?;
    Some(if negative { -units } else { units })
}

/// The powers of ten that float64 holds exactly.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
];

/// A float64, nearest value; every NaN is 0x7FF8000000000000.
#[inline]
pub fn parse_float(cell: &[u8]) -> Option<f64> {
    short_decimal(cell).or_else(|| any_float(cell))
}

/// Decimals of at most 15 digits without exponent. Their digits and the power of ten are exact in float64, so that
/// one division, rounded once, gives the nearest value.
#[inline]
fn short_decimal(cell: &[u8]) -> Option<f64> {
    let (negative, unsigned) = match cell {
        [b'-', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    if unsigned.len() > 16 {
        return None;
    }
    let mut digits = 0u64;
    let mut count = 0;
    let mut fraction = None;
    for byte in unsigned {
        let digit = byte.wrapping_sub(b'0');
        if digit <= 9 {
            digits = digits * 10 + u64::from(digit);
            count += 1;
        } else if *byte == b'.' && fraction.is_none() {
            fraction = Some(count);
        } else {
            return None;
        }
    }
    if count == 0 || count > 15 {
        return None;
    }
    let decimals = fraction.map_or(0, |before| count - before);
    let value = digits as f64 / POWERS.get(decimals)?;
    Some(if negative { -value } else { value })
}

#[inline(never)]
fn any_float(cell: &[u8]) -> Option<f64> {
    let value: f64 = std::str::from_utf8(cell).ok()?.parse().ok()?;
    if value.is_nan() {
        // The sign of a NaN would be lost.
        return cell.eq_ignore_ascii_case(b"nan").then_some(f64::from_bits(0x7FF8_0000_0000_0000));
    }
    if value.is_infinite() {
        return cell.iter().any(|b| matches!(b, b'i' | b'I')).then_some(value);
    }
    let mantissa = || cell.iter().take_while(|b| !matches!(b, b'e' | b'E'));
    if value == 0.0 && mantissa().any(|b| matches!(b, b'1'..=b'9')) {
        return None;
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_end_where_their_type_does() {
        assert_eq!(parse_int(b"-9223372036854775808"), Some(i64::MIN));
        assert_eq!(parse_int(b"9223372036854775807"), Some(i64::MAX));
        assert_eq!(parse_int(b"9223372036854775808"), None);
        assert_eq!(parse_int(b"+007"), Some(7));
        assert_eq!(parse_int(b"-0"), Some(0));
        for bad in ["", "-", "+", "1.0", " 1", "1_000", "--1", "\u{661}"] {
            assert_eq!(parse_int(bad.as_bytes()), None, "{bad:?}");
        }
    }

    #[test]
    fn decimals_are_exact() {
        assert_eq!(parse_wide(b"18446744073709551615", 0), Some(u64::MAX.into()));
        assert_eq!(parse_wide(b"-1.5", 2), Some(-150));
        assert_eq!(
            (parse_wide(b"+.5", 1), parse_wide(b"5.", 1), parse_wide(b"1.50", 1)),
            (Some(5), Some(50), Some(15))
        );
        for bad in ["", ".", "-", "1.25", "1e3", "1.2.0", "x"] {
            assert_eq!(parse_wide(bad.as_bytes(), 1), None, "{bad:?}");
        }
    }

    #[test]
    fn floats_never_turn_into_something_else() {
        assert_eq!(parse_float(b"-0").map(f64::to_bits), Some((-0.0f64).to_bits()));
        assert_eq!(parse_float(b"nAn").map(f64::to_bits), Some(0x7FF8_0000_0000_0000));
        assert_eq!(parse_float(b"-Infinity"), Some(f64::NEG_INFINITY));
        assert_eq!((parse_float(b".5"), parse_float(b"5."), parse_float(b"+5")), (Some(0.5), Some(5.0), Some(5.0)));
        assert_eq!(parse_float(b"0e-999"), Some(0.0));
        for bad in
            ["", ".", "-", "1e309", "-1e309", "1e-400", "0.00001e-400", "-nan", "1e", "e5", "1 ", "0x10", "1.2.3"]
        {
            assert_eq!(parse_float(bad.as_bytes()), None, "{bad:?}");
        }
    }
}
