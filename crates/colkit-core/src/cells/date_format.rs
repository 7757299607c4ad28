//! Formats of dates and times, written as for `strftime`: `%d.%m.%Y %H:%M`.

use crate::{Error, Result};
use std::fmt::Write;

/// A format of dates or of dates and times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DateFormat {
    text: String,
    parts: Vec<Part>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Literal(u8),
    Year,
    ShortYear,
    Month,
    MonthName,
    Day,
    Hour,
    Minute,
    Second,
    Fraction,
    Zone,
}

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

impl DateFormat {
    /// Reads a format: `%Y` or `%y`, `%m` or `%b`, `%d`, and `%H`, `%M`, `%S`, `%f`, `%z`; everything else stands for itself.
    pub fn parse(text: &str) -> Result<Self> {
        let mut parts = Vec::new();
        let mut bytes = text.bytes();
        while let Some(byte) = bytes.next() {
            parts.push(match byte {
                b'%' => match bytes.next() {
                    Some(b'Y') => Part::Year,
                    Some(b'y') => Part::ShortYear,
                    Some(b'm') => Part::Month,
                    Some(b'b' | b'B') => Part::MonthName,
                    Some(b'd' | b'e') => Part::Day,
                    Some(b'H') => Part::Hour,
                    Some(b'M') => Part::Minute,
                    Some(b'S') => Part::Second,
                    Some(b'f') => Part::Fraction,
                    Some(b'z') => Part::Zone,
                    Some(b'%') => Part::Literal(b'%'),
                    _ => return Err(Self::bad(format!("{text:?} has a % that stands for nothing"))),
                },
                other => Part::Literal(other),
            });
        }
        let count = |any: &[Part]| parts.iter().filter(|part| any.contains(part)).count();
        let date = [&[Part::Year, Part::ShortYear][..], &[Part::Month, Part::MonthName], &[Part::Day]];
        if date.iter().any(|any| count(any) != 1) {
            return Err(Self::bad(format!("{text:?} must have a year, a month and a day")));
        }
        if count(&[Part::Hour]) == 0 && count(&[Part::Minute, Part::Second, Part::Fraction, Part::Zone]) > 0 {
            return Err(Self::bad(format!("{text:?} has no hour")));
        }
        Ok(DateFormat { text: text.to_owned(), parts })
    }

    fn bad(message: String) -> Error {
        Error::request("bad_date_format", message).hint("write dates like %d.%m.%Y or %m/%d/%Y %H:%M:%S")
    }

    /// The format as it is written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it is one of times of day too.
    pub fn has_time(&self) -> bool {
        self.parts.contains(&Part::Hour)
    }

    /// Puts a date of this format into `out`, as ISO 8601; `false` if the cell is none. Whether the day exists is not
    /// looked at.
    pub(super) fn rewrite(&self, cell: &[u8], out: &mut Vec<u8>) -> bool {
        let mut rest = cell;
        let (mut year, mut month, mut day) = (0, 0, 0);
        let (mut hour, mut minute, mut second) = (None, 0, 0);
        let (mut fraction, mut zone): (&[u8], &[u8]) = (&[], &[]);
        for part in &self.parts {
            let read = match part {
                Part::Literal(byte) => rest.strip_prefix(&[*byte]).map(|after| rest = after),
                Part::Year => number(&mut rest, 4..=4).map(|n| year = n),
                // As POSIX has it.
                Part::ShortYear => number(&mut rest, 2..=2).map(|n| year = if n < 69 { 2000 + n } else { 1900 + n }),
                Part::Month => number(&mut rest, 1..=2).map(|n| month = n),
                Part::MonthName => month_name(&mut rest).map(|n| month = n),
                Part::Day => number(&mut rest, 1..=2).map(|n| day = n),
                Part::Hour => number(&mut rest, 1..=2).map(|n| hour = Some(n)),
                Part::Minute => number(&mut rest, 2..=2).map(|n| minute = n),
                Part::Second => number(&mut rest, 2..=2).map(|n| second = n),
                Part::Fraction => leading(&mut rest, u8::is_ascii_digit).map(|digits| fraction = digits),
                Part::Zone => leading(&mut rest, |b| b.is_ascii_digit() || matches!(b, b'+' | b'-' | b':' | b'Z'))
                    .map(|text| zone = text),
            };
            if read.is_none() {
                return false;
            }
        }
        if !rest.is_empty() {
            return false;
        }
        let mut text = format!("{year:04}-{month:02}-{day:02}");
        if let Some(hour) = hour {
            let _ = write!(text, "T{hour:02}:{minute:02}:{second:02}");
        }
        out.clear();
        out.extend_from_slice(text.as_bytes());
        if !fraction.is_empty() {
            out.push(b'.');
            out.extend_from_slice(fraction);
        }
        out.extend_from_slice(zone);
        true
    }
}

/// Takes a number of so many digits.
fn number(text: &mut &[u8], digits: std::ops::RangeInclusive<usize>) -> Option<u32> {
    let count = text.iter().take(*digits.end()).take_while(|b| b.is_ascii_digit()).count();
    let (number, rest) = text.split_at_checked(count).filter(|_| digits.contains(&count))?;
    *text = rest;
    Some(number.iter().fold(0, |sum, digit| sum * 10 + u32::from(digit & 15)))
}

/// Takes the bytes for which that holds, at least one.
fn leading<'a>(text: &mut &'a [u8], holds: impl Fn(&u8) -> bool) -> Option<&'a [u8]> {
    let count = text.iter().take_while(|b| holds(b)).count();
    let (taken, rest) = text.split_at_checked(count).filter(|_| count > 0)?;
    *text = rest;
    Some(taken)
}

/// Takes the English name of a month, or its first three letters, in any case.
fn month_name(text: &mut &[u8]) -> Option<u32> {
    let name = leading(text, u8::is_ascii_alphabetic)?;
    let is = |month: &str| {
        let short = month.get(..3).unwrap_or(month);
        name.eq_ignore_ascii_case(month.as_bytes()) || name.eq_ignore_ascii_case(short.as_bytes())
    };
    let index = MONTHS.iter().position(|month| is(month))?;
    u32::try_from(index + 1).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn iso(format: &str, cell: &str) -> Option<String> {
        let mut out = Vec::new();
        let fits = DateFormat::parse(format).unwrap().rewrite(cell.as_bytes(), &mut out);
        fits.then(|| String::from_utf8(out).unwrap())
    }

    #[test]
    fn dates_become_iso() {
        for (format, cell, expected) in [
            ("%d.%m.%Y", "31.12.2024", Some("2024-12-31")),
            ("%d.%m.%Y", "1.2.2024", Some("2024-02-01")),
            ("%d.%m.%Y", "31.12.24", None),
            ("%d.%m.%Y", "31.12.2024 ", None),
            ("%m/%d/%y", "12/31/99", Some("1999-12-31")),
            ("%m/%d/%y", "12/31/24", Some("2024-12-31")),
            ("%d %b %Y", "3 Sep 2024", Some("2024-09-03")),
            ("%B %d, %Y", "September 03, 2024", Some("2024-09-03")),
            ("%d/%m/%Y %H:%M", "03/09/2024 7:05", Some("2024-09-03T07:05:00")),
            ("%Y%m%d%H%M%S.%f", "20240903070509.25", Some("2024-09-03T07:05:09.25")),
            ("%Y/%m/%d %H:%M:%S%z", "2024/09/03 07:05:09+02:00", Some("2024-09-03T07:05:09+02:00")),
        ] {
            assert_eq!(iso(format, cell).as_deref(), expected, "{format} {cell}");
        }
    }

    #[test]
    fn formats_say_what_they_lack() {
        for bad in ["", "%d.%m", "%d.%m.%Y.%y", "%Q", "%d.%m.%Y %", "%d.%m.%Y %M"] {
            assert_eq!(DateFormat::parse(bad).unwrap_err().code(), "bad_date_format", "{bad}");
        }
    }
}
