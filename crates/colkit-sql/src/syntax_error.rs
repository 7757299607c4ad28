//! Mistakes in the syntax, shown in the line that has them.

use crate::error::external;
use colkit::Error;
use datafusion::error::DataFusionError;
use datafusion::sql::sqlparser::parser::ParserError;

/// Characters of a line shown on either side of a mistake.
const AROUND: usize = 60;

/// The parser's complaint about `text`, with the line and a mark below the place.
pub(crate) fn located(error: DataFusionError, text: &str) -> DataFusionError {
    let DataFusionError::SQL(parser, _) = error.find_root() else { return error };
    let (ParserError::ParserError(said) | ParserError::TokenizerError(said)) = parser.as_ref() else { return error };
    let (what, place) = split(said);
    let mut message = readable(what);
    if let Some(excerpt) = place.and_then(|(line, column)| excerpt(text, line, column)) {
        message.push_str(&excerpt);
    }
    let error = Error::request("bad_sql", message);
    let first = text.split_whitespace().next().unwrap_or_default().to_ascii_uppercase();
    external(match first.as_str() {
        "PIVOT" => error.hint("write FROM t PIVOT (sum(x) FOR k IN ('a', 'b'))"),
        "UNPIVOT" => error.hint("write FROM t UNPIVOT (value FOR name IN (a, b))"),
        _ => error,
    })
}

/// The message and the place at its end, line and column from 1.
fn split(said: &str) -> (&str, Option<(usize, usize)>) {
    let Some((what, place)) = said.rsplit_once(" at Line: ") else { return (said, None) };
    let mut numbers = place.split(", Column: ").map(|n| n.trim().parse::<usize>().ok());
    match (numbers.next().flatten(), numbers.next().flatten()) {
        (Some(line), Some(column)) => (what, Some((line, column))),
        _ => (said, None),
    }
}

/// `Expected: end of statement, found: fro` as a sentence.
fn readable(what: &str) -> String {
    match what.strip_prefix("Expected: ").and_then(|rest| rest.rsplit_once(", found: ")) {
        Some((expected, "EOF")) => format!("expected {expected}, found the end"),
        Some((expected, found)) => format!("expected {expected}, found {found}"),
        None => what.to_owned(),
    }
}

/// The line with a mark below a column.
fn excerpt(text: &str, line: usize, column: usize) -> Option<String> {
    let shown: Vec<char> = text.lines().nth(line.checked_sub(1)?)?.chars().collect();
    let at = column.checked_sub(1)?.min(shown.len());
    let start = at.saturating_sub(AROUND);
    let end = (at + AROUND).min(shown.len());
    let part = shown.get(start..end)?;
    let (before, after) = (if start > 0 { "..." } else { "" }, if end < shown.len() { "..." } else { "" });
    let indent: String = part.get(..at - start)?.iter().map(|c| if *c == '\t' { '\t' } else { ' ' }).collect();
    let part: String = part.iter().collect();
    let number = format!("{line}: ");
    let margin = " ".repeat(number.len() + before.len());
    Some(format!("\n  {number}{before}{part}{after}\n  {margin}{indent}^"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_is_marked() {
        assert_eq!(excerpt("SELECT 1\nFRO t", 2, 1).unwrap(), "\n  2: FRO t\n     ^");
        assert_eq!(excerpt("SELECT 1 +", 1, 11).unwrap(), "\n  1: SELECT 1 +\n               ^");
        let long = format!("SELECT {} FRO t", "a, ".repeat(100));
        let shown = excerpt(&long, 1, 309).unwrap();
        let mut lines = shown.lines().skip(1);
        let (line, mark) = (lines.next().unwrap(), lines.next().unwrap());
        assert_eq!(&line[mark.len() - 1..mark.len() + 2], "FRO", "{shown}");
    }

    #[test]
    fn complaints_are_sentences() {
        assert_eq!(readable("Expected: an expression, found: EOF"), "expected an expression, found the end");
        assert_eq!(split("x, found: y at Line: 1, Column: 10"), ("x, found: y", Some((1, 10))));
        assert_eq!(split("x, found: y"), ("x, found: y", None));
    }
}
