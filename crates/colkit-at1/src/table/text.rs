//! From bytes to values: the rules by which a line's fields become texts and numbers.
//!
//! - Bytes that are valid UTF-8 are that text; any other cell is read as Latin-1, each byte one character, as the
//!   published text says. So no cell is ever refused, and none loses a byte.
//! - A field in quotes (`"a ""b"""`) stands for its content.
//! - A JSON string stands for its content, `null` for null, any other JSON value for its own text.

use colkit_core::cells::CellText;
use std::borrow::Cow;

/// Appends a cell's text.
pub fn push_text(cell: &[u8], out: &mut String) {
    match std::str::from_utf8(cell) {
        Ok(text) => out.push_str(text),
        Err(_) => out.extend(cell.iter().map(|byte| char::from(*byte))),
    }
}

/// A cell's text.
pub fn text(cell: &[u8]) -> String {
    let mut out = String::with_capacity(cell.len());
    push_text(cell, &mut out);
    out
}

/// The content of a field, if all of it is one pair of quotes and what is between them.
pub fn unquote(field: &[u8]) -> Cow<'_, [u8]> {
    let Some(inside) = field.strip_prefix(b"\"").and_then(|f| f.strip_suffix(b"\"")) else {
        return Cow::Borrowed(field);
    };
    if !inside.contains(&b'"') {
        return Cow::Borrowed(inside);
    }
    let mut content = Vec::with_capacity(inside.len());
    let mut bytes = inside.iter();
    while let Some(byte) = bytes.next() {
        if *byte == b'"' && bytes.next() != Some(&b'"') {
            return Cow::Borrowed(field);
        }
        content.push(*byte);
    }
    Cow::Owned(content)
}

/// The text of a field that is quoted as CSV quotes, or not at all.
pub fn cell_text(field: &[u8]) -> CellText<'_> {
    match field.strip_prefix(b"\"").and_then(|f| f.strip_suffix(b"\"")) {
        Some(raw) => CellText { raw, doubled: raw.contains(&b'"').then_some(b'"') },
        None => CellText { raw: field, doubled: None },
    }
}

/// Splits a line into its fields, each with its quotes still on.
pub fn split_fields<'a>(line: &'a [u8], delimiter: &[u8]) -> Vec<&'a [u8]> {
    if delimiter.is_empty() {
        return vec![line];
    }
    let mut fields = Vec::new();
    let mut rest = line;
    loop {
        let end = quoted_end(rest, delimiter).or_else(|| memchr::memmem::find(rest, delimiter));
        match end.and_then(|end| rest.split_at_checked(end)) {
            Some((field, after)) if !after.is_empty() => {
                fields.push(field);
                rest = after.get(delimiter.len()..).unwrap_or_default();
            }
            _ => {
                fields.push(rest);
                return fields;
            }
        }
    }
}

/// Where the quoted field at the front ends, if there is one that a delimiter or nothing follows.
fn quoted_end(line: &[u8], delimiter: &[u8]) -> Option<usize> {
    let inside = line.strip_prefix(b"\"")?;
    let mut quotes = memchr::memchr_iter(b'"', inside).peekable();
    while let Some(at) = quotes.next() {
        if quotes.next_if_eq(&(at + 1)).is_none() {
            let end = at + 2;
            let after = line.get(end..)?;
            return (after.is_empty() || after.starts_with(delimiter)).then_some(end);
        }
    }
    None
}

/// What a JSON value stands for as text; `None` for null.
pub fn json_text(value: &[u8]) -> Option<Cow<'_, [u8]>> {
    match value {
        b"null" => None,
        [b'"', inside @ .., b'"'] if !inside.contains(&b'\\') => Some(Cow::Borrowed(inside)),
        [b'"', ..] => match serde_json::from_slice::<String>(value) {
            Ok(content) => Some(Cow::Owned(content.into_bytes())),
            // Not the JSON it claims to be, or not UTF-8: as it stands.
            Err(_) => Some(Cow::Borrowed(value)),
        },
        _ => Some(Cow::Borrowed(value)),
    }
}

/// Whether a text is a JSON number, and how many significant digits it has.
pub fn json_number(text: &[u8]) -> Option<usize> {
    let digits = |text: &[u8]| text.iter().take_while(|b| b.is_ascii_digit()).count();
    let rest = text.strip_prefix(b"-").unwrap_or(text);
    let whole = digits(rest);
    if whole == 0 || (whole > 1 && rest.first() == Some(&b'0')) {
        return None;
    }
    let (mantissa_whole, mut rest) = rest.split_at_checked(whole)?;
    let mut fraction: &[u8] = &[];
    if let Some(after) = rest.strip_prefix(b".") {
        let count = digits(after);
        (fraction, rest) = after.split_at_checked(count).filter(|_| count > 0)?;
    }
    if let Some(after) = rest.strip_prefix(b"e").or(rest.strip_prefix(b"E")) {
        let after = after.strip_prefix(b"+").or(after.strip_prefix(b"-")).unwrap_or(after);
        rest = after.get(digits(after)..).filter(|_| digits(after) > 0)?;
    }
    if !rest.is_empty() {
        return None;
    }
    Some(mantissa_whole.iter().chain(fraction).skip_while(|b| **b == b'0').count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_keep_every_byte() {
        for (line, expected) in [
            ("a,b,c", vec!["a", "b", "c"]),
            ("", vec![""]),
            (",", vec!["", ""]),
            ("\"a,b\",c", vec!["\"a,b\"", "c"]),
            ("\"a\"\"b\",c", vec!["\"a\"\"b\"", "c"]),
            ("\"a\"b,c", vec!["\"a\"b", "c"]),
            ("\"a,b", vec!["\"a", "b"]),
            ("a,\"\"", vec!["a", "\"\""]),
            ("\"x\",", vec!["\"x\"", ""]),
        ] {
            let fields: Vec<&str> =
                split_fields(line.as_bytes(), b",").into_iter().map(|f| std::str::from_utf8(f).unwrap()).collect();
            assert_eq!(fields, expected, "{line}");
            assert_eq!(fields.join(","), line);
        }
        assert_eq!(split_fields(b"a::b", b"::"), [b"a", b"b"]);
    }

    #[test]
    fn quotes_come_off_only_in_pairs() {
        for (field, content) in [
            ("a", "a"),
            ("\"a\"", "a"),
            ("\"a\"\"b\"", "a\"b"),
            ("\"", "\""),
            ("\"\"", ""),
            ("\"a\"b\"", "\"a\"b\""),
            ("\"\"\"", "\"\"\""),
        ] {
            assert_eq!(unquote(field.as_bytes()).as_ref(), content.as_bytes(), "{field}");
        }
    }

    #[test]
    fn json_values() {
        assert_eq!(json_text(b"null"), None);
        for (value, text) in
            [("\"a\"", "a"), ("\"a\\n\\u00e9\"", "a\né"), ("12", "12"), ("true", "true"), ("\"x", "\"x")]
        {
            assert_eq!(json_text(value.as_bytes()).unwrap().as_ref(), text.as_bytes());
        }
        for (number, digits) in [("0", Some(0)), ("-0.00120", Some(3)), ("1e3", Some(1)), ("12.5E-7", Some(3))] {
            assert_eq!(json_number(number.as_bytes()), digits, "{number}");
        }
        for other in ["", "-", "01", "1.", ".5", "+1", "1e", "nan", "1 ", "0x1"] {
            assert_eq!(json_number(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn what_is_not_utf8_is_latin1() {
        assert_eq!(text("é".as_bytes()), "é");
        assert_eq!(text(b"\xE9a"), "éa");
    }
}
