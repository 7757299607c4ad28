//! Parquet through its Rust crate, with the page index.

use crate::contest::{Answer, Contestant, Open, Result};
use ::parquet::arrow::ProjectionMask;
use ::parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder, RowSelection, RowSelector,
};
use ::parquet::file::metadata::PageIndexPolicy;
use std::fs::File;

pub struct Parquet;

struct Opened {
    file: File,
    metadata: ArrowReaderMetadata,
}

impl Contestant for Parquet {
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
}
