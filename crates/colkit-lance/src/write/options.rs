//! What can be asked of a file to be written.

use crate::container::Version;

/// What encodings are chosen for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Prefer {
    /// Small files that are quick to write, to scan and to take single rows from.
    #[default]
    Balance,
    /// The smallest file, whatever writing it costs; single rows cost more to read.
    Size,
    /// Little work for writing and scanning.
    Speed,
    /// Single rows: nothing that must be unpacked as a whole.
    RandomAccess,
}

/// Which encodings a file may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum EncodingSet {
    /// Those of Lance, so that every reader of the version reads the file.
    #[default]
    Stock,
    /// Also those that [`Registry::add_values`](crate::encoding::Registry::add_values) added: files are smaller, and only
    /// readers that know these encodings read the columns that use them.
    Extended,
}

/// How Lance files are written.
///
/// ```
/// use colkit_lance::{Lance, LanceWriteOptions, Prefer};
/// let options = LanceWriteOptions::new().with_prefer(Prefer::Size).with_bloom(["sym"]);
/// let format = Lance::new().with_write_options(options);
/// # let _ = format;
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[must_use]
pub struct LanceWriteOptions {
    /// What encodings are chosen for.
    pub prefer: Prefer,
    /// The version of the file; 2.0, 2.1 and 2.2 can be written. `None` is 2.1, which more releases read, and for the
    /// smallest files 2.2, whose chunks may be larger.
    pub version: Option<Version>,
    /// Top-level columns that get bloom filters, so that `=` and `in` skip rows even where values lie in no order.
    pub bloom: Vec<String>,
    /// Bytes of Arrow memory that make a page. Little memory makes smaller pages.
    pub page_bytes: u64,
    /// Which encodings the file may have.
    pub encodings: EncodingSet,
    /// Whether pages that are described by the same bytes share them where that makes the file smaller: files of many
    /// columns become smaller, and stock Lance refuses them.
    pub deferred_encodings: bool,
}

impl Default for LanceWriteOptions {
    fn default() -> Self {
        LanceWriteOptions {
            prefer: Prefer::default(),
            version: None,
            bloom: Vec::new(),
            page_bytes: 8 << 20,
            encodings: EncodingSet::default(),
            deferred_encodings: false,
        }
    }
}

impl LanceWriteOptions {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Chooses encodings for this purpose.
    pub fn with_prefer(mut self, prefer: Prefer) -> Self {
        self.prefer = prefer;
        self
    }

    /// Writes files of this version.
    pub fn with_version(mut self, version: Version) -> Self {
        self.version = Some(version);
        self
    }

    /// Writes bloom filters for these top-level columns.
    pub fn with_bloom(mut self, columns: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.bloom = columns.into_iter().map(Into::into).collect();
        self
    }

    /// Makes a page of this many bytes of Arrow memory.
    pub fn with_page_bytes(mut self, bytes: u64) -> Self {
        self.page_bytes = bytes;
        self
    }

    /// Writes files with these encodings.
    pub fn with_encodings(mut self, encodings: EncodingSet) -> Self {
        self.encodings = encodings;
        self
    }

    /// Lets pages share their descriptions where that makes the file smaller.
    pub fn with_deferred_encodings(mut self, deferred: bool) -> Self {
        self.deferred_encodings = deferred;
        self
    }

    /// The version that files get.
    pub fn file_version(&self) -> Version {
        self.version.unwrap_or(match self.prefer {
            Prefer::Size => Version::V2_2,
            Prefer::Balance | Prefer::Speed | Prefer::RandomAccess => Version::V2_1,
        })
    }
}
