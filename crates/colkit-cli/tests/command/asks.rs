//! `inspect`, `schema` and `formats`.

use super::run::Folder;
use serde_json::{Value, json};

#[test]
fn inspect_accounts_for_every_byte() {
    let folder = Folder::with_trades();
    for (format, extension) in folder.formats() {
        let file = format!("t-{format}.{extension}");
        folder.ok(&["convert", "trades.csv", &file]);
        let size = folder.read(&file).len() as u64;
        let report = folder.json(&["inspect", "--json", "--layout", &file]);
        assert_eq!(report["format"], format);
        assert_eq!((&report["rows"], &report["bytes"]), (&json!(4), &json!(size)));
        let stored = |c: &Value| c["stored_bytes"].as_u64().unwrap();
        let columns: u64 = report["columns"].as_array().unwrap().iter().map(stored).sum();
        assert_eq!(columns + report["other_bytes"].as_u64().unwrap(), size, "{format}");
        let mut at = 0;
        for region in report["layout"]["regions"].as_array().unwrap() {
            assert_eq!(region["range"]["start"], at, "{format}: {region}");
            at = region["range"]["end"].as_u64().unwrap();
        }
        assert_eq!(at, size, "{format}");
        let said = folder.ok(&["inspect", "--layout", &file]);
        let plain = said.out.replace(',', "");
        assert!(plain.contains(&format!("all {size} bytes accounted for no overlaps")), "{said:?}");
        assert!(folder.json(&["inspect", "--json", &file]).get("layout").is_none());
    }
}

#[test]
fn several_files_one_line_each_and_bad_ones_do_not_hide_good_ones() {
    let folder = Folder::with_trades();
    folder.write("empty", "");
    let said = folder.run(&["inspect", "--json", "trades.csv", "empty", "trades.csv"]);
    assert_eq!(said.code, 1);
    assert_eq!(said.out.lines().filter(|l| serde_json::from_str::<Value>(l).is_ok()).count(), 2);
    assert!(said.err.contains("unknown_format"));
}

#[test]
fn schema_names_types() {
    let folder = Folder::with_trades();
    let said = folder.ok(&["schema", "trades.csv"]);
    assert!(said.out.starts_with("\"sym\"       string\n\"price\"     float64\n\"quantity\"  int32\n"), "{said:?}");
    let schema = folder.json(&["schema", "--json", "trades.csv"]);
    assert_eq!(schema["columns"][2], json!({"name": "quantity", "type": "int32", "nullable": false}));
}
