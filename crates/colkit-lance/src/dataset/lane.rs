//! Reads columns of a dataset, fragment by fragment.
//!
//! Many rows of a fragment are read like those of a file, in pieces. Few rows of many fragments, as `take` wants them, are
//! read side by side: what all of them need is asked for together.

use super::data_file::{FilePart, read_field};
use super::fragment::Fragment;
use super::table::Inner;
use crate::coroutine::{BoxFuture, Io, coroutine, join_all};
use crate::read::{Pieces, has_blob};
use crate::schema::Node;
use crate::table::FEW_ROWS;
use arrow::array::{ArrayRef, UInt64Array};
use arrow::datatypes::{Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use bytes::Bytes;
use colkit_core::plan::batch_of;
use colkit_core::{BatchMachine, Boxed, Error, Lane, Machine, Result, Scan, Selection, Step};
use std::collections::VecDeque;
use std::sync::Arc;

/// A column of a dataset.
#[derive(Clone)]
pub(crate) enum Wanted {
    /// A field of the schema, or what is wanted of it.
    Field(Arc<Node>),
    /// The ids of rows.
    RowId,
    /// The addresses of rows.
    RowAddress,
}

impl Wanted {
    pub fn node(&self) -> Option<Arc<Node>> {
        match self {
            Wanted::Field(node) => Some(node.clone()),
            Wanted::RowId | Wanted::RowAddress => None,
        }
    }
}

/// Rows of a fragment, counted without those that were deleted.
#[derive(Clone)]
pub(crate) struct FragmentRows {
    pub fragment: usize,
    pub rows: Selection,
}

/// So few rows are read together, of however many fragments.
const TOGETHER: u64 = 1024;

/// Blobs, which may be of any size, that are read together.
const BLOBS: u64 = 16;

/// What is to be read.
pub(crate) struct Lanes<'a> {
    pub dataset: &'a Arc<Inner>,
    pub scan: &'a Scan,
    pub rows: &'a Selection,
}

impl Lanes<'_> {
    /// A lane for each column, or one for all if there are few rows.
    pub fn lanes(&self, wanted: Vec<Wanted>, schema: &SchemaRef) -> Vec<Lane> {
        let few = FEW_ROWS.min(self.scan.batch_rows as u64);
        let blobs = wanted.iter().filter_map(Wanted::node).any(|node| has_blob(&node));
        if self.rows.len() <= few && wanted.len() > 1 && !blobs {
            let columns = (0..wanted.len()).collect();
            return vec![Lane { columns, machine: self.lane(wanted, schema.clone(), 1) }];
        }
        let share = wanted.len() as u64;
        let lane = |(position, wanted): (usize, Wanted)| {
            let schema: SchemaRef = Arc::new(Schema::new(vec![schema.fields().get(position)?.clone()]));
            Some(Lane { columns: vec![position], machine: self.lane(vec![wanted], schema, share) })
        };
        wanted.into_iter().enumerate().filter_map(lane).collect()
    }

    fn lane(&self, wanted: Vec<Wanted>, schema: SchemaRef, share: u64) -> BatchMachine {
        Box::new(DatasetLane {
            dataset: self.dataset.clone(),
            columns: Arc::new(Columns { wanted, schema }),
            // A lane holds a piece, and its batches wait for those of other lanes and splits.
            memory: self.scan.memory / (share * 8).max(1),
            scan: self.scan.clone(),
            pending: self.dataset.by_fragment(self.rows).into(),
            starting: None,
            running: None,
            ready: VecDeque::new(),
        })
    }
}

/// The columns of a lane.
struct Columns {
    wanted: Vec<Wanted>,
    schema: SchemaRef,
}

struct DatasetLane {
    dataset: Arc<Inner>,
    columns: Arc<Columns>,
    scan: Scan,
    memory: u64,
    /// What is still to be read.
    pending: VecDeque<FragmentRows>,
    starting: Option<Boxed<Started>>,
    running: Option<BatchMachine>,
    ready: VecDeque<RecordBatch>,
}

/// How the next rows come.
enum Started {
    /// All of them.
    Batches(Vec<RecordBatch>),
    /// One piece after another.
    Pieces(BatchMachine),
}

impl DatasetLane {
    /// Begins with the next fragment, or with several that have few rows.
    fn start(&mut self) -> Option<Boxed<Started>> {
        let first = self.pending.pop_front()?;
        let blob = self.columns.wanted.iter().filter_map(Wanted::node).any(|node| has_blob(&node));
        let (mut rows, mut group) = (first.rows.len(), vec![first]);
        while let Some(next) = self.pending.front().filter(|next| !blob && rows + next.rows.len() <= TOGETHER) {
            rows += next.rows.len();
            group.extend(self.pending.pop_front());
        }
        let (dataset, columns) = (self.dataset.clone(), self.columns.clone());
        Some(match (group.as_slice(), columns.wanted.as_slice()) {
            ([one], [wanted]) if rows > TOGETHER || blob => {
                let (one, wanted) = (one.clone(), wanted.clone());
                let (scan, memory) = (self.scan.clone(), self.memory);
                coroutine(move |io| async move {
                    OneFragment { dataset, columns, scan, memory }.start(&io, one, wanted).await
                })
            }
            _ => coroutine(move |io| async move {
                let read = |part: FragmentRows| -> BoxFuture<RecordBatch> {
                    Box::pin(read_together(dataset.clone(), columns.clone(), io.clone(), part))
                };
                Ok(Started::Batches(join_all(group.into_iter().map(read).collect()).await?))
            }),
        })
    }
}

impl Machine for DatasetLane {
    type Output = Option<RecordBatch>;

    fn step(&mut self, mut got: Vec<Bytes>) -> Result<Step<Self::Output>> {
        loop {
            if let Some(batch) = self.ready.pop_front() {
                return Ok(Step::Ready(Some(batch)));
            }
            if let Some(running) = &mut self.running {
                match running.step(std::mem::take(&mut got))? {
                    Step::Ready(None) => self.running = None,
                    given => return Ok(given),
                }
            } else if let Some(starting) = &mut self.starting {
                match starting.step(std::mem::take(&mut got))? {
                    Step::Need(ranges) => return Ok(Step::Need(ranges)),
                    Step::Ready(started) => {
                        self.starting = None;
                        match started {
                            Started::Batches(batches) => self.ready.extend(batches),
                            Started::Pieces(machine) => self.running = Some(machine),
                        }
                    }
                }
            } else {
                self.starting = self.start();
                if self.starting.is_none() {
                    return Ok(Step::Ready(None));
                }
            }
        }
    }
}

/// The rows of a fragment, all at once.
async fn read_together(dataset: Arc<Inner>, columns: Arc<Columns>, io: Io, part: FragmentRows) -> Result<RecordBatch> {
    let fragment = fragment_of(&dataset, &part)?;
    let nodes: Vec<Arc<Node>> = columns.wanted.iter().filter_map(Wanted::node).collect();
    let deleted = fragment.deleted(&io, &dataset.opening).await?;
    let rows = deleted.physical(&part.rows);
    let files: Arc<[FilePart]> = fragment.parts(&io, &dataset.opening, &nodes).await?.into();
    let mut place = 0;
    let mut reads: Vec<BoxFuture<ArrayRef>> = Vec::with_capacity(columns.wanted.len());
    for wanted in &columns.wanted {
        let (dataset, io, rows) = (dataset.clone(), io.clone(), rows.clone());
        match wanted.clone() {
            Wanted::Field(node) => {
                let (files, column) = (files.clone(), place);
                place += 1;
                reads.push(Box::pin(
                    async move { read_field(&io, &dataset.opening, &node, &files, column, &rows).await },
                ));
            }
            ids => {
                let index = part.fragment;
                reads.push(Box::pin(async move { read_ids(&dataset, &io, index, &ids, &rows).await }));
            }
        }
    }
    let count = usize::try_from(rows.len()).unwrap_or(usize::MAX);
    batch_of(&columns.schema, join_all(reads).await?, count)
}

fn fragment_of<'a>(dataset: &'a Inner, part: &FragmentRows) -> Result<&'a Fragment> {
    dataset.fragments.get(part.fragment).ok_or_else(|| Error::internal("a fragment beyond the last"))
}

/// The ids or addresses of rows of a fragment's files.
async fn read_ids(dataset: &Inner, io: &Io, index: usize, wanted: &Wanted, rows: &Selection) -> Result<ArrayRef> {
    let fragment = dataset.fragments.get(index).ok_or_else(|| Error::internal("a fragment beyond the last"))?;
    let stable = match wanted {
        Wanted::RowId => fragment.ids(io, &dataset.opening).await?,
        _ => None,
    };
    let positions = rows.ranges().iter().flat_map(|range| range.clone());
    Ok(Arc::new(match stable {
        Some(ids) => {
            let id = |row: u64| usize::try_from(row).ok().and_then(|row| ids.get(row).copied());
            UInt64Array::from_iter_values(positions.filter_map(id))
        }
        None => UInt64Array::from_iter_values(positions.map(|row| fragment.id << 32 | row)),
    }))
}

/// Many rows of one fragment, of one column.
struct OneFragment {
    dataset: Arc<Inner>,
    columns: Arc<Columns>,
    scan: Scan,
    memory: u64,
}

impl OneFragment {
    async fn start(self, io: &Io, part: FragmentRows, wanted: Wanted) -> Result<Started> {
        let fragment = fragment_of(&self.dataset, &part)?;
        let deleted = fragment.deleted(io, &self.dataset.opening).await?;
        let rows = deleted.physical(&part.rows);
        let schema = self.columns.schema.clone();
        let Wanted::Field(node) = wanted else {
            let ids = read_ids(&self.dataset, io, part.fragment, &wanted, &rows).await?;
            let batch = RecordBatch::try_new(schema, vec![ids])?;
            return Ok(Started::Batches(slices(&batch, self.scan.batch_rows)));
        };
        let files = fragment.parts(io, &self.dataset.opening, std::slice::from_ref(&node)).await?;
        let alone = match files.as_slice() {
            [only] => only.nodes.first().cloned().flatten().map(|own| (only, own)),
            _ => None,
        };
        // A file that has all of the field is read like any other file.
        if let Some((file, own)) = alone.filter(|(_, own)| own.field.data_type() == node.field.data_type()) {
            let pieces = Pieces::new(file.file.clone(), own, schema, rows, &self.scan, self.memory);
            let named = Named { name: file.name.clone(), machine: file.object.inside(Box::new(pieces)) };
            return Ok(Started::Pieces(Box::new(named)));
        }
        let piece_rows = if has_blob(&node) { BLOBS } else { (self.scan.batch_rows as u64).clamp(1, TOGETHER * 4) };
        let (dataset, files) = (self.dataset, files.into());
        Ok(Started::Pieces(Box::new(Assembled {
            dataset,
            files,
            node,
            schema,
            rows,
            read: 0,
            piece_rows,
            running: None,
        })))
    }
}

fn slices(batch: &RecordBatch, rows: usize) -> Vec<RecordBatch> {
    let rows = rows.max(1);
    let starts = (0..batch.num_rows()).step_by(rows);
    starts.map(|start| batch.slice(start, rows.min(batch.num_rows() - start))).collect()
}

/// A machine whose errors are about this file.
struct Named {
    name: String,
    machine: BatchMachine,
}

impl Machine for Named {
    type Output = Option<RecordBatch>;

    fn step(&mut self, got: Vec<Bytes>) -> Result<Step<Self::Output>> {
        self.machine.step(got).map_err(|e| e.file(self.name.clone()))
    }
}

/// A column that several files have parts of, or none.
struct Assembled {
    dataset: Arc<Inner>,
    files: Arc<[FilePart]>,
    node: Arc<Node>,
    schema: SchemaRef,
    rows: Selection,
    read: u64,
    piece_rows: u64,
    running: Option<Boxed<ArrayRef>>,
}

impl Machine for Assembled {
    type Output = Option<RecordBatch>;

    fn step(&mut self, got: Vec<Bytes>) -> Result<Step<Self::Output>> {
        let running = match &mut self.running {
            Some(running) => running,
            None => {
                let rows = self.rows.next(self.read, self.piece_rows);
                if rows.is_empty() {
                    return Ok(Step::Ready(None));
                }
                self.read += rows.len();
                let (dataset, files, node) = (self.dataset.clone(), self.files.clone(), self.node.clone());
                self.running.insert(coroutine(move |io| async move {
                    read_field(&io, &dataset.opening, &node, &files, 0, &rows).await
                }))
            }
        };
        Ok(match running.step(got)? {
            Step::Need(ranges) => Step::Need(ranges),
            Step::Ready(array) => {
                self.running = None;
                Step::Ready(Some(RecordBatch::try_new(self.schema.clone(), vec![array])?))
            }
        })
    }
}
