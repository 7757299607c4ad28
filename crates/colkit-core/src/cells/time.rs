//! Parses ISO 8601 dates and date-times.
//!
//! ```text
//! date      = YYYY-MM-DD
//! date-time = date ("T" / " ") HH:MM[:SS[.fraction]] [zone]
//! zone      = "Z" / ("+" / "-") HH[[:]MM]
//! ```
//!
//! Only existing days and times are accepted; leap seconds are not.

use arrow::datatypes::TimeUnit;

const DAY: i64 = 86_400;

/// A point in time, or a date and time of day if nothing says where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Seconds since 1970; in UTC if there is a zone.
    pub seconds: i64,
    /// And so many nanoseconds more.
    pub nanos: i64,
    /// Whether there is a zone.
    pub zoned: bool,
}

impl Moment {
    /// The number of units since 1970, if the unit holds it exactly.
    pub fn in_unit(self, unit: TimeUnit) -> Option<i64> {
        let (per_second, nanos) = match unit {
            TimeUnit::Second => (1, 1_000_000_000),
            TimeUnit::Millisecond => (1_000, 1_000_000),
            TimeUnit::Microsecond => (1_000_000, 1_000),
            TimeUnit::Nanosecond => (1_000_000_000, 1),
        };
        if self.nanos % nanos != 0 {
            return None;
        }
        // Towards zero first: the earliest nanosecond there is lies in a second that begins before it.
        let (seconds, rest) = if self.seconds < 0 && self.nanos > 0 {
            (self.seconds + 1, self.nanos / nanos - per_second)
        } else {
            (self.seconds, self.nanos / nanos)
        };
        seconds.checked_mul(per_second)?.checked_add(rest)
    }
}

/// The days since 1970 of a date.
#[inline]
pub fn parse_date(cell: &[u8]) -> Option<i32> {
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = cell else { return None };
    let year = digits(&[*y1, *y2, *y3, *y4])?;
    let (month, day) = (digits(&[*m1, *m2])?, digits(&[*d1, *d2])?);
    if day == 0 || day > days_of(year, month)? {
        return None;
    }
    i32::try_from(days_since_1970(year, month, day)).ok()
}

/// A date-time, or midnight of a date.
pub fn parse_moment(cell: &[u8]) -> Option<Moment> {
    let (date, rest) = cell.split_at_checked(10)?;
    let midnight = i64::from(parse_date(date)?) * DAY;
    let (seconds, nanos, zone) = match rest {
        [] => (0, 0, None),
        [b'T' | b' ', time @ ..] => parse_time(time)?,
        _ => return None,
    };
    Some(Moment { seconds: midnight + seconds - zone.unwrap_or(0), nanos, zoned: zone.is_some() })
}

/// Seconds of the day, nanoseconds, and the zone's seconds east of Greenwich.
fn parse_time(time: &[u8]) -> Option<(i64, i64, Option<i64>)> {
    let [h1, h2, b':', m1, m2, rest @ ..] = time else { return None };
    let (hour, minute) = (digits(&[*h1, *h2])?, digits(&[*m1, *m2])?);
    let (second, nanos, rest) = match rest {
        [b':', s1, s2, rest @ ..] => {
            let (nanos, rest) = match rest {
                [b'.', rest @ ..] => parse_fraction(rest)?,
                rest => (0, rest),
            };
            (digits(&[*s1, *s2])?, nanos, rest)
        }
        rest => (0, 0, rest),
    };
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    Some((hour * 3600 + minute * 60 + second, nanos, parse_zone(rest)?))
}

/// The nanoseconds of a fraction, and what follows it. Finer than that there is nothing but zeros.
fn parse_fraction(text: &[u8]) -> Option<(i64, &[u8])> {
    let length = text.iter().take_while(|b| b.is_ascii_digit()).count();
    let (fraction, rest) = text.split_at_checked(length).filter(|_| length > 0)?;
    let finer = fraction.get(9..).unwrap_or_default();
    if finer.iter().any(|b| *b != b'0') {
        return None;
    }
    let padded = fraction.iter().copied().chain(std::iter::repeat(b'0')).take(9);
    Some((padded.fold(0, |sum, d| sum * 10 + i64::from(d & 15)), rest))
}

fn parse_zone(zone: &[u8]) -> Option<Option<i64>> {
    let (sign, hour, minute) = match zone {
        [] => return Some(None),
        b"Z" => return Some(Some(0)),
        [sign, h1, h2] => (sign, digits(&[*h1, *h2])?, 0),
        [sign, h1, h2, b':', m1, m2] | [sign, h1, h2, m1, m2] => (sign, digits(&[*h1, *h2])?, digits(&[*m1, *m2])?),
        _ => return None,
    };
    let seconds = hour * 3600 + minute * 60;
    match sign {
        _ if hour > 23 || minute > 59 => None,
        b'+' => Some(Some(seconds)),
        b'-' => Some(Some(-seconds)),
        _ => None,
    }
}

fn digits(text: &[u8]) -> Option<i64> {
    text.iter().try_fold(0, |sum, b| b.is_ascii_digit().then(|| sum * 10 + i64::from(b & 15)))
}

fn days_of(year: i64, month: i64) -> Option<i64> {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    Some(match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    })
}

/// Counts in years that begin in March, so that the day that some years have more is their last.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month < 3 { year - 1 } else { year };
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    year * 365 + leap_days + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_that_exist() {
        for (text, days) in [
            ("1970-01-01", 0),
            ("1969-12-31", -1),
            ("2000-02-29", 11_016),
            ("2024-10-04", 20_000),
            ("0000-03-01", -719_468),
            ("0000-01-01", -719_528),
            ("9999-12-31", 2_932_896),
        ] {
            assert_eq!(parse_date(text.as_bytes()), Some(days), "{text}");
        }
        for text in [
            "",
            "2024-1-01",
            "2024-02-30",
            "1900-02-29",
            "2024-13-01",
            "2024-00-10",
            "2024-01-00",
            "24-01-01",
            "2024/01/01",
            " 2024-01-01",
            "+2024-01-01",
            "12024-01-01",
        ] {
            assert_eq!(parse_date(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn moments_with_and_without_a_zone() {
        let moment = |seconds, nanos, zoned| Some(Moment { seconds, nanos, zoned });
        for (text, expected) in [
            ("1970-01-02", moment(DAY, 0, false)),
            ("1970-01-01T00:00:01", moment(1, 0, false)),
            ("1970-01-01 01:02", moment(3720, 0, false)),
            ("1970-01-01T00:00:00.5", moment(0, 500_000_000, false)),
            ("1969-12-31T23:59:59.999999999000", moment(-1, 999_999_999, false)),
            ("1970-01-01T00:00:00Z", moment(0, 0, true)),
            ("1970-01-01T02:00:00+02:00", moment(0, 0, true)),
            ("1970-01-01T00:00:00.25-0130", moment(5400, 250_000_000, true)),
            ("1970-01-01T00:00+01", moment(-3600, 0, true)),
        ] {
            assert_eq!(parse_moment(text.as_bytes()), expected, "{text}");
        }
        for text in [
            "1970-01-01T",
            "1970-01-01T1:00",
            "1970-01-01T24:00",
            "1970-01-01T00:00:60",
            "1970-01-01T00:00:00.",
            "1970-01-01T00:00:00.0000000001",
            "1970-01-01t00:00",
            "1970-01-01  00:00",
            "1970-01-01T00:00 Z",
            "1970-01-01T00:00+24",
            "1970-01-01T00:00+01:60",
            "1970-01-01Z",
            "1970-01-01T00:00:00+1",
        ] {
            assert_eq!(parse_moment(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn units_hold_a_moment_exactly_or_not_at_all() {
        let moment = parse_moment(b"1969-12-31T23:59:59.999").unwrap();
        assert_eq!(moment.in_unit(TimeUnit::Second), None);
        assert_eq!(moment.in_unit(TimeUnit::Millisecond), Some(-1));
        assert_eq!(moment.in_unit(TimeUnit::Nanosecond), Some(-1_000_000));
        let least = parse_moment(b"1677-09-21T00:12:43.145224192").unwrap();
        assert_eq!(least.in_unit(TimeUnit::Nanosecond), Some(i64::MIN));
        assert_eq!(parse_moment(b"1677-09-21T00:12:43.145224191").unwrap().in_unit(TimeUnit::Nanosecond), None);
        assert_eq!(parse_moment(b"9999-12-31").unwrap().in_unit(TimeUnit::Nanosecond), None);
        assert_eq!(parse_moment(b"9999-12-31").unwrap().in_unit(TimeUnit::Second), Some(253_402_214_400));
    }
}
