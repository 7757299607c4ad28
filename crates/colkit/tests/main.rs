//! The facade over every registered format.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "test code: a failure is a panic"
)]

mod random;

mod facade {
    mod convert;
    mod diff;
    mod examples;
    mod matrix;
    mod mistakes;
    mod open;
    mod packed;
    mod queries;
    #[cfg(feature = "object-store")]
    mod remote;
    mod salvage;
    mod sample;
    mod scan;
    mod select;
    mod several;
    mod stats;
    mod stranger;
    mod verify;
}
