//! Opening: the one pass that finds out what a CSV file is.
//!
//! ```text
//! [BOM] header-record record* ->  names, one set of kinds per column, row count, and a checkpoint
//!                                 (offset, row, line) at the first record after every few MiB
//! ```
//!
//! Every row is looked at. Memory holds a chunk, or the longest record if that is longer, and the checkpoints.

use super::place::{Place, column_label, lines};
use super::table::{Checkpoint, CsvTable, Survey};
use super::tokens::{Block, Cell, Dialect, Fault, Portion};
use super::window::Window;
use super::{CsvOptions, options::type_name};
use arrow::datatypes::{DataType, Field, Schema};
use bytes::Bytes;
use colkit_core::cells::{Inference, Kinds};
use colkit_core::{ColumnNames, Error, Finding, Limits, Machine, Result, Step, Table, first_repeated, make_unique};
use std::sync::Arc;

pub(super) struct Open {
    options: CsvOptions,
    limits: Limits,
    size: u64,
    window: Window,
    dialect: Option<Dialect>,
    columns: Vec<Column>,
    /// Bytes of the byte order mark, once the header is known.
    bom: Option<u64>,
    block: Block,
    rows: u64,
    checkpoints: Vec<Checkpoint>,
}

/// What is known of a column so far.
struct Column {
    name: String,
    given: Option<DataType>,
    kinds: Kinds,
    /// The line of its first empty cell.
    first_empty: Option<u64>,
}

impl Open {
    pub fn new(options: CsvOptions, size: u64, limits: &Limits) -> Self {
        Open {
            window: Window::new(size, options.pieces.chunk.min(limits.memory / 8), "bad_utf8"),
            options,
            limits: limits.clone(),
            size,
            dialect: None,
            columns: Vec::new(),
            bom: None,
            block: Block::default(),
            rows: 0,
            checkpoints: Vec::new(),
        }
    }

    /// Reads the names, or counts the fields. `false` if that takes more bytes.
    fn header(&mut self, dialect: &Dialect) -> Result<bool> {
        const BOM: &[u8] = b"\xEF\xBB\xBF";
        let at_end = self.window.at_end();
        if self.window.rest().len() < BOM.len() && !at_end {
            return Ok(false);
        }
        let skip = if self.window.rest().starts_with(BOM) { BOM.len() } else { 0 };
        let bytes = self.window.rest();
        let most = usize::try_from(self.limits.columns).unwrap_or(usize::MAX);
        let first = dialect.first(bytes, skip, most, at_end).map_err(|f| self.window.place().locate(f, |_| None))?;
        let (cells, end) = match first {
            Some((cells, end)) if !cells.is_empty() && end > skip => (cells, end),
            None if !at_end => return Ok(false),
            _ => return Err(no_header(self.size, skip, self.options.header)),
        };
        self.limits.check_columns(cells.len() as u64)?;
        let names = if self.options.header {
            self.read_names(&cells, skip)?
        } else {
            (0..cells.len()).map(|i| format!("c{i}")).collect()
        };
        self.columns = given_types(names, &self.options)?;
        self.bom = Some(skip as u64);
        self.window.advance(if self.options.header { end } else { skip });
        self.check_point();
        Ok(true)
    }

    fn read_names(&self, cells: &[Cell], skip: usize) -> Result<Vec<String>> {
        let bytes = self.window.rest();
        let mut names = Vec::with_capacity(cells.len());
        for cell in cells {
            let text = cell.text(bytes);
            Limits::check("a column name", text.raw.len() as u64, self.limits.name_bytes)?;
            let mut name = Vec::new();
            text.append_to(&mut name);
            names.push(String::from_utf8_lossy(&name).into_owned());
        }
        if self.options.rename_duplicates {
            make_unique(&mut names);
        } else if let Some((column, name)) = first_repeated(&names) {
            let at = cells.get(column).map_or(skip, |cell| cell.start());
            let error = Error::corrupt("duplicate_name", format!("a second column called {name:?}"))
                .hint("rename one of them, or have repeated names renamed to a_2, a_3, ... while reading");
            return Err(self.window.place().locate(Fault { at, column: Some(column), error }, |_| None));
        }
        Ok(names)
    }

    /// Notes where the next record starts.
    fn check_point(&mut self) {
        let place = self.window.place();
        self.checkpoints.push(Checkpoint { offset: place.offset, row: self.rows, line: place.line });
    }

    /// Cuts and classifies the next rows. `false` if that takes more bytes, or at the end.
    fn survey(&mut self, dialect: &Dialect) -> Result<bool> {
        let checkpoint = self.options.pieces.checkpoint.min(self.limits.memory / 64).max(1);
        let portion = Portion {
            columns: self.columns.len(),
            rows: usize::MAX,
            bytes: usize::try_from(checkpoint).unwrap_or(usize::MAX),
            at_end: self.window.at_end(),
        };
        let place = self.window.place();
        let cut = dialect.cut(place.bytes, 0, portion, &mut self.block);
        let end = cut.map_err(|f| place.locate(f, |c| Some(self.columns.get(c)?.name.as_str())))?;
        classify(&mut self.columns, &self.block, place, &self.options.inference);
        self.rows += self.block.rows as u64;
        self.window.advance(end);
        if let Some(last) = self.checkpoints.last() {
            let start = self.window.place().offset;
            if start - last.offset >= checkpoint && self.rows > last.row && start < self.size {
                self.check_point();
            }
        }
        Ok(end > 0)
    }

    fn finish(&mut self, dialect: Dialect) -> CsvTable {
        let inference = &self.options.inference;
        let mut findings = Vec::new();
        let mut fields = Vec::with_capacity(self.columns.len());
        for (index, column) in std::mem::take(&mut self.columns).into_iter().enumerate() {
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
        CsvTable::new(Survey {
            schema: Arc::new(Schema::new(fields)),
            size: self.size,
            bom: self.bom.unwrap_or(0),
            header: self.options.header,
            rows: self.rows,
            checkpoints: std::mem::take(&mut self.checkpoints),
            dialect,
            inference: Arc::new(self.options.inference.clone()),
            findings,
        })
    }
}

impl Machine for Open {
    type Output = Arc<dyn Table>;

    fn step(&mut self, got: Vec<Bytes>) -> Result<Step<Self::Output>> {
        let dialect = match &self.dialect {
            Some(dialect) => dialect.clone(),
            None => self.dialect.insert(self.options.dialect(&self.limits)?).clone(),
        };
        for bytes in &got {
            self.window.accept(bytes)?;
        }
        let goes_on = self.bom.is_some() || self.header(&dialect)?;
        if goes_on {
            while self.survey(&dialect)? {}
        }
        if self.window.at_end() { Ok(Step::Ready(Arc::new(self.finish(dialect)))) } else { Ok(self.window.need()) }
    }
}

fn no_header(size: u64, skip: usize, header: bool) -> Error {
    let message = match (size == skip as u64, header) {
        (true, _) => "the file is empty",
        (false, true) => "the first line is blank; expected the names of the columns",
        (false, false) => "the first line is blank, so the columns cannot be counted",
    };
    Error::corrupt("csv_no_header", message).at(skip as u64).part("line 1")
}

/// The columns with the types the user has given them.
fn given_types(names: Vec<String>, options: &CsvOptions) -> Result<Vec<Column>> {
    let schema = Schema::new(names.iter().map(|n| Field::new(n, DataType::Utf8, false)).collect::<Vec<_>>());
    let known = ColumnNames::new(&schema);
    let column = |name| Column { name, given: None, kinds: Kinds::default(), first_empty: None };
    let mut columns: Vec<Column> = names.into_iter().map(column).collect();
    for (name, data_type) in &options.schema {
        let index = known.index(name).map_err(|e| e.part("the types given for columns"))?;
        if let Some(column) = columns.get_mut(index) {
            column.given = Some(data_type.clone());
        }
    }
    Ok(columns)
}

/// Adds the kinds of a block's cells to their columns.
fn classify(columns: &mut [Column], block: &Block, place: Place<'_>, inference: &Inference) {
    let mut empties: Vec<(usize, usize)> = Vec::new();
    for (index, column) in columns.iter_mut().enumerate() {
        if column.given.is_some() || column.kinds.settled(inference) {
            continue;
        }
        for cell in block.column(index) {
            let kind = Kinds::of_cell(cell.text(place.bytes), inference);
            if kind == Kinds::EMPTY && !column.kinds.has(kind) {
                empties.push((cell.start(), index));
            }
            column.kinds.add(kind);
        }
    }
    // One sweep over the block finds the lines of all of them, however many columns there are.
    empties.sort_unstable();
    let (mut at, mut line) = (0, place.line);
    for (start, index) in empties {
        line += lines(place.bytes.get(at..start).unwrap_or_default());
        at = start;
        if let Some(column) = columns.get_mut(index) {
            column.first_empty = Some(line);
        }
    }
}

fn empty_cell(index: usize, name: &str, line: u64, inferred: &DataType) -> Finding {
    let inferred = type_name(inferred);
    Finding {
        part: format!("line {line}, {}", column_label(index, Some(name))),
        message: format!("an empty cell makes the column string; with nulls filled in, it would be {inferred}"),
    }
}
