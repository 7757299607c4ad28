//! The formats of others through the public interface.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    reason = "test code"
)]

mod csv {
    mod cases;
    mod damage;
    mod options;
    mod places;
    mod properties;
    mod write;

    use arrow::array::{Array, AsArray};
    use arrow::datatypes::{DataType, Float64Type, Int32Type, Int64Type};
    use arrow::record_batch::RecordBatch;
    use bytes::Bytes;
    use colkit_core::{Format, ReadOptions, Result, TableFile, conformance};
    use colkit_interop::csv::Pieces;
    use colkit_interop::{CsvFormat, CsvOptions};
    use serde_json::{Value, json};
    use std::sync::Arc;

    fn format(options: CsvOptions) -> Arc<dyn Format> {
        Arc::new(CsvFormat::new(options))
    }

    /// Reads that ask for `chunk` bytes at a time while opening, with a checkpoint at every `checkpoint`-th byte.
    fn in_pieces(chunk: u64, checkpoint: u64) -> CsvOptions {
        CsvOptions { pieces: Pieces { chunk, checkpoint }, ..CsvOptions::default() }
    }

    fn open(text: impl AsRef<[u8]>, options: CsvOptions) -> Result<TableFile> {
        let bytes = Bytes::copy_from_slice(text.as_ref());
        TableFile::open(format(options), Arc::new(bytes), &ReadOptions::default())
    }

    fn read(text: impl AsRef<[u8]>, options: CsvOptions) -> Result<RecordBatch> {
        conformance::read_all(&format(options), &Bytes::copy_from_slice(text.as_ref()))
    }

    /// The types of a batch, as schemas name them.
    fn types(batch: &RecordBatch) -> Vec<&'static str> {
        batch.columns().iter().map(|c| type_name(c.data_type())).collect()
    }

    fn type_name(data_type: &DataType) -> &'static str {
        match data_type {
            DataType::Int32 => "int32",
            DataType::Int64 => "int64",
            DataType::Float64 => "float64",
            DataType::Boolean => "bool",
            DataType::Utf8 => "string",
            _ => "?",
        }
    }

    /// A column as the cases write it: floats as bit patterns, nulls as null.
    fn values(array: &dyn Array) -> Vec<Value> {
        let value = |i: usize| match array.data_type() {
            _ if array.is_null(i) => Value::Null,
            DataType::Int32 => json!(array.as_primitive::<Int32Type>().value(i)),
            DataType::Int64 => json!(array.as_primitive::<Int64Type>().value(i)),
            DataType::Float64 => {
                json!(format!("0x{:016x}", array.as_primitive::<Float64Type>().value(i).to_bits()))
            }
            DataType::Boolean => json!(array.as_boolean().value(i)),
            DataType::Utf8 => json!(array.as_string::<i32>().value(i)),
            other => panic!("{other}"),
        };
        (0..array.len()).map(value).collect()
    }
}

mod exchange {
    mod arrow;
    mod damage;
    mod ndjson;
    mod parquet;
    mod sample;
}
