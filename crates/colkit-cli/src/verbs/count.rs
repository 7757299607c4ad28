//! `count`: prints the number of rows.

use crate::args::{CountArgs, RowIdArgs};
use crate::progress::Progress;
use crate::{Io, Outcome};
use colkit::{OpenFile, Result};
use serde_json::json;
use std::io::Write;

pub fn run(args: &CountArgs, io: &mut Io) -> Result<Outcome> {
    let file = args.reading.open(&args.files, &args.dataset, RowIdArgs::default(), args.script.json, io)?;
    let rows = match &args.condition {
        None => file.row_count(),
        Some(condition) => matching(&file, condition, args.reading.memory, io)?,
    };
    if args.script.json {
        writeln!(io.stdout, "{}", json!({"file": file.input().name(), "format": file.format().name(), "rows": rows}))?;
    } else {
        writeln!(io.stdout, "{rows}")?;
    }
    Ok(Outcome::Success)
}

/// The number of rows for which the condition holds.
fn matching(file: &OpenFile, condition: &str, memory: u64, io: &Io) -> Result<u64> {
    // One column says how many rows there are; those of the condition are read anyway.
    let scan = file.scan().columns(0..1usize).filter(condition).memory(memory);
    let batches = scan.batches()?;
    let progress = Progress::watch(io, "counting", &[file.input().clone()], batches.planned().bytes);
    let mut rows = 0;
    for batch in batches {
        rows += batch?.num_rows() as u64;
    }
    drop(progress);
    Ok(rows)
}
