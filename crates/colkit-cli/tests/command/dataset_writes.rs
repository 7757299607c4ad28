//! Writing Lance datasets: every change is a new version, and earlier ones stay.

use super::run::{Folder, Said, TRADES, error};
use serde_json::Value;

fn files(folder: &Folder, name: &str) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder.path(name)) else { return Vec::new() };
    let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

pub fn rows(folder: &Folder, dataset: &str) -> u64 {
    folder.json(&["count", dataset, "--json"])["rows"].as_u64().unwrap()
}

fn listed(said: &Said) -> Vec<Value> {
    said.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn versions(folder: &Folder, dataset: &str) -> Vec<(String, u64)> {
    let said = folder.ok(&["versions", dataset, "--json"]);
    listed(&said).iter().map(|v| (v["operation"].as_str().unwrap().to_owned(), v["rows"].as_u64().unwrap())).collect()
}

pub fn valid(folder: &Folder, dataset: &str) -> Value {
    let said = folder.json(&["verify", dataset, "--json"]);
    assert_eq!(said["valid"], true, "{said}");
    said
}

#[test]
fn create_append_overwrite() {
    let folder = Folder::with_trades();
    let written = folder.json(&["convert", "trades.csv", "t.lance/", "--rows-per-file", "3", "--json"]);
    assert_eq!((&written["version"], &written["rows"], &written["files"]), (&1.into(), &4.into(), &2.into()));
    assert_eq!(files(&folder, "t.lance/_versions"), ["18446744073709551614.manifest"]);
    assert_eq!((files(&folder, "t.lance/data").len(), files(&folder, "t.lance/_transactions").len()), (2, 1));
    assert_eq!(folder.ok(&["cat", "t.lance", "--as", "csv"]).out, TRADES);
    assert!(folder.ok(&["diff", "t.lance", "trades.csv"]).out.contains("equal"));
    // Columns in another order, one missing, and numbers that alone would be whole ones.
    folder.write("more.csv", "note,price,sym\nx,7,NEW\n");
    let added = folder.json(&["convert", "more.csv", "t.lance", "--append", "--json"]);
    assert_eq!((&added["version"], &added["rows"]), (&2.into(), &1.into()), "{added}");
    assert_eq!(
        folder.ok(&["cat", "t.lance", "--where", "sym = \"NEW\"", "--as", "csv"]).out.lines().last(),
        Some("NEW,7.0,,x")
    );
    folder.write("other.csv", "a\n1\n2\n");
    folder.ok(&["convert", "other.csv", "t.lance/", "--overwrite"]);
    assert_eq!(folder.ok(&["cat", "t.lance", "--as", "csv"]).out, "a\n1\n2\n");
    assert_eq!(folder.ok(&["cat", "t.lance@1", "--as", "csv"]).out, TRADES);
    let told = versions(&folder, "t.lance");
    let expected = [("overwrite", 4), ("append", 5), ("overwrite", 2)];
    assert_eq!(told, expected.map(|(operation, rows)| (operation.to_owned(), rows)));
    assert_eq!(valid(&folder, "t.lance")["findings"], Value::Array(Vec::new()));
    // No rows make no fragment, and no version if there is nothing new.
    folder.write("none.csv", "a\n");
    assert_eq!(folder.json(&["convert", "none.csv", "t.lance/", "--append", "--json"])["version"], 3);
    folder.ok(&["convert", "none.csv", "empty.lance/", "--schema", "a:int64"]);
    assert_eq!((rows(&folder, "empty.lance"), files(&folder, "empty.lance/data").len()), (0, 0));
    folder.ok(&["convert", "other.csv", "empty.lance/", "--append"]);
    assert_eq!(rows(&folder, "empty.lance"), 2);
}

#[test]
fn columns_are_selected_as_for_files() {
    let folder = Folder::with_trades();
    folder.ok(&["convert", "trades.csv", "t.lance/", "--select", "filename as source, sym", "--filename"]);
    assert!(folder.ok(&["head", "-n", "1", "t.lance", "--as", "csv"]).out.starts_with("source,sym\ntrades.csv,"));
}

#[test]
fn what_does_not_fit_is_refused_and_leaves_nothing() {
    let folder = Folder::with_trades();
    folder.ok(&["convert", "trades.csv", "t.lance/"]);
    folder.write("wrong.csv", "sym,price,quantity,note,extra\na,1,2,b,c\n");
    folder.write("text.ndjson", "{\"sym\":\"a\",\"price\":\"dear\"}\n");
    folder.write("parts.csv", "sym,price\nA,1\n");
    folder.ok(&["convert", "parts.csv", "typed.parquet", "--schema", "price:int32"]);
    for (arguments, code, status) in [
        (["convert", "trades.csv", "t.lance/"].as_slice(), "already_exists", 2),
        (&["convert", "trades.csv", "t.lance"], "already_exists", 2),
        (&["convert", "trades.csv", "none.lance", "--append"], "no_such_version", 2),
        (&["convert", "wrong.csv", "t.lance", "--append"], "schemas_differ", 1),
        (&["convert", "typed.parquet", "t.lance", "--append"], "schemas_differ", 1),
        (&["convert", "trades.csv", "t.lance/", "--append", "--lance-version", "2.0"], "conflicting_options", 2),
        (&["convert", "trades.csv", "t.lance/", "--to", "csv"], "option_of_another_format", 2),
        (&["convert", "trades.csv", "x.csv", "--rows-per-file", "1"], "option_of_another_format", 2),
        (&["convert", "trades.csv", "t.lance/", "--force"], "option_of_another_format", 2),
        (&["convert", "trades.csv", "trades.csv/"], "already_exists", 2),
    ] {
        let said = folder.run(&[arguments, &["--json"]].concat());
        assert_eq!((said.code, &error(&said)["code"]), (status, &code.into()), "{arguments:?} {said:?}");
    }
    let said = folder.run(&["convert", "text.ndjson", "t.lance", "--append"]);
    assert_eq!(said.code, 1, "{said:?}");
    let hint = folder.run(&["convert", "trades.csv", "t.lance/"]);
    assert!(hint.err.contains("--append") && hint.err.contains("--overwrite"), "{hint:?}");
    assert_eq!(files(&folder, "t.lance/data").len(), 1);
    assert_eq!(valid(&folder, "t.lance")["findings"], Value::Array(Vec::new()));
    assert!(!folder.path("none.lance").exists());
}

#[test]
fn rows_are_deleted_in_new_versions() {
    let folder = Folder::new();
    let numbers: String = (0..20_000).map(|i| format!("{i},{}\n", i % 10)).collect();
    folder.write("n.csv", format!("id,digit\n{numbers}"));
    folder.ok(&["convert", "n.csv", "n.lance/", "--rows-per-file", "8000"]);
    let few = folder.json(&["delete", "n.lance", "--where", "id < 100", "--json"]);
    assert_eq!((&few["version"], &few["rows"], &few["left"]), (&2.into(), &100.into(), &19_900.into()));
    let many = folder.json(&["delete", "n.lance", "--where", "id < 7000", "--json"]);
    assert_eq!((&many["rows"], &many["left"]), (&6900.into(), &13_000.into()));
    let kinds: Vec<String> = files(&folder, "n.lance/_deletions");
    assert!(kinds.iter().any(|k| k.ends_with(".arrow")) && kinds.iter().any(|k| k.ends_with(".bin")), "{kinds:?}");
    let whole = folder.json(&["delete", "n.lance", "--where", "id >= 8000 and id < 16000", "--json"]);
    assert_eq!((&whole["fragments_removed"], &whole["left"]), (&1.into(), &5000.into()));
    let none = folder.json(&["delete", "n.lance", "--where", "id < 0", "--json"]);
    assert_eq!((&none["version"], &none["rows"]), (&4.into(), &0.into()));
    assert_eq!([1, 2, 3, 4].map(|v| rows(&folder, &format!("n.lance@{v}"))), [20_000, 19_900, 13_000, 5000]);
    assert_eq!(
        folder.ok(&["sql", "SELECT min(id), max(id), count(*) FROM 'n.lance'"]).out.lines().last(),
        Some("7000,19999,5000")
    );
    assert_eq!(valid(&folder, "n.lance")["findings"], Value::Array(Vec::new()));
    assert_eq!(
        error(&folder.run(&["delete", "n.lance", "--where", "nothing = 1", "--json"]))["code"],
        "no_such_column"
    );
    folder.ok(&["delete", "n.lance", "--where", "id >= 0"]);
    assert_eq!(rows(&folder, "n.lance"), 0);
    folder.ok(&["tag", "n.lance", "first", "1"]);
    let said = folder.run(&["restore", "n.lance", "second", "--json"]);
    assert_eq!(error(&said)["code"], "no_such_version");
    folder.ok(&["restore", "n.lance", "first"]);
    assert_eq!(rows(&folder, "n.lance"), 20_000);
    assert_eq!(versions(&folder, "n.lance").last().unwrap().0, "restore");
}

#[test]
fn tags_name_versions() {
    let folder = Folder::with_trades();
    folder.ok(&["convert", "trades.csv", "t.lance/"]);
    folder.ok(&["convert", "trades.csv", "t.lance/", "--append"]);
    folder.ok(&["tag", "t.lance", "first", "1"]);
    folder.ok(&["tag", "t.lance", "newest"]);
    let said = folder.run(&["tag", "t.lance", "first", "2", "--json"]);
    assert_eq!(error(&said)["code"], "already_exists", "{said:?}");
    let told = |folder: &Folder| {
        let tags = listed(&folder.ok(&["tag", "t.lance", "--json"]));
        tags.iter().map(|t| format!("{}={}", t["tag"].as_str().unwrap(), t["version"])).collect::<Vec<_>>()
    };
    assert_eq!(told(&folder), ["first=1", "newest=2"]);
    assert_eq!((rows(&folder, "t.lance@first"), rows(&folder, "t.lance@newest")), (4, 8));
    folder.ok(&["tag", "t.lance", "first", "2", "--force"]);
    folder.ok(&["tag", "t.lance", "newest", "--delete"]);
    assert_eq!(told(&folder), ["first=2"]);
    for (arguments, code) in [
        (["tag", "t.lance", "a/b"].as_slice(), "bad_reference"),
        (&["tag", "t.lance", "x", "9"], "no_such_version"),
        (&["tag", "t.lance", "newest", "--delete"], "no_such_version"),
    ] {
        assert_eq!(error(&folder.run(&[arguments, &["--json"]].concat()))["code"], code, "{arguments:?}");
    }
    assert!(folder.ok(&["tag", "t.lance"]).out.contains("first"));
}

#[test]
fn a_number_is_no_tag() {
    let folder = Folder::with_trades();
    folder.ok(&["convert", "trades.csv", "t.lance/"]);
    let said = folder.run(&["tag", "t.lance", "9", "1", "--json"]);
    assert_eq!((said.code, error(&said)["code"].as_str()), (2, Some("bad_reference")));
}

#[test]
fn compaction_keeps_rows() {
    let folder = Folder::new();
    let numbers: String = (0..1000).map(|i| format!("{i}\n")).collect();
    folder.write("n.csv", format!("id\n{numbers}"));
    folder.ok(&["convert", "n.csv", "n.lance/", "--rows-per-file", "90"]);
    folder.ok(&["delete", "n.lance", "--where", "id >= 300 and id < 400"]);
    let before = folder.ok(&["cat", "n.lance", "--as", "csv"]).out;
    let done = folder.json(&["compact", "n.lance", "--rows-per-file", "400", "--json"]);
    assert_eq!((&done["version"], &done["rows"]), (&3.into(), &900.into()), "{done}");
    assert_eq!((&done["fragments_added"], &done["rows_dropped"]), (&3.into(), &100.into()), "{done}");
    assert_eq!(folder.ok(&["cat", "n.lance", "--as", "csv"]).out, before);
    assert_eq!(folder.json(&["compact", "n.lance", "--rows-per-file", "100", "--json"])["version"], 3);
    assert_eq!(valid(&folder, "n.lance")["findings"], Value::Array(Vec::new()));
    assert_eq!(rows(&folder, "n.lance@1"), 1000);
}

#[test]
fn cleanup_removes_what_nothing_needs() {
    let folder = Folder::with_trades();
    folder.ok(&["convert", "trades.csv", "t.lance/"]);
    for _ in 0..3 {
        folder.ok(&["convert", "trades.csv", "t.lance/", "--overwrite"]);
    }
    folder.ok(&["tag", "t.lance", "kept", "2"]);
    folder.write("t.lance/data/stray.lance", "left by somebody");
    let findings = valid(&folder, "t.lance")["findings"].clone();
    assert_eq!(
        (findings.as_array().unwrap().len(), &findings[0]["part"]),
        (1, &"data/stray.lance".into()),
        "{findings}"
    );
    assert!(folder.ok(&["cleanup", "t.lance"]).err.contains("nothing to remove"), "all is young");
    let said = folder.run(&["cleanup", "t.lance", "--older-than", "0s", "--json"]);
    assert_eq!((said.code, &error(&said)["code"]), (2, &"not_confirmed".into()), "{said:?}");
    let plan = folder.json(&["cleanup", "t.lance", "--older-than", "0s", "--dry-run", "--json"]);
    assert_eq!((&plan["versions"], plan["files"].as_array().unwrap().len()), (&serde_json::json!([1, 3]), 6), "{plan}");
    assert_eq!(files(&folder, "t.lance/_versions").len(), 4);
    folder.ok(&["cleanup", "t.lance", "--older-than", "0s", "--yes"]);
    assert_eq!(files(&folder, "t.lance/_versions").len(), 2);
    assert_eq!((rows(&folder, "t.lance"), rows(&folder, "t.lance@kept")), (4, 4));
    assert!(folder.path("t.lance/data/stray.lance").exists(), "it may belong to a writer that is at work");
    valid(&folder, "t.lance@kept");
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(8 * 24 * 3600);
    let stray = std::fs::File::options().write(true).open(folder.path("t.lance/data/stray.lance")).unwrap();
    stray.set_modified(old).unwrap();
    folder.ok(&["cleanup", "t.lance", "--yes"]);
    assert!(!folder.path("t.lance/data/stray.lance").exists());
    assert_eq!(files(&folder, "t.lance/data").len(), 2);
}

#[test]
fn several_writers_lose_nothing() {
    let folder = Folder::new();
    folder.write("start.csv", "id\n-1\n");
    folder.ok(&["convert", "start.csv", "t.lance/", "--schema", "id:int64"]);
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let folder = &folder;
            scope.spawn(move || {
                for round in 0..4 {
                    let name = format!("{writer}-{round}.csv");
                    folder.write(&name, format!("id\n{}\n", writer * 10 + round));
                    folder.ok(&["convert", &name, "t.lance/", "--append"]);
                }
            });
        }
        scope.spawn(|| folder.ok(&["delete", "t.lance", "--where", "id = -1"]));
    });
    let mut found: Vec<i64> =
        folder.ok(&["cat", "t.lance", "--as", "csv"]).out.lines().skip(1).map(|l| l.parse().unwrap()).collect();
    found.sort_unstable();
    let expected: Vec<i64> = (0..4).flat_map(|writer| (0..4).map(move |round| writer * 10 + round)).collect();
    assert_eq!(found, expected);
    assert_eq!(versions(&folder, "t.lance").len(), 18);
    assert_eq!(valid(&folder, "t.lance")["findings"], Value::Array(Vec::new()));
}

#[test]
#[cfg(unix)]
fn cleanup_removes_nothing_behind_a_link() {
    for linked in ["data", "_deletions", "_transactions", "_indices", "_versions"] {
        let folder = Folder::with_trades();
        folder.ok(&["convert", "trades.csv", "t.lance/"]);
        folder.ok(&["convert", "trades.csv", "t.lance/", "--overwrite"]);
        std::fs::create_dir_all(folder.path("elsewhere/below")).unwrap();
        for file in ["elsewhere/precious.txt", "elsewhere/below/too.txt"] {
            folder.write(file, "x");
            let old = std::time::SystemTime::now() - std::time::Duration::from_secs(400 * 24 * 3600);
            std::fs::File::options().write(true).open(folder.path(file)).unwrap().set_modified(old).unwrap();
        }
        let inside = folder.path("t.lance").join(linked);
        if inside.exists() {
            folder.shell(&format!("cp -a t.lance/{linked}/. elsewhere/ && rm -r t.lance/{linked}"));
        }
        std::os::unix::fs::symlink(folder.path("elsewhere"), &inside).unwrap();
        let said = folder.run(&["cleanup", "t.lance", "--older-than", "0s", "--yes", "--json"]);
        assert_eq!((said.code, error(&said)["code"].as_str()), (1, Some("linked_folder")), "{linked}: {said:?}");
        assert_eq!(folder.read("elsewhere/precious.txt"), b"x", "{linked}");
        assert_eq!(folder.read("elsewhere/below/too.txt"), b"x", "{linked}");
        // Reading follows links.
        assert_eq!(folder.ok(&["count", "t.lance"]).out.trim(), "4", "{linked}");
    }
}
