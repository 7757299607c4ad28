//! A program of somebody else, outside of this workspace, that depends on `colkit` and nothing else.

use super::sample::{batch, write};
use colkit::arrow::array::AsArray;
use colkit::arrow::datatypes::Int32Type;
use std::path::Path;
use std::process::Command;

/// What it depends on.
const DEPENDENCY: &str = ", default-features = false, features = [\"fs\", \"lance\", \"pure\"]";

const PROGRAM: &str = r#"
use colkit::arrow::array::AsArray;
use colkit::arrow::datatypes::Int32Type;

fn main() -> colkit::Result<()> {
    let file = colkit::open(std::env::args().nth(1).unwrap())?;
    let mut sum = 0;
    for batch in file.scan().columns(["n"]).filter("n > 0").batches()? {
        sum += batch?.column(0).as_primitive::<Int32Type>().iter().flatten().map(i64::from).sum::<i64>();
    }
    println!("{sum}");
    Ok(())
}
"#;

#[test]
fn a_new_crate_with_one_dependency_reads_a_file() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let manifest = format!(
        "[package]\nname = \"stranger\"\nedition = \"2024\"\n\n\
         [dependencies]\ncolkit = {{ path = {crates:?}{DEPENDENCY} }}\n\n\
         [profile.dev]\ndebug = false\n\n[workspace]\n"
    );
    std::fs::write(path("Cargo.toml"), manifest).unwrap();
    // The versions that are here already: nothing is downloaded.
    std::fs::copy(crates.join("../../Cargo.lock"), path("Cargo.lock")).unwrap();
    std::fs::create_dir(path("src")).unwrap();
    std::fs::write(path("src/main.rs"), PROGRAM).unwrap();
    let lance = colkit::lance::Lance::new();
    std::fs::write(path("t.lance"), write(&lance, &batch())).unwrap();

    // Kept between runs, beside the folder of this test's own build.
    let test = std::env::current_exe().unwrap();
    let target = test.ancestors().nth(3).unwrap().join("stranger");
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    let run = cargo.args(["run", "--offline", "--quiet", "--", "t.lance"]).current_dir(folder.path());
    let output = run.env("CARGO_TARGET_DIR", target).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));

    let numbers = batch();
    let numbers = numbers.column(0).as_primitive::<Int32Type>();
    let expected: i64 = numbers.iter().flatten().filter(|n| *n > 0).map(i64::from).sum();
    assert_eq!(String::from_utf8(output.stdout).unwrap().trim(), expected.to_string());
}

/// The code blocks of a page that begin with this language.
fn blocks<'a>(page: &'a str, language: &str) -> Vec<&'a str> {
    let start = format!("```{language}\n");
    page.split(&start).skip(1).filter_map(|rest| rest.split("\n```").next()).collect()
}

#[test]
fn the_page_on_encodings_can_be_followed() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(crates.join("../../docs/encodings.md")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    // From here instead of from crates.io, and no part of another workspace.
    let manifest = blocks(&page, "toml")[0].replace("version = \"0.1\"", &format!("path = {crates:?}"));
    let own = "\n\n[profile.dev]\ndebug = false\n\n[workspace]\n";
    std::fs::write(path("Cargo.toml"), manifest + own).unwrap();
    std::fs::copy(crates.join("../../Cargo.lock"), path("Cargo.lock")).unwrap();
    std::fs::create_dir(path("src")).unwrap();
    std::fs::write(path("src/main.rs"), blocks(&page, "rust")[0]).unwrap();
    let test = std::env::current_exe().unwrap();
    let target = test.ancestors().nth(3).unwrap().join("stranger");
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    let run = cargo.args(["run", "--offline", "--quiet"]).current_dir(folder.path());
    let output = run.env("CARGO_TARGET_DIR", target).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let expected = blocks(&page, "console")[0].trim_start_matches("$ cargo run\n");
    let printed = String::from_utf8(output.stdout).unwrap();
    for (line, said) in printed.trim().lines().zip(expected.lines()) {
        assert!(line.starts_with(said), "{line:?} instead of {said:?}");
    }
    assert_eq!(printed.trim().lines().count(), expected.lines().count());
}
