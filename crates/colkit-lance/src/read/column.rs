//! One physical column: which page holds which items.

use super::LanceFile;
use crate::container::{ColumnMetadata, PageMetadata};
use crate::coroutine::{BoxFuture, Io, join_all};
use crate::encoding::{ColumnForm, Decoded, Page, Target};
use crate::rows::Rows;
use colkit_core::{Error, Result};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// A column that can be read: its pages are understood one by one, when first touched, and then kept.
pub(crate) struct ColumnReader {
    pub number: usize,
    pub metadata: Arc<ColumnMetadata>,
    pub form: ColumnForm,
    /// Item at which each page starts, and the end of the last.
    starts: Vec<u64>,
    pages: Vec<OnceLock<Arc<dyn Page>>>,
}

impl ColumnReader {
    pub fn new(file: &LanceFile, number: usize, metadata: Arc<ColumnMetadata>) -> Result<Self> {
        let form = file.registry.column(&metadata.encoding)?;
        let mut starts = vec![0u64];
        let mut at = 0u64;
        for page in &metadata.pages {
            at = at
                .checked_add(page.length)
                .ok_or_else(|| Error::corrupt("bad_number", "the pages of the column hold more than 2^64 items"))?;
            starts.push(at);
        }
        let mut pages = Vec::new();
        pages.resize_with(metadata.pages.len(), OnceLock::new);
        Ok(ColumnReader { number, metadata, form, starts, pages })
    }

    /// Items in all pages.
    pub fn length(&self) -> u64 {
        self.starts.last().copied().unwrap_or(0)
    }

    /// Its number among the physical columns.
    pub fn number(&self) -> usize {
        self.number
    }

    /// What the file says about it.
    pub fn metadata(&self) -> &ColumnMetadata {
        &self.metadata
    }

    /// The items of each page.
    pub fn page_rows(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        self.starts.iter().zip(self.starts.iter().skip(1)).map(|(start, end)| *start..*end)
    }

    /// Where the page that holds `item` ends.
    pub fn page_end(&self, item: u64) -> u64 {
        let after = self.starts.partition_point(|s| *s <= item);
        self.starts.get(after).copied().unwrap_or(u64::MAX)
    }

    /// A page, understood.
    pub fn page(&self, file: &LanceFile, index: usize) -> Result<Arc<dyn Page>> {
        let (slot, page) = self
            .pages
            .get(index)
            .zip(self.metadata.pages.get(index))
            .ok_or_else(|| Error::corrupt("no_such_page", format!("page {index} of {}", self.pages.len())))?;
        if let Some(known) = slot.get() {
            return Ok(known.clone());
        }
        let container = &file.container;
        let page = file
            .registry
            .page(page, &self.metadata, container.global_buffers(), container.size(), &file.limits)
            .map_err(|e| self.located(e, index, page))?;
        Ok(slot.get_or_init(|| page).clone())
    }

    fn located(&self, e: Error, index: usize, page: &PageMetadata) -> Error {
        let e = match page.buffers.first() {
            Some(buffer) => e.at(buffer.start()),
            None => e.at(self.metadata.range.start()),
        };
        e.part(format!("column {} page {index}", self.number))
    }

    /// Pages that hold some of `rows`, with the rows counted from the start of each page.
    pub fn touched(&self, rows: &Rows) -> Vec<(usize, Rows)> {
        let mut touched = Vec::new();
        let mut next = 0;
        for range in rows.ranges() {
            // Pages of no items begin where the next page begins and are passed over here.
            let first = self.starts.partition_point(|s| *s <= range.start).saturating_sub(1).max(next);
            for (index, page) in self.page_rows().enumerate().skip(first) {
                if page.start >= range.end {
                    break;
                }
                if page.end <= range.start || page.is_empty() {
                    continue;
                }
                touched.push((index, rows.within(&page)));
                next = index + 1;
            }
        }
        touched
    }

    /// Reads rows from all pages that hold some.
    pub async fn read(
        self: &Arc<Self>,
        file: &Arc<LanceFile>,
        io: &Io,
        rows: &Rows,
        target: &Target,
    ) -> Result<Vec<(usize, Decoded)>> {
        if rows.end() > self.length() {
            return Err(Error::corrupt(
                "row_count_mismatch",
                format!("the pages hold {} items, item {} is needed", self.length(), rows.end() - 1),
            )
            .at(self.metadata.range.start())
            .part(format!("column {}", self.number)));
        }
        let mut parts: Vec<BoxFuture<(usize, Decoded)>> = Vec::new();
        for (index, rows) in self.touched(rows) {
            let machine = self.page(file, index)?.read(rows, target.clone());
            let (io, column) = (io.clone(), self.clone());
            parts.push(Box::pin(async move {
                let decoded = io.run(machine).await.map_err(|e| match column.metadata.pages.get(index) {
                    Some(page) => column.located(e, index, page),
                    None => e,
                })?;
                Ok((index, decoded))
            }));
        }
        join_all(parts).await
    }
}
