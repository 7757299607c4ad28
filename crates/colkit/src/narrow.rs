//! Integers for a format without wide ones.
//!
//! Under `--types lossy` a column of 64-bit integers becomes int32 if all its values fit, else float64 if all of them
//! are whole there, else decimal text. That depends on every value, so the columns are read once before anything is
//! written; a writer cannot change its mind midway.

use crate::OpenFile;
use arrow::array::{Array, ArrayRef};
use arrow::compute::{cast, max, min};
use arrow::datatypes::{DataType, Decimal128Type, Field, Schema, SchemaRef};
use colkit_core::{Format, Projection, Result, Scan};
use std::sync::Arc;

/// The schema to write: wide integer columns that `target` does not store replaced by the narrowest type that it does.
pub(crate) fn narrowed(files: &[OpenFile], scan: &Scan, schema: &SchemaRef, target: &dyn Format) -> Result<SchemaRef> {
    let wide = |f: &Field| f.data_type().is_integer() && !target.stores(f.data_type());
    let table_schema = files.first().map_or_else(|| schema.clone(), OpenFile::schema);
    let columns = scan.projection.resolve(table_schema.as_ref())?;
    let mut fields: Vec<Field> = schema.fields().iter().map(|f| f.as_ref().clone()).collect();
    for (field, column) in fields.iter_mut().zip(columns) {
        if wide(field) {
            let only = Scan { projection: Projection::parts(vec![column]), ..scan.clone() };
            *field = field.clone().with_data_type(narrowest(bounds(files, &only)?));
        }
    }
    Ok(Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone())))
}

/// The smallest and largest value of the scan's only column.
fn bounds(files: &[OpenFile], scan: &Scan) -> Result<(i128, i128)> {
    let mut bounds = (0, 0);
    for file in files {
        for batch in file.scan(scan)? {
            let Some(array) = batch?.columns().first().cloned() else { continue };
            let decimals: ArrayRef = cast(&array, &DataType::Decimal128(38, 0))?;
            let Some(decimals) = decimals.as_any().downcast_ref::<arrow::array::PrimitiveArray<Decimal128Type>>()
            else {
                continue;
            };
            bounds.0 = min(decimals).map_or(bounds.0, |v| v.min(bounds.0));
            bounds.1 = max(decimals).map_or(bounds.1, |v| v.max(bounds.1));
        }
    }
    Ok(bounds)
}

fn narrowest((least, most): (i128, i128)) -> DataType {
    const WHOLE: i128 = 1 << 53;
    if i128::from(i32::MIN) <= least && most <= i128::from(i32::MAX) {
        DataType::Int32
    } else if -WHOLE <= least && most <= WHOLE {
        DataType::Float64
    } else {
        DataType::Utf8
    }
}

/// The columns of a batch as the types of `schema`.
pub(crate) fn to_types(columns: &[ArrayRef], schema: &Schema) -> Result<Vec<ArrayRef>> {
    let typed = columns.iter().zip(schema.fields()).map(|(array, field)| {
        if array.data_type() == field.data_type() { Ok(array.clone()) } else { Ok(cast(array, field.data_type())?) }
    });
    typed.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_narrowest_type_that_keeps_every_value() {
        assert_eq!(narrowest((-5, i128::from(i32::MAX))), DataType::Int32);
        assert_eq!(narrowest((0, i128::from(i32::MAX) + 1)), DataType::Float64);
        assert_eq!(narrowest((-(1 << 53), 1 << 53)), DataType::Float64);
        assert_eq!(narrowest((0, (1 << 53) + 1)), DataType::Utf8);
    }
}
