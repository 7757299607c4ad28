//! Parquet through its Rust crate, with the page index.

use crate::answer::Answer;
use crate::contest::Result;
use crate::reading::{Open, Range, Reader};
use ::parquet::arrow::arrow_reader::{
    ArrowPredicateFn, ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder, RowFilter,
    RowSelection, RowSelector,
};
use ::parquet::arrow::{ArrowWriter, ProjectionMask};
use ::parquet::basic::Compression;
use ::parquet::file::metadata::PageIndexPolicy;
use ::parquet::file::page_index::column_index::ColumnIndexMetaData;
use ::parquet::file::properties::WriterProperties;
use arrow::array::{AsArray, BooleanArray, RecordBatch};
use arrow::datatypes::Int64Type;
use std::fs::File;

pub struct Parquet;

struct Opened {
    file: File,
    metadata: ArrowReaderMetadata,
}

impl Reader for Parquet {
    fn name(&self) -> &'static str {
        "parquet"
    }

    fn file(&self) -> &'static str {
        ".parquet"
    }

    fn open(&self, path: &str) -> Result<Box<dyn Open>> {
        let file = File::open(path)?;
        let options = ArrowReaderOptions::new().with_page_index_policy(PageIndexPolicy::Required);
        let metadata = ArrowReaderMetadata::load(&file, options)?;
        Ok(Box::new(Opened { file, metadata }))
    }
}

impl Opened {
    fn builder(&self) -> Result<ParquetRecordBatchReaderBuilder<File>> {
        Ok(ParquetRecordBatchReaderBuilder::new_with_metadata(self.file.try_clone()?, self.metadata.clone()))
    }
}

impl Open for Opened {
    fn take(&self, rows: &[u64]) -> Result<Answer> {
        // Row groups without a wanted row are left out; within the others rows are selected through the page index.
        let (mut groups, mut selectors, mut start, mut rows) = (Vec::new(), Vec::new(), 0u64, rows.iter().peekable());
        for (index, group) in self.metadata.metadata().row_groups().iter().enumerate() {
            let end = start + u64::try_from(group.num_rows())?;
            let mut at = start;
            let mut any = false;
            while let Some(row) = rows.next_if(|r| **r < end) {
                any = true;
                selectors.push(RowSelector::skip(usize::try_from(row - at)?));
                selectors.push(RowSelector::select(1));
                at = row + 1;
            }
            if any {
                groups.push(index);
                selectors.push(RowSelector::skip(usize::try_from(end - at)?));
            }
            start = end;
        }
        let reader =
            self.builder()?.with_row_groups(groups).with_row_selection(RowSelection::from(selectors)).build()?;
        Ok(Answer::Arrow59(reader.collect::<std::result::Result<_, _>>()?))
    }

    fn scan(&self, columns: Option<&[&str]>) -> Result<Answer> {
        let mut builder = self.builder()?.with_batch_size(32_768);
        if let Some(names) = columns {
            let mask = ProjectionMask::columns(builder.parquet_schema(), names.iter().copied());
            builder = builder.with_projection(mask);
        }
        Ok(Answer::Arrow59(builder.build()?.collect::<std::result::Result<_, _>>()?))
    }

    /// Pages whose bounds rule them out are skipped; in the others the column is decoded before the rest.
    fn filter(&self, columns: &[&str], range: &Range) -> Result<Answer> {
        let builder = self.builder()?.with_batch_size(32_768);
        let mask = ProjectionMask::columns(builder.parquet_schema(), columns.iter().copied());
        let looked_at = ProjectionMask::columns(builder.parquet_schema(), [range.column]);
        let (low, high) = (range.low, range.high);
        let wanted = ArrowPredicateFn::new(looked_at, move |batch| {
            let values = batch.column(0).as_primitive::<Int64Type>().values();
            Ok(BooleanArray::from(values.iter().map(|v| (low..=high).contains(v)).collect::<Vec<_>>()))
        });
        let (groups, selection) = self.pages(range)?;
        let reader = builder
            .with_projection(mask)
            .with_row_groups(groups)
            .with_row_selection(selection)
            .with_row_filter(RowFilter::new(vec![Box::new(wanted)]))
            .build()?;
        let mut batches = reader.collect::<std::result::Result<Vec<_>, _>>()?;
        if batches.is_empty() {
            batches.push(RecordBatch::new_empty(self.metadata.schema().clone()));
        }
        Ok(Answer::Arrow59(batches))
    }
}

impl Opened {
    /// The row groups and, in them, the pages that may hold a wanted row.
    fn pages(&self, range: &Range) -> Result<(Vec<usize>, RowSelection)> {
        let metadata = self.metadata.metadata();
        let column = self.metadata.schema().index_of(range.column)?;
        let bounds = metadata.column_index().ok_or("no column index")?;
        let places = metadata.offset_index().ok_or("no offset index")?;
        let (mut groups, mut selectors) = (Vec::new(), Vec::new());
        for (index, group) in metadata.row_groups().iter().enumerate() {
            let ColumnIndexMetaData::INT64(bounds) = &bounds[index][column] else { return Err("not int64".into()) };
            let starts = places[index][column].page_locations().iter().map(|p| p.first_row_index).collect::<Vec<_>>();
            let ends = starts.iter().skip(1).copied().chain([group.num_rows()]);
            let pages = starts.iter().zip(ends).enumerate().map(|(page, (start, end))| {
                let may = |(least, most): (&i64, &i64)| *most >= range.low && *least <= range.high;
                let may = bounds.min_value(page).zip(bounds.max_value(page)).is_some_and(may);
                let rows = usize::try_from(end - start).unwrap_or(0);
                if may { RowSelector::select(rows) } else { RowSelector::skip(rows) }
            });
            let pages: Vec<_> = pages.collect();
            if pages.iter().any(|p| !p.skip) {
                groups.push(index);
                selectors.extend(pages);
            }
        }
        Ok((groups, RowSelection::from(selectors)))
    }
}

/// A whole file, with or without a page index.
pub fn read(path: &str) -> Result<Answer> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path)?)?.with_batch_size(32_768).build()?;
    Ok(Answer::Arrow59(reader.collect::<std::result::Result<_, _>>()?))
}

/// Writes a file with this compression, and the page index that is there by default.
pub fn write(path: &str, batches: &[RecordBatch], compression: Compression) -> Result<()> {
    let schema = batches.first().ok_or("no batch")?.schema();
    let properties = WriterProperties::builder().set_compression(compression).build();
    let mut writer = ArrowWriter::try_new(File::create(path)?, schema, Some(properties))?;
    for batch in batches {
        writer.write(batch)?;
    }
    writer.close()?;
    Ok(())
}
