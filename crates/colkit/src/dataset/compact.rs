//! Writing small fragments, and those with deleted rows, together anew.

use super::commit::{Committed, Committing, Verdict};
use super::data_files::{DataFiles, FileSize};
use super::delete::deletion_file;
use super::{Folder, Versions};
use crate::{DatasetOptions, Input, OpenFile, OpenOptions};
use colkit_core::plan::batch_of;
use colkit_core::{Error, Hint, Result, Setting, WriteOptions};
use colkit_lance::LanceWriteOptions;
use colkit_lance::dataset::{Base, Change, FragmentSummary, Lineage, NewFile, Rewritten, Seen};
use std::ops::Range;
use std::path::Path;

/// How a dataset is compacted.
#[derive(Clone, Debug)]
#[non_exhaustive]
#[must_use]
pub struct CompactOptions {
    /// Rows that new data files have at most; fragments with fewer are joined.
    pub rows_per_file: u64,
    /// Gives up indices, which would name rows where they no longer are. A dataset with indices is refused otherwise.
    pub drop_indices: bool,
    /// As in [`DatasetWriteOptions`](crate::DatasetWriteOptions).
    pub unsafe_commit: bool,
    /// Memory and threads.
    pub write: WriteOptions,
}

impl Default for CompactOptions {
    fn default() -> Self {
        let write = WriteOptions::default();
        CompactOptions { rows_per_file: FileSize::default().rows, drop_indices: false, unsafe_commit: false, write }
    }
}

/// What was compacted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompactSummary {
    /// The version that was made, or the newest if there was nothing to do.
    pub version: u64,
    /// Fragments that were written anew.
    pub fragments_removed: usize,
    /// Fragments that have their rows now.
    pub fragments_added: usize,
    /// Rows that were written anew.
    pub rows: u64,
    /// Deleted rows whose values are no longer there.
    pub rows_dropped: u64,
}

/// Times that it is worked out anew because others changed the same fragments.
const ATTEMPTS: usize = 5;

/// Writes small neighbouring fragments, and those of which a tenth is deleted, together anew. Rows that are written anew come
/// last, because fragments are in the order of their numbers; they keep their ids where these are stable.
pub fn compact(path: impl AsRef<Path>, open: &OpenOptions, options: &CompactOptions) -> Result<CompactSummary> {
    for _ in 0..ATTEMPTS {
        if let Some(summary) = compact_once(path.as_ref(), open, options)? {
            return Ok(summary);
        }
    }
    let what = format!("others changed the same fragments {ATTEMPTS} times");
    Err(Error::io("target_changed", what).file(path.as_ref().display().to_string()).hint("try again"))
}

/// Neighbouring fragments, and where their rows are in the table.
struct Group {
    fragments: Vec<FragmentSummary>,
    rows: Range<u64>,
}

impl Group {
    /// Whether writing it anew changes anything.
    fn is_worth_it(&self) -> bool {
        self.fragments.len() > 1 || self.fragments.iter().any(many_deleted)
    }
}

fn many_deleted(fragment: &FragmentSummary) -> bool {
    fragment.deleted * 10 > fragment.rows
}

/// What belongs together: runs of fragments that are too small or have many deleted rows.
fn groups(fragments: Vec<FragmentSummary>, rows_per_file: u64) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let (mut first, mut open) = (0, false);
    for fragment in fragments {
        let left = fragment.rows.saturating_sub(fragment.deleted);
        let rows = first..first + left;
        first = rows.end;
        if left >= rows_per_file && !many_deleted(&fragment) {
            open = false;
            continue;
        }
        match groups.last_mut().filter(|_| open) {
            Some(group) => {
                group.rows.end = rows.end;
                group.fragments.push(fragment);
            }
            None => groups.push(Group { fragments: vec![fragment], rows }),
        }
        open = true;
    }
    groups.retain(Group::is_worth_it);
    groups
}

fn compact_once(path: &Path, open: &OpenOptions, options: &CompactOptions) -> Result<Option<CompactSummary>> {
    let committing = Committing { unsafely: options.unsafe_commit, limits: open.read.limits.clone() };
    let versions = Versions::at(path)?;
    let base = versions.newest_base(&committing.limits)?;
    check(&base, options).map_err(|e| e.file(path.display().to_string()))?;
    let mut summary = CompactSummary { version: base.version(), ..CompactSummary::default() };
    let groups = groups(base.fragments()?, options.rows_per_file);
    if groups.is_empty() {
        return Ok(Some(summary));
    }
    let at = DatasetOptions { at: Some(base.version().to_string()), ..DatasetOptions::default() };
    let file = open.open_input(&Input::path_with(path, &at)?)?;
    let mut work = Work { versions: &versions, base: &base, file: &file, options, done: Vec::new() };
    let mut touched = Vec::new();
    for group in &groups {
        summary.fragments_removed += group.fragments.len();
        summary.rows += group.rows.end - group.rows.start;
        summary.rows_dropped += group.fragments.iter().map(|fragment| fragment.deleted).sum::<u64>();
        touched.extend(group.fragments.iter().map(|fragment| fragment.id));
        let rewritten = work.rewrite(group);
        let rewritten = rewritten.inspect_err(|_| discard(&versions.folder, &work.done))?;
        work.done.push(rewritten);
    }
    let done = work.done;
    summary.fragments_added = done.iter().map(|group| group.files.len()).sum();
    let all: Vec<usize> = (0..base.schema().fields().len()).collect();
    let change = Change::Rewrite(base.file_columns(&all)?, done);
    let judge = |base: &Base, now: &Base, seen: Seen| match seen {
        // An index that was made meanwhile knows rows where they were.
        Seen::Rows if now.has_indices() && !options.drop_indices => Verdict::Again,
        Seen::Rows if base.has_same(&touched, now) => Verdict::Follow,
        Seen::Rows | Seen::Columns => Verdict::Again,
        Seen::Everything => Verdict::Refuse,
    };
    let committed = committing.commit(&versions.folder, Some(&base), &change, &judge);
    let certain = match &committed {
        Ok(Committed::Version(_)) => false,
        Ok(Committed::Again) => true,
        Err(error) => matches!(error.code(), "target_changed" | "no_exclusive_create"),
    };
    if let (true, Change::Rewrite(_, done)) = (certain, &change) {
        discard(&versions.folder, done);
    }
    match committed? {
        Committed::Version(version) => Ok(Some(CompactSummary { version, ..summary })),
        Committed::Again => Ok(None),
    }
}

fn check(base: &Base, options: &CompactOptions) -> Result<()> {
    base.check_writable()?;
    base.check_rows_writable()?;
    if !(1..u64::from(u32::MAX)).contains(&options.rows_per_file) {
        return Err(Error::request("bad_rows", format!("data files of {} rows", options.rows_per_file)));
    }
    if base.has_spilled_rows() {
        return Err(Error::unsupported("unknown_feature", "the ids of rows are kept in hidden columns")
            .hint("compact this dataset with pylance"));
    }
    if base.has_indices() && !options.drop_indices {
        return Err(Error::request("has_indices", "the dataset has indices, which name rows by where they are").hint(
            Hint::from("compact it with pylance, which keeps them right")
                .and(Setting::DropIndices.does("gives them up")),
        ));
    }
    Ok(())
}

/// Rows being written anew.
struct Work<'a> {
    versions: &'a Versions,
    base: &'a Base,
    file: &'a OpenFile,
    options: &'a CompactOptions,
    done: Vec<Rewritten>,
}

impl Work<'_> {
    fn rewrite(&self, group: &Group) -> Result<Rewritten> {
        let all: Vec<usize> = (0..self.base.schema().fields().len()).collect();
        let schema = self.base.file_schema(&all);
        let lance = LanceWriteOptions::new().with_version(self.base.file_version()?);
        let size = FileSize { rows: self.options.rows_per_file, ..FileSize::default() };
        let folder = &self.versions.folder;
        let mut files = DataFiles::new(folder, schema.clone(), &lance, &self.options.write, size, Vec::new());
        let mut write = || -> Result<()> {
            let scan = self.file.scan().rows(group.rows.clone()).memory(self.options.write.memory / 2);
            for batch in scan.batches()? {
                let batch = batch?;
                files.write(&batch_of(&schema, batch.columns().to_vec(), batch.num_rows())?)?;
            }
            files.end_file()
        };
        let written = write().and_then(|()| self.lineage(group));
        let mut lineage = written.inspect_err(|_| files.discard())?;
        let with_lineage = |file: &NewFile| {
            let rows = usize::try_from(file.rows).unwrap_or(usize::MAX);
            (file.clone(), lineage.as_mut().map(|all| all.take_first(rows)))
        };
        let files = files.files().iter().map(with_lineage).collect();
        Ok(Rewritten { fragments: group.fragments.iter().map(|fragment| fragment.id).collect(), files })
    }

    /// Which rows they are, if rows have ids.
    fn lineage(&self, group: &Group) -> Result<Option<Lineage>> {
        if !self.base.has_stable_row_ids() {
            return Ok(None);
        }
        let limits = colkit_core::Limits::default();
        let mut all = Lineage::default();
        for fragment in &group.fragments {
            let deleted = deletion_file(self.versions, fragment, &limits)?;
            let deleted = deleted.as_ref().map(|(kind, bytes)| (*kind, bytes.as_ref()));
            all.append(self.base.lineage(fragment.id, deleted, &limits)?);
        }
        Ok(Some(all))
    }
}

fn discard(folder: &Folder, done: &[Rewritten]) {
    for (file, _) in done.iter().flat_map(|group| &group.files) {
        let _ = folder.remove(&format!("data/{}", file.name));
    }
}
