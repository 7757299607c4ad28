//! Finds out what a file does not say: what stands between its cells, and whether its first line has the names.
//!
//! Every delimiter that occurs in the first record is tried on the whole file. One with which all records have as many
//! fields as the first is the one; of several, that with the most columns. So no row fails later.

use super::CsvOptions;
use super::open::{Failed, Surveyed, survey};
use crate::text::{Excerpt, Pass, Surveyor, record_limit};
use colkit_core::cells::{Kinds, Spelling};
use colkit_core::coroutine::Io;
use colkit_core::{Error, Finding, Limits, Result};

/// Delimiters that are looked for beside the one of the options, the most usual first.
const DELIMITERS: [u8; 4] = [b',', b'\t', b';', b'|'];

/// So many rows with as many fields as the first record are no accident: another row then is the mistake, not the
/// delimiter.
const NO_ACCIDENT: u64 = 3;

/// So many cells in single quotes, and none in double ones, are no accident either.
const QUOTED: u64 = 2;

/// What is said of a file that is read as lines.
pub(super) const LINES: &str = "lines, not cells";

/// What a file is.
pub(super) enum Looked {
    /// A table of cells, and the options with which that was found.
    Cells(CsvOptions, Box<Surveyed>),
    /// Lines of text.
    Lines,
}

/// Finds out what the file is like.
pub(super) async fn looked(io: &Io, size: u64, mut options: CsvOptions, limits: &Limits) -> Result<Looked> {
    let (look_for, pieces) = (options.look_for, options.pieces);
    let start = || Pass::start(io.clone(), size, pieces, limits);
    let Attempts { single, best, failed } = attempts(io, size, &options, limits).await?;
    let (delimiter, found) = match (single, best, failed) {
        (Some(single), ..) => {
            options.quote = Some(b'\'');
            single
        }
        (None, Some((delimiter, one)), _) if look_for.lines && one.columns.len() == 1 && is_text(&one, &options) => {
            if Lines::of(start().await?, limits).await?.are_no_column() {
                return Ok(Looked::Lines);
            }
            (delimiter, one)
        }
        (None, Some(best), _) => best,
        (None, None, Some(_)) if look_for.lines && Lines::of(start().await?, limits).await?.are_prose() => {
            return Ok(Looked::Lines);
        }
        // Text in which a semicolon or two occur is a column of its own.
        (None, None, Some(failed)) if failed.rows < NO_ACCIDENT && look_for.delimiter => {
            match survey(start().await?, &options, limits).await {
                Ok(found) => (options.delimiter, found),
                Err(_) => return Err(failed.error),
            }
        }
        (None, None, Some(failed)) => return Err(failed.error),
        (None, None, None) => return Err(Error::internal("no delimiter was tried")),
    };
    options.delimiter = delimiter;
    if look_for.header && is_data(&found, &options) {
        options.header = false;
        let found = survey(start().await?, &options, limits).await;
        return Ok(Looked::Cells(options, Box::new(found.map_err(|failed| failed.error)?)));
    }
    match found.repeated {
        Some(error) => Err(error),
        None => Ok(Looked::Cells(options, Box::new(found))),
    }
}

/// What trying delimiters and quotes on the whole file gave.
struct Attempts {
    /// With single quotes, if cells clearly stand in such.
    single: Option<(u8, Surveyed)>,
    /// The delimiter that gives the most columns.
    best: Option<(u8, Surveyed)>,
    /// The attempt that got furthest, if none has reached the end.
    failed: Option<Failed>,
}

async fn attempts(io: &Io, size: u64, options: &CsvOptions, limits: &Limits) -> Result<Attempts> {
    let start = || Pass::start(io.clone(), size, options.pieces, limits);
    let mut pass = start().await?;
    let single = CsvOptions { quote: Some(b'\''), ..options.clone() };
    let by_single = options.look_for.quote
        && options.delimiter != b'\''
        && pass.header(|text, at_end| Ok(has_single_quotes(text.bytes, at_end).map(|found| (found, 0)))).await?;
    let mut tried = Attempts { single: None, best: None, failed: None };
    if by_single {
        let delimiters = delimiters(&mut pass, &single, limits).await?;
        for delimiter in delimiters {
            let attempt = survey(start().await?, &CsvOptions { delimiter, ..single.clone() }, limits).await;
            let clear = attempt.ok().filter(|found| found.quoted.0 >= QUOTED && !found.quoted.1);
            if let Some(found) = clear.filter(|f| has_more(f, tried.single.as_ref())) {
                tried.single = Some((delimiter, found));
            }
        }
        if tried.single.is_some() {
            return Ok(tried);
        }
    }
    let delimiters = delimiters(&mut pass, options, limits).await?;
    let mut passes = Some(pass);
    for delimiter in delimiters {
        let pass = match passes.take() {
            Some(pass) => pass,
            None => start().await?,
        };
        match survey(pass, &CsvOptions { delimiter, ..options.clone() }, limits).await {
            Ok(found) if has_more(&found, tried.best.as_ref()) => tried.best = Some((delimiter, found)),
            Ok(_) => {}
            Err(this) if !matches!(this.error.code(), "csv_ragged" | "csv_quote") => return Err(this.error),
            Err(this) if tried.failed.as_ref().is_none_or(|f| this.rows > f.rows) => tried.failed = Some(this),
            Err(_) => {}
        }
    }
    Ok(tried)
}

fn has_more(found: &Surveyed, best: Option<&(u8, Surveyed)>) -> bool {
    best.is_none_or(|(_, best)| found.columns.len() > best.columns.len())
}

/// The delimiters to try.
async fn delimiters(pass: &mut Pass, options: &CsvOptions, limits: &Limits) -> Result<Vec<u8>> {
    match options.look_for.delimiter {
        true => pass.header(|text, at_end| candidates(text, at_end, options, limits)).await,
        false => Ok(vec![options.delimiter]),
    }
}

/// Bytes of a file that show whether single quotes are worth trying.
const QUOTES_WITHIN: usize = 64 << 10;

/// Whether a cell begins with a single quote, as far as the start of a file shows; `None` if that takes more text.
fn has_single_quotes(text: &[u8], at_end: bool) -> Option<bool> {
    let is_before = |b: u8| DELIMITERS.contains(&b) || b == b'\n';
    let start = text.get(..QUOTES_WITHIN).or(at_end.then_some(text))?;
    Some(start.first() == Some(&b'\'') || start.windows(2).any(|pair| matches!(pair, [a, b'\''] if is_before(*a))))
}

/// Whether the only column is text.
fn is_text(found: &Surveyed, options: &CsvOptions) -> bool {
    let mut kinds = found.columns.iter().map(|c| c.kinds.data_type(&options.inference));
    found.index.rows == 0 || kinds.all(|data_type| data_type == arrow::datatypes::DataType::Utf8)
}

/// What the lines of a file are like.
#[derive(Default)]
struct Lines {
    lines: u64,
    /// Those of three words or more, of which the first ends before any delimiter.
    prose: u64,
    /// Those that begin with a digit.
    numbered: u64,
    /// Whether the first line is such.
    first: Option<(bool, bool)>,
    /// Bytes of a line at most.
    longest: u64,
}

impl Lines {
    /// The lines of a file; those of one with a line that no record could be are like nothing.
    async fn of(pass: Pass, limits: &Limits) -> Result<Self> {
        let mut lines = Lines { longest: record_limit(limits), ..Lines::default() };
        match pass.records(&mut lines).await {
            Err(error) if error.code() == "limit_exceeded" => Ok(Lines::default()),
            counted => counted.map(|_| lines),
        }
    }

    /// Whether the first line and most others are prose: a message, a sentence, not cells.
    fn are_prose(&self) -> bool {
        self.first.is_some_and(|(prose, _)| prose) && self.prose.saturating_mul(2) >= self.lines
    }

    /// Whether the first line is no name of a column, but a line like the others.
    fn are_no_column(&self) -> bool {
        let numbered =
            self.first.is_some_and(|(_, numbered)| numbered) && self.numbered.saturating_mul(2) >= self.lines;
        self.are_prose() || numbered
    }

    fn add(&mut self, line: &[u8]) {
        if line.is_empty() {
            return;
        }
        let blank = line.iter().position(|b| *b == b' ');
        let delimiter = line.iter().position(|b| DELIMITERS.contains(b));
        let words = line.split(|b| *b == b' ').filter(|word| !word.is_empty()).take(3).count();
        let is_prose = words >= 3 && blank.is_some_and(|blank| delimiter.is_none_or(|d| blank < d));
        let is_numbered = line.first().is_some_and(u8::is_ascii_digit);
        self.lines += 1;
        self.prose += u64::from(is_prose);
        self.numbered += u64::from(is_numbered);
        self.first.get_or_insert((is_prose, is_numbered));
    }
}

impl Surveyor for Lines {
    fn survey(&mut self, text: Excerpt<'_>, most: usize, at_end: bool) -> Result<(usize, u64)> {
        let (mut at, mut rows) = (0, 0);
        while let Some((end, next)) = super::lines::line(text.bytes, at, at_end).filter(|_| at < most) {
            self.add(text.bytes.get(at..end).unwrap_or_default());
            at = next;
            rows += 1;
        }
        Limits::check("a line", (text.bytes.len() - at) as u64, if at == 0 { self.longest } else { u64::MAX })?;
        Ok((at, rows))
    }
}

/// The delimiters with which the first record has several fields; the options' own if there is none.
fn candidates(
    text: Excerpt<'_>,
    at_end: bool,
    options: &CsvOptions,
    limits: &Limits,
) -> Result<Option<(Vec<u8>, usize)>> {
    let most = usize::try_from(limits.columns).unwrap_or(usize::MAX);
    let mut found = Vec::new();
    for delimiter in DELIMITERS.into_iter().filter(|delimiter| Some(*delimiter) != options.quote) {
        let dialect = CsvOptions { delimiter, ..options.clone() }.dialect(limits)?;
        match dialect.first(text.bytes, 0, most, at_end) {
            Ok(None) => return Ok(None),
            Ok(Some((cells, _))) if cells.len() > 1 => found.push(delimiter),
            Ok(Some(_)) | Err(_) => {}
        }
    }
    if found.is_empty() {
        found.push(options.delimiter);
    }
    Ok(Some((found, 0)))
}

/// Whether a cell is a number, a date or a boolean.
pub(super) fn is_value(kind: Kinds) -> bool {
    !kind.has(Kinds::TEXT.and(Kinds::EMPTY).and(Kinds::NULL))
}

/// Whether the first record is a row like the others: it has values, and fits all columns of values.
fn is_data(found: &Surveyed, options: &CsvOptions) -> bool {
    let typed = |kinds: Kinds| kinds.data_type(&options.inference) != arrow::datatypes::DataType::Utf8;
    let mut values = found.columns.iter().zip(&found.first).filter(|(column, _)| typed(column.kinds)).peekable();
    let any = values.peek().is_some();
    let numbers: Vec<i64> = found.columns.iter().filter_map(|c| c.name.parse().ok()).collect();
    let all_numbers = numbers.len() == found.first.iter().filter(|kind| is_value(**kind)).count();
    // Years, most often.
    let counts_on = numbers.len() > 1
        && all_numbers
        && numbers.windows(2).all(|pair| matches!(pair, [a, b] if a.checked_add(1) == Some(*b)));
    any && !counts_on && values.all(|(column, first)| is_value(*first) && typed(column.kinds.and(*first)))
}

/// What was found that the options did not say.
#[derive(Default)]
pub(super) struct Found {
    parts: Vec<String>,
}

impl Found {
    /// The spelling of a column.
    pub fn add(&mut self, spelling: &Spelling) {
        let part = match &spelling.dates {
            Some(format) => format!("dates like {}", format.text()),
            None => "decimal commas".to_string(),
        };
        if !self.parts.contains(&part) {
            self.parts.push(part);
        }
    }

    /// The delimiter, the quote and the header, if they were looked for.
    pub fn with_dialect(mut self, options: &CsvOptions) -> Self {
        let looked_for = options.look_for;
        if !options.header && looked_for.header {
            self.parts.insert(0, "no header".into());
        }
        if looked_for.quote && options.quote == Some(b'\'') {
            self.parts.insert(0, "single quotes".into());
        }
        if looked_for.delimiter && options.delimiter != b',' {
            self.parts.insert(0, format!("delimiter {:?}", char::from(options.delimiter)));
        }
        self
    }

    /// All of it in one line.
    pub fn text(self) -> Option<String> {
        (!self.parts.is_empty()).then(|| self.parts.join(", "))
    }
}

/// What may be the delimiter of a file that has one column of this name.
pub(super) fn delimiter_in(name: &str) -> Option<char> {
    DELIMITERS.iter().map(|d| char::from(*d)).find(|d| name.contains(*d))
}

/// What to say of a table with one column whose name looks like several.
pub(super) fn other_delimiter(name: &str) -> Option<Finding> {
    let delimiter = delimiter_in(name)?;
    let message = format!("the only column is called {name:?}; perhaps {delimiter:?} separates the cells");
    Some(Finding { part: "line 1".into(), message })
}
