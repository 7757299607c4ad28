//! Text compressed while it is written.

use super::Compression;
use arrow::datatypes::{DataType, SchemaRef};
use arrow::record_batch::RecordBatch;
use colkit_core::{Boxed, Error, Format, ReadOptions, Result, Sink, Table, TableWriter, WriteOptions, WriteSummary};
use std::io::Write;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A text format whose files are compressed as a whole. Everything but writing is the format's own.
pub(super) struct CompressedText {
    pub text: Arc<dyn Format>,
    pub compression: Compression,
}

impl Format for CompressedText {
    fn name(&self) -> &'static str {
        self.text.name()
    }

    fn extensions(&self) -> &'static [&'static str] {
        self.text.extensions()
    }

    fn sniff(&self, head: &[u8], tail: &[u8]) -> bool {
        self.text.sniff(head, tail)
    }

    fn has_magic(&self) -> bool {
        self.text.has_magic()
    }

    fn open(&self, size: u64, options: &ReadOptions) -> Boxed<Arc<dyn Table>> {
        self.text.open(size, options)
    }

    fn stores(&self, data_type: &DataType) -> bool {
        self.text.stores(data_type)
    }

    fn stores_nulls(&self) -> bool {
        self.text.stores_nulls()
    }

    fn keeps_metadata(&self) -> bool {
        self.text.keeps_metadata()
    }

    fn writer(&self, schema: SchemaRef, sink: Box<dyn Sink>, options: &WriteOptions) -> Result<Box<dyn TableWriter>> {
        let sink = CompressingSink::start(self.compression, sink, options.level)?;
        let written = sink.written.clone();
        Ok(Box::new(CompressedWriter { text: self.text.writer(schema, Box::new(sink), options)?, written }))
    }
}

/// Corrects how many bytes the file has.
struct CompressedWriter {
    text: Box<dyn TableWriter>,
    written: Arc<AtomicU64>,
}

impl TableWriter for CompressedWriter {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.text.write(batch)
    }

    fn finish(self: Box<Self>) -> Result<WriteSummary> {
        let mut summary = self.text.finish()?;
        summary.bytes = self.written.load(Ordering::Relaxed);
        Ok(summary)
    }
}

/// Where compressed bytes go, counted.
struct Written {
    sink: Box<dyn Sink>,
    bytes: Arc<AtomicU64>,
}

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.sink.write(bytes).map_err(std::io::Error::other)?;
        self.bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A sink that compresses.
pub(super) struct CompressingSink {
    encoder: Encoder,
    written: Arc<AtomicU64>,
}

enum Encoder {
    Gzip(flate2::write::GzEncoder<Written>),
    Zstd(zstd::stream::write::Encoder<'static, Written>),
    Xz(liblzma::write::XzEncoder<Written>),
    Bzip2(bzip2::write::BzEncoder<Written>),
}

impl CompressingSink {
    /// With this level, or with the one that the compressor's own command would use.
    pub fn start(compression: Compression, sink: Box<dyn Sink>, level: Option<u32>) -> Result<Self> {
        let written = Arc::new(AtomicU64::new(0));
        let sink = Written { sink, bytes: written.clone() };
        let level = |levels: RangeInclusive<u32>, usual: u32| {
            let level = level.unwrap_or(usual);
            if levels.contains(&level) {
                return Ok(level);
            }
            let (name, least, most) = (compression.name(), levels.start(), levels.end());
            Err(Error::request("bad_level", format!("{name} has levels {least} to {most}, not {level}")))
        };
        let encoder = match compression {
            Compression::Gzip => {
                let level = flate2::Compression::new(level(0..=9, 6)?);
                Encoder::Gzip(flate2::GzBuilder::new().write(sink, level))
            }
            Compression::Zstd => {
                let level = i32::try_from(level(1..=22, 3)?).unwrap_or(3);
                let mut encoder = zstd::stream::write::Encoder::new(sink, level)?;
                encoder.include_checksum(true)?;
                Encoder::Zstd(encoder)
            }
            Compression::Xz => Encoder::Xz(liblzma::write::XzEncoder::new(sink, level(0..=9, 6)?)),
            Compression::Bzip2 => {
                let level = bzip2::Compression::new(level(1..=9, 9)?);
                Encoder::Bzip2(bzip2::write::BzEncoder::new(sink, level))
            }
        };
        Ok(CompressingSink { encoder, written })
    }
}

impl Sink for CompressingSink {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        Ok(match &mut self.encoder {
            Encoder::Gzip(encoder) => encoder.write_all(bytes),
            Encoder::Zstd(encoder) => encoder.write_all(bytes),
            Encoder::Xz(encoder) => encoder.write_all(bytes),
            Encoder::Bzip2(encoder) => encoder.write_all(bytes),
        }?)
    }

    fn commit(self: Box<Self>) -> Result<()> {
        let written = match self.encoder {
            Encoder::Gzip(encoder) => encoder.finish(),
            Encoder::Zstd(encoder) => encoder.finish(),
            Encoder::Xz(encoder) => encoder.finish(),
            Encoder::Bzip2(encoder) => encoder.finish(),
        }?;
        written.sink.commit()
    }
}
