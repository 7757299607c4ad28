//! Limits on what a file may demand. Every number in a file is a claim; these are the maxima for plausible ones.
//!
//! | limit | default | limits |
//! |---|---|---|
//! | `memory` | 512 MiB | memory held by opening, a scan or a restore |
//! | `output_bytes` | 16 TiB | total decompressed size of a file |
//! | `expansion` | 1,048,576 | ratio of decompressed to stored size, beyond the first GiB |
//! | `columns` | 1,048,576 | number of columns |
//! | `nesting` | 100 | nesting depth of types and documents |
//! | `name_bytes` | 1 MiB | size of a column or field name |
//! | `value_bytes` | 2 GiB | size of one value |
//! | `batch_rows` | 1,048,576 | rows per batch, regardless of the request |
//!
//! Formats check what they are about to read or allocate. Limits common to all tables (on the schema and the
//! decompressed size) are checked by the scan engine.

use crate::{Error, Hint, Result, Setting};
use arrow::datatypes::{DataType, Field, Schema};

/// Ceilings for reading, passed to every reader. Exceeding one is a clear error, never an allocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Memory a scan may hold, in bytes.
    pub memory: u64,
    /// Columns of a table.
    pub columns: u64,
    /// Bytes of one name.
    pub name_bytes: u64,
    /// Bytes of one value.
    pub value_bytes: u64,
    /// Bytes that one file may unpack to.
    pub output_bytes: u64,
    /// Bytes that may come out for each byte of the file, beyond the first [`Limits::ALWAYS`].
    pub expansion: u64,
    /// Levels of nesting in types or documents.
    pub nesting: u32,
    /// Rows of a batch.
    pub batch_rows: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            memory: 512 << 20,
            columns: 1 << 20,
            name_bytes: 1 << 20,
            value_bytes: 1 << 31,
            output_bytes: 1 << 44,
            expansion: 1 << 20,
            nesting: 100,
            batch_rows: 1 << 20,
        }
    }
}

impl Limits {
    /// What even the smallest file may unpack to: a constant column takes no bytes however many rows it has.
    pub const ALWAYS: u64 = 1 << 30;

    /// `asked` of `what`, if that is within `allowed`.
    pub fn check(what: &str, asked: u64, allowed: u64) -> Result<()> {
        if asked > allowed { Err(Error::limit(what, asked, allowed)) } else { Ok(()) }
    }

    /// Checks what is about to be held in memory.
    pub fn check_memory(what: &str, asked: u64, allowed: u64) -> Result<()> {
        Self::check(what, asked, allowed).map_err(|e| e.hint(crate::memory::hint()))
    }

    /// What to do about a value that is too long.
    pub fn value_hint() -> Hint {
        crate::memory::hint().and(Setting::ValueLimit.does("allows longer values"))
    }

    /// What a column takes, whatever is in it: its name and type in a schema, and what reads it.
    const COLUMN_BYTES: u64 = 512;

    /// Checks a number of columns against their limit, and against the memory that so many of them take.
    pub fn check_columns(&self, columns: u64) -> Result<()> {
        Self::check("the number of columns", columns, self.columns)
            .map_err(|e| e.hint(Setting::ColumnLimit.does("allows more")))?;
        let bytes = columns.saturating_mul(Self::COLUMN_BYTES);
        if bytes <= self.memory {
            Ok(())
        } else {
            Self::check_memory(&format!("a table of {columns} columns"), bytes, self.memory)
        }
    }

    /// Checks the memory that a byte map of so many regions takes.
    pub fn check_regions(&self, regions: usize) -> Result<()> {
        // With its name, and once more while they are sorted.
        let each = 2 * size_of::<crate::Region>() + 32;
        Self::check_memory("the byte map", regions.saturating_mul(each) as u64, self.memory)
    }

    /// Checks what has come out of a file so far.
    pub fn check_output(given: u64, most: u64) -> Result<()> {
        let more_each = "allows more for each byte of the file";
        Self::check("reading all of the file", given, most)
            .map_err(|e| e.hint(Setting::OutputLimit.does("allows more").and(Setting::ExpansionLimit.does(more_each))))
    }

    /// Bytes that a file of `size` bytes may unpack to.
    pub fn output_of(&self, size: u64) -> u64 {
        self.output_bytes.min(size.saturating_mul(self.expansion).max(Self::ALWAYS))
    }

    /// The same limits for a file of `size` bytes, with what it may unpack to made definite.
    pub fn of_file(&self, size: u64) -> Self {
        Limits { output_bytes: self.output_of(size), ..self.clone() }
    }

    /// Checks the columns, names and nesting of a table that was opened.
    pub fn check_schema(&self, schema: &Schema) -> Result<()> {
        self.check_columns(schema.fields().len() as u64)?;
        schema.fields().iter().try_for_each(|field| self.check_field(field, 1))
    }

    fn check_field(&self, field: &Field, level: u32) -> Result<()> {
        Self::check("a column name", field.name().len() as u64, self.name_bytes)?;
        // Looked at before going deeper, so that this too is bounded.
        Self::check("the nesting of types", level.into(), self.nesting.into())?;
        let below = |inner: &Field| self.check_field(inner, level + 1);
        match field.data_type() {
            DataType::Struct(fields) => fields.iter().try_for_each(|f| below(f)),
            DataType::Union(fields, _) => fields.iter().try_for_each(|(_, f)| below(f)),
            DataType::List(item)
            | DataType::LargeList(item)
            | DataType::ListView(item)
            | DataType::LargeListView(item)
            | DataType::FixedSizeList(item, _)
            | DataType::Map(item, _) => below(item),
            DataType::RunEndEncoded(_, values) => below(values),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn small_files_may_give_a_gibibyte_and_large_ones_in_proportion() {
        let limits = Limits { expansion: 1000, output_bytes: 1 << 40, ..Limits::default() };
        assert_eq!(limits.output_of(10), 1 << 30);
        assert_eq!(limits.output_of(5_000_000), 5_000_000_000);
        assert_eq!(limits.output_of(u64::MAX), 1 << 40);
        assert_eq!(Limits { output_bytes: 7, ..limits }.output_of(10), 7);
    }

    #[test]
    fn schemas_are_measured_at_every_level() {
        let limits = Limits { columns: 2, name_bytes: 4, nesting: 3, ..Limits::default() };
        let list = |name: &str, of: Field| Field::new(name, DataType::List(Arc::new(of)), true);
        let leaf = |name: &str| Field::new(name, DataType::Int32, true);
        let check = |fields: Vec<Field>| limits.check_schema(&Schema::new(fields)).map_err(|e| e.to_string());
        assert_eq!(check(vec![leaf("a"), list("b", list("c", leaf("item")))]), Ok(()));
        assert!(check(vec![leaf("a"), leaf("b"), leaf("c")]).unwrap_err().contains("number of columns"));
        assert!(check(vec![list("a", leaf("longer"))]).unwrap_err().contains("name"));
        assert!(check(vec![list("a", list("b", list("c", leaf("d"))))]).unwrap_err().contains("nesting"));
    }
}
