//! Patterns of file names, such as `part-*.csv` and `data/**/x.parquet`.
//!
//! ```text
//! *      any characters of a name        [abc]  one of these; [!abc] none of them; [a-z] a range
//! ?      one character                   **     any number of folders
//! ```

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

/// A pattern, cut at the first part of the path that has a wildcard.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Pattern {
    /// The folder in which it is looked for; empty is the one that the process works in.
    pub folder: PathBuf,
    /// The parts of the path below it.
    pub parts: Vec<Vec<u8>>,
}

impl Pattern {
    /// The pattern that a path is, if it has wildcards. What is there under such a name is meant by it.
    pub fn of(path: &Path) -> Option<Self> {
        let mut folder = PathBuf::new();
        let mut parts: Vec<Vec<u8>> = Vec::new();
        for component in path.components() {
            let name = component.as_os_str();
            let is_wild = matches!(component, Component::Normal(_)) && is_wild(name.as_encoded_bytes());
            if parts.is_empty() && (!is_wild || folder.join(name).symlink_metadata().is_ok()) {
                folder.push(name);
            } else {
                parts.push(name.as_encoded_bytes().to_vec());
            }
        }
        (!parts.is_empty()).then_some(Pattern { folder, parts })
    }
}

/// Whether a part of a path has wildcards.
pub(crate) fn is_wild(part: &[u8]) -> bool {
    part.iter().any(|b| matches!(b, b'*' | b'?' | b'['))
}

/// Whether a name is left out of tables unless it is asked for: hidden files, and notes such as `_SUCCESS`.
pub(crate) fn is_hidden(name: &[u8]) -> bool {
    matches!(name.first(), Some(b'.' | b'_'))
}

/// Whether a name fits a part of a pattern. What begins with a dot or an underscore must be asked for by that.
pub(crate) fn fits(part: &[u8], name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    (!is_hidden(name) || part.first() == name.first()) && matches(part, name)
}

/// Whether the text fits the pattern. Each `*` is tried once more only where the last one fails, so it takes no longer than
/// the product of both lengths.
pub(crate) fn matches(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p, t));
                p += 1;
                continue;
            }
            Some(_) => {
                if let Some((pattern_length, text_length)) = one(pattern.get(p..), text.get(t..)) {
                    p += pattern_length;
                    t += text_length;
                    continue;
                }
            }
            None => {}
        }
        let Some((star_at, from)) = star else { return false };
        star = Some((star_at, from + 1));
        (p, t) = (star_at + 1, from + 1);
    }
    pattern.get(p..).unwrap_or_default().iter().all(|b| *b == b'*')
}

/// Whether the first sign of a pattern fits the first character of a text, and the lengths of both.
fn one(pattern: Option<&[u8]>, text: Option<&[u8]>) -> Option<(usize, usize)> {
    let (pattern, text) = (pattern?, text?);
    let length = character(text);
    match pattern {
        [b'?', ..] => Some((1, length)),
        [b'[', rest @ ..] => match class(rest) {
            Some((negated, members, used)) => {
                (in_class(members, text.get(..length)?) != negated).then_some((1 + used, length))
            }
            // A bracket that is never closed stands for itself.
            None => (text.first() == Some(&b'[')).then_some((1, 1)),
        },
        [byte, ..] => (text.first() == Some(byte)).then_some((1, 1)),
        [] => None,
    }
}

/// Bytes of the first character; a byte that is not UTF-8 is one.
fn character(text: &[u8]) -> usize {
    let continued = text.iter().skip(1).take(3).take_while(|b| **b & 0xC0 == 0x80).count();
    if text.first().is_some_and(|b| *b >= 0xC0) { 1 + continued } else { 1 }
}

/// What is in brackets: whether it is negated, its members, and its length with the closing bracket.
fn class(rest: &[u8]) -> Option<(bool, &[u8], usize)> {
    let negated = matches!(rest.first(), Some(b'!' | b'^'));
    let start = usize::from(negated);
    // A closing bracket that comes first is a member.
    let end = rest.iter().skip(start + 1).position(|b| *b == b']')? + start + 1;
    Some((negated, rest.get(start..end)?, end + 1))
}

fn in_class(members: &[u8], character: &[u8]) -> bool {
    let mut rest = members;
    while !rest.is_empty() {
        let (first, after) = rest.split_at(self::character(rest));
        rest = after;
        let last = match rest {
            [b'-', end @ ..] if !end.is_empty() => {
                let (last, after) = end.split_at(self::character(end));
                rest = after;
                last
            }
            _ => first,
        };
        // UTF-8 sorts like the characters that it stands for.
        if first <= character && character <= last {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_patterns() {
        let fit = |pattern: &str, name: &str| fits(pattern.as_bytes(), OsStr::new(name));
        for (pattern, name) in [
            ("*", "a"),
            ("part-*.csv", "part-1.csv"),
            ("part-*.csv", "part-.csv"),
            ("?.csv", "ö.csv"),
            ("[a-c]x", "bx"),
            ("[!a-c]x", "dx"),
            ("[]]x", "]x"),
            ("[ä-ü]", "ö"),
            ("[", "["),
            ("[x", "[x"),
            ("*a*b*", "xaxbx"),
            ("_*", "_x"),
            ("a?c", "a\nc"),
        ] {
            assert!(fit(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in
            [("*", ".a"), ("*", "_SUCCESS"), ("?.csv", "ab.csv"), ("[a-c]x", "dx"), ("*.csv", "a.csv.gz"), ("a", "b")]
        {
            assert!(!fit(pattern, name), "{pattern} {name}");
        }
        let slow = "*a".repeat(40);
        assert!(!fit(&slow, &"a".repeat(30)));
    }

    #[test]
    fn patterns_begin_at_the_first_wildcard() {
        let of = |path: &str| Pattern::of(Path::new(path)).map(|p| (p.folder, p.parts));
        assert_eq!(of("a/b.csv"), None);
        assert_eq!(of("/a/x*/y"), Some(("/a".into(), vec![b"x*".to_vec(), b"y".to_vec()])));
        assert_eq!(of("**/*.csv"), Some((PathBuf::new(), vec![b"**".to_vec(), b"*.csv".to_vec()])));
    }
}
