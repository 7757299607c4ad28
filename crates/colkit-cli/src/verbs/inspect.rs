//! `inspect`: what a file is made of.

use crate::args::InspectArgs;
use crate::grid::{self, Align, Line};
use crate::human::{bytes, count, plural, ratio, share};
use crate::request::{each_file, input};
use crate::{Io, Outcome, Stream, report};
use colkit::{Layout, OpenFile, PluginNeed, PluginState, Region, RegionKind, Result, type_name};
use serde::{Serialize, Serializer};
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
            serde_json::to_writer(&mut io.stdout, &report.for_json(args.layout)).map_err(std::io::Error::from)?;
            writeln!(io.stdout)?;
        } else {
            report.print(&mut io.stdout)?;
            if args.layout {
                print_layout(&report, &mut io.stdout)?;
            }
        }
    }
    Ok(outcome)
}

/// What `inspect` reports about a file.
#[derive(Serialize)]
struct FileReport {
    file: String,
    format: &'static str,
    #[serde(serialize_with = "as_map")]
    properties: Vec<(&'static str, String)>,
    bytes: u64,
    rows: u64,
    columns: Vec<ColumnReport>,
    /// Bytes outside column data: headers, metadata, padding, gaps.
    other_bytes: u64,
    gap_bytes: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    plugins: Vec<PluginReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    layout: Option<Layout>,
}

#[derive(Serialize)]
struct ColumnReport {
    name: String,
    #[serde(rename = "type")]
    kind: String,
    nullable: bool,
    stored_bytes: u64,
    raw_bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    encoding: Option<String>,
}

/// A plugin that columns need.
#[derive(Serialize)]
struct PluginReport {
    name: String,
    state: PluginState,
    #[serde(skip_serializing_if = "Option::is_none")]
    sha256: Option<String>,
    columns: Vec<String>,
}

impl PluginReport {
    fn new(need: &PluginNeed, columns: &[ColumnReport]) -> Self {
        let names = need.columns.iter().filter_map(|c| Some(columns.get(*c)?.name.clone()));
        PluginReport {
            name: need.name.clone(),
            state: need.state,
            sha256: need.sha256.clone(),
            columns: names.collect(),
        }
    }

    /// Which columns need it, and whether it is there.
    fn sentence(&self) -> String {
        let columns: Vec<String> = self.columns.iter().map(|c| format!("{c:?}")).collect();
        let need = if columns.len() == 1 { "column needs" } else { "columns need" };
        let hash = self.sha256.as_deref().unwrap_or_default();
        let state = match self.state {
            PluginState::Loaded => format!("is loaded (SHA-256 {hash})"),
            PluginState::Refused => format!("the file brings; --allow-embedded-plugins runs it (SHA-256 {hash})"),
            PluginState::Unusable => format!("the file brings, but which cannot be used (SHA-256 {hash})"),
            _ => "is not known; --plugin FILE.wasm names it".to_owned(),
        };
        format!("{need} the plugin {}, which {state}: {}", self.name.escape_debug(), columns.join(", "))
    }
}

fn as_map<S: Serializer>(pairs: &[(&'static str, String)], serializer: S) -> std::result::Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().map(|(name, value)| (name, value)))
}

impl FileReport {
    fn new(file: &OpenFile, layout: Layout) -> Self {
        let schema = file.schema();
        let regions = layout.columns(schema.fields().len());
        let columns = schema.fields().iter().zip(regions).map(|(field, regions)| ColumnReport {
            name: field.name().clone(),
            kind: type_name(field.data_type()),
            nullable: field.is_nullable(),
            stored_bytes: regions.stored_bytes,
            raw_bytes: regions.raw_bytes,
            encoding: (!regions.encodings.is_empty()).then(|| regions.encodings.join(", ")),
        });
        let columns: Vec<ColumnReport> = columns.collect();
        let plugins = layout.plugins.iter().map(|need| PluginReport::new(need, &columns)).collect();
        FileReport {
            plugins,
            file: file.input().name().into(),
            format: file.format().name(),
            properties: file.properties(),
            bytes: file.bytes(),
            rows: file.row_count(),
            other_bytes: layout.size.saturating_sub(columns.iter().map(|c| c.stored_bytes).sum()),
            gap_bytes: layout.gaps().map(|g| g.range.len()).sum(),
            columns,
            layout: Some(layout),
        }
    }

    fn for_json(self, with_layout: bool) -> Self {
        if with_layout { self } else { FileReport { layout: None, ..self } }
    }

    fn print(&self, out: &mut Stream) -> Result<()> {
        let title = out.bold(&self.file);
        let (rows, columns) = (plural(self.rows, "row"), plural(self.columns.len() as u64, "column"));
        let exact = plural(self.bytes, "byte");
        let size = if self.bytes < 1024 { exact } else { format!("{} ({exact})", bytes(self.bytes)) };
        writeln!(out, "{title}: {}, {rows}, {columns}, {size}", self.format)?;
        if !self.properties.is_empty() {
            let facts: Vec<String> = self.properties.iter().map(|(name, value)| format!("{name}: {value}")).collect();
            let facts = out.dim(&facts.join("   "));
            writeln!(out, "{facts}")?;
        }
        // Row-oriented formats, such as CSV, have no size per column.
        let apart = self.columns.iter().any(|c| c.stored_bytes > 0);
        let mut titles = vec![("#", Align::Right), ("column", Align::Left), ("type", Align::Left)];
        if apart {
            titles.extend(["stored", "raw", "ratio", "share"].map(|title| (title, Align::Right)));
        }
        grid::print(&titles, out, |line| {
            for (i, column) in self.columns.iter().enumerate() {
                line(&self.cells(i, column, apart))?;
            }
            if apart {
                let (size, share) = (bytes(self.other_bytes), share(self.other_bytes, self.bytes));
                let empty = String::new;
                line(&[empty(), "(metadata, padding)".into(), empty(), size, empty(), empty(), share])?;
            }
            Ok(())
        })?;
        for plugin in &self.plugins {
            let note = out.yellow("note:");
            writeln!(out, "{note} {}", plugin.sentence())?;
        }
        if self.gap_bytes > 0 {
            let note = out.yellow("note:");
            writeln!(out, "{note} {} unused (see --layout)", plural(self.gap_bytes, "byte"))?;
        }
        Ok(())
    }

    /// The cells of a column's line; sizes only if the format stores columns separately.
    fn cells(&self, index: usize, column: &ColumnReport, apart: bool) -> Vec<String> {
        let nullable = if column.nullable { " (nullable)" } else { "" };
        let mut cells = vec![index.to_string(), format!("{:?}", column.name), format!("{}{nullable}", column.kind)];
        if apart {
            cells.push(bytes(column.stored_bytes));
            cells.push(bytes(column.raw_bytes));
            let ratio = ratio(column.raw_bytes, column.stored_bytes);
            cells.push(ratio.map_or("-".into(), |r| format!("{r:.2}x")));
            cells.push(share(column.stored_bytes, self.bytes));
        }
        cells
    }
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

/// What a region is for, in a word.
pub fn kind_name(kind: RegionKind) -> &'static str {
    match kind {
        RegionKind::Header => "header",
        RegionKind::Metadata => "metadata",
        RegionKind::Data => "data",
        RegionKind::Padding => "padding",
        RegionKind::Gap => "gap",
    }
}
