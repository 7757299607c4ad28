//! A manifest being made.

use super::Nanoseconds;
use super::base::{Base, number};
use super::messages::{
    DataFragment, Range, RowIdSequence, Segment, Timestamp, U64Segment, VersionRun, VersionSequence,
};
use super::new_table::{FileColumns, NewFile, NewTable};
use super::next::{Next, Writer};
use super::transaction::Transaction;
use super::wire::{put, put_number};
use crate::container::{MAGIC, Version};
use bytes::Bytes;
use colkit_core::{Error, Result};
use prost::Message;

const DELETIONS: u64 = 1;
const STABLE_ROW_IDS: u64 = 2;
const CONFIG: u64 = 8;
const BASE_PATHS: u64 = 16;
const NO_TRANSACTION_FILES: u64 = 32;
const MIXED_VERSIONS: u64 = 256;
const SPILLED: u64 = 2048;
const FIELD_IDS: u64 = 32768;

/// A manifest being made.
pub(super) struct Draft {
    version: u64,
    /// Fields, metadata, configuration and all else that stays.
    kept: Vec<u8>,
    pub fragments: Vec<Bytes>,
    pub last_fragment: Option<u32>,
    next_row_id: u64,
    pub indices: Option<Bytes>,
    reader_flags: u64,
    writer_flags: u64,
}

impl Draft {
    /// The next version, as yet like the one before.
    pub fn of(base: &Base) -> Result<Self> {
        base.check_writable()?;
        let mut kept = Vec::new();
        base.kept.iter().for_each(|field| kept.extend_from_slice(&field.whole));
        Self::with(base, kept)
    }

    fn with(base: &Base, kept: Vec<u8>) -> Result<Self> {
        let has = |number: u32| base.kept.iter().any(|field| field.number == number);
        let sticky = base.message.writer_feature_flags & (NO_TRANSACTION_FILES | FIELD_IDS);
        let both = base.message.reader_feature_flags & (STABLE_ROW_IDS | MIXED_VERSIONS | SPILLED);
        let both = both | if has(number::BASE_PATHS) { BASE_PATHS } else { 0 };
        let config = if has(number::CONFIG) { CONFIG } else { 0 };
        let next = base.message.version.checked_add(1).filter(|next| *next < 1 << 63);
        Ok(Draft {
            version: next.ok_or_else(|| Error::limit("versions of a dataset", base.message.version, 1u64 << 63))?,
            kept,
            fragments: base.fragments.iter().map(|fragment| fragment.bytes.clone()).collect(),
            last_fragment: next_fragment(base).checked_sub(1).and_then(|id| u32::try_from(id).ok()),
            next_row_id: base.message.next_row_id,
            indices: base.indices.clone(),
            reader_flags: both,
            writer_flags: both | sticky | config,
        })
    }

    /// A new table, in the place of `base` if there is one.
    pub fn overwritten(base: Option<&Base>, table: &NewTable, files: &[NewFile]) -> Result<Self> {
        let columns = table.file_columns();
        let mut kept = Vec::new();
        table.fields.iter().for_each(|field| put(number::FIELDS, field, &mut kept));
        table.metadata.iter().for_each(|entry| put(number::SCHEMA_METADATA, entry, &mut kept));
        put(number::DATA_FORMAT, &data_format(columns.version()), &mut kept);
        let mut draft = match base {
            Some(base) => {
                base.check_writable()?;
                if base.message.writer_feature_flags & FIELD_IDS != 0 {
                    return Err(Error::unsupported("unknown_feature", "the ids of fields must not be used again")
                        .hint("overwrite this dataset with pylance"));
                }
                let replaced = [number::FIELDS, number::SCHEMA_METADATA, number::DATA_FORMAT];
                let others = base.kept.iter().filter(|field| !replaced.contains(&field.number));
                others.for_each(|field| kept.extend_from_slice(&field.whole));
                let mut draft = Self::with(base, kept)?;
                draft.reader_flags &= !SPILLED;
                draft.writer_flags &= !SPILLED;
                draft
            }
            None => Draft {
                version: 1,
                kept,
                fragments: Vec::new(),
                last_fragment: None,
                next_row_id: 0,
                indices: None,
                reader_flags: 0,
                writer_flags: 0,
            },
        };
        draft.fragments.clear();
        draft.indices = None;
        draft.add(&columns, files)?;
        Ok(draft)
    }

    /// The table as it was; numbers that were used since are not used again.
    pub fn restored(base: &Base, old: &Base) -> Result<Self> {
        base.check_writable()?;
        let mut draft = Self::of(old)?;
        let now = Self::with(base, Vec::new())?;
        draft.version = now.version;
        draft.last_fragment = draft.last_fragment.max(now.last_fragment);
        draft.next_row_id = draft.next_row_id.max(now.next_row_id);
        draft.reader_flags |= now.reader_flags & MIXED_VERSIONS;
        draft.writer_flags |= now.writer_flags & (MIXED_VERSIONS | NO_TRANSACTION_FILES | FIELD_IDS);
        Ok(draft)
    }

    /// Adds the rows of new files.
    pub fn add(&mut self, columns: &FileColumns, files: &[NewFile]) -> Result<()> {
        let mut next_id = self.last_fragment.map_or(0, |id| u64::from(id) + 1);
        for file in files {
            let mut fragment = columns.fragment(file)?;
            fragment.id = take_id(&mut next_id)?;
            if self.reader_flags & STABLE_ROW_IDS != 0 {
                let end = self.next_row_id.checked_add(file.rows);
                let end = end.ok_or_else(|| Error::limit("row ids", self.next_row_id, u64::MAX))?;
                let ids = RowIdSequence { segments: vec![range(self.next_row_id, end)] };
                let versions = VersionSequence {
                    runs: vec![VersionRun { span: Some(range(0, file.rows)), version: self.version }],
                };
                fragment.row_ids = Some(ids.encode_to_vec().into());
                fragment.updated_at = Some(versions.encode_to_vec().into());
                fragment.created_at = fragment.updated_at.clone();
                self.next_row_id = end;
            }
            self.fragments.push(fragment.encode_to_vec().into());
        }
        self.last_fragment = next_id.checked_sub(1).and_then(|id| u32::try_from(id).ok());
        Ok(())
    }

    pub fn place(&self, fragment: u64) -> Result<usize> {
        let is_it = |bytes: &Bytes| DataFragment::decode(bytes.clone()).is_ok_and(|known| known.id == fragment);
        self.fragments.iter().position(is_it).ok_or_else(|| missing(fragment))
    }

    pub fn replace(&mut self, place: usize, with: Vec<Bytes>) {
        self.fragments.splice(place..=place, with);
    }

    /// The manifest's file.
    pub fn finish(mut self, transaction: &Transaction, by: Writer) -> Result<Next> {
        let deletes = |bytes: &Bytes| DataFragment::decode(bytes.clone()).is_ok_and(|f| f.deletion_file.is_some());
        if self.fragments.iter().any(deletes) {
            self.reader_flags |= DELETIONS;
            self.writer_flags |= DELETIONS;
        }
        let mut file = Vec::new();
        let mut section = |bytes: &Bytes| -> Result<u64> {
            let at = file.len() as u64;
            file.extend(length(bytes.len())?.to_le_bytes());
            file.extend_from_slice(bytes);
            Ok(at)
        };
        let mut message = std::mem::take(&mut self.kept);
        if let Some(indices) = &self.indices {
            put_number(6, section(indices)?, &mut message);
        }
        if self.writer_flags & NO_TRANSACTION_FILES != 0 {
            let at = section(transaction.bytes())?;
            put_number(21, at, &mut message);
            put_number(23, at, &mut message);
        } else {
            put(12, transaction.file_name().as_bytes(), &mut message);
        }
        self.fragments.iter().for_each(|fragment| put(2, fragment, &mut message));
        put_number(3, self.version, &mut message);
        put(7, &timestamp(by.time).encode_to_vec(), &mut message);
        put_number(9, self.reader_flags, &mut message);
        put_number(10, self.writer_flags, &mut message);
        if let Some(last) = self.last_fragment {
            put_number(11, u64::from(last), &mut message);
        }
        put(13, &writer(), &mut message);
        if self.reader_flags & STABLE_ROW_IDS != 0 {
            put_number(14, self.next_row_id, &mut message);
        }
        let at = section(&message.into())?;
        file.extend(at.to_le_bytes());
        file.extend([0, 0, 2, 0]);
        file.extend_from_slice(MAGIC);
        Ok(Next { version: self.version, manifest: file.into() })
    }
}

/// Whether the transaction has a file of its own.
pub fn has_transaction_file(base: Option<&Base>) -> bool {
    base.is_none_or(|base| base.message.writer_feature_flags & NO_TRANSACTION_FILES == 0)
}

pub(super) fn missing(fragment: u64) -> Error {
    Error::internal(format!("fragment {fragment} is gone"))
}

/// The number of the next fragment: none is ever used again.
pub(super) fn next_fragment(base: &Base) -> u64 {
    let used = base.fragments.iter().map(|fragment| fragment.message.id).max();
    let used = used.max(base.message.max_fragment_id.map(u64::from));
    used.map_or(0, |id| id.saturating_add(1))
}

pub(super) fn take_id(next: &mut u64) -> Result<u64> {
    // The last number of 32 bits is one too many for Lance.
    if *next >= u64::from(u32::MAX) {
        return Err(Error::limit("the numbers of fragments", *next, u32::MAX));
    }
    *next += 1;
    Ok(*next - 1)
}

fn length(bytes: usize) -> Result<u32> {
    u32::try_from(bytes).map_err(|_| Error::limit("bytes of a manifest", bytes, u32::MAX))
}

pub(super) fn range(start: u64, end: u64) -> U64Segment {
    U64Segment { segment: Some(Segment::Range(Range { start, end })) }
}

fn timestamp(time: Nanoseconds) -> Timestamp {
    const SECOND: Nanoseconds = 1_000_000_000;
    Timestamp {
        seconds: i64::try_from(time.div_euclid(SECOND)).unwrap_or(0),
        nanos: i32::try_from(time.rem_euclid(SECOND)).unwrap_or(0),
    }
}

fn writer() -> Vec<u8> {
    let mut writer = Vec::new();
    put(1, b"colkit", &mut writer);
    put(2, env!("CARGO_PKG_VERSION").as_bytes(), &mut writer);
    writer
}

fn data_format(version: Version) -> Vec<u8> {
    let version = match version {
        Version::V2_0 => "2.0",
        Version::V2_1 => "2.1",
        Version::V2_2 => "2.2",
        Version::V2_3 => "2.3",
    };
    let mut format = Vec::new();
    put(1, b"lance", &mut format);
    put(2, version.as_bytes(), &mut format);
    format
}
