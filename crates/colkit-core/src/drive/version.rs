//! The version of an object, recorded when it is opened, so that an object that changes while being read is detected.

use crate::{Error, Result};
use object_store::ObjectMeta;
use std::sync::OnceLock;

/// What is remembered of an object.
pub(super) struct Version {
    size: u64,
    /// In seconds; 0 is not known. Lists and answers may differ in what is below a second.
    modified: i64,
    /// Known from the first answer that has one.
    e_tag: OnceLock<String>,
}

impl Version {
    pub fn of(object: &ObjectMeta) -> Self {
        let e_tag = OnceLock::new();
        if let Some(tag) = &object.e_tag {
            let _ = e_tag.set(tag.clone());
        }
        Version { size: object.size, modified: object.last_modified.timestamp(), e_tag }
    }

    pub fn size(&self) -> u64 {
        self.size
    }

    /// The tag that a store is asked to compare. Weak ones, by definition, match nothing.
    pub fn condition(&self) -> Option<String> {
        self.e_tag.get().filter(|tag| tag.starts_with('"')).cloned()
    }

    /// Whether an answer is about the same object: by its tag where there are tags, else by its time.
    pub fn check(&self, object: &ObjectMeta) -> Result<()> {
        if object.size != self.size {
            let what = format!("{} bytes when it was opened, {} now", self.size, object.size);
            return Err(changed(&format!("the object had {what}")));
        }
        let bare = |tag: &str| tag.trim_matches('"').to_owned();
        match &object.e_tag {
            Some(tag) => {
                let known = self.e_tag.get_or_init(|| tag.clone());
                if bare(known) == bare(tag) { Ok(()) } else { Err(changed("the object has another tag now")) }
            }
            None => {
                let modified = object.last_modified.timestamp();
                let differs = modified != 0 && self.modified != 0 && modified != self.modified;
                if differs { Err(changed("the object has been written since")) } else { Ok(()) }
            }
        }
    }
}

/// The error for an object that is not what it was.
pub(super) fn changed(how: &str) -> Error {
    Error::io("object_changed", format!("the object changed while it was being read: {how}"))
        .hint("nothing of it was used; read it again")
}
