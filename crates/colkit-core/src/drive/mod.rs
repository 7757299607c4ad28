//! Drivers bring machines the bytes they ask for. All threads, all waiting and all I/O live here.

pub mod blocking;
pub mod parallel;
#[cfg(feature = "object-store")]
pub mod store;
