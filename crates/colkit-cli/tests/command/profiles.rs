//! `stats`: what columns hold.

use super::run::Folder;
use serde_json::json;

#[test]
fn every_column_is_described() {
    let folder = Folder::with_trades();
    let out = folder.ok(&["stats", "trades.csv"]).out;
    assert!(out.starts_with("trades.csv: csv, 4 rows, 4 columns\n\nsym  string\n  nulls 0   distinct 3"), "{out}");
    assert!(out.contains("min -0.5") && out.contains("max 44001.0"), "{out}");
    assert!(out.contains("top BTC 2 (50.0%)"), "{out}");
    let document = folder.json(&["stats", "trades.csv", "--json"]);
    assert_eq!((&document["rows"], &document["columns"][0]["distinct"]["value"]), (&json!(4), &json!(3)));
    assert_eq!(document["columns"][2]["quantiles"]["p50"], json!(3));
    assert_eq!(document["columns"][2]["mean"], json!(5.25));
    assert_eq!(document["columns"][0]["top"]["values"][0], json!({"value": "BTC", "count": 2}));
}

#[test]
fn columns_conditions_and_shapes() {
    let folder = Folder::with_trades();
    let out = folder.ok(&["stats", "trades.csv", "--columns", "price", "--where", "sym = 'BTC'", "--as", "csv"]).out;
    let lines: Vec<&str> = out.lines().collect();
    assert!(lines[0].starts_with("column,type,rows,nulls,nan,distinct,"), "{out}");
    assert!(lines[1].starts_with("price,float64,2,0,0,2,true,44000.5,"), "{out}");
    folder.ok(&["stats", "trades.csv", "--out", "profile.ndjson"]);
    assert_eq!(folder.ok(&["count", "profile.ndjson"]).out, "4\n");
    assert_eq!(folder.run(&["stats", "trades.csv", "--columns", "nix"]).code, 2);
}

#[test]
fn quick_reads_no_data() {
    let folder = Folder::with_trades();
    folder.ok(&["convert", "trades.csv", "trades.parquet"]);
    let document = folder.json(&["stats", "trades.parquet", "--quick", "--json"]);
    assert_eq!(document["columns"][2]["max"], json!(10));
    assert_eq!(document["columns"][2]["nulls"], json!(0));
    assert!(document["columns"][2].get("mean").is_none());
    assert_eq!(folder.run(&["stats", "trades.parquet", "--quick", "--where", "price > 1"]).code, 2);
}

#[test]
fn every_format_says_the_same() {
    let folder = Folder::with_trades();
    let expected = folder.json(&["stats", "trades.csv", "--json"])["columns"].clone();
    for (format, extension) in folder.formats() {
        let name = format!("t.{extension}");
        folder.ok(&["convert", "trades.csv", &name, "--to", &format, "--force"]);
        assert_eq!(folder.json(&["stats", &name, "--json"])["columns"], expected, "{format}");
    }
}
