//! `schema`: the columns and their types.

use crate::args::SchemaArgs;
use crate::human::plural;
use crate::{Io, Outcome};
use colkit::{Result, type_name};
use serde_json::json;
use std::io::Write;

pub fn run(args: &SchemaArgs, io: &mut Io) -> Result<Outcome> {
    let file = args.reading.open(&args.file, io)?;
    let schema = file.schema();
    let columns = schema.fields().iter().map(|f| (f.name(), type_name(f.data_type()), f.is_nullable()));
    if args.script.json {
        let columns: Vec<_> =
            columns.map(|(name, kind, nullable)| json!({"name": name, "type": kind, "nullable": nullable})).collect();
        let document = json!({
            "file": file.input().name(), "format": file.format().name(), "rows": file.row_count(), "columns": columns,
        });
        writeln!(io.stdout, "{document}")?;
        return Ok(Outcome::Yes);
    }
    let width = schema.fields().iter().map(|f| format!("{:?}", f.name()).len()).max().unwrap_or(0);
    for (name, kind, nullable) in columns {
        let nullable = if nullable { " or null" } else { "" };
        writeln!(io.stdout, "{:width$}  {kind}{nullable}", format!("{name:?}"))?;
    }
    let total = plural(schema.fields().len() as u64, "column");
    let rows = plural(file.row_count(), "row");
    let foot = io.stdout.dim(&format!("{total}, {rows}, {}", file.format().name()));
    writeln!(io.stdout, "{foot}")?;
    Ok(Outcome::Yes)
}
