//! Random tables, random conditions, and a plain evaluator to compare answers with.
//!
//! The evaluator shares nothing with the library: numbers are decimal texts that are compared digit by digit, times are
//! seconds and the digits of their fraction. Literals lie on, just beside and far beyond the values of their columns.
//!
//! A seed is a case. `COLKIT_QUERY_SEED` sets the first one, `COLKIT_QUERY_SECONDS` how long to go on from there.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    reason = "numbers are made to fit the types that they are cast to"
)]

use colkit::arrow::array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Date64Array, Decimal128Array, Decimal256Array,
    DictionaryArray, FixedSizeBinaryArray, Float32Array, Float64Array, Int8Array, Int16Array, Int32Array, Int64Array,
    LargeStringArray, StringArray, UInt8Array, UInt16Array, UInt32Array, UInt64Array,
};
use colkit::arrow::compute::cast;
use colkit::arrow::datatypes::{DataType, Field, Float32Type, Float64Type, Int32Type, Schema, TimeUnit, i256};
use colkit::arrow::record_batch::RecordBatch;
use std::cmp::Ordering;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The seeds of a test: `cases` from a fixed one on, or as many as there is time for.
pub fn seeds(cases: u64) -> impl Iterator<Item = u64> {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let first = number("COLKIT_QUERY_SEED").unwrap_or(1);
    let time = number("COLKIT_QUERY_SECONDS").map(Duration::from_secs);
    let began = Instant::now();
    (first..).take_while(move |seed| match time {
        None => seed - first < cases,
        Some(time) => began.elapsed() < time,
    })
}

pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x1234_5678_9ABC_DEF0)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())].clone()
    }
}

/// A value as it is stored: integers also stand for decimals, dates and times in their unit.
#[derive(Clone, Debug, PartialEq)]
pub enum Raw {
    Null,
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(String),
    Bytes(Vec<u8>),
}

pub struct Column {
    pub name: String,
    pub data_type: DataType,
    pub rows: Vec<Raw>,
    pool: Vec<Raw>,
}

pub struct Table {
    pub columns: Vec<Column>,
    pub rows: usize,
}

fn types() -> Vec<DataType> {
    use DataType::*;
    let zone = |z: &str| Some(Arc::from(z));
    vec![
        Boolean,
        Int8,
        Int16,
        Int32,
        Int32,
        Int64,
        Int64,
        UInt8,
        UInt16,
        UInt32,
        UInt64,
        Float32,
        Float32,
        Float64,
        Float64,
        Float64,
        Utf8,
        Utf8,
        LargeUtf8,
        Binary,
        FixedSizeBinary(3),
        Dictionary(Box::new(Int32), Box::new(Utf8)),
        Decimal128(15, 2),
        Decimal128(38, 10),
        Decimal128(5, 0),
        Decimal128(38, 38),
        Decimal256(60, 4),
        Date32,
        Date64,
        Time32(TimeUnit::Second),
        Time32(TimeUnit::Millisecond),
        Time64(TimeUnit::Microsecond),
        Time64(TimeUnit::Nanosecond),
        Timestamp(TimeUnit::Second, None),
        Timestamp(TimeUnit::Second, zone("UTC")),
        Timestamp(TimeUnit::Millisecond, None),
        Timestamp(TimeUnit::Microsecond, zone("+02:00")),
        Timestamp(TimeUnit::Nanosecond, None),
        Timestamp(TimeUnit::Nanosecond, zone("UTC")),
    ]
}

const DAY: i128 = 86_400;
/// From the year 1 to the year 9999, in seconds.
const YEARS: (i128, i128) = (-62_135_596_800, 253_402_300_799);

/// Units of a second.
fn per_second(unit: TimeUnit) -> i128 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    }
}

/// The smallest and largest value of a type that is stored as integers, and the step between values.
fn bounds(data_type: &DataType) -> (i128, i128, i128) {
    use DataType::*;
    let digits = |p: u8| (1 - 10i128.pow(p.into()), 10i128.pow(p.into()) - 1, 1);
    match data_type {
        Int8 => (i8::MIN.into(), i8::MAX.into(), 1),
        Int16 => (i16::MIN.into(), i16::MAX.into(), 1),
        Int32 => (i32::MIN.into(), i32::MAX.into(), 1),
        Int64 => (i64::MIN.into(), i64::MAX.into(), 1),
        UInt8 => (0, u8::MAX.into(), 1),
        UInt16 => (0, u16::MAX.into(), 1),
        UInt32 => (0, u32::MAX.into(), 1),
        UInt64 => (0, u64::MAX.into(), 1),
        Decimal128(p, _) => digits(*p),
        Decimal256(_, _) => digits(38),
        Date32 => (YEARS.0 / DAY, YEARS.1 / DAY, 1),
        Date64 => (YEARS.0 / DAY * DAY * 1000, YEARS.1 / DAY * DAY * 1000, DAY * 1000),
        Time32(unit) | Time64(unit) => (0, DAY * per_second(*unit) - 1, 1),
        Timestamp(TimeUnit::Nanosecond, _) => (i64::MIN.into(), i64::MAX.into(), 1),
        Timestamp(unit, _) => (YEARS.0 * per_second(*unit), YEARS.1 * per_second(*unit), 1),
        other => panic!("{other} is not stored as integers"),
    }
}

fn value(random: &mut Random, data_type: &DataType) -> Raw {
    use DataType::*;
    match data_type {
        Boolean => Raw::Bool(random.one_in(2)),
        Float32 => Raw::Float(match random.below(12) {
            0 => f32::from_bits(random.next() as u32).into(),
            1 => f32::MAX.into(),
            2 => f32::MIN_POSITIVE.into(),
            _ => f64::from(float(random) as f32),
        }),
        Float64 => Raw::Float(match random.below(12) {
            0 => f64::from_bits(random.next()),
            1 => f64::MAX,
            2 => 5e-324,
            _ => float(random),
        }),
        Utf8 | LargeUtf8 | Dictionary(..) => Raw::Text(text(random)),
        Binary => Raw::Bytes(text(random).into_bytes()),
        FixedSizeBinary(n) => Raw::Bytes((0..*n).map(|_| random.pick(&[0, 1, b'a', b'b', 0x7F])).collect()),
        _ => {
            let (least, most, step) = bounds(data_type);
            let span = (most / 2 - least / 2) as u128;
            let half = ((u128::from(random.next()) << 64 | u128::from(random.next())) % span) as i128;
            let any = least + half + half;
            let near = random.below(7) as i128 - 3;
            let value = match random.below(6) {
                0 => least,
                1 => most,
                2 => any,
                3 => near * 100,
                _ => near,
            };
            Raw::Int(value.clamp(least, most) / step * step)
        }
    }
}

fn float(random: &mut Random) -> f64 {
    let x = [0.0, 0.1, 1.5, 1.0, 3.0, 1e10, 123_456.789, 0.3, 9_007_199_254_740_993.0, 1e-7, f64::INFINITY, f64::NAN];
    let x = random.pick(&x);
    if random.one_in(3) { -x } else { x }
}

fn text(random: &mut Random) -> String {
    let long = "x".repeat(64);
    match random.below(8) {
        0 => String::new(),
        1 => format!("{long}{}", random.pick(&["", "a", "b", "é"])),
        2 => random.pick(&["it's", "say \"so\"", "a,b", "é", "\u{10FFFF}", "%_"]).to_owned(),
        _ => random.pick(&["a", "b", "aa", "ab", "b ", "B", "t1"]).to_owned(),
    }
}

impl Table {
    /// A table of `id`, which counts, and some columns of any type.
    pub fn new(random: &mut Random) -> Table {
        let rows = random.pick(&[1, 2, 9, 40, 40, 130]);
        // Nulls and NaN are not for every format.
        let plain = random.one_in(2);
        let ids: Vec<Raw> = (0..rows as i128).map(Raw::Int).collect();
        let pool = vec![Raw::Int(0), Raw::Int(rows as i128 / 2)];
        let mut columns = vec![Column { name: "id".into(), data_type: DataType::Int32, rows: ids, pool }];
        for c in 0..2 + random.below(4) {
            let data_type = random.pick(&types());
            let mut pool: Vec<Raw> = (0..1 + random.below(6)).map(|_| value(random, &data_type)).collect();
            if plain {
                pool.retain(|v| !matches!(v, Raw::Float(x) if !x.is_finite()) && *v != Raw::Text(String::new()));
            }
            let nulls = if plain { 0 } else { random.pick(&[0, 0, 1, 3, 10]) };
            if pool.is_empty() {
                continue;
            }
            let cell = |random: &mut Random| if random.below(10) < nulls { Raw::Null } else { random.pick(&pool) };
            let mut cells: Vec<Raw> = (0..rows).map(|_| cell(random)).collect();
            if random.one_in(3) {
                cells.sort_by_key(|c| pool.iter().position(|p| p == c));
            }
            columns.push(Column { name: format!("c{c}"), data_type, rows: cells, pool });
        }
        Table { columns, rows }
    }

    /// These columns.
    pub fn batch(&self, columns: &[usize]) -> RecordBatch {
        let rows: Vec<usize> = (0..self.rows).collect();
        self.some_rows(columns, &rows)
    }

    /// These columns of these rows.
    pub fn some_rows(&self, columns: &[usize], rows: &[usize]) -> RecordBatch {
        let arrays: Vec<ArrayRef> = columns.iter().map(|c| self.columns[*c].array(rows)).collect();
        let field = |c: &usize| {
            let column = &self.columns[*c];
            Field::new(&column.name, column.data_type.clone(), column.rows.contains(&Raw::Null))
        };
        let schema = Schema::new(columns.iter().map(field).collect::<Vec<_>>());
        RecordBatch::try_new(Arc::new(schema), arrays).unwrap()
    }
}

impl Column {
    fn array(&self, rows: &[usize]) -> ArrayRef {
        use DataType::*;
        let cells = || rows.iter().map(|r| &self.rows[*r]);
        let int = |raw: &Raw| match raw {
            Raw::Int(i) => Some(*i),
            _ => None,
        };
        let float = |raw: &Raw| match raw {
            Raw::Float(x) => Some(*x),
            _ => None,
        };
        let text = |raw: &Raw| match raw {
            Raw::Text(s) => Some(s.clone()),
            _ => None,
        };
        let bytes = |raw: &Raw| match raw {
            Raw::Bytes(b) => Some(b.clone()),
            _ => None,
        };
        macro_rules! ints {
            ($array:ty, $native:ty) => {
                Arc::new(<$array>::from_iter(cells().map(|c| int(c).map(|i| i as $native))))
            };
        }
        match &self.data_type {
            Boolean => Arc::new(BooleanArray::from_iter(cells().map(|c| match c {
                Raw::Bool(b) => Some(*b),
                _ => None,
            }))),
            Int8 => ints!(Int8Array, i8),
            Int16 => ints!(Int16Array, i16),
            Int32 => ints!(Int32Array, i32),
            Int64 => ints!(Int64Array, i64),
            UInt8 => ints!(UInt8Array, u8),
            UInt16 => ints!(UInt16Array, u16),
            UInt32 => ints!(UInt32Array, u32),
            UInt64 => ints!(UInt64Array, u64),
            Date32 => ints!(Date32Array, i32),
            Date64 => ints!(Date64Array, i64),
            Float32 => Arc::new(Float32Array::from_iter(cells().map(|c| float(c).map(|x| x as f32)))),
            Float64 => Arc::new(Float64Array::from_iter(cells().map(float))),
            Utf8 => Arc::new(StringArray::from_iter(cells().map(text))),
            LargeUtf8 => Arc::new(LargeStringArray::from_iter(cells().map(text))),
            Dictionary(..) => {
                let texts: Vec<Option<String>> = cells().map(text).collect();
                Arc::new(texts.iter().map(Option::as_deref).collect::<DictionaryArray<Int32Type>>())
            }
            Binary => Arc::new(BinaryArray::from_iter(cells().map(bytes))),
            FixedSizeBinary(n) => {
                Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(cells().map(bytes), *n).unwrap())
            }
            Decimal128(p, s) => {
                Arc::new(Decimal128Array::from_iter(cells().map(int)).with_precision_and_scale(*p, *s).unwrap())
            }
            Decimal256(p, s) => Arc::new(
                Decimal256Array::from_iter(cells().map(|c| int(c).map(i256::from_i128)))
                    .with_precision_and_scale(*p, *s)
                    .unwrap(),
            ),
            Time32(_) => {
                let units: Int32Array = cells().map(|c| int(c).map(|i| i as i32)).collect();
                cast(&units, &self.data_type).unwrap()
            }
            _ => {
                let units: Int64Array = cells().map(|c| int(c).map(|i| i as i64)).collect();
                cast(&units, &self.data_type).unwrap()
            }
        }
    }
}

/// Makes every NaN the same one: text knows only one, and so does SQL.
#[allow(dead_code, reason = "the test of SQL compares numbers of rows only")]
pub fn one_nan(array: &ArrayRef) -> ArrayRef {
    use colkit::arrow::array::AsArray;
    match array.data_type() {
        DataType::Float32 => {
            let one = |x: f32| if x.is_nan() { f32::NAN } else { x };
            Arc::new(array.as_primitive::<Float32Type>().unary::<_, Float32Type>(one))
        }
        DataType::Float64 => {
            let one = |x: f64| if x.is_nan() { f64::NAN } else { x };
            Arc::new(array.as_primitive::<Float64Type>().unary::<_, Float64Type>(one))
        }
        _ => array.clone(),
    }
}

/// Whether a format gave a column back as one that answers every question alike.
pub fn same_kind(asked: &DataType, given: &DataType) -> bool {
    asked == given || (asked.is_integer() && given.is_integer())
}

/// What a literal or a value means: something with one order.
#[derive(Clone, Debug)]
enum Meaning {
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
    meaning: Meaning,
    condition: String,
    sql: String,
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
fn order(value: &Meaning, literal: &Meaning) -> Option<Ordering> {
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
    fn meaning(&self, row: usize) -> Meaning {
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

    fn literal(&self, random: &mut Random) -> Literal {
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

#[derive(Debug)]
pub enum Condition {
    Compare(usize, &'static str, Literal),
    In(usize, bool, Vec<Literal>),
    Between(usize, bool, Literal, Literal),
    IsNull(usize, bool),
    And(Vec<Condition>),
    Or(Vec<Condition>),
    Not(Box<Condition>),
}

const OPS: [&str; 6] = ["=", "!=", "<", "<=", ">", ">="];

fn holds(op: &str, order: Ordering) -> bool {
    match op {
        "=" => order.is_eq(),
        "!=" => order.is_ne(),
        "<" => order.is_lt(),
        "<=" => order.is_le(),
        ">" => order.is_gt(),
        _ => order.is_ge(),
    }
}

fn both(a: Option<bool>, b: Option<bool>) -> Option<bool> {
    match (a, b) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

#[allow(dead_code, reason = "each test asks in one of the two ways")]
impl Condition {
    /// A condition on some of these columns.
    pub fn new(random: &mut Random, table: &Table, columns: &[usize], depth: usize) -> Condition {
        let some = |random: &mut Random| {
            let count = 2 + random.below(2);
            (0..count).map(|_| Condition::new(random, table, columns, depth + 1)).collect()
        };
        if depth < 2 && random.one_in(3) {
            return match random.below(3) {
                0 => Condition::And(some(random)),
                1 => Condition::Or(some(random)),
                _ => Condition::Not(Box::new(Condition::new(random, table, columns, depth + 1))),
            };
        }
        let c = random.pick(columns);
        let column = &table.columns[c];
        let literal = |random: &mut Random| column.literal(random);
        match random.below(10) {
            0 => Condition::IsNull(c, random.one_in(2)),
            1 | 2 => {
                let count = random.pick(&[1, 2, 4, 5]);
                let negated = random.one_in(3);
                Condition::In(c, negated, (0..count).map(|_| literal(random)).collect())
            }
            3 if column.data_type != DataType::Boolean => {
                Condition::Between(c, random.one_in(3), literal(random), literal(random))
            }
            _ => Condition::Compare(c, random.pick(&OPS), literal(random)),
        }
    }

    /// Whether it holds for a row.
    #[allow(clippy::manual_try_fold, reason = "unknown does not end it: what follows may still be false")]
    pub fn truth(&self, table: &Table, row: usize) -> Option<bool> {
        let test = |c: usize, op: &str, literal: &Literal| {
            order(&table.columns[c].meaning(row), &literal.meaning).map(|o| holds(op, o))
        };
        let not = |truth: Option<bool>| truth.map(|t| !t);
        let all = |of: &[Condition]| of.iter().fold(Some(true), |sum, c| both(sum, c.truth(table, row)));
        match self {
            Condition::Compare(c, op, literal) => test(*c, op, literal),
            Condition::In(c, negated, list) => {
                let absent = list.iter().fold(Some(true), |sum, l| both(sum, test(*c, "!=", l)));
                if *negated { absent } else { not(absent) }
            }
            Condition::Between(c, negated, low, high) => {
                let inside = both(test(*c, ">=", low), test(*c, "<=", high));
                if *negated { not(inside) } else { inside }
            }
            Condition::IsNull(c, negated) => Some((table.columns[*c].rows[row] == Raw::Null) != *negated),
            Condition::And(of) => all(of),
            Condition::Or(of) => not(of.iter().fold(Some(true), |sum, c| both(sum, not(c.truth(table, row))))),
            Condition::Not(of) => not(of.truth(table, row)),
        }
    }

    /// The rows for which it is true.
    pub fn rows(&self, table: &Table) -> Vec<usize> {
        (0..table.rows).filter(|row| self.truth(table, *row) == Some(true)).collect()
    }

    /// As `--where` takes it.
    pub fn condition(&self, table: &Table) -> String {
        self.text(table, &|l| &l.condition)
    }

    /// As SQL has it.
    pub fn sql(&self, table: &Table) -> String {
        self.text(table, &|l| &l.sql)
    }

    fn text(&self, table: &Table, literal: &dyn Fn(&Literal) -> &String) -> String {
        let name = |c: &usize| &table.columns[*c].name;
        let not = |negated: &bool| if *negated { "not " } else { "" };
        let join = |of: &[Condition], with: &str| {
            let parts: Vec<String> = of.iter().map(|c| format!("({})", c.text(table, literal))).collect();
            parts.join(with)
        };
        match self {
            Condition::Compare(c, op, l) => format!("{} {op} {}", name(c), literal(l)),
            Condition::In(c, negated, list) => {
                let list: Vec<&str> = list.iter().map(|l| literal(l).as_str()).collect();
                format!("{} {}in ({})", name(c), not(negated), list.join(", "))
            }
            Condition::Between(c, negated, low, high) => {
                format!("{} {}between {} and {}", name(c), not(negated), literal(low), literal(high))
            }
            Condition::IsNull(c, negated) => format!("{} is {}null", name(c), not(negated)),
            Condition::And(of) => join(of, " and "),
            Condition::Or(of) => join(of, " or "),
            Condition::Not(of) => format!("not ({})", of.text(table, literal)),
        }
    }
}
