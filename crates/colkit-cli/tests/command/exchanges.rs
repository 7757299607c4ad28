//! The formats of others through the real command: many inputs, many outputs, pipes, compression, fidelity.

use super::run::{Folder, error};

const EVENTS: &str = concat!(
    "{\"id\":1,\"who\":{\"name\":\"Ada\",\"tags\":[\"x\",\"y\"]},\"score\":0.5}\n",
    "\n",
    "{\"id\":2,\"score\":null,\"who\":{\"name\":\"Bob\",\"tags\":[]}}\n",
    "{\"id\":3000000000,\"who\":null,\"score\":-1.25}\n",
);

const NESTED: [&str; 5] = ["parquet", "arrow", "arrows", "ndjson", "lance"];

#[test]
fn nested_rows_go_round_through_every_format_that_has_them() {
    let folder = Folder::new();
    folder.write("events.ndjson", EVENTS);
    let mut from = "events.ndjson".to_string();
    for extension in NESTED {
        let to = format!("events.{extension}-copy");
        let name = if extension == "arrows" { "arrow-stream" } else { extension };
        folder.ok(&["convert", &from, &to, "--to", name]);
        folder.ok(&["diff", "events.ndjson", &to]);
        folder.ok(&["verify", &to]);
        let taken = folder.json(&["take", &to, "--rows", "2,0", "--columns", "id,who.name", "--json"]);
        assert_eq!(taken["rows"][0][0], 3_000_000_000u64, "{extension}: {taken}");
        assert_eq!(taken["rows"][1][1]["name"], "Ada", "{extension}: {taken}");
        from = to;
    }
    folder.ok(&["convert", &from, "again.ndjson"]);
    let said = folder.ok(&["head", "again.ndjson", "-n", "1", "--as", "ndjson"]);
    assert_eq!(said.out, "{\"id\":1,\"who\":{\"name\":\"Ada\",\"tags\":[\"x\",\"y\"]},\"score\":0.5}\n");
}

#[test]
fn nesting_is_refused_where_there_is_none_and_the_message_names_the_way_out() {
    let folder = Folder::new();
    folder.write("events.ndjson", EVENTS);
    for extension in ["csv", "gppcol", "cff", "colfile", "at1"] {
        let to = format!("events.{extension}");
        let said = folder.run(&["convert", "events.ndjson", &to, "--json", "--nulls", "fill"]);
        assert_eq!(said.code, 1, "{said:?}");
        let error = error(&said);
        assert_eq!(error["code"], "type_not_supported", "{extension}: {error}");
        assert!(error["part"].as_str().unwrap().contains("who"), "{extension}: {error}");
        assert!(error["hint"].as_str().unwrap().contains("--types lossy"), "{extension}: {error}");
        assert!(!folder.path(&to).exists());
        folder.ok(&["convert", "events.ndjson", &to, "--nulls", "fill", "--types", "lossy"]);
    }
    assert!(String::from_utf8(folder.read("events.csv")).unwrap().contains("\"\"name\"\":\"\"Ada\"\""));
}

#[test]
fn one_file_becomes_several_and_several_become_one() {
    let folder = Folder::new();
    let rows: String = (0..25).map(|i| format!("{i},row {i}\n")).collect();
    folder.write("all.csv", format!("n,t\n{rows}"));
    for extension in ["parquet", "ndjson", "lance", "gppcol", "arrow"] {
        let said = folder.ok(&["convert", "all.csv", &format!("part.{extension}"), "--split-rows", "10"]);
        assert!(said.err.contains("3 files"), "{said:?}");
        let parts: Vec<String> = (0..3).map(|i| format!("part-0000{i}.{extension}")).collect();
        let back = format!("{extension}.csv");
        folder.ok(&["convert", &parts[0], &parts[1], &parts[2], &back]);
        assert_eq!(folder.read(&back), folder.read("all.csv"), "{extension}");
    }
    folder.ok(&["convert", "all.csv", "day-{}-of-3.parquet", "--split-rows", "10"]);
    assert!(folder.path("day-00002-of-3.parquet").exists());
    let said = folder.run(&["convert", "all.csv", "-", "--to", "csv", "--split-rows", "10"]);
    assert_eq!(said.code, 2, "{said:?}");
}

#[test]
fn objects_of_several_files_are_brought_together_by_name() {
    let folder = Folder::new();
    folder.write("a.ndjson", "{\"x\":1,\"y\":\"a\"}\n");
    folder.write("b.ndjson", "{\"y\":\"b\",\"x\":2.5}\n{\"z\":[1],\"y\":\"c\"}\n");
    folder.ok(&["convert", "a.ndjson", "b.ndjson", "ab.ndjson"]);
    let all = String::from_utf8(folder.read("ab.ndjson")).unwrap();
    let expected =
        "{\"x\":1.0,\"y\":\"a\",\"z\":null}\n{\"x\":2.5,\"y\":\"b\",\"z\":null}\n{\"x\":null,\"y\":\"c\",\"z\":[1]}\n";
    assert_eq!(all, expected);
}

#[test]
fn formats_of_others_go_through_pipes() {
    let folder = Folder::new();
    folder.write("events.ndjson", EVENTS);
    for format in ["parquet", "arrow", "arrow-stream", "ndjson"] {
        let line = format!("cat events.ndjson | colkit convert - - --to {format} | colkit cat - --as ndjson");
        let said = folder.shell(&line);
        assert_eq!(said.code, 0, "{said:?}");
        assert_eq!(said.out.lines().count(), 3, "{format}: {said:?}");
    }
}

#[test]
fn compression_is_for_those_who_have_it() {
    let folder = Folder::with_trades();
    for codec in ["none", "snappy", "zstd", "lz4", "gzip", "brotli"] {
        folder.ok(&["convert", "-f", "trades.csv", "t.parquet", "--compression", codec]);
        folder.ok(&["diff", "trades.csv", "t.parquet"]);
        let said = folder.ok(&["inspect", "t.parquet"]);
        let name = if codec == "none" { "uncompressed" } else { codec };
        assert!(said.out.contains(name), "{codec}: {said:?}");
    }
    for (to, codec) in [("t.arrow", "snappy"), ("t.csv", "zstd"), ("t.lance", "zstd")] {
        let said = folder.run(&["convert", "trades.csv", to, "--compression", codec]);
        assert_eq!(said.code, 2, "{said:?}");
        assert!(said.err.contains("bad_compression"), "{said:?}");
    }
    assert_eq!(folder.run(&["convert", "-f", "trades.csv", "t.parquet", "--level", "99"]).code, 2);
}

#[test]
fn what_a_condition_rules_out_is_not_read() {
    let folder = Folder::new();
    let rows: String = (0..200_000).map(|i| format!("{i},{}\n", i * 7919 % 1000)).collect();
    folder.write("n.csv", format!("id,n\n{rows}"));
    folder.ok(&["convert", "n.csv", "n.parquet", "--compression", "none"]);
    let found = folder.json(&["cat", "n.parquet", "--where", "id = 123456", "--json"]);
    assert_eq!(found["rows"][0][0], 123_456);
    let (read, size) = (found["bytes_read"].as_u64().unwrap(), found["file_bytes"].as_u64().unwrap());
    assert!(read * 4 < size, "{read} of {size}");
    let said = folder.ok(&["cat", "n.parquet", "--where", "id = 123456", "--explain"]);
    assert!(said.err.contains("pruned by statistics"), "{said:?}");
}

#[test]
fn rows_are_printed_into_files_of_others() {
    let folder = Folder::with_trades();
    for out in ["t.parquet", "t.arrow", "t.feather", "t.arrows"] {
        folder.ok(&["cat", "trades.csv", "--out", out]);
        folder.ok(&["diff", "trades.csv", out]);
    }
    assert!(folder.read("t.arrow").starts_with(b"ARROW1"));
    assert!(folder.read("t.parquet").starts_with(b"PAR1"));
}

/// A file of the crate that reads the formats of others.
fn data(name: &str) -> String {
    format!("{}/../colkit-interop/tests/data/{name}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn arrow_files_of_nothing_but_empty_texts_come_back() {
    let folder = Folder::new();
    for (name, rows) in [
        ("empty", "{\"x\":\"\"}\n{\"x\":\"\"}\n"),
        ("nulls", "{\"x\":null,\"y\":\"abc\"}\n{\"x\":null,\"y\":null}\n"),
        ("lists", "{\"x\":[]}\n{\"x\":null}\n{\"x\":[\"\"]}\n"),
    ] {
        let source = format!("{name}.ndjson");
        folder.write(&source, rows);
        for out in ["arrow", "arrows", "feather"] {
            let out = format!("{name}.{out}");
            folder.ok(&["convert", &source, &out]);
            folder.ok(&["verify", &out]);
            folder.ok(&["diff", &source, &out]);
        }
    }
}

#[test]
fn values_beyond_their_type_are_refused_and_nothing_is_written() {
    let folder = Folder::new();
    for name in ["wide_decimal.arrow", "day_of_25_hours.arrow", "half_a_day.arrow"] {
        let said = folder.run(&["convert", &data(&format!("malformed/{name}")), "out.parquet", "--json"]);
        assert_eq!((said.code, error(&said)["code"].as_str()), (1, Some("bad_number")), "{name}: {said:?}");
        assert!(!folder.path("out.parquet").exists());
    }
    let said = folder.run(&["cat", &data("found/int96_year_9999.parquet"), "--json"]);
    assert_eq!(error(&said)["code"], "timestamp_out_of_range", "{said:?}");
    let spark = folder.ok(&["head", "-n", "3", &data("found/int96_from_spark.parquet"), "--as", "ndjson"]);
    assert!(spark.out.contains("9999-12-31T03:00:00"), "{spark:?}");
}

#[test]
fn a_format_of_the_future_is_refused_in_words() {
    let folder = Folder::new();
    for (name, words) in [("schema_v6.arrows", "version 6"), ("union_without_members.arrows", "do not make sense")] {
        let said = folder.run(&["inspect", &data(&format!("malformed/{name}"))]);
        assert_eq!(said.code, 1, "{said:?}");
        assert!(said.err.contains(words), "{said:?}");
        for raw in ["panicked", "unwrap", "not implemented", "assert"] {
            assert!(!said.err.contains(raw), "{said:?}");
        }
    }
}

#[test]
fn unions_and_the_other_byte_order_are_read() {
    let folder = Folder::new();
    let (big, little) = (data("found/big_endian_union.arrow"), data("found/little_endian_union.arrow"));
    folder.ok(&["verify", &big]);
    folder.ok(&["convert", &big, "union.arrow"]);
    let printed = |name: &str| folder.ok(&["cat", name, "--as", "ndjson"]).out;
    assert_eq!(printed(&big), printed(&little));
    assert_eq!(printed("union.arrow"), printed(&little));
}

#[test]
fn runs_are_written_out_where_there_are_none() {
    let folder = Folder::new();
    let runs = data("found/run_ends.arrow");
    assert_eq!(folder.ok(&["cat", &runs]).out, "r\n1\n1\n2\n");
    for out in ["csv", "ndjson", "parquet", "lance", "arrow"] {
        let out = format!("runs.{out}");
        folder.ok(&["convert", &runs, &out]);
        assert_eq!(folder.ok(&["cat", &out]).out, "r\n1\n1\n2\n", "{out}");
    }
}

#[test]
fn nulls_that_the_schema_denies_are_nulls() {
    let folder = Folder::new();
    let denied = data("found/nulls_denied.arrow");
    assert_eq!(folder.ok(&["cat", &denied, "--as", "ndjson"]).out, "{\"a\":1}\n{\"a\":null}\n");
    assert!(folder.ok(&["verify", &denied]).out.contains("said to have no nulls"));
}

#[test]
fn a_flipped_bit_of_a_parquet_file_of_ours_is_found() {
    let folder = Folder::with_trades();
    folder.ok(&["convert", "trades.csv", "trades.parquet"]);
    let good = folder.read("trades.parquet");
    let rows = folder.ok(&["cat", "trades.parquet"]).out;
    // Every part of the file: magic, pages and their headers, page index, footer, length.
    for place in (0..good.len()).step_by(good.len() / 24) {
        let mut bad = good.clone();
        bad[place] ^= 0x10;
        folder.write("bad.parquet", bad);
        let said = folder.run(&["verify", "bad.parquet"]);
        assert_eq!(said.code, 1, "byte {place} of {}: {said:?}", good.len());
        let said = folder.run(&["cat", "bad.parquet"]);
        assert!(said.code == 1 || said.out == rows, "byte {place} of {}: {said:?}", good.len());
    }
}
