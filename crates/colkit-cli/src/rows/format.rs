//! Prints rows to stdout in a text format of the registry, or writes them to a file in any format.
//!
//! Printing must not fail for values that the text format cannot represent: nulls become empty cells, duplicate names are
//! numbered, nested values become JSON. Changes are reported in the notes. A file follows the rules of `convert` instead.

use super::RowPrinter;
use colkit::arrow::array::{Array, ArrayRef};
use colkit::arrow::compute::cast;
use colkit::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use colkit::arrow::record_batch::RecordBatch;
use colkit::core::json::texts;
use colkit::core::plan::batch_of;
use colkit::{Format, Nulls, Result, Sink, TableWriter, Types, WriteOptions};
use std::sync::Arc;

pub struct FormatPrinter {
    writer: Box<dyn TableWriter>,
    schema: SchemaRef,
}

impl FormatPrinter {
    pub fn new(format: &dyn Format, schema: &SchemaRef, sink: Box<dyn Sink>, memory: u64) -> Result<Self> {
        let fields = schema.fields().iter().map(|f| match without_runs(f.data_type()) {
            nested if nested.is_nested() => Arc::new(Field::new(f.name(), DataType::LargeUtf8, true)),
            plain => Arc::new(f.as_ref().clone().with_data_type(plain.clone())),
        });
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let options = WriteOptions {
            nulls: Nulls::Fill,
            types: Types::Lossy,
            rename_duplicates: true,
            memory: memory / 2,
            ..WriteOptions::default()
        };
        Ok(FormatPrinter { writer: format.writer(schema.clone(), sink, &options)?, schema })
    }
}

impl RowPrinter for FormatPrinter {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let flat = |array: &ArrayRef| match (array.data_type(), without_runs(array.data_type())) {
            (_, nested) if nested.is_nested() => Ok(Arc::new(texts(array)?) as ArrayRef),
            (had, plain) if had == plain => Ok(array.clone()),
            (_, plain) => Ok(cast(array, plain)?),
        };
        let columns = batch.columns().iter().map(flat).collect::<Result<Vec<_>>>()?;
        self.writer.write(&batch_of(&self.schema, columns, batch.num_rows())?)
    }

    fn finish(self: Box<Self>) -> Result<Vec<String>> {
        Ok(self.writer.finish()?.notes)
    }
}

/// Writes rows to a file. Nothing is converted to make it fit unless an option allows it.
pub struct FilePrinter(pub Box<dyn TableWriter>);

impl RowPrinter for FilePrinter {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.0.write(batch)
    }

    fn finish(self: Box<Self>) -> Result<Vec<String>> {
        Ok(self.0.finish()?.notes)
    }
}

/// The value type of a run-end encoded column, or the type itself.
fn without_runs(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::RunEndEncoded(_, values) => without_runs(values.data_type()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use colkit::arrow::array::{Int32Array, ListArray};
    use colkit::arrow::datatypes::Int32Type;
    use colkit::{MemorySink, Registry, TextOptions};

    #[test]
    fn nested_values_nulls_and_twins_are_printed() {
        let lists = ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(1), Some(2)]), None]);
        let numbers = Int32Array::from(vec![None, Some(7)]);
        let schema =
            Schema::new(vec![Field::new("a", lists.data_type().clone(), true), Field::new("a", DataType::Int32, true)]);
        let batch = RecordBatch::try_new(schema.into(), vec![Arc::new(lists), Arc::new(numbers)]).unwrap();
        let sink = MemorySink::new();
        let csv = Registry::default().named("csv", &TextOptions::default()).unwrap();
        let mut printer =
            Box::new(FormatPrinter::new(csv.as_ref(), &batch.schema(), Box::new(sink.clone()), 1 << 20).unwrap());
        printer.write(&batch).unwrap();
        let notes = printer.finish().unwrap();
        assert_eq!(sink.bytes().unwrap(), "a,a_2\n\"[1,2]\",\n,7\n");
        assert!(!notes.is_empty(), "{notes:?}");
    }
}
