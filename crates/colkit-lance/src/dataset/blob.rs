//! Columns of blobs of the second kind (extension `lance.blob.v2`).
//!
//! In the schema of the table such a column is a struct for whoever writes it; in a data file it is one column of places:
//!
//! | kind | where the bytes are |
//! |---|---|
//! | 0 | in the data file itself |
//! | 1, 2 | in `data/<name of the data file without .lance>/<blob_id>.blob` |
//! | 3 | at a URI of somebody else's |
//! | 4 | in a store that Lance manages |
//!
//! Here the column is the bytes.

use super::data_file::{FilePart, Opening};
use crate::container::inside;
use crate::coroutine::Io;
use crate::schema::messages::Field;
use crate::values::{Values, Variable, wrong_type};
use arrow::array::{Array, ArrayRef, AsArray, StructArray};
use arrow::datatypes::{DataType, UInt8Type, UInt32Type, UInt64Type};
use colkit_core::{ByteRange, Error, Limits, Object, Result};
use std::collections::HashSet;

const NAME: &str = "lance.blob.v2";
const NAME_KEY: &str = "ARROW:extension:name";

/// Whether a field is a column of such blobs.
pub(super) fn is_of_places(field: &Field) -> bool {
    field.extension_name == NAME || field.metadata.get(NAME_KEY).is_some_and(|name| name == NAME)
}

/// Makes columns of bytes of all blob columns in the schema, and says which fields these are.
pub(super) fn as_bytes(fields: &mut Vec<Field>) -> Result<HashSet<i32>> {
    let blobs: HashSet<i32> = fields.iter().filter(|f| is_of_places(f)).map(|f| f.id).collect();
    if blobs.is_empty() {
        return Ok(blobs);
    }
    fields.retain(|field| !blobs.contains(&field.parent_id));
    for field in fields.iter_mut().filter(|field| blobs.contains(&field.id)) {
        if field.parent_id != -1 {
            let what = format!("field {:?}: blobs inside of other columns", field.name);
            return Err(Error::unsupported("unknown_type", what).part("schema"));
        }
        "large_binary".clone_into(&mut field.logical_type);
        field.extension_name.clear();
        field.metadata.remove(NAME_KEY);
    }
    Ok(blobs)
}

/// Whether a column of this type holds the places of blobs.
pub(super) fn is_place(data_type: &DataType) -> bool {
    let DataType::Struct(fields) = data_type else { return false };
    let types: Vec<&DataType> = fields.iter().map(|f| f.data_type()).collect();
    types == [&DataType::UInt8, &DataType::UInt64, &DataType::UInt64, &DataType::UInt32, &DataType::Utf8]
}

/// The bytes of the blobs at these places, which a data file has.
pub(super) async fn fetch(io: &Io, opening: &Opening, part: &FilePart, places: &ArrayRef) -> Result<ArrayRef> {
    let places = places.as_struct_opt().ok_or_else(|| wrong_type("places of blobs", places.data_type()))?;
    let addresses = addresses(opening, part, places).map_err(|e| e.file(part.name.clone()))?;
    let total = addresses.iter().map(|r| r.len()).fold(0, u64::saturating_add);
    Limits::check_memory("the blobs of one batch", total, opening.options.limits.memory)?;
    let mut values = Variable::new(true, addresses.len());
    for bytes in io.read(addresses).await? {
        values.push(&bytes)?;
    }
    Values::Variable(values).array(&DataType::LargeBinary, places.nulls().cloned())
}

fn addresses(opening: &Opening, part: &FilePart, places: &StructArray) -> Result<Vec<ByteRange>> {
    let [kinds, positions, sizes, ids, _] = places.columns() else {
        return Err(wrong_type("places of blobs", places.data_type()));
    };
    let (kinds, ids) = (kinds.as_primitive::<UInt8Type>().values(), ids.as_primitive::<UInt32Type>().values());
    let (positions, sizes) =
        (positions.as_primitive::<UInt64Type>().values(), sizes.as_primitive::<UInt64Type>().values());
    let mut found = Vec::with_capacity(places.len());
    let rows = kinds.iter().zip(ids).zip(positions.iter().zip(sizes)).enumerate();
    for (row, ((kind, id), (position, size))) in rows {
        if places.is_null(row) || *size == 0 {
            found.push(ByteRange::between(0, 0));
            continue;
        }
        found.push(match kind {
            0 => part.object.address(inside(*position, *size, part.file.container.size())?)?,
            1 | 2 => sidecar(opening, part, *id)?.address(ByteRange::at(*position, *size)?)?,
            other => {
                let what = if *other == 3 { "at a URI of its own" } else { "in a store that Lance manages" };
                return Err(Error::unsupported("other_file", format!("the bytes of a blob are {what}"))
                    .hint("read the other columns, or this one with pylance"));
            }
        });
    }
    Ok(found)
}

/// The file beside a data file that blobs of this number are in.
fn sidecar(opening: &Opening, part: &FilePart, id: u32) -> Result<Object> {
    let mut known = opening.sidecars.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(known) = known.get(&(part.object.number(), id)) {
        return Ok(*known);
    }
    let folder = part.path.strip_suffix(".lance").unwrap_or(&part.path);
    let object = opening.options.objects.add(&format!("{folder}/{:032b}.blob", id.reverse_bits()))?;
    known.insert((part.object.number(), id), object);
    Ok(object)
}
