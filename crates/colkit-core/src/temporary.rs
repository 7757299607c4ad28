//! Temporary names next to an output file, and removal of those that killed processes left.
//!
//! A temporary name is `.colkit.PROCESS-NUMBER.colkit-tmp`, independent of the target's name, which may be as long as
//! the system allows. The writer holds a lock on the file, which the system releases when the process ends, however it
//! ends. A file that is not locked is therefore abandoned, and the next process that writes into the same directory
//! removes it.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// How temporary names end.
const END: &str = ".colkit-tmp";

/// Names tried before giving up: another process may remove one before it is locked.
const TRIES: usize = 8;

/// The folder that a file of this name lies in.
pub(crate) fn folder_of(target: &Path) -> &Path {
    match target.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// A new temporary name beside `target`.
pub(crate) fn name_beside(target: &Path) -> PathBuf {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let (process, number) = (std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    target.with_file_name(format!(".colkit.{process}-{number}{END}"))
}

/// Whether a name is one of ours.
fn is_temporary(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    let Some(stem) = name.strip_prefix(b".").and_then(|n| n.strip_suffix(END.as_bytes())) else { return false };
    let Some(process) = stem.rsplit(|b| *b == b'.').next().filter(|p| p.len() < stem.len()) else { return false };
    let number = |n: &[u8]| !n.is_empty() && n.iter().all(u8::is_ascii_digit);
    let mut parts = process.split(|b| *b == b'-');
    matches!((parts.next(), parts.next(), parts.next()), (Some(id), Some(count), None) if number(id) && number(count))
}

/// Locks what is being written. `false`: another process holds it, and will remove it. Where the system has no locks
/// there is nothing to fear either: only what can be locked is removed.
pub(crate) fn hold(file: &File) -> bool {
    !matches!(file.try_lock(), Err(TryLockError::WouldBlock))
}

/// Makes something under a temporary name beside `target`, and locks it.
pub(crate) fn make_beside(
    target: &Path,
    make: impl Fn(&Path) -> std::io::Result<File>,
) -> std::io::Result<(PathBuf, File)> {
    for _ in 0..TRIES {
        let path = name_beside(target);
        let file = make(&path)?;
        // Once locked it stays; before that, another process may have taken it for abandoned.
        if hold(&file) && path.exists() {
            return Ok((path, file));
        }
    }
    Err(std::io::ErrorKind::AlreadyExists.into())
}

/// Removes what killed processes left in a folder, once for each folder. Failing to is not worth an error.
pub(crate) fn sweep(folder: &Path) {
    static SWEPT: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    if SWEPT.lock().is_ok_and(|mut swept| swept.insert(folder.to_path_buf())) {
        sweep_now(folder);
    }
}

fn sweep_now(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten().filter(|e| is_temporary(&e.file_name())) {
        let (path, Ok(kind)) = (entry.path(), entry.file_type()) else { continue };
        // Opening anything else may lead elsewhere, or wait for ever.
        if !kind.is_file() && !kind.is_dir() {
            continue;
        }
        // The lock is held until it is gone.
        let Ok(file) = File::open(&path) else { continue };
        if file.try_lock().is_err() {
            continue;
        }
        let _ = if kind.is_dir() { std::fs::remove_dir_all(&path) } else { std::fs::remove_file(&path) };
    }
}

/// A folder that gets its name when it is complete. Dropped before that, it is gone with all that is in it.
pub struct FolderSink {
    path: PathBuf,
    finished: bool,
    /// Holds the lock.
    _held: Option<File>,
}

impl FolderSink {
    /// Starts a folder beside `target`.
    pub fn create(target: &Path) -> std::io::Result<Self> {
        sweep(folder_of(target));
        if cfg!(unix) {
            let make = |path: &Path| std::fs::create_dir(path).and_then(|()| File::open(path));
            let (path, file) = make_beside(target, make)?;
            return Ok(FolderSink { path, finished: false, _held: Some(file) });
        }
        // Elsewhere a folder cannot be opened, nor locked.
        let path = name_beside(target);
        std::fs::create_dir(&path)?;
        Ok(FolderSink { path, finished: false, _held: None })
    }

    /// Where it is until then.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Gives it its name.
    pub fn commit(mut self, target: &Path) -> std::io::Result<()> {
        std::fs::rename(&self.path, target)?;
        self.finished = true;
        Ok(())
    }
}

impl Drop for FolderSink {
    fn drop(&mut self) {
        if !self.finished {
            // Nothing useful can be done if even this fails; the next process will try again.
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_holds_is_removed_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str| File::create(folder.path().join(name)).unwrap();
        put(".out.bin.4294967294-0.colkit-tmp");
        std::fs::create_dir_all(folder.path().join(".out.4294967294-1.colkit-tmp/deep")).unwrap();
        let held = put(".out.bin.7-2.colkit-tmp");
        held.try_lock().unwrap();
        let others = [".colkit-tmp", ".7-1.colkit-tmp", ".a.b-1.colkit-tmp", ".a.1-2-3.colkit-tmp", "a.1-2.colkit-tmp"];
        others.iter().for_each(|name| drop(put(name)));
        sweep_now(folder.path());
        let entries = std::fs::read_dir(folder.path()).unwrap();
        let left: BTreeSet<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        let mut expected: BTreeSet<String> = others.iter().map(ToString::to_string).collect();
        expected.insert(".out.bin.7-2.colkit-tmp".into());
        assert_eq!(left, expected);
        drop(held);
        sweep_now(folder.path());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), others.len());
    }

    #[test]
    fn a_folder_appears_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        // As long as a name may be.
        let target = folder.path().join("l".repeat(255));
        let sink = FolderSink::create(&target).unwrap();
        std::fs::write(sink.path().join("one"), b"1").unwrap();
        drop(sink);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        let sink = FolderSink::create(&target).unwrap();
        assert!(is_temporary(sink.path().file_name().unwrap()));
        std::fs::write(sink.path().join("one"), b"1").unwrap();
        sink.commit(&target).unwrap();
        assert_eq!(std::fs::read(target.join("one")).unwrap(), b"1");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
