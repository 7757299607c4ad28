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
use std::sync::Arc;
use std::time::{Duration, Instant};

mod condition;
mod literal;

pub use condition::Condition;

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
