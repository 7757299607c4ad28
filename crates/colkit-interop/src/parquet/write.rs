//! Writing Parquet with the crate's own encoders: columns side by side on several threads, row groups as large as
//! memory allows.

use super::ParquetCompression;
use super::checksums::seal_footer;
use super::pages::{NewPages, Pages, Zstd};
use super::plan::leaf_count;
use crate::decoder_panics::guarded;
use crate::sink::SinkWriter;
use ::parquet::arrow::ArrowWriter;
use ::parquet::arrow::arrow_writer::{
    ArrowColumnWriter, ArrowRowGroupWriterFactory, ArrowWriterOptions, compute_leaves,
};
use ::parquet::basic::{BrotliLevel, Compression, GzipLevel, ZstdLevel};
use ::parquet::errors::ParquetError;
use ::parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};
use ::parquet::file::writer::SerializedFileWriter;
use ::parquet::schema::types::ColumnPath;
use arrow::array::{Array, ArrayRef};
use arrow::compute::{CastOptions, can_cast_types, cast_with_options};
use arrow::datatypes::{DataType, Field, FieldRef, IntervalUnit, Schema, SchemaRef, TimeUnit};
use arrow::record_batch::RecordBatch;
use arrow::row::{RowConverter, SortField};
use colkit_core::drive::parallel;
use colkit_core::plan::batch_of;
use colkit_core::{
    Class, Error, Result, Setting, Sink, TableWriter, WriteOptions, WriteSummary, check_batch, check_values,
};
use std::collections::HashSet;
use std::io::Write;
use std::sync::Arc;

/// Rows of a row group at most.
const GROUP_ROWS: usize = 1 << 20;

/// Rows of the first batch that are looked at to see whether values repeat.
const SAMPLE_ROWS: usize = 1024;

/// What the encoder of a column reserves for a dictionary before there are any values.
const EMPTY_DICTIONARY: u64 = 64 << 10;

/// Values of a batch for which it is not worth starting threads.
const FEW_VALUES: usize = 4096;

pub(super) struct ParquetWriter {
    /// What batches look like.
    given: SchemaRef,
    /// What they are written as.
    schema: SchemaRef,
    state: WriterState,
    rows: u64,
    /// Bytes of a row group, encoded, after which it is written out.
    group_bytes: usize,
    threads: usize,
    /// Columns whose type was changed.
    notes: Vec<String>,
}

/// The writer is made when the first batch shows what the values are like.
enum WriterState {
    Waiting(Option<Box<(SinkWriter, WriterPropertiesBuilder, NewPages)>>),
    Writing(Box<Writing>),
}

struct Writing {
    file: SerializedFileWriter<FileOutput>,
    encoders: ArrowRowGroupWriterFactory,
    /// Where the encoders put what is ready.
    new_pages: NewPages,
    /// The row group under way: for every column the encoders of its leaves.
    columns: Vec<Vec<Leaf>>,
    /// Rows of the row group so far.
    rows: usize,
}

struct Leaf {
    encoder: ArrowColumnWriter,
    pages: Pages,
}

/// The sink, or at last what comes after the last row group, which gets checksums before it is written.
struct FileOutput {
    sink: SinkWriter,
    held: Option<Vec<u8>>,
}

impl Write for FileOutput {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match &mut self.held {
            Some(held) => held.write(bytes),
            None => self.sink.write(bytes),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.sink.flush()
    }
}

impl Writing {
    /// Writes what comes after the last row group.
    fn finish(mut self) -> Result<SinkWriter> {
        self.file.flush()?;
        self.file.inner_mut().held = Some(Vec::new());
        let start = self.file.bytes_written() as u64;
        let FileOutput { mut sink, held } = self.file.into_inner().map_err(refused)?;
        sink.write_all(&seal_footer(&held.unwrap_or_default(), start)?)?;
        Ok(sink)
    }

    /// Appends rows to the row group under way.
    fn append(&mut self, schema: &Schema, batch: &RecordBatch, threads: usize) -> Result<()> {
        if self.columns.is_empty() {
            let group = self.file.flushed_row_groups().len();
            let encoders = self.encoders.create_column_writers(group).map_err(refused)?;
            let mut leaves =
                encoders.into_iter().zip(self.new_pages.given()).map(|(encoder, pages)| Leaf { encoder, pages });
            let of = |field: &FieldRef| leaves.by_ref().take(leaf_count(field.data_type())).collect();
            self.columns = schema.fields().iter().map(of).collect();
        }
        let few = batch.num_rows().saturating_mul(batch.num_columns()) < FEW_VALUES;
        let columns = std::mem::take(&mut self.columns);
        let work: Vec<_> = schema.fields().iter().zip(batch.columns()).zip(columns).collect();
        self.columns = parallel::map(work, if few { 1 } else { threads }, |((field, array), mut writers)| {
            // An encoder that panics has met a type it does not know.
            let encoded = guarded(&format!("column {:?}", field.name()), || {
                let leaves = compute_leaves(field, array).map_err(refused)?;
                for (writer, leaf) in writers.iter_mut().zip(&leaves) {
                    writer.encoder.write(leaf).map_err(refused)?;
                }
                Ok::<_, Error>(())
            });
            encoded.map(|()| writers).map_err(|e| match e.class() {
                Class::Corrupt => Error::data("arrow_error", e.message()).part(format!("column {:?}", field.name())),
                _ => e,
            })
        })?;
        self.rows += batch.num_rows();
        Ok(())
    }

    /// Writes out the row group under way.
    fn end_group(&mut self, threads: usize) -> Result<()> {
        if self.rows > 0 {
            let leaves: Vec<Leaf> = std::mem::take(&mut self.columns).into_iter().flatten().collect();
            let chunks = parallel::map(leaves, threads, |Leaf { encoder, pages }| {
                let close = encoder.close().map_err(refused)?.close().clone();
                pages.finish(close).map_err(refused)
            })?;
            let mut group = self.file.next_row_group().map_err(refused)?;
            for (chunk, close) in chunks {
                group.append_column(&chunk, close).map_err(refused)?;
            }
            group.close().map_err(refused)?;
            self.rows = 0;
        }
        Ok(())
    }

    fn bytes(&self) -> usize {
        let of = |leaf: &Leaf| leaf.encoder.get_estimated_total_bytes().saturating_sub(leaf.pages.saved());
        self.columns.iter().flatten().map(of).sum()
    }
}

impl ParquetWriter {
    pub fn new(
        schema: SchemaRef,
        sink: Box<dyn Sink>,
        compression: ParquetCompression,
        options: &WriteOptions,
    ) -> Result<Self> {
        if schema.fields().is_empty() {
            return Err(Error::data("no_columns", "a Parquet file cannot hold a table without columns"));
        }
        let mut notes = Vec::new();
        let mut fields = Vec::with_capacity(schema.fields().len());
        for field in schema.fields() {
            let stored = stored(field);
            if !stores(stored.data_type()) || !can_cast_types(field.data_type(), stored.data_type()) {
                let message = format!("Parquet has no form for values of type {}", field.data_type());
                return Err(Error::data("type_not_supported", message)
                    .part(format!("column {:?}", field.name()))
                    .hint(Setting::Columns.does("can leave the column out")));
            }
            if stored.data_type() != field.data_type() {
                let (name, from, to) = (field.name(), field.data_type(), stored.data_type());
                notes.push(format!("column {name:?}: {from} written as {to}, with the same values"));
            }
            fields.push(stored);
        }
        let given = schema;
        let schema = Arc::new(Schema::new_with_metadata(fields, given.metadata().clone()));
        let dictionaries = (schema.fields().len() as u64).saturating_mul(EMPTY_DICTIONARY);
        let (compression, zstd) = match codec(compression, options.level)? {
            Compression::ZSTD(level) => (Compression::UNCOMPRESSED, Some(Zstd::new(level))),
            other => (other, None),
        };
        let properties = WriterProperties::builder()
            // A table of very many columns has no memory for dictionaries of each.
            .set_dictionary_enabled(dictionaries <= options.memory / 4)
            .set_compression(compression)
            .set_max_row_group_row_count(Some(GROUP_ROWS))
            .set_created_by(concat!("colkit version ", env!("CARGO_PKG_VERSION")).into());
        let group_bytes = usize::try_from(options.memory / 4).unwrap_or(usize::MAX);
        let state = WriterState::Waiting(Some(Box::new((SinkWriter::new(sink), properties, NewPages::new(zstd)))));
        Ok(ParquetWriter { given, schema, state, rows: 0, group_bytes, threads: options.threads, notes })
    }

    fn writing(&mut self, first: Option<&RecordBatch>) -> Result<&mut Writing> {
        if let WriterState::Waiting(waiting) = &mut self.state {
            let Some((sink, mut properties, new_pages)) = waiting.take().map(|b| *b) else {
                return Err(Error::internal("the file could not be started"));
            };
            for (field, array) in self.schema.fields().iter().zip(first.iter().flat_map(|b| b.columns())) {
                if is_distinct(array)? {
                    let path = ColumnPath::new(vec![field.name().clone()]);
                    properties = properties.set_column_dictionary_enabled(path, false);
                }
            }
            let options = ArrowWriterOptions::new()
                .with_properties(properties.build())
                .with_page_store_factory(Arc::new(new_pages.clone()));
            let out = FileOutput { sink, held: None };
            let writer = ArrowWriter::try_new_with_options(out, self.schema.clone(), options).map_err(refused)?;
            let (file, encoders) = writer.into_serialized_writer().map_err(refused)?;
            self.state =
                WriterState::Writing(Box::new(Writing { file, encoders, new_pages, columns: Vec::new(), rows: 0 }));
        }
        match &mut self.state {
            WriterState::Writing(writing) => Ok(writing),
            WriterState::Waiting(_) => Err(Error::internal("the file could not be started")),
        }
    }
}

/// Whether hardly any value repeats. A dictionary of them would be as large as the values, and have to be read for
/// every page of them.
fn is_distinct(array: &ArrayRef) -> Result<bool> {
    let simple = array.data_type().is_primitive() || matches!(array.data_type(), DataType::Utf8 | DataType::Binary);
    if !simple || array.len() < SAMPLE_ROWS {
        return Ok(false);
    }
    let converter = RowConverter::new(vec![SortField::new(array.data_type().clone())])?;
    let rows = converter.convert_columns(&[array.slice(0, SAMPLE_ROWS)])?;
    let distinct: HashSet<&[u8]> = rows.iter().map(|row| row.data()).collect();
    Ok(distinct.len() * 8 > SAMPLE_ROWS * 7)
}

/// The field in the nearest type that Parquet has, with the same values.
fn stored(field: &FieldRef) -> FieldRef {
    let data_type = match field.data_type() {
        DataType::Dictionary(key, values) => {
            let values = match values.as_ref() {
                DataType::Utf8View => DataType::Utf8,
                DataType::BinaryView => DataType::Binary,
                other => stored(&Arc::new(Field::new("", other.clone(), true))).data_type().clone(),
            };
            DataType::Dictionary(key.clone(), Box::new(values))
        }
        DataType::RunEndEncoded(_, values) => stored(values).data_type().clone(),
        // Parquet has no seconds, and days only as days: others would take them for bare numbers.
        DataType::Timestamp(TimeUnit::Second, zone) => DataType::Timestamp(TimeUnit::Millisecond, zone.clone()),
        DataType::Time32(TimeUnit::Second) => DataType::Time32(TimeUnit::Millisecond),
        DataType::Date64 => DataType::Date32,
        DataType::List(item) | DataType::ListView(item) => DataType::List(stored(item)),
        DataType::LargeList(item) | DataType::LargeListView(item) => DataType::LargeList(stored(item)),
        DataType::FixedSizeList(item, size) => DataType::FixedSizeList(stored(item), *size),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(stored).collect()),
        DataType::Map(entries, sorted) => DataType::Map(stored(entries), *sorted),
        other => other.clone(),
    };
    Arc::new(field.as_ref().clone().with_data_type(data_type))
}

/// Whether values of this type come back as the same type. The arrow schema is kept beside Parquet's own.
pub(super) fn stores(data_type: &DataType) -> bool {
    let inside = |field: &Field| stores(field.data_type());
    match data_type {
        DataType::Struct(fields) => !fields.is_empty() && fields.iter().all(|f| inside(f)),
        DataType::List(f) | DataType::LargeList(f) | DataType::FixedSizeList(f, _) | DataType::Map(f, _) => inside(f),
        DataType::Dictionary(_, values) => match values.as_ref() {
            DataType::Utf8View | DataType::BinaryView => false,
            values => !values.is_nested() && stores(values),
        },
        DataType::Union(..) | DataType::RunEndEncoded(..) => false,
        DataType::ListView(_) | DataType::LargeListView(_) => false,
        DataType::Interval(IntervalUnit::MonthDayNano) => false,
        DataType::Timestamp(TimeUnit::Second, _) | DataType::Time32(TimeUnit::Second) | DataType::Date64 => false,
        _ => true,
    }
}

fn codec(compression: ParquetCompression, level: Option<u32>) -> Result<Compression> {
    let bad = |e: ParquetError| Error::request("bad_level", e.to_string());
    let signed = |level: u32| i32::try_from(level).unwrap_or(i32::MAX);
    Ok(match (compression, level) {
        (ParquetCompression::Zstd, level) => {
            Compression::ZSTD(ZstdLevel::try_new(signed(level.unwrap_or(3))).map_err(bad)?)
        }
        (ParquetCompression::Gzip, level) => Compression::GZIP(GzipLevel::try_new(level.unwrap_or(6)).map_err(bad)?),
        (ParquetCompression::Brotli, level) => {
            Compression::BROTLI(BrotliLevel::try_new(level.unwrap_or(5)).map_err(bad)?)
        }
        (_, Some(_)) => {
            return Err(Error::request("bad_level", "this compression has no levels")
                .hint(Setting::Compression.does("can be zstd, gzip or brotli, which have levels")));
        }
        (ParquetCompression::None, None) => Compression::UNCOMPRESSED,
        (ParquetCompression::Snappy, None) => Compression::SNAPPY,
        (ParquetCompression::Lz4, None) => Compression::LZ4_RAW,
    })
}

/// What the writer refuses: the data, or the disk.
fn refused(e: ParquetError) -> Error {
    match e {
        ParquetError::External(inner) => match inner.downcast::<std::io::Error>() {
            Ok(io) => Error::from(*io),
            Err(other) => Error::data("arrow_error", other.to_string()).caused_by(other),
        },
        e => Error::data("arrow_error", e.to_string()).caused_by(e),
    }
}

impl TableWriter for ParquetWriter {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        check_batch(&self.given, batch)?;
        let columns = batch.columns().iter().zip(self.schema.fields()).map(|(array, field)| {
            let same = array.data_type() == field.data_type();
            // A value that does not fit is an error, never a null.
            let strict = CastOptions { safe: false, ..CastOptions::default() };
            if same {
                return Ok(array.clone());
            }
            check_values(array).map_err(|e| Error::data("value_out_of_range", e.message()))?;
            Ok(cast_with_options(array, field.data_type(), &strict)?)
        });
        let batch = batch_of(&self.schema, columns.collect::<Result<Vec<_>>>()?, batch.num_rows())?;
        let (schema, group_bytes, threads) = (self.schema.clone(), self.group_bytes, self.threads);
        let writing = self.writing(Some(&batch))?;
        let mut rest = batch.clone();
        while rest.num_rows() > 0 {
            let rows = rest.num_rows().min(GROUP_ROWS.saturating_sub(writing.rows));
            writing.append(&schema, &rest.slice(0, rows), threads)?;
            if writing.rows >= GROUP_ROWS || writing.bytes() >= group_bytes {
                writing.end_group(threads)?;
            }
            rest = rest.slice(rows, rest.num_rows() - rows);
        }
        self.rows += batch.num_rows() as u64;
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<WriteSummary> {
        let threads = self.threads;
        self.writing(None)?.end_group(threads)?;
        let WriterState::Writing(writing) = self.state else {
            return Err(Error::internal("the file could not be started"));
        };
        let sink = writing.finish()?;
        Ok(WriteSummary::new(self.rows, sink.commit()?, self.notes))
    }
}
