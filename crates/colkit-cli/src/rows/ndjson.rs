//! One JSON object per row and line.

use super::RowPrinter;
use colkit::arrow::datatypes::{FieldRef, SchemaRef};
use colkit::arrow::record_batch::RecordBatch;
use colkit::core::json::{key, rows};
use colkit::core::make_unique;
use colkit::{Result, Sink};

pub struct NdjsonPrinter {
    keys: Vec<Vec<u8>>,
    sink: Box<dyn Sink>,
    notes: Vec<String>,
    buffer: Vec<u8>,
}

/// How much is gathered before it is written.
const BUFFER: usize = 1 << 16;

impl NdjsonPrinter {
    pub fn new(schema: &SchemaRef, sink: Box<dyn Sink>) -> Self {
        let (names, notes) = unique_names(schema);
        let keys = names.iter().filter_map(|n| key(n).ok()).collect();
        NdjsonPrinter { keys, sink, notes, buffer: Vec::with_capacity(BUFFER + 1024) }
    }
}

/// The names of the columns, those that repeat numbered: an object has each member once.
fn unique_names(schema: &SchemaRef) -> (Vec<String>, Vec<String>) {
    let mut names: Vec<String> = schema.fields().iter().map(|f| f.name().clone()).collect();
    make_unique(&mut names);
    let renamed = schema.fields().iter().zip(&names).filter(|(field, name)| field.name() != *name);
    let note =
        |(field, name): (&FieldRef, &String)| format!("another column {:?} is printed as {name:?}", field.name());
    let notes = renamed.map(note).collect();
    (names, notes)
}

impl RowPrinter for NdjsonPrinter {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let rows = rows(&self.keys, batch)?;
        for row in 0..batch.num_rows() {
            rows(row, &mut self.buffer)?;
            self.buffer.push(b'\n');
            if self.buffer.len() >= BUFFER {
                self.sink.write(&self.buffer)?;
                self.buffer.clear();
            }
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<Vec<String>> {
        self.sink.write(&self.buffer)?;
        self.sink.commit()?;
        Ok(self.notes)
    }
}
