//! What values and literals mean, how they compare, and literals near the values of a column.

use super::{Column, DAY, Random, Raw, YEARS, bounds, per_second, value};
use colkit::arrow::datatypes::DataType;
use std::cmp::Ordering;
use std::fmt::Write as _;

/// What a literal or a value means: something with one order.
#[derive(Clone, Debug)]
pub enum Meaning {
    Null,
    Bool(bool),
    /// Decimal digits, with sign and point.
    Number(String),
    /// A floating point number; whether it has 32 bits.
    Float(f64, bool),
    Bytes(Vec<u8>),
    /// Seconds, and the digits of their fraction.
    Time(i128, String),
}

/// A literal: what it means, and how it is written in a condition and in SQL.
#[derive(Clone, Debug)]
#[allow(dead_code, reason = "each test asks in one of the two ways")]
pub struct Literal {
    pub meaning: Meaning,
    pub condition: String,
    pub sql: String,
}

fn decimal_text(unscaled: i128, scale: usize) -> String {
    let digits = format!("{:0>width$}", unscaled.unsigned_abs(), width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    let sign = if unscaled < 0 { "-" } else { "" };
    if scale == 0 { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
}

/// Whether negative, the digits before the point and those after it, without zeros that say nothing.
fn parts(number: &str) -> (bool, &str, &str) {
    let (negative, number) = number.strip_prefix('-').map_or((false, number), |rest| (true, rest));
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let (whole, fraction) = (whole.trim_start_matches('0'), fraction.trim_end_matches('0'));
    (negative && !(whole.is_empty() && fraction.is_empty()), whole, fraction)
}

fn number_order(a: &str, b: &str) -> Ordering {
    let ((a_negative, a_whole, a_fraction), (b_negative, b_whole, b_fraction)) = (parts(a), parts(b));
    let size = || a_whole.len().cmp(&b_whole.len()).then(a_whole.cmp(b_whole)).then(a_fraction.cmp(b_fraction));
    match (a_negative, b_negative) {
        (false, false) => size(),
        (true, true) => size().reverse(),
        (false, true) => Ordering::Greater,
        (true, false) => Ordering::Less,
    }
}

/// NaN is the largest and equals itself; zeros are equal.
fn float_order(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

/// How a value compares to a literal; `None` if that is unknown.
pub fn order(value: &Meaning, literal: &Meaning) -> Option<Ordering> {
    Some(match (value, literal) {
        (Meaning::Null, _) | (_, Meaning::Null) => return None,
        (Meaning::Bool(a), Meaning::Bool(b)) => a.cmp(b),
        (Meaning::Number(a), Meaning::Number(b)) => number_order(a, b),
        (Meaning::Float(a, _), Meaning::Float(b, _)) => float_order(*a, *b),
        (Meaning::Float(a, short), Meaning::Number(b)) => {
            let nearest = if *short { b.parse::<f32>().unwrap().into() } else { b.parse::<f64>().unwrap() };
            match (*a == nearest, nearest.is_infinite()) {
                // The literal is beyond all numbers, but not infinite.
                (true, true) if nearest > 0.0 => Ordering::Greater,
                (true, true) => Ordering::Less,
                _ => float_order(*a, nearest),
            }
        }
        (Meaning::Number(_), Meaning::Float(b, _)) => float_order(0.0, *b),
        (Meaning::Bytes(a), Meaning::Bytes(b)) => a.cmp(b),
        (Meaning::Time(a, a_rest), Meaning::Time(b, b_rest)) => {
            a.cmp(b).then(a_rest.trim_end_matches('0').cmp(b_rest.trim_end_matches('0')))
        }
        (value, literal) => panic!("{value:?} is never asked for {literal:?}"),
    })
}

fn scale(data_type: &DataType) -> usize {
    match data_type {
        DataType::Decimal128(_, s) | DataType::Decimal256(_, s) => usize::try_from(*s).unwrap(),
        _ => 0,
    }
}

fn is_time(data_type: &DataType) -> bool {
    data_type.is_temporal()
}

/// Seconds and the digits of their fraction.
fn seconds(units: i128, data_type: &DataType) -> (i128, String) {
    let (per, digits) = match data_type {
        DataType::Date32 => return (units * DAY, String::new()),
        DataType::Date64 => (1000, 3),
        DataType::Time32(unit) | DataType::Time64(unit) | DataType::Timestamp(unit, _) => {
            (per_second(*unit), [0, 3, 6, 9][*unit as usize])
        }
        other => panic!("{other} is no time"),
    };
    let rest = if digits == 0 { String::new() } else { format!("{:0digits$}", units.rem_euclid(per)) };
    (units.div_euclid(per), rest)
}

impl Column {
    pub fn meaning(&self, row: usize) -> Meaning {
        match &self.rows[row] {
            Raw::Null => Meaning::Null,
            Raw::Bool(b) => Meaning::Bool(*b),
            Raw::Int(units) if is_time(&self.data_type) => {
                let (seconds, rest) = seconds(*units, &self.data_type);
                Meaning::Time(seconds, rest)
            }
            Raw::Int(unscaled) => Meaning::Number(decimal_text(*unscaled, scale(&self.data_type))),
            Raw::Float(x) => Meaning::Float(*x, self.data_type == DataType::Float32),
            Raw::Text(s) => Meaning::Bytes(s.clone().into_bytes()),
            Raw::Bytes(b) => Meaning::Bytes(b.clone()),
        }
    }

    pub fn literal(&self, random: &mut Random) -> Literal {
        if random.one_in(25) {
            return Literal { meaning: Meaning::Null, condition: "null".into(), sql: "NULL".into() };
        }
        let known = if random.one_in(6) { value(random, &self.data_type) } else { random.pick(&self.pool) };
        match known {
            Raw::Null => unreachable!("no pool holds null"),
            Raw::Bool(b) => Literal { meaning: Meaning::Bool(b), condition: b.to_string(), sql: b.to_string() },
            Raw::Int(units) if is_time(&self.data_type) => self.time(random, units),
            Raw::Int(unscaled) => {
                let plain = beside(random, unscaled, scale(&self.data_type));
                written(random, plain)
            }
            Raw::Float(x) if !x.is_finite() => {
                let name = if x.is_nan() {
                    "nan"
                } else if x > 0.0 {
                    "inf"
                } else {
                    "-inf"
                };
                Literal { meaning: Meaning::Float(x, false), condition: name.into(), sql: format!("'{name}'::double") }
            }
            Raw::Float(x) => {
                let shortest = if self.data_type == DataType::Float32 { (x as f32).to_string() } else { x.to_string() };
                let plain = match random.below(6) {
                    0 => format!("{x:.20}"),
                    1 if shortest.contains('.') => shortest + "0000000000000000000000000000001",
                    2 => "1".to_owned() + &"0".repeat(random.pick(&[38, 39, 308, 309])),
                    3 => format!("-0.{}1", "0".repeat(random.pick(&[5, 45, 330]))),
                    _ => shortest,
                };
                written(random, plain)
            }
            Raw::Text(text) => quoted(match random.below(6) {
                0 => text + random.pick(&["a", "\u{1}", " ", "é"]),
                1 => text.chars().skip(1).collect(),
                _ => text,
            }),
            Raw::Bytes(bytes) => {
                let text = String::from_utf8(bytes).unwrap();
                let text = match random.below(6) {
                    0 => text + random.pick(&["a", "\u{0}"]),
                    1 => text.chars().take(text.chars().count().saturating_sub(1)).collect(),
                    _ => text,
                };
                let hex = text.bytes().fold(String::new(), |mut hex, b| {
                    write!(hex, "{b:02x}").unwrap();
                    hex
                });
                Literal { sql: format!("X'{hex}'"), ..quoted(text) }
            }
        }
    }

    fn time(&self, random: &mut Random, units: i128) -> Literal {
        let (least, most, step) = bounds(&self.data_type);
        let units = match random.below(5) {
            0 => (units - step).max(least),
            1 => (units + step).min(most),
            _ => units,
        };
        let (mut whole, mut rest) = seconds(units, &self.data_type);
        let of_day = matches!(self.data_type, DataType::Time32(_) | DataType::Time64(_));
        match random.below(8) {
            0 => rest += random.pick(&["5", "001", "000000000001"]),
            1 => rest += "000",
            2 if !of_day => whole = random.pick(&[YEARS.0, YEARS.1, 0, -1]),
            3 if !of_day => whole = (whole + 43_200).min(YEARS.1),
            _ => {}
        }
        let clock = whole.rem_euclid(DAY);
        let mut time = format!("{:02}:{:02}:{:02}", clock / 3600, clock / 60 % 60, clock % 60);
        if !rest.is_empty() {
            write!(time, ".{rest}").unwrap();
        }
        let zone = if matches!(self.data_type, DataType::Timestamp(_, Some(_))) { "Z" } else { "" };
        let midnight = clock == 0 && rest.trim_end_matches('0').is_empty() && zone.is_empty();
        let text = match of_day {
            true => time,
            false if midnight && random.one_in(2) => date(whole.div_euclid(DAY)),
            false => date(whole.div_euclid(DAY)) + random.pick(&["T", " "]) + &time + zone,
        };
        Literal { meaning: Meaning::Time(whole, rest), ..quoted(text) }
    }
}

/// A day as it is written, counted from 1970.
fn date(days: i128) -> String {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year_of_era + era * 400 + i128::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

fn quoted(text: String) -> Literal {
    let condition = format!("\"{}\"", text.replace('"', "\"\""));
    let sql = format!("'{}'", text.replace('\'', "''"));
    Literal { meaning: Meaning::Bytes(text.into_bytes()), condition, sql }
}

/// A number at, just beside, or far from a value.
fn beside(random: &mut Random, unscaled: i128, scale: usize) -> String {
    let text = decimal_text(unscaled, scale);
    let point = |text: String| if text.contains('.') { text } else { text + "." };
    match random.below(12) {
        0 => decimal_text(unscaled - 1, scale),
        1 => decimal_text(unscaled + 1, scale),
        2 => point(text) + "5",
        3 => point(text) + "0000000000000000000000000000001",
        4 => point(decimal_text(unscaled - 1, scale)) + "999",
        5 => point(text) + "0000",
        6 => {
            let far = "0".repeat(random.pick(&[1, 10, 20, 40, 80]));
            text.split('.').next().unwrap().to_owned() + &far
        }
        7 => "0.0000006127".into(),
        8 => "-0.00000000000000000000000000000000000000000000000000001".into(),
        _ => text,
    }
}

/// A number, written plainly or with an exponent.
fn written(random: &mut Random, plain: String) -> Literal {
    let plain = plain.strip_suffix('.').unwrap_or(&plain).to_owned();
    let text = match random.one_in(4) {
        false => plain.clone(),
        true => {
            let (whole, fraction) = plain.split_once('.').unwrap_or((&plain, ""));
            let shift = random.below(5);
            format!("{whole}{fraction}{}e-{}", "0".repeat(shift), fraction.len() + shift)
        }
    };
    Literal { meaning: Meaning::Number(plain), condition: text.clone(), sql: text }
}
