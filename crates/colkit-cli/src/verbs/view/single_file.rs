//! `--html`: the page, its module and a file as one document.
//!
//! The document is in windows-1252, in which every byte is a character. Its scripts of the type `application/octet-stream` hold bytes
//! like this: a number is added to each (`data-shift`, modulo 256); then the four that HTML would change or that could end the script
//! are written as `=` and the byte plus 64:
//!
//! ```text
//! NUL  CR   <    =
//! =@   =M   =|   =}
//! ```
//!
//! The number is the one for which these occur least. On average over all numbers they are 4 of 256 bytes, so the text is at most 1.6 %
//! longer than the bytes, whatever they are.

use super::{MODULE, PAGE};
use crate::args::ViewArgs;
use crate::human::bytes;
use crate::request::{is_stream, one_file};
use crate::{Io, Outcome};
use colkit::{ByteRange, Compression, Error, Input, Result, Sink, Source, StreamSink, check_target, create};
use serde_json::json;
use std::io::Write;
use std::path::Path;

/// Bytes that cannot stand in a script as they are.
const SPECIAL: [u8; 4] = [0, b'\r', b'<', b'='];

/// Bytes that are read at a time.
const CHUNK: u64 = 1 << 20;

pub fn run(args: &ViewArgs, out: &Path, io: &mut Io) -> Result<Outcome> {
    let file = the_file(args, io)?;
    let to_stdout = is_stream(out);
    if !to_stdout {
        check_target(out, args.force.existing())?;
    }
    let limits = args.reading.limits.with_memory(args.reading.memory);
    let content = file.decompressed(&limits)?;
    // What is no table would be a page that shows an error.
    args.reading.open_options()?.format_of(&content)?;
    // The page decompresses gzip itself.
    let content = if content.compression() == Some(Compression::Gzip) { file.clone() } else { content };
    let size = content.size();
    if size > args.max_size {
        let hint = "--max-size allows more; or serve the file, without --html, or take some rows with colkit cat --out";
        return Err(Error::limit("the document", format!("a file of {}", bytes(size)), bytes(args.max_size))
            .file(file.name())
            .hint(hint));
    }
    let sink: Box<dyn Sink> = match to_stdout {
        true => Box::new(StreamSink(io.stdout.raw())),
        false => create(out, file.places(), args.force.existing())?,
    };
    let mut document = Document { sink: io.stop.sink(sink), written: 0 };
    let name = Path::new(file.name()).file_name().map_or_else(|| file.name().into(), |name| name.to_string_lossy());
    document.write(&name, content.bytes().as_ref()).map_err(|e| e.file(file.name()))?;
    let written = document.written;
    document.sink.commit()?;
    let name = if to_stdout { "standard output".into() } else { out.display().to_string() };
    let stream = if to_stdout { &mut io.stderr } else { &mut io.stdout };
    if args.script.json {
        let summary = json!({"output": name, "input_bytes": size, "output_bytes": written});
        writeln!(stream.loud(), "{summary}")?;
    } else {
        writeln!(io.stderr, "{name}: {}, of which {} are the file", bytes(written), bytes(size))?;
    }
    Ok(Outcome::Success)
}

/// The one file that is asked for.
fn the_file(args: &ViewArgs, io: &mut Io) -> Result<Input> {
    let [only] = args.files.as_slice() else {
        let found = args.files.len();
        return Err(Error::request("usage", format!("--html takes one file, found {found}"))
            .hint("colkit convert makes one file of several"));
    };
    let hint = "colkit convert makes one file of it";
    let file = one_file(only, io).map_err(|e| if e.code() == "is_a_folder" { e.hint(hint) } else { e })?;
    if file.objects().are_there() {
        let what = "expected a file, found a dataset, which is a folder of files";
        return Err(Error::request("is_a_folder", what).file(only.display().to_string()).hint(hint));
    }
    Ok(file)
}

/// The document as far as it is written.
struct Document {
    sink: Box<dyn Sink>,
    written: u64,
}

impl Document {
    fn write(&mut self, name: &str, content: &dyn Source) -> Result<()> {
        let lost = || Error::internal("the page has no place for its module and for data");
        let (start, rest) = PAGE.split_once("<!-- module -->").ok_or_else(lost)?;
        let (middle, end) = rest.split_once("<!-- data -->").ok_or_else(lost)?;
        self.add(start.as_bytes())?;
        self.add_script("module", "colkit.wasm.gz", &MODULE)?;
        self.add(middle.as_bytes())?;
        self.add_script("data", name, &content)?;
        self.add(end.as_bytes())
    }

    fn add(&mut self, text: &[u8]) -> Result<()> {
        self.written += text.len() as u64;
        self.sink.write(text)
    }

    /// A script that holds bytes, which are read twice.
    fn add_script(&mut self, id: &str, name: &str, content: &dyn Chunks) -> Result<()> {
        let mut counts = [0u64; 256];
        content.each(&mut |chunk| {
            for byte in chunk {
                if let Some(count) = counts.get_mut(usize::from(*byte)) {
                    *count += 1;
                }
            }
            Ok(())
        })?;
        let shift = best_shift(&counts);
        let name = attribute(name);
        let tag = format!(
            "<script type=\"application/octet-stream\" id=\"{id}\" data-name=\"{name}\" data-shift=\"{shift}\">"
        );
        self.add(tag.as_bytes())?;
        content.each(&mut |chunk| self.add(&encode(chunk, shift)))?;
        self.add(b"</script>")
    }
}

/// Bytes that come in pieces, as often as they are asked for.
trait Chunks {
    fn each(&self, take: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()>;
}

impl Chunks for &[u8] {
    fn each(&self, take: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        take(self)
    }
}

impl Chunks for &dyn Source {
    fn each(&self, take: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let size = self.size();
        let mut at = 0;
        while at < size {
            let end = size.min(at + CHUNK);
            take(&self.read(ByteRange::between(at, end))?)?;
            at = end;
        }
        Ok(())
    }
}

/// The number to add for which the fewest bytes have to be escaped.
fn best_shift(counts: &[u64; 256]) -> u8 {
    let escaped = |shift: u8| -> u64 {
        SPECIAL.iter().filter_map(|special| counts.get(usize::from(special.wrapping_sub(shift)))).sum()
    };
    (0..=u8::MAX).min_by_key(|shift| escaped(*shift)).unwrap_or(0)
}

fn encode(bytes: &[u8], shift: u8) -> Vec<u8> {
    let mut text = Vec::with_capacity(bytes.len() + bytes.len() / 32);
    for byte in bytes {
        let byte = byte.wrapping_add(shift);
        if SPECIAL.contains(&byte) {
            text.extend_from_slice(&[b'=', byte.wrapping_add(64)]);
        } else {
            text.push(byte);
        }
    }
    text
}

/// Text as the value of an attribute, in ASCII.
fn attribute(text: &str) -> String {
    let plain = |c: char| c == ' ' || (c.is_ascii_graphic() && !"\"&<>'".contains(c));
    text.chars().map(|c| if plain(c) { c.to_string() } else { format!("&#{};", u32::from(c)) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the page does.
    fn decode(text: &[u8], shift: u8) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut rest = text.iter();
        while let Some(byte) = rest.next() {
            let byte = if *byte == b'=' { rest.next().unwrap().wrapping_sub(64) } else { *byte };
            bytes.push(byte.wrapping_sub(shift));
        }
        bytes
    }

    #[test]
    fn every_byte_comes_back_and_none_disturbs_the_page() {
        let all: Vec<u8> = (0..=u8::MAX).chain((0..=u8::MAX).rev()).collect();
        for shift in 0..=u8::MAX {
            let text = encode(&all, shift);
            assert!(!text.iter().any(|b| matches!(b, 0 | b'\r' | b'<')), "{shift}");
            assert_eq!(decode(&text, shift), all, "{shift}");
            assert_eq!(text.len(), all.len() + 8);
        }
    }

    #[test]
    fn no_bytes_cost_more_than_a_sixtieth() {
        for bytes in [vec![0; 1000], b"a=<b>\r\n".repeat(100), (0..=255).collect(), b"\0\0\0=".repeat(50)] {
            let mut counts = [0; 256];
            bytes.iter().for_each(|b| counts[usize::from(*b)] += 1);
            let text = encode(&bytes, best_shift(&counts));
            assert!(text.len() * 64 <= bytes.len() * 65, "{} for {}", text.len(), bytes.len());
        }
    }

    #[test]
    fn names_stay_names() {
        assert_eq!(attribute("a \"b\" <c>&é.csv"), "a &#34;b&#34; &#60;c&#62;&#38;&#233;.csv");
    }

    #[test]
    fn the_page_can_hold_bytes() {
        assert!(PAGE.is_ascii());
        assert!(PAGE.find("<!-- module -->").unwrap() < PAGE.find("<!-- data -->").unwrap());
        assert!(PAGE.to_ascii_lowercase().contains("charset=\"windows-1252\""), "each byte is a character");
    }
}
