//! The container: footer, tables, column metadata, global buffers. Knows nothing of encodings and types.
//!
//! ```text
//! data buffers ... | global buffer 0 (schema) | column metadata 0..N | column table | global table | footer
//! ```
//!
//! Everything is found by position, from the back: the footer names the tables, the tables name the rest. A column's
//! metadata is fetched and parsed when it is first asked for and then kept, so a file of 10,000 columns costs what
//! the wanted three cost.

mod column;
mod footer;
pub(crate) mod messages;

pub use column::{ColumnMetadata, Description, PageMetadata};
pub(crate) use column::{bad_metadata, inside};
pub(crate) use footer::ENTRY;
pub use footer::{Footer, MAGIC, Version};

use crate::bytes_at::{cut, size as in_memory, u64_at};
use crate::coroutine::{Io, coroutine, sealed};
use crate::seal::{BLOCK, Seal};
use bytes::Bytes;
use colkit_core::{Boxed, ByteRange, Error, ReadOptions, Result};
use column::Unresolved;
use std::collections::{BTreeMap, HashMap};
use std::future::Future;
use std::sync::{Arc, OnceLock};

/// Tables up to this size are fetched together when a file is opened.
const SMALL_TABLES: u64 = 64 << 10;

/// An open container.
#[derive(Debug)]
pub struct Container {
    size: u64,
    footer: Footer,
    globals: Vec<ByteRange>,
    /// The end of the file, as far as it was fetched; proven, if there is a seal.
    tail: Bytes,
    /// What proves the bytes of the file, if it has such a thing and it is wanted.
    seal: Option<Arc<Seal>>,
    columns: Vec<OnceLock<Arc<ColumnMetadata>>>,
}

impl Container {
    /// Opens a container of `size` bytes: footer and tables.
    pub fn open(size: u64, options: &ReadOptions) -> Boxed<Arc<Container>> {
        let options = options.clone();
        coroutine(move |io| async move { Ok(Arc::new(Self::read(&io, size, &options).await?)) })
    }

    async fn read(io: &Io, size: u64, options: &ReadOptions) -> Result<Self> {
        if size < Footer::LENGTH {
            return Err(Error::corrupt("truncated", format!("a Lance file has at least 40 bytes, this has {size}"))
                .part("footer")
                .at(0));
        }
        let tail_len = options.prefetch.clamp(Footer::LENGTH, size);
        let mut tail = io.read_one(ByteRange::between(size - tail_len, size)).await?;
        let footer = Footer::parse(tail.get(tail.len().saturating_sub(40)..).unwrap_or_default(), size)?;
        options.limits.check_columns(footer.columns.into())?;
        let both = size - footer.column_table.start();
        let tables = if both <= SMALL_TABLES { both } else { size - footer.global_table.start() };
        // What is proven begins at a block.
        let wanted = if options.checksums { tables.saturating_add(BLOCK).min(size) } else { tables };
        if wanted > tail.len() as u64 {
            tail = io.read_one(ByteRange::between(size - wanted, size)).await?;
        }
        let mut container = Container { size, footer, globals: Vec::new(), tail, seal: None, columns: Vec::new() };
        let table = container.at_hand(footer.global_table).unwrap_or_default();
        container.globals = (0..in_memory(footer.global_buffers.into())?)
            .map(|i| entry(&table, i).and_then(|(position, length)| inside(position, length, size)))
            .collect::<Result<_>>()
            .map_err(|e| e.at(footer.global_table.start()).part("global buffer table"))?;
        container.columns.resize_with(in_memory(footer.columns.into())?, OnceLock::new);
        if options.checksums {
            container.unseal(io).await?;
        }
        Ok(container)
    }

    /// Looks for what proves the bytes of the file, in its last global buffer, and proves what has been read.
    async fn unseal(&mut self, io: &Io) -> Result<()> {
        let Some(buffer) = self.globals.last().copied() else { return Ok(()) };
        let Some(proof) = Seal::proof(buffer, self.size) else { return Ok(()) };
        let bytes = self.fetch(io, vec![proof]).await?.pop().unwrap_or_default();
        self.seal = Seal::open(buffer, self.size, &bytes)?;
        if let Some(seal) = &self.seal {
            self.tail =
                seal.tail(io, self.tail.clone()).await.map_err(|e| e.part("metadata at the end of the file"))?;
        }
        Ok(())
    }

    /// What proves the bytes of the file, if it has such a thing and it was wanted.
    pub(crate) fn seal(&self) -> Option<&Arc<Seal>> {
        self.seal.as_ref()
    }

    /// Makes a machine of an `async` function that reads this file.
    pub(crate) fn coroutine<T, F>(&self, body: impl FnOnce(Io) -> F) -> Boxed<T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T>> + Send + 'static,
    {
        sealed(self.seal.clone(), body)
    }

    /// The file's length.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The footer.
    pub fn footer(&self) -> &Footer {
        &self.footer
    }

    /// The file's version.
    pub fn version(&self) -> Version {
        self.footer.version
    }

    /// Number of columns.
    pub fn column_count(&self) -> usize {
        self.columns.len()
    }

    /// The global buffers. The first holds the schema; what others hold is for those who wrote them.
    pub fn global_buffers(&self) -> &[ByteRange] {
        &self.globals
    }

    /// How many columns' metadata has been parsed so far.
    pub fn parsed_columns(&self) -> usize {
        self.columns.iter().filter(|c| c.get().is_some()).count()
    }

    /// The metadata of a column, if it has been fetched already.
    pub fn known_column(&self, index: usize) -> Option<&Arc<ColumnMetadata>> {
        self.columns.get(index)?.get()
    }

    /// The metadata of these columns.
    pub fn columns(self: &Arc<Self>, indices: Vec<usize>) -> Boxed<Vec<Arc<ColumnMetadata>>> {
        let container = self.clone();
        self.coroutine(move |io| async move { container.fetch_columns(&io, &indices).await })
    }

    pub(crate) async fn fetch_columns(&self, io: &Io, indices: &[usize]) -> Result<Vec<Arc<ColumnMetadata>>> {
        let unknown: Vec<usize> =
            indices.iter().copied().filter(|i| self.columns.get(*i).is_some_and(|c| c.get().is_none())).collect();
        if !unknown.is_empty() {
            self.load_columns(io, &unknown).await?;
        }
        let known = |i: &usize| {
            self.known_column(*i).cloned().ok_or_else(|| {
                Error::corrupt("missing_column", format!("column {i} of a file with {} columns", self.columns.len()))
            })
        };
        indices.iter().map(known).collect()
    }

    async fn load_columns(&self, io: &Io, indices: &[usize]) -> Result<()> {
        let table = self.footer.column_table;
        let slot = |i: &usize| ByteRange::at(table.start() + ENTRY * *i as u64, ENTRY);
        let entries = self.fetch(io, indices.iter().map(slot).collect::<Result<_>>()?).await?;
        let mut ranges = Vec::with_capacity(indices.len());
        for (index, bytes) in indices.iter().zip(&entries) {
            let (position, length) = entry(bytes, 0)?;
            let range = inside(position, length, self.footer.column_table.start());
            ranges.push(range.map_err(|e| e.at(table.start()).part(format!("column {index}")))?);
        }
        let metadata = self.fetch(io, ranges.clone()).await?;
        let mut columns = Vec::with_capacity(indices.len());
        for ((index, range), bytes) in indices.iter().zip(&ranges).zip(metadata) {
            columns.push(
                Unresolved::parse(bytes, *range, self.size)
                    .map_err(|e| e.part(format!("metadata of column {index}")))?,
            );
        }
        let deferred = self.fetch_deferred(io, &columns).await?;
        for (index, column) in indices.iter().zip(columns) {
            let own = column.deferred().iter().map(|r| deferred.get(&key(r)).cloned().unwrap_or_default()).collect();
            let column = column.resolve(own).map_err(|e| e.part(format!("metadata of column {index}")))?;
            if let Some(slot) = self.columns.get(*index) {
                // Another thread may have been quicker; both read the same bytes.
                let _ = slot.set(Arc::new(column));
            }
        }
        Ok(())
    }

    /// The descriptions that these columns share with others, each once.
    async fn fetch_deferred(&self, io: &Io, columns: &[Unresolved]) -> Result<HashMap<(u64, u64), Bytes>> {
        let all = columns.iter().flat_map(|c| c.deferred());
        let different: BTreeMap<(u64, u64), ByteRange> = all.map(|range| (key(range), *range)).collect();
        // Those that are shared lie beside each other: together they are a part of the file.
        let total = different.values().fold(0u64, |sum, range| sum.saturating_add(range.len()));
        if total > self.size {
            return Err(Error::corrupt(
                "bad_metadata",
                format!("the descriptions of pages have {total} bytes, more than the file's {}", self.size),
            ));
        }
        let fetched = self.fetch(io, different.values().copied().collect()).await?;
        Ok(different.into_keys().zip(fetched).collect())
    }

    /// These bytes: from the tail where it has them, else from the file.
    pub(crate) async fn fetch(&self, io: &Io, ranges: Vec<ByteRange>) -> Result<Vec<Bytes>> {
        let at_hand: Vec<Option<Bytes>> = ranges.iter().map(|r| self.at_hand(*r)).collect();
        let missing = ranges.iter().zip(&at_hand).filter(|(_, b)| b.is_none()).map(|(r, _)| *r).collect();
        let mut fetched = io.read(missing).await?.into_iter();
        Ok(at_hand.into_iter().map(|b| b.or_else(|| fetched.next()).unwrap_or_default()).collect())
    }

    fn at_hand(&self, range: ByteRange) -> Option<Bytes> {
        let start = range.start().checked_sub(self.size - self.tail.len() as u64)?;
        cut(&self.tail, usize::try_from(start).ok()?, range.len_usize().ok()?).ok()
    }
}

fn key(range: &ByteRange) -> (u64, u64) {
    (range.start(), range.len())
}

fn entry(table: &[u8], index: usize) -> Result<(u64, u64)> {
    let at = index.saturating_mul(16);
    Ok((u64_at(table, at)?, u64_at(table, at.saturating_add(8))?))
}
