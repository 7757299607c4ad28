//! The start of a text: where the last record ends that is whole.

/// Lines beyond those asked for, which say what the columns are like.
#[cfg(feature = "fs")]
const LOOK_AHEAD: u64 = 1000;

/// After so many bytes the lines asked for are enough.
#[cfg(feature = "fs")]
const MUCH: u64 = 8 << 20;

/// Bytes from the start of a longer text, up to the end of the last line that is whole and outside of quotes.
pub(crate) fn whole_lines(bytes: &[u8]) -> &[u8] {
    let mut seen = Seen::default();
    seen.add(bytes);
    let end = if seen.end > 0 { seen.end } else { seen.line_end };
    usize::try_from(end).ok().filter(|end| *end > 0).and_then(|end| bytes.get(..end)).unwrap_or(bytes)
}

/// What was seen of a text.
#[derive(Default)]
pub(crate) struct Seen {
    bytes: u64,
    /// Whether a quote is open, and whether there is anything on this line.
    quoted: bool,
    content: bool,
    /// Lines that end outside of quotes, and where the last one of them ends.
    #[cfg_attr(not(feature = "fs"), allow(dead_code, reason = "streams are read in parts from files only"))]
    records: u64,
    end: u64,
    /// All lines, and where the last one ends.
    #[cfg_attr(not(feature = "fs"), allow(dead_code, reason = "streams are read in parts from files only"))]
    lines: u64,
    line_end: u64,
}

impl Seen {
    pub fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.bytes += 1;
            match byte {
                b'"' => (self.quoted, self.content) = (!self.quoted, true),
                b'\n' => {
                    (self.lines, self.line_end) = (self.lines + 1, self.bytes);
                    if !self.quoted {
                        self.records += u64::from(std::mem::take(&mut self.content));
                        self.end = self.bytes;
                    }
                }
                b'\r' => {}
                _ => self.content = true,
            }
        }
    }

    /// How many lines there are and where they end, if they are enough. The first may have names.
    #[cfg(feature = "fs")]
    pub fn enough(&self, wanted: u64) -> Option<(u64, u64)> {
        let least = wanted.saturating_add(1);
        if self.records >= least.saturating_add(LOOK_AHEAD) || (self.bytes >= MUCH && self.records >= least) {
            return Some((self.records, self.end));
        }
        // A quote that is never closed is none.
        (self.bytes >= MUCH && self.lines >= least).then_some((self.lines, self.line_end))
    }
}
