//! What can be read of a damaged file.
//!
//! | file | what is saved |
//! |---|---|
//! | it opens, but blocks of it are damaged | rows of which all columns can be read, checksums included; columns of which nothing can be read are left out |
//! | cut `.gppcol`, `.cff`, `.colfile` | the columns that are whole: their header says where each is |
//! | cut Arrow file or stream | the record batches before the cut |
//! | Lance dataset of which data files are damaged or missing | the rows of the others |
//! | CSV, NDJSON | rows before and after a line that cannot be read; the last line of CSV only if it ends |
//! | cut array of JSON | its whole elements |
//! | cut or damaged `.gz`, `.zst`, `.xz`, `.bz2` | the same of what comes before the damage |
//! | cut Lance, Parquet, AT-1 | nothing: what their bytes mean is said at the end, or in a part that is not there |
//!
//! No value is made up: a row is written if all its columns were read, whose checksums hold where the format has any.

mod pieces;
mod text;

use crate::{Input, OpenFile, OpenOptions};
use arrow::datatypes::{Schema, SchemaRef};
use colkit_core::{ByteRange, Class, Error, Format, Result, Sink, WriteOptions};
use pieces::Pieces;
use std::ops::Range;
use std::sync::Arc;

/// Ranges of fewer rows are not divided to find the readable ones among them.
const FEWEST_ROWS: u64 = 16;
/// Nor those of so small a part of the table: each costs an attempt to read it.
const MOST_PARTS: u64 = 1024;

/// Something that is missing, and why.
#[derive(Debug)]
#[non_exhaustive]
pub struct Lost {
    /// What is missing.
    pub damage: Damage,
    /// Why.
    pub error: Error,
}

/// What is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Damage {
    /// Rows of the table.
    Rows(Range<u64>),
    /// A column.
    Column(String),
    /// Bytes of a text.
    Bytes(ByteRange),
    /// What comes after this byte of the file.
    End(u64),
}

/// What can be saved of a file.
pub struct Salvage {
    file: OpenFile,
    columns: Vec<usize>,
    schema: SchemaRef,
    rows: Vec<Range<u64>>,
    lost: Vec<Lost>,
}

/// Finds out what can be read of `input`, within so much memory. An error if that is nothing.
pub fn salvage(input: &Input, options: &OpenOptions, memory: u64) -> Result<Salvage> {
    let mut lost = Vec::new();
    let (content, cut) = input.decompressed_as_far_as_possible(&options.read.limits)?;
    if let Some(error) = cut {
        lost.push(Lost { damage: Damage::End(error.offset().unwrap_or(0)), error });
    }
    let format = options.format_of(&content).ok();
    let is_text = format.as_ref().is_some_and(|format| options.registry.is_text(format.name()));
    let file = if is_text {
        let (content, options) = in_utf8(&content, options)?;
        let (file, lines) = text::open(&content, &options, memory)?;
        lost.extend(lines);
        file
    } else {
        match options.open_input(&content) {
            Ok(file) => file,
            Err(error) => open_cut(&content, options, format.as_deref(), error, &mut lost)?,
        }
    };
    look(file, lost, memory)
}

/// Text in UTF-8, and how to open it. The encoding is not guessed: a damaged byte would make it another one.
#[cfg(all(feature = "text", feature = "fs"))]
fn in_utf8(input: &Input, options: &OpenOptions) -> Result<(Input, OpenOptions)> {
    let utf8 = crate::TextEncoding::UTF_8;
    let rewritten = input.in_utf8(options.text.encoding.unwrap_or(utf8), &options.read.limits)?;
    let mut options = options.clone();
    options.text.encoding = Some(utf8);
    Ok((rewritten, options))
}

#[cfg(not(all(feature = "text", feature = "fs")))]
fn in_utf8(input: &Input, options: &OpenOptions) -> Result<(Input, OpenOptions)> {
    Ok((input.clone(), options.clone()))
}

/// Opens a file whose end is not there, if its format can tell what is.
fn open_cut(
    input: &Input,
    options: &OpenOptions,
    format: Option<&dyn Format>,
    error: Error,
    lost: &mut Vec<Lost>,
) -> Result<OpenFile> {
    let whole = ByteRange::between(0, input.size());
    let damage = Damage::End(input.size());
    let name = format.map(Format::name).unwrap_or_default();
    match name {
        "gppcol" | "cff" | "colfile" => {
            // With zeros for what is not there the header makes sense; the blocks of lost columns do not.
            for power in 0..48 {
                let padded = Pieces::new(input.bytes(), &[whole], 1 << power);
                if let Ok(file) = options.open_input(&input.with_bytes(Arc::new(padded))) {
                    lost.push(Lost { damage, error });
                    return Ok(file);
                }
            }
            Err(error)
        }
        "arrow" | "arrow-stream" => {
            // A file is a stream after its magic and padding, with an index behind it.
            let start = if name == "arrow" { first_message(input)? } else { 0 };
            let options = options.clone().with_format("arrow-stream");
            let mut end = whole.end();
            // An error inside of a message is followed by one at its start.
            loop {
                let part = [ByteRange::between(start.min(end), end)];
                match options.open_input(&input.with_bytes(Arc::new(Pieces::new(input.bytes(), &part, 0)))) {
                    Ok(file) => {
                        lost.push(Lost { damage: Damage::End(end), error });
                        return Ok(file);
                    }
                    Err(broken) => match broken.offset().map(|at| at + start).filter(|at| *at < end) {
                        Some(before) => end = before,
                        None => return Err(error),
                    },
                }
            }
        }
        _ => {
            let what = "nothing can be saved: what the bytes of this format mean is said in a part that is damaged or not there";
            let nothing = Error::corrupt("nothing_saved", format!("{what} ({})", error.message()));
            Err(error.offset().into_iter().fold(nothing, Error::at).caused_by(error))
        }
    }
}

/// Where the stream inside of an Arrow file begins: at the first message, which writers align to 8 or 64 bytes.
fn first_message(input: &Input) -> Result<u64> {
    const MARKER: [u8; 4] = [0xFF; 4];
    let head = input.bytes().read(ByteRange::between(0, input.size().min(128)))?;
    let places = head.chunks(8).position(|chunk| chunk.starts_with(&MARKER));
    Ok(places.map_or(8, |place| place as u64 * 8))
}

/// Finds the columns and rows that can be read.
fn look(file: OpenFile, mut lost: Vec<Lost>, memory: u64) -> Result<Salvage> {
    let whole = 0..file.row_count();
    let count = file.schema().fields().len();
    // A column of these formats is one block: all of it can be read, or nothing.
    let in_one_block = matches!(file.format().name(), "gppcol" | "cff" | "colfile");
    let fewest = if in_one_block { whole.end } else { FEWEST_ROWS.max(whole.end / MOST_PARTS) };
    let reader = Reader { file: &file, memory, fewest };
    let mut columns = Vec::new();
    let mut rows = vec![whole.clone()];
    let mut first_error = None;
    if reader.read(0..count, whole.clone()).is_ok() {
        columns.extend(0..count);
    } else {
        for column in 0..count {
            let mut error = None;
            let good = reader.readable(column, whole.clone(), &mut error)?;
            let good = if in_one_block { good } else { reader.refined(column, good, &whole) };
            let Some(error) = error else {
                columns.push(column);
                continue;
            };
            if good.is_empty() {
                let schema = file.schema();
                let name = schema.fields().get(column).map(|f| f.name().clone()).unwrap_or_default();
                lost.push(Lost { damage: Damage::Column(name), error });
            } else {
                columns.push(column);
                rows = both(&rows, &good);
                first_error.get_or_insert(error);
            }
        }
    }
    if let Some(error) = first_error {
        for gap in gaps(&rows, &whole) {
            lost.push(Lost { damage: Damage::Rows(gap), error: error.again() });
        }
    }
    let saved: u64 = rows.iter().map(|r| r.end - r.start).sum();
    if columns.is_empty() || (saved == 0 && !whole.is_empty()) {
        let error = lost.into_iter().next().map(|lost| lost.error);
        return Err(error.unwrap_or_else(|| Error::corrupt("nothing_saved", "no row can be read whole")));
    }
    let schema = file.schema();
    let fields: Vec<_> = columns.iter().filter_map(|c| schema.fields().get(*c).cloned()).collect();
    let schema = Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()));
    Ok(Salvage { file, columns, schema, rows, lost })
}

/// Tries to read parts of a file.
struct Reader<'a> {
    file: &'a OpenFile,
    memory: u64,
    /// Ranges of so many rows are not divided.
    fewest: u64,
}

impl Reader<'_> {
    fn read(&self, columns: Range<usize>, rows: Range<u64>) -> Result<()> {
        let mut left = rows.end - rows.start;
        for batch in self.file.scan().columns(columns).rows(rows).memory(self.memory).batches()? {
            left = left.saturating_sub(batch?.num_rows() as u64);
        }
        if left > 0 { Err(Error::corrupt("row_count_mismatch", format!("{left} rows are missing"))) } else { Ok(()) }
    }

    /// The rows of a column that can be read: those that cannot are looked for in halves.
    fn readable(&self, column: usize, rows: Range<u64>, first: &mut Option<Error>) -> Result<Vec<Range<u64>>> {
        let error = match self.read(column..column + 1, rows.clone()) {
            Ok(()) => return Ok(vec![rows]),
            Err(error) => error,
        };
        // What is wrong with the system or with us says nothing about the file.
        let missing = matches!(error.code(), "not_found" | "short_read") && self.file.input().objects().are_there();
        if !missing && matches!(error.class(), Class::Io | Class::Internal | Class::Limit | Class::Request) {
            return Err(error);
        }
        first.get_or_insert(error);
        if rows.end - rows.start <= self.fewest {
            return Ok(Vec::new());
        }
        let middle = rows.start.midpoint(rows.end);
        let mut good = self.readable(column, rows.start..middle, first)?;
        for range in self.readable(column, middle..rows.end, first)? {
            match good.last_mut() {
                Some(last) if last.end == range.start => last.end = range.end,
                _ => good.push(range),
            }
        }
        Ok(good)
    }
}

impl Reader<'_> {
    /// The same rows, and those right before and after them that can be read too: damage seldom begins and ends where a range
    /// was divided.
    fn refined(&self, column: usize, good: Vec<Range<u64>>, whole: &Range<u64>) -> Vec<Range<u64>> {
        let reads = |rows: Range<u64>| rows.is_empty() || self.read(column..column + 1, rows).is_ok();
        let mut all = good;
        for gap in gaps(&all, whole) {
            let near = self.fewest.min(gap.end - gap.start);
            // How many rows can be read from its start, and how many up to its end.
            let first = most(near, |rows| reads(gap.start..gap.start + rows));
            let last = most(near.min(gap.end - gap.start - first), |rows| reads(gap.end - rows..gap.end));
            all.extend([gap.start..gap.start + first, gap.end - last..gap.end].into_iter().filter(|r| !r.is_empty()));
        }
        all.sort_by_key(|range| range.start);
        let mut joined: Vec<Range<u64>> = Vec::new();
        for range in all {
            match joined.last_mut() {
                Some(last) if last.end == range.start => last.end = range.end,
                _ => joined.push(range),
            }
        }
        joined
    }
}

/// The largest number up to `end` for which all is well, if it is for all smaller ones.
fn most(end: u64, well: impl Fn(u64) -> bool) -> u64 {
    let (mut good, mut bad) = (0, end + 1);
    while bad - good > 1 {
        let middle = good.midpoint(bad);
        if well(middle) { good = middle } else { bad = middle }
    }
    good
}

/// The rows in both.
fn both(a: &[Range<u64>], b: &[Range<u64>]) -> Vec<Range<u64>> {
    let pairs = a.iter().flat_map(|a| b.iter().map(move |b| a.start.max(b.start)..a.end.min(b.end)));
    pairs.filter(|range| range.start < range.end).collect()
}

/// The rows between.
fn gaps(rows: &[Range<u64>], whole: &Range<u64>) -> Vec<Range<u64>> {
    let mut at = whole.start;
    let mut gaps = Vec::new();
    for range in rows {
        gaps.push(at..range.start);
        at = range.end;
    }
    gaps.push(at..whole.end);
    gaps.retain(|gap| gap.start < gap.end);
    gaps
}

impl Salvage {
    /// The format of the file.
    pub fn format(&self) -> &Arc<dyn Format> {
        self.file.format()
    }

    /// The columns that are saved.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Where the saved rows are in the file. Of a text: in what is left of it.
    pub fn rows(&self) -> &[Range<u64>] {
        &self.rows
    }

    /// How many rows are saved.
    pub fn row_count(&self) -> u64 {
        self.rows.iter().map(|range| range.end - range.start).sum()
    }

    /// What is missing.
    pub fn lost(&self) -> &[Lost] {
        &self.lost
    }

    /// Whether nothing is missing.
    pub fn is_complete(&self) -> bool {
        self.lost.is_empty()
    }

    /// Writes the saved rows in this format.
    pub fn write(&self, target: &dyn Format, sink: Box<dyn Sink>, options: &WriteOptions) -> Result<Vec<String>> {
        let mut writer = target.writer(self.schema.clone(), sink, options)?;
        for rows in &self.rows {
            let scan = self.file.scan().columns(self.columns.iter().copied()).rows(rows.clone());
            for batch in scan.memory(options.memory / 2).batches()? {
                writer.write(&batch?)?;
            }
        }
        Ok(writer.finish()?.notes)
    }
}
