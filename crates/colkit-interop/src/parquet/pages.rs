//! The pages of a column chunk between encoding and writing.
//!
//! The parquet crate's encoders hand over each page as its header and its body. Both get their checksums here, which
//! makes headers longer; so the places and sizes that the encoders noted are counted again when the chunk is complete.
//!
//! Pages are compressed with zstd here too. The crate would keep a compressor and a decompressor for every column, which for
//! thousands of columns is gigabytes; here there are as many compressors as threads.

use super::checksums::{seal_page_header, with_page_size};
use ::parquet::arrow::arrow_writer::{PageKey, PageStore, PageStoreArgs, PageStoreFactory};
use ::parquet::basic::{Compression, ZstdLevel};
use ::parquet::column::writer::ColumnCloseResult;
use ::parquet::errors::{ParquetError, Result};
use ::parquet::file::reader::{ChunkReader, Length};
use bytes::{Buf, Bytes};
use std::collections::VecDeque;
use std::io::Read;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use zstd::bulk::Compressor;

/// The pages of a column chunk. The encoder puts them in; whoever closes it takes them out.
#[derive(Clone, Debug)]
pub(super) struct Pages {
    encoded: Arc<Mutex<Encoded>>,
    zstd: Option<Arc<Zstd>>,
}

/// Compressors that no page needs at the moment.
pub(super) struct Zstd {
    level: ZstdLevel,
    idle: Mutex<Vec<Compressor<'static>>>,
}

impl std::fmt::Debug for Zstd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Zstd").field("level", &self.level).finish_non_exhaustive()
    }
}

impl Zstd {
    pub fn new(level: ZstdLevel) -> Self {
        Zstd { level, idle: Mutex::default() }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Compressor<'static>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn compress(&self, body: &[u8]) -> std::io::Result<Vec<u8>> {
        let idle = self.idle().pop();
        let mut compressor = idle.map_or_else(|| Compressor::new(self.level.compression_level()), Ok)?;
        let compressed = compressor.compress(body);
        self.idle().push(compressor);
        compressed
    }
}

#[derive(Debug, Default)]
struct Encoded {
    /// A header whose body is to come.
    header: Option<Bytes>,
    /// It lies in front of the others, and is the last to be ready.
    dictionary: Option<Page>,
    data: Vec<Page>,
    bytes: usize,
    /// What they were when the encoder handed them over.
    handed_over: usize,
    /// By how much headers have grown.
    grown: usize,
}

#[derive(Debug)]
struct Page {
    header: Bytes,
    body: Bytes,
}

impl Page {
    fn len(&self) -> usize {
        self.header.len() + self.body.len()
    }
}

/// In a page header: field 1, the kind of the page, is that of a dictionary.
const DICTIONARY_HEAD: [u8; 2] = [0x15, 0x04];

impl Pages {
    fn lock(&self) -> MutexGuard<'_, Encoded> {
        self.encoded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How much shorter the pages have become here.
    pub fn saved(&self) -> usize {
        let encoded = self.lock();
        encoded.handed_over.saturating_sub(encoded.bytes)
    }

    /// The chunk, and what the encoder said about it with the places that pages have in it.
    pub fn finish(self, mut close: ColumnCloseResult) -> Result<(Chunk, ColumnCloseResult)> {
        let Encoded { dictionary, data, bytes, grown, .. } = std::mem::take(&mut *self.lock());
        let signed = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
        let first = dictionary.as_ref().map(|_| 0);
        let start = signed(dictionary.as_ref().map_or(0, Page::len));
        let places = close.offset_index.iter_mut().flat_map(|index| &mut index.page_locations);
        let mut at = start;
        for (place, page) in places.zip(&data) {
            place.offset = at;
            place.compressed_page_size =
                i32::try_from(page.len()).map_err(|_| ParquetError::General("a page beyond 2 GiB".into()))?;
            at += signed(page.len());
        }
        let unpacked = close.metadata.uncompressed_size() + signed(grown);
        let compression = match &self.zstd {
            Some(zstd) => Compression::ZSTD(zstd.level),
            None => close.metadata.compression(),
        };
        close.bytes_written = bytes as u64;
        close.metadata = close
            .metadata
            .into_builder()
            .set_dictionary_page_offset(first)
            .set_data_page_offset(start)
            .set_total_compressed_size(signed(bytes))
            .set_total_uncompressed_size(unpacked)
            .set_compression(compression)
            .build()?;
        let parts = dictionary.into_iter().chain(data).flat_map(|page| [page.header, page.body]).collect();
        Ok((Chunk { parts, bytes }, close))
    }
}

fn external(error: colkit_core::Error) -> ParquetError {
    ParquetError::External(Box::new(error))
}

impl PageStore for Pages {
    fn put(&mut self, value: Bytes) -> Result<PageKey> {
        let mut encoded = self.lock();
        let Some(header) = encoded.header.take() else {
            encoded.header = Some(value);
            return Ok(PageKey::new(0));
        };
        let (written, body) = match &self.zstd {
            Some(zstd) => {
                let body = Bytes::from(zstd.compress(&value)?);
                (with_page_size(&header, body.len()).map_err(external)?, body)
            }
            None => (header.to_vec(), value.clone()),
        };
        let sealed = seal_page_header(&written, &body).map_err(external)?;
        let is_dictionary = header.starts_with(&DICTIONARY_HEAD);
        let page = Page { header: sealed.into(), body };
        encoded.bytes += page.len();
        encoded.handed_over += header.len() + value.len();
        encoded.grown += page.header.len().saturating_sub(header.len());
        match is_dictionary {
            true => encoded.dictionary = Some(page),
            false => encoded.data.push(page),
        }
        Ok(PageKey::new(0))
    }

    fn take(&mut self, _: PageKey) -> Result<Bytes> {
        Err(ParquetError::General("pages are taken together".into()))
    }

    fn memory_size(&self) -> usize {
        self.lock().bytes
    }
}

/// Gives out pages for encoders that are being made, in the order of their leaves.
#[derive(Clone, Debug)]
pub(super) struct NewPages {
    given: Arc<Mutex<Vec<Pages>>>,
    zstd: Option<Arc<Zstd>>,
}

impl NewPages {
    /// Pages to be compressed with zstd here, or as the encoder hands them over.
    pub fn new(zstd: Option<Zstd>) -> Self {
        NewPages { given: Arc::default(), zstd: zstd.map(Arc::new) }
    }

    /// Those that were given out since the last time.
    pub fn given(&self) -> Vec<Pages> {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Pages>> {
        self.given.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PageStoreFactory for NewPages {
    fn create(&self, _: &PageStoreArgs<'_>) -> Result<Box<dyn PageStore>> {
        let pages = Pages { encoded: Arc::default(), zstd: self.zstd.clone() };
        self.lock().push(pages.clone());
        Ok(Box::new(pages))
    }
}

/// A column chunk, complete.
pub(super) struct Chunk {
    parts: VecDeque<Bytes>,
    bytes: usize,
}

impl Length for Chunk {
    fn len(&self) -> u64 {
        self.bytes as u64
    }
}

impl ChunkReader for Chunk {
    type T = Parts;

    fn get_read(&self, start: u64) -> Result<Parts> {
        let mut parts = Parts(self.parts.clone());
        std::io::copy(&mut parts.by_ref().take(start), &mut std::io::sink())?;
        Ok(parts)
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        let mut bytes = Vec::new();
        self.get_read(start)?.take(length as u64).read_to_end(&mut bytes)?;
        Ok(bytes.into())
    }
}

/// Reads one part after another.
pub(super) struct Parts(VecDeque<Bytes>);

impl Read for Parts {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        while self.0.front().is_some_and(Bytes::is_empty) {
            self.0.pop_front();
        }
        let Some(part) = self.0.front_mut() else { return Ok(0) };
        let count = part.len().min(into.len());
        part.split_to(count).copy_to_slice(into.get_mut(..count).unwrap_or_default());
        Ok(count)
    }
}
