//! The files of this machine as a store.
//!
//! Object paths are text without control characters; file names need not be. [`object_path`](colkit_core::drive::object_path)
//! escapes the names that are not, and this store is the one place that reads such a path back. So whatever bounds the store
//! ([`LocalFiles::confined`]) sees the file that is opened, however its name is written.

use colkit_core::drive::marked_file;
use futures::StreamExt;
use futures::stream::BoxStream;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{
    Attributes, CopyOptions, Error, GetOptions, GetRange, GetResult, GetResultPayload, ListResult, MultipartUpload,
    ObjectMeta, ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};
use std::fmt;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;

/// Returns an error for a file that must not be used.
type Check = Arc<dyn Fn(&std::path::Path) -> colkit_core::Result<()> + Send + Sync>;

/// The files of this machine, all of them or those that a check allows.
#[derive(Default)]
pub struct LocalFiles {
    files: LocalFileSystem,
    check: Option<Check>,
}

impl LocalFiles {
    /// All files.
    pub fn new() -> Self {
        Self::default()
    }

    /// The files for which `check` succeeds. They can be read and written, but neither removed nor copied.
    pub fn confined(check: impl Fn(&std::path::Path) -> colkit_core::Result<()> + Send + Sync + 'static) -> Self {
        LocalFiles { files: LocalFileSystem::new(), check: Some(Arc::new(check)) }
    }

    /// Fails unless the file may be used.
    fn allow(&self, file: &std::path::Path) -> Result<()> {
        let denied = |e| Error::PermissionDenied { path: file.display().to_string(), source: Box::new(e) };
        self.check.as_ref().map_or(Ok(()), |check| check(file).map_err(denied))
    }

    /// Fails unless the file that is written at a location may be used.
    fn allow_location(&self, location: &Path) -> Result<()> {
        self.allow(&self.files.path_to_filesystem(location)?)
    }
}

/// The error for removing or copying a file of a confined store.
fn denied(location: &Path) -> Error {
    let source = "files of a confined store are neither removed nor copied".into();
    Error::PermissionDenied { path: location.to_string(), source }
}

impl fmt::Debug for LocalFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalFiles").field("confined", &self.check.is_some()).finish_non_exhaustive()
    }
}

// Callers recognise a store of local files by this name.
impl fmt::Display for LocalFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.files.fmt(f)
    }
}

/// The file behind an escaped path, opened.
fn open(location: &Path, path: PathBuf, options: &GetOptions) -> Result<GetResult> {
    let failed = |e: std::io::Error| {
        let name = path.display().to_string();
        match e.kind() {
            ErrorKind::NotFound => Error::NotFound { path: name, source: Box::new(e) },
            ErrorKind::PermissionDenied => Error::PermissionDenied { path: name, source: Box::new(e) },
            _ => Error::Generic { store: "LocalFileSystem", source: Box::new(e) },
        }
    };
    let file = std::fs::File::open(&path).map_err(failed)?;
    let about = file.metadata().map_err(failed)?;
    let meta = ObjectMeta {
        location: location.clone(),
        last_modified: about.modified().map_err(failed)?.into(),
        size: about.len(),
        e_tag: None,
        version: None,
    };
    options.check_preconditions(&meta)?;
    let range = match options.range {
        Some(GetRange::Bounded(ref range)) => range.start.min(meta.size)..range.end.min(meta.size),
        Some(GetRange::Offset(start)) => start.min(meta.size)..meta.size,
        Some(GetRange::Suffix(length)) => meta.size.saturating_sub(length)..meta.size,
        None => 0..meta.size,
    };
    Ok(GetResult { payload: GetResultPayload::File(file, path), meta, range, attributes: Attributes::default() })
}

#[async_trait::async_trait]
impl ObjectStore for LocalFiles {
    async fn put_opts(&self, location: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        self.allow_location(location)?;
        self.files.put_opts(location, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.allow_location(location)?;
        self.files.put_multipart_opts(location, options).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        if let Some(path) = marked_file(location) {
            self.allow(&path)?;
            return open(location, path, &options);
        }
        self.allow_location(location)?;
        self.files.get_opts(location, options).await
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        match self.check {
            None => self.files.delete_stream(locations),
            Some(_) => locations.map(|location| location.and_then(|path| Err(denied(&path)))).boxed(),
        }
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        match self.allow_location(prefix.unwrap_or(&Path::default())) {
            Ok(()) => self.files.list(prefix),
            Err(error) => futures::stream::once(async { Err(error) }).boxed(),
        }
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.allow_location(prefix.unwrap_or(&Path::default()))?;
        self.files.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        match self.check {
            None => self.files.copy_opts(from, to, options).await,
            Some(_) => Err(denied(to)),
        }
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use colkit_core::drive::object_path;
    use object_store::ObjectStoreExt;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    fn bytes(store: &LocalFiles, path: &Path) -> Result<bytes::Bytes> {
        crate::runtime().unwrap().block_on(async { store.get(path).await?.bytes().await })
    }

    #[test]
    fn names_of_any_bytes_are_opened_through_the_store() {
        let folder = tempfile::tempdir().unwrap();
        for name in [&b"a.csv"[..], b"a\nb.csv", b"\xFF.csv", b"%~x.csv"] {
            let file = folder.path().join(OsStr::from_bytes(name));
            std::fs::write(&file, name).unwrap();
            assert_eq!(bytes(&LocalFiles::new(), &object_path(&file).unwrap()).unwrap().as_ref(), name);
        }
    }

    /// An escaped path may decode to anything, also to a path with `..` in one of its parts.
    #[test]
    fn a_confined_store_checks_the_file_that_an_escaped_path_means() {
        let folder = tempfile::tempdir().unwrap();
        let given = folder.path().canonicalize().unwrap().join("given");
        std::fs::create_dir(&given).unwrap();
        std::fs::write(folder.path().join("secret"), "outside").unwrap();
        std::fs::write(given.join("a\nb"), "inside").unwrap();
        let inside = given.clone();
        let store = LocalFiles::confined(move |file| match file.canonicalize()?.starts_with(&inside) {
            true => Ok(()),
            false => Err(colkit_core::Error::request("outside_folders", "outside")),
        });
        assert_eq!(bytes(&store, &object_path(&given.join("a\nb")).unwrap()).unwrap().as_ref(), b"inside");
        let given = given.display().to_string();
        for escaped in ["%~..%2Fsecret", "%~%2E%2E%2Fsecret", "../%~secret"] {
            let path = format!("{}/{escaped}", given.trim_start_matches('/'));
            let Ok(path) = Path::parse(&path) else { continue };
            let error = bytes(&store, &path).unwrap_err();
            assert!(matches!(error, Error::PermissionDenied { .. } | Error::NotFound { .. }), "{escaped}: {error}");
        }
        let outside = Path::parse(format!("{}/%~secret", given.trim_start_matches('/').trim_end_matches("/given")));
        assert!(matches!(bytes(&store, &outside.unwrap()).unwrap_err(), Error::PermissionDenied { .. }));
    }
}
