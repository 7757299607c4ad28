//! Writing Lance files of version 2.1 that stock readers read.
//!
//! ```text
//! batch -> per field: rows until a page is full -> per leaf: levels and values -> layout and encoding -> buffers
//! ```
//!
//! Fields collect rows on their own, so pages of different fields need not cover the same rows. A field holds at most
//! about one page of rows; full pages are encoded by several threads and written in the order of the fields, so the
//! bytes depend on the batches alone.

mod codec;
mod container;
mod dictionary;
mod full_zip;
mod levels;
mod messages_of;
mod mini_block;
mod page;
pub(crate) mod schema;
mod values;
mod zones;

use crate::container::Version;
use crate::trust::{self, Checksums, ColumnChecksums, ColumnZones, Statistics, Zones};
use arrow::array::{Array, ArrayRef};
use arrow::compute::{cast, concat};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use colkit_core::{Error, Result, Sink, TableWriter, WriteOptions, WriteSummary};
use container::{Output, PageBytes, Place, WrittenPage};
use page::Choice;
use prost::Message;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use zones::{ZONE_ROWS, ZoneMap};

/// What encodings are chosen for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Prefer {
    /// The smallest file.
    #[default]
    Size,
    /// Little work for writing and reading.
    Speed,
    /// Single rows: nothing that must be unpacked as a whole.
    RandomAccess,
}

/// Bytes of Arrow memory that make a page.
const PAGE_BYTES: u64 = 8 << 20;

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
    columns: Vec<Column>,
    output: Output,
    choice: Choice,
    page_bytes: u64,
    threads: usize,
    rows: u64,
    notes: Vec<String>,
}

/// A top-level field: the rows of its next page, and the pages of its leaves.
struct Column {
    pending: Vec<ArrayRef>,
    bytes: u64,
    rows: usize,
    /// The row that `pending` begins with.
    first_row: u64,
    leaves: Vec<Vec<WrittenPage>>,
    zones: ZoneMap,
}

impl LanceWriter {
    pub fn new(schema: SchemaRef, sink: Box<dyn Sink>, options: &WriteOptions, prefer: Prefer) -> Result<Self> {
        let mut notes = Vec::new();
        let stored = schema::storable(&schema, options.types, &mut notes)?;
        let column = |f: &arrow::datatypes::FieldRef| Column {
            pending: Vec::new(),
            bytes: 0,
            rows: 0,
            first_row: 0,
            leaves: vec![Vec::new(); leaf_count(f)],
            zones: ZoneMap::default(),
        };
        let columns: Vec<Column> = stored.fields().iter().map(column).collect();
        let threads = options.threads.max(1);
        // Every column holds up to a page of rows; every thread holds one twice more, as values and as bytes.
        let shares = (columns.len() + 4 * threads) as u64;
        let page_bytes = (options.memory / shares.max(1)).clamp(SMALLEST_PAGE, PAGE_BYTES);
        let level = options.level.map_or(3, |l| i32::try_from(l).unwrap_or(i32::MAX));
        let choice = Choice { prefer, level };
        let output = Output::new(sink);
        Ok(LanceWriter { given: schema, stored, columns, output, choice, page_bytes, threads, rows: 0, notes })
    }

    /// Encodes and writes what these columns have collected.
    fn flush(&mut self, due: &[usize]) -> Result<()> {
        for group in due.chunks(self.threads) {
            let take = |c: &usize| {
                let column = self.columns.get_mut(*c)?;
                Some((std::mem::take(&mut column.pending), column.leaves.len()))
            };
            let jobs: Vec<(Vec<ArrayRef>, usize)> = group.iter().filter_map(take).collect();
            let encoded = encode_all(&jobs, self.choice, self.threads);
            for (number, pages) in group.iter().zip(encoded) {
                let name = self.stored.fields().get(*number).map(|f| f.name().clone()).unwrap_or_default();
                let pages = pages.map_err(|e| e.part(format!("column {number} {name:?}")))?;
                if let Some(column) = self.columns.get_mut(*number) {
                    column.write(pages, &mut self.output)?;
                }
            }
        }
        Ok(())
    }
}

fn leaf_count(field: &Field) -> usize {
    match field.data_type() {
        DataType::Struct(members) => members.iter().map(|m| leaf_count(m)).sum::<usize>().max(1),
        DataType::List(item) | DataType::LargeList(item) => leaf_count(item),
        _ => 1,
    }
}

/// The pages of each leaf of a field.
type LeafPages = Vec<Vec<PageBytes>>;

/// Encodes several fields at once; the results are in the order of the jobs.
fn encode_all(jobs: &[(Vec<ArrayRef>, usize)], choice: Choice, threads: usize) -> Vec<Result<LeafPages>> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    let work = || {
        while let Some((index, (rows, leaves))) = {
            let index = next.fetch_add(1, Ordering::Relaxed);
            jobs.get(index).map(|job| (index, job))
        } {
            let pages = encode_field(rows, *leaves, choice);
            if let Ok(mut done) = done.lock() {
                done.push((index, pages));
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(jobs.len()) {
            scope.spawn(work);
        }
        work();
    });
    let mut done = done.into_inner().unwrap_or_default();
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, pages)| pages).collect()
}

fn encode_field(rows: &[ArrayRef], leaves: usize, choice: Choice) -> Result<LeafPages> {
    let parts: Vec<&dyn Array> = rows.iter().map(AsRef::as_ref).collect();
    // Dictionaries that do not fit together, and texts beyond 2 GiB, stay pages of their own.
    let whole = match parts.as_slice() {
        [] => Vec::new(),
        [_] => rows.to_vec(),
        _ => concat(&parts).map_or_else(|_| rows.to_vec(), |whole| vec![whole]),
    };
    let mut pages: LeafPages = Vec::with_capacity(leaves);
    for leaf in 0..leaves {
        let mut own = Vec::new();
        for part in &whole {
            page::encode(part, leaf, choice, &mut own)?;
        }
        pages.push(own);
    }
    Ok(pages)
}

impl Column {
    /// Takes rows that make at most about a page; says whether a page is full.
    fn push(&mut self, array: ArrayRef, page_bytes: u64) -> bool {
        self.bytes += array_bytes(&array);
        self.rows += array.len();
        self.pending.push(array);
        self.bytes >= page_bytes || self.rows >= PAGE_ROWS
    }

    fn write(&mut self, leaves: LeafPages, output: &mut Output) -> Result<()> {
        for (pages, written) in leaves.iter().zip(&mut self.leaves) {
            let mut row = self.first_row;
            for page in pages {
                written.push(output.page(page, row)?);
                row += page.rows;
            }
        }
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
            return Err(Error::request("wrong_schema", "a batch with another schema than the writer was made for"));
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
        for (column, array) in self.columns.iter_mut().zip(&arrays) {
            column.zones.push(array)?;
        }
        let largest = arrays.iter().map(array_bytes).max().unwrap_or(0);
        // Batches that would fill several pages at once are cut, so that no page is much larger than asked.
        let pieces = usize::try_from(largest / self.page_bytes).unwrap_or(rows).max(rows / PAGE_ROWS) + 1;
        let step = rows.div_ceil(pieces).max(1);
        for from in (0..rows).step_by(step) {
            let count = step.min(rows - from);
            let page_bytes = self.page_bytes;
            let columns = self.columns.iter_mut().zip(&arrays).enumerate();
            let full = columns.filter_map(|(i, (c, a))| c.push(a.slice(from, count), page_bytes).then_some(i));
            let due: Vec<usize> = full.collect();
            self.flush(&due)?;
        }
        self.rows += rows as u64;
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<WriteSummary> {
        let due: Vec<usize> =
            (0..self.columns.len()).filter(|c| self.columns.get(*c).is_some_and(|c| c.rows > 0)).collect();
        self.flush(&due)?;
        let globals = self.write_trust()?;
        let descriptor = schema::descriptor(&self.stored, self.rows)?;
        let pages = |leaf: Vec<WrittenPage>| leaf.into_iter().map(|p| p.page).collect();
        let columns = self.columns.into_iter().flat_map(|c| c.leaves).map(pages).collect();
        let bytes = self.output.finish(Version::V2_1, &descriptor, columns, globals)?;
        Ok(WriteSummary { rows: self.rows, bytes, notes: self.notes })
    }
}

impl LanceWriter {
    /// Writes statistics, zone maps and checksums, and names them in the schema.
    fn write_trust(&mut self) -> Result<Vec<Place>> {
        let (mut columns, mut all) = (Vec::new(), Vec::new());
        for column in &mut self.columns {
            let (zones, whole) = std::mem::take(&mut column.zones).finish();
            columns.push(ColumnZones { zones });
            all.push(whole);
        }
        let checksums = |leaf: &Vec<WrittenPage>| ColumnChecksums {
            crc32: leaf.iter().flat_map(|p| p.crc32.iter().copied()).collect(),
        };
        let checksums = Checksums { columns: self.columns.iter().flat_map(|c| &c.leaves).map(checksums).collect() };
        let buffers = [
            (trust::STATISTICS, Statistics { columns: all }.encode_to_vec()),
            (trust::ZONES, Zones { rows_per_zone: ZONE_ROWS as u64, columns }.encode_to_vec()),
            (trust::CHECKSUMS, checksums.encode_to_vec()),
        ];
        let mut places = Vec::with_capacity(buffers.len());
        for (index, (key, bytes)) in buffers.iter().enumerate() {
            places.push(self.output.buffer(bytes)?);
            self.stored.metadata.insert((*key).to_owned(), (index + 1).to_string());
        }
        Ok(places)
    }
}
