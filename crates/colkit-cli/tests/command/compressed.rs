//! Files compressed as a whole: read wherever a file is, written where the name says so.

use super::run::{Folder, TRADES, error};

const ENDINGS: [&str; 4] = ["gz", "zst", "xz", "bz2"];

/// A folder with `trades.csv` in every compression, made by converting it.
fn compressed() -> Folder {
    let folder = Folder::with_trades();
    for ending in ENDINGS {
        folder.ok(&["convert", "trades.csv", &format!("trades.csv.{ending}")]);
    }
    folder
}

#[test]
fn every_verb_reads_compressed_text() {
    let folder = compressed();
    for ending in ENDINGS {
        let file = format!("trades.csv.{ending}");
        assert_eq!(folder.ok(&["cat", &file]).out, folder.ok(&["cat", "trades.csv"]).out, "{file}");
        assert_eq!(folder.ok(&["head", "-n", "1", &file, "--columns", "sym"]).out, "sym\nBTC\n");
        assert_eq!(folder.ok(&["take", &file, "--rows", "1", "--columns", "price"]).out, "price\n2500.25\n");
        assert_eq!(folder.json(&["schema", "--json", &file])["format"], "csv");
        folder.ok(&["diff", &file, "trades.csv"]);
        folder.ok(&["verify", &file]);
        assert!(folder.ok(&["inspect", &file]).out.contains("compression: "), "{file}");
        let sum = folder.ok(&["sql", &format!("SELECT sum(quantity) AS n FROM '{file}'"), "--as", "csv"]);
        assert_eq!(sum.out, "n\n21\n");
        let piped = folder.run_with(&["cat", "-"], &folder.read(&file));
        assert_eq!(piped.out, folder.ok(&["cat", "trades.csv"]).out, "{piped:?}");
        folder.ok(&["convert", &file, &format!("{ending}.lance")]);
        folder.ok(&["diff", &format!("{ending}.lance"), "trades.csv"]);
    }
}

#[test]
fn the_content_tells_and_not_the_name() {
    let folder = compressed();
    folder.write("plain.csv", folder.read("trades.csv.zst"));
    folder.ok(&["diff", "plain.csv", "trades.csv"]);
    folder.write("no_name", folder.read("trades.csv.gz"));
    folder.ok(&["diff", "no_name", "trades.csv"]);
    folder.write("text.csv.gz", TRADES);
    folder.ok(&["diff", "text.csv.gz", "trades.csv"]);
    folder.ok(&["convert", "trades.csv", "trades.ndjson.xz"]);
    assert_eq!(folder.json(&["schema", "--json", "trades.ndjson.xz"])["format"], "ndjson");
}

#[test]
fn other_programs_read_what_is_written_and_the_other_way_round() {
    let folder = compressed();
    let plain = folder.ok(&["convert", "trades.csv", "-", "--to", "csv"]).out;
    for (ending, program) in [("gz", "gzip"), ("xz", "xz"), ("bz2", "bzip2"), ("zst", "zstd")] {
        if std::process::Command::new(program).arg("--version").output().is_err() {
            continue;
        }
        let said = folder.shell(&format!("{program} -dc < trades.csv.{ending}"));
        assert_eq!(said.out, plain, "{program}: {said:?}");
        let both = format!(
            "(head -n 3 trades.csv | {program} -c; tail -n +4 trades.csv | {program} -c) > two.csv.{ending} && \
             colkit diff two.csv.{ending} trades.csv"
        );
        let said = folder.shell(&both);
        assert_eq!(said.code, 0, "{program}: {said:?}");
    }
}

#[test]
fn printed_rows_are_compressed_too() {
    let folder = compressed();
    for (shape, file) in [("csv", "p.csv.gz"), ("ndjson", "p.ndjson.zst"), ("tsv", "p.tsv.xz")] {
        folder.ok(&["cat", "trades.csv", "--as", shape, "--out", file]);
        assert_ne!(folder.read(file).first(), Some(&b's'));
        folder.ok(&["diff", file, "trades.csv"]);
    }
    folder.ok(&["cat", "trades.csv", "--out", "q.ndjson.bz2"]);
    folder.ok(&["diff", "q.ndjson.bz2", "trades.csv"]);
}

#[test]
fn parts_keep_both_extensions() {
    let folder = compressed();
    folder.ok(&["convert", "trades.csv", "part.csv.gz", "--split-rows", "2"]);
    let parts: Vec<String> = folder.names().into_iter().filter(|n| n.starts_with("part")).collect();
    assert_eq!(parts, ["part-00000.csv.gz", "part-00001.csv.gz"]);
    folder.ok(&["convert", "part-00000.csv.gz", "part-00001.csv.gz", "all.csv"]);
    folder.ok(&["diff", "all.csv", "trades.csv"]);
}

#[test]
fn only_text_is_compressed_as_a_whole() {
    let folder = compressed();
    let said = folder.run(&["convert", "trades.csv", "x.parquet.gz", "--json"]);
    assert_eq!((said.code, error(&said)["code"].as_str()), (2, Some("bad_compression")), "{said:?}");
    let said = folder.run(&["convert", "trades.csv", "x.csv.gz", "--level", "10", "--json"]);
    assert_eq!((said.code, error(&said)["code"].as_str()), (2, Some("bad_level")), "{said:?}");
    let said = folder.run(&["convert", "trades.csv", "x.gz", "--json"]);
    assert_eq!((said.code, error(&said)["code"].as_str()), (2, Some("no_format_named")), "{said:?}");
    assert!(!folder.names().iter().any(|n| n.starts_with("x.")));
    folder.ok(&["convert", "trades.csv", "x.gz", "--to", "ndjson", "--level", "1"]);
    folder.ok(&["diff", "x.gz", "trades.csv"]);
}

#[test]
fn the_summary_counts_compressed_bytes() {
    let folder = compressed();
    let told = folder.json(&["convert", "trades.csv.gz", "again.csv.xz", "--json"]);
    assert_eq!(told["input_bytes"], folder.read("trades.csv.gz").len());
    assert_eq!(told["output_bytes"], folder.read("again.csv.xz").len());
}

#[test]
fn cut_and_damaged_files_say_where() {
    let folder = Folder::new();
    let rows: String = (0..20_000).map(|i| format!("{i},{}\n", i * 7919 % 1009)).collect();
    folder.write("t.csv", format!("a,b\n{rows}"));
    for ending in ENDINGS {
        let file = format!("t.csv.{ending}");
        folder.ok(&["convert", "t.csv", &file]);
        let whole = folder.read(&file);
        for length in [whole.len() - 1, whole.len() / 2, 12] {
            folder.write("cut.csv", &whole[..length]);
            let said = folder.run(&["cat", "cut.csv", "--json"]);
            let told = error(&said);
            assert_eq!((said.code, told["code"].as_str()), (1, Some("truncated")), "{file}, {length}: {said:?}");
            assert!(told["offset"].as_u64().unwrap() <= length as u64 && said.out.is_empty(), "{said:?}");
        }
        let mut damaged = whole.clone();
        let middle = whole.len() / 2;
        damaged[middle] ^= 0x55;
        folder.write("damaged.csv", &damaged);
        let said = folder.run(&["cat", "damaged.csv", "--json"]);
        let told = error(&said);
        assert!(told["class"] == "corrupt" && told["offset"].is_u64(), "{file}: {said:?}");
    }
    folder.write("garbage.csv.gz", [folder.read("t.csv.gz"), b"more".to_vec()].concat());
    let said = folder.run(&["cat", "garbage.csv.gz", "--json"]);
    assert_eq!(error(&said)["class"], "corrupt", "{said:?}");
}

#[test]
fn a_file_that_grows_without_end_is_refused() {
    let folder = Folder::new();
    let rows = "0,0,0,0,0,0,0,0,0,0\n".repeat(1 << 14);
    folder.write("t.csv", format!("a,b,c,d,e,f,g,h,i,j\n{rows}"));
    for ending in ENDINGS {
        let file = format!("t.csv.{ending}");
        folder.ok(&["convert", "t.csv", &file, "--level", "1"]);
        let said = folder.run(&["cat", &file, "--limit-output", "100K", "--json"]);
        let told = error(&said);
        assert_eq!((said.code, told["code"].as_str()), (1, Some("limit_exceeded")), "{file}: {said:?}");
        assert!(told["hint"].as_str().unwrap().contains("--limit-output"), "{said:?}");
        let many = folder.ok(&["cat", &file, "--rows", "0..1", "--memory", "32M"]);
        assert_eq!(many.out.lines().count(), 2, "{file}");
    }
}

#[test]
fn packing_keeps_compressed_files_unless_told() {
    let folder = compressed();
    let said = folder.ok(&["pack", "trades.csv.gz", "kept.at1"]);
    assert!(said.err.contains("--decompress"), "{said:?}");
    folder.ok(&["unpack", "kept.at1", "again.gz"]);
    assert_eq!(folder.read("again.gz"), folder.read("trades.csv.gz"));
    folder.ok(&["pack", "--decompress", "trades.csv.gz"]);
    folder.ok(&["unpack", "trades.csv.at1", "content.csv"]);
    assert_eq!(folder.read("content.csv"), folder.ok(&["convert", "trades.csv", "-", "--to", "csv"]).raw);
    let said = folder.run(&["pack", "--decompress", "trades.csv.gz", "x.at1", "--limit-output", "5", "--json"]);
    assert_eq!(error(&said)["code"], "limit_exceeded", "{said:?}");
    std::fs::create_dir(folder.path("logs")).unwrap();
    folder.write("logs/a.log.gz", folder.read("trades.csv.gz"));
    folder.write("logs/b.log", "x\n");
    folder.ok(&["pack", "--decompress", "logs", "logs.at1"]);
    let listed = folder.ok(&["unpack", "--list", "logs.at1"]).out;
    assert!(listed.contains("a.log") && !listed.contains(".gz"), "{listed}");
}

#[test]
fn a_lance_file_that_begins_with_a_compressed_page_is_a_lance_file() {
    let name = "hand_flat_zstd_rawframe.lance";
    let data = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../colkit-lance/tests/data/v2_0");
    let content = std::fs::read(data.join(name)).unwrap();
    assert!(content.starts_with(&[0x28, 0xB5, 0x2F, 0xFD]), "it begins as zstd does");
    let folder = Folder::new();
    folder.write(name, content);
    folder.ok(&["verify", name]);
    assert!(folder.ok(&["inspect", name]).out.contains("lance"));
}
