//! `--memory` is a ceiling. Files that need more than it allows, by every way that leads through them, with an address space
//! of twice as much and what the program takes: what fits is done, what does not is an error that names the flag.

use super::confined;
use super::run::Folder;
use std::io::Write;

/// MiB that commands are allowed, at first.
const LITTLE: u64 = 16;

/// MiB of address space that the program takes: 166 in a debug build, for its code alone.
const PROGRAM: u64 = 128 + if cfg!(debug_assertions) { 48 } else { 0 };

/// More with which so little is enough, in a debug build.
const FOR_LITTLE: u64 = 2 * LITTLE + PROGRAM + if cfg!(debug_assertions) { 64 } else { 0 };

/// Then so much.
const MORE: u64 = 64;

/// Runs a command over a file, which may succeed or find that it has too little memory, and nothing else. Returns what it did
/// with little.
fn ends(folder: &Folder, way: &[&str], file: &str) -> i32 {
    ends_with(folder, way, file, MORE, 2 * MORE + PROGRAM);
    ends_with(folder, way, file, LITTLE, FOR_LITTLE)
}

fn ends_with(folder: &Folder, way: &[&str], file: &str, memory: u64, space: u64) -> i32 {
    let path = folder.path(file);
    let memory = format!("{memory}M");
    let mut arguments = vec![way[0], path.to_str().unwrap()];
    arguments.extend(&way[1..]);
    arguments.extend(["--memory", &memory, "--threads", "2"]);
    let (code, said) = confined::said(&arguments, space);
    let too_little = said.contains("limit_exceeded") && said.contains("--memory");
    assert!(code == 0 || too_little, "{arguments:?}: exit code {code}: {said}");
    code
}

/// A file that goes on with zeros to this length, which take no room on the disk.
fn long(folder: &Folder, name: &str, start: &str, length: u64) {
    let mut file = std::fs::File::create(folder.path(name)).unwrap();
    file.write_all(start.as_bytes()).unwrap();
    file.set_len(length).unwrap();
}

#[test]
fn long_lines() {
    let folder = Folder::new();
    for (name, start) in [
        ("header.csv", "a"),
        ("row.csv", "a,b\n1,"),
        ("quoted.csv", "a,b\n1,\""),
        ("line.ndjson", "{\"a\":1}\n{\"a\":\""),
    ] {
        long(&folder, name, start, 700_000_000);
        let from = name.split('.').nth(1).unwrap();
        for way in [&["cat"][..], &["verify"], &["convert", "-", "--to", "csv"]] {
            assert_eq!(ends(&folder, &[way, &["--from", from]].concat(), name), 1, "{way:?} {name}");
        }
    }
}

#[test]
fn too_many_columns() {
    let folder = Folder::new();
    let names: Vec<String> = (0..1_000_000).map(|i| format!("c{i}")).collect();
    folder.write("wide.csv", format!("{}\n{}1\n", names.join(","), "1,".repeat(999_999)));
    let members: Vec<String> = (0..300_000).map(|i| format!("\"k{i}\":{i}")).collect();
    folder.write("wide.ndjson", format!("{{{}}}\n", members.join(",")));
    folder.write("deep.ndjson", format!("{{\"a\":[{{{}}}]}}\n", members.join(",")));
    for file in ["wide.csv", "wide.ndjson", "deep.ndjson"] {
        for way in [&["schema"][..], &["cat"], &["inspect"], &["verify"]] {
            assert_eq!(ends(&folder, way, file), 1, "{way:?} {file}");
        }
    }
}

/// As many columns as there may just be, and what can be done with them.
#[test]
fn many_columns() {
    let folder = Folder::new();
    let names: Vec<String> = (0..10_000).map(|i| format!("c{i}")).collect();
    let rows = format!("{}1\n", "1,".repeat(9_999)).repeat(20);
    folder.write("wide.csv", format!("{}\n{rows}", names.join(",")));
    for way in [
        &["schema"][..],
        &["schema", "--json"],
        &["inspect", "--layout"],
        &["inspect", "--layout", "--json"],
        &["head", "-n", "3"],
        &["cat", "--as", "csv"],
        &["cat", "--as", "ndjson"],
        &["cat", "--as", "table"],
        &["cat", "--as", "arrow"],
        &["cat", "--json"],
        &["take", "--rows", "1,0"],
        &["convert", "-", "--to", "csv"],
        &["convert", "-", "--to", "lance"],
        &["convert", "-", "--to", "parquet"],
        &["verify"],
    ] {
        ends(&folder, way, "wide.csv");
    }
    assert_eq!(ends(&folder, &["schema"], "wide.csv"), 0);
}

#[test]
fn many_frames() {
    let folder = Folder::new();
    // Stored frames of nothing: their length, raw, stored.
    for (name, count, map) in [("some.at1", 20_000, 0), ("many.at1", 300_000, 1), ("more.at1", 1_000_000, 1)] {
        folder.write(name, [&b"AT1\x03\xff\x01"[..], &b"\x02\x01\x02".repeat(count)].concat());
        assert_eq!(ends(&folder, &["inspect", "--layout"], name), map, "{name}");
        assert_eq!(ends(&folder, &["inspect", "--layout", "--json"], name), map, "{name}");
        ends(&folder, &["verify"], name);
        // With more memory a million frames are unpacked, which takes a debug build too long.
        ends_with(&folder, &["unpack", "-"], name, LITTLE, FOR_LITTLE);
    }
}

/// Sixteen million empty texts in 62 KB.
#[test]
fn empty_texts() {
    let folder = Folder::new();
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/empty_texts.gppcol");
    std::fs::copy(data, folder.path("texts.gppcol")).unwrap();
    assert_eq!(ends(&folder, &["head"], "texts.gppcol"), 0);
    assert_eq!(ends(&folder, &["inspect", "--layout"], "texts.gppcol"), 0);
    for way in [&["cat"][..], &["cat", "--as", "ndjson"], &["verify"], &["convert", "-", "--to", "csv"]] {
        assert_eq!(ends(&folder, way, "texts.gppcol"), 1, "{way:?}");
    }
}

/// Lists of millions of items, and a text of gigabytes, in files of a few KB.
#[test]
fn parquet_pages_that_claim_much() {
    let folder = Folder::new();
    for name in ["list_levels.parquet", "list_nulls.parquet", "large_string_map.parquet"] {
        let data = format!("{}/../colkit-interop/tests/data/malformed/{name}", env!("CARGO_MANIFEST_DIR"));
        std::fs::copy(data, folder.path(name)).unwrap();
        for way in [&["cat"][..], &["verify"], &["convert", "-", "--to", "csv"], &["take", "--rows", "0"]] {
            assert_eq!(ends(&folder, way, name), 1, "{way:?} {name}");
        }
        ends(&folder, &["head", "-n", "1"], name);
    }
}

/// What no check foresees is stopped where it is allocated.
#[test]
fn the_allocator_has_the_last_word() {
    let folder = Folder::new();
    folder.write("text.csv", format!("a\n{}\n", "x".repeat(3_000_000)));
    let rows = ["0"; 100].join(",");
    let said = folder.run(&["take", "text.csv", "--rows", &rows, "--memory", "16M", "--json"]);
    assert_eq!(said.code, 1, "{said:?}");
    let error = super::run::error(&said);
    assert_eq!((error["class"].as_str(), error["code"].as_str()), (Some("limit"), Some("limit_exceeded")), "{error}");
    assert!(error["hint"].as_str().unwrap().contains("--memory"), "{error}");
    assert_eq!(folder.ok(&["take", "text.csv", "--rows", &rows]).out.len(), 2 + 100 * 3_000_001);
}
