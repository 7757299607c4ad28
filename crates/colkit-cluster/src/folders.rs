//! Which files of this machine a process may read and write for others.

use colkit::{Error, Result};
use object_store::local::LocalFileSystem;
use object_store::path::Path as ObjectPath;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore, PutMultipartOptions,
    PutOptions, PutPayload, PutResult,
};
use std::fmt;
use std::path::{Path, PathBuf};
use url::Url;

/// The folders that a process was given. Without any, no file of the machine may be touched.
#[derive(Clone, Debug, Default)]
pub struct Folders {
    inside: Vec<PathBuf>,
}

impl Folders {
    /// These folders, with all that is in them.
    pub fn new(folders: impl IntoIterator<Item = impl AsRef<Path>>) -> Result<Self> {
        let mut inside = Vec::new();
        for folder in folders {
            let named = |e: std::io::Error| Error::from(e).file(folder.as_ref().display().to_string());
            inside.push(folder.as_ref().canonicalize().map_err(named)?);
        }
        Ok(Folders { inside })
    }

    /// Fails unless a path or URL is inside of a folder, or in a store.
    pub fn check_place(&self, place: &str) -> Result<()> {
        match Url::parse(place) {
            Ok(url) if url.scheme() == "file" => {
                let outside = |()| Error::request("outside_folders", "this URL names no file").file(place);
                self.check(&url.to_file_path().map_err(outside)?)
            }
            _ if colkit_store::is_url(place) => Ok(()),
            _ => self.check(Path::new(place)),
        }
    }

    /// Fails unless the path is inside of a folder, wherever links lead.
    pub fn check(&self, path: &Path) -> Result<()> {
        let real = real_path(path);
        match real.is_some_and(|real| self.inside.iter().any(|folder| real.starts_with(folder))) {
            true => Ok(()),
            false => {
                let what = "this process of the cluster was not given the folder that the file is in";
                Err(Error::request("outside_folders", what).file(path.display().to_string()))
            }
        }
    }
}

/// The path without links and `..`; what does not exist yet is taken as it is written below what does.
fn real_path(path: &Path) -> Option<PathBuf> {
    let absolute = std::path::absolute(path).ok()?;
    let mut missing = Vec::new();
    let mut there = absolute.as_path();
    loop {
        if let Ok(real) = there.canonicalize() {
            return Some(missing.iter().rev().fold(real, |path, name| path.join(name)));
        }
        // A link that leads nowhere could be made to lead elsewhere.
        if there.is_symlink() {
            return None;
        }
        missing.push(there.file_name()?.to_owned());
        there = there.parent()?;
    }
}

/// The files of this machine, but only those in folders that were given.
#[derive(Debug)]
pub(crate) struct LocalFiles {
    folders: Folders,
    files: LocalFileSystem,
}

impl LocalFiles {
    pub fn new(folders: Folders) -> Self {
        LocalFiles { folders, files: LocalFileSystem::new() }
    }

    fn check(&self, location: &ObjectPath) -> object_store::Result<()> {
        let path = self.files.path_to_filesystem(location)?;
        self.folders.check(&path).map_err(|e| object_store::Error::PermissionDenied {
            path: path.display().to_string(),
            source: Box::new(e),
        })
    }
}

impl fmt::Display for LocalFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.files.fmt(f)
    }
}

#[async_trait::async_trait]
impl ObjectStore for LocalFiles {
    async fn put_opts(
        &self,
        location: &ObjectPath,
        payload: PutPayload,
        options: PutOptions,
    ) -> object_store::Result<PutResult> {
        self.check(location)?;
        self.files.put_opts(location, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        location: &ObjectPath,
        options: PutMultipartOptions,
    ) -> object_store::Result<Box<dyn MultipartUpload>> {
        self.check(location)?;
        self.files.put_multipart_opts(location, options).await
    }

    async fn get_opts(&self, location: &ObjectPath, options: GetOptions) -> object_store::Result<GetResult> {
        self.check(location)?;
        self.files.get_opts(location, options).await
    }

    /// Nothing is removed for others.
    fn delete_stream(
        &self,
        locations: futures::stream::BoxStream<'static, object_store::Result<ObjectPath>>,
    ) -> futures::stream::BoxStream<'static, object_store::Result<ObjectPath>> {
        use futures::StreamExt;
        locations.map(|location| location.and_then(|path| Err(not_for_others(&path)))).boxed()
    }

    fn list(
        &self,
        prefix: Option<&ObjectPath>,
    ) -> futures::stream::BoxStream<'static, object_store::Result<ObjectMeta>> {
        use futures::StreamExt;
        let root = ObjectPath::default();
        match self.check(prefix.unwrap_or(&root)) {
            Ok(()) => self.files.list(prefix),
            Err(error) => futures::stream::once(async { Err(error) }).boxed(),
        }
    }

    async fn list_with_delimiter(&self, prefix: Option<&ObjectPath>) -> object_store::Result<ListResult> {
        self.check(prefix.unwrap_or(&ObjectPath::default()))?;
        self.files.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, _: &ObjectPath, to: &ObjectPath, _: CopyOptions) -> object_store::Result<()> {
        Err(not_for_others(to))
    }
}

fn not_for_others(path: &ObjectPath) -> object_store::Error {
    let source = Error::request("outside_folders", "files are neither removed nor copied for others");
    object_store::Error::PermissionDenied { path: path.to_string(), source: Box::new(source) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::StreamExt;
    use object_store::ObjectStoreExt;

    #[test]
    fn only_what_is_inside_may_be_touched() {
        let folder = tempfile::tempdir().unwrap();
        let (given, other) = (folder.path().join("given"), folder.path().join("other"));
        std::fs::create_dir(&given).unwrap();
        std::fs::create_dir(&other).unwrap();
        std::fs::write(other.join("secret"), "x").unwrap();
        std::os::unix::fs::symlink(other.join("secret"), given.join("link")).unwrap();
        std::os::unix::fs::symlink(other.join("not yet"), given.join("dangling")).unwrap();
        let folders = Folders::new([&given]).unwrap();
        assert!(folders.check(&given).is_ok());
        assert!(folders.check(&given.join("new/file")).is_ok());
        for bad in ["link", "dangling", "../other/secret", "new/../../other/secret"] {
            let error = folders.check(&given.join(bad)).unwrap_err();
            assert_eq!(error.code(), "outside_folders", "{bad}");
        }
        assert!(folders.check(&folder.path().join("given-too")).is_err());
        assert!(Folders::default().check(&given).is_err());
        let file = |path: &str| format!("{path}{}", given.display());
        assert!(folders.check_place(&file("file://")).is_ok() && folders.check_place(&file("")).is_ok());
        for bad in ["file://{}/%2e%2e/other/secret", "FILE://{}/../other/secret", "File:{}/link", "{}/../other/secret"]
        {
            assert!(folders.check_place(&bad.replace("{}", &given.display().to_string())).is_err(), "{bad}");
        }
        assert!(folders.check_place("s3://bucket/x.lance").is_ok());
        assert!(Folders::new([folder.path().join("missing")]).is_err());
    }

    #[tokio::test]
    async fn the_store_of_local_files_keeps_to_them() {
        let folder = tempfile::tempdir().unwrap();
        let given = folder.path().join("given");
        std::fs::create_dir(&given).unwrap();
        std::fs::write(given.join("a"), "inside").unwrap();
        std::fs::write(folder.path().join("b"), "outside").unwrap();
        let store = LocalFiles::new(Folders::new([&given]).unwrap());
        let at = |path: PathBuf| ObjectPath::from_absolute_path(path).unwrap();
        let (inside, outside) = (at(given.join("a")), at(folder.path().join("b")));
        assert_eq!(store.get(&inside).await.unwrap().bytes().await.unwrap().as_ref(), b"inside");
        assert!(store.get(&outside).await.is_err());
        assert!(store.put(&outside, PutPayload::new()).await.is_err());
        assert!(store.copy(&inside, &outside).await.is_err());
        assert!(store.delete(&inside).await.is_err());
        assert!(store.list(Some(&at(folder.path().into()))).next().await.unwrap().is_err());
        assert_eq!(store.list(Some(&at(given))).count().await, 1);
        assert_eq!(std::fs::read(folder.path().join("b")).unwrap(), b"outside");
    }
}
