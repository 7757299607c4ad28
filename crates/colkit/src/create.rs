//! How files are written.

use crate::{Registry, target_format};
use colkit_core::{Existing, Format, Nulls, Result, Types, WriteOptions};
use std::path::Path;
use std::sync::Arc;

/// How to write files.
///
/// What only one format knows is set on that format's own value:
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # std::env::set_current_dir(&folder)?;
/// # std::fs::write("trades.csv", "sym,price\nBTC,64000.5\nETH,3100.25\nSOL,99.5\nADA,0.4\n")?;
/// # colkit::convert("trades.csv", "trades.lance")?;
/// use colkit::CreateOptions;
/// use colkit::lance::{Lance, LanceWriteOptions, Prefer};
/// let lance = Lance::new().with_write_options(LanceWriteOptions::new().with_prefer(Prefer::Size));
/// let options = CreateOptions::new().with_configured(lance).with_overwrite(true);
/// let rows = colkit::open("trades.csv")?.scan().batches()?;
/// assert_eq!(options.write("trades.lance", rows)?.rows, 4);
/// # Ok::<(), colkit::Error>(())
/// ```
#[derive(Clone, Default)]
#[must_use]
pub struct CreateOptions {
    pub(crate) registry: Registry,
    pub(crate) format: Option<String>,
    pub(crate) existing: Existing,
    pub(crate) write: WriteOptions,
    pub(crate) drop_metadata: bool,
    pub(crate) inferred_types: bool,
}

impl CreateOptions {
    /// New files, in the format that their extensions stand for, on all threads.
    pub fn new() -> Self {
        Self::default()
    }

    /// Writes the format of this name, whatever the extension.
    pub fn with_format(mut self, name: impl Into<String>) -> Self {
        self.format = Some(name.into());
        self
    }

    /// Knows these formats.
    pub fn with_registry(mut self, registry: Registry) -> Self {
        self.registry = registry;
        self
    }

    /// Writes files of this format as this value of it does.
    pub fn with_configured(mut self, format: impl Format + 'static) -> Self {
        self.registry = self.registry.configured(format);
        self
    }

    /// Whether a file that is there is replaced. By default it is an error.
    pub fn with_overwrite(mut self, overwrite: bool) -> Self {
        self.existing = if overwrite { Existing::Replace } else { Existing::Refuse };
        self
    }

    /// The compression level, where the format has levels.
    pub fn with_level(mut self, level: u32) -> Self {
        self.write.level = Some(level);
        self
    }

    /// Uses at most this many bytes of memory.
    pub fn with_memory(mut self, bytes: u64) -> Self {
        self.write.memory = bytes;
        self
    }

    /// Uses this many threads.
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.write.threads = threads.max(1);
        self
    }

    /// What becomes of nulls that the format cannot store. By default they are an error.
    pub fn with_nulls(mut self, nulls: Nulls) -> Self {
        self.write.nulls = nulls;
        self
    }

    /// What becomes of types that the format cannot store. By default they are an error.
    pub fn with_types(mut self, types: Types) -> Self {
        self.write.types = types;
        self
    }

    /// Whether key-value metadata that the format cannot store is left out. By default it is an error.
    pub fn with_drop_metadata(mut self, drop: bool) -> Self {
        self.drop_metadata = drop;
        self
    }

    /// Whether types were inferred from text. Then dates and timestamps that the format cannot store are written as the text that
    /// they were read from, instead of being an error.
    pub fn with_inferred_types(mut self, inferred: bool) -> Self {
        self.inferred_types = inferred;
        self
    }

    /// All that a format is told about writing.
    pub fn with_write_options(mut self, options: WriteOptions) -> Self {
        self.write = options;
        self
    }

    /// The format that a file at `path` gets.
    pub fn format_of(&self, path: impl AsRef<Path>) -> Result<Arc<dyn Format>> {
        target_format(&self.registry, self.format.as_deref(), Some(path.as_ref()), "CreateOptions::with_format")
    }
}
