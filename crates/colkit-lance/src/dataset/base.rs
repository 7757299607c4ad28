//! A version that the next one is made of.
//!
//! A new version copies what it does not change as bytes, known here or not: fields, configuration, fragments, indices.

use super::deletions::Kind as DeletionKind;
use super::fragment::place;
use super::manifest;
use super::messages::{DataFragment, Manifest};
use super::new_table::FileColumns;
use super::wire::{RawField, split};
use crate::bytes_at::u32_at;
use crate::container::{Version, bad_metadata};
use crate::schema::{Fields, Node};
use arrow::datatypes::{Schema, SchemaRef};
use bytes::Bytes;
use colkit_core::{Error, Limits, Result};
use prost::Message;
use prost::encoding::WireType;

/// A version that the next one is made of.
pub struct Base {
    pub(super) message: Manifest,
    pub(super) fields: Fields,
    /// All fields of the message but those that every version writes anew.
    pub(super) kept: Vec<RawField>,
    pub(super) fragments: Vec<StatedFragment>,
    /// The section of indices.
    pub(super) indices: Option<Bytes>,
    inline: Option<Bytes>,
    has_blob_places: bool,
}

/// A fragment as the manifest has it: what it says, and the bytes that say it.
pub(super) struct StatedFragment {
    pub message: DataFragment,
    pub bytes: Bytes,
}

/// What every version writes anew: the version, sections, the time, flags, the transaction, the writer, row ids.
const WRITTEN_ANEW: [u32; 12] = [2, 3, 6, 7, 9, 10, 11, 12, 13, 14, 21, 23];

/// The numbers of fields of a manifest.
pub(super) mod number {
    pub const FIELDS: u32 = 1;
    pub const SCHEMA_METADATA: u32 = 5;
    pub const DATA_FORMAT: u32 = 15;
    pub const CONFIG: u32 = 16;
    pub const BASE_PATHS: u32 = 18;
}

/// Where the transaction of a version is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransactionPlace {
    /// In the manifest.
    Inline(Bytes),
    /// In this file of the folder `_transactions`.
    File(String),
    /// Nowhere.
    Missing,
}

/// A fragment, as the manifest has it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FragmentSummary {
    /// Its number.
    pub id: u64,
    /// Rows in its files, deleted ones too.
    pub rows: u64,
    /// Deleted rows.
    pub deleted: u64,
    /// Where its deletion file is, as objects are named, and the kind of it.
    pub deletions: Option<(String, DeletionKind)>,
}

impl Base {
    /// The version of a manifest, of which this is the whole file.
    pub fn parse(file: &Bytes, limits: &Limits) -> Result<Self> {
        let bytes = manifest::in_file(file, limits)?;
        let message = Manifest::decode(bytes.clone()).map_err(|e| bad_metadata("the manifest", e))?;
        let has_blob_places = message.fields.iter().any(super::blob::is_of_places);
        let manifest::Manifest { mut message, fields, .. } = manifest::checked(message, limits)?;
        let stated = std::mem::take(&mut message.fragments).into_iter();
        let stated = stated.map(|bytes| Ok(StatedFragment { message: manifest::fragment(&bytes)?, bytes }));
        let fragments = stated.collect::<Result<Vec<_>>>()?;
        let kept = split(&bytes)?.into_iter().filter(|field| !WRITTEN_ANEW.contains(&field.number));
        let kept: Vec<RawField> = kept.collect();
        // prost takes whatever has the number of a map for an entry of it, and what follows for what is in it. In the next version
        // something else follows.
        if kept.iter().any(|field| field.number == number::SCHEMA_METADATA && field.kind != WireType::LengthDelimited) {
            return Err(Error::corrupt("bad_metadata", "metadata of the schema that is no message").part("manifest"));
        }
        let section = |at: Option<u64>| -> Result<Option<Bytes>> {
            let Some(at) = at else { return Ok(None) };
            let start = usize::try_from(at).ok().and_then(|at| at.checked_add(4)).filter(|start| *start <= file.len());
            let outside = || Error::corrupt("block_out_of_range", format!("a section at byte {at} of the manifest"));
            let start = start.ok_or_else(outside)?;
            let length = usize::try_from(u32_at(file, start - 4)?).unwrap_or(usize::MAX);
            let end = start.checked_add(length).filter(|end| *end <= file.len()).ok_or_else(outside)?;
            Ok(Some(file.slice(start..end)))
        };
        let indices = section(message.index_section)?;
        // A transaction that cannot be read says nothing about the table.
        let inline = section(message.transaction_section.or(message.old_transaction_section)).unwrap_or(None);
        Ok(Base { message, fields, kept, fragments, indices, inline, has_blob_places })
    }

    /// Its number.
    pub fn version(&self) -> u64 {
        self.message.version
    }

    /// Its schema.
    pub fn schema(&self) -> &SchemaRef {
        &self.fields.schema
    }

    /// When it was committed.
    pub fn time(&self) -> Option<super::Nanoseconds> {
        self.message.timestamp.map(super::history::nanoseconds)
    }

    /// Whether rows keep their ids.
    pub fn has_stable_row_ids(&self) -> bool {
        self.message.reader_feature_flags & 2 != 0
    }

    /// Whether there are indices.
    pub fn has_indices(&self) -> bool {
        self.indices.is_some()
    }

    /// Where its transaction is.
    pub fn transaction(&self) -> TransactionPlace {
        match (&self.inline, self.message.transaction_file.as_str()) {
            (Some(bytes), _) => TransactionPlace::Inline(bytes.clone()),
            (None, "") => TransactionPlace::Missing,
            (None, file) => TransactionPlace::File(file.to_owned()),
        }
    }

    /// Whether it was made by the transaction with this UUID.
    pub fn is_made_by(&self, uuid: &str) -> bool {
        let named = self.message.transaction_file.contains(uuid);
        named || self.inline.as_ref().is_some_and(|bytes| bytes.windows(uuid.len()).any(|w| w == uuid.as_bytes()))
    }

    /// The fragments in their order.
    pub fn fragments(&self) -> Result<Vec<FragmentSummary>> {
        self.fragments.iter().map(|fragment| self.summary(&fragment.message)).collect()
    }

    fn summary(&self, fragment: &DataFragment) -> Result<FragmentSummary> {
        let deletions = fragment.deletion_file.as_ref().map(|file| -> Result<_> {
            let kind = if file.file_type == 0 { DeletionKind::Arrow } else { DeletionKind::Bitmap };
            let name = format!("{}-{}-{}.{}", fragment.id, file.read_version, file.id, kind.extension());
            Ok((place(&self.message.base_paths, file.base_id, "_deletions", &name)?, kind))
        });
        Ok(FragmentSummary {
            id: fragment.id,
            rows: fragment.physical_rows,
            deleted: fragment.deletion_file.as_ref().map_or(0, |file| file.num_deleted_rows),
            deletions: deletions.transpose()?,
        })
    }

    /// The fragment of this number.
    pub(super) fn fragment(&self, id: u64) -> Option<&StatedFragment> {
        self.fragments.iter().find(|fragment| fragment.message.id == id)
    }

    /// Whether these fragments are the same in another version.
    pub fn has_same(&self, fragments: &[u64], other: &Base) -> bool {
        let bytes = |base: &Base, id: u64| base.fragment(id).map(|fragment| fragment.bytes.clone());
        fragments.iter().all(|id| bytes(self, *id).is_some_and(|own| bytes(other, *id) == Some(own)))
    }

    /// How a data file holds these columns of the table, which are named by their places.
    pub fn file_columns(&self, columns: &[usize]) -> Result<FileColumns> {
        let roots: Vec<&Node> = columns.iter().filter_map(|column| self.fields.roots.get(*column)).collect();
        Ok(FileColumns::new(roots, self.file_version()?))
    }

    /// Whether values that were written to such files for `before` are right in this version too: all their fields are there
    /// with the same types, and nothing must be there that they lack.
    pub fn takes(&self, columns: &FileColumns, before: &Base) -> bool {
        fn find(nodes: &[Node], id: i32) -> Option<&Node> {
            nodes.iter().find_map(|node| if node.id == id { Some(node) } else { find(&node.children, id) })
        }
        let same = |id: &i32| {
            let (now, then) = (find(&self.fields.roots, *id), find(&before.fields.roots, *id));
            matches!((now, then), (Some(now), Some(then))
                if now.field.data_type() == then.field.data_type() && now.field.is_nullable() == then.field.is_nullable())
        };
        let known = |root: &Node| root.field.is_nullable() || find(&before.fields.roots, root.id).is_some();
        columns.ids().iter().all(same) && self.fields.roots.iter().all(known)
    }

    /// The version of new data files.
    pub fn file_version(&self) -> Result<Version> {
        let format = self.message.data_format.as_ref().map(|format| format.version.as_str());
        let version = match format {
            Some("2.0") => Version::V2_0,
            Some("2.1") => Version::V2_1,
            Some("2.2") => Version::V2_2,
            // Old releases do not say it, or say something else than what they do.
            None | Some("0.1" | "") => {
                let file = self.fragments.last().and_then(|fragment| fragment.message.files.first());
                let numbers = file.map_or((0, 1), |file| (file.file_major_version, file.file_minor_version));
                let number = |n: u32| u16::try_from(n).unwrap_or(u16::MAX);
                Version::from_numbers(number(numbers.0), number(numbers.1))?
            }
            Some(other) => return Err(cannot_write(other)),
        };
        if version == Version::V2_3 { Err(cannot_write("2.3")) } else { Ok(version) }
    }

    /// An error if something is in the table that a writer must know about, and this one does not.
    pub fn check_writable(&self) -> Result<()> {
        const KNOWN: u64 = 1 | 2 | 4 | 8 | 16 | 32 | 256 | 2048 | 32768;
        let unknown = (self.message.reader_feature_flags | self.message.writer_feature_flags) & !KNOWN;
        if unknown != 0 {
            let flag = 1u64 << unknown.trailing_zeros();
            return Err(Error::unsupported("unknown_feature", format!("the dataset needs writer feature {flag}"))
                .part("manifest")
                .hint("it can be read here; write to it with the program that made it"));
        }
        if self.message.writer_version.is_none() {
            return Err(Error::unsupported("unknown_version", "the dataset is of a release that counted rows wrongly")
                .part("manifest")
                .hint("read it with pylance and write it again"));
        }
        self.file_version().map(drop)
    }

    /// An error if the table has columns whose values a data file cannot have alone.
    pub fn check_rows_writable(&self) -> Result<()> {
        if self.has_blob_places {
            return Err(Error::unsupported("unknown_type", "blobs with files of their own cannot be written")
                .part("schema")
                .hint("write to this dataset with pylance"));
        }
        Ok(())
    }

    /// The schema as data files have it: without metadata of the table.
    pub fn file_schema(&self, columns: &[usize]) -> SchemaRef {
        let field = |column: &usize| self.fields.schema.fields().get(*column).cloned();
        Schema::new(columns.iter().filter_map(field).collect::<Vec<_>>()).into()
    }

    /// Whether the ids of rows lie in hidden columns, which only pylance writes.
    pub fn has_spilled_rows(&self) -> bool {
        self.message.reader_feature_flags & 2048 != 0
    }
}

fn cannot_write(version: &str) -> Error {
    Error::unsupported("unknown_version", format!("data files of version {version} cannot be written"))
        .part("manifest")
        .hint("2.0, 2.1 and 2.2 can be")
}

#[cfg(test)]
mod tests {
    use super::super::wire::put_number;
    use super::*;
    use crate::container::MAGIC;

    fn file(message: &[u8]) -> Bytes {
        let length = u32::try_from(message.len()).unwrap().to_le_bytes();
        [&length, message, &[0; 8], &[0, 0, 2, 0], MAGIC].concat().into()
    }

    #[test]
    fn metadata_that_is_a_number_is_refused() {
        let mut message = Vec::new();
        put_number(3, 1, &mut message);
        let good = message.clone();
        // As the length of an entry, 2 would take in the field that follows.
        put_number(number::SCHEMA_METADATA, 2, &mut message);
        put_number(11, 0, &mut message);
        assert_eq!(Base::parse(&file(&good), &Limits::default()).unwrap().version(), 1);
        let error = Base::parse(&file(&message), &Limits::default()).err().unwrap();
        assert_eq!(error.code(), "bad_metadata");
    }
}
