//! Tables to write and read back.

use arrow::array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, DictionaryArray, FixedSizeListArray,
    Float32Array, Float64Array, Int8Array, Int32Array, Int64Array, LargeStringArray, ListArray, MapBuilder, NullArray,
    StringArray, StringBuilder, StringViewArray, StructArray, TimestampMicrosecondArray, UInt64Array,
};
use arrow::array::{Int32Builder, MapFieldNames};
use arrow::datatypes::{DataType, Field, Fields, Int16Type, Int32Type};
use arrow::record_batch::RecordBatch;
use std::sync::Arc;

/// A file that was found somewhere, as `SOURCES.md` beside it tells.
pub fn found(name: &str) -> bytes::Bytes {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/found");
    std::fs::read(folder.join(name)).unwrap().into()
}

fn array(array: impl Array + 'static) -> ArrayRef {
    Arc::new(array)
}

/// Numbers that look random and are always the same.
pub fn noise(i: i32) -> i32 {
    i.wrapping_mul(-1_640_531_527) >> 9
}

/// What every format stores, without nulls.
pub fn plain(rows: i32) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable([
        ("n", array(Int32Array::from_iter_values((0..rows).map(noise))), false),
        ("x", array(Float64Array::from_iter_values((0..rows).map(|i| f64::from(noise(i + 7)) / 8.0))), false),
        ("t", array(StringArray::from_iter_values((0..rows).map(|i| format!("t{}", noise(i + 9) % 99)))), false),
    ])
    .unwrap()
}

/// Types of all kinds, with nulls.
pub fn rich(rows: i32) -> RecordBatch {
    let some = |i: i32| (noise(i) % 5 != 0).then(|| noise(i));
    let texts = (0..rows).map(|i| some(i).map(|n| format!("é{}", n % 50)));
    let lists = (0..rows).map(|i| some(i).map(|n| (0..n.rem_euclid(4)).map(move |k| some(k + i)).collect::<Vec<_>>()));
    let lists = ListArray::from_iter_primitive::<Int32Type, _, _>(lists);
    let members = Fields::from(vec![
        Field::new("a", DataType::Int32, true),
        Field::new("b", DataType::Utf8, true),
        Field::new("l", lists.data_type().clone(), true),
    ]);
    let valid = (0..rows).map(|i| noise(i) % 7 != 0).collect::<Vec<_>>();
    let structs = StructArray::new(
        members,
        vec![
            array(Int32Array::from_iter((0..rows).map(some))),
            array(StringArray::from_iter(texts.clone())),
            array(lists.clone()),
        ],
        Some(valid.into()),
    );
    let mut maps = MapBuilder::new(
        Some(MapFieldNames { entry: "entries".into(), key: "key".into(), value: "value".into() }),
        StringBuilder::new(),
        Int32Builder::new(),
    );
    for i in 0..rows {
        for k in 0..noise(i).rem_euclid(3) {
            maps.keys().append_value(format!("k{k}"));
            maps.values().append_option(some(i + k));
        }
        maps.append(noise(i) % 11 != 0).unwrap();
    }
    let words: DictionaryArray<Int16Type> =
        (0..rows).map(|i| some(i).map(|n| ["red", "green", "blue"][n.rem_euclid(3) as usize])).collect();
    let vectors = FixedSizeListArray::from_iter_primitive::<arrow::datatypes::Float32Type, _, _>(
        (0..rows).map(|i| some(i).map(|n| vec![Some(n as f32), Some(0.5)])),
        2,
    );
    let decimals = Decimal128Array::from_iter((0..rows).map(|i| some(i).map(i128::from)));
    let times = TimestampMicrosecondArray::from_iter((0..rows).map(|i| some(i).map(|n| i64::from(n) * 1_000_003)));
    RecordBatch::try_from_iter_with_nullable([
        ("b", array(BooleanArray::from_iter((0..rows).map(|i| some(i).map(|n| n > 0)))), true),
        ("i8", array(Int8Array::from_iter((0..rows).map(|i| some(i).map(|n| n as i8)))), true),
        ("i64", array(Int64Array::from_iter((0..rows).map(|i| some(i).map(|n| i64::from(n) << 20)))), true),
        ("u64", array(UInt64Array::from_iter((0..rows).map(|i| some(i).map(|n| u64::MAX - n as u64)))), true),
        ("f32", array(Float32Array::from_iter((0..rows).map(|i| some(i).map(|n| n as f32 / 3.0)))), true),
        ("text", array(StringArray::from_iter(texts.clone())), true),
        ("large", array(LargeStringArray::from_iter(texts.clone())), true),
        ("view", array(StringViewArray::from_iter(texts.clone().map(|t| t.map(|t| format!("{t} long enough"))))), true),
        ("bytes", array(BinaryArray::from_iter(texts.map(|t| t.map(String::into_bytes)))), true),
        ("day", array(Date32Array::from_iter((0..rows).map(|i| some(i).map(|n| n % 50_000)))), true),
        ("time", array(times.with_timezone("Europe/Zurich")), true),
        ("money", array(decimals.with_precision_and_scale(20, 3).unwrap()), true),
        ("list", array(lists), true),
        ("struct", array(structs), true),
        ("map", array(maps.finish()), true),
        ("word", array(words), true),
        ("vector", array(vectors), true),
        ("nothing", array(NullArray::new(rows as usize)), true),
    ])
    .unwrap()
}
