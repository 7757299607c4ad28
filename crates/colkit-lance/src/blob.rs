//! Blobs: values too large for pages. A page says where each lies in the file and how long it is.

use crate::container::inside;
use crate::coroutine::Io;
use crate::read::LanceFile;
use crate::values::{Values, Variable, wrong_type};
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, Field, FieldRef, UInt64Type};
use colkit_core::{ByteRange, Limits, Result};
use std::sync::Arc;

/// Where a blob lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Description {
    pub position: u64,
    pub size: u64,
}

/// The type of what the pages hold.
pub(crate) fn description_field() -> FieldRef {
    let part = |name: &str| Field::new(name, DataType::UInt64, false);
    Arc::new(Field::new("description", DataType::Struct([part("position"), part("size")].into_iter().collect()), true))
}

/// The descriptions in an array of that type.
pub(crate) fn descriptions(array: &ArrayRef) -> Result<Vec<Description>> {
    let parts = array.as_struct_opt().map(|s| s.columns());
    let numbers = |a: &ArrayRef| a.as_primitive_opt::<UInt64Type>().map(|p| p.values().clone());
    match parts {
        Some([position, size]) => match (numbers(position), numbers(size)) {
            (Some(p), Some(s)) => Ok(p.iter().zip(&s).map(|(p, s)| Description { position: *p, size: *s }).collect()),
            _ => Err(wrong_type("no blob descriptions", array.data_type())),
        },
        _ => Err(wrong_type("no blob descriptions", array.data_type())),
    }
}

/// The bytes of the blobs that are not null.
pub(crate) async fn fetch(
    io: &Io,
    descriptions: &[Description],
    nulls: Option<NullBuffer>,
    file: &LanceFile,
) -> Result<ArrayRef> {
    fetch_within(io, descriptions, nulls, file.container.size(), &file.limits).await
}

/// The same, for those who only know the file's size.
pub(crate) async fn fetch_within(
    io: &Io,
    descriptions: &[Description],
    nulls: Option<NullBuffer>,
    file_size: u64,
    limits: &Limits,
) -> Result<ArrayRef> {
    let range = |d: &Description| {
        if d.size == 0 { Ok(ByteRange::between(0, 0)) } else { inside(d.position, d.size, file_size) }
    };
    let ranges = descriptions.iter().map(range).collect::<Result<Vec<_>>>()?;
    let total = ranges.iter().map(|r| r.len()).fold(0, u64::saturating_add);
    Limits::check_memory("the blobs of one batch", total, limits.memory)?;
    let mut variable = Variable::new(true, descriptions.len());
    for bytes in io.read(ranges).await? {
        variable.push(&bytes)?;
    }
    Values::Variable(variable).array(&DataType::LargeBinary, nulls)
}
