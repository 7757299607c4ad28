//! Opening: every record adds to the shapes of the columns.

use super::NdjsonOptions;
use super::build::check_type;
use super::cursor::{Cursor, Kind};
use super::framing::{Behind, Framing};
use super::rows::NdjsonRecords;
use super::shape::{Members, Shapes, fields};
use crate::text::{Excerpt, Fault, Parsed, Pass, Surveyor, TextTable, record_limit};
use arrow::datatypes::{Field, Schema};
use colkit_core::coroutine::coroutine;
use colkit_core::{Boxed, ColumnNames, Error, Finding, Limits, Result, Table};
use std::collections::HashSet;
use std::sync::Arc;

/// Opens a file of `size` bytes.
pub(super) fn open(options: NdjsonOptions, size: u64, limits: Limits) -> Boxed<Arc<dyn Table>> {
    coroutine(move |io| async move {
        let mut pass = Pass::start(io, size, options.pieces, &limits).await?;
        let framing = pass.header(|text, at_end| Ok(Framing::of(text.bytes, at_end))).await?;
        let mut survey = Survey {
            members: Members::default(),
            shapes: Shapes::new(&limits),
            longest: record_limit(&limits),
            nesting: limits.nesting,
            framing,
        };
        let index = pass.records(&mut survey).await?;
        let schema = Arc::new(schema(&survey.members, index.rows, &options)?);
        let findings = mixed(&survey.members, &options);
        let records = NdjsonRecords { schema: schema.clone(), nesting: limits.nesting, framing };
        let table: Arc<dyn Table> = Arc::new(TextTable::new(schema, index, records, findings));
        Ok(table)
    })
}

struct Survey {
    /// Of the objects that are the rows.
    members: Members,
    shapes: Shapes,
    /// Bytes of a record at most.
    longest: u64,
    nesting: u32,
    framing: Framing,
}

impl Surveyor for Survey {
    fn survey(&mut self, text: Excerpt<'_>, most: usize, at_end: bool) -> Result<(usize, u64)> {
        let behind = if at_end { Behind::Nothing } else { Behind::More };
        let mut at = 0;
        let mut rows = 0;
        while at < most.min(text.bytes.len()) {
            let framed = self.framing.record(text.bytes, at, behind).map_err(|fault| text.locate(fault, |_| None))?;
            self.check_length(framed.as_ref().map_or(text.bytes.len(), |f| f.next) - at)
                .map_err(|e| text.locate(Fault::new(at, e), |_| None))?;
            let Some(framed) = framed else { break };
            if let Some(object) = framed.object {
                let mut cursor = Cursor::new(object, framed.start, self.nesting);
                self.object(&mut cursor).map_err(|fault| text.locate(fault, |_| None))?;
                rows += 1;
            }
            at = framed.next;
        }
        Ok((at, rows))
    }
}

impl Survey {
    fn check_length(&self, length: usize) -> Result<()> {
        let what = if self.framing == Framing::Lines { "a line" } else { "an object" };
        Limits::check(what, length as u64, self.longest).map_err(|e| e.hint(Limits::value_hint()))
    }

    /// Adds one record's object.
    fn object(&mut self, cursor: &mut Cursor<'_>) -> Parsed<()> {
        match cursor.kind()? {
            Kind::Object => {
                self.shapes.object(&mut self.members, cursor)?;
                self.framing.end(cursor)
            }
            kind => {
                let found = if kind == Kind::List { "a list" } else { "a value" };
                let error = Error::corrupt("bad_json", format!("expected an object, found {found}"))
                    .hint("every line, or element of the array, must be one JSON object, the row");
                Err(Fault::new(cursor.at(), error))
            }
        }
    }
}

/// The columns that follow from the members of so many rows, and from the options.
fn schema(members: &Members, rows: u64, options: &NdjsonOptions) -> Result<Schema> {
    if members.len() == 0 && options.columns.is_none() {
        let (code, message) = match rows {
            0 => ("no_rows", "the file has no object in it, so its columns are not known"),
            _ => ("only_empty_objects", "every object of the file is empty"),
        };
        return Err(Error::corrupt(code, message).at(0));
    }
    let given = options.columns.iter().flatten().chain(&options.schema);
    for (name, data_type) in given {
        check_type(data_type).map_err(|e| e.part(format!("column {name:?}")))?;
    }
    let inferred = Schema::new(fields(members, rows, options));
    let known = ColumnNames::new(&inferred);
    let mut columns: Vec<Field> = inferred.fields().iter().map(|f| f.as_ref().clone()).collect();
    for (name, data_type) in &options.schema {
        let index = known.index(name).map_err(|e| e.part("the types given for columns"))?;
        if let Some(column) = columns.get_mut(index) {
            *column = Field::new(name, data_type.clone(), true);
        }
    }
    if let Some(given) = &options.columns {
        columns = given.iter().map(|(name, data_type)| Field::new(name, data_type.clone(), true)).collect();
    }
    Ok(Schema::new(columns))
}

/// Columns that are text only because their values are of several kinds.
fn mixed(members: &Members, options: &NdjsonOptions) -> Vec<Finding> {
    let given = options.schema.iter().chain(options.columns.iter().flatten());
    let given: HashSet<&str> = given.map(|(name, _)| name.as_str()).collect();
    let mixed = members.iter().filter(|(name, shape)| shape.is_mixed() && !given.contains(name.as_str()));
    let finding = |(name, _): &(String, _)| Finding {
        part: format!("column {name:?}"),
        message: "values of several kinds are read as text: what is not a string, as its JSON".into(),
    };
    mixed.map(finding).collect()
}
