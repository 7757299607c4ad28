//! Bundles: nothing in them is lost in silence, nothing outside of them is touched.

use super::run::{Folder, Said, error};
use serde_json::Value;

/// Texts that differ, long enough to be packed.
fn text(from: u32) -> String {
    "id,name\n".to_string() + &(from..from + 300).map(|i| format!("{i},n{}\n", i * 7 % 13)).collect::<String>()
}

/// A folder of three tables, packed, and where each lies in the bundle.
fn bundle(folder: &Folder) -> Vec<u8> {
    std::fs::create_dir_all(folder.path("in/deep")).unwrap();
    folder.write("in/a.csv", text(0));
    folder.write("in/b.csv", text(10_000));
    folder.write("in/deep/c.csv", text(20_000));
    folder.ok(&["pack", "in", "all.at1"]);
    folder.read("all.at1")
}

/// Where the content of an entry begins: after its name, its backend and a length of two bytes.
fn entry(bytes: &[u8], number: u8) -> usize {
    let header = [2, b'e', b'0' + number, 2];
    bytes.windows(4).position(|w| w == header).unwrap() + 6
}

fn names_in(folder: &Folder, name: &str) -> Vec<String> {
    let entries = std::fs::read_dir(folder.path(name)).unwrap();
    let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn code(said: &Said) -> (i32, Value) {
    (said.code, error(said)["code"].clone())
}

#[test]
fn verify_restores_every_entry() {
    let folder = Folder::new();
    let good = bundle(&folder);
    let said = folder.ok(&["verify", "all.at1"]);
    assert!(said.out.contains("checked: checksums cover every byte"), "{said:?}");
    for at in (0..good.len()).step_by(good.len() / 24) {
        let mut bad = good.clone();
        bad[at] ^= 1 << (at % 8);
        folder.write("bad.at1", bad);
        let said = folder.run(&["verify", "bad.at1"]);
        assert_eq!(said.code, 1, "byte {at}: {said:?}");
        assert!(said.out.contains("bad.at1: INVALID"), "{said:?}");
    }
    let mut bad = good;
    for number in [0, 2] {
        let at = entry(&bad, number) + 100;
        bad[at] ^= 4;
    }
    folder.write("bad.at1", bad);
    let said = folder.run(&["verify", "bad.at1"]);
    assert!(said.out.contains("entry \"a.csv\"") && said.out.contains("entry \"deep/c.csv\""), "{said:?}");
    assert!(!said.out.contains("b.csv"), "{said:?}");
}

#[test]
fn one_bad_entry_does_not_lose_the_others() {
    let folder = Folder::new();
    let mut bad = bundle(&folder);
    let at = entry(&bad, 1) + 100;
    bad[at] ^= 4;
    folder.write("bad.at1", bad);
    let said = folder.run(&["unpack", "bad.at1", "out"]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.err.contains("error: bad.at1: ") && said.err.contains("entry \"b.csv\""), "{said:?}");
    assert!(said.err.contains("out: 2 files restored ("), "{said:?}");
    assert_eq!(names_in(&folder, "out"), ["a.csv", "deep"]);
    assert_eq!(folder.read("out/deep/c.csv"), text(20_000).as_bytes());
    let said = folder.run(&["unpack", "--json", "bad.at1", "again"]);
    let files = &said.json()["files"];
    assert_eq!((said.code, &files[1]["name"], &files[1]["error"]["class"]), (1, &"b.csv".into(), &"corrupt".into()));
    assert_eq!(files[0]["verified"], true);
    // What is there already is not replaced by nothing.
    folder.write("out/b.csv", "older, but whole");
    let said = folder.run(&["unpack", "--force", "bad.at1", "out"]);
    assert_eq!((said.code, folder.read("out/b.csv")), (1, b"older, but whole".to_vec()));
    let said = folder.run(&["unpack", "bad.at1", "b.csv"]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(!folder.path("bad").exists(), "nothing intact, nothing written");
}

#[test]
fn entries_can_be_listed_and_restored_alone() {
    let folder = Folder::new();
    bundle(&folder);
    let said = folder.ok(&["unpack", "--list", "all.at1"]);
    let lines: Vec<&str> = said.out.lines().collect();
    assert!(lines.len() == 4 && lines[0].ends_with("name") && lines[3].ends_with("deep/c.csv"), "{said:?}");
    assert!(lines[1].contains("qcolumnar"), "{said:?}");
    let listed = folder.json(&["unpack", "--list", "--json", "all.at1"]);
    assert_eq!(
        (&listed["files"][1]["name"], &listed["files"][1]["bytes"]),
        (&"b.csv".into(), &text(10_000).len().into())
    );
    folder.ok(&["unpack", "all.at1", "b.csv"]);
    assert_eq!(names_in(&folder, "all"), ["b.csv"]);
    folder.ok(&["unpack", "all.at1", "out", "a.csv", "deep/"]);
    assert_eq!(
        (names_in(&folder, "out"), names_in(&folder, "out/deep")),
        (vec!["a.csv".into(), "deep".into()], vec!["c.csv".into()])
    );
    assert_eq!(folder.ok(&["unpack", "all.at1", "--out", "-", "deep/c.csv"]).out, text(20_000));
    assert_eq!(folder.ok(&["unpack", "all.at1", "-", "a.csv"]).out, text(0));
    let said = folder.run(&["unpack", "--json", "all.at1", "other", "d.csv"]);
    assert_eq!(code(&said), (2, "no_such_entry".into()));
    folder.ok(&["pack", "in/a.csv", "a.at1"]);
    for arguments in [&["unpack", "--json", "a.at1", "x", "y"][..], &["unpack", "--json", "--list", "a.at1"]] {
        assert_eq!(code(&folder.run(arguments)), (2, "not_a_bundle".into()));
    }
}

#[test]
fn names_that_are_not_portable_are_told() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("in")).unwrap();
    let long = "x".repeat(255);
    for name in ["CON", "x.", "A", "a", &long] {
        folder.write(&format!("in/{name}"), name);
    }
    for arguments in [&["pack", "in", "all.at1"][..], &["unpack", "all.at1", "out"]] {
        let said = folder.ok(arguments);
        for told in ["note: \"CON\": ", "note: \"x.\": ", "note: \"a\" and \"A\": "] {
            assert!(said.err.contains(told), "{told}: {said:?}");
        }
    }
    assert_eq!(names_in(&folder, "out"), names_in(&folder, "in"));
    folder.ok(&["unpack", "--force", "all.at1", "out"]);
    assert_eq!(folder.read(&format!("out/{long}")), long.as_bytes());
}

#[cfg(unix)]
mod unix {
    use super::*;
    use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
    use std::os::unix::net::UnixListener;
    use std::time::{Duration, SystemTime};

    fn chmod(folder: &Folder, name: &str, mode: u32) {
        std::fs::set_permissions(folder.path(name), std::fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn what_a_bundle_can_hold_is_kept() {
        let folder = Folder::new();
        bundle(&folder);
        std::fs::create_dir_all(folder.path("in/empty/deeper")).unwrap();
        let time = SystemTime::UNIX_EPOCH + Duration::from_nanos(1_600_000_000_987_654_321);
        let names = [("in/a.csv", 0o600), ("in/b.csv", 0o751), ("in/deep", 0o750), ("in/empty", 0o700)];
        for (name, mode) in names {
            chmod(&folder, name, mode);
            std::fs::File::open(folder.path(name)).unwrap().set_modified(time).unwrap();
        }
        folder.ok(&["pack", "--force", "in", "all.at1"]);
        std::fs::create_dir(folder.path("there")).unwrap();
        for arguments in [&["unpack", "all.at1", "out"][..], &["unpack", "--force", "all.at1", "there"]] {
            folder.ok(arguments);
            for (name, mode) in names {
                let path = folder.path(&name.replace("in/", &format!("{}/", arguments[arguments.len() - 1])));
                let metadata = path.metadata().unwrap();
                assert_eq!(metadata.permissions().mode() & 0o777, mode & !umask(&folder), "{name}");
                assert_eq!(metadata.modified().unwrap(), time, "{name}");
            }
        }
        assert_eq!(names_in(&folder, "out/empty"), ["deeper"]);
        assert!(folder.ok(&["unpack", "--list", "all.at1"]).out.contains("0600  2020-09-13 12:26:40  a.csv"));
    }

    /// What the process's mask takes away.
    fn umask(folder: &Folder) -> u32 {
        use std::os::unix::fs::OpenOptionsExt;
        let path = folder.path("mask");
        let file = std::fs::File::options().write(true).create(true).truncate(true).mode(0o777).open(path).unwrap();
        0o777 & !file.metadata().unwrap().permissions().mode()
    }

    #[test]
    fn what_a_bundle_cannot_hold_is_named_and_refused() {
        let folder = Folder::new();
        bundle(&folder);
        let made = std::process::Command::new("mkfifo").arg(folder.path("in/deep/pipe")).status().unwrap();
        assert!(made.success());
        let _socket = UnixListener::bind(folder.path("in/socket")).unwrap();
        symlink("nowhere", folder.path("in/broken")).unwrap();
        symlink("..", folder.path("in/up")).unwrap();
        symlink("a.csv", folder.path("in/other.csv")).unwrap();
        std::fs::hard_link(folder.path("in/b.csv"), folder.path("in/twice.csv")).unwrap();
        let said = folder.run(&["pack", "in", "new.at1"]);
        assert_eq!(said.code, 1, "{said:?}");
        let told = [
            "in/deep/pipe: a FIFO",
            "in/socket: a socket",
            "in/broken: a dangling symbolic link",
            "in/up: a symbolic link to a directory",
            "in/other.csv: a symbolic link",
        ];
        for told in told.into_iter().chain([": a hard link to in/", "--lossy"]) {
            assert!(said.err.contains(told), "{told}: {said:?}");
        }
        assert!(!folder.path("new.at1").exists());
        let said = folder.ok(&["pack", "--lossy", "in", "new.at1"]);
        assert_eq!(said.err.lines().filter(|l| l.starts_with("note: in/")).count(), 6, "{said:?}");
        folder.ok(&["unpack", "new.at1"]);
        assert_eq!(names_in(&folder, "new"), ["a.csv", "b.csv", "deep", "other.csv", "twice.csv"]);
        assert_eq!(folder.read("new/other.csv"), text(0).as_bytes());
        assert!(folder.path("in/deep/pipe").metadata().unwrap().file_type().is_fifo());
    }

    #[test]
    fn links_in_the_target_are_not_followed() {
        let folder = Folder::new();
        bundle(&folder);
        std::fs::create_dir_all(folder.path("outside")).unwrap();
        folder.write("outside/c.csv", "precious");
        for blocked in ["deep", "deep/c.csv", "b.csv"] {
            let _ = std::fs::remove_dir_all(folder.path("out"));
            std::fs::create_dir_all(folder.path("out")).unwrap();
            folder.write("out/a.csv", "old");
            match blocked {
                "deep" => symlink("../outside", folder.path("out/deep")).unwrap(),
                "b.csv" => std::fs::create_dir(folder.path("out/b.csv")).unwrap(),
                _ => {
                    std::fs::create_dir(folder.path("out/deep")).unwrap();
                    symlink("../../outside/c.csv", folder.path("out/deep/c.csv")).unwrap();
                }
            }
            let before = names_in(&folder, "out");
            let said = folder.run(&["unpack", "--json", "--force", "all.at1", "out"]);
            assert_eq!(code(&said), (2, "blocked_name".into()), "{said:?}");
            assert!(error(&said)["file"].as_str().unwrap().ends_with(blocked), "{said:?}");
            assert_eq!(folder.read("out/a.csv"), b"old", "{blocked}: replaced before all was checked");
            assert_eq!(names_in(&folder, "out"), before, "{blocked}");
            assert_eq!((folder.read("outside/c.csv"), names_in(&folder, "outside").len()), (b"precious".to_vec(), 1));
        }
        // What else is in the folder stays.
        std::fs::remove_dir(folder.path("out/b.csv")).unwrap();
        folder.write("out/mine", "mine");
        folder.ok(&["unpack", "--force", "all.at1", "out"]);
        assert_eq!(names_in(&folder, "out"), ["a.csv", "b.csv", "deep", "mine"]);
        assert_eq!(folder.read("out/a.csv"), text(0).as_bytes());
    }
}
