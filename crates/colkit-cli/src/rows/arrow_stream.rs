//! Rows as an Arrow IPC stream.

use super::{RowPrinter, SinkWriter};
use colkit::arrow::datatypes::SchemaRef;
use colkit::arrow::ipc::writer::StreamWriter;
use colkit::arrow::record_batch::RecordBatch;
use colkit::{Result, Sink};

pub struct ArrowPrinter(StreamWriter<SinkWriter>);

impl ArrowPrinter {
    pub fn new(schema: &SchemaRef, sink: Box<dyn Sink>) -> Result<Self> {
        Ok(ArrowPrinter(StreamWriter::try_new(SinkWriter(sink), schema)?))
    }
}

impl RowPrinter for ArrowPrinter {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        Ok(self.0.write(batch)?)
    }

    fn finish(self: Box<Self>) -> Result<Vec<String>> {
        self.0.into_inner()?.0.commit()?;
        Ok(Vec::new())
    }
}
