//! `cat`, `head` and `tail`: print rows in file order.

use crate::args::{CatArgs, HeadArgs, PrintArgs};
use crate::human::{bytes, parse_range, plural, share};
use crate::progress::Progress;
use crate::request::Opened;
use crate::rows::{RowOutput, RowSource};
use crate::{Io, Outcome};
use colkit::core::pool;
use colkit::{OpenFile, Planned, Result, ScanBuilder, Types};
use std::io::Write;
use std::ops::Range;

pub fn cat(args: &CatArgs, io: &mut Io) -> Result<Outcome> {
    let Opened { file, columns, printing } = args.common.open(io)?;
    let rows = args.rows.as_deref().map(|text| parse_range(text, file.row_count())).transpose()?;
    // Without a condition the first rows are known, and no others are read.
    let rows = match (args.limit, &args.condition) {
        (Some(limit), None) => {
            let rows = rows.unwrap_or(0..file.row_count());
            Some(rows.start..rows.end.min(rows.start.saturating_add(limit)))
        }
        _ => rows,
    };
    let scan = rows.into_iter().fold(file.scan(), ScanBuilder::rows).memory(args.common.reading.memory);
    let scan = columns.into_iter().fold(scan, ScanBuilder::columns);
    let lossy = args.common.print.fit.types() == Types::Lossy;
    let scan = match &args.select.select {
        Some(list) if lossy => scan.select_lossy(list),
        Some(list) => scan.select(list),
        None => scan,
    };
    let shown = Shown {
        file: &file,
        scan,
        condition: args.condition.as_deref(),
        limit: args.limit.unwrap_or(u64::MAX),
        memory: args.common.reading.memory,
    };
    print(shown, &printing, &args.common.print, io)
}

pub fn head(args: &HeadArgs, io: &mut Io) -> Result<Outcome> {
    let opened = args.common.open_start(args.rows, io)?;
    print_end(args, opened, |row_count| 0..args.rows.min(row_count), io)
}

pub fn tail(args: &HeadArgs, io: &mut Io) -> Result<Outcome> {
    let opened = args.common.open(io)?;
    print_end(args, opened, |row_count| row_count.saturating_sub(args.rows)..row_count, io)
}

/// Prints the rows that `rows` says of so many.
fn print_end(args: &HeadArgs, opened: Opened, rows: impl Fn(u64) -> Range<u64>, io: &mut Io) -> Result<Outcome> {
    let Opened { file, columns, printing } = opened;
    let scan = file.scan().rows(rows(file.row_count())).memory(args.common.reading.memory);
    let scan = columns.into_iter().fold(scan, ScanBuilder::columns);
    print(
        Shown { file: &file, scan, condition: None, limit: u64::MAX, memory: args.common.reading.memory },
        &printing,
        &args.common.print,
        io,
    )
}

/// What to print: the first rows of a scan for which the condition holds.
struct Shown<'a> {
    file: &'a OpenFile,
    scan: ScanBuilder<'a, OpenFile>,
    condition: Option<&'a str>,
    limit: u64,
    memory: u64,
}

fn print(shown: Shown<'_>, printing: &RowOutput, args: &PrintArgs, io: &mut Io) -> Result<Outcome> {
    let Shown { file, scan, condition, limit, memory } = shown;
    let mut batches = condition.into_iter().fold(scan.clone(), ScanBuilder::filter).batches()?;
    let planned = batches.planned();
    if args.explain {
        explain_plan(&planned, io)?;
        if condition.is_some() {
            explain_skipped(&planned, &scan.planned()?, io)?;
        }
    }
    let mut printer = printing.start(&batches.schema(), RowSource::file(file), io, memory)?;
    // No progress bar while rows scroll by.
    let watched = args.out.is_some() || io.stdout.width.is_none();
    let progress = watched.then(|| Progress::watch(io, "reading", &[file.input().clone()], planned.bytes));
    let mut left = usize::try_from(limit).unwrap_or(usize::MAX);
    while left > 0 {
        let Some(batch) = batches.next().transpose()? else { break };
        let batch = batch.slice(0, batch.num_rows().min(left));
        left -= batch.num_rows();
        printer.write(&batch)?;
    }
    drop(progress);
    let notes = printer.finish()?;
    for note in notes {
        writeln!(io.stderr, "note: {note}")?;
    }
    if args.explain {
        if condition.is_some() {
            explain_decoded(&batches.decoded(), io)?;
        }
        explain_read(file, io)?;
    }
    Ok(Outcome::Success)
}

/// Rows decoded per column. With late materialization, columns outside the predicate decode only matching rows.
fn explain_decoded(decoded: &[(String, u64)], io: &mut Io) -> Result<()> {
    for (name, rows) in decoded.iter().take(MOST_COLUMNS) {
        writeln!(io.stderr, "decoded: {name:?}: {}", plural(*rows, "row"))?;
    }
    if decoded.len() > MOST_COLUMNS {
        writeln!(io.stderr, "decoded: and {}", plural((decoded.len() - MOST_COLUMNS) as u64, "more column"))?;
    }
    Ok(())
}

/// Columns listed one by one.
const MOST_COLUMNS: usize = 50;

fn explain_plan(plan: &Planned, io: &mut Io) -> Result<()> {
    let splits = plural(plan.splits as u64, "split");
    let rows = plural(plan.rows, "row");
    let columns = plural(plan.columns as u64, "column");
    writeln!(io.stderr, "plan: {splits}, {rows}, {columns}")?;
    let ranges = plural(plan.ranges as u64, "byte range");
    writeln!(io.stderr, "plan: {ranges}, {} ({})", plural(plan.bytes, "byte"), bytes(plan.bytes))?;
    Ok(())
}

/// What the statistics pruned before reading, compared with the same scan without the predicate.
fn explain_skipped(planned: &Planned, whole: &Planned, io: &mut Io) -> Result<()> {
    let rows = whole.rows.saturating_sub(planned.rows);
    if rows > 0 {
        let splits = plural(whole.splits.saturating_sub(planned.splits) as u64, "split");
        let skipped = plural(whole.bytes.saturating_sub(planned.bytes), "byte");
        writeln!(io.stderr, "pruned by statistics: {splits}, {}, {skipped}", plural(rows, "row"))?;
    }
    Ok(())
}

/// What was actually read, including opening the file.
pub fn explain_read(file: &OpenFile, io: &mut Io) -> Result<()> {
    let read = file.input().read_count();
    let size = file.bytes();
    let requests = plural(read.requests, "request");
    let of = format!("{} of {}", crate::human::count(read.bytes), plural(size, "byte"));
    writeln!(io.stderr, "read: {of} ({}) in {requests}, including open", share(read.bytes, size))?;
    let pool = pool::count();
    let (allocated, reused) = (plural(pool.misses, "large buffer"), plural(pool.hits, "time"));
    writeln!(io.stderr, "memory: {allocated} allocated, reused {reused}, {} pooled", bytes(pool.held))?;
    Ok(())
}
