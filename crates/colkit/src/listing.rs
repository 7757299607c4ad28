//! Which files a folder or a pattern stands for.

#[cfg(feature = "object-store")]
use crate::glob::matches;
use crate::glob::{Pattern, fits, is_hidden, is_wild};
use crate::{Compression, Registry, TextOptions};
use colkit_core::{Error, Result};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Files of one table at most.
const MOST_FILES: usize = 1 << 20;

/// Folders in folders at most.
const DEEPEST: usize = 64;

/// A file of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Listed {
    /// Where it is.
    pub path: PathBuf,
    /// What the names of its folders say: `year=2024` is a pair; a key that is null has no value.
    pub keys: Vec<(String, Option<String>)>,
}

/// The files of a table that is a folder, in the order of their names: those of the kind that the first one is.
pub(crate) fn in_folder(folder: &Path, registry: &Registry) -> Result<Vec<Listed>> {
    let mut walk = Walk::default();
    walk.below(folder, 0)?;
    walk.one_kind(registry);
    Ok(walk.listed(folder))
}

/// The files that fit a pattern, in the order of their names.
pub(crate) fn of_pattern(pattern: &Pattern) -> Result<Vec<Listed>> {
    let mut walk = Walk::default();
    walk.fitting(&pattern.folder, &pattern.parts, 0)?;
    Ok(walk.listed(&pattern.folder))
}

/// An object of a table, and what the names of its folders say.
#[cfg(feature = "object-store")]
pub(crate) type StoredPart = (colkit_store::Location, Vec<(String, Option<String>)>);

/// The objects below a URL that ends with a slash, or that fit a pattern, in the order of their names; `None` if it is
/// neither.
#[cfg(feature = "object-store")]
pub(crate) fn in_store(location: &colkit_store::Location) -> Result<Option<Vec<StoredPart>>> {
    let parts: Vec<Vec<u8>> = location.path.parts().map(|p| p.as_ref().as_bytes().to_vec()).collect();
    let (depth, pattern) = match parts.iter().position(|part| is_wild(part)) {
        Some(depth) => (depth, parts.get(depth..).unwrap_or_default()),
        None if location.url.path().ends_with('/') => (parts.len(), &[][..]),
        None => return Ok(None),
    };
    let mut found: Vec<StoredPart> = Vec::new();
    for object in location.above(depth).objects(MOST_FILES)? {
        let below: Vec<String> = object.path.parts().skip(depth).map(|p| p.as_ref().to_owned()).collect();
        let names: Vec<&[u8]> = below.iter().map(|name| name.as_bytes()).collect();
        if is_of_table(pattern, &names) {
            let folders = below.split_last().map(|(_, folders)| folders).unwrap_or_default();
            found.push((object, folders.iter().filter_map(|name| key(name)).collect()));
        }
    }
    found.sort_by(|a, b| a.0.path.cmp(&b.0.path));
    let names = |part: &StoredPart| part.1.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    let first = found.first().map(names).unwrap_or_default();
    if found.iter().any(|part| names(part) != first) {
        found.iter_mut().for_each(|part| part.1.clear());
    }
    Ok(Some(found))
}

/// Whether an object belongs to the table that is a folder, or a pattern of these parts below it, by the names of the folders
/// between and its own. Without a pattern that is all that is not hidden.
#[cfg(feature = "object-store")]
pub fn is_of_table(pattern: &[Vec<u8>], names: &[&[u8]]) -> bool {
    if pattern.is_empty() { !names.iter().any(|name| is_hidden(name)) } else { fits_path(pattern, names) }
}

/// Whether the names of folders and of what is in them fit the parts of a pattern.
#[cfg(feature = "object-store")]
fn fits_path(pattern: &[Vec<u8>], names: &[&[u8]]) -> bool {
    let hidden = |part: &[u8], name: &[u8]| is_hidden(name) && part.first() != name.first();
    match (pattern.split_first(), names.split_first()) {
        (None, None) => true,
        (Some((part, rest)), Some((name, others))) if part == b"**" => {
            let below = !is_hidden(name) && (fits_path(pattern, others) || (rest.is_empty() && others.is_empty()));
            fits_path(rest, names) || below
        }
        (Some((part, rest)), Some((name, others))) => {
            !hidden(part, name) && matches(part, name) && fits_path(rest, others)
        }
        _ => false,
    }
}

/// The extension of a table that is a folder of these files, which may hold other things beside it: that of the first file
/// with one that is known, or else of the first.
pub(crate) fn kind_of<'a>(files: impl Iterator<Item = &'a Path> + Clone, registry: &Registry) -> Option<OsString> {
    let known = |path: &&Path| {
        let inner = Compression::in_name(path).map_or(*path, |(_, inner)| inner);
        let extension = inner.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase);
        extension.is_some_and(|e| registry.with_extension(&e, &TextOptions::default()).is_some())
    };
    let first = files.clone().find(known).or_else(|| files.clone().next());
    first?.extension().map(ToOwned::to_owned)
}

#[derive(Default)]
struct Walk {
    found: Vec<PathBuf>,
}

impl Walk {
    /// Adds all files below a folder.
    fn below(&mut self, folder: &Path, depth: usize) -> Result<()> {
        for (name, path, is_folder) in entries(folder, depth)? {
            match is_folder {
                _ if is_hidden(&name) => {}
                true if !is_dataset(&path) => self.below(&path, depth + 1)?,
                _ => self.add(path)?,
            }
        }
        Ok(())
    }

    /// Adds all files below a folder that fit the parts of a pattern.
    fn fitting(&mut self, folder: &Path, parts: &[Vec<u8>], depth: usize) -> Result<()> {
        let Some((part, rest)) = parts.split_first() else { return Ok(()) };
        if part == b"**" {
            if rest.is_empty() {
                return self.below(folder, depth);
            }
            self.fitting(folder, rest, depth)?;
            for (name, path, is_folder) in entries(folder, depth)? {
                if is_folder && !is_hidden(&name) && !is_dataset(&path) {
                    self.fitting(&path, parts, depth + 1)?;
                }
            }
            return Ok(());
        }
        for (_, path, is_folder) in entries(folder, depth)? {
            let Some(name) = path.file_name() else { continue };
            let fit = if is_wild(part) { fits(part, name) } else { name.as_encoded_bytes() == part.as_slice() };
            match (fit, is_folder, rest.is_empty()) {
                (false, ..) | (true, false, false) => {}
                (true, true, false) => self.fitting(&path, rest, depth + 1)?,
                (true, true, true) if !is_dataset(&path) => self.below(&path, depth + 1)?,
                (true, _, true) => self.add(path)?,
            }
        }
        Ok(())
    }

    fn add(&mut self, path: PathBuf) -> Result<()> {
        if self.found.len() >= MOST_FILES {
            let limit = Error::limit("the list of files", "more", MOST_FILES);
            return Err(limit.file(path.display().to_string()).hint("name fewer files"));
        }
        self.found.push(path);
        Ok(())
    }

    /// Leaves out what is not of the kind of the table.
    fn one_kind(&mut self, registry: &Registry) {
        self.found.sort_by(|a, b| order(a, b));
        if let Some(extension) = kind_of(self.found.iter().map(PathBuf::as_path), registry) {
            self.found.retain(|path| path.extension() == Some(&extension));
        }
    }

    fn listed(mut self, folder: &Path) -> Vec<Listed> {
        self.found.sort_by(|a, b| order(a, b));
        self.found.dedup();
        let mut listed: Vec<Listed> =
            self.found.into_iter().map(|path| Listed { keys: keys(&path, folder), path }).collect();
        let names = |l: &Listed| l.keys.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
        let first = listed.first().map(names).unwrap_or_default();
        // Folders that do not all have the same keys say nothing.
        if listed.iter().any(|l| names(l) != first) {
            listed.iter_mut().for_each(|l| l.keys.clear());
        }
        listed
    }
}

fn order(a: &Path, b: &Path) -> std::cmp::Ordering {
    a.as_os_str().as_encoded_bytes().cmp(b.as_os_str().as_encoded_bytes())
}

/// Whether a folder is a Lance dataset.
fn is_dataset(folder: &Path) -> bool {
    cfg!(feature = "lance") && folder.join("_versions").is_dir()
}

/// What is in a folder: names, paths, and which are folders. Empty files are nobody's rows. Links to folders are not
/// followed, since they may lead back.
fn entries(folder: &Path, depth: usize) -> Result<Vec<(Vec<u8>, PathBuf, bool)>> {
    let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let named = |e: std::io::Error| Error::from(e).file(here.display().to_string());
    if depth > DEEPEST {
        return Err(Error::limit("folders in folders", depth, DEEPEST).file(here.display().to_string()));
    }
    let list = match std::fs::read_dir(here) {
        Err(e) if matches!(e.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) => {
            return Ok(Vec::new());
        }
        list => list.map_err(named)?,
    };
    let mut entries = Vec::new();
    for entry in list {
        let entry = entry.map_err(named)?;
        let (path, kind) = (folder.join(entry.file_name()), entry.file_type().map_err(named)?);
        let is_file = || std::fs::metadata(&path).is_ok_and(|m| !m.is_dir() && (!m.is_file() || m.len() > 0));
        if kind.is_dir() || is_file() {
            entries.push((entry.file_name().as_encoded_bytes().to_vec(), path, kind.is_dir()));
        }
    }
    Ok(entries)
}

/// What Hive writes where a key is null.
const NULL_KEY: &str = "__HIVE_DEFAULT_PARTITION__";

/// The keys in the names of the folders between `folder` and a file.
fn keys(path: &Path, folder: &Path) -> Vec<(String, Option<String>)> {
    let Some(parent) = path.strip_prefix(folder).ok().and_then(Path::parent) else { return Vec::new() };
    parent.iter().filter_map(|name| key(name.to_str()?)).collect()
}

/// The key that the name of a folder says, such as `year=2024`, and its value, unless that is null.
pub fn key(name: &str) -> Option<(String, Option<String>)> {
    let (key, value) = name.split_once('=').filter(|(key, _)| !key.is_empty())?;
    Some((unescaped(key), (value != NULL_KEY).then(|| unescaped(value))))
}

/// The text with `%3A` and the like replaced by what they stand for.
fn unescaped(text: &str) -> String {
    let hex = |text: Option<&str>| text.and_then(|two| u8::from_str_radix(two, 16).ok());
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('%') {
        bytes.extend_from_slice(before.as_bytes());
        match hex(after.get(..2)) {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(b'%');
                rest = after;
            }
        }
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_folders_are_one_list() {
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str, content: &str| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        };
        for name in ["y=2/b.csv", "y=1/a.csv", "y=1/_SUCCESS", ".git/x.csv", "_tmp/x.csv", "README", "y=1/n%C3%A4.txt"]
        {
            put(name, "a\n");
        }
        put("y=1/empty.csv", "");
        let names = |listed: Vec<Listed>| -> Vec<(String, String)> {
            let name = |l: &Listed| l.path.strip_prefix(folder.path()).unwrap().to_str().unwrap().to_owned();
            listed.iter().map(|l| (name(l), format!("{:?}", l.keys))).collect()
        };
        let key = |y: &str| format!("[(\"y\", Some({y:?}))]");
        let both = vec![("y=1/a.csv".to_string(), key("1")), ("y=2/b.csv".to_string(), key("2"))];
        assert_eq!(names(in_folder(folder.path(), &Registry::default()).unwrap()), both);
        let fitting = |pattern: &str| names(of_pattern(&Pattern::of(&folder.path().join(pattern)).unwrap()).unwrap());
        assert_eq!(fitting("**/*.csv"), both);
        assert_eq!(fitting("*/*.csv"), both);
        assert_eq!(fitting("y=[2-9]"), both[1..]);
        assert_eq!(fitting("_*/*"), [("_tmp/x.csv".to_string(), "[]".to_string())]);
        assert!(fitting("*.lance").is_empty() && fitting("none/*").is_empty());
    }

    #[test]
    fn keys_are_unescaped() {
        assert_eq!(key("t=10%3A30%zz"), Some(("t".into(), Some("10:30%zz".into()))));
        assert_eq!(key("t=__HIVE_DEFAULT_PARTITION__"), Some(("t".into(), None)));
        assert_eq!(key("t=a=b"), Some(("t".into(), Some("a=b".into()))));
        assert_eq!((key("data"), key("=x")), (None, None));
    }
}
