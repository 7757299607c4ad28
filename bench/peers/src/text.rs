//! Text: a CSV to each format, packing and unpacking, and asking a table while it is packed.

use crate::answer::{Answer, Normal, normal};
use crate::contest::{Contest, Entry, Job, Result};
use crate::{Bench, arrow_batches};
use arrow::array::RecordBatch;
use arrow::compute::cast;
use arrow::datatypes::DataType;
use colkit::at1::{Effort, PackOptions, PackPriority, RestoreOptions, pack, restore_with};
use colkit::{Conversion, CreateOptions, FileSink, FileSource, Input, Limits};
use serde_json::json;
use std::io::{Read, Write};

pub fn run(bench: &Bench, contest: &mut Contest) -> Result<()> {
    csv(bench, contest)?;
    for name in bench.texts()? {
        packing(bench, contest, &name)?;
    }
    queries(bench, contest)
}

// ---------------------------------------------------------------------- CSV to each format

fn csv(bench: &Bench, contest: &mut Contest) -> Result<()> {
    let job = Job { section: "csv", table: "table.csv", job: "convert", memory: true };
    if !contest.wants(job) {
        return Ok(());
    }
    let source = format!("{}/table.csv", bench.folder);
    let mut entries: Vec<Entry> = Vec::new();
    for format in ["lance", "parquet", "arrow", "gppcol", "cff", "colfile", "at1"] {
        let (source, out) = (source.clone(), bench.file("table", &format!(".{format}")));
        entries.push(Entry::new(format!("colkit to {format}"), move |_| {
            convert(&source, &out, format)?;
            Ok(Answer::File(out.clone()))
        }));
    }
    for (tool, format) in [("duckdb", "parquet"), ("polars", "parquet"), ("pandas", "parquet"), ("pylance", "lance")] {
        let (source, out) = (source.clone(), bench.file("table", &format!(".{tool}.{format}")));
        let request = move |_| json!({"tool": tool, "job": "csv", "file": source, "out": out});
        entries.push(bench.python.entry(&format!("{tool} to {format}"), request));
    }
    contest.run(job, entries, &|answer| normal(answer, &some_columns), None)
}

fn convert(from: &str, to: &str, format: &str) -> Result<()> {
    let options = CreateOptions::new().with_format(format).with_overwrite(true);
    Conversion::new([Input::path(from)?]).create_options(options).write_to(to)?;
    Ok(())
}

/// Columns about which all tools agree, read by colkit from any format.
fn some_columns(path: &str) -> Result<Vec<RecordBatch>> {
    let file = colkit::open(path)?;
    let names =
        [("id", DataType::Int64), ("price", DataType::Float64), ("user", DataType::Utf8), ("hex", DataType::Utf8)];
    let mut batches = Vec::new();
    for batch in file.scan().columns(names.iter().map(|(n, _)| *n)).batches()? {
        let batch = batch?;
        let columns = names.iter().zip(batch.columns()).map(|((n, t), c)| Ok((*n, cast(c, t)?, true)));
        batches.push(RecordBatch::try_from_iter_with_nullable(columns.collect::<Result<Vec<_>>>()?)?);
    }
    Ok(batches)
}

// ---------------------------------------------------------------------- packing and unpacking

fn packing(bench: &Bench, contest: &mut Contest, name: &str) -> Result<()> {
    let source = format!("{}/text/{name}", bench.folder);
    let out = |ending: &str| bench.file(name, ending);
    let job = Job { section: "pack", table: name, job: "pack", memory: true };
    if contest.wants(job) {
        let ours = |label: &str, ending: &str, aim, effort| {
            let (source, out) = (source.clone(), out(ending));
            Entry::new(label, move |_| {
                let options = PackOptions { aim, effort, ..PackOptions::default() };
                pack(&FileSource::open(&source)?, Box::new(FileSink::replace(&out)?), &options)?;
                Ok(Answer::File(out.clone()))
            })
        };
        let stream = |label: &str, ending: &str, encode: fn(&[u8]) -> Result<Vec<u8>>| {
            let (source, out) = (source.clone(), out(ending));
            Entry::new(label, move |_| {
                std::fs::File::create(&out)?.write_all(&encode(&std::fs::read(&source)?)?)?;
                Ok(Answer::File(out.clone()))
            })
        };
        let entries = vec![
            ours("colkit", ".at1", PackPriority::Queryable, Effort::Default),
            ours("colkit smallest", ".smallest.at1", PackPriority::Smallest, Effort::Default),
            ours("colkit fast", ".fast.at1", PackPriority::Queryable, Effort::Fast),
            stream("xz -6", ".xz", |text| xz(text, 6)),
            stream("zstd -3", ".zst", |text| Ok(zstd::encode_all(text, 3)?)),
            stream("zstd -19", ".19.zst", |text| Ok(zstd::encode_all(text, 19)?)),
        ];
        let original = if contest.alone.is_some() { None } else { Some(Normal::Bytes(std::fs::read(&source)?)) };
        contest.run(job, entries, &unpacked, original)?;
    }
    let job = Job { section: "unpack", table: name, job: "unpack", memory: true };
    if contest.wants(job) {
        let ours = |label: &str, threads| {
            let packed = out(".at1");
            Entry::new(label, move |_| Ok(Answer::Bytes(restored(&packed, threads)?)))
        };
        #[cfg_attr(not(feature = "reference"), expect(unused_mut, reason = "one contestant more with it"))]
        let mut entries = vec![ours("colkit", colkit::available_threads()), ours("colkit, 1 thread", 1)];
        #[cfg(feature = "reference")]
        {
            let packed = out(".at1");
            entries.push(Entry::new("at1", move |_| Ok(Answer::Bytes(at1::decode(&std::fs::read(&packed)?)?))));
        }
        for (label, ending) in [("xz -6", ".xz"), ("zstd -19", ".19.zst")] {
            let packed = out(ending);
            entries.push(Entry::new(label, move |_| Ok(Answer::Bytes(unpack(&packed)?))));
        }
        let normal = |answer| match answer {
            Answer::Bytes(bytes) => Ok(Normal::Bytes(bytes)),
            _ => Err("not bytes".into()),
        };
        let original = if contest.alone.is_some() { None } else { Some(Normal::Bytes(std::fs::read(&source)?)) };
        contest.run(job, entries, &normal, original)?;
    }
    Ok(())
}

fn unpacked(answer: Answer) -> Result<Normal> {
    match answer {
        Answer::File(path) => Ok(Normal::Bytes(unpack(&path)?)),
        _ => Err("not a file".into()),
    }
}

fn unpack(path: &str) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    match path.rsplit_once('.').map(|(_, ending)| ending) {
        Some("xz") => {
            liblzma::read::XzDecoder::new(std::fs::read(path)?.as_slice()).read_to_end(&mut out)?;
        }
        Some("zst") => out = zstd::decode_all(std::fs::read(path)?.as_slice())?,
        _ => out = restored(path, colkit::available_threads())?,
    }
    Ok(out)
}

fn restored(path: &str, threads: usize) -> Result<Vec<u8>> {
    let limits = Limits { memory: 4 << 30, ..Limits::default() };
    let mut out = Vec::new();
    restore_with(
        &FileSource::open(path)?,
        &RestoreOptions { limits, threads, ..RestoreOptions::default() },
        &mut |piece| {
            out.extend_from_slice(piece);
            Ok(())
        },
    )?;
    Ok(out)
}

fn xz(text: &[u8], level: u32) -> Result<Vec<u8>> {
    let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), level);
    encoder.write_all(text)?;
    Ok(encoder.finish()?)
}

// ---------------------------------------------------------------------- queries

/// A few columns of a thousandth of the trades: by a column that is sorted, and by one that is not. The same table
/// packed by us, as it is, compressed, and as Parquet.
fn queries(bench: &Bench, contest: &mut Contest) -> Result<()> {
    let source = format!("{}/text/trades.csv", bench.folder);
    let (packed, zst, parquet) =
        (bench.file("trades.csv", ".at1"), bench.file("trades.csv", ".zst"), bench.file("trades.csv", ".parquet"));
    if !std::fs::exists(&packed)? {
        pack(&FileSource::open(&source)?, Box::new(FileSink::replace(&packed)?), &PackOptions::default())?;
    }
    if !std::fs::exists(&zst)? {
        std::fs::write(&zst, zstd::encode_all(std::fs::read(&source)?.as_slice(), 3)?)?;
    }
    if !std::fs::exists(&parquet)? {
        convert(&source, &parquet, "parquet")?;
    }
    // Trades are numbered from a million on; sizes are spread exponentially.
    let rows = bench.known("trades.csv")?.file_metadata().num_rows();
    let low = 1_000_000 + rows / 2;
    let conditions = [
        ("query, sorted", "trade_id", low as f64, (low + rows / 1000 - 1) as f64),
        ("query, unsorted", "size", 2.0, 2.2),
    ];
    let columns = ["trade_id", "symbol", "price"];
    for (job, column, low, high) in conditions {
        let job = Job { section: "query", table: "trades.csv", job, memory: column == "size" };
        if !contest.wants(job) {
            continue;
        }
        let condition = format!("{column} >= {low} and {column} <= {high}");
        let ours = |label: &str, path: &str| {
            let (path, condition) = (path.to_owned(), condition.clone());
            Entry::new(label, move |_| {
                let file = colkit::open(&path)?;
                let batches = file.scan().columns(columns).filter(&condition).batches()?;
                Ok(Answer::Arrow59(batches.collect::<std::result::Result<_, _>>()?))
            })
        };
        let mut entries = vec![ours("colkit", &packed), ours("colkit on the CSV", &source)];
        for (tool, path, kind) in [
            ("duckdb", &source, "the CSV"),
            ("duckdb", &zst, "csv.zst"),
            ("duckdb", &parquet, "Parquet"),
            ("polars", &source, "the CSV"),
            ("polars", &parquet, "Parquet"),
            ("pandas", &zst, "csv.zst"),
        ] {
            let path = path.clone();
            let request = move |_| json!({"tool": tool, "job": "query", "file": path, "columns": columns, "column": column, "low": low, "high": high});
            entries.push(bench.python.entry(&format!("{tool} on {kind}"), request));
        }
        contest.run(job, entries, &|answer| normal(answer, &arrow_batches), None)?;
    }
    Ok(())
}
