//! Reading rows: text is cut into blocks of cells, and the columns that are wanted are converted, one column of a block at
//! a time.

use super::columns::ColumnBuilder;
use super::tokens::{Block, Dialect, Portion};
use crate::text::{Excerpt, Progress, Records, RowReader};
use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, SchemaRef};
use colkit_core::cells::{Inference, Spelling};
use colkit_core::{ColumnRef, Result};
use std::sync::Arc;

/// The records of an open file.
pub(super) struct CsvRecords {
    pub schema: SchemaRef,
    pub dialect: Dialect,
    pub inference: Arc<Inference>,
    /// How the cells of each column are written, if that is not as usual.
    pub spellings: Vec<Option<Arc<Spelling>>>,
    /// What was found that nobody had said.
    pub found: Option<String>,
    /// Whether there is a header record.
    pub header: bool,
}

impl Records for CsvRecords {
    fn properties(&self) -> Vec<(&'static str, String)> {
        let mut properties = vec![
            ("delimiter", char::from(self.dialect.delimiter).escape_default().to_string()),
            ("header", if self.header { "yes" } else { "no" }.to_string()),
        ];
        match self.dialect.quote {
            Some(b'"') => {}
            Some(quote) => properties.push(("quote", char::from(quote).to_string())),
            None => properties.push(("quote", "none".to_string())),
        }
        properties.extend(self.found.iter().map(|found| ("found", found.clone())));
        properties
    }

    fn reader(&self, columns: &[ColumnRef], schema: &SchemaRef, _: usize) -> Box<dyn RowReader> {
        let fields = schema.fields();
        let builder = |(column, field): (&ColumnRef, _)| {
            let spelling = self.spellings.get(column.index).cloned().flatten();
            ColumnBuilder::new(column.index, field, &self.inference, spelling)
        };
        Box::new(CsvRows {
            schema: self.schema.clone(),
            dialect: self.dialect.clone(),
            builders: columns.iter().zip(fields.iter().map(Arc::as_ref)).map(builder).collect(),
            block: Block::default(),
            row_bytes: fields.iter().map(|f| f.data_type().primitive_width().unwrap_or(4)).sum(),
            has_text: fields.iter().any(|f| *f.data_type() == DataType::Utf8),
        })
    }
}

struct CsvRows {
    /// Of the whole table.
    schema: SchemaRef,
    dialect: Dialect,
    builders: Vec<ColumnBuilder>,
    block: Block,
    /// Roughly the bytes a row takes apart from its text, and whether there is text.
    row_bytes: usize,
    has_text: bool,
}

impl CsvRows {
    /// Cuts the next block. Returns where it ends.
    fn cut(&mut self, text: Excerpt<'_>, at: usize, rows: usize, bytes: usize) -> Result<usize> {
        let portion = Portion { columns: self.schema.fields().len(), rows, bytes, at_end: true };
        let cut = self.dialect.cut(text.bytes, at, portion, &mut self.block);
        cut.map_err(|fault| text.locate(fault, |column| name(&self.schema, column)))
    }
}

fn name(schema: &SchemaRef, column: usize) -> Option<&str> {
    Some(schema.fields().get(column)?.name().as_str())
}

impl RowReader for CsvRows {
    fn skip(&mut self, text: Excerpt<'_>, at: usize, rows: usize) -> Result<Progress> {
        let end = self.cut(text, at, rows, usize::MAX)?;
        Ok(Progress { end, rows: self.block.rows, bytes: 0 })
    }

    fn collect(&mut self, text: Excerpt<'_>, at: usize, rows: usize, bytes: usize) -> Result<Progress> {
        let rows = rows.min(bytes / self.row_bytes.max(1) + 1);
        let end = self.cut(text, at, rows, if self.has_text { bytes } else { usize::MAX })?;
        for builder in &mut self.builders {
            let added = builder.append(&self.block, text.bytes);
            added.map_err(|fault| text.locate(fault, |column| name(&self.schema, column)))?;
        }
        let rows = self.block.rows;
        let length = if self.has_text { end - at } else { 0 };
        Ok(Progress { end, rows, bytes: rows * self.row_bytes + length })
    }

    fn finish(&mut self) -> Result<Vec<ArrayRef>> {
        self.builders.iter_mut().map(ColumnBuilder::finish).collect()
    }
}
