//! The schema: a tree of fields, each with its Arrow type and its physical column.
//!
//! Columns are numbered by walking the tree, parents first. In 2.0 every field takes one; later only those that
//! store values do. Packed structs and blobs are one column each.

mod logical;
pub(crate) mod messages;

use crate::container::{Version, bad_metadata};
use crate::extensions;
use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use bytes::Bytes;
use colkit_core::{Error, Limits, Projection, Result};
pub(crate) use logical::leaf_type;
use messages::FileDescriptor;
use prost::Message;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// What a field is, for reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Values: everything without children, fixed-size lists of plain values among them.
    Leaf,
    /// Large values outside the pages.
    Blob,
    /// A struct whose members lie together in one column.
    Packed,
    /// A struct of columns. Its only trace in a 2.0 file is a header column.
    Struct,
    /// A list.
    List,
    /// A map: a list of entries.
    Map,
    /// A fixed-size list of structs, with that many items in each.
    FixedSizeList(u32),
}

/// A field and what is below it.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its number in the schema.
    pub id: i32,
    /// The Arrow field.
    pub field: FieldRef,
    /// The field as the file has it, of which `field` may be only a part.
    pub stored: FieldRef,
    /// What it is.
    pub kind: Kind,
    /// Its column: its own values, list offsets or struct header. `None` if it has none.
    pub column: Option<usize>,
    /// The column of its bytes, where text is stored as a list of bytes as the oldest writers did.
    pub bytes_column: Option<usize>,
    /// Fields below.
    pub children: Vec<Node>,
}

impl Node {
    /// All columns of this field and those below.
    pub fn columns(&self) -> Vec<usize> {
        let mut columns: Vec<usize> = self.column.into_iter().chain(self.bytes_column).collect();
        columns.extend(self.children.iter().flat_map(Node::columns));
        columns
    }

    /// This field with only the parts left that `field` (the same field, pruned) still has.
    pub fn prune(&self, field: &FieldRef) -> Result<Node> {
        let children = match (self.kind, field.data_type()) {
            (Kind::Struct, DataType::Struct(kept)) => {
                let same = |f: &&FieldRef, n: &&Node| n.field.name() == f.name();
                let mut nodes = self.children.iter();
                // Names may repeat, so the children are matched in order.
                let find = |f: &FieldRef| nodes.find(|n| same(&f, n)).map(|n| n.prune(f));
                kept.iter().filter_map(find).collect::<Result<Vec<_>>>()?
            }
            (
                Kind::List | Kind::FixedSizeList(_),
                DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _),
            ) => self.children.iter().map(|n| n.prune(item)).collect::<Result<Vec<_>>>()?,
            _ => self.children.clone(),
        };
        let (kind, column, bytes_column) = (self.kind, self.column, self.bytes_column);
        Ok(Node {
            id: self.id,
            field: field.clone(),
            stored: self.stored.clone(),
            kind,
            column,
            bytes_column,
            children,
        })
    }
}

/// A file's schema.
#[derive(Debug)]
pub struct Fields {
    /// As Arrow sees it.
    pub schema: SchemaRef,
    /// The tree, one node per top-level field.
    pub roots: Vec<Node>,
    /// Top-level rows.
    pub rows: u64,
    /// Columns that the tree needs.
    pub columns: usize,
    /// Where what colkit adds to files is; see [`crate::extensions`].
    pub(crate) own: HashMap<String, String>,
}

impl Fields {
    /// Reads the schema from global buffer 0.
    pub fn parse(bytes: Bytes, version: Version, limits: &Limits) -> Result<Self> {
        let descriptor = FileDescriptor::decode(bytes).map_err(|e| bad_metadata("the file descriptor", e))?;
        let schema = descriptor.schema.unwrap_or_default();
        let mut fields = Self::of_table(schema.fields, schema.metadata, limits)?;
        for root in &mut fields.roots {
            number(root, version, &mut fields.columns);
        }
        Ok(Fields { rows: descriptor.length, ..fields })
    }

    /// The schema of a table, whose rows and columns are in other files.
    pub(crate) fn of_table(
        mut messages: Vec<messages::Field>,
        metadata: BTreeMap<String, Bytes>,
        limits: &Limits,
    ) -> Result<Self> {
        let (own, metadata) = text_map(metadata).into_iter().partition(|(k, _)| extensions::is_own_key(k));
        let tree = Tree::of(&messages)?;
        let top = |i: &usize| node(*i, &mut messages, &tree, limits.nesting);
        let roots = tree.tops.iter().map(top).collect::<Result<Vec<_>>>()?;
        let fields: Vec<FieldRef> = roots.iter().map(|r| r.field.clone()).collect();
        let schema = Arc::new(Schema::new_with_metadata(fields, metadata));
        Ok(Fields { schema, roots, rows: 0, columns: 0, own })
    }

    /// The fields of a projection, and the schema of what comes out.
    pub(crate) fn project(&self, projection: &Projection) -> Result<(Vec<Arc<Node>>, SchemaRef)> {
        let columns = projection.resolve(&self.schema)?;
        let schema = projection.schema(&self.schema)?;
        let pruned = columns.iter().zip(schema.fields());
        let nodes = pruned.filter_map(|(column, field)| Some(self.roots.get(column.index)?.prune(field).map(Arc::new)));
        Ok((nodes.collect::<Result<Vec<_>>>()?, schema))
    }

    /// Numbers the columns of a 2.0 file again, in which the text columns of `split` (by their number before) also
    /// occupy the column that follows: the oldest writers stored text as a list of bytes.
    pub(crate) fn renumber(&mut self, split: &dyn Fn(usize) -> bool) {
        fn walk(node: &mut Node, next: &mut usize, split: &dyn Fn(usize) -> bool) {
            node.column = Some(*next);
            *next += 1;
            if node.kind == Kind::Leaf && is_text(node.field.data_type()) && split(*next - 1) {
                node.bytes_column = Some(*next);
                *next += 1;
            }
            node.children.iter_mut().filter(|c| c.column.is_some()).for_each(|c| walk(c, next, split));
        }
        let mut next = 0;
        self.roots.iter_mut().for_each(|r| walk(r, &mut next, split));
        self.columns = next;
    }
}

fn is_text(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Binary | DataType::LargeBinary)
}

/// How the fields of the flat list hang together, by their places in it.
struct Tree {
    tops: Vec<usize>,
    children: Vec<Vec<usize>>,
}

impl Tree {
    fn of(fields: &[messages::Field]) -> Result<Tree> {
        let mut places = Places::default();
        let (mut tops, mut children) = (Vec::with_capacity(fields.len()), vec![Vec::new(); fields.len()]);
        let mut blob = None;
        for (place, message) in fields.iter().enumerate() {
            // The description of a blob is listed without ids of its own, right after the struct that it belongs to.
            let parent = match blob.filter(|_| message.id == -1) {
                None if message.parent_id == -1 => None,
                // Only earlier fields are known, so there can be no circle.
                None => Some(places.find(message.parent_id).ok_or_else(|| {
                    let what = format!("its parent {} has not been listed before it", message.parent_id);
                    bad_schema(&message.name, &what)
                })?),
                parent => parent,
            };
            match parent.and_then(|p| children.get_mut(p)) {
                Some(siblings) => siblings.push(place),
                None => tops.push(place),
            }
            if message.id >= 0 {
                if !places.add(message.id, place) {
                    return Err(bad_schema(&message.name, &format!("the id {} occurs twice", message.id)));
                }
                blob = message.metadata.contains_key("lance-encoding:blob").then_some(place);
            }
        }
        Ok(Tree { tops, children })
    }
}

/// Which id is where. Nearly always fields are numbered as they are listed; then nothing needs to be kept.
#[derive(Default)]
struct Places {
    in_order: usize,
    others: HashMap<i32, usize>,
}

impl Places {
    fn find(&self, id: i32) -> Option<usize> {
        usize::try_from(id).ok().filter(|id| *id < self.in_order).or_else(|| self.others.get(&id).copied())
    }

    /// Whether the id is new.
    fn add(&mut self, id: i32, place: usize) -> bool {
        if place == self.in_order && usize::try_from(id) == Ok(place) && self.others.is_empty() {
            self.in_order += 1;
            return true;
        }
        self.find(id).is_none() && self.others.insert(id, place).is_none()
    }
}

fn bad_schema(name: &str, what: &str) -> Error {
    Error::corrupt("bad_schema", format!("field {name:?}: {what}")).part("schema")
}

fn text_map(map: BTreeMap<String, Bytes>) -> HashMap<String, String> {
    map.into_iter().map(|(k, v)| (k, String::from_utf8_lossy(&v).into_owned())).collect()
}

fn node(place: usize, fields: &mut [messages::Field], tree: &Tree, depth: u32) -> Result<Node> {
    let (Some(message), Some(children)) = (fields.get_mut(place).map(std::mem::take), tree.children.get(place)) else {
        return Err(bad_schema("", "missing"));
    };
    let name = &message.name;
    if depth == 0 {
        return Err(bad_schema(name, "nested too deeply"));
    }
    let children = children.iter().map(|c| node(*c, fields, tree, depth - 1)).collect::<Result<Vec<_>>>()?;
    let mut metadata = text_map(message.metadata);
    if !message.extension_name.is_empty() {
        metadata.entry("ARROW:extension:name".into()).or_insert(message.extension_name);
    }
    match message.logical_type.as_str() {
        "json" => drop(metadata.entry("ARROW:extension:name".into()).or_insert_with(|| "lance.json".into())),
        "blob" => drop(metadata.entry("lance-encoding:blob".into()).or_insert_with(|| "true".into())),
        _ => {}
    }
    let only_child = || match children.as_slice() {
        [only] => Ok(only.field.clone()),
        other => Err(bad_schema(name, &format!("{} has {} children", message.logical_type, other.len()))),
    };
    let (kind, data_type) = match message.logical_type.as_str() {
        "struct" => {
            let kind = if is_packed(&metadata) { Kind::Packed } else { Kind::Struct };
            (kind, DataType::Struct(children.iter().map(|c| c.field.clone()).collect()))
        }
        "list" | "list.struct" => (Kind::List, DataType::List(only_child()?)),
        "large_list" | "large_list.struct" => (Kind::List, DataType::LargeList(only_child()?)),
        "map" => (Kind::Map, map_type(name, &only_child()?)?),
        fixed if fixed.starts_with("fixed_size_list:struct:") => {
            let count = fixed.rsplit(':').next().and_then(|n| n.parse::<i32>().ok());
            let size = count.and_then(|n| u32::try_from(n).ok()).filter(|n| *n > 0);
            let (Some(count), Some(size)) = (count, size) else {
                return Err(bad_schema(name, &format!("bad type {fixed}")));
            };
            (Kind::FixedSizeList(size), DataType::FixedSizeList(only_child()?, count))
        }
        leaf if children.is_empty() => {
            let data_type = leaf_type(leaf).map_err(|e| e.part(format!("field {name:?}")))?;
            let blob = data_type == DataType::LargeBinary && metadata.contains_key("lance-encoding:blob");
            (if blob { Kind::Blob } else { Kind::Leaf }, data_type)
        }
        other => return Err(bad_schema(name, &format!("type {other} with {} children", children.len()))),
    };
    let field = Arc::new(Field::new(message.name, data_type, message.nullable).with_metadata(metadata));
    Ok(Node { id: message.id, stored: field.clone(), field, kind, column: None, bytes_column: None, children })
}

/// The older key must say `true`; the newer one counts by being there.
pub(crate) fn is_packed(metadata: &HashMap<String, String>) -> bool {
    match metadata.get("packed") {
        Some(value) => value.eq_ignore_ascii_case("true"),
        None => metadata.contains_key("lance-encoding:packed"),
    }
}

fn map_type(name: &str, entries: &FieldRef) -> Result<DataType> {
    match entries.data_type() {
        DataType::Struct(fields) if fields.len() == 2 => Ok(DataType::Map(entries.clone(), false)),
        _ => Err(bad_schema(name, "the entries of a map are a struct of two")),
    }
}

pub(crate) fn number(node: &mut Node, version: Version, next: &mut usize) {
    let has_column = match version {
        Version::V2_0 => true,
        Version::V2_1 | Version::V2_2 | Version::V2_3 => match node.kind {
            Kind::Leaf | Kind::Blob | Kind::Packed => true,
            // A struct without members still needs a place in the file.
            Kind::Struct => node.children.is_empty(),
            Kind::List | Kind::Map | Kind::FixedSizeList(_) => false,
        },
    };
    if has_column {
        node.column = Some(*next);
        *next += 1;
    }
    if node.kind != Kind::Packed {
        node.children.iter_mut().for_each(|c| number(c, version, next));
    }
}
