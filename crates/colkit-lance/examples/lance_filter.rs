//! What it takes to decide a condition: nanoseconds for a row, by the encoding of the column that it looks at.
//!
//! ```text
//! lance_filter [ROUNDS [NAME]]
//! ```
//!
//! Each table has a column `c` of one encoding and a column `other`. A scan returns `other` where a condition on `c` holds, which
//! few rows do, so that nearly all of the time goes into `c`; then it returns `c` itself. One thread, from memory, without checksums;
//! the best of many rounds, in which all scans take turns, so that a busy machine disturbs all alike.

#![allow(clippy::print_stdout, reason = "its answers are its output")]

use arrow::array::{ArrayRef, Int16Array, Int32Array, Int64Array, StringArray, UInt8Array};
use arrow::datatypes::{Field, Schema};
use arrow::record_batch::RecordBatch;
use colkit_core::drive::blocking;
use colkit_core::{
    Format, MemorySink, Predicate, Projection, ReadOptions, Result, Scan, Source, TableFile, WriteOptions,
};
use colkit_lance::Lance;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

const ROWS: usize = 1 << 20;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let rounds = arguments.next().and_then(|n| n.parse().ok()).unwrap_or(50);
    let mut cases = made()?;
    if let Some(only) = arguments.next() {
        cases.retain(|case| case.name.contains(&only));
    }
    for _ in 0..rounds {
        for case in &mut cases {
            for (column, best) in ["other", "c"].into_iter().zip(&mut case.best) {
                let schema = case.file.schema();
                let predicate = Some(Predicate::parse(case.condition, &schema)?.bind(&schema)?);
                let scan = Scan { projection: Projection::named(&schema, [column])?, predicate, ..Scan::default() };
                let start = Instant::now();
                case.rows = 0;
                for batch in case.file.scan(&scan)? {
                    case.rows += batch?.num_rows();
                }
                *best = best.min(start.elapsed().as_secs_f64());
            }
        }
    }
    println!("{:>9} {:>9} {:>7}  column, condition, encoding", "ns, other", "ns, c", "rows");
    for Case { name, condition, encoding, rows, best, .. } in cases {
        let [other, own] = best.map(|seconds| seconds * 1e9 / ROWS as f64);
        println!("{other:9.3} {own:9.3} {rows:7}  {name}: {condition}: {encoding}");
    }
    Ok(())
}

struct Case {
    name: &'static str,
    condition: &'static str,
    encoding: String,
    file: TableFile,
    rows: usize,
    /// Seconds, without and with the column itself.
    best: [f64; 2],
}

/// The same numbers every time.
fn random(i: usize) -> u64 {
    let mut x = (i as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

fn below(i: usize, most: u64) -> i64 {
    i64::try_from(random(i) % most).unwrap_or(0)
}

fn made() -> Result<Vec<Case>> {
    let wide = |value: &dyn Fn(usize) -> i64| -> ArrayRef { Arc::new((0..ROWS).map(value).collect::<Int64Array>()) };
    let bits = wide(&|i| below(i, 1 << 17));
    let bits_and_nulls: ArrayRef = Arc::new(
        (0..ROWS).map(|i| (!random(i + 7).is_multiple_of(10)).then(|| below(i, 1 << 17))).collect::<Int64Array>(),
    );
    let bits_32: ArrayRef =
        Arc::new((0..ROWS).map(|i| i32::try_from(below(i, 1 << 16)).unwrap_or(0)).collect::<Int32Array>());
    let bits_16: ArrayRef =
        Arc::new((0..ROWS).map(|i| i16::try_from(below(i, 1 << 12)).unwrap_or(0)).collect::<Int16Array>());
    let bits_8: ArrayRef =
        Arc::new((0..ROWS).map(|i| u8::try_from(below(i, 1 << 6)).unwrap_or(0)).collect::<UInt8Array>());
    let runs_of = |length: usize| wide(&|i| below(i / length, 1 << 50));
    let (short_runs, middle_runs, long_runs) = (runs_of(4), runs_of(20), runs_of(200));
    let few: ArrayRef =
        Arc::new(StringArray::from_iter_values((0..ROWS).map(|i| format!("text {}", random(i) % 1000))));
    let alone = [("dict-divisor", "100000000")];
    let runs = [("dict-divisor", "100000000"), ("compression", "fsst")];
    type Hints<'a> = &'a [(&'a str, &'a str)];
    let cases: [(&str, &str, &ArrayRef, Hints); 12] = [
        ("17 bits of 64", "c < 2", &bits, &alone),
        ("17 bits of 64", "c between 70000 and 70001", &bits, &alone),
        ("17 bits of 64", "c in (1, 1000, 110000)", &bits, &alone),
        ("17 bits of 64, nulls", "c between 70000 and 70001", &bits_and_nulls, &alone),
        ("16 bits of 32", "c between 40000 and 40001", &bits_32, &alone),
        ("12 bits of 16", "c between 2000 and 2001", &bits_16, &alone),
        ("6 bits of 8", "c between 30 and 31", &bits_8, &alone),
        ("runs of 4", "c between 562950000000000 and 563000000000000", &short_runs, &runs),
        ("runs of 20", "c between 562950000000000 and 563000000000000", &middle_runs, &runs),
        ("runs of 200", "c between 562950000000000 and 563000000000000", &long_runs, &runs),
        ("runs of 200", "c < 562950000000000 or c > 563000000000000", &long_runs, &runs),
        ("texts", "c = 'text 4'", &few, &[]),
    ];
    cases.into_iter().map(|(name, condition, array, hints)| case(name, condition, array, hints)).collect()
}

fn case(name: &'static str, condition: &'static str, array: &ArrayRef, hints: &[(&str, &str)]) -> Result<Case> {
    let hints: HashMap<String, String> =
        hints.iter().map(|(k, v)| (format!("lance-encoding:{k}"), (*v).to_owned())).collect();
    let field = Field::new("c", array.data_type().clone(), true).with_metadata(hints);
    let other: ArrayRef = Arc::new((0..ROWS).map(|i| below(i, 1 << 40)).collect::<Int64Array>());
    let schema = Schema::new(vec![field, Field::new("other", other.data_type().clone(), false)]);
    let batch = RecordBatch::try_new(Arc::new(schema), vec![array.clone(), other])?;
    let sink = MemorySink::new();
    let mut writer = Lance::new().writer(batch.schema(), Box::new(sink.clone()), &WriteOptions::default())?;
    writer.write(&batch)?;
    writer.finish()?;
    let bytes = sink.bytes().unwrap_or_default();
    let options = ReadOptions { checksums: false, ..ReadOptions::default() };
    let table = blocking::run(Lance::new().open_table(bytes.len() as u64, &options), &bytes)?;
    let pages = blocking::run(table.describe(), &bytes)?;
    let page = pages.iter().find(|c| c.root == Some(0)).and_then(|c| c.pages.first());
    let encoding = match page.map(|page| &page.summary) {
        Some(Ok(summary)) => summary.encoding.clone(),
        Some(Err(why)) => why.clone(),
        None => String::new(),
    };
    let source: Arc<dyn Source> = Arc::new(bytes);
    let file = TableFile::open(Arc::new(Lance::new()), source, &options)?.with_threads(1);
    Ok(Case { name, condition, encoding, file, rows: 0, best: [f64::MAX; 2] })
}
