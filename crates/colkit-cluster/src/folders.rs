//! Which files of this machine a process may read and write for others.

use colkit::{Error, Result};
use colkit_store::LocalFiles;
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

    /// The files in these folders, as a store.
    pub(crate) fn store(&self) -> LocalFiles {
        let folders = self.clone();
        LocalFiles::confined(move |file| folders.check(file))
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

#[cfg(test)]
mod tests {
    use super::*;
    use futures::StreamExt;
    use object_store::path::Path as ObjectPath;
    use object_store::{ObjectStore, ObjectStoreExt, PutPayload};

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
        let store = Folders::new([&given]).unwrap().store();
        let at = |path: PathBuf| ObjectPath::from_absolute_path(path).unwrap();
        let (inside, outside) = (at(given.join("a")), at(folder.path().join("b")));
        assert_eq!(store.get(&inside).await.unwrap().bytes().await.unwrap().as_ref(), b"inside");
        assert!(store.get(&outside).await.is_err());
        // A crafted plan may name a file by an escaped path.
        let escaped = format!("{}/%~b", folder.path().display());
        assert!(store.get(&ObjectPath::parse(escaped.trim_start_matches('/')).unwrap()).await.is_err());
        assert!(store.put(&outside, PutPayload::new()).await.is_err());
        assert!(store.copy(&inside, &outside).await.is_err());
        assert!(store.delete(&inside).await.is_err());
        assert!(store.list(Some(&at(folder.path().into()))).next().await.unwrap().is_err());
        assert_eq!(store.list(Some(&at(given))).count().await, 1);
        assert_eq!(std::fs::read(folder.path().join("b")).unwrap(), b"outside");
    }
}
