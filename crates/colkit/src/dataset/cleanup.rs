//! Removing old versions, and the files that only they need.

use super::Versions;
use super::stray::{FOLDERS, Needed, is_needed};
use colkit_core::{Limits, Result};
use colkit_lance::dataset::VERSIONS;
use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Files that no version ever needed may be of a writer that is still at work, unless they are as old as this.
const GRACE: Duration = Duration::from_secs(7 * 24 * 3600);

/// A file that can be removed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Removable {
    /// Its name in the dataset.
    pub name: String,
    /// Its length.
    pub bytes: u64,
}

/// What can be removed of a dataset.
pub struct Cleanup {
    versions: Versions,
    old: BTreeSet<u64>,
    files: Vec<Removable>,
}

/// What can be removed of the dataset at a path or URL: versions that are older than `age`, and files that only they need or
/// that nobody has needed for a week. The newest version stays, those with tags, and those that branches begin with. Nothing
/// is removed before [`Cleanup::remove`].
pub fn cleanup(path: impl AsRef<Path>, age: Duration) -> Result<Cleanup> {
    let limits = Limits::default();
    let versions = Versions::at(path.as_ref())?;
    // What is not known here may need files in ways that are not known either.
    versions.newest_base(&limits)?.check_writable().map_err(|e| e.file(path.as_ref().display().to_string()))?;
    let now = SystemTime::now();
    let oldest_kept = now.checked_sub(age).unwrap_or(UNIX_EPOCH);
    let kept_before = i128::try_from(oldest_kept.duration_since(UNIX_EPOCH).map_or(0, |d| d.as_nanos())).unwrap_or(0);
    let mut named: BTreeSet<u64> = versions.known.last().map(|version| version.version).into_iter().collect();
    named.extend(versions.references("_refs/tags", "version")?.into_iter().map(|(_, version)| version));
    named.extend(versions.references("_refs/branches", "parentVersion")?.into_iter().map(|(_, version)| version));
    let mut old = BTreeSet::new();
    let (mut needed, mut once) = (versions.needed_by_detached(&limits)?, Needed::new());
    for version in &versions.known {
        let base = versions.base(version, &limits)?;
        let is_old = base.time().is_some_and(|time| time < kept_before) && !named.contains(&version.version);
        if is_old {
            old.insert(version.version);
            once.extend(base.needed()?);
        } else {
            needed.extend(base.needed()?);
        }
    }
    for branch in versions.branches()? {
        needed.extend(branch.needed(|_| true, &limits)?);
    }
    let mut files = Vec::new();
    for folder in FOLDERS.into_iter().chain([VERSIONS]) {
        versions.folder.check_no_link(&format!("{folder}/file"))?;
    }
    for folder in FOLDERS {
        for entry in versions.folder.entries(folder)? {
            let unused_long = now.duration_since(entry.modified).is_ok_and(|age| age > GRACE);
            if !is_needed(&needed, folder, &entry) && (is_needed(&once, folder, &entry) || unused_long) {
                files.push(Removable { name: format!("{folder}/{}", entry.name), bytes: entry.bytes });
            }
        }
    }
    // Manifests go first: a version that is named has all its files.
    let mut manifests = Vec::new();
    for version in versions.known.iter().filter(|version| old.contains(&version.version)) {
        let name = format!("{VERSIONS}/{}", version.name);
        let bytes = versions.folder.source(&name)?.size();
        manifests.push(Removable { name, bytes });
    }
    files.sort_by(|a, b| a.name.cmp(&b.name));
    manifests.extend(files);
    Ok(Cleanup { versions, old, files: manifests })
}

impl Cleanup {
    /// The versions that can be removed.
    pub fn versions(&self) -> impl Iterator<Item = u64> {
        self.old.iter().copied()
    }

    /// The files that can be removed, in the order in which they will be.
    pub fn files(&self) -> &[Removable] {
        &self.files
    }

    /// Removes them; returns how many bytes they had.
    pub fn remove(self) -> Result<u64> {
        for file in &self.files {
            self.versions.folder.remove(&file.name)?;
        }
        Ok(self.files.iter().map(|file| file.bytes).sum())
    }
}
