//! The beginning of a file, and what it looks like: by this codecs know whether a file is one for them.

use super::lines::{field_count, fields};
use super::plan::TableLayout;
use crate::number::{parse_fixed, parse_int};
use memchr::{memchr, memchr_iter};
use std::collections::HashMap;

/// Delimiters of tables, the usual ones first; and those that only a codec that was asked for tries.
const DELIMITERS: &[u8] = b",;\t|";
const ALL_DELIMITERS: &[u8] = b",;\t|: ";

/// The beginning of a file.
pub struct Sample<'a> {
    /// Its first bytes; all of them if it is short.
    pub head: &'a [u8],
    /// Whether queries are wanted, where they are possible.
    pub queryable: bool,
    lines: Vec<&'a [u8]>,
    table: Option<(TableLayout, bool)>,
}

impl<'a> Sample<'a> {
    /// Looks at the beginning of a file.
    pub fn new(head: &'a [u8], queryable: bool) -> Self {
        Sample { head, queryable, lines: complete_lines(head).collect(), table: table(head, DELIMITERS) }
    }

    /// Whether it is an AT-1 file itself.
    pub fn is_packed(&self) -> bool {
        self.head.starts_with(b"AT1")
    }

    /// Whether it is text.
    pub fn is_text(&self) -> bool {
        let start = self.head.get(..self.head.len().min(64 << 10)).unwrap_or_default();
        !self.is_packed() && memchr(0, start).is_none()
    }

    /// Its lines, as far as they are complete.
    pub fn lines(&self) -> &[&'a [u8]] {
        &self.lines
    }

    /// Its lines, if it is text of several.
    pub fn text_lines(&self) -> Option<&[&'a [u8]]> {
        (self.lines.len() >= 2 && self.is_text()).then_some(&self.lines[..])
    }

    /// How it is a table, if it may be one.
    pub fn table(&self) -> Option<TableLayout> {
        self.text_lines()?;
        self.table.map(|(table, _)| table)
    }

    /// How it is a table, if it surely is one: prose and logs have about as many commas in most of their lines, too.
    pub fn certain_table(&self) -> Option<TableLayout> {
        self.text_lines()?;
        self.table.filter(|(_, certain)| *certain).map(|(table, _)| table)
    }

    /// How it is a table, if it has to be one.
    pub fn any_table(&self) -> TableLayout {
        table(self.head, ALL_DELIMITERS).map_or(TableLayout::ONE_COLUMN, |(table, _)| table)
    }

    /// A table below lines that begin with `#`.
    pub fn table_after_comments(&self) -> Option<TableLayout> {
        let lines = self.lines.iter().filter(|l| !l.starts_with(b"#"));
        let (columns, _) = most_frequent(lines.map(|l| memchr_iter(b'\t', l).count() + 1))?;
        (columns >= 2).then_some(TableLayout { delimiter: b'\t', header: false, columns })
    }

    /// A table of as many columns as more than a few lines have, up to a ceiling.
    pub fn widest_table(&self, delimiter: u8) -> Option<TableLayout> {
        let mut counts: Vec<usize> = self.lines.iter().map(|l| field_count(l, delimiter)).collect();
        counts.sort_unstable();
        // The few longest lines are kept as they are.
        let columns = counts.get(counts.len().saturating_sub(1 + counts.len() / 50)).copied()?;
        (2..=64).contains(&columns).then_some(TableLayout { delimiter, header: false, columns })
    }
}

fn complete_lines(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    let end = memchr::memrchr(b'\n', head).unwrap_or(head.len());
    head.get(..end).unwrap_or_default().split(|b| *b == b'\n').take(8192)
}

/// How a text is a table whose fields are separated by one of these bytes, and whether it surely is one.
fn table(head: &[u8], delimiters: &[u8]) -> Option<(TableLayout, bool)> {
    let lines: Vec<&[u8]> = complete_lines(head.get(..head.len().min(256 << 10)).unwrap_or_default()).collect();
    let mut best: Option<(usize, usize, u8)> = None;
    for delimiter in delimiters {
        let (columns, share) = most_frequent(lines.iter().map(|l| field_count(l, *delimiter)))?;
        // At least half of the lines; a tie goes to the larger number of columns.
        if columns >= 2 && share * 2 >= lines.len() && best.is_none_or(|(s, c, _)| (share, columns) > (s, c)) {
            best = Some((share, columns, *delimiter));
        }
    }
    let (share, columns, delimiter) = best?;
    let certain = share * 100 >= lines.len() * if columns > 2 { 90 } else { 98 };
    Some((TableLayout { delimiter, header: has_header(&lines, delimiter, columns), columns }, certain))
}

/// The most frequent number, and how often it occurs.
fn most_frequent(counts: impl Iterator<Item = usize>) -> Option<(usize, usize)> {
    let mut uses: HashMap<usize, usize> = HashMap::new();
    counts.for_each(|n| *uses.entry(n).or_insert(0) += 1);
    uses.into_iter().max_by_key(|(n, uses)| (*uses, *n))
}

fn is_number(text: &[u8]) -> bool {
    parse_int(text).is_some() || parse_fixed(text).is_some()
}

/// Whether the first line names the columns: all names differ and none is a number, but some column is.
fn has_header(lines: &[&[u8]], delimiter: u8, columns: usize) -> bool {
    let Some((first, rows)) = lines.split_first() else { return false };
    let names: Vec<_> = fields(first, delimiter).map(|f| f.content()).collect();
    let mut seen = std::collections::HashSet::new();
    let plausible = names.len() == columns
        && names.iter().all(|n| !n.is_empty() && !is_number(n) && seen.insert(n.as_ref().trim_ascii_end().to_vec()));
    if !plausible {
        return false;
    }
    let rows: Vec<&&[u8]> = rows.iter().filter(|l| field_count(l, delimiter) == columns).take(200).collect();
    let number_at = |k: usize| {
        let numbers = rows
            .iter()
            .filter(|l| fields(l, delimiter).nth(k).is_some_and(|f| is_number(f.content().as_ref().trim_ascii_end())));
        numbers.count() * 2 > rows.len()
    };
    // Texts only: then the first line is a header if its words do not come again.
    let again = |k: usize, name: &[u8]| {
        rows.iter().any(|l| fields(l, delimiter).nth(k).is_some_and(|f| f.content().as_ref() == name))
    };
    let columns_to_see = columns.min(64);
    (0..columns_to_see).any(number_at) || names.iter().take(columns_to_see).enumerate().all(|(k, name)| !again(k, name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::Codec;
    use crate::encode::plan::Plan;

    fn plans(text: &str, queryable: bool) -> Vec<Plan> {
        Plan::candidates(&Sample::new(text.as_bytes(), queryable))
    }

    fn codecs(text: &str, queryable: bool) -> Vec<Codec> {
        plans(text, queryable).into_iter().map(|plan| plan.codec).collect()
    }

    #[test]
    fn files_are_known_by_their_beginning() {
        let csv = "id,name\n1,a\n2,b\n3,c\n";
        assert_eq!(codecs(csv, true), [Codec::Qcolumnar]);
        let table = |delimiter, header, columns| TableLayout { delimiter, header, columns };
        assert_eq!(plans(csv, false), [Plan::table(Codec::Columnar, table(b',', true, 2))]);
        assert_eq!(plans("1;2;3\n4;5;6\n7;8;9\n", true), [Plan::table(Codec::Qcolumnar, table(b';', false, 3))]);
        assert_eq!(codecs("{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n", true), [Codec::Qjson]);
        assert_eq!(codecs("{\"a\":1}\n{\"b\":2}\n{\"a\":3}\n{\"b\":2}\n", true), [Codec::Qjson2]);
        assert_eq!(codecs("{\n \"a\": 1\n}\n", true), [Codec::Jsondoc, Codec::Log]);
        assert_eq!(codecs("\u{0}\u{1}binary\n\n\n", true), [Codec::Raw]);
        assert_eq!(codecs("", true), [Codec::Raw]);
        assert_eq!(codecs("AT1\u{2}", true), [Codec::Raw]);
        let ssh = "Dec 10 06:55:46 LabSZ sshd[24200]: Invalid user webmaster from 173.234.31.186\n";
        assert_eq!(codecs(&ssh.repeat(3), true)[0], Codec::Ssh);
        assert_eq!(codecs("started at 10\nstopped at 11\nstarted at 12\n", true)[0], Codec::Log);
    }
}
