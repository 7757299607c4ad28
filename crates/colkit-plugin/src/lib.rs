//! Encodings of Lance files as WebAssembly modules.
//!
//! ```text
//! bytes -> Module (sections, no code is run) -> Plugin (name, hash) -> compiled once per process -> an instance per thread
//! ```
//!
//! A module has no imports, so it can only compute. What it computes with is bounded: fuel in proportion to the bytes that go in and
//! come out, memory by the reader's limits. What it answers is checked like the content of any file. `docs/plugins.md` is the
//! interface.

mod abi;
mod check;
mod effort;
mod encode;
mod encoding;
mod find;
mod host;
mod module;
mod plugin;

pub use abi::ABI_VERSION;
pub use check::{Checked, check};
pub use find::{Origin, Plugins};
pub use plugin::{Example, Info, Plugin};
