//! Bundles: several files in one, each packed, checked and restored on its own.
//!
//! A damaged entry does not keep the others from being restored.

use crate::codec::Codec;
use crate::codec::bundle::{self, Listed, Manifest, Place};
#[cfg(feature = "write")]
use crate::pack::{PackOptions, PackSummary};
use crate::restore::{RestoreOptions, Restored, restore, walk};
use crate::stream_set::Streams;
use bytes::Bytes;
use colkit_core::{Attributes, ByteRange, Class, Error, Limits, Result, Sink, Source};
use std::sync::Arc;

pub use crate::codec::bundle::unportable_names;

/// A file for a bundle.
#[cfg(feature = "write")]
#[derive(Clone)]
pub struct BundleFile {
    /// Its name: relative, `/` between segments.
    pub name: String,
    /// Its content.
    pub source: Arc<dyn Source>,
    /// What else to keep of it.
    pub attributes: Attributes,
}

/// A bundle, open: all names have been checked; nothing has been restored.
#[derive(Clone)]
pub struct Bundle {
    /// The files in it.
    pub entries: Vec<BundleEntry>,
    /// Its folders with their attributes, as far as they are listed: other folders follow from the names of files.
    pub folders: Vec<(String, Attributes)>,
}

/// A file in a bundle.
#[derive(Clone)]
pub struct BundleEntry {
    /// Its checked name: relative, `/` between segments.
    pub name: String,
    /// The packed file.
    pub source: Arc<dyn Source>,
    /// Bytes of the original, as the bundle says.
    pub size: Option<u64>,
    /// What else was kept of it.
    pub attributes: Attributes,
}

/// Whether a file is a bundle, by its first bytes.
pub fn is_bundle(head: &[u8]) -> bool {
    head.starts_with(&[b'A', b'T', b'1', 2, 12])
}

/// Packs several files into one, and remembers these folders, empty ones among them.
#[cfg(feature = "write")]
pub fn pack_bundle(
    files: &[BundleFile],
    folders: &[(String, Attributes)],
    mut sink: Box<dyn Sink>,
    options: &PackOptions,
) -> Result<Vec<(String, PackSummary)>> {
    let (file, summaries) = bundle::encode::pack(files, folders, options)?;
    file.copy_to(sink.as_mut())?;
    sink.commit()?;
    Ok(summaries)
}

impl Bundle {
    /// Opens a bundle.
    pub fn open(source: &Arc<dyn Source>, limits: &Limits) -> Result<Self> {
        let container = walk(source.as_ref(), limits)?;
        if container.codec != Codec::Bundle {
            let message = format!("the file is not a bundle but {}", container.codec.name());
            return Err(Error::request("not_a_bundle", message));
        }
        let streams = Streams::unpack(container.entries(), limits.memory, 1)?;
        let Manifest { files, folders } = Manifest::of(&streams)?;
        let open = |(i, Listed { name, size, attributes, .. }): (usize, Listed)| {
            let source: Arc<dyn Source> = match bundle::place(i, &streams) {
                Place::File(range) => Arc::new(Part { whole: source.clone(), range }),
                Place::Memory(bytes) => Arc::new(bytes),
            };
            BundleEntry { name, source, size, attributes }
        };
        Ok(Bundle { entries: files.into_iter().enumerate().map(open).collect(), folders })
    }
}

impl BundleEntry {
    /// How its content was taken apart, as far as its first bytes tell.
    pub fn codec(&self) -> Result<Option<Codec>> {
        let head = self.source.read(ByteRange::between(0, self.source.size().min(5)))?;
        Ok(head.get(4).and_then(|id| Codec::from_id(*id)))
    }
}

/// Restores entries of a bundle, one by one: what is wrong with one is no reason to give up the others. `create` makes the
/// sink for an entry, which is committed as soon as the entry was restored and found right. Errors of the system (a full
/// disk, say) end it.
pub fn restore_entries(
    entries: Vec<BundleEntry>,
    options: &RestoreOptions,
    create: &mut dyn FnMut(&BundleEntry) -> Result<Box<dyn Sink>>,
) -> Result<Vec<(BundleEntry, Result<Restored>)>> {
    let packed = entries.iter().map(|e| e.source.size()).fold(0, u64::saturating_add);
    let mut left = RestoreOptions { limits: options.limits.of_file(packed), ..options.clone() };
    let mut all = Vec::with_capacity(entries.len());
    for entry in entries {
        let restored = if entry.codec()? == Some(Codec::Bundle) {
            Err(bundle::nested(&entry.name))
        } else {
            let sink = create(&entry)?;
            restore(entry.source.as_ref(), sink, &left).map_err(|e| e.part(format!("entry {:?}", entry.name)))
        };
        match restored {
            Err(error) if matches!(error.class(), Class::Io | Class::Request | Class::Internal) => return Err(error),
            Ok(Restored { bytes, .. }) => left.limits.output_bytes = left.limits.output_bytes.saturating_sub(bytes),
            Err(_) => {}
        }
        all.push((entry, restored));
    }
    Ok(all)
}

/// A part of a source, as a source.
struct Part {
    whole: Arc<dyn Source>,
    range: ByteRange,
}

impl Source for Part {
    fn size(&self) -> u64 {
        self.range.len()
    }

    fn read(&self, range: ByteRange) -> Result<Bytes> {
        let moved = ByteRange::at(self.range.start().saturating_add(range.start()), range.len())?;
        if !self.range.contains(moved) {
            return Err(Error::corrupt("truncated", format!("bytes {range} of an entry of {} bytes", self.size())));
        }
        self.whole.read(moved)
    }
}
