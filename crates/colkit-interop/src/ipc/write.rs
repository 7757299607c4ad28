//! Writing files and streams with arrow's own writers.

use super::IpcCompression;
use super::dictionaries::Unified;
use crate::sink::SinkWriter;
use arrow::datatypes::SchemaRef;
use arrow::ipc::CompressionType;
use arrow::ipc::writer::{DictionaryHandling, FileWriter, IpcWriteOptions, StreamWriter};
use arrow::record_batch::RecordBatch;
use colkit_core::{Error, Result, Setting, Sink, TableWriter, WriteOptions, WriteSummary, check_batch};

pub(super) struct IpcWriter {
    schema: SchemaRef,
    out: IpcOutput,
    dictionaries: Unified,
    rows: u64,
}

enum IpcOutput {
    File(Box<FileWriter<SinkWriter>>),
    Stream(Box<StreamWriter<SinkWriter>>),
}

impl IpcWriter {
    pub fn file(schema: SchemaRef, sink: Box<dyn Sink>, settings: IpcWriteOptions) -> Result<Self> {
        let out = FileWriter::try_new_with_options(SinkWriter::new(sink), &schema, settings)?;
        Ok(Self::new(schema, IpcOutput::File(Box::new(out))))
    }

    pub fn stream(schema: SchemaRef, sink: Box<dyn Sink>, settings: IpcWriteOptions) -> Result<Self> {
        let out = StreamWriter::try_new_with_options(SinkWriter::new(sink), &schema, settings)?;
        Ok(Self::new(schema, IpcOutput::Stream(Box::new(out))))
    }

    fn new(schema: SchemaRef, out: IpcOutput) -> Self {
        IpcWriter { dictionaries: Unified::new(&schema), schema, out, rows: 0 }
    }
}

/// How to write batches.
pub(super) fn settings(compression: IpcCompression, options: &WriteOptions) -> Result<IpcWriteOptions> {
    let codec = match compression {
        IpcCompression::None => None,
        IpcCompression::Lz4 => Some(CompressionType::LZ4_FRAME),
        IpcCompression::Zstd => Some(CompressionType::ZSTD),
    };
    let level = options.level.and_then(|l| i32::try_from(l).ok());
    if level.is_some() && codec != Some(CompressionType::ZSTD) {
        return Err(Error::request("bad_level", "only zstd has levels in Arrow files")
            .hint(Setting::Compression.does("can be zstd")));
    }
    let refused = |e: arrow::error::ArrowError| Error::request("bad_level", e.to_string());
    let settings = IpcWriteOptions::default().try_with_compression(codec)?;
    let settings = settings.try_with_compression_level(level).map_err(refused)?;
    // A file may only add to a dictionary; `Unified` makes sure that nothing else is asked of it.
    Ok(settings.with_dictionary_handling(DictionaryHandling::Delta))
}

impl TableWriter for IpcWriter {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        check_batch(&self.schema, batch)?;
        if batch.num_rows() == 0 {
            return Ok(());
        }
        let batch = self.dictionaries.unify(batch, &self.schema)?;
        match &mut self.out {
            IpcOutput::File(out) => out.write(&batch)?,
            IpcOutput::Stream(out) => {
                out.write(&batch)?;
                // So that a reader at the other end of a pipe sees each batch when it is there.
                out.flush()?;
            }
        }
        self.rows += batch.num_rows() as u64;
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<WriteSummary> {
        let sink = match self.out {
            IpcOutput::File(mut out) => {
                out.finish()?;
                out.into_inner()?
            }
            IpcOutput::Stream(mut out) => {
                out.finish()?;
                out.into_inner()?
            }
        };
        Ok(WriteSummary::new(self.rows, sink.commit()?, Vec::new()))
    }
}
