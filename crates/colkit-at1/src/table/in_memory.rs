//! The text of a file, read through: a table like the text itself would be.

use super::File;
use arrow::datatypes::SchemaRef;
use bytes::Bytes;
use colkit_core::drive::blocking;
use colkit_core::{
    Boxed, ColumnStatistics, Lane, Layout, Machine, Result, Scan, Selection, Split, Step, Table, Verified, ready,
};
use std::sync::Arc;

/// A file whose text is in memory.
pub struct InMemoryTable {
    /// The file it comes from.
    pub file: Arc<File>,
    /// The text.
    pub text: Bytes,
    /// The table that the text is.
    pub table: Arc<dyn Table>,
}

impl InMemoryTable {
    fn fed<T: 'static>(&self, machine: Boxed<T>) -> Boxed<T> {
        Box::new(InMemoryMachine { machine, text: self.text.clone() })
    }
}

impl Table for InMemoryTable {
    fn schema(&self) -> SchemaRef {
        self.table.schema()
    }

    fn row_count(&self) -> u64 {
        self.table.row_count()
    }

    fn properties(&self) -> Vec<(&'static str, String)> {
        [self.file.properties(), self.table.properties()].concat()
    }

    fn statistics(&self) -> Vec<ColumnStatistics> {
        self.table.statistics()
    }

    fn splits(&self, scan: &Scan) -> Result<Boxed<Vec<Split>>> {
        let splits = blocking::run(self.table.splits(scan)?, &self.text)?;
        // Their ranges are those of the text, which has been read.
        Ok(ready(splits.into_iter().map(|split| Split { ranges: Vec::new(), ..split }).collect()))
    }

    fn read(&self, scan: &Scan, rows: &Selection) -> Result<Vec<Lane>> {
        let lanes = self.table.read(scan, rows)?;
        Ok(lanes.into_iter().map(|lane| Lane { machine: self.fed(lane.machine), ..lane }).collect())
    }

    fn layout(&self) -> Result<Boxed<Layout>> {
        Ok(ready(self.file.layout(None)?))
    }

    fn verify(&self) -> Result<Boxed<Verified>> {
        Ok(self.file.verify())
    }
}

/// A machine that gets what it asks for from the text.
struct InMemoryMachine<T> {
    machine: Boxed<T>,
    text: Bytes,
}

impl<T> Machine for InMemoryMachine<T> {
    type Output = T;

    fn step(&mut self, _: Vec<Bytes>) -> Result<Step<T>> {
        Ok(Step::Ready(blocking::next(&mut self.machine, &self.text)?))
    }
}
