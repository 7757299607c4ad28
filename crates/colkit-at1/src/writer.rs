//! Tables as queryable AT-1 files.
//!
//! A table is written as the CSV text it would be, row group by row group: names in the first line, cells quoted where they
//! need it. What CSV lines cannot say, a line break or null inside text, turns the whole table into JSON lines, which
//! can. Integers and decimals get zone maps; where they are null, the cell is empty (or `null`).
//!
//! Like everything that is packed, the file is restored and compared by its hash before the sink is committed.

use crate::codec::Codec;
use crate::codec::qcolumnar::encode::TableEncoder;
use crate::codec::qjson::encode::{ObjectEncoder, Template};
use crate::encode::compress::Effort;
use crate::encode::groups::{Given, Settings};
use crate::encode::lines::{Field, fields};
use crate::encode::plan::{LineEncoder, TableLayout};
use crate::encode::set::Stream;
use crate::encode::whole::{trailer, whole_file};
use crate::queryable::typing::{self, Typing};
use crate::restore::{Integrity, RestoreOptions, restore_with};
use crate::writer::cells::Cells;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use colkit_core::{
    Class, Error, Result, Sink, Source, TableWriter, Types, WriteOptions, WriteSummary, check_batch, unique_names,
};
use sha2::{Digest, Sha256};

mod cells;

/// Text that is hashed at once.
const HASHED_BYTES: usize = 64 << 10;

/// Rows of a group.
const GROUP_ROWS: usize = 65_536;

pub struct At1Writer {
    schema: SchemaRef,
    sink: Box<dyn Sink>,
    names: Vec<String>,
    types: Vec<Given>,
    settings: Settings,
    lossy: bool,
    form: OutputForm,
    hash: Sha256,
    /// Text that the hash has not seen yet.
    text: Vec<u8>,
    /// What stands before each value of a JSON line.
    keys: Vec<Vec<u8>>,
    summary: WriteSummary,
    /// Floats without a number that were written as null.
    not_numbers: u64,
}

/// What is being written.
enum OutputForm {
    Csv(Box<TableEncoder>),
    Json(Box<ObjectEncoder>),
    /// While one becomes the other.
    Neither,
}

impl At1Writer {
    pub fn new(schema: SchemaRef, sink: Box<dyn Sink>, options: &WriteOptions) -> Result<Self> {
        if schema.fields().is_empty() {
            return Err(Error::data("no_columns", "an AT-1 file cannot hold a table without columns"));
        }
        let effort = match options.level {
            None | Some(4..=6) => Effort::Default,
            Some(0..=3) => Effort::Fast,
            Some(7..=9) => Effort::Best,
            Some(level) => {
                return Err(Error::request("bad_level", format!("expected a level from 0 to 9, found {level}"))
                    .hint("0 to 3 is fast, 4 to 6 the default, 7 to 9 as small as can be"));
            }
        };
        let mut summary = WriteSummary::default();
        let names = unique_names(&schema, options.rename_duplicates, &mut summary.notes)?;
        let lossy = options.types == Types::Lossy;
        let fields = schema.fields().iter().enumerate();
        let types = fields
            .map(|(i, f)| {
                let part = |e: Error| e.part(format!("column {i} {:?}", f.name()));
                cells::type_of(f.data_type(), options.types).map_err(part)
            })
            .collect::<Result<Vec<_>>>()?;
        let changes = schema.fields().iter().zip(&types).zip(&names);
        summary.notes.extend(changes.filter_map(|((field, kind), name)| cells::note(field.data_type(), *kind, name)));
        let batch_bytes = usize::try_from(options.memory / 8).unwrap_or(usize::MAX).clamp(1 << 20, 64 << 20);
        let settings = Settings {
            // Wide tables have groups of fewer rows, so that a group stays within memory.
            group_rows: (batch_bytes / 16 / names.len()).clamp(1024, GROUP_ROWS),
            batch_bytes,
            effort,
            quick: true,
            threads: options.threads,
            spill_folder: options.spill_folder.clone(),
        };
        let mut writer = At1Writer {
            schema,
            sink,
            names,
            types,
            settings,
            lossy,
            form: OutputForm::Neither,
            hash: Sha256::new(),
            text: Vec::new(),
            keys: Vec::new(),
            summary,
            not_numbers: 0,
        };
        if writer.names.iter().any(|n| n.contains('\n')) {
            writer.start_json()?
        } else {
            writer.start_csv()?
        }
        Ok(writer)
    }

    fn start_csv(&mut self) -> Result<()> {
        let layout = TableLayout { delimiter: b',', header: true, columns: self.names.len() };
        let mut table = TableEncoder::new(layout, self.settings.clone()).with_types(self.types.clone());
        let mut header = Vec::new();
        for (i, name) in self.names.iter().enumerate() {
            if i > 0 {
                header.push(b',');
            }
            cells::push_csv(name.as_bytes(), &mut header);
        }
        table.verbatim(&header)?;
        self.text.extend_from_slice(&header);
        self.text.push(b'\n');
        self.form = OutputForm::Csv(Box::new(table));
        Ok(())
    }

    fn start_json(&mut self) -> Result<()> {
        self.keys.clear();
        let mut skeleton = Vec::new();
        for (i, name) in self.names.iter().enumerate() {
            let mut key = vec![if i == 0 { b'{' } else { b',' }];
            cells::push_json(name, &mut key);
            key.push(b':');
            skeleton.extend_from_slice(&key);
            skeleton.push(0);
            self.keys.push(key);
        }
        skeleton.push(b'}');
        let names = self.names.iter().map(|n| n.as_bytes().to_vec()).collect();
        let template = Template { skeleton, names, uses: 0, bytes: 0 };
        let lines = ObjectEncoder::new(vec![template], false, &self.settings).with_types(self.types.clone());
        self.form = OutputForm::Json(Box::new(lines));
        Ok(())
    }

    /// Turns what was written so far into JSON lines.
    fn become_json(&mut self) -> Result<()> {
        let OutputForm::Csv(table) = std::mem::replace(&mut self.form, OutputForm::Neither) else { return Ok(()) };
        let rows = table.into_rows()?;
        self.hash = Sha256::new();
        self.text.clear();
        self.start_json()?;
        let types = self.types.clone();
        let mut texts: Vec<Vec<u8>> = vec![Vec::new(); types.len()];
        rows.visit(|row| {
            for ((cell, text), kind) in row.iter().zip(&mut texts).zip(&types) {
                text.clear();
                // The cell may be quoted; alone it is a line of one field.
                let content = fields(cell, b'\n').next().map(Field::content).unwrap_or_default();
                match kind {
                    Given::Text => cells::push_json(&String::from_utf8_lossy(&content), text),
                    _ if content.is_empty() => text.extend_from_slice(b"null"),
                    _ => text.extend_from_slice(&content),
                }
            }
            self.json_row(texts.iter().map(Vec::as_slice))
        })
    }

    fn json_row<'c>(&mut self, cells: impl Iterator<Item = &'c [u8]> + Clone) -> Result<()> {
        let OutputForm::Json(lines) = &mut self.form else { return Ok(()) };
        for (cell, key) in cells.clone().zip(&self.keys) {
            self.text.extend_from_slice(key);
            self.text.extend_from_slice(cell);
        }
        self.text.extend_from_slice(b"}\n");
        lines.row(cells)?;
        self.hash_if_long();
        Ok(())
    }

    fn csv_row<'c>(&mut self, cells: impl Iterator<Item = &'c [u8]> + Clone) -> Result<()> {
        let OutputForm::Csv(table) = &mut self.form else { return Ok(()) };
        for (i, cell) in cells.clone().enumerate() {
            if i > 0 {
                self.text.push(b',');
            }
            self.text.extend_from_slice(cell);
        }
        self.text.push(b'\n');
        table.row(cells)?;
        self.hash_if_long();
        Ok(())
    }

    /// Hashing cell by cell would take longer than making the cells.
    fn hash_if_long(&mut self) {
        if self.text.len() > HASHED_BYTES {
            self.hash.update(&self.text);
            self.text.clear();
        }
    }
}

impl TableWriter for At1Writer {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        check_batch(&self.schema, batch)?;
        let mut columns = Vec::with_capacity(self.types.len());
        for ((array, kind), name) in batch.columns().iter().zip(&self.types).zip(&self.names) {
            let column = Cells::of(array, *kind, self.lossy, self.summary.rows)
                .map_err(|e| e.part(format!("column {name:?}")))?;
            self.not_numbers += column.not_numbers;
            columns.push(column);
        }
        if matches!(self.form, OutputForm::Csv(_)) && columns.iter().any(Cells::needs_json) {
            self.become_json()?;
        }
        let is_json = matches!(self.form, OutputForm::Json(_));
        let mut texts: Vec<Vec<u8>> = vec![Vec::new(); columns.len()];
        for row in 0..batch.num_rows() {
            for (column, text) in columns.iter().zip(&mut texts) {
                text.clear();
                column.push(row, is_json, text)?;
            }
            let cells = texts.iter().map(Vec::as_slice);
            if is_json { self.json_row(cells)? } else { self.csv_row(cells)? }
        }
        self.summary.rows += batch.num_rows() as u64;
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<WriteSummary> {
        let (codec, mut set) = match std::mem::replace(&mut self.form, OutputForm::Neither) {
            OutputForm::Csv(table) => (Codec::Qcolumnar, table.finish(true)?),
            // No row at all: JSON lines have no header, so there is nothing but one empty line.
            OutputForm::Json(lines) if self.summary.rows > 0 => (Codec::Qjson, lines.finish(true)?),
            _ => return Err(Error::data("name_not_supported", "names with line breaks need at least one row")),
        };
        set.streams.push(Stream::new(typing::NAME, Typing::Given.to_bytes()));
        self.hash.update(&self.text);
        let mut file = whole_file(codec, set, self.settings.effort, self.settings.threads)?;
        file.push_bytes(trailer(self.hash.finalize().into()));
        let options = RestoreOptions {
            threads: self.settings.threads,
            integrity: Integrity::Require,
            ..RestoreOptions::default()
        };
        restore_with(&file, &options, &mut |_| Ok(())).map_err(|e| match e.class() {
            Class::Corrupt => Error::internal("the written file does not restore to what was written").caused_by(e),
            _ => e,
        })?;
        file.copy_to(self.sink.as_mut())?;
        self.sink.commit()?;
        if codec == Codec::Qjson {
            self.summary
                .notes
                .push("written as JSON lines: text with line breaks or nulls does not fit CSV lines".into());
        }
        if self.not_numbers > 0 {
            self.summary.notes.push(format!("{} NaN or infinite values written as null", self.not_numbers));
        }
        self.summary.bytes = file.size();
        Ok(self.summary)
    }
}
