//! An open Lance file as a table.

use crate::container::Container;
use crate::coroutine::{BoxFuture, join_all};
use crate::describe::{self, ColumnSummary};
use crate::extensions;
use crate::read::{LanceFile, Pieces, has_blob};
use crate::schema::{Fields, Node};
use crate::splits;
use crate::verify;
use arrow::array::ArrayRef;
use arrow::datatypes::{Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use bytes::Bytes;
use colkit_core::plan::batch_of;
use colkit_core::{
    BatchMachine, Boxed, ColumnStatistics, Lane, Layout, Machine, Projection, Result, Scan, Selection, Split, Step,
    Table, Verified,
};
use std::sync::Arc;

/// An open Lance file.
pub struct LanceTable {
    file: Arc<LanceFile>,
}

impl LanceTable {
    pub(crate) fn new(file: LanceFile) -> Self {
        LanceTable { file: Arc::new(file) }
    }

    /// The container: footer, tables, column metadata, buffers.
    pub fn container(&self) -> &Arc<Container> {
        &self.file.container
    }

    /// The schema's fields with their physical columns.
    pub fn fields(&self) -> &Fields {
        &self.file.fields
    }

    /// What is in the columns: pages, layouts, encodings, sizes.
    pub fn describe(&self) -> Boxed<Vec<ColumnSummary>> {
        let file = self.file.clone();
        self.file.container.coroutine(move |io| async move { describe::columns(&file, &io).await })
    }

    /// A few rows, all columns at once.
    fn read_together(&self, nodes: Vec<Arc<Node>>, schema: SchemaRef, rows: &Selection) -> BatchMachine {
        let (file, rows) = (self.file.clone(), rows.clone());
        let read = self.file.container.coroutine(move |io| async move {
            let fields: Vec<BoxFuture<ArrayRef>> =
                nodes.iter().map(|node| file.read(&io, node, rows.clone(), false)).collect();
            let count = usize::try_from(rows.len()).unwrap_or(usize::MAX);
            batch_of(&schema, join_all(fields).await?, count)
        });
        Box::new(Once(Some(read)))
    }

    /// The fields of a projection, and the schema of what comes out.
    fn project(&self, projection: &Projection) -> Result<(Vec<Arc<Node>>, SchemaRef)> {
        self.file.fields.project(projection)
    }
}

/// So few rows are not worth a lane for each column.
pub(crate) const FEW_ROWS: u64 = 64;

/// One batch, and then nothing.
struct Once(Option<Boxed<RecordBatch>>);

impl Machine for Once {
    type Output = Option<RecordBatch>;

    fn step(&mut self, got: Vec<Bytes>) -> Result<Step<Self::Output>> {
        let Some(machine) = &mut self.0 else { return Ok(Step::Ready(None)) };
        Ok(match machine.step(got)? {
            Step::Need(ranges) => Step::Need(ranges),
            Step::Ready(batch) => {
                self.0 = None;
                Step::Ready(Some(batch))
            }
        })
    }
}

impl Table for LanceTable {
    fn schema(&self) -> SchemaRef {
        self.file.fields.schema.clone()
    }

    fn row_count(&self) -> u64 {
        self.file.fields.rows
    }

    fn properties(&self) -> Vec<(&'static str, String)> {
        let version = self.file.container.version();
        let plugins = self.file.fields.own.keys().any(|key| key.starts_with(extensions::PLUGIN));
        let but = if plugins { ", without the columns that need plugins" } else { "" };
        vec![
            ("version", version.to_string()),
            ("read by", format!("{}{but}", version.readers())),
            ("physical columns", self.file.container.column_count().to_string()),
            ("global buffers", self.file.container.global_buffers().len().to_string()),
        ]
    }

    fn splits(&self, scan: &Scan) -> Result<Boxed<Vec<Split>>> {
        let rows = scan.row_range(self.row_count())?;
        let (nodes, _) = self.project(&scan.projection)?;
        let (file, predicate) = (self.file.clone(), scan.predicate.clone());
        Ok(self.file.container.coroutine(move |io| splits::of_file(file, io, nodes, rows, predicate)))
    }

    fn read(&self, scan: &Scan, rows: &Selection) -> Result<Vec<Lane>> {
        let (nodes, schema) = self.project(&scan.projection)?;
        let few = FEW_ROWS.min(scan.batch_rows as u64);
        if rows.len() <= few && nodes.len() > 1 && !nodes.iter().any(|node| has_blob(node)) {
            let columns = (0..nodes.len()).collect();
            return Ok(vec![Lane { columns, machine: self.read_together(nodes, schema, rows) }]);
        }
        // A lane holds a piece, and its batches wait for those of other lanes and splits.
        let memory = scan.memory / (nodes.len() as u64 * 8).max(1);
        let lane = |(position, node): (usize, Arc<Node>)| {
            let schema: SchemaRef = Arc::new(Schema::new(vec![schema.fields().get(position)?.clone()]));
            let machine = Pieces::new(self.file.clone(), node, schema, rows.clone(), scan, memory);
            Some(Lane { columns: vec![position], machine: Box::new(machine) })
        };
        Ok(nodes.into_iter().enumerate().filter_map(lane).collect())
    }

    fn column_bytes(&self, column: usize) -> Option<u64> {
        let columns = self.file.fields.roots.get(column)?.columns();
        let known = columns.iter().map(|c| self.file.container.known_column(*c)).collect::<Option<Vec<_>>>()?;
        Some(known.iter().flat_map(|c| c.ranges().map(|r| r.len())).fold(0, u64::saturating_add))
    }

    fn statistics(&self) -> Vec<ColumnStatistics> {
        self.file.statistics().to_vec()
    }

    fn verify(&self) -> Result<Boxed<Verified>> {
        let file = self.file.clone();
        Ok(self.file.container.coroutine(move |io| async move {
            let covered = verify::checksums(&file, &io).await?;
            verify::statistics(&file, &io).await?;
            Ok(Verified::by(covered))
        }))
    }

    fn layout(&self) -> Result<Boxed<Layout>> {
        let file = self.file.clone();
        Ok(self.file.container.coroutine(move |io| async move { describe::layout(&file, &io).await }))
    }
}
