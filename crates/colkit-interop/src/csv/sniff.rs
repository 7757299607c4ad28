//! Whether a file looks like text. There is no magic: CSV is what text is taken for when nothing else knows it.

use crate::text::BYTE_ORDER_MARK;

/// Bytes a magic may have. With no more than these in hand other formats are asked first.
const MAGIC_BYTES: usize = 16;

/// Text: no NUL, UTF-8 up to a character cut at the end; or a byte order mark, of UTF-16 too; or nothing but what eight-bit
/// encodings have for characters. An empty file is nothing in particular: its name has to say.
pub(super) fn looks_like_text(head: &[u8], tail: &[u8]) -> bool {
    if head.is_empty() || (tail.is_empty() && head.len() <= MAGIC_BYTES) {
        return false;
    }
    let marked = [BYTE_ORDER_MARK, b"\xFF\xFE", b"\xFE\xFF"].iter().any(|mark| head.starts_with(mark));
    let whole_characters = match std::str::from_utf8(head) {
        Ok(_) => true,
        Err(e) => e.error_len().is_none(),
    };
    marked || (whole_characters && memchr::memchr(0, head).is_none()) || is_eight_bit_text(head)
}

/// Whether all bytes are characters or line ends in windows-1252, and most of them ASCII.
fn is_eight_bit_text(head: &[u8]) -> bool {
    let is_character = |b: &u8| match b {
        b'\t' | b'\n' | b'\r' => true,
        0x81 | 0x8D | 0x8F | 0x90 | 0x9D | 0x7F => false,
        other => *other >= b' ',
    };
    head.iter().all(is_character) && head.iter().filter(|b| b.is_ascii()).count() > head.len() / 2
}

#[cfg(test)]
mod tests {
    use super::looks_like_text;

    #[test]
    fn text_is_told_from_other_things() {
        assert!(looks_like_text(b"a,b\n1,2\n", b"a,b\n1,2\n"));
        assert!(!looks_like_text(b"a,b\n1,2\n", b""), "other formats are asked first");
        assert!(!looks_like_text(b"", b""));
        assert!(looks_like_text("a,ö".as_bytes().split_last().unwrap().1, b"x"), "a cut character");
        assert!(looks_like_text(b"a,\xE9,b", b"x"), "Latin-1");
        assert!(!looks_like_text(b"a,\xE9,\x01b", b"x"));
        assert!(!looks_like_text(b"a\xE9\xE8\xEA", b"x"));
        assert!(!looks_like_text(b"GPP1\0\0\0\0", b"x"));
        assert!(looks_like_text(b"\xFF\xFEa\0,\0b\0", b"x"));
        assert!(looks_like_text(b"\xEF\xBB\xBFa", b"a"));
    }
}
