//! Datasets: which manifest a folder stands for.
//!
//! A dataset is read through the manifest of one version: the newest, or the one that is asked for by its number, by a tag, by
//! a branch or by a time. Formats do no I/O, so folders are listed here.

mod cleanup;
mod commit;
mod compact;
mod data_files;
mod delete;
mod fit;
mod folder;
mod options;
mod random;
mod restore;
mod stray;
mod tags;
mod write;

use crate::place::Place;
#[cfg(feature = "object-store")]
use colkit_core::Class;
use colkit_core::drive::blocking;
use colkit_core::{Error, FolderSource, Limits, Objects, Result, Source};
use colkit_lance::dataset::{self, Base, Reference, VERSIONS, VersionName, VersionSummary};
#[cfg(feature = "object-store")]
use colkit_store::{Location, Stores};
use folder::Folder;
use std::path::Path;
use std::sync::Arc;

pub use cleanup::{Cleanup, Removable, cleanup};
pub use compact::{CompactOptions, CompactSummary, compact};
pub use delete::{DeleteSummary, delete_rows};
pub use options::{DatasetMode, DatasetWriteOptions};
pub use restore::restore;
pub(crate) use stray::strays;
pub use tags::{Tag, remove_tag, set_tag, tags};
pub use write::{DatasetSummary, write_dataset};

/// A version of a dataset that has been found.
pub(crate) struct Found {
    pub name: String,
    pub source: Arc<dyn Source>,
    pub objects: Objects,
    /// The path or URL of the manifest.
    pub manifest: String,
}

/// A folder with versions of a dataset.
pub(crate) struct Versions {
    folder: Folder,
    known: Vec<VersionName>,
}

impl Versions {
    /// The versions in a folder; `None` if it is no dataset.
    pub fn of(folder: Folder) -> Result<Option<Self>> {
        let names = folder.inside(VERSIONS)?.names()?;
        let known = dataset::versions(&names).map_err(|e| e.file(folder.name()))?;
        Ok((!known.is_empty()).then_some(Versions { folder, known }))
    }

    /// The versions of the dataset at a path or URL.
    pub fn at(path: &Path) -> Result<Self> {
        Versions::of(Folder::at(path)?)?.ok_or_else(|| {
            Error::request("no_such_version", "this is not a dataset: it has no manifests in a folder _versions")
                .file(path.display().to_string())
        })
    }

    /// The newest version, to make the next one of.
    pub fn newest_base(&self, limits: &Limits) -> Result<Base> {
        let newest = self.known.last().ok_or_else(|| Error::internal("a dataset without versions"))?;
        self.base(newest, limits)
    }

    /// A version, to make the next one of.
    pub fn base(&self, version: &VersionName, limits: &Limits) -> Result<Base> {
        let manifest = format!("{VERSIONS}/{}", version.name);
        let named = |e: Error| match e.code() {
            "not_found" => gone(version.version).file(self.folder.name()),
            _ => e.file(format!("{}/{manifest}", self.folder.name())),
        };
        let base = self.folder.whole(&manifest, limits).and_then(|bytes| Base::parse(&bytes, limits)).map_err(named)?;
        if base.version() != version.version {
            let what = format!("the manifest is of version {}, its name says {}", base.version(), version.version);
            return Err(named(Error::corrupt("bad_dataset", what)));
        }
        Ok(base)
    }

    /// The version that is asked for, or the newest.
    pub fn find(self, at: Option<&str>, moved: &[(String, String)]) -> Result<Found> {
        let name = self.folder.name();
        let found = self.pick(at).map_err(|e| e.file(name.clone()))?;
        let (folder, version) = found.ok_or_else(|| Error::internal("a dataset without versions").file(name))?;
        let manifest = format!("{VERSIONS}/{}", version.name);
        let objects = Objects::inside_moved(folder.name(), moved.to_vec());
        let source = folder.open(&manifest, objects.clone()).map_err(|e| match e.code() {
            "not_found" => gone(version.version).file(folder.name()),
            _ => e,
        })?;
        let manifest = folder.inside(&manifest)?.name();
        Ok(Found { name: folder.name(), source, objects, manifest })
    }

    fn pick(self, at: Option<&str>) -> Result<Option<(Folder, VersionName)>> {
        let Some(at) = at else { return Ok(self.newest()) };
        if let Ok(number) = at.parse::<u64>() {
            return self.numbered(number).map(Some);
        }
        if is_reference(at) {
            let escaped = at.replace('/', "%2F");
            if let Some(tag) = self.folder.small_file(&format!("_refs/tags/{escaped}.json"))? {
                let Reference { branch, version } =
                    Reference::parse(&tag, "version").map_err(|e| e.part(format!("tag {at}")))?;
                let place = match branch {
                    Some(branch) => self.branch(&branch)?,
                    None => Some(self),
                };
                return place.ok_or_else(|| no_such(at, "its branch is missing"))?.numbered(version).map(Some);
            }
            if let Some(branch) = self.branch(at)? {
                return Ok(branch.newest());
            }
        }
        let Some(time) = dataset::parse_time(at) else {
            return Err(no_such(at, "there is no version, tag or branch of that name, and it is no time")
                .hint("name a version by its number, a tag, a branch, or a time such as 2026-11-17T06:00:00Z"));
        };
        for version in self.known.iter().rev() {
            if self.summary(version)?.time.is_some_and(|committed| committed <= time) {
                return Ok(Some((self.folder, version.clone())));
            }
        }
        Err(no_such(at, "no version is as old as that"))
    }

    fn newest(mut self) -> Option<(Folder, VersionName)> {
        Some((self.folder, self.known.pop()?))
    }

    fn numbered(self, number: u64) -> Result<(Folder, VersionName)> {
        let (first, last) = (self.known.first().map_or(0, |v| v.version), self.known.last().map_or(0, |v| v.version));
        match self.known.into_iter().find(|v| v.version == number) {
            Some(found) => Ok((self.folder, found)),
            None => Err(no_such(&number.to_string(), &format!("there are versions from {first} to {last}"))),
        }
    }

    fn branch(&self, name: &str) -> Result<Option<Versions>> {
        Versions::of(self.folder.inside(&format!("tree/{name}"))?)
    }

    fn summary(&self, version: &VersionName) -> Result<VersionSummary> {
        let manifest = format!("{VERSIONS}/{}", version.name);
        let read = || {
            let source = self.folder.source(&manifest)?;
            blocking::run(VersionSummary::read(source.size()), source.as_ref())
        };
        read().map_err(|e| e.file(format!("{}/{manifest}", self.folder.name())))
    }
}

fn no_such(at: &str, why: &str) -> Error {
    Error::request("no_such_version", format!("there is no version {at}: {why}"))
}

fn gone(version: u64) -> Error {
    Error::request("no_such_version", format!("version {version} no longer exists"))
        .hint("somebody has removed old versions; the newest can be read")
}

/// Whether a name can be that of a tag or branch: letters, digits and a few signs.
fn is_reference(name: &str) -> bool {
    let known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '/');
    name.chars().all(known) && name.split('/').all(|part| !part.is_empty() && !part.starts_with('.'))
}

/// The dataset that a path is: a folder, or the manifest of a version.
pub(crate) fn local(path: &Path, at: Option<&str>, moved: &[(String, String)]) -> Result<Option<Found>> {
    if path.is_dir() {
        let Some(versions) = Versions::of(Folder::Local(path.to_path_buf()))? else { return Ok(None) };
        return versions.find(at, moved).map(Some);
    }
    let (Some(name), Some(folder)) = (path.file_name().and_then(|n| n.to_str()), path.parent()) else {
        return Ok(None);
    };
    if folder.ends_with(VERSIONS) && dataset::is_manifest(name) {
        let root = folder.parent().unwrap_or(Path::new(""));
        let objects = Objects::inside_moved(root.display().to_string(), moved.to_vec());
        let source = Arc::new(FolderSource::open(path, root, objects.clone())?);
        let name = path.display().to_string();
        return Ok(Some(Found { manifest: name.clone(), name, source, objects }));
    }
    // `trips.lance@3` is a version of `trips.lance`, unless there is a file of that name.
    let versioned = name.rsplit_once('@').filter(|_| at.is_none() && !path.exists());
    match versioned.map(|(name, at)| (path.with_file_name(name), at)) {
        Some((folder, at)) if folder.is_dir() => local(&folder, Some(at), moved),
        _ => Ok(None),
    }
}

/// The dataset that a prefix in a store is. A store that cannot be listed has none.
#[cfg(feature = "object-store")]
pub(crate) fn remote(location: &Location, at: Option<&str>, moved: &[(String, String)]) -> Result<Option<Found>> {
    let versions = match Versions::of(Folder::Store(location.clone())) {
        Err(error) if error.class() == Class::Io => return Ok(None),
        versions => versions?,
    };
    match (versions, location.url.as_str().rsplit_once('@')) {
        (Some(versions), _) => versions.find(at, moved).map(Some),
        (None, Some((folder, version))) if at.is_none() && !version.contains('/') => {
            remote(&Stores::shared().locate(folder)?, Some(version), moved)
        }
        (None, _) => Ok(None),
    }
}

/// The manifest that a name stands for, if it is that of a dataset. Other folders and patterns are somebody else's.
pub(crate) fn manifest(name: &str) -> Result<Option<String>> {
    let found = match Place::of(Path::new(name))? {
        #[cfg(feature = "object-store")]
        Place::Object(_) if name.contains(['*', '?', '[']) => None,
        #[cfg(feature = "object-store")]
        Place::Object(location) => remote(&location, None, &[])?,
        Place::File(path) if path.is_dir() => {
            let versions = Versions::of(Folder::Local(path.into_owned()))?;
            versions.map(|versions| versions.find(None, &[])).transpose()?
        }
        Place::File(path) => local(&path, None, &[])?,
    };
    Ok(found.map(|found| found.manifest))
}

/// A version of a dataset.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DatasetVersion {
    /// Its number.
    pub version: u64,
    /// When it was committed, as ISO 8601.
    pub time: Option<String>,
    /// What made it: `append`, `delete`, ...
    pub operation: Option<&'static str>,
    /// Rows.
    pub rows: u64,
    /// Rows that the version before does not have; not known if there is none.
    pub added: Option<u64>,
    /// Rows that only the version before has.
    pub removed: Option<u64>,
    /// Fragments.
    pub fragments: usize,
    /// The library that wrote it, and its version.
    pub writer: Option<String>,
    /// Tags that point to it.
    pub tags: Vec<String>,
    /// Branches that begin with it.
    pub branches: Vec<String>,
}

/// Whether there is a dataset at a path or URL.
pub fn is_dataset(path: impl AsRef<Path>) -> Result<bool> {
    Ok(Versions::of(Folder::at(path.as_ref())?)?.is_some())
}

/// The versions of the dataset at a path or URL, the oldest first.
pub fn versions(path: impl AsRef<Path>) -> Result<Vec<DatasetVersion>> {
    let path = path.as_ref();
    let versions = Versions::at(path)?;
    let tags = versions.references("_refs/tags", "version")?;
    let branches = versions.references("_refs/branches", "parentVersion")?;
    let named = |names: &[(String, u64)], version: u64| -> Vec<String> {
        names.iter().filter(|(_, v)| *v == version).map(|(name, _)| name.clone()).collect()
    };
    let mut listed: Vec<DatasetVersion> = Vec::with_capacity(versions.known.len());
    let mut before: Option<VersionSummary> = None;
    for known in &versions.known {
        let summary = versions.summary(known)?;
        // What was between is not known if versions were removed.
        let before = before.replace(summary.clone()).filter(|b| b.version.checked_add(1) == Some(summary.version));
        let changes = before.map(|before| summary.changes(&before));
        listed.push(DatasetVersion {
            version: summary.version,
            time: summary.time.and_then(dataset::shown_time),
            operation: versions.operation(&summary)?,
            rows: summary.rows(),
            added: changes.map(|(added, _)| added),
            removed: changes.map(|(_, removed)| removed),
            fragments: summary.fragments(),
            tags: named(&tags, summary.version),
            branches: named(&branches, summary.version),
            writer: summary.writer,
        });
    }
    Ok(listed)
}

impl Versions {
    /// The names in a folder of references, and the versions of the main line that they point to.
    fn references(&self, folder: &str, key: &str) -> Result<Vec<(String, u64)>> {
        let mut found = Vec::new();
        for file in self.folder.inside(folder)?.names()? {
            let Some(name) = file.strip_suffix(".json") else { continue };
            let Some(bytes) = self.folder.small_file(&format!("{folder}/{file}"))? else { continue };
            let part = |e: Error| e.part(format!("{folder}/{file}")).file(self.folder.name());
            let Reference { branch, version } = Reference::parse(&bytes, key).map_err(part)?;
            if branch.is_none() {
                found.push((name.replace("%2F", "/"), version));
            }
        }
        found.sort();
        Ok(found)
    }

    /// What made a version: the manifest says it, or the file of the transaction.
    fn operation(&self, summary: &VersionSummary) -> Result<Option<&'static str>> {
        let Some(file) = summary.transaction_file.as_deref().filter(|_| summary.operation.is_none()) else {
            return Ok(summary.operation);
        };
        let transaction = self.folder.small_file(&format!("_transactions/{file}"))?;
        Ok(transaction.and_then(|bytes| dataset::operation(&bytes)))
    }
}
