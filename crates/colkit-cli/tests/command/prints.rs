//! `cat`, `head` and `take`: the right rows in the right shape.

use super::run::{Folder, TRADES};
use serde_json::{Value, json};

#[test]
fn programs_get_csv_and_people_a_table() {
    let folder = Folder::with_trades();
    assert_eq!(folder.ok(&["cat", "trades.csv"]).out, TRADES);
    let table = folder.ok(&["cat", "trades.csv", "--as", "table"]).out;
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines[0], "sym       price  quantity  note");
    assert_eq!(lines[1], "string  float64     int32  string");
    assert_eq!(lines[3], "BTC     44000.5         3  a, b");
    assert_eq!(lines[5], "ÖRE        -0.5         7  line\\nbreak");
    assert_eq!(lines[7], "4 rows, 4 columns");
    assert!(!table.contains('\x1b'), "no colour where it is not a terminal");
}

#[test]
fn columns_rows_and_conditions() {
    let folder = Folder::with_trades();
    let cat = |more: &[&str]| folder.ok(&[&["cat", "trades.csv"], more].concat()).out;
    assert_eq!(cat(&["--columns", "quantity,sym", "--rows", "1..3"]), "quantity,sym\n10,ETH\n7,ÖRE\n");
    assert_eq!(cat(&["--columns", "#2", "--columns", "#0,#2", "--rows", "3.."]), "quantity,sym,quantity_2\n1,BTC,1\n");
    assert_eq!(cat(&["--columns", "sym", "--where", "quantity >= 7 and sym != \"ETH\""]), "sym\nÖRE\n");
    assert_eq!(cat(&["--columns", "sym", "--where", "quantity > 100"]), "sym\n");
    assert_eq!(cat(&["--columns", "sym", "--rows", "..2", "--where", "sym = 'BTC'"]), "sym\nBTC\n");
    assert_eq!(folder.ok(&["head", "-n", "1", "trades.csv", "--columns", "sym"]).out, "sym\nBTC\n");
    assert_eq!(folder.ok(&["head", "-n", "99", "trades.csv"]).out, TRADES);
    for two in
        [&["head", "-2"][..], &["head", "--limit", "2"], &["cat", "-n", "2"], &["cat", "-2"], &["cat", "--limit=2"]]
    {
        assert_eq!(folder.ok(&[two, &["trades.csv", "--columns", "sym"]].concat()).out, "sym\nBTC\nETH\n", "{two:?}");
    }
    assert_eq!(folder.ok(&["tail", "-1", "trades.csv", "--columns", "quantity"]).out, "quantity\n1\n");
    assert_eq!(cat(&["--columns", "quantity", "--where", "sym = 'BTC'", "-n", "1"]), "quantity\n3\n");
    assert_eq!(cat(&["--columns", "quantity", "--rows", "1..", "-n", "2"]), "quantity\n10\n7\n");
    assert_eq!(cat(&["--columns", "sym", "-n", "0"]), "sym\n");
    let taken = folder.ok(&["take", "trades.csv", "--rows", "3,0..2,3", "--columns", "quantity"]).out;
    assert_eq!(taken, "quantity\n1\n3\n10\n1\n");
    folder.write("odd.csv", "\"a,b\",\"#1\"\n1,2\n");
    assert_eq!(folder.ok(&["cat", "odd.csv", "--columns", "\"#1\",\"a,b\""]).out, "#1,\"a,b\"\n2,1\n");
}

#[test]
fn ndjson_is_json_line_by_line() {
    let folder = Folder::with_trades();
    let out = folder.ok(&["cat", "trades.csv", "--as", "ndjson"]).out;
    let rows: Vec<Value> = out.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(rows.len(), 4);
    assert_eq!(rows[2], json!({"sym": "ÖRE", "price": -0.5, "quantity": 7, "note": "line\nbreak"}));
    folder.write("specials.csv", "x\nnan\ninf\n1.5\n");
    let out = folder.ok(&["cat", "specials.csv", "--as", "ndjson"]).out;
    assert_eq!(out, "{\"x\":null}\n{\"x\":null}\n{\"x\":1.5}\n");
}

#[test]
fn arrow_streams_read_back() {
    use colkit::arrow::ipc::reader::StreamReader;
    let folder = Folder::with_trades();
    let said = folder.ok(&["cat", "trades.csv", "--as", "arrow"]);
    let reader = StreamReader::try_new(said.raw.as_slice(), None).unwrap();
    let rows: usize = reader.map(|b| b.unwrap().num_rows()).sum();
    assert_eq!(rows, 4);
    folder.ok(&["cat", "trades.csv", "--out", "t.arrows"]);
    assert_eq!(folder.read("t.arrows"), said.raw, "the extension says the shape");
}

#[test]
fn the_document_for_scripts() {
    let folder = Folder::with_trades();
    for arguments in [
        &["cat", "trades.csv", "--json", "--rows", "1..2"][..],
        &["take", "trades.csv", "--json", "--rows", "1"],
        &["head", "trades.csv", "--json", "-n", "1"],
    ] {
        let document = folder.json(arguments);
        let columns = document["columns"].as_array().unwrap();
        assert_eq!(columns[1], json!({"name": "price", "type": "float64"}));
        assert_eq!(document["rows"].as_array().unwrap().len(), 1);
        assert_eq!(document["row_count"], 1);
        assert_eq!(document["file_bytes"], TRADES.len());
        assert!(document["bytes_read"].as_u64().unwrap() > 0 && document["requests"].as_u64().unwrap() > 0);
    }
    let empty = folder.json(&["cat", "trades.csv", "--json", "--where", "quantity > 100"]);
    assert_eq!(empty["rows"], json!([]));
}

/// Two columns of a columnar file cost their bytes and the header, not more.
#[test]
fn a_pruned_read_reads_what_it_must() {
    let folder = Folder::new();
    let mut csv = String::from("a,b,c,d\n");
    for i in 0..5000u32 {
        let noise = i.wrapping_mul(2_654_435_761);
        csv.push_str(&format!("{},{}.5,text {noise},{}\n", i % 1000, noise >> 8, noise >> 16));
    }
    folder.write("t.csv", &csv);
    for (format, extension) in folder.formats() {
        let file = format!("t.{extension}");
        if ["t.csv", "t.tsv", "t.ndjson"].contains(&file.as_str()) {
            continue;
        }
        folder.ok(&["convert", "t.csv", &file]);
        let report = folder.json(&["inspect", "--json", &file]);
        let stored = |i: usize| report["columns"][i]["stored_bytes"].as_u64().unwrap();
        let must = stored(1) + stored(3) + report["other_bytes"].as_u64().unwrap();
        // To recognise a file, its first 16 bytes are looked at. What is compared with checksums is read in whole blocks.
        for (checksums, more) in [(&["--no-checksums"][..], 16), (&[], 8 << 10)] {
            let document = folder.json(&[&["cat", &file, "--json", "--columns", "b,d"], checksums].concat());
            assert_eq!(document["row_count"], 5000);
            let read = document["bytes_read"].as_u64().unwrap();
            assert!(read <= must + more, "{format}: read {read}, must {must}: {report}");
        }
        let said = folder.ok(&["cat", &file, "--columns", "b,d", "--explain"]);
        assert!(said.err.contains("plan: ") && said.err.contains("read: "), "{said:?}");
    }
}

#[test]
fn a_closed_pipe_is_success() {
    let folder = Folder::new();
    let rows: String = (0..200_000).map(|i| format!("{i},some text that fills pipes {i}\n")).collect();
    folder.write("big.csv", format!("n,t\n{rows}"));
    for shape in ["csv", "table", "ndjson", "arrow"] {
        let line = format!("set -o pipefail; colkit cat big.csv --as {shape} | head -c 100 > /dev/null");
        let said = folder.shell(&line);
        assert_eq!((said.code, said.err.as_str()), (0, ""), "{shape}");
    }
    let said = folder.shell("set -o pipefail; colkit cat big.csv --json | head -1 > /dev/null");
    assert_eq!((said.code, said.err.as_str()), (0, ""));
    let said = folder.shell("set -o pipefail; colkit convert big.csv - --to csv | head -1");
    assert_eq!((said.code, said.out.as_str()), (0, "n,t\n"), "{said:?}");
}

#[test]
fn a_full_disk_is_a_failure() {
    let folder = Folder::with_trades();
    if std::path::Path::new("/dev/full").exists() {
        let said = folder.shell("colkit cat trades.csv > /dev/full");
        assert_eq!(said.code, 1, "{said:?}");
        assert!(said.err.starts_with("error: "), "{said:?}");
    }
}

#[test]
fn quiet_leaves_results_and_errors() {
    let folder = Folder::with_trades();
    let said = folder.ok(&["convert", "trades.csv", "t.lance", "--quiet"]);
    assert_eq!((said.out.as_str(), said.err.as_str()), ("", ""));
    assert_eq!(folder.ok(&["--quiet", "count", "t.lance"]).out, "4\n");
    let said = folder.run(&["count", "nix.csv", "--quiet"]);
    assert_eq!(said.code, 1);
    assert!(said.err.contains("nix.csv"), "{said:?}");
    let said = folder.ok(&["convert", "t.lance", "-", "--to", "csv", "--json", "--quiet"]);
    assert!(said.err.contains("output_bytes"), "a document that was asked for is a result: {said:?}");
}
