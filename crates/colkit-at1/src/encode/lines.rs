//! Text as lines, and lines as fields.
//!
//! ```text
//! lines = text split at LF; if there are several and the last is empty, it is dropped and `trailing` is set
//! ```
//!
//! A field is *quoted* only if it is printed back from its content to the byte: it begins with `"`, ends with `"` right
//! before a delimiter or the line's end, and every quote inside is doubled.

use memchr::memchr;
use std::borrow::Cow;

/// The lines of a text, and whether a line end follows the last one.
pub fn split(text: &[u8]) -> (Vec<&[u8]>, bool) {
    let mut lines = Vec::with_capacity(memchr::memchr_iter(b'\n', text).count() + 1);
    let mut start = 0;
    for end in memchr::memchr_iter(b'\n', text) {
        lines.push(text.get(start..end).unwrap_or_default());
        start = end + 1;
    }
    let rest = text.get(start..).unwrap_or_default();
    if lines.is_empty() || !rest.is_empty() {
        lines.push(rest);
        return (lines, false);
    }
    (lines, true)
}

/// A field of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field<'a> {
    /// As it stands in the line.
    pub raw: &'a [u8],
    /// Whether it is quoted.
    pub quoted: bool,
}

impl<'a> Field<'a> {
    /// What is between the quotes, doubled ones undone.
    pub fn content(self) -> Cow<'a, [u8]> {
        let [b'"', inside @ .., b'"'] = self.raw else { return Cow::Borrowed(self.raw) };
        if !self.quoted {
            return Cow::Borrowed(self.raw);
        }
        if memchr(b'"', inside).is_none() {
            return Cow::Borrowed(inside);
        }
        let mut content = Vec::with_capacity(inside.len());
        let mut rest = inside;
        while let Some(at) = memchr(b'"', rest) {
            content.extend_from_slice(rest.get(..=at).unwrap_or_default());
            rest = rest.get(at + 2..).unwrap_or_default();
        }
        content.extend_from_slice(rest);
        Cow::Owned(content)
    }
}

/// The fields of a line. Joined with the delimiter they are the line again.
pub fn fields(line: &[u8], delimiter: u8) -> Fields<'_> {
    Fields { rest: Some(line), delimiter }
}

/// See [`fields`].
#[derive(Clone, Debug)]
pub struct Fields<'a> {
    rest: Option<&'a [u8]>,
    delimiter: u8,
}

impl<'a> Iterator for Fields<'a> {
    type Item = Field<'a>;

    #[inline]
    fn next(&mut self) -> Option<Field<'a>> {
        let rest = self.rest?;
        let quoted = if rest.first() == Some(&b'"') { quoted_length(rest, self.delimiter) } else { None };
        let end = quoted.or_else(|| memchr(self.delimiter, rest)).unwrap_or(rest.len());
        let (raw, after) = rest.split_at_checked(end)?;
        self.rest = after.get(1..);
        Some(Field { raw, quoted: quoted.is_some() })
    }
}

/// The length of the quoted field that `text` begins with, quotes included.
fn quoted_length(text: &[u8], delimiter: u8) -> Option<usize> {
    let mut at = 1;
    loop {
        at += memchr(b'"', text.get(at..)?)?;
        match text.get(at + 1) {
            Some(b'"') => at += 2,
            None => return Some(at + 1),
            Some(next) if *next == delimiter => return Some(at + 1),
            Some(_) => return None,
        }
    }
}

/// Whether a line is a record of CSV as it stands: valid text, each cell in quotes or without a quote in front, no CR but
/// the one at the end that `crlf` asks for, as many fields as `columns`.
pub fn is_csv(line: &[u8], delimiter: u8, columns: usize, crlf: bool) -> bool {
    let body = match line.strip_suffix(b"\r") {
        Some(body) if crlf => body,
        None if !crlf => line,
        _ => return false,
    };
    memchr(b'\r', body).is_none()
        && std::str::from_utf8(body).is_ok()
        && field_count(body, delimiter) == columns
        && (memchr(b'"', body).is_none() || fields(body, delimiter).all(|f| f.quoted || f.raw.first() != Some(&b'"')))
}

/// The number of fields of a line.
pub fn field_count(line: &[u8], delimiter: u8) -> usize {
    if memchr(b'"', line).is_none() {
        return memchr::memchr_iter(delimiter, line).count() + 1;
    }
    fields(line, delimiter).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_as_the_format_has_them() {
        for (text, lines, trailing) in [
            ("", vec![""], false),
            ("\n", vec![""], true),
            ("a", vec!["a"], false),
            ("a\n", vec!["a"], true),
            ("a\n\n", vec!["a", ""], true),
            ("\na", vec!["", "a"], false),
        ] {
            let (found, end) = split(text.as_bytes());
            assert_eq!((found, end), (lines.iter().map(|l| l.as_bytes()).collect(), trailing), "{text:?}");
        }
    }

    #[test]
    fn quoted_only_if_it_prints_back() {
        let split = |line: &str| -> Vec<(String, bool)> {
            let text = |f: Field| String::from_utf8(f.content().into_owned()).unwrap();
            fields(line.as_bytes(), b',').map(|f| (text(f), f.quoted)).collect()
        };
        let field = |text: &str, quoted| (text.to_string(), quoted);
        assert_eq!(split("a,\"b,c\",\"d\"\"e\""), [field("a", false), field("b,c", true), field("d\"e", true)]);
        assert_eq!(split("\"a\"b,c"), [field("\"a\"b", false), field("c", false)]);
        assert_eq!(split("\"open,c"), [field("\"open", false), field("c", false)]);
        assert_eq!(split("\"\",\"\"\"\","), [field("", true), field("\"", true), field("", false)]);
        assert_eq!(split("\"x\"\r"), [field("\"x\"\r", false)]);
        assert_eq!(split(""), [field("", false)]);
        assert_eq!(split("\""), [field("\"", false)]);
        assert_eq!(split("\"\"\""), [field("\"\"\"", false)]);
        for line in ["", ",", "\"a\"\"b\",c", "\"a\"\"", "a\"b,\"\"\"\"\"\",", "\"a\" ,b"] {
            let raws: Vec<&[u8]> = fields(line.as_bytes(), b',').map(|f| f.raw).collect();
            assert_eq!(raws.join(&b","[..]), line.as_bytes());
            assert_eq!(field_count(line.as_bytes(), b','), raws.len());
        }
    }
}
