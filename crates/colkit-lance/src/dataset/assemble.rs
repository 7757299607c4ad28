//! One column out of what several files have of it.
//!
//! The manifest has the tree of fields, files have values of its leaves. What a file has of a column is the column without
//! the fields that it lacks; here these parts are laid over one another:
//!
//! - a struct or list is where a part has it, and what is around values is the same in all parts that have it;
//! - a field that no part has is null.

use crate::schema::{Kind, Node};
use crate::values::{bad_values, wrong_type};
use arrow::array::{
    Array, ArrayRef, AsArray, FixedSizeListArray, GenericListArray, MapArray, OffsetSizeTrait, StructArray,
    new_null_array,
};
use arrow::datatypes::{DataType, FieldRef};
use colkit_core::{Error, Result};
use std::sync::Arc;

/// What a file has of a field.
pub(super) struct Part {
    pub node: Arc<Node>,
    pub array: ArrayRef,
}

/// The field as the table has it, in so many rows. The parts are in the order of files.
pub(super) fn assemble(wanted: &Node, parts: &[Part], rows: usize) -> Result<ArrayRef> {
    let Some(first) = parts.first() else { return missing(wanted, rows) };
    if parts.iter().any(|part| part.array.len() != rows) {
        return Err(disagree(wanted));
    }
    if parts.len() == 1 && first.array.data_type() == wanted.field.data_type() {
        return Ok(first.array.clone());
    }
    match (wanted.kind, wanted.field.data_type()) {
        (Kind::Struct, DataType::Struct(fields)) => {
            let nulls = first.array.nulls().cloned();
            let mut members = Vec::with_capacity(wanted.children.len());
            for child in &wanted.children {
                members.push(assemble(child, &members_of(parts, child)?, rows)?);
            }
            let structs = StructArray::try_new(fields.clone(), members, nulls).map_err(bad_values)?;
            Ok(Arc::new(structs))
        }
        (Kind::List, DataType::List(item)) => lists::<i32>(wanted, item, parts),
        (Kind::List, DataType::LargeList(item)) => lists::<i64>(wanted, item, parts),
        (Kind::FixedSizeList(_), DataType::FixedSizeList(item, n)) => {
            let list = first.array.as_fixed_size_list_opt().ok_or_else(|| disagree(wanted))?;
            let values = |a: &ArrayRef| Some(a.as_fixed_size_list_opt()?.values().clone());
            let items = items(wanted, parts, values)?;
            let lists = FixedSizeListArray::try_new(item.clone(), *n, items, list.nulls().cloned());
            Ok(Arc::new(lists.map_err(bad_values)?))
        }
        (Kind::Map, DataType::Map(entries, ordered)) => {
            let map = first.array.as_map_opt().ok_or_else(|| disagree(wanted))?;
            let values = |a: &ArrayRef| -> Option<ArrayRef> { Some(Arc::new(a.as_map_opt()?.entries().clone())) };
            let items = items(wanted, parts, values)?;
            let (offsets, nulls) = (map.offsets().clone(), map.nulls().cloned());
            let maps = MapArray::try_new(entries.clone(), offsets, items.as_struct().clone(), nulls, *ordered);
            Ok(Arc::new(maps.map_err(bad_values)?))
        }
        (_, other) => Err(wrong_type("parts", other)),
    }
}

/// A field that no file has.
pub(super) fn missing(wanted: &Node, rows: usize) -> Result<ArrayRef> {
    let field = &wanted.field;
    if !field.is_nullable() {
        let what = format!("no data file has the field {:?}, which has no nulls", field.name());
        return Err(Error::corrupt("missing_column", what));
    }
    Ok(new_null_array(field.data_type(), rows))
}

/// What the parts of a struct have of one of its members.
fn members_of(parts: &[Part], child: &Node) -> Result<Vec<Part>> {
    let mut members = Vec::new();
    for part in parts {
        let Some(place) = part.node.children.iter().position(|c| c.id == child.id) else { continue };
        let (structs, node) = (part.array.as_struct_opt(), part.node.children.get(place));
        let member = structs.and_then(|s| s.columns().get(place)).cloned();
        let (Some(array), Some(node)) = (member, node) else { return Err(disagree(child)) };
        members.push(Part { node: Arc::new(node.clone()), array });
    }
    Ok(members)
}

/// What is in lists, of all parts.
fn items(wanted: &Node, parts: &[Part], values: impl Fn(&ArrayRef) -> Option<ArrayRef>) -> Result<ArrayRef> {
    let [item] = wanted.children.as_slice() else { return Err(disagree(wanted)) };
    let mut inner = Vec::with_capacity(parts.len());
    for part in parts {
        let (Some(node), Some(array)) = (part.node.children.first(), values(&part.array)) else {
            return Err(disagree(wanted));
        };
        inner.push(Part { node: Arc::new(node.clone()), array });
    }
    let rows = inner.first().map_or(0, |part| part.array.len());
    assemble(item, &inner, rows)
}

fn lists<O: OffsetSizeTrait>(wanted: &Node, item: &FieldRef, parts: &[Part]) -> Result<ArrayRef> {
    let lists = |a: &ArrayRef| a.as_list_opt::<O>().cloned();
    let first = parts.first().and_then(|part| lists(&part.array)).ok_or_else(|| disagree(wanted))?;
    for part in parts.iter().skip(1) {
        if lists(&part.array).is_none_or(|other| other.offsets() != first.offsets()) {
            return Err(disagree(wanted));
        }
    }
    let items = items(wanted, parts, |a| Some(lists(a)?.values().clone()))?;
    let (offsets, nulls) = (first.offsets().clone(), first.nulls().cloned());
    Ok(Arc::new(GenericListArray::<O>::try_new(item.clone(), offsets, items, nulls).map_err(bad_values)?))
}

fn disagree(wanted: &Node) -> Error {
    let what = format!("the data files of a fragment disagree about the field {:?}", wanted.field.name());
    Error::corrupt("bad_dataset", what)
}
