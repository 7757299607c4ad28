//! The list of error codes against the sources and the documentation.

#![cfg(test)]

use colkit_core::Class;
use colkit_core::codes::{ALL, find};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Constructors whose first argument is a code, and the class they give it.
const CONSTRUCTORS: [(&str, Class); 11] = [
    (WITH_A_PLACE, Class::Corrupt),
    ("Error::corrupt(", Class::Corrupt),
    ("Error::unsupported(", Class::Unsupported),
    ("Error::data(", Class::Data),
    ("Error::request(", Class::Request),
    ("Error::io(", Class::Io),
    ("Error::new(Class::Corrupt, ", Class::Corrupt),
    ("Error::new(Class::Limit, ", Class::Limit),
    ("Self::new(Class::Limit, ", Class::Limit),
    ("Error::new(colkit::Class::Limit, ", Class::Limit),
    ("Self::new(Class::Internal, ", Class::Internal),
];

/// Methods of format crates that add a place to the error.
const WITH_A_PLACE: &str = ".corrupt(";

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The sources of all crates but their tests, by path.
fn sources() -> Vec<(PathBuf, String)> {
    let mut folders: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(workspace().join("crates")).unwrap() {
        folders.push(entry.unwrap().path().join("src"));
    }
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") && !path.ends_with("src/codes.rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
                let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
                found.push((path, lines.collect::<Vec<_>>().join("\n")));
            }
        }
    }
    assert!(found.len() > 100, "the sources are not where they were");
    found
}

/// The literal codes that are given to a constructor in this source.
fn codes_given<'a>(source: &'a str, constructor: &'a str) -> impl Iterator<Item = &'a str> {
    let calls = source.match_indices(constructor).map(move |(at, _)| &source[at + constructor.len()..]);
    calls.filter_map(|rest| rest.trim_start().strip_prefix('"')?.split('"').next())
}

#[test]
fn every_code_that_is_used_is_listed_with_its_class() {
    let mut seen = 0;
    for (path, source) in sources() {
        for (constructor, class) in CONSTRUCTORS {
            for code in codes_given(&source, constructor) {
                let listed = find(code).unwrap_or_else(|| panic!("{}: {code} is not listed", path.display()));
                assert_eq!(listed.class, class, "{}: {code}", path.display());
                seen += 1;
            }
        }
    }
    assert!(seen > 400, "only {seen} errors were found in the sources");
}

#[test]
fn every_listed_code_is_used() {
    let sources = sources();
    for code in ALL {
        let literal = format!("\"{}\"", code.name);
        assert!(sources.iter().any(|(_, source)| source.contains(&literal)), "{} is used nowhere", code.name);
    }
}

#[test]
fn nothing_below_the_command_names_a_flag() {
    for (path, source) in sources().iter().filter(|(path, _)| !path.starts_with(workspace().join("crates/colkit-cli")))
    {
        for line in source.lines() {
            let flag = line.match_indices("--").find(|(at, _)| {
                line[at + 2..].starts_with(|c: char| c.is_ascii_lowercase())
                    && line[..*at].matches('"').count() % 2 == 1
            });
            assert!(flag.is_none(), "{}: {line}", path.display());
        }
    }
}

#[test]
fn the_documentation_is_the_list() {
    let path = workspace().join("docs/errors.md");
    let expected = page();
    if std::fs::read_to_string(&path).unwrap_or_default() != expected {
        let new = std::env::temp_dir().join("errors.md");
        std::fs::write(&new, expected).unwrap();
        panic!("{} is not what codes.rs says: cp {} {}", path.display(), new.display(), path.display());
    }
}

fn page() -> String {
    let mut page = String::from(
        "<!-- Generated from crates/colkit-core/src/codes.rs; a test there compares them. -->\n\
         # Errors\n\n\
         Every error has a class and a code. The class determines the remedy and the \
         [exit code](command-line.md#exit-codes) of the command; the code identifies the problem. Both are stable: the \
         same problem has the same class and code in every format. In Rust they are `Error::class` and `Error::code`; the \
         command prints the code in brackets, and both with `--json`.\n",
    );
    for class in Class::ALL {
        let (name, meaning, remedy) = (class.name(), class.meaning(), class.remedy());
        write!(page, "\n## {name}\n\n{meaning} {remedy}\n\n| code | meaning | what to do |\n|---|---|---|\n").unwrap();
        for code in ALL.iter().filter(|code| code.class == class) {
            writeln!(page, "| `{}` | {} | {} |", code.name, code.meaning, code.remedy).unwrap();
        }
    }
    page
}
