//! Fields of version 2.0: structs are columns side by side, lists are ends in one column and items in the next.

use super::{ColumnReader, LanceFile};
use crate::blob;
use crate::bytes_at::size;
use crate::coroutine::{BoxFuture, Io, join_all};
use crate::encoding::{ColumnForm, Decoded, Lists, Target};
use crate::packed::narrow;
use crate::rows::Rows;
use crate::schema::{Kind, Node};
use crate::values::{Values, Variable, bad_values, wrong_type};
use arrow::array::{Array, ArrayRef, GenericListArray, OffsetSizeTrait, StructArray, UInt8Array, new_empty_array};
use arrow::buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow::compute::concat;
use arrow::datatypes::{DataType, Field, FieldRef};
use colkit_core::{Error, Result};
use std::sync::Arc;

pub(super) async fn read(file: Arc<LanceFile>, io: Io, node: Arc<Node>, rows: Rows) -> Result<ArrayRef> {
    Fields20 { file, io }.field(&node, rows).await
}

#[derive(Clone)]
struct Fields20 {
    file: Arc<LanceFile>,
    io: Io,
}

impl Fields20 {
    fn boxed(&self, node: &Node, rows: Rows) -> BoxFuture<ArrayRef> {
        let (this, node) = (self.clone(), node.clone());
        Box::pin(async move { this.field(&node, rows).await })
    }

    async fn field(&self, node: &Node, rows: Rows) -> Result<ArrayRef> {
        match node.kind {
            Kind::Struct => self.structs(node, rows).await,
            Kind::List => self.lists(node, rows).await,
            Kind::Leaf | Kind::Packed | Kind::Blob => self.leaf(node, rows).await,
            Kind::Map | Kind::FixedSizeList(_) => {
                Err(Error::unsupported("unknown_type", format!("a 2.0 file cannot hold {}", node.field.data_type())))
            }
        }
    }

    async fn column(&self, node: &Node) -> Result<Arc<ColumnReader>> {
        let column = node.column.ok_or_else(|| Error::corrupt("bad_schema", "a field without a column"))?;
        self.file.reader(&self.io, column).await
    }

    /// The validity of structs is not stored: none is null.
    async fn structs(&self, node: &Node, rows: Rows) -> Result<ArrayRef> {
        let count = size(rows.len())?;
        let DataType::Struct(fields) = node.field.data_type() else {
            return Err(wrong_type("structs", node.field.data_type()));
        };
        if fields.is_empty() {
            let header = self.column(node).await?;
            if rows.end() > header.length() {
                return Err(Error::corrupt("row_count_mismatch", format!("{} structs", header.length())));
            }
            return Ok(Arc::new(StructArray::new_empty_fields(count, None)));
        }
        let members = node.children.iter().map(|child| self.boxed(child, rows.clone())).collect();
        let members = join_all(members).await?;
        Ok(Arc::new(StructArray::try_new(fields.clone(), members, None).map_err(bad_values)?))
    }

    async fn leaf(&self, node: &Node, rows: Rows) -> Result<ArrayRef> {
        let column = self.column(node).await?;
        if column.form == ColumnForm::Blob {
            return self.blobs(&column, rows).await;
        }
        let target = Target { field: node.stored.clone(), kind: node.kind, around: Vec::new(), encoded: false };
        let parts = column.read(&self.file, &self.io, &rows, &target).await?;
        let mut arrays = Vec::with_capacity(parts.len());
        let mut lists = Vec::new();
        for (page, part) in parts {
            match part {
                Decoded::Array(array) => arrays.push(array),
                Decoded::Lists(list) => lists.push((page, list)),
                Decoded::Shaped { .. } => return Err(wrong_type("levels", node.field.data_type())),
            }
        }
        if !lists.is_empty() {
            return self.text_as_lists(node, &column, lists).await;
        }
        narrow(join(&arrays, node.stored.data_type())?, node.field.data_type())
    }

    /// Positions and sizes first, then the values.
    async fn blobs(&self, column: &Arc<ColumnReader>, rows: Rows) -> Result<ArrayRef> {
        let field = blob::description_field();
        let target = Target { field: field.clone(), kind: Kind::Packed, around: Vec::new(), encoded: false };
        let mut arrays = Vec::new();
        for (_, part) in column.read(&self.file, &self.io, &rows, &target).await? {
            match part {
                Decoded::Array(array) => arrays.push(array),
                _ => return Err(wrong_type("no descriptions", &DataType::LargeBinary)),
            }
        }
        let descriptions = blob::descriptions(&join(&arrays, field.data_type())?)?;
        // Position 1 without bytes is null, any other empty value is just empty.
        let valid = descriptions.iter().map(|d| !(d.size == 0 && d.position == 1)).collect::<Vec<bool>>();
        blob::fetch(&self.io, &descriptions, Some(NullBuffer::from(valid)), &self.file).await
    }

    async fn lists(&self, node: &Node, rows: Rows) -> Result<ArrayRef> {
        let [item] = node.children.as_slice() else {
            return Err(Error::corrupt("bad_schema", "a list without an item"));
        };
        let column = self.column(node).await?;
        let target = Target { field: node.field.clone(), kind: Kind::List, around: Vec::new(), encoded: false };
        let mut lists = Vec::new();
        for (page, part) in column.read(&self.file, &self.io, &rows, &target).await? {
            match part {
                Decoded::Lists(list) => lists.push((page, list)),
                _ => return Err(wrong_type("no lists", node.field.data_type())),
            }
        }
        let all = self.gather(&column, lists)?;
        let items = self.boxed(item, all.items.clone()).await?;
        match node.field.data_type() {
            DataType::List(field) => list_array::<i32>(field, &all, items),
            DataType::LargeList(field) => list_array::<i64>(field, &all, items),
            other => Err(wrong_type("lists", other)),
        }
    }

    /// The lists of several pages, their items counted through the whole item column.
    fn gather(&self, column: &Arc<ColumnReader>, lists: Vec<(usize, Lists)>) -> Result<Lists> {
        let mut all = Lists::default();
        let (mut base, mut next) = (0u64, 0);
        let some_nulls = lists.iter().any(|(_, l)| l.nulls.is_some());
        let mut valid = Vec::new();
        for (page, list) in lists {
            for earlier in next..page {
                let items = column.page(&self.file, earlier)?.list_items().unwrap_or(0);
                base = base.checked_add(items).ok_or_else(crate::values::bad_offsets)?;
            }
            next = page;
            for items in list.items.ranges() {
                let (start, end) = (base.checked_add(items.start), base.checked_add(items.end));
                let (Some(start), Some(end)) = (start, end) else { return Err(crate::values::bad_offsets()) };
                all.items.push(start..end);
            }
            if some_nulls {
                match &list.nulls {
                    Some(nulls) => valid.extend(nulls.iter()),
                    None => valid.extend(std::iter::repeat_n(true, list.lengths.len())),
                }
            }
            all.lengths.extend(list.lengths);
        }
        all.nulls = some_nulls.then(|| NullBuffer::from(valid));
        Ok(all)
    }

    /// Text as the oldest writers stored it: lists of bytes, which are in the next column.
    async fn text_as_lists(
        &self,
        node: &Node,
        column: &Arc<ColumnReader>,
        lists: Vec<(usize, Lists)>,
    ) -> Result<ArrayRef> {
        let all = self.gather(column, lists)?;
        let item: FieldRef = Arc::new(Field::new("item", DataType::UInt8, true));
        let target = Target { field: item, kind: Kind::Leaf, around: Vec::new(), encoded: false };
        let bytes = node.bytes_column.ok_or_else(|| wrong_type("lists", node.field.data_type()))?;
        let bytes = self.file.reader(&self.io, bytes).await?;
        let mut data = Vec::new();
        for (_, part) in bytes.read(&self.file, &self.io, &all.items, &target).await? {
            let Decoded::Array(array) = part else { return Err(wrong_type("no bytes", node.field.data_type())) };
            let Some(part) = array.as_any().downcast_ref::<UInt8Array>() else {
                return Err(wrong_type("no bytes", node.field.data_type()));
            };
            data.extend_from_slice(part.values());
        }
        let large = matches!(node.field.data_type(), DataType::LargeUtf8 | DataType::LargeBinary);
        let mut variable = Variable::new(large, all.lengths.len());
        let mut end = 0u64;
        variable.extend(
            &data,
            0,
            all.lengths.iter().map(|length| {
                end = end.saturating_add(*length);
                end
            }),
        )?;
        Values::Variable(variable).array(node.field.data_type(), all.nulls)
    }
}

/// Arrays of several pages as one.
pub(super) fn join(arrays: &[ArrayRef], data_type: &DataType) -> Result<ArrayRef> {
    match arrays {
        [] => Ok(new_empty_array(data_type)),
        [only] => Ok(only.clone()),
        several => {
            let several: Vec<&dyn Array> = several.iter().map(AsRef::as_ref).collect();
            Ok(concat(&several)?)
        }
    }
}

fn list_array<O: OffsetSizeTrait>(field: &FieldRef, lists: &Lists, items: ArrayRef) -> Result<ArrayRef> {
    let mut offsets = Vec::with_capacity(lists.lengths.len() + 1);
    let mut end = 0usize;
    offsets.push(O::usize_as(0));
    for length in &lists.lengths {
        end = end.checked_add(size(*length)?).ok_or_else(crate::values::bad_offsets)?;
        offsets.push(O::from_usize(end).ok_or_else(|| Error::limit("items of lists in one batch", end, i32::MAX))?);
    }
    let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
    let lists = GenericListArray::<O>::try_new(field.clone(), offsets, items, lists.nulls.clone());
    Ok(Arc::new(lists.map_err(bad_values)?))
}
