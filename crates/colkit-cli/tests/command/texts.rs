//! Text as tables: nulls, dates, and the same answers however it is kept.

use super::run::{Folder, error};

/// One empty cell in each column.
const SALES: &str = "day,at,qty,price,ok,note
2024-01-31,2024-01-31T10:00:00,9,1.5,true,a
2024-02-01,2024-02-01T00:00:00.25,100,.5,,
,,,,false,c
2023-12-31,2023-12-31T23:59:59,25,5.,true,d
";

fn types(folder: &Folder, file: &str) -> Vec<String> {
    let schema = folder.json(&["schema", "--json", file]);
    let columns = schema["columns"].as_array().unwrap_or_else(|| panic!("{schema}"));
    columns.iter().map(|c| c["type"].as_str().unwrap().to_string()).collect()
}

fn sql(folder: &Folder, query: &str) -> String {
    folder.ok(&["sql", query, "--as", "csv"]).out
}

#[test]
fn an_empty_cell_is_a_null_and_not_the_end_of_a_number() {
    let folder = Folder::new();
    folder.write("s.csv", SALES);
    let found = types(&folder, "s.csv");
    assert_eq!(found, ["date32", "timestamp[ms]", "int32", "float64", "bool", "string"], "{found:?}");
    let question =
        "SELECT max(qty) most, min(day) first, max(at) last, sum(price) s, count(ok) n, count(note) notes FROM";
    let answer = "most,first,last,s,n,notes\n100,2023-12-31,2024-02-01T00:00:00.250,7.0,3,4\n";
    for to in ["csv", "parquet", "lance", "arrow"] {
        let file = format!("copy.{to}");
        folder.ok(&["convert", "s.csv", &file]);
        assert_eq!(sql(&folder, &format!("{question} '{file}'")), answer, "{to}");
    }
    folder.ok(&["convert", "s.csv", "copy.ndjson"]);
    let lines = String::from_utf8(folder.read("copy.ndjson")).unwrap();
    assert!(lines.contains("\"qty\":null"), "{lines}");
    folder.ok(&["pack", "s.csv"]);
    assert_eq!(sql(&folder, &format!("{question} 's.csv.at1'")), answer);
    assert_eq!(folder.ok(&["cat", "s.csv", "--where", "day < \"2024-01-01\"", "--columns", "qty"]).out, "qty\n25\n");
}

#[test]
fn formats_without_nulls_get_text_and_are_told_so() {
    let folder = Folder::new();
    folder.write("q.csv", "qty,n\n9,1\n100,2\n,3\n25,4\n");
    for to in ["gppcol", "cff", "colfile"] {
        let file = format!("q.{to}");
        let said = folder.ok(&["convert", "q.csv", &file]);
        assert!(
            said.err.contains("line 4, column 1 (\"qty\")") && said.err.contains("with nulls filled in"),
            "{said:?}"
        );
        assert_eq!(types(&folder, &file), ["string", "int32"]);
        let filled = format!("f.{to}");
        folder.ok(&["convert", "q.csv", &filled, "--nulls", "fill"]);
        assert_eq!(types(&folder, &filled), ["int32", "int32"]);
        assert_eq!(sql(&folder, &format!("SELECT max(qty) m FROM '{filled}'")), "m\n100\n");
    }
}

#[test]
fn words_can_stand_for_null() {
    let folder = Folder::new();
    folder.write("w.csv", "n,s\n1,NA\nNA,-\n-,x\n4,\n");
    assert_eq!(types(&folder, "w.csv"), ["string", "string"]);
    let query = "SELECT count(n) n, max(n) m, count(s) s FROM 'w.csv'";
    assert_eq!(folder.ok(&["sql", query, "--as", "csv", "--null-values", "NA,-"]).out, "n,m,s\n2,4,2\n");
    folder.ok(&["pack", "w.csv"]);
    let packed = "SELECT count(n) n, max(n) m, count(s) s FROM 'w.csv.at1'";
    assert_eq!(folder.ok(&["sql", packed, "--as", "csv", "--null-values", "NA,-"]).out, "n,m,s\n2,4,2\n");
    folder.ok(&["convert", "w.csv", "w.parquet", "--null-values", "NA,-"]);
    assert_eq!(types(&folder, "w.parquet"), ["int32", "string"]);
}

#[test]
fn what_is_written_as_text_equals_what_it_came_from() {
    let folder = Folder::new();
    folder.write("s.csv", SALES);
    folder.ok(&["convert", "s.csv", "s.parquet"]);
    folder.ok(&["convert", "s.parquet", "again.csv"]);
    folder.ok(&["diff", "again.csv", "s.parquet"]);
    folder.ok(&["diff", "s.csv", "again.csv"]);
}

#[test]
fn whole_seconds_stay_timestamps_where_the_target_has_only_finer_ones() {
    let folder = Folder::new();
    folder.write("t.csv", "k,at\n1,2024-01-01 10:00:00\n2,2024-01-01T10:00:01\n3,\n");
    assert_eq!(types(&folder, "t.csv"), ["int32", "timestamp[s]"]);
    for (to, unit) in [("parquet", "timestamp[ms]"), ("lance", "timestamp[s]"), ("arrow", "timestamp[s]")] {
        let file = format!("t.{to}");
        folder.ok(&["convert", "t.csv", &file]);
        assert_eq!(types(&folder, &file), ["int32", unit]);
        folder.ok(&["diff", "t.csv", &file]);
    }
}

#[test]
fn the_name_of_a_binary_format_is_believed_over_a_guess() {
    let folder = Folder::new();
    folder.write("x.gppcol", "GPP");
    folder.write("x.parquet", "a,b\n1,2\n");
    folder.write("x.lance", "{\"a\":1}\n");
    for file in ["x.gppcol", "x.parquet", "x.lance"] {
        for verb in ["verify", "cat", "inspect"] {
            let said = folder.run(&[verb, file, "--json"]);
            assert_eq!(said.code, 1, "{verb} {file}: {said:?}");
        }
        let said = folder.run(&["sql", &format!("SELECT * FROM '{file}'")]);
        assert_eq!(said.code, 1, "{said:?}");
        assert!(!said.err.contains("csv"), "{said:?}");
    }
    let said = folder.run(&["cat", "x.gppcol", "--json"]);
    assert_eq!(error(&said)["code"], "truncated", "{said:?}");
    assert_eq!(folder.ok(&["cat", "x.parquet", "--from", "csv"]).out, "a,b\n1,2\n", "told so, it is read");
}

/// Queries that say something of every table, with its first and last column.
const QUERIES: [&str; 20] = [
    "SELECT count(*) FROM t",
    "SELECT * FROM t",
    "SELECT * FROM t LIMIT 3",
    "SELECT * FROM t OFFSET 5",
    "SELECT {a}, {b} FROM t ORDER BY {a} NULLS LAST, {b} NULLS FIRST",
    "SELECT count({a}), count({b}) FROM t",
    "SELECT min({a}), max({a}) FROM t",
    "SELECT min({b}), max({b}) FROM t",
    "SELECT count(DISTINCT {a}), count(DISTINCT {b}) FROM t",
    "SELECT {a}, count(*) FROM t GROUP BY {a} ORDER BY {a}",
    "SELECT DISTINCT {b} FROM t ORDER BY {b}",
    "SELECT count(*) FROM t WHERE {a} IS NULL",
    "SELECT count(*) FROM t WHERE {b} IS NOT NULL",
    "SELECT {b} FROM t WHERE {a} = (SELECT max({a}) FROM t) ORDER BY {b}",
    "SELECT {a} FROM t WHERE {b} = (SELECT min({b}) FROM t) ORDER BY {a}",
    "SELECT {a}, {b} FROM t WHERE {a} < (SELECT max({a}) FROM t) ORDER BY {b}, {a} LIMIT 7",
    "SELECT sum(length(CAST({b} AS VARCHAR))) FROM t",
    "SELECT count(*) FROM t x JOIN t y ON x.{a} = y.{a}",
    "SELECT count(*) FROM t WHERE CAST({b} AS VARCHAR) LIKE '%1%'",
    "SELECT coalesce(CAST({a} AS VARCHAR), '?') a, upper(CAST({b} AS VARCHAR)) b FROM t ORDER BY a, b",
];

#[test]
fn every_way_to_keep_a_text_answers_alike() {
    let texts: [(&str, &str, String); 7] = [
        ("quotes.csv", "id,note", "id,note\n1,\"a\nb\"\n2,\"x \"\"y\"\", 1\"\n,\n3,c\n".into()),
        ("names.csv", "lon,lat", ",lon,lat\n1,0.5,.25\n2,,\n3,5.,-7\n".into()),
        ("cells.csv", "day,ok", "day,n,ok\n2024-01-31,1,true\n,,\n2023-01-31,NA,FALSE\n".into()),
        ("crlf.csv", "id,at", "id,at\r\n3000000000,2024-01-31T10:00:00\r\n,2024-01-31T10:00:00.500\r\n7,\r\n".into()),
        ("bom.csv", "id,code", "\u{feff}id,code\n1,007\n2,08\n2,\n".into()),
        ("nul.csv", "id,s", "id,s\n1,a\0b\n2,c1\n".into()),
        (
            "shapes.ndjson",
            "id,alpha_3",
            "{\"id\":1,\"alpha_3\":\"ben\"}\n{\"id\":2,\"n\":null}\n{\"alpha_3\":\"f1\",\"id\":3}\n".into(),
        ),
    ];
    for (name, columns, text) in texts {
        let folder = Folder::new();
        // Short texts become RAW; longer ones what they are.
        let (header, rows) = match name.ends_with(".csv") {
            true => text.split_at(text.find('\n').unwrap() + 1),
            false => ("", text.as_str()),
        };
        folder.write(name, header.to_string() + &rows.repeat(60));
        let mut ways = vec![name.to_string()];
        for mode in ["--queryable", "--smallest", "--fast", "--stream"] {
            ways.push(format!("{mode}.at1"));
            folder.ok(&["pack", name, &format!("./{mode}.at1"), mode]);
        }
        for to in ["parquet", "lance", "arrow", "ndjson"] {
            ways.push(format!("to.{to}"));
            folder.ok(&["convert", name, &format!("to.{to}")]);
        }
        let (first, last) = columns.split_once(',').unwrap();
        let asked = |way: &str| -> String {
            let queries = QUERIES.map(|query| {
                let query = query.replace("{a}", &format!("{first:?}")).replace("{b}", &format!("{last:?}"));
                query.replace("FROM t", &format!("FROM './{way}'")).replace("JOIN t", &format!("JOIN './{way}'"))
            });
            folder.write("queries.sql", queries.join(";\n"));
            let said = folder.run(&["sql", "--as", "csv", "-f", "queries.sql"]);
            assert_eq!(said.code, 0, "{name} as {way}: {said:?}");
            // Columns without a name of their own are called after the file.
            said.out.replace(&format!("./{way}"), "t")
        };
        let expected = asked(&ways[0]);
        for way in &ways[1..] {
            assert_eq!(asked(way), expected, "{name} as {way}");
        }
    }
}
