//! How fast CSV is opened, read and written: one thread, 16 mixed columns, the file in memory. Time is the processor
//! time of the process, so that a busy machine does not matter much (without `/proc`: time on the clock).
//!
//! `cargo run --release -p colkit-interop --example csv_speed [megabytes]`
#![allow(clippy::print_stdout, reason = "a program")]

use bytes::Bytes;
use colkit_core::{Format, Projection, ReadOptions, Result, Scan, StreamSink, TableFile, WriteOptions};
use colkit_interop::CsvFormat;
use std::fmt::Write;
use std::sync::Arc;
use std::time::Instant;

/// A repeatable source of numbers (splitmix64).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}

/// Six columns of integers, four of floats, five of text (one in quotes, one with non-ASCII letters), one of bools.
fn text(bytes: usize) -> String {
    let mut n = Numbers(1);
    let mut text = String::with_capacity(bytes + 1000);
    text.push_str("id,a,b,c,d,e,price,ratio,x,y,name,city,code,note,quoted,flag\n");
    let cities = ["Berlin", "Zürich", "Oslo", "São Paulo", "Lima"];
    let mut id = 0;
    while text.len() < bytes {
        id += 1;
        let (a, b, c) = (n.next(), n.next(), n.next());
        let city = cities.get((a % 5) as usize).copied().unwrap_or_default();
        let _ = writeln!(
            text,
            "{id},{},{},{},-{},{},{}.{:02},0.{:06},{:.9},{:e},name{},{city},{:08x},some words about it,\"q, {}\",{}",
            a % 100,
            b % 10_000,
            c % 1_000_000,
            1 + (a >> 8) % 2_000_000_000,
            (b >> 40) % 10,
            a % 1000,
            b % 100,
            c % 1_000_000,
            (b >> 20) as f64 / 1e6,
            (c >> 11) as f64,
            c % 5000,
            b % (1 << 32),
            a % 77,
            a.is_multiple_of(3)
        );
    }
    text
}

/// Seconds of processor time so far, by all threads: fields 14 and 15 of `/proc/self/stat`, in hundredths.
fn processor_seconds() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let times = stat.rsplit_once(')')?.1.split_whitespace().skip(11).take(2);
    Some(times.filter_map(|t| t.parse::<f64>().ok()).sum::<f64>() / 100.0)
}

struct Start {
    clock: Instant,
    processor: Option<f64>,
}

fn start() -> Start {
    Start { clock: Instant::now(), processor: processor_seconds() }
}

fn report(what: &str, bytes: usize, start: Start) {
    let processor = start.processor.and_then(|before| Some(processor_seconds()? - before));
    let seconds = processor.unwrap_or_else(|| start.clock.elapsed().as_secs_f64());
    println!("{what:<28} {:>7.0} MB/s  ({seconds:.3} s)", bytes as f64 / 1e6 / seconds);
}

fn main() -> Result<()> {
    let megabytes: usize = std::env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(200);
    let bytes = Bytes::from(text(megabytes * 1_000_000));
    let csv: Arc<dyn Format> = Arc::new(CsvFormat::default());
    for _ in 0..2 {
        let from = start();
        let file = TableFile::open(csv.clone(), Arc::new(bytes.clone()), &ReadOptions::default())?.with_threads(1);
        report("open (cut and infer)", bytes.len(), from);

        let from = start();
        file.scan(&Scan::default())?.try_for_each(|b| b.map(drop))?;
        report("scan (cut and convert)", bytes.len(), from);

        let from = start();
        file.scan(&Scan::of(Projection::columns([0])))?.try_for_each(|b| b.map(drop))?;
        report("scan of one column", bytes.len(), from);

        let batches = file.scan(&Scan::default())?.collect::<Result<Vec<_>>>()?;
        let from = start();
        let nowhere = Box::new(StreamSink(std::io::sink()));
        let mut writer = csv.writer(file.schema(), nowhere, &WriteOptions::default())?;
        batches.iter().try_for_each(|b| writer.write(b))?;
        let written = writer.finish()?.bytes;
        report("write", usize::try_from(written).unwrap_or(0), from);

        let types: Vec<String> = file.schema().fields().iter().map(|f| f.data_type().to_string()).collect();
        println!("{} rows of {}", file.row_count(), types.join(" "));
    }
    Ok(())
}
