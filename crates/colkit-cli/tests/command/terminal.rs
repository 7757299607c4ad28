//! What only a terminal sees, through the library with streams of our own.

use super::run::Folder;
use colkit_cli::{Io, Stream};
use std::io::Write;
use std::sync::{Arc, Mutex};

/// Keeps what is written.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Runs the command on a terminal of this width; gives what it wrote to standard output and to standard error.
fn on_terminal(arguments: &[&str], width: usize, colour: bool) -> (String, String) {
    let (out, err) = (Kept::default(), Kept::default());
    let stream = |kept: &Kept| Stream::new(Box::new(kept.clone())).terminal(width, colour);
    let io = Io::new(Box::new(std::io::empty()), stream(&out), stream(&err));
    let _ = colkit_cli::run(["colkit"].iter().chain(arguments).map(Into::into), io);
    let text = |kept: &Kept| String::from_utf8(kept.0.lock().unwrap().clone()).unwrap();
    (text(&out), text(&err))
}

#[test]
fn a_table_fits_the_terminal() {
    let folder = Folder::new();
    let wide = "x".repeat(200);
    folder.write("t.csv", format!("a,b,c,d\n1,{wide},2,3\n"));
    let file = folder.path("t.csv");
    let (out, _) = on_terminal(&["cat", file.to_str().unwrap()], 40, false);
    assert!(out.lines().all(|l| l.chars().count() <= 40), "{out}");
    assert!(out.contains("xx\u{2026}") && out.contains("1 row, 4 columns"), "{out}");
    let (out, _) = on_terminal(&["cat", file.to_str().unwrap()], 18, false);
    assert!(out.contains("not shown; choose some with --columns"), "{out}");
}

#[test]
fn colour_is_for_those_who_want_it() {
    let folder = Folder::with_trades();
    let file = folder.path("trades.csv");
    for arguments in [&["head"][..], &["inspect"], &["verify"], &["schema"]] {
        let arguments = [arguments, &[file.to_str().unwrap()]].concat();
        assert!(on_terminal(&arguments, 80, true).0.contains('\x1b'), "{arguments:?}");
        assert!(!on_terminal(&arguments, 80, false).0.contains('\x1b'), "{arguments:?}");
    }
    assert!(on_terminal(&["cat", "missing"], 80, true).1.starts_with("\x1b[31;1merror:"));
    assert!(on_terminal(&["cat", "missing"], 80, false).1.starts_with("error:"));
}

#[test]
fn what_is_quick_needs_no_progress() {
    let folder = Folder::with_trades();
    let (file, out) = (folder.path("trades.csv"), folder.path("o.cff"));
    let (_, err) = on_terminal(&["convert", file.to_str().unwrap(), out.to_str().unwrap()], 80, false);
    assert_eq!(err.lines().count(), 1, "{err}");
    assert!(err.contains("4 rows as cff"), "{err}");
}

/// A file can be called anything, and so can a column: what a terminal obeys is shown instead.
#[test]
fn names_do_not_command_the_terminal() {
    let folder = Folder::new();
    let evil = "\x1b]0;owned\x07\x1b[2Jt\r\u{9b}31m\u{202e}.csv";
    let (there, missing) = (folder.path(evil), folder.path(&format!("no{evil}")));
    std::fs::write(&there, "a\x1b[2Jb,c\n1,\x1b[31mred\n").unwrap();
    let (there, missing) = (there.to_str().unwrap(), missing.to_str().unwrap());
    let out = folder.path(&format!("{evil}.cff"));
    let query = format!("SELECT * FROM '{there}'");
    let wrong = format!("SELECT * FROM '{missing}'");
    let commands: &[&[&str]] = &[
        &["cat", missing],
        &["cat", there, "--columns", "\x1b[31mnope"],
        &["cat", there, "--where", "\x1b[31m"],
        &["cat", there, "--explain"],
        &["head", there],
        &["schema", there],
        &["inspect", "--layout", there],
        &["verify", there, missing],
        &["diff", there, there],
        &["convert", there, out.to_str().unwrap()],
        &["convert", there, out.to_str().unwrap()],
        &["convert", there, "x.\x1b[31m"],
        &["sql", &query, "--explain"],
        &["sql", &wrong],
        &["sql", "SELECT \x1b[31m"],
        &["pack", "-f", there],
        &["\x1b[31m"],
        &["cat", "--\x1b[31m"],
        &["inspect", "--json", there],
        &["cat", "--json", there],
        &["cat", "--json", missing],
    ];
    for arguments in commands {
        for colour in [false, true] {
            let (out, err) = on_terminal(arguments, 80, colour);
            let all = format!("{out}{err}");
            assert!(!all.is_empty(), "{arguments:?} says something");
            let mut rest = all.as_str();
            while let Some(at) = rest.find(|c: char| (c.is_control() && c != '\n' && c != '\t') || c == '\u{202e}') {
                rest = &rest[at..];
                let ours = ["\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[31;1m", "\x1b[32m", "\x1b[33m"];
                let style = ours.iter().find(|s| colour && rest.starts_with(**s));
                let style = style.unwrap_or_else(|| panic!("{arguments:?}, colour {colour}: {all:?}"));
                rest = &rest[style.len()..];
            }
            assert!(!all.contains("\x1b[31mred") && !all.contains("\x1b[31mnope"), "{arguments:?}: {all:?}");
        }
    }
}

#[test]
fn a_program_hears_of_the_progress_and_can_stop_it() {
    let folder = Folder::with_trades();
    let (input, output) = (folder.path("trades.csv"), folder.path("trades.lance"));
    let arguments: Vec<std::ffi::OsString> =
        ["colkit".into(), "convert".into(), "--json".into(), input.into(), output.clone().into()].to_vec();
    let quiet = || {
        let stream = || Stream::new(Box::new(Kept::default()));
        Io::new(Box::new(std::io::empty()), stream(), stream())
    };
    let mut stopped = quiet();
    stopped.stop.now();
    assert_eq!(colkit_cli::embed::run(&arguments, &mut stopped).unwrap_err().code(), "interrupted");
    assert!(!output.exists());
    let heard = Arc::new(Mutex::new(Vec::new()));
    let (mut io, telling) = (quiet(), heard.clone());
    io.listener = Some(Arc::new(move |doing, done, total| telling.lock().unwrap().push((doing, done, total))));
    assert!(colkit_cli::embed::run(&arguments, &mut io).unwrap());
    let heard = heard.lock().unwrap();
    assert!(heard.iter().any(|(doing, ..)| *doing == "converting"), "{heard:?}");
    assert!(heard.iter().all(|(_, done, total)| done <= total), "{heard:?}");
    assert!(output.exists());
}
