//! Lance datasets: directories with versions.

use super::run::{Folder, copy, error};
use colkit_test_servers::Server;
use serde_json::Value;
use std::path::Path;

fn vectors() -> String {
    format!("{}/../colkit-lance/tests/data/datasets", env!("CARGO_MANIFEST_DIR"))
}

fn vector(name: &str) -> String {
    format!("{}/{name}.lance", vectors())
}

#[test]
fn every_verb_reads_a_dataset() {
    let folder = Folder::new();
    let dataset = vector("del_few_p14");
    let expected = format!("{}/del_few_p14.v4.arrow", vectors());
    let inspected = folder.json(&["inspect", &dataset, "--json", "--layout"]);
    assert_eq!((&inspected["format"], &inspected["rows"]), (&"lance".into(), &40.into()));
    assert_eq!(
        (&inspected["properties"]["dataset version"], &inspected["properties"]["fragments"]),
        (&"4".into(), &"3".into())
    );
    assert_eq!(inspected["properties"]["deleted rows"], "6");
    assert_eq!(folder.json(&["schema", &dataset, "--json"])["rows"], 40);
    assert_eq!(folder.ok(&["head", &dataset, "-n", "2", "--as", "csv"]).out.lines().count(), 3);
    assert!(folder.ok(&["diff", &dataset, &expected]).out.contains("equal"));
    let cat = |file: &str| folder.ok(&["cat", file, "--where", "id > 20", "--columns", "word,id", "--as", "csv"]).out;
    assert_eq!(cat(&dataset), cat(&expected));
    let take = |file: &str| folder.ok(&["take", file, "--rows", "39,0,17..20", "--as", "csv"]).out;
    assert_eq!(take(&dataset), take(&expected));
    let valid = folder.json(&["verify", &dataset, "--json"]);
    assert_eq!(valid["valid"], true, "{valid}");
    folder.ok(&["convert", &dataset, "t.parquet"]);
    assert!(folder.ok(&["diff", "t.parquet", &expected]).out.contains("equal"));
    let query = |table: &str| format!("SELECT count(*) n, sum(id) s FROM '{table}' WHERE flag");
    assert_eq!(folder.ok(&["sql", &query(&dataset)]).out, folder.ok(&["sql", &query(&expected)]).out);
}

#[test]
fn versions_are_named_by_number_tag_branch_and_time() {
    let folder = Folder::new();
    let dataset = vector("tags_p14");
    let rows = |arguments: &[&str]| folder.json(&[&["schema"], arguments, &["--json"]].concat())["rows"].clone();
    assert_eq!(rows(&[&dataset]), 36);
    assert_eq!(rows(&[&dataset, "--at", "2"]), 15);
    assert_eq!(rows(&[&format!("{dataset}@3")]), 21);
    let listed = folder.ok(&["versions", &dataset, "--json"]).out;
    let listed: Vec<Value> = listed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(listed.iter().map(|v| v["rows"].as_u64().unwrap()).collect::<Vec<_>>(), [10, 15, 21, 28, 36]);
    assert_eq!(
        (&listed[1]["operation"], &listed[1]["added"], &listed[1]["removed"]),
        (&"append".into(), &5.into(), &0.into())
    );
    assert_eq!((&listed[0]["operation"], &listed[0]["added"]), (&"overwrite".into(), &Value::Null));
    for version in &listed {
        for tag in version["tags"].as_array().unwrap() {
            assert_eq!(rows(&[&dataset, "--at", tag.as_str().unwrap()]), version["rows"]);
        }
        assert_eq!(rows(&[&dataset, "--at", version["time"].as_str().unwrap()]), version["rows"], "{version}");
    }
    assert_eq!(listed.iter().map(|v| v["tags"].as_array().unwrap().len()).sum::<usize>(), 3);
    assert!(folder.ok(&["versions", &dataset]).out.contains("lance 14.0.2"));
    let count = format!("SELECT count(*) FROM '{dataset}@4'");
    assert_eq!(folder.ok(&["sql", &count]).out.lines().last(), Some("28"));
    let diff = folder.run(&["diff", &dataset, "--at", "1", "--at", "2"]);
    assert!(diff.code == 1 && diff.out.contains("10 (left), 15 (right)"), "{diff:?}");
    for (at, words) in [("9", "from 1 to 5"), ("no-such-tag", "no version, tag or branch"), ("1999-01-01", "as old as")]
    {
        let said = folder.run(&["schema", &dataset, "--at", at, "--json"]);
        assert_eq!((said.code, &error(&said)["code"]), (2, &"no_such_version".into()), "{said:?}");
        assert!(said.err.contains(words), "{said:?}");
    }
    folder.write("t.csv", "a\n1\n");
    assert_eq!(error(&folder.run(&["schema", "t.csv", "--at", "1", "--json"]))["code"], "no_such_version");
}

#[test]
fn branches_and_clones_find_their_files() {
    let folder = Folder::new();
    // The dataset was moved since it was written; a branch finds its main line.
    let branch = vector("branch_p14");
    for (at, version) in [("feature/one", 3), ("on-branch", 2)] {
        let expected = format!("{}/branch_p14@feature%2Fone.v{version}.arrow", vectors());
        folder.ok(&["convert", &branch, &format!("{version}.arrow"), "--at", at]);
        assert!(folder.ok(&["diff", &format!("{version}.arrow"), &expected]).out.contains("equal"));
    }
    let clone = vector("clone_shallow_p14");
    let lost = folder.run(&["cat", &clone, "--json"]);
    assert_eq!(error(&lost)["code"], "not_found", "{lost:?}");
    assert!(lost.err.contains("/tmp/lance-dataset-vectors/"), "{lost:?}");
    let moved = format!("/tmp/lance-dataset-vectors={}", vectors());
    let rows = folder.ok(&["cat", &clone, "--base-path", &moved, "--as", "csv"]).out;
    assert_eq!(rows, folder.ok(&["cat", &format!("{}/clone_shallow_p14.v4.arrow", vectors()), "--as", "csv"]).out);
}

#[test]
fn rows_by_id() {
    let folder = Folder::new();
    let dataset = vector("stable_p14");
    let all = folder.json(&["cat", &dataset, "--with-row-id", "--columns", "_rowid,_rowaddr,id", "--json"]);
    let rows = all["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 24);
    let ids: Vec<String> = [7usize, 2, 7].iter().map(|i| rows[*i][0].to_string()).collect();
    let taken = folder.json(&[
        "take",
        &dataset,
        "--row-ids",
        &format!("{},999999", ids.join(",")),
        "--columns",
        "id",
        "--json",
    ]);
    let expected: Vec<Value> = [7usize, 2, 7].iter().map(|i| rows[*i][2].clone()).collect();
    assert_eq!(taken["rows"].as_array().unwrap().iter().map(|r| r[0].clone()).collect::<Vec<_>>(), expected);
    folder.write("t.csv", "a\n1\n");
    for arguments in
        [["cat", "t.csv", "--with-row-id", "--json"].as_slice(), &["take", "t.csv", "--row-ids", "1", "--json"]]
    {
        assert_eq!(error(&folder.run(arguments))["code"], "option_of_another_format");
    }
}

#[test]
fn what_is_no_dataset_is_said() {
    let folder = Folder::new();
    std::fs::create_dir_all(folder.path("empty/_versions")).unwrap();
    for name in ["empty", "."] {
        let said = folder.run(&["schema", name, "--json"]);
        assert_eq!((said.code, &error(&said)["code"]), (2, &"is_a_folder".into()), "{said:?}");
    }
    assert_eq!(error(&folder.run(&["versions", "empty", "--json"]))["code"], "no_such_version");
    let missing = folder.run(&["cat", &vector("bad/missing_data_file"), "--json"]);
    assert_eq!((missing.code, &error(&missing)["code"]), (1, &"not_found".into()), "{missing:?}");
    assert_eq!(folder.json(&["schema", &vector("bad/missing_data_file"), "--json"])["rows"], 3);
    let verified = folder.run(&["verify", &vector("bad/deletion_count_wrong"), "--json"]);
    assert!(verified.code == 1 && verified.out.contains("bad_deletions"), "{verified:?}");
}

#[test]
fn datasets_in_stores() {
    let folder = Folder::new();
    for name in ["del_few_p14", "tags_p14"] {
        copy(Path::new(&vector(name)), &folder.path(&format!("bucket/{name}.lance")));
    }
    let server = Server::s3(&folder.path("")).unwrap();
    let environment = server.s3_environment();
    let run = |arguments: &[&str]| {
        let said = folder.run_in(&environment, arguments, b"");
        assert_eq!(said.code, 0, "{arguments:?}: {}", said.err);
        said
    };
    // The server takes folders for objects, so datasets are named with a slash.
    let url = "s3://bucket/del_few_p14.lance";
    let local = folder.ok(&["cat", &vector("del_few_p14"), "--as", "csv"]).out;
    assert_eq!(run(&["cat", &format!("{url}/"), "--as", "csv"]).out, local);
    server.take_log();
    // With the slash, a dataset is not looked for as an object: a list, the manifest's size, the manifest.
    run(&["schema", &format!("{url}/")]);
    assert_eq!(server.take_log().len(), 3);
    assert_eq!(run(&["schema", "s3://bucket/tags_p14.lance@2", "--json"]).json()["rows"], 15);
    assert_eq!(run(&["schema", "s3://bucket/tags_p14.lance", "--at", "3", "--json"]).json()["rows"], 21);
    assert_eq!(run(&["versions", "s3://bucket/tags_p14.lance"]).out.lines().count(), 6);
    for table in [format!("{url}/"), format!("{url}@4")] {
        let count = run(&["sql", &format!("SELECT count(*), sum(id) FROM '{table}'")]).out;
        assert_eq!(count.lines().last(), Some("40,3690"), "{table}");
    }
}
