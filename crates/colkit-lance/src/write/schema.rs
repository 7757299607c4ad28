//! From Arrow's schema to the file's: a flat list of fields, parents first, types by name.
//!
//! A type that has no name in the file is refused, or replaced by one that keeps every value if the caller allows
//! that. The item of a fixed-size list keeps neither name nor nullability; everything else comes back as it was.

use crate::container::Version;
use crate::packed::plain_width;
use crate::schema::messages::{Field as FieldMessage, FileDescriptor, Schema as SchemaMessage};
use crate::schema::{is_packed, leaf_type};
use arrow::datatypes::{DECIMAL128_MAX_PRECISION, DataType, Field, FieldRef, Schema, TimeUnit};
use bytes::Bytes;
use colkit_core::{Error, Result, Setting, Types};
use prost::Message;
use std::collections::HashMap;
use std::sync::Arc;

/// Whether values of this type come back as the same type.
pub(crate) fn stores(data_type: &DataType) -> bool {
    match data_type {
        DataType::Struct(fields) => !fields.is_empty() && fields.iter().all(|f| stores(f.data_type())),
        DataType::List(item) | DataType::LargeList(item) => stores(item.data_type()),
        DataType::FixedSizeList(item, n) if matches!(item.data_type(), DataType::Struct(_)) => {
            *n > 0 && stores(item.data_type())
        }
        DataType::Map(entries, sorted) => !sorted && stores(entries.data_type()),
        leaf => logical_name(leaf).is_some_and(|name| leaf_type(&name).is_ok_and(|t| &t == leaf)),
    }
}

/// The schema with every type replaced by one that the file has, and notes on what was replaced.
pub(crate) fn storable(schema: &Schema, version: Version, types: Types, notes: &mut Vec<String>) -> Result<Schema> {
    let mut fields = Vec::with_capacity(schema.fields().len());
    for (number, field) in schema.fields().iter().enumerate() {
        let part = |e: Error| e.part(format!("column {number} {:?}", field.name()));
        let stored = storable_field(field, &Nesting { version, depth: 0, in_list: false }).map_err(part)?;
        if stored.data_type() != field.data_type() {
            if types == Types::Refuse {
                let message = format!("Lance has no type {}", field.data_type());
                return Err(part(
                    Error::data("type_not_supported", message)
                        .hint(format!("{} would hold the same values", stored.data_type())),
                ));
            }
            notes.push(format!("column {:?}: {} is stored as {}", field.name(), field.data_type(), stored.data_type()));
        }
        if !stores(stored.data_type()) && !is_empty_struct(&stored) {
            notes.push(format!(
                "column {:?}: the items of fixed-size lists are called \"item\" and nullable",
                field.name()
            ));
        }
        fields.push(stored);
    }
    Ok(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

/// A struct without members, whose only content is its length.
pub(super) fn is_empty_struct(field: &Field) -> bool {
    matches!(field.data_type(), DataType::Struct(members) if members.is_empty())
}

fn refused(data_type: &DataType, why: &str) -> Error {
    Error::data("type_not_supported", format!("{data_type}: {why}"))
}

/// More nesting than readers allow.
const DEEPEST: usize = 64;

/// Where a field is.
#[derive(Clone, Copy)]
struct Nesting {
    version: Version,
    depth: usize,
    /// Whether some list is around it, of any kind.
    in_list: bool,
}

/// Whether the values of a field lie outside of its pages.
pub(super) fn is_blob(field: &Field) -> bool {
    field.metadata().contains_key("lance-encoding:blob") && field.data_type() == &DataType::LargeBinary
}

fn storable_field(field: &FieldRef, nesting: &Nesting) -> Result<FieldRef> {
    if nesting.depth > DEEPEST {
        return Err(refused(field.data_type(), "nested too deeply"));
    }
    if is_blob(field) && nesting.in_list {
        return Err(
            refused(field.data_type(), "blobs inside of lists").hint("remove the field's metadata lance-encoding:blob")
        );
    }
    let inside = |f: &FieldRef, in_list: bool| {
        storable_field(f, &Nesting { depth: nesting.depth + 1, in_list: nesting.in_list || in_list, ..*nesting })
    };
    let data_type = match field.data_type() {
        DataType::Struct(members) if is_packed(field.metadata()) => {
            let packed: Vec<FieldRef> = members.iter().map(|m| inside(m, true)).collect::<Result<_>>()?;
            if packed.is_empty() || packed.iter().any(|m| !packs(m.data_type(), nesting.version)) {
                return Err(refused(field.data_type(), "a packed struct of such members")
                    .hint("members need a width of whole bytes, or file version 2.2 also text and binary"));
            }
            DataType::Struct(packed.into())
        }
        DataType::Struct(members) if members.is_empty() && nesting.depth > 0 => {
            return Err(refused(field.data_type(), "a struct without members inside another field"));
        }
        DataType::Struct(members) => DataType::Struct(members.iter().map(|m| inside(m, false)).collect::<Result<_>>()?),
        DataType::List(f) => DataType::List(inside(f, true)?),
        DataType::LargeList(f) => DataType::LargeList(inside(f, true)?),
        DataType::ListView(f) => DataType::List(inside(f, true)?),
        DataType::LargeListView(f) => DataType::LargeList(inside(f, true)?),
        DataType::Map(entries, sorted) => {
            needs_2_2(field.data_type(), nesting)?;
            if *sorted {
                return Err(refused(field.data_type(), "Lance has no maps with sorted keys"));
            }
            DataType::Map(inside(entries, true)?, false)
        }
        DataType::FixedSizeList(item, n) if matches!(item.data_type(), DataType::Struct(_)) => {
            needs_2_2(field.data_type(), nesting)?;
            if nesting.in_list || has_list(item.data_type()) || *n < 1 {
                return Err(refused(field.data_type(), "lists around or inside of fixed-size lists of structs"));
            }
            DataType::FixedSizeList(inside(item, true)?, *n)
        }
        leaf => {
            let leaf = storable_leaf(leaf);
            if logical_name(&leaf).is_none() {
                return Err(refused(&leaf, "Lance has no such type"));
            }
            leaf
        }
    };
    Ok(Arc::new(field.as_ref().clone().with_data_type(data_type)))
}

fn needs_2_2(data_type: &DataType, nesting: &Nesting) -> Result<()> {
    match nesting.version {
        Version::V2_2 | Version::V2_3 => Ok(()),
        Version::V2_0 | Version::V2_1 => {
            Err(refused(data_type, "this type needs file version 2.2").hint(Setting::Lance22.does("asks for it")))
        }
    }
}

/// Whether there is a list of any kind in this type.
fn has_list(data_type: &DataType) -> bool {
    match data_type {
        DataType::Struct(members) => members.iter().any(|m| has_list(m.data_type())),
        DataType::List(_) | DataType::LargeList(_) | DataType::Map(_, _) => true,
        DataType::FixedSizeList(item, _) => matches!(item.data_type(), DataType::Struct(_)),
        _ => false,
    }
}

/// Whether a packed struct may have such members.
fn packs(data_type: &DataType, version: Version) -> bool {
    match data_type {
        DataType::Utf8 | DataType::Binary | DataType::LargeUtf8 | DataType::LargeBinary => version == Version::V2_2,
        other => plain_width(other).is_ok(),
    }
}

/// The type that keeps every value of this one, and that the file may have.
fn storable_leaf(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Utf8View => DataType::Utf8,
        DataType::BinaryView => DataType::Binary,
        DataType::Decimal32(p, s) | DataType::Decimal64(p, s) => DataType::Decimal128(*p, *s),
        DataType::RunEndEncoded(_, values) => storable_leaf(values.data_type()),
        other => other.clone(),
    }
}

/// The name of a type without fields of its own in the file.
fn logical_name(data_type: &DataType) -> Option<String> {
    let unit = |unit: &TimeUnit| match unit {
        TimeUnit::Second => "s",
        TimeUnit::Millisecond => "ms",
        TimeUnit::Microsecond => "us",
        TimeUnit::Nanosecond => "ns",
    };
    Some(match data_type {
        DataType::Null => "null".into(),
        DataType::Boolean => "bool".into(),
        DataType::Int8 => "int8".into(),
        DataType::Int16 => "int16".into(),
        DataType::Int32 => "int32".into(),
        DataType::Int64 => "int64".into(),
        DataType::UInt8 => "uint8".into(),
        DataType::UInt16 => "uint16".into(),
        DataType::UInt32 => "uint32".into(),
        DataType::UInt64 => "uint64".into(),
        DataType::Float16 => "halffloat".into(),
        DataType::Float32 => "float".into(),
        DataType::Float64 => "double".into(),
        DataType::Utf8 => "string".into(),
        DataType::LargeUtf8 => "large_string".into(),
        DataType::Binary => "binary".into(),
        DataType::LargeBinary => "large_binary".into(),
        DataType::FixedSizeBinary(n) if *n > 0 => format!("fixed_size_binary:{n}"),
        DataType::Decimal128(p, s) if *p <= DECIMAL128_MAX_PRECISION => format!("decimal:128:{p}:{s}"),
        DataType::Decimal256(p, s) => format!("decimal:256:{p}:{s}"),
        DataType::Date32 => "date32:day".into(),
        DataType::Date64 => "date64:ms".into(),
        DataType::Time32(u @ (TimeUnit::Second | TimeUnit::Millisecond)) => format!("time32:{}", unit(u)),
        DataType::Time64(u @ (TimeUnit::Microsecond | TimeUnit::Nanosecond)) => format!("time64:{}", unit(u)),
        DataType::Timestamp(u, zone) => format!("timestamp:{}:{}", unit(u), zone.as_deref().unwrap_or("-")),
        DataType::Duration(u) => format!("duration:{}", unit(u)),
        DataType::FixedSizeList(item, n) if *n > 0 => match item.data_type() {
            DataType::FixedSizeBinary(2) if extension(item.metadata()) == Some("lance.bfloat16") => {
                format!("fixed_size_list:lance.bfloat16:{n}")
            }
            inner if fits_fixed_list(inner) => format!("fixed_size_list:{}:{n}", logical_name(inner)?),
            _ => return None,
        },
        DataType::Dictionary(key, value) if is_plain(value) && !key.is_floating() => {
            format!("dict:{}:{}:false", logical_name(value)?, logical_name(key)?)
        }
        _ => return None,
    })
}

fn extension(metadata: &HashMap<String, String>) -> Option<&str> {
    metadata.get("ARROW:extension:name").map(String::as_str)
}

/// Whether a fixed-size list of these is one wide value.
fn fits_fixed_list(item: &DataType) -> bool {
    match item {
        DataType::FixedSizeList(inner, _) => fits_fixed_list(inner.data_type()),
        DataType::Boolean | DataType::FixedSizeBinary(_) => true,
        other => other.primitive_width().is_some(),
    }
}

/// Whether a dictionary may hold these: types whose names have no parameters.
fn is_plain(value: &DataType) -> bool {
    matches!(value, DataType::Utf8 | DataType::LargeUtf8 | DataType::Binary | DataType::LargeBinary)
        || (value.is_primitive() && logical_name(value).is_some_and(|n| !n.contains(':')))
}

/// Global buffer 0.
pub(super) fn descriptor(schema: &Schema, rows: u64) -> Result<Vec<u8>> {
    let mut fields = Vec::new();
    for field in schema.fields() {
        list_fields(field, -1, &mut fields)?;
    }
    let schema = SchemaMessage { fields, metadata: byte_map(schema.metadata()) };
    Ok(FileDescriptor { schema: Some(schema), length: rows }.encode_to_vec())
}

fn byte_map(map: &HashMap<String, String>) -> std::collections::BTreeMap<String, Bytes> {
    map.iter().map(|(k, v)| (k.clone(), Bytes::copy_from_slice(v.as_bytes()))).collect()
}

pub(crate) fn list_fields(field: &Field, parent_id: i32, fields: &mut Vec<FieldMessage>) -> Result<()> {
    let id = i32::try_from(fields.len()).map_err(|_| Error::limit("fields of a file", fields.len(), i32::MAX))?;
    let (logical_type, children): (String, Vec<&FieldRef>) = match field.data_type() {
        DataType::Struct(members) => ("struct".into(), members.iter().collect()),
        DataType::List(item) => (list_name("list", item), vec![item]),
        DataType::LargeList(item) => (list_name("large_list", item), vec![item]),
        DataType::Map(entries, _) => ("map".into(), vec![entries]),
        DataType::FixedSizeList(item, n) if matches!(item.data_type(), DataType::Struct(_)) => {
            (format!("fixed_size_list:struct:{n}"), vec![item])
        }
        DataType::LargeBinary if extension(field.metadata()) == Some("lance.json") => ("json".into(), Vec::new()),
        leaf => (logical_name(leaf).ok_or_else(|| refused(leaf, "Lance has no such type"))?, Vec::new()),
    };
    fields.push(FieldMessage {
        name: field.name().clone(),
        id,
        parent_id,
        logical_type,
        nullable: field.is_nullable(),
        extension_name: extension(field.metadata()).unwrap_or_default().to_owned(),
        metadata: byte_map(field.metadata()),
    });
    children.into_iter().try_for_each(|child| list_fields(child, id, fields))
}

fn list_name(kind: &str, item: &Field) -> String {
    if matches!(item.data_type(), DataType::Struct(_)) { format!("{kind}.struct") } else { kind.to_owned() }
}
