//! What a file is, by its beginning: which codecs are worth trying on it.

use super::columnar::Shape;
use super::lines::{field_count, fields};
use super::qjson;
use crate::container::Codec;
use crate::number::{parse_fixed, parse_int};
use memchr::{memchr, memchr_iter, memmem};
use std::collections::HashMap;

/// A codec with what it must know in advance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plan {
    /// Not taken apart.
    Raw,
    /// A table, as small as can be.
    Columnar(Shape),
    /// A table that can be queried.
    Qcolumnar(Shape),
    /// Any other codec.
    Other(Codec),
}

impl Plan {
    /// Its codec.
    pub fn codec(self) -> Codec {
        match self {
            Plan::Raw => Codec::Raw,
            Plan::Columnar(_) => Codec::Columnar,
            Plan::Qcolumnar(_) => Codec::Qcolumnar,
            Plan::Other(codec) => codec,
        }
    }

    /// The plan that holds the same as this one in fewer bytes, but not for queries.
    pub fn for_size(self) -> Option<Self> {
        match self {
            Plan::Qcolumnar(shape) => Some(Plan::Columnar(shape)),
            Plan::Other(Codec::Qjson | Codec::Qjson2) => Some(Plan::Other(Codec::Json)),
            _ => None,
        }
    }

    /// Whether the file is shown as the table that its text is.
    pub fn is_table(self) -> bool {
        matches!(self.codec(), Codec::Columnar | Codec::Json | Codec::Raw) || self.is_queryable()
    }

    /// Whether the file can be read in parts.
    pub fn is_queryable(self) -> bool {
        self.codec().is_queryable()
    }
}

/// The plan for a codec that was asked for.
pub fn plan_for(codec: Codec, head: &[u8]) -> Plan {
    let one_column = Shape { delimiter: b',', header: false, columns: 1 };
    let shape = || table(head, b",;\t|: ").map_or(one_column, |(shape, _)| shape);
    match codec {
        Codec::Raw | Codec::Bundle => Plan::Raw,
        Codec::Columnar => Plan::Columnar(shape()),
        Codec::Qcolumnar => Plan::Qcolumnar(shape()),
        other => Plan::Other(other),
    }
}

/// The plans worth trying on a file that begins with `head` (all of it, if it is short). Queryable ones come alone if
/// such are wanted and possible.
pub fn plans(head: &[u8], queryable: bool) -> Vec<Plan> {
    if head.starts_with(b"AT1") {
        return vec![Plan::Raw];
    }
    if head.starts_with(b"\x93NUMPY") {
        return vec![Plan::Other(Codec::Embed)];
    }
    if head.get(128..132) == Some(b"DICM") {
        return vec![Plan::Other(Codec::Dicom)];
    }
    let start = head.get(..head.len().min(4096)).unwrap_or_default();
    if memchr(0, head.get(..head.len().min(64 << 10)).unwrap_or_default()).is_some() {
        return vec![Plan::Raw];
    }
    if head.starts_with(b"##fileformat=VCF") {
        let mut all = vec![Plan::Other(Codec::Vcf)];
        all.extend(table_after_comments(head).map(Plan::Columnar));
        return all;
    }
    if memmem::find(start, b"<osm ").is_some() {
        return vec![Plan::Other(Codec::Osm), Plan::Other(Codec::Log)];
    }
    let lines: Vec<&[u8]> = complete_lines(head).collect();
    if let Some(b'{' | b'[') = head.iter().find(|b| !b.is_ascii_whitespace()) {
        return json(&lines, queryable);
    }
    if lines.len() < 2 {
        return vec![Plan::Raw];
    }
    let ssh = lines.iter().filter(|l| super::ssh::is_entry(l)).count();
    if ssh * 2 >= lines.len() {
        return vec![Plan::Other(Codec::Ssh), Plan::Other(Codec::Log)];
    }
    let mut all = Vec::new();
    if let Some((shape, certain)) = table(head, b",;\t|") {
        all.extend(queryable.then_some(Plan::Qcolumnar(shape)));
        if certain && queryable {
            return all;
        }
        all.push(Plan::Columnar(shape));
        if certain {
            return all;
        }
    }
    all.push(Plan::Other(Codec::Log));
    all.extend(widest(&lines, b' ').map(|columns| Plan::Columnar(Shape { delimiter: b' ', header: false, columns })));
    // Requests, referrers and agents of an access log stand in quotes, with spaces in them.
    all.extend(widest(&lines, b'"').map(|columns| Plan::Columnar(Shape { delimiter: b'"', header: false, columns })));
    all.extend(widest(&lines, b':').map(|columns| Plan::Columnar(Shape { delimiter: b':', header: false, columns })));
    all
}

fn complete_lines(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    let end = memchr::memrchr(b'\n', head).unwrap_or(head.len());
    head.get(..end).unwrap_or_default().split(|b| *b == b'\n').take(8192)
}

fn json(lines: &[&[u8]], queryable: bool) -> Vec<Plan> {
    let templates = qjson::templates(lines.iter().copied());
    let parsed: u64 = templates.iter().map(|t| t.uses).sum();
    if parsed * 2 < lines.len() as u64 || lines.len() < 2 {
        return vec![Plan::Other(Codec::Jsondoc), Plan::Other(Codec::Log)];
    }
    let covered = |n: usize| templates.iter().take(n).map(|t| t.uses).sum::<u64>() * 100 / parsed.max(1);
    let several = if covered(1) >= 98 { Codec::Qjson } else { Codec::Qjson2 };
    if queryable && covered(qjson::MOST_SHAPES) >= 80 {
        return vec![Plan::Other(several)];
    }
    vec![Plan::Other(Codec::Json), Plan::Other(several)]
}

/// The shape of a table whose fields are separated by one of these bytes, and whether it surely is one: prose and logs have
/// about as many commas in most of their lines, too.
fn table(head: &[u8], delimiters: &[u8]) -> Option<(Shape, bool)> {
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
    Some((Shape { delimiter, header: has_header(&lines, delimiter, columns), columns }, certain))
}

/// The most frequent number, and how often it occurs.
fn most_frequent(counts: impl Iterator<Item = usize>) -> Option<(usize, usize)> {
    let mut uses: HashMap<usize, usize> = HashMap::new();
    counts.for_each(|n| *uses.entry(n).or_insert(0) += 1);
    uses.into_iter().max_by_key(|(n, uses)| (*uses, *n))
}

/// The shape of a table below lines that begin with `##`.
fn table_after_comments(head: &[u8]) -> Option<Shape> {
    let lines = complete_lines(head).filter(|l| !l.starts_with(b"#"));
    let (columns, _) = most_frequent(lines.map(|l| memchr_iter(b'\t', l).count() + 1))?;
    (columns >= 2).then_some(Shape { delimiter: b'\t', header: false, columns })
}

/// The largest number of fields that more than a few lines have, up to a ceiling.
fn widest(lines: &[&[u8]], delimiter: u8) -> Option<usize> {
    let mut counts: Vec<usize> = lines.iter().map(|l| field_count(l, delimiter)).collect();
    counts.sort_unstable();
    // The few longest lines are kept as they are.
    let columns = counts.get(counts.len().saturating_sub(1 + counts.len() / 50)).copied()?;
    (2..=64).contains(&columns).then_some(columns)
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

    fn codecs(text: &str, queryable: bool) -> Vec<Codec> {
        plans(text.as_bytes(), queryable).into_iter().map(Plan::codec).collect()
    }

    #[test]
    fn files_are_known_by_their_beginning() {
        let csv = "id,name\n1,a\n2,b\n3,c\n";
        assert_eq!(codecs(csv, true), [Codec::Qcolumnar]);
        assert_eq!(
            plans(csv.as_bytes(), false)[0],
            Plan::Columnar(Shape { delimiter: b',', header: true, columns: 2 })
        );
        let Plan::Qcolumnar(shape) = plans(b"1;2;3\n4;5;6\n7;8;9\n", true)[0] else { panic!() };
        assert_eq!(shape, Shape { delimiter: b';', header: false, columns: 3 });
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
