//! `inspect`: what a file is made of.

use crate::args::InspectArgs;
use crate::grid::{self, Align, Line};
use crate::human::{bytes, count, plural, ratio, share};
use crate::request::{each_file, input};
use crate::{Io, Outcome, Stream, report};
use colkit::report::{ColumnReport, FileReport, PluginReport};
use colkit::{PluginState, Region, RegionKind, Result};
use std::io::Write;

pub fn run(args: &InspectArgs, io: &mut Io) -> Result<Outcome> {
    let options = args.reading.open_options()?;
    let mut outcome = Outcome::Success;
    let files = each_file(&args.files);
    let several = files.len() > 1;
    for (name, listed) in files {
        let input = listed.and_then(|()| input(&name, &args.dataset, io));
        let inspected = input.and_then(|i| options.open_input(&i)).and_then(|f| Ok((f.layout()?, f)));
        let (layout, file) = match inspected {
            Ok(inspected) => inspected,
            // One bad file among several does not hide the others.
            Err(error) if several => {
                report::error(&error, args.script.json, &mut io.stderr);
                outcome = Outcome::Failure;
                continue;
            }
            Err(error) => return Err(error),
        };
        let report = FileReport::new(&file, layout);
        if args.script.json {
            let report = if args.layout { report } else { report.without_layout() };
            serde_json::to_writer(&mut io.stdout, &report).map_err(std::io::Error::from)?;
            writeln!(io.stdout)?;
        } else {
            print(&report, &mut io.stdout)?;
            if args.layout {
                print_layout(&report, &mut io.stdout)?;
            }
        }
    }
    Ok(outcome)
}

/// For people: a line about the file, then one for each column.
fn print(report: &FileReport, out: &mut Stream) -> Result<()> {
    let title = out.bold(&report.file);
    let (rows, columns) = (plural(report.rows, "row"), plural(report.columns.len() as u64, "column"));
    let exact = plural(report.bytes, "byte");
    let size = if report.bytes < 1024 { exact } else { format!("{} ({exact})", bytes(report.bytes)) };
    writeln!(out, "{title}: {}, {rows}, {columns}, {size}", report.format)?;
    if !report.properties.is_empty() {
        let facts: Vec<String> = report.properties.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        let facts = out.dim(&facts.join("   "));
        writeln!(out, "{facts}")?;
    }
    // Row-oriented formats, such as CSV, have no size per column.
    let apart = report.columns.iter().any(|c| c.stored_bytes.is_some_and(|bytes| bytes > 0));
    let mut titles = vec![("#", Align::Right), ("column", Align::Left), ("type", Align::Left)];
    if apart {
        titles.extend(["stored", "raw", "ratio", "share"].map(|title| (title, Align::Right)));
    }
    grid::print(&titles, out, |line| {
        for (i, column) in report.columns.iter().enumerate() {
            line(&cells(report, i, column, apart))?;
        }
        if apart {
            let other = report.other_bytes.unwrap_or(0);
            let (size, share) = (bytes(other), share(other, report.bytes));
            let empty = String::new;
            line(&[empty(), "(metadata, padding)".into(), empty(), size, empty(), empty(), share])?;
        }
        Ok(())
    })?;
    for plugin in &report.plugins {
        let note = out.yellow("note:");
        writeln!(out, "{note} {}", need(plugin))?;
    }
    let gaps = report.gap_bytes.unwrap_or(0);
    if gaps > 0 {
        let note = out.yellow("note:");
        writeln!(out, "{note} {} unused (see --layout)", plural(gaps, "byte"))?;
    }
    Ok(())
}

/// Which columns need a plugin, and whether it is there.
fn need(plugin: &PluginReport) -> String {
    let columns: Vec<String> = plugin.columns.iter().map(|c| format!("{c:?}")).collect();
    let need = if columns.len() == 1 { "column needs" } else { "columns need" };
    let hash = plugin.sha256.as_deref().unwrap_or_default();
    let state = match plugin.state {
        PluginState::Loaded => format!("is loaded (SHA-256 {hash})"),
        PluginState::Refused => format!("the file brings; --allow-embedded-plugins runs it (SHA-256 {hash})"),
        PluginState::Unusable => format!("the file brings, but which cannot be used (SHA-256 {hash})"),
        _ => "is not known; --plugin FILE.wasm names it".to_owned(),
    };
    format!("{need} the plugin {}, which {state}: {}", plugin.name.escape_debug(), columns.join(", "))
}

/// The cells of a column's line; sizes only if the format stores columns separately.
fn cells(report: &FileReport, index: usize, column: &ColumnReport, apart: bool) -> Vec<String> {
    let nullable = if column.nullable { " (nullable)" } else { "" };
    let mut cells = vec![index.to_string(), format!("{:?}", column.name), format!("{}{nullable}", column.kind)];
    if apart {
        let stored = column.stored_bytes.unwrap_or(0);
        let ratio = column.raw_bytes.and_then(|raw| ratio(raw, stored));
        cells.push(bytes(stored));
        cells.push(column.raw_bytes.map_or("-".into(), bytes));
        cells.push(ratio.map_or("-".into(), |r| format!("{r:.2}x")));
        cells.push(share(stored, report.bytes));
    }
    cells
}

/// Prints the byte map, one line per region and part.
fn print_layout(report: &FileReport, out: &mut Stream) -> Result<()> {
    let Some(layout) = &report.layout else { return Ok(()) };
    let titles = [
        ("start", Align::Right),
        ("end", Align::Right),
        ("bytes", Align::Right),
        ("raw", Align::Right),
        ("kind", Align::Left),
        ("content", Align::Left),
    ];
    fn add(region: &Region, depth: usize, report: &FileReport, line: &mut Line<'_>) -> std::io::Result<()> {
        // Most region names include the column name.
        let column = region.column.and_then(|c| report.columns.get(c)).map(|c| format!("{:?}", c.name));
        let column = column.filter(|name| !region.name.contains(name)).map(|name| format!(" of {name}"));
        let encoding = region.encoding.as_ref().map(|e| format!(", {e}"));
        let indent = "  ".repeat(depth);
        line(&[
            region.range.start().to_string(),
            region.range.end().to_string(),
            count(region.range.len()),
            region.raw_bytes.map(count).unwrap_or_default(),
            kind_name(region.kind).into(),
            format!("{indent}{}{}{}", region.name, column.unwrap_or_default(), encoding.unwrap_or_default()),
        ])?;
        region.parts.iter().try_for_each(|part| add(part, depth + 1, report, line))
    }
    writeln!(out)?;
    grid::print(&titles, out, |line| layout.regions.iter().try_for_each(|region| add(region, 0, report, line)))?;
    let verdict = if layout.covers_exactly_once() {
        format!("all {} accounted for, no overlaps", plural(layout.size, "byte"))
    } else {
        "regions overlap".into()
    };
    writeln!(out, "{verdict}")?;
    Ok(())
}

/// What a region is called.
pub(super) fn kind_name(kind: RegionKind) -> &'static str {
    match kind {
        RegionKind::Header => "header",
        RegionKind::Metadata => "metadata",
        RegionKind::Data => "data",
        RegionKind::Padding => "padding",
        RegionKind::Gap => "gap",
    }
}
