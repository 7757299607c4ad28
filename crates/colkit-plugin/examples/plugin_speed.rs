//! How fast the modules that files bring along decode, beside the decoders in the program and beside Lance's encodings.
//!
//! ```text
//! cargo run --release -p colkit-plugin --features colkit-lance/extended --example plugin_speed
//! ```

#![allow(clippy::print_stdout, clippy::expect_used, reason = "it prints, and a failure ends it")]

use arrow::array::{ArrayRef, Date32Array, Float64Array, Int64Array, TimestampMicrosecondArray};
use arrow::record_batch::RecordBatch;
use bytes::Bytes;
use colkit_core::drive::blocking;
use colkit_core::{Format, Projection, ReadOptions, Scan, WriteOptions, conformance};
use colkit_lance::encoding::Registry;
use colkit_lance::{EncodingSet, Lance, LanceWriteOptions, Prefer};
use colkit_plugin::{Plugin, Plugins, check};
use std::sync::Arc;
use std::time::{Duration, Instant};

const ROWS: u64 = 2_000_000;

/// Numbers of 20 bits without a pattern.
fn scrambled(i: u64) -> i64 {
    let once = (i ^ i >> 30).wrapping_add(0x9E37_79B9_7F4A_7C15).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let twice = (once ^ once >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    i64::try_from((twice ^ twice >> 31) >> 44).unwrap_or(0)
}

fn columns() -> Vec<(&'static str, ArrayRef)> {
    let rows = || (0..ROWS).map(|i| (i64::try_from(i).unwrap_or(0), scrambled(i)));
    let times = rows().map(|(i, s)| 1_700_000_000_000_000 + i * 1_000_000 + s % 1000 * 1000);
    vec![
        ("prices", Arc::new(Float64Array::from_iter_values(rows().map(|(_, s)| (s % 100_000) as f64 / 100.0)))),
        ("times", Arc::new(TimestampMicrosecondArray::from_iter_values(times))),
        ("keys", Arc::new(Int64Array::from_iter_values(rows().map(|(_, s)| (1 << 40) + s % 60_000)))),
        (
            "dates",
            Arc::new(Date32Array::from_iter_values((0..ROWS).map(|i| i32::try_from(19_000 + i / 700).unwrap_or(0)))),
        ),
    ]
}

fn write(batch: &RecordBatch, encodings: EncodingSet, prefer: Prefer) -> Bytes {
    let options = LanceWriteOptions::new().with_encodings(encodings).with_prefer(prefer);
    let format: Arc<dyn Format> = Arc::new(Lance::new().with_write_options(options));
    conformance::write(&format, batch, 65_536, &WriteOptions::default()).expect("it is written").0
}

/// The first scan, with what has to be compiled, and the best of several, on one thread.
fn scan(registry: Registry, bytes: &Bytes) -> (Duration, Duration) {
    let format: Arc<dyn Format> = Arc::new(Lance::with_encodings(registry));
    let options = ReadOptions { checksums: false, ..ReadOptions::default() };
    let table = blocking::run(format.open(bytes.len() as u64, &options), bytes).expect("it opens");
    let once = || {
        let began = Instant::now();
        let scan = Scan::of(Projection::all());
        let batches = blocking::scan(table.clone(), Arc::new(bytes.clone()), &scan, 1, u64::MAX).expect("it is read");
        let rows: usize = batches.map(|b| b.expect("it is decoded").num_rows()).sum();
        assert_eq!(rows as u64, ROWS);
        began.elapsed()
    };
    let first = once();
    (first, (0..7).map(|_| once()).min().unwrap_or(first))
}

fn embedded() -> Registry {
    let mut registry = Registry::standard();
    Plugins::new().allow_embedded().add_to(&mut registry);
    registry
}

/// How long the modules take to compile.
fn compile() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../colkit-lance/src/extended/modules");
    for name in ["alp", "frame", "text", "pco"] {
        let bytes = std::fs::read(folder.join(name).with_extension("wasm")).expect("a module");
        let checked = check(&Plugin::new(bytes).expect("a plugin")).expect("a good one");
        println!("{name} compiled in {:.1} ms", checked.compiled_in.as_secs_f64() * 1e3);
    }
}

fn main() {
    compile();
    println!("column  prefer    lance bytes  extended  | ns per value: lance  native  plugin  first scan by plugin");
    for (name, array) in columns() {
        let batch = RecordBatch::try_from_iter([(name, array)]).expect("a column");
        for prefer in [Prefer::Balance, Prefer::Size] {
            let (stock, own) =
                (write(&batch, EncodingSet::Stock, prefer), write(&batch, EncodingSet::Extended, prefer));
            let each = |time: Duration| time.as_secs_f64() * 1e9 / ROWS as f64;
            let (_, lance) = scan(Registry::standard(), &stock);
            let (_, native) = scan(Registry::extended(), &own);
            let (first, plugin) = scan(embedded(), &own);
            println!(
                "{name:7} {prefer:?}   {:>10} {:>10}  | {:18.2} {:7.2} {:7.2}  {:.1} ms",
                stock.len(),
                own.len(),
                each(lance),
                each(native),
                each(plugin),
                first.as_secs_f64() * 1e3
            );
        }
    }
}
