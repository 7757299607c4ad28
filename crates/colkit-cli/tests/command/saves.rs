//! `salvage`: what can be read of a damaged file.

use super::run::Folder;
use serde_json::json;

#[test]
fn a_good_file_is_copied() {
    let folder = Folder::with_trades();
    let said = folder.ok(&["salvage", "trades.csv", "saved.lance"]);
    assert!(said.err.contains("4 rows, 4 columns, nothing is missing"), "{said:?}");
    folder.ok(&["diff", "trades.csv", "saved.lance"]);
    assert_eq!(folder.run(&["salvage", "trades.csv", "saved.lance"]).code, 2, "nothing is overwritten");
}

#[test]
fn a_cut_compressed_file_keeps_its_beginning() {
    let folder = Folder::new();
    let lines: String = (0..300_000u64).map(|n| format!("{n},{}\n", n * 7919 % 1000)).collect();
    folder.write("t.csv", format!("a,b\n{lines}"));
    for extension in ["gz", "zst", "xz", "bz2"] {
        let name = format!("t.csv.{extension}");
        folder.ok(&["convert", "t.csv", &name]);
        let mut bytes = folder.read(&name);
        bytes.truncate(bytes.len() * 3 / 4);
        folder.write(&name, bytes);
        let said = folder.run(&["salvage", &name, "saved.csv", "--json", "--force"]);
        assert_eq!(said.code, 1, "{said:?}");
        let document = said.json();
        assert_eq!(document["complete"], json!(false));
        let rows = document["rows"].as_u64().unwrap();
        let saved = String::from_utf8(folder.read("saved.csv")).unwrap();
        let original = String::from_utf8(folder.read("t.csv")).unwrap();
        assert!(original.starts_with(&saved) && saved.lines().count() as u64 == rows + 1, "{extension}");
    }
}

#[test]
fn lost_columns_are_named() {
    let folder = Folder::with_trades();
    folder.ok(&["convert", "trades.csv", "t.cff"]);
    let mut bytes = folder.read("t.cff");
    bytes.truncate(bytes.len() - 3);
    folder.write("t.cff", bytes);
    let said = folder.run(&["salvage", "t.cff", "saved.csv", "--json"]);
    assert_eq!(said.code, 1, "{said:?}");
    let document = said.json();
    let lost: Vec<&str> =
        document["lost"].as_array().unwrap().iter().filter_map(|l| l["lost"]["column"].as_str()).collect();
    assert_eq!(lost, ["note"], "{document}");
    assert_eq!(folder.ok(&["cat", "saved.csv", "--columns", "sym"]).out, "sym\nBTC\nETH\nÖRE\nBTC\n");
    folder.write("cut.lance", b"nothing");
    assert_eq!(folder.run(&["salvage", "cut.lance", "no.csv"]).code, 1);
    assert!(!folder.names().contains(&"no.csv".to_string()));
}

/// Names of data files of a dataset.
fn data_files(folder: &Folder) -> Vec<std::path::PathBuf> {
    let files = std::fs::read_dir(folder.path("set.lance/data")).unwrap();
    files.map(|file| file.unwrap().path()).collect()
}

#[test]
fn a_dataset_without_one_of_its_files_keeps_the_others() {
    let folder = Folder::new();
    let lines: String = (0..3000).map(|n| format!("{n},row {n}\n")).collect();
    folder.write("t.csv", format!("n,text\n{lines}"));
    for damage in ["missing", "cut", "flipped"] {
        folder.ok(&["convert", "t.csv", "set.lance/", "--rows-per-file", "1000"]);
        let file = data_files(&folder).into_iter().next().unwrap();
        let mut bytes = std::fs::read(&file).unwrap();
        match damage {
            "missing" => std::fs::remove_file(&file).unwrap(),
            "cut" => std::fs::write(&file, &bytes[..bytes.len() / 2]).unwrap(),
            _ => {
                bytes[20..60].iter_mut().for_each(|b| *b ^= 0x55);
                std::fs::write(&file, bytes).unwrap();
            }
        }
        let said = folder.run(&["salvage", "set.lance", "saved.csv", "--json", "--force"]);
        assert_eq!(said.code, 1, "{damage}: {said:?}");
        let document = said.json();
        assert_eq!(document["rows"], json!(2000), "{damage}: {document}");
        let name = file.file_name().unwrap().to_str().unwrap();
        let told = document["lost"][0]["error"].to_string().contains(name);
        assert!(told || damage != "missing", "{damage}: {document}");
        let verified = folder.run(&["verify", "set.lance"]);
        assert_eq!(verified.code, 1, "{damage}");
        assert!(damage != "missing" || verified.out.contains(name), "{verified:?}");
        let saved = String::from_utf8(folder.read("saved.csv")).unwrap();
        let numbers: Vec<u32> = saved.lines().skip(1).map(|l| l.split(',').next().unwrap().parse().unwrap()).collect();
        assert!(
            numbers.is_sorted() && saved.lines().skip(1).all(|line| lines.contains(&format!("{line}\n"))),
            "{damage}"
        );
        std::fs::remove_dir_all(folder.path("set.lance")).unwrap();
    }
}

#[test]
fn a_cut_array_of_json_is_saved_up_to_the_cut() {
    let folder = Folder::new();
    folder.write("t.json", "[{\"a\": 1}, {\"a\": 2}, {\"a\"");
    let said = folder.run(&["salvage", "t.json", "saved.csv"]);
    assert_eq!(said.code, 1);
    assert!(said.err.contains("the array is never closed"), "{}", said.err);
    assert_eq!(folder.read("saved.csv"), b"a\n1\n2\n");
}

#[test]
fn a_format_that_proves_nothing_without_its_end_says_so() {
    let folder = Folder::with_trades();
    for name in ["t.lance", "t.parquet", "t.at1"] {
        folder.ok(&["convert", "trades.csv", name]);
        let bytes = folder.read(name);
        folder.write(name, &bytes[..bytes.len() * 2 / 3]);
        let said = folder.run(&["salvage", name, "saved.csv"]);
        assert_eq!(said.code, 1, "{name}: {said:?}");
        assert!(said.err.contains("nothing can be saved"), "{name}: {}", said.err);
        assert!(!folder.path("saved.csv").exists());
    }
}
