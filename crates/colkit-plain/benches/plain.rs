//! How near reading and writing come to the bare deflate libraries, on the same blocks, in one run.
//!
//! `cargo bench -p colkit-plain` prints a table, and with `-- --json` one JSON object. Contestants take turns; the
//! best of several rounds counts. Bytes are always those of the uncompressed columns.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::indexing_slicing, missing_docs, reason = "a benchmark")]
#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_possible_wrap, reason = "a benchmark")]

use arrow::array::{ArrayRef, AsArray, BooleanArray, Float64Array, Int32Array, StringArray};
use arrow::record_batch::RecordBatch;
use bytes::Bytes;
use colkit_core::drive::parallel;
use colkit_core::{Format, MemorySink, ReadOptions, RegionKind, Scan, TableFile, WriteOptions};
use std::io::Read;
use std::sync::Arc;
use std::time::{Duration, Instant};

const ROWS: usize = 1_000_000;
const ROUNDS: usize = 5;

fn main() {
    let table = sample();
    let mut lines = Vec::new();
    for format in
        [Arc::new(colkit_plain::Gpp) as Arc<dyn Format>, Arc::new(colkit_plain::Cff), Arc::new(colkit_plain::Colm)]
    {
        let table = if format.name() == "gppcol" { table.clone() } else { without_bools(&table) };
        measure(&format, &table, &mut lines);
    }
    if std::env::args().any(|a| a == "--json") {
        let rows: Vec<String> = lines.iter().map(Line::json).collect();
        println!("[{}]", rows.join(","));
        return;
    }
    println!("{:<8} {:<46} {:>9} {:>9} {:>6}", "format", "job", "ours", "bare", "ratio");
    for line in &lines {
        println!(
            "{:<8} {:<46} {:>6.0} MB/s {:>4.0} MB/s {:>6.2}",
            line.format,
            line.job,
            line.ours,
            line.bare,
            line.ours / line.bare
        );
    }
}

struct Line {
    format: &'static str,
    job: &'static str,
    ours: f64,
    bare: f64,
}

impl Line {
    fn json(&self) -> String {
        let ratio = self.ours / self.bare;
        let Line { format, job, ours, bare } = self;
        format!(
            "{{\"format\":\"{format}\",\"job\":\"{job}\",\"ours\":{ours:.1},\"bare\":{bare:.1},\"ratio\":{ratio:.3}}}"
        )
    }
}

/// Sixteen columns of the kinds that tables are made of; seeded, so that every run has the same.
fn sample() -> RecordBatch {
    let mut seed = 42u64;
    let mut random = move || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed
    };
    let mut columns: Vec<(String, ArrayRef)> = Vec::new();
    for i in 0..4 {
        let step = 1 + (random() % 3) as i32;
        columns.push((format!("id{i}"), Arc::new(Int32Array::from_iter_values((0..ROWS as i32).map(|r| r * step)))));
        columns.push((
            format!("code{i}"),
            Arc::new(Int32Array::from_iter_values((0..ROWS).map(|_| (random() % 1000) as i32))),
        ));
        let price = (0..ROWS).map(|_| (random() % 100_000) as f64 / 100.0);
        columns.push((format!("price{i}"), Arc::new(Float64Array::from_iter_values(price))));
        let text: ArrayRef = match i {
            0 => Arc::new(StringArray::from_iter_values((0..ROWS).map(|_| format!("user-{}", random() % 50_000)))),
            1 => Arc::new(StringArray::from_iter_values(
                (0..ROWS).map(|_| ["red", "green", "blue"][(random() % 3) as usize]),
            )),
            2 => Arc::new(StringArray::from_iter_values(
                (0..ROWS).map(|r| format!("2024-01-{:02}T{:02}:00", r % 28 + 1, r % 24)),
            )),
            _ => Arc::new(BooleanArray::from_iter((0..ROWS).map(|_| Some(random() % 5 == 0)))),
        };
        columns.push((format!("text{i}"), text));
    }
    RecordBatch::try_from_iter(columns).unwrap()
}

fn without_bools(table: &RecordBatch) -> RecordBatch {
    let plain = |a: &ArrayRef| -> ArrayRef {
        match a.as_boolean_opt() {
            Some(bools) => Arc::new(Int32Array::from_iter_values(bools.values().iter().map(i32::from))),
            None => a.clone(),
        }
    };
    let schema = table.schema();
    let named = schema.fields().iter().zip(table.columns()).map(|(f, a)| (f.name(), plain(a)));
    RecordBatch::try_from_iter(named).unwrap()
}

fn write(format: &Arc<dyn Format>, table: &RecordBatch, options: &WriteOptions) -> Bytes {
    let sink = MemorySink::new();
    let mut writer = format.writer(table.schema(), Box::new(sink.clone()), options).unwrap();
    for start in (0..ROWS).step_by(32_768) {
        writer.write(&table.slice(start, 32_768.min(ROWS - start))).unwrap();
    }
    writer.finish().unwrap();
    sink.bytes().unwrap()
}

fn read(format: &Arc<dyn Format>, bytes: &Bytes, memory: u64, threads: usize) {
    let file = TableFile::open(format.clone(), Arc::new(bytes.clone()), &ReadOptions::default()).unwrap();
    let scan = Scan { memory, ..Scan::default() };
    let rows: usize = file.with_threads(threads).scan(&scan).unwrap().map(|b| b.unwrap().num_rows()).sum();
    assert_eq!(rows, ROWS);
}

/// The compressed blocks of a file and the sizes they inflate to.
fn blocks(format: &Arc<dyn Format>, bytes: &Bytes) -> Vec<(Bytes, usize)> {
    let file = TableFile::open(format.clone(), Arc::new(bytes.clone()), &ReadOptions::default()).unwrap();
    let layout = file.layout().unwrap();
    let data = layout.regions.iter().filter(|r| r.kind == RegionKind::Data);
    data.map(|r| (bytes.slice(r.range.start() as usize..r.range.end() as usize), r.raw_bytes.unwrap() as usize))
        .collect()
}

fn libdeflate_inflate(blocks: &[(Bytes, usize)], threads: usize) -> Vec<Vec<u8>> {
    parallel::map(blocks.to_vec(), threads, |(block, raw)| {
        let mut out = vec![0; raw];
        libdeflater::Decompressor::new().zlib_decompress(&block, &mut out).unwrap();
        Ok(out)
    })
    .unwrap()
}

fn zlib_rs_inflate(blocks: &[(Bytes, usize)], threads: usize) {
    parallel::map(blocks.to_vec(), threads, |(block, raw)| {
        let mut stream = flate2::read::ZlibDecoder::new(&block[..]);
        let (mut piece, mut total) = (vec![0; 64 << 10], 0);
        loop {
            match stream.read(&mut piece).unwrap() {
                0 => break,
                n => total += n,
            }
        }
        assert_eq!(total, raw);
        Ok(())
    })
    .unwrap();
}

fn libdeflate_compress(payloads: &[Vec<u8>], threads: usize) {
    parallel::map(payloads.iter().collect(), threads, |raw: &Vec<u8>| {
        let mut compressor = libdeflater::Compressor::new(libdeflater::CompressionLvl::new(6).unwrap());
        let mut out = vec![0; compressor.zlib_compress_bound(raw.len())];
        Ok(compressor.zlib_compress(raw, &mut out).unwrap())
    })
    .unwrap();
}

fn zlib_rs_compress(payloads: &[Vec<u8>], threads: usize) {
    parallel::map(payloads.iter().collect(), threads, |raw: &Vec<u8>| {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::new(6));
        std::io::Write::write_all(&mut encoder, raw).unwrap();
        Ok(encoder.finish().unwrap().len())
    })
    .unwrap();
}

/// The best time of each contestant, taking turns.
fn best(rounds: usize, ours: impl Fn(), bare: impl Fn()) -> (Duration, Duration) {
    let time = |job: &dyn Fn()| {
        let start = Instant::now();
        job();
        start.elapsed()
    };
    let times = (0..rounds).map(|_| (time(&ours), time(&bare)));
    times.fold((Duration::MAX, Duration::MAX), |(a, b), (x, y)| (a.min(x), b.min(y)))
}

fn measure(format: &Arc<dyn Format>, table: &RecordBatch, lines: &mut Vec<Line>) {
    let bytes = write(format, table, &WriteOptions::default());
    let blocks = blocks(format, &bytes);
    let payloads = libdeflate_inflate(&blocks, 1);
    let total = payloads.iter().map(Vec::len).sum::<usize>() as f64 / 1e6;
    let mut line = |job, (ours, bare): (Duration, Duration)| {
        let (ours, bare) = (total / ours.as_secs_f64(), total / bare.as_secs_f64());
        lines.push(Line { format: format.name(), job, ours, bare });
    };
    let whole = 1 << 30;
    let streamed = 64 << 20;
    line(
        "read, 1 thread, against libdeflate",
        best(
            ROUNDS,
            || read(format, &bytes, whole, 1),
            || {
                libdeflate_inflate(&blocks, 1);
            },
        ),
    );
    line(
        "read, 2 threads, against libdeflate",
        best(
            ROUNDS,
            || read(format, &bytes, whole, 2),
            || {
                libdeflate_inflate(&blocks, 2);
            },
        ),
    );
    line(
        "read in 64 MiB, 1 thread, against zlib-rs",
        best(
            ROUNDS,
            || read(format, &bytes, streamed, 1),
            || {
                zlib_rs_inflate(&blocks, 1);
            },
        ),
    );
    let options = |memory, threads| WriteOptions { memory, threads, ..WriteOptions::default() };
    line(
        "write, 1 thread, against libdeflate 6",
        best(
            2,
            || {
                write(format, table, &options(1 << 30, 1));
            },
            || {
                libdeflate_compress(&payloads, 1);
            },
        ),
    );
    line(
        "write, 2 threads, against libdeflate 6",
        best(
            2,
            || {
                write(format, table, &options(1 << 30, 2));
            },
            || {
                libdeflate_compress(&payloads, 2);
            },
        ),
    );
    line(
        "write in 32 MiB, 1 thread, against zlib-rs 6",
        best(
            1,
            || {
                write(format, table, &options(32 << 20, 1));
            },
            || {
                zlib_rs_compress(&payloads, 1);
            },
        ),
    );
}
