//! Escapes characters that could control the terminal, so that file names and contents cannot.

use std::borrow::Cow;
use std::fmt::Write;

/// Marks the start of our own escape sequences until they are written. It is a Unicode noncharacter, reserved for internal
/// use, so text does not contain it.
pub const STYLE: char = '\u{fdd0}';

/// The styles that are used, as the terminal calls them.
const STYLES: [&str; 6] = ["0m", "1m", "2m", "31;1m", "32m", "33m"];

/// Whether a character can control the terminal: control characters and bidirectional formatting characters.
fn changes_the_terminal(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}')
}

/// `text` on one line.
pub fn one_line(text: &str) -> Cow<'_, str> {
    if !text.chars().any(changes_the_terminal) {
        return text.into();
    }
    let escape = |c: char| if changes_the_terminal(c) { c.escape_default().to_string() } else { c.to_string() };
    text.chars().map(escape).collect::<String>().into()
}

/// Escapes everything that could control the terminal, except line ends, tabs and our own styles. The escapes are those of
/// JSON, so that JSON documents keep their meaning.
pub fn escape(bytes: &[u8]) -> Cow<'_, [u8]> {
    if bytes.iter().all(|b| matches!(b, b' '..=b'~' | b'\n' | b'\t')) {
        return bytes.into();
    }
    let mut written = Vec::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        let text = chunk.valid();
        let mut plain = String::with_capacity(text.len());
        for (at, c) in text.char_indices() {
            let rest = text.get(at + c.len_utf8()..).unwrap_or_default();
            match c {
                STYLE if STYLES.iter().any(|s| rest.starts_with(s)) => plain.push_str("\x1b["),
                c if changes_the_terminal(c) && !matches!(c, '\n' | '\t') => {
                    let _ = write!(plain, "\\u{:04x}", u32::from(c));
                }
                c => plain.push(c),
            }
        }
        written.extend_from_slice(plain.as_bytes());
        // Half of a character: the other half is written next.
        written.extend_from_slice(chunk.invalid());
    }
    written.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_escapes_to_the_terminal() {
        assert_eq!(one_line("a\x1b[31m\nb\u{202e}"), "a\\u{1b}[31m\\nb\\u{202e}");
        assert_eq!(one_line("é😀"), "é😀");
        let text = |t: &str| String::from_utf8(escape(t.as_bytes()).into_owned()).unwrap();
        assert_eq!(text("a\x1b]0;x\x07\r\u{9b}2J\x7f\nb\té"), "a\\u001b]0;x\\u0007\\u000d\\u009b2J\\u007f\nb\té");
        assert_eq!(text(&format!("{STYLE}31;1mred{STYLE}0m{STYLE}x")), format!("\x1b[31;1mred\x1b[0m{STYLE}x"));
    }
}
