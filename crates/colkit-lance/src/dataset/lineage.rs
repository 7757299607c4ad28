//! Which rows of a fragment are which: their stable ids, and the versions that added and last changed them.

use super::base::Base;
use super::deletions::{Deleted, Kind};
use super::draft::range;
use super::messages::{
    EncodedU64Array, Numbers, Offsets, RowIdSequence, Segment, U64Segment, VersionRun, VersionSequence,
};
use super::row_ids;
use bytes::Bytes;
use colkit_core::{Error, Limits, Result};
use prost::Message;

/// The ids of rows, and the versions that added and last changed them, where they are known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lineage {
    ids: Vec<u64>,
    updated: Option<Vec<u64>>,
    created: Option<Vec<u64>>,
}

impl Base {
    /// The lineage of the rows of a fragment that are left; `deletions` is its deletion file.
    pub fn lineage(&self, fragment: u64, deletions: Option<(Kind, &[u8])>, limits: &Limits) -> Result<Lineage> {
        let Some(known) = self.fragment(fragment).map(|stated| &stated.message) else {
            return Err(Error::internal(format!("fragment {fragment} is gone")));
        };
        let rows = known.physical_rows;
        let deleted = match deletions {
            Some((kind, bytes)) => Deleted::parse(kind, bytes, rows, limits)?,
            None => Deleted::default(),
        };
        let bytes = known.row_ids.clone().ok_or_else(|| Error::corrupt("bad_row_ids", "a fragment without row ids"))?;
        fn left<T>(values: Vec<T>, deleted: &Deleted) -> Vec<T> {
            let kept = values.into_iter().enumerate().filter(|(row, _)| !deleted.contains(*row as u64));
            kept.map(|(_, value)| value).collect()
        }
        let versions = |bytes: &Option<Bytes>| -> Result<Option<Vec<u64>>> {
            let Some(bytes) = bytes else { return Ok(None) };
            Ok(Some(left(parse_versions(bytes.clone(), rows)?, &deleted)))
        };
        Ok(Lineage {
            ids: left(row_ids::parse(bytes, rows, limits)?, &deleted),
            updated: versions(&known.updated_at)?,
            created: versions(&known.created_at)?,
        })
    }
}

/// The version of each row.
fn parse_versions(bytes: Bytes, rows: u64) -> Result<Vec<u64>> {
    let bad = |what: &str| Error::corrupt("bad_row_ids", what);
    let sequence = VersionSequence::decode(bytes).map_err(|_| bad("the versions of rows cannot be read"))?;
    let mut versions = Vec::new();
    for run in sequence.runs {
        let count = run.span.and_then(|span| span.segment).map_or(Ok(0), |segment| row_ids::length(&segment))?;
        if count > rows - versions.len() as u64 {
            return Err(bad("more versions than rows"));
        }
        versions.resize(versions.len() + usize::try_from(count).unwrap_or(0), run.version);
    }
    if versions.len() as u64 == rows { Ok(versions) } else { Err(bad("fewer versions than rows")) }
}

impl Lineage {
    /// Appends that of further rows. What is not known was there from the first version on.
    pub fn append(&mut self, other: Lineage) {
        let (before, after) = (self.ids.len(), other.ids.len());
        let join = |own: &mut Option<Vec<u64>>, other: Option<Vec<u64>>| {
            if own.is_some() || other.is_some() {
                let all = own.get_or_insert_with(|| vec![1; before]);
                all.extend(other.unwrap_or_else(|| vec![1; after]));
            }
        };
        join(&mut self.updated, other.updated);
        join(&mut self.created, other.created);
        self.ids.extend(other.ids);
    }

    /// How many rows it is about.
    pub fn rows(&self) -> usize {
        self.ids.len()
    }

    /// Takes off that of the first rows.
    #[must_use]
    pub fn take_first(&mut self, rows: usize) -> Self {
        fn first(values: &mut Vec<u64>, rows: usize) -> Vec<u64> {
            let rest = values.split_off(rows.min(values.len()));
            std::mem::replace(values, rest)
        }
        Lineage {
            ids: first(&mut self.ids, rows),
            updated: self.updated.as_mut().map(|values| first(values, rows)),
            created: self.created.as_mut().map(|values| first(values, rows)),
        }
    }

    /// The ids as manifests have them: ranges, or one by one where that is shorter.
    pub(super) fn ids(&self) -> Bytes {
        let runs: Vec<&[u64]> = self.ids.chunk_by(|a, b| a.checked_add(1) == Some(*b)).collect();
        let segments = if runs.len() * 2 <= self.ids.len().max(2) {
            let ranges = runs.iter().filter_map(|run| Some(range(*run.first()?, run.last()?.saturating_add(1))));
            ranges.collect()
        } else {
            let values: Vec<u8> = self.ids.iter().flat_map(|id| id.to_le_bytes()).collect();
            let array = EncodedU64Array { array: Some(Numbers::U64(Offsets { base: 0, values: values.into() })) };
            vec![U64Segment { segment: Some(Segment::Array(array)) }]
        };
        RowIdSequence { segments }.encode_to_vec().into()
    }

    pub(super) fn updated(&self) -> Option<Bytes> {
        self.updated.as_deref().map(version_runs)
    }

    pub(super) fn created(&self) -> Option<Bytes> {
        self.created.as_deref().map(version_runs)
    }
}

fn version_runs(versions: &[u64]) -> Bytes {
    let mut at = 0u64;
    let run = |run: &[u64]| {
        let start = at;
        at += run.len() as u64;
        VersionRun { span: Some(range(start, at)), version: run.first().copied().unwrap_or(1) }
    };
    VersionSequence { runs: versions.chunk_by(|a, b| a == b).map(run).collect() }.encode_to_vec().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lineage(ids: &[u64], created: Option<&[u64]>) -> Lineage {
        Lineage { ids: ids.to_vec(), updated: None, created: created.map(<[u64]>::to_vec) }
    }

    #[test]
    fn rows_keep_what_they_are() {
        let mut all = lineage(&[5, 6, 7], None);
        all.append(lineage(&[1, 9], Some(&[3, 4])));
        assert_eq!(all, lineage(&[5, 6, 7, 1, 9], Some(&[1, 1, 1, 3, 4])));
        let first = all.take_first(4);
        assert_eq!(first, lineage(&[5, 6, 7, 1], Some(&[1, 1, 1, 3])));
        assert_eq!(all, lineage(&[9], Some(&[4])));
        for rows in [first, all, lineage(&[1, 3, 5, 7], None), lineage(&[9, 1], None)] {
            let count = rows.rows() as u64;
            assert_eq!(row_ids::parse(rows.ids(), count, &Limits::default()).unwrap(), rows.ids);
            if let Some(created) = rows.created() {
                assert_eq!(parse_versions(created.clone(), count).unwrap(), rows.created.unwrap());
                assert!(parse_versions(created.clone(), count + 1).is_err());
                assert!(parse_versions(created, count - 1).is_err());
            }
        }
    }
}
