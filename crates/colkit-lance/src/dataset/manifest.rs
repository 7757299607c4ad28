//! A manifest: everything that one version of a dataset says.
//!
//! ```text
//! [u32 len][IndexSection]   optional
//! [u32 len][Transaction]    optional
//! [u32 len][Manifest]
//! [i64 position of the manifest's length][u16 major][u16 minor]["LANC"]     16 bytes, the end
//! ```
//!
//! Sections are found by position; bytes between them belong to nobody. The version in the trailer says nothing.

use super::blob;
use super::messages::{self, DataFragment};
use crate::bytes_at::{slice_at, u32_at, u64_at};
use crate::container::{MAGIC, bad_metadata};
use crate::coroutine::Io;
use crate::schema::{Fields, Kind, Node};
use bytes::Bytes;
use colkit_core::{ByteRange, Error, Limits, ReadOptions, Result};
use prost::Message;
use std::collections::HashSet;

/// Bytes of the trailer.
const TRAILER: u64 = 16;

/// What is read of a manifest at first: nearly always that is all of it, also of tables with 10,000 fragments.
const FIRST_READ: u64 = 4 << 20;

/// A version of a dataset.
pub(crate) struct Manifest {
    pub message: messages::Manifest,
    pub fields: Fields,
    /// Whether numbers of rows can be believed: the oldest writers stated wrong ones.
    pub counts_rows: bool,
}

/// Reads the manifest of a file of `size` bytes.
pub(crate) async fn read(io: &Io, size: u64, options: &ReadOptions) -> Result<Manifest> {
    checked(message(io, size, options).await?, &options.limits)
}

/// What a manifest says, once it is clear that it can be read. Fragments are checked one by one, by who needs them.
pub(super) fn checked(message: messages::Manifest, limits: &Limits) -> Result<Manifest> {
    check_flags(message.reader_feature_flags)?;
    super::names::check_transaction_name(&message.transaction_file)?;
    let fields = schema(&message, limits)?;
    let counts_rows = message.writer_version.is_some();
    Ok(Manifest { message, fields, counts_rows })
}

/// What the manifest of a file of `size` bytes says, whether or not all of it is known here.
pub(crate) async fn message(io: &Io, size: u64, options: &ReadOptions) -> Result<messages::Manifest> {
    let (place, bytes) = find(io, size, &options.limits).await?;
    messages::Manifest::decode(bytes).map_err(|e| bad_metadata("the manifest", e).at(place.start()))
}

/// The message of a manifest that is in memory, file and all.
pub(super) fn in_file(file: &Bytes, limits: &Limits) -> Result<Bytes> {
    let size = file.len() as u64;
    check_size(size)?;
    let position = position(slice_at(file, file.len().saturating_sub(16), 16)?, size, limits)?;
    let from = usize::try_from(position).unwrap_or(usize::MAX).min(file.len());
    whole(&file.slice(from..), position, size)
}

/// Where the message is, and the message.
async fn find(io: &Io, size: u64, limits: &Limits) -> Result<(ByteRange, Bytes)> {
    check_size(size)?;
    let start = size.saturating_sub(FIRST_READ);
    let tail = io.read_one(ByteRange::between(start, size)).await?;
    let position = position(slice_at(&tail, tail.len().saturating_sub(16), 16)?, size, limits)?;
    let bytes = match position.checked_sub(start) {
        Some(from) => tail.slice(usize::try_from(from).unwrap_or(usize::MAX).min(tail.len())..),
        None => io.read_one(ByteRange::between(position, size)).await?,
    };
    Ok((ByteRange::between(position + 4, size - TRAILER), whole(&bytes, position, size)?))
}

fn check_size(size: u64) -> Result<()> {
    if size < TRAILER + 4 {
        let what = format!("a manifest has at least 20 bytes, this has {size}");
        return Err(Error::corrupt("truncated", what).at(0).part("manifest"));
    }
    Ok(())
}

/// Where the trailer says that the message is.
fn position(trailer: &[u8], size: u64, limits: &Limits) -> Result<u64> {
    if trailer.get(12..) != Some(MAGIC) {
        let found = trailer.get(12..).unwrap_or_default();
        return Err(Error::corrupt("bad_magic", format!("expected \"LANC\" as the last bytes, found {found:02x?}"))
            .at(size - 4)
            .part("manifest")
            .hint("the manifest may be cut off"));
    }
    let position = u64_at(trailer, 0)?;
    let room = size.checked_sub(TRAILER + 4).and_then(|end| end.checked_sub(position));
    let Some(room) = room else {
        let what = format!("the manifest is said to begin at byte {} of {size}", position.cast_signed());
        return Err(Error::corrupt("block_out_of_range", what).at(size - TRAILER).part("manifest"));
    };
    Limits::check_memory("the manifest", room.saturating_mul(4), limits.memory)?;
    Ok(position)
}

/// The message, of the bytes from its length to the end of the file.
fn whole(bytes: &Bytes, position: u64, size: u64) -> Result<Bytes> {
    let length = u64::from(u32_at(bytes, 0)?);
    let room = size.saturating_sub(TRAILER + 4).saturating_sub(position);
    if length != room {
        let what = format!("a message of {length} bytes where there are {room}");
        return Err(Error::corrupt("block_out_of_range", what).at(position).part("manifest"));
    }
    let end = bytes.len().saturating_sub(16);
    Ok(bytes.slice(4.min(end)..end))
}

/// Features that change what data files mean, or that only indices have.
const KNOWN: [u64; 8] = [1, 2, 4, 8, 16, 32, 256, 2048];
const OF_INDICES: [u64; 2] = [128, 1024];
const MANAGED_BLOBS: u64 = 16384;

/// What the features that are refused are called.
const REFUSED: [(u64, &str); 6] = [
    (64, "data overlay files"),
    (512, "a fragment reuse index with stable row ids"),
    (4096, "a tree of fragments"),
    (8192, "independent covering fields"),
    (32768, "field ids that are not reused, which no reader needs to know"),
    (65536, "zone seeds"),
];

/// An error if a reader must know about something that this one does not.
fn check_flags(flags: u64) -> Result<()> {
    let known = KNOWN.iter().chain(&OF_INDICES).fold(MANAGED_BLOBS, |all, flag| all | flag);
    let unknown = flags & !known;
    if unknown == 0 {
        return Ok(());
    }
    let flag = 1u64 << unknown.trailing_zeros();
    let name = REFUSED.iter().find(|(f, _)| *f == flag).map_or("not known here", |(_, name)| name);
    Err(Error::unsupported("unknown_feature", format!("the dataset needs reader feature {flag}: {name}"))
        .part("manifest")
        .hint("a newer release of Lance reads it, and can write it again without that feature"))
}

fn schema(message: &messages::Manifest, limits: &Limits) -> Result<Fields> {
    limits.check_columns(message.fields.len() as u64)?;
    let mut messages = message.fields.clone();
    let blobs = blob::as_bytes(&mut messages)?;
    let mut fields = Fields::of_table(messages, message.schema_metadata.clone(), limits)?;
    for root in fields.roots.iter_mut().filter(|root| blobs.contains(&root.id)) {
        root.kind = Kind::Blob;
    }
    check_siblings(&fields.roots)?;
    Ok(fields)
}

/// An error if two fields of one parent have the same name.
fn check_siblings(nodes: &[Node]) -> Result<()> {
    let mut names = HashSet::new();
    for node in nodes {
        if !names.insert(node.field.name()) {
            let what = format!("the name {:?} occurs twice", node.field.name());
            return Err(Error::corrupt("bad_schema", what).part("schema"));
        }
        check_siblings(&node.children)?;
    }
    Ok(())
}

/// A fragment that can be read and does not contradict itself.
pub(super) fn fragment(bytes: &Bytes) -> Result<DataFragment> {
    let fragment = DataFragment::decode(bytes.clone()).map_err(|e| bad_metadata("the manifest", e))?;
    check_counts(fragment.id, fragment.physical_rows)?;
    check_files(&fragment).map_err(|e| e.part(format!("fragment {}", fragment.id)))?;
    Ok(fragment)
}

/// An error if a fragment cannot have this number, or so many rows.
pub(super) fn check_counts(id: u64, rows: u64) -> Result<()> {
    let error = if id > u64::from(u32::MAX) {
        Error::corrupt("bad_dataset", "fragment ids have 32 bits")
    } else if rows > u64::from(u32::MAX) + 1 {
        Error::corrupt("bad_row_count", format!("{rows} rows in one fragment"))
    } else {
        return Ok(());
    };
    Err(error.part(format!("fragment {id}")))
}

/// An error if the files of a fragment contradict each other, or it says something that cannot be read.
fn check_files(fragment: &DataFragment) -> Result<()> {
    if fragment.files.is_empty() {
        return Err(Error::corrupt("bad_dataset", "a fragment without data files"));
    }
    if fragment.external_row_ids.is_some() || !fragment.overlays.is_empty() {
        return Err(Error::unsupported("unknown_feature", "row ids or values in files of their own"));
    }
    let mut fields = HashSet::new();
    for file in &fragment.files {
        super::names::check_name(&file.path)?;
        let in_file = |e: Error| e.part(format!("data file {:?}", file.path));
        let mut columns = HashSet::new();
        // Legacy files have no columns in this sense; they are refused when they are read.
        if file.fields.len() != file.column_indices.len() && !file.column_indices.is_empty() {
            let what = format!("{} fields in {} columns", file.fields.len(), file.column_indices.len());
            return Err(in_file(Error::corrupt("bad_dataset", what)));
        }
        for id in file.fields.iter().filter(|id| **id >= 0) {
            if !fields.insert(*id) {
                return Err(in_file(Error::corrupt("bad_dataset", format!("field {id} is there twice"))));
            }
        }
        for column in file.column_indices.iter().filter(|column| **column >= 0) {
            if !columns.insert(*column) {
                return Err(in_file(Error::corrupt("bad_dataset", format!("column {column} is named twice"))));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_are_let_through_or_named() {
        assert!(check_flags(1 | 2 | 4 | 8 | 16 | 32 | 128 | 256 | 1024 | 2048 | 16384).is_ok());
        for (flag, words) in
            [(64, "overlay"), (4096, "tree"), (1 << 40, "1099511627776: not known"), (32768, "no reader")]
        {
            let error = check_flags(flag | 1).unwrap_err();
            assert_eq!(error.code(), "unknown_feature");
            assert!(error.to_string().contains(words), "{error}");
        }
    }
}
