//! Writes Arrow IPC files as Lance files, as told on standard input: what the interoperation tests drive.
//!
//! One request per line, JSON: `{"file": "in.arrow", "out": "out.lance", "prefer": "size", "piece": 1000, "memory":
//! 1000000}`. The last three may be left out. The answer is one line: `ok`, or the error.

#![allow(clippy::print_stdout, reason = "its answers are its output")]

use arrow::ipc::reader::FileReader;
use colkit_core::{Error, FileSink, Format, Result, WriteOptions};
use colkit_lance::{Lance, Prefer};
use serde_json::Value;
use std::fs::File;
use std::io::BufRead;

fn main() -> std::io::Result<()> {
    for line in std::io::stdin().lock().lines() {
        match answer(&line?) {
            Ok(()) => println!("ok"),
            Err(e) => println!("{e}"),
        }
    }
    Ok(())
}

fn answer(line: &str) -> Result<()> {
    let bad = |what: &str| Error::request("bad_request", what);
    let request: Value = serde_json::from_str(line).map_err(|e| bad(&e.to_string()))?;
    let text = |key: &str| request.get(key).and_then(Value::as_str);
    let number = |key: &str| request.get(key).and_then(Value::as_u64);
    let prefer = match text("prefer") {
        None | Some("size") => Prefer::Size,
        Some("speed") => Prefer::Speed,
        Some("random-access") => Prefer::RandomAccess,
        Some(other) => return Err(bad(other)),
    };
    let mut options = WriteOptions::default();
    options.memory = number("memory").unwrap_or(options.memory);
    let piece = number("piece").and_then(|n| usize::try_from(n).ok()).unwrap_or(usize::MAX).max(1);
    let reader = FileReader::try_new(File::open(text("file").ok_or_else(|| bad("file"))?)?, None)?;
    let sink = FileSink::create(text("out").ok_or_else(|| bad("out"))?)?;
    let mut writer = Lance::new().preferring(prefer).writer(reader.schema(), Box::new(sink), &options)?;
    for batch in reader {
        let batch = batch?;
        let mut at = 0;
        while at < batch.num_rows() {
            let rows = piece.min(batch.num_rows() - at);
            writer.write(&batch.slice(at, rows))?;
            at += rows;
        }
    }
    writer.finish()?;
    Ok(())
}
