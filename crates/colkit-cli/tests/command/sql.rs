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
    let said = folder.run(&["sql", query, "--out", "never.lance", "--memory", "1M"]);
    refused(&said, 1, "--memory");
    assert!(!folder.path("never.lance").exists());
}
