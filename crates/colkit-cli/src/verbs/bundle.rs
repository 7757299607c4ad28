//! Collects the files and directories that `pack` puts into a bundle, and what a bundle cannot hold.

use crate::Io;
use crate::human::plural;
use crate::request::{is_stream, one_file};
use colkit::at1::MOST_FILES;
use colkit::core::Attributes;
use colkit::{Compression, Error, Input, Limits, Result};
use std::collections::HashMap;
use std::fs::{FileType, Metadata};
use std::path::{Path, PathBuf};

/// The files and directories to pack.
#[derive(Default)]
pub struct BundleContents {
    /// Files, each with its name in the bundle.
    pub files: Vec<(String, Input, Attributes)>,
    /// Folders likewise.
    pub folders: Vec<(String, Attributes)>,
    /// What a bundle cannot hold: its path and a description.
    pub lost: Vec<(PathBuf, String)>,
    /// Files with several hard links, by the first path found.
    #[cfg(unix)]
    known: HashMap<(u64, u64), PathBuf>,
}

impl BundleContents {
    /// Adds a file, or all that is in a folder; `several` if it is one of several inputs.
    pub fn add(&mut self, path: &Path, several: bool, io: &mut Io) -> Result<()> {
        if is_stream(path) {
            return self.push("stdin".into(), one_file(path, io)?, Attributes::default());
        }
        if !path.is_dir() {
            let own = path.file_name().map_or_else(|| path.display().to_string(), |n| n.to_string_lossy().into_owned());
            let attributes = path.metadata().map_or_else(|_| Attributes::default(), |m| Attributes::of(&m));
            return self.push(own, one_file(path, io)?, attributes);
        }
        let named = |e: std::io::Error| Error::from(e).file(path.display().to_string());
        let mut prefix = String::new();
        // One folder is the bundle; several keep their names in it.
        if let Some(own) = path.canonicalize().map_err(named)?.file_name().filter(|_| several) {
            let own = own.to_str().ok_or_else(|| not_utf8(path))?;
            self.folders.push((own.to_string(), Attributes::of(&path.metadata().map_err(named)?)));
            prefix = format!("{own}/");
        }
        self.add_folder(path, &prefix)
    }

    fn push(&mut self, name: String, input: Input, attributes: Attributes) -> Result<()> {
        self.files.push((name, input, attributes));
        if self.files.len() > MOST_FILES {
            return Err(Error::limit("a bundle", "more files", MOST_FILES).hint("pack folders one by one"));
        }
        Ok(())
    }

    fn add_folder(&mut self, path: &Path, prefix: &str) -> Result<()> {
        let mut left = vec![(path.to_path_buf(), prefix.to_string())];
        while let Some((folder, prefix)) = left.pop() {
            let named = |e: std::io::Error| Error::from(e).file(folder.display().to_string());
            for entry in std::fs::read_dir(&folder).map_err(named)? {
                let entry = entry.map_err(named)?;
                let own = entry.file_name();
                let name = format!("{prefix}{}", own.to_str().ok_or_else(|| not_utf8(&entry.path()))?);
                let metadata = entry.metadata().map_err(named)?;
                if metadata.is_dir() {
                    self.folders.push((name.clone(), Attributes::of(&metadata)));
                    left.push((entry.path(), format!("{name}/")));
                } else if metadata.is_file() {
                    self.note_hard_link(&entry.path(), &metadata);
                    self.push(name, Input::path(entry.path())?, Attributes::of(&metadata))?;
                } else {
                    self.add_other(name, entry.path(), metadata.file_type())?;
                }
            }
        }
        Ok(())
    }

    /// Neither a file nor a folder. Of a link to a file the content remains.
    fn add_other(&mut self, name: String, path: PathBuf, kind: FileType) -> Result<()> {
        let what = match std::fs::metadata(&path) {
            _ if !kind.is_symlink() => special(kind),
            Ok(target) if target.is_file() => {
                self.push(name, Input::path(&path)?, Attributes::of(&target))?;
                "a symbolic link; the content of its target would be stored"
            }
            Ok(target) if target.is_dir() => "a symbolic link to a directory",
            Ok(_) => "a symbolic link to something that is not a file",
            Err(_) => "a dangling symbolic link",
        };
        self.lost.push((path, what.to_string()));
        Ok(())
    }

    #[cfg(unix)]
    fn note_hard_link(&mut self, path: &Path, metadata: &Metadata) {
        use std::os::unix::fs::MetadataExt;
        if metadata.nlink() < 2 {
            return;
        }
        if let Some(first) = self.known.get(&(metadata.dev(), metadata.ino())) {
            let what = format!("a hard link to {}; a copy would be stored", first.display());
            self.lost.push((path.to_path_buf(), what));
        } else {
            self.known.insert((metadata.dev(), metadata.ino()), path.to_path_buf());
        }
    }

    #[cfg(not(unix))]
    fn note_hard_link(&mut self, _: &Path, _: &Metadata) {}

    /// Decompresses files that are compressed as a whole, within these limits, or without limits only looks for them.
    /// Returns notes for the user.
    pub fn decompressed(&mut self, limits: Option<Limits>) -> Result<Vec<String>> {
        let Some(limits) = limits else {
            let mut compressed =
                self.files.iter().filter(|(_, input, _)| matches!(input.found_compression(), Ok(Some(_))));
            let Some((first, ..)) = compressed.next() else { return Ok(Vec::new()) };
            let more = match compressed.count() {
                0 => String::new(),
                more => format!(" and {}", plural(more as u64, "more file")),
            };
            return Ok(vec![format!(
                "compressed already: {first}{more}; --decompress packs what is in it, which gets smaller"
            )]);
        };
        for (name, input, _) in &mut self.files {
            *input = input.decompressed(&limits)?;
            if input.compression().is_some()
                && let Some((_, inner)) = Compression::in_name(Path::new(name))
            {
                *name = Path::new(name).with_file_name(inner).to_string_lossy().into_owned();
            }
        }
        Ok(Vec::new())
    }

    /// What cannot be held, as notes; an error unless that is allowed.
    pub fn losses(&mut self, allowed: bool) -> Result<Vec<String>> {
        /// More than these are counted.
        const NAMED: usize = 20;
        self.lost.sort();
        let notes: Vec<String> = self.lost.iter().map(|(path, what)| format!("{}: {what}", path.display())).collect();
        if allowed || notes.is_empty() {
            return Ok(notes);
        }
        let more = notes.len().saturating_sub(NAMED);
        let mut message = format!("a bundle cannot hold: {}", notes.get(..NAMED).unwrap_or(&notes).join("; "));
        if more > 0 {
            message.push_str(&format!("; and {more} more"));
        }
        Err(Error::data("not_kept", message).hint("--lossy packs what can be kept, and tells of the rest"))
    }
}

fn not_utf8(path: &Path) -> Error {
    Error::request("bad_entry_name", "a file name that is not UTF-8 cannot be kept in a bundle")
        .file(path.display().to_string())
}

#[cfg(unix)]
fn special(kind: FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    match () {
        () if kind.is_fifo() => "a FIFO",
        () if kind.is_socket() => "a socket",
        () => "a device",
    }
}

#[cfg(not(unix))]
fn special(_: FileType) -> &'static str {
    "neither a file nor a directory"
}
