//! A local file and the objects beside it that its table is made of.

use super::{FileSource, Source};
use crate::{ByteRange, Error, Object, ObjectPart, Objects, Result};
use bytes::Bytes;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// A file and the objects beside it, as one space of addresses ([`Objects`]). Objects are opened when first read.
pub struct FolderSource {
    file: FileSource,
    objects: Objects,
    root: PathBuf,
    open: Mutex<HashMap<u32, Arc<FileSource>>>,
}

/// Objects remembered at most; then all are forgotten and found again as they are read. Few of them are open at a time.
const MOST_KNOWN: usize = 4096;

impl FolderSource {
    /// The file at `path`, with objects whose names are relative to `root` unless they are whole paths.
    pub fn open(path: &Path, root: impl Into<PathBuf>, objects: Objects) -> Result<Self> {
        let (file, root) = (FileSource::open(path)?, root.into());
        Ok(FolderSource { file, objects, root, open: Mutex::default() })
    }

    fn path(&self, object: Object) -> Result<Option<PathBuf>> {
        let name = self.objects.name(object)?;
        let path = |name: Arc<str>| match name.strip_prefix("file://") {
            Some(whole) => Ok(PathBuf::from(whole)),
            None if name.contains("://") => Err(elsewhere(&name)),
            None => Ok(self.root.join(&*name)),
        };
        let path = |name| path(name).map(|path| self.in_main(&path).unwrap_or(path));
        name.map(path).transpose()
    }

    /// A branch names files of the main line by where these were when it was made. If they are not there, they are where the
    /// main line is now: above the folder `tree` that the branch is in.
    fn in_main(&self, path: &Path) -> Option<PathBuf> {
        if path.starts_with(&self.root) || path.exists() {
            return None;
        }
        let tree = self.root.ancestors().find(|folder| folder.ends_with("tree"))?;
        let file = path.parent()?.file_name().map(Path::new)?.join(path.file_name()?);
        Some(tree.parent()?.join(file)).filter(|found| found.exists())
    }

    fn object(&self, object: Object) -> Result<Option<Arc<FileSource>>> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = open.get(&object.number()) {
            return Ok(Some(known.clone()));
        }
        let Some(path) = self.path(object)? else { return Ok(None) };
        let file = Arc::new(FileSource::open(path)?);
        if open.len() >= MOST_KNOWN {
            open.clear();
        }
        open.insert(object.number(), file.clone());
        Ok(Some(file))
    }

    fn length(&self, object: Object) -> Result<Bytes> {
        let length = match self.object(object) {
            Ok(None) => Some(self.file.size()),
            Ok(Some(file)) => Some(file.size()),
            Err(error) if error.code() == "not_found" => None,
            Err(error) => return Err(error),
        };
        Ok(Object::stated_length(length))
    }

    fn read_object(&self, object: Object, ranges: &[ByteRange]) -> Result<Vec<Bytes>> {
        match self.object(object)? {
            None => self.file.read_each(ranges),
            Some(file) => {
                let name = self.path(object)?.map(|path| path.display().to_string());
                file.read_each(ranges).map_err(|e| e.file(name.unwrap_or_default()))
            }
        }
    }
}

/// The error for an object that only another store has.
pub(crate) fn elsewhere(name: &str) -> Error {
    Error::unsupported("other_file", format!("the table has parts in another store: {name}"))
        .hint("copy the table with all its parts into one store")
}

impl Source for FolderSource {
    fn size(&self) -> u64 {
        self.file.size()
    }

    fn read(&self, range: ByteRange) -> Result<Bytes> {
        let bytes = self.read_each(&[range])?.pop();
        bytes.ok_or_else(|| Error::internal("a range was read as nothing"))
    }

    fn read_each(&self, requests: &[ByteRange]) -> Result<Vec<Bytes>> {
        let mut parts = Vec::with_capacity(requests.len());
        let mut of_one: Option<(Object, Vec<ByteRange>)> = None;
        for request in requests {
            match (Objects::part(*request)?, &mut of_one) {
                (ObjectPart::Bytes(object, range), Some((same, ranges))) if object == *same => ranges.push(range),
                (part, _) => {
                    if let Some((object, ranges)) = of_one.take() {
                        parts.extend(self.read_object(object, &ranges)?);
                    }
                    match part {
                        ObjectPart::Bytes(object, range) => of_one = Some((object, vec![range])),
                        ObjectPart::Length(object) => parts.push(self.length(object)?),
                    }
                }
            }
        }
        if let Some((object, ranges)) = of_one {
            parts.extend(self.read_object(object, &ranges)?);
        }
        Ok(parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_found_by_their_addresses() {
        let folder = tempfile::tempdir().unwrap();
        for (name, content) in [("list", "head"), ("a", "0123"), ("b", "abcdef")] {
            std::fs::write(folder.path().join(name), content).unwrap();
        }
        let objects = Objects::inside("t");
        let source = FolderSource::open(&folder.path().join("list"), folder.path(), objects.clone()).unwrap();
        let [a, b, c] = ["a", "b", "c"].map(|name| objects.add(name).unwrap());
        let (all, range) = (ByteRange::between(0, 4), ByteRange::between(2, 4));
        let at = |object: Object| object.address(range).unwrap();
        let asked = [at(b), all, at(a), b.length_address(), c.length_address()];
        let got = source.read_many(&asked).unwrap();
        assert_eq!(got[..3], [Bytes::from("cd"), "head".into(), "23".into()]);
        assert_eq!((Object::length(&got[3]), Object::length(&got[4])), (Some(6), None));
        let missing = source.read(at(c)).unwrap_err();
        assert_eq!(missing.code(), "not_found");
        assert!(missing.file_name().unwrap().ends_with('c'), "{missing}");
        let beyond = source.read(a.address(ByteRange::between(3, 9)).unwrap()).unwrap_err();
        assert_eq!((beyond.code(), beyond.offset()), ("short_read", Some(3)));
        let other = objects.add("s3://elsewhere/x").unwrap();
        assert_eq!(source.read(at(other)).unwrap_err().code(), "other_file");
    }
}
