//! The files that a version needs.

use super::base::{Base, TransactionPlace};
use super::wire::split;
use bytes::Bytes;
use colkit_core::Result;

/// A file that a version needs, by its folder and name. Files of base paths are named as well: one of the same name is kept.
pub type Needed = (&'static str, String);

impl Base {
    /// The files that it needs: data files, deletion files, its transaction, and the folders of its indices.
    pub fn needed(&self) -> Result<Vec<Needed>> {
        let mut needed = Vec::new();
        for fragment in &self.fragments {
            needed.extend(fragment.message.files.iter().map(|file| ("data", file.path.clone())));
        }
        for (path, _) in self.fragments()?.into_iter().filter_map(|fragment| fragment.deletions) {
            let name = path.rsplit('/').next().unwrap_or(&path).to_owned();
            needed.push(("_deletions", name));
        }
        // Named even if the manifest has the transaction too.
        if !self.message.transaction_file.is_empty() {
            needed.push(("_transactions", self.message.transaction_file.clone()));
        } else if let TransactionPlace::File(name) = self.transaction() {
            needed.push(("_transactions", name));
        }
        needed.extend(self.index_ids()?.into_iter().map(|id| ("_indices", id)));
        Ok(needed)
    }

    /// The UUIDs of indices.
    fn index_ids(&self) -> Result<Vec<String>> {
        let Some(section) = &self.indices else { return Ok(Vec::new()) };
        let mut ids = Vec::new();
        for index in split(section)?.iter().filter(|field| field.number == 1) {
            for id in split(&index.content)?.iter().filter(|field| field.number == 1) {
                let bytes = split(&id.content)?.into_iter().find(|field| field.number == 1);
                ids.extend(bytes.map(|bytes| uuid(&bytes.content)));
            }
        }
        Ok(ids)
    }
}

/// `0c6e9b3e-1d2f-4a5b-8c7d-0123456789ab`.
fn uuid(bytes: &Bytes) -> String {
    let mut text = String::with_capacity(36);
    for (place, byte) in bytes.iter().enumerate() {
        if matches!(place, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.push_str(&format!("{byte:02x}"));
    }
    text
}
