//! Folders of files or objects: what datasets need of them.

use crate::place::Place;
use bytes::Bytes;
use colkit_core::{
    ByteRange, Error, Existing, FileSink, FileSource, FolderSource, Limits, Objects, Result, Sink, Source,
};
#[cfg(feature = "object-store")]
use colkit_store::{Location, ObjectSource, UploadSink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// A folder of files or objects.
#[derive(Clone)]
pub(crate) enum Folder {
    Local(PathBuf),
    #[cfg(feature = "object-store")]
    Store(Location),
}

/// Small files, such as tags, have less than this.
const SMALL: u64 = 1 << 20;

impl Folder {
    /// What messages call it.
    pub fn name(&self) -> String {
        match self {
            Folder::Local(path) => path.display().to_string(),
            #[cfg(feature = "object-store")]
            Folder::Store(location) => location.url.to_string(),
        }
    }

    pub fn inside(&self, name: &str) -> Result<Folder> {
        Ok(match self {
            Folder::Local(path) => Folder::Local(path.join(name)),
            #[cfg(feature = "object-store")]
            Folder::Store(location) => Folder::Store(location.inside(name)?),
        })
    }

    /// The names of what is in it; none if there is no such folder.
    pub fn names(&self) -> Result<Vec<String>> {
        match self {
            Folder::Local(path) => {
                let entries = match std::fs::read_dir(path) {
                    Err(e) if matches!(e.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) => {
                        return Ok(Vec::new());
                    }
                    entries => entries.map_err(|e| Error::from(e).file(self.name()))?,
                };
                let mut names = Vec::new();
                for entry in entries {
                    names.extend(entry.map_err(|e| Error::from(e).file(self.name()))?.file_name().into_string());
                }
                Ok(names)
            }
            #[cfg(feature = "object-store")]
            Folder::Store(location) => location.names(),
        }
    }

    pub fn source(&self, name: &str) -> Result<Arc<dyn Source>> {
        Ok(match self {
            Folder::Local(path) => {
                let path = path.join(name);
                // A FIFO would wait for a writer.
                if std::fs::metadata(&path).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
                    return Err(Error::corrupt("bad_name", "expected a file, found a FIFO, socket or device")
                        .file(path.display().to_string()));
                }
                Arc::new(FileSource::open(path)?)
            }
            #[cfg(feature = "object-store")]
            Folder::Store(location) => Arc::new(ObjectSource::open(&location.inside(name)?)?),
        })
    }

    /// A small file, if there is one of this name.
    pub fn small_file(&self, name: &str) -> Result<Option<Bytes>> {
        match self.source(name) {
            Ok(file) => Ok(Some(file.read(ByteRange::between(0, file.size().min(SMALL)))?)),
            Err(error) if error.code() == "not_found" => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// A file in it with the objects beside that.
    pub fn open(&self, name: &str, objects: Objects) -> Result<Arc<dyn Source>> {
        Ok(match self {
            Folder::Local(path) => Arc::new(FolderSource::open(&path.join(name), path, objects)?),
            #[cfg(feature = "object-store")]
            Folder::Store(location) => Arc::new(ObjectSource::open_with(location, name, objects)?),
        })
    }
}

/// A file in a folder.
pub(crate) struct Entry {
    pub name: String,
    pub bytes: u64,
    pub modified: SystemTime,
}

/// Writing.
impl Folder {
    /// The folder at a path or URL.
    pub fn at(path: &Path) -> Result<Self> {
        Ok(match Place::of(path)? {
            #[cfg(feature = "object-store")]
            Place::Object(location) => Folder::Store(location),
            // Without a slash at the end, a file that is there is seen.
            Place::File(path) => Folder::Local(path.components().collect()),
        })
    }

    /// All of a file.
    pub fn whole(&self, name: &str, limits: &Limits) -> Result<Bytes> {
        let source = self.source(name)?;
        Limits::check_memory("a file of the dataset", source.size(), limits.memory)?;
        source.read(ByteRange::between(0, source.size()))
    }

    /// Starts a file of a name that nobody else has. It is no more readable than the local files among `inputs`.
    pub fn create(&self, name: &str, inputs: &[PathBuf]) -> Result<Box<dyn Sink>> {
        match self {
            Folder::Local(path) => {
                let path = path.join(name);
                make_folder(&path)?;
                let sink = FileSink::create(&path)?;
                inputs.iter().try_for_each(|input| sink.as_private_as(input))?;
                Ok(Box::new(sink))
            }
            #[cfg(feature = "object-store")]
            Folder::Store(location) => Ok(Box::new(UploadSink::create(&location.inside(name)?, Existing::Replace)?)),
        }
    }

    /// Puts a file where none is, whole and at once; `false` if one is there. `unsafely`: also where somebody else may do the
    /// same at the same time without either of us noticing.
    #[cfg_attr(not(feature = "object-store"), expect(unused_variables, reason = "files are always put safely"))]
    pub fn put_new(&self, name: &str, bytes: &Bytes, unsafely: bool) -> Result<bool> {
        match self {
            Folder::Local(path) => {
                let path = path.join(name);
                make_folder(&path)?;
                let put = || -> Result<()> {
                    let mut sink = FileSink::create(&path)?;
                    sink.write(bytes)?;
                    Box::new(sink).commit()
                };
                match put() {
                    Ok(()) => Ok(true),
                    Err(error) if error.code() == "already_exists" => Ok(false),
                    Err(error) => Err(error),
                }
            }
            #[cfg(feature = "object-store")]
            Folder::Store(location) => match location.inside(name)?.put_new(bytes.clone()) {
                Err(error) if error.code() == "no_exclusive_create" && unsafely => {
                    if self.small_file(name)?.is_some() {
                        return Ok(false);
                    }
                    self.replace(name, bytes).map(|()| true)
                }
                put => put,
            },
        }
    }

    /// Fails if a folder on the way to this file is a link: what is behind it may not belong to the dataset, so nothing there is
    /// replaced or removed.
    pub fn check_no_link(&self, name: &str) -> Result<()> {
        let root = match self {
            Folder::Local(root) => root,
            #[cfg(feature = "object-store")]
            Folder::Store(_) => return Ok(()),
        };
        let mut folder = root.clone();
        for part in Path::new(name).parent().into_iter().flat_map(Path::components) {
            folder.push(part);
            if folder.is_symlink() {
                return Err(Error::data(
                    "linked_folder",
                    "a folder of the dataset is a link, and what is behind it may be used elsewhere",
                )
                .file(folder.display().to_string())
                .hint("replace the link by the folder that it points to, then try again; nothing was removed"));
            }
        }
        Ok(())
    }

    /// Puts a file in the place of one that may be there.
    pub fn replace(&self, name: &str, bytes: &Bytes) -> Result<()> {
        self.check_no_link(name)?;
        let mut sink: Box<dyn Sink> = match self {
            Folder::Local(path) => {
                let path = path.join(name);
                make_folder(&path)?;
                Box::new(FileSink::start(&path, Existing::Replace)?)
            }
            #[cfg(feature = "object-store")]
            Folder::Store(location) => Box::new(UploadSink::create(&location.inside(name)?, Existing::Replace)?),
        };
        sink.write(bytes)?;
        sink.commit()
    }

    /// Removes a file. One that is not there is no error.
    pub fn remove(&self, name: &str) -> Result<()> {
        self.check_no_link(name)?;
        match self {
            Folder::Local(path) => match std::fs::remove_file(path.join(name)) {
                Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                    Err(Error::from(e).file(path.join(name).display().to_string()))
                }
                _ => Ok(()),
            },
            #[cfg(feature = "object-store")]
            Folder::Store(location) => location.inside(name)?.remove(),
        }
    }

    /// The files in one of its folders and below, by their names there; none if there is no such folder.
    pub fn entries(&self, folder: &str) -> Result<Vec<Entry>> {
        match self {
            Folder::Local(path) => {
                let mut found = Vec::new();
                list(&path.join(folder), "", &mut found).map_err(|e| Error::from(e).file(self.name()))?;
                Ok(found)
            }
            #[cfg(feature = "object-store")]
            Folder::Store(location) => {
                let listed = location.inside(folder)?.below()?;
                let entry = |(name, meta): (String, colkit_store::ObjectMeta)| Entry {
                    name,
                    bytes: meta.size,
                    modified: meta.last_modified.into(),
                };
                Ok(listed.into_iter().map(entry).collect())
            }
        }
    }

    /// Whether what is put into it by [`put_new`](Folder::put_new) cannot be lost, as far as that is known beforehand.
    pub fn is_local(&self) -> bool {
        matches!(self, Folder::Local(_))
    }
}

fn make_folder(file: &Path) -> Result<()> {
    let Some(folder) = file.parent() else { return Ok(()) };
    std::fs::create_dir_all(folder).map_err(|e| Error::from(e).file(folder.display().to_string()))
}

/// Adds the files in a folder and below. Links are not followed.
fn list(folder: &Path, before: &str, found: &mut Vec<Entry>) -> std::io::Result<()> {
    let entries = match std::fs::read_dir(folder) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let (name, metadata) = (format!("{before}{name}"), entry.metadata()?);
        if metadata.is_dir() {
            list(&entry.path(), &format!("{name}/"), found)?;
        } else {
            found.push(Entry { name, bytes: metadata.len(), modified: metadata.modified()? });
        }
    }
    Ok(())
}
