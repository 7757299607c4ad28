//! Reading JSON one token at a time (RFC 8259), from a buffer that holds whole lines.
//!
//! The cursor checks everything it passes over: numbers, escapes, surrogate pairs, control characters. UTF-8 itself is
//! checked once for the whole buffer, before.

use crate::text::{Fault, Parsed};
use colkit_core::Error;

/// What a value is, told by its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Null,
    Bool(bool),
    Number,
    String,
    List,
    Object,
}

/// A position in a line.
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    /// How deep values may still nest.
    depth: u32,
}

impl<'a> Cursor<'a> {
    /// The line that starts at `at` of `bytes`, which end with it.
    pub fn new(bytes: &'a [u8], at: usize, depth: u32) -> Self {
        Cursor { bytes, at, depth }
    }

    /// Where it is.
    pub fn at(&self) -> usize {
        self.at
    }

    /// What lies between two positions.
    pub fn raw(&self, from: usize, to: usize) -> &'a [u8] {
        self.bytes.get(from..to).unwrap_or_default()
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// The next byte that is not blank.
    fn token(&mut self) -> Option<u8> {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.peek() {
            self.at += 1;
        }
        self.peek()
    }

    /// An error here: what was expected.
    #[cold]
    pub fn expected(&self, what: &str) -> Fault {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let found = match String::from_utf8_lossy(rest).chars().next() {
            None => "the end of the line".to_string(),
            Some(c) => format!("{c:?}"),
        };
        Fault::new(self.at, Error::corrupt("bad_json", format!("expected {what}, found {found}")))
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.token() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// Nothing may follow.
    pub fn end(&mut self) -> Parsed<()> {
        match self.token() {
            None => Ok(()),
            Some(_) => {
                let mut fault = self.expected("the end of the line");
                fault.error = fault.error.hint("every line must be one JSON object");
                Err(fault)
            }
        }
    }

    /// Nothing may follow: the object ends where its brackets do.
    pub fn nothing(&mut self) -> Parsed<()> {
        match self.token() {
            None => Ok(()),
            Some(_) => Err(self.expected("the end of the object")),
        }
    }

    /// What comes next. Words (`null`, `true`, `false`) are passed over.
    pub fn kind(&mut self) -> Parsed<Kind> {
        let (word, kind) = match self.token() {
            Some(b'"') => return Ok(Kind::String),
            Some(b'{') => return Ok(Kind::Object),
            Some(b'[') => return Ok(Kind::List),
            Some(b'-' | b'0'..=b'9') => return Ok(Kind::Number),
            Some(b'n') => (&b"null"[..], Kind::Null),
            Some(b't') => (&b"true"[..], Kind::Bool(true)),
            Some(b'f') => (&b"false"[..], Kind::Bool(false)),
            _ => return Err(self.expected("a value")),
        };
        if !self.raw(self.at, self.bytes.len()).starts_with(word) {
            return Err(self.expected("a value"));
        }
        self.at += word.len();
        Ok(kind)
    }

    fn digits(&mut self) -> Parsed<()> {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        if self.at == start { Err(self.expected("a digit")) } else { Ok(()) }
    }

    /// A number, as it is written; whether it is an integer.
    pub fn number(&mut self) -> Parsed<(&'a [u8], bool)> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        let whole = self.at;
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok((self.raw(start, self.at), self.at == whole))
    }

    /// A string's content, unescaped into `into` unless it can be borrowed as it is.
    pub fn string<'s>(&mut self, into: &'s mut Vec<u8>) -> Parsed<&'s [u8]>
    where
        'a: 's,
    {
        self.at += 1;
        let start = self.at;
        self.plain()?;
        if self.peek() == Some(b'"') {
            self.at += 1;
            return Ok(self.raw(start, self.at - 1));
        }
        into.clear();
        into.extend_from_slice(self.raw(start, self.at));
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(into);
                }
                Some(b'\\') => self.escape(into)?,
                _ => {
                    let start = self.at;
                    self.plain()?;
                    into.extend_from_slice(self.raw(start, self.at));
                }
            }
        }
    }

    /// Up to the next quote or backslash.
    fn plain(&mut self) -> Parsed<()> {
        let rest = self.raw(self.at, self.bytes.len());
        let length = rest.iter().position(|b| matches!(b, b'"' | b'\\' | 0..=0x1F)).unwrap_or(rest.len());
        self.at += length;
        match self.peek() {
            Some(b'"' | b'\\') => Ok(()),
            None => Err(self.expected("the closing quote of a string")),
            Some(_) => Err(self.expected("a control character to be escaped")),
        }
    }

    fn escape(&mut self, into: &mut Vec<u8>) -> Parsed<()> {
        let start = self.at;
        self.at += 1;
        let simple = match self.peek() {
            Some(b @ (b'"' | b'\\' | b'/')) => b,
            Some(b'b') => 8,
            Some(b'f') => 12,
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(b'u') => {
                let character = self.unicode(start)?;
                into.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                return Ok(());
            }
            _ => return Err(self.expected("an escape")),
        };
        self.at += 1;
        into.push(simple);
        Ok(())
    }

    /// `\uXXXX`, or two of them that are one character.
    fn unicode(&mut self, start: usize) -> Parsed<char> {
        let first = self.four_digits()?;
        let code = match first {
            0xD800..=0xDBFF if self.raw(self.at, self.at + 2) == b"\\u" => {
                self.at += 1;
                match self.four_digits()? {
                    second @ 0xDC00..=0xDFFF => 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00),
                    _ => first,
                }
            }
            other => other,
        };
        let half = || Error::corrupt("bad_json", format!("\\u{first:04x} is half a character"));
        char::from_u32(code).ok_or_else(|| Fault::new(start, half()))
    }

    /// The digits after `u`, where the cursor stands.
    fn four_digits(&mut self) -> Parsed<u32> {
        self.at += 1;
        let mut code = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|b| char::from(b).to_digit(16));
            code = code * 16 + digit.ok_or_else(|| self.expected("a hexadecimal digit"))?;
            self.at += 1;
        }
        Ok(code)
    }

    /// Walks over an object; `member` is called after each name and must pass over the value.
    pub fn object(&mut self, mut member: impl FnMut(&mut Self, &[u8]) -> Parsed<()>) -> Parsed<()> {
        self.enter()?;
        let mut scratch = Vec::new();
        if !self.take(b'}') {
            loop {
                if self.token() != Some(b'"') {
                    return Err(self.expected("a name in quotes"));
                }
                let name = self.string(&mut scratch)?;
                if !self.take(b':') {
                    return Err(self.expected("':'"));
                }
                member(self, name)?;
                if self.take(b'}') {
                    break;
                }
                if !self.take(b',') {
                    return Err(self.expected("',' or '}'"));
                }
            }
        }
        self.depth += 1;
        Ok(())
    }

    /// Walks over a list; `item` is called for each value and must pass over it.
    pub fn list(&mut self, mut item: impl FnMut(&mut Self) -> Parsed<()>) -> Parsed<()> {
        self.enter()?;
        if !self.take(b']') {
            loop {
                item(self)?;
                if self.take(b']') {
                    break;
                }
                if !self.take(b',') {
                    return Err(self.expected("',' or ']'"));
                }
            }
        }
        self.depth += 1;
        Ok(())
    }

    /// Over the opening bracket.
    fn enter(&mut self) -> Parsed<()> {
        let Some(left) = self.depth.checked_sub(1) else {
            return Err(Fault::new(self.at, Error::limit("nesting", "more levels", "reached")));
        };
        self.depth = left;
        self.at += 1;
        Ok(())
    }

    /// Passes over a value.
    pub fn skip(&mut self, scratch: &mut Vec<u8>) -> Parsed<()> {
        match self.kind()? {
            Kind::Null | Kind::Bool(_) => Ok(()),
            Kind::Number => self.number().map(drop),
            Kind::String => self.string(scratch).map(drop),
            Kind::List => self.list(|cursor| cursor.skip(scratch)),
            Kind::Object => self.object(|cursor, _| cursor.skip(scratch)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<String, usize> {
        let mut cursor = Cursor::new(text.as_bytes(), 0, 5);
        let mut scratch = Vec::new();
        let read = match cursor.kind().map_err(|f| f.at)? {
            Kind::String => cursor.string(&mut scratch).map(|s| String::from_utf8(s.to_vec()).unwrap()),
            Kind::Number => cursor.number().map(|(n, _)| String::from_utf8(n.to_vec()).unwrap()),
            Kind::List => cursor.list(|c| c.skip(&mut scratch)).map(|()| "list".into()),
            Kind::Object => cursor.object(|c, _| c.skip(&mut Vec::new())).map(|()| "object".into()),
            other => Ok(format!("{other:?}")),
        };
        let read = read.map_err(|f| f.at)?;
        cursor.end().map_err(|f| f.at)?;
        Ok(read)
    }

    #[test]
    fn what_json_allows_is_read() {
        for (text, value) in [
            ("\"a\\n\\u00e9\\ud83d\\ude00\\/\"", "a\né😀/"),
            (" -0.5e+10 ", "-0.5e+10"),
            ("[1, [2, {\"a\": [] }], null]", "list"),
            ("{ }", "object"),
            ("true", "Bool(true)"),
        ] {
            assert_eq!(read(text), Ok(value.into()), "{text}");
        }
    }

    #[test]
    fn what_json_does_not_allow_is_refused_where_it_is() {
        for (text, at) in [
            ("01", 1),
            ("1.", 2),
            ("-", 1),
            ("1e", 2),
            ("\"a", 2),
            ("\"a\tb\"", 2),
            ("\"\\x\"", 2),
            ("\"\\ud800\"", 1),
            ("\"\\ud800\\u0041\"", 1),
            ("\"\\u12g4\"", 5),
            ("nul", 0),
            ("[1,]", 3),
            ("[1 2]", 3),
            ("{\"a\" 1}", 5),
            ("{a:1}", 1),
            ("{} {}", 3),
            ("[[[[[[1]]]]]]", 5),
            ("", 0),
        ] {
            assert_eq!(read(text), Err(at), "{text}");
        }
    }
}
