//! `formats`: lists the supported formats.

use crate::args::FormatsArgs;
use crate::{Io, Outcome};
use colkit::arrow::datatypes::{DataType, Field, Schema, TimeUnit};
use colkit::{Format, MemorySink, Registry, Result, TextOptions, WriteOptions, type_name};
use serde_json::json;
use std::io::Write;
use std::sync::Arc;

pub fn run(args: &FormatsArgs, io: &mut Io) -> Result<Outcome> {
    for format in Registry::default().formats(&TextOptions::default()) {
        let types: Vec<String> = some_types().iter().filter(|t| format.stores(t)).map(type_name).collect();
        let writes = writes(format.as_ref());
        if args.script.json {
            let document = json!({
                "name": format.name(), "extensions": format.extensions(), "reads": true, "writes": writes,
                "types": types,
            });
            writeln!(io.stdout, "{document}")?;
            continue;
        }
        let name = io.stdout.bold(&format!("{:<12}", format.name()));
        let extensions: Vec<String> = format.extensions().iter().map(|e| format!(".{e}")).collect();
        let can = if writes { "reads and writes" } else { "reads" };
        writeln!(io.stdout, "{name}  {:<20}  {can:<16}  {}", extensions.join(" "), types.join(", "))?;
    }
    Ok(Outcome::Success)
}

/// Whether colkit can write this format.
pub fn writes(format: &dyn Format) -> bool {
    let types = some_types();
    let Some(stored) = types.iter().find(|t| format.stores(t)) else { return false };
    let schema = Schema::new(vec![Field::new("a", stored.clone(), false)]);
    format.writer(Arc::new(schema), Box::new(MemorySink::new()), &WriteOptions::default()).is_ok()
}

/// The types listed for each format, if it stores them.
fn some_types() -> Vec<DataType> {
    vec![
        DataType::Boolean,
        DataType::Int8,
        DataType::Int16,
        DataType::Int32,
        DataType::Int64,
        DataType::UInt8,
        DataType::UInt16,
        DataType::UInt32,
        DataType::UInt64,
        DataType::Float32,
        DataType::Float64,
        DataType::Utf8,
        DataType::Binary,
        DataType::Date32,
        DataType::Timestamp(TimeUnit::Microsecond, None),
        DataType::Decimal128(38, 10),
        DataType::List(Arc::new(Field::new("item", DataType::Int32, true))),
        DataType::Struct(vec![Field::new("x", DataType::Int32, true)].into()),
    ]
}
