//! `schema`: prints column names and types.

use crate::args::SchemaArgs;
use crate::human::plural;
use crate::{Io, Outcome};
use colkit::{Result, type_name};
use serde::Serialize;
use std::io::Write;

#[derive(Serialize)]
struct Document<'a> {
    columns: Vec<Column<'a>>,
    file: &'a str,
    format: &'a str,
    rows: u64,
}

#[derive(Serialize)]
struct Column<'a> {
    name: &'a str,
    nullable: bool,
    #[serde(rename = "type")]
    kind: String,
}

pub fn run(args: &SchemaArgs, io: &mut Io) -> Result<Outcome> {
    let file = args.reading.open(&args.files, &args.dataset, args.ids, args.script.json, io)?;
    let schema = file.schema();
    let columns = schema.fields().iter().map(|f| (f.name(), type_name(f.data_type()), f.is_nullable()));
    if args.script.json {
        let document = Document {
            columns: columns.map(|(name, kind, nullable)| Column { name, kind, nullable }).collect(),
            file: file.input().name(),
            format: file.format().name(),
            rows: file.row_count(),
        };
        serde_json::to_writer(&mut io.stdout, &document).map_err(std::io::Error::from)?;
        writeln!(io.stdout)?;
        return Ok(Outcome::Success);
    }
    let width = schema.fields().iter().map(|f| format!("{:?}", f.name()).len()).max().unwrap_or(0);
    for (name, kind, nullable) in columns {
        let nullable = if nullable { " (nullable)" } else { "" };
        writeln!(io.stdout, "{:width$}  {kind}{nullable}", format!("{name:?}"))?;
    }
    let total = plural(schema.fields().len() as u64, "column");
    let rows = plural(file.row_count(), "row");
    let foot = io.stdout.dim(&format!("{total}, {rows}, {}", file.format().name()));
    writeln!(io.stdout, "{foot}")?;
    Ok(Outcome::Success)
}
