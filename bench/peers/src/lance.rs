//! Lance's own crates.

use crate::answer::Answer;
use crate::contest::Result;
use crate::reading::{Open, Range, Reader};
use futures::{StreamExt, TryStreamExt};
use lance_core::cache::LanceCache;
use lance_encoding::decoder::{DecoderPlugins, FilterExpression};
use lance_file::reader::{FileReader, FileReaderOptions, ProjectedFileReader, ReaderProjection};
use lance_file::writer::FileWriterOptions;
use lance_io::ReadBatchParams;
use lance_io::object_store::ObjectStore;
use lance_io::scheduler::{FileScheduler, ScanScheduler, SchedulerConfig};
use lance_io::utils::CachedFileSize;
use std::sync::Arc;
use tokio::runtime::Runtime;

pub struct LanceFile {
    pub runtime: Arc<Runtime>,
}

struct Opened {
    reader: FileReader,
    runtime: Arc<Runtime>,
}

impl Reader for LanceFile {
    fn name(&self) -> &'static str {
        "lance"
    }

    fn file(&self) -> &'static str {
        ".lance"
    }

    fn open(&self, path: &str) -> Result<Box<dyn Open>> {
        let reader = self.runtime.block_on(async {
            let (cache, plugins) = (LanceCache::with_capacity(128 << 20), Arc::<DecoderPlugins>::default());
            FileReader::try_open(scheduler(path).await?, None, plugins, &cache, FileReaderOptions::default()).await
        })?;
        Ok(Box::new(Opened { reader, runtime: self.runtime.clone() }))
    }

    /// By the reader that loads the metadata of single columns. It must be told type and place of the column, which
    /// the others find out from the file.
    fn open_and_scan(&self, path: &str, column: (&str, u32)) -> Result<Answer> {
        use arrow58::datatypes::{DataType, Field, Schema};
        let schema = Schema::new(vec![Field::new(column.0, DataType::Int64, true)]);
        let schema = Arc::new(lance_core::datatypes::Schema::try_from(&schema)?);
        let projection = ReaderProjection { schema, column_indices: vec![column.1] };
        let batches = self.runtime.block_on(async {
            let (cache, plugins) = (LanceCache::with_capacity(128 << 20), Arc::<DecoderPlugins>::default());
            let (file, options) = (scheduler(path).await?, FileReaderOptions::default());
            let reader = ProjectedFileReader::try_open(file, Some(projection), plugins, &cache, options).await?;
            let everything = FilterExpression::no_filter();
            let mut tasks = reader.read_tasks(ReadBatchParams::RangeFull, 32_768, None, everything).await?;
            let mut batches = Vec::new();
            while let Some(task) = tasks.next().await {
                batches.push(task.task.await?);
            }
            Ok::<_, lance_core::Error>(batches)
        })?;
        Ok(Answer::Arrow58(batches))
    }
}

async fn scheduler(path: &str) -> lance_core::Result<FileScheduler> {
    let (store, base) = ObjectStore::from_uri(path).await?;
    let config = SchedulerConfig::max_bandwidth(&store);
    ScanScheduler::new(store, config).open_file(&base, &CachedFileSize::unknown()).await
}

impl Opened {
    fn read(&self, params: ReadBatchParams, batch: u32, projection: Option<ReaderProjection>) -> Result<Answer> {
        let everything = FilterExpression::no_filter();
        let batches = self.runtime.block_on(async {
            let stream = match projection {
                None => self.reader.read_stream(params, batch, 16, everything).await?,
                Some(p) => self.reader.read_stream_projected(params, batch, 16, p, everything).await?,
            };
            stream.try_collect::<Vec<_>>().await
        })?;
        Ok(Answer::Arrow58(batches))
    }
}

impl Open for Opened {
    fn take(&self, rows: &[u64]) -> Result<Answer> {
        let rows = rows.iter().map(|r| u32::try_from(*r)).collect::<std::result::Result<Vec<_>, _>>()?;
        self.read(ReadBatchParams::Indices(rows.into()), 1024, None)
    }

    fn scan(&self, columns: Option<&[&str]>) -> Result<Answer> {
        let projection = match columns {
            None => None,
            Some(names) => {
                // The tables are flat: the column of a field is its place.
                let place =
                    |n: &&str| self.reader.schema().fields.iter().position(|f| f.name == *n).ok_or("no such column");
                let places = names.iter().map(place).collect::<std::result::Result<Vec<_>, _>>()?;
                let schema = Arc::new(self.reader.schema().project(names)?);
                Some(ReaderProjection { schema, column_indices: places.into_iter().map(|p| p as u32).collect() })
            }
        };
        self.read(ReadBatchParams::RangeFull, 32_768, projection)
    }

    /// The file reader knows no filters: the columns are read, and rows picked.
    fn filter(&self, columns: &[&str], range: &Range) -> Result<Answer> {
        use arrow58::array::{AsArray, BooleanArray};
        let Answer::Arrow58(batches) = self.scan(Some(columns))? else { return Err("not batches".into()) };
        let picked = batches.iter().map(|batch| {
            let values = batch.column_by_name(range.column).ok_or("no such column")?;
            let values = values.as_primitive::<arrow58::datatypes::Int64Type>().values();
            let wanted = values.iter().map(|v| (range.low..=range.high).contains(v)).collect::<Vec<_>>();
            Ok(arrow58::compute::filter_record_batch(batch, &BooleanArray::from(wanted))?)
        });
        Ok(Answer::Arrow58(picked.collect::<Result<_>>()?))
    }
}

/// Writes a file of version 2.2, as Lance does by default.
pub fn write(runtime: &Runtime, path: &str, batches: &[arrow58::array::RecordBatch]) -> Result<()> {
    let schema = batches.first().ok_or("no batch")?.schema();
    let schema = lance_core::datatypes::Schema::try_from(schema.as_ref())?;
    runtime.block_on(async {
        let (store, base) = ObjectStore::from_uri(path).await?;
        let out = store.create(&base).await?;
        let mut writer = lance_file::versions::v2_2::create_writer(out, schema, FileWriterOptions::default())?;
        writer.write_batches(batches.iter()).await?;
        writer.finish().await
    })?;
    Ok(())
}
