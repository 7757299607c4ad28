//! Opening: the one pass that finds out what a file of objects is.
//!
//! ```text
//! [BOM] { object | blank line }*  ->  the shape of every column, row count, and a checkpoint (offset, row, line)
//!                                     at the first line after every few MiB
//! ```
//!
//! Memory holds a chunk, or the longest line if that is longer, the shapes and the checkpoints.

use super::NdjsonOptions;
use super::cursor::{Cursor, Kind, Parsed};
use super::shape::{Members, Surveyor, fields};
use super::table::{Checkpoint, NdjsonTable, Survey};
use crate::csv::{RECORD_SHARE, Window};
use arrow::datatypes::{Field, Schema};
use bytes::Bytes;
use colkit_core::{ColumnNames, Error, Finding, Limits, Machine, Result, Step, Table};
use std::collections::HashSet;
use std::sync::Arc;

/// The longest line there may be: a row's text must fit an array of it.
const LINE_BYTES: u64 = 1 << 30;

pub(super) struct Open {
    options: NdjsonOptions,
    limits: Limits,
    size: u64,
    window: Window,
    bom: Option<u64>,
    members: Members,
    surveyor: Surveyor,
    rows: u64,
    checkpoints: Vec<Checkpoint>,
}

impl Open {
    pub fn new(options: NdjsonOptions, size: u64, limits: &Limits) -> Self {
        Open {
            window: Window::new(size, options.pieces.chunk.min(limits.memory / 8), "bad_utf8"),
            options,
            surveyor: Surveyor::new(limits),
            limits: limits.clone(),
            size,
            bom: None,
            members: Members::default(),
            rows: 0,
            checkpoints: Vec::new(),
        }
    }

    /// Passes over a byte order mark. `false` if that takes more bytes.
    fn start(&mut self) -> bool {
        const BOM: &[u8] = b"\xEF\xBB\xBF";
        if self.bom.is_none() {
            if self.window.rest().len() < BOM.len() && !self.window.at_end() {
                return false;
            }
            let bom = if self.window.rest().starts_with(BOM) { BOM.len() } else { 0 };
            self.window.advance(bom);
            self.bom = Some(bom as u64);
            self.check_point();
        }
        true
    }

    fn check_point(&mut self) {
        let place = self.window.place();
        self.checkpoints.push(Checkpoint { offset: place.offset, row: self.rows, line: place.line });
    }

    /// Looks at the lines in hand, up to the next checkpoint. `false` if the next line takes more bytes, or at the end.
    fn survey(&mut self) -> Result<bool> {
        let checkpoint = self.options.pieces.checkpoint.min(self.limits.memory / 64).max(1);
        let due = self.checkpoints.last().map_or(0, |last| last.offset + checkpoint);
        let most = self.limits.value_bytes.min(LINE_BYTES).min(self.limits.memory / RECORD_SHARE);
        let check_length =
            |length: usize| Limits::check("a line", length as u64, most).map_err(|e| e.hint(Limits::value_hint()));
        let place = self.window.place();
        let mut at = 0;
        let mut rows = 0;
        loop {
            let rest = place.bytes.get(at..).unwrap_or_default();
            let length = match memchr::memchr(b'\n', rest) {
                Some(length) => length + 1,
                None if self.window.at_end() => rest.len(),
                None => {
                    check_length(rest.len())?;
                    break;
                }
            };
            if length == 0 || (place.offset + at as u64 >= due && rows > 0) {
                break;
            }
            check_length(length)
                .map_err(|e| e.at(place.offset + at as u64).part(format!("line {}", place.line_of(at))))?;
            let line = place.bytes.get(..at + length).unwrap_or_default();
            if !is_blank(line.get(at..).unwrap_or_default()) {
                let mut cursor = Cursor::new(line, at, self.limits.nesting);
                object(&mut self.surveyor, &mut self.members, &mut cursor).map_err(|fault| {
                    let part = format!("line {}", place.line_of(at));
                    fault.error.at(place.offset + fault.at as u64).part(part)
                })?;
                rows += 1;
            }
            at += length;
        }
        self.rows += rows;
        self.window.advance(at);
        if rows > 0 && self.window.place().offset >= due && self.window.place().offset < self.size {
            self.check_point();
        }
        Ok(at > 0)
    }

    fn finish(&mut self) -> Result<NdjsonTable> {
        let options = &self.options;
        if self.members.len() == 0 && options.columns.is_none() {
            let (code, message) = match self.rows {
                0 => ("no_rows", "the file has no object in it, so its columns are not known"),
                _ => ("only_empty_objects", "every object of the file is empty"),
            };
            return Err(Error::corrupt(code, message).at(0));
        }
        let mut columns: Vec<Field> =
            fields(&self.members, self.rows, options).iter().map(|f| f.as_ref().clone()).collect();
        let inferred = Schema::new(columns.clone());
        let known = ColumnNames::new(&inferred);
        for (name, data_type) in &options.schema {
            let index = known.index(name).map_err(|e| e.part("the types given for columns"))?;
            super::build::check_type(data_type).map_err(|e| e.part(format!("column {name:?}")))?;
            if let Some(column) = columns.get_mut(index) {
                *column = Field::new(name, data_type.clone(), true);
            }
        }
        if let Some(given) = &options.columns {
            for (name, data_type) in given {
                super::build::check_type(data_type).map_err(|e| e.part(format!("column {name:?}")))?;
            }
            columns = given.iter().map(|(name, data_type)| Field::new(name, data_type.clone(), true)).collect();
        }
        let given = options.schema.iter().chain(options.columns.iter().flatten());
        let given: HashSet<&str> = given.map(|(name, _)| name.as_str()).collect();
        let mixed = self.members.iter().filter(|(name, shape)| shape.is_mixed() && !given.contains(name.as_str()));
        let findings = mixed.map(|(name, _)| Finding {
            part: format!("column {name:?}"),
            message: "values of several kinds are read as text: what is not a string, as its JSON".into(),
        });
        Ok(NdjsonTable::new(Survey {
            findings: findings.collect(),
            schema: Arc::new(Schema::new(columns)),
            size: self.size,
            bom: self.bom.unwrap_or(0),
            rows: self.rows,
            checkpoints: std::mem::take(&mut self.checkpoints),
            nesting: self.limits.nesting,
        }))
    }
}

/// Whether a line holds no row.
pub(super) fn is_blank(line: &[u8]) -> bool {
    line.iter().all(|b| matches!(b, b' ' | b'\t' | b'\r' | b'\n'))
}

/// Adds one line's object.
fn object(surveyor: &mut Surveyor, members: &mut Members, cursor: &mut Cursor<'_>) -> Parsed<()> {
    match cursor.kind()? {
        Kind::Object => {
            surveyor.object(members, cursor)?;
            cursor.end()
        }
        kind => {
            let mut fault = cursor.expected("an object");
            let what = match kind {
                Kind::List => "a list",
                _ => "a value",
            };
            fault.error = Error::corrupt("bad_json", format!("expected an object, found {what}"))
                .hint("every line must be one JSON object, the row");
            Err(fault)
        }
    }
}

impl Machine for Open {
    type Output = Arc<dyn Table>;

    fn step(&mut self, got: Vec<Bytes>) -> Result<Step<Self::Output>> {
        for bytes in &got {
            self.window.accept(bytes)?;
        }
        if self.start() {
            while self.survey()? {}
        }
        if self.window.at_end() { Ok(Step::Ready(Arc::new(self.finish()?))) } else { Ok(self.window.need()) }
    }
}
