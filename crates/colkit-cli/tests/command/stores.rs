//! Files in object stores, served on loopback by real servers that log what is asked of them.

use super::run::{Folder, Said, TRADES};
use colkit_test_servers::{Asked, Server};

/// Numbers in order, and something about each.
fn sorted(rows: u64) -> String {
    let mut csv = String::from("id,name,half\n");
    for i in 0..rows {
        csv.push_str(&format!("{i},name {},{}.5\n", i * 7919 % 10007, i / 2));
    }
    csv
}

/// Requests for bytes, and how many came.
fn reads(log: &[Asked]) -> (u64, u64) {
    let ranges: Vec<&Asked> = log.iter().filter(|a| a.method == "GET" && !a.path.contains("list-type")).collect();
    assert!(ranges.iter().all(|a| a.range.is_some() && a.status == 206), "only ranges are asked for: {log:#?}");
    (ranges.len() as u64, ranges.iter().map(|a| a.bytes).sum())
}

fn count(log: &[Asked], method: &str) -> u64 {
    log.iter().filter(|a| a.method == method).count() as u64
}

/// The numbers of the line that begins like this.
fn numbers(said: &Said, start: &str) -> Vec<u64> {
    let line = said.err.lines().find(|l| l.starts_with(start)).unwrap_or_else(|| panic!("no {start}: {}", said.err));
    let words = line.strip_prefix(start).unwrap().split_whitespace();
    words.filter_map(|w| w.replace([',', '(', ')'], "").parse().ok()).collect()
}

#[test]
fn a_selective_query_asks_the_servers_for_what_it_says() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("bucket")).unwrap();
    folder.write("t.csv", sorted(300_000));
    assert_eq!(folder.run(&["convert", "t.csv", "bucket/t.lance"]).code, 0);
    let size = std::fs::metadata(folder.path("bucket/t.lance")).unwrap().len();
    let s3 = Server::s3(&folder.path("")).unwrap();
    let http = Server::http(&folder.path("")).unwrap();
    for (server, host, file, environment) in [
        (&s3, "s3://bucket".to_owned(), "t.lance", s3.s3_environment()),
        (&http, http.url(), "bucket/t.lance", Vec::new()),
    ] {
        let query = format!("SELECT count(*) n, sum(half) s FROM '{host}/{file}' WHERE id BETWEEN 150000 AND 150099");
        let said = folder.run_in(&environment, &["sql", &query, "--explain", "--json"], b"");
        assert_eq!(said.code, 0, "{}", said.err);
        let answer = said.json();
        assert_eq!(answer["rows"][0][0], 100);
        let log = server.take_log();
        let (requests, bytes) = reads(&log);
        assert_eq!(
            numbers(&said, &format!("{host}: ")),
            [requests, bytes, count(&log, "HEAD"), log.len() as u64 - requests - count(&log, "HEAD")],
            "what we say is what the server logged: {log:#?}\n{}",
            said.err
        );
        let table = &answer["tables"][0];
        assert_eq!(table["bytes_planned"], table["bytes_read"]);
        assert_eq!(table["requests_planned"], table["requests"]);
        assert!(table["rows_pruned"].as_u64().unwrap() > 280_000, "{table}");
        assert!(bytes < size / 4, "{bytes} of {size} bytes");
    }
}

#[test]
fn every_command_takes_urls() {
    let folder = Folder::with_trades();
    std::fs::create_dir(folder.path("bucket")).unwrap();
    let server = Server::s3(&folder.path("")).unwrap();
    let environment = server.s3_environment();
    let run = |arguments: &[&str]| {
        let said = folder.run_in(&environment, arguments, b"");
        assert_eq!(said.code, 0, "{arguments:?}: {}", said.err);
        said
    };
    run(&["convert", "trades.csv", "s3://bucket/a/trades.lance"]);
    run(&["convert", "s3://bucket/a/trades.lance", "s3://bucket/trades.csv"]);
    assert_eq!(folder.read("bucket/trades.csv"), TRADES.as_bytes());
    server.take_log();
    let said = run(&["cat", "s3://bucket/a/trades.lance", "--json", "--columns", "price"]);
    let answer = said.json();
    let (requests, bytes) = reads(&server.take_log());
    assert_eq!(answer["requests"], requests);
    assert_eq!(answer["bytes_read"], bytes);
    assert_eq!(answer["rows"][3][0], 44001.0);
    run(&["verify", "s3://bucket/a/trades.lance"]);
    run(&["inspect", "s3://bucket/a/trades.lance"]);
    run(&["schema", "s3://bucket/a/trades.lance"]);
    run(&["take", "s3://bucket/a/trades.lance", "--rows", "2,0"]);
    run(&["diff", "s3://bucket/a/trades.lance", "trades.csv"]);
    run(&["pack", "s3://bucket/trades.csv", "s3://bucket/trades.at1"]);
    let said = run(&["unpack", "s3://bucket/trades.at1", "-"]);
    assert_eq!(said.out, TRADES);
    let said = run(&["sql", "SELECT count(*) FROM 's3://bucket/*.csv'"]);
    assert_eq!(said.out, "count(*)\n4\n");
    let file = format!("file://{}", folder.path("trades.csv").display());
    assert_eq!(run(&["cat", &file, "--as", "csv"]).out, TRADES);
}

#[test]
fn patterns_and_folders_of_objects_are_tables() {
    let folder = Folder::new();
    for (place, rows) in [("bucket/data/year=2023/a b.csv", "n\n1\n2\n"), ("bucket/data/year=2024/b.csv", "n\n3\n")] {
        std::fs::create_dir_all(folder.path(place).parent().unwrap()).unwrap();
        folder.write(place, rows);
    }
    folder.write("bucket/data/year=2024/_SUCCESS", "x");
    folder.write("bucket/other.txt", "n\n9\n");
    let server = Server::s3(&folder.path("")).unwrap();
    let environment = server.s3_environment();
    let run = |arguments: &[&str]| {
        let said = folder.run_in(&environment, arguments, b"");
        assert_eq!(said.code, 0, "{arguments:?}: {}", said.err);
        said.out
    };
    for place in ["s3://bucket/data/", "s3://bucket/data/*/*.csv", "s3://bucket/data/**/*.csv", "s3://bucket/d*/*/*"] {
        assert_eq!(run(&["cat", place, "--as", "csv"]), "n,year\n1,2023\n2,2023\n3,2024\n", "{place}");
        assert_eq!(run(&["count", place]).trim(), "3", "{place}");
        let query = format!("SELECT year, sum(n) AS s FROM '{place}' GROUP BY year ORDER BY year");
        assert_eq!(run(&["sql", &query, "--as", "csv"]), "year,s\n2023,3\n2024,3\n", "{place}");
    }
    let named = "SELECT DISTINCT filename FROM csv('s3://bucket/data/*/b.csv', filename => true)";
    assert_eq!(run(&["sql", named, "--as", "csv"]), "filename\ns3://bucket/data/year=2024/b.csv\n");
    let said = folder.run_in(&environment, &["sql", "FROM 's3://bucket/data/*.parquet'", "--json"], b"");
    assert_eq!(super::run::error(&said)["code"], "not_found");
}

#[test]
fn a_large_object_goes_up_in_parts_and_a_failed_one_not_at_all() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("bucket")).unwrap();
    folder.write("t.csv", sorted(800_000));
    let server = Server::s3(&folder.path("")).unwrap();
    let environment = server.s3_environment();
    let said = folder.run_in(&environment, &["convert", "t.csv", "s3://bucket/t.csv"], b"");
    assert_eq!(said.code, 0, "{}", said.err);
    let log = server.take_log();
    let parts = log.iter().filter(|a| a.method == "PUT" && a.path.contains("partNumber")).count();
    assert!(parts >= 2, "{log:#?}");
    assert_eq!(folder.read("bucket/t.csv"), folder.read("t.csv"));

    folder.write("bad.csv", format!("{}1,2\n", sorted(800_000)));
    let said = folder.run_in(&environment, &["convert", "bad.csv", "s3://bucket/bad.cff"], b"");
    assert_eq!(said.code, 1, "{}", said.err);
    assert!(!folder.path("bucket/bad.cff").exists());
}

#[test]
fn what_is_missing_is_named() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("bucket")).unwrap();
    let server = Server::s3(&folder.path("")).unwrap();
    let said = folder.run_in(&server.s3_environment(), &["cat", "s3://bucket/none.lance"], b"");
    assert_eq!(said.code, 1);
    assert!(said.err.contains("s3://bucket/none.lance") && said.err.contains("not_found"), "{}", said.err);
    folder.write("t.csv", "a\n1\n");
    let said = folder.run_in(&server.s3_environment(), &["convert", "t.csv", "s3://no-bucket/t.lance"], b"");
    assert_eq!(said.code, 1, "{}", said.err);
    assert!(said.err.contains("s3://no-bucket/t.lance"), "{}", said.err);
    let query = "SELECT * FROM 's3://bucket/none.lance'";
    let said = folder.run_in(&server.s3_environment(), &["sql", query], b"");
    assert_eq!(said.code, 1);
    assert!(said.err.contains("s3://bucket/none.lance") && said.err.contains("not_found"), "{}", said.err);
}
