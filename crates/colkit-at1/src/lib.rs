//! The AT-1 format (`.at1`): text kept smaller than xz keeps it, restored byte for byte, queried while packed.
//!
//! [`restore()`] gives the original bytes back, whatever the codec; [`Bundle`] and [`restore_entries`] do so for bundles.
//! `pack` makes such a file of any file, never larger than xz would and always exact; `pack_bundle` of several.
//! [`At1`] shows the same files as tables: [`colkit_core::TableFile`] reads them by row group and column.
//!
//! | feature | what it is |
//! |---------|------------|
//! | `write` (default) | packing and writing |
//! | `xz`, `zstd` (default) | the decompressors in C |
//! | `pure` | decompressors in Rust, used where those in C are not built; slower, and holding packed payloads whole |

#![forbid(unsafe_code)]

mod backend;
mod bundle;
mod checksum;
mod codec;
mod container;
mod cursor;
#[cfg(feature = "write")]
mod encode;
mod fetched;
mod format;
mod number;
mod output;
#[cfg(feature = "write")]
mod pack;
mod queryable;
mod restore;
mod stream_set;
mod table;
mod text;
#[cfg(feature = "write")]
mod writer;

pub use bundle::{Bundle, BundleEntry, is_bundle, restore_entries, unportable_names};
#[cfg(feature = "write")]
pub use bundle::{BundleFile, pack_bundle};
pub use codec::Codec;
#[cfg(feature = "write")]
pub use codec::bundle::encode::MOST_FILES;
#[cfg(feature = "write")]
pub use encode::compress::Effort;
pub use format::At1;
#[cfg(feature = "write")]
pub use pack::{PackOptions, PackPriority, PackSummary, pack};
pub use restore::{Integrity, RestoreOptions, Restored, restore, restore_with};
pub use text::{PackedText, TextReader};

/// The examples of the README, as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
