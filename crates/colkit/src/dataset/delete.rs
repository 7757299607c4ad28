//! Deleting rows: a new version names those that are no longer there; files stay as they are.

use super::commit::{Committed, Committing, Verdict};
use super::{Versions, random};
use crate::{DatasetOptions, Filter, Input, OpenOptions};
use arrow::array::AsArray;
use arrow::datatypes::UInt64Type;
use bytes::Bytes;
use colkit_core::{Error, Limits, Result};
use colkit_lance::dataset::{Base, Change, Deletion, DeletionKind, DeletionVector, FragmentSummary, Seen};
use std::collections::BTreeMap;
use std::path::Path;

/// What was deleted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeleteSummary {
    /// The version that was made, or the newest if there was nothing to delete.
    pub version: u64,
    /// Rows deleted.
    pub rows: u64,
    /// Rows left.
    pub left: u64,
    /// Fragments that had no row left and are no longer part of the dataset.
    pub fragments_removed: usize,
}

/// Times that a deletion is worked out anew because others changed the same rows.
const ATTEMPTS: usize = 10;

/// Deletes the rows for which a condition holds, such as `"price > 100"`, from the newest version of the dataset at a path or
/// URL. `unsafe_commit` as in [`DatasetWriteOptions`](crate::DatasetWriteOptions).
pub fn delete_rows(
    path: impl AsRef<Path>,
    condition: &str,
    open: &OpenOptions,
    unsafe_commit: bool,
) -> Result<DeleteSummary> {
    let committing = Committing { unsafely: unsafe_commit, limits: open.read.limits.clone() };
    for _ in 0..ATTEMPTS {
        if let Some(summary) = delete_once(path.as_ref(), condition, open, &committing)? {
            return Ok(summary);
        }
    }
    let what = format!("others changed the same rows {ATTEMPTS} times");
    Err(Error::io("target_changed", what).file(path.as_ref().display().to_string()).hint("try again"))
}

fn delete_once(
    path: &Path,
    condition: &str,
    open: &OpenOptions,
    committing: &Committing,
) -> Result<Option<DeleteSummary>> {
    let limits = &committing.limits;
    let versions = Versions::at(path)?;
    let base = versions.newest_base(limits)?;
    let named = |e: Error| e.file(path.display().to_string());
    base.check_writable().map_err(named)?;
    let (found, count) = matching(path, base.version(), condition, open)?;
    let mut summary = DeleteSummary { version: base.version(), left: count, ..DeleteSummary::default() };
    if found.is_empty() {
        return Ok(Some(summary));
    }
    let known: BTreeMap<u64, FragmentSummary> = base.fragments()?.into_iter().map(|f| (f.id, f)).collect();
    let mut deletions = Vec::with_capacity(found.len());
    for (fragment, rows) in found {
        let known = known.get(&fragment).ok_or_else(|| Error::internal("rows of no fragment"))?;
        let before = deletion_file(&versions, known, limits)?;
        let before = before.as_ref().map(|(kind, bytes)| (*kind, bytes.as_ref()));
        let vector = DeletionVector::new(before, &rows, known.rows, limits).map_err(named)?;
        summary.rows += rows.len() as u64;
        summary.fragments_removed += usize::from(vector.is_none());
        deletions.push(Deletion { fragment, vector: vector.map(|vector| (vector, random::number())) });
    }
    summary.left -= summary.rows;
    let mut written = Vec::new();
    for deletion in &deletions {
        let (Some((vector, _)), Some(name)) = (&deletion.vector, deletion.file_name(base.version())) else { continue };
        let name = format!("_deletions/{name}");
        versions.folder.replace(&name, vector.bytes())?;
        written.push(name);
    }
    let touched: Vec<u64> = deletions.iter().map(|deletion| deletion.fragment).collect();
    let change = Change::Delete(deletions, condition.to_owned());
    let judge = |base: &Base, now: &Base, seen: Seen| match seen {
        Seen::Rows if base.has_same(&touched, now) => Verdict::Follow,
        Seen::Rows => Verdict::Again,
        // Fragments change with their columns; if they did not, rows are where they were.
        Seen::Columns if base.has_same(&touched, now) => Verdict::Follow,
        Seen::Columns | Seen::Everything => Verdict::Refuse,
    };
    let discard = || written.iter().for_each(|name| drop(versions.folder.remove(name)));
    match committing.commit(&versions.folder, Some(&base), &change, &judge) {
        Ok(Committed::Version(version)) => Ok(Some(DeleteSummary { version, ..summary })),
        Ok(Committed::Again) => {
            discard();
            Ok(None)
        }
        Err(error) => {
            if matches!(error.code(), "target_changed" | "no_exclusive_create") {
                discard();
            }
            Err(error)
        }
    }
}

/// The rows for which the condition holds, by their fragments, and how many rows there are.
fn matching(path: &Path, version: u64, condition: &str, open: &OpenOptions) -> Result<(BTreeMap<u64, Vec<u32>>, u64)> {
    let at = DatasetOptions { at: Some(version.to_string()), ..DatasetOptions::default() };
    let file = open.clone().with_row_ids(true).open_input(&Input::path_with(path, &at)?)?;
    let mut found: BTreeMap<u64, Vec<u32>> = BTreeMap::new();
    let scan = file.scan().columns(["_rowaddr"]).filter(Filter::from(condition)).memory(open.read.limits.memory);
    let mut rows = 0u64;
    for batch in scan.batches()? {
        let batch = batch?;
        rows += batch.num_rows() as u64;
        Limits::check_memory("the rows to be deleted", rows.saturating_mul(8), open.read.limits.memory)?;
        let addresses = batch.column(0).as_primitive_opt::<UInt64Type>();
        let addresses = addresses.ok_or_else(|| Error::internal("addresses are numbers"))?;
        for address in addresses.values() {
            let row = u32::try_from(address & u64::from(u32::MAX)).unwrap_or(u32::MAX);
            found.entry(address >> 32).or_default().push(row);
        }
    }
    Ok((found, file.row_count()))
}

/// The deletion file of a fragment.
pub(super) fn deletion_file(
    versions: &Versions,
    fragment: &FragmentSummary,
    limits: &Limits,
) -> Result<Option<(DeletionKind, Bytes)>> {
    let Some((name, kind)) = &fragment.deletions else { return Ok(None) };
    if name.starts_with('/') || name.contains("://") {
        return Err(Error::unsupported("other_file", format!("{name}: deleted rows are kept in another dataset"))
            .file(versions.folder.name())
            .hint("write to this dataset with pylance"));
    }
    Ok(Some((*kind, versions.folder.whole(name, limits)?)))
}
