//! One JSON object per row and line.

use super::RowPrinter;
use colkit::arrow::datatypes::SchemaRef;
use colkit::arrow::record_batch::RecordBatch;
use colkit::json::{encoder, key, object};
use colkit::{Result, Sink};
use std::collections::HashSet;

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
    let mut taken: HashSet<String> = schema.fields().iter().map(|f| f.name().clone()).collect();
    let mut seen = HashSet::new();
    let mut notes = Vec::new();
    let mut names = Vec::new();
    for field in schema.fields() {
        let mut name = field.name().clone();
        if !seen.insert(name.clone()) {
            let mut number = 2;
            while taken.contains(&format!("{name}_{number}")) {
                number += 1;
            }
            name = format!("{name}_{number}");
            taken.insert(name.clone());
            notes.push(format!("the second column {:?} is printed as {name:?}", field.name()));
        }
        names.push(name);
    }
    (names, notes)
}

impl RowPrinter for NdjsonPrinter {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let columns = batch.columns().iter().map(encoder).collect::<Result<Vec<_>>>()?;
        let members: Vec<_> = self.keys.iter().cloned().zip(columns).collect();
        for row in 0..batch.num_rows() {
            object(&members, row, &mut self.buffer)?;
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
