//! Hosts bring machines and the scan engine the bytes they ask for. All threads, all waiting and all I/O live here.

pub mod blocking;
pub mod parallel;
#[cfg(feature = "object-store")]
pub mod store;
mod take;
#[cfg(feature = "object-store")]
mod version;

use arrow::array::{Array, ArrayRef};
use arrow::record_batch::RecordBatch;

/// How many of so many threads may run: all of them, or one without the feature `threads`.
pub(crate) fn allowed(threads: usize) -> usize {
    if cfg!(feature = "threads") { threads } else { threads.min(1) }
}

/// Bytes that the values of a batch take, at least one for each row.
pub fn decoded_bytes(batch: &RecordBatch) -> u64 {
    let size = |array: &ArrayRef| array.to_data().get_slice_memory_size().unwrap_or(0) as u64;
    batch.columns().iter().map(size).sum::<u64>().max(batch.num_rows() as u64)
}
