//! Writes one table as CSV and in three AT-1 forms, for measuring: `bench_files FOLDER MEGABYTES`.
//!
//! The table has an increasing id, a time, a price, a quantity, a symbol and a note, about 50 bytes a row. Streams and
//! blocks are packed with xz at its default level, as the published text says, and once more with zstd.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    missing_docs,
    dead_code,
    reason = "a program for measuring, on data it makes itself"
)]

#[path = "../tests/encode.rs"]
mod encode;

use encode::{Cells, Packing, columnar, csv, qcolumnar_with, stream_set_at, streaming, whole};
use std::path::Path;

fn table(rows: usize) -> Vec<Cells> {
    let mut x = 88_172_645_463_325_252u64;
    let mut next = |n: u64| {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        x % n
    };
    let mut time = 1_700_000_000i64;
    let (mut times, mut prices, mut price) = (Vec::new(), Vec::new(), 4_400_000i64);
    for _ in 0..rows {
        time += next(30) as i64;
        price += next(2001) as i64 - 1000;
        times.push(time);
        prices.push(price.abs());
    }
    let symbols = ["BTC", "ETH", "SOL", "XRP", "DOGE", "ADA", "DOT", "LTC"].map(String::from).to_vec();
    let words = ["fill", "partial", "cancel", "amend", "reject", "new"];
    let note = |_| format!("{} {:x}", words[next(6) as usize], next(1 << 24));
    let notes: Vec<String> = (0..rows).map(note).collect();
    vec![
        Cells::Int((0..rows as i64).map(|i| 1_000_000 + i).collect()),
        Cells::Int(times),
        Cells::Dec(prices, 2),
        Cells::Shuf((0..rows).map(|_| next(200) as u8).collect()),
        Cells::Dict((0..rows).map(|_| next(8) as usize).collect(), symbols),
        Cells::Text(notes),
    ]
}

fn part(columns: &[Cells], range: std::ops::Range<usize>) -> Vec<Cells> {
    let pick = |c: &Cells| match c {
        Cells::Text(v) => Cells::Text(v[range.clone()].to_vec()),
        Cells::Int(v) => Cells::Int(v[range.clone()].to_vec()),
        Cells::Dec(v, s) => Cells::Dec(v[range.clone()].to_vec(), *s),
        Cells::Dict(i, e) => Cells::Dict(i[range.clone()].to_vec(), e.clone()),
        Cells::Shuf(v) => Cells::Shuf(v[range.clone()].to_vec()),
    };
    columns.iter().map(pick).collect()
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let folder = Path::new(&arguments[0]);
    let rows = arguments[1].parse::<usize>().unwrap() * 20_000;
    let columns = table(rows);
    let original = csv(&columns, rows);
    let write = |name: &str, bytes: &[u8]| {
        std::fs::write(folder.join(name), bytes).unwrap();
        println!("{name}: {} bytes", bytes.len());
    };
    write("table.csv", &original);
    for (suffix, packing, tag) in [("xz", Packing::Xz, 0), ("zstd", Packing::Zstd, 1)] {
        let level = if tag == 0 { 6 } else { 12 };
        let pack = |streams: &[(&str, Vec<u8>)]| {
            stream_set_at(streams, |name| if name == "blocks" { Packing::Stored } else { packing }, level)
        };
        write(&format!("columnar-{suffix}.at1"), &whole(4, &pack(&columnar(&columns, rows, true)), &original));
        let streams = qcolumnar_with(&columns, rows, 65_536, |_, _| tag, level);
        write(&format!("qcolumnar-{suffix}.at1"), &whole(7, &pack(&streams), &original));
        let frame_rows = 100_000;
        let frames: Vec<Vec<u8>> = (0..rows)
            .step_by(frame_rows)
            .map(|start| {
                let range = start..rows.min(start + frame_rows);
                pack(&columnar(&part(&columns, range.clone()), range.len(), start == 0))
            })
            .collect();
        write(&format!("streaming-{suffix}.at1"), &streaming(4, &frames, &original));
    }
}
