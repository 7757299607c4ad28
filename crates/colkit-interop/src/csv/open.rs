//! Opening: the names of the columns, then the kinds of all cells.

use super::CsvOptions;
use super::options::type_name;
use super::rows::CsvRecords;
use super::tokens::{Block, Cell, Dialect, Portion};
use crate::text::{Excerpt, Fault, Pass, Surveyor, TextTable, column_label, lines};
use arrow::datatypes::{DataType, Field, Schema};
use colkit_core::cells::{Inference, Kinds};
use colkit_core::coroutine::coroutine;
use colkit_core::{Boxed, ColumnNames, Error, Finding, Limits, Result, Table, first_repeated, make_unique};
use std::sync::Arc;

/// Opens a file of `size` bytes.
pub(super) fn open(options: CsvOptions, size: u64, limits: Limits) -> Boxed<Arc<dyn Table>> {
    coroutine(move |io| async move {
        let dialect = options.dialect(&limits)?;
        let mut pass = Pass::start(io, size, options.pieces, &limits).await?;
        let names = pass.header(|text, at_end| names(text, at_end, &dialect, &options, &limits)).await?;
        let columns = given_types(names, &options)?;
        let mut survey = Survey { columns, dialect, inference: options.inference, block: Block::default() };
        let index = pass.records(&mut survey).await?;
        let Survey { columns, dialect, inference, .. } = survey;
        let (schema, findings) = schema(columns, &inference);
        let schema = Arc::new(schema);
        let records =
            CsvRecords { schema: schema.clone(), dialect, inference: Arc::new(inference), header: options.header };
        let table: Arc<dyn Table> = Arc::new(TextTable::new(schema, index, records, findings));
        Ok(table)
    })
}

/// The names in the first record, or as many as it has fields, and the length of the header. `None` if that takes more
/// text.
fn names(
    text: Excerpt<'_>,
    at_end: bool,
    dialect: &Dialect,
    options: &CsvOptions,
    limits: &Limits,
) -> Result<Option<(Vec<String>, usize)>> {
    let most = usize::try_from(limits.columns).unwrap_or(usize::MAX);
    let first = dialect.first(text.bytes, 0, most, at_end).map_err(|f| text.locate(f, |_| None))?;
    let Some((cells, end)) = first else { return Ok(None) };
    if cells.is_empty() || end == 0 {
        return Err(no_header(text, options.header));
    }
    limits.check_columns(cells.len() as u64)?;
    if !options.header {
        return Ok(Some(((0..cells.len()).map(|i| format!("c{i}")).collect(), 0)));
    }
    Ok(Some((names_in(text, &cells, options.rename_duplicates, limits)?, end)))
}

fn names_in(text: Excerpt<'_>, cells: &[Cell], rename: bool, limits: &Limits) -> Result<Vec<String>> {
    let mut names = Vec::with_capacity(cells.len());
    for cell in cells {
        let content = cell.text(text.bytes);
        Limits::check("a column name", content.raw.len() as u64, limits.name_bytes)?;
        let mut name = Vec::new();
        content.append_to(&mut name);
        names.push(String::from_utf8_lossy(&name).into_owned());
    }
    if rename {
        make_unique(&mut names);
    } else if let Some((column, name)) = first_repeated(&names) {
        let at = cells.get(column).map_or(0, |cell| cell.start());
        let error = Error::corrupt("duplicate_name", format!("a second column called {name:?}"))
            .hint("rename one of them, or have repeated names renamed to a_2, a_3, ... while reading");
        return Err(text.locate(Fault::new(at, error).in_column(column), |_| None));
    }
    Ok(names)
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
struct ColumnKinds {
    name: String,
    given: Option<DataType>,
    kinds: Kinds,
    /// The line of its first empty cell.
    first_empty: Option<u64>,
}

/// The columns with the types the user has given them.
fn given_types(names: Vec<String>, options: &CsvOptions) -> Result<Vec<ColumnKinds>> {
    let schema = Schema::new(names.iter().map(|n| Field::new(n, DataType::Utf8, false)).collect::<Vec<_>>());
    let known = ColumnNames::new(&schema);
    let column = |name| ColumnKinds { name, given: None, kinds: Kinds::default(), first_empty: None };
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
    block: Block,
}

impl Surveyor for Survey {
    fn survey(&mut self, text: Excerpt<'_>, most: usize, at_end: bool) -> Result<(usize, u64)> {
        let portion = Portion { columns: self.columns.len(), rows: usize::MAX, bytes: most, at_end };
        let cut = self.dialect.cut(text.bytes, 0, portion, &mut self.block);
        let end = cut.map_err(|f| text.locate(f, |c| Some(self.columns.get(c)?.name.as_str())))?;
        classify(&mut self.columns, &self.block, text, &self.inference);
        Ok((end, self.block.rows as u64))
    }
}

/// Adds the kinds of a block's cells to their columns.
fn classify(columns: &mut [ColumnKinds], block: &Block, text: Excerpt<'_>, inference: &Inference) {
    let mut empties: Vec<(usize, usize)> = Vec::new();
    for (index, column) in columns.iter_mut().enumerate() {
        if column.given.is_some() || column.kinds.settled(inference) {
            continue;
        }
        for cell in block.column(index) {
            let kind = Kinds::of_cell(cell.text(text.bytes), inference);
            if kind == Kinds::EMPTY && !column.kinds.has(kind) {
                empties.push((cell.start(), index));
            }
            column.kinds.add(kind);
        }
    }
    // One sweep over the block finds the lines of all of them, however many columns there are.
    empties.sort_unstable();
    let (mut at, mut line) = (0, text.line);
    for (start, index) in empties {
        line += lines(text.bytes.get(at..start).unwrap_or_default());
        at = start;
        if let Some(column) = columns.get_mut(index) {
            column.first_empty = Some(line);
        }
    }
}

/// The types that follow from the cells, and what is odd about them.
fn schema(columns: Vec<ColumnKinds>, inference: &Inference) -> (Schema, Vec<Finding>) {
    let mut findings = Vec::new();
    let mut fields = Vec::with_capacity(columns.len());
    for (index, column) in columns.into_iter().enumerate() {
        let (data_type, nullable) = match column.given {
            Some(given) => {
                let nullable = given != DataType::Utf8 || !inference.null_words.is_empty();
                (given, nullable)
            }
            None => {
                let mut data_type = column.kinds.data_type(inference);
                if let Some(line) = column.first_empty.filter(|_| !inference.empty_is_null)
                    && data_type != DataType::Utf8
                {
                    findings.push(empty_cell(index, &column.name, line, &data_type));
                    data_type = DataType::Utf8;
                }
                let nullable = column.kinds.nullable(&data_type, inference);
                (data_type, nullable)
            }
        };
        fields.push(Field::new(column.name, data_type, nullable));
    }
    (Schema::new(fields), findings)
}

fn empty_cell(index: usize, name: &str, line: u64, inferred: &DataType) -> Finding {
    let inferred = type_name(inferred);
    Finding {
        part: format!("line {line}, {}", column_label(index, Some(name))),
        message: format!("an empty cell makes the column string; with nulls filled in, it would be {inferred}"),
    }
}
