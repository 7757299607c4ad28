//! Tables of many columns: what is done for one of them takes as long in a wide table as in a narrow one.

use super::run::Folder;

/// Three rows of 7 in every column, of which there are `columns`.
fn gppcol(columns: usize) -> Vec<u8> {
    let values = [7u8, 0, 0, 0, 7, 0, 0, 0, 7, 0, 0, 0];
    let (a, b) = values.iter().fold((1, 0), |(a, b), v| (a + u32::from(*v), a + u32::from(*v) + b));
    let mut block = vec![0x78, 0x01, 1, 12, 0, !12, !0];
    block.extend(values);
    block.extend((b << 16 | a).to_be_bytes());
    let names: Vec<String> = (0..columns).map(|i| format!("c{i}")).collect();
    let header = 20 + names.iter().map(|name| 2 + name.len() + 25).sum::<usize>();
    let mut file = b"GPP1\x01\x01\0\0".to_vec();
    file.extend(3u64.to_le_bytes());
    file.extend(u32::try_from(columns).unwrap().to_le_bytes());
    for (i, name) in names.iter().enumerate() {
        file.extend(u16::try_from(name.len()).unwrap().to_le_bytes());
        file.extend(name.as_bytes());
        file.push(1);
        for number in [header + i * block.len(), block.len(), 12] {
            file.extend((number as u64).to_le_bytes());
        }
    }
    file.extend(block.repeat(columns));
    file
}

/// Seconds of processor time that a command takes.
fn seconds(folder: &Folder, line: &str) -> f64 {
    let said = folder.shell(&format!("TIMEFORMAT=%U; time {line} > /dev/null"));
    assert_eq!(said.code, 0, "{line}: {said:?}");
    said.err.trim().lines().last().unwrap().replace(',', ".").parse().unwrap()
}

/// Ten times the columns take about ten times as long, not a hundred times. Other programs may slow down one of the two, so
/// that is asked up to three times.
fn grows_with_the_columns(folder: &Folder, few: &str, many: &str) {
    let grows = |(few, many): &(f64, f64)| *many < 25.0 * few.max(0.05);
    let mut found = Vec::new();
    while found.len() < 3 && !found.last().is_some_and(grows) {
        found.push((seconds(folder, few), seconds(folder, many)));
    }
    assert!(
        found.last().is_some_and(grows),
        "{many}: seconds with a tenth of the columns and with all, each time: {found:?}"
    );
}

#[test]
fn a_hundred_thousand_columns() {
    let folder = Folder::new();
    for columns in [10_000, 100_000] {
        folder.write(&format!("{columns}.gppcol"), gppcol(columns));
        let names: Vec<String> = (0..columns).map(|i| format!("c{i}")).collect();
        let row = format!("{}1\n", "1,".repeat(columns - 1));
        folder.write(&format!("{columns}.csv"), format!("{}\n{row}{row}", names.join(",")));
        // All but the first column in the wrong order: each is looked for.
        let members: Vec<String> = names.iter().map(|n| format!("\"{n}\":1")).collect();
        let turned: Vec<&str> = members.iter().rev().map(String::as_str).collect();
        folder.write(&format!("{columns}.ndjson"), format!("{{{}}}\n{{{}}}\n", members.join(","), turned.join(",")));
    }
    for (verb, kind) in [
        ("inspect --json", "gppcol"),
        ("verify", "gppcol"),
        ("cat --as csv", "gppcol"),
        ("cat", "csv"),
        ("cat --as ndjson", "ndjson"),
    ] {
        let line = |columns: usize| format!("colkit {verb} {columns}.{kind}");
        grows_with_the_columns(&folder, &line(10_000), &line(100_000));
    }
}

#[test]
fn every_format() {
    let folder = Folder::new();
    for columns in [500, 5_000] {
        folder.write(&format!("{columns}.gppcol"), gppcol(columns));
        for kind in ["cff", "lance", "arrow", "parquet", "at1", "ndjson"] {
            folder.ok(&["convert", &format!("{columns}.gppcol"), &format!("{columns}.{kind}"), "--types", "lossy"]);
        }
    }
    for kind in ["cff", "lance", "arrow", "parquet", "at1", "ndjson"] {
        for verb in ["inspect", "verify", "take --rows 1"] {
            let line = |columns: usize| {
                let (verb, rest) = verb.split_once(' ').unwrap_or((verb, ""));
                format!("colkit {verb} {columns}.{kind} {rest}")
            };
            grows_with_the_columns(&folder, &line(500), &line(5_000));
        }
    }
}

/// What a reader or a writer keeps for each column must not be as large as the table is wide.
#[test]
fn ten_thousand_columns_fit_little_memory() {
    let folder = Folder::new();
    folder.write("w.gppcol", gppcol(10_000));
    for kind in ["lance", "parquet", "arrow"] {
        let file = format!("w.{kind}");
        folder.ok(&["convert", "w.gppcol", &file, "--memory", "192M"]);
        folder.ok(&["diff", "w.gppcol", &file, "--memory", "192M"]);
    }
}

/// Where reading all columns together fails, the broken ones are found without reading each alone.
#[test]
fn broken_columns_are_named() {
    let folder = Folder::new();
    let mut file = gppcol(1000);
    let length = file.len();
    // Checksums of the last column and of one in the middle.
    file[length - 1] ^= 1;
    file[length - 1 - 23 * 400] ^= 1;
    folder.write("broken.gppcol", file);
    let said = folder.run(&["verify", "broken.gppcol", "--json"]);
    assert_eq!(said.code, 1, "{said:?}");
    let verdict = said.json();
    let parts: Vec<&str> = verdict["errors"].as_array().unwrap().iter().map(|e| e["part"].as_str().unwrap()).collect();
    assert_eq!(parts.len(), 2, "{parts:?}");
    assert!(parts[0].contains("\"c599\"") && parts[1].contains("\"c999\""), "{parts:?}");
    let good = verdict["checked"].as_array().unwrap().iter().filter(|c| c.as_str().unwrap().contains("decodes"));
    assert_eq!(good.count(), 998);
}
