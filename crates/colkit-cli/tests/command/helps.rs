//! Help, man pages, completions, the tour.

use super::run::Folder;

#[test]
fn help_and_version() {
    let folder = Folder::new();
    let help = folder.ok(&["--help"]).out;
    assert!(help.contains("Exit codes: 0 success; 1 failure, invalid file or differences found; 2 usage error;"));
    assert!(folder.ok(&["convert", "--help"]).out.contains("colkit convert [OPTIONS] <IN>... <OUT>"));
    assert!(folder.ok(&["--version"]).out.starts_with("colkit "));
}

#[test]
fn man_pages_and_completions() {
    let folder = Folder::new();
    assert!(folder.ok(&["man"]).out.contains(".TH colkit 1"));
    assert!(folder.ok(&["man", "convert"]).out.contains("rename\\-duplicates"));
    folder.ok(&["man", "--dir", "."]);
    let names = folder.names();
    assert!(names.contains(&"colkit.1".into()) && names.contains(&"colkit-cat.1".into()), "{names:?}");
    for shell in ["elvish", "powershell"] {
        assert!(folder.ok(&["completions", shell]).out.contains("rename-duplicates"), "{shell}");
    }
    for shell in ["bash", "zsh", "fish"] {
        assert!(folder.ok(&["completions", shell]).out.contains("__complete"), "{shell}");
    }
}

#[test]
fn every_verb_is_on_the_page() {
    let folder = Folder::new();
    folder.ok(&["man", "--dir", "."]);
    let names = folder.names();
    let verbs: Vec<&str> = names.iter().filter_map(|name| name.strip_prefix("colkit-")?.strip_suffix(".1")).collect();
    assert!(verbs.contains(&"convert"), "{names:?}");
    let page = include_str!("../../../../docs/command-line.md");
    for verb in verbs {
        assert!(page.contains(&format!("`{verb}")), "{verb}");
    }
}

#[test]
fn the_tour_proves_every_round_trip() {
    let folder = Folder::new();
    let report = folder.json(&["tour", "--rows", "500", "--json"]);
    assert_eq!(report["all_equal"], true, "{report}");
    assert!(report["formats"].as_array().unwrap().len() >= 3, "{report}");
    let said = folder.ok(&["tour", "--rows", "50", "--keep", "here"]);
    assert!(said.out.contains("$ colkit head -n 3 here/trades.csv"), "{said:?}");
    assert!(folder.path("here/trades.csv").exists());
    assert_eq!(folder.names(), ["here"]);
}
