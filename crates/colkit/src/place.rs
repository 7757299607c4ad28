//! What a name stands for: a file, or an object in a store.

use crate::same_file;
use colkit_core::Result;
#[cfg(feature = "object-store")]
use colkit_store::{Location, Stores, is_url};
use std::borrow::Cow;
use std::path::Path;
#[cfg(feature = "object-store")]
use std::sync::Arc;

/// What a name stands for.
pub(crate) enum Place<'a> {
    /// A file.
    File(Cow<'a, Path>),
    /// An object.
    #[cfg(feature = "object-store")]
    Object(Location),
}

impl<'a> Place<'a> {
    /// What this name stands for. `file://` is only another way to write a path.
    #[cfg(feature = "object-store")]
    pub fn of(name: &'a Path) -> Result<Self> {
        let Some(url) = name.to_str().filter(|n| is_url(n)) else { return Ok(Place::File(name.into())) };
        let location = Stores::shared().locate(url)?;
        if location.url.scheme() == "file"
            && let Ok(path) = location.url.to_file_path()
        {
            return Ok(Place::File(path.into()));
        }
        Ok(Place::Object(location))
    }

    /// The file of this name.
    #[cfg(not(feature = "object-store"))]
    pub fn of(name: &'a Path) -> Result<Self> {
        Ok(Place::File(name.into()))
    }

    /// The path, if it is a file.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Place::File(path) => Some(path),
            #[cfg(feature = "object-store")]
            Place::Object(_) => None,
        }
    }

    /// Whether both are the same file, through links too, or the same object.
    pub fn is_same(&self, other: &Place) -> bool {
        match (self, other) {
            (Place::File(a), Place::File(b)) => same_file(a, b),
            #[cfg(feature = "object-store")]
            (Place::Object(a), Place::Object(b)) => a.path == b.path && Arc::ptr_eq(&a.store, &b.store),
            #[cfg(feature = "object-store")]
            _ => false,
        }
    }
}
