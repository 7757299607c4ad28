//! Where records begin and end: one object per line, or the objects of an array.
//!
//! ```text
//! lines   {..} LF {..} LF                  a blank line is no record
//! array   [ {..} , {..} , {..} ]           blanks and line ends anywhere between
//! ```
//!
//! The bracket that opens the array is the header of the file. A record of an array is an object with what follows it, up to
//! the next object or the end of the file.

use super::cursor::Cursor;
use crate::text::{Fault, Parsed};
use colkit_core::Error;

/// How records are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    Lines,
    Array,
}

/// What is behind the end of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Behind {
    /// More text.
    More,
    /// Another record, which a longer text has been seen to have.
    Records,
    /// Nothing.
    Nothing,
}

/// So many blanks are looked at for the start of an array.
const MOST_BLANKS: usize = 1 << 20;

/// A record that was found.
pub(super) struct Framed<'a> {
    /// The text up to the end of the object, or nothing if there is none.
    pub object: Option<&'a [u8]>,
    /// Where the object starts.
    pub start: usize,
    /// Where the next record starts.
    pub next: usize,
}

impl Framing {
    /// The framing of a text and the length of its header; `None` if that takes more text.
    pub fn of(text: &[u8], at_end: bool) -> Option<(Self, usize)> {
        match text.get(blanks(text, 0)) {
            Some(b'[') => Some((Framing::Array, blanks(text, 0) + 1)),
            Some(_) => Some((Framing::Lines, 0)),
            None => (at_end || text.len() > MOST_BLANKS).then_some((Framing::Lines, 0)),
        }
    }

    /// The record at `at`; `None` if it is incomplete.
    pub fn record(self, bytes: &[u8], at: usize, behind: Behind) -> Parsed<Option<Framed<'_>>> {
        match self {
            Framing::Lines => {
                let next = line_end(bytes, at).or((behind != Behind::More).then_some(bytes.len()));
                Ok(next.map(|next| Framed { object: line(bytes, at, next), start: at, next }))
            }
            Framing::Array => element(bytes, at, behind),
        }
    }

    /// What an object must be followed by.
    pub fn end(self, cursor: &mut Cursor<'_>) -> Parsed<()> {
        match self {
            Framing::Lines => cursor.end(),
            Framing::Array => cursor.nothing(),
        }
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

/// Where the next byte is that is not blank.
fn blanks(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    at + rest.iter().position(|b| !is_blank(*b)).unwrap_or(rest.len())
}

/// Where the line after that at `at` starts.
fn line_end(bytes: &[u8], at: usize) -> Option<usize> {
    Some(at + memchr::memchr(b'\n', bytes.get(at..)?)? + 1)
}

/// The text up to the end of the line from `at` to `next`, without its line feed, unless the line is blank.
fn line(bytes: &[u8], at: usize, next: usize) -> Option<&[u8]> {
    let text = bytes.get(..next)?;
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    let blank = text.get(at..)?.iter().all(|b| matches!(b, b' ' | b'\t' | b'\r'));
    (!blank).then_some(text)
}

fn bad(at: usize, message: impl Into<String>) -> Fault {
    Fault::new(
        at,
        Error::corrupt("bad_json", message.into()).hint("the file must be one array of JSON objects, the rows"),
    )
}

/// The next object of an array, with the comma after it or, after the last one, the rest of the file.
fn element(bytes: &[u8], at: usize, behind: Behind) -> Parsed<Option<Framed<'_>>> {
    let at_end = behind != Behind::More;
    let start = blanks(bytes, at);
    let Some(first) = bytes.get(start) else {
        return if at_end { Err(bad(start, "expected ], found the end of the file")) } else { Ok(None) };
    };
    // Only an array without objects ends here: after a comma there is one more.
    if *first == b']' {
        return Ok(rest_of_file(bytes, start, at_end)?.map(|next| Framed { object: None, start, next }));
    }
    let Some(end) = value_end(bytes, start) else {
        return if at_end { Err(bad(start, "the file ends inside of this object")) } else { Ok(None) };
    };
    let object = bytes.get(..end);
    let after = blanks(bytes, end);
    let next = match bytes.get(after) {
        Some(b',') => {
            let next = blanks(bytes, after + 1);
            match bytes.get(next) {
                Some(b']') => return Err(bad(next, "expected an object after the comma, found ]")),
                Some(_) => Some(next),
                None if behind == Behind::Records => Some(next),
                None if at_end => return Err(bad(next, "expected an object, found the end of the file")),
                None => None,
            }
        }
        Some(b']') => rest_of_file(bytes, after, at_end)?,
        Some(other) => return Err(bad(after, format!("expected a comma or ], found {:?}", char::from(*other)))),
        None if at_end => return Err(bad(after, "expected a comma or ], found the end of the file")),
        None => None,
    };
    Ok(next.map(|next| Framed { object, start, next }))
}

/// The end of the file, if nothing follows the bracket at `close`; `None` if it is not known yet.
fn rest_of_file(bytes: &[u8], close: usize, at_end: bool) -> Parsed<Option<usize>> {
    let after = blanks(bytes, close + 1);
    match bytes.get(after) {
        Some(_) => Err(bad(after, "expected the end of the file after the array")),
        None => Ok(at_end.then_some(bytes.len())),
    }
}

/// Where the value that starts at `start` ends, by its brackets and quotes alone; `None` if that is not in the text.
fn value_end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut depth = 0u64;
    let mut at = start;
    loop {
        match bytes.get(at)? {
            b'"' => at = string_end(bytes, at)?,
            b'{' | b'[' => depth += 1,
            // What is no object ends before what separates it from the next.
            b',' | b']' if depth == 0 => return Some(at),
            b'}' | b']' if depth <= 1 => return Some(at + 1),
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        at += 1;
    }
}

/// Where the closing quote of a string is.
fn string_end(bytes: &[u8], open: usize) -> Option<usize> {
    let mut at = open + 1;
    loop {
        at += memchr::memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes.get(at) == Some(&b'"') {
            return Some(at);
        }
        at += 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objects(text: &str) -> Result<Vec<String>, (usize, String)> {
        let bytes = text.as_bytes();
        let (framing, mut at) = Framing::of(bytes, true).unwrap();
        let mut objects = Vec::new();
        while at < bytes.len() {
            let framed =
                framing.record(bytes, at, Behind::Nothing).map_err(|f| (f.at, f.error.message().to_string()))?.unwrap();
            let object = framed.object.map(|text| String::from_utf8_lossy(&text[framed.start..]).into_owned());
            objects.extend(object);
            assert!(framed.next > at);
            at = framed.next;
        }
        Ok(objects)
    }

    #[test]
    fn objects_of_an_array_are_found() {
        assert_eq!(objects("[{\"a\":1},{\"b\":[1,{}]}]").unwrap(), ["{\"a\":1}", "{\"b\":[1,{}]}"]);
        assert_eq!(
            objects(" [\n  {\n \"a\": \"]},\\\"\"\n }\n , {}\n]\n\n").unwrap(),
            ["{\n \"a\": \"]},\\\"\"\n }", "{}"]
        );
        assert!(objects("[]").unwrap().is_empty() && objects("[\n]\n").unwrap().is_empty());
        assert_eq!(objects("[1,2]").unwrap(), ["1", "2"]);
    }

    #[test]
    fn what_is_wrong_with_an_array_has_a_place() {
        for (text, at) in [
            ("[{\"a\":1},]", 9),
            ("[{\"a\":1}", 8),
            ("[{\"a\":1},", 9),
            ("[{\"a\":1", 1),
            ("[{\"a\":1} {\"a\":2}]", 9),
            ("[{\"a\":1}] x", 10),
            ("[{\"a", 1),
        ] {
            assert_eq!(objects(text).unwrap_err().0, at, "{text}");
        }
    }

    #[test]
    fn incomplete_records_wait_for_more() {
        let text = b"[ {\"a\": \"x\"} , {\"a\": 2} ] ";
        for length in 0..text.len() {
            let cut = &text[..length];
            if let Some((framing, at)) = Framing::of(cut, false) {
                let framed = framing.record(cut, at, Behind::More);
                let complete = framed.is_ok_and(|f| f.is_some());
                assert_eq!(complete, length > 15, "{length}");
            }
        }
    }
}
