//! Searching the text of values: a regular expression, or a plain text, over the cells of any columns.
//!
//! The text of a value is what `cat` prints: numbers, dates and decimals as in CSV, nested values as JSON. Nulls have none.

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray};
use arrow::buffer::BooleanBuffer;
use arrow::compute::cast;
use arrow::datatypes::{DataType, Schema};
use arrow::record_batch::RecordBatch;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use colkit_core::{Error, Op, Predicate, Result, RowFilter, Setting, Value, ValueTest, json};
use regex::{Regex, RegexBuilder};
use std::fmt::Write;
use std::ops::Range;

/// What to search for in the text of values.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # std::env::set_current_dir(&folder)?;
/// # std::fs::write("trades.csv", "sym,price\nBTC,64000.5\nETH,3100.25\nSOL,99.5\nADA,0.4\n")?;
/// use colkit::Pattern;
/// let file = colkit::open("trades.csv")?;
/// let rows = file.scan().matching(Pattern::new("^(BTC|ETH)$")?).batches()?;
/// assert_eq!(rows.map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 2);
/// # Ok::<(), colkit::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Pattern {
    regex: Regex,
    /// Text that everything that matches begins with.
    prefix: Option<String>,
    inverted: bool,
}

impl Pattern {
    /// The regular expression `text`, in the syntax of the crate `regex`.
    pub fn new(text: &str) -> Result<Self> {
        Self::compiled(text, false, literal_prefix(text))
    }

    /// The same, whatever the case of letters.
    pub fn new_ignoring_case(text: &str) -> Result<Self> {
        Self::compiled(text, true, None)
    }

    /// Just this text, anywhere in a value.
    pub fn fixed(text: &str) -> Result<Self> {
        Self::compiled(&regex::escape(text), false, None)
    }

    /// Just this text, whatever the case of letters.
    pub fn fixed_ignoring_case(text: &str) -> Result<Self> {
        Self::compiled(&regex::escape(text), true, None)
    }

    fn compiled(text: &str, ignore_case: bool, prefix: Option<String>) -> Result<Self> {
        let regex = RegexBuilder::new(text).case_insensitive(ignore_case).build();
        let regex = regex.map_err(|e| {
            Error::request("bad_pattern", e.to_string().trim().to_owned())
                .hint(Setting::FixedPattern.does("searches for it as plain text"))
        })?;
        Ok(Pattern { regex, prefix, inverted: false })
    }

    /// Wants the rows in which nothing matches.
    #[must_use]
    pub fn inverted(mut self, inverted: bool) -> Self {
        self.inverted = inverted;
        self
    }

    /// Whether rows are wanted in which nothing matches.
    pub fn is_inverted(&self) -> bool {
        self.inverted
    }

    /// Where the pattern occurs in a text.
    pub fn find_in(&self, text: &str) -> Vec<Range<usize>> {
        self.regex.find_iter(text).map(|m| m.range()).filter(|range| !range.is_empty()).collect()
    }

    /// For each row of a batch whether it is wanted.
    pub fn wanted_rows(&self, columns: &[ArrayRef], rows: usize) -> Result<BooleanArray> {
        let mut any = BooleanBuffer::new_unset(rows);
        for column in columns {
            any = &any | self.passes(column)?.values();
        }
        Ok(BooleanArray::new(if self.inverted { !&any } else { any }, None))
    }

    /// What zone maps can tell about a column of text that is searched alone: it lies between the prefix and what follows it.
    pub(crate) fn bounds(&self, schema: &Schema, columns: &[usize]) -> Option<Predicate> {
        let ([column], Some(prefix), false) = (columns, &self.prefix, self.inverted) else { return None };
        let data_type = schema.fields().get(*column)?.data_type();
        if !matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View) {
            return None;
        }
        let from = Predicate::compare(*column, Op::Ge, Value::Text(prefix.clone()));
        let to = after(prefix).map(|end| Predicate::compare(*column, Op::Lt, Value::Text(end)));
        Some(Predicate::And(std::iter::once(from).chain(to).collect()))
    }
}

/// The literal text that a pattern such as `^abc` begins with.
fn literal_prefix(pattern: &str) -> Option<String> {
    let rest = pattern.strip_prefix('^')?;
    if rest.contains('|') {
        return None;
    }
    let mut literal: String = rest.chars().take_while(|c| !r"\.+*?()|[]{}^$#&-~/".contains(*c)).collect();
    // What follows may say that the last character need not be there.
    if rest.get(literal.len()..).is_some_and(|more| more.starts_with(['*', '?', '{'])) {
        literal.pop();
    }
    (!literal.is_empty()).then_some(literal)
}

/// The smallest text that is larger than all that begin with `prefix`.
fn after(prefix: &str) -> Option<String> {
    let mut characters: Vec<char> = prefix.chars().collect();
    while let Some(last) = characters.pop() {
        // Surrogates are no characters.
        let next = if last == '\u{d7ff}' { Some('\u{e000}') } else { char::from_u32(u32::from(last) + 1) };
        if let Some(next) = next {
            characters.push(next);
            return Some(characters.into_iter().collect());
        }
    }
    None
}

impl ValueTest for Pattern {
    fn passes(&self, values: &ArrayRef) -> Result<BooleanArray> {
        let matches = |text: Option<&str>| text.is_some_and(|text| self.regex.is_match(text));
        let bits: BooleanBuffer = match values.data_type() {
            DataType::Utf8 => values.as_string::<i32>().iter().map(matches).collect(),
            DataType::LargeUtf8 => values.as_string::<i64>().iter().map(matches).collect(),
            DataType::Utf8View => values.as_string_view().iter().map(matches).collect(),
            DataType::Dictionary(_, inner) => return self.passes(&cast(values, inner)?),
            DataType::RunEndEncoded(_, inner) => return self.passes(&cast(values, inner.data_type())?),
            t if t.is_nested() => json::texts(values)?.iter().map(matches).collect(),
            _ => {
                let options = FormatOptions::new().with_display_error(false);
                let formatter = ArrayFormatter::try_new(values.as_ref(), &options)?;
                let nulls = values.logical_nulls();
                let mut text = String::new();
                let mut printed = |row: usize| {
                    if nulls.as_ref().is_some_and(|n| n.is_null(row)) {
                        return false;
                    }
                    text.clear();
                    write!(text, "{}", formatter.value(row)).is_ok() && self.regex.is_match(&text)
                };
                BooleanBuffer::collect_bool(values.len(), &mut printed)
            }
        };
        Ok(BooleanArray::new(bits, None))
    }

    fn is_negated(&self) -> bool {
        self.inverted
    }
}

/// A pattern over some columns of a table.
#[derive(Debug)]
pub(crate) struct Search {
    pub pattern: Pattern,
    pub columns: Vec<usize>,
}

impl RowFilter for Search {
    fn columns(&self) -> Vec<usize> {
        self.columns.clone()
    }

    fn keep(&self, batch: &RecordBatch) -> Result<BooleanArray> {
        self.pattern.wanted_rows(batch.columns(), batch.num_rows())
    }

    fn value_test(&self) -> Option<&dyn ValueTest> {
        Some(&self.pattern)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_are_what_every_match_begins_with() {
        assert_eq!(literal_prefix("^abc"), Some("abc".into()));
        assert_eq!(literal_prefix("^abc.*d$"), Some("abc".into()));
        assert_eq!(literal_prefix("^abc?d"), Some("ab".into()));
        assert_eq!(literal_prefix("^ab{0,3}"), Some("a".into()));
        assert_eq!(literal_prefix("^a*"), None);
        assert_eq!(literal_prefix("^abc|d"), None);
        assert_eq!(literal_prefix("abc"), None);
        assert_eq!(literal_prefix("^(?i)abc"), None);
        assert_eq!(after("abc"), Some("abd".into()));
        assert_eq!(after("a\u{10ffff}"), Some("b".into()));
        assert_eq!(after("\u{d7ff}"), Some("\u{e000}".into()));
        assert_eq!(after("\u{10ffff}"), None);
    }
}
