//! Integers for a format without wide ones.
//!
//! Under `--types lossy` a column of 64-bit integers becomes int32 if all its values fit, else float64 if all of them
//! are whole there, else decimal text. That depends on every value, so the columns are read once before anything is
//! written; a writer cannot change its mind midway.

use crate::OpenFile;
use arrow::array::{ArrayRef, AsArray};
use arrow::compute::{cast, max, min};
use arrow::datatypes::{DataType, Decimal128Type, Field, Schema, SchemaRef};
use colkit_core::{ColumnRef, Format, Projection, Result, Scan};
use std::sync::Arc;

/// The schema to write: wide integer columns that `target` does not store replaced by the narrowest type that it does.
pub(crate) fn narrowed(file: &OpenFile, scan: &Scan, schema: &SchemaRef, target: &dyn Format) -> Result<SchemaRef> {
    let wide = |f: &Field| f.data_type().is_integer() && !target.stores(f.data_type());
    let columns = scan.projection.resolve(file.schema().as_ref())?;
    let mut fields: Vec<Field> = schema.fields().iter().map(|f| f.as_ref().clone()).collect();
    let (fields_to_narrow, columns): (Vec<&mut Field>, Vec<ColumnRef>) =
        fields.iter_mut().zip(columns).filter(|(field, _)| wide(field)).unzip();
    if !columns.is_empty() {
        let mut bounds = vec![(0, 0); columns.len()];
        let only = Scan { projection: Projection::parts(columns), ..scan.clone() };
        widen(&mut bounds, file, &only)?;
        for (field, bounds) in fields_to_narrow.into_iter().zip(bounds) {
            *field = field.clone().with_data_type(narrowest(bounds));
        }
    }
    Ok(Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone())))
}

/// Widens the bounds of each column of the scan to its smallest and largest value.
fn widen(bounds: &mut [(i128, i128)], file: &OpenFile, scan: &Scan) -> Result<()> {
    for batch in file.read(scan)? {
        let batch = batch?;
        for ((least, most), array) in bounds.iter_mut().zip(batch.columns()) {
            let decimals: ArrayRef = cast(array, &DataType::Decimal128(38, 0))?;
            let Some(decimals) = decimals.as_primitive_opt::<Decimal128Type>() else { continue };
            *least = min(decimals).map_or(*least, |v| v.min(*least));
            *most = max(decimals).map_or(*most, |v| v.max(*most));
        }
    }
    Ok(())
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
