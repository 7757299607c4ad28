//! Reading and writing Lance files through the public API.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    missing_docs,
    reason = "test code"
)]

mod conditions;
mod dataset_faults;
mod datasets;
mod encodings;
#[cfg(feature = "extended")]
mod extended;
mod extensions;
mod golden;
mod handmade;
mod hostile;
mod random;
mod vectors;
mod writing;

/// Counts what is allocated, for tests that bound it.
#[global_allocator]
static MEMORY: peak_alloc::PeakAlloc = peak_alloc::PeakAlloc;
