//! What a dataset's folders and files are called.
//!
//! ```text
//! _versions/18446744073709551613.manifest   version 2: 2^64 - 1 - version, in 20 digits
//! _versions/2.manifest                      version 2 in datasets made by old releases
//! data/NAME.lance
//! _deletions/FRAGMENT-VERSION-ID.arrow      or .bin
//! _refs/tags/NAME.json   _refs/branches/NAME.json   tree/BRANCH/...
//! ```

use colkit_core::{Error, Result};

/// The folder of manifests.
pub const VERSIONS: &str = "_versions";

/// A version that a dataset has, and the name of its manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionName {
    /// Its number.
    pub version: u64,
    /// The name of its manifest in the folder of manifests.
    pub name: String,
}

/// The version of a manifest's name, and whether it is a name of the newer kind; `None` for all other names.
fn version_of(name: &str) -> Option<(u64, bool)> {
    let digits = name.strip_suffix(".manifest")?;
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let number: u64 = digits.parse().ok()?;
    Some(if digits.len() == 20 { (u64::MAX - number, true) } else { (number, false) })
}

/// The versions among the names in the folder of manifests, the oldest first. Other names are those of drafts, hints and
/// versions that are no part of the history.
pub fn versions<S: AsRef<str>>(names: impl IntoIterator<Item = S>) -> Result<Vec<VersionName>> {
    let mut found = Vec::new();
    let mut kinds = [false, false];
    for name in names {
        let name = name.as_ref();
        let Some((version, newer)) = version_of(name) else { continue };
        kinds = [kinds[0] || !newer, kinds[1] || newer];
        found.push(VersionName { version, name: name.to_owned() });
    }
    if kinds == [true, true] {
        let what = "manifests are named in the old way (1.manifest) and in the new one";
        return Err(Error::corrupt("bad_dataset", what)
            .part(VERSIONS)
            .hint("a migration of names was interrupted; finish it with the program that began it"));
    }
    found.sort_by_key(|v| v.version);
    Ok(found)
}

/// The name of the manifest of a version: of the newer kind, unless the dataset has others.
pub fn file_name(version: u64, others: &[VersionName]) -> String {
    match others.first().and_then(|other| version_of(&other.name)) {
        Some((_, false)) => format!("{version}.manifest"),
        _ => format!("{:020}.manifest", u64::MAX - version),
    }
}

/// Whether a tag may have this name.
pub fn is_reference(name: &str) -> bool {
    let known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let ends = name.starts_with('.') || name.ends_with('.') || name.ends_with(".lock");
    !name.is_empty() && name.chars().all(known) && !ends && !name.contains("..")
}

/// Whether `name` is that of a manifest.
pub fn is_manifest(name: &str) -> bool {
    version_of(name).is_some()
}

/// An error unless a data file's name is one name: nothing outside of its folder is read.
pub(crate) fn check_name(name: &str) -> Result<()> {
    if name.is_empty() || name == "." || name == ".." || name.contains(['/', '\\', '\0']) {
        return Err(Error::corrupt("bad_name", format!("{name:?} is not the name of a file in a folder")));
    }
    Ok(())
}

/// An error unless a transaction's file name is empty or one name.
pub(crate) fn check_transaction_name(name: &str) -> Result<()> {
    if name.is_empty() { Ok(()) } else { check_name(name).map_err(|e| e.part("transaction_file")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(names: &[&str]) -> Vec<u64> {
        versions(names).unwrap().into_iter().map(|v| v.version).collect()
    }

    #[test]
    fn versions_are_numbers_and_all_else_is_ignored() {
        assert_eq!(numbers(&["10.manifest", "9.manifest", "d5.manifest", "9.manifest#1", ".tmp1.manifest"]), [9, 10]);
        let newer = ["18446744073709551614.manifest", "18446744073709551613.manifest", "latest_version_hint.json"];
        assert_eq!(numbers(&newer), [1, 2]);
        assert_eq!(numbers(&["99999999999999999999.manifest", "+1.manifest", ".manifest"]), [0; 0]);
        let mixed = versions(["1.manifest", "18446744073709551613.manifest"]).unwrap_err();
        assert_eq!(mixed.code(), "bad_dataset");
    }

    #[test]
    fn new_manifests_are_named_like_the_others() {
        assert_eq!(file_name(2, &[]), "18446744073709551613.manifest");
        assert_eq!(file_name(11, &versions(["10.manifest"]).unwrap()), "11.manifest");
        let newer = versions(["18446744073709551614.manifest"]).unwrap();
        assert_eq!(versions([file_name(2, &newer)]).unwrap()[0].version, 2);
    }

    #[test]
    fn names_of_tags() {
        assert!(["v1", "2026-11-17", "a.b_c"].iter().all(|name| is_reference(name)));
        assert!(!["", ".a", "a.", "a..b", "a/b", "a.lock", "a b"].iter().any(|name| is_reference(name)));
    }

    #[test]
    fn names_stay_in_their_folder() {
        for bad in ["", ".", "..", "../x.lance", "/etc/passwd", "a\\b"] {
            assert_eq!(check_name(bad).unwrap_err().code(), "bad_name", "{bad}");
        }
        assert!(check_name("x.lance").is_ok());
        assert!(check_transaction_name("").is_ok() && check_transaction_name("1-a.txn").is_ok());
        assert_eq!(check_transaction_name("../../fifo").unwrap_err().code(), "bad_name");
    }
}
