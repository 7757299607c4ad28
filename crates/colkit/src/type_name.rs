//! Types as people write them: what `schema` prints and messages say.

use arrow::datatypes::{DataType, Field, TimeUnit};
use colkit_core::{Error, Result};

/// The short name of a type: `int32`, `string`, `timestamp[us, UTC]`, `list<float64>`, `struct<x: int32>`.
pub fn type_name(data_type: &DataType) -> String {
    let named = |f: &Field| format!("{}: {}", f.name(), type_name(f.data_type()));
    match data_type {
        DataType::Boolean => "bool".into(),
        DataType::Utf8 => "string".into(),
        DataType::LargeUtf8 => "large_string".into(),
        DataType::Utf8View => "string_view".into(),
        DataType::LargeBinary => "large_binary".into(),
        DataType::BinaryView => "binary_view".into(),
        DataType::FixedSizeBinary(n) => format!("binary[{n}]"),
        DataType::Timestamp(unit, None) => format!("timestamp[{}]", unit_name(unit)),
        DataType::Timestamp(unit, Some(zone)) => format!("timestamp[{}, {zone}]", unit_name(unit)),
        DataType::Time32(unit) => format!("time32[{}]", unit_name(unit)),
        DataType::Time64(unit) => format!("time64[{}]", unit_name(unit)),
        DataType::Duration(unit) => format!("duration[{}]", unit_name(unit)),
        DataType::Decimal32(p, s) => format!("decimal32({p}, {s})"),
        DataType::Decimal64(p, s) => format!("decimal64({p}, {s})"),
        DataType::Decimal128(p, s) => format!("decimal128({p}, {s})"),
        DataType::Decimal256(p, s) => format!("decimal256({p}, {s})"),
        DataType::List(f) => format!("list<{}>", type_name(f.data_type())),
        DataType::LargeList(f) => format!("large_list<{}>", type_name(f.data_type())),
        DataType::FixedSizeList(f, n) => format!("list<{}>[{n}]", type_name(f.data_type())),
        DataType::Struct(fields) => {
            let fields: Vec<String> = fields.iter().map(|f| named(f)).collect();
            format!("struct<{}>", fields.join(", "))
        }
        DataType::Map(entries, _) => format!("map<{}>", type_name(entries.data_type())),
        DataType::Dictionary(key, value) => format!("dictionary<{}, {}>", type_name(key), type_name(value)),
        // int32, float64, date32, binary, null: arrow's own word in lower case.
        other => format!("{other:?}").to_ascii_lowercase(),
    }
}

/// The type that a name stands for: those of [`type_name`] that hold no others, and `date`, `timestamp`, `decimal(p, s)`.
pub(crate) fn parse_type(name: &str) -> Result<DataType> {
    let unknown = || {
        let known = "bool, int8 to int64, uint8 to uint64, float32, float64, decimal(10, 2), string, binary, date, \
            time64[us] and timestamp[us] or timestamp[us, UTC]";
        Error::request("no_such_type", format!("there is no type {name:?}")).hint(format!("types are {known}"))
    };
    let (word, inside) = match name.find(['(', '[']) {
        None => (name, None),
        Some(at) => {
            let (word, rest) = name.split_at(at);
            let inside = rest.strip_prefix('(').and_then(|r| r.strip_suffix(')'));
            let inside = inside.or_else(|| rest.strip_prefix('[').and_then(|r| r.strip_suffix(']')));
            (word, Some(inside.ok_or_else(unknown)?))
        }
    };
    let parts: Vec<&str> = inside.map(|i| i.split(',').map(str::trim).collect()).unwrap_or_default();
    let unit = |name: &str| match name {
        "s" => Ok(TimeUnit::Second),
        "ms" => Ok(TimeUnit::Millisecond),
        "us" => Ok(TimeUnit::Microsecond),
        "ns" => Ok(TimeUnit::Nanosecond),
        _ => Err(unknown()),
    };
    Ok(match (word.trim().to_ascii_lowercase().as_str(), parts.as_slice()) {
        ("bool", []) => DataType::Boolean,
        ("int8", []) => DataType::Int8,
        ("int16", []) => DataType::Int16,
        ("int32", []) => DataType::Int32,
        ("int64", []) => DataType::Int64,
        ("uint8", []) => DataType::UInt8,
        ("uint16", []) => DataType::UInt16,
        ("uint32", []) => DataType::UInt32,
        ("uint64", []) => DataType::UInt64,
        ("float16", []) => DataType::Float16,
        ("float32", []) => DataType::Float32,
        ("float64", []) => DataType::Float64,
        ("string", []) => DataType::Utf8,
        ("large_string", []) => DataType::LargeUtf8,
        ("binary", []) => DataType::Binary,
        ("large_binary", []) => DataType::LargeBinary,
        ("date" | "date32", []) => DataType::Date32,
        ("date64", []) => DataType::Date64,
        ("timestamp", []) => DataType::Timestamp(TimeUnit::Microsecond, None),
        ("timestamp", [one]) => DataType::Timestamp(unit(one)?, None),
        ("timestamp", [one, zone]) => DataType::Timestamp(unit(one)?, Some((*zone).into())),
        ("time32", [one @ ("s" | "ms")]) => DataType::Time32(unit(one)?),
        ("time64", [one @ ("us" | "ns")]) => DataType::Time64(unit(one)?),
        ("duration", [one]) => DataType::Duration(unit(one)?),
        ("decimal" | "decimal128", [precision, scale]) => {
            let precision: u8 = precision.parse().map_err(|_| unknown())?;
            let scale: i8 = scale.parse().map_err(|_| unknown())?;
            if !(1..=38).contains(&precision) || i16::from(scale) > i16::from(precision) {
                return Err(unknown());
            }
            DataType::Decimal128(precision, scale)
        }
        _ => return Err(unknown()),
    })
}

fn unit_name(unit: &TimeUnit) -> &'static str {
    match unit {
        TimeUnit::Second => "s",
        TimeUnit::Millisecond => "ms",
        TimeUnit::Microsecond => "us",
        TimeUnit::Nanosecond => "ns",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_and_tell_types_apart() {
        let list = DataType::List(Field::new("item", DataType::Float64, true).into());
        let point = DataType::Struct(vec![Field::new("x", DataType::Int32, true), Field::new("l", list, true)].into());
        assert_eq!(type_name(&point), "struct<x: int32, l: list<float64>>");
        assert_eq!(type_name(&DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))), "timestamp[us, UTC]");
        assert_eq!(type_name(&DataType::UInt8), "uint8");
        assert_eq!(type_name(&DataType::Boolean), "bool");
    }

    #[test]
    fn types_are_read_as_they_are_written() {
        let zoned = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
        let flat = [DataType::Int8, DataType::Utf8, DataType::Date32, DataType::Decimal128(10, 2), zoned];
        for data_type in flat {
            assert_eq!(parse_type(&type_name(&data_type)).unwrap(), data_type);
        }
        assert_eq!(parse_type("decimal(5,1)").unwrap(), DataType::Decimal128(5, 1));
        for bad in ["", "int", "decimal(99, 1)", "timestamp[x]", "decimal(3", "decimal(2, 3)"] {
            assert_eq!(parse_type(bad).unwrap_err().code(), "no_such_type", "{bad}");
        }
    }
}
