//! Where plugins come from: files, folders, and the files that need them.

use crate::encoding::PluginEncoding;
use crate::module::MOST_BYTES;
use crate::plugin::Plugin;
use bytes::Bytes;
use colkit_core::{Error, Result};
use colkit_lance::encoding::{EmbeddedDecoders, Registry, ValueEncoding};
use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where a plugin was found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Origin {
    /// This file.
    File(PathBuf),
    /// The bytes were given.
    Memory,
}

/// Plugins that are known, and which of those inside of files may run.
#[derive(Clone, Debug, Default)]
pub struct Plugins {
    known: Vec<(Arc<Plugin>, Origin)>,
    allowed: Allowed,
}

/// Which plugins may run that are embedded in the file they are for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Allowed {
    all: bool,
    hashes: BTreeSet<String>,
}

impl Plugins {
    /// None, and none that is embedded may run.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a plugin. Of several for one encoding, the first counts.
    pub fn add(&mut self, plugin: Plugin) {
        self.known.push((Arc::new(plugin), Origin::Memory));
    }

    /// Adds the plugin in this file.
    pub fn add_file(&mut self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let named = |e: Error| e.part(format!("plugin {}", path.display()));
        let bytes = read(path).map_err(named)?;
        self.known.push((Arc::new(Plugin::new(bytes).map_err(named)?), Origin::File(path.to_owned())));
        Ok(())
    }

    /// Adds all plugins in a folder, in the order of their names; a folder that is not there has none. What cannot be used is
    /// given back instead of stopping everything that needs no plugin.
    pub fn add_folder(&mut self, path: impl AsRef<Path>) -> Vec<Error> {
        let Ok(entries) = std::fs::read_dir(path) else { return Vec::new() };
        let mut files: Vec<PathBuf> = entries.filter_map(|e| Some(e.ok()?.path())).collect();
        files.retain(|f| f.extension().is_some_and(|e| e == "wasm"));
        files.sort();
        files.into_iter().filter_map(|file| self.add_file(file).err()).collect()
    }

    /// Lets every plugin run that a file brings.
    #[must_use]
    pub fn allow_embedded(mut self) -> Self {
        self.allowed.all = true;
        self
    }

    /// Lets the plugin of this SHA-256, in hexadecimal digits, run if a file brings it.
    #[must_use]
    pub fn allow_hash(mut self, hash: impl Into<String>) -> Self {
        self.allowed.hashes.insert(hash.into().to_ascii_lowercase());
        self
    }

    /// The plugins, and where each was found.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<Plugin>, &Origin)> {
        self.known.iter().map(|(plugin, origin)| (plugin, origin))
    }

    /// Adds the encodings that the plugins decode to those that are known, except those that are known already: decoders in
    /// the program are faster.
    pub fn add_to(&self, registry: &mut Registry) {
        for (plugin, _) in &self.known {
            if !registry.value_names().contains(&plugin.info().name.as_str()) {
                registry.add_values(Arc::new(PluginEncoding(plugin.clone())));
            }
        }
        registry.set_embedded(Arc::new(self.allowed.clone()));
    }
}

/// The bytes of a module, and one more if there are too many.
fn read(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(MOST_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

impl EmbeddedDecoders for Allowed {
    fn allows(&self, hash: &str) -> bool {
        self.all || self.hashes.contains(hash)
    }

    fn load(&self, name: &str, hash: &str, module: Bytes) -> Result<Arc<dyn ValueEncoding>> {
        let plugin = Plugin::new(module)?;
        if plugin.hash() != hash {
            let what =
                format!("the plugin embedded for {name} should have the SHA-256 {hash}, it has {}", plugin.hash());
            return Err(Error::unsupported("bad_plugin", what));
        }
        if plugin.info().name != name {
            let what = format!("the plugin embedded for {name} says that it is for {}", plugin.info().name);
            return Err(Error::unsupported("bad_plugin", what));
        }
        Ok(Arc::new(PluginEncoding(Arc::new(plugin))))
    }
}
