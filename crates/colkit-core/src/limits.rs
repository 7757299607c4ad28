//! What a file may make us do. Every number in a file is a claim; these are the ceilings for honest ones.

use crate::{Error, Result};

/// Ceilings for reading, passed to every reader. Exceeding one is a clear error, never an allocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Memory a scan may hold, in bytes.
    pub memory: u64,
    /// Columns of a table.
    pub columns: u64,
    /// Bytes of one name.
    pub name_bytes: u64,
    /// Bytes of one value.
    pub value_bytes: u64,
    /// Bytes that one file may unpack to.
    pub output_bytes: u64,
    /// Levels of nesting in types or documents.
    pub nesting: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            memory: 512 << 20,
            columns: 1 << 20,
            name_bytes: 1 << 20,
            value_bytes: 1 << 31,
            output_bytes: 1 << 44,
            nesting: 100,
        }
    }
}

impl Limits {
    /// `asked` of `what`, if that is within `allowed`.
    pub fn check(what: &str, asked: u64, allowed: u64) -> Result<()> {
        if asked > allowed { Err(Error::limit(what, asked, allowed)) } else { Ok(()) }
    }
}
