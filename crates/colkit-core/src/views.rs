//! Text and bytes as Arrow views, for consumers that ask for them.
//!
//! A view is 16 bytes: a short value itself, or where in a shared buffer a long one lies. Query engines group and compare views
//! faster than offsets. Values of a dictionary become views once per dictionary; after that a row costs one 16-byte copy.

use crate::encoded::batch_as_stored;
use crate::{BatchMachine, Machine, Result, Step};
use arrow::array::{Array, ArrayRef, AsArray, BinaryViewArray, StringViewArray};
use arrow::datatypes::{DataType, FieldRef, Int32Type, Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use bytes::Bytes;
use std::sync::Arc;

/// The schema with views in place of text and bytes of its columns. What is nested stays, and so do the types with long offsets:
/// their values may be longer than a view can say.
pub fn with_views(schema: &SchemaRef) -> SchemaRef {
    let field = |field: &FieldRef| match view_type(field.data_type()) {
        Some(views) => Arc::new(field.as_ref().clone().with_data_type(views)),
        None => field.clone(),
    };
    let fields: Vec<FieldRef> = schema.fields().iter().map(field).collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

/// The view type of text and bytes.
fn view_type(data_type: &DataType) -> Option<DataType> {
    match data_type {
        DataType::Utf8 => Some(DataType::Utf8View),
        DataType::Binary => Some(DataType::BinaryView),
        _ => None,
    }
}

/// A lane whose text and bytes come out as the views that `fields` ask for.
pub(crate) struct Views {
    machine: BatchMachine,
    fields: Vec<FieldRef>,
    /// The dictionary seen last, and its values as views: the batches of a page share one.
    last: Option<(ArrayRef, ArrayRef)>,
}

impl Views {
    pub fn new(machine: BatchMachine, fields: Vec<FieldRef>) -> Self {
        Views { machine, fields, last: None }
    }

    fn batch(&mut self, batch: RecordBatch) -> Result<RecordBatch> {
        let rows = batch.num_rows();
        let wanted: Vec<DataType> = self.fields.iter().map(|f| f.data_type().clone()).collect();
        let (_, columns, _) = batch.into_parts();
        let columns = columns.into_iter().zip(&wanted).map(|(array, wanted)| self.column(array, wanted)).collect();
        batch_as_stored(&self.fields, columns, rows)
    }

    fn column(&mut self, array: ArrayRef, wanted: &DataType) -> ArrayRef {
        if view_type(array.data_type()).as_ref() == Some(wanted) {
            return views(&array);
        }
        if let Some(runs) = array.as_run_opt::<Int32Type>() {
            return Arc::new(runs.with_values(self.column(runs.values().clone(), wanted)));
        }
        let Some(dictionary) = array.as_any_dictionary_opt() else { return array };
        if view_type(dictionary.values().data_type()).as_ref() != Some(wanted) {
            return array;
        }
        let values = match &self.last {
            Some((last, values)) if Arc::ptr_eq(last, dictionary.values()) => values.clone(),
            _ => {
                let values = views(dictionary.values());
                self.last = Some((dictionary.values().clone(), values.clone()));
                values
            }
        };
        dictionary.with_values(values)
    }
}

impl Machine for Views {
    type Output = Option<RecordBatch>;

    fn step(&mut self, got: Vec<Bytes>) -> Result<Step<Self::Output>> {
        Ok(match self.machine.step(got)? {
            Step::Ready(Some(batch)) => Step::Ready(Some(self.batch(batch)?)),
            other => other,
        })
    }
}

/// Text or bytes as views of the same buffer.
fn views(array: &ArrayRef) -> ArrayRef {
    match array.data_type() {
        DataType::Utf8 => Arc::new(StringViewArray::from(array.as_string::<i32>())),
        DataType::Binary => Arc::new(BinaryViewArray::from(array.as_binary::<i32>())),
        _ => array.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{BinaryArray, DictionaryArray, LargeStringArray, StringArray, UInt8Array};
    use arrow::compute::cast;

    struct Once(Option<RecordBatch>);

    impl Machine for Once {
        type Output = Option<RecordBatch>;

        fn step(&mut self, _: Vec<Bytes>) -> Result<Step<Self::Output>> {
            Ok(Step::Ready(self.0.take()))
        }
    }

    #[test]
    fn views_hold_the_same_values() {
        let long = "longer than the twelve bytes that fit into a view";
        let texts = vec![Some("short"), None, Some(long), Some("")];
        let dictionary =
            |keys| DictionaryArray::new(UInt8Array::from(keys), Arc::new(StringArray::from(texts.clone())));
        let plain: Vec<(&str, ArrayRef)> = vec![
            ("text", Arc::new(StringArray::from(texts.clone()).slice(1, 3))),
            ("large", Arc::new(LargeStringArray::from(texts.clone()).slice(0, 3))),
            ("bytes", Arc::new(BinaryArray::from(vec![&b"\xff"[..], long.as_bytes(), b""]))),
            ("number", Arc::new(UInt8Array::from(vec![1, 2, 3]))),
            ("key", Arc::new(dictionary(vec![Some(2), None, Some(0)]))),
        ];
        let stored = RecordBatch::try_from_iter(plain.clone()).unwrap();
        // The last column is text that is stored as a dictionary.
        let text = |f: FieldRef| match f.name().as_str() {
            "key" => Arc::new(f.as_ref().clone().with_data_type(DataType::Utf8)),
            _ => f,
        };
        let schema = Arc::new(Schema::new(stored.schema().fields().iter().cloned().map(text).collect::<Vec<_>>()));
        let schema = with_views(&schema);
        let mut lane = Views::new(Box::new(Once(Some(stored))), schema.fields().to_vec());
        let Step::Ready(Some(got)) = lane.step(Vec::new()).unwrap() else { panic!("a batch") };
        for (((name, plain), array), field) in plain.iter().zip(got.columns()).zip(schema.fields()) {
            let wanted = cast(plain, field.data_type()).unwrap();
            assert_eq!(&cast(array, field.data_type()).unwrap(), &wanted, "{name}");
            assert_eq!(array.data_type() == field.data_type(), *name != "key", "{name}");
            array.to_data().validate_full().unwrap();
        }
    }
}
