//! Damage to a file that carries checksums is told by whatever reads it, and is not carried over into another file.

use super::run::{Folder, error};
use serde_json::Value;
use std::ops::Range;

/// A Lance file of some thousand rows, and the same with a flipped bit in the middle of the values of column `n`.
fn damaged() -> Folder {
    let folder = Folder::new();
    // Noise: what is packed into less than a block shares its checksum with its neighbours.
    let noise = |i: u32| i.wrapping_mul(0x9E37_79B9);
    let rows = (0..6000).map(|i| format!("{i},{},{:x}\n", noise(noise(i) >> 7) >> 12, noise(i)));
    folder.write("t.csv", "id,n,t\n".to_owned() + &rows.collect::<String>());
    assert_eq!(folder.run(&["convert", "t.csv", "t.lance"]).code, 0);
    let values = region(&folder, "n: page 0 buffer 1");
    let mut bytes = folder.read("t.lance");
    bytes[(values.start + values.end) / 2] ^= 16;
    folder.write("d.lance", bytes);
    folder
}

/// Where the region of this name is in `t.lance`.
fn region(folder: &Folder, name: &str) -> Range<usize> {
    let said = folder.run(&["inspect", "t.lance", "--layout", "--json"]);
    let report: Value = serde_json::from_str(&said.out).unwrap();
    let regions = report["layout"]["regions"].as_array().unwrap();
    let found = regions.iter().find(|r| r["name"].as_str().unwrap().contains(name)).unwrap();
    let at = |end: &str| usize::try_from(found["range"][end].as_u64().unwrap()).unwrap();
    at("start")..at("end")
}

#[test]
fn every_verb_tells_damage() {
    let folder = damaged();
    for arguments in [
        &["verify", "d.lance"][..],
        &["convert", "d.lance", "o.parquet"],
        &["convert", "d.lance", "o.lance"],
        &["cat", "d.lance", "--out", "o.csv"],
        &["sql", "select sum(n), max(t) from 'd.lance'"],
        &["sql", "select * from 'd.lance'", "--out", "o.parquet"],
        &["diff", "t.lance", "d.lance"],
    ] {
        let said = folder.run(arguments);
        assert_eq!(said.code, 1, "{arguments:?}: {said:?}");
        let text = format!("{}{}", said.out, said.err);
        assert!(text.contains("[checksum_mismatch]") && text.contains("at byte "), "{arguments:?}: {text}");
    }
    let said = folder.run(&["convert", "d.lance", "o.parquet"]);
    assert!(said.err.contains("d.lance: at byte ") && said.err.contains("field \"n\": column 1 page 0"), "{said:?}");
    assert_eq!(folder.names(), ["d.lance", "t.csv", "t.lance"]);
    assert!(folder.ok(&["verify", "t.lance"]).out.contains("checksums cover every byte"));
}

#[test]
fn columns_and_rows_that_are_whole_are_still_read() {
    let folder = damaged();
    let right = folder.run(&["cat", "t.lance", "--columns", "id", "--as", "csv"]);
    assert_eq!(folder.run(&["cat", "d.lance", "--columns", "id", "--as", "csv"]).out, right.out);
    let right = folder.run(&["take", "t.lance", "--rows", "0", "--as", "csv"]);
    assert_eq!((right.code, folder.run(&["take", "d.lance", "--rows", "0", "--as", "csv"]).out), (0, right.out));
}

#[test]
fn checksums_can_be_left_out() {
    let folder = damaged();
    let said = folder.run(&["cat", "d.lance", "--as", "csv", "--no-checksums"]);
    assert_eq!((said.code, said.out.lines().count()), (0, 6001), "{}", said.err);
    assert_eq!(folder.run(&["sql", "select count(t) from 'd.lance'", "--no-checksums"]).code, 0);
}

#[test]
fn zone_maps_are_not_believed_before_they_are_proven() {
    let folder = damaged();
    let good = folder.read("t.lance");
    for at in region(&folder, "colkit.zones") {
        let mut bytes = good.clone();
        bytes[at] ^= 1;
        folder.write("z.lance", bytes);
        if at % 11 == 0 {
            let said = folder.run(&["cat", "z.lance", "--where", "id >= 5990", "--json"]);
            assert_eq!(
                (said.code, error(&said)["code"].as_str()),
                (1, Some("checksum_mismatch")),
                "byte {at}: {said:?}"
            );
        }
        if at % 31 == 0 {
            assert_eq!(folder.run(&["verify", "z.lance"]).code, 1, "byte {at}");
        }
    }
}
