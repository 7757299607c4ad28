//! Restores AT-1 files with the reference decoder, the crate `at1`.
//!
//! ```text
//! at1-oracle one IN OUT    one file; exit code 1 if it is refused
//! at1-oracle all FOLDER    every FOLDER/*.at1 to *.reference, or its error to *.reference.err
//! at1-oracle time N IN     decodes N times; prints the best time in seconds
//! ```

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
        ["time", times, from] => time(times.parse()?, Path::new(from)),
        _ => Err("usage: at1-oracle one IN OUT | all FOLDER | time N IN".into()),
    }
}
