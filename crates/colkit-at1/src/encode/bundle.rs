//! Bundle (12), written. See [`crate::codec::bundle`] for the streams.
//!
//! Every file is packed on its own, in its own best way, and verified; the bundle only puts them together. Names are checked
//! with the reader's own rules before anything is packed.

use super::compress::Effort;
use super::set::Stream;
use super::spool::{Parts, Spool};
use super::whole::{Set, head};
use crate::codec::bundle::check_names;
use crate::container::Codec;
use crate::pack::{PackOptions, PackSummary, pack_verified};
use colkit_core::{Error, Result, Sink, Source};
use std::sync::Arc;

/// More files do not fit: a stream set has 256 streams.
const MOST_FILES: usize = 255;
/// Packed files that stay in memory.
const IN_MEMORY: usize = 32 << 20;

/// The bundle, and what became of each file.
pub fn pack(files: &[(String, Arc<dyn Source>)], options: &PackOptions) -> Result<(Parts, Vec<(String, PackSummary)>)> {
    if files.len() > MOST_FILES {
        return Err(Error::limit("a bundle", format!("{} files", files.len()), MOST_FILES));
    }
    let mut files: Vec<&(String, Arc<dyn Source>)> = files.iter().collect();
    files.sort_by(|a, b| a.0.cmp(&b.0));
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    check_names(&names).map_err(|(code, message)| Error::request(code, message))?;
    let (mut summaries, mut stored, mut manifest) = (Vec::new(), Vec::new(), Vec::new());
    for (i, (name, source)) in files.iter().enumerate() {
        let named = |e: Error| e.file(name.clone());
        let (packed, summary) = pack_verified(source.as_ref(), options).map_err(named)?;
        let mut spool = SpoolSink(Spool::new(IN_MEMORY / files.len(), options.spill_folder.clone()));
        packed.copy_to(&mut spool)?;
        stored.push((format!("e{i}"), spool.0.into_source()?));
        manifest.push(serde_json::json!({"name": name, "size": summary.input_bytes}));
        summaries.push((name.clone(), summary));
    }
    let manifest = serde_json::Value::Array(manifest).to_string().into_bytes();
    let mut file = Parts::default();
    file.push_bytes(head(Codec::Bundle));
    file.append(Set { streams: vec![Stream::new("manifest", manifest)], stored }.pack(Effort::Default, 1)?);
    Ok((file, summaries))
}

/// A spool as a sink.
struct SpoolSink(Spool);

impl Sink for SpoolSink {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.0.write(bytes)
    }

    fn commit(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}
