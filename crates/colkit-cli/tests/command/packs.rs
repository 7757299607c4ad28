//! `pack` and `unpack`: whatever goes in comes out, whole or not at all.

use super::run::{Folder, TRADES, error};
use serde_json::Value;

/// A table long enough to be worth packing.
fn table() -> String {
    let row = |i: u32| format!("{i},{}.{:02},{}\n", i % 90, i % 100, ["BTC", "ETH"][i as usize % 2]);
    "id,price,sym\n".to_string() + &(0..2000).map(row).collect::<String>()
}

#[test]
fn there_and_back() {
    let folder = Folder::new();
    folder.write("t.csv", table());
    let said = folder.ok(&["pack", "t.csv"]);
    assert!(said.err.contains("t.csv.at1: qcolumnar"), "{said:?}");
    assert!(folder.read("t.csv.at1").len() * 3 < table().len());
    for options in [
        &["--smallest"][..],
        &["--fast"],
        &["--best"],
        &["--stream"],
        &["--codec", "log"],
        &["--codec", "raw"],
        &["--threads", "1"],
    ] {
        let mut arguments = vec!["pack", "--force", "t.csv", "out.at1"];
        arguments.extend(options);
        folder.ok(&arguments);
        let said = folder.ok(&["unpack", "out.at1", "-"]);
        assert_eq!(said.out, table(), "{options:?}");
        folder.ok(&["verify", "out.at1"]);
    }
    let said = folder.ok(&["unpack", "out.at1"]);
    assert!(said.err.contains("out: ") && said.err.contains("SHA-256"), "{said:?}");
    assert_eq!(folder.read("out"), table().as_bytes());
    assert_eq!(folder.names(), ["out", "out.at1", "t.csv", "t.csv.at1"], "nothing else is left");
}

#[test]
fn a_packed_table_is_still_a_table() {
    let folder = Folder::new();
    folder.write("t.csv", table());
    folder.ok(&["pack", "t.csv", "t.at1"]);
    folder.ok(&["diff", "t.csv", "t.at1"]);
    let said = folder.ok(&["cat", "t.at1", "--where", "id >= 1998"]);
    assert_eq!(said.out, "id,price,sym\n1998,18.98,BTC\n1999,19.99,ETH\n");
    folder.ok(&["cat", "t.at1", "--where", "id >= 1998", "--out", "hot.at1"]);
    assert_eq!(folder.ok(&["unpack", "hot.at1", "-"]).out, said.out);
    folder.ok(&["convert", "t.at1", "warm.at1", "--where", "id >= 1998"]);
    assert_eq!(folder.read("warm.at1"), folder.read("hot.at1"));
}

#[test]
fn standard_input_and_output() {
    let folder = Folder::new();
    let said = folder.run_with(&["pack", "-"], TRADES.as_bytes());
    assert_eq!(said.code, 0, "{said:?}");
    let back = folder.run_with(&["unpack", "-"], &said.raw);
    assert_eq!((back.code, back.out.as_str()), (0, TRADES));
    let again = folder.run_with(&["pack", "-", "-", "--json"], TRADES.as_bytes());
    assert_eq!(again.raw, said.raw, "the same bytes every time");
    let summary: Value = serde_json::from_str(&again.err).unwrap();
    assert_eq!(summary["input_bytes"], TRADES.len());
    assert!(folder.names().is_empty());
}

#[test]
fn several_files_make_a_bundle() {
    let folder = Folder::new();
    std::fs::create_dir_all(folder.path("in/deep")).unwrap();
    folder.write("in/t.csv", table());
    folder.write("in/deep/empty", "");
    folder.write("in/deep/é.txt", "hello\n");
    let summary = folder.json(&["pack", "--json", "in", "all.at1"]);
    assert_eq!(summary["codec"], "bundle");
    assert_eq!(summary["files"].as_array().unwrap().len(), 3);
    folder.ok(&["unpack", "all.at1", "out"]);
    assert_eq!(folder.read("out/t.csv"), table().as_bytes());
    assert_eq!(folder.read("out/deep/é.txt"), b"hello\n");
    assert_eq!(folder.read("out/deep/empty"), b"");
    assert_eq!(folder.names(), ["all.at1", "in", "out"]);
    folder.ok(&["pack", "in/t.csv", "in/deep", "two.at1"]);
    folder.ok(&["unpack", "two.at1"]);
    assert_eq!(folder.read("two/t.csv"), table().as_bytes());
    assert_eq!(folder.read("two/deep/é.txt"), b"hello\n");
    let said = folder.run(&["unpack", "all.at1", "-", "--json"]);
    assert_eq!((said.code, &error(&said)["code"]), (2, &Value::from("is_a_bundle")));
}

#[test]
fn nothing_is_overwritten_unasked() {
    let folder = Folder::new();
    folder.write("t.csv", table());
    folder.write("t.csv.at1", "precious");
    for arguments in [&["pack", "t.csv", "--json"][..], &["pack", "t.csv", "t.csv.at1", "--json"]] {
        let said = folder.run(arguments);
        assert_eq!((said.code, &error(&said)["code"]), (2, &Value::from("already_exists")));
    }
    assert_eq!(folder.read("t.csv.at1"), b"precious");
    folder.ok(&["pack", "--force", "t.csv"]);
    let said = folder.run(&["unpack", "t.csv.at1", "--json"]);
    assert_eq!((said.code, &error(&said)["code"]), (2, &Value::from("already_exists")));
    folder.ok(&["unpack", "--force", "t.csv.at1"]);
    assert_eq!(folder.read("t.csv"), table().as_bytes());
    let said = folder.run(&["pack", "t.csv", "missing.csv", "--json"]);
    assert_eq!(error(&said)["code"], "no_output_named");
    let said = folder.run(&["unpack", "t.csv", "--json"]);
    assert_eq!(error(&said)["code"], "no_output_named");
}

#[test]
fn a_damaged_file_leaves_nothing() {
    let folder = Folder::new();
    folder.write("t.csv", table());
    folder.ok(&["pack", "t.csv", "t.at1"]);
    let mut bytes = folder.read("t.at1");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xFF;
    folder.write("bad.at1", bytes);
    let said = folder.run(&["unpack", "bad.at1", "out.csv", "--json"]);
    assert_eq!(said.code, 1);
    assert_eq!(error(&said)["class"], "corrupt");
    assert_eq!(folder.names(), ["bad.at1", "t.at1", "t.csv"]);
}
