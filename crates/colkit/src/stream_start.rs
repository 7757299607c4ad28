//! The start of a stream of text: as many lines as it takes, and not the rest.

use crate::Compression;
use crate::whole_lines::Seen;
use std::fs::File;
use std::io::{ErrorKind, Read, Seek, Write};

/// Bytes that show whether it is text.
const HEAD: usize = 4096;

/// What was read of a stream, in a temporary file.
pub(crate) struct Start {
    pub file: File,
    /// The number of lines, unless it is all of the stream.
    pub lines: Option<u64>,
}

/// Reads so many lines with anything on them, and some more. What is no text in lines is read to its end: other formats
/// have what says where things are at the end.
pub(crate) fn read(stream: &mut dyn Read, lines: u64) -> std::io::Result<Start> {
    let mut file = tempfile::tempfile()?;
    let mut buffer = vec![0; 64 << 10];
    let mut head = Vec::new();
    let mut seen = Seen::default();
    let mut ended = false;
    while !ended {
        let length = match stream.read(&mut buffer) {
            Ok(length) => length,
            Err(e) if e.kind() == ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        };
        let bytes = buffer.get(..length).unwrap_or_default();
        ended = bytes.is_empty();
        file.write_all(bytes)?;
        let room = HEAD.saturating_sub(head.len());
        head.extend(bytes.iter().take(room));
        seen.add(bytes);
        let Some((count, end)) = seen.enough(lines).filter(|_| !ended && is_text_in_lines(&head)) else { continue };
        file.set_len(end)?;
        file.rewind()?;
        return Ok(Start { file, lines: Some(count) });
    }
    file.rewind()?;
    Ok(Start { file, lines: None })
}

/// Whether a stream that begins like this is text whose lines stand for themselves. An array of JSON ends at its end.
fn is_text_in_lines(head: &[u8]) -> bool {
    let is_text = |b: &u8| *b >= b' ' || matches!(b, b'\t' | b'\n' | b'\r' | 0x0C | 0x1B);
    let mut marks = head.iter().filter(|b| !b.is_ascii_whitespace());
    let is_array = marks.next() == Some(&b'[') && marks.next() == Some(&b'{');
    let utf16 = head.starts_with(b"\xFF\xFE") || head.starts_with(b"\xFE\xFF");
    Compression::of(head).is_none() && !utf16 && !is_array && head.iter().all(is_text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(text: &str, lines: u64) -> (String, Option<u64>) {
        let Start { mut file, lines } = read(&mut text.as_bytes(), lines).unwrap();
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        (text, lines)
    }

    #[test]
    fn endless_text_ends_after_some_lines() {
        let (text, lines) = (String::new(), std::iter::repeat_n("a,b\n", 1 << 20).collect::<String>());
        assert_eq!(start(&text, 10), (text, None));
        let (text, count) = start(&lines, 10);
        assert!(count.unwrap() >= 1011 && text.lines().count() as u64 == count.unwrap());
        let array = format!("[{{\"a\":1}}\n{lines}");
        assert_eq!(start(&array, 10).1, None);
    }

    #[test]
    fn records_are_not_cut_inside_quotes() {
        let record = format!("1,\"{}\"\n", "x\n".repeat(900));
        let (text, _) = start(&record.repeat(200_000 / record.len() * 20), 1);
        assert!(text.ends_with("\"\n") && text.matches('"').count() % 2 == 0);
    }

    #[test]
    fn blank_lines_are_no_rows() {
        let text = "\n".repeat(5000) + &"a,b\n".repeat(20);
        assert_eq!(start(&text, 10), (text, None));
    }
}
