//! Text in other encodings than UTF-8.
//!
//! It is rewritten as UTF-8 to a temporary file, from which everything else reads. UTF-16 is known by its byte order mark.
//! What is not UTF-8 is taken for windows-1252, which holds Latin-1, if all of the file can be that and little in it looks
//! like UTF-8 with damage.

use colkit_core::{ByteRange, Error, FileSource, Limits, Result, Source};
use encoding_rs::{DecoderResult, Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};
use std::io::Write;

/// The encoding of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextEncoding(&'static Encoding);

impl TextEncoding {
    /// UTF-8, which needs no rewriting.
    pub const UTF_8: TextEncoding = TextEncoding(UTF_8);

    /// The encoding of this name, such as `windows-1252`, `latin1` or `utf-16`.
    pub fn named(name: &str) -> Result<Self> {
        let label = match name.to_ascii_lowercase().as_str() {
            "cp1252" => "windows-1252".to_string(),
            other => other.to_string(),
        };
        Encoding::for_label(label.as_bytes()).filter(|e| e.name() != "replacement").map(TextEncoding).ok_or_else(|| {
            Error::request("no_such_encoding", format!("there is no encoding {name:?}"))
                .hint("encodings are utf-8, utf-16, windows-1252, iso-8859-2, shift_jis and others of the web")
        })
    }

    /// What it is called.
    pub fn name(self) -> &'static str {
        self.0.name()
    }

    /// The encoding of a text that is not UTF-8, if it can be told.
    pub(crate) fn found(source: &dyn Source) -> Result<Option<Self>> {
        let mark = source.read(ByteRange::between(0, source.size().min(2)))?;
        Ok(match mark.as_ref() {
            [0xFF, 0xFE] => Some(TextEncoding(UTF_16LE)),
            [0xFE, 0xFF] => Some(TextEncoding(UTF_16BE)),
            _ => is_windows_1252(source)?.then_some(TextEncoding(WINDOWS_1252)),
        })
    }
}

/// Bytes looked at and rewritten at a time.
const CHUNK: u64 = 256 << 10;

/// Calls `each` with all of the file, piece by piece, and whether that is the last one.
fn read_all(source: &dyn Source, mut each: impl FnMut(&[u8], bool) -> Result<()>) -> Result<()> {
    let mut at = 0;
    while at < source.size() {
        let piece = ByteRange::between(at, at.saturating_add(CHUNK).min(source.size()));
        at = piece.end();
        each(&source.read(piece)?, at == source.size())?;
    }
    Ok(())
}

/// Whether a text that is not UTF-8 can be windows-1252.
fn is_windows_1252(source: &dyn Source) -> Result<bool> {
    let (mut characters, mut others, mut impossible) = (0u64, 0u64, false);
    read_all(source, |bytes, _| {
        impossible |= bytes.iter().any(|b| matches!(b, 0 | 0x81 | 0x8D | 0x8F | 0x90 | 0x9D));
        for chunk in bytes.utf8_chunks() {
            characters += chunk.valid().chars().filter(|c| !c.is_ascii()).count() as u64;
            others += u64::from(!chunk.invalid().is_empty());
        }
        Ok(())
    })?;
    // A piece may end within a character.
    let is_damaged_utf8 = characters > others;
    Ok(others > 0 && !impossible && !is_damaged_utf8)
}

/// The text of `source` as UTF-8, in a temporary file.
pub(crate) fn rewritten(source: &dyn Source, encoding: TextEncoding, limits: &Limits) -> Result<FileSource> {
    let mut decoder = encoding.0.new_decoder();
    let mut file = tempfile::tempfile()?;
    let most = limits.output_of(source.size());
    let (mut taken, mut total) = (0u64, 0u64);
    let mut out = vec![0; 2 * usize::try_from(CHUNK).unwrap_or(usize::MAX)];
    read_all(source, |bytes, last| {
        let mut rest = bytes;
        loop {
            let (result, read, written) = decoder.decode_to_utf8_without_replacement(rest, &mut out, last);
            file.write_all(out.get(..written).unwrap_or_default())?;
            rest = rest.get(read..).unwrap_or_default();
            (taken, total) = (taken + read as u64, total + written as u64);
            Limits::check_output(total, most)?;
            match result {
                DecoderResult::InputEmpty => return Ok(()),
                DecoderResult::OutputFull => {}
                DecoderResult::Malformed(..) => {
                    let message = format!("this is not text in the encoding {}", encoding.name());
                    return Err(Error::corrupt("bad_text_encoding", message).at(taken));
                }
            }
        }
    })?;
    FileSource::from_file(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    fn utf8(text: &'static [u8], encoding: TextEncoding) -> Result<String> {
        let file = rewritten(&Bytes::from_static(text), encoding, &Limits::default())?;
        Ok(String::from_utf8(file.read(ByteRange::between(0, file.size()))?.to_vec()).unwrap())
    }

    #[test]
    fn texts_become_utf8() {
        let cp1252 = TextEncoding::named("cp1252").unwrap();
        assert_eq!(utf8(b"Stra\xDFe \x80", cp1252).unwrap(), "Straße €");
        assert_eq!(TextEncoding::named("Latin1").unwrap(), cp1252);
        assert_eq!(utf8(b"\xFF\xFEa\0\xE4\0", TextEncoding(UTF_16LE)).unwrap(), "aä");
        assert_eq!(utf8(b"a\0\x00\xD8b\0", TextEncoding(UTF_16LE)).unwrap_err().code(), "bad_text_encoding");
        assert_eq!(TextEncoding::named("klingon").unwrap_err().code(), "no_such_encoding");
    }

    #[test]
    fn damaged_utf8_is_not_another_encoding() {
        let found =
            |text: &'static [u8]| TextEncoding::found(&Bytes::from_static(text)).unwrap().map(TextEncoding::name);
        assert_eq!(found(b"a,Stra\xDFe\nb,\xC4rger\n"), Some("windows-1252"));
        assert_eq!(found("a,Straße\nb,Ärger\n".as_bytes()), None);
        assert_eq!(found(b"Stra\xC3\x9Fe, \xC3\x84rger, \xFF"), None);
        assert_eq!(found(b"\xDF\0"), None);
        assert_eq!(found(b"\xDF\x81"), None);
        assert_eq!(found(b"\xFF\xFEa\0"), Some("UTF-16LE"));
    }
}
