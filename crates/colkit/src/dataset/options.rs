//! How datasets are written.

use super::data_files::FileSize;
use colkit_core::{Error, Result};
use colkit_lance::LanceWriteOptions;

/// What becomes of a dataset that is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DatasetMode {
    /// There must be none.
    #[default]
    Create,
    /// Rows are added; there must be one.
    Append,
    /// A new version has only the new rows and columns. If there is none, one is made.
    Overwrite,
}

/// How a dataset is written.
#[derive(Clone, Debug)]
#[non_exhaustive]
#[must_use]
pub struct DatasetWriteOptions {
    /// What becomes of a dataset that is there.
    pub mode: DatasetMode,
    /// Rows of a data file at most.
    pub rows_per_file: u64,
    /// Bytes after which a data file is complete.
    pub bytes_per_file: u64,
    /// Writes also to a store where two writers at once would not notice one another.
    pub unsafe_commit: bool,
    /// How data files are written. A dataset that is there keeps the version of its files.
    pub lance: LanceWriteOptions,
}

impl Default for DatasetWriteOptions {
    fn default() -> Self {
        let FileSize { rows, bytes } = FileSize::default();
        DatasetWriteOptions {
            mode: DatasetMode::default(),
            rows_per_file: rows,
            bytes_per_file: bytes,
            unsafe_commit: false,
            lance: LanceWriteOptions::default(),
        }
    }
}

impl DatasetWriteOptions {
    /// Does this.
    pub fn new(mode: DatasetMode) -> Self {
        DatasetWriteOptions { mode, ..Self::default() }
    }

    pub(super) fn size(&self) -> Result<FileSize> {
        if !(1..u64::from(u32::MAX)).contains(&self.rows_per_file) || self.bytes_per_file == 0 {
            return Err(Error::request("bad_rows", format!("data files of {} rows", self.rows_per_file))
                .hint("a data file has from 1 to 4,294,967,294 rows"));
        }
        Ok(FileSize { rows: self.rows_per_file, bytes: self.bytes_per_file })
    }
}
