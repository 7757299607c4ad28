//! Files to test with.

use colkit::arrow::array::{ArrayRef, Float64Array, Int32Array, StringArray};
use colkit::arrow::record_batch::RecordBatch;
use colkit::{Format, Input, MemorySink, Registry, TextOptions, WriteOptions};
use std::sync::Arc;

/// A table that every format can store.
pub fn batch() -> RecordBatch {
    let noise = |i: i32| i.wrapping_mul(-1_640_531_527) >> 9;
    let numbers: ArrayRef = Arc::new(Int32Array::from_iter_values((0..1000).map(noise)));
    let floats: ArrayRef = Arc::new(Float64Array::from_iter_values((0..1000).map(|i| f64::from(noise(i + 7)) / 8.0)));
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values((0..1000).map(|i| format!("t{}", noise(i + 9) % 99))));
    RecordBatch::try_from_iter_with_nullable([("n", numbers, false), ("x", floats, false), ("t", texts, false)])
        .unwrap()
}

/// `batch` as a file.
pub fn write(format: &dyn Format, batch: &RecordBatch) -> Vec<u8> {
    try_write(format, batch).unwrap()
}

/// `batch` as a file, if the format can hold its values.
pub fn try_write(format: &dyn Format, batch: &RecordBatch) -> colkit::Result<Vec<u8>> {
    let sink = MemorySink::new();
    let mut writer = format.writer(batch.schema(), Box::new(sink.clone()), &WriteOptions::default())?;
    writer.write(batch)?;
    writer.finish()?;
    Ok(sink.bytes().unwrap().to_vec())
}

/// Bytes as an input of this name.
pub fn input(name: &str, bytes: impl Into<Vec<u8>>) -> Input {
    Input::source(name, Arc::new(bytes::Bytes::from(bytes.into())))
}

/// Every format that stores `batch` as it is, text ones too.
pub fn formats() -> Vec<Arc<dyn Format>> {
    storing_batch(Registry::default().formats(&TextOptions::default()))
}

/// The column formats that store `batch` as it is.
pub fn native_formats() -> Vec<Arc<dyn Format>> {
    storing_batch(Registry::default().native_formats())
}

fn storing_batch(formats: Vec<Arc<dyn Format>>) -> Vec<Arc<dyn Format>> {
    let schema = batch().schema();
    formats.into_iter().filter(|f| schema.fields().iter().all(|field| f.stores(field.data_type()))).collect()
}
