//! Every mistake has a message that says what is wrong, where, and what to do; and the right exit code.

use super::run::{Folder, TRADES, error};
use serde_json::Value;

#[test]
fn mistakes_are_told_with_their_place() {
    let folder = Folder::with_trades();
    folder.write("empty", "");
    folder.write("noise.bin", [0u8, 159, 146, 150, 0, 1, 2, 3]);
    std::fs::create_dir(folder.path("folder")).unwrap();
    let cases: &[(&[&str], i32, &str, &str)] = &[
        (&["cat", "missing.cff"], 1, "not_found", "missing.cff: No such file"),
        (&["cat", "folder"], 2, "is_a_folder", "folder: expected a file or a dataset, found a folder"),
        (&["cat", "empty"], 1, "unknown_format", "empty: at byte 0: the file is empty"),
        (&["cat", "noise.bin"], 1, "unknown_format", "noise.bin: at byte 0: the file is of no known format"),
        (&["cat", "trades.csv", "--columns", "nope"], 2, "no_such_column", "trades.csv: there is no column \"nope\""),
        (&["cat", "trades.csv", "--columns", "#9"], 2, "no_such_column", "trades.csv: column number 9"),
        (&["cat", "trades.csv", "--columns", "\"sym"], 2, "bad_columns", "never closed"),
        (&["cat", "trades.csv", "--where", "price >"], 2, "bad_predicate", "expected a number"),
        (&["cat", "trades.csv", "--where", "nope = 1"], 2, "no_such_column", "there is no column \"nope\""),
        (&["cat", "trades.csv", "--where", "sym = 1"], 2, "type_mismatch", "put text in quotes"),
        (&["cat", "trades.csv", "--rows", "2..9"], 2, "no_such_rows", "rows 2..9 of a table with 4 rows"),
        (&["cat", "trades.csv", "--rows", "x"], 2, "bad_rows", "expected a row number"),
        (&["take", "trades.csv", "--rows", "4"], 2, "no_such_rows", "there is no row 4"),
        (&["cat", "trades.csv", "--from", "nope"], 2, "no_such_format", "known formats"),
        (&["convert", "trades.csv", "o.nope"], 2, "no_such_format", "--to"),
        (&["convert", "trades.csv", "o"], 2, "no_format_named", "--to"),
        (&["convert", "trades.csv", "-"], 2, "no_format_named", "--to"),
        (&["convert", "trades.csv", "folder", "--to", "csv"], 2, "is_a_folder", "folder"),
        (&["convert", "trades.csv", "nowhere/o.csv"], 1, "not_found", "nowhere/o.csv"),
        (&["convert", "trades.csv", "o.csv", "--schema", "x:nope"], 2, "no_such_type", "types are"),
        (&["head", "trades.csv", "--delimiter", "tab", "--columns", "sym"], 2, "no_such_column", "sym,price"),
        (&["man", "nope"], 2, "no_such_verb", "verbs are"),
    ];
    for (arguments, code, name, message) in cases {
        let said = folder.run(arguments);
        assert_eq!(said.code, *code, "{arguments:?}: {said:?}");
        assert!(said.err.starts_with("error: "), "{arguments:?}: {said:?}");
        assert!(said.err.contains(&format!("[{name}]")), "{arguments:?}: {said:?}");
        assert!(said.err.contains(message), "{arguments:?}: {said:?}");
        assert_eq!(said.out, "", "{arguments:?}: nothing on standard output");
        if arguments[0] != "man" {
            let said = folder.run(&[*arguments, &["--json"]].concat());
            assert_eq!(said.code, *code, "{arguments:?}");
            assert_eq!(error(&said)["code"], *name, "{arguments:?}");
            assert_eq!(said.out, "", "{arguments:?}: not even half a document");
        }
    }
    assert_eq!(folder.names(), ["empty", "folder", "noise.bin", "trades.csv"]);
}

#[test]
fn wrong_usage_is_two() {
    let folder = Folder::with_trades();
    for arguments in [
        &["nope"][..],
        &["cat"],
        &["cat", "trades.csv", "--nope"],
        &["cat", "trades.csv", "--as", "nope"],
        &["cat", "trades.csv", "--json", "--as", "csv"],
        &["cat", "trades.csv", "--memory", "lots"],
        &["cat", "trades.csv", "--threads", "0"],
        &["cat", "trades.csv", "--delimiter", "::"],
        &["convert", "trades.csv"],
        &["convert", "trades.csv", "o.csv", "--nulls", "maybe"],
        &[],
    ] {
        let said = folder.run(arguments);
        assert_eq!(said.code, 2, "{arguments:?}: {said:?}");
        assert!(said.out.is_empty() && !said.err.is_empty(), "{arguments:?}: {said:?}");
    }
    let said = folder.run(&["cat", "trades.csv", "--nope", "--json"]);
    assert_eq!(error(&said)["code"], "usage");
}

#[test]
fn verify_tells_all_and_goes_on() {
    let folder = Folder::with_trades();
    folder.write("broken.csv", "a,b\n1,2\n3\n");
    let said = folder.run(&["verify", "missing.csv", "broken.csv", "trades.csv"]);
    assert_eq!(said.code, 1);
    assert!(said.out.contains("missing.csv: INVALID"), "{said:?}");
    assert!(said.out.contains("broken.csv: INVALID"), "{said:?}");
    assert!(said.out.contains(&format!("trades.csv: valid, csv, 4 rows, 4 columns, {} B", TRADES.len())), "{said:?}");
    let said = folder.run(&["verify", "--json", "broken.csv", "trades.csv"]);
    assert_eq!(said.code, 1);
    let verdicts: Vec<Value> = said.out.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(verdicts[0]["valid"], false);
    assert_eq!(verdicts[0]["errors"].as_array().unwrap().len(), 1);
    assert_eq!(verdicts[1]["valid"], true);
    assert_eq!(verdicts[1]["rows"], 4);
    assert_eq!((&verdicts[0]["checksums"], &verdicts[1]["checksums"]), (&Value::Null, &Value::from("none")));
}

#[test]
fn verify_says_what_checksums_cover() {
    let folder = Folder::with_trades();
    let said = folder.ok(&["verify", "trades.csv"]);
    assert!(said.out.contains("note: structure only: this file carries no checksums"), "{said:?}");
    for name in ["t.gppcol", "t.cff", "t.colfile"] {
        folder.ok(&["convert", "trades.csv", name]);
        let said = folder.ok(&["verify", name]);
        assert!(said.out.contains("checked: checksums cover the column blocks, not the header"), "{said:?}");
        assert_eq!(folder.json(&["verify", "--json", name])["checksums"], "parts");
    }
}
