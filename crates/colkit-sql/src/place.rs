//! Which files a name stands for: a path, a pattern such as `part-*.csv`, a folder, or a URL of any of these.

use crate::error::{external, plain};
use crate::parts::PlaceParts;
use colkit::{Error, Input};
use colkit_core::drive::object_path;
use datafusion::catalog::Session;
use datafusion::datasource::listing::ListingTableUrl;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::object_store::ObjectStoreUrl;
use futures::{StreamExt, TryStreamExt};
use object_store::{ObjectMeta, ObjectStore};
use std::path::{Path, PathBuf};
use url::Url;

/// Files of one table at most. A store could name new ones for ever.
const MOST_FILES: usize = 1 << 20;

/// What the names of folders say: `year=2024` is a pair; a key that is null has no value.
pub(crate) type Keys = Vec<(String, Option<String>)>;

/// A name, and what kind of place it is.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    name: String,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    /// Files of this machine, which need not have names that stores know.
    Local(PathBuf),
    /// Objects of a store: one or, of a folder, those that fit the parts of a pattern.
    Objects(Box<ListingTableUrl>, Vec<Vec<u8>>),
}

/// A file of a table.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub object: ObjectMeta,
    pub keys: Keys,
    /// Its path or URL.
    pub path: PathBuf,
}

impl Place {
    /// What a name stands for. A dataset stands for the manifest of its version.
    pub async fn of(name: &str, state: &dyn Session) -> Result<Self> {
        let place = |kind| Ok(Place { name: name.to_owned(), kind });
        if !name.contains("://") {
            return place(Kind::Local(name.into()));
        }
        if let Some(path) = local_path(name) {
            return place(Kind::Local(path));
        }
        // What is an object need not be looked for as a dataset.
        let manifest = || colkit::dataset_manifest(name).map_err(external);
        let found = if name.ends_with('/') { manifest()? } else { None };
        let (url, pattern) = location(found.as_deref().unwrap_or(name))?;
        if !url.is_collection() && found.is_none() {
            let store = state.runtime_env().object_store(&url)?;
            let objects = list(&url, &pattern, state, store.as_ref(), name).await?;
            let is_object = objects.first().is_some_and(|o| o.location == *url.prefix());
            if !is_object && let Some(manifest) = manifest()? {
                return place(Kind::Objects(Box::new(location(&manifest)?.0), Vec::new()));
            }
        }
        place(Kind::Objects(Box::new(url), pattern))
    }

    /// The place as another process can be told of it.
    pub fn parts(&self) -> PlaceParts {
        match &self.kind {
            Kind::Local(path) => PlaceParts::Local(std::path::absolute(path).unwrap_or_else(|_| path.clone())),
            Kind::Objects(url, pattern) => PlaceParts::Objects(url.as_str().to_owned(), pattern.clone()),
        }
    }

    /// The place that another process told of.
    pub fn of_parts(name: String, parts: PlaceParts) -> colkit::Result<Self> {
        let kind = match parts {
            PlaceParts::Local(path) => Kind::Local(path),
            PlaceParts::Objects(url, pattern) => {
                let location = Url::parse(&url).map_err(|e| DataFusionError::External(Box::new(e)));
                let location = location.and_then(|url| ListingTableUrl::try_new(url, None)).map_err(|e| plain(&e))?;
                Kind::Objects(Box::new(location), pattern)
            }
        };
        Ok(Place { name, kind })
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The store that has the files.
    pub fn store(&self) -> ObjectStoreUrl {
        match &self.kind {
            Kind::Local(_) => ObjectStoreUrl::local_filesystem(),
            Kind::Objects(url, _) => url.object_store(),
        }
    }

    /// The files as they are now, in the order of their names.
    pub async fn list(&self, state: &dyn Session) -> Result<Vec<Found>> {
        let mut found = match &self.kind {
            Kind::Local(path) => local_files(path).map_err(external)?,
            Kind::Objects(url, pattern) => {
                let store = state.runtime_env().object_store(url.as_ref())?;
                objects(url, pattern, list(url, pattern, state, store.as_ref(), &self.name).await?)
            }
        };
        if found.is_empty() {
            let is_folder = matches!(&self.kind, Kind::Objects(url, _) if url.is_collection());
            let what = if is_folder { "no files are there" } else { "there is no such file, or it is empty" };
            return Err(external(Error::io("not_found", what).file(self.name.clone())));
        }
        // Folders that do not all have the same keys say nothing.
        let names = |file: &Found| file.keys.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
        let first = found.first().map(names).unwrap_or_default();
        if found.iter().any(|file| names(file) != first) {
            found.iter_mut().for_each(|file| file.keys.clear());
        }
        Ok(found)
    }
}

/// The path that a URL of a local file is another way to write. Patterns stay URLs.
fn local_path(name: &str) -> Option<PathBuf> {
    let is_pattern = name.contains(['*', '?', '[']);
    let url = Url::parse(name).ok().filter(|url| url.scheme() == "file" && !is_pattern)?;
    url.to_file_path().ok()
}

/// The files of this machine that a path stands for.
fn local_files(path: &Path) -> colkit::Result<Vec<Found>> {
    let manifest = |path: &Path| path.to_str().map_or(Ok(None), colkit::dataset_manifest);
    if let Some(manifest) = manifest(path)? {
        return Ok(local_file(manifest.into(), Vec::new())?.into_iter().collect());
    }
    let mut found = Vec::new();
    for file in Input::list_with_keys(path)? {
        let path = if file.path.is_dir() { manifest(&file.path)?.map(PathBuf::from) } else { Some(file.path) };
        if let Some(path) = path {
            found.extend(local_file(path, file.keys)?);
        }
    }
    Ok(found)
}

/// A file, unless it is not there or empty.
fn local_file(path: PathBuf, keys: Keys) -> colkit::Result<Option<Found>> {
    let about = match std::fs::metadata(&path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        about => about.map_err(|e| Error::from(e).file(path.display().to_string()))?,
    };
    if about.len() == 0 {
        return Ok(None);
    }
    let object = ObjectMeta {
        location: object_path(&path)?,
        last_modified: about.modified()?.into(),
        size: about.len(),
        e_tag: None,
        version: None,
    };
    Ok(Some(Found { object, keys, path }))
}

/// The objects of a table: of a folder, which may hold other things beside it, those of one kind.
fn objects(url: &ListingTableUrl, pattern: &[Vec<u8>], mut listed: Vec<ObjectMeta>) -> Vec<Found> {
    // Listings come in any order; tables have their columns in one.
    listed.sort_by(|a, b| a.location.cmp(&b.location));
    if url.is_collection() && pattern.is_empty() {
        let files = listed.iter().map(|f| Path::new(f.location.as_ref()));
        let extension = colkit::Registry::default().extension_of_folder(files);
        let extension = extension.map(|extension| format!(".{extension}")).unwrap_or_default();
        listed.retain(|f| f.location.as_ref().ends_with(&extension));
    }
    let depth = url.is_collection().then(|| url.prefix().parts().count());
    let found = |object: ObjectMeta| {
        let parts: Vec<_> = object.location.parts().collect();
        let folders = depth.and_then(|depth| parts.get(depth..parts.len().saturating_sub(1))).unwrap_or_default();
        let keys = folders.iter().filter_map(|folder| colkit::key_of_folder(folder.as_ref())).collect();
        let path = format!("{}{}", url.object_store().as_str(), object.location).into();
        Found { object, keys, path }
    };
    listed.into_iter().map(found).collect()
}

/// The objects that a URL stands for: itself, or those of a folder that fit a pattern.
async fn list(
    url: &ListingTableUrl,
    pattern: &[Vec<u8>],
    state: &dyn Session,
    store: &dyn ObjectStore,
    name: &str,
) -> Result<Vec<ObjectMeta>> {
    let depth = url.prefix().parts().count();
    let is_part = |object: &ObjectMeta| {
        let parts: Vec<_> = object.location.parts().skip(depth).collect();
        let names: Vec<&[u8]> = parts.iter().map(|part| part.as_ref().as_bytes()).collect();
        !url.is_collection() || colkit::is_of_table(pattern, &names)
    };
    let mut listed = match url.is_collection() {
        true => store.list(Some(url.prefix())).map_err(DataFusionError::from).boxed(),
        false => url.list_all_files(state, store, "").await?,
    };
    let mut found = Vec::new();
    while let Some(object) = listed.try_next().await? {
        if found.len() > MOST_FILES {
            let limit = Error::limit("the list of files", "more", MOST_FILES);
            return Err(external(limit.file(name).hint("name fewer files")));
        }
        if object.size > 0 && is_part(&object) {
            found.push(object);
        }
    }
    Ok(found)
}

/// What a URL stands for. A pattern begins with the first part of the path that has a wildcard in it.
fn location(name: &str) -> Result<(ListingTableUrl, Vec<Vec<u8>>)> {
    if !name.contains("://") {
        // The manifest of a dataset on this machine.
        let url = std::path::absolute(name).ok().and_then(|path| Url::from_file_path(path).ok());
        let url = url.ok_or_else(|| DataFusionError::Configuration(format!("{name} is no path")))?;
        return Ok((ListingTableUrl::try_new(url, None)?, Vec::new()));
    }
    let Some(wildcard) = name.find(['*', '?', '[']) else { return Ok((ListingTableUrl::parse(name)?, Vec::new())) };
    let start = name.get(..wildcard).and_then(|before| before.rfind('/')).map_or(0, |slash| slash + 1);
    let (folder, pattern) = name.split_at(start);
    let pattern = pattern.split('/').filter(|part| !part.is_empty()).map(|part| part.as_bytes().to_vec()).collect();
    Ok((ListingTableUrl::parse(folder)?, pattern))
}
