//! Bundle (12): several files in one.
//!
//! | stream     | content |
//! |------------|---------|
//! | `manifest` | JSON: an array of objects, each with a `"name"` |
//! | `e0` `e1` ... | as many complete AT-1 files with their own trailers; no bundles |
//!
//! Names are checked, all of them, before anything is restored: relative, `/` between segments, nothing that could
//! lead out of the folder or mean different things on different systems.

use crate::stream_set::{Entry, Streams};
use colkit_core::{Error, Result};
use std::collections::HashSet;

const MAX_NAME: usize = 511;

/// The names in the manifest, checked. `entries` are all streams of the bundle.
pub fn names(streams: &Streams, entries: &[Entry]) -> Result<Vec<String>> {
    let (bytes, place) = streams.get("manifest");
    let corrupt = |code, message: String| place.corrupt(0, code, message);
    let manifest: serde_json::Value = serde_json::from_slice(bytes)
        .map_err(|e| corrupt("bad_manifest", format!("the manifest is not JSON: {e}")).caused_by(e))?;
    let name = |object: &serde_json::Value| object.get("name").and_then(|n| n.as_str()).map(str::to_string);
    let names: Option<Vec<String>> = manifest.as_array().and_then(|all| all.iter().map(name).collect());
    let names = names.ok_or_else(|| {
        corrupt("bad_manifest", "the manifest is not an array of objects with a \"name\" each".to_string())
    })?;
    let numbered = |i: usize| entries.iter().any(|e| e.name == format!("e{i}"));
    if names.is_empty() || entries.len() != names.len() + 1 || !(0..names.len()).all(numbered) {
        let message = format!("{} names for {} entries", names.len(), entries.len().saturating_sub(1));
        return Err(corrupt("bad_manifest", message));
    }
    check_names(&names).map_err(|(code, message)| corrupt(code, message).hint("nothing was written"))?;
    Ok(names)
}

/// Checks that names are plain relative paths, all different, and none the folder of another.
pub fn check_names<S: AsRef<str>>(names: &[S]) -> std::result::Result<(), (&'static str, String)> {
    let names = || names.iter().map(AsRef::as_ref);
    if let Some(bad) = names().find(|n| !is_safe(n)) {
        return Err(("unsafe_name", format!("the name {bad:?} is not a plain relative path")));
    }
    let mut seen = HashSet::new();
    if let Some(twice) = names().find(|n| !seen.insert(*n)) {
        return Err(("duplicate_name", format!("two entries are called {twice:?}")));
    }
    let folders = names().flat_map(|n| n.match_indices('/').filter_map(|(at, _)| n.get(..at)));
    if let Some(both) = folders.into_iter().find(|folder| seen.contains(folder)) {
        return Err(("duplicate_name", format!("{both:?} is a file and a folder")));
    }
    Ok(())
}

fn is_safe(name: &str) -> bool {
    let bad = |c: char| c.is_control() || matches!(c, '\\' | ':' | '"');
    !name.is_empty()
        && name.len() <= MAX_NAME
        && !name.contains(bad)
        && name.split('/').all(|segment| !matches!(segment, "" | "." | ".."))
}

/// The error for a bundle inside a bundle.
pub fn nested(name: &str) -> Error {
    Error::corrupt("nested_bundle", "a bundle inside a bundle").part(format!("entry {name:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_relative_names() {
        for good in ["a", "a/b.txt", "ü/ñ", "..a", "a..b/c"] {
            assert!(is_safe(good), "{good}");
        }
        for bad in ["", "/a", "a/", "a//b", "../a", "a/..", "a/./b", "C:a", "a\\b", "a\nb", "a\"b"] {
            assert!(!is_safe(bad), "{bad}");
        }
        assert!(!is_safe(&"x".repeat(512)));
    }
}
