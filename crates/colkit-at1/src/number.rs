//! Numbers as text, exactly one way: `format(parse(text)) == text` for every text called canonical here.
//!
//! ```text
//! INT   0 | -?[1-9][0-9]*                            inside i64
//! DEC   -?(0|[1-9][0-9]*)\.[0-9]{D}, 1 <= D <= 18    digits as one integer inside i64, not negative zero
//! ```

/// Appends the decimal text of `n`.
pub fn push_int(n: i64, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(n).as_bytes());
}

/// Appends the decimal text of `n`.
pub fn push_uint(n: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(n).as_bytes());
}

/// Appends `n` with a point before its last `scale` digits: `fixed(-5, 2)` is `-0.05`.
pub fn push_fixed(n: i64, scale: u8, out: &mut Vec<u8>) {
    if n < 0 {
        out.push(b'-');
    }
    let mut buffer = itoa::Buffer::new();
    let digits = buffer.format(n.unsigned_abs()).as_bytes();
    let scale = usize::from(scale);
    match digits.len().checked_sub(scale).filter(|whole| *whole > 0).and_then(|whole| digits.split_at_checked(whole)) {
        Some((whole, fraction)) => {
            out.extend_from_slice(whole);
            out.push(b'.');
            out.extend_from_slice(fraction);
        }
        None => {
            out.extend_from_slice(b"0.");
            out.extend(std::iter::repeat_n(b'0', scale - digits.len()));
            out.extend_from_slice(digits);
        }
    }
}

/// The integer that a canonical text stands for.
pub fn parse_int(text: &[u8]) -> Option<i64> {
    let (negative, digits) = sign(text);
    match digits {
        [b'0'] if !negative => Some(0),
        [b'1'..=b'9', ..] => magnitude(digits.iter(), negative),
        _ => None,
    }
}

/// The digits and the scale of a canonical decimal text.
pub fn parse_fixed(text: &[u8]) -> Option<(i64, u8)> {
    let (negative, digits) = sign(text);
    let point = memchr::memchr(b'.', digits)?;
    let (whole, fraction) = (digits.get(..point)?, digits.get(point + 1..)?);
    let scale = u8::try_from(fraction.len()).ok().filter(|d| (1..=18).contains(d))?;
    if !matches!(whole, [b'0'] | [b'1'..=b'9', ..]) {
        return None;
    }
    let value = magnitude(whole.iter().chain(fraction), negative)?;
    if negative && value == 0 { None } else { Some((value, scale)) }
}

fn sign(text: &[u8]) -> (bool, &[u8]) {
    match text.split_first() {
        Some((b'-', digits)) => (true, digits),
        _ => (false, text),
    }
}

/// The number that the digits make, counted down so that `i64::MIN` fits.
fn magnitude<'a>(digits: impl Iterator<Item = &'a u8>, negative: bool) -> Option<i64> {
    let mut below_zero = 0i64;
    for digit in digits {
        let digit = digit.checked_sub(b'0').filter(|d| *d <= 9)?;
        below_zero = below_zero.checked_mul(10)?.checked_sub(i64::from(digit))?;
    }
    if negative { Some(below_zero) } else { below_zero.checked_neg() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixed(n: i64, scale: u8) -> String {
        let mut out = Vec::new();
        push_fixed(n, scale, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn fixed_point_texts() {
        for (n, scale, text) in [
            (-5, 2, "-0.05"),
            (0, 2, "0.00"),
            (150, 2, "1.50"),
            (99, 2, "0.99"),
            (100, 2, "1.00"),
            (i64::MIN, 2, "-92233720368547758.08"),
            (i64::MAX, 18, "9.223372036854775807"),
            (1, 18, "0.000000000000000001"),
        ] {
            assert_eq!(fixed(n, scale), text);
            assert_eq!(parse_fixed(text.as_bytes()), Some((n, scale)));
        }
        assert_eq!(fixed(12, 0), "12.");
    }

    #[test]
    fn only_what_prints_back_is_canonical() {
        for text in ["0", "-1", "9223372036854775807", "-9223372036854775808"] {
            assert_eq!(parse_int(text.as_bytes()).unwrap().to_string(), text);
        }
        for text in ["", "-", "-0", "007", "+5", " 5", "5 ", "1e3", "9223372036854775808", "1_000", "5."] {
            assert_eq!(parse_int(text.as_bytes()), None, "{text:?}");
        }
        for text in ["1", "-0.00", ".5", "5.", "00.1", "1.5.5", "1.0000000000000000000", "nan", "1.5e3", "-.5"] {
            assert_eq!(parse_fixed(text.as_bytes()), None, "{text:?}");
        }
    }
}
