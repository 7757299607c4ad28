//! What encodings cost: nanoseconds to decode and bytes to store a value.
//!
//! ```text
//! lance_costs                    the encodings that the writer chooses from, on columns made for them
//! lance_costs FILE.lance ...     every column of these files
//! ```
//!
//! One thread, from memory, without checksums; the best of many rounds, in which all columns take turns, so that a busy machine
//! disturbs all alike. `encoding` is what the first page really has. The table in `write/choice.rs` is derived from the first
//! form, as its last lines show: a few differences between two columns that differ in one encoding.

#![allow(clippy::print_stdout, reason = "its answers are its output")]

use arrow::array::{ArrayRef, Decimal128Array, Float64Array, Int64Array, StringArray};
use arrow::datatypes::{Field, Schema};
use arrow::record_batch::RecordBatch;
use bytes::Bytes;
use colkit_core::drive::blocking;
use colkit_core::{Format, MemorySink, Projection, ReadOptions, Result, Scan, Source, TableFile, WriteOptions};
use colkit_lance::container::Version;
use colkit_lance::{Lance, LanceWriteOptions, Prefer};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

const ROWS: usize = 1 << 20;

fn main() -> Result<()> {
    let paths: Vec<String> = std::env::args().skip(1).collect();
    if paths.is_empty() {
        let cases = made()?;
        let times = timed(&cases)?;
        print(&cases, &times);
        derive(&cases, &times);
        return Ok(());
    }
    let mut cases = Vec::new();
    for path in paths {
        cases.extend(columns(&path, Bytes::from(std::fs::read(&path)?))?);
    }
    print(&cases, &timed(&cases)?);
    Ok(())
}

/// A column to be timed.
struct Case {
    name: String,
    file: TableFile,
    column: String,
    rows: usize,
    encoding: String,
    /// Bytes of its pages.
    stored: u64,
}

/// The columns of a file.
fn columns(name: &str, bytes: Bytes) -> Result<Vec<Case>> {
    let options = ReadOptions { checksums: false, ..ReadOptions::default() };
    let table = blocking::run(Lance::new().open_table(bytes.len() as u64, &options), &bytes)?;
    let summaries = blocking::run(table.describe(), &bytes)?;
    let source: Arc<dyn Source> = Arc::new(bytes);
    let file = TableFile::open(Arc::new(Lance::new()), source, &options)?.with_threads(1);
    let schema = file.schema();
    let mut cases = Vec::new();
    for (root, field) in schema.fields().iter().enumerate() {
        let pages = || summaries.iter().filter(|s| s.root == Some(root)).flat_map(|s| &s.pages);
        let encoding = pages().next().map_or_else(String::new, |page| match &page.summary {
            Ok(summary) => format!("{summary:?}"),
            Err(why) => why.clone(),
        });
        let mut count = 0;
        for batch in
            file.scan(&Scan { projection: Projection::named(&schema, [field.name().as_str()])?, ..Scan::default() })?
        {
            count += batch?.num_rows();
        }
        cases.push(Case {
            name: name.to_owned(),
            file: file.clone(),
            column: field.name().clone(),
            rows: count,
            encoding,
            stored: pages().flat_map(|p| &p.buffers).map(|b| b.len()).sum(),
        });
    }
    Ok(cases)
}

/// Seconds to read each column.
fn timed(cases: &[Case]) -> Result<Vec<f64>> {
    let mut best = vec![f64::MAX; cases.len()];
    for _ in 0..25 {
        for (case, best) in cases.iter().zip(&mut best) {
            let projection = Projection::named(&case.file.schema(), [case.column.as_str()])?;
            let scan = Scan { projection, ..Scan::default() };
            let start = Instant::now();
            for batch in case.file.scan(&scan)? {
                std::hint::black_box(batch?);
            }
            *best = best.min(start.elapsed().as_secs_f64());
        }
    }
    Ok(best)
}

fn print(cases: &[Case], times: &[f64]) {
    let mut sums: Vec<(&str, u64, f64)> = Vec::new();
    println!("{:>9} {:>9} {:>9}  column, encoding", "bytes", "ns", "ms");
    for (case, time) in cases.iter().zip(times) {
        let rows = case.rows.max(1) as f64;
        let each = (case.stored as f64 / rows, time * 1e9 / rows);
        println!("{:9.3} {:9.2} {:9.2}  {} {}: {}", each.0, each.1, time * 1e3, case.name, case.column, case.encoding);
        match sums.iter_mut().find(|(name, ..)| *name == case.name) {
            Some((_, bytes, sum)) => (*bytes, *sum) = (*bytes + case.stored, *sum + time),
            None => sums.push((&case.name, case.stored, *time)),
        }
    }
    for (name, bytes, time) in sums {
        println!("{bytes} bytes, {:.2} ms in all: {name}", time * 1e3);
    }
}

/// The same numbers every time.
fn random(i: usize) -> u64 {
    let mut x = (i as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

fn whole(x: u64) -> i64 {
    i64::try_from(x).unwrap_or(i64::MAX)
}

/// What it is called, the values, and what is asked of the writer.
type Column<'a> = (&'static str, &'a ArrayRef, Vec<(&'static str, &'static str)>);

/// Columns of which each has one encoding.
fn made() -> Result<Vec<Case>> {
    let numbers =
        |value: &dyn Fn(usize) -> i64| -> ArrayRef { Arc::new(Int64Array::from_iter_values((0..ROWS).map(value))) };
    let texts =
        |value: &dyn Fn(usize) -> String| -> ArrayRef { Arc::new(StringArray::from_iter_values((0..ROWS).map(value))) };
    let words =
        ["regular", "ironic", "deposits", "sleep", "furiously", "among", "the", "packages", "final", "requests"];
    let pick = |x: u64, most: usize| {
        words.iter().cycle().nth(usize::try_from(x % most as u64).unwrap_or(0)).copied().unwrap_or("")
    };
    let comment = |i: usize| {
        let x = random(i);
        let word = |n: u32| pick(x >> (n * 6), words.len());
        (0..2 + u32::try_from(x % 5).unwrap_or(0)).map(word).collect::<Vec<_>>().join(" ")
    };
    let bits = numbers(&|i| whole(random(i) % (1 << 17)));
    // As long as runs of 4 are worth it: too many bits for anything else.
    let keys = numbers(&|i| whole((i as u64 / 4) * 3 + (random(i / 4) % 3) + (1 << 50)));
    let runs = numbers(&|i| whole(random(i / 200) % 1000));
    let serial = numbers(&|i| whole(10_000_000 + i as u64));
    let clock = numbers(&|i| whole((1_700_000_000 << 20) + i as u64 * 500 + random(i) % 500));
    let few = numbers(&|i| whole(random(i) % 300 * 1_000_000_007));
    let floats: ArrayRef =
        Arc::new(Float64Array::from_iter_values((0..ROWS).map(|i| (random(i) % 1_000_000) as f64 / 100.0)));
    let price = Decimal128Array::from_iter_values((0..ROWS).map(|i| i128::from(random(i) % (1 << 23))));
    let price: ArrayRef = Arc::new(price.with_precision_and_scale(15, 2)?);
    let comments = texts(&comment);
    let flags = texts(&|i| pick(random(i), 7).to_owned());
    let pages = texts(&|i| (0..60).map(|n| comment(i / 64 * 64 + n)).collect::<Vec<_>>().join(", "));
    let pages = pages.slice(0, ROWS / 64);
    let alone = ("dict-divisor", "100000000");
    let none = ("compression", "none");
    let cases: Vec<Column<'_>> = vec![
        ("flat", &bits, vec![none, alone]),
        ("bits", &bits, vec![alone]),
        ("runs of 4", &keys, vec![alone, ("compression", "fsst")]),
        ("runs of 4, lz4", &keys, vec![alone, ("compression", "lz4"), ("bss", "off")]),
        ("runs of 200", &runs, vec![alone]),
        ("serial, split, lz4", &serial, vec![alone, ("compression", "lz4"), ("bss", "on")]),
        (
            "serial, split, zstd",
            &serial,
            vec![alone, ("compression", "zstd"), ("bss", "on"), ("compression-level", "1")],
        ),
        ("clock, lz4", &clock, vec![alone, ("compression", "lz4"), ("bss", "off")]),
        ("clock, zstd", &clock, vec![alone, ("compression", "zstd"), ("bss", "off"), ("compression-level", "1")]),
        ("clock, split, lz4", &clock, vec![alone, ("compression", "lz4"), ("bss", "on")]),
        ("clock, split, zstd", &clock, vec![alone, ("compression", "zstd"), ("bss", "on"), ("compression-level", "1")]),
        ("floats, lz4", &floats, vec![alone, ("compression", "lz4"), ("bss", "off")]),
        ("floats, zstd", &floats, vec![alone, ("compression", "zstd"), ("bss", "off"), ("compression-level", "1")]),
        ("few numbers", &few, vec![]),
        ("price, flat", &price, vec![none, alone]),
        ("price, lz4", &price, vec![alone, ("compression", "lz4")]),
        ("price, stride", &price, vec![alone]),
        ("price, zstd", &price, vec![alone, ("compression", "zstd"), ("compression-level", "1")]),
        ("texts", &comments, vec![none, alone]),
        ("texts, fsst", &comments, vec![alone, ("compression", "fsst")]),
        ("texts, lz4", &comments, vec![alone, ("compression", "lz4")]),
        ("texts, zstd", &comments, vec![alone, ("compression", "zstd"), ("compression-level", "1")]),
        ("few texts", &flags, vec![]),
        ("long texts", &pages, vec![none, alone, ("structural-encoding", "fullzip")]),
        ("long texts, fsst", &pages, vec![alone, ("compression", "fsst"), ("structural-encoding", "fullzip")]),
        ("long texts, lz4", &pages, vec![alone, ("compression", "lz4"), ("structural-encoding", "fullzip")]),
        ("long texts, zstd", &pages, vec![alone, ("compression", "zstd"), ("structural-encoding", "fullzip")]),
    ];
    let mut made = Vec::new();
    for (name, array, asked) in cases {
        let metadata: HashMap<String, String> =
            asked.into_iter().map(|(k, v)| (format!("lance-encoding:{k}"), v.to_owned())).collect();
        let field = Field::new("c", array.data_type().clone(), false).with_metadata(metadata);
        let batch = RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![array.clone()])?;
        let writing = LanceWriteOptions::new().with_prefer(Prefer::Balance).with_version(Version::V2_1);
        let sink = MemorySink::new();
        let mut writer = Lance::new().with_write_options(writing).writer(
            batch.schema(),
            Box::new(sink.clone()),
            &WriteOptions::default(),
        )?;
        writer.write(&batch)?;
        writer.finish()?;
        made.extend(columns(name, sink.bytes().unwrap_or_default())?);
    }
    Ok(made)
}

/// Most of the table of `write/choice.rs`, in picoseconds. LZ4 is fitted to its columns by hand: what it takes depends on how many
/// sequences there are, and of which kind.
fn derive(cases: &[Case], times: &[f64]) {
    let find = |name: &str| cases.iter().zip(times).find(|(c, _)| c.name == name);
    let time = |name: &str| find(name).map_or(0.0, |(c, t)| t * 1e12 / c.rows.max(1) as f64);
    let bytes = |name: &str| find(name).map_or(0.0, |(c, _)| c.stored as f64 / c.rows.max(1) as f64);
    let byte = time("price, flat") / 16.0;
    let bits = time("bits") - 8.0 * byte;
    let text = time("texts") - bytes("texts") * byte;
    println!("BYTE {byte:.0}");
    println!("BITS {bits:.0}");
    println!("RUN {:.0}", (time("runs of 4") - 8.0 * byte) * 4.0);
    println!("TEXT {text:.0}");
    println!("CODE {:.0}", (time("texts, fsst") - text) / (bytes("texts, fsst") - 4.0));
    println!("LOOKED_UP {:.0}", time("few numbers") - 8.0 * byte - bits);
    println!("TEXT_LOOKED_UP {:.0}", time("few texts") - 6.0 * byte - bits);
    println!("STRIDE {:.0}", time("price, stride") - 16.0 * byte);
    println!("SPLIT {:.0}", (time("serial, split, lz4") - 8.0 * byte) / 8.0);
    for (name, out) in [("clock", 8.0), ("floats", 8.0), ("price", 16.0), ("texts", bytes("texts"))] {
        let plain = if name == "texts" { time("texts") } else { out * byte };
        let extra = |scheme: &str| (time(&format!("{name}, {scheme}")) - plain) / out;
        println!("{name}: lz4 {:.0}, zstd {:.0} for a byte that comes out", extra("lz4"), extra("zstd"));
    }
    println!("BEGIN {:.0}", time("long texts, zstd") - time("long texts") * (time("texts, zstd") / time("texts")));
}
