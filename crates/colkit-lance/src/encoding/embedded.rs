//! Decoders that a file brings with it, for readers that do not know its encodings.

use super::{Compression, Encodings, Registry, ValueEncoding};
use crate::container::Container;
use crate::coroutine::Io;
use crate::extensions::PLUGIN;
use bytes::Bytes;
use colkit_core::{Error, Result, Setting};
use std::collections::HashMap;
use std::sync::Arc;

/// A WebAssembly module that decodes an encoding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmbeddedModule {
    /// The module.
    pub bytes: Bytes,
    /// Its SHA-256, in hexadecimal digits.
    pub sha256: String,
}

/// Who decides about decoders in files, and runs them.
pub trait EmbeddedDecoders: Send + Sync {
    /// Whether the decoder of this SHA-256 may run.
    fn allows(&self, sha256: &str) -> bool;

    /// The encoding of this name, decoded by this module, which must have this SHA-256.
    fn load(&self, name: &str, sha256: &str, module: Bytes) -> Result<Arc<dyn ValueEncoding>>;
}

/// Who decodes an encoding.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Runner {
    /// The program itself.
    Native,
    /// A plugin of this SHA-256.
    Plugin {
        /// In hexadecimal digits.
        sha256: String,
    },
    /// Nobody: the plugin of this SHA-256 that the file brings was not allowed to run.
    Refused {
        /// In hexadecimal digits, as the file says.
        sha256: String,
    },
    /// Nobody: the plugin of this SHA-256 that the file brings cannot be used.
    Unusable {
        /// In hexadecimal digits, as the file says.
        sha256: String,
    },
}

/// Bytes of a module that are read at most.
const MOST_BYTES: u64 = 8 << 20;

/// The encodings of a registry, and those that the file with this metadata brings decoders for. What cannot be used makes only
/// the columns fail that need it.
pub(crate) async fn with_embedded(
    container: &Container,
    io: &Io,
    own: &HashMap<String, String>,
    registry: Arc<Registry>,
) -> Result<Arc<Registry>> {
    let named = own.iter().filter_map(|(key, value)| Some((key.strip_prefix(PLUGIN)?, value.as_str())));
    let mut brought: Vec<(&str, &str)> = named.filter(|(name, _)| registry.values.named(name).is_none()).collect();
    if brought.is_empty() {
        return Ok(registry);
    }
    brought.sort_unstable();
    let mut registry = Registry::clone(&registry);
    for (name, value) in brought {
        let (number, sha256) = value.split_once(' ').unwrap_or((value, ""));
        let sha256 = if is_sha256(sha256) { sha256 } else { "unknown" };
        let buffer = number.parse::<usize>().ok().and_then(|n| container.global_buffers().get(n).copied());
        let decoders = registry.embedded.clone().filter(|decoders| decoders.allows(sha256));
        let unusable = |how| Arc::new(Unusable { name: name.to_owned(), sha256: sha256.to_owned(), how });
        let encoding: Arc<dyn ValueEncoding> = match (decoders, buffer) {
            (None, _) => unusable(None),
            (Some(_), None) => unusable(Some("the file does not have it".to_owned())),
            (Some(_), Some(buffer)) if buffer.len() > MOST_BYTES => {
                unusable(Some(format!("it has {} bytes; {MOST_BYTES} are allowed", buffer.len())))
            }
            (Some(decoders), Some(buffer)) => {
                let module = container.fetch(io, vec![buffer]).await?.pop().unwrap_or_default();
                match decoders.load(name, sha256, module) {
                    Ok(encoding) => encoding,
                    Err(e) => unusable(Some(e.to_string())),
                }
            }
        };
        registry.add_values(encoding);
    }
    Ok(Arc::new(registry))
}

fn is_sha256(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// A decoder that is there, but is not run.
struct Unusable {
    name: String,
    sha256: String,
    /// What is wrong with it; `None`: nobody allowed it.
    how: Option<String>,
}

impl ValueEncoding for Unusable {
    fn name(&self) -> &str {
        &self.name
    }

    fn runner(&self) -> Runner {
        let sha256 = self.sha256.clone();
        if self.how.is_some() { Runner::Unusable { sha256 } } else { Runner::Refused { sha256 } }
    }

    fn parse(&self, _: Bytes, _: &Encodings<'_>) -> Result<Arc<dyn Compression>> {
        let Unusable { name, sha256, how } = self;
        Err(match how {
            Some(how) => {
                let what = format!("the plugin for {name} in the file, SHA-256 {sha256}, cannot be used: {how}");
                Error::unsupported("bad_plugin", what)
            }
            None => {
                let what = format!(
                    "this page uses {name}, which is not known here; the plugin for it in the file, SHA-256 {sha256}, \
                     was not allowed to run"
                );
                let hint = Setting::EmbeddedPlugins.does("runs it, in a sandbox").and("other columns can be read");
                Error::unsupported("plugin_refused", what).hint(hint)
            }
        })
    }
}
