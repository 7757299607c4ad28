//! What `bench/datasets.py` and `bench/python.py` measure: one question to a table, asked several times in one process.
//!
//! ```text
//! dataset_bench PATH QUESTION ROUNDS      open | count | take N SEED | filter | scan | append FILE
//! dataset_bench PATH takes ROUNDS N SEED  all columns, opened once
//! ```
//!
//! Prints one line for each round: seconds and the answer.

#![allow(clippy::print_stdout, reason = "it is a program")]

use colkit::arrow::array::AsArray;
use colkit::arrow::compute::sum;
use colkit::arrow::datatypes::{Float64Type, Int64Type};
use colkit::{DatasetMode, DatasetWriteOptions, Input, Result};
use std::time::Instant;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let text = |place: usize| arguments.get(place).map_or("", String::as_str);
    let number = |place: usize| text(place).parse::<u64>().unwrap_or(0);
    let (path, question) = (text(1), text(2));
    if question == "takes" {
        return takes(path, number(3), number(4), number(5));
    }
    for _ in 0..number(3).max(1) {
        let began = Instant::now();
        let answer = match question {
            "append" => {
                let options = DatasetWriteOptions::new(DatasetMode::Append);
                let conversion = colkit::Conversion::new([Input::path(text(4))?]);
                conversion.write_dataset(path, &options)?.rows.to_string()
            }
            "take" => take(path, number(4), number(5))?,
            other => ask(path, other)?,
        };
        println!("{:.6} {answer}", began.elapsed().as_secs_f64());
    }
    Ok(())
}

fn ask(path: &str, question: &str) -> Result<String> {
    let file = colkit::open(path)?;
    let scan = match question {
        "open" => return Ok(file.schema().fields().len().to_string()),
        "count" => return Ok(file.row_count().to_string()),
        "filter" => file.scan().columns(["id", "value"]).filter("value < 0.001"),
        _ => file.scan().columns(["id", "value"]),
    };
    let (mut rows, mut ids, mut values) = (0, 0i64, 0.0);
    for batch in scan.batches()? {
        let batch = batch?;
        rows += batch.num_rows();
        ids += sum(batch.column(0).as_primitive::<Int64Type>()).unwrap_or(0);
        values += sum(batch.column(1).as_primitive::<Float64Type>()).unwrap_or(0.0);
    }
    Ok(format!("{rows} {ids} {values:.3}"))
}

/// Rows at random places: the same as the scripts', which have the same generator.
fn places(count: u64, state: &mut u64, rows: u64) -> Vec<u64> {
    let mut next = || {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*state >> 33) % rows
    };
    (0..count).map(|_| next()).collect()
}

fn takes(path: &str, rounds: u64, count: u64, mut seed: u64) -> Result<()> {
    let file = colkit::open(path)?;
    for _ in 0..rounds {
        let rows = places(count, &mut seed, file.row_count());
        let began = Instant::now();
        let batch = file.take(rows).batch()?;
        println!("{:.6} {}", began.elapsed().as_secs_f64(), batch.num_rows());
    }
    Ok(())
}

fn take(path: &str, count: u64, mut seed: u64) -> Result<String> {
    let file = colkit::open(path)?;
    let rows = places(count, &mut seed, file.row_count());
    let batch = file.take(rows).columns(["id", "value"]).batch()?;
    let ids = sum(batch.column(0).as_primitive::<Int64Type>()).unwrap_or(0);
    Ok(format!("{} {ids}", batch.num_rows()))
}
