//! Questions in SQL.

use super::run::{Folder, Said};

fn answer(folder: &Folder, query: &str) -> String {
    let said = folder.run(&["sql", query, "--as", "csv"]);
    assert_eq!(said.code, 0, "{query}: {}", said.err);
    said.out
}

fn refused(said: &Said, code: i32, word: &str) {
    assert_eq!(said.code, code, "{}", said.err);
    assert!(said.err.contains(word), "expected {word}: {}", said.err);
}

#[test]
fn files_of_every_format_are_tables() {
    let folder = Folder::with_trades();
    let formats = ["gppcol", "cff", "colfile", "at1", "lance", "parquet", "arrow", "arrows", "ndjson", "tsv"];
    for format in formats {
        let said = folder.run(&["convert", "trades.csv", &format!("t.{format}"), "--types", "exact"]);
        assert_eq!(said.code, 0, "{}", said.err);
        // What it is called does not matter.
        std::fs::rename(folder.path(&format!("t.{format}")), folder.path(&format!("of-{format}.x"))).unwrap();
    }
    for format in formats.iter().filter(|f| **f != "tsv") {
        let query =
            format!("SELECT sym, sum(quantity) q FROM 'of-{format}.x' WHERE price > 0 GROUP BY sym ORDER BY sym");
        assert_eq!(answer(&folder, &query), "sym,q\nBTC,4\nETH,10\n", "{format}");
    }
    let both = "SELECT count(*) n FROM 'of-lance.x' a JOIN 'of-at1.x' b ON a.price = b.price WHERE a.quantity < 10";
    assert_eq!(answer(&folder, both), "n\n3\n");
}

#[test]
fn patterns_folders_and_names_are_tables() {
    let folder = Folder::new();
    for year in [2023, 2024] {
        std::fs::create_dir_all(folder.path(&format!("all/year={year}"))).unwrap();
        folder.write(&format!("all/year={year}/a.csv"), format!("id,x\n1,{year}\n"));
        folder.write(&format!("all/year={year}/b.csv"), "id,x\n2,0.5\n");
        folder.write(&format!("all/year={year}/_note.txt"), "not a table");
    }
    assert_eq!(answer(&folder, "SELECT sum(x) s FROM 'all/year=2024/*.csv'"), "s\n2024.5\n");
    assert_eq!(
        answer(&folder, "SELECT year, sum(x) s FROM 'all' GROUP BY year ORDER BY year"),
        "year,s\n2023,2023.5\n2024,2024.5\n"
    );
    assert_eq!(answer(&folder, "SELECT count(*) n FROM 'all/' WHERE year = '2024' AND id = 1"), "n\n1\n");
    let said = folder.run(&["sql", "--table", "t=all/year=2023", "SELECT max(x) m FROM t"]);
    assert_eq!(said.out, "m\n2023.0\n", "{}", said.err);
    let external = "CREATE EXTERNAL TABLE t STORED AS LANCE LOCATION 't.lance'; SELECT * FROM t";
    folder.write("t.csv", "id\n7\n");
    folder.run(&["convert", "t.csv", "t.lance"]);
    assert_eq!(answer(&folder, external), "id\n7\n");
}

#[test]
fn standard_input_scripts_and_outputs() {
    let folder = Folder::with_trades();
    let trades = folder.read("trades.csv");
    assert_eq!(folder.run_with(&["sql", "SELECT max(price) m FROM '-'"], &trades).out, "m\n44001.0\n");
    assert_eq!(folder.run_with(&["sql", "--table", "t=-", "SELECT count(*) n FROM t"], &trades).out, "n\n4\n");
    assert_eq!(folder.run_with(&["sql"], b"SELECT 1 AS one; SELECT 2 AS two").out, "one\n1\ntwo\n2\n");
    folder.write("s.sql", "-- a comment; with a semicolon\nSELECT sym FROM 'trades.csv' WHERE quantity = 10;\n");
    assert_eq!(folder.run(&["sql", "-f", "s.sql", "--as", "ndjson"]).out, "{\"sym\":\"ETH\"}\n");
    for out in ["o.lance", "o.parquet", "o.at1", "o.arrow", "o.ndjson"] {
        let query = "SELECT upper(note) AS note, price * 2 AS twice FROM 'trades.csv'";
        let said = folder.run(&["sql", query, "--out", out]);
        assert_eq!(said.code, 0, "{}", said.err);
        assert_eq!(answer(&folder, &format!("SELECT sum(twice) s FROM '{out}'")), "s\n181002.5\n", "{out}");
    }
    let said = folder.run(&["sql", "SELECT sym FROM 'trades.csv' LIMIT 1", "--json"]);
    assert_eq!(said.json()["rows"][0][0], "BTC");
}

#[test]
fn what_files_know_is_not_read() {
    let folder = Folder::new();
    let rows: String = (0..100_000).map(|i| format!("{i},{}\n", i % 7)).collect();
    folder.write("t.csv", format!("id,x\n{rows}"));
    assert_eq!(folder.run(&["convert", "t.csv", "t.lance"]).code, 0);
    let said = folder.run(&["sql", "SELECT count(*) n, min(id) a, max(id) b FROM 't.lance'", "--explain"]);
    assert_eq!(said.out, "n,a,b\n100000,0,99999\n");
    assert!(said.err.contains("read: nothing"), "{}", said.err);
    let said = folder.run(&["sql", "SELECT x FROM 't.lance' WHERE id = 77777", "--json"]);
    let table = &said.json()["tables"][0];
    assert_eq!(table["rows_pruned"], 100_000 - 8192);
    assert_eq!(table["bytes_planned"], table["bytes_read"]);
    assert_eq!(table["rows_out"], 1);
}

#[test]
fn mistakes_are_named() {
    let folder = Folder::with_trades();
    refused(&folder.run(&["sql", "SELEC 1"]), 2, "SELEC");
    refused(&folder.run(&["sql", "SELECT nope FROM 'trades.csv'"]), 2, "nope");
    refused(&folder.run(&["sql", "SELECT * FROM 'none.lance'"]), 1, "none.lance");
    refused(&folder.run(&["sql", "SELECT * FROM none"]), 2, "none");
    refused(&folder.run(&["sql", "--table", "x", "SELECT 1"]), 2, "NAME=PATH");
    folder.write("bad.lance", [b"rubbish".as_slice(), &[0; 64], b"LANC"].concat());
    refused(&folder.run(&["sql", "SELECT * FROM 'bad.lance'"]), 1, "bad.lance");
    refused(&folder.run(&["sql", "SELECT price FROM 'trades.csv'", "--out", "x.nope", "--as", "csv"]), 0, "");
    let said = folder.run(&["sql", "SELECT CAST('2024-01-01' AS DATE) d", "--out", "x.cff"]);
    refused(&said, 1, "--types");
    assert!(!folder.path("x.cff").exists());
}

#[test]
fn what_does_not_fit_is_spilled() {
    let folder = Folder::new();
    let rows: String = (0..300_000u64).map(|i| format!("{},text of row number {i}\n", i * 7919 % 300_007)).collect();
    folder.write("t.csv", format!("key,text\n{rows}"));
    std::fs::create_dir(folder.path("spill")).unwrap();
    let query = "SELECT key, text FROM 't.csv' ORDER BY text DESC, key";
    let sorted = ["sql", query, "--out", "sorted.lance", "--memory", "64M", "--spill-dir", "spill"];
    let said = folder.run(&sorted);
    assert_eq!(said.code, 0, "{}", said.err);
    let check = "SELECT count(*) n, count(DISTINCT key) d FROM 'sorted.lance'";
    assert_eq!(answer(&folder, check), "n,d\n300000,300000\n");
    let first = folder.ok(&["take", "sorted.lance", "--rows", "0", "--columns", "text"]);
    assert_eq!(first.out, "text\ntext of row number 99999\n");
    let all = "SELECT array_agg(text) FROM 't.csv'";
    let said = folder.run(&["sql", all, "--out", "never.lance", "--memory", "8M"]);
    refused(&said, 1, "--memory");
    assert!(!folder.path("never.lance").exists());
}

#[test]
fn only_a_table_is_standard_input() {
    let folder = Folder::with_trades();
    // What is on standard input stays there for the rest of a script.
    let query = "SELECT split_part(sym || '-x', '-', 1) AS s FROM 'trades.csv' WHERE sym <> '-' LIMIT 1";
    let said = folder.shell(&format!("printf 'a\nb\n' | {{ colkit sql \"{query}\"; cat; }}"));
    assert_eq!((said.code, said.out.as_str()), (0, "s\nBTC\na\nb\n"), "{said:?}");
    for query in ["SELECT x FROM '-'", "WITH t AS (SELECT * FROM '-') SELECT x FROM t", "FROM '-'"] {
        assert_eq!(folder.run_with(&["sql", query], b"x\n7\n").out, "x\n7\n", "{query}");
    }
}

#[test]
fn what_would_be_ignored_is_refused() {
    let folder = Folder::with_trades();
    for (clause, word) in [
        ("FROM 'trades.csv' TABLESAMPLE BERNOULLI (10) REPEATABLE (3)", "seed"),
        ("FROM 'trades.csv' GROUP BY sym WITH ROLLUP", "ROLLUP"),
        ("FROM 'trades.csv' FOR UPDATE", "FOR UPDATE"),
        ("FROM 'trades.csv' PREWHERE price > 0", "PREWHERE"),
        ("FROM 'trades.csv' ORDER BY n WITH FILL", "WITH FILL"),
        ("FROM range(3) WITH ORDINALITY", "ORDINALITY"),
    ] {
        refused(&folder.run(&["sql", &format!("SELECT count(*) AS n {clause}")]), 1, word);
        refused(&folder.run(&["sql", &format!("EXPLAIN SELECT count(*) AS n {clause}")]), 1, word);
    }
}

#[test]
fn without_select_all_columns_are_meant() {
    let folder = Folder::with_trades();
    assert_eq!(answer(&folder, "FROM 'trades.csv' LIMIT 1"), "sym,price,quantity,note\nBTC,44000.5,3,\"a, b\"\n");
    assert_eq!(answer(&folder, "SELECT count(*) AS n FROM (FROM 'trades.csv') WHERE price > 0"), "n\n3\n");
    assert_eq!(answer(&folder, "FROM 'trades.csv' SELECT sym LIMIT 1"), "sym\nBTC\n");
}

#[test]
fn a_file_without_rows_is_no_table() {
    let folder = Folder::with_trades();
    std::fs::create_dir(folder.path("all")).unwrap();
    folder.write("all/a.csv", "x\n1\n");
    folder.write("all/b.txt", "y");
    folder.ok(&["pack", "all", "all.at1"]);
    for query in ["SELECT count(*) FROM 'all.at1'", "SELECT * FROM 'all.at1'", "SELECT 1 FROM 'all.at1'"] {
        refused(&folder.run(&["sql", query]), 1, "has no rows");
    }
}

#[test]
fn a_column_that_a_file_does_not_have_is_null() {
    let folder = Folder::new();
    folder.write("a.csv", "id,x\n1,10\n2,20\n");
    folder.write("b.csv", "id,y\n3,new\n");
    for format in ["cff", "gppcol", "colfile", "lance", "parquet", "arrow", "csv"] {
        let part = |name: &str| format!("{format}/{name}.{format}");
        std::fs::create_dir(folder.path(format)).unwrap();
        folder.ok(&["convert", "a.csv", &part("a")]);
        folder.ok(&["convert", "b.csv", &part("b")]);
        let query =
            |what: &str| answer(&folder, &format!("SELECT {what}").replace("FROM t", &format!("FROM '{format}'")));
        assert_eq!(query("* FROM t ORDER BY id"), "id,x,y\n1,10,\n2,20,\n3,,new\n", "{format}");
        assert_eq!(query("id FROM t WHERE x IS NULL"), "id\n3\n", "{format}");
        assert_eq!(query("id FROM t WHERE y IS NULL ORDER BY id"), "id\n1\n2\n", "{format}");
        assert_eq!(query("count(*) AS n FROM t WHERE x IS NOT NULL"), "n\n2\n", "{format}");
        assert_eq!(
            query("count(x) AS n, count(y) AS m, min(x) AS x, max(y) AS y FROM t"),
            "n,m,x,y\n2,1,10,new\n",
            "{format}"
        );
    }
}

#[test]
fn a_file_is_what_its_name_promises_if_nobody_knows_its_content() {
    let folder = Folder::new();
    folder.write("nul.csv", b"id,text\n1,a\0b\n2,c\n");
    let said = folder.ok(&["cat", "nul.csv"]);
    assert_eq!(answer(&folder, "SELECT * FROM 'nul.csv'"), said.out);
    assert_eq!(answer(&folder, "SELECT count(*) AS n FROM 'nul.csv'"), "n\n2\n");
}

#[cfg(unix)]
#[test]
fn variables_that_are_not_utf8_are_nobodys_business() {
    let folder = Folder::with_trades();
    let said = folder.shell("env ODD=$'\\xff\\xfe' $'N\\xff=1' colkit sql \"SELECT count(*) AS n FROM 'trades.csv'\"");
    assert_eq!((said.code, said.out.as_str()), (0, "n\n4\n"), "{said:?}");
    let said = folder.shell("export ODD=$'\\xff'; colkit cat file://$PWD/trades.csv --columns sym");
    assert_eq!((said.code, said.out.lines().count()), (0, 5), "{said:?}");
    let said = folder.shell("export AWS_REGION=$'\\xff'; colkit cat http://127.0.0.1:9/x.csv");
    assert_eq!(said.code, 1, "{said:?}");
    assert!(!said.err.contains("panicked"), "{said:?}");
}
