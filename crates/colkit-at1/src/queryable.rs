//! Qcolumnar (7), qjson (8) and qjson2 (11): lines whose values lie in groups of their own.
//!
//! | codec     | streams |
//! |-----------|---------|
//! | qcolumnar | those of one [`Shape`] with a delimiter |
//! | qjson     | those of one [`Shape`] with a template |
//! | qjson2    | `meta`: `uv` nlines, byte trailing, `uv` n (at most 64); `line_map`: one `uv` per line, 0 = next cell of `verbatim`, k + 1 = next line of shape k; `verbatim`; for each shape the streams of qjson, their names behind `t0:`, `t1:`, ... |
//!
//! A qcolumnar or qjson file is treated as one that has a single shape and whose lines are all of it. Lines are cut into
//! pieces where the shape with the most rows begins a new group; each piece can be printed, or read as a table, on
//! its own. (Other shapes' groups that reach across a cut are then unpacked by both pieces.)

pub mod shape;
pub mod typing;
mod zones;

use crate::backend::Backend;
use crate::cursor::{Cursor, split_uv};
use crate::fetched::Fetched;
use crate::output::Output;
use crate::restore::host::{Host, Piece};
use crate::stream_set::{Entry, Streams};
use bytes::Bytes;
use colkit_core::{ByteRange, Error, Result, Source};
use shape::{RowTemplate, Shape};
use std::ops::Range;

const MAX_SHAPES: u64 = 64;
/// Lines of a run at least, as far as there are so many.
const RUN_LINES: u64 = 8192;

/// Whether a stream is read block by block, and not to open a file.
pub fn is_stored_blocks(entry: &Entry) -> bool {
    entry.backend == Backend::Stored && (entry.name == "blocks" || entry.name.ends_with(":blocks"))
}

/// Restores the text of a stream set that is in memory, blocks included.
pub fn restore(lines: &Queryable, host: &mut Host<'_, '_>) -> Result<()> {
    host.run(
        lines.runs().into_iter().map(|run| -> Piece<'_> { Box::new(|out| lines.print(run, &Fetched::default(), out)) }),
    )
}

/// Lines of one or several shapes.
#[derive(Clone, Debug)]
pub struct Queryable {
    streams: Streams,
    /// Number of lines.
    pub nlines: u64,
    trailing: bool,
    /// The `line_map`; without one every line is the next one of the only shape.
    map: Option<Bytes>,
    /// The shapes.
    pub shapes: Vec<Shape>,
    /// Lines of no shape.
    verbatim: Bytes,
    /// Where pieces begin, and where the last one ends.
    pub cuts: Vec<Position>,
}

/// A line, found but not printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line<'a> {
    /// A line that is not taken apart.
    Verbatim(&'a [u8]),
    /// A row of a shape.
    Row {
        /// Which shape.
        shape: usize,
        /// Its row.
        row: u64,
    },
}

/// Where everything stands before a line.
#[derive(Clone, Debug)]
pub struct Position {
    /// The line.
    pub line: u64,
    /// Bytes of `line_map` used.
    map: usize,
    /// Bytes of `verbatim` used, line ends included.
    verbatim: usize,
    shapes: Vec<ShapePosition>,
}

impl Position {
    /// The next row of a shape.
    pub fn row(&self, shape: usize) -> u64 {
        self.shapes.get(shape).map_or(0, |s| s.row)
    }
}

#[derive(Clone, Debug, Default)]
struct ShapePosition {
    line: u64,
    row: u64,
    verbatim: usize,
}

impl Queryable {
    /// Opens lines that are all of one shape, with a delimiter or a template between their values.
    pub fn of_one_shape(streams: Streams, delimited: bool) -> Result<Self> {
        let shape = Shape::open(&streams, "", delimited)?;
        let (nlines, trailing) = (shape.nlines, shape.trailing);
        let lines = Queryable {
            streams,
            nlines,
            trailing,
            map: None,
            shapes: vec![shape],
            verbatim: Bytes::new(),
            cuts: Vec::new(),
        };
        lines.cut()
    }

    /// Opens lines of several shapes.
    pub fn of_several_shapes(streams: Streams) -> Result<Self> {
        let mut meta = streams.cursor("meta");
        let nlines = meta.uv()?;
        let trailing = meta.flag("trailing")?;
        let before = meta.clone();
        let count = meta.uv()?;
        if count > MAX_SHAPES {
            return Err(before.corrupt("bad_count", format!("{count} templates, expected {MAX_SHAPES} at most")));
        }
        meta.finish()?;
        let map = streams.cursor("line_map");
        if nlines > map.left() as u64 {
            return Err(map.corrupt("bad_count", format!("{nlines} lines in {} bytes", map.left())));
        }
        let shapes = (0..count).map(|i| inner_shape(&streams, &format!("t{i}:"))).collect::<Result<Vec<_>>>()?;
        let (map, verbatim) = (Some(streams.bytes("line_map")), streams.bytes("verbatim"));
        // Without any line there is nothing that a line end could follow.
        let trailing = trailing && nlines > 0;
        Queryable { streams, nlines, trailing, map, shapes, verbatim, cuts: Vec::new() }.cut()
    }

    fn cut(self) -> Result<Self> {
        let cuts = self.find_cuts()?;
        Ok(Queryable { cuts, ..self })
    }

    /// Goes through all lines once: checks that nothing runs out, and notes where the main shape begins a group.
    fn find_cuts(&self) -> Result<Vec<Position>> {
        let main = self.shapes.iter().enumerate().max_by_key(|(_, s)| s.rows).map(|(i, s)| (i, s.group_rows));
        let mut at =
            Position { line: 0, map: 0, verbatim: 0, shapes: vec![ShapePosition::default(); self.shapes.len()] };
        let mut cuts = vec![at.clone()];
        let mut next_cut = main.map_or(u64::MAX, |(_, rows)| rows);
        let mut last_cut = 0;
        while at.line < self.nlines {
            if let Some(rows) = self.rows_until(&at, next_cut) {
                at = rows;
                continue;
            }
            let before = match main {
                // A cut costs a note for every shape, so cuts are that far apart at least.
                Some((shape, _)) if at.row(shape) >= next_cut && at.line - last_cut >= self.shapes.len() as u64 => {
                    Some(at.clone())
                }
                _ => None,
            };
            let line = self.next(&mut at)?;
            // The cut lies directly before the first row of the new group, not before verbatim lines that precede it.
            if let (Some(before), Some((main, rows)), Line::Row { shape, row }) = (before, main, line)
                && shape == main
                && row % rows == 0
            {
                last_cut = before.line;
                next_cut = (before.row(main) / rows).saturating_add(1).saturating_mul(rows);
                cuts.push(before);
            }
        }
        if let Some(map) = &self.map {
            self.in_map(map, at.map).finish()?;
        }
        cuts.push(at);
        Ok(cuts)
    }

    /// The position after all rows that follow each other here, but before the row `until`, in a file of one shape; `None` if
    /// there is none. A look at each line would be most of what opening a long table takes.
    fn rows_until(&self, at: &Position, until: u64) -> Option<Position> {
        let (None, [only], [inner]) = (&self.map, &self.shapes[..], &at.shapes[..]) else { return None };
        let most = usize::try_from(until.saturating_sub(inner.row).min(self.nlines - at.line)).ok()?;
        let modes = only.row_modes.get(usize::try_from(inner.line).ok()?..)?;
        let modes = modes.get(..most).unwrap_or(modes);
        let rows = memchr::memchr(0, modes).unwrap_or(modes.len()) as u64;
        let shape = ShapePosition { line: inner.line + rows, row: inner.row + rows, ..*inner };
        (rows > 0).then(|| Position { line: at.line + rows, shapes: vec![shape], ..*at })
    }

    /// The line at `at`, which moves on.
    pub fn next(&self, at: &mut Position) -> Result<Line<'_>> {
        at.line += 1;
        let shape = match &self.map {
            None => 0,
            Some(map) => {
                let rest = map.get(at.map..).unwrap_or_default();
                let which = split_uv(rest).filter(|(which, _)| *which <= self.shapes.len() as u64);
                let Some((which, after)) = which else {
                    // Read it again for the error.
                    self.in_map(map, at.map).index("line of template", self.shapes.len() + 1)?;
                    return Err(Error::corrupt("bad_index", "a line of no template"));
                };
                at.map += rest.len() - after.len();
                match usize::try_from(which).unwrap_or(usize::MAX).checked_sub(1) {
                    Some(shape) => shape,
                    None => {
                        let line = next_line(&self.verbatim, &mut at.verbatim);
                        return line.map(Line::Verbatim).ok_or_else(|| self.used_up("verbatim"));
                    }
                }
            }
        };
        let (Some(of), Some(inner)) = (self.shapes.get(shape), at.shapes.get_mut(shape)) else {
            return Err(Error::corrupt("bad_index", format!("there is no template {shape}")));
        };
        let mode = usize::try_from(inner.line).ok().and_then(|line| of.row_modes.get(line));
        let Some(mode) = mode else {
            let message = format!("template {shape} has {} lines, but more are used", of.nlines);
            return Err(self.streams.cursor("line_map").corrupt("cells_used_up", message));
        };
        inner.line += 1;
        if *mode == 0 {
            let line = next_line(&of.verbatim, &mut inner.verbatim);
            return line.map(Line::Verbatim).ok_or_else(|| self.used_up(&format!("{}verbatim", of.prefix)));
        }
        inner.row += 1;
        Ok(Line::Row { shape, row: inner.row - 1 })
    }

    /// Whether these lines are all rows of the only shape.
    pub fn are_rows(&self, lines: Range<u64>) -> bool {
        let index = |line: u64| usize::try_from(line).unwrap_or(usize::MAX);
        match (&self.map, &self.shapes[..]) {
            (None, [only]) => {
                let modes = only.row_modes.get(index(lines.start)..index(lines.end));
                modes.is_some_and(|modes| memchr::memchr(0, modes).is_none())
            }
            _ => false,
        }
    }

    /// The line map from this byte on.
    fn in_map<'a>(&'a self, map: &'a Bytes, at: usize) -> Cursor<'a> {
        Cursor::new(map.get(at..).unwrap_or_default(), at, self.streams.get("line_map").1)
    }

    fn used_up(&self, stream: &str) -> Error {
        let (bytes, place) = self.streams.get(stream);
        place.corrupt(bytes.len(), "cells_used_up", "more lines are used than there are")
    }

    /// The number of pieces.
    pub fn pieces(&self) -> usize {
        self.cuts.len().saturating_sub(1)
    }

    /// Pieces that are worth being restored together: most tables have one long group in each piece, but some have short ones.
    pub fn runs(&self) -> Vec<Range<usize>> {
        let mut runs = Vec::new();
        let mut start = 0;
        while let Some(first) = self.cuts.get(start).filter(|_| start < self.pieces()) {
            let is_long = |i: &usize| self.cuts.get(*i).is_none_or(|cut| cut.line - first.line >= RUN_LINES);
            let end = (start + 1..self.pieces()).find(is_long).unwrap_or(self.pieces());
            runs.push(start..end);
            start = end;
        }
        runs
    }

    /// The groups whose rows some pieces have.
    fn groups(&self, pieces: Range<usize>) -> impl Iterator<Item = (&Shape, u64)> {
        let row = |cut: usize, shape: usize| self.cuts.get(cut).map_or(0, |cut| cut.row(shape));
        let (first, last) = (pieces.start, pieces.end);
        self.shapes.iter().enumerate().flat_map(move |(s, shape)| {
            let (start, end) = (row(first, s), row(last, s));
            let groups = if end > start { start / shape.group_rows..end.div_ceil(shape.group_rows) } else { 0..0 };
            groups.map(move |group| (shape, group))
        })
    }

    /// Where the blocks of some pieces lie in the file; nothing of blocks that are in memory.
    pub fn ranges(&self, pieces: Range<usize>) -> Result<Vec<ByteRange>> {
        let range = |(shape, group): (&Shape, u64)| shape.file_range(group, 0..shape.width()).transpose();
        self.groups(pieces).filter_map(range).filter(|r| !matches!(r, Ok(r) if r.is_empty())).collect()
    }

    /// Prints some pieces, whose blocks have been fetched if they are not in memory.
    pub fn print(&self, pieces: Range<usize>, blocks: &Fetched, out: &mut Output<'_>) -> Result<()> {
        let (Some(start), Some(end)) = (self.cuts.get(pieces.start), self.cuts.get(pieces.end)) else { return Ok(()) };
        let mut at = start.clone();
        let mut open: Vec<OpenGroup> = self.shapes.iter().map(|_| OpenGroup::default()).collect();
        while at.line < end.line {
            if at.line > 0 {
                out.put(b"\n")?;
            }
            match self.next(&mut at)? {
                Line::Verbatim(line) => out.put(line)?,
                Line::Row { shape, row } => {
                    let Some(of) = self.shapes.get(shape) else { continue };
                    if open.get(shape).is_some_and(|group| !group.rows.contains(&row)) {
                        let others = open.iter().enumerate().filter(|(i, _)| *i != shape);
                        let held = others.map(|(_, group)| group.held).fold(0, u64::saturating_add);
                        if let Some(group) = open.get_mut(shape) {
                            group.load(of, row, held, blocks, out)?;
                        }
                    }
                    if let Some(group) = open.get_mut(shape) {
                        group.print(&of.glue, out)?;
                    }
                }
            }
        }
        if self.trailing && pieces.end == self.pieces() { out.put(b"\n") } else { Ok(()) }
    }
}

/// A shape in qjson2: its output is split into lines again, so nothing in it may break a line.
fn inner_shape(streams: &Streams, prefix: &str) -> Result<Shape> {
    let shape = Shape::open(streams, prefix, false)?;
    let name = format!("{prefix}meta");
    let corrupt = |m: &str| Err(streams.cursor(&name).corrupt("bad_flag", m));
    if shape.trailing {
        return corrupt("a template's lines end with a line end of their own");
    }
    match &shape.glue {
        RowTemplate::Segments(segments) if segments.iter().any(|s| s.contains(&b'\n')) => {
            corrupt("a template has a line end inside")
        }
        _ => Ok(shape),
    }
}

/// The group of a shape that is being printed: its columns, each at the next cell.
#[derive(Default)]
struct OpenGroup {
    rows: Range<u64>,
    columns: Vec<(Bytes, usize)>,
    held: u64,
}

impl OpenGroup {
    /// Unpacks the group of `row`, and makes that row the next one.
    fn load(
        &mut self,
        shape: &Shape,
        row: u64,
        held_by_others: u64,
        blocks: &Fetched,
        out: &mut Output<'_>,
    ) -> Result<()> {
        self.columns.clear();
        let group = row / shape.group_rows;
        let packed = packed_blocks(shape, group, blocks)?;
        self.held = 0;
        for (column, block) in packed.iter().enumerate() {
            self.held = self.held.saturating_add(shape.raw_size(group, column, block)?);
        }
        out.hold(held_by_others.saturating_add(self.held))?;
        for (column, block) in packed.iter().enumerate() {
            self.columns.push((shape.unpack(group, column, block, self.held)?, 0));
        }
        self.rows = shape.rows_of(group);
        for _ in self.rows.start..row {
            for (cells, at) in &mut self.columns {
                *at += next_cell(cells, *at).len() + 1;
            }
        }
        Ok(())
    }

    fn print(&mut self, glue: &RowTemplate, out: &mut Output<'_>) -> Result<()> {
        let mut put = |before: &[u8], (cells, at): &mut (Bytes, usize)| {
            let cell = next_cell(cells, *at);
            *at += cell.len() + 1;
            out.with(|buffer| {
                buffer.extend_from_slice(before);
                buffer.extend_from_slice(cell);
            })
        };
        match glue {
            RowTemplate::Delimiter(delimiter) => {
                let mut before: &[u8] = &[];
                for column in &mut self.columns {
                    put(before, column)?;
                    before = delimiter;
                }
                Ok(())
            }
            RowTemplate::Segments(segments) => {
                for (before, column) in segments.iter().zip(&mut self.columns) {
                    put(before, column)?;
                }
                out.put(segments.last().map_or(&[], |s| &s[..]))
            }
        }
    }
}

/// The line at `used` bytes of verbatim lines; `used` then counts its line end too, and so passes the end after the last.
fn next_line<'a>(lines: &'a [u8], used: &mut usize) -> Option<&'a [u8]> {
    lines.get(*used..)?;
    let line = next_cell(lines, *used);
    *used += line.len() + 1;
    Some(line)
}

/// The cell that begins at `at`.
#[inline]
fn next_cell(cells: &[u8], at: usize) -> &[u8] {
    let rest = cells.get(at..).unwrap_or_default();
    memchr::memchr(b'\n', rest).and_then(|end| rest.get(..end)).unwrap_or(rest)
}

/// The packed blocks of a group, one for each column.
fn packed_blocks(shape: &Shape, group: u64, fetched: &Fetched) -> Result<Vec<Bytes>> {
    let blocks = (0..shape.width()).map(|column| shape.block(group, column));
    let Some(range) = shape.file_range(group, 0..shape.width())? else {
        return blocks.map(|b| Ok(shape.in_memory(b?).unwrap_or_default())).collect();
    };
    let all = fetched.read(range)?;
    let mut at = 0usize;
    blocks
        .map(|block| {
            let length = usize::try_from(block?.length).unwrap_or(usize::MAX);
            let end = at.saturating_add(length);
            if end > all.len() {
                return Err(Error::corrupt("truncated", "a block reaches past its group").at(range.start()));
            }
            let packed = all.slice(at..end);
            at = end;
            Ok(packed)
        })
        .collect()
}
