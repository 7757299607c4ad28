//! The metadata of one column, checked: every range lies inside the file.

use super::messages::{self, Any, Location};
use bytes::Bytes;
use colkit_core::{ByteRange, Error, Result};
use prost::Message;

/// A description by name: which encoding, and its message.
#[derive(Clone, Debug, PartialEq)]
pub struct Description {
    /// The message's full name, such as `lance.encodings21.PageLayout`.
    pub name: String,
    /// The message.
    pub message: Bytes,
}

impl Description {
    pub(crate) fn parse(bytes: Bytes) -> Result<Self> {
        let any = Any::decode(bytes).map_err(|e| bad_metadata("an encoding", e))?;
        let name = any.type_url.rsplit('/').next().unwrap_or_default().to_owned();
        Ok(Description { name, message: any.value })
    }

    /// The description that says nothing.
    pub(crate) fn none() -> Self {
        Description { name: String::new(), message: Bytes::new() }
    }
}

/// A protobuf message that cannot be parsed.
pub(crate) fn bad_metadata(what: &str, e: prost::DecodeError) -> Error {
    Error::corrupt("bad_metadata", format!("{what} is no valid protobuf message: {e}")).caused_by(e)
}

/// A page: where its buffers are, how many items it has, how they are encoded.
#[derive(Clone, Debug)]
pub struct PageMetadata {
    /// Its buffers, in the order in which the encoding numbers them.
    pub buffers: Vec<ByteRange>,
    /// Items: of this column in 2.0, top-level rows later.
    pub length: u64,
    /// The first top-level row (2.1 and later).
    pub priority: u64,
    /// How it is encoded.
    pub encoding: Description,
}

/// A column: its pages and buffers.
#[derive(Clone, Debug)]
pub struct ColumnMetadata {
    /// Where this metadata itself lies.
    pub range: ByteRange,
    /// What encloses the pages: usually `lance.encodings.ColumnEncoding` that says nothing more.
    pub encoding: Description,
    /// The pages, in row order.
    pub pages: Vec<PageMetadata>,
    /// Buffers of the column itself.
    pub buffers: Vec<ByteRange>,
    /// Where encodings lie that this column shares with others.
    pub deferred: Vec<ByteRange>,
}

/// A column whose deferred encodings have not been fetched.
pub(super) struct Unresolved {
    metadata: ColumnMetadata,
    /// Which page each deferred encoding belongs to; `None` is the column itself.
    owners: Vec<Option<usize>>,
}

impl ColumnMetadata {
    /// Every byte range that belongs to this column: its pages' buffers and its own.
    pub fn ranges(&self) -> impl Iterator<Item = ByteRange> + '_ {
        self.pages.iter().flat_map(|p| p.buffers.iter()).chain(&self.buffers).copied()
    }

    /// Items in all pages.
    pub fn length(&self) -> Result<u64> {
        let sum = self.pages.iter().try_fold(0u64, |sum, p| sum.checked_add(p.length));
        sum.ok_or_else(|| Error::corrupt("bad_number", "the pages hold more than 2^64 items"))
    }
}

impl Unresolved {
    pub fn parse(bytes: Bytes, range: ByteRange, size: u64) -> Result<Self> {
        let at = |e: Error| e.at(range.start());
        let message =
            messages::ColumnMetadata::decode(bytes).map_err(|e| at(bad_metadata("the column's metadata", e)))?;
        let (mut owners, mut deferred) = (Vec::new(), Vec::new());
        let mut resolve =
            |encoding: Option<messages::Encoding>, owner: Option<usize>| match encoding.and_then(|e| e.location) {
                Some(Location::Direct(direct)) => Description::parse(direct.encoding),
                Some(Location::Indirect(d)) => {
                    owners.push(owner);
                    deferred.push(inside(d.buffer_location, d.buffer_length, size)?);
                    Ok(Description::none())
                }
                Some(Location::None(_)) | None => Ok(Description::none()),
            };
        let encoding = resolve(message.encoding, None).map_err(at)?;
        let page = |(number, page): (usize, messages::Page)| {
            let encoding = resolve(page.encoding, Some(number)).map_err(at)?;
            let buffers = buffers(&page.buffer_offsets, &page.buffer_sizes, size);
            let buffers = buffers.map_err(|e| at(e).part(format!("page {number}")))?;
            Ok(PageMetadata { buffers, length: page.length, priority: page.priority, encoding })
        };
        let pages = message.pages.into_iter().enumerate().map(page).collect::<Result<Vec<_>>>()?;
        let buffers = buffers(&message.buffer_offsets, &message.buffer_sizes, size).map_err(at)?;
        Ok(Unresolved { metadata: ColumnMetadata { range, encoding, pages, buffers, deferred }, owners })
    }

    pub fn deferred(&self) -> &[ByteRange] {
        &self.metadata.deferred
    }

    pub fn resolve(self, fetched: Vec<Bytes>) -> Result<ColumnMetadata> {
        let mut metadata = self.metadata;
        for (owner, bytes) in self.owners.into_iter().zip(fetched) {
            let description = Description::parse(bytes)?;
            match owner {
                None => metadata.encoding = description,
                Some(page) => {
                    if let Some(page) = metadata.pages.get_mut(page) {
                        page.encoding = description;
                    }
                }
            }
        }
        Ok(metadata)
    }
}

/// A range that a file names, if it lies inside the file.
pub(crate) fn inside(position: u64, length: u64, size: u64) -> Result<ByteRange> {
    let range = ByteRange::at(position, length)?;
    if range.end() > size {
        return Err(Error::corrupt(
            "block_out_of_range",
            format!("a buffer at {position} of {length} bytes ends beyond the file's {size} bytes"),
        )
        .hint("bytes before the footer are missing, or its metadata is damaged"));
    }
    Ok(range)
}

fn buffers(offsets: &[u64], sizes: &[u64], size: u64) -> Result<Vec<ByteRange>> {
    if offsets.len() != sizes.len() {
        return Err(Error::corrupt(
            "bad_metadata",
            format!("{} buffer positions but {} buffer sizes", offsets.len(), sizes.len()),
        ));
    }
    offsets.iter().zip(sizes).map(|(position, length)| inside(*position, *length, size)).collect()
}
