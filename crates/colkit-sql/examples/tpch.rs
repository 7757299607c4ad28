//! The 22 queries of TPC-H over `.lance` by colkit and over Parquet by DataFusion alone, in turns, in one process.
//!
//! ```text
//! tpch FOLDER QUERIES [REPEATS] [--json FILE]
//! ```
//!
//! FOLDER has `lineitem.lance` and `lineitem.parquet` and so on, QUERIES has `q01.sql` and so on. Answers must be equal before
//! times count. Prints for each query the best time of each, and their ratio.

#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::expect_used, reason = "a program to be run by hand")]

use arrow::record_batch::RecordBatch;
use arrow::util::pretty::pretty_format_batches;
use colkit_sql::ColkitSession;
use datafusion::error::Result;
use datafusion::prelude::{ParquetReadOptions, SessionConfig, SessionContext};
use std::path::{Path, PathBuf};
use std::time::Instant;

const TABLES: [&str; 8] = ["nation", "region", "part", "supplier", "partsupp", "customer", "orders", "lineitem"];

#[tokio::main]
async fn main() -> Result<()> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let json = arguments.iter().position(|a| a == "--json").map(|at| {
        arguments.remove(at);
        PathBuf::from(arguments.remove(at))
    });
    let [folder, queries, rest @ ..] = arguments.as_slice() else {
        println!("tpch FOLDER QUERIES [REPEATS] [--json FILE]");
        return Ok(());
    };
    let repeats: usize = rest.first().map_or(3, |n| n.parse().expect("a number of repeats"));
    let (lance, parquet) = (lance_session(Path::new(folder)).await?, parquet_session(Path::new(folder)).await?);
    println!("query    colkit .lance  DataFusion Parquet  ratio");
    let (mut ours_total, mut theirs_total, mut lines) = (0.0, 0.0, Vec::new());
    for number in 1..=22 {
        let text = std::fs::read_to_string(Path::new(queries).join(format!("q{number:02}.sql")))?;
        let (mut ours, mut theirs) = (f64::MAX, f64::MAX);
        for _ in 0..repeats {
            let (time, answer) = run(&lance, &text).await?;
            let (their_time, expected) = run(&parquet, &text).await?;
            assert_eq!(printed(&answer), printed(&expected), "query {number}");
            ours = ours.min(time);
            theirs = theirs.min(their_time);
        }
        println!("q{number:02} {ours:>16.3} s {theirs:>17.3} s  {:>5.2}", ours / theirs);
        lines.push(format!(
            "  {{\"section\": \"sql\", \"table\": \"tpch\", \"job\": \"q{number}\", \"results\": [\n    \
             {{\"contestant\": \"colkit\", \"wall\": {ours}}},\n    \
             {{\"contestant\": \"DataFusion over Parquet\", \"wall\": {theirs}}}\n  ]}}"
        ));
        ours_total += ours;
        theirs_total += theirs;
    }
    println!("all {ours_total:>16.3} s {theirs_total:>17.3} s  {:>5.2}", ours_total / theirs_total);
    if let Some(json) = json {
        std::fs::write(json, format!("{{\"name\": \"sql\", \"jobs\": [\n{}\n]}}\n", lines.join(",\n")))?;
    }
    Ok(())
}

fn config() -> SessionConfig {
    SessionConfig::new().with_target_partitions(std::thread::available_parallelism().map_or(1, usize::from))
}

async fn lance_session(folder: &Path) -> Result<SessionContext> {
    let context = SessionContext::new_with_config(config()).with_colkit();
    for table in TABLES {
        let file = folder.join(format!("{table}.lance")).display().to_string();
        let provider = context.table_provider(datafusion::common::TableReference::bare(file)).await?;
        context.register_table(table, provider)?;
    }
    Ok(context)
}

async fn parquet_session(folder: &Path) -> Result<SessionContext> {
    let context = SessionContext::new_with_config(config());
    for table in TABLES {
        let file = folder.join(format!("{table}.parquet")).display().to_string();
        context.register_parquet(table, &file, ParquetReadOptions::default()).await?;
    }
    Ok(context)
}

async fn run(context: &SessionContext, query: &str) -> Result<(f64, Vec<RecordBatch>)> {
    let began = Instant::now();
    let answer = context.sql(query).await?.collect().await?;
    Ok((began.elapsed().as_secs_f64(), answer))
}

fn printed(answer: &[RecordBatch]) -> String {
    pretty_format_batches(answer).map(|t| t.to_string()).unwrap_or_default()
}
