//! Datasets that others made or changed, writers that are killed, and SQL.

use super::dataset_writes::{rows, valid};
use super::run::{Folder, copy, error};
use std::path::Path;

fn vectors() -> String {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    crates.join("colkit-lance/tests/data/datasets").display().to_string()
}

/// Killed at any point, the dataset is at its old or its new version.
#[test]
fn a_killed_writer_leaves_a_whole_dataset() {
    let folder = Folder::new();
    let numbers: String = (0..3000).map(|i| format!("{i}\n")).collect();
    folder.write("n.csv", format!("id\n{numbers}"));
    folder.ok(&["convert", "n.csv", "n.lance/"]);
    let mut known = 3000;
    for round in 0..12u64 {
        let mut writer = std::process::Command::new(env!("CARGO_BIN_EXE_colkit"))
            .args(["convert", "n.csv", "n.lance/", "--append", "--rows-per-file", "500"])
            .current_dir(folder.path(""))
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(std::time::Duration::from_millis(3 + round * 4));
        let _ = writer.kill();
        writer.wait().unwrap();
        let now = rows(&folder, "n.lance");
        assert!(now == known || now == known + 3000, "{now} rows after {known}");
        known = now;
    }
    valid(&folder, "n.lance");
    folder.ok(&["convert", "n.csv", "n.lance/", "--append"]);
    assert_eq!(rows(&folder, "n.lance"), known + 3000);
}

/// Rows that keep their ids are matched by them.
#[test]
fn versions_are_compared_by_row_id() {
    let folder = Folder::new();
    copy(Path::new(&format!("{}/stable_p14.lance", vectors())), &folder.path("s.lance"));
    folder.ok(&["cat", "s.lance", "--as", "arrow", "--out", "rows.arrows"]);
    folder.ok(&["convert", "rows.arrows", "s.lance", "--append"]);
    let newest = folder.ok(&["versions", "s.lance", "--json"]).out.lines().count();
    folder.ok(&["delete", "s.lance", "--where", "id = 3 or id = 5"]);
    let before = rows(&folder, &format!("s.lance@{newest}")) - rows(&folder, "s.lance");
    let (old, new) = (newest.to_string(), (newest + 1).to_string());
    let told = folder.run(&["diff", "s.lance", "--at", &old, "--at", &new, "--json"]);
    let by_key = told.json()["by_key"].clone();
    assert_eq!((told.code, &by_key["columns"][0]), (1, &"_rowid".into()), "{told:?}");
    assert_eq!((&by_key["added"], &by_key["removed"], &by_key["changed"]), (&0.into(), &before.into(), &0.into()));
    folder.ok(&["compact", "s.lance"]);
    let compacted = (newest + 2).to_string();
    let same = folder.ok(&["diff", "s.lance", "--at", &new, "--at", &compacted]);
    assert!(same.out.contains("equal"), "rows keep their ids: {same:?}");
}

/// A dataset is read by several partitions, and its rows are counted without reading any.
#[test]
fn sql_reads_datasets_in_parts() {
    let folder = Folder::new();
    let mix = |i: u64, by: u64| (i + 1).wrapping_mul(by).rotate_left(29).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let word =
        |i: u64| (1..6).map(|n| format!("{:x}", mix(i, 0xD6E8_FEB8_6659_FD93u64.wrapping_mul(n)))).collect::<String>();
    let words: String = (0..60_000).map(|i| format!("{i},{}\n", word(i))).collect();
    folder.write("n.csv", format!("id,word\n{words}"));
    folder.ok(&["convert", "n.csv", "n.lance/", "--rows-per-file", "10000"]);
    let sum = folder.json(&["sql", "SELECT sum(id) FROM 'n.lance' WHERE word <> ''", "--threads", "2", "--json"]);
    assert_eq!(sum["rows"][0][0], 1_799_970_000u64);
    assert_eq!((&sum["tables"][0]["partitions"], &sum["tables"][0]["rows_out"]), (&2.into(), &60_000.into()), "{sum}");
    let counted = folder.json(&["sql", "SELECT count(*) FROM 'n.lance'", "--json"]);
    assert_eq!((&counted["rows"][0][0], &counted["bytes_read"]), (&60_000.into(), &0.into()), "{counted}");
}

#[test]
fn sql_follows_base_paths() {
    let folder = Folder::new();
    let query = format!("SELECT count(*) FROM '{}/clone_shallow_p14.lance' WHERE id >= 0", vectors());
    let moved = format!("/tmp/lance-dataset-vectors={}", vectors());
    let counted = folder.ok(&["sql", &query, "--base-path", &moved]).out;
    let all = format!("{}/clone_shallow_p14.v4.arrow", vectors());
    assert_eq!(counted.lines().last().unwrap(), folder.json(&["count", &all, "--json"])["rows"].to_string());
}

/// Datasets of pylance: names of manifests, row ids and flags are kept.
#[test]
fn datasets_of_others() {
    let vectors = vectors();
    let folder = Folder::new();
    let mut changed = 0;
    for entry in std::fs::read_dir(&vectors).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.extension().is_none_or(|e| e != "lance") || !path.join("_versions").is_dir() {
            continue;
        }
        copy(&path, &folder.path(&name));
        let moved = format!("/tmp/lance-dataset-vectors={vectors}");
        let Some(before) = folder
            .run(&["cat", &name, "--as", "arrow", "--base-path", &moved, "--out", "rows.arrows", "--force"])
            .code
            .eq(&0)
            .then(|| rows(&folder, &name))
        else {
            continue;
        };
        let said = folder.run(&["convert", "rows.arrows", &name, "--append", "--json"]);
        if said.code != 0 {
            let code = error(&said)["code"].as_str().unwrap().to_owned();
            assert!(
                ["unknown_feature", "unknown_version", "unknown_type", "type_not_supported"].contains(&code.as_str()),
                "{name}: {said:?}"
            );
            continue;
        }
        assert_eq!(rows(&folder, &name), before * 2, "{name}");
        let verified = folder.run(&["verify", &name, "--base-path", &moved, "--json"]);
        assert_eq!(verified.code, 0, "{name}: {verified:?}");
        changed += 1;
    }
    assert!(changed > 25, "{changed}");
}
