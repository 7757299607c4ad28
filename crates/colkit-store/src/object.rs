//! An object as a source of bytes.

use crate::{Location, wait};
use bytes::Bytes;
use colkit_core::drive::store::Remote;
use colkit_core::{ByteRange, Error, Objects, Result, Source};

/// An object, read by range requests.
pub struct ObjectSource {
    remote: Remote,
    name: String,
}

impl ObjectSource {
    /// The object at `location`; its store is asked how large it is, and which version it is.
    pub fn open(location: &Location) -> Result<Self> {
        let name = location.url.to_string();
        let object = wait(location.head())??;
        Ok(ObjectSource { remote: Remote::new(location.store.clone(), &object), name })
    }

    /// The object called `name` in a folder, with the objects beside it that its table is made of.
    pub fn open_with(folder: &Location, name: &str, objects: Objects) -> Result<Self> {
        let opened = Self::open(&folder.inside(name)?)?;
        Ok(ObjectSource { remote: opened.remote.with_objects(objects, folder.path.clone()), ..opened })
    }
}

impl Source for ObjectSource {
    fn size(&self) -> u64 {
        self.remote.size()
    }

    fn gap(&self) -> u64 {
        self.remote.gap
    }

    fn read(&self, range: ByteRange) -> Result<Bytes> {
        let bytes = self.read_each(&[range])?.pop();
        bytes.ok_or_else(|| Error::internal("the store answered with nothing"))
    }

    fn read_each(&self, requests: &[ByteRange]) -> Result<Vec<Bytes>> {
        wait(self.remote.fetch(requests))?.map_err(|e| e.file(self.name.clone()))
    }
}
