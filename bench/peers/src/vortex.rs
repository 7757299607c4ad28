//! Vortex, with its own file reader or over a mapped file.

use crate::answer::Answer;
use crate::contest::Result;
use crate::reading::{Open, Range, Reader};
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use futures::TryStreamExt;
use std::sync::Arc;
use tokio::runtime::Runtime;
use vortex::VortexSessionDefault;
use vortex::array::arrays::ChunkedArray;
use vortex::array::expr::{and, col, gt_eq, lit, lt_eq, root, select};
use vortex::array::{ArrayRef, IntoArray};
use vortex::arrow::ArrowSessionExt;
use vortex::buffer::{Buffer, ByteBuffer};
use vortex::file::{OpenOptionsSessionExt, VortexFile, WriteOptionsSessionExt, WriteStrategyBuilder};
use vortex::io::session::RuntimeSessionExt;
use vortex::layout::scan::scan_builder::ScanBuilder;
use vortex::scan::strict_sorted_buffer::StrictSortedBuffer;
use vortex::session::VortexSession;

pub struct Vortex {
    pub name: &'static str,
    pub mapped: bool,
    pub runtime: Arc<Runtime>,
    pub session: VortexSession,
}

pub fn session(runtime: &Runtime) -> VortexSession {
    runtime.block_on(async { VortexSession::default().with_tokio() })
}

struct Opened {
    file: VortexFile,
    schema: SchemaRef,
    runtime: Arc<Runtime>,
}

impl Reader for Vortex {
    fn name(&self) -> &'static str {
        self.name
    }

    fn file(&self) -> &'static str {
        ".vortex"
    }

    fn open(&self, path: &str) -> Result<Box<dyn Open>> {
        let options = self.session.open_options().with_layout_reader_cache();
        let file = if self.mapped {
            // SAFETY: nobody changes the file while the benchmark runs.
            let map = unsafe { memmap2::Mmap::map(&std::fs::File::open(path)?)? };
            options.open_buffer(ByteBuffer::from(map))?
        } else {
            self.runtime.block_on(options.open_path(path))?
        };
        let schema = Arc::new(self.session.arrow().to_arrow_schema(file.dtype())?);
        Ok(Box::new(Opened { file, schema, runtime: self.runtime.clone() }))
    }
}

impl Opened {
    fn read_columns(&self, scan: ScanBuilder<ArrayRef>, names: &[&str]) -> Result<Answer> {
        let projection = select(names.to_vec(), root()).bind(self.file.dtype())?.optimize_recursive()?;
        let fields = names.iter().map(|n| self.schema.index_of(n)).collect::<std::result::Result<Vec<_>, _>>()?;
        self.read(scan.with_projection(projection), Arc::new(self.schema.project(&fields)?))
    }

    fn read(&self, scan: ScanBuilder<ArrayRef>, schema: SchemaRef) -> Result<Answer> {
        let batches: Vec<RecordBatch> = self
            .runtime
            .block_on(async { scan.into_record_batch_stream(schema)?.try_collect().await.map_err(Into::into) })
            .map_err(|e: Box<dyn std::error::Error + Send + Sync>| e)?;
        Ok(Answer::Arrow59(batches))
    }
}

impl Open for Opened {
    fn take(&self, rows: &[u64]) -> Result<Answer> {
        let rows = StrictSortedBuffer::try_new(Buffer::copy_from(rows))?;
        self.read(self.file.scan()?.with_row_indices(rows), self.schema.clone())
    }

    fn scan(&self, columns: Option<&[&str]>) -> Result<Answer> {
        let Some(names) = columns else { return self.read(self.file.scan()?, self.schema.clone()) };
        self.read_columns(self.file.scan()?, names)
    }

    fn filter(&self, columns: &[&str], range: &Range) -> Result<Answer> {
        let between = and(gt_eq(col(range.column), lit(range.low)), lt_eq(col(range.column), lit(range.high)));
        let between = between.bind(self.file.dtype())?.optimize_recursive()?;
        self.read_columns(self.file.scan()?.with_filter(between), columns)
    }
}

/// Writes the batches as a Vortex file, by default or with its compact strategy.
pub fn write(
    session: &VortexSession,
    runtime: &Runtime,
    path: &str,
    batches: &[RecordBatch],
    compact: bool,
) -> Result<()> {
    let schema = batches.first().ok_or("no batch")?.schema();
    let dtype = session.arrow().from_arrow_schema(&schema)?;
    let chunks = batches
        .iter()
        .map(|b| session.arrow().from_arrow_record_batch(b.clone(), &schema))
        .collect::<std::result::Result<Vec<_>, _>>()?;
    let array = ChunkedArray::try_new(chunks, dtype)?.into_array();
    let mut options = session.write_options();
    if compact {
        let compressor = vortex::compressor::BtrBlocksCompressorBuilder::from_session(session).with_compact();
        options = options
            .with_strategy(WriteStrategyBuilder::from_session(session).with_btrblocks_builder(compressor).build());
    }
    runtime.block_on(async {
        let mut file = tokio::fs::File::create(path).await?;
        options.write(&mut file, array.to_array_stream()).await?;
        Ok(())
    })
}
