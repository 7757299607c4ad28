//! Complete files: head, body, trailer.

use super::compress::{Effort, XZ_6};
use super::put::put_uv;
use super::set::{Stream, pack_streams, put_entry};
use super::spool::{Parts, each_piece};
use crate::backend::Backend;
use crate::checksum;
use crate::codec::Codec;
use crate::container::TRAILER_MAGIC;
use crate::stream_set::MAX_STREAMS;
use colkit_core::drive::parallel;
use colkit_core::{Result, Source};
use std::sync::Arc;

/// The streams a codec makes: those to be packed, and then those whose bytes are packed already.
pub struct EncodedStreams {
    /// To be packed.
    pub streams: Vec<Stream>,
    /// Stored as they are, at the end.
    pub stored: Vec<(String, Arc<dyn Source>)>,
}

impl From<Vec<Stream>> for EncodedStreams {
    fn from(streams: Vec<Stream>) -> Self {
        EncodedStreams { streams, stored: Vec::new() }
    }
}

impl EncodedStreams {
    /// How many bytes it takes when it is packed, about: enough to compare sets by, in a fraction of the time.
    pub fn measured(&self, threads: usize) -> Result<u64> {
        let sizes =
            parallel::map(self.streams.iter().flat_map(Stream::pieces).collect(), threads, |piece: &[u8]| {
                Ok(XZ_6.pack(piece)?.1.len().min(piece.len()) as u64)
            })?;
        let stored = self.stored.iter().map(|(_, source)| source.size());
        Ok(sizes.into_iter().chain(stored).sum())
    }

    /// The stream set. Its checksums cover `head` too, which stands before it.
    pub fn pack(self, head: &[u8], effort: Effort, threads: usize) -> Result<Parts> {
        let mut bytes = Vec::new();
        let count = (self.streams.len() + self.stored.len()) as u64;
        // Without room for one more stream there are none.
        let with_checksums = count < MAX_STREAMS;
        put_uv(count + u64::from(with_checksums), &mut bytes);
        for stream in pack_streams(self.streams, effort, threads)? {
            put_entry(&stream.name, stream.backend, stream.bytes.len() as u64, &mut bytes);
            bytes.extend_from_slice(&stream.bytes);
        }
        let (mut opened, mut blocks) = (crc32fast::Hasher::new(), crc32fast::Hasher::new());
        if with_checksums {
            put_entry(checksum::NAME, Backend::Stored, checksum::LENGTH, &mut bytes);
        }
        opened.update(head);
        opened.update(&bytes);
        let mut stored = Vec::with_capacity(self.stored.len());
        for (name, source) in self.stored {
            let mut header = Vec::new();
            put_entry(&name, Backend::Stored, source.size(), &mut header);
            opened.update(&header);
            each_piece(source.as_ref(), |piece| {
                blocks.update(piece);
                Ok(())
            })?;
            stored.push((header, source));
        }
        if with_checksums {
            bytes.extend(checksum::encode(opened.finalize(), blocks.finalize()));
        }
        let mut parts = Parts::default();
        for (header, source) in stored {
            bytes.extend(header);
            parts.push_bytes(std::mem::take(&mut bytes));
            parts.push(source);
        }
        if !bytes.is_empty() {
            parts.push_bytes(bytes);
        }
        Ok(parts)
    }
}

/// A whole file but for its trailer.
pub fn whole_file(codec: Codec, set: EncodedStreams, effort: Effort, threads: usize) -> Result<Parts> {
    let head = head(codec);
    let set = set.pack(&head, effort, threads)?;
    let mut file = Parts::default();
    file.push_bytes(head);
    file.append(set);
    Ok(file)
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
