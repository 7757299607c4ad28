//! The container, front to back: buffers as they come, then everything that says where they are.
//!
//! ```text
//! buffers, each at a multiple of 64 | global buffer 0 | column metadata | column table | global table | footer
//! ```
//!
//! Stock readers read from global buffer 0 to the end of the file when they open it, and take the column table to end
//! where the global table begins; so other global buffers come before buffer 0 and nothing lies between the tables.

use crate::container::messages::{Any, ColumnMetadata, DirectEncoding, Encoding, Location, Page};
use crate::container::{MAGIC, Version};
use bytes::Bytes;
use colkit_core::{Error, Result, Sink};
use prost::Message;

/// What every buffer's position is a multiple of.
const ALIGNMENT: u64 = 64;

/// The byte between buffers.
const PAD: [u8; 64] = [b'H'; 64];

/// Where a buffer lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub position: u64,
    pub size: u64,
}

/// A page, encoded but not yet written.
pub(super) struct PageBytes {
    pub buffers: Vec<Vec<u8>>,
    /// The message of its layout.
    pub layout: Vec<u8>,
    /// Top-level rows.
    pub rows: u64,
}

/// A file being written.
pub(super) struct Output {
    sink: Box<dyn Sink>,
    at: u64,
}

/// A page as its column lists it, and the checksums of its buffers.
#[derive(Clone)]
pub(super) struct WrittenPage {
    pub page: Page,
    pub crc32: Vec<u32>,
}

impl Output {
    pub fn new(sink: Box<dyn Sink>) -> Self {
        Output { sink, at: 0 }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<Place> {
        let place = Place { position: self.at, size: bytes.len() as u64 };
        self.sink.write(bytes)?;
        self.at += bytes.len() as u64;
        Ok(place)
    }

    fn align(&mut self) -> Result<()> {
        let missing = self.at.next_multiple_of(ALIGNMENT) - self.at;
        let pad = usize::try_from(missing).ok().and_then(|n| PAD.get(..n)).unwrap_or_default();
        self.write(pad).map(drop)
    }

    /// Writes a buffer where readers expect one.
    pub fn buffer(&mut self, bytes: &[u8]) -> Result<Place> {
        self.align()?;
        self.write(bytes)
    }

    /// Writes a page's buffers. `first_row` is the number of its first row.
    pub fn page(&mut self, page: &PageBytes, first_row: u64) -> Result<WrittenPage> {
        let places = page.buffers.iter().map(|b| self.buffer(b)).collect::<Result<Vec<_>>>()?;
        let crc32 = page.buffers.iter().map(|b| crc32fast::hash(b)).collect();
        let page = Page {
            buffer_offsets: places.iter().map(|p| p.position).collect(),
            buffer_sizes: places.iter().map(|p| p.size).collect(),
            length: page.rows,
            encoding: Some(direct("/lance.encodings21.PageLayout", page.layout.clone().into())),
            priority: first_row,
        };
        Ok(WrittenPage { page, crc32 })
    }

    /// Writes everything after the buffers and makes the file visible; returns its size.
    pub fn finish(
        mut self,
        version: Version,
        descriptor: &[u8],
        columns: Vec<Vec<Page>>,
        globals: Vec<Place>,
    ) -> Result<u64> {
        self.align()?;
        let mut global_places = vec![self.write(descriptor)?];
        global_places.extend(globals);
        let metadata_at = self.at;
        let mut column_places = Vec::with_capacity(columns.len());
        for pages in columns {
            let encoding = direct("/lance.encodings.ColumnEncoding", Bytes::from_static(&[0x0A, 0x00]));
            let column = ColumnMetadata { encoding: Some(encoding), pages, ..ColumnMetadata::default() };
            column_places.push(self.write(&column.encode_to_vec())?);
        }
        let column_table = self.write(&table(&column_places))?;
        let global_table = self.write(&table(&global_places))?;
        let mut footer = Vec::with_capacity(40);
        for position in [metadata_at, column_table.position, global_table.position] {
            footer.extend(position.to_le_bytes());
        }
        footer.extend(count(global_places.len())?.to_le_bytes());
        footer.extend(count(column_places.len())?.to_le_bytes());
        let (major, minor) = version.numbers();
        footer.extend(major.to_le_bytes());
        footer.extend(minor.to_le_bytes());
        footer.extend(MAGIC);
        self.write(&footer)?;
        let size = self.at;
        self.sink.commit()?;
        Ok(size)
    }
}

fn table(places: &[Place]) -> Vec<u8> {
    places.iter().flat_map(|p| [p.position, p.size]).flat_map(u64::to_le_bytes).collect()
}

fn count(n: usize) -> Result<u32> {
    u32::try_from(n).map_err(|_| Error::limit("columns of a Lance file", n, u32::MAX))
}

fn direct(type_url: &str, value: Bytes) -> Encoding {
    let any = Any { type_url: type_url.to_owned(), value };
    Encoding { location: Some(Location::Direct(DirectEncoding { encoding: any.encode_to_vec().into() })) }
}
