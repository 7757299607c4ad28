//! Drivers fetch the bytes that machines and the scan engine request. All threads, waiting and I/O are in here.

pub mod blocking;
pub mod hosted;
#[cfg(feature = "object-store")]
mod local_path;
#[cfg(feature = "object-store")]
mod object;
pub mod ordered;
pub mod parallel;
#[cfg(feature = "object-store")]
pub mod store;
mod take;
#[cfg(feature = "object-store")]
mod version;

#[cfg(feature = "object-store")]
pub use local_path::{marked_file, object_path};

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, Int32Type};
use arrow::record_batch::RecordBatch;

/// How many of so many threads may run: all of them, or one without the feature `threads`.
pub(crate) fn allowed(threads: usize) -> usize {
    if cfg!(feature = "threads") { threads } else { threads.min(1) }
}

/// Bytes that the values of a batch take, at least one for each row.
pub fn decoded_bytes(batch: &RecordBatch) -> u64 {
    fn size(array: &ArrayRef) -> u64 {
        // A slice of runs has all of them as its data.
        if let Some(runs) = array.as_run_opt::<Int32Type>() {
            let values = runs.values_slice();
            return size(&values).saturating_add(4 * values.len() as u64);
        }
        // What views point at is no part of their array's own size.
        let behind = match array.data_type() {
            DataType::Utf8View => array.as_string_view().total_bytes_len(),
            DataType::BinaryView => array.as_binary_view().total_bytes_len(),
            _ => 0,
        };
        array.to_data().get_slice_memory_size().unwrap_or(0).saturating_add(behind) as u64
    }
    batch.columns().iter().map(size).sum::<u64>().max(batch.num_rows() as u64)
}
