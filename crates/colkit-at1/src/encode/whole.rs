//! Complete files: head, body, trailer.

use super::compress::{Effort, XZ_6};
use super::put::put_uv;
use super::set::{Stream, pack_streams, put_entry};
use super::spool::Parts;
use crate::backend::Backend;
use crate::container::{Codec, TRAILER_MAGIC};
use colkit_core::drive::parallel;
use colkit_core::{Result, Source};
use std::sync::Arc;

/// The streams a codec makes: those to be packed, and then those whose bytes are packed already.
pub struct Set {
    /// To be packed.
    pub streams: Vec<Stream>,
    /// Stored as they are, at the end.
    pub stored: Vec<(String, Arc<dyn Source>)>,
}

impl From<Vec<Stream>> for Set {
    fn from(streams: Vec<Stream>) -> Self {
        Set { streams, stored: Vec::new() }
    }
}

impl Set {
    /// How many bytes it takes when it is packed, about: enough to compare sets by, in a fraction of the time.
    pub fn measured(&self, threads: usize) -> Result<u64> {
        let sizes =
            parallel::map(self.streams.iter().flat_map(Stream::pieces).collect(), threads, |piece: &[u8]| {
                Ok(XZ_6.pack(piece)?.1.len().min(piece.len()) as u64)
            })?;
        let stored = self.stored.iter().map(|(_, source)| source.size());
        Ok(sizes.into_iter().chain(stored).sum())
    }

    /// The body: the stream set.
    pub fn pack(self, effort: Effort, threads: usize) -> Result<Parts> {
        let mut parts = Parts::default();
        let mut bytes = Vec::new();
        put_uv((self.streams.len() + self.stored.len()) as u64, &mut bytes);
        for stream in pack_streams(self.streams, effort, threads)? {
            put_entry(&stream.name, stream.backend, stream.bytes.len() as u64, &mut bytes);
            bytes.extend_from_slice(&stream.bytes);
        }
        for (name, source) in self.stored {
            put_entry(&name, Backend::Stored, source.size(), &mut bytes);
            parts.push_bytes(std::mem::take(&mut bytes));
            parts.push(source);
        }
        if !bytes.is_empty() {
            parts.push_bytes(bytes);
        }
        Ok(parts)
    }
}

/// The head of a whole-file container.
pub fn head(codec: Codec) -> Vec<u8> {
    vec![b'A', b'T', b'1', 2, codec.id()]
}

/// The head of a streaming container.
pub fn streaming_head(codec: Codec) -> Vec<u8> {
    // How many lines a frame has is only told, never used; frames are cut by size here.
    vec![b'A', b'T', b'1', 3, codec.id(), 0]
}

/// The trailer: the hash of the original and the magic.
pub fn trailer(sha256: [u8; 32]) -> Vec<u8> {
    [&sha256[..], &TRAILER_MAGIC].concat()
}
