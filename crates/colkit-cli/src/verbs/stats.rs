//! `stats`: describes every column.

use crate::args::{RowIdArgs, StatsArgs};
use crate::escape::one_line;
use crate::human::{count, plural, share};
use crate::progress::Progress;
use crate::rows::{RowOutput, RowSource};
use crate::{Io, Outcome, Stream};
use colkit::arrow::array::{ArrayRef, BooleanArray, Float64Array, StringArray, UInt64Array};
use colkit::arrow::record_batch::RecordBatch;
use colkit::report::{quantile_name, statistics};
use colkit::{Cell, ColumnStats, OpenFile, Result, ScanBuilder, TableStats, type_name};
use std::io::Write;
use std::sync::Arc;

/// Longer values are cut where people read them.
const LONGEST_CELL: usize = 40;

pub fn run(args: &StatsArgs, io: &mut Io) -> Result<Outcome> {
    // With --json the document is this verb's own.
    let printing = RowOutput::new(&args.print, args.force.existing(), false, io)?;
    let columns = args.columns.names()?;
    let file = args.reading.open(&args.files, &args.dataset, RowIdArgs::default(), args.script.json, io)?;
    let stats = if args.quick {
        file.stats_from_metadata(columns.as_deref())?
    } else {
        let scan = columns.into_iter().fold(file.scan(), ScanBuilder::columns).memory(args.reading.memory);
        let scan = args.condition.iter().fold(scan, ScanBuilder::filter);
        let planned = scan.clone().planned()?;
        let progress = Progress::watch(io, "reading", &[file.input().clone()], planned.bytes);
        let stats = scan.stats()?;
        drop(progress);
        stats
    };
    if args.script.json {
        writeln!(io.stdout, "{}", statistics(file.input().name(), file.format().name(), &stats)?)?;
    } else if args.print.out.is_none() && (args.print.shape.is_none() || printing.is_table()) {
        report(&file, &stats, &mut io.stdout)?;
    } else {
        let batch = rows(&stats)?;
        let mut printer = printing.start(&batch.schema(), RowSource::file(&file), io, args.reading.memory)?;
        printer.write(&batch)?;
        printer.finish()?;
    }
    if args.print.explain {
        super::cat::explain_read(&file, io)?;
    }
    Ok(Outcome::Success)
}

/// For people: a few lines for each column.
fn report(file: &OpenFile, stats: &TableStats, out: &mut Stream) -> Result<()> {
    let (rows, columns) = (plural(stats.rows, "row"), plural(stats.columns.len() as u64, "column"));
    writeln!(out, "{}: {}, {rows}, {columns}", file.input().name(), file.format().name())?;
    for column in &stats.columns {
        let name = out.bold(&one_line(&column.name));
        let kind = out.dim(&type_name(&column.data_type));
        writeln!(out, "\n{name}  {kind}")?;
        for line in lines(column) {
            writeln!(out, "  {}", line.join("   "))?;
        }
    }
    Ok(())
}

/// What is known about a column, in lines of facts.
fn lines(column: &ColumnStats) -> Vec<Vec<String>> {
    let short = |cell: &Cell| {
        let text = one_line(&cell.to_string()).into_owned();
        if text.chars().count() <= LONGEST_CELL {
            return text;
        }
        let cut: String = text.chars().take(LONGEST_CELL - 1).collect();
        format!("{cut}…")
    };
    let about = |exact: bool| if exact { "" } else { "~" };
    let mut counts = Vec::new();
    counts.extend(column.nulls.map(|n| format!("nulls {}", with_share(n, column.rows))));
    counts.extend(column.nans.filter(|n| *n > 0).map(|n| format!("NaN {}", with_share(n, column.rows))));
    counts.extend(column.distinct.map(|n| format!("distinct {}{}", about(n.exact), count(n.value))));
    counts.extend(column.lengths.map(|l| format!("length {} to {}, mean {}", l.shortest, l.longest, number(l.mean))));
    let mut range = Vec::new();
    range.extend(column.min.as_ref().map(|min| format!("min {}", short(min))));
    if let Some(quantiles) = &column.quantiles {
        for (share, value) in &quantiles.values {
            range.push(format!("{} {}{}", quantile_name(*share), about(quantiles.exact), short(value)));
        }
    }
    range.extend(column.max.as_ref().map(|max| format!("max {}", short(max))));
    let mut middle = Vec::new();
    middle.extend(column.mean.as_ref().map(|mean| format!("mean {}", short(mean))));
    middle.extend(column.std.map(|std| format!("std {}", number(std))));
    middle.extend(column.histogram.as_ref().map(|h| format!("{}{}", about(h.exact), bars(&h.counts))));
    let mut top = Vec::new();
    // Values that all occur once are no more frequent than others.
    for values in column.top.iter().filter(|top| top.values.first().is_some_and(|(_, n)| *n > 1)) {
        for (value, number) in &values.values {
            let number = with_share(*number, column.rows);
            top.push(format!("{} {}{number}", short(value), about(values.exact)));
        }
        if let Some(first) = top.first_mut() {
            first.insert_str(0, "top ");
        }
    }
    [counts, range, middle, top].into_iter().filter(|line| !line.is_empty()).collect()
}

fn with_share(part: u64, whole: u64) -> String {
    if part == 0 { "0".into() } else { format!("{} ({})", count(part), share(part, whole)) }
}

fn number(value: f64) -> String {
    if value.abs() >= 1e15 || (value != 0.0 && value.abs() < 1e-4) {
        format!("{value:.4e}")
    } else {
        let text = format!("{value:.4}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    }
}

/// A bar for each count; an empty place where there is nothing.
fn bars(counts: &[u64]) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = u128::from(counts.iter().copied().max().unwrap_or(0).max(1));
    let bar = |number: &u64| match usize::try_from(u128::from(*number) * 7 / most) {
        _ if *number == 0 => ' ',
        Ok(height) => BARS.get(height).copied().unwrap_or('█'),
        Err(_) => ' ',
    };
    let text: String = counts.iter().map(bar).collect();
    format!("▕{text}▏")
}

/// One row for each column, for programs that take tables.
fn rows(stats: &TableStats) -> Result<RecordBatch> {
    let columns = &stats.columns;
    let text = |of: &dyn Fn(&ColumnStats) -> Option<String>| -> ArrayRef {
        Arc::new(columns.iter().map(of).collect::<StringArray>())
    };
    let whole = |of: &dyn Fn(&ColumnStats) -> Option<u64>| -> ArrayRef {
        Arc::new(columns.iter().map(of).collect::<UInt64Array>())
    };
    let fraction = |of: &dyn Fn(&ColumnStats) -> Option<f64>| -> ArrayRef {
        Arc::new(columns.iter().map(of).collect::<Float64Array>())
    };
    let flag = |of: &dyn Fn(&ColumnStats) -> Option<bool>| -> ArrayRef {
        Arc::new(columns.iter().map(of).collect::<BooleanArray>())
    };
    let quantile = |column: &ColumnStats, place: usize| {
        column.quantiles.as_ref().and_then(|q| Some(q.values.get(place)?.1.to_string()))
    };
    let top = |column: &ColumnStats| column.top.as_ref().and_then(|t| t.values.first().cloned());
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("column", text(&|c| Some(c.name.clone()))),
        ("type", text(&|c| Some(type_name(&c.data_type)))),
        ("rows", whole(&|c| Some(c.rows))),
        ("nulls", whole(&|c| c.nulls)),
        ("nan", whole(&|c| c.nans)),
        ("distinct", whole(&|c| c.distinct.map(|n| n.value))),
        ("distinct_exact", flag(&|c| c.distinct.map(|n| n.exact))),
        ("min", text(&|c| c.min.as_ref().map(Cell::to_string))),
        ("p25", text(&|c| quantile(c, 0))),
        ("p50", text(&|c| quantile(c, 1))),
        ("p75", text(&|c| quantile(c, 2))),
        ("p95", text(&|c| quantile(c, 3))),
        ("quantiles_exact", flag(&|c| c.quantiles.as_ref().map(|q| q.exact))),
        ("max", text(&|c| c.max.as_ref().map(Cell::to_string))),
        ("mean", text(&|c| c.mean.as_ref().map(Cell::to_string))),
        ("std", fraction(&|c| c.std)),
        ("top", text(&|c| top(c).map(|(value, _)| value.to_string()))),
        ("top_count", whole(&|c| top(c).map(|(_, n)| n))),
        ("top_exact", flag(&|c| c.top.as_ref().map(|t| t.exact))),
        ("shortest", whole(&|c| c.lengths.map(|l| l.shortest))),
        ("longest", whole(&|c| c.lengths.map(|l| l.longest))),
    ];
    let nullable = columns.into_iter().map(|(name, array)| (name, array, true));
    Ok(RecordBatch::try_from_iter_with_nullable(nullable)?)
}
