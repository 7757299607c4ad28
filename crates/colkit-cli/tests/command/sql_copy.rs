//! `COPY ... TO` files and folders.

use super::run::{Folder, error};

fn answer(folder: &Folder, query: &str) -> String {
    let said = folder.run(&["sql", query]);
    assert_eq!(said.code, 0, "{query}: {}", said.err);
    said.out
}

#[test]
fn every_format_can_be_copied_to() {
    let folder = Folder::with_trades();
    let rows = folder.ok(&["cat", "trades.csv"]).out;
    let names = ["o.lance", "o.parquet", "o.arrow", "o.ndjson", "o.csv", "o.csv.gz", "o.tsv.zst", "o.cff", "o.at1"];
    for name in names {
        assert_eq!(answer(&folder, &format!("COPY 'trades.csv' TO '{name}'")), "count\n4\n", "{name}");
        assert_eq!(folder.ok(&["cat", name]).out, rows, "{name}");
        let said = folder.run(&["sql", &format!("COPY 'trades.csv' TO '{name}'"), "--json"]);
        assert_eq!(error(&said)["code"], "already_exists", "{name}");
        answer(&folder, &format!("COPY (SELECT sym FROM 'trades.csv' LIMIT 1) TO '{name}' (FORCE)"));
        assert_eq!(folder.ok(&["cat", name]).out, "sym\nBTC\n", "{name}");
    }
}

#[test]
fn options_are_those_of_the_command() {
    let folder = Folder::with_trades();
    answer(&folder, "COPY 'trades.csv' TO 'a' (FORMAT lance, PREFER size)");
    assert!(folder.ok(&["inspect", "a"]).out.contains("lance"));
    answer(&folder, "COPY 'trades.csv' TO 'b.parquet' WITH (FORMAT parquet, COMPRESSION 'snappy')");
    answer(&folder, "COPY (SELECT sym, price FROM 'trades.csv' LIMIT 1) TO 'c.csv' (HEADER false, DELIMITER ';')");
    assert_eq!(folder.read("c.csv"), b"BTC;44000.5\n");
    answer(&folder, "COPY 'trades.csv' TO 'd.csv.gz' STORED AS CSV OPTIONS (level 9)");
    let said = folder.run(&["sql", "COPY 'trades.csv' TO 'e.csv' (SPEED 3)", "--json"]);
    assert_eq!(error(&said)["code"], "no_such_option");
    assert!(error(&said)["hint"].as_str().unwrap().contains("compression"), "{said:?}");
    let said = folder.run(&["sql", "COPY 'trades.csv' TO 'e.parquet' (COMPRESSION fast)", "--json"]);
    assert_eq!(error(&said)["code"], "bad_option");
    let said = folder.run(&["sql", "COPY 'trades.csv' TO 'e.parquet' (DELIMITER ';')", "--json"]);
    assert_eq!(error(&said)["code"], "option_of_another_format");
    let said = folder.run(&["sql", "COPY (SELECT DATE '2024-01-01' AS d) TO 'e.cff'"]);
    assert!(said.code == 1 && said.err.contains("--types"), "{said:?}");
    answer(&folder, "COPY (SELECT DATE '2024-01-01' AS d) TO 'e.cff' (TYPES lossy)");
    let said = folder.run(&["sql", "COPY 'trades.csv' TO 'trades.csv' (FORCE)", "--json"]);
    assert_eq!(error(&said)["code"], "output_is_input");
}

#[test]
fn folders_are_named_by_values() {
    let folder = Folder::new();
    let rows: String = (0..3000).map(|i| format!("{},{},{}\n", 2020 + i % 3, ["a/b", "c", ""][i / 1000], i)).collect();
    folder.write("t.csv", format!("year,kind,n\n{rows}"));
    for clause in [
        "(FORMAT parquet, PARTITION_BY (year, kind))",
        "STORED AS parquet PARTITIONED BY (year, kind) OPTIONS (force true)",
    ] {
        let query =
            format!("COPY (SELECT year, nullif(kind, '') AS kind, n FROM 't.csv' ORDER BY n DESC) TO 'out' {clause}");
        assert_eq!(answer(&folder, &query), "count\n3000\n");
        assert!(folder.path("out/year=2021/kind=c/part-00000.parquet").exists());
        assert!(folder.path("out/year=2020/kind=a%2Fb/part-00000.parquet").exists());
        assert!(folder.path("out/year=2020/kind=__HIVE_DEFAULT_PARTITION__/part-00000.parquet").exists());
    }
    let sums = "SELECT year, count(*) AS c, sum(n) AS s FROM 'out' WHERE kind = 'c' GROUP BY year ORDER BY year";
    assert_eq!(answer(&folder, sums), "year,c,s\n2020,333,499500\n2021,334,500833\n2022,333,499167\n");
    let kinds = "SELECT kind, count(*) AS c FROM 'out' GROUP BY kind ORDER BY kind NULLS FIRST";
    assert_eq!(answer(&folder, kinds), "kind,c\n,1000\na/b,1000\nc,1000\n");
    for (condition, rows) in
        [("kind IS NULL", 1000), ("kind IS NOT NULL", 2000), ("kind <> 'c'", 1000), ("coalesce(kind, 'x') = 'x'", 1000)]
    {
        let query = format!("SELECT count(*) AS c FROM 'out' WHERE {condition}");
        assert_eq!(answer(&folder, &query), format!("c\n{rows}\n"), "{condition}");
    }
    let nulls = folder.ok(&["count", "out", "--where", "kind is null"]).out;
    assert_eq!(nulls.trim(), "1000", "as in the other verbs");
    let first = folder.ok(&["head", "-n", "1", "out/year=2021/kind=c/part-00000.parquet"]).out;
    assert_eq!(first, "n\n1999\n");
    let again = "COPY 't.csv' TO 'out' (PARTITION_BY year)";
    let said = folder.run(&["sql", again, "--json"]);
    assert_eq!(error(&said)["code"], "already_exists");
    let said = folder.run(&["sql", "COPY (SELECT * FROM 'out') TO 'out' (PARTITION_BY year, FORCE)", "--json"]);
    assert_eq!(error(&said)["code"], "output_is_input");
    let said = folder.run(&["sql", "COPY 't.csv' TO 'o2' (PARTITION_BY nothing)"]);
    assert!(said.code == 2 && said.err.contains("nothing"), "{said:?}");
    assert_eq!(folder.names(), ["out", "t.csv"], "nothing else is left");
}
