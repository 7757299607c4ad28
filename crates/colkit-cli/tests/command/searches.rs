//! `grep`: rows in which the text of a cell matches.

use super::run::{Folder, error};
use serde_json::json;

#[test]
fn rows_with_a_matching_cell_are_printed() {
    let folder = Folder::with_trades();
    let found = |arguments: &[&str]| folder.ok(&[&["grep"], arguments].concat()).out;
    assert_eq!(found(&["^BTC$", "trades.csv", "--columns", "sym,price"]), "sym,price\nBTC,44000.5\nBTC,44001.0\n");
    assert_eq!(
        found(&["2500", "trades.csv", "--columns", "sym,price"]),
        "sym,price\nETH,2500.25\n",
        "numbers as printed"
    );
    assert_eq!(found(&["-i", "öre", "trades.csv", "--columns", "sym"]), "sym\nÖRE\n");
    assert_eq!(found(&["-F", "a, b", "trades.csv", "--columns", "quantity", "--in", "note"]), "quantity\n3\n");
    assert_eq!(found(&["-v", "BTC", "trades.csv", "--in", "sym", "--columns", "sym"]), "sym\nETH\nÖRE\n");
    assert_eq!(found(&["-n", "BTC", "trades.csv", "--columns", "sym"]), "row,sym\n0,BTC\n3,BTC\n");
    assert_eq!(found(&["-n", "7", "trades.csv", "--columns", "sym", "--in", "quantity"]), "row,sym\n2,ÖRE\n");
    assert_eq!(found(&["-m", "1", "BTC", "trades.csv", "--columns", "sym"]), "sym\nBTC\n");
    assert_eq!(
        found(&["BTC", "trades.csv", "--where", "quantity > 1", "--columns", "quantity", "--in", "sym"]),
        "quantity\n3\n"
    );
    assert_eq!(found(&["-c", "BTC", "trades.csv"]), "2\n");
    assert_eq!(found(&["-l", "BTC", "trades.csv"]), "trades.csv\n");
    folder.write("other.csv", "sym\nADA\n");
    folder.write("third.csv", "sym\nBTC\n");
    assert_eq!(found(&["-l", "BTC", "trades.csv", "other.csv", "third.csv"]), "trades.csv\nthird.csv\n");
}

#[test]
fn nothing_found_is_a_failure_without_a_message() {
    let folder = Folder::with_trades();
    let said = folder.run(&["grep", "nix", "trades.csv"]);
    assert_eq!((said.code, said.err.as_str()), (1, ""));
    let said = folder.run(&["grep", "-c", "nix", "trades.csv", "--json"]);
    assert_eq!((said.code, said.json()), (1, json!({"file": "trades.csv", "rows": 0})));
    let said = folder.run(&["grep", "-l", "nix", "trades.csv"]);
    assert_eq!((said.code, said.out.as_str()), (1, ""));
    let said = folder.run(&["grep", "(", "trades.csv", "--json"]);
    assert_eq!((said.code, error(&said)["code"].as_str()), (2, Some("bad_pattern")));
    assert!(folder.run(&["grep", "(", "trades.csv"]).err.contains("-F searches for it as plain text"));
    assert_eq!(folder.run(&["grep", "x", "trades.csv", "--in", "nix"]).code, 2);
}

#[test]
fn every_format_finds_the_same() {
    let folder = Folder::with_trades();
    let mut lines = String::from("sym,day,n\n");
    for n in 0..5_000 {
        lines += &format!("{},2024-01-{:02},{n}\n", ["BTC", "ETH", "BTD", "ABC"][n % 4], n % 28 + 1);
    }
    folder.write("many.csv", lines);
    let searches: [&[&str]; 5] = [
        &["-c", "^BT"],
        &["-c", "^BT", "--in", "sym"],
        &["-c", "-v", "^BT", "--in", "sym"],
        &["-c", "01-0[57]", "--in", "day"],
        &["-c", "99"],
    ];
    let expected = ["2500", "2500", "2500", "358", "95"];
    for (format, extension) in folder.formats() {
        let name = format!("t.{extension}");
        folder.ok(&["convert", "many.csv", &name, "--to", &format, "--force", "--types", "lossy"]);
        for (search, expected) in searches.iter().zip(expected) {
            let out = folder.ok(&[&["grep"], *search, &[&name]].concat()).out;
            assert_eq!(out.trim(), expected, "{format}: {search:?}");
        }
    }
}

#[test]
fn a_prefix_skips_what_statistics_rule_out() {
    let folder = Folder::new();
    let lines: String = (0..200_000).map(|n| format!("k{n:06},{}\n", n % 7)).collect();
    folder.write("sorted.csv", format!("key,n\n{lines}"));
    folder.ok(&["convert", "sorted.csv", "sorted.lance"]);
    let document = folder.json(&["grep", "^k01234", "sorted.lance", "--in", "key", "--json"]);
    assert_eq!(document["rows"].as_array().unwrap().len(), 10);
    let (read, size) = (document["bytes_read"].as_u64().unwrap(), document["file_bytes"].as_u64().unwrap());
    assert!(read < size / 2, "{read} of {size} bytes");
}

#[test]
fn dictionaries_are_searched_once_per_value_and_other_columns_only_where_rows_match() {
    let folder = Folder::new();
    let mut lines = String::from("sym,n,text\n");
    for n in 0..200_000 {
        let sym = if n == 123_456 { "rare" } else { ["BTC", "ETH", "ABC"][n % 3] };
        lines += &format!("{sym},{n},text of row {} and some more of it\n", n * 7919 % 200_000);
    }
    folder.write("t.csv", lines);
    for name in ["t.lance", "t.parquet"] {
        folder.ok(&["convert", "t.csv", name]);
        let size = folder.read(name).len() as u64;
        let document = folder.json(&["grep", "^ra.e$", name, "--in", "sym", "--json"]);
        assert_eq!(document["rows"][0][1], 123_456, "{name}: {document}");
        let read = document["bytes_read"].as_u64().unwrap();
        assert!(read < size / 2, "{name}: {read} of {size} bytes, the text of a few rows");
        let said = folder.ok(&["grep", "-c", "^(BTC|rare)$", name, "--in", "sym"]);
        assert_eq!(said.out, "66667\n", "{name}");
        let both = folder.ok(&["grep", "-c", "row 77 ", name]);
        assert_eq!(both.out, "1\n", "{name}");
    }
}
