//! Stdin as a file, because queries read a table at several positions at once.

use colkit::Result;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A copy of stdin that disappears with the process, however it ends.
pub struct Spool {
    path: PathBuf,
    /// Holds the file, which has no name.
    #[cfg(target_os = "linux")]
    _file: std::fs::File,
    /// Removes the file.
    #[cfg(not(target_os = "linux"))]
    _file: tempfile::TempPath,
}

impl Spool {
    /// Reads all of `stream`.
    #[cfg(target_os = "linux")]
    pub fn of(stream: &mut dyn Read) -> Result<Self> {
        use std::os::fd::AsRawFd;
        let mut file = tempfile::tempfile()?;
        std::io::copy(stream, &mut file)?;
        // Opening this gives the file once more, with a place to read from of its own.
        Ok(Spool { path: format!("/proc/self/fd/{}", file.as_raw_fd()).into(), _file: file })
    }

    /// Reads all of `stream`. Here a file without a name cannot be opened again, so it has one until the end.
    #[cfg(not(target_os = "linux"))]
    pub fn of(stream: &mut dyn Read) -> Result<Self> {
        let mut file = tempfile::Builder::new().prefix("colkit-stdin-").tempfile()?;
        std::io::copy(stream, &mut file)?;
        let file = file.into_temp_path();
        Ok(Spool { path: file.to_path_buf(), _file: file })
    }

    /// Where it can be opened.
    pub fn path(&self) -> &Path {
        &self.path
    }
}
