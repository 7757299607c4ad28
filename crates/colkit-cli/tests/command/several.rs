//! Several files, patterns and folders as one table.

use super::run::{Folder, error};
use std::process::Command;

fn put(folder: &Folder, name: &str, content: &str) {
    let path = folder.path(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
}

/// Months of which the second has fractions.
fn months() -> Folder {
    let folder = Folder::new();
    put(&folder, "m-1.csv", "id,x\n1,10\n2,20\n");
    put(&folder, "m-2.csv", "id,x\n3,1.5\n");
    put(&folder, "m-3.csv", "id,x\n4,7\n5,8\n");
    folder
}

#[test]
fn every_verb_takes_several_files() {
    let folder = months();
    let (all, names) = ("id,x\n1,10.0\n2,20.0\n3,1.5\n4,7.0\n5,8.0\n", ["m-1.csv", "m-2.csv", "m-3.csv"]);
    let with = |words: &[&'static str]| -> Vec<&'static str> { words.iter().copied().chain(names).collect() };
    assert_eq!(folder.ok(&with(&["cat"])).out, all);
    assert_eq!(folder.ok(&["cat", "m-*.csv"]).out, all);
    assert_eq!(folder.ok(&["cat", "."]).out, all);
    assert_eq!(folder.ok(&with(&["head", "-n", "3"])).out, "id,x\n1,10.0\n2,20.0\n3,1.5\n");
    assert_eq!(folder.ok(&with(&["tail", "-n", "3"])).out, "id,x\n3,1.5\n4,7.0\n5,8.0\n");
    assert_eq!(folder.ok(&with(&["sample", "-n", "5"])).out, all);
    assert_eq!(folder.ok(&with(&["take", "--rows", "4,0,2"])).out, "id,x\n5,8.0\n1,10.0\n3,1.5\n");
    assert_eq!(folder.ok(&with(&["count"])).out, "5\n");
    assert_eq!(folder.ok(&with(&["count", "--where", "x > 5"])).out, "4\n");
    assert!(folder.ok(&with(&["schema"])).out.contains("\"x\"   float64"));
    assert_eq!(folder.ok(&with(&["cat", "--where", "id in (2, 4)", "--columns", "id"])).out, "id\n2\n4\n");
    folder.ok(&["convert", "m-*.csv", "all.lance"]);
    assert_eq!(folder.ok(&["diff", "m-*.csv", "all.lance"]).code, 0);
    let inspected = folder.ok(&["inspect", "--json", "m-[12].csv"]).out;
    assert_eq!(inspected.lines().count(), 2);
    let verified = folder.ok(&["verify", "--json", "m-*.csv"]).out;
    assert_eq!(verified.lines().filter(|line| line.contains("\"valid\":true")).count(), 3);
    assert_eq!(folder.run(&["inspect", "m-2.csv", "none-*"]).code, 1);
}

#[test]
fn folders_with_keys_are_columns() {
    let folder = Folder::new();
    put(&folder, "d/year=2023/month=12/a.csv", "id\n1\n");
    put(&folder, "d/year=2024/month=01/a.csv", "id\n2\n3\n");
    put(&folder, "d/year=2024/month=01/_SUCCESS", "x");
    put(&folder, "d/year=2024/.hidden/a.csv", "id\n9\n");
    put(&folder, "d/README", "x");
    let all = "id,year,month\n1,2023,12\n2,2024,01\n3,2024,01\n";
    assert_eq!(folder.ok(&["cat", "d"]).out, all);
    assert_eq!(folder.ok(&["cat", "d/**/*.csv"]).out, all);
    assert_eq!(folder.ok(&["sql", "SELECT id, year, month FROM 'd' ORDER BY id"]).out, all);
    assert_eq!(
        folder.ok(&["cat", "d", "--where", "month = \"01\"", "--columns", "year,id"]).out,
        "year,id\n2024,2\n2024,3\n"
    );
    let explained = folder.ok(&["cat", "d", "--where", "year = \"2023\"", "--explain"]);
    assert!(explained.err.contains("plan: 1 split, 1 row"), "{explained:?}");
    assert_eq!(folder.ok(&["count", "d", "--where", "year = \"2025\""]).out, "0\n");
    let named = folder.ok(&["cat", "d", "--filename", "--columns", "filename,id", "--where", "id > 1"]);
    assert_eq!(named.out.lines().nth(1), Some("d/year=2024/month=01/a.csv,2"));
    // What a file says itself counts more.
    put(&folder, "e/year=1/a.csv", "id,year\n1,2024\n");
    assert_eq!(folder.ok(&["cat", "e"]).out, "id,year\n1,2024\n");
    assert_eq!(folder.run(&["count", "d/year=2024/.hidden"]).out, "1\n");
    std::fs::create_dir(folder.path("empty")).unwrap();
    let said = folder.run(&["count", "--json", "empty"]);
    assert_eq!((said.code, error(&said)["code"].as_str()), (2, Some("is_a_folder")));
}

#[test]
fn errors_name_the_file() {
    let folder = months();
    put(&folder, "other.csv", "id,y\n1,2\n");
    let said = folder.run(&["cat", "--json", "m-1.csv", "other.csv"]);
    assert_eq!(
        (error(&said)["code"].as_str(), error(&said)["file"].as_str()),
        (Some("schemas_differ"), Some("other.csv"))
    );
    put(&folder, "m-4.csv", "id,x\n1\n2,3\n4,5\n6,7\n");
    let said = folder.run(&["head", "--json", "m-*.csv"]);
    assert_eq!((error(&said)["code"].as_str(), error(&said)["file"].as_str()), (Some("csv_ragged"), Some("m-4.csv")));
    let said = folder.run(&["head", "--json", "m-1.csv", "gone.csv"]);
    assert_eq!((error(&said)["code"].as_str(), error(&said)["file"].as_str()), (Some("not_found"), Some("gone.csv")));
    put(&folder, "f.csv", "filename\nx\n");
    let said = folder.run(&["head", "--json", "--filename", "f.csv"]);
    assert_eq!(error(&said)["code"], "duplicate_column");
    assert!(error(&said)["hint"].is_string());
    let said = folder.run(&["convert", "--json", "m-1.csv", "m-2.csv", "m-2.csv", "--force"]);
    assert_eq!(error(&said)["code"], "output_is_input");
}

#[test]
fn formats_may_be_mixed_and_compressed() {
    let folder = months();
    folder.ok(&["convert", "m-1.csv", "a.parquet"]);
    folder.ok(&["convert", "m-3.csv", "b.csv.gz"]);
    folder.ok(&["convert", "m-1.csv", "c.csv.zst"]);
    let all = "id,x\n1,10\n2,20\n4,7\n5,8\n1,10\n2,20\n";
    assert_eq!(folder.ok(&["cat", "a.parquet", "b.csv.gz", "c.csv.zst"]).out, all);
    assert_eq!(folder.ok(&["cat", "b.csv.gz", "m-2.csv"]).out, "id,x\n4,7.0\n5,8.0\n3,1.5\n");
    folder.write("d.csv", b"id,x\n7,9\n\xE9,9\n");
    assert_eq!(folder.ok(&["count", "d.csv", "d.csv"]).out, "4\n");
    put(&folder, "p.ndjson", "{\"a\":1}\n");
    put(&folder, "q.ndjson", "{\"b\":\"x\",\"a\":2.5}\n");
    assert_eq!(folder.ok(&["cat", "p.ndjson", "q.ndjson"]).out, "a,b\n1.0,\n2.5,x\n");
    let said = folder.run_with(&["cat", "m-1.csv", "-"], b"id,x\n8,9\n");
    assert_eq!(said.out, "id,x\n1,10\n2,20\n8,9\n");
    assert_eq!(folder.run_with(&["cat", "-", "-"], b"").code, 2);
}

#[test]
fn what_is_there_is_meant_by_its_name() {
    let folder = Folder::new();
    for (name, id) in [("*.csv", 1), ("a[1].csv", 2), ("a1.csv", 3), ("[d]/a?.csv", 5), ("[d]/ab.csv", 6)] {
        put(&folder, name, &format!("id\n{id}\n"));
    }
    for (name, out) in [
        ("*.csv", "id\n1\n"),
        ("a[1].csv", "id\n2\n"),
        ("a[1-9].csv", "id\n3\n"),
        ("x*", "not_found"),
        ("[d]/a?.csv", "id\n5\n"),
        ("[d]/a*", "id\n5\n6\n"),
        ("[d]", "id\n5\n6\n"),
    ] {
        let said = folder.run(&["cat", name]);
        assert!(said.out == out || said.err.contains(out), "{name}: {said:?}");
        let sql = folder.run(&["sql", &format!("SELECT * FROM '{name}' ORDER BY id")]);
        assert!(sql.out == out || sql.err.contains(out), "sql {name}: {sql:?}");
    }
    folder.ok(&["convert", "--", "a*.csv", "all.csv"]);
    // The stores that SQL reads files through have no names with line ends.
    let folder = Folder::new();
    put(&folder, "x y\n.csv", "id\n4\n");
    assert_eq!(folder.ok(&["cat", "x y\n.csv", "x*"]).out, "id\n4\n4\n");
}

#[cfg(target_os = "linux")]
#[test]
fn names_need_not_be_utf8() {
    use std::os::unix::ffi::OsStringExt;
    let folder = Folder::new();
    for (name, id) in [(b"p-\xFF.csv".to_vec(), 1), (b"p-2.csv".to_vec(), 2)] {
        let path = folder.path("").join(std::ffi::OsString::from_vec(name));
        std::fs::write(path, format!("id\n{id}\n")).unwrap();
    }
    assert_eq!(folder.ok(&["cat", "p-*.csv"]).out, "id\n2\n1\n");
    assert_eq!(folder.ok(&["cat", "."]).out, "id\n2\n1\n");
    assert_eq!(folder.ok(&["count", "p-?.csv", "--filename"]).out, "2\n");
}

/// Runs with so few open files allowed.
fn with_few_open(folder: &Folder, open: u32, arguments: &str) -> (i32, String, String) {
    let line = format!("ulimit -n {open}; exec {} {arguments}", env!("CARGO_BIN_EXE_colkit"));
    let output = Command::new("bash").args(["-c", &line]).current_dir(folder.path("")).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
}

#[test]
fn more_files_than_may_be_open() {
    let folder = Folder::new();
    for i in 0..600 {
        put(&folder, &format!("d/p-{i:04}.csv"), &format!("id,t\n{i},x\n{},y\n", i + 1000));
    }
    let run = |arguments: &str| {
        let (code, out, err) = with_few_open(&folder, 128, arguments);
        assert_eq!(code, 0, "{arguments}: {out} {err}");
        out
    };
    assert_eq!(run("count d"), "1200\n");
    assert_eq!(run("count d --where 'id >= 1000'"), "600\n");
    assert_eq!(run("head -n 1 'd/p-*.csv'"), "id,t\n0,x\n");
    assert_eq!(run("tail -n 1 d"), "id,t\n1599,y\n");
    assert_eq!(run("take d --rows 1199,0,600 --columns id"), "id\n1599\n0\n300\n");
    assert_eq!(run("cat d").lines().count(), 1201);
    run("convert d all.parquet");
    assert_eq!(run("sql \"SELECT count(*) AS n, sum(id) AS s FROM 'd'\""), "n,s\n1200,959400\n");
    assert_eq!(run("cat all.parquet"), run("cat d"));
    assert_eq!(run("verify --json d").lines().count(), 600);
}

#[test]
fn compressed_files_are_not_open_either() {
    let folder = months();
    folder.ok(&["convert", "m-1.csv", "m.csv.gz"]);
    std::fs::create_dir(folder.path("z")).unwrap();
    for i in 0..150 {
        std::fs::copy(folder.path("m.csv.gz"), folder.path(&format!("z/{i}.csv.gz"))).unwrap();
    }
    for arguments in ["count z", "sql \"SELECT count(*) FROM 'z'\""] {
        let (code, out, err) = with_few_open(&folder, 100, arguments);
        assert_eq!(code, 0, "{arguments}: {err}");
        assert!(out.contains("300"), "{out}");
    }
}

#[test]
fn datasets_in_a_folder_are_tables_of_it() {
    let folder = Folder::new();
    let data = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../colkit-lance/tests/data");
    let dataset = std::fs::read_dir(data.join("datasets")).into_iter().flatten().flatten();
    let Some(dataset) = dataset.map(|e| e.path()).find(|p| p.join("_versions").is_dir()) else { return };
    let name = dataset.to_str().unwrap();
    let rows: u64 = folder.ok(&["count", name]).out.trim().parse().unwrap();
    assert_eq!(folder.ok(&["count", name, name]).out, format!("{}\n", 2 * rows));
}
