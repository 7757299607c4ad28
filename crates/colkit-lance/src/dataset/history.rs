//! What the versions of a dataset say about themselves, without its data.

use super::manifest;
use super::messages::{DataFragment, Manifest, Timestamp, Transaction};
use super::names::check_transaction_name;
use crate::bytes_at::u32_at;
use crate::container::bad_metadata;
use crate::coroutine::{Io, coroutine};
use colkit_core::{Boxed, ByteRange, Error, ReadOptions, Result};
use prost::Message;
use serde_json::Value;
use std::collections::HashMap;

/// A point in time: nanoseconds since 1970, UTC.
pub type Nanoseconds = i128;

/// A version of a dataset.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct VersionSummary {
    /// Its number.
    pub version: u64,
    /// When it was committed.
    pub time: Option<Nanoseconds>,
    /// What made it: `append`, `delete`, ...
    pub operation: Option<&'static str>,
    /// The file of the transaction, in the folder `_transactions`: where the operation is if the manifest does not have it.
    pub transaction_file: Option<String>,
    /// The library that wrote it, and its version.
    pub writer: Option<String>,
    /// Rows in files and deleted rows of each fragment, by the fragment's first file.
    fragments: HashMap<String, (u64, u64)>,
}

impl VersionSummary {
    /// Reads the manifest of a file of `size` bytes.
    pub fn read(size: u64) -> Boxed<VersionSummary> {
        coroutine(move |io| async move {
            let message = manifest::message(&io, size, &ReadOptions::default()).await?;
            let operation = inline_operation(&io, size, &message).await?;
            Self::new(message, operation)
        })
    }

    fn new(message: Manifest, operation: Option<&'static str>) -> Result<Self> {
        check_transaction_name(&message.transaction_file)?;
        let mut fragments = HashMap::with_capacity(message.fragments.len());
        for bytes in message.fragments {
            let f = DataFragment::decode(bytes).map_err(|e| bad_metadata("the manifest", e))?;
            let deleted = f.deletion_file.map_or(0, |d| d.num_deleted_rows);
            let counts = (f.physical_rows, deleted);
            fragments.extend(f.files.into_iter().next().map(|first| (first.path, counts)));
        }
        Ok(VersionSummary {
            version: message.version,
            time: message.timestamp.map(nanoseconds),
            operation,
            transaction_file: Some(message.transaction_file).filter(|name| !name.is_empty()),
            writer: message.writer_version.map(|w| format!("{} {}", w.library, w.version)),
            fragments,
        })
    }

    /// How many fragments there are.
    pub fn fragments(&self) -> usize {
        self.fragments.len()
    }

    /// How many rows there are.
    pub fn rows(&self) -> u64 {
        self.fragments.values().map(|(rows, deleted)| rows.saturating_sub(*deleted)).fold(0, u64::saturating_add)
    }

    /// Rows added and removed since an earlier version. A row that was written again counts as both.
    pub fn changes(&self, before: &VersionSummary) -> (u64, u64) {
        let (mut added, mut removed) = (0u64, 0u64);
        for (file, (rows, deleted)) in &self.fragments {
            match before.fragments.get(file) {
                None => added = added.saturating_add(rows.saturating_sub(*deleted)),
                Some((_, earlier)) => {
                    removed = removed.saturating_add(deleted.saturating_sub(*earlier));
                    added = added.saturating_add(earlier.saturating_sub(*deleted));
                }
            }
        }
        for (_, (rows, deleted)) in before.fragments.iter().filter(|(file, _)| !self.fragments.contains_key(*file)) {
            removed = removed.saturating_add(rows.saturating_sub(*deleted));
        }
        (added, removed)
    }
}

pub(super) fn nanoseconds(time: Timestamp) -> Nanoseconds {
    Nanoseconds::from(time.seconds) * 1_000_000_000 + Nanoseconds::from(time.nanos)
}

/// The operation, if the manifest's file has the transaction.
async fn inline_operation(io: &Io, size: u64, message: &Manifest) -> Result<Option<&'static str>> {
    let Some(start) = message.transaction_section.or(message.old_transaction_section) else { return Ok(None) };
    let Some(end) = start.checked_add(4).filter(|end| *end <= size) else { return Ok(None) };
    let length = u64::from(u32_at(&io.read_one(ByteRange::between(start, end)).await?, 0)?);
    // The operation is told by its tag, which comes before its body; bodies can be large.
    let until = end.saturating_add(length.min(MOST_OF_TRANSACTION)).min(size);
    Ok(operation(&io.read_one(ByteRange::between(end, until)).await?))
}

/// Bytes of a transaction that are looked at.
const MOST_OF_TRANSACTION: u64 = 1 << 20;

/// What a transaction does, by the number of its operation; nothing if it cannot be read.
pub fn operation(transaction: &[u8]) -> Option<&'static str> {
    let transaction = Transaction::decode(transaction).ok()?;
    transaction.operation.map(|operation| operation.name())
}

/// Where a tag points, or a branch begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The branch; none is main.
    pub branch: Option<String>,
    /// The version.
    pub version: u64,
}

impl Reference {
    /// Reads the file of a tag or a branch; `key` is what it calls the version.
    pub fn parse(bytes: &[u8], key: &str) -> Result<Self> {
        let bad = |what: String| Error::corrupt("bad_dataset", what);
        let value: Value = serde_json::from_slice(bytes).map_err(|e| bad(format!("not JSON: {e}")))?;
        let version = value.get(key).and_then(Value::as_u64).ok_or_else(|| bad("no version is named".into()))?;
        let branch = value.get("branch").or_else(|| value.get("parentBranch"));
        Ok(Reference { branch: branch.and_then(Value::as_str).map(ToOwned::to_owned), version })
    }
}

/// A time such as `2026-11-17`, `2026-11-17T06:00:00Z` or `2026-11-17 06:00:00.5+01:00`.
pub fn parse_time(text: &str) -> Option<Nanoseconds> {
    let time = arrow::compute::kernels::cast_utils::string_to_timestamp_nanos(text).ok()?;
    Some(time.into())
}

/// `2026-11-17T06:00:00.123456789Z`.
pub fn shown_time(time: Nanoseconds) -> Option<String> {
    let time = arrow::temporal_conversions::timestamp_ns_to_datetime(i64::try_from(time).ok()?)?;
    Some(time.format("%Y-%m-%dT%H:%M:%S%.fZ").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_have_names() {
        assert_eq!(operation(&[0xa2, 0x06, 0x00]), Some("append"));
        assert_eq!(operation(&[0xaa, 0x06, 0x00]), Some("delete"));
        assert_eq!(operation(&[]), None);
        assert_eq!(operation(&[0xff]), None);
    }

    #[test]
    fn tags_and_times() {
        let tag = Reference::parse(br#"{"branch":null,"version":3,"manifestSize":9}"#, "version").unwrap();
        assert_eq!(tag, Reference { branch: None, version: 3 });
        assert!(Reference::parse(b"{}", "version").is_err() && Reference::parse(b"x", "version").is_err());
        assert_eq!(parse_time("1970-01-01T00:00:01Z"), Some(1_000_000_000));
        assert_eq!(parse_time("v1"), None);
        assert_eq!(shown_time(1_500_000_000).unwrap(), "1970-01-01T00:00:01.500Z");
    }
}
