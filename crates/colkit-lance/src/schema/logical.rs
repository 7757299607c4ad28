//! Types by name: `int32`, `timestamp:us:UTC`, `fixed_size_list:float:768`, `dict:string:int32:false`.

use arrow::datatypes::{DECIMAL128_MAX_PRECISION, DECIMAL256_MAX_PRECISION, DataType, Field, TimeUnit};
use colkit_core::{Error, Result};
use std::sync::Arc;

/// The Arrow type of a name that has no children of its own.
pub(crate) fn leaf_type(name: &str) -> Result<DataType> {
    parse(name, 0)
}

/// Nested `fixed_size_list:` names can only be as deep as their text is long; this is deeper than any in use.
const DEEPEST: u32 = 16;

fn parse(name: &str, depth: u32) -> Result<DataType> {
    Ok(match name {
        "null" => DataType::Null,
        "bool" => DataType::Boolean,
        "int8" => DataType::Int8,
        "int16" => DataType::Int16,
        "int32" => DataType::Int32,
        "int64" => DataType::Int64,
        "uint8" => DataType::UInt8,
        "uint16" => DataType::UInt16,
        "uint32" => DataType::UInt32,
        "uint64" => DataType::UInt64,
        "halffloat" => DataType::Float16,
        "float" => DataType::Float32,
        "double" => DataType::Float64,
        "string" => DataType::Utf8,
        "large_string" => DataType::LargeUtf8,
        "binary" => DataType::Binary,
        "large_binary" | "json" | "blob" => DataType::LargeBinary,
        "date32:day" => DataType::Date32,
        "date64:ms" => DataType::Date64,
        "time32:s" => DataType::Time32(TimeUnit::Second),
        "time32:ms" => DataType::Time32(TimeUnit::Millisecond),
        "time64:us" => DataType::Time64(TimeUnit::Microsecond),
        "time64:ns" => DataType::Time64(TimeUnit::Nanosecond),
        _ => return parameterised(name, depth),
    })
}

fn parameterised(name: &str, depth: u32) -> Result<DataType> {
    let (kind, rest) = name.split_once(':').unwrap_or((name, ""));
    let known = match kind {
        "decimal" => decimal(rest),
        "fixed_size_binary" => width(rest).map(DataType::FixedSizeBinary),
        "timestamp" => rest.split_once(':').and_then(|(u, zone)| {
            let zone = (zone != "-").then(|| Arc::from(zone));
            Some(DataType::Timestamp(unit(u)?, zone))
        }),
        "duration" => unit(rest).map(DataType::Duration),
        "dict" => dictionary(rest, depth)?,
        "fixed_size_list" => match rest.rsplit_once(':') {
            Some((item, n)) if depth < DEEPEST => match width(n) {
                Some(n) => Some(DataType::FixedSizeList(Arc::new(item_field(item, depth)?), n)),
                None => None,
            },
            _ => None,
        },
        _ => None,
    };
    known.ok_or_else(|| Error::unsupported("unknown_type", format!("unknown logical type {name:?}")))
}

fn width(text: &str) -> Option<i32> {
    text.parse().ok().filter(|n| *n >= 0)
}

fn unit(text: &str) -> Option<TimeUnit> {
    Some(match text {
        "s" => TimeUnit::Second,
        "ms" => TimeUnit::Millisecond,
        "us" => TimeUnit::Microsecond,
        "ns" => TimeUnit::Nanosecond,
        _ => return None,
    })
}

fn decimal(text: &str) -> Option<DataType> {
    let mut parts = text.splitn(3, ':');
    let (bits, precision, scale) = (parts.next()?, parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    match bits {
        "128" if (1..=DECIMAL128_MAX_PRECISION).contains(&precision) => Some(DataType::Decimal128(precision, scale)),
        "256" if (1..=DECIMAL256_MAX_PRECISION).contains(&precision) => Some(DataType::Decimal256(precision, scale)),
        _ => None,
    }
}

/// `value:index:ordered`. The value's name may contain colons.
fn dictionary(text: &str, depth: u32) -> Result<Option<DataType>> {
    let mut parts = text.rsplitn(3, ':');
    let (Some(_ordered), Some(index), Some(value), true) = (parts.next(), parts.next(), parts.next(), depth < DEEPEST)
    else {
        return Ok(None);
    };
    let (index, value) = (parse(index, depth + 1)?, parse(value, depth + 1)?);
    Ok(index.is_dictionary_key_type().then(|| DataType::Dictionary(Box::new(index), Box::new(value))))
}

/// The item of a fixed-size list. Its own name and nullability are not stored.
fn item_field(item: &str, depth: u32) -> Result<Field> {
    if item == "lance.bfloat16" {
        let names = [("ARROW:extension:name", "lance.bfloat16"), ("ARROW:extension:metadata", "")];
        let metadata = names.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        return Ok(Field::new("item", DataType::FixedSizeBinary(2), true).with_metadata(metadata));
    }
    Ok(Field::new("item", parse(item, depth + 1)?, true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_types() {
        let types = [
            ("timestamp:us:+08:00", "Timestamp(µs, \"+08:00\")"),
            ("timestamp:ns:-", "Timestamp(ns)"),
            ("decimal:128:10:-2", "Decimal128(10, -2)"),
            ("fixed_size_binary:3", "FixedSizeBinary(3)"),
            ("dict:string:int8:false", "Dictionary(Int8, Utf8)"),
        ];
        for (name, expected) in types {
            assert_eq!(leaf_type(name).unwrap().to_string(), expected, "{name}");
        }
        let nested = leaf_type("fixed_size_list:fixed_size_list:timestamp:us:UTC:2:3").unwrap();
        let DataType::FixedSizeList(outer, 3) = nested else { panic!("{nested}") };
        let DataType::FixedSizeList(inner, 2) = outer.data_type() else { panic!("{outer}") };
        assert_eq!(inner.data_type(), &DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())));
    }

    #[test]
    fn nonsense_is_refused() {
        let deep = "fixed_size_list:".repeat(40) + "int8" + &":1".repeat(40);
        for name in ["", "int128", "decimal:128:99:0", "dict:string:float:false", "fixed_size_list:int8:-1", &deep] {
            assert_eq!(leaf_type(name).unwrap_err().code(), "unknown_type", "{name}");
        }
    }
}
