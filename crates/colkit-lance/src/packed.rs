//! Packed structs: the members of a row lie together, without padding between them.

use crate::values::{bad_values, fixed_width};
use arrow::array::{Array, ArrayData, ArrayRef, StructArray, make_array};
use arrow::buffer::Buffer;
use arrow::datatypes::DataType;
use colkit_core::{Error, Result};

/// Cuts `count` records of `width` bytes into the members of a struct type.
pub(crate) fn split_records(data: &[u8], width: usize, count: usize, data_type: &DataType) -> Result<ArrayRef> {
    let DataType::Struct(fields) = data_type else {
        return Err(crate::values::wrong_type("packed structs", data_type));
    };
    let widths = fields.iter().map(|f| plain_width(f.data_type())).collect::<Result<Vec<_>>>()?;
    if widths.iter().sum::<usize>() != width || Some(data.len()) != width.checked_mul(count) {
        return Err(Error::corrupt(
            "wrong_encoding",
            format!("{} bytes for {count} records of {width} bytes, the members need {widths:?}", data.len()),
        ));
    }
    let mut members = Vec::with_capacity(fields.len());
    let mut at = 0;
    for (field, member) in fields.iter().zip(&widths) {
        let mut column = Vec::with_capacity(member.saturating_mul(count));
        for record in data.chunks_exact(width.max(1)) {
            column.extend_from_slice(record.get(at..at + member).unwrap_or_default());
        }
        members.push(plain_array(Buffer::from_vec(column), field.data_type(), count)?);
        at += member;
    }
    if fields.is_empty() {
        return Ok(std::sync::Arc::new(StructArray::new_empty_fields(count, None)));
    }
    Ok(std::sync::Arc::new(StructArray::try_new(fields.clone(), members, None).map_err(bad_values)?))
}

/// Bytes of a value that is stored as it lies in memory.
pub(crate) fn plain_width(data_type: &DataType) -> Result<usize> {
    let width = match data_type {
        DataType::FixedSizeList(item, n) => {
            usize::try_from(*n).ok().and_then(|n| plain_width(item.data_type()).ok()?.checked_mul(n))
        }
        other => fixed_width(other),
    };
    width.ok_or_else(|| crate::values::wrong_type("values of one width", data_type))
}

/// Values as they lie in memory, without nulls.
pub(crate) fn plain_array(data: Buffer, data_type: &DataType, count: usize) -> Result<ArrayRef> {
    let builder = ArrayData::builder(data_type.clone()).len(count).align_buffers(true);
    let builder = match data_type {
        DataType::FixedSizeList(item, n) => {
            let items = usize::try_from(*n).ok().and_then(|n| n.checked_mul(count)).unwrap_or(usize::MAX);
            builder.add_child_data(plain_array(data, item.data_type(), items)?.to_data())
        }
        _ => builder.add_buffer(data),
    };
    Ok(make_array(builder.build().map_err(bad_values)?))
}
