//! Formats and parses human-readable numbers, sizes and row ranges.

use colkit::{Error, Result};

const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

/// A size with three significant digits: `512 B`, `1.23 KiB`, `45.6 MiB`.
pub fn bytes(count: u64) -> String {
    if count < 1024 {
        return format!("{count} B");
    }
    let mut size = approximate(count);
    let mut unit = "B";
    for next in UNITS {
        // 1023.95 and above would be printed as 1024.
        if size < 1023.5 {
            break;
        }
        size /= 1024.0;
        unit = next;
    }
    let digits = if size < 10.0 {
        2
    } else if size < 100.0 {
        1
    } else {
        0
    };
    format!("{size:.digits$} {unit}")
}

/// A count with its thousands apart: `1,234,567`.
pub fn count(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 row`, `2 rows`.
pub fn plural(number: u64, one: &str) -> String {
    format!("{} {one}{}", count(number), if number == 1 { "" } else { "s" })
}

/// `part` of `whole` in percent.
pub fn share(part: u64, whole: u64) -> String {
    if whole == 0 { "-".into() } else { format!("{:.1}%", 100.0 * approximate(part) / approximate(whole)) }
}

/// How many times smaller `stored` is than `raw`.
pub fn ratio(raw: u64, stored: u64) -> Option<f64> {
    (stored > 0).then(|| approximate(raw) / approximate(stored))
}

/// For display only: above 2^53 the last digits go.
fn approximate(count: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
    let approximate = count as f64;
    approximate
}

/// Reads a size such as `512M`, `1.5GiB`, `100k` or `65536`. Units are powers of 1024.
pub fn parse_size(text: &str) -> std::result::Result<u64, String> {
    let text = text.trim();
    let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let power = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 1,
        "m" | "mb" | "mib" => 2,
        "g" | "gb" | "gib" => 3,
        "t" | "tb" | "tib" => 4,
        _ => return Err(format!("unknown unit {unit:?}: expected K, M, G or T")),
    };
    let number: f64 = number.trim().parse().map_err(|_| "expected a size such as 512M or 2G".to_string())?;
    let size = number * 1024f64.powi(power);
    if !(0.0..1e18).contains(&size) {
        return Err("expected a size between 0 and 1e18 bytes".into());
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the bounds were just checked")]
    let size = size as u64;
    Ok(size)
}

/// Reads rows such as `10..20`, `10..`, `..20` or `7`, of a table with `row_count` rows.
pub fn parse_range(text: &str, row_count: u64) -> Result<std::ops::Range<u64>> {
    let number = |digits: &str| {
        digits.trim().parse::<u64>().map_err(|_| {
            Error::request("bad_rows", format!("expected a row number, found {digits:?} in {text:?}"))
                .hint("rows are written as 10..20, 10.., ..20 or 7, counted from 0")
        })
    };
    let Some((start, end)) = text.split_once("..") else {
        let row = number(text)?;
        return Ok(row..row.saturating_add(1));
    };
    let start = if start.trim().is_empty() { 0 } else { number(start)? };
    let end = match end.trim() {
        "" => row_count.max(start),
        end => match end.strip_prefix('=') {
            Some(last) => number(last)?.saturating_add(1),
            None => number(end)?,
        },
    };
    Ok(start..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_three_digits() {
        assert_eq!(bytes(1023), "1023 B");
        assert_eq!(bytes(1024), "1.00 KiB");
        assert_eq!(bytes(1_000_000), "977 KiB");
        assert_eq!(bytes(1 << 20), "1.00 MiB");
        assert_eq!(bytes(u64::MAX), "16.0 EiB");
        assert_eq!(count(0), "0");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(plural(1, "row"), "1 row");
    }

    #[test]
    fn sizes_are_read_in_any_unit() {
        assert_eq!(parse_size("512M").unwrap(), 512 << 20);
        assert_eq!(parse_size("1.5 GiB").unwrap(), 3 << 29);
        assert_eq!(parse_size("65536").unwrap(), 65536);
        assert!(parse_size("12 parsecs").is_err() && parse_size("-1K").is_err() && parse_size("").is_err());
        assert!(parse_size("nan").is_err() && parse_size("9e99").is_err());
    }

    #[test]
    fn ranges_are_open_at_either_end() {
        assert_eq!(parse_range("10..20", 5).unwrap(), 10..20);
        assert_eq!(parse_range("3..", 5).unwrap(), 3..5);
        assert_eq!(parse_range("..2", 5).unwrap(), 0..2);
        assert_eq!(parse_range("1..=2", 5).unwrap(), 1..3);
        assert_eq!(parse_range("4", 5).unwrap(), 4..5);
        for bad in ["", "a..b", "-1", "1...2"] {
            assert_eq!(parse_range(bad, 5).unwrap_err().code(), "bad_rows", "{bad}");
        }
    }
}
