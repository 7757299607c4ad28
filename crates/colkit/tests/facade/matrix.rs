//! Every format to every other: nine times nine.
//!
//! For each pair a table is made of the types both store; written in the first, converted, and read back from the
//! second, it must be the same. And each type that the first stores and the second does not must be refused, with the
//! column and the option that would allow it.

use super::sample::{input, write};
use colkit::arrow::array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, DictionaryArray, Float64Array,
    Int16Array, Int32Array, Int64Array, ListArray, RecordBatch, StringArray, StructArray, TimestampMicrosecondArray,
    UInt64Array,
};
use colkit::arrow::compute::{cast, concat_batches};
use colkit::arrow::datatypes::{DataType, Field, Fields, Int32Type, Schema};
use colkit::{Class, Conversion, CreateOptions, Format, MemorySink, OpenOptions, Registry, Setting, TextOptions};
use std::sync::Arc;

const NINE: [&str; 9] = ["gppcol", "cff", "colfile", "at1", "lance", "csv", "ndjson", "parquet", "arrow"];

/// Which of them have a null.
const WITH_NULLS: [&str; 5] = ["at1", "lance", "ndjson", "parquet", "arrow"];

const ROWS: i32 = 300;

fn noise(i: i32) -> i32 {
    i.wrapping_mul(-1_640_531_527) >> 9
}

fn array(array: impl Array + 'static) -> ArrayRef {
    Arc::new(array)
}

/// One column of each kind. Integers of 64 bits are too large for fewer, so that text too shows what they are.
fn columns() -> Vec<(&'static str, ArrayRef)> {
    let rows = || 0..ROWS;
    let some = |i: i32| (noise(i) % 4 != 0).then(|| noise(i));
    let lists = ListArray::from_iter_primitive::<Int32Type, _, _>(
        rows().map(|i| Some((0..1 + noise(i).rem_euclid(4)).map(Some).collect::<Vec<_>>())),
    );
    let lists = ListArray::new(
        Arc::new(Field::new("item", DataType::Int32, false)),
        lists.offsets().clone(),
        lists.values().clone(),
        None,
    );
    let members = Fields::from(vec![Field::new("a", DataType::Int32, false), Field::new("b", DataType::Utf8, false)]);
    let structs = StructArray::new(
        members,
        vec![
            array(Int32Array::from_iter_values(rows().map(noise))),
            array(StringArray::from_iter_values(rows().map(|i| format!("m{i}")))),
        ],
        None,
    );
    let words: DictionaryArray<Int32Type> = rows().map(|i| ["red", "green"][noise(i).rem_euclid(2) as usize]).collect();
    let decimals = Decimal128Array::from_iter_values(rows().map(|i| i128::from(noise(i))));
    vec![
        ("truth", array(BooleanArray::from_iter(rows().map(|i| Some(noise(i) > 0))))),
        ("small", array(Int16Array::from_iter_values(rows().map(|i| noise(i) as i16)))),
        ("whole", array(Int32Array::from_iter_values(rows().map(noise)))),
        ("wide", array(Int64Array::from_iter_values(rows().map(|i| (i64::from(noise(i)) << 30) + 1)))),
        ("unsigned", array(UInt64Array::from_iter_values(rows().map(|i| u64::MAX - noise(i).unsigned_abs() as u64)))),
        ("real", array(Float64Array::from_iter_values(rows().map(|i| f64::from(noise(i)) / 8.0)))),
        ("text", array(StringArray::from_iter_values(rows().map(|i| format!("é\"{},\n", noise(i)))))),
        ("bytes", array(BinaryArray::from_iter_values(rows().map(|i| noise(i).to_le_bytes())))),
        ("day", array(Date32Array::from_iter_values(rows().map(|i| noise(i) % 40_000)))),
        (
            "time",
            array(
                TimestampMicrosecondArray::from_iter_values(rows().map(|i| i64::from(noise(i)) * 1009))
                    .with_timezone("UTC"),
            ),
        ),
        ("money", array(decimals.with_precision_and_scale(12, 2).unwrap())),
        ("list", array(lists)),
        ("struct", array(structs)),
        ("word", array(words)),
        ("whole?", array(Int32Array::from_iter(rows().map(some)))),
        ("wide?", array(Int64Array::from_iter(rows().map(|i| some(i).map(|n| (i64::from(n) << 30) + 1))))),
        ("text?", array(StringArray::from_iter(rows().map(|i| some(i).map(|n| n.to_string() + "x"))))),
    ]
}

fn format(name: &str) -> Arc<dyn Format> {
    Registry::default().named(name, &TextOptions::default()).unwrap()
}

/// Whether values of the column come back from the format as they are.
fn stores(format: &dyn Format, array: &ArrayRef) -> bool {
    format.stores(array.data_type()) && (array.null_count() == 0 || WITH_NULLS.contains(&format.name()))
}

fn table(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    let field = |(name, array): &(&str, ArrayRef)| Field::new(*name, array.data_type().clone(), array.null_count() > 0);
    let schema = Schema::new(columns.iter().map(field).collect::<Vec<_>>());
    RecordBatch::try_new(Arc::new(schema), columns.into_iter().map(|(_, a)| a).collect()).unwrap()
}

fn converted(from: &dyn Format, to: &Arc<dyn Format>, table: &RecordBatch) -> colkit::Result<Vec<u8>> {
    let source = input(&format!("in.{}", from.extensions()[0]), write(from, table));
    let options = CreateOptions::new().with_threads(2).with_memory(64 << 20);
    let conversion = Conversion::new([source]).create_options(options);
    let sink = MemorySink::new();
    let summary = conversion.prepare(to.clone())?.write(Box::new(sink.clone()))?;
    // AT-1 says which of its shapes it chose.
    let changed: Vec<&String> = summary.notes.iter().filter(|n| !n.starts_with("written as JSON lines")).collect();
    assert!(changed.is_empty(), "nothing was changed, so there is nothing to tell: {changed:?}");
    Ok(sink.bytes().unwrap().to_vec())
}

#[test]
fn what_both_store_comes_through_all_81_pairs() {
    let mut pairs = 0;
    for from in NINE {
        for to in NINE {
            let (from, to) = (format(from), format(to));
            let both: Vec<_> =
                columns().into_iter().filter(|(_, a)| stores(from.as_ref(), a) && stores(to.as_ref(), a)).collect();
            assert!(both.len() >= 2, "{} and {} have something in common", from.name(), to.name());
            let names: Vec<&str> = both.iter().map(|(name, _)| *name).collect();
            let table = table(both.clone());
            let bytes = converted(from.as_ref(), &to, &table)
                .unwrap_or_else(|e| panic!("{} to {}, columns {names:?}: {e}", from.name(), to.name()));
            let file = OpenOptions::new().open_input(&input(&format!("out.{}", to.extensions()[0]), bytes)).unwrap();
            assert_eq!(file.format().name(), to.name(), "recognised by its content");
            let read: Vec<RecordBatch> = file.scan().batches().unwrap().map(|b| b.unwrap()).collect();
            let read = concat_batches(&file.schema(), &read).unwrap();
            for (name, expected) in &both {
                let found = read.column_by_name(name).unwrap();
                assert_eq!(found.data_type(), expected.data_type(), "{} to {}: {name}", from.name(), to.name());
                assert_eq!(found, expected, "{} to {}: {name}", from.name(), to.name());
            }
            pairs += 1;
        }
    }
    assert_eq!(pairs, 81);
}

#[test]
fn what_the_target_cannot_store_is_refused_with_the_way_out() {
    let mut refusals = 0;
    for from in NINE {
        for to in NINE {
            let (from, to) = (format(from), format(to));
            for (name, array) in columns() {
                // Text sources are read to what the target has; typed ones say what they hold.
                if !stores(from.as_ref(), &array) || stores(to.as_ref(), &array) {
                    continue;
                }
                let what = format!("{} to {}: {name}", from.name(), to.name());
                match converted(from.as_ref(), &to, &table(vec![(name, array.clone())])) {
                    // The same values in a type of the same kind: no loss, as for a word of a dictionary as text.
                    Ok(bytes) => {
                        let file = OpenOptions::new()
                            .open_input(&input(&format!("out.{}", to.extensions()[0]), bytes))
                            .unwrap();
                        let read: Vec<RecordBatch> = file.scan().batches().unwrap().map(|b| b.unwrap()).collect();
                        let read = concat_batches(&file.schema(), &read).unwrap();
                        let back = cast(read.column(0), array.data_type()).unwrap();
                        assert_eq!(&back, &array, "{what}: not the same, and not refused");
                    }
                    Err(error) => {
                        assert_eq!(error.class(), Class::Data, "{what}: {error}");
                        let codes = ["type_not_supported", "null_not_supported", "value_out_of_range"];
                        assert!(codes.contains(&error.code()), "{what}: {error}");
                        assert!(
                            error.part_name().unwrap_or_default().contains(name),
                            "{what} names the column: {error}"
                        );
                        let settings = error.advice().map_or(0, |hint| hint.settings().count());
                        assert!(settings > 0, "{what} tells the way out: {error}");
                        refusals += 1;
                    }
                }
            }
        }
    }
    assert!(refusals > 100, "{refusals}");
}

#[test]
fn metadata_is_carried_or_refused() {
    let noted = |name: &str| {
        let plain = table(columns().into_iter().filter(|(n, _)| *n == "wide").collect());
        let field = plain.schema().field(0).clone().with_metadata([("unit".into(), "cm".into())].into());
        let schema = Schema::new_with_metadata(vec![field], [("source".into(), "survey".into())].into());
        let batch = RecordBatch::try_new(Arc::new(schema), plain.columns().to_vec()).unwrap();
        input(&format!("in.{name}"), write(format(name).as_ref(), &batch))
    };
    for from in ["lance", "parquet", "arrow"] {
        for to in NINE {
            let with = |drop_metadata| {
                let options = CreateOptions::new().with_types(colkit::Types::Lossy).with_drop_metadata(drop_metadata);
                let conversion = Conversion::new([noted(from)]).create_options(options);
                let sink = MemorySink::new();
                let summary = conversion.prepare(format(to))?.write(Box::new(sink.clone()))?;
                Ok::<_, colkit::Error>((sink.bytes().unwrap().to_vec(), summary))
            };
            if !format(to).keeps_metadata() {
                let error = with(false).unwrap_err();
                assert_eq!(error.code(), "metadata_not_supported", "{from} to {to}: {error}");
                assert!(error.message().contains("\"unit\" of column \"wide\""), "{error}");
                assert!(error.advice().unwrap().settings().eq([Setting::DropMetadata]));
                let (_, summary) = with(true).unwrap();
                assert!(summary.notes.iter().any(|n| n.contains("\"source\"")), "{:?}", summary.notes);
                continue;
            }
            let (bytes, _) = with(false).unwrap();
            let file = OpenOptions::new().open_input(&input(&format!("out.{to}"), bytes)).unwrap();
            assert_eq!(file.schema().metadata().get("source").map(String::as_str), Some("survey"), "{from} to {to}");
            let unit = file.schema().field(0).metadata().get("unit").cloned();
            assert_eq!(unit.as_deref(), Some("cm"), "{from} to {to}");
        }
    }
}

#[test]
fn one_input_becomes_several_files() {
    let table = table(columns().into_iter().filter(|(n, _)| ["real", "text"].contains(n)).collect());
    for name in NINE {
        let source = input("in.csv", write(format("csv").as_ref(), &table));
        let prepared = Conversion::new([source]).prepare(format(name)).unwrap();
        let mut sinks = Vec::new();
        let summary = prepared.write_parts(70, &mut |part| {
            assert_eq!(part, sinks.len());
            let sink = MemorySink::new();
            sinks.push(sink.clone());
            Ok(Box::new(sink))
        });
        let summary = summary.unwrap();
        assert_eq!((summary.rows, summary.files, sinks.len()), (ROWS as u64, 5, 5));
        let inputs: Vec<_> = sinks
            .iter()
            .map(|s| input(&format!("p.{}", format(name).extensions()[0]), s.bytes().unwrap().to_vec()))
            .collect();
        let rows: Vec<u64> = inputs.iter().map(|i| OpenOptions::new().open_input(i).unwrap().row_count()).collect();
        assert_eq!(rows, [70, 70, 70, 70, 20], "{name}");
        // And several inputs one file again.
        let again = Conversion::new(inputs).prepare(format("arrow")).unwrap();
        let sink = MemorySink::new();
        again.write(Box::new(sink.clone())).unwrap();
        let file = OpenOptions::new().open_input(&input("all.arrow", sink.bytes().unwrap().to_vec())).unwrap();
        let read: Vec<RecordBatch> = file.scan().batches().unwrap().map(|b| b.unwrap()).collect();
        let read = concat_batches(&file.schema(), &read).unwrap();
        assert_eq!(read.columns(), table.columns(), "{name}");
    }
}

#[test]
fn text_keeps_integers_as_they_are_even_where_a_loss_is_allowed() {
    let table = table(columns().into_iter().filter(|(n, _)| ["unsigned", "small", "day"].contains(n)).collect());
    let options = CreateOptions::new().with_types(colkit::Types::Lossy);
    for (name, line) in [("ndjson", "{\"small\":"), ("csv", "small,unsigned,day\n")] {
        let source = input("in.parquet", write(format("parquet").as_ref(), &table));
        let conversion = Conversion::new([source]).create_options(options.clone());
        let sink = MemorySink::new();
        conversion.prepare(format(name)).unwrap().write(Box::new(sink.clone())).unwrap();
        let text = String::from_utf8(sink.bytes().unwrap().to_vec()).unwrap();
        assert!(text.starts_with(line), "{text}");
        assert!(!text.contains(&format!("\"{}\"", u64::MAX)), "not in quotes");
        assert!(text.contains(&u64::MAX.to_string()));
    }
}
