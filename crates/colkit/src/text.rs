//! How text without types of its own (CSV and its kin, NDJSON) is read.

#[cfg(all(feature = "text", feature = "fs"))]
use crate::TextEncoding;
use arrow::datatypes::DataType;
#[cfg(feature = "at1")]
use colkit_at1::{PackedText, TextReader};
use colkit_core::cells::{Inference, Spelling};
#[cfg(feature = "at1")]
use colkit_core::{Boxed, ReadOptions, Table};
use colkit_core::{Format, Nulls};
#[cfg(feature = "text")]
use colkit_interop::csv::{CsvFormat, CsvOptions, LinesFormat, LookFor};
#[cfg(feature = "text")]
use colkit_interop::ndjson::{NdjsonFormat, NdjsonOptions};
use std::collections::HashSet;
#[cfg(feature = "text")]
use std::sync::Arc;

/// What stands around cells of CSV that hold delimiters or line ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Quote {
    /// Double quotes, or single ones where those are found.
    #[default]
    Found,
    /// This character.
    Char(u8),
    /// Nothing: quotes are content.
    Never,
}

/// What the reader of a text format is told, since the file does not say it.
#[derive(Clone, Debug)]
pub struct TextOptions {
    /// The character between fields; `None` is the format's own or, in CSV, one that is found.
    pub delimiter: Option<u8>,
    /// What stands around cells of CSV.
    pub quote: Quote,
    /// Whether text without cells, such as a log, is a table of one column, `line`.
    pub lines: bool,
    /// Whether the first line names the columns; `None` is what is found.
    pub header: Option<bool>,
    /// The encoding; `None` is UTF-8 or one that is found.
    #[cfg(all(feature = "text", feature = "fs"))]
    pub encoding: Option<TextEncoding>,
    /// How numbers and dates are written. Where nothing is said of them, other spellings are found too.
    pub spelling: Spelling,
    /// Whether what is not said is found by looking at the whole file; otherwise it is the usual.
    pub find: bool,
    /// Types of columns by name. The others are inferred.
    pub types: Vec<(String, DataType)>,
    /// NDJSON: the columns, instead of those that its objects have.
    pub columns: Option<Vec<(String, DataType)>>,
    /// How the types of the others follow from their cells, and which cells are null.
    pub inference: Inference,
    /// Fill up lines that are too short instead of refusing them.
    pub pad_short_rows: bool,
    /// Rename columns whose names repeat (`a`, `a_2`, ...) instead of refusing them.
    pub rename_duplicates: bool,
}

impl Default for TextOptions {
    fn default() -> Self {
        TextOptions {
            delimiter: None,
            quote: Quote::Found,
            lines: true,
            header: None,
            #[cfg(all(feature = "text", feature = "fs"))]
            encoding: None,
            spelling: Spelling::default(),
            find: true,
            types: Vec::new(),
            columns: None,
            inference: Inference::full(),
            pad_short_rows: false,
            rename_duplicates: false,
        }
    }
}

impl TextOptions {
    /// The same, with types inferred such that `format` can store them; see [`Inference::suited_to`]. For formats without
    /// nulls, which have rules of their own, nothing is found.
    pub fn suited_to(mut self, format: &dyn Format, filling: Nulls) -> Self {
        self.inference = self.inference.suited_to(format, filling);
        self.find &= format.stores_nulls();
        self
    }

    /// Reads types as people write them: `id:int32,name:string`.
    #[cfg(feature = "text")]
    pub fn parse_types(list: &str) -> colkit_core::Result<Vec<(String, DataType)>> {
        colkit_interop::csv::parse_schema(list)
    }

    /// The same, with these types for columns of these names, unless a type was given already.
    pub fn with_types(mut self, types: Vec<(String, DataType)>) -> Self {
        let mut given: HashSet<String> = self.types.iter().map(|(name, _)| name.clone()).collect();
        self.types.extend(types.into_iter().filter(|(name, _)| given.insert(name.clone())));
        self
    }

    /// Whether it is left open whether there are cells at all.
    #[cfg(feature = "text")]
    fn is_looking_for_lines(&self) -> bool {
        let told = self.delimiter.is_some() || self.header.is_some() || self.quote != Quote::Found;
        self.find && self.lines && !told && self.types.is_empty() && !self.pad_short_rows
    }

    /// CSV read and written like this, with `delimiter` unless another was given.
    #[cfg(feature = "text")]
    fn csv(&self, delimiter: u8) -> Arc<dyn Format> {
        Arc::new(CsvFormat::new(CsvOptions {
            delimiter: self.delimiter.unwrap_or(delimiter),
            quote: match self.quote {
                Quote::Found => Some(b'"'),
                Quote::Char(quote) => Some(quote),
                Quote::Never => None,
            },
            header: self.header.unwrap_or(true),
            spelling: self.spelling.clone(),
            look_for: LookFor {
                delimiter: self.find && self.delimiter.is_none() && delimiter == b',',
                header: self.find && self.header.is_none(),
                quote: self.find && self.quote == Quote::Found,
                lines: self.is_looking_for_lines() && delimiter == b',',
                spelling: self.find,
            },
            schema: self.types.clone(),
            inference: self.inference.clone(),
            pad_short_rows: self.pad_short_rows,
            rename_duplicates: self.rename_duplicates,
            ..CsvOptions::default()
        }))
    }
}

/// Comma-separated values.
#[cfg(feature = "text")]
pub(crate) fn csv(reading: &TextOptions) -> Arc<dyn Format> {
    reading.csv(b',')
}

/// Tab-separated values.
#[cfg(feature = "text")]
pub(crate) fn tsv(reading: &TextOptions) -> Arc<dyn Format> {
    reading.csv(b'\t')
}

/// Newline-delimited JSON.
#[cfg(feature = "text")]
pub(crate) fn ndjson(reading: &TextOptions) -> Arc<dyn Format> {
    Arc::new(NdjsonFormat {
        options: NdjsonOptions {
            schema: reading.types.clone(),
            columns: reading.columns.clone(),
            booleans: reading.inference.booleans,
            integers64: reading.inference.integers64,
            ..NdjsonOptions::default()
        },
    })
}

/// Lines of text.
#[cfg(feature = "text")]
pub(crate) fn lines() -> Arc<dyn Format> {
    Arc::new(LinesFormat)
}

/// AT-1, with packed texts read like this.
#[cfg(feature = "at1")]
pub(crate) fn at1(reading: &TextOptions) -> Arc<dyn Format> {
    Arc::new(PackedText::new(Arc::new(Packed {
        inference: Arc::new(reading.inference.clone()),
        // The columns that a packed table already has are read in the usual spelling.
        reading: TextOptions { find: false, ..reading.clone() },
    })))
}

/// How packed texts are read: like texts that are not packed.
#[cfg(feature = "at1")]
struct Packed {
    reading: TextOptions,
    inference: Arc<Inference>,
}

#[cfg(feature = "at1")]
impl Packed {
    fn format(&self, head: &[u8]) -> Arc<dyn Format> {
        let objects = ndjson(&self.reading);
        if objects.sniff(head, head) { objects } else { self.reading.csv(self.delimiter(head)) }
    }
}

#[cfg(feature = "at1")]
impl TextReader for Packed {
    fn is_text(&self, head: &[u8]) -> bool {
        // A table may hold NUL, which a file that is to be known by its content must not.
        let with_nul = head.first() != Some(&0) && head.contains(&b'\n');
        let is_utf8 = std::str::from_utf8(head).map_or_else(|e| e.error_len().is_none(), |_| true);
        self.format(head).sniff(head, head) || (with_nul && is_utf8)
    }

    /// What occurs in the first line, and in the second one as often. A comma comes before the others.
    fn delimiter(&self, head: &[u8]) -> u8 {
        let mut lines = head.split(|b| *b == b'\n');
        let (first, second, more) = (lines.next().unwrap_or_default(), lines.next(), lines.next());
        // The last line may be cut, and quotes may hide delimiters.
        let second = second.filter(|line| more.is_some() && !line.is_empty() && !line.contains(&b'"'));
        let count = |line: &[u8], delimiter: u8| line.iter().filter(|b| **b == delimiter).count();
        let fits = |delimiter: &u8| {
            let fields = count(first, *delimiter);
            fields > 0 && second.is_none_or(|line| count(line, *delimiter) == fields)
        };
        let found = if first.contains(&b',') { None } else { [b'\t', b';', b'|'].into_iter().find(fits) };
        self.reading.delimiter.or(found).unwrap_or(b',')
    }

    fn open(&self, head: &[u8], size: u64, options: &ReadOptions) -> Boxed<Arc<dyn Table>> {
        self.format(head).open(size, options)
    }

    fn inference(&self) -> Option<&Arc<Inference>> {
        let TextOptions { header, quote, pad_short_rows, columns, spelling, .. } = &self.reading;
        let as_packed = *header != Some(false)
            && *quote == Quote::Found
            && spelling.is_usual()
            && !pad_short_rows
            && columns.is_none()
            && self.inference.null_words.is_empty();
        as_packed.then_some(&self.inference)
    }

    fn given(&self) -> &[(String, DataType)] {
        &self.reading.types
    }
}
