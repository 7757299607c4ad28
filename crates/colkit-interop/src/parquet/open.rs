//! Opening: the footer, then the page index if there is one.
//!
//! ```text
//! last 8 bytes -> u32 length of the footer, "PAR1" -> footer -> page index: for every column chunk the bounds of its
//!                                                               pages (column index) and their places (offset index)
//! ```
//!
//! Every chunk and every page must lie between the first magic and the footer. A page index that does not fit the
//! file, or its checksum, is not used, and `verify` says so.

use super::checksums::Seal;
use super::plan::chunk_range;
use super::table::ParquetTable;
use super::thrift::{COLUMN_INDEX, FOOTER, OFFSET_INDEX, check, damaged, has_field};
use super::types::Readers;
use super::{ENCRYPTED_MAGIC, MAGIC};
use crate::decoder_panics::guarded;
use crate::footer::FooterLayout;
use ::parquet::DecodeResult;
use ::parquet::file::metadata::{
    ColumnChunkMetaData, PageIndexPolicy, ParquetMetaData, ParquetMetaDataPushDecoder, ParquetMetaDataReader,
};
use bytes::Bytes;
use colkit_core::coroutine::coroutine;
use colkit_core::{Boxed, ByteRange, Error, Finding, Limits, ReadOptions, Result, Table};
use std::sync::Arc;

/// Opens a file of `size` bytes.
pub(super) fn open(size: u64, options: &ReadOptions) -> Boxed<Arc<dyn Table>> {
    let limits = options.limits.clone();
    coroutine(move |io| async move {
        let ending = FooterLayout { size, head: MAGIC.len() as u64, magic: MAGIC };
        let tail = ending.read(&io).await?;
        if tail.ends_with(ENCRYPTED_MAGIC) {
            return Err(cannot_decrypt("the footer is encrypted", ending.range().start()));
        }
        let footer = ending.footer(&tail, &limits)?;
        let bytes = io.read_one(footer).await?;
        let seal = Seal::read(&bytes, &tail, footer)?;
        let mut metadata = read_footer(&bytes, footer, &limits)?;
        let encrypted = has_field(&bytes, FOOTER, ENCRYPTION_ALGORITHM);
        let mut findings = Vec::new();
        if let Some(range) = page_index(&metadata, footer.start(), &limits) {
            // A checksum covers all of the index.
            let range = seal.map_or(range, |seal| seal.index);
            match read_page_index(metadata.clone(), size, seal, range, &io.read_one(range).await?) {
                Ok(with_index) => metadata = with_index,
                Err(error) => {
                    let message = format!("it is not used: {}", error.message());
                    findings.push(Finding { part: "page index".into(), message });
                }
            }
        }
        let readers = Readers::new(metadata, seal.is_some())?;
        let table: Arc<dyn Table> = Arc::new(ParquetTable::new(readers, size, footer, seal, encrypted, findings));
        Ok(table)
    })
}

/// The field of a footer that says how columns are encrypted, if some are.
const ENCRYPTION_ALGORITHM: i16 = 8;

/// The error for what cannot be read without a key.
pub(super) fn cannot_decrypt(what: &str, at: u64) -> Error {
    Error::unsupported("encrypted", what).at(at).hint("decrypt the file with the program that wrote it")
}

fn read_footer(bytes: &[u8], range: ByteRange, limits: &Limits) -> Result<ParquetMetaData> {
    super::depth::check(bytes, limits).map_err(|e| e.part("footer").at(range.start()))?;
    let metadata =
        guarded("footer", || ParquetMetaDataReader::decode_metadata(bytes)).map_err(|e| e.at(range.start()))?;
    let columns = metadata.file_metadata().schema_descr().num_columns();
    limits.check_columns(columns as u64)?;
    let mut rows = 0u64;
    for (number, group) in metadata.row_groups().iter().enumerate() {
        let part = format!("row group {number}");
        let count = u64::try_from(group.num_rows()).ok();
        let sum = count.and_then(|n| rows.checked_add(n)).filter(|n| *n <= i64::MAX.unsigned_abs());
        rows = sum.ok_or_else(|| {
            Error::corrupt("row_count_mismatch", format!("{} rows", group.num_rows())).part(part.clone())
        })?;
        if group.num_columns() != columns {
            let message = format!("{} column chunks for {columns} columns", group.num_columns());
            return Err(Error::corrupt("column_count_mismatch", message).part(part));
        }
        for (leaf, chunk) in group.columns().iter().enumerate() {
            check_chunk(chunk, range.start()).map_err(|e| e.part(format!("{part}: column chunk {leaf}")))?;
        }
    }
    if u64::try_from(metadata.file_metadata().num_rows()) != Ok(rows) {
        let message = format!("the file says {}, its row groups {rows}", metadata.file_metadata().num_rows());
        return Err(Error::corrupt("row_count_mismatch", message).part("footer"));
    }
    Ok(metadata)
}

fn check_chunk(chunk: &ColumnChunkMetaData, footer: u64) -> Result<()> {
    if let Some(path) = chunk.file_path() {
        return Err(Error::unsupported("other_file", format!("its data lies in another file, {path:?}")));
    }
    match chunk_range(chunk) {
        // Writers give no place to the chunks of a row group without rows.
        Some(range) if range.is_empty() => {}
        Some(range) if range.start() >= MAGIC.len() as u64 && range.end() <= footer => {}
        Some(range) => {
            let message = format!("it lies at {range}, outside of bytes {}..{footer}", MAGIC.len());
            return Err(Error::corrupt("block_out_of_range", message));
        }
        None => return Err(Error::corrupt("block_out_of_range", "its place is below zero")),
    }
    if chunk.num_values() < 0 || chunk.uncompressed_size() < 0 {
        return Err(Error::corrupt("bad_footer", "a negative number of values or bytes"));
    }
    Ok(())
}

/// Where the page index lies, if there is one worth reading.
fn page_index(metadata: &ParquetMetaData, footer: u64, limits: &Limits) -> Option<ByteRange> {
    let mut parts = Vec::new();
    for chunk in metadata.row_groups().iter().flat_map(|group| group.columns()) {
        parts.push(offset_index(chunk).filter(|range| range.end() <= footer)?);
        if chunk.column_index_offset().is_some() {
            parts.push(column_index(chunk).filter(|range| range.end() <= footer)?);
        }
    }
    let bytes = parts.iter().map(|r| r.len()).fold(0, u64::saturating_add);
    let start = parts.iter().map(|r| r.start()).min()?;
    let end = parts.iter().map(|r| r.end()).max()?;
    // Writers put it in one place. Scattered over the file, or huge, it costs more than it saves.
    let together = end.saturating_sub(start) <= bytes.saturating_add(4096);
    (together && bytes.saturating_mul(8) <= limits.memory).then_some(ByteRange::between(start, end))
}

/// The metadata with its page index, which lies at `at`.
fn read_page_index(
    metadata: ParquetMetaData,
    size: u64,
    seal: Option<Seal>,
    at: ByteRange,
    bytes: &Bytes,
) -> Result<ParquetMetaData> {
    seal.map_or(Ok(()), |seal| seal.check_index(bytes))?;
    check_index(&metadata, at, bytes)?;
    let metadata = guarded("page index", move || {
        let mut decoder = ParquetMetaDataPushDecoder::try_new_with_metadata(size, metadata)?
            .with_page_index_policy(PageIndexPolicy::Optional);
        decoder.push_range(at.start()..at.end(), bytes.clone())?;
        match decoder.try_decode()? {
            DecodeResult::Data(metadata) => Ok(metadata),
            _ => Err(::parquet::errors::ParquetError::General("it is not complete".into())),
        }
    })?;
    check_pages(&metadata)?;
    Ok(metadata)
}

fn index_range(offset: Option<i64>, length: Option<i32>) -> Option<ByteRange> {
    ByteRange::at(u64::try_from(offset?).ok()?, u64::try_from(length?).ok()?).ok()
}

fn offset_index(chunk: &ColumnChunkMetaData) -> Option<ByteRange> {
    index_range(chunk.offset_index_offset(), chunk.offset_index_length())
}

fn column_index(chunk: &ColumnChunkMetaData) -> Option<ByteRange> {
    index_range(chunk.column_index_offset(), chunk.column_index_length())
}

/// The structures of a page index, of which these are the bytes, must be what they should be.
fn check_index(metadata: &ParquetMetaData, at: ByteRange, bytes: &Bytes) -> Result<()> {
    for chunk in metadata.row_groups().iter().flat_map(|group| group.columns()) {
        for (range, fields) in [(offset_index(chunk), OFFSET_INDEX), (column_index(chunk), COLUMN_INDEX)] {
            let Some(range) = range else { continue };
            let from = range.start().checked_sub(at.start()).and_then(|from| usize::try_from(from).ok());
            let part = from.zip(range.len_usize().ok()).and_then(|(from, len)| bytes.get(from..from.checked_add(len)?));
            check(part.ok_or_else(|| damaged("a page index"))?, fields)?;
        }
    }
    Ok(())
}

/// Pages must lie inside of their chunk, in order of their rows.
fn check_pages(metadata: &ParquetMetaData) -> Result<()> {
    let groups = metadata.row_groups().iter().zip(metadata.offset_index().into_iter().flatten());
    for (group, index) in groups {
        for (chunk, pages) in group.columns().iter().zip(index) {
            let range = chunk_range(chunk).unwrap_or(ByteRange::between(0, 0));
            let mut last_row = -1;
            for page in &pages.page_locations {
                let place = u64::try_from(page.offset).ok().zip(u64::try_from(page.compressed_page_size).ok());
                let inside = place.and_then(|(at, n)| ByteRange::at(at, n).ok()).is_some_and(|r| range.contains(r));
                if !inside || page.first_row_index <= last_row || page.first_row_index >= group.num_rows() {
                    return Err(Error::corrupt("bad_page_index", "a page lies outside of its column chunk"));
                }
                last_row = page.first_row_index;
            }
            let first = pages.page_locations.first().map(|p| p.first_row_index);
            if first != Some(0) && group.num_rows() > 0 {
                return Err(Error::corrupt("bad_page_index", "the first page is missing"));
            }
        }
    }
    Ok(())
}
