//! One JSON document: the columns, the rows as arrays, and what reading them cost.
//!
//! ```text
//! {"columns":[{"name":...,"type":...}],"rows":[[...],...],
//!  "row_count":n,"bytes_read":n,"requests":n,...}
//! ```
//!
//! The rows are streamed; the counts come last because only then are they known.

use super::{RowPrinter, RowSource};
use colkit::arrow::datatypes::SchemaRef;
use colkit::arrow::record_batch::RecordBatch;
use colkit::core::json::encoder;
use colkit::{Result, Sink, type_name};
use serde_json::json;

pub struct DocumentPrinter {
    sink: Box<dyn Sink>,
    subject: RowSource,
    rows: u64,
    buffer: Vec<u8>,
}

impl DocumentPrinter {
    pub fn new(schema: &SchemaRef, mut sink: Box<dyn Sink>, subject: RowSource) -> Result<Self> {
        let columns = schema.fields().iter().map(|f| json!({"name": f.name(), "type": type_name(f.data_type())}));
        let columns: Vec<_> = columns.collect();
        sink.write(format!("{{\"columns\":{},\"rows\":[", json!(columns)).as_bytes())?;
        Ok(DocumentPrinter { sink, subject, rows: 0, buffer: Vec::new() })
    }
}

impl RowPrinter for DocumentPrinter {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let columns = batch.columns().iter().map(encoder).collect::<Result<Vec<_>>>()?;
        for row in 0..batch.num_rows() {
            self.buffer.extend_from_slice(if self.rows == 0 { b"[" } else { b",\n[" });
            for (i, column) in columns.iter().enumerate() {
                if i > 0 {
                    self.buffer.push(b',');
                }
                column(row, &mut self.buffer)?;
            }
            self.buffer.push(b']');
            self.rows += 1;
            if self.buffer.len() >= 1 << 16 {
                self.sink.write(&self.buffer)?;
                self.buffer.clear();
            }
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<Vec<String>> {
        self.sink.write(&self.buffer)?;
        let mut end = format!("],\"row_count\":{}", self.rows);
        for (name, value) in (self.subject.cost)() {
            end.push_str(&format!(",\"{name}\":{value}"));
        }
        end.push_str("}\n");
        self.sink.write(end.as_bytes())?;
        self.sink.commit()?;
        Ok(Vec::new())
    }
}
