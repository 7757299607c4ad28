//! Reads Lance files as told on standard input and writes Arrow IPC streams (each page of a dictionary column may bring its own
//! dictionary, which IPC files cannot hold): what the interoperation tests drive.
//!
//! One request per line, JSON: `{"file": ..., "out": ..., "columns": ["a", "b.c"], "rows": [from, to], "take": [...]}`.
//! Everything but `file` and `out` may be left out. The answer is one line: `ok`, or the error.

#![allow(clippy::print_stdout, reason = "its answers are its output")]

use arrow::datatypes::{DataType, Fields, Schema};
use arrow::ipc::writer::StreamWriter;
use colkit_core::{ColumnRef, Error, FileSource, Projection, ReadOptions, Result, Scan, TableFile, column_index};
use colkit_lance::Lance;
use serde_json::Value;
use std::fs::File;
use std::io::BufRead;
use std::sync::Arc;

fn main() -> std::io::Result<()> {
    for line in std::io::stdin().lock().lines() {
        match answer(&line?) {
            Ok(()) => println!("ok"),
            Err(e) => println!("{e}"),
        }
    }
    Ok(())
}

fn answer(line: &str) -> Result<()> {
    let bad = |what: &str| Error::request("bad_request", what);
    let request: Value = serde_json::from_str(line).map_err(|e| bad(&e.to_string()))?;
    let text = |key: &str| request.get(key).and_then(Value::as_str);
    let source = FileSource::open(text("file").ok_or_else(|| bad("file"))?)?;
    let file = TableFile::open(Arc::new(Lance::new()), Arc::new(source), &ReadOptions::default())?;
    let projection = match request.get("columns").and_then(Value::as_array) {
        None => Projection::all(),
        Some(paths) => projection(&file.schema(), paths.iter().filter_map(Value::as_str))?,
    };
    let numbers = |key: &str| -> Option<Vec<u64>> {
        Some(request.get(key)?.as_array()?.iter().filter_map(Value::as_u64).collect())
    };
    let schema = projection.schema(&file.schema())?;
    let mut writer = StreamWriter::try_new(File::create(text("out").ok_or_else(|| bad("out"))?)?, &schema)?;
    if let Some(rows) = numbers("take") {
        writer.write(&file.take(&rows, &projection)?)?;
    } else {
        let rows = numbers("rows").and_then(|r| Some(*r.first()?..*r.get(1)?));
        for batch in file.scan(&Scan { projection, rows, ..Scan::default() })? {
            writer.write(&batch?)?;
        }
    }
    writer.finish()?;
    Ok(())
}

/// Paths such as `a.b.c` as parts of columns; paths of one column are merged.
fn projection<'a>(schema: &Schema, paths: impl Iterator<Item = &'a str>) -> Result<Projection> {
    let mut columns: Vec<ColumnRef> = Vec::new();
    for path in paths {
        let (top, rest) = path.split_once('.').map_or((path, None), |(top, rest)| (top, Some(rest)));
        let index = column_index(schema, top)?;
        let mut within = Vec::new();
        let mut data_type = schema.field(index).data_type();
        for name in rest.into_iter().flat_map(|r| r.split('.')) {
            let (place, below) = child(data_type, name)
                .ok_or_else(|| Error::request("no_such_column", format!("there is no {name:?} in {path:?}")))?;
            within.push(place);
            data_type = below;
        }
        let within: Vec<Vec<usize>> = if within.is_empty() { Vec::new() } else { vec![within] };
        match columns.iter_mut().find(|c| c.index == index) {
            Some(column) => column.within.extend(within),
            None => columns.push(ColumnRef { index, within }),
        }
    }
    Ok(Projection::parts(columns))
}

/// The child called `name`; the item of a list goes by its own name.
fn child<'a>(data_type: &'a DataType, name: &str) -> Option<(usize, &'a DataType)> {
    let find =
        |fields: &'a Fields| fields.iter().enumerate().find(|(_, f)| f.name() == name).map(|(i, f)| (i, f.data_type()));
    match data_type {
        DataType::Struct(fields) => find(fields),
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            (item.name() == name).then(|| (0, item.data_type()))
        }
        _ => None,
    }
}
