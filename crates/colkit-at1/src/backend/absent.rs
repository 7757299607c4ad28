//! No decompressor: built without those in C and without those in Rust.

use crate::output::Output;
use colkit_core::{Error, Result};

fn not_built() -> Error {
    let message = "AT-1: this program was built without a decompressor (features `xz` and `zstd`, or `pure`)";
    Error::unsupported("not_built", message)
}

/// Refuses.
pub fn unpack(_: &[u8], _: u64) -> Result<Vec<u8>> {
    Err(not_built())
}

/// There is none.
pub enum Unpacker {}

impl Unpacker {
    /// Refuses.
    pub fn new() -> Result<Self> {
        Err(not_built())
    }

    /// Cannot be called.
    pub fn push(&mut self, _: &[u8], _: &mut Output<'_>) -> Result<()> {
        match *self {}
    }

    /// Cannot be called.
    pub fn finish(self, _: &mut Output<'_>) -> Result<()> {
        match self {}
    }
}
