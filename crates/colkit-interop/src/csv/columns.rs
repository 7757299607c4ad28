//! The column of a block of cells, and what is wrong with one of them.

use super::options::type_name;
use super::tokens::{Block, Cell};
use crate::text::{Fault, Parsed};
use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, Field};
use colkit_core::cells::{CellColumn, CellText, Inference, Spelling};
use colkit_core::{Error, Result};
use std::sync::Arc;

pub(super) struct ColumnBuilder {
    /// Its position in the table.
    index: usize,
    data_type: DataType,
    cells: CellColumn,
    /// How cells are written, if that is not as usual.
    spelling: Option<Arc<Spelling>>,
}

impl ColumnBuilder {
    pub fn new(index: usize, field: &Field, inference: &Arc<Inference>, spelling: Option<Arc<Spelling>>) -> Self {
        let cells = CellColumn::new(field.data_type(), field.is_nullable(), inference);
        ColumnBuilder { index, data_type: field.data_type().clone(), cells, spelling }
    }

    /// Appends the column's cells of a block.
    pub fn append(&mut self, block: &Block, bytes: &[u8]) -> Parsed<()> {
        let cells = block.column(self.index).map(|cell| cell.text(bytes));
        let added = match &self.spelling {
            None => self.cells.append(cells),
            Some(spelling) => {
                let mut buffer = Vec::new();
                let mut rewritten = Vec::new();
                let mut ends = Vec::with_capacity(block.rows + 1);
                ends.push(0);
                for cell in cells {
                    rewritten.extend_from_slice(spelling.usual(cell.raw, &mut buffer));
                    ends.push(rewritten.len());
                }
                let text = |pair: &[usize]| match pair {
                    [start, end] => CellText { raw: rewritten.get(*start..*end).unwrap_or_default(), doubled: None },
                    _ => CellText { raw: &[], doubled: None },
                };
                self.cells.append(ends.windows(2).map(text))
            }
        };
        added.map_err(|bad| match block.column(self.index).nth(bad) {
            Some(cell) => self.bad_cell(cell, bytes),
            None => Fault::new(0, Error::internal("a cell is not there")).in_column(self.index),
        })
    }

    #[cold]
    fn bad_cell(&self, cell: Cell, bytes: &[u8]) -> Fault {
        let error = if self.data_type == DataType::Utf8 {
            Error::limit("the text of a batch", "2 GiB or more", "2 GiB").hint("ask for fewer rows at a time")
        } else {
            let raw = cell.text(bytes).raw;
            let shown: String = String::from_utf8_lossy(raw).chars().take(60).collect();
            let what = if raw.is_empty() { "an empty cell".to_string() } else { format!("{shown:?}") };
            let message = format!("expected {}, found {what}", type_name(&self.data_type));
            Error::data("bad_cell", message)
        };
        Fault::new(cell.start(), error).in_column(self.index)
    }

    /// The array of what was appended since the last time.
    pub fn finish(&mut self) -> Result<ArrayRef> {
        self.cells.finish().map_err(|e| e.part(format!("column {}", self.index + 1)))
    }
}
