//! Tags: names for versions.

use super::commit::numbered;
use super::{Versions, no_such};
use bytes::Bytes;
use colkit_core::{Error, Result, Setting};
use colkit_lance::dataset::{VERSIONS, is_reference};
use std::path::Path;

/// A tag of the main line.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tag {
    /// Its name.
    pub name: String,
    /// The version that it stands for.
    pub version: u64,
}

/// The tags of the dataset at a path or URL, by their names.
pub fn tags(path: impl AsRef<Path>) -> Result<Vec<Tag>> {
    let found = Versions::at(path.as_ref())?.references("_refs/tags", "version")?;
    Ok(found.into_iter().map(|(name, version)| Tag { name, version }).collect())
}

/// Names a version of the main line; `None` is the newest. A tag that is there stays, unless it may be moved.
pub fn set_tag(path: impl AsRef<Path>, name: &str, version: Option<u64>, move_it: bool) -> Result<Tag> {
    let versions = Versions::at(path.as_ref())?;
    let named = |e: Error| e.file(versions.folder.name());
    if !is_reference(name) || name.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(named(Error::request("bad_reference", format!("{name:?} cannot be the name of a tag")))
            .hint("letters, digits, points, - and _ can; points not at the ends nor next to one another; digits alone are a version"));
    }
    let known = match version {
        Some(version) => numbered(&versions, version)?,
        None => versions.known.last().ok_or_else(|| Error::internal("a dataset without versions"))?,
    };
    let size = versions.folder.source(&format!("{VERSIONS}/{}", known.name))?.size();
    let text = format!("{{\"branch\":null,\"version\":{},\"manifestSize\":{size}}}", known.version);
    let (file, bytes) = (format!("_refs/tags/{name}.json"), Bytes::from(text));
    if move_it {
        versions.folder.replace(&file, &bytes)?;
    } else if versions.folder.small_file(&file)?.is_some() || !versions.folder.put_new(&file, &bytes, true)? {
        return Err(named(Error::request("already_exists", format!("there is a tag {name:?}")))
            .hint(Setting::Overwrite.does("moves it")));
    }
    Ok(Tag { name: name.to_owned(), version: known.version })
}

/// Removes a tag. The version stays.
pub fn remove_tag(path: impl AsRef<Path>, name: &str) -> Result<()> {
    let versions = Versions::at(path.as_ref())?;
    let file = format!("_refs/tags/{name}.json");
    if !is_reference(name) || versions.folder.small_file(&file)?.is_none() {
        return Err(no_such(name, "there is no tag of that name").file(versions.folder.name()));
    }
    versions.folder.remove(&file)
}
