//! Finds out what a file does not say: what stands between its cells, and whether its first line has the names.
//!
//! Every delimiter that occurs in the first record is tried on the whole file. One with which all records have as many
//! fields as the first is the one; of several, that with the most columns. So no row fails later.

use super::open::{Failed, Surveyed, survey};
use super::{CsvOptions, LookFor};
use crate::text::{Excerpt, Pass};
use colkit_core::cells::{Kinds, Spelling};
use colkit_core::coroutine::Io;
use colkit_core::{Error, Finding, Limits, Result};

/// Delimiters that are looked for beside the one of the options, the most usual first.
const DELIMITERS: [u8; 4] = [b',', b'\t', b';', b'|'];

/// So many rows with as many fields as the first record are no accident: another row then is the mistake, not the
/// delimiter.
const NO_ACCIDENT: u64 = 3;

/// What the file is like, and the options with which that was found.
pub(super) async fn surveyed(
    io: &Io,
    size: u64,
    mut options: CsvOptions,
    limits: &Limits,
) -> Result<(CsvOptions, Surveyed)> {
    let start = || Pass::start(io.clone(), size, options.pieces, limits);
    let mut pass = start().await?;
    let delimiters = match options.look_for.delimiter {
        true => pass.header(|text, at_end| candidates(text, at_end, &options, limits)).await?,
        false => vec![options.delimiter],
    };
    let mut passes = Some(pass);
    let mut best: Option<(u8, Surveyed)> = None;
    let mut failed: Option<Failed> = None;
    for delimiter in delimiters {
        let pass = match passes.take() {
            Some(pass) => pass,
            None => start().await?,
        };
        match survey(pass, &CsvOptions { delimiter, ..options.clone() }, limits).await {
            Ok(found) if best.as_ref().is_none_or(|(_, b)| found.columns.len() > b.columns.len()) => {
                best = Some((delimiter, found));
            }
            Ok(_) => {}
            Err(this) if !matches!(this.error.code(), "csv_ragged" | "csv_quote") => return Err(this.error),
            Err(this) if failed.as_ref().is_none_or(|f| this.rows > f.rows) => failed = Some(this),
            Err(_) => {}
        }
    }
    let (delimiter, found) = match (best, failed) {
        (Some(best), _) => best,
        // Text in which a semicolon or two occur is a column of its own.
        (None, Some(failed)) if failed.rows < NO_ACCIDENT && options.look_for.delimiter => {
            match survey(start().await?, &options, limits).await {
                Ok(found) => (options.delimiter, found),
                Err(_) => return Err(failed.error),
            }
        }
        (None, Some(failed)) => return Err(failed.error),
        (None, None) => return Err(Error::internal("no delimiter was tried")),
    };
    options.delimiter = delimiter;
    if options.look_for.header && is_data(&found, &options) {
        options.header = false;
        let found = survey(Pass::start(io.clone(), size, options.pieces, limits).await?, &options, limits).await;
        return Ok((options, found.map_err(|failed| failed.error)?));
    }
    match found.repeated {
        Some(error) => Err(error),
        None => Ok((options, found)),
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
    for delimiter in DELIMITERS {
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

    /// The delimiter and the header, if they were looked for.
    pub fn with_dialect(mut self, delimiter: u8, header: bool, looked_for: LookFor) -> Self {
        if !header && looked_for.header {
            self.parts.insert(0, "no header".into());
        }
        if looked_for.delimiter && delimiter != b',' {
            self.parts.insert(0, format!("delimiter {:?}", char::from(delimiter)));
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
