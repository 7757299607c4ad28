//! Opening: the names of the columns, then the kinds of all cells.

use super::look::{self, Found, Looked};
use super::options::type_name;
use super::rows::CsvRecords;
use super::tokens::{Block, Cell, Dialect, Portion};
use super::{CsvOptions, LookFor, lines as line_table};
use crate::text::{Excerpt, Fault, Pass, Surveyor, TextIndex, TextTable, column_label, lines};
use arrow::datatypes::{DataType, Field, Schema};
use colkit_core::cells::{CellText, FittingSpellings, Inference, Kinds, Spelling};
use colkit_core::coroutine::coroutine;
use colkit_core::{Boxed, ColumnNames, Error, Finding, Limits, Result, Setting, Table, first_repeated, make_unique};
use std::sync::Arc;

/// Opens a file of `size` bytes.
pub(super) fn open(options: CsvOptions, size: u64, limits: Limits) -> Boxed<Arc<dyn Table>> {
    coroutine(move |io| async move {
        let pieces = options.pieces;
        let (options, surveyed) = match look::looked(&io, size, options, &limits).await? {
            Looked::Cells(options, surveyed) => (options, *surveyed),
            Looked::Lines => return line_table::open(&io, size, pieces, &limits, Some(look::LINES.into())).await,
        };
        let Surveyed { columns, dialect, index, .. } = surveyed;
        let typed = TypedColumns::of(columns, &options);
        let schema = Arc::new(Schema::new(typed.fields));
        let found = typed.found.with_dialect(&options).text();
        let records = CsvRecords {
            schema: schema.clone(),
            dialect,
            inference: Arc::new(options.inference),
            spellings: typed.spellings,
            header: options.header,
            found,
        };
        let table: Arc<dyn Table> = Arc::new(TextTable::new(schema, index, records, typed.findings));
        Ok(table)
    })
}

/// What one pass over a file has found out.
pub(super) struct Surveyed {
    pub columns: Vec<ColumnKinds>,
    pub dialect: Dialect,
    pub index: TextIndex,
    /// The kinds of the cells of the first record, if it was taken for a header.
    pub first: Vec<Kinds>,
    /// What is wrong if it is one.
    pub repeated: Option<Error>,
    /// Cells in other quotes than double ones, and whether others begin with a double one.
    pub quoted: (u64, bool),
}

/// Why a pass has failed, and after how many rows.
pub(super) struct Failed {
    pub error: Error,
    pub rows: u64,
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Failed { error, rows: 0 }
    }
}

/// Goes over the file, from the start of it.
pub(super) async fn survey(
    mut pass: Pass,
    options: &CsvOptions,
    limits: &Limits,
) -> std::result::Result<Surveyed, Failed> {
    let mut dialect = options.dialect(limits)?;
    let FirstRecord { names, kinds, repeated } =
        pass.header(|text, at_end| first_record(text, at_end, &dialect, options, limits)).await?;
    if let [only] = names.as_slice() {
        dialect.perhaps = look::delimiter_in(only);
    }
    let columns = given_types(names, options)?;
    let inference = options.inference.clone();
    let spelling = options.spelling.clone();
    let (block, quoted) = (Block::default(), (0, false));
    let mut survey = Survey { columns, dialect, inference, spelling, block, rows: 0, quoted };
    match pass.records(&mut survey).await {
        Ok(index) => {
            let Survey { columns, dialect, quoted, .. } = survey;
            Ok(Surveyed { columns, dialect, index, first: kinds, repeated, quoted })
        }
        Err(error) => Err(Failed { error, rows: survey.rows }),
    }
}

/// The names of the columns, and what the record is like that they are from.
struct FirstRecord {
    names: Vec<String>,
    kinds: Vec<Kinds>,
    repeated: Option<Error>,
}

/// The names in the first record, or as many as it has fields, and the length of the header. `None` if that takes more
/// text.
fn first_record(
    text: Excerpt<'_>,
    at_end: bool,
    dialect: &Dialect,
    options: &CsvOptions,
    limits: &Limits,
) -> Result<Option<(FirstRecord, usize)>> {
    let most = usize::try_from(limits.columns).unwrap_or(usize::MAX);
    let first = dialect.first(text.bytes, 0, most, at_end).map_err(|f| text.locate(f, |_| None))?;
    let Some((cells, end)) = first else { return Ok(None) };
    if cells.is_empty() || end == 0 {
        return Err(no_header(text, options.header));
    }
    limits.check_columns(cells.len() as u64)?;
    if !options.header {
        let names = (0..cells.len()).map(|i| format!("c{i}")).collect();
        return Ok(Some((FirstRecord { names, kinds: Vec::new(), repeated: None }, 0)));
    }
    let kinds: Vec<Kinds> = cells.iter().map(|c| Kinds::of_cell(c.text(text.bytes), &options.inference)).collect();
    let (mut names, repeated) = names_in(text, &cells, options.rename_duplicates, limits)?;
    let may_be_data = options.look_for.header && kinds.iter().any(|kind| look::is_value(*kind));
    match repeated {
        Some(error) if !may_be_data => Err(error),
        repeated => {
            make_unique(&mut names);
            Ok(Some((FirstRecord { names, kinds, repeated }, end)))
        }
    }
}

/// The names in a record, and what is wrong with them.
fn names_in(text: Excerpt<'_>, cells: &[Cell], rename: bool, limits: &Limits) -> Result<(Vec<String>, Option<Error>)> {
    let mut names = Vec::with_capacity(cells.len());
    for cell in cells {
        let content = cell.text(text.bytes);
        Limits::check("a column name", content.raw.len() as u64, limits.name_bytes)?;
        let mut name = Vec::new();
        content.append_to(&mut name);
        names.push(String::from_utf8_lossy(&name).into_owned());
    }
    let repeated = first_repeated(&names).filter(|_| !rename).map(|(column, name)| {
        let at = cells.get(column).map_or(0, |cell| cell.start());
        let error = Error::corrupt("duplicate_name", format!("a second column called {name:?}"))
            .hint(Setting::RenameDuplicates.does("calls it a_2, a_3, ..."));
        text.locate(Fault::new(at, error).in_column(column), |_| None)
    });
    Ok((names, repeated))
}

fn no_header(text: Excerpt<'_>, header: bool) -> Error {
    let message = match (text.bytes.is_empty(), header) {
        (true, _) => "the file is empty",
        (false, true) => "the first line is blank; expected the names of the columns",
        (false, false) => "the first line is blank, so the columns cannot be counted",
    };
    Error::corrupt("csv_no_header", message).at(text.offset).part("line 1")
}

/// What is known of a column so far.
pub(super) struct ColumnKinds {
    pub name: String,
    given: Option<DataType>,
    pub kinds: Kinds,
    /// Other spellings of numbers and dates that fit it.
    fitting: FittingSpellings,
    /// The line of its first empty cell.
    first_empty: Option<u64>,
}

/// The columns with the types the user has given them.
fn given_types(names: Vec<String>, options: &CsvOptions) -> Result<Vec<ColumnKinds>> {
    let schema = Schema::new(names.iter().map(|n| Field::new(n, DataType::Utf8, false)).collect::<Vec<_>>());
    let known = ColumnNames::new(&schema);
    let fitting = match options.look_for.spelling {
        // A comma cannot separate cells and fractions.
        true => FittingSpellings::beside(&options.spelling, options.delimiter != b','),
        false => FittingSpellings::NONE,
    };
    let column = |name| ColumnKinds { name, given: None, kinds: Kinds::default(), fitting, first_empty: None };
    let mut columns: Vec<ColumnKinds> = names.into_iter().map(column).collect();
    for (name, data_type) in &options.schema {
        let index = known.index(name).map_err(|e| e.part("the types given for columns"))?;
        if let Some(column) = columns.get_mut(index) {
            column.given = Some(data_type.clone());
        }
    }
    Ok(columns)
}

struct Survey {
    columns: Vec<ColumnKinds>,
    dialect: Dialect,
    inference: Inference,
    spelling: Spelling,
    block: Block,
    rows: u64,
    quoted: (u64, bool),
}

impl Surveyor for Survey {
    fn survey(&mut self, text: Excerpt<'_>, most: usize, at_end: bool) -> Result<(usize, u64)> {
        let portion = Portion { columns: self.columns.len(), rows: usize::MAX, bytes: most, at_end };
        let cut = self.dialect.cut(text.bytes, 0, portion, &mut self.block);
        // Rows before a fault were cut as well.
        self.rows += self.block.rows as u64;
        let end = cut.map_err(|f| text.locate(f, |c| Some(self.columns.get(c)?.name.as_str())))?;
        self.classify(text);
        if let Some(quote) = self.dialect.quote.filter(|quote| *quote != b'"') {
            let (quoted, others) = self.block.quoted_by(quote, text.bytes);
            self.quoted = (self.quoted.0 + quoted, self.quoted.1 | others);
        }
        Ok((end, self.block.rows as u64))
    }
}

impl Survey {
    /// Adds the kinds of a block's cells to their columns.
    fn classify(&mut self, text: Excerpt<'_>) {
        let usual = self.spelling.is_usual();
        let mut buffer = Vec::new();
        let mut empties: Vec<(usize, usize)> = Vec::new();
        for (index, column) in self.columns.iter_mut().enumerate() {
            let decided = column.given.is_some() || column.kinds.settled(&self.inference);
            if decided && !column.fitting.any() {
                continue;
            }
            for cell in self.block.column(index) {
                let content = cell.text(text.bytes);
                let kind = match usual || self.inference.is_null_word(content.raw) {
                    true => Kinds::of_cell(content, &self.inference),
                    false => {
                        let raw = self.spelling.usual(content.raw, &mut buffer);
                        Kinds::of_cell(CellText { raw, ..content }, &self.inference)
                    }
                };
                if kind == Kinds::EMPTY && !column.kinds.has(kind) {
                    empties.push((cell.start(), index));
                }
                column.kinds.add(kind);
                if column.fitting.any() {
                    column.fitting.add(content.raw, kind);
                }
            }
        }
        // One sweep over the block finds the lines of all of them, however many columns there are.
        empties.sort_unstable();
        let (mut at, mut line) = (0, text.line);
        for (start, index) in empties {
            line += lines(text.bytes.get(at..start).unwrap_or_default());
            at = start;
            if let Some(column) = self.columns.get_mut(index) {
                column.first_empty = Some(line);
            }
        }
    }
}

/// The types that follow from the cells, and what is odd about them.
struct TypedColumns {
    fields: Vec<Field>,
    /// How the cells of each column are written, if that is not as usual.
    spellings: Vec<Option<Arc<Spelling>>>,
    findings: Vec<Finding>,
    found: Found,
}

impl TypedColumns {
    fn of(columns: Vec<ColumnKinds>, options: &CsvOptions) -> Self {
        let inference = &options.inference;
        let told = (!options.spelling.is_usual()).then(|| Arc::new(options.spelling.clone()));
        let mut typed = TypedColumns {
            fields: Vec::with_capacity(columns.len()),
            spellings: Vec::with_capacity(columns.len()),
            findings: Vec::new(),
            found: Found::default(),
        };
        if let ([only], LookFor { delimiter: false, .. }) = (columns.as_slice(), options.look_for) {
            typed.findings.extend(look::other_delimiter(&only.name));
        }
        for (index, column) in columns.into_iter().enumerate() {
            let mut spelling = told.clone();
            let inferred = column.kinds.data_type(inference);
            let found = column.fitting.only(inference).filter(|_| inferred == DataType::Utf8);
            if let Some((found, _)) = found {
                typed.found.add(found);
                spelling = Some(Arc::new(found.clone()));
            }
            let (data_type, nullable) = match column.given {
                Some(given) => {
                    let nullable = given != DataType::Utf8 || !inference.null_words.is_empty();
                    (given, nullable)
                }
                None => {
                    let mut data_type = found.map_or(inferred, |(_, data_type)| data_type);
                    if let Some(line) = column.first_empty.filter(|_| !inference.empty_is_null)
                        && data_type != DataType::Utf8
                    {
                        typed.findings.push(empty_cell(index, &column.name, line, &data_type));
                        data_type = DataType::Utf8;
                    }
                    let nullable = column.kinds.nullable(&data_type, inference);
                    (data_type, nullable)
                }
            };
            typed.spellings.push(spelling.filter(|_| data_type != DataType::Utf8));
            typed.fields.push(Field::new(column.name, data_type, nullable));
        }
        typed
    }
}

fn empty_cell(index: usize, name: &str, line: u64, inferred: &DataType) -> Finding {
    let inferred = type_name(inferred);
    Finding {
        part: format!("line {line}, {}", column_label(index, Some(name))),
        message: format!("an empty cell makes the column string; with nulls filled in, it would be {inferred}"),
    }
}
