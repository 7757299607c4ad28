//! `salvage`: what can be read of a damaged file.

use super::run::Folder;
use serde_json::json;

#[test]
fn a_good_file_is_copied() {
    let folder = Folder::with_trades();
    let said = folder.ok(&["salvage", "trades.csv", "saved.lance"]);
    assert!(said.err.contains("4 rows, 4 columns, nothing is missing"), "{said:?}");
    folder.ok(&["diff", "trades.csv", "saved.lance"]);
    assert_eq!(folder.run(&["salvage", "trades.csv", "saved.lance"]).code, 2, "nothing is overwritten");
}

#[test]
fn a_cut_compressed_file_keeps_its_beginning() {
    let folder = Folder::new();
    let lines: String = (0..300_000u64).map(|n| format!("{n},{}\n", n * 7919 % 1000)).collect();
    folder.write("t.csv", format!("a,b\n{lines}"));
    for extension in ["gz", "zst", "xz", "bz2"] {
        let name = format!("t.csv.{extension}");
        folder.ok(&["convert", "t.csv", &name]);
        let mut bytes = folder.read(&name);
        bytes.truncate(bytes.len() * 3 / 4);
        folder.write(&name, bytes);
        let said = folder.run(&["salvage", &name, "saved.csv", "--json", "--force"]);
        assert_eq!(said.code, 1, "{said:?}");
        let document = said.json();
        assert_eq!(document["complete"], json!(false));
        let rows = document["rows"].as_u64().unwrap();
        let saved = String::from_utf8(folder.read("saved.csv")).unwrap();
        let original = String::from_utf8(folder.read("t.csv")).unwrap();
        assert!(original.starts_with(&saved) && saved.lines().count() as u64 == rows + 1, "{extension}");
    }
}

#[test]
fn lost_columns_are_named() {
    let folder = Folder::with_trades();
    folder.ok(&["convert", "trades.csv", "t.cff"]);
    let mut bytes = folder.read("t.cff");
    bytes.truncate(bytes.len() - 3);
    folder.write("t.cff", bytes);
    let said = folder.run(&["salvage", "t.cff", "saved.csv", "--json"]);
    assert_eq!(said.code, 1, "{said:?}");
    let document = said.json();
    let lost: Vec<&str> =
        document["lost"].as_array().unwrap().iter().filter_map(|l| l["lost"]["column"].as_str()).collect();
    assert_eq!(lost, ["note"], "{document}");
    assert_eq!(folder.ok(&["cat", "saved.csv", "--columns", "sym"]).out, "sym\nBTC\nETH\nÖRE\nBTC\n");
    folder.write("cut.lance", b"nothing");
    assert_eq!(folder.run(&["salvage", "cut.lance", "no.csv"]).code, 1);
    assert!(!folder.names().contains(&"no.csv".to_string()));
}
