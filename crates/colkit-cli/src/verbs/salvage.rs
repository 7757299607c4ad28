//! `salvage`: writes what can be read of a damaged file.

use crate::args::SalvageArgs;
use crate::human::{bytes, plural};
use crate::progress::Progress;
use crate::report::{for_json, place_and_message};
use crate::request::input;
use crate::{Io, Outcome};
use colkit::{
    Compression, Damage, Lost, Registry, Result, Salvage, WriteOptions, check_target, create, salvage, target_format,
};
use serde_json::json;
use std::io::Write;

/// Losses listed one by one.
const MOST_LINES: usize = 20;

pub fn run(args: &SalvageArgs, io: &mut Io) -> Result<Outcome> {
    let options = args.reading.open_options()?;
    let target = target_format(&Registry::default(), args.to.as_deref(), Some(&args.output), "--to")?;
    check_target(&args.output, args.force.existing())?;
    let damaged = input(&args.file, &args.dataset, io)?;
    let progress = Progress::watch(io, "reading", std::slice::from_ref(&damaged), damaged.size());
    let named = |e: colkit::Error| e.file(damaged.name());
    let saved = salvage(&damaged, &options, args.reading.memory).map_err(named)?;
    drop(progress);
    let sink = create(&args.output, damaged.place(), args.force.existing())?;
    let sink = match Compression::in_name(&args.output) {
        Some((compression, _)) => compression.sink(sink, None)?,
        None => sink,
    };
    let write = WriteOptions {
        memory: args.reading.memory,
        threads: args.reading.thread_count(),
        nulls: args.fit.nulls(),
        types: args.fit.types(),
        rename_duplicates: args.reading.rename_duplicates,
        ..WriteOptions::default()
    };
    let output = args.output.display().to_string();
    let notes = saved.write(target.as_ref(), sink, &write).map_err(|e| e.file(output.clone()))?;
    if args.script.json {
        let ranges = saved.rows().iter().map(|r| json!([r.start, r.end])).collect::<Vec<_>>();
        let lost = saved.lost().iter().map(|lost| {
            let what = match &lost.damage {
                Damage::Rows(rows) => json!({"rows": [rows.start, rows.end]}),
                Damage::Column(name) => json!({"column": name}),
                Damage::Bytes(range) => json!({"bytes": [range.start(), range.end()]}),
                Damage::End(at) => json!({"after_byte": at}),
                _ => json!({}),
            };
            json!({"lost": what, "error": for_json(&lost.error)})
        });
        let document = json!({
            "file": damaged.name(), "format": saved.format().name(), "output": output, "complete": saved.is_complete(),
            "rows": saved.row_count(), "columns": saved.schema().fields().len(), "row_ranges": ranges,
            "lost": lost.collect::<Vec<_>>(), "notes": notes,
        });
        writeln!(io.stdout, "{document}")?;
    } else {
        print_text(&saved, &output, &notes, io)?;
    }
    Ok(if saved.is_complete() { Outcome::Success } else { Outcome::Failure })
}

fn print_text(saved: &Salvage, output: &str, notes: &[String], io: &mut Io) -> Result<()> {
    for lost in saved.lost().iter().take(MOST_LINES) {
        let label = io.stderr.yellow("lost:");
        writeln!(io.stderr, "{label} {}: {}", what(lost), place_and_message(&lost.error))?;
    }
    if saved.lost().len() > MOST_LINES {
        let more = plural((saved.lost().len() - MOST_LINES) as u64, "more loss").replace("losss", "losses");
        writeln!(io.stderr, "lost: and {more}")?;
    }
    for note in notes {
        let label = io.stderr.yellow("note:");
        writeln!(io.stderr, "{label} {note}")?;
    }
    let (rows, columns) = (plural(saved.row_count(), "row"), plural(saved.schema().fields().len() as u64, "column"));
    let all = if saved.is_complete() { ", nothing is missing" } else { "" };
    Ok(writeln!(io.stderr, "{output}: {rows}, {columns}{all}")?)
}

fn what(lost: &Lost) -> String {
    match &lost.damage {
        Damage::Rows(rows) => format!("rows {}..{}", rows.start, rows.end),
        Damage::Column(name) => format!("column {name:?}"),
        Damage::Bytes(range) => format!("{} of text", bytes(range.len())),
        Damage::End(at) => format!("what comes after byte {at}"),
        _ => "something".into(),
    }
}
