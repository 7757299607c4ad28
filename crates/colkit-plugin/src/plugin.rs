//! A plugin: a module, what it says about itself, and its hash.

use crate::abi::{ABI_VERSION, Request};
use crate::host::Compiled;
use crate::module::{bad, sections};
use bytes::Bytes;
use colkit_core::{Limits, Result};
use colkit_lance::encoding::EmbeddedModule;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// What a module says about itself: the JSON in its section `colkit.plugin`.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[non_exhaustive]
pub struct Info {
    /// The version of the interface.
    pub abi: u32,
    /// The name of the encoding that it decodes, as after the last slash of a type URL.
    pub name: String,
    /// Its own version.
    #[serde(default)]
    pub version: String,
    /// What it is, in a line.
    #[serde(default)]
    pub about: String,
    /// What it can show that it decodes right.
    #[serde(default)]
    pub examples: Vec<Example>,
}

/// Values that a module decodes. Bytes are written in hexadecimal digits.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[non_exhaustive]
pub struct Example {
    /// The description of the encoding.
    #[serde(default)]
    pub description: String,
    /// The value buffers of a chunk.
    pub buffers: Vec<String>,
    /// The values of the chunk.
    pub count: u32,
    /// The bytes of all values.
    pub values: String,
    /// Where each value ends, of values of any length; 0 comes first.
    #[serde(default)]
    pub offsets: Vec<u32>,
    /// A bit for each value from the lowest of a byte on, 0 for null, if some are.
    #[serde(default)]
    pub valid: Option<String>,
    /// The Arrow type of the values, if the module shall show that it encodes them, too.
    #[serde(default, rename = "type")]
    pub data_type: Option<String>,
}

/// A module that decodes an encoding. It is compiled when it is first used, once for the process.
pub struct Plugin {
    info: Info,
    hash: [u8; 32],
    bytes: Bytes,
    compiled: OnceLock<Arc<Compiled>>,
}

impl std::fmt::Debug for Plugin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Plugin({})", self.label())
    }
}

/// Bytes of what a plugin says about itself.
const MOST_TEXT: usize = 500;

/// Modules that are kept compiled although nobody uses them.
const MOST_COMPILED: usize = 64;

/// Modules that have been compiled, by their hash.
static COMPILED: Mutex<Option<HashMap<[u8; 32], Arc<Compiled>>>> = Mutex::new(None);

impl Plugin {
    /// A plugin from the bytes of a module. Nothing of it is run.
    pub fn new(bytes: impl Into<Bytes>) -> Result<Self> {
        let bytes = bytes.into();
        let about = sections(&bytes)?.about;
        let info: Info = serde_json::from_slice(about)
            .map_err(|e| bad(format!("what the module says about itself cannot be read: {e}")))?;
        if info.abi != ABI_VERSION {
            let what =
                format!("the plugin is for version {} of the interface, this is version {ABI_VERSION}", info.abi);
            return Err(bad(what));
        }
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        if info.name.is_empty() || info.name.len() > 200 || !info.name.chars().all(fits) {
            return Err(bad("the name of an encoding has letters, digits, dots and dashes"));
        }
        if info.name.starts_with("lance.") {
            return Err(bad(format!("{} is an encoding of Lance itself", info.name)));
        }
        for text in [&info.version, &info.about] {
            if text.len() > MOST_TEXT || text.chars().any(char::is_control) {
                return Err(bad(format!("what a plugin says about itself is one line of at most {MOST_TEXT} bytes")));
            }
        }
        let hash = Sha256::digest(&bytes).into();
        Ok(Plugin { info, hash, bytes, compiled: OnceLock::new() })
    }

    /// What it says about itself.
    pub fn info(&self) -> &Info {
        &self.info
    }

    /// The SHA-256 of the module, in hexadecimal digits.
    pub fn hash(&self) -> String {
        self.hash.iter().map(|b| format!("{b:02x}")).collect()
    }

    /// The module, for files that bring it.
    pub fn module(&self) -> EmbeddedModule {
        EmbeddedModule { bytes: self.bytes.clone(), sha256: self.hash() }
    }

    /// Lets it decode some values of a chunk: their bytes and, for values of any length, their ends.
    pub fn decode(
        &self,
        description: &[u8],
        buffers: &[&[u8]],
        count: u32,
        wanted: Range<u32>,
        limits: &Limits,
    ) -> Result<(Vec<u8>, Vec<u8>)> {
        let compiled = self.compiled()?;
        let bits = u64::from(compiled.form(description, limits)?).max(128);
        let number = wanted.end.saturating_sub(wanted.start);
        let output = usize::try_from(u64::from(number).saturating_mul(bits.div_ceil(8))).unwrap_or(usize::MAX);
        let request = Request { description, buffers, count, first: wanted.start, wanted: number };
        let ((values, ends, _), _) = compiled.decode_owned(&request, output, limits)?;
        Ok((values, ends))
    }

    /// What messages call it: its name and its hash.
    pub(crate) fn label(&self) -> String {
        format!("{} (SHA-256 {})", self.info.name, self.hash())
    }

    /// The compiled module.
    pub(crate) fn compiled(&self) -> Result<&Arc<Compiled>> {
        if let Some(known) = self.compiled.get() {
            return Ok(known);
        }
        let mut all = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
        let all = all.get_or_insert_default();
        let compiled = match all.get(&self.hash) {
            Some(known) => known.clone(),
            None => {
                // Those that nobody uses any more make room.
                if all.len() >= MOST_COMPILED {
                    all.retain(|_, compiled| Arc::strong_count(compiled) > 1);
                }
                let new = Arc::new(
                    Compiled::new(&self.bytes, self.label()).map_err(|e| e.part(format!("plugin {}", self.label())))?,
                );
                all.insert(self.hash, new.clone());
                new
            }
        };
        Ok(self.compiled.get_or_init(|| compiled))
    }
}
