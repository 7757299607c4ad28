//! Restores AT-1 files.
//!
//! ```text
//! restore one IN OUT         one file
//! restore all FOLDER         every FOLDER/*.at1 to *.ours, or its error to *.ours.err
//! restore time N THREADS IN  restores N times without keeping anything; prints the best time in seconds
//! ```
#![allow(clippy::print_stdout, reason = "a program")]

use colkit_at1::{RestoreOptions, restore, restore_with};
use colkit_core::{FileSink, FileSource, Limits};
use std::path::Path;
use std::time::Instant;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn one(from: &Path, to: &Path) -> Outcome<()> {
    let limits = Limits { memory: 2 << 30, ..Limits::default() };
    let options = RestoreOptions { limits, ..RestoreOptions::default() };
    restore(&FileSource::open(from)?, Box::new(FileSink::replace(to)?), &options).map_err(|e| e.to_string())?;
    Ok(())
}

fn all(folder: &Path) -> Outcome<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|e| e == "at1")
            && let Err(error) = one(&path, &path.with_extension("ours"))
        {
            std::fs::write(path.with_extension("ours.err"), error.to_string())?;
        }
    }
    Ok(())
}

fn time(times: usize, threads: usize, from: &Path) -> Outcome<()> {
    let limits = Limits { memory: 4 << 30, ..Limits::default() };
    let options = RestoreOptions { limits, threads, ..RestoreOptions::default() };
    let mut best = f64::INFINITY;
    let mut bytes = 0;
    for _ in 0..times {
        let start = Instant::now();
        bytes = restore_with(&FileSource::open(from)?, &options, &mut |_| Ok(()))?.bytes;
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
        ["time", times, threads, from] => time(times.parse()?, threads.parse()?, Path::new(from)),
        _ => Err("usage: restore one IN OUT | all FOLDER | time N THREADS IN".into()),
    }
}
