//! The number of rows, the last of them and random ones.

use super::run::{Folder, error};

fn numbers() -> Folder {
    let folder = Folder::new();
    let rows: String = (0..5000).map(|i| format!("{i},row {}\n", i % 7)).collect();
    folder.write("t.csv", format!("n,t\n{rows}"));
    for to in ["lance", "parquet", "cff", "at1", "csv.gz"] {
        folder.ok(&["convert", "t.csv", &format!("t.{to}")]);
    }
    folder
}

const FILES: [&str; 6] = ["t.csv", "t.lance", "t.parquet", "t.cff", "t.at1", "t.csv.gz"];

#[test]
fn rows_are_counted() {
    let folder = numbers();
    for file in FILES {
        assert_eq!(folder.ok(&["count", file]).out, "5000\n", "{file}");
        assert_eq!(folder.ok(&["count", file, "--where", "n >= 4990 and t = \"row 0\""]).out, "2\n", "{file}");
        assert_eq!(folder.ok(&["count", file, "--where", "n < 0"]).out, "0\n", "{file}");
        assert_eq!(folder.json(&["count", file, "--json"])["rows"], 5000);
    }
    let said = folder.run(&["count", "t.csv", "--where", "nothing = 1", "--json"]);
    assert_eq!((said.code, error(&said)["code"].as_str()), (2, Some("no_such_column")));
}

#[test]
fn the_last_rows_are_printed() {
    let folder = numbers();
    for file in FILES {
        assert_eq!(folder.ok(&["tail", "-n", "2", file]).out, "n,t\n4998,row 0\n4999,row 1\n", "{file}");
        assert_eq!(folder.ok(&["tail", file, "--columns", "n"]).out.lines().count(), 11);
    }
    assert_eq!(folder.ok(&["tail", "-n", "9999", "t.csv"]).out.lines().count(), 5001);
}

#[test]
fn random_rows_are_the_same_for_a_seed_in_every_format() {
    let folder = numbers();
    let expected = folder.ok(&["sample", "-n", "20", "--seed", "3", "t.csv"]).out;
    assert_eq!(expected.lines().count(), 21);
    for file in FILES {
        assert_eq!(folder.ok(&["sample", "-n", "20", "--seed", "3", file]).out, expected, "{file}");
    }
    assert_ne!(folder.ok(&["sample", "-n", "20", "t.csv"]).out, expected);
    folder.ok(&["sample", "-n", "7", "t.lance", "--out", "some.csv.gz"]);
    assert_eq!(folder.ok(&["count", "some.csv.gz"]).out, "7\n");
    assert_eq!(folder.ok(&["sample", "-n", "6000", "t.lance"]).out, folder.ok(&["cat", "t.lance"]).out);
}
