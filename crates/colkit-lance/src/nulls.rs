//! Nulls put on finished arrays, and arrays of nothing but nulls.

use crate::bytes_at::{size, times};
use crate::values::bad_values;
use arrow::array::{Array, ArrayRef, make_array, new_null_array};
use arrow::buffer::NullBuffer;
use arrow::datatypes::DataType;
use colkit_core::{Error, Limits, Result};

/// Valid where both say so.
pub(crate) fn and_nulls(a: Option<NullBuffer>, b: Option<NullBuffer>) -> Result<Option<NullBuffer>> {
    if let (Some(a), Some(b)) = (&a, &b)
        && a.len() != b.len()
    {
        return Err(Error::corrupt("bad_levels", format!("{} and {} items in one page", a.len(), b.len())));
    }
    Ok(NullBuffer::union(a.as_ref(), b.as_ref()))
}

/// The array with these nulls besides its own.
pub(crate) fn with_nulls(array: ArrayRef, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    let Some(nulls) = nulls.filter(|n| n.null_count() > 0) else { return Ok(array) };
    if array.len() != nulls.len() {
        return Err(Error::corrupt("bad_levels", format!("{} values but {} levels", array.len(), nulls.len())));
    }
    if array.data_type() == &DataType::Null {
        return Ok(array);
    }
    let nulls = and_nulls(Some(nulls), array.nulls().cloned())?;
    let data = array.to_data().into_builder().nulls(nulls).build().map_err(bad_values)?;
    Ok(make_array(data))
}

/// `count` nulls.
pub(crate) fn null_array(data_type: &DataType, count: u64, limits: &Limits) -> Result<ArrayRef> {
    // Nulls of fixed-size types take room although no byte of the file stands for them.
    Limits::check_memory("an array of nulls", times(count, width(data_type))?, limits.memory)?;
    Ok(new_null_array(data_type, size(count)?))
}

/// Bytes that a null of this type occupies, about.
fn width(data_type: &DataType) -> u64 {
    match data_type {
        DataType::FixedSizeList(item, n) => u64::try_from(*n).unwrap_or(0).saturating_mul(width(item.data_type())),
        DataType::FixedSizeBinary(n) => u64::try_from(*n).unwrap_or(0),
        DataType::Struct(fields) => fields.iter().map(|f| width(f.data_type())).fold(0, u64::saturating_add),
        other => other.primitive_width().unwrap_or(8) as u64,
    }
}
