//! How large a text is when it is packed, and how fast it is queried then. Time is the best of some rounds, on the clock and of the
//! processor (all threads; from `/proc`).
//!
//! ```text
//! query_speed pack IN OUT.at1 [smallest|fast|best]
//! query_speed query FILE.at1 COLUMN,COLUMN... CONDITION [rounds] [threads]
//! ```
#![allow(clippy::print_stdout, reason = "a program, not a library")]

use arrow::datatypes::DataType;
use colkit_at1::{Effort, PackOptions, PackPriority, PackedText, TextReader, pack};
use colkit_core::cells::Inference;
use colkit_core::{
    Boxed, Error, FileSink, FileSource, Machine, Predicate, Projection, ReadOptions, Result, Scan, Step, Table,
    TableFile, available_threads, column_index,
};
use std::sync::Arc;
use std::time::Instant;

/// Reads queryable CSV only.
struct Csv(Arc<Inference>);

struct NoTable;

impl Machine for NoTable {
    type Output = Arc<dyn Table>;

    fn step(&mut self, _: Vec<bytes::Bytes>) -> Result<Step<Arc<dyn Table>>> {
        Err(Error::request("usage", "the file is not queryable"))
    }
}

impl TextReader for Csv {
    fn is_text(&self, _: &[u8]) -> bool {
        true
    }

    fn delimiter(&self, _: &[u8]) -> u8 {
        b','
    }

    fn open(&self, _: &[u8], _: u64, _: &ReadOptions) -> Boxed<Arc<dyn Table>> {
        Box::new(NoTable)
    }

    fn inference(&self) -> Option<&Arc<Inference>> {
        Some(&self.0)
    }

    fn given(&self) -> &[(String, DataType)] {
        &[]
    }
}

/// Milliseconds of processor time so far, by all threads.
fn processor() -> f64 {
    let of = |thread: std::io::Result<std::fs::DirEntry>| -> Option<f64> {
        let text = std::fs::read_to_string(thread.ok()?.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<f64>().ok()
    };
    let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten();
    threads.filter_map(of).sum::<f64>() / 1e6
}

fn packed(from: &str, to: &str, how: &str) -> Result<()> {
    let mut options = PackOptions { is_table: from.ends_with("csv") || from.ends_with("json"), ..Default::default() };
    match how {
        "smallest" => options.aim = PackPriority::Smallest,
        "fast" => options.effort = Effort::Fast,
        "best" => options.effort = Effort::Best,
        _ => {}
    }
    let clock = Instant::now();
    let summary = pack(&FileSource::open(from)?, Box::new(FileSink::replace(to)?), &options)?;
    let (size, seconds) = (summary.output_bytes, clock.elapsed().as_secs_f64());
    println!("{from} {how}: {} {size} bytes, {seconds:.1} s", summary.codec.name());
    Ok(())
}

fn query(path: &str, columns: &str, condition: &str, rounds: usize, threads: usize) -> Result<()> {
    let mut best = (f64::MAX, f64::MAX);
    let mut rows = 0;
    let format = Arc::new(PackedText::new(Arc::new(Csv(Arc::new(Inference::full())))));
    for _ in 0..rounds {
        let (clock, before) = (Instant::now(), processor());
        let file = TableFile::open(format.clone(), Arc::new(FileSource::open(path)?), &ReadOptions::default())?
            .with_threads(threads);
        let schema = file.schema();
        let columns = columns.split(',').map(|name| column_index(&schema, name)).collect::<Result<Vec<_>>>()?;
        let predicate = match condition {
            "" => None,
            text => Some(Predicate::parse(text, &schema)?.bind(&schema)?),
        };
        let scan = Scan { predicate, ..Scan::of(Projection::columns(columns)) };
        let mut batches = file.scan(&scan)?;
        rows = batches.try_fold(0, |rows, batch| batch.map(|b| rows + b.num_rows()))?;
        // Before the threads end, which would take their times with them.
        let used = processor() - before;
        drop(batches);
        best = (best.0.min(clock.elapsed().as_secs_f64() * 1e3), best.1.min(used));
    }
    println!("{columns} where {condition}: {rows} rows, {:.2} ms on the clock, {:.2} of the processor", best.0, best.1);
    Ok(())
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize, other: usize| arguments.get(i).and_then(|n| n.parse().ok()).unwrap_or(other);
    match &arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["pack", from, to, how @ ..] => packed(from, to, how.first().copied().unwrap_or("default")),
        ["query", path, columns, condition, ..] => {
            query(path, columns, condition, number(4, 20), number(5, available_threads()))
        }
        _ => Err(Error::request("usage", "query_speed pack IN OUT.at1 | query FILE.at1 COLUMNS CONDITION")),
    }
}
