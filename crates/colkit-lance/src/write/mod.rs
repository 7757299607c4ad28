//! Writing Lance files that stock readers read.
//!
//! ```text
//! batch -> per field: rows until a page is full -> per leaf: levels and values -> layout and encoding -> buffers
//! ```
//!
//! Fields collect rows on their own, so pages of different fields need not cover the same rows. A field holds at most
//! about one page of rows; full pages are encoded by several threads and written in the order of the fields, so the
//! bytes depend on the batches alone.

mod bounds;
mod choice;
mod codec;
mod container;
mod deferred;
pub(crate) mod dictionary;
mod extended;
mod full_zip;
mod hints;
mod levels;
mod lz4;
mod messages_of;
mod mini_block;
mod options;
mod page;
pub(crate) mod schema;
mod v20;
mod values;
pub(crate) mod zones;

use crate::container::Version;
use crate::container::messages::Page;
use crate::encoding::ValueEncodings;
use crate::extensions::{self, BloomFilters, Statistics, Zones};
use crate::schema::is_packed;
use arrow::array::{Array, ArrayRef};
use arrow::compute::{cast, concat};
use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use choice::Choice;
#[cfg(feature = "extended-read")]
pub(crate) use choice::cost;
use colkit_core::drive::parallel;
use colkit_core::{Error, Result, Sink, TableWriter, WriteOptions, WriteSummary, column_index};
use container::{BufferPlace, Output, PageBytes, WrittenColumn};
use hints::Hints;
pub use options::{EncodingSet, LanceWriteOptions, Prefer};
use prost::Message;
use std::sync::Arc;
pub(crate) use values::Variable;
use zones::{ZONE_ROWS, ZoneMap};

/// A page is at least worth this much, however little memory there is.
const SMALLEST_PAGE: u64 = 64 << 10;

/// Most rows of a page: columns of nulls or bits have many in few bytes.
const PAGE_ROWS: usize = 1 << 22;

/// A file being written.
pub(crate) struct LanceWriter {
    /// As given.
    given: SchemaRef,
    /// As stored.
    stored: Schema,
    columns: Vec<TopLevelColumn>,
    output: Output,
    version: Version,
    page_bytes: u64,
    threads: usize,
    /// Those beyond Lance's, if the file may have them.
    extended: Option<Arc<ValueEncodings>>,
    /// Whether pages may share their descriptions.
    deferred: bool,
    rows: u64,
    notes: Vec<String>,
}

/// A top-level field: the rows of its next page, and the pages of its physical columns.
struct TopLevelColumn {
    field: FieldRef,
    pending: Vec<ArrayRef>,
    bytes: u64,
    rows: usize,
    /// The row that `pending` begins with.
    first_row: u64,
    leaves: Vec<Leaf>,
    pages: Vec<Vec<Page>>,
    zones: ZoneMap,
}

/// A physical column.
#[derive(Clone, Copy)]
struct Leaf {
    choice: Choice,
    kind: LeafKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum LeafKind {
    Values,
    /// Values outside of pages.
    Blob,
    /// What is left of a struct in 2.0: its length.
    Header,
}

impl LanceWriter {
    pub fn new(
        schema: SchemaRef,
        sink: Box<dyn Sink>,
        options: &WriteOptions,
        writing: &LanceWriteOptions,
        known: Arc<ValueEncodings>,
    ) -> Result<Self> {
        let version = writing.file_version();
        let mut notes = Vec::new();
        let mut stored = schema::storable(&schema, version, options.types, &mut notes)?;
        // Of the file that the schema may have come from.
        stored.metadata.retain(|key, _| !extensions::is_own_key(key));
        let level = options.level.map(|l| i32::try_from(l).unwrap_or(i32::MAX));
        let choice = Choice { prefer: writing.prefer, level, version, hints: Hints::default(), sharers: 1 };
        let bloom = writing.bloom.iter().map(|name| column_index(&stored, name)).collect::<Result<Vec<_>>>()?;
        let mut columns = Vec::with_capacity(stored.fields().len());
        for (number, field) in stored.fields().iter().enumerate() {
            let wanted = bloom.contains(&number);
            if wanted && !crate::bloom::applies(field.data_type()) {
                let what = format!("a bloom filter for a column of type {}", field.data_type());
                return Err(Error::data("type_not_supported", what)
                    .part(format!("column {number} {:?}", field.name()))
                    .hint("types with an order can have one, except decimals of 256 bits"));
            }
            let mut leaves = Vec::new();
            collect_leaves(field, field, choice, &mut leaves)?;
            columns.push(TopLevelColumn {
                field: field.clone(),
                pending: Vec::new(),
                bytes: 0,
                rows: 0,
                first_row: 0,
                pages: vec![Vec::new(); leaves.len()],
                leaves,
                zones: ZoneMap::new(wanted),
            });
        }
        let sharers = columns.iter().map(|column| column.leaves.len()).sum();
        columns.iter_mut().flat_map(|column| &mut column.leaves).for_each(|leaf| leaf.choice.sharers = sharers);
        let threads = options.threads.max(1);
        // Every column holds up to a page of rows; every thread holds one twice more, as values and as bytes.
        let shares = (columns.len() + 4 * threads) as u64;
        let page_bytes = (options.memory / shares.max(1)).min(writing.page_bytes).max(SMALLEST_PAGE);
        let output = Output::new(sink, version);
        let extended = (writing.encodings == EncodingSet::Extended).then_some(known);
        Ok(LanceWriter {
            given: schema,
            stored,
            columns,
            output,
            version,
            page_bytes,
            threads,
            extended,
            deferred: writing.deferred_encodings,
            rows: 0,
            notes,
        })
    }

    /// Encodes and writes what these columns have collected.
    fn flush(&mut self, due: &[usize]) -> Result<()> {
        for group in due.chunks(self.threads) {
            let take = |number: &usize| {
                let column = self.columns.get_mut(*number)?;
                let job = Job {
                    field: column.field.clone(),
                    rows: std::mem::take(&mut column.pending),
                    leaves: column.leaves.clone(),
                    version: self.version,
                    extended: self.extended.clone(),
                };
                Some((*number, job))
            };
            let jobs: Vec<(usize, Job)> = group.iter().filter_map(take).collect();
            let encoded = parallel::map(jobs, self.threads, |(number, job)| {
                encode_field(&job).map_err(|e| e.part(format!("column {number} {:?}", job.field.name())))
            })?;
            for (number, pages) in group.iter().zip(encoded) {
                if let Some(column) = self.columns.get_mut(*number) {
                    column.write(pages, &mut self.output)?;
                }
            }
        }
        Ok(())
    }
}

/// The physical columns of a field, in their order.
fn collect_leaves(top: &Field, field: &Field, choice: Choice, leaves: &mut Vec<Leaf>) -> Result<()> {
    let old = choice.version == Version::V2_0;
    let leaf = |kind| -> Result<Leaf> { Ok(Leaf { choice: Choice { hints: Hints::of(top, field)?, ..choice }, kind }) };
    match field.data_type() {
        DataType::Struct(members) if !members.is_empty() && !is_packed(field.metadata()) => {
            if old {
                leaves.push(leaf(LeafKind::Header)?);
            }
            members.iter().try_for_each(|m| collect_leaves(top, m, choice, leaves))
        }
        DataType::List(item) | DataType::LargeList(item) | DataType::Map(item, _) => {
            if old {
                leaves.push(leaf(LeafKind::Values)?);
            }
            collect_leaves(top, item, choice, leaves)
        }
        DataType::FixedSizeList(item, _) if matches!(item.data_type(), DataType::Struct(_)) => {
            collect_leaves(top, item, choice, leaves)
        }
        DataType::Struct(members) if members.is_empty() && old => {
            leaves.push(leaf(LeafKind::Header)?);
            Ok(())
        }
        _ => {
            leaves.push(leaf(if schema::is_blob(field) { LeafKind::Blob } else { LeafKind::Values })?);
            Ok(())
        }
    }
}

/// The pages of each physical column of a field.
type LeafPages = Vec<Vec<PageBytes>>;

/// Rows of a field to be encoded.
struct Job {
    field: FieldRef,
    rows: Vec<ArrayRef>,
    leaves: Vec<Leaf>,
    version: Version,
    extended: Option<Arc<ValueEncodings>>,
}

fn encode_field(job: &Job) -> Result<LeafPages> {
    let parts: Vec<&dyn Array> = job.rows.iter().map(AsRef::as_ref).collect();
    // Dictionaries that do not fit together, and texts beyond 2 GiB, stay pages of their own.
    let whole = match parts.as_slice() {
        [] => Vec::new(),
        [_] => job.rows.clone(),
        _ => concat(&parts).map_or_else(|_| job.rows.clone(), |whole| vec![whole]),
    };
    let mut pages: LeafPages = Vec::with_capacity(job.leaves.len());
    if job.version == Version::V2_0 {
        pages.resize_with(job.leaves.len(), Vec::new);
        let choices: Vec<Choice> = job.leaves.iter().map(|l| l.choice).collect();
        for part in &whole {
            v20::encode(&job.field, part, &choices, &mut pages)?;
        }
        return Ok(pages);
    }
    for (number, leaf) in job.leaves.iter().enumerate() {
        let mut own = Vec::new();
        for part in &whole {
            match leaf.kind {
                LeafKind::Blob => page::encode_blobs(&job.field, part, number, &mut own)?,
                LeafKind::Values | LeafKind::Header => {
                    let extended = job.extended.as_deref();
                    page::encode(&job.field, part, number, (leaf.choice, extended), &mut own)?;
                }
            }
        }
        pages.push(own);
    }
    Ok(pages)
}

impl TopLevelColumn {
    /// Takes rows that make at most about a page; says whether a page is full.
    fn push(&mut self, array: ArrayRef, page_bytes: u64) -> Result<bool> {
        self.zones.push(&array)?;
        self.bytes += array_bytes(&array);
        self.rows += array.len();
        self.pending.push(array);
        Ok(self.bytes >= page_bytes || self.rows >= PAGE_ROWS)
    }

    fn write(&mut self, leaves: LeafPages, output: &mut Output) -> Result<()> {
        for (pages, written) in leaves.into_iter().zip(&mut self.pages) {
            let mut row = self.first_row;
            for page in pages {
                // Below fixed-size lists of structs, rows are counted by their items.
                let next = row + page.top_rows;
                let each = page.rows.checked_div(page.top_rows).unwrap_or(1);
                written.push(output.page(page, row * each)?);
                row = next;
            }
        }
        self.zones.end_page();
        self.first_row += self.rows as u64;
        (self.rows, self.bytes) = (0, 0);
        Ok(())
    }
}

/// Bytes of these rows in memory, of a slice only what it shows.
fn array_bytes(array: &ArrayRef) -> u64 {
    let data = array.to_data();
    data.get_slice_memory_size().unwrap_or_else(|_| array.get_array_memory_size()) as u64
}

impl TableWriter for LanceWriter {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        if batch.schema().fields() != self.given.fields() {
            return Err(Error::data("schema_mismatch", "a batch with another schema than the writer was made for"));
        }
        let rows = batch.num_rows();
        if rows == 0 {
            return Ok(());
        }
        let mut arrays = Vec::with_capacity(batch.num_columns());
        for (array, field) in batch.columns().iter().zip(self.stored.fields()) {
            arrays.push(if array.data_type() == field.data_type() {
                array.clone()
            } else {
                cast(array, field.data_type())?
            });
        }
        let largest = arrays.iter().map(array_bytes).max().unwrap_or(0);
        // Batches that would fill several pages at once are cut, so that no page is much larger than asked.
        let pieces = usize::try_from(largest / self.page_bytes).unwrap_or(rows).max(rows / PAGE_ROWS) + 1;
        let step = rows.div_ceil(pieces).max(1);
        for from in (0..rows).step_by(step) {
            let count = step.min(rows - from);
            let page_bytes = self.page_bytes;
            let mut due = Vec::new();
            for (number, (column, array)) in self.columns.iter_mut().zip(&arrays).enumerate() {
                if column.push(array.slice(from, count), page_bytes)? {
                    due.push(number);
                }
            }
            self.flush(&due)?;
        }
        self.rows += rows as u64;
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<WriteSummary> {
        let due: Vec<usize> =
            (0..self.columns.len()).filter(|c| self.columns.get(*c).is_some_and(|c| c.rows > 0)).collect();
        self.flush(&due)?;
        let mut globals = self.write_extensions()?;
        let mut columns = Vec::new();
        for column in self.columns {
            for (leaf, mut pages) in column.leaves.iter().zip(column.pages) {
                if leaf.kind == LeafKind::Header {
                    // The header of a struct is one page, whatever its members have.
                    let length = pages.iter().map(|p| p.length).sum();
                    pages = vec![v20::header(length)];
                }
                columns.push(WrittenColumn::new(pages, leaf.kind == LeafKind::Blob && self.version == Version::V2_0));
            }
        }
        if self.deferred
            && let Some(place) = self.output.share(&mut columns)?
        {
            globals.push(place);
            self.stored.metadata.insert(extensions::DESCRIPTIONS.to_owned(), globals.len().to_string());
            self.notes.push("stock Lance refuses this file: its pages share their descriptions".to_owned());
        }
        let (stored, rows, seal) = (self.stored, self.rows, globals.len() + 1);
        let descriptor = |size: u64| {
            let mut stored = stored.clone();
            stored.metadata.insert(extensions::SEAL.to_owned(), extensions::seal_value(seal, size));
            schema::descriptor(&stored, rows)
        };
        let bytes = self.output.finish(descriptor, columns, globals)?;
        Ok(WriteSummary::new(self.rows, bytes, self.notes))
    }
}

impl LanceWriter {
    /// Writes statistics, zone maps and bloom filters, and names them in the schema.
    fn write_extensions(&mut self) -> Result<Vec<BufferPlace>> {
        let (mut columns, mut all, mut blooms) = (Vec::new(), Vec::new(), Vec::new());
        for (number, column) in self.columns.iter_mut().enumerate() {
            let map = std::mem::take(&mut column.zones).finish();
            columns.push(map.zones);
            all.push(map.all);
            if let Some(filters) = map.bloom {
                let filters = BloomFilters { filters: filters.into_iter().map(|f| f.0).collect() };
                blooms.push((format!("{}{number}", extensions::BLOOM), filters.encode_to_vec()));
            }
        }
        let mut buffers = vec![
            (extensions::STATISTICS.to_owned(), Statistics { columns: all }.encode_to_vec()),
            (extensions::ZONES.to_owned(), Zones { rows_per_zone: ZONE_ROWS as u64, columns }.encode_to_vec()),
        ];
        buffers.append(&mut blooms);
        let mut places = Vec::with_capacity(buffers.len());
        for (index, (key, bytes)) in buffers.iter().enumerate() {
            places.push(self.output.buffer(bytes)?);
            self.stored.metadata.insert(key.clone(), (index + 1).to_string());
        }
        self.notes.extend(extended::note(self.extended.as_deref(), &self.columns));
        for (name, module) in extended::modules(self.extended.as_deref(), &self.columns) {
            places.push(self.output.buffer(&module.bytes)?);
            let value = format!("{} {}", places.len(), module.sha256);
            self.stored.metadata.insert(format!("{}{name}", extensions::PLUGIN), value);
        }
        Ok(places)
    }
}
