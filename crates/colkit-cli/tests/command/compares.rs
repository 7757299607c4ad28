//! `diff`: text beside types, rows matched by key.

use super::run::{Folder, error};
use serde_json::json;

/// A Parquet file with a column of every type that text does not show.
fn typed(folder: &Folder) {
    let query = "SELECT CAST(column1 AS INT) AS id, CAST(column2 AS DATE) AS day, CAST(column3 AS TIMESTAMP) AS at, \
        arrow_cast(column3, 'Timestamp(Millisecond, Some(\"+01:00\"))') AS there, CAST(column4 AS DECIMAL(9, 2)) AS price, \
        CAST(column5 AS TIME) AS time, arrow_cast(column4, 'Float32') AS small, column2 > '2024-01-15' AS late, \
        arrow_cast(column1, 'UInt8') AS byte, [column1] AS list, arrow_cast('ab', 'Binary') AS raw \
        FROM (VALUES ('1', '2024-01-01', '2024-01-01T12:00:00', '1.5', '01:02:03'), \
        ('2', '2024-02-29', '2024-02-29T00:00:00.25', '-0.05', '23:59:59.5'), (NULL, NULL, NULL, NULL, NULL)) t";
    let said = folder.run(&["sql", query, "--out", "t.parquet"]);
    assert_eq!(said.code, 0, "{said:?}");
}

#[test]
fn what_was_written_as_text_equals_what_it_was_written_from() {
    let folder = Folder::new();
    typed(&folder);
    let text = folder.ok(&["cat", "t.parquet", "--as", "csv"]).out;
    folder.write("t.csv", &text);
    folder.ok(&["diff", "t.csv", "t.parquet"]);
    folder.ok(&["diff", "t.parquet", "t.csv"]);
    folder.ok(&["diff", "t.parquet", "t.csv", "--key", "id,day"]);
    folder.ok(&["convert", "t.parquet", "c.csv", "--types", "lossy", "--nulls", "fill"]);
    folder.ok(&["diff", "c.csv", "t.parquet"]);
    folder.write("t.ndjson", folder.ok(&["cat", "t.parquet", "--as", "ndjson"]).out);
    folder.ok(&["diff", "t.parquet", "t.ndjson"]);
    // A cell that says more than its type can hold is a difference, and told as it is written.
    folder.write("other.csv", text.replace("2024-02-29,", "2024-02-28,").replace("1.50,", "1.501,"));
    let said = folder.run(&["diff", "t.parquet", "other.csv"]);
    assert_eq!(said.code, 1);
    assert!(said.out.contains("column \"price\": 1.50 (left), 1.501 (right)"), "{said:?}");
    assert!(said.out.contains("column \"day\": 2024-02-29 (left), 2024-02-28 (right)"), "{said:?}");
}

#[test]
fn rows_are_matched_by_key() {
    let folder = Folder::new();
    let row = |i: usize| format!("{},{},v{i}\n", i / 10, i % 10);
    let rows: Vec<String> = (0..1000).map(row).collect();
    folder.write("a.csv", format!("a,b,v\n{}", rows.concat()));
    let mut changed: Vec<String> =
        rows.iter().enumerate().filter(|(i, _)| i % 100 != 50).map(|(_, r)| r.clone()).collect();
    changed.reverse();
    changed.push("7000,1,new\n".into());
    folder.write("b.csv", format!("a,b,v\n{}", changed.concat().replace("v777\n", "other\n")));
    let said = folder.run(&["diff", "a.csv", "b.csv", "--key", "a,b"]);
    assert_eq!(said.code, 1);
    assert!(said.out.contains("by a, b: 1 row added, 10 removed, 1 changed, 989 unchanged"), "{said:?}");
    for line in
        ["added: a 7000, b 1", "removed: a 5, b 0", "changed: a 77, b 7, column \"v\": v777 (left), other (right)"]
    {
        assert!(said.out.contains(line), "{line}: {said:?}");
    }
    // The same in another format.
    folder.ok(&["convert", "b.csv", "b.lance"]);
    for right in ["b.csv", "b.lance"] {
        let said = folder.run(&["diff", "a.csv", right, "--key", "a,b", "--json"]);
        assert_eq!(said.code, 1, "{said:?}");
        let report = said.json();
        assert_eq!(report["equal"], false);
        assert_eq!(report["schema"], json!([]), "{report}");
        assert_eq!(report["by_key"]["added"], 1);
        assert_eq!(report["by_key"]["first_added"], json!([{"a": "7000", "b": "1"}]));
        assert_eq!(report["by_key"]["first_removed"][1], json!({"a": "15", "b": "0"}));
        let cell = json!({"row": 777, "key": {"a": "77", "b": "7"}, "column": "v", "left": "v777", "right": "other"});
        assert_eq!(report["first"], json!([cell]));
    }
    folder.write("c.csv", format!("a,b,v\n{}", rows.iter().rev().cloned().collect::<String>()));
    folder.ok(&["diff", "a.csv", "c.csv", "--key", "a,b"]);
    assert_eq!(folder.run(&["diff", "a.csv", "c.csv"]).code, 1);
    let said = folder.run(&["diff", "a.csv", "b.csv", "--key", "nope", "--json"]);
    assert_eq!((said.code, error(&said)["code"].as_str()), (2, Some("no_such_column")));
}

#[test]
fn rows_of_one_key_are_matched_in_order() {
    let folder = Folder::new();
    folder.write("a.csv", "k,v\nx,1\nx,2\ny,3\nx,4\n");
    folder.write("b.csv", "k,v\nx,1\nx,2.5\nz,3\n");
    let said = folder.run(&["diff", "a.csv", "b.csv", "--key", "k", "--json"]);
    let report = said.json();
    assert_eq!(report["by_key"]["first_removed"], json!([{"k": "y"}, {"k": "x"}]), "{report}");
    assert_eq!(report["by_key"]["first_added"], json!([{"k": "z"}]));
    assert_eq!((&report["by_key"]["changed"], &report["by_key"]["unchanged"]), (&json!(1), &json!(1)));
}

/// The same numbers, strings, times and lists in two files of different types.
fn in_two_types(folder: &Folder) {
    let query = |int: &str, float: &str, unit: &str, list: &str, text: &str| {
        format!(
            "SELECT arrow_cast(column1, '{int}') AS id, arrow_cast(column2, '{float}') AS share, \
             arrow_cast(column3, 'Timestamp({unit}, None)') AS at, arrow_cast([column1], '{list}') AS list, \
             arrow_cast(column4, '{text}') AS name, arrow_cast(column1, 'Float64') AS whole \
             FROM (VALUES (1, 0.5, '2024-01-01T12:00:00', 'a'), (2, 0.25, '1969-12-31T23:59:59', ''), \
             (NULL, NULL, NULL, NULL)) t"
        )
    };
    let left = query("Int32", "Float32", "Second", "List(Int32)", "Utf8");
    let right = query("UInt64", "Float64", "Nanosecond", "LargeList(Int64)", "LargeUtf8");
    folder.ok(&["sql", &left, "--out", "left.parquet"]);
    folder.ok(&["sql", &right, "--out", "right.arrow"]);
}

#[test]
fn values_are_compared_across_types() {
    let folder = Folder::new();
    in_two_types(&folder);
    let said = folder.ok(&["diff", "left.parquet", "right.arrow"]);
    assert!(said.out.contains("column \"id\" has type int32 on the left and uint64 on the right"), "{said:?}");
    folder.ok(&["diff", "left.parquet", "right.arrow", "--key", "id,at"]);
    let said = folder.run(&["diff", "left.parquet", "right.arrow", "--strict-types", "--json"]);
    assert_eq!((said.code, &said.json()["equal"]), (1, &json!(false)));
    assert_eq!(said.json()["schema"].as_array().unwrap().len(), 5, "{said:?}");
    // A number and its text have nothing in common.
    folder.ok(&["sql", "SELECT '1' AS id", "--out", "text.parquet"]);
    folder.ok(&["sql", "SELECT 1 AS id", "--out", "number.parquet"]);
    assert_eq!(folder.run(&["diff", "text.parquet", "number.parquet"]).code, 1);
}

#[test]
fn numbers_that_a_type_cannot_hold_differ_from_all_of_its_values() {
    let folder = Folder::new();
    folder.write("a.csv", "x\n9007199254740993\n");
    for (value, float) in [("9007199254740992", "Float64"), ("16777216", "Float32")] {
        let query = |t: &str, value: &str| format!("SELECT arrow_cast({value}, '{t}') AS x");
        folder.ok(&["sql", &query(float, value), "--out", "float.parquet", "--force"]);
        let next = format!("{}", value.parse::<u64>().unwrap() + 1);
        folder.ok(&["sql", &query("Int64", &next), "--out", "next.parquet", "--force"]);
        folder.ok(&["sql", &query("Int64", value), "--out", "same.parquet", "--force"]);
        folder.ok(&["sql", &query("Decimal128(20, 2)", &next), "--out", "decimal.parquet", "--force"]);
        folder.write("next.csv", format!("x\n{next}\n"));
        folder.write("same.csv", format!("x\n{value}\n"));
        for file in ["next.csv", "next.parquet", "decimal.parquet"] {
            for key in [&[][..], &["--key", "x"]] {
                let said = folder.run(&[&["diff", file, "float.parquet"], key].concat());
                assert_eq!(said.code, 1, "{file} {float}: {said:?}");
                assert!(said.out.contains(&next), "{file} {float}: {said:?}");
            }
        }
        folder.ok(&["diff", "same.csv", "float.parquet"]);
        folder.ok(&["diff", "float.parquet", "same.parquet"]);
    }
}

#[test]
fn two_texts_are_compared_by_value() {
    let folder = Folder::new();
    folder.write("a.csv", "x,y\n1,a\n2,b\n");
    folder.write("b.csv", "x,y\n1.0,a\n2.0,b\n");
    folder.ok(&["diff", "a.csv", "b.csv"]);
    folder.write("c.csv", "x,y\n1,a\nb,b\n");
    assert_eq!(folder.run(&["diff", "a.csv", "c.csv"]).code, 1);
}
