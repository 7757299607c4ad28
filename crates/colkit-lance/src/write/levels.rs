//! From nested arrays to the values of one leaf and its repetition and definition levels.
//!
//! The inverse of reading's `layers`: one layer per step from the leaf to the top, definition levels numbered from the
//! inside out, repetition level r where the r-th list from the inside starts. An entry carries the level of the
//! outermost thing that is null or empty. Entries that stand for a list without items, or for something null around a
//! list, have no value; what Arrow keeps under them is dropped.

use crate::schema::is_packed;
use arrow::array::{Array, ArrayRef, AsArray, UInt64Array};
use arrow::buffer::NullBuffer;
use arrow::compute::take;
use arrow::datatypes::{DataType, Field, FieldRef};
use colkit_core::{Error, Result};
use std::sync::Arc;

/// The numbers of layers in the file.
const ALL_VALID_ITEM: i32 = 1;
const ALL_VALID_LIST: i32 = 2;
const NULLABLE_ITEM: i32 = 3;
const NULLABLE_LIST: i32 = 4;
const EMPTYABLE_LIST: i32 = 5;
const NULL_AND_EMPTY_LIST: i32 = 6;

/// A leaf of some rows: values and levels.
#[derive(Debug)]
pub(super) struct Shredded {
    /// Layers by number, innermost first.
    pub layers: Vec<i32>,
    /// One per entry, where there are lists.
    pub rep: Option<Vec<u16>>,
    /// One per entry, where a layer may be null or empty.
    pub def: Option<Vec<u16>>,
    pub entries: usize,
    pub max_rep: u16,
    /// The highest level of an entry that has a value.
    pub max_visible: u16,
    /// Whether something outside of a list may be null, which some readers get wrong in full-zip pages.
    pub nullable_around_list: bool,
    /// The values of the entries that have one. Those that are null are null here too.
    pub values: ArrayRef,
}

impl Shredded {
    /// Values without levels.
    pub fn plain(values: ArrayRef) -> Shredded {
        let (layers, entries) = (vec![ALL_VALID_ITEM], values.len());
        let (max_rep, max_visible, nullable_around_list) = (0, 0, false);
        Shredded { layers, rep: None, def: None, entries, max_rep, max_visible, nullable_around_list, values }
    }

    /// Whether values of one width should lie in a full-zip page: some readers miscount those of lists there.
    pub fn zips_fixed(&self) -> bool {
        self.rep.is_none()
    }

    /// Whether this entry has a value.
    pub fn visible(&self, entry: usize) -> bool {
        self.def.as_ref().and_then(|d| d.get(entry)).is_none_or(|d| *d <= self.max_visible)
    }
}

/// A field on the way from the top to a leaf.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub array: ArrayRef,
    /// Whether the schema allows nulls here.
    pub nullable: bool,
}

/// The paths from a top-level array to each of its leaves, in the order of the columns.
pub(super) fn paths(field: &Field, top: &ArrayRef) -> Vec<Vec<Step>> {
    let below: Vec<(&FieldRef, ArrayRef)> = match field.data_type() {
        DataType::Struct(members) if !is_packed(field.metadata()) => {
            members.iter().zip(top.as_struct().columns().iter().cloned()).collect()
        }
        DataType::List(item) => vec![(item, top.as_list::<i32>().values().clone())],
        DataType::LargeList(item) => vec![(item, top.as_list::<i64>().values().clone())],
        DataType::Map(entries, _) => vec![(entries, Arc::new(top.as_map().entries().clone()))],
        DataType::FixedSizeList(item, _) if is_struct(item) => {
            let lists = top.as_fixed_size_list();
            let from = usize::try_from(lists.value_offset(0)).unwrap_or(0);
            let each = usize::try_from(lists.value_length()).unwrap_or(0);
            vec![(item, lists.values().slice(from, lists.len() * each))]
        }
        _ => Vec::new(),
    };
    let step = Step { array: top.clone(), nullable: field.is_nullable() };
    if below.is_empty() {
        return vec![vec![step]];
    }
    let mut all: Vec<Vec<Step>> = below.iter().flat_map(|(field, array)| paths(field, array)).collect();
    all.iter_mut().for_each(|path| path.insert(0, step.clone()));
    all
}

fn is_struct(field: &Field) -> bool {
    is_struct_type(field.data_type())
}

fn is_struct_type(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Struct(_))
}

fn is_list(data_type: &DataType) -> bool {
    matches!(data_type, DataType::List(_) | DataType::LargeList(_) | DataType::Map(_, _))
}

/// One layer on the way down.
struct Layer<'a> {
    array: &'a ArrayRef,
    nulls: Option<NullBuffer>,
    /// Where lists begin and end.
    offsets: Option<Vec<usize>>,
    number: i32,
    /// Its levels; 0 where it has none.
    null_level: u16,
    empty_level: u16,
    /// Its number, counted from the innermost list; 0 for items.
    rep: u16,
    /// Items of each, in fixed-size lists of structs.
    each: Option<usize>,
}

fn list_offsets(array: &ArrayRef) -> Result<Option<Vec<usize>>> {
    let at = |n: i64| usize::try_from(n).map_err(|_| Error::internal("a list that begins before its items"));
    Ok(Some(match array.data_type() {
        DataType::List(_) => {
            array.as_list::<i32>().value_offsets().iter().map(|o| at((*o).into())).collect::<Result<_>>()?
        }
        DataType::LargeList(_) => {
            array.as_list::<i64>().value_offsets().iter().map(|o| at(*o)).collect::<Result<_>>()?
        }
        DataType::Map(_, _) => array.as_map().value_offsets().iter().map(|o| at((*o).into())).collect::<Result<_>>()?,
        _ => return Ok(None),
    }))
}

/// The layers of a path, outermost first as the path, with their levels.
fn layers(path: &[Step]) -> Result<Vec<Layer<'_>>> {
    let mut layers: Vec<Layer<'_>> = Vec::with_capacity(path.len());
    for (depth, Step { array, nullable }) in path.iter().enumerate() {
        let around_list = path.iter().skip(depth + 1).any(|s| is_list(s.array.data_type()));
        let nulls = array.logical_nulls().filter(|n| n.null_count() > 0);
        let offsets = list_offsets(array)?;
        // Real writers push the nulls of a struct into its members; their readers may count on it.
        let inherited = layers.last().is_some_and(|l: &Layer| l.number == NULLABLE_ITEM);
        // Lance's readers count wrongly where a struct around lists has nulls in some pages and none in others.
        let always = *nullable && around_list && is_struct_type(array.data_type());
        let nullable = nulls.is_some() || inherited || always;
        let number = match &offsets {
            None if nullable => NULLABLE_ITEM,
            None => ALL_VALID_ITEM,
            Some(offsets) => {
                let valid = |i: usize| nulls.as_ref().is_none_or(|n| n.is_valid(i));
                let some_empty =
                    offsets.iter().zip(offsets.iter().skip(1)).enumerate().any(|(i, (a, b))| a == b && valid(i));
                match (nullable, some_empty) {
                    (false, false) => ALL_VALID_LIST,
                    (true, false) => NULLABLE_LIST,
                    (false, true) => EMPTYABLE_LIST,
                    (true, true) => NULL_AND_EMPTY_LIST,
                }
            }
        };
        let each = match array.data_type() {
            DataType::FixedSizeList(item, n) if is_struct(item) => usize::try_from(*n).ok(),
            _ => None,
        };
        layers.push(Layer { array, nulls, offsets, number, null_level: 0, empty_level: 0, rep: 0, each });
    }
    let (mut level, mut lists) = (0, 0);
    for layer in layers.iter_mut().rev() {
        if matches!(layer.number, NULLABLE_ITEM | NULLABLE_LIST | NULL_AND_EMPTY_LIST) {
            level += 1;
            layer.null_level = level;
        }
        if matches!(layer.number, EMPTYABLE_LIST | NULL_AND_EMPTY_LIST) {
            level += 1;
            layer.empty_level = level;
        }
        if layer.offsets.is_some() {
            lists += 1;
            layer.rep = lists;
        }
    }
    Ok(layers)
}

/// The slot of an entry without a value.
const NONE: usize = usize::MAX;

/// Entries on their way down: where each is in the current layer's array.
struct Entries {
    slots: Vec<usize>,
    rep: Vec<u16>,
    def: Vec<u16>,
}

impl Entries {
    /// Marks what is null in an item layer. Above a list a null hides everything below it.
    fn item(&mut self, nulls: &NullBuffer, level: u16, above_list: bool) {
        for (slot, def) in self.slots.iter_mut().zip(&mut self.def) {
            if *slot != NONE && nulls.is_null(*slot) {
                if *def == 0 {
                    *def = level;
                }
                if above_list {
                    *slot = NONE;
                }
            }
        }
    }

    /// Replaces lists by their items.
    fn list(&mut self, layer: &Layer<'_>, offsets: &[usize]) {
        let old = std::mem::replace(self, Entries { slots: Vec::new(), rep: Vec::new(), def: Vec::new() });
        let room = offsets.last().zip(offsets.first()).map_or(0, |(b, a)| b.saturating_sub(*a));
        self.slots.reserve(room);
        self.rep.reserve(room);
        self.def.reserve(room);
        for ((slot, rep), def) in old.slots.into_iter().zip(old.rep).zip(old.def) {
            let bounds = offsets.get(slot).copied().zip(slot.checked_add(1).and_then(|n| offsets.get(n)).copied());
            let null = slot != NONE && layer.nulls.as_ref().is_some_and(|n| n.is_null(slot));
            match bounds {
                Some((from, to)) if !null && from < to => {
                    self.slots.extend(from..to);
                    self.rep.push(rep);
                    self.rep.resize(self.slots.len(), layer.rep - 1);
                    self.def.resize(self.slots.len(), 0);
                }
                Some(_) => self.push_none(rep, if null { layer.null_level } else { layer.empty_level }),
                None => self.push_none(rep, def),
            }
        }
    }

    /// Replaces fixed-size lists by their items, those of null lists too.
    fn repeat(&mut self, each: usize) {
        let items = |slot: usize| (0..each).map(move |i| if slot == NONE { NONE } else { slot * each + i });
        self.slots = self.slots.iter().flat_map(|slot| items(*slot)).collect();
        self.rep = self.rep.iter().flat_map(|rep| std::iter::repeat_n(*rep, each)).collect();
        self.def = self.def.iter().flat_map(|def| std::iter::repeat_n(*def, each)).collect();
    }

    fn push_none(&mut self, rep: u16, def: u16) {
        self.slots.push(NONE);
        self.rep.push(rep);
        self.def.push(def);
    }
}

/// The values and levels of the leaf at the end of a path.
pub(super) fn shred(path: &[Step]) -> Result<Shredded> {
    let layers = layers(path)?;
    let Some((top, leaf)) = layers.first().zip(layers.last()) else {
        return Err(Error::internal("a column without arrays"));
    };
    let max_rep = layers.iter().map(|l| l.rep).max().unwrap_or(0);
    let max_def = layers.iter().map(|l| l.null_level.max(l.empty_level)).max().unwrap_or(0);
    let last_list = layers.iter().rposition(|l| l.offsets.is_some());
    let inside = layers.iter().skip(last_list.map_or(0, |l| l + 1));
    let max_visible = inside.map(|l| l.null_level).max().unwrap_or(0);
    let nullable_around_list = layers.iter().take(last_list.unwrap_or(0)).any(|l| l.number == NULLABLE_ITEM);
    let numbers = layers.iter().rev().map(|l| l.number).collect();
    let each: usize = layers.iter().filter_map(|l| l.each).product();
    let rows = top.array.len();
    let shredded = |rep, def, entries, values| Shredded {
        layers: numbers,
        rep,
        def,
        entries,
        max_rep,
        max_visible,
        nullable_around_list,
        values,
    };
    if max_def == 0 && max_rep == 0 {
        return Ok(shredded(None, None, rows * each, leaf.array.clone()));
    }
    let mut entries = Entries { slots: (0..rows).collect(), rep: vec![max_rep; rows], def: vec![0; rows] };
    for (depth, layer) in layers.iter().enumerate() {
        match (&layer.offsets, &layer.nulls) {
            (Some(offsets), _) => entries.list(layer, offsets),
            (None, Some(nulls)) => entries.item(nulls, layer.null_level, last_list.is_some_and(|l| depth < l)),
            (None, None) => {}
        }
        if let Some(each) = layer.each {
            entries.repeat(each);
        }
    }
    let values = visible_values(leaf.array, &entries.slots)?;
    let count = entries.slots.len();
    Ok(shredded((max_rep > 0).then_some(entries.rep), (max_def > 0).then_some(entries.def), count, values))
}

/// The values at these slots; cut out if they lie together, else picked.
fn visible_values(leaf: &ArrayRef, slots: &[usize]) -> Result<ArrayRef> {
    let mut visible = slots.iter().copied().filter(|s| *s != NONE);
    let first = visible.next().unwrap_or(0);
    let count = slots.iter().filter(|s| **s != NONE).count();
    let mut next = first;
    if visible.all(|slot| {
        next += 1;
        slot == next
    }) {
        return Ok(leaf.slice(first, count));
    }
    let indices: UInt64Array = slots.iter().filter(|s| **s != NONE).map(|s| *s as u64).collect::<Vec<_>>().into();
    Ok(take(leaf, &indices, None)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{Int32Array, ListArray, StructArray};
    use arrow::datatypes::Int32Type;

    fn shredded(array: ArrayRef) -> Shredded {
        let paths = paths(&Field::new("top", array.data_type().clone(), true), &array);
        assert_eq!(paths.len(), 1);
        shred(&paths[0]).unwrap()
    }

    #[test]
    fn lists_with_null_and_empty() {
        let rows = vec![
            Some(vec![Some(1), Some(2), Some(3)]),
            None,
            Some(vec![]),
            Some(vec![Some(4), None]),
            Some(vec![Some(5)]),
        ];
        let found = shredded(Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(rows)));
        assert_eq!(found.layers, [3, 6]);
        assert_eq!(found.rep.unwrap(), [1, 0, 0, 1, 1, 1, 0, 1]);
        assert_eq!(found.def.unwrap(), [0, 0, 0, 2, 3, 0, 1, 0]);
        assert_eq!((found.values.len(), found.values.null_count(), found.max_visible), (6, 1, 1));
    }

    #[test]
    fn null_structs_hide_their_members() {
        let member: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), Some(9), None]));
        let fields = vec![Field::new("a", DataType::Int32, true)].into();
        let nulls = NullBuffer::from(vec![true, false, true]);
        let found = shredded(Arc::new(StructArray::new(fields, vec![member], Some(nulls))));
        assert_eq!((found.layers, found.def.unwrap()), (vec![3, 3], vec![0, 2, 1]));
        assert_eq!(found.values.len(), 3);
    }

    #[test]
    fn three_lists_deep() {
        let list = |offsets: Vec<i32>, items: ArrayRef| -> ArrayRef {
            let field = Arc::new(Field::new("item", items.data_type().clone(), true));
            Arc::new(ListArray::new(field, arrow::buffer::OffsetBuffer::new(offsets.into()), items, None))
        };
        let items: ArrayRef = Arc::new(Int32Array::from(vec![0, 1, 2, 3, 4]));
        let found = shredded(list(vec![0, 3, 3, 4], list(vec![0, 3, 4, 4, 5], list(vec![0, 2, 2, 3, 4, 5], items))));
        assert_eq!(found.layers, [1, 5, 5, 5]);
        assert_eq!(found.rep.unwrap(), [3, 0, 1, 1, 2, 2, 3, 3]);
        assert_eq!(found.def.unwrap(), [0, 0, 1, 0, 0, 2, 3, 0]);
    }
}
