//! Kills, full disks and races: a file is there whole or not at all, and nothing else is left.

use super::run::Folder;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A table that takes a while.
fn rows(from: u32, count: u32) -> String {
    let row = |i: u32| format!("{i},{}.25,name {} of many\n", i % 977, i.wrapping_mul(2_654_435_761) % 100_000);
    "id,price,name\n".to_string() + &(from..from + count).map(row).collect::<String>()
}

fn start(folder: &Folder, arguments: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_colkit"));
    command.args(arguments).current_dir(folder.path(""));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Kills a command after ever longer times, until it has had enough time to finish several times over.
fn kill_often(folder: &Folder, arguments: &[&str], target: &str, signal: &str) {
    let began = Instant::now();
    assert!(start(folder, arguments).wait().unwrap().success());
    let usual = began.elapsed();
    let whole = folder.read(target);
    let before = folder.names();
    const KILLS: u32 = 24;
    let mut ended = 0;
    for number in 0..KILLS {
        std::fs::remove_file(folder.path(target)).unwrap_or_default();
        let mut child = start(folder, arguments);
        // The last part of its time is where it gets its name.
        std::thread::sleep(usual.mul_f64(f64::from(number + 1) / f64::from(KILLS) * 1.1));
        if child.try_wait().unwrap().is_none() {
            Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
            ended += 1;
        }
        child.wait().unwrap();
        if folder.path(target).exists() {
            assert!(folder.read(target) == whole, "{arguments:?} was ended by {signal} and left a part of the file");
        }
        let others = |name: &String| name != target && !before.contains(name);
        let left: Vec<String> = folder.names().into_iter().filter(others).collect();
        // Between getting a first name and the right one there is a moment.
        assert!(left.len() <= 1, "{arguments:?}: {left:?}");
    }
    assert!(ended > 0, "every run was done before it was ended");
    // Whatever that moment left is gone after the next run.
    assert!(start(folder, arguments).wait().unwrap().success());
    assert_eq!(folder.names(), before, "{arguments:?}");
    assert!(folder.read(target) == whole);
}

#[test]
fn a_killed_conversion_leaves_nothing_or_all() {
    let folder = Folder::new();
    folder.write("in.csv", rows(0, 25_000));
    for target in ["out.cff", "out.lance", "out.parquet", "out.ndjson"] {
        kill_often(&folder, &["convert", "-f", "in.csv", target], target, "-KILL");
    }
    kill_often(&folder, &["convert", "-f", "in.csv", "out.gppcol"], "out.gppcol", "-TERM");
    kill_often(&folder, &["convert", "-f", "in.csv", "out.colfile"], "out.colfile", "-INT");
}

#[test]
fn a_killed_pack_or_unpack_leaves_nothing_or_all() {
    let folder = Folder::new();
    folder.write("in.csv", rows(0, 30_000));
    kill_often(&folder, &["pack", "--fast", "--force", "in.csv", "out.at1"], "out.at1", "-KILL");
    kill_often(&folder, &["unpack", "--force", "out.at1", "back.csv"], "back.csv", "-KILL");
    assert_eq!(folder.read("back.csv"), folder.read("in.csv"));
}

#[test]
fn a_killed_unpacking_of_a_bundle_is_cleaned_up_by_the_next() {
    let folder = Folder::new();
    folder.write("a.csv", rows(0, 20_000));
    folder.write("b.csv", rows(7, 20_000));
    folder.ok(&["pack", "--fast", "a.csv", "b.csv", "both.at1"]);
    let mut seen = false;
    for wait in (0..40).map(|n| Duration::from_millis(n * 10)) {
        let _ = std::fs::remove_dir_all(folder.path("both"));
        let mut child = start(&folder, &["unpack", "both.at1", "both"]);
        std::thread::sleep(wait);
        child.kill().unwrap();
        child.wait().unwrap();
        seen |= folder.names().iter().any(|name| name.ends_with(".colkit-tmp"));
        if folder.path("both").exists() {
            assert_eq!(folder.read("both/a.csv"), folder.read("a.csv"));
            assert_eq!(folder.read("both/b.csv"), folder.read("b.csv"));
        }
    }
    assert!(seen, "no run was killed while it had a temporary folder");
    let _ = std::fs::remove_dir_all(folder.path("both"));
    folder.ok(&["unpack", "both.at1", "both"]);
    assert_eq!(folder.names(), ["a.csv", "b.csv", "both", "both.at1"]);
}

/// Bytes in files without a name that a process has open.
#[cfg(target_os = "linux")]
fn unnamed(process: u32) -> u64 {
    let open = std::fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().filter_map(|entry| entry.ok());
    let gone = open.filter(|e| std::fs::read_link(e.path()).is_ok_and(|p| p.to_string_lossy().ends_with("(deleted)")));
    gone.filter_map(|e| std::fs::metadata(e.path()).ok()).filter(std::fs::Metadata::is_file).map(|m| m.len()).sum()
}

#[test]
#[cfg(target_os = "linux")]
fn what_a_killed_query_spilled_is_gone() {
    let folder = Folder::new();
    folder.write("t.csv", rows(0, 200_000));
    std::fs::create_dir(folder.path("spill")).unwrap();
    let query = "SELECT * FROM 't.csv' ORDER BY name DESC, id";
    let names = folder.names();
    for (signal, place) in [("KILL", &["--spill-dir", "spill"][..]), ("TERM", &[]), ("INT", &[])] {
        let sorting = [&["sql", query, "--memory", "32M", "--out", "sorted.lance"][..], place].concat();
        let mut command = Command::new(env!("CARGO_BIN_EXE_colkit"));
        // Its own folder for temporary files: what is left there is its own.
        command.args(&sorting).current_dir(folder.path("")).env("TMPDIR", folder.path("spill"));
        let mut child = command.spawn().unwrap();
        let began = Instant::now();
        while unnamed(child.id()) < 1 << 20 && child.try_wait().unwrap().is_none() {
            assert!(began.elapsed() < Duration::from_secs(60), "nothing was spilled");
            std::thread::sleep(Duration::from_millis(2));
        }
        let _ = Command::new("kill").args(["-s", signal, &child.id().to_string()]).status();
        child.wait().unwrap();
        assert_eq!(std::fs::read_dir(folder.path("spill")).unwrap().count(), 0, "{signal}");
        let _ = std::fs::remove_file(folder.path("sorted.lance"));
        assert_eq!(folder.names(), names, "{signal}");
    }
}

#[test]
fn processes_that_write_the_same_name_do_not_mix() {
    let folder = Folder::new();
    let mut whole = Vec::new();
    for (number, from) in [0, 1_000_000, 2_000_000].into_iter().enumerate() {
        folder.write(&format!("{number}.csv"), rows(from, 20_000));
        folder.ok(&["convert", "-f", &format!("{number}.csv"), "out.cff"]);
        whole.push(folder.read("out.cff"));
    }
    for _ in 0..5 {
        let children: Vec<Child> =
            (0..3).map(|n| start(&folder, &["convert", "-f", &format!("{n}.csv"), "out.cff"])).collect();
        for mut child in children {
            assert!(child.wait().unwrap().success());
            let found = folder.read("out.cff");
            assert!(whole.contains(&found), "a file that none of them wrote");
        }
        assert_eq!(folder.names(), ["0.csv", "1.csv", "2.csv", "out.cff"]);
    }
}

#[test]
fn a_full_disk_is_told_and_leaves_nothing() {
    let folder = Folder::new();
    folder.write("in.csv", rows(0, 20_000));
    folder.ok(&["pack", "--fast", "in.csv", "in.at1"]);
    let before = folder.names();
    // A file may have 16 KiB, and what is written beyond that is an error as on a full disk, not a signal.
    let full = "trap '' XFSZ; ulimit -f 16; colkit";
    for arguments in [
        "convert in.csv out.cff",
        "convert in.csv out.lance",
        "convert in.csv out.parquet",
        "convert in.csv out.csv",
        "cat in.csv --out out.ndjson --as ndjson",
        "pack in.csv out.at1",
        "unpack in.at1 out.csv",
    ] {
        let said = folder.shell(&format!("{full} {arguments}"));
        assert_eq!(said.code, 1, "{arguments}: {said:?}");
        assert!(said.err.contains("error: ") && said.err.contains("File too large"), "{arguments}: {said:?}");
        assert_eq!(folder.names(), before, "{arguments}");
    }
}

/// A file that is cut while it is read is an error, not a crash.
#[test]
fn a_file_that_shrinks_is_told() {
    let folder = Folder::new();
    let text = rows(0, 200_000);
    let mut told = 0;
    for number in 0..12 {
        folder.write("in.csv", &text);
        let mut child = start(&folder, &["convert", "in.csv", "out.cff"]);
        std::thread::sleep(Duration::from_millis(number * 15));
        let file = std::fs::File::options().write(true).open(folder.path("in.csv")).unwrap();
        file.set_len(1000).unwrap();
        let status = child.wait().unwrap();
        let code = status.code().unwrap_or_else(|| panic!("{status:?}"));
        assert!(code == 0 || code == 1, "{status:?}");
        told += u32::from(code == 1);
        if code == 1 {
            assert!(!folder.path("out.cff").exists());
        }
        let _ = std::fs::remove_file(folder.path("out.cff"));
        assert_eq!(folder.names(), ["in.csv"]);
    }
    assert!(told > 0, "every run was done before the file was cut");
}
