//! Columnar (4): a delimited table, column by column.
//!
//! | stream        | content |
//! |---------------|---------|
//! | `meta`        | `uv` nrows (without header), byte trailing, byte has_header, `lp` delim, `uv` ncols |
//! | `row_modes`   | nrows bytes: 0 verbatim, 1 structured |
//! | `fieldcounts` | one `uv` per structured row: its number of fields, at most ncols |
//! | `coltypes`    | ncols bytes, see [`columns`] |
//! | `col_index`   | ncols `uv`: the length of each column's chunk |
//! | `values`      | the chunks back to back |
//! | `quotemodes`  | ncols bytes: 0 no cell quoted, 1 all, 2 mixed |
//! | `quotebits`   | for each mixed column `bits(number of cells)` |
//! | `verbatim`    | cells: the lines that are not rows |
//! | `header`      | the header line |
//!
//! A short row takes cells only from its first columns, so every column has its own cursor. For work in pieces the
//! cursors are noted every so many rows ([`Mark`]).

mod columns;
#[cfg(feature = "write")]
pub mod encode;
#[cfg(feature = "write")]
mod encode_columns;
mod rows;

use super::{Coder, View};
use crate::cursor::{Cells, Cursor, bit};
use crate::output::Output;
use crate::restore::host::{Host, Piece};
use crate::stream_set::Streams;
use crate::table::rows::collect;
use colkit_core::Result;
use colkit_core::drive::parallel;
use columns::{Cell, Column};
use memchr::memchr;

/// The codec.
pub struct Columnar;

impl Coder for Columnar {
    fn restore(&self, streams: &Streams, host: &mut Host<'_, '_>) -> Result<()> {
        let chunks = Chunks::open(streams)?;
        host.hold(chunks.memory()).map_err(|e| e.part("columns"))?;
        let table = &chunks.decode(host.threads())?;
        host.run((0..table.pieces()).map(|piece| -> Piece<'_> { Box::new(move |out| table.print(piece, out)) }))
    }

    fn view(&self) -> View {
        View::Rows(collect::<rows::TableRows>)
    }

    fn is_table_text(&self) -> bool {
        true
    }

    fn metadata(&self) -> &'static [&'static str] {
        &["meta", "row_modes", "fieldcounts", "coltypes", "col_index", "quotemodes", "quotebits", "header"]
    }
}

/// Rows between two marks.
const PIECE_ROWS: usize = 32 << 10;

/// Which cells of a column are quoted.
#[derive(Clone, Copy, Debug)]
enum Quotes<'a> {
    Never,
    Always,
    Some(&'a [u8]),
}

/// A column before decoding.
struct Chunk<'a> {
    kind: u8,
    bytes: Cursor<'a>,
}

/// The type of columns that need another one to their left.
const DERIVED: u8 = 4;

/// The streams of a table with its small parts read.
struct Chunks<'a> {
    streams: &'a Streams,
    nrows: u64,
    trailing: bool,
    has_header: bool,
    delimiter: &'a [u8],
    chunks: Vec<Chunk<'a>>,
}

impl<'a> Chunks<'a> {
    /// Reads everything but the columns themselves.
    fn open(streams: &'a Streams) -> Result<Self> {
        let mut meta = streams.cursor("meta");
        let nrows = meta.uv()?;
        let trailing = meta.flag("trailing")?;
        let has_header = meta.flag("has_header")?;
        let delimiter = meta.lp()?;
        let (coltypes, coltypes_place) = streams.get("coltypes");
        let ncols = meta.uv()?;
        if ncols != coltypes.len() as u64 {
            let message = format!("{ncols} columns, but {} column types", coltypes.len());
            return Err(coltypes_place.corrupt(coltypes.len(), "bad_count", message));
        }
        meta.finish()?;
        let mut index = streams.cursor("col_index");
        let mut values = streams.cursor("values");
        let chunk = |kind: &u8| Ok(Chunk { kind: *kind, bytes: values.part(index.uv()?)? });
        let chunks = coltypes.iter().map(chunk).collect::<Result<Vec<_>>>()?;
        index.finish()?;
        values.finish()?;
        Ok(Chunks { streams, nrows, trailing, has_header, delimiter, chunks })
    }

    /// How many bytes of memory the decoded columns take.
    fn memory(&self) -> u64 {
        let mut per_column: Vec<u64> = Vec::with_capacity(self.chunks.len());
        for chunk in &self.chunks {
            // The cells of the source, at least four bytes each.
            let source = |k: u64| usize::try_from(k).ok().and_then(|k| per_column.get(k)).map_or(0, |m| m / 4);
            let memory = Column::memory(chunk.kind, chunk.bytes.rest(), source);
            per_column.push(memory);
        }
        per_column.iter().fold(0, |sum: u64, m| sum.saturating_add(*m))
    }

    /// Decodes the columns: on several threads those that are not derived from others, then the rest.
    fn decode(self, threads: usize) -> Result<Table<'a>> {
        let alone = |chunk: &Chunk<'a>| match chunk.kind {
            DERIVED => Ok(None),
            kind => Column::decode(kind, chunk.bytes.clone(), &[]).map(Some),
        };
        let decoded = parallel::map(self.chunks.iter().collect(), threads, alone)?;
        let mut columns: Vec<Column<'a>> = Vec::with_capacity(self.chunks.len());
        for (chunk, decoded) in self.chunks.iter().zip(decoded) {
            let column = match decoded {
                Some(column) => column,
                None => Column::decode(chunk.kind, chunk.bytes.clone(), &columns)?,
            };
            columns.push(column);
        }
        let quotes = quotes(self.streams, &columns)?;
        let row_modes = self.streams.per_line("row_modes", self.nrows, 1)?;
        let mut table = Table {
            trailing: self.trailing,
            header: self.has_header.then(|| self.streams.get("header").0),
            delimiter: self.delimiter,
            columns,
            quotes,
            row_modes,
            marks: Vec::new(),
        };
        let start = Mark {
            row: 0,
            field_counts: self.streams.cursor("fieldcounts"),
            verbatim: self.streams.cells("verbatim"),
            cursors: vec![0; table.columns.len()],
        };
        table.mark(start)?;
        Ok(table)
    }
}

fn quotes<'a>(streams: &'a Streams, columns: &[Column<'_>]) -> Result<Vec<Quotes<'a>>> {
    let (modes, place) = streams.get("quotemodes");
    if modes.len() != columns.len() {
        let message = format!("{} quote modes for {} columns", modes.len(), columns.len());
        return Err(place.corrupt(modes.len(), "bad_count", message));
    }
    let mut bits = streams.cursor("quotebits");
    let quotes = modes.iter().zip(columns).enumerate().map(|(k, (mode, column))| match mode {
        0 => Ok(Quotes::Never),
        1 => Ok(Quotes::Always),
        2 => Ok(Quotes::Some(bits.take(column.len().div_ceil(8) as u64)?)),
        _ => Err(place.corrupt(k, "bad_flag", format!("quote mode {mode}, expected 0, 1 or 2"))),
    });
    let quotes = quotes.collect::<Result<Vec<_>>>()?;
    bits.finish()?;
    Ok(quotes)
}

/// Where everything stands before a row.
#[derive(Clone)]
struct Mark<'a> {
    row: usize,
    field_counts: Cursor<'a>,
    verbatim: Cells<'a>,
    /// The next cell of each column.
    cursors: Vec<usize>,
}

/// A table, decoded and ready to be printed.
struct Table<'a> {
    trailing: bool,
    header: Option<&'a [u8]>,
    delimiter: &'a [u8],
    columns: Vec<Column<'a>>,
    quotes: Vec<Quotes<'a>>,
    row_modes: &'a [u8],
    marks: Vec<Mark<'a>>,
}

/// A line of the table.
enum Row<'a> {
    /// A line that is not taken apart.
    Verbatim(&'a [u8]),
    /// A row of so many fields; its cells are the next ones of that many columns.
    Fields(usize),
}

impl<'a> Table<'a> {
    /// Goes through the rows once without printing them: checks that no column runs out, and notes the marks.
    fn mark(&mut self, mut at: Mark<'a>) -> Result<()> {
        let ncols = self.columns.len();
        // Rows by their number of fields since the last mark: `cursors[i]` moves with every row of more than i fields.
        let mut by_fields = vec![0usize; ncols + 1];
        let mut fields = 0usize;
        let settle = |cursors: &mut [usize], by_fields: &mut [usize]| {
            let mut rows = 0;
            for (cursor, count) in cursors.iter_mut().rev().zip(by_fields.iter_mut().skip(1).rev()) {
                rows += std::mem::take(count);
                *cursor += rows;
            }
        };
        self.marks.push(at.clone());
        let mut since = 0;
        for (row, mode) in self.row_modes.iter().enumerate() {
            // Marks cost a cursor per column, so they come only after as many fields.
            if since >= PIECE_ROWS && fields >= ncols {
                settle(&mut at.cursors, &mut by_fields);
                at.row = row;
                self.marks.push(at.clone());
                (since, fields) = (0, 0);
            }
            since += 1;
            if *mode == 0 {
                at.verbatim.take()?;
                continue;
            }
            let before = at.field_counts.clone();
            let count = at.field_counts.uv()?;
            let Some(counted) = usize::try_from(count).ok().and_then(|n| by_fields.get_mut(n)) else {
                return Err(before.corrupt("bad_count", format!("row {row} has {count} fields of {ncols} columns")));
            };
            *counted += 1;
            fields += usize::try_from(count).unwrap_or(0);
        }
        settle(&mut at.cursors, &mut by_fields);
        for (k, (column, used)) in self.columns.iter().zip(&at.cursors).enumerate() {
            if *used > column.len() {
                let message = format!("column {k} has {} cells, but {used} are used", column.len());
                return Err(at.field_counts.corrupt("cells_used_up", message));
            }
        }
        at.field_counts.finish()
    }

    /// The number of pieces it can be printed in.
    fn pieces(&self) -> usize {
        self.marks.len()
    }

    /// Goes through the rows of a piece; `visit` is told the cell each field begins with.
    fn visit(&self, piece: usize, mut visit: impl FnMut(usize, Row<'a>, &mut [usize]) -> Result<()>) -> Result<()> {
        let Some(mark) = self.marks.get(piece) else { return Ok(()) };
        let mut at = mark.clone();
        let end = self.marks.get(piece + 1).map_or(self.row_modes.len(), |m| m.row);
        for (offset, mode) in self.row_modes.get(at.row..end).unwrap_or_default().iter().enumerate() {
            let row = if *mode == 0 {
                Row::Verbatim(at.verbatim.take()?)
            } else {
                Row::Fields(usize::try_from(at.field_counts.uv()?).unwrap_or(usize::MAX))
            };
            visit(mark.row + offset, row, &mut at.cursors)?;
        }
        Ok(())
    }

    /// The next cells of the first `fields` columns; the cursors move on.
    fn cells<'c>(&'c self, fields: usize, cursors: &'c mut [usize]) -> impl Iterator<Item = (Cell<'a>, bool)> + 'c {
        self.columns.iter().zip(&self.quotes).zip(cursors).take(fields).map(|((column, quotes), cursor)| {
            let i = *cursor;
            *cursor += 1;
            let quoted = match quotes {
                Quotes::Never => false,
                Quotes::Always => true,
                Quotes::Some(bits) => bit(bits, i),
            };
            (column.cell(i).unwrap_or(Cell::Text(&[])), quoted)
        })
    }

    /// Prints one piece.
    fn print(&self, piece: usize, out: &mut Output<'_>) -> Result<()> {
        if let (0, Some(header)) = (piece, self.header) {
            out.put(header)?;
        }
        let has_header = self.header.is_some();
        self.visit(piece, |row, content, cursors| {
            if row > 0 || has_header {
                out.put(b"\n")?;
            }
            match content {
                Row::Verbatim(line) => out.put(line),
                Row::Fields(fields) => {
                    let mut delimiter: &[u8] = &[];
                    for (cell, quoted) in self.cells(fields, cursors) {
                        out.with(|buffer| {
                            buffer.extend_from_slice(delimiter);
                            if quoted { push_quoted(cell, buffer) } else { cell.push(buffer) }
                        })?;
                        delimiter = self.delimiter;
                    }
                    Ok(())
                }
            }
        })?;
        if self.trailing && piece + 1 == self.marks.len() { out.put(b"\n") } else { Ok(()) }
    }
}

/// Appends a cell in quotes, those inside doubled.
fn push_quoted(cell: Cell<'_>, out: &mut Vec<u8>) {
    out.push(b'"');
    match cell {
        Cell::Text(text) if memchr(b'"', text).is_some() => {
            for byte in text {
                out.extend_from_slice(if *byte == b'"' { b"\"\"" } else { std::slice::from_ref(byte) });
            }
        }
        cell => cell.push(out),
    }
    out.push(b'"');
}
