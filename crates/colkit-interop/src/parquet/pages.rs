//! The pages of a column chunk between encoding and writing.
//!
//! The parquet crate's encoders hand over each page as its header and its body. Both get their checksums here, which
//! makes headers longer; so the places and sizes that the encoders noted are counted again when the chunk is complete.

use super::checksums::seal_page_header;
use ::parquet::arrow::arrow_writer::{PageKey, PageStore, PageStoreArgs, PageStoreFactory};
use ::parquet::column::writer::ColumnCloseResult;
use ::parquet::errors::{ParquetError, Result};
use ::parquet::file::reader::{ChunkReader, Length};
use bytes::{Buf, Bytes};
use std::collections::VecDeque;
use std::io::Read;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The pages of a column chunk. The encoder puts them in; whoever closes it takes them out.
#[derive(Clone, Debug, Default)]
pub(super) struct Pages(Arc<Mutex<Encoded>>);

#[derive(Debug, Default)]
struct Encoded {
    /// A header whose body is to come.
    header: Option<Bytes>,
    /// It lies in front of the others, and is the last to be ready.
    dictionary: Option<Page>,
    data: Vec<Page>,
    bytes: usize,
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
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
        close.bytes_written = bytes as u64;
        close.metadata = close
            .metadata
            .into_builder()
            .set_dictionary_page_offset(first)
            .set_data_page_offset(start)
            .set_total_compressed_size(signed(bytes))
            .set_total_uncompressed_size(unpacked)
            .build()?;
        let parts = dictionary.into_iter().chain(data).flat_map(|page| [page.header, page.body]).collect();
        Ok((Chunk { parts, bytes }, close))
    }
}

impl PageStore for Pages {
    fn put(&mut self, value: Bytes) -> Result<PageKey> {
        let mut encoded = self.lock();
        let Some(header) = encoded.header.take() else {
            encoded.header = Some(value);
            return Ok(PageKey::new(0));
        };
        let sealed = seal_page_header(&header, &value).map_err(|e| ParquetError::External(Box::new(e)))?;
        let is_dictionary = header.starts_with(&DICTIONARY_HEAD);
        let page = Page { header: sealed.into(), body: value };
        encoded.bytes += page.len();
        encoded.grown += page.header.len() - header.len();
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
#[derive(Clone, Debug, Default)]
pub(super) struct NewPages(Arc<Mutex<Vec<Pages>>>);

impl NewPages {
    /// Those that were given out since the last time.
    pub fn given(&self) -> Vec<Pages> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl PageStoreFactory for NewPages {
    fn create(&self, _: &PageStoreArgs<'_>) -> Result<Box<dyn PageStore>> {
        let pages = Pages::default();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(pages.clone());
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
