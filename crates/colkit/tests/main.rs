//! The facade over every registered format.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test code: a failure is a panic"
)]

mod facade {
    mod convert;
    mod diff;
    mod open;
    mod sample;
    mod verify;
}
