//! Times reads of one file as told on standard input: what the benchmark script drives.
//!
//! One request per line, JSON: `{"file": ..., "take": [...]}` or `{"file": ..., "columns": [...]}` for a scan,
//! `"where": ...` for some of its rows, with `"repeat": n`, `"threads": n`, `"mapped": true` to map the file, `"checksums": false` to leave
//! out comparing, and `"open": true` to open it anew each time. The
//! answer is one line of JSON: best wall seconds, CPU seconds of that run, rows, bytes read.

#![allow(clippy::print_stdout, reason = "its answers are its output")]

use colkit_core::{
    Counting, Error, FileSource, MappedSource, Predicate, Projection, ReadOptions, Result, Scan, Source, TableFile,
};
use colkit_lance::Lance;
use serde_json::{Value, json};
use std::io::BufRead;
use std::sync::Arc;
use std::time::Instant;

fn main() -> std::io::Result<()> {
    let mut open: Option<(String, TableFile)> = None;
    for line in std::io::stdin().lock().lines() {
        match answer(&line?, &mut open) {
            Ok(answer) => println!("{answer}"),
            Err(e) => println!("{}", json!({ "error": e.to_string() })),
        }
    }
    Ok(())
}

type Counter = Arc<Counting<Arc<dyn Source>>>;

fn open_file(path: &str, mapped: bool, checksums: bool) -> Result<(TableFile, Counter)> {
    let inner: Arc<dyn Source> =
        if mapped { Arc::new(MappedSource::open(path)?) } else { Arc::new(FileSource::open(path)?) };
    let source = Arc::new(Counting::new(inner));
    let dynamic: Arc<dyn Source> = source.clone();
    let options = ReadOptions { checksums, ..ReadOptions::default() };
    Ok((TableFile::open(Arc::new(Lance::new()), dynamic, &options)?, source))
}

fn answer(line: &str, known: &mut Option<(String, TableFile)>) -> Result<Value> {
    let bad = |what: &str| Error::request("bad_request", what);
    let request: Value = serde_json::from_str(line).map_err(|e| bad(&e.to_string()))?;
    let path = request.get("file").and_then(Value::as_str).ok_or_else(|| bad("file"))?;
    let number = |key: &str, default: u64| request.get(key).and_then(Value::as_u64).unwrap_or(default);
    let threads = usize::try_from(number("threads", 2)).unwrap_or(2);
    let mapped = request.get("mapped").and_then(Value::as_bool) == Some(true);
    let checksums = request.get("checksums").and_then(Value::as_bool) != Some(false);
    let anew = request.get("open").and_then(Value::as_bool) == Some(true);
    let rows: Option<Vec<u64>> =
        request.get("take").and_then(Value::as_array).map(|r| r.iter().filter_map(Value::as_u64).collect());
    let name = format!("{path} {checksums}");
    if known.as_ref().is_none_or(|(p, _)| *p != name) {
        *known = Some((name, open_file(path, mapped, checksums)?.0));
    }
    let (mut best, mut best_cpu, mut count, mut bytes) = (f64::MAX, 0.0, 0usize, None);
    for _ in 0..number("repeat", 1) {
        let (cpu, start) = (cpu_seconds(), Instant::now());
        let (file, counter) = if anew {
            let (file, counter) = open_file(path, mapped, checksums)?;
            (file, Some(counter))
        } else {
            (known.as_ref().map(|(_, f)| f.clone()).ok_or_else(|| bad("file"))?, None)
        };
        let projection = match request.get("columns").and_then(Value::as_array) {
            None => Projection::all(),
            Some(names) => Projection::named(&file.schema(), names.iter().filter_map(Value::as_str))?,
        };
        count = match &rows {
            Some(rows) => file.take(rows, &projection)?.num_rows(),
            None => {
                let condition = request.get("where").and_then(Value::as_str);
                let predicate =
                    condition.map(|c| Predicate::parse(c, &file.schema())?.bind(&file.schema())).transpose()?;
                let scan = Scan { projection, predicate, ..Scan::default() };
                let mut count = 0;
                for batch in file.with_threads(threads).scan(&scan)? {
                    count += batch?.num_rows();
                }
                count
            }
        };
        let wall = start.elapsed().as_secs_f64();
        if wall < best {
            (best, best_cpu) = (wall, cpu_seconds() - cpu);
        }
        bytes = counter.map(|c| c.count().bytes);
    }
    Ok(json!({ "wall": best, "cpu": best_cpu, "rows": count, "bytes": bytes }))
}

/// CPU time of this process so far, user and system.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks: f64 = after_name.split_whitespace().skip(11).take(2).filter_map(|t| t.parse::<f64>().ok()).sum();
    ticks / 100.0
}
