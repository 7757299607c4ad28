//! Paths of local files as paths of objects.
//!
//! Paths of objects are text without control characters; names of files need not be. A name that is no such text is written
//! with a mark in front and `%0A` for each byte that cannot stand for itself. So is a name that begins with the mark.

use crate::{Error, Result};
use object_store::path::{Path, PathPart};
use std::ffi::{OsStr, OsString};
use std::fmt::Write;
use std::path::{Component, PathBuf};

/// What a name that is written in another way begins with.
const MARK: &str = "%~";

/// The path that a local file has as an object of a store of local files.
pub fn object_path(file: &std::path::Path) -> Result<Path> {
    let mut parts: Vec<String> = Vec::new();
    for component in std::path::absolute(file)?.components() {
        match component {
            Component::Normal(name) => parts.push(written(name)),
            Component::Prefix(prefix) => parts.push(written(prefix.as_os_str())),
            Component::ParentDir => drop(parts.pop()),
            Component::RootDir | Component::CurDir => {}
        }
    }
    Path::parse(parts.join("/"))
        .map_err(|e| Error::corrupt("bad_name", format!("{e}")).file(file.display().to_string()))
}

/// The local file of an object whose path is not that of the file. Only the store that opens files may use it: callers ask the
/// store, which decides whether the file may be read.
pub fn marked_file(object: &Path) -> Option<PathBuf> {
    if !object.as_ref().contains(MARK) || !object.parts().any(|part| part.as_ref().starts_with(MARK)) {
        return None;
    }
    let names: Option<Vec<OsString>> = object.parts().map(|part| read(part.as_ref())).collect();
    Some(std::iter::once(OsString::from("/")).chain(names?).collect())
}

fn written(name: &OsStr) -> String {
    if let Some(text) = name.to_str()
        && !text.starts_with(MARK)
        && PathPart::parse(text).is_ok()
    {
        return text.to_owned();
    }
    let mut written = MARK.to_owned();
    for byte in name.as_encoded_bytes() {
        match byte {
            b'.' | b'-' | b'_' | b'=' | b' ' => written.push(char::from(*byte)),
            byte if byte.is_ascii_alphanumeric() => written.push(char::from(*byte)),
            byte => drop(write!(written, "%{byte:02X}")),
        }
    }
    written
}

/// The name that was written as this part; nothing if it would be several names.
fn read(part: &str) -> Option<OsString> {
    let Some(mut rest) = part.strip_prefix(MARK) else { return Some(part.into()) };
    let mut bytes = Vec::new();
    while let Some((before, after)) = rest.split_once('%') {
        bytes.extend_from_slice(before.as_bytes());
        bytes.extend(after.get(..2).and_then(|hex| u8::from_str_radix(hex, 16).ok()));
        rest = after.get(2..).unwrap_or_default();
    }
    bytes.extend_from_slice(rest.as_bytes());
    if bytes.contains(&b'/') || bytes.contains(&b'\\') && cfg!(windows) || bytes == b".." {
        return None;
    }
    #[cfg(unix)]
    {
        Some(std::os::unix::ffi::OsStringExt::from_vec(bytes))
    }
    #[cfg(not(unix))]
    {
        Some(String::from_utf8_lossy(&bytes).into_owned().into())
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn every_name_has_its_own_path() {
        let mut seen = std::collections::BTreeSet::new();
        for name in
            [&b"a b.csv"[..], b"a\nb.csv", b"a%0Ab.csv", b"%~a%0Ab.csv", b"\xFF.csv", b"\xC3\xB6.csv", b"%", b"~"]
        {
            let file = std::path::Path::new("/x").join(OsStr::from_bytes(name));
            let object = object_path(&file).unwrap();
            let back = marked_file(&object).unwrap_or_else(|| format!("/{object}").into());
            assert_eq!(back, file, "{object}");
            assert!(seen.insert(object.to_string()));
        }
        assert_eq!(object_path(std::path::Path::new("/a/../b/./c.csv")).unwrap().as_ref(), "b/c.csv");
        assert_eq!(marked_file(&Path::from("a/b%~c")), None);
        for several in ["x/%~..%2Fetc", "x/%~..", "x/%~%2Fetc%2Fpasswd"] {
            assert_eq!(marked_file(&Path::parse(several).unwrap()), None, "{several}");
        }
    }
}
