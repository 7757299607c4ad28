//! From the cells of a column to an array of its type.

use super::classify::parse_bool;
use super::number::{parse_float, parse_int};
use super::options::type_name;
use super::tokens::{Block, Cell, Fault};
use arrow::array::{
    ArrayRef, ArrowPrimitiveType, BooleanBuilder, Float64Builder, Int32Builder, Int64Builder, PrimitiveBuilder,
    StringArray,
};
use arrow::buffer::{OffsetBuffer, ScalarBuffer};
use arrow::datatypes::{DataType, Field};
use colkit_core::{Class, Error, Result};
use std::sync::Arc;

pub(super) struct ColumnBuilder {
    /// Its position in the table.
    index: usize,
    data_type: DataType,
    nullable: bool,
    values: Values,
}

enum Values {
    Int32(Int32Builder),
    Int64(Int64Builder),
    Float64(Float64Builder),
    Bool(BooleanBuilder),
    /// UTF-8 is checked once for all, at the end.
    Text {
        bytes: Vec<u8>,
        offsets: Vec<i32>,
    },
}

impl ColumnBuilder {
    /// For about so many rows: a wide table must not take room for rows that it does not have.
    pub fn new(index: usize, field: &Field, rows: usize) -> Self {
        let values = match field.data_type() {
            DataType::Int32 => Values::Int32(Int32Builder::with_capacity(rows)),
            DataType::Int64 => Values::Int64(Int64Builder::with_capacity(rows)),
            DataType::Float64 => Values::Float64(Float64Builder::with_capacity(rows)),
            DataType::Boolean => Values::Bool(BooleanBuilder::with_capacity(rows)),
            _ => Values::Text { bytes: Vec::new(), offsets: vec![0] },
        };
        ColumnBuilder { index, data_type: field.data_type().clone(), nullable: field.is_nullable(), values }
    }

    /// Appends the column's cells of a block.
    pub fn append(&mut self, block: &Block, bytes: &[u8]) -> std::result::Result<(), Fault> {
        let cells = block.column(self.index);
        let nullable = self.nullable;
        let bad = match &mut self.values {
            Values::Int32(b) => {
                numbers(cells, bytes, nullable, b, |c| parse_int(c).and_then(|i| i32::try_from(i).ok()))
            }
            Values::Int64(b) => numbers(cells, bytes, nullable, b, parse_int),
            Values::Float64(b) => numbers(cells, bytes, nullable, b, parse_float),
            Values::Bool(b) => each(cells, bytes, |raw| match parse_bool(raw) {
                Some(value) => {
                    b.append_value(value);
                    true
                }
                None if raw.is_empty() && nullable => {
                    b.append_null();
                    true
                }
                None => false,
            }),
            Values::Text { bytes: text, offsets } => {
                let mut cells = cells;
                cells.find(|cell| {
                    cell.append_to(bytes, text);
                    match i32::try_from(text.len()) {
                        Ok(end) => {
                            offsets.push(end);
                            false
                        }
                        Err(_) => true,
                    }
                })
            }
        };
        match bad {
            None => Ok(()),
            Some(cell) => Err(self.bad_cell(cell, bytes)),
        }
    }

    #[cold]
    fn bad_cell(&self, cell: Cell, bytes: &[u8]) -> Fault {
        let type_name = type_name(&self.data_type).unwrap_or("of this type");
        let error = if self.data_type == DataType::Utf8 {
            Error::limit("the text of a batch", "2 GiB or more", "2 GiB").hint("ask for fewer rows at a time")
        } else {
            let shown: String = String::from_utf8_lossy(cell.raw(bytes)).chars().take(60).collect();
            let what = if cell.raw(bytes).is_empty() { "an empty cell".to_string() } else { format!("{shown:?}") };
            Error::new(Class::Data, "bad_cell", format!("expected {type_name}, found {what}"))
        };
        Fault { at: cell.start(), column: Some(self.index), error }
    }

    /// The array of what was appended since the last time.
    pub fn finish(&mut self) -> Result<ArrayRef> {
        Ok(match &mut self.values {
            Values::Int32(b) => Arc::new(b.finish()),
            Values::Int64(b) => Arc::new(b.finish()),
            Values::Float64(b) => Arc::new(b.finish()),
            Values::Bool(b) => Arc::new(b.finish()),
            Values::Text { bytes, offsets } => {
                let (capacity, rows) = (bytes.len(), offsets.len());
                let bytes = std::mem::replace(bytes, Vec::with_capacity(capacity));
                let ends = std::mem::replace(offsets, Vec::with_capacity(rows));
                offsets.push(0);
                let ends = OffsetBuffer::new(ScalarBuffer::from(ends));
                Arc::new(StringArray::try_new(ends, bytes.into(), None).map_err(|e| {
                    Error::corrupt("csv_encoding", format!("a cell of column {} is not UTF-8", self.index + 1))
                        .hint("the file may have been changed while it was being read")
                        .caused_by(e)
                })?)
            }
        })
    }
}

/// Appends the number in each cell; returns the first cell that has none.
fn numbers<T: ArrowPrimitiveType>(
    cells: impl Iterator<Item = Cell>,
    bytes: &[u8],
    nullable: bool,
    builder: &mut PrimitiveBuilder<T>,
    parse: impl Fn(&[u8]) -> Option<T::Native>,
) -> Option<Cell> {
    each(cells, bytes, |raw| match parse(raw) {
        Some(value) => {
            builder.append_value(value);
            true
        }
        None if raw.is_empty() && nullable => {
            builder.append_null();
            true
        }
        None => false,
    })
}

/// The first cell that `append` refuses. Cells with doubled quotes are not unpacked: only text may hold a quote.
fn each(mut cells: impl Iterator<Item = Cell>, bytes: &[u8], mut append: impl FnMut(&[u8]) -> bool) -> Option<Cell> {
    cells.find(|cell| !append(cell.raw(bytes)))
}
