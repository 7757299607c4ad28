//! Tests of the public API, over conformance files and over damaged ones.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    missing_docs,
    reason = "test code"
)]

/// Counts what is allocated, so that a file that makes us reserve too much is noticed.
#[global_allocator]
static MEMORY: peak_alloc::PeakAlloc = peak_alloc::PeakAlloc;

mod damage;
mod encode;
mod flips;
mod packs;
mod properties;
mod queries;
mod tables;
mod vectors;
mod writes;
