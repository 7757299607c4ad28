//! Lance's own crates.

use crate::contest::{Answer, Contestant, Open, Result};
use futures::TryStreamExt;
use lance_encoding::decoder::{DecoderPlugins, FilterExpression};
use lance_file::reader::{FileReader, FileReaderOptions, ReaderProjection};
use lance_io::ReadBatchParams;
use lance_io::object_store::ObjectStore;
use lance_io::scheduler::{ScanScheduler, SchedulerConfig};
use lance_io::utils::CachedFileSize;
use std::sync::Arc;
use tokio::runtime::Runtime;

pub struct LanceFile {
    pub name: &'static str,
    pub file: &'static str,
    pub runtime: Arc<Runtime>,
}

struct Opened {
    reader: FileReader,
    runtime: Arc<Runtime>,
}

impl Contestant for LanceFile {
    fn name(&self) -> &'static str {
        self.name
    }

    fn file(&self) -> &'static str {
        self.file
    }

    fn open(&self, path: &str) -> Result<Box<dyn Open>> {
        let reader = self.runtime.block_on(async {
            let (store, base) = ObjectStore::from_uri(path).await?;
            let config = SchedulerConfig::max_bandwidth(&store);
            let file = ScanScheduler::new(store, config).open_file(&base, &CachedFileSize::unknown()).await?;
            let cache = lance_core::cache::LanceCache::with_capacity(128 << 20);
            let plugins = Arc::<DecoderPlugins>::default();
            FileReader::try_open(file, None, plugins, &cache, FileReaderOptions::default()).await
        })?;
        Ok(Box::new(Opened { reader, runtime: self.runtime.clone() }))
    }
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
            Some(names) => Some(ReaderProjection::from_column_names(
                self.reader.version(),
                self.reader.schema(),
                names,
            )?),
        };
        self.read(ReadBatchParams::RangeFull, 32_768, projection)
    }
}
