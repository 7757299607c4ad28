//! The columns that several files have together.
//!
//! Text says nothing about its types, so one file may look like integers and the next like fractions. Where text differs, it
//! is opened again with the narrowest type that holds both. Other files must have the same columns of the same types.

use super::{Part, Parts};
use crate::{OpenOptions, TextOptions, type_name};
use arrow::datatypes::{DataType, Field, Fields, Schema, SchemaRef};
use colkit_core::{Error, Result};
use std::collections::HashMap;
use std::sync::Arc;

/// Opens parts again as far as that makes their columns the same. The columns are those of the first, nullable where any is.
pub(super) fn unified(parts: &mut Parts, opening: &Arc<OpenOptions>) -> Result<SchemaRef> {
    let is_objects = |p: &Part| p.format.name() == "ndjson";
    let by_name = match differing(&parts.list) {
        None => return Ok(nullable_where_any_is(&parts.list)),
        // Objects may leave out members and have them in any order: their columns are those of all files together.
        Some(Differing::Names(error)) if !parts.list.iter().any(is_objects) => return Err(error),
        Some(Differing::Names(_)) => true,
        Some(Differing::Types(_)) => false,
    };
    let types = common_types(&parts.list);
    let columns = by_name.then(|| types.clone());
    let typed = Arc::new(opening.as_ref().clone().with_text_types(types));
    let text = TextOptions { columns, ..opening.text.clone() };
    let named = Arc::new(opening.as_ref().clone().with_text(text));
    for place in 0..parts.list.len() {
        let Some(part) = parts.list.get_mut(place) else { continue };
        let options = match by_name {
            true if is_objects(part) => &named,
            false if part.is_inferred => &typed,
            _ => continue,
        };
        let (input, values) = (part.input.clone(), std::mem::take(&mut part.values));
        parts.open(options, &input, values, place)?;
    }
    match differing(&parts.list) {
        None => Ok(nullable_where_any_is(&parts.list)),
        Some(Differing::Names(error) | Differing::Types(error)) => Err(error),
    }
}

/// The types of all columns: one typed file decides; among texts alone the narrowest type that holds all of them does.
fn common_types(parts: &[Part]) -> Vec<(String, DataType)> {
    let mut types: Vec<(String, DataType)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    let typed = parts.iter().find(|p| !p.is_inferred);
    let mut last: Option<&SchemaRef> = None;
    for part in typed.into_iter().chain(parts.iter().filter(|p| p.is_inferred)) {
        // Most files have the columns of the one before.
        if last.is_some_and(|last| Arc::ptr_eq(last, &part.schema)) {
            continue;
        }
        last = Some(&part.schema);
        for field in part.schema.fields() {
            let place = *places.entry(field.name().clone()).or_insert(types.len());
            match types.get_mut(place) {
                None => types.push((field.name().clone(), field.data_type().clone())),
                Some(_) if typed.is_some() => {}
                Some((_, seen)) => *seen = wider(seen, field.data_type()),
            }
        }
    }
    types
}

/// The schema of the first part, with columns that may be null in any of them marked so.
fn nullable_where_any_is(parts: &[Part]) -> SchemaRef {
    let Some(first) = parts.first() else { return Arc::new(Schema::empty()) };
    let mut fields: Vec<Field> = first.schema.fields().iter().map(|f| f.as_ref().clone()).collect();
    for part in parts.iter().filter(|p| !Arc::ptr_eq(&p.schema, &first.schema)) {
        for (field, theirs) in fields.iter_mut().zip(part.schema.fields()) {
            if theirs.is_nullable() {
                *field = field.clone().with_nullable(true);
            }
        }
    }
    Arc::new(Schema::new_with_metadata(fields, first.schema.metadata().clone()))
}

/// The narrowest type that texts of both types can be read as without change.
fn wider(a: &DataType, b: &DataType) -> DataType {
    use DataType::{Date32, Decimal128, Float64, Int32, Int64, List, Null, Struct, Timestamp, UInt64, Utf8};
    match (a, b) {
        (a, b) if a == b => a.clone(),
        (Null, other) | (other, Null) => other.clone(),
        (Int32, Int64) | (Int64, Int32) => Int64,
        (Int32, Float64) | (Float64, Int32) => Float64,
        (Int32 | Int64 | UInt64 | Decimal128(38, 0), Int32 | Int64 | UInt64 | Decimal128(38, 0)) => Decimal128(38, 0),
        (Date32, Timestamp(unit, None)) | (Timestamp(unit, None), Date32) => Timestamp(*unit, None),
        (Timestamp(a, zone), Timestamp(b, other)) if zone == other => Timestamp(*a.max(b), zone.clone()),
        (List(a), List(b)) => {
            let nullable = a.is_nullable() || b.is_nullable();
            List(Arc::new(Field::new("item", wider(a.data_type(), b.data_type()), nullable)))
        }
        (Struct(a), Struct(b)) => Struct(wider_fields(a, b)),
        _ => Utf8,
    }
}

/// The columns or members of both, those of the first one first, with the narrowest types that texts of both can be read
/// as without change. All may be null.
pub fn wider_fields(a: &Fields, b: &Fields) -> Fields {
    let mut all: Vec<Field> = a.iter().map(|f| f.as_ref().clone().with_nullable(true)).collect();
    let mut places: HashMap<String, usize> = HashMap::new();
    for (place, field) in a.iter().enumerate() {
        places.entry(field.name().clone()).or_insert(place);
    }
    for field in b {
        let place = *places.entry(field.name().clone()).or_insert(all.len());
        match all.get_mut(place) {
            Some(known) => *known = known.clone().with_data_type(wider(known.data_type(), field.data_type())),
            None => all.push(field.as_ref().clone().with_nullable(true)),
        }
    }
    all.into()
}

/// How the schema of a later file differs from the first one's.
enum Differing {
    Names(Error),
    Types(Error),
}

fn differing(parts: &[Part]) -> Option<Differing> {
    let first = parts.first()?;
    let names = |s: &Schema| s.fields().iter().map(|f| f.name().clone()).collect::<Vec<_>>();
    let ours = &first.schema;
    let error = |part: &Part, what: String| {
        Error::data("schemas_differ", format!("{what} of {}", first.input.name()))
            .file(part.input.name())
            .hint("files of one table must have the same columns")
    };
    let others = || parts.iter().skip(1).filter(|p| !Arc::ptr_eq(&p.schema, ours));
    let same_names = |theirs: &Schema| {
        let pairs = ours.fields().iter().zip(theirs.fields());
        ours.fields().len() == theirs.fields().len() && pairs.into_iter().all(|(a, b)| a.name() == b.name())
    };
    if let Some(part) = others().find(|part| !same_names(&part.schema)) {
        let what = format!("its columns {:?} are not the columns {:?}", names(&part.schema), names(ours));
        return Some(Differing::Names(error(part, what)));
    }
    others().find_map(|part| {
        let mut pairs = ours.fields().iter().zip(part.schema.fields());
        let (a, b) = pairs.find(|(a, b)| a.data_type() != b.data_type())?;
        let (ours, theirs) = (type_name(a.data_type()), type_name(b.data_type()));
        let what = format!("its column {:?} is of type {theirs}, not {ours} like that", a.name());
        Some(Differing::Types(error(part, what)))
    })
}
