//! Text as it comes: arrays of JSON, logs, other quotes, and streams without an end.

use super::run::{Folder, error};
use std::time::{Duration, Instant};

#[test]
fn arrays_of_objects_are_tables() {
    let folder = Folder::new();
    folder.write("a.json", "[{\"id\":1,\"t\":{\"x\":[1,2]}},{\"id\":2.5}]");
    folder.write(
        "b.json",
        "\u{FEFF}[\n  {\n    \"id\": 1,\n    \"s\": \"a]},\\\"b\"\n  },\n  {\n    \"id\": 2\n  }\n]\n",
    );
    assert_eq!(
        folder.ok(&["cat", "a.json", "--as", "ndjson"]).out,
        "{\"id\":1.0,\"t\":{\"x\":[1,2]}}\n{\"id\":2.5,\"t\":null}\n"
    );
    assert_eq!(folder.ok(&["cat", "b.json"]).out, "id,s\n1,\"a]},\"\"b\"\n2,\n");
    assert_eq!(folder.ok(&["take", "b.json", "--rows", "1", "--columns", "id"]).out, "id\n2\n");
    assert_eq!(folder.ok(&["sql", "SELECT sum(id) AS s FROM 'b.json'"]).out, "s\n3\n");
    assert_eq!(folder.ok(&["verify", "b.json"]).code, 0);
    folder.write("c.json", "[{\"id\":1},{\"id\":x}]");
    let said = folder.run(&["cat", "--json", "c.json"]);
    assert_eq!((error(&said)["code"].as_str(), error(&said)["offset"].as_u64()), (Some("bad_json"), Some(16)));
    folder.write("d.json", "[{\"id\":1},");
    let said = folder.run(&["cat", "--json", "d.json"]);
    assert_eq!((error(&said)["code"].as_str(), error(&said)["offset"].as_u64()), (Some("bad_json"), Some(10)));
}

#[test]
fn large_arrays_are_read_in_pieces() {
    let folder = Folder::new();
    let rows: Vec<String> =
        (0..200_000).map(|i| format!("  {{\n    \"id\": {i},\n    \"name\": \"n{i}\"\n  }}")).collect();
    folder.write("big.json", format!("[\n{}\n]\n", rows.join(",\n")));
    assert_eq!(folder.ok(&["count", "big.json", "--memory", "64M"]).out, "200000\n");
    assert_eq!(folder.ok(&["tail", "-n", "1", "big.json"]).out, "id,name\n199999,n199999\n");
    assert_eq!(folder.ok(&["count", "big.json", "--where", "id >= 100000"]).out, "100000\n");
}

#[test]
fn a_log_is_a_table_of_lines() {
    let folder = Folder::new();
    let log = "2024-01-01 12:00:00,123 INFO server started on port 80\n2024-01-01 12:00:01,7 WARN low memory, swapping\n\n\
               2024-01-01 12:00:02,9 ERROR a, b, c failed: \"x\"\n";
    folder.write("app.log", log);
    let said = folder.ok(&["cat", "app.log", "--as", "ndjson"]);
    assert_eq!(said.out.lines().count(), 4, "{said:?}");
    assert!(said.out.starts_with("{\"line\":\"2024-01-01 12:00:00,123 INFO"), "{said:?}");
    assert!(said.err.contains("lines, not cells") && said.err.contains("--from csv"), "{said:?}");
    assert_eq!(folder.run(&["cat", "app.log", "--from", "csv"]).code, 1);
    folder.write("prose.txt", "It was a dark and stormy night.\r\nThe rain fell in torrents.\r\n");
    assert_eq!(
        folder.ok(&["cat", "prose.txt"]).out,
        "line\nIt was a dark and stormy night.\nThe rain fell in torrents.\n"
    );
    assert_eq!(
        folder.ok(&["head", "prose.txt", "--from", "csv"]).out,
        "It was a dark and stormy night.\nThe rain fell in torrents.\n"
    );
    folder.write("hosts.txt", "10.0.0.1\n10.0.0.2\n");
    assert_eq!(folder.ok(&["count", "hosts.txt"]).out, "2\n");
    assert_eq!(folder.ok(&["count", "app.log", "--where", "line is not null"]).out, "4\n");
}

#[test]
fn a_column_stays_a_column() {
    let folder = Folder::new();
    for (name, text, header) in [
        ("ids.csv", "id\n1\n2\n", "id"),
        ("uuids.csv", "id\n3f2504e0-4f89\n9b1deb4d-3b7d\n", "id"),
        ("names.csv", "full name\nAlice Smith\nBob Jones\n", "full name"),
        ("notes.csv", "note\nthis is some prose\nand some more of it\n", "note"),
        ("words.csv", "apple\nbanana\n", "apple"),
    ] {
        folder.write(name, text);
        assert_eq!(folder.ok(&["head", name]).out.lines().next(), Some(header), "{name}");
        let lines = folder.ok(&["cat", name, "--from", "lines"]).out;
        assert_eq!(lines, format!("line\n{text}"), "{name}");
    }
    // A table with a broken row is no text.
    folder.write("broken.csv", "a,b,c\n1,2,3\n4,5\n6,7,8\n");
    assert_eq!(error(&folder.run(&["cat", "--json", "broken.csv"]))["code"], "csv_ragged");
}

#[test]
fn quotes_are_found_or_told() {
    let folder = Folder::new();
    folder.write("single.csv", "id,'a name'\n1,'x, y'\n2,'it''s'\n");
    let said = folder.ok(&["cat", "single.csv"]);
    assert_eq!(said.out, "id,a name\n1,\"x, y\"\n2,it's\n");
    assert!(said.err.contains("single quotes"), "{said:?}");
    folder.write("apostrophes.csv", "id,t\n1,'tis\n2,'twas it\n");
    assert_eq!(folder.ok(&["cat", "apostrophes.csv"]).out, "id,t\n1,'tis\n2,'twas it\n");
    folder.write("none.csv", "id,t\n1,\"x\n2,y\"\n");
    assert_eq!(folder.ok(&["cat", "none.csv", "--quote", "none"]).out, "id,t\n1,\"\"\"x\"\n2,\"y\"\"\"\n");
    folder.write("bar.csv", "id,t\n1,|x,y|\n");
    assert_eq!(folder.ok(&["cat", "bar.csv", "--quote", "|"]).out, "id,t\n1,\"x,y\"\n");
    assert_eq!(error(&folder.run(&["cat", "--json", "single.csv", "--quote", "\""]))["code"], "csv_ragged");
    assert_eq!(
        error(&folder.run(&["cat", "bar.csv", "--json", "--quote", ",", "--delimiter", ","]))["code"],
        "bad_quote"
    );
    assert_eq!(folder.run(&["cat", "bar.csv", "--quote", "ab"]).code, 2);
}

#[test]
fn head_of_an_endless_stream_ends() {
    let folder = Folder::new();
    let began = Instant::now();
    let said = folder.shell("yes '1,b' | colkit head -n 2 -");
    assert!(began.elapsed() < Duration::from_secs(20));
    assert_eq!((said.code, said.out.as_str()), (0, "c0,c1\n1,b\n1,b\n"), "{said:?}");
    assert!(said.err.contains("the rest is not read"), "{said:?}");
    let said = folder.shell("yes '{\"a\":1}' | colkit head -n 1 --as ndjson -");
    assert_eq!(said.out, "{\"a\":1}\n", "{said:?}");
    let said = folder.shell("yes 'one more line of text' | colkit head -n 1 -");
    assert_eq!(said.out, "line\none more line of text\n", "{said:?}");
    let said = folder.run_with(&["head", "-n", "1", "-"], b"a,b\n1,2\n3,4\n");
    assert_eq!((said.out.as_str(), said.err.as_str()), ("a,b\n1,2\n", ""));
}
