//! One dictionary per column for the whole file.
//!
//! Batches may come with dictionaries of their own: read from another format, or from several files. A file can only
//! add values to a dictionary, never replace it. So every column keeps one dictionary that grows; the keys of each
//! batch are changed to point into it.

use arrow::array::{Array, ArrayRef, AsArray, UInt64Array, make_array};
use arrow::compute::CastOptions;
use arrow::compute::{cast_with_options, concat, take};
use arrow::datatypes::{DataType, Field, SchemaRef};
use arrow::record_batch::RecordBatch;
use arrow::row::{RowConverter, SortField};
use colkit_core::plan::batch_of;
use colkit_core::{Error, Result};
use std::collections::HashMap;

/// The dictionaries of all columns.
pub(super) struct Unified {
    /// In the order in which the fields are walked.
    dictionaries: Vec<Dictionary>,
    any: bool,
}

#[derive(Default)]
struct Dictionary {
    values: Option<ArrayRef>,
    positions: HashMap<Box<[u8]>, u64>,
    /// The dictionary of the last batch and where its values are: batches often share theirs.
    last: Option<(ArrayRef, UInt64Array)>,
}

impl Unified {
    pub fn new(schema: &SchemaRef) -> Self {
        Unified { dictionaries: Vec::new(), any: schema.fields().iter().any(|f| has_dictionary(f.data_type())) }
    }

    /// The batch with its keys pointing into the dictionaries of the file.
    pub fn unify(&mut self, batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
        if !self.any {
            return batch_of(schema, batch.columns().to_vec(), batch.num_rows());
        }
        let mut at = 0;
        let columns = batch.columns().iter().map(|array| self.array(array, &mut at)).collect::<Result<Vec<_>>>()?;
        batch_of(schema, columns, batch.num_rows())
    }

    fn array(&mut self, array: &ArrayRef, at: &mut usize) -> Result<ArrayRef> {
        if !has_dictionary(array.data_type()) {
            return Ok(array.clone());
        }
        if let DataType::Dictionary(key, _) = array.data_type() {
            if self.dictionaries.len() <= *at {
                self.dictionaries.push(Dictionary::default());
            }
            let position = *at;
            *at += 1;
            return match self.dictionaries.get_mut(position) {
                Some(dictionary) => dictionary.remap(array, key),
                None => Ok(array.clone()),
            };
        }
        let data = array.to_data();
        let children = data.child_data().iter().map(|child| {
            let child = self.array(&make_array(child.clone()), at)?;
            Ok(child.to_data())
        });
        let children = children.collect::<Result<Vec<_>>>()?;
        Ok(make_array(data.into_builder().child_data(children).build()?))
    }
}

impl Dictionary {
    fn remap(&mut self, array: &ArrayRef, key: &DataType) -> Result<ArrayRef> {
        let dictionary = array.as_any_dictionary();
        let positions = self.positions_of(dictionary.values())?;
        let keys = dictionary.keys().slice(0, array.len());
        let keys = take(&positions, &keys, None)?;
        let strict = CastOptions { safe: false, ..CastOptions::default() };
        let keys = cast_with_options(&keys, key, &strict).map_err(|e| {
            Error::data("value_out_of_range", format!("the dictionary has more values than {key} keys can tell apart"))
                .hint("write the column without its dictionary")
                .caused_by(e)
        })?;
        let Some(values) = &self.values else { return Ok(array.clone()) };
        let data = keys.to_data().into_builder().data_type(array.data_type().clone());
        Ok(make_array(data.child_data(vec![values.to_data()]).build()?))
    }

    /// Where each of these values is in the dictionary of the file; new ones are added.
    fn positions_of(&mut self, values: &ArrayRef) -> Result<UInt64Array> {
        if let Some((last, positions)) = &self.last
            && last.to_data().ptr_eq(&values.to_data())
        {
            return Ok(positions.clone());
        }
        let Some(before) = &self.values else {
            // The first dictionary is kept as it is, repeated values and all.
            self.note(values, 0)?;
            self.values = Some(values.clone());
            let positions = UInt64Array::from_iter_values(0..values.len() as u64);
            self.last = Some((values.clone(), positions.clone()));
            return Ok(positions);
        };
        let rows = rows(values)?;
        let mut new = Vec::new();
        let mut positions = Vec::with_capacity(values.len());
        for (index, row) in rows.iter().enumerate() {
            let next = (before.len() + new.len()) as u64;
            let position = *self.positions.entry(row.as_ref().into()).or_insert_with(|| {
                new.push(index as u64);
                next
            });
            positions.push(position);
        }
        if !new.is_empty() {
            let added = take(values, &UInt64Array::from(new), None)?;
            self.values = Some(concat(&[before.as_ref(), added.as_ref()])?);
        }
        let positions = UInt64Array::from(positions);
        self.last = Some((values.clone(), positions.clone()));
        Ok(positions)
    }

    fn note(&mut self, values: &ArrayRef, start: u64) -> Result<()> {
        for (row, position) in rows(values)?.iter().zip(start..) {
            self.positions.entry(row.as_ref().into()).or_insert(position);
        }
        Ok(())
    }
}

/// The values as bytes that are equal where the values are.
fn rows(values: &ArrayRef) -> Result<arrow::row::Rows> {
    let converter = RowConverter::new(vec![SortField::new(values.data_type().clone())])?;
    Ok(converter.convert_columns(std::slice::from_ref(values))?)
}

fn has_dictionary(data_type: &DataType) -> bool {
    let inside = |field: &Field| has_dictionary(field.data_type());
    match data_type {
        DataType::Dictionary(..) => true,
        DataType::List(f) | DataType::LargeList(f) | DataType::FixedSizeList(f, _) | DataType::Map(f, _) => inside(f),
        DataType::ListView(f) | DataType::LargeListView(f) => inside(f),
        DataType::Struct(fields) => fields.iter().any(|f| inside(f)),
        DataType::Union(fields, _) => fields.iter().any(|(_, f)| inside(f)),
        DataType::RunEndEncoded(_, values) => inside(values),
        _ => false,
    }
}
