//! Types as people write them: what `schema` prints and messages say.

use arrow::datatypes::{DataType, Field, TimeUnit};

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
}
