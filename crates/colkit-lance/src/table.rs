//! An open Lance file as a table.

use crate::container::Container;
use crate::coroutine::{BoxFuture, Io, join_all};
use crate::describe::{self, ColumnSummary};
use crate::prune;
use crate::read::{ColumnReader, LanceFile, Pieces, has_blob};
use crate::schema::{Fields, Node};
use crate::verify;
use arrow::array::ArrayRef;
use arrow::datatypes::{Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use bytes::Bytes;
use colkit_core::plan::batch_of;
use colkit_core::{
    BatchMachine, BoundPredicate, Boxed, ColumnStatistics, Lane, Layout, Machine, Projection, Result, Scan, Selection,
    Split, Step, Table, Verified, coalesce,
};
use std::ops::Range;
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
        let fields = &self.file.fields;
        let columns = projection.resolve(&fields.schema)?;
        let schema = projection.schema(&fields.schema)?;
        let pruned = columns.iter().zip(schema.fields());
        let nodes =
            pruned.filter_map(|(column, field)| Some(fields.roots.get(column.index)?.prune(field).map(Arc::new)));
        Ok((nodes.collect::<Result<Vec<_>>>()?, schema))
    }
}

/// So few rows are not worth a lane for each column.
const FEW_ROWS: u64 = 64;

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

/// Bytes of the file that a split should cover.
const SPLIT_BYTES: u64 = 16 << 20;

/// Rows of a split that are worth a split of their own, however narrow.
const SPLIT_ROWS: u64 = 64 << 10;

/// Splits at most: rows that take no bytes (nulls, constants) can be claimed in any number.
const MOST_SPLITS: u64 = 1 << 16;

fn split_rows(rows: u64, bytes: u64) -> u64 {
    let by_bytes = SPLIT_BYTES / bytes.div_ceil(rows.max(1)).max(1);
    let wanted = by_bytes.min((rows / 8).max(SPLIT_ROWS)).max(1024);
    wanted.max(rows / MOST_SPLITS).saturating_add(1023) / 1024 * 1024
}

async fn splits(
    file: Arc<LanceFile>,
    io: Io,
    nodes: Vec<Arc<Node>>,
    rows: Range<u64>,
    predicate: Option<BoundPredicate>,
) -> Result<Vec<Split>> {
    // Without columns there is nothing to read, but the number of rows should still be one that the file can prove.
    let witnesses: Vec<&Node> = match nodes.is_empty() {
        true => file.fields.roots.iter().take(1).collect(),
        false => nodes.iter().map(AsRef::as_ref).collect(),
    };
    let mut columns: Vec<usize> = witnesses.iter().flat_map(|n| n.columns()).collect();
    columns.sort_unstable();
    columns.dedup();
    file.prepare(&io, &columns).await?;
    witnesses.iter().try_for_each(|node| file.check_length(node))?;
    let wanted = match &predicate {
        Some(predicate) => prune::may_match(&file, &io, predicate, rows).await?,
        None => vec![rows],
    };
    let read = if nodes.is_empty() { &[] } else { columns.as_slice() };
    let readers: Vec<Arc<ColumnReader>> = read.iter().filter_map(|c| file.known_reader(*c).cloned()).collect();
    let bytes = readers.iter().flat_map(|r| r.metadata().ranges()).map(|r| r.len()).fold(0, u64::saturating_add);
    let step = split_rows(file.fields.rows, bytes);
    let mut parts: Vec<Range<u64>> = Vec::new();
    for rows in wanted {
        let mut at = rows.start;
        while at < rows.end {
            let end = (at / step).saturating_add(1).saturating_mul(step).min(rows.end);
            parts.push(at..end);
            at = end;
        }
    }
    let mut splits: Vec<Split> = parts.into_iter().map(|rows| Split { rows, ranges: Vec::new() }).collect();
    // Pages that are read in part must say where that part is: all of them at once.
    let mut learning: Vec<BoxFuture<()>> = Vec::new();
    for reader in &readers {
        learning.extend(to_learn(&file, &io, reader, &splits)?);
    }
    if !learning.is_empty() {
        join_all(learning).await?;
    }
    for reader in &readers {
        plan_column(&file, reader, &mut splits)?;
    }
    for split in &mut splits {
        if let Some(seal) = file.container.seal() {
            split.ranges = seal.plan(&split.ranges)?;
        }
        split.ranges = coalesce(&split.ranges, 0);
    }
    Ok(splits)
}

/// The pages of a column that hold some of these rows.
fn touched(pages: &[Range<u64>], rows: Range<u64>) -> impl Iterator<Item = (usize, &Range<u64>)> {
    let first = pages.partition_point(|p| p.end <= rows.start);
    let pages = pages.iter().enumerate().skip(first).take_while(move |(_, p)| p.start < rows.end);
    pages.filter(|(_, p)| !p.is_empty())
}

/// Whether a split holds all rows of a page.
fn is_whole(split: &Split, page: &Range<u64>) -> bool {
    split.rows.start <= page.start && page.end <= split.rows.end
}

/// Lets the pages of a column that are read in part find out where their rows are.
fn to_learn(file: &LanceFile, io: &Io, column: &Arc<ColumnReader>, splits: &[Split]) -> Result<Vec<BoxFuture<()>>> {
    let mut learning: Vec<BoxFuture<()>> = Vec::new();
    if column.length() != file.fields.rows {
        return Ok(learning);
    }
    let pages: Vec<Range<u64>> = column.page_rows().collect();
    let mut last = None;
    for split in splits {
        for (index, _) in touched(&pages, split.rows.clone()).filter(|(_, page)| !is_whole(split, page)) {
            if last < Some(index)
                && let Some(machine) = column.page(file, index)?.learn()
            {
                let (io, part) = (io.clone(), format!("column {} page {index}", column.number()));
                learning.push(Box::pin(async move { io.run(machine).await.map_err(|e| e.part(part)) }));
            }
            last = last.max(Some(index));
        }
    }
    Ok(learning)
}

/// Adds to each split the bytes that it needs of a column.
fn plan_column(file: &LanceFile, column: &Arc<ColumnReader>, splits: &mut [Split]) -> Result<()> {
    let metadata = column.metadata();
    if column.length() != file.fields.rows {
        // Items of lists: which of them are wanted is known only when the lists have been read.
        splits.iter_mut().for_each(|s| s.ranges.extend(metadata.ranges()));
        return Ok(());
    }
    let pages: Vec<Range<u64>> = column.page_rows().collect();
    let mut begun = None;
    for split in splits {
        for (index, page) in touched(&pages, split.rows.clone()) {
            let part = split.rows.start.max(page.start) - page.start..split.rows.end.min(page.end) - page.start;
            let known = if is_whole(split, page) { None } else { column.page(file, index)?.bytes_of(&part) };
            match known {
                Some(known) => {
                    split.ranges.extend(known.rows);
                    if begun < Some(index) {
                        split.ranges.extend(known.once);
                    }
                }
                None => split.ranges.extend(metadata.pages.get(index).iter().flat_map(|p| p.buffers.iter().copied())),
            }
            begun = begun.max(Some(index));
        }
        split.ranges.extend_from_slice(&metadata.buffers);
    }
    Ok(())
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
        vec![
            ("version", version.to_string()),
            ("read by", version.readers().to_owned()),
            ("physical columns", self.file.container.column_count().to_string()),
            ("global buffers", self.file.container.global_buffers().len().to_string()),
        ]
    }

    fn splits(&self, scan: &Scan) -> Result<Boxed<Vec<Split>>> {
        let rows = scan.row_range(self.row_count())?;
        let (nodes, _) = self.project(&scan.projection)?;
        let (file, predicate) = (self.file.clone(), scan.predicate.clone());
        Ok(self.file.container.coroutine(move |io| splits(file, io, nodes, rows, predicate)))
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
