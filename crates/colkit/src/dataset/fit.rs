//! Rows for a table that is there: columns by name, types as the table has them.

use crate::fidelity::without_views;
use crate::type_name;
use arrow::array::{Array, ArrayRef};
use arrow::compute::cast;
use arrow::datatypes::{Field, Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use colkit_core::plan::batch_of;
use colkit_core::{Error, Result};

/// Which columns of a table are given, and how.
pub(super) struct Fit {
    /// Columns of the table, by their places, in their order.
    pub columns: Vec<usize>,
    /// The given column for each.
    given: Vec<usize>,
}

const EXTENSION: &str = "ARROW:extension:name";

impl Fit {
    /// An error unless rows of the given schema can be rows of the table.
    pub fn new(table: &Schema, given: &Schema) -> Result<Self> {
        let differ = |what: String| {
            Error::data("schemas_differ", what).hint("rows that are appended have the columns and types of the dataset")
        };
        for field in given.fields() {
            if table.index_of(field.name()).is_err() {
                let names: Vec<&String> = table.fields().iter().map(|f| f.name()).collect();
                return Err(differ(format!("the dataset has no column {:?}; it has {names:?}", field.name())));
            }
        }
        let mut fit = Fit { columns: Vec::new(), given: Vec::new() };
        for (place, field) in table.fields().iter().enumerate() {
            match given.fields().iter().position(|f| f.name() == field.name()) {
                Some(found) => {
                    check_type(field, given.field(found)).map_err(differ)?;
                    fit.columns.push(place);
                    fit.given.push(found);
                }
                None if field.is_nullable() => {}
                None => return Err(differ(format!("the column {:?} is missing, and may not be null", field.name()))),
            }
        }
        Ok(fit)
    }

    /// The batch as a data file has it.
    pub fn batch(&self, batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
        let mut columns: Vec<ArrayRef> = Vec::with_capacity(self.columns.len());
        for (given, field) in self.given.iter().zip(schema.fields()) {
            let array = batch.column(*given);
            if !field.is_nullable() && array.is_nullable() && array.null_count() > 0 {
                let what = format!(
                    "{} nulls in the column {:?}, which has none in the dataset",
                    array.null_count(),
                    field.name()
                );
                return Err(Error::data("null_not_supported", what));
            }
            let same = array.data_type() == field.data_type();
            columns.push(if same { array.clone() } else { cast(array, field.data_type())? });
        }
        batch_of(schema, columns, batch.num_rows())
    }
}

fn check_type(table: &Field, given: &Field) -> std::result::Result<(), String> {
    let laid_out = without_views(given.data_type());
    let (wanted, found) = (type_name(table.data_type()), type_name(&laid_out));
    if !laid_out.equals_datatype(table.data_type()) && &laid_out != table.data_type() {
        return Err(format!("the column {:?} is of type {found}, in the dataset of type {wanted}", table.name()));
    }
    // What such bytes mean is not a matter of their type.
    let meaning = |field: &Field| field.metadata().get(EXTENSION).cloned();
    if meaning(table) == Some("lance.json".into()) && meaning(given) != meaning(table) {
        return Err(format!("the column {:?} holds binary JSON in the dataset", table.name()));
    }
    Ok(())
}
