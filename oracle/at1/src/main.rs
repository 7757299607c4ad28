//! Restores AT-1 files with the reference decoder, the crate `at1`.
//!
//! ```text
//! at1-oracle one IN OUT    one file; exit code 1 if it is refused
//! at1-oracle all FOLDER    every FOLDER/*.at1 to *.reference, or its error to *.reference.err
//! at1-oracle check FOLDER  every FOLDER/N-CODEC-WAY.at1 must restore to FOLDER/N.original; exit code 1 otherwise, and if
//!                          a codec, a container or a back end does not occur
//! at1-oracle time N IN     decodes N times; prints the best time in seconds
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Instant;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn one(from: &Path, to: &Path) -> Outcome<()> {
    std::fs::write(to, at1::decode(&std::fs::read(from)?)?)?;
    Ok(())
}

fn all(folder: &Path) -> Outcome<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|e| e == "at1") {
            if let Err(error) = one(&path, &path.with_extension("reference")) {
                std::fs::write(path.with_extension("reference.err"), error.to_string())?;
            }
        }
    }
    Ok(())
}

/// Ids of all codecs that hold one file.
const CODECS: [u8; 13] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 255];
/// What a payload of each back end begins with.
const BACKENDS: [(&str, &[u8]); 2] = [("xz", b"\xFD7zXZ\0"), ("zstd", b"\x28\xB5\x2F\xFD")];

fn check(folder: &Path) -> Outcome<()> {
    let (mut bad, mut files) = (0, 0);
    // For each codec and container, the back ends that were seen.
    let mut seen: BTreeMap<(u8, u8), BTreeSet<&str>> = BTreeMap::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Some((number, _)) = name.strip_suffix(".at1").and_then(|n| n.split_once('-')) else { continue };
        let packed = std::fs::read(&path)?;
        let original = std::fs::read(folder.join(format!("{number}.original")))?;
        files += 1;
        match at1::decode(&packed) {
            Ok(restored) if restored == original => {}
            Ok(restored) => {
                bad += 1;
                eprintln!("{name}: restored to other bytes: {} instead of {}", restored.len(), original.len());
            }
            Err(error) => {
                bad += 1;
                eprintln!("{name}: {error}");
            }
        }
        let [b'A', b'T', b'1', container, codec, body @ ..] = &packed[..] else { continue };
        let known = seen.entry((*codec, *container)).or_default();
        for (backend, magic) in BACKENDS {
            if body.windows(magic.len()).any(|w| w == magic) {
                known.insert(backend);
            }
        }
    }
    println!("{files} packed files, {bad} not restored by the reference decoder");
    for codec in CODECS {
        for container in [2, 3] {
            for (backend, _) in BACKENDS {
                if !seen.get(&(codec, container)).is_some_and(|s| s.contains(backend)) {
                    bad += 1;
                    eprintln!("no file of codec {codec} in container {container} with {backend}: the comparison has a gap");
                }
            }
        }
    }
    if bad > 0 { Err(format!("{bad} findings").into()) } else { Ok(()) }
}

fn time(times: usize, from: &Path) -> Outcome<()> {
    let mut best = f64::INFINITY;
    let mut bytes = 0;
    for _ in 0..times {
        let start = Instant::now();
        bytes = at1::decode(&std::fs::read(from)?)?.len();
        best = best.min(start.elapsed().as_secs_f64());
    }
    println!("{best:.4} {bytes}");
    Ok(())
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["one", from, to] => one(Path::new(from), Path::new(to)),
        ["all", folder] => all(Path::new(folder)),
        ["check", folder] => check(Path::new(folder)),
        ["time", times, from] => time(times.parse()?, Path::new(from)),
        _ => Err("usage: at1-oracle one IN OUT | all FOLDER | check FOLDER | time N IN".into()),
    }
}
