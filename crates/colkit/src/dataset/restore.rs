//! An earlier version as the newest one.

use super::Versions;
use super::commit::{Committed, Committing, Verdict, numbered};
use colkit_core::{Error, Limits, Result};
use colkit_lance::dataset::Change;
use std::path::Path;

/// Makes a new version that is like an earlier one of the main line, and says which. What was newer stays in the history.
pub fn restore(path: impl AsRef<Path>, version: u64, unsafe_commit: bool) -> Result<u64> {
    let limits = Limits::default();
    let versions = Versions::at(path.as_ref())?;
    let old = versions.base(numbered(&versions, version)?, &limits)?;
    let base = versions.newest_base(&limits)?;
    let committing = Committing { unsafely: unsafe_commit, limits };
    let change = Change::Restore(Box::new(old));
    match committing.commit(&versions.folder, Some(&base), &change, &|_, _, _| Verdict::Refuse)? {
        Committed::Version(version) => Ok(version),
        Committed::Again => Err(Error::internal("a version to be restored again")),
    }
}
