//! Plugins: written by hand as WebAssembly text, good ones and hostile ones.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    missing_docs,
    reason = "test code"
)]

mod files;
mod hostile;
mod modules;
mod steps;
mod without_extended;
