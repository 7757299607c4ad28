//! What a shell offers behind the words of a line.
//!
//! The scripts that `completions` prints run `colkit __complete SHELL PLACE WORD...`: the words of the line, and which of them
//! is being typed. The answer is a line that says what kind of thing belongs there, and a line for each thing to offer:
//!
//! ```text
//! values | list | files | folders
//! VALUE <tab> what it is
//! ```
//!
//! `list` is for values that may go on, such as a list of columns. The names of files are left to the shell. Nothing is ever
//! said on stderr, and whatever goes wrong means that nothing is offered.

mod columns;
mod line;
mod scripts;

use crate::args::Cli;
use clap::builder::StyledStr;
use clap::{Arg, Command, CommandFactory, ValueHint};
use line::{Current, Line};
pub use scripts::script;
use std::ffi::{OsStr, OsString};

/// The verb that scripts call. It is not in the help.
const VERB: &str = "__complete";

/// The answer to a shell, if these are the arguments of a question.
pub fn answer(arguments: &[OsString]) -> Option<String> {
    let [_, verb, shell, place, words @ ..] = arguments else { return None };
    if verb != VERB {
        return None;
    }
    let place = place.to_str().and_then(|text| text.parse().ok());
    let offer = place.and_then(|place| offer(shell.to_str()?, place, words)).unwrap_or_default();
    Some(offer.to_string())
}

/// What is offered.
#[derive(Default)]
struct Offer {
    kind: Kind,
    values: Vec<(String, String)>,
}

#[derive(Default, Clone, Copy)]
enum Kind {
    #[default]
    Values,
    List,
    Files,
    Folders,
}

impl std::fmt::Display for Offer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = match self.kind {
            Kind::Values => "values",
            Kind::List => "list",
            Kind::Files => "files",
            Kind::Folders => "folders",
        };
        writeln!(f, "{kind}")?;
        for (value, about) in self.values.iter().filter(|(value, _)| !value.contains(char::is_control)) {
            writeln!(f, "{value}\t{}", about.replace(char::is_control, " "))?;
        }
        Ok(())
    }
}

fn offer(shell: &str, place: usize, words: &[OsString]) -> Option<Offer> {
    let mut root = Cli::command();
    root.build();
    let (words, place, typed) = match shell {
        "bash" => line::joined(words, place),
        _ => (words.to_vec(), place, 0),
    };
    let line = Line::of(&root, &words, place)?;
    let mut offer = line.offer(&root);
    for (value, _) in &mut offer.values {
        // bash replaces only what is behind the last : or =.
        *value = value.get(typed..)?.to_owned();
    }
    Some(offer)
}

impl Line<'_> {
    fn offer(&self, root: &Command) -> Offer {
        match &self.current {
            Current::Verb(typed) => values("", typed, verbs(root)),
            Current::Option(typed) => values("", typed, self.command.get_arguments().flat_map(options)),
            Current::Value { arg, before, typed } => self.value(arg, before, typed, root),
            Current::Nothing => Offer::default(),
        }
    }

    /// Values of an argument.
    fn value(&self, arg: &Arg, before: &str, typed: &str, root: &Command) -> Offer {
        if let Some(columns) = columns::offered(arg) {
            let names = columns::of_files(&self.files, &self.options);
            let (done, names) = columns.behind(typed, &names);
            let start = format!("{before}{done}");
            return Offer { kind: Kind::List, ..values(&start, typed.get(done.len()..).unwrap_or_default(), names) };
        }
        if arg.get_id() == "verb" && self.command.get_name() == "man" {
            return values(before, typed, verbs(root));
        }
        let known = arg.get_possible_values();
        if !known.is_empty() && arg.get_action().takes_values() {
            let known = known.iter().filter(|v| !v.is_hide_set());
            return values(before, typed, known.map(|v| (v.get_name().to_owned(), about(v.get_help()))));
        }
        let kind = match arg.get_value_hint() {
            ValueHint::AnyPath if arg.get_value_names().is_some_and(|n| n == ["DIR"]) => Kind::Folders,
            ValueHint::AnyPath => Kind::Files,
            _ if arg.get_id() == "tables" => Kind::Files,
            _ => Kind::Values,
        };
        Offer { kind, values: Vec::new() }
    }
}

/// Those that begin with what was typed, with `before` in front.
fn values(before: &str, typed: &str, all: impl IntoIterator<Item = (String, String)>) -> Offer {
    let all = all.into_iter().filter(|(value, _)| value.starts_with(typed));
    Offer { kind: Kind::Values, values: all.map(|(value, about)| (format!("{before}{value}"), about)).collect() }
}

fn verbs(root: &Command) -> Vec<(String, String)> {
    let shown = root.get_subcommands().filter(|verb| !verb.is_hide_set());
    shown.map(|verb| (verb.get_name().to_owned(), about(verb.get_about()))).collect()
}

fn options(arg: &Arg) -> Option<(String, String)> {
    let name = arg.get_long().filter(|_| !arg.is_hide_set())?;
    Some((format!("--{name}"), about(arg.get_help())))
}

/// The first part of a help text.
fn about(help: Option<&StyledStr>) -> String {
    let help = help.map(ToString::to_string).unwrap_or_default();
    help.split(['[', ';', '\n']).next().unwrap_or_default().trim().to_owned()
}

/// A word as text.
fn text(word: &OsStr) -> String {
    word.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(shell: &str, place: usize, words: &[&str]) -> String {
        let words: Vec<OsString> = words.iter().map(Into::into).collect();
        offer(shell, place, &words).unwrap_or_default().to_string()
    }

    /// What is offered for the last word.
    fn offered(words: &[&str]) -> Vec<String> {
        let answer = answers("zsh", words.len() - 1, words);
        answer.lines().map(|line| line.split('\t').next().unwrap().to_owned()).collect()
    }

    #[test]
    fn verbs_options_and_values_are_offered() {
        assert_eq!(offered(&["colkit", "hea"]), ["values", "head"]);
        assert!(offered(&["colkit", "--quiet", "h"]).contains(&"head".into()));
        assert_eq!(offered(&["colkit", "head", "--delim"]), ["values", "--delimiter"]);
        assert!(offered(&["colkit", "head", "--ti"]).contains(&"--timeout".into()));
        assert_eq!(offered(&["colkit", "convert", "a", "--compression", "sn"]), ["values", "snappy"]);
        assert_eq!(offered(&["colkit", "convert", "a", "--compression=sn"]), ["values", "--compression=snappy"]);
        assert!(offered(&["colkit", "convert", "--to", ""]).contains(&"lance".into()));
        assert_eq!(offered(&["colkit", "pack", "--codec", "qc"]), ["values", "qcolumnar"]);
        assert_eq!(offered(&["colkit", "man", "sche"]), ["values", "schema"]);
        assert_eq!(offered(&["colkit", "completions", "fi"]), ["values", "fish"]);
    }

    #[test]
    fn files_are_left_to_the_shell() {
        assert_eq!(offered(&["colkit", "head", ""]), ["files"]);
        assert_eq!(offered(&["colkit", "head", "-n", "3", "--", "--x"]), ["files"]);
        assert_eq!(offered(&["colkit", "head", "--out", ""]), ["files"]);
        assert_eq!(offered(&["colkit", "man", "--dir", ""]), ["folders"]);
        assert_eq!(offered(&["colkit", "grep", "-ci", "x", ""]), ["files"]);
        for nothing in [&["colkit", "grep", "x"][..], &["colkit", "head", "-n", ""], &["colkit", "what", ""]] {
            assert_eq!(offered(nothing), ["values"], "{nothing:?}");
        }
    }

    #[test]
    fn bash_gets_what_is_behind_its_word_breaks() {
        let words = ["colkit", "convert", "--compression", "=", "sn"];
        assert!(answers("bash", 4, &words).starts_with("values\nsnappy\t"));
        assert!(answers("bash", 3, &words[..4]).contains("\nzstd\t"));
    }

    #[test]
    fn anything_may_be_on_the_line() {
        for words in [&["colkit"][..], &["colkit", "head", "--rows"], &["", "", ""], &["colkit", "-", "--", "=", "-nn"]]
        {
            for place in 0..6 {
                for shell in ["bash", "zsh", "fish", "?"] {
                    answers(shell, place, words);
                }
            }
        }
        assert!(answer(&["colkit".into(), VERB.into(), "bash".into(), "x".into()]).is_some());
        assert!(answer(&["colkit".into(), "head".into(), "bash".into(), "1".into()]).is_none());
    }
}
