//! Tab completion, and whether a statement is complete.

use rustyline::completion::{Completer, FilenameCompleter, Pair};
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Context, Helper, Result};
use std::collections::BTreeSet;

const KEYWORDS: &str = "ALL AND AS ASC BETWEEN BY CASE CAST COPY COUNT CREATE CROSS DESC DESCRIBE DISTINCT DROP ELSE END \
    EXCEPT EXISTS EXPLAIN EXTERNAL FALSE FROM FULL GROUP HAVING ILIKE IN INNER INTERSECT INTERVAL IS JOIN LEFT LIKE LIMIT \
    LOCATION NOT NULL OFFSET ON OR ORDER OUTER OVER PARTITION PIVOT RIGHT ROLLUP SAMPLE SELECT SHOW STORED SUMMARIZE TABLE TABLES THEN TRUE UNION \
    UNNEST USING VALUES VIEW WHEN WHERE WINDOW WITH AVG MAX MIN SUM";

/// Completes keywords and the names of known tables and columns.
pub struct SqlHelper {
    known: BTreeSet<String>,
    files: FilenameCompleter,
}

impl Default for SqlHelper {
    fn default() -> Self {
        SqlHelper { known: BTreeSet::new(), files: FilenameCompleter::new() }
    }
}

impl SqlHelper {
    /// Offers these tables and their columns.
    pub fn learn(&mut self, tables: &[(String, Vec<String>)]) {
        for (table, columns) in tables {
            let names = std::iter::once(table).chain(columns);
            self.known.extend(names.filter(|n| !n.contains(char::is_control)).cloned());
        }
    }

    /// What `word` may be the beginning of. Keywords follow the case that is typed.
    fn offers(&self, word: &str) -> Vec<Pair> {
        let lower = word.chars().all(char::is_lowercase);
        let keyword = |k: &str| if lower { k.to_ascii_lowercase() } else { k.to_owned() };
        let keywords = KEYWORDS.split_whitespace().filter(|k| k.starts_with(&word.to_ascii_uppercase())).map(keyword);
        let known = self.known.iter().filter(|k| k.starts_with(word)).cloned();
        known.chain(keywords).map(|w| Pair { display: w.clone(), replacement: w }).collect()
    }
}

/// Whether the text ends inside of a name or text in single quotes.
fn in_quotes(text: &str) -> bool {
    text.matches('\'').count() % 2 == 1
}

impl Completer for SqlHelper {
    type Candidate = Pair;

    fn complete(&self, line: &str, at: usize, context: &Context<'_>) -> Result<(usize, Vec<Pair>)> {
        let before = line.get(..at).unwrap_or(line);
        if in_quotes(before) {
            let start = before.rfind('\'').map_or(0, |q| q + 1);
            let path = before.get(start..).unwrap_or_default();
            let (from, mut files) = self.files.complete(path, path.len(), context)?;
            // What is offered is written to the terminal as it is.
            files.retain(|f| !f.display.contains(char::is_control) && !f.replacement.contains(char::is_control));
            return Ok((start + from, files));
        }
        let part = |c: char| c.is_alphanumeric() || c == '_';
        let start = before.char_indices().rev().take_while(|(_, c)| part(*c)).last().map_or(at, |(i, _)| i);
        let word = before.get(start..).unwrap_or_default();
        Ok((start, if word.is_empty() { Vec::new() } else { self.offers(word) }))
    }
}

impl Validator for SqlHelper {
    fn validate(&self, context: &mut ValidationContext<'_>) -> Result<ValidationResult> {
        let text = context.input().trim();
        let is_word = text.starts_with('.') || super::shell::leaves(text) || super::shell::asks_for_help(text);
        let complete = text.is_empty() || is_word || (text.ends_with(';') && !in_quotes(text));
        Ok(if complete { ValidationResult::Valid(None) } else { ValidationResult::Incomplete })
    }
}

impl Hinter for SqlHelper {
    type Hint = String;
}

impl Highlighter for SqlHelper {}

impl Helper for SqlHelper {}

#[cfg(test)]
mod tests {
    use super::*;
    use rustyline::history::DefaultHistory;

    fn offered(line: &str) -> Vec<String> {
        let mut words = SqlHelper::default();
        words.learn(&[("trades".into(), vec!["price".into(), "Symbol".into()])]);
        let history = DefaultHistory::new();
        let (_, found) = words.complete(line, line.len(), &Context::new(&history)).unwrap();
        found.into_iter().map(|p| p.replacement).collect()
    }

    #[test]
    fn keywords_follow_the_case_that_is_typed() {
        assert_eq!(offered("SEL"), ["SELECT"]);
        assert_eq!(offered("select pri"), ["price"]);
        assert_eq!(offered("select Sy"), ["Symbol"]);
        assert_eq!(offered("sel"), ["select"]);
        assert!(offered("select ").is_empty());
    }

    #[test]
    fn files_are_offered_in_quotes() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("unmistakable.csv"), "a\n").unwrap();
        let found = offered(&format!("SELECT * FROM '{}/unmis", folder.path().display()));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].ends_with("unmistakable.csv"));
    }
}
