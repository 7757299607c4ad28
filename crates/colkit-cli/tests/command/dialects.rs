//! CSV as it comes: delimiters, encodings, headers, decimal commas and dates are found, or told.

use super::run::{Folder, error};

fn types(folder: &Folder, arguments: &[&str]) -> Vec<String> {
    let schema = folder.json(&[&["schema", "--json"], arguments].concat());
    let columns = schema["columns"].as_array().unwrap_or_else(|| panic!("{schema}"));
    columns.iter().map(|c| c["type"].as_str().unwrap().to_string()).collect()
}

/// A file as a spreadsheet in Germany writes it: semicolons, decimal commas, windows-1252.
const UMSATZ: &[u8] =
    b"Stra\xDFe;Betrag;Tag;St\xFCck\nM\xFChlweg 1;1234,50;31.12.2024;3\n\"Am See; 2\";-0,25;01.01.2025;\n";

#[test]
fn a_file_from_a_spreadsheet_is_read_and_what_was_found_is_said() {
    let folder = Folder::new();
    folder.write("u.csv", UMSATZ);
    let said = folder.ok(&["cat", "u.csv"]);
    let rows = "Straße,Betrag,Tag,Stück\nMühlweg 1,1234.5,2024-12-31,3\nAm See; 2,-0.25,2025-01-01,\n";
    assert_eq!(said.out, rows);
    let note = "note: u.csv: read with encoding windows-1252, delimiter ';', decimal commas, dates like %d.%m.%Y\n";
    assert_eq!(said.err, note);
    assert_eq!(types(&folder, &["u.csv"]), ["string", "float64", "date32", "int32"]);
    let said = folder.ok(&["convert", "u.csv", "u.lance"]);
    assert!(said.err.contains("read with encoding windows-1252, delimiter ';'"), "{said:?}");
    assert_eq!(folder.ok(&["cat", "u.lance"]).out, rows);
    let sum = folder.ok(&["sql", "SELECT sum(\"Betrag\") AS s, max(\"Tag\") AS t FROM 'u.csv'", "--as", "csv"]);
    assert_eq!(sum.out, "s,t\n1234.25,2025-01-01\n");
    folder.ok(&["diff", "u.csv", "u.lance"]);
    let inspected = folder.ok(&["inspect", "u.csv"]).out;
    assert!(inspected.contains("delimiter: ;") && inspected.contains("encoding: windows-1252"), "{inspected}");
    folder.ok(&["convert", "u.csv", "u.csv.gz", "--force"]);
    assert_eq!(folder.ok(&["cat", "u.csv.gz"]).out, rows);
    assert_eq!(folder.run_with(&["cat", "-"], UMSATZ).out, rows);
}

#[test]
fn all_of_it_can_be_told() {
    let folder = Folder::new();
    folder.write("u.csv", UMSATZ);
    let told = ["u.csv", "--delimiter", ";", "--encoding", "latin1", "--decimal", ",", "--date-format", "%d.%m.%Y"];
    assert_eq!(types(&folder, &[&told[..], &["--header", "yes"]].concat()), ["string", "float64", "date32", "int32"]);
    assert_eq!(types(&folder, &["u.csv", "--decimal", "."])[1], "string");
    let said = folder.run(&["cat", "u.csv", "--encoding", "utf-8", "--json"]);
    assert_eq!((said.code, error(&said)["code"].as_str()), (1, Some("bad_utf8")), "{said:?}");
    assert!(error(&said)["hint"].as_str().unwrap().contains("--encoding"), "{said:?}");
    folder.write("o.csv", "a;b\n1;2\n");
    assert_eq!(folder.ok(&["cat", "o.csv", "--delimiter", "|"]).out, "a;b\n1;2\n");
    folder.write("n.csv", "a\tb\n1'234.5\t1.234\n'x'\t5\n");
    assert_eq!(types(&folder, &["n.csv", "--thousands", "'"]), ["string", "float64"]);
    folder.write("n.csv", "a;b\n1'234.5;1.234\n12;5\n");
    assert_eq!(types(&folder, &["n.csv", "--thousands", "'"]), ["float64", "float64"]);
    assert_eq!(folder.ok(&["cat", "n.csv", "--thousands", ".", "--columns", "b"]).out, "b\n1234\n5\n");
    assert_eq!(
        folder.ok(&["cat", "n.csv", "--header", "no", "--columns", "c0"]).out,
        "c0\na\n1'234.5\n12\n",
        "the first line is a row"
    );
    for bad in [&["--encoding", "klingon"][..], &["--decimal", ";"], &["--date-format", "%Q"], &["--thousands", "1"]] {
        assert_eq!(folder.run(&[&["cat", "n.csv"], bad].concat()).code, 2, "{bad:?}");
    }
}

#[test]
fn texts_in_utf16_are_read() {
    let folder = Folder::new();
    let text = "name,n\nÄrger,1\n日本,2\n";
    let wide: Vec<u16> = std::iter::once(0xFEFF).chain(text.encode_utf16()).collect();
    folder.write("le.csv", wide.iter().flat_map(|u| u.to_le_bytes()).collect::<Vec<u8>>());
    folder.write("be.csv", wide.iter().flat_map(|u| u.to_be_bytes()).collect::<Vec<u8>>());
    for (file, name) in [("le.csv", "UTF-16LE"), ("be.csv", "UTF-16BE")] {
        let said = folder.ok(&["cat", file]);
        assert_eq!(said.out, text);
        assert!(said.err.contains(name), "{said:?}");
    }
    let objects: Vec<u8> = "{\"a\":\"ä\"}\n".encode_utf16().flat_map(|u| u.to_le_bytes()).collect();
    folder.write("o.ndjson", objects);
    assert_eq!(folder.ok(&["cat", "o.ndjson", "--encoding", "utf-16le"]).out, "a\nä\n");
}

#[test]
fn the_whole_file_decides_about_the_delimiter() {
    let folder = Folder::new();
    let cases = [
        ("a;b\n1;2\n3;4\n", vec!["int32", "int32"], "';'"),
        ("a\tb\n1\t2\n", vec!["int32", "int32"], "'\\t'"),
        ("a|b|c\n1|2|x,y\n", vec!["int32", "int32", "string"], "'|'"),
        // The comma occurs in the first line too, but not as often in the others.
        ("id;name, first\n1;x\n2;y, z\n", vec!["int32", "string"], "';'"),
        ("a,b;c\n1,2;3\n4,5;6\n", vec!["int32", "string"], ""),
        ("text; more\nno\nyes\n", vec!["string"], ""),
    ];
    for (text, expected, delimiter) in cases {
        folder.write("d.csv", text);
        assert_eq!(types(&folder, &["d.csv"]), expected, "{text}");
        let said = folder.ok(&["cat", "d.csv"]);
        assert_eq!(said.err.contains("delimiter"), !delimiter.is_empty(), "{said:?}");
        assert!(said.err.contains(delimiter), "{said:?}");
    }
    // Enough rows agree: the one that does not is the mistake.
    folder.write("r.csv", "a;b\n1;2\n3;4\n5;6\n7\n");
    let said = folder.run(&["cat", "r.csv", "--json"]);
    assert_eq!(error(&said)["code"], "csv_ragged", "{said:?}");
    assert!(error(&said)["hint"].as_str().unwrap().contains("--pad-short-rows"), "{said:?}");
    assert_eq!(folder.ok(&["cat", "r.csv", "--pad-short-rows"]).out, "a,b\n1,2\n3,4\n5,6\n7,\n");
    // Far behind what a sample would see.
    let mut rows: String = (0..100_000).map(|i| format!("{i};{}\n", i % 7)).collect();
    rows.push_str("x;1,5\n");
    folder.write("l.csv", format!("a;b\n{rows}"));
    assert_eq!(types(&folder, &["l.csv"]), ["string", "float64"]);
}

#[test]
fn a_first_line_of_values_is_no_header() {
    let folder = Folder::new();
    for (text, names) in [
        ("1,alice,3.5\n2,bob,4.5\n", vec!["c0", "c1", "c2"]),
        ("1,1,2\n2,3,4\n", vec!["c0", "c1", "c2"]),
        ("2024-01-31,x\n2024-02-01,y\n", vec!["c0", "c1"]),
        ("country,2019,2020\nde,1,2\n", vec!["country", "2019", "2020"]),
        ("id,7\n1,x\n", vec!["id", "7"]),
        ("a,b\nx,y\n", vec!["a", "b"]),
        ("a,b\n1,2\n", vec!["a", "b"]),
    ] {
        folder.write("h.csv", text);
        let schema = folder.json(&["schema", "--json", "h.csv"]);
        let found: Vec<&str> =
            schema["columns"].as_array().unwrap().iter().map(|c| c["name"].as_str().unwrap()).collect();
        assert_eq!(found, names, "{text}");
    }
    folder.write("h.csv", "1,alice,3.5\n2,bob,4.5\n");
    let said = folder.ok(&["cat", "h.csv"]);
    assert!(said.err.contains("no header") && said.out.lines().count() == 3, "{said:?}");
    assert_eq!(folder.ok(&["cat", "h.csv", "--header", "yes"]).out, "1,alice,3.5\n2,bob,4.5\n");
    folder.write("twins.csv", "a,a\nx,y\n");
    let said = folder.run(&["cat", "twins.csv", "--json"]);
    assert_eq!(error(&said)["code"], "duplicate_name");
    assert!(error(&said)["hint"].as_str().unwrap().contains("--rename-duplicates"), "{said:?}");
}

#[test]
fn spellings_that_fit_two_ways_stay_text() {
    let folder = Folder::new();
    folder.write("s.csv", "a;b;c\n1,234;03/04/2024;1.5\n5,678;05/06/2024;2\n");
    assert_eq!(types(&folder, &["s.csv"]), ["string", "string", "float64"]);
    let told = ["s.csv", "--thousands", ",", "--date-format", "%d/%m/%Y"];
    assert_eq!(types(&folder, &told), ["int32", "date32", "float64"]);
    assert_eq!(folder.ok(&[&["cat"], &told[..]].concat()).out, "a,b,c\n1234,2024-04-03,1.5\n5678,2024-06-05,2.0\n");
    folder.write("s.csv", "when\n12/31/2024 10:05\n01/02/2024 9:00\n");
    assert_eq!(types(&folder, &["s.csv"]), ["timestamp[s]"]);
    assert_eq!(folder.ok(&["cat", "s.csv"]).out, "when\n2024-12-31T10:05:00\n2024-01-02T09:00:00\n");
}

#[test]
fn formats_with_strict_rules_are_told_and_do_not_guess() {
    let folder = Folder::new();
    folder.write("u.csv", "a;b\n1,5;2\n");
    let said = folder.run(&["convert", "u.csv", "u.cff", "--json"]);
    assert_eq!(error(&said)["code"], "csv_ragged", "{said:?}");
    assert!(error(&said)["hint"].as_str().unwrap().contains("--delimiter ';'"), "{said:?}");
    folder.write("v.csv", "a;b\n1;2\n");
    let said = folder.ok(&["convert", "v.csv", "v.cff"]);
    assert!(said.err.contains("\"a;b\"") && said.err.contains("';'"), "{said:?}");
    folder.ok(&["convert", "u.csv", "u.cff", "--delimiter", ";", "--decimal", ","]);
    assert_eq!(types(&folder, &["u.cff"]), ["float64", "int32"]);
    folder.write("l.csv", UMSATZ);
    let said = folder.run(&["convert", "l.csv", "l.gppcol", "--json"]);
    assert_eq!(error(&said)["code"], "bad_utf8", "{said:?}");
}

#[test]
fn damaged_utf8_is_not_taken_for_another_encoding() {
    let folder = Folder::new();
    folder.write("d.csv", b"a\nStra\xC3\x9Fe\n\xC3\x84rger\n\xFF\n");
    let said = folder.run(&["cat", "d.csv", "--json"]);
    assert_eq!(
        (error(&said)["code"].as_str(), error(&said)["offset"].as_u64()),
        (Some("bad_utf8"), Some(17)),
        "{said:?}"
    );
}
