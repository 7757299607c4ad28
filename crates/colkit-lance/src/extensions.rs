//! What colkit adds to a file: statistics, zone maps, bloom filters and checksums, in global buffers that stock readers
//! never ask for.
//!
//! The schema's metadata names the buffers by number; the buffers hold protobuf messages.
//!
//! | metadata key | buffer holds |
//! |---|---|
//! | `colkit.statistics` | [`Statistics`]: minimum, maximum and nulls of each top-level column |
//! | `colkit.zones` | [`Zones`]: the same for every so many rows, and for every page |
//! | `colkit.bloom.N` | [`BloomFilters`]: of top-level column N, one for every so many rows; see [`crate::bloom`] |
//! | `colkit.plugin.NAME` | a WebAssembly module that decodes the encoding NAME; see [`crate::encoding`] |
//! | `colkit.descriptions` | descriptions of pages and columns that several share, where the container looks for them |
//! | `colkit.seal` | checksums of all blocks of the file, no message: see [`crate::seal`] |
//! | `colkit.checksums` | [`Checksums`]: CRC-32 of every page buffer of every column; in files of before there were seals |
//!
//! A bound is never tighter than the values; `inexact` says that it may be looser.

use crate::container::{Container, bad_metadata, inside};
use crate::coroutine::Io;
use crate::seal::bad_checksum;
use arrow::datatypes::DataType;
use bytes::Bytes;
use colkit_core::{ByteRange, ColumnStatistics, Error, Result, Value};
use prost::{Message, Oneof};
use std::collections::HashMap;

pub(crate) const STATISTICS: &str = "colkit.statistics";
pub(crate) const ZONES: &str = "colkit.zones";
pub(crate) const CHECKSUMS: &str = "colkit.checksums";
pub(crate) const SEAL: &str = "colkit.seal";
pub(crate) const DESCRIPTIONS: &str = "colkit.descriptions";
/// Followed by the number of a column.
pub(crate) const BLOOM: &str = "colkit.bloom.";

/// Followed by the name of an encoding: its decoder, as the number of a global buffer, a space, and a SHA-256.
pub(crate) const PLUGIN: &str = "colkit.plugin.";

/// Whether a key of the schema's metadata is one of ours.
pub(crate) fn is_own_key(key: &str) -> bool {
    matches!(key, STATISTICS | ZONES | CHECKSUMS | SEAL | DESCRIPTIONS)
        || key.starts_with(BLOOM)
        || key.starts_with(PLUGIN)
}

/// What the metadata says about a seal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SealClaim {
    /// This file has one.
    Sealed,
    /// Nothing: whoever wrote the file knew of none.
    Unsealed,
    /// The metadata was copied from another file, and what it names is not here.
    OfAnother,
}

/// The value of [`SEAL`]: the number of its global buffer, and the size of the file. Other writers keep metadata that they do
/// not know; by its size a file tells its own from that of the file it was copied from. Always equally long.
pub(crate) fn seal_value(buffer: usize, size: u64) -> String {
    format!("{buffer} of {size:020}")
}

/// What the metadata of a file of this size claims.
pub(crate) fn claim(names: &HashMap<String, String>, size: u64) -> SealClaim {
    match names.get(SEAL) {
        None => SealClaim::Unsealed,
        Some(value) if value.ends_with(&format!(" of {size:020}")) => SealClaim::Sealed,
        Some(_) => SealClaim::OfAnother,
    }
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Statistics {
    /// One per top-level column.
    #[prost(message, repeated, tag = "1")]
    pub columns: Vec<Zone>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Zones {
    #[prost(uint64, tag = "1")]
    pub rows_per_zone: u64,
    /// One per top-level column.
    #[prost(message, repeated, tag = "2")]
    pub columns: Vec<ColumnZones>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ColumnZones {
    /// In row order.
    #[prost(message, repeated, tag = "1")]
    pub zones: Vec<Zone>,
    /// In row order.
    #[prost(message, repeated, tag = "2")]
    pub pages: Vec<PageZone>,
    /// Bytes of the bloom filter of each zone; empty without filters, and in files of before it was there.
    #[prost(uint64, repeated, tag = "3")]
    pub filter_bytes: Vec<u64>,
}

/// Rows that were encoded together: a page of every physical column below a top-level one.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct PageZone {
    #[prost(uint64, tag = "1")]
    pub rows: u64,
    #[prost(message, optional, tag = "2")]
    pub zone: Option<Zone>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Zone {
    #[prost(message, optional, tag = "1")]
    pub min: Option<Bound>,
    #[prost(message, optional, tag = "2")]
    pub max: Option<Bound>,
    #[prost(uint64, tag = "3")]
    pub null_count: u64,
    /// Whether the bounds may not occur themselves.
    #[prost(bool, tag = "4")]
    pub inexact: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Bound {
    #[prost(oneof = "BoundValue", tags = "1, 2, 3, 4, 5")]
    pub value: Option<BoundValue>,
}

#[derive(Clone, PartialEq, Oneof)]
pub(crate) enum BoundValue {
    #[prost(bool, tag = "1")]
    Bool(bool),
    /// Sixteen bytes, little-endian, two's complement.
    #[prost(bytes = "bytes", tag = "2")]
    Int(Bytes),
    #[prost(double, tag = "3")]
    Float(f64),
    #[prost(string, tag = "4")]
    Text(String),
    #[prost(bytes = "bytes", tag = "5")]
    Binary(Bytes),
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Checksums {
    /// One per physical column.
    #[prost(message, repeated, tag = "1")]
    pub columns: Vec<ColumnChecksums>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ColumnChecksums {
    /// Of the buffers of its pages, one after another.
    #[prost(fixed32, repeated, tag = "1")]
    pub crc32: Vec<u32>,
    /// Of its values that lie outside of its pages.
    #[prost(message, repeated, tag = "2")]
    pub blobs: Vec<BlobChecksum>,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub(crate) struct BlobChecksum {
    #[prost(uint64, tag = "1")]
    pub position: u64,
    #[prost(uint64, tag = "2")]
    pub size: u64,
    #[prost(fixed32, tag = "3")]
    pub crc32: u32,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct BloomFilters {
    /// As many as zones, over as many rows.
    #[prost(bytes = "bytes", repeated, tag = "1")]
    pub filters: Vec<Bytes>,
}

impl Bound {
    pub fn of(value: &Value) -> Option<Bound> {
        let value = match value {
            Value::Null | Value::Decimal(_) => return None,
            Value::Bool(b) => BoundValue::Bool(*b),
            Value::Int(i) => BoundValue::Int(Bytes::copy_from_slice(&i.to_le_bytes())),
            Value::Float(x) => BoundValue::Float(*x),
            Value::Text(s) => BoundValue::Text(s.clone()),
            Value::Bytes(b) => BoundValue::Binary(Bytes::copy_from_slice(b)),
        };
        Some(Bound { value: Some(value) })
    }

    fn value(&self) -> Option<Value> {
        Some(match self.value.as_ref()? {
            BoundValue::Bool(b) => Value::Bool(*b),
            BoundValue::Int(bytes) => Value::Int(i128::from_le_bytes(bytes.as_ref().try_into().ok()?)),
            BoundValue::Float(x) => Value::Float(*x),
            BoundValue::Text(s) => Value::Text(s.clone()),
            BoundValue::Binary(b) => Value::Bytes(b.to_vec()),
        })
    }
}

impl Zone {
    pub fn statistics(&self) -> ColumnStatistics {
        ColumnStatistics {
            min: self.min.as_ref().and_then(Bound::value),
            max: self.max.as_ref().and_then(Bound::value),
            null_count: Some(self.null_count),
            exact: !self.inexact,
            nan_free: false,
        }
    }
}

/// What is said of the values of a column of this type to those who ask. Bounds of decimals are integers without their
/// point: of use to pruning alone.
pub(crate) fn shown(zone: &Zone, data_type: &DataType) -> ColumnStatistics {
    let all = zone.statistics();
    if data_type.is_decimal() { ColumnStatistics { min: None, max: None, ..all } } else { all }
}

/// The global buffer that `key` names, if it names one that is there.
pub(crate) fn place(container: &Container, names: &HashMap<String, String>, key: &str) -> Option<ByteRange> {
    container.global_buffers().get(names.get(key)?.parse::<usize>().ok()?).copied()
}

/// Where the filters of these sizes lie in the message that holds them: each after its tag (a byte) and its length.
pub(crate) fn filter_ranges(buffer: ByteRange, sizes: &[u64]) -> Result<Vec<ByteRange>> {
    let wrong = || Error::corrupt("bad_metadata", "bloom filters that are longer than their buffer").at(buffer.start());
    let mut at = buffer.start();
    let mut next = |size: &u64| {
        let head = 1 + prost::length_delimiter_len(usize::try_from(*size).ok()?) as u64;
        let start = at.checked_add(head)?;
        at = start.checked_add(*size)?;
        let filter = ByteRange::between(start, at);
        buffer.contains(filter).then_some(filter)
    };
    sizes.iter().map(|size| next(size).ok_or_else(wrong)).collect()
}

/// The message in the global buffer that `key` names, if it names one.
pub(crate) async fn load<M: Message + Default>(
    container: &Container,
    io: &Io,
    names: &HashMap<String, String>,
    key: &str,
) -> Result<Option<M>> {
    let Some(range) = place(container, names, key) else { return Ok(None) };
    let bytes = container.fetch(io, vec![range]).await.map_err(|e| e.part(key))?.pop().unwrap_or_default();
    M::decode(bytes).map(Some).map_err(|e| bad_metadata(key, e).at(range.start()))
}

/// Compares every page buffer with its checksum, in files without a seal. `names` says what the columns are called.
pub(crate) async fn verify(
    container: &Container,
    io: &Io,
    checksums: &Checksums,
    names: &HashMap<usize, String>,
) -> Result<()> {
    let numbers: Vec<usize> = (0..container.column_count()).collect();
    let columns = container.fetch_columns(io, &numbers).await?;
    if columns.len() != checksums.columns.len() {
        let message = format!("checksums of {} columns, there are {}", checksums.columns.len(), columns.len());
        return Err(Error::corrupt("checksum_mismatch", message));
    }
    for (number, (column, expected)) in columns.iter().zip(&checksums.columns).enumerate() {
        let name = names.get(&number).map_or_else(|| format!("column {number}"), |name| format!("column {name:?}"));
        for (index, blob) in expected.blobs.iter().enumerate() {
            let range = inside(blob.position, blob.size, container.size())?;
            if crc32fast::hash(&io.read_one(range).await?) != blob.crc32 {
                return Err(bad_checksum(range).part(format!("{name}: value {index} outside of its pages")));
            }
        }
        let mut expected = expected.crc32.iter();
        for (page, metadata) in column.pages.iter().enumerate() {
            for (index, range) in metadata.buffers.iter().enumerate() {
                let part = || format!("{name}: page {page}: buffer {index}");
                let found = crc32fast::hash(&io.read_one(*range).await?);
                if expected.next() != Some(&found) {
                    return Err(bad_checksum(*range).part(part()));
                }
            }
        }
        if expected.next().is_some() {
            return Err(Error::corrupt("checksum_mismatch", "more checksums than buffers").part(name));
        }
    }
    Ok(())
}
