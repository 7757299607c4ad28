//! Files that no version needs: what writers left that were interrupted.

use super::Versions;
use super::folder::Entry;
use colkit_core::{Finding, Limits, Result};
use colkit_lance::dataset::{Base, VERSIONS};
use std::collections::HashSet;
use std::path::Path;

/// Folders of a dataset in which every file belongs to versions.
pub(super) const FOLDERS: [&str; 4] = ["data", "_deletions", "_transactions", "_indices"];

/// Names of files that versions need, by their folders.
pub(super) type Needed = HashSet<(&'static str, String)>;

impl Versions {
    /// The files that some versions need.
    pub(super) fn needed(&self, wanted: impl Fn(u64) -> bool, limits: &Limits) -> Result<Needed> {
        let mut needed = Needed::new();
        for version in self.known.iter().filter(|version| wanted(version.version)) {
            needed.extend(self.base(version, limits)?.needed()?);
        }
        Ok(needed)
    }

    /// The files that versions need which are no part of the history.
    pub(super) fn needed_by_detached(&self, limits: &Limits) -> Result<Needed> {
        let mut needed = Needed::new();
        for name in self.folder.inside(VERSIONS)?.names()? {
            if name.starts_with('d') && name.ends_with(".manifest") {
                let manifest = self.folder.whole(&format!("{VERSIONS}/{name}"), limits)?;
                needed.extend(Base::parse(&manifest, limits).and_then(|base| base.needed()).map_err(|e| e.file(name))?);
            }
        }
        Ok(needed)
    }

    /// The branches, open.
    pub(super) fn branches(&self) -> Result<Vec<Versions>> {
        let mut found = Vec::new();
        for file in self.folder.inside("_refs/branches")?.names()? {
            let Some(name) = file.strip_suffix(".json") else { continue };
            found.extend(self.branch(&name.replace("%2F", "/"))?);
        }
        Ok(found)
    }
}

/// Whether a file is among those that are needed. Blobs belong to the data file beside them, files of an index to its folder.
pub(super) fn is_needed(needed: &Needed, folder: &'static str, entry: &Entry) -> bool {
    let Some((first, _)) = entry.name.split_once('/') else {
        return needed.contains(&(folder, entry.name.clone()));
    };
    let owner = if folder == "data" { format!("{first}.lance") } else { first.to_owned() };
    needed.contains(&(folder, owner))
}

/// The files of the dataset of a manifest that no version of it needs, as findings.
pub(crate) fn strays(manifest: &Path) -> Result<Vec<Finding>> {
    let text = manifest.to_string_lossy();
    let Some((root, _)) = text.rsplit_once("/_versions/") else { return Ok(Vec::new()) };
    let (versions, limits) = (Versions::at(Path::new(root))?, Limits::default());
    let mut needed = versions.needed(|_| true, &limits)?;
    needed.extend(versions.needed_by_detached(&limits)?);
    for branch in versions.branches()? {
        needed.extend(branch.needed(|_| true, &limits)?);
    }
    let mut findings = Vec::new();
    for folder in FOLDERS {
        for entry in versions.folder.entries(folder)?.iter().filter(|entry| !is_needed(&needed, folder, entry)) {
            let message =
                format!("{} bytes that no version needs, perhaps of a writer that was interrupted", entry.bytes);
            findings.push(Finding { part: format!("{folder}/{}", entry.name), message });
        }
    }
    findings.sort_by(|a, b| a.part.cmp(&b.part));
    Ok(findings)
}
