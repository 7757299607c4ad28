//! What decoding will take, found out before the decoder reserves anything.
//!
//! A few bytes of a page can stand for a lot: a run of levels is a list of millions of items, a key repeated is a long
//! text as often as there are rows, and a page claims to unpack to what it likes. So a batch gets as many rows as surely
//! fit into the memory allowed. Where the page headers alone leave that open, the pages are looked into: how long the
//! texts of a dictionary are, and how many items the rows of lists have.

use super::delta::{self, varint};
use super::thrift::{PageHead, PageKind};
use crate::claims::{LZ4_RATIO, exceeds};
use crate::decoder_panics::guarded;
use ::parquet::basic::{CompressionCodec, Encoding, Type};
use ::parquet::column::page::{Page, PageReader};
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::ColumnChunkMetaData;
use ::parquet::file::serialized_reader::SerializedPageReader;
use bytes::Bytes;
use colkit_core::{Error, Limits, Result, memory};
use flate2::read::MultiGzDecoder;
use lz4_flex::frame::FrameDecoder;
use std::sync::Arc;

/// What a value takes besides its own bytes: two levels, and where it starts.
const BESIDES: u64 = 12;

const PLAIN_DICTIONARY: u64 = 2;
const DELTA_BYTE_ARRAY: u64 = 7;
const RLE_DICTIONARY: u64 = 8;

/// The pages of a leaf that are about to be decoded.
pub(super) struct Leaf<'a> {
    pub chunk: &'a ColumnChunkMetaData,
    /// The bytes of the pages, each piece with what its headers say.
    pub pieces: Vec<(Bytes, Vec<PageHead>)>,
}

/// How many rows of these leaves, at most `rows`, a batch may have.
pub(super) fn batch_rows(leaves: &[Leaf<'_>], rows: usize, memory: u64) -> Result<usize> {
    let leaves = leaves.iter().map(|leaf| leaf.measure(rows, memory)).collect::<Result<Vec<_>>>()?;
    let mut rows = rows.max(1);
    let bytes = |rows: usize| leaves.iter().map(|leaf| leaf.bytes(rows)).fold(0, u64::saturating_add);
    while rows > 1 && bytes(rows) > memory / 8 {
        rows /= FEWER;
    }
    Limits::check("decoding a row of the column", bytes(rows.max(1)), memory / 2).map_err(allow_more)?;
    Ok(rows.max(1))
}

/// How many times fewer rows a batch has if it would be too large.
const FEWER: usize = 4;

fn allow_more(error: Error) -> Error {
    error.hint(memory::hint())
}

/// What decoding a leaf takes.
struct Measured {
    /// Of the largest page and of the dictionary, unpacked.
    held: u64,
    /// Bytes of any value, at most.
    value: u64,
    /// Rows and bytes of the pages whose values have lengths of their own.
    texts: Vec<(u64, u64)>,
    /// For lists, how many items so many rows have at most; otherwise a row is a value.
    items: Option<Vec<(usize, u64)>>,
}

impl Measured {
    fn bytes(&self, rows: usize) -> u64 {
        let values = match &self.items {
            Some(items) => items.iter().find(|(of, _)| *of <= rows).map_or(0, |(_, most)| *most),
            None => rows as u64,
        };
        let texts = most_of(&self.texts, rows as u64);
        self.held.saturating_add(values.saturating_mul(self.value)).saturating_add(texts)
    }
}

/// The most bytes of pages that so many rows in succession lie on. A row may go on in the next pages.
fn most_of(pages: &[(u64, u64)], rows: u64) -> u64 {
    let at = |page: usize| pages.get(page).copied().unwrap_or_default();
    let (mut first, mut between, mut bytes, mut most) = (0, 0u64, 0u64, 0);
    for last in 0..pages.len() {
        if first + 1 < last {
            between = between.saturating_add(at(last - 1).0);
        }
        bytes = bytes.saturating_add(at(last).1);
        while first < last && between >= rows {
            bytes = bytes.saturating_sub(at(first).1);
            first += 1;
            if first < last {
                between = between.saturating_sub(at(first).0);
            }
        }
        most = most.max(bytes);
    }
    most
}

impl Leaf<'_> {
    fn heads(&self, kind: PageKind) -> impl Iterator<Item = &PageHead> {
        self.pieces.iter().flat_map(|(_, heads)| heads).filter(move |h| h.kind == kind)
    }

    fn measure(&self, rows: usize, memory: u64) -> Result<Measured> {
        let unpacked = |kind| self.heads(kind).map(|h| h.unpacked).max().unwrap_or(0);
        let (page, dictionary) = (unpacked(PageKind::Data), unpacked(PageKind::Dictionary));
        // A dictionary is decoded once and kept.
        let held = page.saturating_add(dictionary.saturating_mul(2));
        Limits::check("a page, unpacked,", held, memory / 2).map_err(allow_more)?;
        self.check_dictionaries()?;
        self.check_claims(memory)?;
        let values: u64 = self.heads(PageKind::Data).map(|h| h.values).fold(0, u64::saturating_add);
        let description = self.chunk.column_descr();
        let is_list = description.max_rep_level() > 0;
        let most = if is_list { values } else { values.min(rows as u64) };
        let (mut value, mut texts) = (BESIDES, Vec::new());
        match description.physical_type() {
            Type::BYTE_ARRAY => {
                let has_keys =
                    self.heads(PageKind::Data).any(|h| matches!(h.encoding, PLAIN_DICTIONARY | RLE_DICTIONARY));
                if has_keys {
                    let cheap = most.saturating_mul(dictionary) <= memory / 16;
                    value += if cheap { dictionary } else { self.longest_in_dictionary()? };
                }
                // Each value may repeat the start of the one before, so the whole page.
                let shared = self.heads(PageKind::Data).filter(|h| h.encoding == DELTA_BYTE_ARRAY);
                let shared = shared.map(|h| h.unpacked).max().unwrap_or(0);
                let cheap = most.saturating_mul(shared) <= memory / 16;
                value = value.saturating_add(if cheap { shared } else { self.longest_that_share()?.min(shared) });
                texts = self.heads(PageKind::Data).map(|h| (if is_list { 0 } else { h.values }, h.unpacked)).collect();
            }
            Type::FIXED_LEN_BYTE_ARRAY => value += 32 + u64::try_from(description.type_length()).unwrap_or(0),
            _ => value += 16,
        }
        let mut items = is_list.then(|| vec![(1, values)]);
        let all: u64 = texts.iter().map(|t| t.1).fold(0, u64::saturating_add);
        if is_list && values.saturating_mul(value).saturating_add(all) > memory / 16 {
            let counted = self.count_items(rows)?;
            items = Some(counted.most());
            if !texts.is_empty() {
                texts = counted.rows_of_pages.into_iter().zip(texts).map(|(rows, (_, bytes))| (rows, bytes)).collect();
            }
        }
        Ok(Measured { held, value, texts, items })
    }

    /// Refuses dictionaries of more values than their bytes can be. The decoder makes room for all that are claimed.
    fn check_dictionaries(&self) -> Result<()> {
        let description = self.chunk.column_descr();
        let least_bits = match description.physical_type() {
            Type::BOOLEAN => 1,
            // The length of a text has four bytes.
            Type::INT32 | Type::FLOAT | Type::BYTE_ARRAY => 32,
            Type::INT64 | Type::DOUBLE => 64,
            Type::INT96 => 96,
            Type::FIXED_LEN_BYTE_ARRAY => u64::try_from(description.type_length()).unwrap_or(0).max(1) * 8,
        };
        for head in self.pieces.iter().flat_map(|(_, heads)| heads) {
            if head.entries.saturating_mul(least_bits) > head.unpacked.saturating_mul(8) {
                let message = format!("a dictionary claims {} values in {} bytes", head.entries, head.unpacked);
                return Err(Error::corrupt("decoder_failed", message));
            }
        }
        Ok(())
    }

    /// Refuses pages that unpack to more than they claim. The decoder goes on to the end of what some codecs give it; so
    /// where that could exceed the memory allowed, it is counted first.
    fn check_claims(&self, memory: u64) -> Result<()> {
        // What comes out for a byte at most.
        let ratio = match self.chunk.compression_codec() {
            CompressionCodec::GZIP => 1032,
            CompressionCodec::LZ4 => LZ4_RATIO,
            CompressionCodec::BROTLI => u64::MAX,
            _ => return Ok(()),
        };
        for (bytes, heads) in &self.pieces {
            for head in heads {
                let body = bytes.get(head.body.clone()).unwrap_or_default();
                let levels = usize::try_from(head.levels).unwrap_or(usize::MAX).min(body.len());
                let packed = body.get(levels..).unwrap_or_default();
                if (packed.len() as u64).saturating_mul(ratio) <= memory / 2 {
                    continue;
                }
                let lies = guarded("page", || {
                    Ok::<_, Error>(match self.chunk.compression_codec() {
                        CompressionCodec::GZIP => exceeds(MultiGzDecoder::new(packed), head.unpacked),
                        CompressionCodec::LZ4 => exceeds(FrameDecoder::new(packed), head.unpacked),
                        _ => exceeds(brotli::Decompressor::new(packed, 4096), head.unpacked),
                    })
                })?;
                if lies {
                    let message = format!("a page unpacks to more than the {} bytes that it claims", head.unpacked);
                    return Err(Error::corrupt("decoder_failed", message));
                }
            }
        }
        Ok(())
    }

    /// Calls `found` with the pages, unpacked.
    fn pages(&self, mut found: impl FnMut(Page) -> bool) -> Result<()> {
        guarded("pages", || {
            for (bytes, heads) in &self.pieces {
                let length = i64::try_from(bytes.len()).unwrap_or(i64::MAX);
                let values = heads.iter().map(|h| h.values).fold(0, u64::saturating_add);
                let chunk = ColumnChunkMetaData::builder(self.chunk.column_descr_ptr())
                    .set_compression_codec(self.chunk.compression_codec())
                    .set_data_page_offset(0)
                    .set_total_compressed_size(length)
                    .set_num_values(i64::try_from(values).unwrap_or(i64::MAX))
                    .build()?;
                let mut reader = SerializedPageReader::new(Arc::new(bytes.clone()), &chunk, usize::MAX, None)?;
                while let Some(page) = reader.get_next_page()? {
                    if !found(page) {
                        return Ok(());
                    }
                }
            }
            Ok::<_, ParquetError>(())
        })
    }

    /// The length of the longest text in the dictionary.
    fn longest_in_dictionary(&self) -> Result<u64> {
        let mut longest = 0;
        self.pages(|page| {
            if let Page::DictionaryPage { buf, .. } = page {
                let mut rest: &[u8] = &buf;
                while let Some((length, values)) = rest.split_first_chunk() {
                    let length = u32::from_le_bytes(*length);
                    longest = longest.max(length.into());
                    rest = usize::try_from(length).ok().and_then(|n| values.get(n..)).unwrap_or_default();
                }
            }
            false
        })?;
        Ok(longest)
    }

    /// The length of the longest text of pages in which they share their starts.
    fn longest_that_share(&self) -> Result<u64> {
        let description = self.chunk.column_descr();
        let mut longest = 0;
        self.pages(|page| {
            if page.encoding() == Encoding::DELTA_BYTE_ARRAY {
                let values = match &page {
                    Page::DataPageV2 { buf, def_levels_byte_len, rep_levels_byte_len, .. } => {
                        let levels = usize::try_from(def_levels_byte_len.saturating_add(*rep_levels_byte_len));
                        levels.ok().and_then(|levels| buf.get(levels..))
                    }
                    page => {
                        let levels = [description.max_rep_level(), description.max_def_level()];
                        let mut rest = Some(page.buffer().as_ref());
                        for _ in levels.iter().filter(|level| **level > 0) {
                            let parts = rest.and_then(|bytes| bytes.split_first_chunk());
                            rest =
                                parts.and_then(|(n, rest)| rest.get(usize::try_from(u32::from_le_bytes(*n)).ok()?..));
                        }
                        rest
                    }
                };
                // What cannot be understood may be as long as it likes.
                longest = longest.max(values.and_then(delta::longest).unwrap_or(u64::MAX));
            }
            true
        })?;
        Ok(longest)
    }

    /// How many items rows of lists have.
    fn count_items(&self, rows: usize) -> Result<Items> {
        let levels = u32::try_from(self.chunk.column_descr().max_rep_level()).unwrap_or(0);
        let width = u32::BITS - levels.leading_zeros();
        let mut items = Items::new(rows);
        self.pages(|page| {
            let values = u64::from(page.num_values());
            match page {
                Page::DataPage { buf, rep_level_encoding: Encoding::RLE, .. } => {
                    let length = buf.first_chunk().map_or(0, |b| u32::from_le_bytes(*b));
                    let end = usize::try_from(length).unwrap_or(usize::MAX).saturating_add(4);
                    items.page(buf.get(4..end.min(buf.len())).unwrap_or_default(), width, values);
                }
                Page::DataPageV2 { buf, rep_levels_byte_len, .. } => {
                    let end = usize::try_from(rep_levels_byte_len).unwrap_or(usize::MAX);
                    items.page(buf.get(..end.min(buf.len())).unwrap_or_default(), width, values);
                }
                // Levels of old writers, which are not looked into: all items may be one row's.
                Page::DataPage { .. } => items.page(&[], width, values),
                Page::DictionaryPage { .. } => {}
            }
            true
        })?;
        Ok(items)
    }
}

/// Counts the items of rows, for batches of several sizes at once.
struct Items {
    blocks: Vec<Block>,
    rows_of_pages: Vec<u64>,
}

/// Rows in blocks of equal size, one after another.
struct Block {
    size: u64,
    /// Rows of the block under way, and their items.
    rows: u64,
    items: u64,
    most: u64,
}

impl Items {
    fn new(rows: usize) -> Self {
        let sizes = std::iter::successors(Some(rows.max(1)), |n| (*n > 1).then_some((n / FEWER).max(1)));
        let blocks = sizes.map(|size| Block { size: size as u64, rows: 0, items: 0, most: 0 });
        Items { blocks: blocks.collect(), rows_of_pages: Vec::new() }
    }

    /// Rows of a batch, and how many items they have at most. A batch may start anywhere, so lie in two blocks.
    fn most(&self) -> Vec<(usize, u64)> {
        let most = |b: &Block| b.most.max(b.items).saturating_mul(b.size.min(2));
        self.blocks.iter().map(|b| (usize::try_from(b.size).unwrap_or(usize::MAX), most(b))).collect()
    }

    /// Takes in the repetition levels of a page: runs, and groups of eight that are packed.
    fn page(&mut self, mut bytes: &[u8], width: u32, values: u64) {
        let mut left = values;
        let mut rows = 0;
        while left > 0 {
            let Some((head, rest)) = varint(bytes) else { break };
            bytes = rest;
            let count = head >> 1;
            if head & 1 == 0 {
                let Some((level, rest)) = bytes.split_at_checked(width.div_ceil(8) as usize) else { break };
                bytes = rest;
                let count = count.min(left);
                left -= count;
                match level.iter().all(|b| *b == 0) {
                    true => {
                        rows += count;
                        self.starts(count);
                    }
                    false => self.continues(count),
                }
                if count == 0 {
                    break;
                }
            } else {
                let length = usize::try_from(count.saturating_mul(width.into())).unwrap_or(usize::MAX);
                let (packed, rest) = bytes.split_at(length.min(bytes.len()));
                bytes = rest;
                let count = count.saturating_mul(8).min(left).min(packed.len() as u64 * 8 / u64::from(width.max(1)));
                left -= count;
                for level in (0..count).map(|at| is_zero(packed, at * u64::from(width), width)) {
                    match level {
                        true => {
                            rows += 1;
                            self.starts(1);
                        }
                        false => self.continues(1),
                    }
                }
                if count == 0 {
                    break;
                }
            }
        }
        // What has no levels may be anybody's.
        self.continues(left);
        self.rows_of_pages.push(rows);
    }

    /// Rows start, each with one item so far.
    fn starts(&mut self, rows: u64) {
        for block in &mut self.blocks {
            let mut rows = rows;
            while rows > 0 {
                if block.rows == block.size {
                    block.most = block.most.max(block.items);
                    (block.rows, block.items) = (0, 0);
                    // Blocks of rows with one item each are all alike.
                    let whole = rows / block.size;
                    if whole > 1 {
                        block.most = block.most.max(block.size);
                        rows -= (whole - 1) * block.size;
                    }
                }
                let here = rows.min(block.size - block.rows);
                block.rows += here;
                block.items = block.items.saturating_add(here);
                rows -= here;
            }
        }
    }

    /// The last row has more items.
    fn continues(&mut self, items: u64) {
        for block in &mut self.blocks {
            block.items = block.items.saturating_add(items);
        }
    }
}

/// Whether the bits of a level are all zero.
fn is_zero(packed: &[u8], at: u64, width: u32) -> bool {
    (at..at + u64::from(width)).all(|bit| {
        let byte = usize::try_from(bit / 8).ok().and_then(|at| packed.get(at));
        byte.is_none_or(|byte| byte >> (bit % 8) & 1 == 0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_lists_are_counted() {
        let mut items = Items::new(16);
        // Three rows of one item; a row of 100 items; then packed: 0 1 1 0 1 1 1 1.
        items.page(&[3 << 1, 0, 1 << 1, 0, 0xC6, 0x01, 1, 1 << 1 | 1, 0b1111_0110], 1, 111);
        assert_eq!(items.rows_of_pages, [6]);
        assert_eq!(items.most(), [(16, 222), (4, 206), (1, 100)]);
        // A row goes on in the next page; levels that are missing belong to the last row.
        items.page(&[50 << 1, 1], 1, 60);
        assert_eq!(items.most(), [(16, 342), (4, 206), (1, 100)]);
        assert_eq!(items.rows_of_pages, [6, 0]);
    }

    #[test]
    fn long_runs_of_rows_take_no_time() {
        let mut items = Items::new(1000);
        items.page(&[0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F, 0], 1, (1 << 38) - 1);
        assert_eq!(items.most().last(), Some(&(1, 1)));
    }

    #[test]
    fn windows_over_pages_are_as_wide_as_their_rows() {
        let pages = [(10, 5), (10, 50), (10, 7), (10, 1)];
        assert_eq!(most_of(&pages, 1), 57);
        assert_eq!(most_of(&pages, 11), 62);
        assert_eq!(most_of(&pages, 100), 63);
        assert_eq!(most_of(&pages[..1], 1), 5);
        assert_eq!(most_of(&[], 1), 0);
    }
}
