//! The next version: its manifest, and the transaction that makes it.

use super::base::Base;
use super::draft::{Draft, missing, next_fragment, take_id};
use super::messages::{DataFragment, DeletionFile};
use super::new_table::{FileColumns, NewFile, NewTable};
use super::transaction::{Start, Transaction};
use super::wire::{put, with_fields};
use super::{DeletionVector, Nanoseconds};
use bytes::Bytes;
use colkit_core::{Error, Result};
use prost::Message;

/// A version that is to be committed.
pub struct Next {
    /// Its number.
    pub version: u64,
    /// The file of its manifest.
    pub manifest: Bytes,
}

/// What is done to a table, and what a data file of it holds.
pub enum Change {
    /// Rows in new files.
    Append(FileColumns, Vec<NewFile>),
    /// A new table in the place of what was there, or where nothing was.
    Overwrite(NewTable, Vec<NewFile>),
    /// Rows of some fragments are deleted, by this condition.
    Delete(Vec<Deletion>, String),
    /// The rows of some fragments are in new files.
    Rewrite(FileColumns, Vec<Rewritten>),
    /// The table is as it was in an earlier version.
    Restore(Box<Base>),
}

/// The deleted rows of a fragment.
pub struct Deletion {
    /// The fragment.
    pub fragment: u64,
    /// All its deleted rows, and the random number in the name of their file; `None` if no row is left.
    pub vector: Option<(DeletionVector, u64)>,
}

/// Fragments whose rows, as far as they are left, are in new files.
pub struct Rewritten {
    /// The fragments.
    pub fragments: Vec<u64>,
    /// The new files, with the ids and versions of their rows if rows have ids.
    pub files: Vec<(NewFile, Option<super::Lineage>)>,
}

/// What all versions of a writer have in common.
#[derive(Clone, Copy, Debug)]
pub struct Writer {
    /// When the version is made.
    pub time: Nanoseconds,
}

impl Change {
    /// The transaction of this change to a version; to none if the table is new.
    pub fn transaction(&self, base: Option<&Base>, start: &Start) -> Result<Transaction> {
        let fragments = |columns: &FileColumns, files: &[NewFile]| -> Result<Vec<DataFragment>> {
            files.iter().map(|file| columns.fragment(file)).collect()
        };
        Ok(match (self, base) {
            (Change::Append(columns, files), _) => Transaction::append(start, &fragments(columns, files)?),
            (Change::Overwrite(table, files), _) => {
                let fragments = fragments(&table.file_columns(), files)?;
                Transaction::overwrite(start, &fragments, &table.fields, &table.metadata)
            }
            (Change::Delete(deletions, condition), Some(base)) => {
                let (mut changed, mut removed) = (Vec::new(), Vec::new());
                for deletion in deletions {
                    match deletion.applied(base, start.read_version)? {
                        Some(fragment) => changed.push(fragment),
                        None => removed.push(deletion.fragment),
                    }
                }
                Transaction::delete(start, &changed, &removed, condition)
            }
            (Change::Rewrite(columns, groups), Some(base)) => {
                let mut next_id = next_fragment(base);
                let mut told = Vec::new();
                for group in groups {
                    let old = group.fragments.iter().filter_map(|id| Some(base.fragment(*id)?.bytes.clone()));
                    told.push((old.collect(), group.fragments_after(columns, &mut next_id)?));
                }
                Transaction::rewrite(start, &told)
            }
            (Change::Restore(old), Some(_)) => Transaction::restore(start, old.version()),
            (_, None) => return Err(Error::internal("a change to no table")),
        })
    }

    /// The version that comes after `base` by this change, which was first meant for version `read_version`.
    pub fn next(&self, base: Option<&Base>, transaction: &Transaction, read_version: u64, by: Writer) -> Result<Next> {
        match (self, base) {
            (Change::Overwrite(table, files), base) => Draft::overwritten(base, table, files)?.finish(transaction, by),
            (_, None) => Err(Error::internal("a change to no table")),
            (Change::Restore(old), Some(base)) => Draft::restored(base, old)?.finish(transaction, by),
            (Change::Append(columns, files), Some(base)) => {
                let mut draft = Draft::of(base)?;
                draft.add(columns, files)?;
                draft.finish(transaction, by)
            }
            (Change::Delete(deletions, _), Some(base)) => {
                let mut draft = Draft::of(base)?;
                for deletion in deletions {
                    let place = draft.place(deletion.fragment)?;
                    match deletion.applied(base, read_version)? {
                        Some(fragment) => draft.replace(place, vec![fragment]),
                        None => draft.replace(place, Vec::new()),
                    }
                }
                draft.finish(transaction, by)
            }
            (Change::Rewrite(columns, groups), Some(base)) => {
                let mut draft = Draft::of(base)?;
                let mut next_id = next_fragment(base);
                for group in groups {
                    let new = group.fragments_after(columns, &mut next_id)?;
                    for id in &group.fragments {
                        let place = draft.place(*id)?;
                        draft.replace(place, Vec::new());
                    }
                    draft.fragments.extend(new);
                }
                draft.last_fragment = next_id.checked_sub(1).and_then(|id| u32::try_from(id).ok());
                draft.indices = None;
                draft.finish(transaction, by)
            }
        }
    }
}

impl Deletion {
    /// The fragment with these rows deleted; `None` if there are no others.
    fn applied(&self, base: &Base, read_version: u64) -> Result<Option<Bytes>> {
        let Some((vector, id)) = &self.vector else { return Ok(None) };
        let bytes = &base.fragment(self.fragment).ok_or_else(|| missing(self.fragment))?.bytes;
        let file = DeletionFile {
            file_type: vector.kind().number(),
            read_version,
            id: *id,
            num_deleted_rows: vector.count(),
            base_id: None,
        };
        let mut field = Vec::new();
        put(3, &file.encode_to_vec(), &mut field);
        with_fields(bytes, &[3], &field).map(Some)
    }

    /// The name of its file in the folder `_deletions`.
    pub fn file_name(&self, read_version: u64) -> Option<String> {
        let (vector, id) = self.vector.as_ref()?;
        Some(format!("{}-{read_version}-{id}.{}", self.fragment, vector.kind().extension()))
    }
}

impl Rewritten {
    fn fragments_after(&self, columns: &FileColumns, next_id: &mut u64) -> Result<Vec<Bytes>> {
        let mut after = Vec::with_capacity(self.files.len());
        for (file, lineage) in &self.files {
            let mut fragment = columns.fragment(file)?;
            fragment.id = take_id(next_id)?;
            if let Some(lineage) = lineage {
                fragment.row_ids = Some(lineage.ids());
                fragment.updated_at = lineage.updated();
                fragment.created_at = lineage.created();
            }
            after.push(fragment.encode_to_vec().into());
        }
        Ok(after)
    }
}
