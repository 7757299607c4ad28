//! Local files as sinks.

use super::Sink;
use crate::output_path::{OutputPath, changed, copy_into, followed, has_one_name, look, open_special, rename_new};
use crate::permissions::{restrict, take_over};
use crate::temporary::{folder_of, hold, make_beside, name_beside, sweep};
use crate::{Error, Existing, Result};
use std::fs::{File, Metadata};
use std::io::{BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// A local file that appears at its name when it is complete, synced, and not before.
///
/// Until then it has no name at all where the system allows that, so that not even a kill leaves anything behind.
/// Elsewhere it has a temporary name beside the target; what a killed process left of it is removed by the next one that
/// writes into the same folder.
///
/// A name that is a symbolic link stays one: what it leads to is written. A file that is replaced keeps its owner, mode and
/// access list, and if it has several names, all of them. Devices and pipes are written to and never replaced.
pub struct FileSink {
    /// Where the name leads.
    target: PathBuf,
    existing: Existing,
    out: BufWriter<File>,
    /// `None`: a device or a pipe, to which bytes go at once.
    temporary: Option<Temporary>,
}

/// The temporary name beside the target. Removed on drop, unless the file was renamed or never had it.
struct Temporary {
    path: PathBuf,
    exists: bool,
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if self.exists {
            // Nothing useful can be done if even this fails; the file is recognisable by its name.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

impl FileSink {
    /// Starts a new file that will appear at `target`. One that is there already is an error, now or when it is complete.
    pub fn create(target: impl AsRef<Path>) -> Result<Self> {
        Self::start(target.as_ref(), Existing::Refuse)
    }

    /// Starts a file that will appear at `target`, in place of one that may be there.
    pub fn replace(target: impl AsRef<Path>) -> Result<Self> {
        Self::start(target.as_ref(), Existing::Replace)
    }

    /// Starts a file that will appear at `target`.
    pub fn start(target: &Path, existing: Existing) -> Result<Self> {
        if target.file_name().is_none() {
            return Err(Error::request("not_a_file_name", "expected the name of a file to write")
                .file(target.display().to_string()));
        }
        // Not where the name leads: a pipe may have none that leads there.
        if let OutputPath::Special(found) = look(target, existing)? {
            let out = BufWriter::with_capacity(BUFFER, open_special(target, &found)?);
            return Ok(FileSink { target: target.to_path_buf(), existing, out, temporary: None });
        }
        let target = followed(target)?;
        let folder = folder_of(&target);
        sweep(folder);
        let (temporary, file) = match nameless_file(folder) {
            Some(file) => {
                // Nobody else can see it; locked, it stays so when it gets its first name.
                hold(&file);
                (Temporary { path: name_beside(&target), exists: false }, file)
            }
            None => {
                let create = |path: &Path| File::options().read(true).write(true).create_new(true).open(path);
                let (path, file) = make_beside(&target, create).map_err(|e| {
                    Error::from(e)
                        .file(target.display().to_string())
                        .part("creating a temporary file beside the target")
                        .hint("check that the folder exists and can be written to")
                })?;
                (Temporary { path, exists: true }, file)
            }
        };
        Ok(FileSink { target, existing, out: BufWriter::with_capacity(BUFFER, file), temporary: Some(temporary) })
    }

    /// Whether a file may be written to `target`, as far as can be told before it is.
    pub fn check(target: &Path, existing: Existing) -> Result<()> {
        look(target, existing).map(drop)
    }

    /// Takes rights away until nobody can read the new file who cannot read the local file at `input`. A file that is
    /// replaced keeps the rights it has.
    pub fn as_private_as(&self, input: &Path) -> Result<()> {
        match self.temporary {
            Some(_) => restrict(self.out.get_ref(), input).map_err(|e| self.named(e)),
            None => Ok(()),
        }
    }

    fn named(&self, e: impl Into<Error>) -> Error {
        e.into().file(self.target.display().to_string())
    }
}

/// Bytes gathered before they are written.
const BUFFER: usize = 1 << 18;

/// A file in this folder that has no name yet, if the system and the file system can do that.
#[cfg(target_os = "linux")]
fn nameless_file(folder: &Path) -> Option<File> {
    use rustix::fs::{Mode, OFlags};
    // Giving it a name later goes through /proc.
    if !Path::new("/proc/self/fd").exists() {
        return None;
    }
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    rustix::fs::open(folder, flags, Mode::from_raw_mode(0o666)).ok().map(File::from)
}

#[cfg(not(target_os = "linux"))]
fn nameless_file(_: &Path) -> Option<File> {
    None
}

/// Gives a nameless file its first name. A file that is there stays.
#[cfg(target_os = "linux")]
fn give_name(file: &File, path: &Path) -> std::io::Result<()> {
    use rustix::fs::{AtFlags, CWD};
    use std::os::fd::AsRawFd;
    let descriptor = format!("/proc/self/fd/{}", file.as_raw_fd());
    Ok(rustix::fs::linkat(CWD, descriptor, CWD, path, AtFlags::SYMLINK_FOLLOW)?)
}

#[cfg(not(target_os = "linux"))]
fn give_name(_: &File, _: &Path) -> std::io::Result<()> {
    Err(ErrorKind::Unsupported.into())
}

impl Temporary {
    /// Puts the file at `target`, where nothing may be.
    fn appear(&mut self, file: &File, target: &Path) -> std::io::Result<()> {
        if !self.exists {
            return give_name(file, target);
        }
        rename_new(&self.path, target)?;
        self.exists = false;
        Ok(())
    }

    /// Puts the file in the place of the one at `target`. That is done at once where the new file can be made to look like
    /// the old one, and by writing into the old one where it cannot.
    fn replace(&mut self, file: &File, target: &Path, old: &Metadata) -> Result<()> {
        if has_one_name(old) && take_over(file, target, old).is_ok() {
            if !self.exists {
                // A link cannot replace what is there, a rename can.
                give_name(file, &self.path)?;
                self.exists = true;
            }
            match std::fs::rename(&self.path, target) {
                Ok(()) => {
                    self.exists = false;
                    return Ok(());
                }
                // A file that something is mounted on, or that is somebody else's in a folder of all.
                Err(e) if matches!(e.kind(), ErrorKind::ResourceBusy | ErrorKind::PermissionDenied) => {}
                Err(e) => return Err(e.into()),
            }
        }
        copy_into(file, target, old)
    }
}

impl Sink for FileSink {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write_all(bytes).map_err(|e| self.named(e))
    }

    fn commit(mut self: Box<Self>) -> Result<()> {
        self.out.flush().map_err(|e| self.named(e))?;
        let synced = self.out.get_ref().sync_all();
        let Some(mut temporary) = self.temporary.take() else {
            // Pipes and most devices have nothing to sync.
            return synced.or_else(|e| if e.kind() == ErrorKind::InvalidInput { Ok(()) } else { Err(self.named(e)) });
        };
        synced.map_err(|e| self.named(e))?;
        let (file, target) = (self.out.get_ref(), self.target.as_path());
        // Somebody else may have been here in the meantime, and again between a look and what follows from it.
        for _ in 0..TRIES {
            let placed = match look(target, self.existing)? {
                OutputPath::Special(_) => Err(changed()),
                OutputPath::File(old) => temporary.replace(file, target, &old),
                OutputPath::Nothing => match temporary.appear(file, target) {
                    Err(e) if e.kind() == ErrorKind::AlreadyExists => continue,
                    appeared => appeared.map_err(Error::from),
                },
            };
            placed.map_err(|e| self.named(e))?;
            sync_folder(target);
            return Ok(());
        }
        Err(self.named(changed()))
    }
}

/// Looks at what is at a name before giving up on somebody who changes it all the time.
const TRIES: usize = 8;

/// Makes the rename itself durable. Some file systems refuse to sync folders; the rename is atomic all the same.
fn sync_folder(target: &Path) {
    if let Ok(folder) = File::open(folder_of(target)) {
        let _ = folder.sync_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder and how many things are in it.
    fn folder() -> (tempfile::TempDir, impl Fn() -> usize) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_path_buf();
        (folder, move || std::fs::read_dir(&path).unwrap().count())
    }

    fn write(mut sink: FileSink, bytes: &[u8]) -> Result<()> {
        sink.write(bytes)?;
        Box::new(sink).commit()
    }

    #[test]
    fn a_file_appears_whole_or_not_at_all() {
        let (folder, entries) = folder();
        // As long as a name may be.
        let target = folder.path().join("o".repeat(255));
        let mut sink = FileSink::create(&target).unwrap();
        sink.write(b"half").unwrap();
        drop(sink);
        assert_eq!(entries(), 0, "an abandoned write leaves nothing");

        std::fs::write(&target, b"old").unwrap();
        let mut sink = Box::new(FileSink::replace(&target).unwrap());
        sink.write(b"whole").unwrap();
        assert_eq!(std::fs::read(&target).unwrap(), b"old", "the old file stays until the new one is complete");
        sink.commit().unwrap();
        assert_eq!(std::fs::read(&target).unwrap(), b"whole");
        assert_eq!(entries(), 1);
    }

    #[test]
    fn what_is_there_stays_unless_it_may_be_replaced() {
        let (folder, entries) = folder();
        let target = folder.path().join("out.bin");
        let early = FileSink::create(&target).unwrap();
        write(FileSink::create(&target).unwrap(), b"first").unwrap();
        assert_eq!(FileSink::create(&target).err().unwrap().code(), "already_exists");
        assert_eq!(write(early, b"second").unwrap_err().code(), "already_exists", "it appeared in the meantime");
        assert_eq!(std::fs::read(&target).unwrap(), b"first");
        write(FileSink::replace(&target).unwrap(), b"third").unwrap();
        assert_eq!(std::fs::read(&target).unwrap(), b"third");
        assert_eq!(entries(), 1);
        assert_eq!(FileSink::replace(folder.path()).err().unwrap().code(), "is_a_folder");
    }

    /// What file systems without nameless files do.
    #[test]
    fn a_temporary_name_is_given_up_for_the_right_one() {
        let (folder, entries) = folder();
        let target = folder.path().join("out.bin");
        let mut sink = FileSink::create(&target).unwrap();
        let path = sink.temporary.as_ref().unwrap().path.clone();
        let file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
        sink.out = BufWriter::new(file);
        sink.temporary = Some(Temporary { path, exists: true });
        std::fs::write(&target, b"other").unwrap();
        assert_eq!(write(sink, b"new").unwrap_err().code(), "already_exists");
        assert_eq!(std::fs::read(&target).unwrap(), b"other");
        assert_eq!(entries(), 1);

        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        std::fs::write(&from, b"new").unwrap();
        assert_eq!(rename_new(&from, &target).unwrap_err().kind(), ErrorKind::AlreadyExists);
        rename_new(&from, &to).unwrap();
        assert_eq!((std::fs::read(&to).unwrap(), from.exists()), (b"new".to_vec(), false));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn an_unfinished_file_has_no_name() {
        let (folder, entries) = folder();
        if nameless_file(folder.path()).is_none() {
            return; // This file system cannot; the other tests cover what happens then.
        }
        let mut sink = Box::new(FileSink::create(folder.path().join("out.bin")).unwrap());
        sink.write(b"half").unwrap();
        assert_eq!(entries(), 0);
        sink.commit().unwrap();
        assert_eq!(std::fs::read(folder.path().join("out.bin")).unwrap(), b"half");
    }

    #[cfg(unix)]
    #[test]
    fn links_lead_to_what_is_replaced() {
        use std::os::unix::fs::{MetadataExt, symlink};
        let (folder, entries) = folder();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("file"), b"a long old text").unwrap();
        symlink("file", at("one")).unwrap();
        symlink(at("one"), at("two")).unwrap();
        write(FileSink::replace(at("two")).unwrap(), b"new").unwrap();
        assert!(at("two").is_symlink() && at("one").is_symlink());
        assert_eq!(std::fs::read(at("file")).unwrap(), b"new");

        symlink("fresh", at("dangling")).unwrap();
        write(FileSink::create(at("dangling")).unwrap(), b"made").unwrap();
        assert_eq!(std::fs::read(at("fresh")).unwrap(), b"made");
        symlink("circle", at("circle")).unwrap();
        assert!(FileSink::create(at("circle")).is_err());

        std::fs::hard_link(at("file"), at("other")).unwrap();
        let before = std::fs::metadata(at("file")).unwrap();
        write(FileSink::replace(at("other")).unwrap(), b"n").unwrap();
        assert_eq!(std::fs::read(at("file")).unwrap(), b"n", "both names show the same file");
        let after = std::fs::metadata(at("file")).unwrap();
        assert_eq!((after.ino(), after.nlink()), (before.ino(), 2));
        assert_eq!(entries(), 7);
    }

    #[cfg(unix)]
    #[test]
    fn rights_are_kept_and_never_widened() {
        use std::os::unix::fs::{MetadataExt, PermissionsExt};
        let (folder, _) = folder();
        let at = |name: &str| folder.path().join(name);
        let mode = |name: &str| std::fs::metadata(at(name)).unwrap().mode() & 0o777;
        let chmod = |name: &str, mode| std::fs::set_permissions(at(name), PermissionsExt::from_mode(mode)).unwrap();
        std::fs::write(at("plain"), b"").unwrap();
        let usual = mode("plain");
        write(FileSink::create(at("new")).unwrap(), b"").unwrap();
        assert_eq!(mode("new"), usual);
        for (input, expected) in
            [(0o600, usual & 0o700), (0o640, usual & 0o770), (0o644, usual), (0o400, usual & 0o700)]
        {
            chmod("plain", input);
            let sink = FileSink::replace(at("made")).unwrap();
            sink.as_private_as(&at("plain")).unwrap();
            write(sink, b"secret").unwrap();
            assert_eq!(mode("made"), expected, "{input:o}");
            std::fs::remove_file(at("made")).unwrap();
        }
        for kept in [0o600, 0o640, 0o666, 0o444] {
            chmod("new", kept);
            write(FileSink::replace(at("new")).unwrap(), b"again").unwrap();
            assert_eq!(mode("new"), kept);
        }
    }

    /// A list that lets one more user read.
    #[cfg(target_os = "linux")]
    #[test]
    fn access_lists_are_kept_and_never_spread() {
        use rustix::fs::{XattrFlags, getxattr, setxattr};
        use std::os::unix::fs::MetadataExt;
        let (folder, _) = folder();
        let at = |name: &str| folder.path().join(name);
        let (access, default) = ("system.posix_acl_access", "system.posix_acl_default");
        // Owner, a user, group, mask, others: tag, permissions, who.
        let entries = [(1u16, 6u16, u32::MAX), (2, 4, 12345), (4, 0, u32::MAX), (16, 4, u32::MAX), (32, 0, u32::MAX)];
        let entry = |(tag, may, who): (u16, u16, u32)| {
            [tag.to_le_bytes().to_vec(), may.to_le_bytes().to_vec(), who.to_le_bytes().to_vec()].concat()
        };
        let list = [2u32.to_le_bytes().to_vec(), entries.into_iter().flat_map(entry).collect()].concat();
        let list_of = |name: &str| {
            let mut found = vec![0; 1024];
            getxattr(at(name), access, found.as_mut_slice()).ok().map(|length| found[..length].to_vec())
        };
        std::fs::write(at("listed"), b"old").unwrap();
        if setxattr(at("listed"), access, &list, XattrFlags::empty()).is_err() {
            return; // No lists on this file system.
        }
        let mode = |name: &str| std::fs::metadata(at(name)).unwrap().mode() & 0o777;
        write(FileSink::replace(at("listed")).unwrap(), b"new").unwrap();
        assert_eq!((list_of("listed"), mode("listed")), (Some(list.clone()), 0o640));
        // What the mode shows for the group is what the list grants the user.
        let sink = FileSink::create(at("made")).unwrap();
        sink.as_private_as(&at("listed")).unwrap();
        write(sink, b"").unwrap();
        assert_eq!((list_of("made"), mode("made")), (None, 0o600));

        std::fs::write(at("private"), b"").unwrap();
        std::fs::set_permissions(at("private"), std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        setxattr(folder.path(), default, &list, XattrFlags::empty()).unwrap();
        write(FileSink::create(at("inherits")).unwrap(), b"").unwrap();
        assert!(list_of("inherits").is_some());
        write(FileSink::replace(at("private")).unwrap(), b"new").unwrap();
        assert_eq!((list_of("private"), mode("private")), (None, 0o600));
        let sink = FileSink::create(at("secret")).unwrap();
        sink.as_private_as(&at("private")).unwrap();
        write(sink, b"").unwrap();
        assert_eq!((list_of("secret"), mode("secret")), (None, 0o600));
    }

    /// Made here, never the machine's own.
    #[cfg(target_os = "linux")]
    #[test]
    fn devices_and_pipes_are_written_to() {
        use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};
        use std::os::unix::fs::FileTypeExt;
        let (folder, entries) = folder();
        let at = |name: &str| folder.path().join(name);
        let kind = |name: &str| std::fs::symlink_metadata(at(name)).unwrap().file_type();
        let make = |name: &str, kind, number| mknodat(CWD, at(name), kind, Mode::from_raw_mode(0o600), number);
        make("pipe", FileType::Fifo, 0).unwrap();
        let reading = std::thread::spawn({
            let path = at("pipe");
            move || std::fs::read(path).unwrap()
        });
        write(FileSink::create(at("pipe")).unwrap(), b"through").unwrap();
        assert_eq!(reading.join().unwrap(), b"through");
        assert!(kind("pipe").is_fifo());

        let _listening = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        assert_eq!(FileSink::replace(at("socket")).err().unwrap().code(), "is_a_socket");
        // A device of no driver: nothing can be lost by mistake.
        if make("block", FileType::BlockDevice, makedev(0, 0)).is_ok() {
            assert_eq!(FileSink::create(at("block")).err().unwrap().code(), "already_exists");
        }
        // Only root may make devices, and not everywhere.
        let made = make("null", FileType::CharacterDevice, makedev(1, 3)).is_ok();
        if made && File::options().write(true).open(at("null")).is_ok() {
            let before = entries();
            write(FileSink::replace(at("null")).unwrap(), b"gone").unwrap();
            assert!(kind("null").is_char_device());
            assert_eq!(entries(), before);
        }
    }

    #[test]
    fn a_missing_folder_is_named() {
        let error = FileSink::create("/nonexistent-folder/x.bin").err().unwrap();
        assert_eq!(error.file_name(), Some("/nonexistent-folder/x.bin"));
    }
}
