//! Writes Arrow IPC files as Lance files, as told on standard input: what the interoperation tests drive.
//!
//! One request per line, JSON: `{"file": "in.arrow", "out": "out.lance", "prefer": "size", "piece": 1000, "memory":
//! 1000000, "timed": true, "version": "2.1",
//! "bloom": ["a"], "page": 8388608, "level": 3}`. All but the first two may be left out. The answer is one line: `ok`, or the error; if
//! timed, the table is read into memory first and the CPU seconds of writing it follow `ok`.

#![allow(clippy::print_stdout, reason = "its answers are its output")]

use arrow::ipc::reader::FileReader;
use arrow::record_batch::RecordBatch;
use colkit_core::{Error, FileSink, Format, Result, WriteOptions};
use colkit_lance::container::Version;
use colkit_lance::{Lance, LanceWriteOptions, Prefer};
use serde_json::Value;
use std::fs::File;
use std::io::BufRead;

fn main() -> std::io::Result<()> {
    for line in std::io::stdin().lock().lines() {
        match answer(&line?) {
            Ok(Some(seconds)) => println!("ok {seconds}"),
            Ok(None) => println!("ok"),
            Err(e) => println!("{e}"),
        }
    }
    Ok(())
}

fn answer(line: &str) -> Result<Option<f64>> {
    let bad = |what: &str| Error::request("bad_request", what);
    let request: Value = serde_json::from_str(line).map_err(|e| bad(&e.to_string()))?;
    let text = |key: &str| request.get(key).and_then(Value::as_str);
    let number = |key: &str| request.get(key).and_then(Value::as_u64);
    let timed = request.get("timed").and_then(Value::as_bool) == Some(true);
    let names = request.get("bloom").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let mut writing = LanceWriteOptions::new().with_bloom(names);
    writing.prefer = match text("prefer") {
        None => Prefer::default(),
        Some("size") => Prefer::Size,
        Some("speed") => Prefer::Speed,
        Some("random-access") => Prefer::RandomAccess,
        Some(other) => return Err(bad(other)),
    };
    writing.version = match text("version") {
        None => None,
        Some("2.1") => Some(Version::V2_1),
        Some("2.0") => Some(Version::V2_0),
        Some("2.2") => Some(Version::V2_2),
        Some(other) => return Err(bad(other)),
    };
    writing.page_bytes = number("page").unwrap_or(writing.page_bytes);
    let mut options = WriteOptions::default();
    options.memory = number("memory").unwrap_or(options.memory);
    options.level = number("level").and_then(|n| u32::try_from(n).ok());
    let piece = number("piece").and_then(|n| usize::try_from(n).ok()).unwrap_or(usize::MAX).max(1);
    let mut reader = FileReader::try_new(File::open(text("file").ok_or_else(|| bad("file"))?)?, None)?;
    let schema = reader.schema();
    let loaded = if timed { reader.by_ref().collect::<std::result::Result<Vec<_>, _>>()? } else { Vec::new() };
    let began = cpu_seconds();
    let sink = FileSink::replace(text("out").ok_or_else(|| bad("out"))?)?;
    let mut writer = Lance::new().with_write_options(writing).writer(schema, Box::new(sink), &options)?;
    for batch in loaded.into_iter().map(Ok).chain(reader) {
        let batch: RecordBatch = batch?;
        let mut at = 0;
        while at < batch.num_rows() {
            let rows = piece.min(batch.num_rows() - at);
            writer.write(&batch.slice(at, rows))?;
            at += rows;
        }
    }
    writer.finish()?;
    Ok(timed.then(|| cpu_seconds() - began))
}

/// CPU time of this process so far, user and system.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks: f64 = after_name.split_whitespace().skip(11).take(2).filter_map(|t| t.parse::<f64>().ok()).sum();
    ticks / 100.0
}
