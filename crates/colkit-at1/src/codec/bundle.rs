//! Bundle (12): several files in one.
//!
//! | stream     | content |
//! |------------|---------|
//! | `manifest` | JSON: an array of objects, each with a `"name"`; other members are free |
//! | `e0` `e1` ... | as many complete AT-1 files with their own trailers; no bundles |
//!
//! Members we write besides the name:
//!
//! | member        | what it is |
//! |---------------|------------|
//! | `size`        | bytes of the original |
//! | `crc32`       | CRC-32 of the packed file, the bytes of `e0`, `e1`, ...: what `verify` compares |
//! | `mode`        | the nine permission bits of Unix |
//! | `modified_ns` | when it was last modified, in nanoseconds since 1970 |
//! | `folders`     | in the first object only: an array of objects with `path`, `mode`, `modified_ns` for each folder |
//!
//! Names are checked, all of them, before anything is restored: relative, `/` between segments, nothing that could
//! lead out of the folder or mean different things on different systems.

#[cfg(feature = "write")]
pub mod encode;

use super::{Coder, View};
use crate::backend::Backend;
use crate::restore::host::Host;
use crate::stream_set::{Entry, Streams};
use bytes::Bytes;
use colkit_core::{Attributes, ByteRange, Error, Result};
#[cfg(feature = "write")]
use serde_json::Map;
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::time::{Duration, SystemTime};

const MAX_NAME: usize = 511;
/// What of a mode is kept.
const PERMISSIONS: u32 = 0o777;

/// The codec.
pub struct Bundle;

impl Coder for Bundle {
    fn restore(&self, _: &Streams, _: &mut Host<'_, '_>) -> Result<()> {
        Err(Error::request("is_a_bundle", "a bundle holds several files").hint("ask for its entries"))
    }

    fn view(&self) -> View {
        View::Files
    }

    /// Entries are files of their own, unless they have been packed once more.
    fn reads(&self, entry: &Entry) -> bool {
        entry.name == "manifest" || entry.backend != Backend::Stored
    }

    fn metadata(&self) -> &'static [&'static str] {
        &["manifest"]
    }
}

/// What the manifest says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// About the entries, in their order.
    pub files: Vec<Listed>,
    /// About folders.
    pub folders: Vec<(String, Attributes)>,
}

/// What the manifest says about an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Its name.
    pub name: String,
    /// Bytes of the original.
    pub size: Option<u64>,
    /// CRC-32 of the packed file.
    pub crc32: Option<u32>,
    /// What else was kept.
    pub attributes: Attributes,
}

impl Listed {
    fn parse(object: &Value) -> Option<Self> {
        Some(Listed {
            name: object.get("name")?.as_str()?.to_string(),
            size: object.get("size").and_then(Value::as_u64),
            crc32: number(object, "crc32"),
            attributes: attributes(object),
        })
    }

    #[cfg(feature = "write")]
    fn to_json(&self) -> Map<String, Value> {
        let mut object = json_of("name", &self.name, self.attributes);
        let numbers = [("size", self.size.map(Value::from)), ("crc32", self.crc32.map(Value::from))];
        object.extend(numbers.into_iter().filter_map(|(member, value)| Some((member.to_string(), value?))));
        object
    }
}

fn number(object: &Value, member: &str) -> Option<u32> {
    object.get(member).and_then(Value::as_u64).and_then(|n| u32::try_from(n).ok())
}

fn attributes(object: &Value) -> Attributes {
    let modified = object.get("modified_ns").and_then(Value::as_i64).and_then(time);
    Attributes { mode: number(object, "mode").map(|mode| mode & PERMISSIONS), modified }
}

#[cfg(feature = "write")]
fn json_of(member: &str, name: &str, attributes: Attributes) -> Map<String, Value> {
    let mut object = Map::from_iter([(member.to_string(), Value::from(name))]);
    let mode = attributes.mode.map(|mode| Value::from(mode & PERMISSIONS));
    let modified = attributes.modified.and_then(nanoseconds).map(Value::from);
    let members = [("mode", mode), ("modified_ns", modified)];
    object.extend(members.into_iter().filter_map(|(member, value)| Some((member.to_string(), value?))));
    object
}

/// A time as nanoseconds since 1970, if they fit.
#[cfg(feature = "write")]
fn nanoseconds(time: SystemTime) -> Option<i64> {
    match time.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_nanos()).ok(),
        Err(before) => i64::try_from(before.duration().as_nanos()).ok().map(|n| -n),
    }
}

/// The time so many nanoseconds after 1970.
fn time(nanoseconds: i64) -> Option<SystemTime> {
    let apart = Duration::from_nanos(nanoseconds.unsigned_abs());
    let (epoch, later) = (SystemTime::UNIX_EPOCH, nanoseconds >= 0);
    if later { epoch.checked_add(apart) } else { epoch.checked_sub(apart) }
}

impl Manifest {
    /// What the manifest of a bundle says, names checked.
    pub fn of(streams: &Streams) -> Result<Self> {
        let (bytes, place) = streams.get("manifest");
        let corrupt = |code, message: String| place.corrupt(0, code, message);
        let manifest: Value = serde_json::from_slice(bytes)
            .map_err(|e| corrupt("bad_manifest", format!("the manifest is not JSON: {e}")).caused_by(e))?;
        let files: Option<Vec<Listed>> = manifest.as_array().and_then(|all| all.iter().map(Listed::parse).collect());
        let files = files.ok_or_else(|| {
            corrupt("bad_manifest", "the manifest is not an array of objects with a \"name\" each".to_string())
        })?;
        let numbered = |i: usize| streams.contains(&format!("e{i}"));
        if files.is_empty() || streams.count() != files.len() + 1 || !(0..files.len()).all(numbered) {
            let message = format!("{} names for {} entries", files.len(), streams.count().saturating_sub(1));
            return Err(corrupt("bad_manifest", message));
        }
        let folders = manifest.get(0).and_then(|first| first.get("folders")).and_then(Value::as_array);
        let folder = |object: &Value| Some((object.get("path")?.as_str()?.to_string(), attributes(object)));
        let folders = folders.into_iter().flatten().filter_map(folder).collect();
        let manifest = Manifest { files, folders };
        manifest.check().map_err(|(code, message)| corrupt(code, message).hint("nothing was written"))?;
        Ok(manifest)
    }

    /// Checks that names are plain relative paths, all different, and that what is a file is not a folder as well.
    pub fn check(&self) -> std::result::Result<(), (&'static str, String)> {
        let files = || self.files.iter().map(|file| file.name.as_str());
        let folders = || self.folders.iter().map(|(name, _)| name.as_str());
        if let Some(bad) = files().chain(folders()).find(|n| !is_safe(n)) {
            return Err(("unsafe_name", format!("the name {bad:?} is not a plain relative path")));
        }
        let mut seen = HashSet::new();
        if let Some(twice) = files().find(|n| !seen.insert(*n)) {
            return Err(("duplicate_name", format!("two entries are called {twice:?}")));
        }
        let above = |n| str::match_indices(n, '/').filter_map(move |(at, _)| str::get(n, ..at));
        let mut needed = folders().chain(files().chain(folders()).flat_map(above));
        match needed.find(|folder| seen.contains(folder)) {
            Some(both) => Err(("duplicate_name", format!("{both:?} is a file and a folder"))),
            None => Ok(()),
        }
    }

    /// As it is written.
    #[cfg(feature = "write")]
    pub fn to_json(&self) -> Value {
        let mut files: Vec<Map<String, Value>> = self.files.iter().map(Listed::to_json).collect();
        let folder = |(name, attributes): &(String, Attributes)| Value::from(json_of("path", name, *attributes));
        if let (Some(first), false) = (files.first_mut(), self.folders.is_empty()) {
            first.insert("folders".to_string(), self.folders.iter().map(folder).collect());
        }
        files.into_iter().map(Value::from).collect()
    }
}

/// Where a packed entry is.
#[derive(Clone)]
pub enum Place {
    /// In this range of the bundle.
    File(ByteRange),
    /// Unpacked already: another writer may pack entries once more.
    Memory(Bytes),
}

/// Where the entry of this number is.
pub fn place(number: usize, streams: &Streams) -> Place {
    let name = format!("e{number}");
    streams.in_file(&name).map_or_else(|| Place::Memory(streams.bytes(&name)), Place::File)
}

fn is_safe(name: &str) -> bool {
    let bad = |c: char| c.is_control() || matches!(c, '\\' | ':' | '"');
    !name.is_empty()
        && name.len() <= MAX_NAME
        && !name.contains(bad)
        && name.split('/').all(|segment| !matches!(segment, "" | "." | ".."))
}

/// Names that not every system can hold, each with the reason; and names that are one where case does not count.
pub fn unportable_names<S: AsRef<str>>(names: &[S]) -> Vec<String> {
    let mut notes = Vec::new();
    let mut folded: HashMap<String, &str> = HashMap::new();
    for name in names.iter().map(AsRef::as_ref) {
        if let Some(reason) = name.split('/').find_map(unportable) {
            notes.push(format!("{name:?}: {reason}"));
        }
        // Folders differ only in case, too.
        for (end, _) in name.match_indices('/').chain([(name.len(), "")]) {
            let Some(path) = name.get(..end) else { continue };
            let first = folded.entry(path.to_lowercase()).or_insert(path);
            if *first != path {
                notes.push(format!("{path:?} and {first:?}: one and the same where case does not count"));
            }
        }
    }
    notes.sort();
    notes.dedup();
    notes
}

/// Why Windows cannot hold a name, if it cannot.
fn unportable(segment: &str) -> Option<&'static str> {
    const DEVICES: [&str; 4] = ["CON", "PRN", "AUX", "NUL"];
    let stem = segment.split('.').next().unwrap_or_default().trim_end().to_ascii_uppercase();
    let numbered = |device: &str| {
        stem.strip_prefix(device)
            .is_some_and(|n| n.chars().count() == 1 && n.chars().all(|c| "0123456789¹²³".contains(c)))
    };
    if DEVICES.contains(&stem.as_str()) || numbered("COM") || numbered("LPT") {
        return Some("the name of a device on Windows");
    }
    if segment.ends_with(['.', ' ']) {
        return Some("Windows takes off dots and spaces at the end of a name");
    }
    segment.contains(['<', '>', '|', '?', '*']).then_some("a character that Windows does not allow")
}

/// The error for a bundle inside a bundle.
pub fn nested(name: &str) -> Error {
    Error::corrupt("nested_bundle", "a bundle inside a bundle").part(format!("entry {name:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

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

    #[test]
    fn names_that_windows_cannot_hold_are_told() {
        let fine = ["a/b.txt", "console", "comet", "COM", "x.y", ".hidden", "LPT10", "d/e", "d/f"];
        assert_eq!(unportable_names(&fine), Vec::<String>::new());
        for bad in ["CON", "a/con.txt", "nul.tar.gz", "Lpt1", "COM¹", "x.", "a /b", "a?b"] {
            assert_eq!(unportable_names(&[bad]).len(), 1, "{bad}");
        }
        for [a, b] in [["A", "a"], ["d/x", "D/y"], ["É", "é"]] {
            let notes = unportable_names(&[a, b]);
            assert!(notes.len() == 1 && notes[0].contains("case"), "{notes:?}");
        }
    }

    #[test]
    fn what_is_listed_comes_back() {
        for nanoseconds in [0, 1, -1, 1_700_000_000_123_456_789, i64::MAX, -i64::MAX] {
            let attributes = Attributes { mode: Some(0o640), modified: time(nanoseconds) };
            let entry = Listed { name: "a/b".into(), size: Some(u64::MAX), crc32: Some(u32::MAX), attributes };
            assert_eq!(Listed::parse(&entry.to_json().into()).unwrap(), entry);
        }
        let bare = Listed { name: "n".into(), size: None, crc32: None, attributes: Attributes::default() };
        let manifest = Manifest { files: vec![bare.clone()], folders: Vec::new() };
        assert_eq!(manifest.to_json().to_string(), r#"[{"name":"n"}]"#);
        let folders = |folder: &str| Manifest {
            files: vec![bare.clone()],
            folders: vec![(folder.to_string(), Attributes::default())],
        };
        assert_eq!(folders("a/b").to_json().to_string(), r#"[{"folders":[{"path":"a/b"}],"name":"n"}]"#);
        assert_eq!(folders("a/b").check(), Ok(()));
        for (bad, code) in [("n", "duplicate_name"), ("n/a", "duplicate_name"), ("../a", "unsafe_name")] {
            assert_eq!(folders(bad).check().unwrap_err().0, code);
        }
        let odd = json!({"name": "n", "mode": 0o104_755, "crc32": -1, "modified_ns": "x"});
        assert_eq!(Listed::parse(&odd).unwrap().attributes, Attributes { mode: Some(0o755), modified: None });
    }
}
