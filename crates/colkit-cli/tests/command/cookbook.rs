//! The commands of `docs/cookbook.md` print what the page says they print.
//!
//! `COOKBOOK=write` writes the page anew, with the output of its commands.

use super::run::Folder;
use std::path::Path;

#[test]
fn the_cookbook_shows_what_happens() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cookbook.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let folder = Folder::new();
    let told = run_through(&page, &folder);
    if std::env::var_os("COOKBOOK").is_some() {
        std::fs::write(&path, &told).unwrap();
    }
    assert_eq!(told, page, "COOKBOOK=write writes the page anew");
}

/// The page with the output of its commands as it is today.
fn run_through(page: &str, folder: &Folder) -> String {
    let mut told = String::new();
    let mut inside = false;
    for line in page.lines() {
        if line.starts_with("```") {
            inside = line == "```console";
        } else if inside {
            let Some(command) = line.strip_prefix("$ ") else { continue };
            told += &format!("$ {command}\n{}", said(folder, command));
            continue;
        }
        told += &format!("{line}\n");
    }
    told
}

/// What a command prints, errors and notes included, with times left out.
fn said(folder: &Folder, command: &str) -> String {
    let said = folder.shell(&format!("{{ {command}\n}} 2>&1"));
    let lines = said.out.lines().map(|line| match line.rfind(" in ").filter(|_| line.ends_with(" s")) {
        Some(at) => format!("{}\n", &line[..at]),
        None => format!("{line}\n"),
    });
    let mut out: String = lines.collect();
    if said.code != 0 {
        out += &format!("(exit code {})\n", said.code);
    }
    out
}
