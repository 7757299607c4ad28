//! Statistics agree with what a few loops over all values find.

use super::sample::{input, try_write};
use colkit::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int64Array, ListArray,
    StringArray, TimestampMicrosecondArray, UInt64Array,
};
use colkit::arrow::datatypes::{Float64Type, Int32Type, Int64Type};
use colkit::arrow::record_batch::RecordBatch;
use colkit::arrow::util::display::{ArrayFormatter, FormatOptions};
use colkit::{ColumnStats, OpenOptions, Registry, TextOptions};
use std::collections::HashMap;
use std::sync::Arc;

/// Numbers that look random.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 16
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}

/// A table of so many rows, of values that are few or many.
fn table(rows: usize, distinct: u64, seed: u64) -> RecordBatch {
    let mut random = Random(seed);
    let mut some = |null: u64| (0..rows).map(|_| (random.below(null) > 0).then(|| random.below(distinct))).collect();
    let whole: Vec<Option<u64>> = some(5);
    let fraction: Vec<Option<u64>> = some(9);
    let text: Vec<Option<u64>> = some(3);
    let other: Vec<Option<u64>> = some(1_000_000);
    let signed = |v: u64| i64::try_from(v).unwrap() - 1000;
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("i", Arc::new(whole.iter().map(|v| v.map(signed)).collect::<Int64Array>())),
        ("f", Arc::new(fraction.iter().map(|v| v.map(float)).collect::<Float64Array>())),
        ("t", Arc::new(text.iter().map(|v| v.map(|v| format!("ä{v}"))).collect::<StringArray>())),
        ("b", Arc::new(whole.iter().map(|v| v.map(|v| v % 3 == 0)).collect::<BooleanArray>())),
        ("d", Arc::new(whole.iter().map(|v| v.map(|v| (v % 30_000) as i32)).collect::<Date32Array>())),
        ("u", Arc::new(other.iter().map(|v| v.map(|v| u64::MAX - v)).collect::<UInt64Array>())),
        (
            "m",
            Arc::new(
                other
                    .iter()
                    .map(|v| v.map(|v| i128::from(v) * 1_000_003))
                    .collect::<Decimal128Array>()
                    .with_precision_and_scale(30, 2)
                    .unwrap(),
            ),
        ),
        ("s", Arc::new(other.iter().map(|v| v.map(|v| signed(v) * 1_000_000)).collect::<TimestampMicrosecondArray>())),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true))).unwrap()
}

/// NaN now and then.
fn float(value: u64) -> f64 {
    if value.is_multiple_of(11) { f64::NAN } else { value as f64 / 8.0 - 17.0 }
}

/// The statistics of `batch`, read from a Lance file, with so many threads.
fn stats(batch: &RecordBatch, threads: usize) -> Vec<ColumnStats> {
    let lance = Registry::default().named("lance", &TextOptions::default()).unwrap();
    let bytes = try_write(lance.as_ref(), batch).unwrap();
    let file = OpenOptions::new().with_threads(threads).open_input(&input("t.lance", bytes)).unwrap();
    let stats = file.scan().stats().unwrap();
    assert_eq!(stats.rows, batch.num_rows() as u64);
    stats.columns
}

/// Values in ascending order and how often each occurs, as text.
fn counts(batch: &RecordBatch, name: &str) -> HashMap<String, u64> {
    let array = batch.column_by_name(name).unwrap();
    let options = FormatOptions::new();
    let text = ArrayFormatter::try_new(array.as_ref(), &options).unwrap();
    let mut counts = HashMap::new();
    for row in (0..array.len()).filter(|row| array.is_valid(*row)) {
        *counts.entry(text.value(row).to_string()).or_insert(0) += 1;
    }
    counts.remove("NaN");
    counts
}

fn near(found: f64, expected: f64) -> bool {
    (found - expected).abs() <= 1e-9 * expected.abs().max(1.0)
}

#[test]
fn exact_answers_equal_those_of_a_loop() {
    for (rows, distinct, seed) in [(0, 5, 1), (1, 5, 2), (500, 7, 3), (5_000, 4_000, 4), (120_000, 900, 5)] {
        let batch = table(rows, distinct, seed);
        for threads in [1, 3] {
            for column in stats(&batch, threads) {
                let array = batch.column_by_name(&column.name).unwrap();
                let counted = counts(&batch, &column.name);
                let at = format!("{} of {rows} rows", column.name);
                assert_eq!(column.nulls, Some(array.null_count() as u64), "{at}");
                let found = column.distinct.unwrap();
                assert_eq!((found.value, found.exact), (counted.len() as u64, true), "{at}");
                let top = column.top.unwrap();
                assert!(top.exact);
                let mut most: Vec<u64> = counted.values().copied().collect();
                most.sort_unstable_by(|a, b| b.cmp(a));
                most.truncate(5);
                assert_eq!(top.values.iter().map(|(_, n)| *n).collect::<Vec<_>>(), most, "{at}");
                for (value, number) in &top.values {
                    assert_eq!(counted[&value.to_string()], *number, "{at}: {value}");
                }
            }
        }
    }
}

#[test]
fn bounds_means_and_quantiles_equal_those_of_a_loop() {
    let batch = table(30_000, 20_000, 6);
    let columns = stats(&batch, 2);
    let of = |name: &str| columns.iter().find(|c| c.name == name).unwrap();
    let whole = batch.column_by_name("i").unwrap().as_primitive::<Int64Type>();
    let mut values: Vec<f64> = whole.iter().flatten().map(|v| v as f64).collect();
    check_numbers(of("i"), &mut values);
    let fractions = batch.column_by_name("f").unwrap().as_primitive::<Float64Type>();
    let mut values: Vec<f64> = fractions.iter().flatten().filter(|v| !v.is_nan()).collect();
    check_numbers(of("f"), &mut values);
    assert_eq!(of("f").nans.unwrap(), fractions.iter().flatten().filter(|v| v.is_nan()).count() as u64);
    let texts = batch.column_by_name("t").unwrap().as_string::<i32>();
    assert_eq!(of("t").min.as_ref().unwrap().to_string(), texts.iter().flatten().min().unwrap());
    assert_eq!(of("t").max.as_ref().unwrap().to_string(), texts.iter().flatten().max().unwrap());
    let lengths = texts.iter().flatten().map(|t| t.chars().count() as u64);
    let found = of("t").lengths.unwrap();
    assert_eq!((found.shortest, found.longest), (lengths.clone().min().unwrap(), lengths.max().unwrap()));
    assert!(of("d").min.as_ref().unwrap().to_string().starts_with("19"), "a date is a date");
    assert!(of("s").mean.as_ref().unwrap().to_string().contains('T'), "the mean of times is a time");
    assert!(of("m").max.as_ref().unwrap().to_string().contains('.'), "decimals have their point");
    assert!(of("u").max.as_ref().unwrap().to_string().starts_with("18446744073"));
}

fn check_numbers(column: &ColumnStats, values: &mut [f64]) {
    values.sort_by(f64::total_cmp);
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let spread = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>();
    let number = |cell: &colkit::Cell| cell.to_string().parse::<f64>().unwrap();
    assert!(near(number(column.mean.as_ref().unwrap()), mean), "{column:?}");
    assert!(near(column.std.unwrap(), (spread / (count - 1.0)).sqrt()));
    assert!(near(number(column.min.as_ref().unwrap()), values[0]));
    assert!(near(number(column.max.as_ref().unwrap()), values[values.len() - 1]));
    let quantiles = column.quantiles.as_ref().unwrap();
    assert!(quantiles.exact);
    for (share, value) in &quantiles.values {
        let place = (share * count).ceil() as usize;
        assert!(near(number(value), values[place - 1]), "{share}: {value}");
    }
    let histogram = column.histogram.as_ref().unwrap();
    assert_eq!(histogram.counts.iter().sum::<u64>(), values.len() as u64);
}

#[test]
fn estimates_are_as_close_as_they_say_and_the_same_every_time() {
    let batch = table(300_000, 1 << 40, 7);
    let (one, three) = (stats(&batch, 1), stats(&batch, 3));
    for (column, again) in one.iter().zip(&three) {
        let counted = counts(&batch, &column.name).len() as f64;
        let distinct = column.distinct.unwrap();
        assert_eq!(Some(distinct), again.distinct, "{}: on one thread and on three", column.name);
        let off = (distinct.value as f64 - counted).abs();
        assert!(off <= 4.0 * distinct.error * counted, "{}: {} for {counted}", column.name, distinct.value);
        let shown = |c: &ColumnStats| {
            c.quantiles.iter().flat_map(|q| q.values.iter().map(|(_, v)| v.to_string())).collect::<Vec<_>>()
        };
        assert_eq!(shown(column), shown(again));
    }
    let i = &one[0];
    assert!(!i.distinct.unwrap().exact && !i.quantiles.as_ref().unwrap().exact);
    let mut values: Vec<i64> = batch.column(0).as_primitive::<Int64Type>().iter().flatten().collect();
    values.sort_unstable();
    for (share, value) in &i.quantiles.as_ref().unwrap().values {
        let value: i64 = value.to_string().parse().unwrap();
        let rank = values.partition_point(|v| *v <= value) as f64 / values.len() as f64;
        assert!((rank - share).abs() < 0.01, "{share}: the value has rank {rank}");
    }
}

#[test]
fn frequent_values_are_found_among_many() {
    let mut random = Random(8);
    let value = |random: &mut Random| if random.below(4) == 0 { 42 } else { random.next().cast_signed() };
    let column: ArrayRef = Arc::new((0..200_000).map(|_| Some(value(&mut random))).collect::<Int64Array>());
    let batch = RecordBatch::try_from_iter([("n", column)]).unwrap();
    let top = stats(&batch, 2).remove(0).top.unwrap();
    assert!(!top.exact);
    assert_eq!(top.values.len(), 1, "{top:?}");
    assert_eq!(top.values[0].0.to_string(), "42");
    assert!((45_000..55_000).contains(&top.values[0].1), "{top:?}");
}

#[test]
fn lists_have_lengths_and_little_memory_is_enough() {
    let lists = ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(1), Some(2)]), None, Some(vec![])]);
    let batch = RecordBatch::try_from_iter_with_nullable([("l", Arc::new(lists) as ArrayRef, true)]).unwrap();
    let column = stats(&batch, 1).remove(0);
    let lengths = column.lengths.unwrap();
    assert_eq!((column.nulls, lengths.shortest, lengths.longest, lengths.mean), (Some(1), 0, 2, 1.0));
    let batch = table(50_000, 1 << 40, 9);
    let lance = Registry::default().named("lance", &TextOptions::default()).unwrap();
    let file = OpenOptions::new().open_input(&input("t.lance", try_write(lance.as_ref(), &batch).unwrap())).unwrap();
    let columns = file.scan().memory(16 << 20).stats().unwrap().columns;
    let counted = counts(&batch, "i").len() as f64;
    let distinct = columns[0].distinct.unwrap();
    assert!((distinct.value as f64 - counted).abs() <= (4.0 * distinct.error * counted).max(1.0));
}

#[test]
fn conditions_choose_rows_and_metadata_needs_no_reading() {
    let file = OpenOptions::new().open_input(&input("t.csv", "a,b\n1,x\n2,y\n3,\n")).unwrap();
    let stats = file.scan().filter("a >= 2").columns(["a"]).stats().unwrap();
    assert_eq!((stats.rows, stats.columns.len()), (2, 1));
    assert_eq!(stats.columns[0].min.as_ref().unwrap().to_string(), "2");
    let parquet = Registry::default().named("parquet", &TextOptions::default()).unwrap();
    let batch = table(5_000, 4_000, 4);
    let file = OpenOptions::new().open_input(&input("t", try_write(parquet.as_ref(), &batch).unwrap())).unwrap();
    let before = file.input().read_count().bytes;
    let quick = file.stats_from_metadata(None).unwrap();
    assert_eq!(file.input().read_count().bytes, before, "nothing more is read");
    let whole = file.scan().stats().unwrap();
    for (quick, whole) in quick.columns.iter().zip(&whole.columns).filter(|(_, w)| w.name != "f") {
        assert_eq!(quick.nulls, whole.nulls, "{}", quick.name);
        for (quick, whole) in [(&quick.min, &whole.min), (&quick.max, &whole.max)] {
            if let Some(quick) = quick {
                assert_eq!(quick.to_string(), whole.as_ref().unwrap().to_string());
            }
        }
    }
    assert!(quick.columns[0].min.is_some() && quick.columns[0].distinct.is_none());
}
