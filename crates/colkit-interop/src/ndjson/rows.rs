//! Reading rows: record by record; members of columns that are not wanted are passed over.

use super::build::ValueBuilder;
use super::cursor::Cursor;
use super::framing::{Behind, Framing};
use crate::parts::keep;
use crate::text::{Excerpt, Fault, Parsed, Progress, Records, RowReader};
use arrow::array::{ArrayRef, new_null_array};
use arrow::datatypes::{FieldRef, SchemaRef};
use colkit_core::{ColumnRef, Error, Result};
use std::collections::HashMap;

/// The records of an open file.
pub(super) struct NdjsonRecords {
    pub schema: SchemaRef,
    pub nesting: u32,
    pub framing: Framing,
}

impl Records for NdjsonRecords {
    fn properties(&self) -> Vec<(&'static str, String)> {
        match self.framing {
            Framing::Lines => Vec::new(),
            Framing::Array => vec![("records", "elements of an array".to_string())],
        }
    }

    fn reader(&self, columns: &[ColumnRef], schema: &SchemaRef, batch_rows: usize) -> Box<dyn RowReader> {
        let mut builders: Vec<(String, ValueBuilder)> = Vec::new();
        let mut by_name = HashMap::new();
        let mut outputs = Vec::with_capacity(columns.len());
        for (column, output) in columns.iter().zip(schema.fields()) {
            let Some(field) = self.schema.fields().get(column.index) else { continue };
            let builder = *by_name.entry(field.name().clone()).or_insert_with(|| {
                builders.push((field.name().clone(), ValueBuilder::new(field.data_type(), batch_rows.min(1024))));
                builders.len() - 1
            });
            outputs.push((builder, output.clone()));
        }
        let (nesting, framing) = (self.nesting, self.framing);
        Box::new(NdjsonRows { builders, by_name, outputs, rows: 0, nesting, framing, scratch: Vec::new() })
    }
}

struct NdjsonRows {
    builders: Vec<(String, ValueBuilder)>,
    by_name: HashMap<String, usize>,
    /// Which builder each column of the output comes from, and what is kept of it.
    outputs: Vec<(usize, FieldRef)>,
    /// Rows in the builders.
    rows: usize,
    nesting: u32,
    framing: Framing,
    scratch: Vec<u8>,
}

impl NdjsonRows {
    /// Calls `found` with each row of `text` from position `at` on, until it has seen so many rows, or so many bytes of them.
    fn each_row(
        &mut self,
        text: Excerpt<'_>,
        at: usize,
        rows: usize,
        bytes: usize,
        found: impl Fn(&mut Self, &mut Cursor<'_>) -> Parsed<()>,
    ) -> Result<Progress> {
        let mut read = Progress { end: at, ..Progress::default() };
        while read.end < text.bytes.len() && read.rows < rows && read.bytes < bytes {
            let framed = self.framing.record(text.bytes, read.end, Behind::Records);
            let Some(framed) = framed.map_err(|fault| text.locate(fault, |_| None))? else { break };
            if let Some(object) = framed.object {
                let mut cursor = Cursor::new(object, framed.start, self.nesting);
                found(self, &mut cursor).map_err(|fault| text.locate(fault, |_| None))?;
                read.rows += 1;
                read.bytes += framed.next - read.end;
            }
            read.end = framed.next;
        }
        Ok(read)
    }

    fn row(&mut self, cursor: &mut Cursor<'_>) -> Parsed<()> {
        cursor.kind()?;
        let (builders, by_name, scratch) = (&mut self.builders, &self.by_name, &mut self.scratch);
        let before = self.rows;
        let mut expected = 0;
        cursor.object(|cursor, name| {
            let at_hand = builders.get(expected).filter(|(known, _)| known.as_bytes() == name).map(|_| expected);
            let found = || by_name.get(std::str::from_utf8(name).unwrap_or_default()).copied();
            let Some(index) = at_hand.or_else(found) else { return cursor.skip(scratch) };
            expected = index + 1;
            let Some((name, column)) = builders.get_mut(index) else { return cursor.skip(scratch) };
            if column.len() > before {
                let message = format!("a second member called {name:?} in one object");
                return Err(Fault::new(cursor.at(), Error::corrupt("duplicate_name", message)));
            }
            column.append(cursor, scratch).map_err(|mut fault| {
                fault.error = fault.error.part(format!("column {name:?}"));
                fault
            })
        })?;
        self.framing.end(cursor)?;
        for (_, column) in builders {
            if column.len() == before {
                column.append_null();
            }
        }
        self.rows += 1;
        Ok(())
    }
}

impl RowReader for NdjsonRows {
    fn skip(&mut self, text: Excerpt<'_>, at: usize, rows: usize) -> Result<Progress> {
        self.each_row(text, at, rows, usize::MAX, |_, _| Ok(()))
    }

    fn collect(&mut self, text: Excerpt<'_>, at: usize, rows: usize, bytes: usize) -> Result<Progress> {
        self.each_row(text, at, rows, bytes, Self::row)
    }

    fn finish(&mut self) -> Result<Vec<ArrayRef>> {
        let rows = std::mem::take(&mut self.rows);
        let arrays = self.builders.iter_mut().map(|(_, column)| column.finish()).collect::<Result<Vec<_>>>()?;
        let output = |(index, field): &(usize, FieldRef)| match arrays.get(*index) {
            Some(array) => keep(array, field),
            None => Ok(new_null_array(field.data_type(), rows)),
        };
        self.outputs.iter().map(output).collect()
    }
}
