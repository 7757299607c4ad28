//! What a name stands for: a file, or an object in a store.

use colkit_core::Result;
use colkit_store::{Location, Stores, is_url};
use std::borrow::Cow;
use std::path::Path;

/// What a name stands for.
pub(crate) enum Place<'a> {
    /// A file.
    File(Cow<'a, Path>),
    /// An object.
    Object(Location),
}

/// What this name stands for. `file://` is only another way to write a path.
pub(crate) fn of(name: &Path) -> Result<Place<'_>> {
    let Some(url) = name.to_str().filter(|n| is_url(n)) else { return Ok(Place::File(name.into())) };
    let location = Stores::shared().locate(url)?;
    if location.url.scheme() == "file"
        && let Ok(path) = location.url.to_file_path()
    {
        return Ok(Place::File(path.into()));
    }
    Ok(Place::Object(location))
}
