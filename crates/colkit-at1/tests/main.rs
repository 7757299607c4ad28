//! Tests of the public API, over conformance files and over damaged ones.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "test code"
)]

mod packs;
mod vectors;
