//! The real command over every malformed file and every file that fuzzing found worth keeping, with 256 MiB of address
//! space and ten seconds of processor time: it ends by itself, with a message.

use super::confined::said;
use super::run::{Folder, error};
use std::path::{Path, PathBuf};

/// MiB of address space.
const SPACE: u64 = 256;

/// All files in a folder and the folders in it that are not documents about the others.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let note = path.extension().is_some_and(|e| e == "json" || e == "txt" || e == "md");
        if path.is_dir() {
            files(&path, found);
        } else if !note {
            found.push(path);
        }
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What is said of files that cannot be read, and its exit code.
fn check(arguments: &[&str], codes: &[i32]) {
    let (code, said) = said(arguments, SPACE);
    assert!(codes.contains(&code), "{arguments:?}: exit code {code}: {said}");
}

/// Room for the rest of the program within the address space.
const WITHIN: [&str; 6] = ["--memory", "32M", "--threads", "2", "--limit-output", "64M"];

fn check_all(paths: &[PathBuf], verb: &[&str], codes: &[i32]) {
    let next = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(path) = paths.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
                    let mut arguments = verb.to_vec();
                    arguments.push(path.to_str().unwrap());
                    arguments.extend(WITHIN);
                    if verb == ["unpack"] {
                        arguments.push("-");
                    }
                    check(&arguments, codes);
                }
            });
        }
    });
}

#[test]
fn malformed_files_are_refused_in_little_memory_and_time() {
    let mut found = Vec::new();
    for name in ["plain", "at1", "lance", "interop"] {
        files(&root().join(format!("crates/colkit-{name}/tests/data/malformed")), &mut found);
    }
    assert!(found.len() > 200, "{}", found.len());
    let (packed, tables): (Vec<PathBuf>, Vec<PathBuf>) =
        found.into_iter().partition(|path| path.extension().is_some_and(|e| e == "at1"));
    check_all(&tables, &["verify"], &[1]);
    check_all(&tables, &["cat"], &[0, 1]);
    check_all(&tables, &["inspect", "--layout"], &[0, 1]);
    check_all(&packed, &["unpack"], &[1, 2]);
    check_all(&packed, &["verify"], &[0, 1]);
}

#[test]
fn files_from_fuzzing_do_no_harm() {
    let mut found = Vec::new();
    files(&root().join("fuzz/corpus"), &mut found);
    assert!(found.len() > 100, "{}", found.len());
    check_all(&found, &["verify"], &[0, 1]);
}

/// 600 bytes that say they have 2^50 rows, all null. Nothing is wrong with that, but reading them would never end.
#[test]
fn rows_without_end_are_ended() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/endless.lance");
    let file = file.to_str().unwrap();
    let limit = ["--limit-output", "16M", "--threads", "2"];
    for verb in [&["verify"][..], &["cat"], &["convert"], &["cat", "--where", "x = 1"], &["cat", "--columns", "n"]] {
        let mut arguments = verb.to_vec();
        arguments.insert(1, file);
        if verb == ["convert"] {
            arguments.extend(["-", "--to", "csv"]);
        }
        check(&[&arguments[..], &limit].concat(), &[1]);
    }
    check(&["inspect", "--layout", file], &[0]);
    check(&["take", file, "--rows", "1125899906842623,0"], &[0]);
    check(&["head", file], &[0]);
}

#[test]
fn every_limit_can_be_set() {
    let folder = Folder::with_trades();
    folder.write("nested.ndjson", "{\"a\":{\"b\":{\"c\":[1,2,3]}}}\n");
    folder.ok(&["pack", "trades.csv", "trades.at1"]);
    let rows: String = (0..50_000).map(|i| format!("{i}\n")).collect();
    folder.write("long.csv", format!("n\n{rows}"));
    for arguments in [
        &["cat", "trades.csv", "--limit-columns", "3"][..],
        &["cat", "trades.csv", "--limit-name", "4"],
        &["cat", "trades.csv", "--limit-value", "10"],
        &["cat", "nested.ndjson", "--limit-nesting", "2"],
        &["cat", "long.csv", "--limit-output", "100K"],
        &["verify", "long.csv", "--limit-output", "100K"],
        &["unpack", "trades.at1", "-", "--limit-output", "20"],
    ] {
        let said = folder.run(&[arguments, &["--json"]].concat());
        assert_eq!(said.code, 1, "{arguments:?}: {said:?}");
        if arguments[0] != "verify" {
            assert_eq!(error(&said)["class"], "limit", "{arguments:?}: {said:?}");
        }
    }
    let said = folder.ok(&["cat", "long.csv", "--limit-batch-rows", "7", "--limit-expansion", "1"]);
    assert_eq!(said.out.lines().count(), 50_001);
}
