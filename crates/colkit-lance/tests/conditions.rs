//! Conditions on encoded columns leave the same rows as conditions on plain ones.

use crate::random::Random;
use crate::vectors::lance;
use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Float64Array, Int64Array};
use arrow::buffer::NullBuffer;
use arrow::compute::{cast, concat_batches, filter_record_batch, prep_null_mask_filter, take};
use arrow::datatypes::{DataType, Field, Float64Type, Int64Type, Schema, TimeUnit, UInt64Type};
use arrow::record_batch::RecordBatch;
use bytes::Bytes;
use colkit_core::drive::blocking;
use colkit_core::{
    LateMaterialization, Op, Predicate, Projection, ReadOptions, Scan, Selection, Table, TableFile, Value,
    WriteOptions, conformance,
};
use colkit_lance::Lance;
use std::collections::HashMap;
use std::sync::Arc;

const OPS: [Op; 6] = [Op::Eq, Op::Ne, Op::Lt, Op::Le, Op::Gt, Op::Ge];

/// Rows in runs of about so many.
fn runs(random: &mut Random, rows: usize, length: usize, mut value: impl FnMut(&mut Random) -> i64) -> Vec<i64> {
    let mut values = Vec::with_capacity(rows);
    while values.len() < rows {
        let (value, length) = (value(random), 1 + random.below(2 * length));
        values.extend(std::iter::repeat_n(value, length.min(rows - values.len())));
    }
    values
}

/// A column of a type.
fn column(random: &mut Random, data_type: &DataType, rows: usize) -> ArrayRef {
    let few: Vec<i64> = (0..20).map(|_| random.next() as i64).collect();
    let length = [1, 3, 40, 700][random.below(4)];
    let numbers = match random.below(4) {
        0 => runs(random, rows, length, |r| few[r.below(20)]),
        1 => runs(random, rows, length, |r| r.next() as i64),
        2 => runs(random, rows, length, |r| r.below(100) as i64 - 20),
        _ => runs(random, rows, length, |r| (r.below(5) * 1000) as i64),
    };
    let numbers: Vec<i64> = match data_type {
        // Years of four digits.
        DataType::Date32 | DataType::Timestamp(..) => numbers.iter().map(|x| x % 100_000).collect(),
        _ => numbers,
    };
    let plain: ArrayRef = match data_type {
        DataType::Float32 | DataType::Float64 => {
            let float = |x: &i64| [f64::NAN, -f64::NAN, -0.0, 0.0].get((*x % 9) as usize).copied().unwrap_or(*x as f64);
            cast(&Float64Array::from_iter_values(numbers.iter().map(float)), data_type).unwrap()
        }
        DataType::Utf8 => cast(&Int64Array::from(numbers), data_type).unwrap(),
        // The lowest bytes of each number.
        other => {
            let width = other.primitive_width().unwrap();
            let bytes: Vec<u8> = numbers.iter().flat_map(|x| x.to_le_bytes().into_iter().take(width)).collect();
            let data = arrow::array::ArrayData::builder(other.clone()).len(rows).add_buffer(bytes.into());
            arrow::array::make_array(data.align_buffers(true).build().unwrap())
        }
    };
    let (every, length) = ([0, 2, 10, 100][random.below(4)], [1, 50][random.below(2)]);
    if every == 0 {
        return plain;
    }
    let valid = runs(random, rows, length, |r| i64::from(r.below(every) != 0));
    let places = arrow::array::UInt64Array::new(
        (0..rows as u64).collect::<Vec<_>>().into(),
        Some(NullBuffer::from_iter(valid.iter().map(|v| *v != 0))),
    );
    take(&plain, &places, None).unwrap()
}

/// A value of the column, or one near.
fn literal(random: &mut Random, array: &ArrayRef) -> Value {
    let row = random.below(array.len());
    let near = random.below(3) as i128 - 1;
    match array.data_type() {
        t if t.is_integer() => {
            let value = match cast(array, &DataType::UInt64).ok().filter(|_| t.is_unsigned_integer()) {
                Some(whole) => i128::from(whole.as_primitive::<UInt64Type>().value(row)),
                None => i128::from(cast(array, &DataType::Int64).unwrap().as_primitive::<Int64Type>().value(row)),
            };
            Value::Int(value + near)
        }
        t if t.is_floating() => Value::Float(
            cast(array, &DataType::Float64).unwrap().as_primitive::<Float64Type>().value(row) + near as f64,
        ),
        DataType::Timestamp(..) if array.is_null(row) => Value::Text("1999-12-31T23:59:59".into()),
        DataType::Date32 if array.is_null(row) => Value::Text("1999-12-31".into()),
        _ => Value::Text(cast(array, &DataType::Utf8).unwrap().as_string::<i32>().value(row).to_owned()),
    }
}

fn predicate(random: &mut Random, array: &ArrayRef, depth: usize) -> Predicate {
    let compare = |random: &mut Random, op: Op| Predicate::compare(0, op, literal(random, array));
    match random.below(if depth == 0 { 4 } else { 7 }) {
        0 => {
            let op = OPS[random.below(6)];
            compare(random, op)
        }
        1 => {
            let mut values: Vec<Value> = (0..random.below(4)).map(|_| literal(random, array)).collect();
            if random.below(4) == 0 {
                values.push(Value::Null);
            }
            Predicate::In { column: 0, values }
        }
        2 => Predicate::And(vec![compare(random, Op::Ge), compare(random, Op::Le)]),
        3 => Predicate::IsNull { column: 0 },
        4 => Predicate::And(vec![predicate(random, array, depth - 1), predicate(random, array, depth - 1)]),
        5 => Predicate::Or(vec![predicate(random, array, depth - 1), predicate(random, array, depth - 1)]),
        _ => Predicate::Not(Box::new(predicate(random, array, depth - 1))),
    }
}

/// A column `c` and another that tells rows apart.
fn table(array: &ArrayRef, hints: &[(&str, &str)]) -> (RecordBatch, Bytes) {
    let hints: HashMap<String, String> =
        hints.iter().map(|(k, v)| (format!("lance-encoding:{k}"), (*v).to_owned())).collect();
    let fields = vec![
        Field::new("c", array.data_type().clone(), true).with_metadata(hints),
        Field::new("row", DataType::Int64, false),
    ];
    let rows: ArrayRef = Arc::new(Int64Array::from_iter_values(0..array.len() as i64));
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), vec![array.clone(), rows]).unwrap();
    let bytes = conformance::write(&lance(), &batch, 10_000, &WriteOptions::default()).unwrap().0;
    (batch, bytes)
}

/// The encoding of the first page of `c`.
fn encoding(bytes: &Bytes) -> String {
    let table = blocking::run(Lance::new().open_table(bytes.len() as u64, &ReadOptions::default()), bytes).unwrap();
    let columns = blocking::run(table.describe(), bytes).unwrap();
    columns[0].pages[0].summary.as_ref().unwrap().encoding.clone()
}

#[test]
fn conditions_on_encoded_columns_leave_the_same_rows() {
    let types = [
        DataType::Int8,
        DataType::Int16,
        DataType::Int32,
        DataType::Int64,
        DataType::UInt8,
        DataType::UInt16,
        DataType::UInt32,
        DataType::UInt64,
        DataType::Float32,
        DataType::Float64,
        DataType::Date32,
        DataType::Timestamp(TimeUnit::Second, None),
        DataType::Utf8,
    ];
    let hints: [&[(&str, &str)]; 4] =
        [&[], &[("dict-divisor", "100000000")], &[("compression", "lz4")], &[("compression", "none")]];
    let mut seen: HashMap<String, usize> = HashMap::new();
    for seed in 0..150 {
        let random = &mut Random(seed * 7919 + 1);
        let data_type = &types[seed as usize % types.len()];
        let rows = [5, 300, 5000, 12_000][random.below(4)];
        let array = column(random, data_type, rows);
        let (batch, bytes) = table(&array, hints[random.below(4)]);
        let found = encoding(&bytes);
        *seen.entry(found.split(['(', ',']).take(2).collect::<Vec<_>>().join("(")).or_default() += 1;
        let file = TableFile::open(lance(), Arc::new(bytes), &ReadOptions::default()).unwrap();
        for _ in 0..12 {
            let asked = predicate(random, &array, 2);
            let bound = asked.bind(&file.schema()).unwrap();
            let mask = bound.evaluate(&batch, &Some).unwrap();
            let mask = if mask.null_count() > 0 { prep_null_mask_filter(&mask) } else { mask };
            let from = random.below(rows) / 3;
            let inside: BooleanArray = (0..rows).map(|i| Some(i >= from && mask.value(i))).collect();
            let columns = [vec![1], vec![0], vec![0, 1], vec![]][random.below(4)].clone();
            let expected = filter_record_batch(&batch, &inside).unwrap().project(&columns).unwrap();
            let late = [LateMaterialization::Adaptive, LateMaterialization::Always, LateMaterialization::Never];
            let scan = Scan {
                projection: Projection::columns(columns),
                predicate: Some(bound),
                rows: Some(from as u64..rows as u64),
                late: late[random.below(3)],
                batch_rows: [100, 1000, 1 << 15][random.below(3)],
                views: random.below(3) == 0,
                ..Scan::default()
            };
            let question = format!("seed {seed}, {data_type} as {found}: {asked:?}, {:?}", scan.late);
            let scanned = file.clone().with_threads(1 + random.below(2)).scan(&scan).unwrap();
            let schema = scanned.schema();
            let got = concat_batches(&schema, &scanned.collect::<Result<Vec<_>, _>>().unwrap()).unwrap();
            assert_eq!(got.num_rows(), expected.num_rows(), "{question}");
            for (got, expected) in got.columns().iter().zip(expected.columns()) {
                // As bits, so that NaN equals itself.
                assert_eq!(cast(got, expected.data_type()).unwrap().to_data(), expected.to_data(), "{question}");
            }
        }
    }
    for wanted in ["rle(8", "rle(16", "rle(32", "rle(64", "lz4(rle", "dictionary(bitpacked"] {
        assert!(seen.keys().any(|encoding| encoding.starts_with(wanted)), "no {wanted} among {seen:?}");
    }
}

#[test]
fn runs_reach_conditions_as_runs() {
    let random = &mut Random(3);
    let numbers: ArrayRef = Arc::new(Int64Array::from(runs(random, 20_000, 30, |r| r.next() as i64)));
    let few: ArrayRef =
        cast(&Int64Array::from(runs(random, 20_000, 30, |r| r.below(9) as i64)), &DataType::Utf8).unwrap();
    for array in [numbers, few] {
        let (_, bytes) = table(&array, &[]);
        let table =
            blocking::run(Lance::new().open_table(bytes.len() as u64, &ReadOptions::default()), &bytes).unwrap();
        for encoded in [true, false] {
            let scan = Scan { encoded, ..Scan::of(Projection::columns([0])) };
            let lanes = table.read(&scan, &Selection::range(0..array.len() as u64)).unwrap();
            let lane = lanes.into_iter().next().unwrap();
            let batch = blocking::run(lane.machine, &bytes).unwrap().unwrap();
            let is_runs = batch.column(0).as_run_opt::<arrow::datatypes::Int32Type>().is_some();
            assert_eq!(is_runs, encoded, "{}", encoding(&bytes));
            let plain = cast(batch.column(0), array.data_type()).unwrap();
            assert_eq!(&plain, &array.slice(0, plain.len()));
        }
    }
}
