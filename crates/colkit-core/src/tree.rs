//! A directory tree of output files that appears completely or not at all.

use crate::Attributes;
use crate::folder::Folder;
use crate::{Error, FolderSink, Result, Sink};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// Files and folders on their way to a folder. They wait in a temporary one on the same file system; dropped before
/// [`TreeSink::commit`], they are gone.
pub struct TreeSink {
    target: PathBuf,
    waiting: FolderSink,
    /// Whether the target is there already, and keeps what else is in it.
    merge: bool,
    folders: Vec<(String, Attributes)>,
}

impl TreeSink {
    /// Starts a tree that will appear as `target`, or in it if it is a folder that is there.
    pub fn create(target: &Path) -> Result<Self> {
        let merge = target.is_dir();
        // Inside the target it is on the target's file system even if that is mounted there.
        let beside = if merge { target.join("colkit") } else { target.to_path_buf() };
        let waiting = FolderSink::create(&beside).map_err(|e| Error::from(e).file(target.display().to_string()))?;
        Ok(TreeSink { target: target.to_path_buf(), waiting, merge, folders: Vec::new() })
    }

    fn waiting_at(&self, name: &str) -> Result<PathBuf> {
        let path = self.waiting.path().join(name);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(|e| self.named(name, e))?;
        }
        Ok(path)
    }

    fn named(&self, name: &str, e: std::io::Error) -> Error {
        Error::from(e).file(self.target.join(name).display().to_string())
    }

    /// A file for this relative name. Dropped before it is committed, it does not wait with the others.
    pub fn file(&self, name: &str, attributes: Attributes) -> Result<Box<dyn Sink>> {
        let path = self.waiting_at(name)?;
        let mut options = File::options();
        options.write(true).create_new(true);
        #[cfg(unix)]
        if let Some(mode) = attributes.mode {
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode & 0o777);
        }
        let file = options.open(&path).map_err(|e| self.named(name, e))?;
        let shown = self.target.join(name).display().to_string();
        Ok(Box::new(PendingFile { path, shown, attributes, out: BufWriter::with_capacity(1 << 18, file), done: false }))
    }

    /// A folder of this relative name, empty or not.
    pub fn folder(&mut self, name: &str, attributes: Attributes) -> Result<()> {
        let path = self.waiting_at(name)?;
        std::fs::create_dir_all(path).map_err(|e| self.named(name, e))?;
        self.folders.push((name.to_string(), attributes));
        Ok(())
    }

    /// Lets these files and all folders appear. What is in their way is noticed before the first is moved.
    pub fn commit<S: AsRef<str>>(self, files: &[S]) -> Result<()> {
        let TreeSink { target, waiting, merge, mut folders } = self;
        if merge {
            let into = Folder::open(&target)?;
            files.iter().try_for_each(|name| into.check_file(name.as_ref()))?;
            folders.iter().try_for_each(|(name, _)| into.check_folder(name))?;
            let mut new = Vec::new();
            for (name, attributes) in folders {
                // Folders that were there keep what they have.
                if into.make_folder(&name)? {
                    new.push((name, attributes));
                }
            }
            folders = new;
            for name in files.iter().map(AsRef::as_ref) {
                into.put(&waiting.path().join(name), name)?;
            }
        } else {
            waiting.commit(&target).map_err(|e| Error::from(e).file(target.display().to_string()))?;
        }
        // Inner folders first: setting theirs changes nothing of the outer ones, which may then be closed.
        folders.sort_by(|a, b| b.0.cmp(&a.0));
        let root = Folder::open(&target)?;
        for (name, attributes) in folders {
            let named = |e: std::io::Error| Error::from(e).file(target.join(&name).display().to_string());
            if let Some(folder) = root.file(&name)? {
                set(&folder, attributes, true).map_err(named)?;
            }
        }
        Ok(())
    }
}

/// Sets what can be set of an open file or folder.
fn set(file: &File, attributes: Attributes, with_mode: bool) -> std::io::Result<()> {
    if let Some(modified) = attributes.modified {
        file.set_modified(modified)?;
    }
    #[cfg(unix)]
    if let Some(mode) = attributes.mode.filter(|_| with_mode) {
        use std::os::unix::fs::PermissionsExt;
        // It was made with all permissions that the process's mask allows.
        let allowed = file.metadata()?.permissions().mode() & mode & 0o777;
        file.set_permissions(std::fs::Permissions::from_mode(allowed))?;
    }
    #[cfg(not(unix))]
    let _ = with_mode;
    Ok(())
}

/// A file that waits with the others.
struct PendingFile {
    path: PathBuf,
    shown: String,
    attributes: Attributes,
    out: BufWriter<File>,
    done: bool,
}

impl Sink for PendingFile {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write_all(bytes).map_err(|e| Error::from(e).file(self.shown.clone()))
    }

    fn commit(mut self: Box<Self>) -> Result<()> {
        let finish = |out: &mut BufWriter<File>, attributes| {
            out.flush()?;
            // It was made with its permissions.
            set(out.get_ref(), attributes, false)?;
            out.get_ref().sync_all()
        };
        finish(&mut self.out, self.attributes).map_err(|e| Error::from(e).file(self.shown.clone()))?;
        self.done = true;
        Ok(())
    }
}

impl Drop for PendingFile {
    fn drop(&mut self) {
        if !self.done {
            // The folder it is in goes as well, in the end.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{create_dir, create_dir_all, read, read_dir, write};
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::time::Duration;
    use std::time::SystemTime;

    fn put(tree: &TreeSink, name: &str, attributes: Attributes) {
        let mut sink = tree.file(name, attributes).unwrap();
        sink.write(b"new").unwrap();
        sink.commit().unwrap();
    }

    #[test]
    fn nothing_leaves_the_folder() {
        let scratch = tempfile::tempdir().unwrap();
        let at = |name: &str| scratch.path().join(name);
        create_dir_all(at("in/real")).unwrap();
        create_dir(at("out")).unwrap();
        write(at("out/x"), b"precious").unwrap();
        write(at("in/first"), b"old").unwrap();
        symlink(at("out"), at("in/way")).unwrap();
        symlink(at("out/x"), at("in/link")).unwrap();
        symlink(at("out/absent"), at("in/nowhere")).unwrap();
        create_dir(at("in/folder")).unwrap();
        write(at("in/file"), b"old").unwrap();
        for bad in ["way/x", "link", "nowhere", "folder", "file/x", "way"] {
            let tree = TreeSink::create(&at("in")).unwrap();
            put(&tree, "first", Attributes::default());
            put(&tree, bad, Attributes::default());
            let error = tree.commit(&["first", bad]).unwrap_err();
            assert_eq!(error.code(), "blocked_name", "{bad}: {error}");
            assert_eq!(read(at("in/first")).unwrap(), b"old", "{bad}");
        }
        let mut tree = TreeSink::create(&at("in")).unwrap();
        tree.folder("way", Attributes::default()).unwrap();
        assert_eq!(tree.commit::<&str>(&[]).unwrap_err().code(), "blocked_name");
        let tree = TreeSink::create(&at("in")).unwrap();
        put(&tree, "first", Attributes::default());
        put(&tree, "real/deep/new", Attributes::default());
        tree.commit(&["first", "real/deep/new"]).unwrap();
        assert_eq!(
            (read(at("in/first")).unwrap(), read(at("in/real/deep/new")).unwrap()),
            (b"new".into(), b"new".into())
        );
        assert_eq!(read(at("out/x")).unwrap(), b"precious");
        assert_eq!(read_dir(at("out")).unwrap().count(), 1);
        assert_eq!(read_dir(at("in")).unwrap().count(), 7, "nothing else is left");
    }

    #[test]
    fn attributes_are_kept() {
        let scratch = tempfile::tempdir().unwrap();
        let target = scratch.path().join("tree");
        let modified = SystemTime::UNIX_EPOCH + Duration::from_nanos(1_234_567_890_123_456_789);
        let attributes = |mode| Attributes { mode: Some(mode), modified: Some(modified) };
        let mut tree = TreeSink::create(&target).unwrap();
        put(&tree, "shut/secret", attributes(0o400));
        drop(tree.file("shut/abandoned", attributes(0o600)).unwrap());
        tree.folder("shut", attributes(0o500)).unwrap();
        tree.folder("empty/deep", attributes(0o700)).unwrap();
        tree.commit(&["shut/secret"]).unwrap();
        for (name, mode) in [("shut/secret", 0o400), ("shut", 0o500), ("empty/deep", 0o700)] {
            let metadata = target.join(name).metadata().unwrap();
            assert_eq!(metadata.permissions().mode() & 0o777, mode, "{name}");
            assert_eq!(metadata.modified().unwrap(), modified, "{name}");
        }
        assert!(!target.join("shut/abandoned").exists());
        std::fs::set_permissions(target.join("shut"), std::fs::Permissions::from_mode(0o700)).unwrap();
    }
}
