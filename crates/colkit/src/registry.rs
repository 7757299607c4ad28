//! All formats, by name, by extension, and how to make them.
//!
//! A new format is a line in [`Registry::default`] and a feature; everything else, from recognising files to the help text of the
//! command line, follows from it.

use crate::TextOptions;
use crate::not_built::NotBuilt;
use colkit_core::{Error, Format, Result};
use std::sync::Arc;

/// The formats a program knows. Cheap to clone.
#[derive(Clone)]
pub struct Registry {
    entries: Vec<Entry>,
}

#[derive(Clone)]
struct Entry {
    maker: Maker,
    native: bool,
}

#[derive(Clone)]
enum Maker {
    /// Says everything about itself.
    Typed(Arc<dyn Format>),
    /// Text, that must be told how to be read.
    Text(fn(&TextOptions) -> Arc<dyn Format>),
    /// Not text itself, but what holds texts.
    #[cfg(feature = "at1")]
    Packed(fn(&TextOptions) -> Arc<dyn Format>),
}

impl Default for Registry {
    fn default() -> Self {
        let registry = Registry::empty();
        #[cfg(feature = "plain")]
        let registry = registry.native(colkit_plain::Gpp).native(colkit_plain::Cff).native(colkit_plain::Colm);
        #[cfg(feature = "at1")]
        let registry = registry.packed(crate::text::at1);
        #[cfg(feature = "lance")]
        let registry = registry.native(colkit_lance::Lance::default());
        #[cfg(feature = "parquet")]
        let registry = registry.foreign(colkit_interop::Parquet::default());
        #[cfg(feature = "arrow-ipc")]
        let registry =
            registry.foreign(colkit_interop::ArrowFile::default()).foreign(colkit_interop::ArrowStream::default());
        let registry = NotBuilt::formats().fold(registry, Registry::foreign);
        // Every text looks like CSV; what looks like more is asked first.
        #[cfg(feature = "text")]
        let registry = registry.text(crate::text::ndjson).text(crate::text::csv).text(crate::text::tsv);
        registry
    }
}

impl Registry {
    /// No formats.
    pub fn empty() -> Self {
        Registry { entries: Vec::new() }
    }

    /// Adds a column format of colkit's own.
    pub fn native(self, format: impl Format + 'static) -> Self {
        self.with(Maker::Typed(Arc::new(format)), true)
    }

    /// Adds a format that carries its own types, known from elsewhere.
    pub fn foreign(self, format: impl Format + 'static) -> Self {
        self.with(Maker::Typed(Arc::new(format)), false)
    }

    /// Adds a text format, whose types are inferred as the reading says.
    pub fn text(self, make: fn(&TextOptions) -> Arc<dyn Format>) -> Self {
        self.with(Maker::Text(make), false)
    }

    /// Adds a column format of colkit's own that holds texts, read as the reading says.
    #[cfg(feature = "at1")]
    fn packed(self, make: fn(&TextOptions) -> Arc<dyn Format>) -> Self {
        self.with(Maker::Packed(make), true)
    }

    /// Replaces the format of the same name: what only one format knows is set on that format's own value.
    pub fn configured(mut self, format: impl Format + 'static) -> Self {
        let format: Arc<dyn Format> = Arc::new(format);
        let same = |e: &&mut Entry| matches!(&e.maker, Maker::Typed(f) if f.name() == format.name());
        if let Some(entry) = self.entries.iter_mut().find(same) {
            entry.maker = Maker::Typed(format);
        }
        self
    }

    fn with(mut self, maker: Maker, native: bool) -> Self {
        self.entries.push(Entry { maker, native });
        self
    }

    /// All formats, text ones reading like this.
    pub fn formats(&self, text: &TextOptions) -> Vec<Arc<dyn Format>> {
        self.entries.iter().map(|e| e.make(text)).collect()
    }

    /// Colkit's own column formats, which are what the toolkit is about.
    pub fn native_formats(&self) -> Vec<Arc<dyn Format>> {
        let text = TextOptions::default();
        self.entries.iter().filter(|e| e.native).map(|e| e.make(&text)).collect()
    }

    /// Whether the format of this name is text whose types are inferred.
    pub fn is_text(&self, name: &str) -> bool {
        if name == "lines" {
            return true;
        }
        let text = TextOptions::default();
        self.entries.iter().any(|e| matches!(e.maker, Maker::Text(_)) && e.make(&text).name() == name)
    }

    /// Whether types of columns in the format of this name are inferred from text, packed or not, so that it can be read
    /// to others.
    pub fn infers_types(&self, name: &str) -> bool {
        if name == "lines" {
            return false;
        }
        let text = TextOptions::default();
        self.entries.iter().any(|e| !matches!(e.maker, Maker::Typed(_)) && e.make(&text).name() == name)
    }

    /// The format of this name or, failing that, extension. The format `lines`, which is no file format but a way to read any
    /// text, is only known by its name.
    pub fn named(&self, name: &str, text: &TextOptions) -> Result<Arc<dyn Format>> {
        let formats = self.formats(text);
        let wanted = name.trim_start_matches('.').to_ascii_lowercase();
        #[cfg(feature = "text")]
        if wanted == "lines" {
            return Ok(crate::text::lines());
        }
        let found = formats.iter().find(|f| f.name() == wanted);
        found.or_else(|| by_extension(&formats, &wanted)).cloned().ok_or_else(|| {
            Error::request("no_such_format", format!("there is no format {name:?}")).hint(known(&formats))
        })
    }

    /// The extension of the files that a folder of these, sorted by name, is a table of: that of the first one that is known,
    /// or else of the first.
    #[cfg(feature = "fs")]
    pub fn extension_of_folder<'a>(&self, files: impl Iterator<Item = &'a std::path::Path> + Clone) -> Option<String> {
        crate::listing::kind_of(files, self)?.into_string().ok()
    }

    /// The format that files with this extension are in.
    pub fn with_extension(&self, extension: &str, text: &TextOptions) -> Option<Arc<dyn Format>> {
        by_extension(&self.formats(text), extension).cloned()
    }
}

impl Entry {
    fn make(&self, text: &TextOptions) -> Arc<dyn Format> {
        match &self.maker {
            Maker::Typed(format) => format.clone(),
            Maker::Text(make) => make(text),
            #[cfg(feature = "at1")]
            Maker::Packed(make) => make(text),
        }
    }
}

fn by_extension<'a>(formats: &'a [Arc<dyn Format>], extension: &str) -> Option<&'a Arc<dyn Format>> {
    formats.iter().find(|f| f.extensions().contains(&extension))
}

/// The sentence that lists what is known.
pub(crate) fn known(formats: &[Arc<dyn Format>]) -> String {
    let names: Vec<&str> = formats.iter().map(|f| f.name()).collect();
    format!("known formats: {}", names.join(", "))
}
