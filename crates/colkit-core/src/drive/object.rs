//! One object of a store, as a driver reads it.

use super::store::failed;
use super::version::Version;
use crate::source::check_lengths;
use crate::{ByteRange, Error, FileSource, Result, Source};
use bytes::Bytes;
use object_store::path::Path;
use object_store::{GetOptions, ObjectStore, ObjectStoreExt};
use std::sync::OnceLock;

/// An object, or the local file that it is.
pub(super) struct RemoteObject {
    pub path: Path,
    /// Known from the first answer, or from whoever described the object.
    pub version: OnceLock<Version>,
    pub file: Option<FileSource>,
}

impl RemoteObject {
    /// These bytes of it, as it was when it was first asked for.
    pub async fn read(&self, store: &dyn ObjectStore, range: ByteRange) -> Result<Bytes> {
        let name = || self.path.to_string();
        if let Some(file) = &self.file {
            return file.read(range).map_err(|e| e.file(name()));
        }
        let options = GetOptions {
            range: Some((range.start()..range.end()).into()),
            if_match: self.version.get().and_then(Version::condition),
            ..GetOptions::default()
        };
        let read = async {
            let answer = store.get_opts(&self.path, options).await.map_err(|e| failed_at(&self.path, e))?;
            self.version.get_or_init(|| Version::of(&answer.meta)).check(&answer.meta)?;
            answer.bytes().await.map_err(|e| failed_at(&self.path, e))
        };
        let bytes = match read.await {
            Ok(bytes) => bytes,
            Err(error) => return Err(self.why(store, error).await.at(range.start()).file(name())),
        };
        check_lengths(&[range], std::slice::from_ref(&bytes)).map_err(|e| e.file(name()))?;
        Ok(bytes)
    }

    /// Why a request was refused: bytes that are no longer there are told in as many ways as there are stores.
    async fn why(&self, store: &dyn ObjectStore, error: Error) -> Error {
        let Some(version) = self.version.get().filter(|_| error.code() == "object_store") else { return error };
        match store.head(&self.path).await {
            Ok(object) => version.check(&object).err().unwrap_or(error),
            Err(_) => error,
        }
    }
}

/// What a store says went wrong with the object at this path.
pub(super) fn failed_at(path: &Path, e: object_store::Error) -> Error {
    failed(&e).file(path.to_string()).caused_by(e)
}
