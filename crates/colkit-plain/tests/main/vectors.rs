//! Files made by others read to the values they are said to hold.

use crate::{COLUMNS_APART, column_files, data, format_of, read};
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, Float64Type, Int32Type};
use colkit_core::conformance;
use serde_json::Value;
use sha2::{Digest, Sha256};

#[test]
fn every_good_file_reads_to_its_values() {
    let files = column_files(&data());
    assert_eq!(files.len(), 71, "good vectors");
    for path in files {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let expected: Value = serde_json::from_slice(&read(&path.with_extension("json"))).unwrap();
        let rows = conformance::reads(&format_of(&path), &read(&path), COLUMNS_APART);
        assert_eq!(rows.num_rows() as u64, expected["rows"].as_u64().unwrap(), "{name}: rows");
        let columns = expected["columns"].as_array().unwrap();
        assert_eq!(rows.num_columns(), columns.len(), "{name}: columns");
        for ((array, field), expected) in rows.columns().iter().zip(rows.schema().fields()).zip(columns) {
            let place = format!("{name}: column {:?}", field.name());
            assert_eq!(field.name(), expected["name"].as_str().unwrap(), "{place}");
            assert_eq!(type_name(array.data_type()), expected["type"], "{place}: type");
            assert_eq!(digest(array), expected["sha256"], "{place}: digest");
            for (row, value) in listed(expected) {
                assert_eq!(json(array, row), *value, "{place}: row {row}");
            }
        }
    }
}

/// The values written out in the expectation, with their rows.
fn listed(column: &Value) -> Vec<(usize, &Value)> {
    match (&column["values"], &column["samples"]) {
        (Value::Array(all), _) => all.iter().enumerate().collect(),
        (_, Value::Object(some)) => some.iter().map(|(row, value)| (row.parse().unwrap(), value)).collect(),
        _ => panic!("a column without values"),
    }
}

fn type_name(data_type: &DataType) -> &'static str {
    match data_type {
        DataType::Int32 => "int32",
        DataType::Float64 => "float64",
        DataType::Utf8 => "string",
        DataType::Boolean => "bool",
        other => panic!("unexpected type {other}"),
    }
}

/// A value as the expectations write it: floats by their bits.
fn json(array: &ArrayRef, row: usize) -> Value {
    match array.data_type() {
        DataType::Int32 => array.as_primitive::<Int32Type>().value(row).into(),
        DataType::Float64 => format!("{:#018x}", array.as_primitive::<Float64Type>().value(row).to_bits()).into(),
        DataType::Utf8 => array.as_string::<i32>().value(row).into(),
        _ => array.as_boolean().value(row).into(),
    }
}

/// The digest of a column: little-endian values; strings as length and bytes.
fn digest(array: &ArrayRef) -> String {
    let mut hash = Sha256::new();
    for row in 0..array.len() {
        match array.data_type() {
            DataType::Int32 => hash.update(array.as_primitive::<Int32Type>().value(row).to_le_bytes()),
            DataType::Float64 => hash.update(array.as_primitive::<Float64Type>().value(row).to_le_bytes()),
            DataType::Utf8 => {
                let text = array.as_string::<i32>().value(row);
                hash.update((text.len() as u32).to_le_bytes());
                hash.update(text);
            }
            _ => hash.update([u8::from(array.as_boolean().value(row))]),
        }
    }
    hash.finalize().iter().map(|b| format!("{b:02x}")).collect()
}
