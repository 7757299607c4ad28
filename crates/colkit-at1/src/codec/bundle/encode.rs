//! Bundle (12), written. See [`super`] for the streams.
//!
//! Every file is packed on its own, in its own best way, and verified; the bundle only puts them together. Names are checked
//! with the reader's own rules before anything is packed.

use super::{Bundle, Listed, Manifest};
use crate::backend::Backend;
use crate::bundle::BundleFile;
use crate::codec::Codec;
use crate::encode::compress::XZ_6;
use crate::encode::groups::Settings;
use crate::encode::plan::{Encoder, Layout};
use crate::encode::put::put_uv;
use crate::encode::set::put_entry;
use crate::encode::spool::{Parts, Spool, each_piece};
use crate::encode::whole::{EncodedStreams, head};
use crate::pack::{PackOptions, PackSummary, pack_verified};
use colkit_core::{Attributes, Error, Result, Source};

/// A text is no bundle: [`pack`] makes one of several files.
impl Encoder for Bundle {
    fn encode(&self, _: &[u8], _: Layout, _: &Settings) -> Result<EncodedStreams> {
        Err(Error::request("is_a_bundle", "a bundle is made of several files"))
    }
}

/// Files of a bundle at most: a stream set has 256 streams, and one is the manifest.
pub const MOST_FILES: usize = 255;
/// Packed files that stay in memory.
const IN_MEMORY: usize = 32 << 20;

/// The bundle, and what became of each file.
pub fn pack(
    files: &[BundleFile],
    folders: &[(String, Attributes)],
    options: &PackOptions,
) -> Result<(Parts, Vec<(String, PackSummary)>)> {
    if files.len() > MOST_FILES {
        return Err(Error::limit("a bundle", format!("{} files", files.len()), MOST_FILES));
    }
    let mut files: Vec<&BundleFile> = files.iter().collect();
    files.sort_by(|a, b| a.name.cmp(&b.name));
    let mut folders = folders.to_vec();
    folders.sort_by(|a, b| a.0.cmp(&b.0));
    let listed =
        |file: &&BundleFile| Listed { name: file.name.clone(), size: None, crc32: None, attributes: file.attributes };
    let mut manifest = Manifest { files: files.iter().map(listed).collect(), folders };
    manifest.check().map_err(|(_, message)| Error::request("bad_entry_name", message))?;
    let (mut summaries, mut stored) = (Vec::new(), Vec::new());
    for (BundleFile { name, source, .. }, listed) in files.iter().zip(&mut manifest.files) {
        let named = |e: Error| e.file(name.clone());
        let (packed, summary) = pack_verified(source.as_ref(), options).map_err(named)?;
        let mut spool = Spool::new(IN_MEMORY / files.len(), options.spill_folder.clone());
        let mut crc32 = crc32fast::Hasher::new();
        each_piece(&packed, |piece| {
            crc32.update(piece);
            spool.write(piece)
        })?;
        stored.push(spool.into_source()?);
        (listed.size, listed.crc32) = (Some(summary.input_bytes), Some(crc32.finalize()));
        summaries.push((name.clone(), summary));
    }
    // Always xz: every bit of the names is then covered by a checksum.
    let (backend, manifest) = XZ_6.pack(manifest.to_json().to_string().as_bytes())?;
    let mut bytes = head(Codec::Bundle);
    put_uv(stored.len() as u64 + 1, &mut bytes);
    put_entry("manifest", backend, manifest.len() as u64, &mut bytes);
    bytes.extend_from_slice(&manifest);
    let mut file = Parts::default();
    for (i, source) in stored.into_iter().enumerate() {
        put_entry(&format!("e{i}"), Backend::Stored, source.size(), &mut bytes);
        file.push_bytes(std::mem::take(&mut bytes));
        file.push(source);
    }
    Ok((file, summaries))
}
