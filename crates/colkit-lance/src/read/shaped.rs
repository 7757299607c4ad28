//! Fields of version 2.1 and later: only leaves have columns, and each leaf brings the shape of everything around it.
//!
//! Going up from the leaves, each struct or list takes one layer off its first leaf's shapes. All leaves below it
//! carry the same layer.

use super::LanceFile;
use super::lists::join;
use crate::bytes_at::size;
use crate::coroutine::{BoxFuture, Io, join_all};
use crate::encoding::{Decoded, Shape, Target};
use crate::packed::narrow;
use crate::rows::Rows;
use crate::schema::{Kind, Node};
use crate::values::{bad_values, wrong_type};
use arrow::array::{
    Array, ArrayRef, AsArray, BooleanBufferBuilder, FixedSizeListArray, GenericListArray, MapArray, OffsetSizeTrait,
    StructArray,
};
use arrow::buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow::datatypes::{DataType, FieldRef};
use colkit_core::{Error, Result};
use std::collections::VecDeque;
use std::sync::Arc;

/// Rows of a field. With `encoded` a column may come as a dictionary, if all rows are in one page.
pub(super) async fn read(file: Arc<LanceFile>, io: Io, node: Arc<Node>, rows: Rows, encoded: bool) -> Result<ArrayRef> {
    let encoded = encoded && node.stored.data_type() == node.field.data_type();
    let built = Fields21 { file, io, encoded }.field(&node, rows, Vec::new()).await?;
    if built.around.is_none_or(|around| around.is_empty()) { Ok(built.array) } else { Err(wrong_depth()) }
}

fn wrong_depth() -> Error {
    Error::corrupt("bad_levels", "the layers of a page do not match the nesting of its field")
}

/// An array and the layers still around it, the nearest first. Structs without members know nothing of those.
struct Built {
    array: ArrayRef,
    around: Option<VecDeque<Shape>>,
}

impl Built {
    /// Takes the nearest layer off.
    fn pop(&mut self) -> Result<Shape> {
        self.around.as_mut().and_then(VecDeque::pop_front).ok_or_else(wrong_depth)
    }
}

#[derive(Clone)]
struct Fields21 {
    file: Arc<LanceFile>,
    io: Io,
    encoded: bool,
}

impl Fields21 {
    fn boxed(&self, node: &Node, rows: Rows, around: Vec<Kind>) -> BoxFuture<Built> {
        let (this, node) = (self.clone(), node.clone());
        Box::pin(async move { this.field(&node, rows, around).await })
    }

    async fn field(&self, node: &Node, rows: Rows, around: Vec<Kind>) -> Result<Built> {
        let inside = || {
            let mut inside = vec![node.kind];
            inside.extend_from_slice(&around);
            inside
        };
        let data_type = node.field.data_type();
        match (node.kind, node.children.as_slice()) {
            (Kind::Leaf | Kind::Blob | Kind::Packed, _) => self.leaf(node, rows, around).await,
            (Kind::Struct, []) => empty_structs(&rows, &around),
            (Kind::Struct, children) => {
                let parts = children.iter().map(|child| self.boxed(child, rows.clone(), inside())).collect();
                struct_array(data_type, join_all(parts).await?)
            }
            (Kind::List, [item]) => {
                let mut items = self.boxed(item, rows, inside()).await?;
                let (offsets, nulls) = pop_list(&mut items)?;
                let array = match data_type {
                    DataType::List(field) => list_array::<i32>(field, &offsets, nulls, items.array)?,
                    DataType::LargeList(field) => list_array::<i64>(field, &offsets, nulls, items.array)?,
                    other => return Err(wrong_type("lists", other)),
                };
                Ok(Built { array, around: items.around })
            }
            (Kind::Map, [entries]) => {
                let mut items = self.boxed(entries, rows, inside()).await?;
                let (offsets, nulls) = pop_list(&mut items)?;
                let (DataType::Map(field, ordered), Some(entries)) = (data_type, items.array.as_struct_opt()) else {
                    return Err(wrong_type("maps", data_type));
                };
                let offsets = offset_buffer::<i32>(&offsets)?;
                let maps = MapArray::try_new(field.clone(), offsets, entries.clone(), nulls, *ordered);
                Ok(Built { array: Arc::new(maps.map_err(bad_values)?), around: items.around })
            }
            (Kind::FixedSizeList(dimension), [item]) => {
                let mut items = self.boxed(item, rows.scaled(dimension.into())?, inside()).await?;
                let Shape::Item { nulls, length } = items.pop()? else { return Err(wrong_depth()) };
                let DataType::FixedSizeList(field, n) = data_type else {
                    return Err(wrong_type("fixed-size lists", data_type));
                };
                if length.checked_mul(size(dimension.into())?) != Some(items.array.len()) {
                    return Err(wrong_depth());
                }
                let lists = FixedSizeListArray::try_new(field.clone(), *n, items.array, nulls);
                Ok(Built { array: Arc::new(lists.map_err(bad_values)?), around: items.around })
            }
            (kind, children) => {
                Err(Error::corrupt("bad_schema", format!("a {kind:?} with {} children", children.len())))
            }
        }
    }

    async fn leaf(&self, node: &Node, rows: Rows, around: Vec<Kind>) -> Result<Built> {
        let column = node.column.ok_or_else(|| Error::corrupt("bad_schema", "a leaf without a column"))?;
        let column = self.file.reader(&self.io, column).await?;
        let encoded = self.encoded && around.is_empty() && column.touched(&rows).len() == 1;
        let target = Target { field: node.stored.clone(), kind: node.kind, around, encoded };
        let parts = column.read(&self.file, &self.io, &rows, &target).await?;
        let (mut arrays, mut shapes) = (Vec::with_capacity(parts.len()), Vec::with_capacity(parts.len()));
        for (_, part) in parts {
            match part {
                Decoded::Shaped { values, layers } => {
                    arrays.push(values);
                    shapes.push(layers);
                }
                // An encoding without levels: fine where nothing is around the values.
                Decoded::Array(values) => {
                    arrays.push(values);
                    shapes.push(Vec::new());
                }
                Decoded::Lists(_) => return Err(wrong_type("lists", node.field.data_type())),
            }
        }
        let around = join_shapes(shapes, &target.around)?;
        let array = match arrays.as_slice() {
            [one] if encoded => one.clone(),
            _ => narrow(join(&arrays, node.stored.data_type())?, node.field.data_type())?,
        };
        Ok(Built { array, around: Some(around) })
    }
}

/// Structs without members: their only trace is a page that says how many there are.
fn empty_structs(rows: &Rows, around: &[Kind]) -> Result<Built> {
    if around.iter().any(|k| *k != Kind::Struct) {
        return Err(Error::unsupported("unknown_type", "lists of structs without members"));
    }
    Ok(Built { array: Arc::new(StructArray::new_empty_fields(size(rows.len())?, None)), around: None })
}

fn struct_array(data_type: &DataType, parts: Vec<Built>) -> Result<Built> {
    let DataType::Struct(fields) = data_type else { return Err(wrong_type("structs", data_type)) };
    let mut parts = parts.into_iter();
    let Some(mut first) = parts.next() else { return Err(wrong_depth()) };
    let mut members = vec![first.array];
    for part in parts {
        members.push(part.array);
        // Each member repeats what is around it. Which one is asked must not matter.
        match (&first.around, part.around) {
            (Some(around), Some(other)) if *around != other => {
                return Err(Error::corrupt(
                    "bad_levels",
                    "the members of a struct disagree about where it is null or repeated",
                ));
            }
            (None, Some(other)) => first.around = Some(other),
            _ => {}
        }
    }
    let nulls = match first.around.as_mut().map(VecDeque::pop_front) {
        Some(Some(Shape::Item { nulls, .. })) => nulls,
        Some(_) => return Err(wrong_depth()),
        None => None,
    };
    let array = StructArray::try_new(fields.clone(), members, nulls).map_err(bad_values)?;
    Ok(Built { array: Arc::new(array), around: first.around })
}

fn pop_list(items: &mut Built) -> Result<(Vec<u64>, Option<NullBuffer>)> {
    match items.pop()? {
        Shape::List { offsets, nulls } => Ok((offsets, nulls)),
        Shape::Item { .. } => Err(wrong_depth()),
    }
}

fn offset_buffer<O: OffsetSizeTrait>(offsets: &[u64]) -> Result<OffsetBuffer<O>> {
    let fits = |o: &u64| usize::try_from(*o).ok().and_then(O::from_usize);
    let offsets: Option<Vec<O>> = offsets.iter().map(fits).collect();
    let offsets = offsets.ok_or_else(|| Error::limit("items of lists in one batch", "more", i32::MAX))?;
    if offsets.is_empty() || offsets.iter().zip(offsets.iter().skip(1)).any(|(a, b)| a > b) {
        return Err(crate::values::bad_offsets());
    }
    Ok(OffsetBuffer::new(ScalarBuffer::from(offsets)))
}

fn list_array<O: OffsetSizeTrait>(
    field: &FieldRef,
    offsets: &[u64],
    nulls: Option<NullBuffer>,
    items: ArrayRef,
) -> Result<ArrayRef> {
    let lists = GenericListArray::<O>::try_new(field.clone(), offset_buffer(offsets)?, items, nulls);
    Ok(Arc::new(lists.map_err(bad_values)?))
}

/// The layers of several pages as one. Without any page there are no slots in any layer.
fn join_shapes(mut pages: Vec<Vec<Shape>>, around: &[Kind]) -> Result<VecDeque<Shape>> {
    if pages.iter().any(|p| p.len() != around.len()) {
        return Err(wrong_depth());
    }
    if pages.len() == 1 {
        return Ok(pages.pop().unwrap_or_default().into());
    }
    let mut joined = VecDeque::with_capacity(around.len());
    let mut pages: Vec<std::vec::IntoIter<Shape>> = pages.into_iter().map(Vec::into_iter).collect();
    for kind in around {
        let layer: Vec<Shape> = pages.iter_mut().filter_map(Iterator::next).collect();
        joined.push_back(match kind {
            Kind::List | Kind::Map => join_lists(layer)?,
            Kind::Leaf | Kind::Blob | Kind::Packed | Kind::Struct | Kind::FixedSizeList(_) => join_items(layer)?,
        });
    }
    Ok(joined)
}

fn join_items(layer: Vec<Shape>) -> Result<Shape> {
    let mut all = Slots::default();
    for shape in layer {
        match shape {
            Shape::Item { length, nulls } => all.add(length, nulls),
            Shape::List { .. } => return Err(wrong_depth()),
        }
    }
    Ok(Shape::Item { length: all.length, nulls: all.nulls() })
}

fn join_lists(layer: Vec<Shape>) -> Result<Shape> {
    let mut all = Slots::default();
    let mut joined = vec![0u64];
    for shape in layer {
        let Shape::List { offsets, nulls } = shape else { return Err(wrong_depth()) };
        all.add(offsets.len().saturating_sub(1), nulls);
        let base = joined.last().copied().unwrap_or(0);
        joined.extend(offsets.iter().skip(1).map(|o| base.saturating_add(*o)));
    }
    Ok(Shape::List { offsets: joined, nulls: all.nulls() })
}

/// Validity, collected over pages.
#[derive(Default)]
struct Slots {
    length: usize,
    parts: Vec<(usize, Option<NullBuffer>)>,
}

impl Slots {
    fn add(&mut self, length: usize, nulls: Option<NullBuffer>) {
        self.length += length;
        self.parts.push((length, nulls));
    }

    fn nulls(self) -> Option<NullBuffer> {
        if self.parts.iter().all(|(_, nulls)| nulls.is_none()) {
            return None;
        }
        let mut valid = BooleanBufferBuilder::new(self.length);
        for (length, nulls) in self.parts {
            match nulls {
                Some(nulls) => valid.append_buffer(nulls.inner()),
                None => valid.append_n(length, true),
            }
        }
        Some(NullBuffer::new(valid.finish()))
    }
}
