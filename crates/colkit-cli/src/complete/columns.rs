//! The columns of the files on the line.

use crate::args::{Cli, Verb};
use clap::{Arg, CommandFactory, Parser};
use colkit::{Input, OpenFile, Result, type_name};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Who presses a key does not wait longer.
const PATIENCE: Duration = Duration::from_millis(1500);

/// Files that are looked into at most.
const MOST_FILES: usize = 4;

/// How columns are named in an argument.
#[derive(Clone, Copy)]
pub enum Columns {
    /// With commas between them, quoted as in CSV.
    List,
    /// Somewhere in an expression, quoted in backticks.
    Expression,
}

/// Whether an argument names columns, and how.
pub fn offered(arg: &Arg) -> Option<Columns> {
    match arg.get_long()? {
        "columns" | "in" | "key" | "bloom" => Some(Columns::List),
        "where" | "select" => Some(Columns::Expression),
        _ => None,
    }
}

impl Columns {
    /// What of the typed text stays, and the names that may follow.
    pub fn behind<'a>(self, typed: &'a str, names: &[(String, String)]) -> (&'a str, Vec<(String, String)>) {
        let starts = |c: char| match self {
            Columns::List => c == ',',
            Columns::Expression => !(c.is_alphanumeric() || matches!(c, '_' | '`')),
        };
        let start = typed.char_indices().rev().find(|(_, c)| starts(*c)).map_or(0, |(at, c)| at + c.len_utf8());
        let names = names.iter().map(|(name, about)| (self.written(name), about.clone()));
        (typed.get(..start).unwrap_or_default(), names.collect())
    }

    fn written(self, name: &str) -> String {
        match self {
            Columns::List if name.contains(',') || name.starts_with(['#', '"']) || name.is_empty() => {
                format!("\"{}\"", name.replace('"', "\"\""))
            }
            Columns::Expression if !is_word(name) => format!("`{}`", name.replace('`', "``")),
            _ => name.to_owned(),
        }
    }
}

/// Whether a name needs no quotes in an expression.
fn is_word(name: &str) -> bool {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    name.chars().all(word) && name.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// The names and types of the columns of these files, read with these options. What is no file has none.
pub fn of_files(files: &[OsString], options: &[(&Arg, Option<OsString>)]) -> Vec<(String, String)> {
    // `schema` reads files as the other verbs do, and has no options but those that say how.
    let mut words: Vec<OsString> = ["colkit", "schema"].map(Into::into).to_vec();
    let root = Cli::command();
    for (arg, value) in options {
        let known =
            root.find_subcommand("schema").is_some_and(|s| s.get_arguments().any(|a| a.get_id() == arg.get_id()));
        if let (true, Some(long)) = (known, arg.get_long()) {
            words.push(format!("--{long}").into());
            words.extend(value.clone());
        }
    }
    let local = files.iter().filter(|file| !file.to_string_lossy().contains("://"));
    let files: Vec<PathBuf> = local.map(|file| expanded(Path::new(file))).collect();
    let (send, receive) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let inputs = files.iter().filter_map(|file| Some((file, Input::list(file).ok()?.into_iter().next()?)));
        for (file, first) in inputs.take(MOST_FILES) {
            // A dataset is one thing, though it is a folder.
            let file = if file.is_dir() { file.clone() } else { first };
            let words = words.iter().cloned().chain(["--".into(), file.into_os_string()]);
            let columns = Cli::try_parse_from(words).ok().and_then(|cli| columns(&cli.verb).ok());
            if columns.is_some_and(|columns| send.send(columns).is_err()) {
                return;
            }
        }
    });
    let end = std::time::Instant::now() + PATIENCE;
    let mut seen = BTreeSet::new();
    let mut all = Vec::new();
    while let Ok(columns) = receive.recv_timeout(end.saturating_duration_since(std::time::Instant::now())) {
        all.extend(columns.into_iter().filter(|(name, _)| seen.insert(name.clone())));
    }
    all
}

/// A path whose `~` a shell would have replaced.
fn expanded(file: &Path) -> PathBuf {
    match (file.strip_prefix("~"), std::env::home_dir()) {
        (Ok(below), Some(home)) => home.join(below),
        _ => file.to_owned(),
    }
}

fn columns(verb: &Verb) -> Result<Vec<(String, String)>> {
    let Verb::Schema(args) = verb else { return Ok(Vec::new()) };
    let Some(file) = args.files.files.first() else { return Ok(Vec::new()) };
    let input = Input::path_with(file, &args.dataset.options())?;
    let options = args.reading.open_options()?.with_row_ids(args.ids.with_row_id);
    let opened: OpenFile = if input.is_several() { options.open_input(&input)? } else { options.open_start(&input)? };
    let schema = opened.schema();
    Ok(schema.fields().iter().map(|f| (f.name().clone(), type_name(f.data_type()))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_written_as_the_argument_wants_them() {
        let names = [("sym".to_string(), String::new()), ("a, b".into(), String::new())];
        let behind = |columns: Columns, typed: &str| {
            let (done, names) = columns.behind(typed, &names);
            (done.to_owned(), names.into_iter().map(|(name, _)| name).collect::<Vec<_>>())
        };
        assert_eq!(behind(Columns::List, "x,s"), ("x,".into(), vec!["sym".into(), "\"a, b\"".into()]));
        assert_eq!(
            behind(Columns::Expression, "x > 3 and s"),
            ("x > 3 and ".into(), vec!["sym".into(), "`a, b`".into()])
        );
        assert_eq!(behind(Columns::Expression, "ö").0, "");
    }

    #[test]
    fn options_that_name_columns_are_known() {
        let root = Cli::command();
        let all: BTreeSet<&str> =
            root.get_subcommands().flat_map(|v| v.get_arguments().filter_map(Arg::get_long)).collect();
        for name in ["columns", "in", "key", "bloom", "where", "select"] {
            assert!(all.contains(name), "{name}");
        }
    }
}
