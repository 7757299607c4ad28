//! `select`: renamed, cast, left out, reordered.

use super::sample::input;
use colkit::arrow::array::AsArray;
use colkit::arrow::datatypes::Int8Type;
use colkit::arrow::util::pretty::pretty_format_batches;
use colkit::{Input, OpenOptions};

const TABLE: &str = "a,b,c,d\n1,2.5,x,2024-01-02\n2,,y,2024-02-03\n3,4.0,7,2024-03-04\n";

fn file(name: &str, text: &str) -> colkit::OpenFile {
    OpenOptions::new().open_input(&input(name, text)).unwrap()
}

/// What a list selects of the table, as lines of cells.
fn selected(text: &str, list: &str) -> colkit::Result<Vec<String>> {
    let file = file(if text.starts_with('{') { "t.ndjson" } else { "t.csv" }, text);
    let batches = file.scan().select(list).batches()?.collect::<Result<Vec<_>, _>>()?;
    let table = pretty_format_batches(&batches)?.to_string();
    let cells = |line: &str| line.split('|').map(str::trim).filter(|c| !c.is_empty()).collect::<Vec<_>>().join(" ");
    Ok(table.lines().filter(|l| l.starts_with('|')).map(cells).collect())
}

#[test]
fn columns_are_renamed_cast_left_out_and_reordered() {
    assert_eq!(selected(TABLE, "c as z, a").unwrap(), ["z a", "x 1", "y 2", "7 3"]);
    assert_eq!(selected(TABLE, "-b, -d").unwrap(), ["a c", "1 x", "2 y", "3 7"]);
    assert_eq!(selected(TABLE, "c, -b").unwrap(), ["c a d", "x 1 2024-01-02", "y 2 2024-02-03", "7 3 2024-03-04"]);
    assert_eq!(selected(TABLE, "* except (a, b, d), a as n").unwrap(), ["c n", "x 1", "y 2", "7 3"]);
    assert_eq!(selected(TABLE, "a::string, d::timestamp as t").unwrap()[1], "1 2024-01-02T00:00:00");
    assert_eq!(selected(TABLE, "#1::decimal(4, 1)").unwrap(), ["b", "2.5", "", "4.0"]);
}

#[test]
fn parts_of_structs_become_columns() {
    let nested = "{\"s\":{\"x\":1,\"y\":{\"z\":\"a\"}}}\n{\"s\":null}\n{\"s\":{\"x\":3,\"y\":null}}\n";
    assert_eq!(selected(nested, "s.x, s.y.z as deep").unwrap(), ["x deep", "1 a", "", "3"]);
}

#[test]
fn a_value_that_does_not_fit_is_told_with_its_place() {
    let error = selected(TABLE, "b::int32").unwrap_err();
    assert_eq!((error.code(), error.message()), ("does_not_fit", "row 0, column \"b\": \"2.5\" does not fit int32"));
    let error = selected(TABLE, "c::int64 as n").unwrap_err();
    assert_eq!(error.message(), "row 0, column \"n\": \"x\" does not fit int64");
    for (list, code) in [("nix", "no_such_column"), ("a::list", "no_such_type"), ("-a, -b, -c, -d", "bad_select")] {
        assert_eq!(selected(TABLE, list).unwrap_err().code(), code, "{list}");
    }
    let file = file("t.csv", TABLE);
    let batch = file.scan().select_lossy("b::int32, c::int64").batches().unwrap().next().unwrap().unwrap();
    assert_eq!(batch.column(1).null_count(), 2, "what is no number is null");
    assert_eq!(batch.column(0).null_count(), 1);
}

#[test]
fn a_lossy_cast_takes_the_nearest_whole_number() {
    let table = file("n.csv", "a\n1.9\n-1.9\n2.5\n300\n");
    let batch = table.scan().select_lossy("a::int8").batches().unwrap().next().unwrap().unwrap();
    let found: Vec<Option<i8>> = batch.column(0).as_primitive::<Int8Type>().iter().collect();
    assert_eq!(found, [Some(2), Some(-2), Some(3), None]);
    let batch = table.scan().select_lossy("a::decimal(5, 1) as a").batches().unwrap().next().unwrap().unwrap();
    assert_eq!(batch.num_rows(), 4);
}

#[test]
fn conditions_see_the_original_names() {
    let file = file("t.csv", TABLE);
    let batches = file.scan().select("c as a").filter("a >= 2").batches().unwrap();
    assert_eq!(batches.map(|b| b.unwrap().num_rows()).sum::<usize>(), 2);
}

#[test]
fn conversions_select_too() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("t.csv"), folder.path().join("t.parquet"));
    std::fs::write(&from, TABLE).unwrap();
    let conversion = colkit::Conversion::new([Input::path(&from).unwrap()]).select("d as day, a::int64 as n, -c");
    conversion.filter("a != 2").write_to(&to).unwrap();
    let file = colkit::open(&to).unwrap();
    let schema = file.schema();
    let fields: Vec<String> = schema.fields().iter().map(|f| format!("{} {}", f.name(), f.data_type())).collect();
    assert_eq!(fields, ["day Date32", "n Int64", "b Float64"]);
    assert_eq!(file.row_count(), 2);
}
