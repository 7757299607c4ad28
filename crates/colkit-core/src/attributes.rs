//! Permissions and times of files, as archives keep them.

use std::time::SystemTime;

/// What is kept of a file or folder besides its name and content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    /// Who may read, write and run it: the nine bits of Unix. What the process's own mask forbids stays forbidden.
    pub mode: Option<u32>,
    /// When it was last modified.
    pub modified: Option<SystemTime>,
}

impl Attributes {
    /// Those of a file or folder.
    pub fn of(metadata: &std::fs::Metadata) -> Self {
        #[cfg(unix)]
        let mode = Some(std::os::unix::fs::MetadataExt::mode(metadata) & 0o777);
        #[cfg(not(unix))]
        let mode = None;
        Attributes { mode, modified: metadata.modified().ok() }
    }
}
