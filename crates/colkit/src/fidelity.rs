//! What a format cannot carry is refused, with the option that allows to leave it out; never dropped in silence.
//!
//! Nulls, types and nesting are the writers' matter: each refuses what it cannot store, names the column and the
//! option (`--nulls`, `--types`). Metadata is no writer's matter, since no value depends on it; it is looked at here.

use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef, TimeUnit};
use colkit_core::{Error, Format, Result, Setting};
use std::collections::HashMap;
use std::sync::Arc;

/// Keys by which formats speak to themselves; they mean nothing elsewhere.
const PLUMBING: [&str; 2] = ["PARQUET:field_id", "ARROW:schema"];

/// The schema that `target` can carry, and a note of what was left out. An error unless that is allowed.
pub(crate) fn carried(schema: &Schema, target: &dyn Format, drop_metadata: bool) -> Result<(Schema, Option<String>)> {
    let mut found = Vec::new();
    note(schema.metadata(), "the table", &mut found);
    for field in schema.fields() {
        note_field(field, field.name(), &mut found);
    }
    let plain = || Schema::new(schema.fields().iter().map(without_metadata).collect::<Vec<_>>());
    if target.keeps_metadata() || found.is_empty() {
        return Ok((if target.keeps_metadata() { schema.clone() } else { plain() }, None));
    }
    let mut keys: Vec<String> = found.iter().map(|(place, key)| format!("{key:?} of {place}")).collect();
    if keys.len() > 5 {
        keys.truncate(5);
        keys.push("...".into());
    }
    let keys = keys.join(", ");
    if drop_metadata {
        return Ok((plain(), Some(format!("metadata left out: {keys}"))));
    }
    Err(Error::data("metadata_not_supported", format!("{} cannot carry metadata: {keys}", target.name()))
        .hint(Setting::DropMetadata.does("leaves it out")))
}

/// The type without views and runs, which are ways to lay out values in memory and say nothing about them.
pub fn without_views(data_type: &DataType) -> DataType {
    let inner = |f: &FieldRef| Arc::new(f.as_ref().clone().with_data_type(without_views(f.data_type())));
    match data_type {
        DataType::Utf8View => DataType::Utf8,
        DataType::BinaryView => DataType::Binary,
        DataType::RunEndEncoded(_, values) => without_views(values.data_type()),
        DataType::List(f) | DataType::ListView(f) => DataType::List(inner(f)),
        DataType::LargeList(f) | DataType::LargeListView(f) => DataType::LargeList(inner(f)),
        DataType::FixedSizeList(f, n) => DataType::FixedSizeList(inner(f), *n),
        DataType::Map(f, sorted) => DataType::Map(inner(f), *sorted),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(inner).collect()),
        other => other.clone(),
    }
}

/// The schema without views and runs, but for columns that `target` stores as they are.
pub(crate) fn laid_out(schema: &Schema, target: &dyn Format) -> Schema {
    let field = |f: &FieldRef| match target.stores(f.data_type()) {
        true => f.clone(),
        false => Arc::new(f.as_ref().clone().with_data_type(without_views(f.data_type()))),
    };
    Schema::new_with_metadata(schema.fields().iter().map(field).collect::<Vec<_>>(), schema.metadata().clone())
}

/// The schema with dates and timestamps as `target` can store them: in a finer unit, or else as the text that they were read
/// from.
pub(crate) fn storable_times(schema: &SchemaRef, target: &dyn Format) -> SchemaRef {
    use TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
    let stored = |t: DataType| target.stores(&t).then_some(t);
    let storable = |data_type: &DataType| match data_type {
        DataType::Date32 => stored(DataType::Date32).unwrap_or(DataType::Utf8),
        DataType::Timestamp(unit, zone) => {
            let units = [Second, Millisecond, Microsecond, Nanosecond].into_iter().filter(|finer| finer >= unit);
            let mut units = units.filter_map(|unit| stored(DataType::Timestamp(unit, zone.clone())));
            units.next().unwrap_or(DataType::Utf8)
        }
        other => other.clone(),
    };
    let field = |f: &FieldRef| Arc::new(f.as_ref().clone().with_data_type(storable(f.data_type())));
    let fields: Vec<FieldRef> = schema.fields().iter().map(field).collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

fn note(metadata: &HashMap<String, String>, place: &str, found: &mut Vec<(String, String)>) {
    let mut keys: Vec<&String> = metadata.keys().filter(|k| !PLUMBING.contains(&k.as_str())).collect();
    keys.sort_unstable();
    found.extend(keys.into_iter().map(|k| (place.to_string(), k.clone())));
}

fn note_field(field: &Field, column: &str, found: &mut Vec<(String, String)>) {
    note(field.metadata(), &format!("column {column:?}"), found);
    for child in children(field.data_type()) {
        note_field(&child, column, found);
    }
}

fn children(data_type: &DataType) -> Vec<FieldRef> {
    match data_type {
        DataType::List(f) | DataType::LargeList(f) | DataType::FixedSizeList(f, _) | DataType::Map(f, _) => {
            vec![f.clone()]
        }
        DataType::Struct(fields) => fields.iter().cloned().collect(),
        _ => Vec::new(),
    }
}

/// A field with nothing said about it. What is inside of it is the type's, and stays.
fn without_metadata(field: &FieldRef) -> FieldRef {
    Arc::new(field.as_ref().clone().with_metadata(HashMap::new()))
}
