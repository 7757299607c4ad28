//! One module per verb: from arguments to output.

mod bundle;
pub mod cat;
pub mod cleanup;
#[cfg(feature = "cluster")]
pub mod cluster;
pub mod compact;
pub mod completions;
pub mod convert;
pub mod convert_dataset;
pub mod count;
pub mod delete;
pub mod diff;
pub mod formats;
pub mod grep;
pub mod inspect;
pub mod man;
pub mod pack;
#[cfg(feature = "plugins")]
pub mod plugins;
pub mod salvage;
pub mod sample;
pub mod schema;
#[cfg(feature = "sql")]
pub mod sql;
pub mod stats;
pub mod tag;
pub mod take;
pub mod tour;
pub mod unpack;
pub mod verify;
pub mod versions;
#[cfg(feature = "view")]
pub mod view;
