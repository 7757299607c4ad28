//! The programs under `examples/` do what they say, and the README shows the same lines.

use std::path::{Path, PathBuf};
use std::process::Command;

/// An example, as cargo built it beside this test.
fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let built = test.parent().and_then(Path::parent).unwrap().join("examples").join(name);
    let program = built.with_extension(std::env::consts::EXE_EXTENSION);
    assert!(program.exists(), "{} is missing: `cargo build --all-features --examples` makes it", program.display());
    program
}

/// What an example prints, run in `folder`.
fn run(name: &str, arguments: &[&str], folder: &Path) -> String {
    let output = Command::new(example(name)).args(arguments).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn each_example_runs_on_what_the_first_one_writes() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    assert!(run("write", &[], folder).starts_with("4 rows, "));
    assert_eq!(run("scan", &[], folder), "2 rows\n");
    let taken = run("take", &[], folder);
    let cells: Vec<&str> =
        taken.split(['|', '\n']).map(str::trim).filter(|c| !c.is_empty() && !c.starts_with('+')).collect();
    assert_eq!(cells, ["sym", "price", "ADA", "0.4", "BTC", "64000.5"]);
    assert!(run("convert", &[], folder).starts_with("4 rows, "));
    assert_eq!(colkit::open(folder.join("trades.parquet")).unwrap().format().name(), "parquet");
    #[cfg(feature = "object-store")]
    assert_eq!(run("store", &[&format!("file://{}/trades.lance", folder.display())], folder), "2 rows\n");
}

#[test]
fn the_readme_shows_lines_of_examples() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |path: &str| std::fs::read_to_string(root.join(path)).unwrap();
    let readme = read("README.md");
    let section = readme.split("\n## ").find(|s| s.starts_with("In a Rust program")).unwrap();
    let shown: Vec<&str> = section.split("```").skip(1).step_by(2).filter_map(|b| b.strip_prefix("rust\n")).collect();
    let examples =
        ["scan", "take", "write", "convert", "store"].map(|name| format!("crates/colkit/examples/{name}.rs"));
    let examples: Vec<String> = examples.into_iter().chain(["crates/colkit-sql/examples/query.rs".into()]).collect();
    assert_eq!(shown.len(), examples.len(), "one block for each example");
    for (block, path) in shown.into_iter().zip(examples) {
        let program = read(&path);
        let program: Vec<&str> = program.lines().map(str::trim).collect();
        for line in block.lines().map(str::trim).filter(|l| !l.is_empty()) {
            assert!(program.contains(&line), "{path} has no line {line:?}");
        }
    }
}
