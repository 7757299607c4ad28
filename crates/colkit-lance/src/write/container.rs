//! The container, front to back: buffers as they come, then everything that says where they are.
//!
//! ```text
//! buffers, each at a multiple of 64 | seal | global buffer 0 | column metadata | column table | global table | footer
//! ```
//!
//! Stock readers read from global buffer 0 to the end of the file when they open it, and take the column table to end
//! where the global table begins; so other global buffers come before buffer 0 and nothing lies between the tables.

use super::deferred::Shared;
use crate::container::messages::{Any, ColumnMetadata, DirectEncoding, Encoding, Location, Page};
use crate::container::{ENTRY, Footer, MAGIC, Version};
use crate::seal::{self, Blocks};
use arrow::array::{Array, ArrayRef, AsArray};
use bytes::Bytes;
use colkit_core::{Error, Result, Sink};
use prost::Message;

/// What every buffer's position is a multiple of.
const ALIGNMENT: u64 = 64;

/// The byte between buffers.
const PAD: [u8; 64] = [b'H'; 64];

/// Where a buffer lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BufferPlace {
    pub position: u64,
    pub size: u64,
}

/// A page, encoded but not yet written.
pub(super) struct PageBytes {
    pub buffers: Vec<Vec<u8>>,
    /// The message of its layout.
    pub layout: Vec<u8>,
    /// Rows as the page counts them.
    pub rows: u64,
    /// Rows of the table.
    pub top_rows: u64,
    /// Values that are written before the page, which says where they are.
    pub blobs: Option<Blobs>,
}

impl PageBytes {
    pub fn new(buffers: Vec<Vec<u8>>, layout: Vec<u8>) -> Self {
        PageBytes { buffers, layout, rows: 0, top_rows: 0, blobs: None }
    }
}

/// Values outside of pages, and the levels of a column without lists.
pub(super) struct Blobs {
    /// Of type `LargeBinary`.
    pub values: ArrayRef,
    pub def: Option<Vec<u16>>,
    pub layers: Vec<i32>,
}

/// A file being written.
pub(super) struct Output {
    sink: Box<dyn Sink>,
    at: u64,
    version: Version,
    /// Checksums of everything so far.
    blocks: Blocks,
}

/// A column as its metadata lists it.
pub(super) struct WrittenColumn {
    pub pages: Vec<Page>,
    pub encoding: Encoding,
}

impl WrittenColumn {
    /// A column of these pages; `blob`: its values lie outside of them and its own encoding has to say so, as in 2.0.
    pub fn new(pages: Vec<Page>, blob: bool) -> Self {
        // The message `values {}`, or `blob { inner: values {} }`.
        let message: &'static [u8] = if blob { &[0x1A, 0x04, 0x0A, 0x02, 0x0A, 0x00] } else { &[0x0A, 0x00] };
        WrittenColumn { pages, encoding: direct("/lance.encodings.ColumnEncoding", Bytes::from_static(message)) }
    }
}

impl Output {
    pub fn new(sink: Box<dyn Sink>, version: Version) -> Self {
        Output { sink, at: 0, version, blocks: Blocks::default() }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<BufferPlace> {
        let place = BufferPlace { position: self.at, size: bytes.len() as u64 };
        self.sink.write(bytes)?;
        self.blocks.add(bytes);
        self.at += bytes.len() as u64;
        Ok(place)
    }

    fn align(&mut self) -> Result<()> {
        let missing = self.at.next_multiple_of(ALIGNMENT) - self.at;
        let pad = usize::try_from(missing).ok().and_then(|n| PAD.get(..n)).unwrap_or_default();
        self.write(pad).map(drop)
    }

    /// Writes a buffer where readers expect one.
    pub fn buffer(&mut self, bytes: &[u8]) -> Result<BufferPlace> {
        self.align()?;
        self.write(bytes)
    }

    /// Writes values that lie outside of pages; returns where each is, as its page describes it.
    fn blobs(&mut self, blobs: &Blobs) -> Result<Vec<(u64, u64)>> {
        let values = blobs.values.as_binary::<i64>();
        let mut places = Vec::with_capacity(values.len());
        for (i, value) in values.iter().enumerate() {
            let level = blobs.def.as_ref().and_then(|d| d.get(i)).copied().unwrap_or(0);
            places.push(match (value, self.version) {
                (Some([]), _) => (0, 0),
                (Some(bytes), _) => {
                    let place = self.buffer(bytes)?;
                    (place.position, place.size)
                }
                (None, Version::V2_0) => (1, 0),
                (None, Version::V2_1 | Version::V2_2 | Version::V2_3) => (u64::from(level.max(1)) << 16, 0),
            });
        }
        Ok(places)
    }

    /// Writes a page's buffers. `first_row` is the number of its first row.
    pub fn page(&mut self, mut page: PageBytes, first_row: u64) -> Result<Page> {
        if let Some(values) = &page.blobs {
            let places = self.blobs(values)?;
            (page.layout, page.buffers) = match self.version {
                Version::V2_0 => super::v20::describe_blobs(&places),
                version => super::page::describe_blobs(&places, values, version)?,
            };
        }
        let places = page.buffers.iter().map(|b| self.buffer(b)).collect::<Result<Vec<_>>>()?;
        let (name, priority) = match self.version {
            Version::V2_0 => ("/lance.encodings.ArrayEncoding", 0),
            Version::V2_1 | Version::V2_2 | Version::V2_3 => ("/lance.encodings21.PageLayout", first_row),
        };
        Ok(Page {
            buffer_offsets: places.iter().map(|p| p.position).collect(),
            buffer_sizes: places.iter().map(|p| p.size).collect(),
            length: page.rows,
            encoding: Some(direct(name, page.layout.into())),
            priority,
        })
    }

    /// Writes descriptions that several of these columns have once, if that makes the file smaller.
    pub fn share(&mut self, columns: &mut [WrittenColumn]) -> Result<Option<BufferPlace>> {
        let Some(shared) = Shared::of(columns, self.at) else { return Ok(None) };
        let place = self.buffer(&shared.bytes)?;
        shared.refer(columns, place.position);
        Ok(Some(place))
    }

    /// Writes everything after the buffers and makes the file visible; returns its size. `descriptor` is given that size, on
    /// which its own must not depend.
    pub fn finish(
        mut self,
        descriptor: impl Fn(u64) -> Result<Vec<u8>>,
        columns: Vec<WrittenColumn>,
        globals: Vec<BufferPlace>,
    ) -> Result<u64> {
        self.align()?;
        let start = self.at;
        let (mut metadata, mut sizes) = (Vec::new(), Vec::with_capacity(columns.len()));
        for WrittenColumn { pages, encoding } in columns {
            let column = ColumnMetadata { encoding: Some(encoding), pages, ..ColumnMetadata::default() };
            sizes.push(column.encoded_len() as u64);
            metadata.extend(column.encode_to_vec());
        }
        // The checksums come before what they are about: everything that follows them has a size, and then a place.
        let first = descriptor(0)?.len() as u64;
        let entries = ENTRY * (sizes.len() as u64 + globals.len() as u64 + 2);
        let tail_length = first + metadata.len() as u64 + entries + Footer::LENGTH;
        let seal_length = seal::length(start, tail_length)?;
        let tail_at = start + seal_length;
        let mut tail = descriptor(tail_at + tail_length)?;
        let metadata_at = tail_at + tail.len() as u64;
        tail.append(&mut metadata);
        let column_table = tail_at + tail.len() as u64;
        let mut at = metadata_at;
        for size in &sizes {
            BufferPlace { position: at, size: *size }.list(&mut tail);
            at += size;
        }
        let global_table = tail_at + tail.len() as u64;
        let seal_place = BufferPlace { position: start, size: seal_length };
        let descriptor_place = BufferPlace { position: tail_at, size: first };
        let global_places: Vec<BufferPlace> =
            [descriptor_place].into_iter().chain(globals).chain([seal_place]).collect();
        global_places.iter().for_each(|place| place.list(&mut tail));
        for position in [metadata_at, column_table, global_table] {
            tail.extend(position.to_le_bytes());
        }
        tail.extend(count(global_places.len())?.to_le_bytes());
        tail.extend(count(sizes.len())?.to_le_bytes());
        let (major, minor) = self.version.numbers();
        tail.extend(major.to_le_bytes());
        tail.extend(minor.to_le_bytes());
        tail.extend(MAGIC);
        self.sink.write(&seal::seal(self.blocks, start, &tail)?)?;
        self.sink.write(&tail)?;
        self.sink.commit()?;
        Ok(tail_at + tail_length)
    }
}

impl BufferPlace {
    /// Appends it as tables have it.
    fn list(self, table: &mut Vec<u8>) {
        table.extend(self.position.to_le_bytes());
        table.extend(self.size.to_le_bytes());
    }
}

/// A page of a 2.0 file that has no buffers.
pub(super) fn page_without_buffers(layout: Vec<u8>, length: u64) -> Page {
    let encoding = Some(direct("/lance.encodings.ArrayEncoding", layout.into()));
    Page { length, encoding, ..Page::default() }
}

fn count(n: usize) -> Result<u32> {
    u32::try_from(n).map_err(|_| Error::limit("columns of a Lance file", n, u32::MAX))
}

fn direct(type_url: &str, value: Bytes) -> Encoding {
    let any = Any { type_url: type_url.to_owned(), value };
    Encoding { location: Some(Location::Direct(DirectEncoding { encoding: any.encode_to_vec().into() })) }
}
