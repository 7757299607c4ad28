//! `convert` and `diff`: nothing lost on the way, nothing left behind after a failure.

use super::run::{Folder, TRADES, error};
use serde_json::Value;

#[test]
fn there_and_back_through_every_format() {
    let folder = Folder::with_trades();
    for (format, extension) in folder.formats() {
        let there = format!("there-{format}.{extension}");
        let back = format!("back-{format}.csv");
        let said = folder.ok(&["convert", "trades.csv", &there]);
        assert_eq!(said.out, "", "the summary is talk, not data");
        assert!(said.err.contains("4 rows"), "{said:?}");
        folder.ok(&["diff", "trades.csv", &there]);
        folder.ok(&["diff", &there, "trades.csv"]);
        folder.ok(&["verify", &there]);
        folder.ok(&["convert", &there, &back]);
        assert_eq!(String::from_utf8(folder.read(&back)).unwrap(), TRADES, "{format}");
    }
}

#[test]
fn every_format_agrees_with_every_other() {
    let folder = Folder::with_trades();
    let formats = folder.formats();
    for (_, extension) in &formats {
        folder.ok(&["convert", "trades.csv", &format!("t.{extension}")]);
    }
    for (_, a) in &formats {
        for (_, b) in &formats {
            let said = folder.ok(&["diff", &format!("t.{a}"), &format!("t.{b}")]);
            assert_eq!(said.out, "equal: 4 rows, 4 columns\n");
        }
    }
}

#[test]
fn formats_without_booleans_get_text() {
    let folder = Folder::new();
    folder.write("b.csv", "a,ok\n1,true\n2,false\n");
    for (format, extension) in folder.formats() {
        let there = format!("b-{format}.{extension}");
        folder.ok(&["convert", "b.csv", &there]);
        folder.ok(&["diff", "b.csv", &there]);
        let kind = folder.json(&["schema", "--json", &there])["columns"][1]["type"].clone();
        assert!(kind == "bool" || kind == "string", "{format}: {kind}");
    }
}

#[test]
fn a_file_is_recognised_by_its_content() {
    let folder = Folder::with_trades();
    for (format, extension) in folder.formats().into_iter().filter(|(f, _)| f != "tsv") {
        folder.ok(&["convert", "trades.csv", &format!("t.{extension}")]);
        std::fs::rename(folder.path(&format!("t.{extension}")), folder.path("nameless")).unwrap();
        assert_eq!(folder.json(&["schema", "--json", "nameless"])["format"], format);
        folder.ok(&["diff", "nameless", "trades.csv"]);
    }
}

#[test]
fn standard_input_and_output() {
    let folder = Folder::with_trades();
    for (format, extension) in folder.formats() {
        let file = format!("out.{extension}");
        folder.ok(&["convert", "trades.csv", &file]);
        let said = folder.run_with(&["convert", "-", "-", "--to", &format, "--json"], TRADES.as_bytes());
        assert_eq!(said.code, 0, "{said:?}");
        assert_eq!(said.raw, folder.read(&file), "{format}: the same bytes either way");
        let summary: Value = serde_json::from_str(&said.err).expect("the summary went to standard error");
        assert_eq!(summary["rows"], 4);
        let said = folder.run_with(&["cat", "-"], &said.raw);
        if format != "tsv" {
            assert_eq!(said.out, TRADES, "{format}");
        }
    }
    let said = folder.run_with(&["diff", "-", "trades.csv"], TRADES.as_bytes());
    assert_eq!((said.code, said.out.as_str()), (0, "equal: 4 rows, 4 columns\n"));
    let said = folder.run(&["diff", "-", "-"]);
    assert_eq!(said.code, 2, "{said:?}");
}

#[test]
fn several_inputs_follow_each_other() {
    let folder = Folder::new();
    folder.write("a.csv", "x,y\n1,a\n");
    folder.write("b.csv", "x,y\n2.5,b\n");
    folder.write("c.csv", "x,y\nmany,c\n");
    folder.write("d.csv", "x,z\n1,d\n");
    folder.ok(&["convert", "a.csv", "b.csv", "ab.csv"]);
    assert_eq!(folder.read("ab.csv"), b"x,y\n1.0,a\n2.5,b\n", "the narrowest type that holds both");
    folder.ok(&["convert", "a.csv", "c.csv", "ac.csv"]);
    assert_eq!(folder.read("ac.csv"), b"x,y\n1,a\nmany,c\n");
    let said = folder.run(&["convert", "a.csv", "d.csv", "ad.csv", "--json"]);
    assert_eq!(said.code, 1);
    assert_eq!(error(&said)["code"], "schemas_differ");
    assert_eq!(error(&said)["file"], "d.csv");
    assert!(!folder.names().contains(&"ad.csv".to_string()));
}

#[test]
fn columns_rows_and_types_on_the_way() {
    let folder = Folder::with_trades();
    folder.ok(&["convert", "trades.csv", "few.csv", "--columns", "quantity,sym", "--where", "price > 2000"]);
    assert_eq!(folder.read("few.csv"), b"quantity,sym\n3,BTC\n10,ETH\n1,BTC\n");
    folder.ok(&["convert", "trades.csv", "typed.csv", "--schema", "quantity:float64"]);
    assert!(String::from_utf8(folder.read("typed.csv")).unwrap().contains("BTC,44000.5,3.0,"));
    folder.write("semicolons.txt", "1;a\n2;b\n");
    folder.ok(&["convert", "semicolons.txt", "plain.csv", "--delimiter", ";", "--no-header"]);
    assert_eq!(folder.read("plain.csv"), b"c0,c1\n1,a\n2,b\n");
    folder.write("short.csv", "a,b\n1\n2,3\n");
    assert_eq!(folder.run(&["convert", "short.csv", "o.csv"]).code, 1);
    folder.ok(&["convert", "short.csv", "o.csv", "--pad-short-rows"]);
    folder.write("twins.csv", "a,a\n1,2\n");
    assert_eq!(folder.run(&["convert", "-f", "twins.csv", "o.csv"]).code, 1);
    folder.ok(&["convert", "-f", "twins.csv", "o.csv", "--rename-duplicates"]);
    assert_eq!(folder.read("o.csv"), b"a,a_2\n1,2\n");
}

#[test]
fn the_summary_for_scripts() {
    let folder = Folder::with_trades();
    let summary = folder.json(&["convert", "trades.csv", "t.tsv", "--json"]);
    assert_eq!(summary["rows"], 4);
    assert_eq!(summary["columns"], 4);
    assert_eq!(summary["format"], "tsv");
    assert_eq!(summary["output"], "t.tsv");
    assert_eq!(summary["input_bytes"], TRADES.len());
    assert_eq!(summary["output_bytes"], folder.read("t.tsv").len());
    assert_eq!(summary["notes"], serde_json::json!([]));
    assert!(summary["seconds"].is_f64());
}

#[test]
fn a_failed_conversion_leaves_nothing() {
    let folder = Folder::with_trades();
    folder.write("broken.csv", "a,b\n1,2\n3\n");
    let before = folder.names();
    for (_, extension) in folder.formats() {
        let said = folder.run(&["convert", "broken.csv", &format!("o.{extension}")]);
        assert_eq!(said.code, 1, "{said:?}");
        assert!(said.err.starts_with("error: broken.csv: "), "{said:?}");
        let said = folder.run(&["convert", "trades.csv", "broken.csv", &format!("o.{extension}")]);
        assert_eq!(said.code, 1, "{said:?}");
        assert_eq!(folder.names(), before, "nothing appears, not even a temporary file");
    }
    folder.write("old.csv", "keep,me\n");
    assert_eq!(folder.run(&["convert", "-f", "broken.csv", "old.csv"]).code, 1);
    assert_eq!(folder.read("old.csv"), b"keep,me\n", "what was there stays");
}

#[cfg(target_os = "linux")]
#[test]
fn names_need_not_be_unicode() {
    use std::os::unix::ffi::OsStrExt;
    let folder = Folder::with_trades();
    let odd = std::ffi::OsStr::from_bytes(b"odd-\xFF.csv");
    std::fs::rename(folder.path("trades.csv"), folder.path("").join(odd)).unwrap();
    let said = folder.shell("colkit convert odd-*.csv o.cff && colkit diff odd-*.csv o.cff");
    assert_eq!((said.code, said.out.as_str()), (0, "equal: 4 rows, 4 columns\n"), "{said:?}");
}

#[test]
fn an_input_is_never_the_output() {
    let folder = Folder::with_trades();
    folder.ok(&["convert", "trades.csv", "copy.csv"]);
    for output in ["trades.csv", "./trades.csv"] {
        let said = folder.run(&["convert", "copy.csv", "trades.csv", output, "--json"]);
        assert_eq!(said.code, 2);
        assert_eq!(error(&said)["code"], "output_is_input");
    }
    std::os::unix::fs::symlink(folder.path("trades.csv"), folder.path("link.csv")).unwrap();
    let said = folder.run(&["convert", "trades.csv", "link.csv"]);
    assert_eq!(said.code, 2, "{said:?}");
    assert_eq!(folder.read("trades.csv"), TRADES.as_bytes());
}

#[test]
fn differences_are_found_and_told() {
    let folder = Folder::with_trades();
    folder.write("other.csv", TRADES.replace("2500.25", "2500.26").replace("44001.0", "44001.5"));
    let said = folder.run(&["diff", "trades.csv", "other.csv"]);
    assert_eq!(said.code, 1);
    assert!(said.out.contains("2 rows differ; compared 4 rows, 4 columns"), "{said:?}");
    assert!(said.out.contains("row 1, column \"price\": 2500.25 (left), 2500.26 (right)"), "{said:?}");
    let said = folder.run(&["diff", "--json", "trades.csv", "other.csv"]);
    let report: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(said.code, 1);
    assert_eq!(report["equal"], false);
    assert_eq!(report["differing_rows"], 2);
    assert_eq!(report["first"][1]["row"], 3);
    folder.write("short.csv", "sym,price\nBTC,44000.5\n");
    let report: Value = serde_json::from_str(&folder.run(&["diff", "--json", "trades.csv", "short.csv"]).out).unwrap();
    assert_eq!(report["row_counts"], serde_json::json!([4, 1]));
    assert_eq!(report["schema"].as_array().unwrap().len(), 2, "{report}");
    assert_eq!(report["differing_rows"], 0);
}

#[test]
fn lance_files_as_asked_for() {
    let folder = Folder::with_trades();
    for (arguments, version) in [
        (&["--prefer", "size"][..], "2.2"),
        (&["--prefer", "speed"], "2.1"),
        (&["--prefer", "random-access", "--page-size", "64K"], "2.1"),
        (&["--lance-version", "2.0"], "2.0"),
        (&["--lance-version", "2.2", "--bloom", "sym"], "2.2"),
    ] {
        let command = [&["convert", "-f", "trades.csv", "t.lance"], arguments].concat();
        folder.ok(&command);
        folder.ok(&["diff", "trades.csv", "t.lance"]);
        folder.ok(&["verify", "t.lance"]);
        assert!(folder.ok(&["inspect", "t.lance"]).out.contains(version), "{arguments:?}");
    }
    let said = folder.run(&["convert", "trades.csv", "t.cff", "--prefer", "size"]);
    assert!(said.err.contains("for Lance files"), "{said:?}");
}
