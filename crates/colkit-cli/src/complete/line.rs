//! What the words of a line are: a verb, its options, its files.

use super::text;
use clap::{Arg, Command};
use std::ffi::{OsStr, OsString};

/// A line, as far as it is understood.
pub struct Line<'a> {
    /// The verb, or `colkit` itself before there is one.
    pub command: &'a Command,
    /// The word that is being typed.
    pub current: Current<'a>,
    /// Words that are no options: files, mostly.
    pub files: Vec<OsString>,
    /// Options and their values.
    pub options: Vec<(&'a Arg, Option<OsString>)>,
}

/// What is being typed.
pub enum Current<'a> {
    Verb(String),
    Option(String),
    /// A value, and what is in front of it in the same word.
    Value {
        arg: &'a Arg,
        before: String,
        typed: String,
    },
    Nothing,
}

impl<'a> Line<'a> {
    /// The words of a line, the first of which is the program; the one at `place` is being typed. `None` if there is no such
    /// word or no such verb.
    pub fn of(root: &'a Command, words: &[OsString], place: usize) -> Option<Self> {
        let typed = text(words.get(place).filter(|_| place > 0)?);
        let mut line = Line { command: root, current: Current::Nothing, files: Vec::new(), options: Vec::new() };
        let mut only_files = false;
        let mut awaited: Option<&Arg> = None;
        for (at, word) in words.iter().enumerate().skip(1) {
            let here = at == place;
            if let Some(arg) = awaited.take() {
                match here {
                    true => line.current = Current::Value { arg, before: String::new(), typed: typed.clone() },
                    false => line.options.push((arg, Some(word.clone()))),
                }
                continue;
            }
            let known = word.to_string_lossy();
            if !only_files && known.starts_with('-') && known != "-" {
                match (here, line.option(word)) {
                    (true, Some((arg, Some(_)))) if known.starts_with("--") => {
                        let (before, value) = known.split_once('=').unwrap_or_default();
                        let (before, typed) = (format!("{before}="), value.to_owned());
                        line.current = Current::Value { arg, before, typed };
                    }
                    (true, _) => line.current = Current::Option(typed.clone()),
                    (false, _) if known == "--" => only_files = true,
                    (false, Some((arg, None))) if arg.get_action().takes_values() => awaited = Some(arg),
                    (false, Some(option)) => line.options.push(option),
                    (false, None) => {}
                }
            } else if std::ptr::eq(line.command, root) {
                match here {
                    true => line.current = Current::Verb(typed.clone()),
                    false => line.command = root.find_subcommand(word)?,
                }
            } else if here {
                let arg = positional(line.command, line.files.len());
                let value = |arg| Current::Value { arg, before: String::new(), typed: typed.clone() };
                line.current = arg.map_or(Current::Nothing, value);
            } else {
                line.files.push(word.clone());
            }
        }
        Some(line)
    }

    /// The option that a word is, and the value in the same word.
    fn option(&self, word: &OsStr) -> Option<(&'a Arg, Option<OsString>)> {
        let word = word.to_str()?;
        if let Some(long) = word.strip_prefix("--") {
            let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value.into())));
            let arg = self.command.get_arguments().find(|arg| arg.get_long() == Some(name))?;
            return Some((arg, value.filter(|_| arg.get_action().takes_values())));
        }
        let mut letters = word.strip_prefix('-')?.chars();
        loop {
            let letter = letters.next()?;
            let arg = self.command.get_arguments().find(|arg| arg.get_short() == Some(letter))?;
            let rest = letters.as_str();
            if arg.get_action().takes_values() || rest.is_empty() {
                return Some((arg, (!rest.is_empty()).then(|| rest.into())));
            }
        }
    }
}

/// The argument that a word is which is no option, with so many of them before it.
fn positional(command: &Command, before: usize) -> Option<&Arg> {
    command.get_positionals().nth(before).or_else(|| command.get_positionals().last())
}

/// The words that bash has taken apart at each `:` and `=`, with quotes in them: joined and unquoted. Also how many bytes of
/// the word that is being typed are in front of the part that bash replaces.
pub fn joined(words: &[OsString], place: usize) -> (Vec<OsString>, usize, usize) {
    let is_break = |word: &OsStr| !word.is_empty() && word.as_encoded_bytes().iter().all(|b| matches!(b, b':' | b'='));
    let mut joined: Vec<OsString> = Vec::new();
    let (mut new_place, mut typed) = (0, 0);
    let mut joins = false;
    for (at, word) in words.iter().enumerate() {
        let breaks = is_break(word);
        let plain = unquoted(word);
        match joined.last_mut().filter(|_| at > 1 && (joins || breaks)) {
            Some(last) => {
                if at == place {
                    typed = last.len() + if breaks { plain.len() } else { 0 };
                }
                last.push(&plain);
            }
            None => joined.push(plain),
        }
        joins = breaks;
        if at == place {
            new_place = joined.len() - 1;
            joins = false;
        }
    }
    (joined, new_place, typed)
}

/// A word without its quotes and backslashes. A quote that is never closed ends with the word.
fn unquoted(word: &OsStr) -> OsString {
    let Some(word) = word.to_str() else { return word.to_owned() };
    let mut plain = String::new();
    let mut quote = None;
    let mut characters = word.chars();
    while let Some(c) = characters.next() {
        match (quote, c) {
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), c) if c == open => quote = None,
            (None | Some('"'), '\\') => plain.extend(characters.next()),
            _ => plain.push(c),
        }
    }
    plain.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_bash_are_joined() {
        let join = |words: &[&str], place| {
            let words: Vec<OsString> = words.iter().map(Into::into).collect();
            let (words, place, typed) = joined(&words, place);
            (words.into_iter().map(|w| w.into_string().unwrap()).collect::<Vec<_>>(), place, typed)
        };
        let all =
            |words: &[&str], place, typed| (words.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>(), place, typed);
        assert_eq!(join(&["c", "head", "--to", "=", "x", "y"], 4), all(&["c", "head", "--to=x", "y"], 2, 5));
        assert_eq!(join(&["c", "head", "--to", "="], 3), all(&["c", "head", "--to="], 2, 5));
        assert_eq!(join(&["c", "s3", ":", "//b", ""], 4), all(&["c", "s3://b", ""], 2, 0));
        assert_eq!(join(&["c", "'a b", "c\\ d"], 1), all(&["c", "a b", "c d"], 1, 0));
    }
}
