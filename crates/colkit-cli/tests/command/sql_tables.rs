//! Files with options of their own: `FROM csv('x.csv', delimiter => ';')`.

use super::run::{Folder, error};

fn answer(folder: &Folder, query: &str) -> String {
    let said = folder.run(&["sql", query]);
    assert_eq!(said.code, 0, "{query}: {}", said.err);
    said.out
}

#[test]
fn each_file_is_read_with_its_own_options() {
    let folder = Folder::new();
    folder.write("a.txt", "1;2,5;x\n2;3,5;NA\n");
    folder.write("b.txt", b"id|name\n1|J\xfcrgen\n".as_slice());
    let columns = "delimiter => ';', header => false, decimal => ',', null_values => ['NA', '-']";
    assert_eq!(answer(&folder, &format!("FROM csv('a.txt', {columns})")), "c0,c1,c2\n1,2.5,x\n2,3.5,\n");
    let joined = format!(
        "SELECT a.c1, b.name FROM csv('a.txt', {columns}) a JOIN csv('b.txt', delimiter := '|', encoding := 'cp1252') b ON a.c0 = b.id"
    );
    assert_eq!(answer(&folder, &joined), "c1,name\n2.5,J\u{fc}rgen\n");
    assert_eq!(
        answer(&folder, "SELECT count(*) AS n FROM read_csv('b.txt', delim = '|', encoding = 'cp1252')"),
        "n\n1\n"
    );
    folder.write("t.ndjson", "{\"a\":1}\n");
    assert_eq!(answer(&folder, "SELECT a + 1 AS b FROM json('t.ndjson', schema => 'a:int64')"), "b\n2\n");
    folder.ok(&["convert", "t.ndjson", "t.parquet"]);
    assert_eq!(answer(&folder, "FROM parquet('t.parquet')"), "a\n1\n");
    assert_eq!(answer(&folder, "COPY (FROM read_parquet('t.parquet')) TO 'u.csv'; FROM 'u.csv'"), "count\n1\na\n1\n");
}

#[test]
fn what_is_no_option_is_named() {
    let folder = Folder::with_trades();
    let fails = |query: &str| {
        let said = folder.run(&["sql", query, "--json"]);
        assert_ne!(said.code, 0, "{query}: {said:?}");
        error(&said)
    };
    assert_eq!(fails("FROM csv('trades.csv', colour => 'red')")["code"], "no_such_option");
    assert_eq!(fails("FROM csv('trades.csv', memory => '1G')")["code"], "no_such_option");
    assert_eq!(fails("FROM csv('trades.csv', delimiter => '::')")["code"], "bad_option");
    assert_eq!(fails("FROM csv('trades.csv', pad_short_rows => 3)")["code"], "bad_option");
    assert_eq!(fails("FROM csv('trades.csv', ';')")["code"], "bad_option");
    assert_eq!(fails("FROM csv()")["code"], "bad_table");
    assert_eq!(fails("FROM lance('trades.csv')")["class"], "corrupt");
    assert_eq!(fails("FROM csv('missing.csv')")["code"], "not_found");
}

#[test]
fn rows_know_their_files_on_request() {
    let folder = Folder::new();
    std::fs::create_dir_all(folder.path("data/year=2023")).unwrap();
    std::fs::create_dir_all(folder.path("data/year=2024")).unwrap();
    folder.write("data/year=2023/a.csv", "n\n1\n2\n");
    folder.write("data/year=2024/b.csv", "n\n3\n");
    let query =
        "SELECT filename, year, sum(n) AS s FROM csv('data/*/*.csv', filename => true) GROUP BY ALL ORDER BY ALL";
    let both = "filename,year,s\ndata/year=2023/a.csv,2023,3\ndata/year=2024/b.csv,2024,3\n";
    assert_eq!(answer(&folder, query), both);
    assert_eq!(answer(&folder, "SELECT n FROM csv('data', filename = true) WHERE filename LIKE '%b.csv'"), "n\n3\n");
    let said = folder.json(&["sql", "SELECT n FROM csv('data', filename => true) WHERE year = '2024'", "--json"]);
    assert_eq!(said["rows"], serde_json::json!([[3]]), "{said}");
    assert_eq!(answer(&folder, "FROM csv('data/year=2024/b.csv', filename => false)"), "n\n3\n");
    folder.write("c.csv", "filename\nx\n");
    let said = folder.run(&["sql", "FROM csv('c.csv', filename => true)", "--json"]);
    assert_eq!(error(&said)["code"], "duplicate_column");
    let said = folder.run(&["sql", "FROM csv('c.csv', filename => 3)", "--json"]);
    assert_eq!(error(&said)["code"], "bad_option");
}

#[test]
fn files_are_listed_anew_for_each_query() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("data")).unwrap();
    folder.write("data/a.csv", "n\n1\n");
    let twice = "SELECT count(*) AS c FROM t; COPY (SELECT 2 AS n) TO 'data/b.csv'; SELECT count(*) AS c FROM t;";
    let said = folder.ok(&["sql", twice, "--table", "t=data"]);
    assert_eq!(said.out, "c\n1\ncount\n1\nc\n2\n");
}
