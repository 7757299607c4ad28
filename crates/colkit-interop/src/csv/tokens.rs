//! From bytes to cells.
//!
//! ```text
//! record = cell *(delimiter cell) (LF / CRLF / end of file)
//! cell   = '"' *(any byte but '"' / '""') '"'     quoted: may hold delimiters and line ends (or another quote than ")
//!        / *(any byte but delimiter, CR, LF)      unquoted: a quote inside it is content
//! ```
//!
//! Text after a closing quote, a quote that never closes and a CR without LF are errors, not guesses. A buffer holds
//! whole records from its start on; what is unfinished at its end is left for a longer buffer. Nothing is copied: a
//! [`Cell`] is a pair of positions in the buffer.

use super::separators::Separators;
use crate::text::{Fault, Parsed};
use colkit_core::cells::CellText;
use colkit_core::{Error, Hint, Limits, Setting};
use memchr::memchr;

/// A cell without its quotes, as positions in the buffer it was found in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cell {
    start: u32,
    /// The end; the top bit says that the content has doubled quotes.
    end: u32,
}

const DOUBLED: u32 = 1 << 31;

/// Buffers are shorter than this, so that positions fit beside the flag.
const BUFFER_BYTES: usize = 1 << 31;

impl Cell {
    #[expect(clippy::cast_possible_truncation, reason = "buffers are shorter than 2^31 bytes: checked before cutting")]
    fn new(start: usize, end: usize, doubled: bool) -> Self {
        Cell { start: start as u32, end: end as u32 | if doubled { DOUBLED } else { 0 } }
    }

    /// Where the content starts.
    pub fn start(self) -> usize {
        self.start as usize
    }

    /// The content.
    #[inline]
    pub fn text(self, bytes: &[u8]) -> CellText<'_> {
        let raw = bytes.get(self.start as usize..(self.end & !DOUBLED) as usize).unwrap_or_default();
        // Before the content stands the quote that opened it.
        let quote = || self.start().checked_sub(1).and_then(|at| bytes.get(at)).copied();
        CellText { raw, doubled: if self.end & DOUBLED != 0 { quote() } else { None } }
    }
}

/// How records are told apart, and how long one may be.
#[derive(Clone, Debug)]
pub(super) struct Dialect {
    pub delimiter: u8,
    pub quote: Option<u8>,
    pub pad_short_rows: bool,
    /// What may be the delimiter, since there is only one column and this is in its name.
    pub perhaps: Option<char>,
    /// Bytes of one record at most.
    pub record_bytes: usize,
}

/// Bytes and cells cut at once, apart from the last record: little enough to stay in cache until they are used.
/// Padded rows have more cells than bytes, hence both.
const BLOCK_BYTES: usize = 128 << 10;
const BLOCK_CELLS: usize = 32 << 10;

/// How much to cut at most. One block may be less.
#[derive(Clone, Copy)]
pub(super) struct Portion {
    /// Fields every record must have.
    pub columns: usize,
    /// Stop after so many rows,
    pub rows: usize,
    /// or before a record that starts after so many bytes.
    pub bytes: usize,
    /// The buffer ends where the file does, so that the last record needs no line end.
    pub at_end: bool,
}

/// Rows of cells, each with as many as the table has columns.
#[derive(Default)]
pub(super) struct Block {
    cells: Vec<Cell>,
    columns: usize,
    pub rows: usize,
}

impl Block {
    /// How many cells stand in these quotes, and whether others begin with a double one.
    pub fn quoted_by(&self, quote: u8, bytes: &[u8]) -> (u64, bool) {
        let (mut quoted, mut others) = (0, false);
        for cell in &self.cells {
            let before = cell.start().checked_sub(1).and_then(|at| bytes.get(at));
            quoted += u64::from(before == Some(&quote));
            others |= before != Some(&quote) && bytes.get(cell.start()) == Some(&b'"');
        }
        (quoted, others)
    }

    /// The cells of one column.
    pub fn column(&self, column: usize) -> impl Iterator<Item = Cell> {
        self.cells.iter().skip(column).step_by(self.columns.max(1)).copied()
    }
}

/// A record that was cut.
struct Record {
    /// Number of its cells; only as many were kept as were asked for.
    cells: usize,
    /// Where the next one starts.
    next: usize,
    /// It has no characters at all.
    blank: bool,
}

impl Dialect {
    /// Cuts the next rows out of `bytes`, from position `at` on, into `block`. Returns where the first record not cut
    /// starts: `at` itself if not even one is complete.
    pub fn cut(&self, bytes: &[u8], at: usize, portion: Portion, block: &mut Block) -> Parsed<usize> {
        check_buffer(bytes)?;
        block.cells.clear();
        block.rows = 0;
        block.columns = portion.columns;
        let mut separators = Separators::new(bytes, self.delimiter, at);
        let mut next = at;
        let end = at.saturating_add(portion.bytes.min(BLOCK_BYTES)).min(bytes.len());
        while block.rows < portion.rows && next < end && block.cells.len() < BLOCK_CELLS {
            let kept = block.cells.len();
            let Some(record) =
                self.record(&mut separators, bytes, next, portion.columns, portion.at_end, &mut block.cells)?
            else {
                block.cells.truncate(kept);
                break;
            };
            if record.cells == portion.columns {
                block.rows += 1;
            } else if record.blank {
                block.cells.truncate(kept);
            } else if record.cells < portion.columns && self.pad_short_rows {
                let empty = Cell::new(record.next, record.next, false);
                block.cells.resize(kept + portion.columns, empty);
                block.rows += 1;
            } else {
                let message = format!("{} fields, expected {}", record.cells, portion.columns);
                let error =
                    Error::corrupt("csv_ragged", message).hint(self.ragged_hint(record.cells < portion.columns));
                return Err(Fault::new(next, error));
            }
            next = record.next;
        }
        Ok(next)
    }

    /// The cells of the first record, at most `columns`, and where the next one starts; `None` if it is incomplete.
    /// A blank line has no cells.
    pub fn first(&self, bytes: &[u8], at: usize, columns: usize, at_end: bool) -> Parsed<Option<(Vec<Cell>, usize)>> {
        check_buffer(bytes)?;
        let mut cells = Vec::new();
        let mut separators = Separators::new(bytes, self.delimiter, at);
        let Some(record) = self.record(&mut separators, bytes, at, columns, at_end, &mut cells)? else {
            return Ok(None);
        };
        if record.blank {
            cells.clear();
        }
        if record.cells > columns {
            return Err(Fault::new(at, Error::limit("the columns", record.cells, columns)));
        }
        Ok(Some((cells, record.next)))
    }

    /// Cuts one record that starts at `start`, which is where `separators` stands. `None` if it is incomplete.
    #[inline]
    fn record(
        &self,
        separators: &mut Separators<'_>,
        bytes: &[u8],
        start: usize,
        columns: usize,
        at_end: bool,
        cells: &mut Vec<Cell>,
    ) -> Parsed<Option<Record>> {
        let mut count = 0;
        let mut from = start;
        let mut keep = |count: &mut usize, cell: Cell| {
            // Beyond what is asked for cells are only counted: a line of commas must not fill the memory.
            if *count < columns {
                cells.push(cell);
            }
            *count += 1;
        };
        let next = loop {
            let stop = if let Some(quote) = self.quote
                && bytes.get(from) == Some(&quote)
            {
                let Some(quoted) = quoted(bytes, from, quote, at_end).map_err(|f| f.in_column(count))? else {
                    return self.incomplete(bytes, start);
                };
                keep(&mut count, Cell::new(from + 1, quoted.end, quoted.doubled));
                separators.skip_to(quoted.end + 1);
                let stop = separators.next();
                if stop != Some(quoted.end + 1) && quoted.end + 1 < bytes.len() {
                    let error = Error::corrupt("csv_quote", "text after a closing quote");
                    return Err(Fault::new(quoted.end + 1, error).in_column(count - 1));
                }
                stop
            } else {
                let stop = separators.next();
                if stop.is_some() || at_end {
                    keep(&mut count, Cell::new(from, stop.unwrap_or(bytes.len()), false));
                }
                stop
            };
            match stop {
                None if at_end => break bytes.len(),
                None => return self.incomplete(bytes, start),
                Some(stop) => match (bytes.get(stop), bytes.get(stop + 1)) {
                    (Some(b'\n'), _) => break stop + 1,
                    (Some(b'\r'), Some(b'\n')) => {
                        separators.next();
                        break stop + 2;
                    }
                    (Some(b'\r'), None) if !at_end => return self.incomplete(bytes, start),
                    (Some(b'\r'), _) => {
                        let message = "a carriage return without a line feed, outside of quotes";
                        return Err(Fault::new(stop, Error::corrupt("csv_bare_cr", message)).in_column(count - 1));
                    }
                    _ => from = stop + 1,
                },
            }
        };
        self.check_length(start, next)?;
        let blank = matches!(bytes.get(start), Some(b'\n' | b'\r'));
        Ok(Some(Record { cells: count, next, blank }))
    }

    /// What to do about a record with another number of fields than the first has.
    #[cold]
    fn ragged_hint(&self, too_short: bool) -> Hint {
        let other = match self.perhaps {
            Some(delimiter) => Setting::Delimiter.does(format!("{delimiter:?} may be what separates the cells")),
            None => Setting::Delimiter.does("sets what separates the cells"),
        };
        if too_short { Setting::PadShortRows.does("fills up short rows").and(other) } else { other }
    }

    fn incomplete(&self, bytes: &[u8], start: usize) -> Parsed<Option<Record>> {
        self.check_length(start, bytes.len())?;
        Ok(None)
    }

    fn check_length(&self, start: usize, end: usize) -> Parsed<()> {
        if end - start > self.record_bytes {
            let error = Error::limit("a record", format!("more than {} bytes", self.record_bytes), self.record_bytes)
                .hint(Hint::from("perhaps a quote was never closed").and(Limits::value_hint()));
            return Err(Fault::new(start, error));
        }
        Ok(())
    }
}

fn check_buffer(bytes: &[u8]) -> Parsed<()> {
    if bytes.len() >= BUFFER_BYTES {
        return Err(Fault::new(0, Error::limit("a piece of text", bytes.len(), BUFFER_BYTES)));
    }
    Ok(())
}

/// The content of a quoted cell: where it ends, and whether quotes are doubled in it.
struct Quoted {
    end: usize,
    doubled: bool,
}

/// The quoted cell whose opening quote is at `open`. `None` if the buffer ends before that can be said.
fn quoted(bytes: &[u8], open: usize, quote: u8, at_end: bool) -> Parsed<Option<Quoted>> {
    let mut from = open + 1;
    let mut doubled = false;
    loop {
        let Some(distance) = memchr(quote, bytes.get(from..).unwrap_or_default()) else {
            if at_end {
                return Err(Fault::new(open, Error::corrupt("csv_quote", "this quote is never closed")));
            }
            return Ok(None);
        };
        let end = from + distance;
        match bytes.get(end + 1) {
            Some(next) if *next == quote => {
                doubled = true;
                from = end + 2;
            }
            None if !at_end => return Ok(None),
            _ => return Ok(Some(Quoted { end, doubled })),
        }
    }
}
