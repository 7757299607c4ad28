//! Times reads of one file as told on standard input: what the benchmark script drives.
//!
//! One request per line, JSON: `{"file": ..., "take": [...]}` or `{"file": ..., "columns": [...]}` for a scan,
//! `"where": ...` for some of its rows, with `"repeat": n`, `"threads": n`, `"mapped": true` to map the file, `"keep": true` to hold all
//! batches until the end, `"checksums": false` to leave
//! out comparing, `"pool": n` to keep at most n bytes of unused memory, and `"open": true` to open it anew each time. The
//! answer is one line of JSON: best wall seconds, CPU seconds and page faults of that run, the mean CPU seconds of all, rows,
//! bytes read, and what the pool of buffers holds.

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

#[expect(unsafe_code, reason = "mapping a file is")]
fn map(path: &str) -> Result<MappedSource> {
    // SAFETY: the files of a benchmark do not change while it runs.
    unsafe { MappedSource::open(path) }
}

type Counter = Arc<Counting<Arc<dyn Source>>>;

fn open_file(path: &str, mapped: bool, checksums: bool) -> Result<(TableFile, Counter)> {
    let inner: Arc<dyn Source> = if mapped { Arc::new(map(path)?) } else { Arc::new(FileSource::open(path)?) };
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
    let keep = request.get("keep").and_then(Value::as_bool) == Some(true);
    let anew = request.get("open").and_then(Value::as_bool) == Some(true);
    let rows: Option<Vec<u64>> =
        request.get("take").and_then(Value::as_array).map(|r| r.iter().filter_map(Value::as_u64).collect());
    if let Some(most) = request.get("pool").and_then(Value::as_u64) {
        colkit_core::pool::set_most(usize::try_from(most).unwrap_or(usize::MAX));
    }
    let name = format!("{path} {checksums} {mapped}");
    if known.as_ref().is_none_or(|(p, _)| *p != name) {
        *known = Some((name, open_file(path, mapped, checksums)?.0));
    }
    let (mut best, mut of_best, began) = (f64::MAX, (0.0, 0.0), spent());
    let repeat = number("repeat", 1).max(1);
    let (mut count, mut bytes) = (0usize, None);
    for _ in 0..repeat {
        let ((cpu, faults), start) = (spent(), Instant::now());
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
                let (mut count, mut kept) = (0, Vec::new());
                for batch in file.with_threads(threads).scan(&scan)? {
                    let batch = batch?;
                    count += batch.num_rows();
                    kept.extend(keep.then_some(batch));
                }
                count
            }
        };
        let wall = start.elapsed().as_secs_f64();
        let (cpu, faults) = (spent().0 - cpu, spent().1 - faults);
        if wall < best {
            (best, of_best) = (wall, (cpu, faults));
        }
        bytes = counter.map(|c| c.count().bytes);
    }
    let (cpu, faults) = of_best;
    // The system counts CPU time in steps of 10 ms: the mean of many runs is finer.
    let mean = (spent().0 - began.0) / f64::from(u32::try_from(repeat).unwrap_or(u32::MAX));
    let pool = colkit_core::pool::count();
    let pool = json!({ "held": pool.held, "hits": pool.hits, "misses": pool.misses });
    Ok(json!({
        "wall": best, "cpu": cpu, "mean_cpu": mean, "faults": faults, "rows": count, "bytes": bytes, "pool": pool
    }))
}

/// CPU seconds of all threads of this process so far, and page faults that needed no disk.
fn spent() -> (f64, f64) {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let number = |n: usize| after_name.split_whitespace().nth(n).and_then(|t| t.parse::<f64>().ok()).unwrap_or(0.0);
    ((number(11) + number(12)) / 100.0, number(7))
}
