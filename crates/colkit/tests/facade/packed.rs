//! A packed text is the table that the text is: the same columns, types and rows, however it was packed; and what it is
//! converted to says the same.

use super::sample::input;
use colkit::arrow::array::RecordBatch;
use colkit::arrow::compute::{cast, concat_batches};
use colkit::arrow::datatypes::{DataType, Field, Schema};
use colkit::at1::{Codec, Effort, PackOptions, PackPriority, pack};
use colkit::{Conversion, Inference, Input, MemorySink, OpenOptions, Registry, Result, ScanBuilder, TextOptions};
use std::sync::Arc;

/// Texts that are hard to read, each long enough that packing it pays.
pub fn awkward() -> Vec<(&'static str, Vec<u8>)> {
    let many = |header: &str, row: &dyn Fn(usize) -> String| -> Vec<u8> {
        (header.to_string() + &(0..400).map(row).collect::<String>()).into_bytes()
    };
    let word = |i: usize| ["red", "green", "blue, dark", "x\"\"y"][i % 4];
    vec![
        ("plain.csv", many("id,price,sym\n", &|i| format!("{i},{}.{:02},s{}\n", i % 90, i % 100, i % 7))),
        ("quoted_line_ends.csv", many("id,note\n", &|i| format!("{i},\"a {}\nb,{i}\"\n", word(i)))),
        ("same_width_inside_quotes.csv", many("a,b,c\n", &|i| format!("{i},{i},\"x\n{i},y,z\"\n"))),
        ("empty_first_name.csv", many(",lon,lat\n", &|i| format!("{i},{}.5,{}.25\n", i % 180, i % 90))),
        (
            "empty_cells.csv",
            many("i,f,b,d,t,s\n", &|i| match i % 5 {
                0 => ",,,,,\n".into(),
                n => format!("{i},{n}.5,{},2024-01-{:02},2024-01-31T10:00:{:02},w{n}\n", n > 2, i % 28 + 1, i % 60),
            }),
        ),
        (
            "numbers.csv",
            many("big,huge,loose,code\n", &|i| {
                format!("{},{},{}.,{:03}\n", 3_000_000_000 + i as u64, u64::MAX - i as u64, i, i % 100)
            }),
        ),
        ("crlf.csv", many("id,day,note\r\n", &|i| format!("{i},2023-12-{:02},\"{}\"\r\n", i % 28 + 1, word(i)))),
        (
            "mixed_line_ends.csv",
            many("id,n\n", &|i| format!("{i},{}{}", i * 7, if i % 3 == 0 { "\r\n" } else { "\n" })),
        ),
        ("bom.csv", many("\u{feff}id,n\n", &|i| format!("{i},{}\n", i % 5))),
        ("nul.csv", many("id,s\n", &|i| format!("{i},a\0{}\n", i % 3))),
        ("one_column.csv", many("qty\n", &|i| if i % 9 == 0 { "\n".into() } else { format!("{}\n", i % 50) })),
        ("semicolons.csv", many("a;b;c\n", &|i| format!("{i};x{};y\n", i % 3))),
        ("blank_lines.csv", many("a,b\n", &|i| format!("{i},{i}\n{}", if i % 50 == 0 { "\n" } else { "" }))),
        ("tabs.tsv", many("id\tname\tdate\n", &|i| format!("{i}\tn,{}\t2020-02-{:02}\n", i % 9, i % 28 + 1))),
        ("small.csv", b"a,b\n1,x\n2,\n".to_vec()),
        ("flat.ndjson", many("", &|i| format!("{{\"id\":{i},\"name\":\"n{}\",\"x\":{}.5}}\n", i % 5, i % 7))),
        (
            "shapes.ndjson",
            many("", &|i| match i % 3 {
                0 => format!("{{\"id\":{i},\"alpha_3\":\"ben\"}}\n"),
                1 => format!("{{\"id\":{i},\"alpha_2\":null,\"tags\":[1,{i}]}}\n"),
                _ => format!("{{\"alpha_3\":\"fra\",\"id\":{i},\"in\":{{\"a\":{i}}}}}\n"),
            }),
        ),
        ("spaced.ndjson", many("", &|i| format!("{{ \"id\": {i}, \"s\": \"\\u00e9{}\" }}\n", i % 4))),
    ]
}

/// Every way to pack a file.
fn modes() -> Vec<(&'static str, PackOptions)> {
    let with = |change: &dyn Fn(&mut PackOptions)| {
        let mut options = PackOptions { is_table: true, threads: 1, ..PackOptions::default() };
        change(&mut options);
        options
    };
    vec![
        ("queryable", with(&|_| {})),
        ("smallest", with(&|o| o.aim = PackPriority::Smallest)),
        ("fast", with(&|o| o.effort = Effort::Fast)),
        ("stream", with(&|o| o.stream = true)),
        ("raw", with(&|o| o.codec = Some(Codec::Raw))),
        ("qcolumnar", with(&|o| o.codec = Some(Codec::Qcolumnar))),
        ("columnar", with(&|o| o.codec = Some(Codec::Columnar))),
    ]
}

fn read(input: &Input, options: &OpenOptions, condition: Option<&str>) -> Result<RecordBatch> {
    let file = options.open_input(input)?;
    let batches = condition.into_iter().fold(file.scan(), ScanBuilder::filter).batches()?;
    let batches = batches.collect::<std::result::Result<Vec<_>, _>>()?;
    Ok(concat_batches(&file.schema(), &batches)?)
}

#[test]
fn packed_texts_are_the_tables_that_the_texts_are() {
    let plain = OpenOptions::new();
    let words = Inference { null_words: vec!["w2".into(), "7".into()], ..Inference::full() };
    let words = OpenOptions::new().with_text(TextOptions { inference: words, ..TextOptions::default() });
    for (name, text) in awkward() {
        let source = input(name, text.clone());
        let expected = read(&source, &plain, None).unwrap_or_else(|e| panic!("{name}: {e}"));
        let column = expected.schema().field(0).name().clone();
        let condition = format!("`{column}` is not null");
        for (mode, options) in modes() {
            if name.ends_with("ndjson") && mode.ends_with("columnar") {
                continue;
            }
            let what = format!("{name} packed for {mode}");
            let sink = MemorySink::new();
            let summary = pack(&bytes::Bytes::from(text.clone()), Box::new(sink.clone()), &options).unwrap();
            let what = format!("{what} ({})", summary.codec.name());
            let packed = input("p.at1", sink.bytes().unwrap().to_vec());
            let found = read(&packed, &plain, None).unwrap_or_else(|e| panic!("{what}: {e}"));
            assert_eq!(found.schema(), expected.schema(), "{what}");
            assert_eq!(found, expected, "{what}");
            assert_eq!(read(&packed, &words, None).unwrap(), read(&source, &words, None).unwrap(), "{what}");
            if !column.is_empty() {
                let some = |of: &Input| read(of, &plain, Some(&condition)).unwrap();
                assert_eq!(some(&packed), some(&source), "{what}");
            }
            let rows = [expected.num_rows() as u64 - 1, 0, 1];
            let taken = |of: &Input| plain.open_input(of).unwrap().take(rows).batch().unwrap();
            assert_eq!(taken(&packed), taken(&source), "{what}");
        }
    }
}

/// Types may be those of the target (NDJSON has no dates), values may not differ.
#[test]
fn what_a_text_is_converted_to_says_the_same() {
    for (name, text) in awkward() {
        let source = input(name, text);
        let expected = read(&source, &OpenOptions::new(), None).unwrap();
        for to in ["parquet", "lance", "arrow", "ndjson", "csv"] {
            // CSV has no lists, and an empty text of a lonely column is nothing else.
            if to == "csv" && name == "shapes.ndjson" {
                continue;
            }
            let target = Registry::default().named(to, &TextOptions::default()).unwrap();
            let sink = MemorySink::new();
            let conversion = Conversion::new([source.clone()]);
            let done = conversion.prepare(target).and_then(|p| p.write(Box::new(sink.clone())));
            done.unwrap_or_else(|e| panic!("{name} to {to}: {e}"));
            let found = read(&input(&format!("x.{to}"), sink.bytes().unwrap().to_vec()), &OpenOptions::new(), None);
            let found = found.unwrap_or_else(|e| panic!("{name} to {to}: {e}"));
            assert_eq!(texts(&found), texts(&expected), "{name} to {to}");
        }
    }
}

/// All values as text, nested ones apart.
fn texts(batch: &RecordBatch) -> RecordBatch {
    let scalar = |f: &&Arc<Field>| !f.data_type().is_nested();
    let fields: Vec<Field> =
        batch.schema().fields().iter().filter(scalar).map(|f| Field::new(f.name(), DataType::Utf8, true)).collect();
    let columns = batch.columns().iter().filter(|a| !a.data_type().is_nested());
    let columns = columns.map(|a| cast(a, &DataType::Utf8).unwrap()).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap()
}

#[test]
fn a_packed_table_is_read_in_parts() {
    let csv = |i: u32| format!("{i},{}.{:02},2024-01-{:02}\n", i % 90, i % 100, i % 28 + 1);
    let json = |i: u32| format!("{{\"id\":{i},\"price\":{}.5,\"day\":\"2024-01-{:02}\"}}\n", i % 90, i % 28 + 1);
    let csv = "id,price,day\n".to_string() + &(0..150_000).map(csv).collect::<String>();
    let json = (0..150_000).map(json).collect::<String>();
    for (text, day) in [(csv, DataType::Date32), (json, DataType::Utf8)] {
        let sink = MemorySink::new();
        let options = PackOptions { effort: Effort::Fast, ..PackOptions::default() };
        pack(&bytes::Bytes::from(text), Box::new(sink.clone()), &options).unwrap();
        let file = OpenOptions::new().open_input(&input("t.at1", sink.bytes().unwrap().to_vec())).unwrap();
        let types: Vec<DataType> = file.schema().fields().iter().map(|f| f.data_type().clone()).collect();
        assert_eq!(types, [DataType::Int32, DataType::Float64, day]);
        let scan = file.scan().filter("id < 10");
        let planned = scan.clone().planned().unwrap();
        assert_eq!(planned.splits, 1, "by its zone map: {planned:?}");
        assert!(planned.rows < 150_000 && planned.ranges > 0, "from the file, not from memory: {planned:?}");
        let rows: usize = scan.batches().unwrap().map(|b| b.unwrap().num_rows()).sum();
        assert_eq!(rows, 10);
    }
}
