//! What shells offer: asked as their scripts ask, and in the shells that are there.

#![cfg(unix)]

use super::run::Folder;
use std::process::Command;

/// The answer to a script for the last word: the kind of thing, and the values.
fn offered(folder: &Folder, words: &[&str]) -> Vec<String> {
    let place = (words.len() - 1).to_string();
    let said = folder.ok(&[&["__complete", "zsh", &place], words].concat());
    assert_eq!(said.err, "");
    said.out.lines().map(|line| line.split('\t').next().unwrap().to_owned()).collect()
}

/// What a shell prints for a script of ours and some words; `None` where there is no such shell.
fn in_shell(folder: &Folder, shell: &str, script: &str, words: &[&str]) -> Option<String> {
    folder.write("script", folder.ok(&["completions", shell]).out);
    let mut command = Command::new(shell);
    let plain: &[&str] = match shell {
        "bash" => &["--norc", "-c", script, shell],
        "zsh" => &["-f", "-c", script, shell],
        _ => &["--no-config", "-c", script],
    };
    command.args(plain).args(words).current_dir(folder.path("")).env("HOME", folder.path(""));
    // Not every system has every shell.
    let output = command.output().ok()?;
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{shell} {words:?}");
    Some(String::from_utf8(output.stdout).unwrap())
}

/// What bash offers for the last of its words.
fn bash(folder: &Folder, words: &[&str]) -> Option<String> {
    let script = "source ./script; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); compopt() { echo \"$@\"; }
                  _colkit \"$1\" \"${!#}\" \"${COMP_WORDS[$(($# - 2))]}\"; printf '%s\\n' \"${COMPREPLY[@]}\"";
    in_shell(folder, "bash", script, &[&[env!("CARGO_BIN_EXE_colkit")], words].concat())
}

/// What zsh offers for the last of its words.
fn zsh(folder: &Folder, words: &[&str]) -> Option<String> {
    let script = "compdef() { }; compset() { }; _files() { print files $@ }
                  _describe() { print -l -- \"${(@P)2}\"; print -- $@[3,-1] }
                  source ./script; words=(\"$@\"); CURRENT=$#; PREFIX=\"${@[-1]}\"; _colkit";
    in_shell(folder, "zsh", script, &[&[env!("CARGO_BIN_EXE_colkit")], words].concat())
}

/// What fish offers for a line.
fn fish(folder: &Folder, line: &str) -> Option<String> {
    let script =
        format!("source ./script; function colkit; {} $argv; end; complete -C '{line}'", env!("CARGO_BIN_EXE_colkit"));
    in_shell(folder, "fish", &script, &[])
}

#[test]
fn columns_of_the_files_on_the_line_are_offered() {
    let folder = Folder::with_trades();
    for (name, _) in folder.formats() {
        let file = format!("my trades.{name}");
        folder.ok(&["convert", "trades.csv", &file, "--to", &name]);
        let columns = offered(&folder, &["colkit", "head", &file, "--columns", ""]);
        assert_eq!(columns, ["list", "sym", "price", "quantity", "note"], "{name}");
    }
    let columns = |words: &[&str]| offered(&folder, words);
    assert_eq!(columns(&["colkit", "grep", "x", "trades.csv", "--in", "sym,p"]), ["list", "sym,price"]);
    assert_eq!(
        columns(&["colkit", "cat", "trades.csv", "--where=price > 3 and qu"]),
        ["list", "--where=price > 3 and quantity"]
    );
    assert_eq!(columns(&["colkit", "diff", "trades.csv", "nothing", "--key", "n"]), ["list", "note"]);
    assert_eq!(columns(&["colkit", "convert", "*.csv", "out.lance", "--bloom", "s"]), ["list", "sym"]);
    folder.write("odd.csv", "\"a, b\";c d\n1;2\n");
    assert_eq!(columns(&["colkit", "head", "odd.csv", "--columns", ""]), ["list", "\"a, b\"", "c d"]);
    assert_eq!(columns(&["colkit", "cat", "odd.csv", "--where", "c"]), ["list"]);
    assert_eq!(columns(&["colkit", "cat", "odd.csv", "--where", "`c"]), ["list", "`c d`"]);
    folder.write("plain.csv", "x;y\n1;2\n");
    assert_eq!(columns(&["colkit", "head", "--delimiter", "tab", "plain.csv", "--columns", ""]), ["list", "x;y"]);
    folder.ok(&["convert", "trades.csv", "set.lance/"]);
    assert_eq!(columns(&["colkit", "delete", "set.lance", "--where", "s"]), ["list", "sym"]);
}

#[test]
fn columns_of_long_files_are_offered_at_once() {
    let folder = Folder::new();
    let rows: String = (0..400_000).map(|i| format!("{i},\"two\nlines\",x\n")).collect();
    folder.write("long.csv", format!("number,text,mark\n{rows}"));
    folder.ok(&["convert", "long.csv", "long.csv.gz"]);
    for file in ["long.csv", "long.csv.gz"] {
        assert_eq!(
            offered(&folder, &["colkit", "head", file, "--columns", ""]),
            ["list", "number", "text", "mark"],
            "{file}"
        );
    }
}

#[test]
fn nothing_is_said_where_nothing_is_known() {
    let folder = Folder::new();
    folder.write("broken.parquet", "PAR1 and no more");
    for file in ["broken.parquet", "none.csv", "s3://no-such-bucket/x", "-", "", "~"] {
        assert_eq!(offered(&folder, &["colkit", "head", file, "--columns", ""]), ["list"], "{file}");
    }
    assert_eq!(offered(&folder, &["colkit", "head", "--columns", ""]), ["list"]);
    assert_eq!(folder.run(&["__complete", "bash", "x"]).out, "values\n");
}

#[test]
fn bash_offers_formats_codecs_and_columns() {
    let folder = Folder::with_trades();
    folder.write("odd.csv", "c d,e\n1,2\n");
    let Some(to) = bash(&folder, &["convert", "--to", ""]) else { return };
    assert!(to.contains("\nparquet\n") && to.contains("\nlance\n") && !to.contains("lines"), "{to}");
    let offers = |words: &[&str]| bash(&folder, words).unwrap();
    assert!(offers(&["cat", "--from", "l"]).ends_with("lance\nlines\n"));
    assert!(offers(&["convert", "--compression", "=", "sn"]).ends_with("\nsnappy\n"));
    assert_eq!(
        offers(&["head", "trades.csv", "--columns", "sym,pr"]),
        "-o nospace +o default +o bashdefault\nsym,price\n"
    );
    assert!(offers(&["head", "odd.csv", "--columns", ""]).ends_with("\nc\\ d\ne\n"));
    assert!(offers(&["head", "odd.csv", "--columns", "'c"]).ends_with("\nc d\n"));
    assert!(offers(&["hea"]).ends_with("\nhead\n"));
    assert_eq!(offers(&["head", "tr"]), "\n", "the shell knows files");
}

#[test]
fn zsh_offers_formats_codecs_and_columns() {
    let folder = Folder::with_trades();
    let Some(to) = zsh(&folder, &["convert", "--to", ""]) else { return };
    assert!(to.contains("\nparquet:\n"), "{to}");
    let offers = |words: &[&str]| zsh(&folder, words).unwrap();
    assert_eq!(offers(&["head", "trades.csv", "--columns", "pr"]), "price:float64\n-S\n");
    assert!(offers(&["convert", "--compression=sn"]).starts_with("--compression=snappy:"));
    assert!(offers(&["hea"]).starts_with("head:Print the first rows\n"));
    assert_eq!(offers(&["head", ""]), "files\n");
    assert_eq!(offers(&["man", "--dir", ""]), "files -/\n");
}

#[test]
fn fish_offers_formats_codecs_columns_and_files() {
    let folder = Folder::with_trades();
    let Some(to) = fish(&folder, "colkit convert --to pa") else { return };
    assert_eq!(to, "parquet\n");
    let offers = |line: &str| fish(&folder, line).unwrap();
    assert_eq!(offers("colkit head trades.csv --columns pr"), "price\tfloat64\n");
    assert!(offers("colkit convert --compression=sn").starts_with("--compression=snappy"));
    assert_eq!(offers("colkit sche"), "schema\tPrint column names and types\n");
    assert!(offers("colkit head tra").starts_with("trades.csv"));
}
