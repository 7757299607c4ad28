//! The formats of one zlib stream per column against the bare deflate libraries, on the same blocks.
//!
//! libdeflate is what colkit uses for columns that fit into memory, zlib-rs where it streams. Bytes are those of the
//! uncompressed columns.

use crate::contest::{Contest, Job, Result};
use arrow::array::{ArrayRef, AsArray, BooleanArray, Float64Array, Int32Array, RecordBatch, StringArray};
use bytes::Bytes;
use colkit::core::drive::parallel;
use colkit::core::{ReadOptions, Scan};
use colkit::{Format, MemorySink, RegionKind, Registry, TableFile, TextOptions, WriteOptions};
use serde_json::json;
use std::io::{Read, Write};
use std::sync::Arc;
use std::time::Instant;

pub fn run(contest: &mut Contest, rows: usize) -> Result<()> {
    let job = Job { section: "bare", table: "all", job: "all", memory: false };
    if !contest.wants(job) || contest.alone.is_some() {
        return Ok(());
    }
    let table = sample(rows)?;
    let registry = Registry::default();
    for name in ["gppcol", "cff", "colfile"] {
        let table = if name == "gppcol" { table.clone() } else { without_bools(&table)? };
        measure(contest, &registry.named(name, &TextOptions::default())?, &table)?;
    }
    Ok(())
}

type Blocks = Vec<(Bytes, usize)>;

fn measure(contest: &mut Contest, format: &Arc<dyn Format>, table: &RecordBatch) -> Result<()> {
    let (name, rows) = (format.name(), table.num_rows());
    eprintln!("bare: {name}");
    let bytes = write(format, table, 1 << 30, 2)?;
    let blocks = blocks(format, &bytes)?;
    let payloads = libdeflate_inflate(&blocks, 1)?;
    let megabytes = payloads.iter().map(Vec::len).sum::<usize>() as f64 / 1e6;
    // Too little for the largest columns at once, so that they are streamed.
    let (whole, streamed, spilled) = (1 << 30, 64 * rows as u64, 32 * rows as u64);
    let read = |memory, threads| read(format, &bytes, rows, memory, threads);
    let write = |memory, threads| write(format, table, memory, threads).map(|_| ());
    let rounds = contest.rounds;
    let mut line = |job: &str, library: &str, rounds, ours: &dyn Fn() -> Result<()>, bare: &dyn Fn() -> Result<()>| {
        let mut best = [f64::MAX; 2];
        for _ in 0..rounds {
            for (work, best) in [ours, bare].iter().zip(&mut best) {
                let start = Instant::now();
                work()?;
                *best = best.min(start.elapsed().as_secs_f64());
            }
        }
        let [ours, bare] = best.map(|seconds| megabytes / seconds);
        eprintln!("  {job:<28} {:.2} of {library}", ours / bare);
        contest.jobs.push(json!({"section": "bare", "table": name, "job": job, "results": [
            {"contestant": "colkit", "rate": ours}, {"contestant": library, "rate": bare}]}));
        Ok::<_, Box<dyn std::error::Error + Send + Sync>>(())
    };
    for (threads, many) in [(1, "1 thread"), (2, "2 threads")] {
        let bare = || libdeflate_inflate(&blocks, threads).map(|_| ());
        line(&format!("read, {many}"), "libdeflate", rounds, &|| read(whole, threads), &bare)?;
    }
    line("read, streamed, 1 thread", "zlib-rs", rounds, &|| read(streamed, 1), &|| zlib_rs_inflate(&blocks))?;
    for (threads, many) in [(1, "1 thread"), (2, "2 threads")] {
        let bare = || libdeflate_compress(&payloads, threads);
        line(&format!("write, {many}"), "libdeflate", rounds.min(3), &|| write(whole, threads), &bare)?;
    }
    line("write, spilled, 1 thread", "zlib-rs", 2, &|| write(spilled, 1), &|| zlib_rs_compress(&payloads))
}

/// Sixteen columns of the kinds that tables are made of; seeded, so that every run has the same.
fn sample(rows: usize) -> Result<RecordBatch> {
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
        let ids = (0..rows as i32).map(|r| r * step);
        columns.push((format!("id{i}"), Arc::new(Int32Array::from_iter_values(ids))));
        let codes = (0..rows).map(|_| (random() % 1000) as i32);
        columns.push((format!("code{i}"), Arc::new(Int32Array::from_iter_values(codes))));
        let prices = (0..rows).map(|_| (random() % 100_000) as f64 / 100.0);
        columns.push((format!("price{i}"), Arc::new(Float64Array::from_iter_values(prices))));
        let strings = |f: &mut dyn FnMut(usize) -> String| -> ArrayRef {
            Arc::new(StringArray::from_iter_values((0..rows).map(f)))
        };
        let text: ArrayRef = match i {
            0 => strings(&mut |_| format!("user-{}", random() % 50_000)),
            1 => strings(&mut |_| ["red", "green", "blue"][(random() % 3) as usize].into()),
            2 => strings(&mut |r| format!("2024-01-{:02}T{:02}:00", r % 28 + 1, r % 24)),
            _ => Arc::new(BooleanArray::from_iter((0..rows).map(|_| Some(random() % 5 == 0)))),
        };
        columns.push((format!("text{i}"), text));
    }
    Ok(RecordBatch::try_from_iter(columns)?)
}

fn without_bools(table: &RecordBatch) -> Result<RecordBatch> {
    let plain = |a: &ArrayRef| -> ArrayRef {
        match a.as_boolean_opt() {
            Some(bools) => Arc::new(Int32Array::from_iter_values(bools.values().iter().map(i32::from))),
            None => a.clone(),
        }
    };
    let schema = table.schema();
    Ok(RecordBatch::try_from_iter(schema.fields().iter().zip(table.columns()).map(|(f, a)| (f.name(), plain(a))))?)
}

fn write(format: &Arc<dyn Format>, table: &RecordBatch, memory: u64, threads: usize) -> Result<Bytes> {
    let sink = MemorySink::new();
    let options = WriteOptions { memory, threads, ..WriteOptions::default() };
    let mut writer = format.writer(table.schema(), Box::new(sink.clone()), &options)?;
    for start in (0..table.num_rows()).step_by(32_768) {
        writer.write(&table.slice(start, 32_768.min(table.num_rows() - start)))?;
    }
    writer.finish()?;
    sink.bytes().ok_or_else(|| "nothing was written".into())
}

fn read(format: &Arc<dyn Format>, bytes: &Bytes, rows: usize, memory: u64, threads: usize) -> Result<()> {
    let file = TableFile::open(format.clone(), Arc::new(bytes.clone()), &ReadOptions::default())?;
    let mut read = 0;
    for batch in file.with_threads(threads).scan(&Scan { memory, ..Scan::default() })? {
        read += batch?.num_rows();
    }
    if read == rows { Ok(()) } else { Err("rows are missing".into()) }
}

/// The compressed blocks of a file and the sizes they inflate to.
fn blocks(format: &Arc<dyn Format>, bytes: &Bytes) -> Result<Blocks> {
    let file = TableFile::open(format.clone(), Arc::new(bytes.clone()), &ReadOptions::default())?;
    let layout = file.layout()?;
    let data = layout.regions.iter().filter(|r| r.kind == RegionKind::Data);
    let block = |r: &colkit::Region| {
        let range = r.range.start() as usize..r.range.end() as usize;
        Ok((bytes.slice(range), r.raw_bytes.ok_or("no size")? as usize))
    };
    data.map(block).collect()
}

fn libdeflate_inflate(blocks: &Blocks, threads: usize) -> Result<Vec<Vec<u8>>> {
    Ok(parallel::map(blocks.clone(), threads, |(block, raw)| {
        let mut out = vec![0; raw];
        libdeflater::Decompressor::new().zlib_decompress(&block, &mut out).map_err(std::io::Error::other)?;
        Ok(out)
    })?)
}

fn zlib_rs_inflate(blocks: &Blocks) -> Result<()> {
    let mut piece = vec![0; 64 << 10];
    for (block, raw) in blocks {
        let (mut stream, mut total) = (flate2::read::ZlibDecoder::new(&block[..]), 0);
        loop {
            match stream.read(&mut piece)? {
                0 => break,
                n => total += n,
            }
        }
        assert_eq!(total, *raw);
    }
    Ok(())
}

fn libdeflate_compress(payloads: &[Vec<u8>], threads: usize) -> Result<()> {
    parallel::map(payloads.iter().collect(), threads, |raw: &Vec<u8>| {
        let mut compressor = libdeflater::Compressor::new(libdeflater::CompressionLvl::default());
        let mut out = vec![0; compressor.zlib_compress_bound(raw.len())];
        Ok(compressor.zlib_compress(raw, &mut out).map_err(std::io::Error::other)?)
    })?;
    Ok(())
}

fn zlib_rs_compress(payloads: &[Vec<u8>]) -> Result<()> {
    for raw in payloads {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::new(6));
        encoder.write_all(raw)?;
        std::hint::black_box(encoder.finish()?.len());
    }
    Ok(())
}
