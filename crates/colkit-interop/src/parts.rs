//! Parts of nested columns, cut out of whole ones.

use arrow::array::{
    Array, ArrayRef, AsArray, FixedSizeListArray, LargeListArray, ListArray, StructArray, new_null_array,
};
use arrow::datatypes::{DataType, Field};
use colkit_core::{ColumnRef, Result};
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

/// What `field` keeps of an array: some members of its structs, by their names.
pub(crate) fn keep(array: &ArrayRef, field: &Field) -> Result<ArrayRef> {
    Ok(match (array.data_type(), field.data_type()) {
        (had, wanted) if had == wanted => array.clone(),
        (DataType::Struct(_), DataType::Struct(wanted)) => {
            let array = array.as_struct();
            let children = wanted.iter().map(|f| match array.column_by_name(f.name()) {
                Some(child) => keep(child, f),
                None => Ok(new_null_array(f.data_type(), array.len())),
            });
            let children = children.collect::<Result<Vec<_>>>()?;
            Arc::new(StructArray::try_new_with_length(wanted.clone(), children, array.nulls().cloned(), array.len())?)
        }
        (DataType::List(_), DataType::List(item)) => {
            let list = array.as_list::<i32>();
            let values = keep(list.values(), item)?;
            Arc::new(ListArray::try_new(item.clone(), list.offsets().clone(), values, list.nulls().cloned())?)
        }
        (DataType::LargeList(_), DataType::LargeList(item)) => {
            let list = array.as_list::<i64>();
            let values = keep(list.values(), item)?;
            Arc::new(LargeListArray::try_new(item.clone(), list.offsets().clone(), values, list.nulls().cloned())?)
        }
        (DataType::FixedSizeList(..), DataType::FixedSizeList(item, size)) => {
            let list = array.as_fixed_size_list();
            let values = keep(list.values(), item)?;
            Arc::new(FixedSizeListArray::try_new(item.clone(), *size, values, list.nulls().cloned())?)
        }
        _ => array.clone(),
    })
}

/// The columns of a projection, each once, with the positions it is wanted at. `same` is what two of them that are the same
/// have in common.
pub(crate) fn each_once<K: Hash + Eq>(
    columns: Vec<ColumnRef>,
    same: impl Fn(&ColumnRef) -> K,
) -> Vec<(ColumnRef, Vec<usize>)> {
    let mut once: Vec<(ColumnRef, Vec<usize>)> = Vec::with_capacity(columns.len());
    let mut places = HashMap::with_capacity(columns.len());
    for (position, column) in columns.into_iter().enumerate() {
        let place = *places.entry(same(&column)).or_insert(once.len());
        match once.get_mut(place) {
            Some((_, positions)) => positions.push(position),
            None => once.push((column, vec![position])),
        }
    }
    once
}
