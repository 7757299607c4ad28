//! JSON text taken apart without changing a byte of it: where its scalars, keys and containers lie.
//!
//! Strictly JSON: what is accepted here any parser accepts. Nothing is recursive, so nesting cannot exhaust the stack.

use super::groups::is_json_number;
use memchr::memchr2;
use std::collections::HashMap;

/// Where something lies in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// After the last byte.
    pub end: u32,
}

impl Span {
    /// Its bytes.
    pub fn of(self, text: &[u8]) -> &[u8] {
        text.get(self.start as usize..self.end as usize).unwrap_or_default()
    }
}

/// A piece of a JSON text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token {
    /// A container begins, with so many members.
    Open { object: bool, members: u32 },
    /// A container ends.
    Close,
    /// A key, with its quotes.
    Key(Span),
    /// A scalar as it is written.
    Scalar(Span),
}

/// Deepest nesting that is taken apart.
const DEEPEST: usize = 1000;

/// Takes texts apart; holds the tokens of the last one.
#[derive(Default)]
pub struct Tokens {
    tokens: Vec<Token>,
    /// Positions of the `Open` tokens that are not closed yet.
    open: Vec<usize>,
    /// Whether there is white space between tokens.
    pub spaced: bool,
}

impl Tokens {
    /// Takes a text apart; `None` if it is not exactly one JSON value.
    pub fn read(&mut self, text: &[u8]) -> Option<&[Token]> {
        self.tokens.clear();
        self.open.clear();
        self.spaced = false;
        u32::try_from(text.len()).ok()?;
        let mut at = self.skip_space(text, 0);
        loop {
            at = self.value(text, at)?;
            // After a value: close what ends here, go on behind a comma.
            loop {
                at = self.skip_space(text, at);
                let Some(top) = self.open.last().and_then(|i| self.tokens.get_mut(*i)) else {
                    return (at == text.len()).then_some(&self.tokens[..]);
                };
                let Token::Open { object, members } = top else { return None };
                match text.get(at)? {
                    b',' => {
                        *members += 1;
                        let object = *object;
                        at = self.skip_space(text, at + 1);
                        if object {
                            at = self.key(text, at)?;
                        }
                        break;
                    }
                    b'}' if *object => {}
                    b']' if !*object => {}
                    _ => return None,
                }
                self.open.pop();
                self.tokens.push(Token::Close);
                at += 1;
            }
        }
    }

    /// The tokens of the text that was read last.
    pub fn tokens(&self) -> &[Token] {
        &self.tokens
    }

    fn skip_space(&mut self, text: &[u8], at: usize) -> usize {
        let rest = text.get(at..).unwrap_or_default();
        let space = rest.iter().take_while(|b| matches!(b, b' ' | b'\t' | b'\r' | b'\n')).count();
        self.spaced |= space > 0;
        at + space
    }

    fn span(start: usize, end: usize) -> Option<Span> {
        Some(Span { start: u32::try_from(start).ok()?, end: u32::try_from(end).ok()? })
    }

    /// Reads a key and its colon.
    fn key(&mut self, text: &[u8], at: usize) -> Option<usize> {
        let end = at + string_length(text.get(at..)?)?;
        self.tokens.push(Token::Key(Self::span(at, end)?));
        let colon = self.skip_space(text, end);
        if text.get(colon) != Some(&b':') {
            return None;
        }
        Some(self.skip_space(text, colon + 1))
    }

    /// Reads a scalar, or the beginnings of containers up to their first scalar or end.
    fn value(&mut self, text: &[u8], mut at: usize) -> Option<usize> {
        loop {
            let first = *text.get(at)?;
            let (object, close) = match first {
                b'{' => (true, b'}'),
                b'[' => (false, b']'),
                _ => {
                    let rest = text.get(at..)?;
                    let length = match first {
                        b'"' => string_length(rest)?,
                        b't' => literal(rest, b"true")?,
                        b'f' => literal(rest, b"false")?,
                        b'n' => literal(rest, b"null")?,
                        _ => number_length(rest)?,
                    };
                    self.tokens.push(Token::Scalar(Self::span(at, at + length)?));
                    return Some(at + length);
                }
            };
            if self.open.len() >= DEEPEST {
                return None;
            }
            at = self.skip_space(text, at + 1);
            if text.get(at) == Some(&close) {
                self.tokens.push(Token::Open { object, members: 0 });
                self.tokens.push(Token::Close);
                return Some(at + 1);
            }
            self.open.push(self.tokens.len());
            self.tokens.push(Token::Open { object, members: 1 });
            if object {
                at = self.key(text, at)?;
            }
        }
    }
}

fn literal(text: &[u8], word: &[u8]) -> Option<usize> {
    text.starts_with(word).then_some(word.len())
}

fn number_length(text: &[u8]) -> Option<usize> {
    let length = text.iter().take_while(|b| matches!(b, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E')).count();
    text.get(..length).filter(|t| is_json_number(t)).map(|_| length)
}

/// The length of the string that `text` begins with, quotes included.
fn string_length(text: &[u8]) -> Option<usize> {
    if text.first() != Some(&b'"') {
        return None;
    }
    let mut at = 1;
    loop {
        let rest = text.get(at..)?;
        let found = memchr2(b'"', b'\\', rest)?;
        if rest.get(..found)?.iter().any(|b| *b < 0x20) {
            return None;
        }
        at += found;
        if text.get(at) == Some(&b'"') {
            return Some(at + 1);
        }
        at += match text.get(at + 1)? {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => 2,
            b'u' if text.get(at + 2..at + 6)?.iter().all(u8::is_ascii_hexdigit) => 6,
            _ => return None,
        };
    }
}

/// Numbers the places at which scalars stand: equal paths of keys, equal numbers, by first appearance.
pub struct Places {
    nodes: Vec<Node>,
    columns: usize,
}

#[derive(Default)]
struct Node {
    members: HashMap<Vec<u8>, usize>,
    item: Option<usize>,
    column: Option<usize>,
}

impl Default for Places {
    fn default() -> Self {
        Places { nodes: vec![Node::default()], columns: 0 }
    }
}

impl Places {
    /// Number of places so far.
    pub fn len(&self) -> usize {
        self.columns
    }

    fn child(&mut self, node: usize, key: Option<&[u8]>) -> usize {
        let next = self.nodes.len();
        let Some(parent) = self.nodes.get_mut(node) else { return 0 };
        let known = match key {
            Some(key) => parent.members.get(key).copied(),
            None => parent.item,
        };
        if let Some(known) = known {
            return known;
        }
        match key {
            Some(key) => {
                parent.members.insert(key.to_vec(), next);
            }
            None => parent.item = Some(next),
        }
        self.nodes.push(Node::default());
        next
    }

    fn column(&mut self, node: usize) -> usize {
        let next = self.columns;
        let Some(node) = self.nodes.get_mut(node) else { return 0 };
        let column = *node.column.get_or_insert(next);
        self.columns = self.columns.max(column + 1);
        column
    }

    /// Tells each token together with its place, if it is a scalar.
    pub fn visit(&mut self, text: &[u8], tokens: &[Token], mut visit: impl FnMut(Token, Option<usize>)) {
        // The node of each open container; and the node of the next value if a key was read.
        let mut open: Vec<(usize, bool)> = Vec::new();
        let mut next = 0;
        for token in tokens {
            let place = match *token {
                Token::Key(span) => {
                    let parent = open.last().map_or(0, |(node, _)| *node);
                    next = self.child(parent, Some(span.of(text)));
                    None
                }
                Token::Close => {
                    open.pop();
                    None
                }
                Token::Open { .. } | Token::Scalar(_) => {
                    if let Some((parent, false)) = open.last() {
                        next = self.child(*parent, None);
                    }
                    match *token {
                        Token::Open { object, .. } => {
                            open.push((next, object));
                            None
                        }
                        _ => Some(self.column(next)),
                    }
                }
            };
            visit(*token, place);
        }
    }
}

/// The name of each scalar of a text: its keys joined by points, `[]` for arrays.
pub fn path_names(text: &[u8], tokens: &[Token]) -> Vec<Vec<u8>> {
    let mut names = Vec::new();
    let mut open: Vec<(Vec<u8>, bool)> = Vec::new();
    let mut name: Vec<u8> = Vec::new();
    for token in tokens {
        match *token {
            Token::Key(span) => {
                name = open.last().map(|(n, _)| n.clone()).unwrap_or_default();
                if !name.is_empty() {
                    name.push(b'.');
                }
                let key: Option<String> = serde_json::from_slice(span.of(text)).ok();
                name.extend(key.map_or_else(|| span.of(text).to_vec(), String::into_bytes));
            }
            Token::Close => {
                open.pop();
            }
            Token::Open { .. } | Token::Scalar(_) => {
                if let Some((parent, false)) = open.last() {
                    name = [&parent[..], b"[]"].concat();
                }
                match *token {
                    Token::Open { object, .. } => open.push((name.clone(), object)),
                    _ => names.push(name.clone()),
                }
            }
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_and_nothing_else() {
        let mut tokens = Tokens::default();
        for good in [
            "0",
            "\"\"",
            " [ ] ",
            "{}",
            "[1,2,[3,{}]]",
            "{\"a\":{\"b\":[null,true,false]},\"c\":\"\\u00e9\\n\"}",
            "-1.5e3",
            "[[[]]]",
            "{\"a\":[],\"b\":{}}",
        ] {
            assert!(tokens.read(good.as_bytes()).is_some(), "{good}");
            assert!(serde_json::from_str::<serde_json::Value>(good).is_ok());
        }
        for bad in [
            "",
            " ",
            "[",
            "]",
            "[1,]",
            "{\"a\"}",
            "{\"a\":}",
            "{a:1}",
            "01",
            "[1 2]",
            "\"\u{1}\"",
            "\"\\x\"",
            "tru",
            "1 1",
            "{\"a\":1,}",
            "[1}",
            "{\"a\":1]",
            "\"",
            "nul",
            "{,}",
            "\"\\u00g0\"",
        ] {
            assert!(tokens.read(bad.as_bytes()).is_none(), "{bad}");
        }
        assert!(tokens.read(&[vec![b'['; 5000], vec![b']'; 5000]].concat()).is_none(), "too deep");
    }

    #[test]
    fn scalars_have_names_and_places() {
        let text = br#"{"a":1,"b":{"c":[2,3],"d":"x"},"e":[{"f":4},{"f":5}]}"#;
        let mut tokens = Tokens::default();
        let tokens = tokens.read(text).unwrap();
        let names: Vec<String> = path_names(text, tokens).into_iter().map(|n| String::from_utf8(n).unwrap()).collect();
        assert_eq!(names, ["a", "b.c[]", "b.c[]", "b.d", "e[].f", "e[].f"]);
        let mut places = Vec::new();
        Places::default().visit(text, tokens, |_, place| places.extend(place));
        assert_eq!(places, [0, 1, 1, 2, 3, 3]);
    }
}
