//! The data files of fragments.
//!
//! Fields are found by their ids, never by names: the manifest says which column of which file has a field. What a file says
//! about itself only tells how its columns are stored.

use super::assemble::{Part, assemble};
use super::blob;
use super::messages::{BasePath, DataFile};
use crate::container::Version;
use crate::coroutine::{BoxFuture, Io, join_all};
use crate::encoding::Registry;
use crate::format::open_file;
use crate::read::LanceFile;
use crate::schema::{Kind, Node};
use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, FieldRef};
use colkit_core::{Error, Object, Objects, ReadOptions, Result, Selection};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

/// How data files are opened.
pub(crate) struct Opening {
    pub registry: Arc<Registry>,
    pub options: ReadOptions,
    /// Other places for files.
    pub base_paths: Vec<BasePath>,
    /// Whether numbers of rows can be believed.
    pub counts_rows: bool,
    /// Whether rows keep their ids.
    pub stable_row_ids: bool,
    /// Files beside data files that blobs are in, by the data file and their number.
    pub sidecars: Mutex<HashMap<(u32, u32), Object>>,
}

/// A data file.
pub(crate) struct FragmentFile {
    pub object: Object,
    pub name: String,
    /// Where it is, as objects are named.
    pub path: Arc<str>,
    /// As the manifest has it; `None` is not known.
    pub length: Option<u64>,
    legacy: bool,
    /// Columns by the fields that they hold.
    pub columns: HashMap<i32, usize>,
    open: OnceLock<Arc<LanceFile>>,
}

impl FragmentFile {
    /// The file of a manifest. It gets a name, nothing is read.
    pub fn new(file: &DataFile, path: String, objects: &Objects) -> Result<Self> {
        let version = (file.file_major_version, file.file_minor_version);
        let no_columns = file.column_indices.is_empty() && !file.fields.is_empty();
        let legacy = no_columns || (version.0 == 0 && version.1 < 3);
        let column = |(place, id): (usize, &i32)| {
            // Where a legacy file has a field is not said; that it has it is enough to refuse it.
            let column = if legacy { 0 } else { *file.column_indices.get(place)? };
            Some((*id, usize::try_from(column).ok()?))
        };
        let columns = file.fields.iter().enumerate().filter(|(_, id)| **id >= 0).filter_map(column).collect();
        Ok(FragmentFile {
            object: objects.add(&path)?,
            name: objects.full_name(&path),
            path: path.into(),
            length: Some(file.file_size_bytes).filter(|n| *n > 0),
            legacy,
            columns,
            open: OnceLock::new(),
        })
    }

    /// The file, once it has been opened.
    pub fn known(&self) -> Option<&Arc<LanceFile>> {
        self.open.get()
    }

    /// The file, opened if it is not.
    pub async fn open(&self, io: &Io, opening: &Opening) -> Result<Arc<LanceFile>> {
        if let Some(known) = self.open.get() {
            return Ok(known.clone());
        }
        let file = self.open_anew(io, opening).await.map_err(|e| e.file(self.name.clone()))?;
        Ok(self.open.get_or_init(|| Arc::new(file)).clone())
    }

    async fn open_anew(&self, io: &Io, opening: &Opening) -> Result<LanceFile> {
        if self.legacy {
            return Err(Error::unsupported("unknown_version", "a data file of the first version of Lance")
                .hint("read the dataset with pylance and write it again"));
        }
        let open = |length: u64| {
            let (registry, options) = (opening.registry.clone(), opening.options.clone());
            io.run(self.object.inside(open_file(length, registry, options)))
        };
        let Some(stated) = self.length else { return open(self.measure(io).await?).await };
        match open(stated).await {
            // The end is not where the manifest says; perhaps only that is wrong.
            Err(error) if error.code() == "bad_magic" => match self.measure(io).await? {
                length if length != stated => open(length).await,
                _ => Err(error),
            },
            opened => opened,
        }
    }

    async fn measure(&self, io: &Io) -> Result<u64> {
        let stated = io.read_one(self.object.length_address()).await?;
        Object::length(&stated).ok_or_else(|| Error::io("not_found", "the data file is missing"))
    }

    /// Whether it has a leaf of a field.
    pub fn may_have(&self, node: &Node) -> bool {
        self.columns.contains_key(&node.id) || node.children.iter().any(|child| self.may_have(child))
    }

    /// What the file has of a field: the field without what the file lacks. `stored` are its columns.
    pub fn part_of(&self, node: &Node, file: &LanceFile, stored: &HashMap<usize, &Node>) -> Result<Option<Node>> {
        let own = self.columns.get(&node.id).copied();
        if own.is_some_and(|column| column >= file.container.column_count()) {
            let what = format!(
                "field {:?} is said to be column {} of {}",
                node.field.name(),
                own.unwrap_or(0),
                file.container.column_count()
            );
            return Err(Error::corrupt("missing_column", what));
        }
        let own = own.and_then(|column| stored.get(&column).copied().map(|stored| (column, stored)));
        match node.kind {
            Kind::Leaf | Kind::Blob | Kind::Packed => Ok(match own {
                None => None,
                Some((column, stored)) => Some(self.leaf_of(node, column, stored)?),
            }),
            Kind::Struct if node.children.is_empty() => {
                Ok(own.map(|(column, _)| Node { column: Some(column), ..node.clone() }))
            }
            Kind::Struct | Kind::List | Kind::Map | Kind::FixedSizeList(_) => {
                let children = node.children.iter().map(|child| self.part_of(child, file, stored));
                let children: Vec<Node> = children.filter_map(Result::transpose).collect::<Result<_>>()?;
                if children.is_empty() {
                    return Ok(None);
                }
                let column = own.map(|(column, _)| column);
                if file.container.version() == Version::V2_0 && node.kind == Kind::List && column.is_none() {
                    let what =
                        format!("the file has the items of the lists {:?}, but not the lists", node.field.name());
                    return Err(Error::corrupt("missing_column", what));
                }
                let data_type = with_children(node.field.data_type(), &children)?;
                let field: FieldRef = Arc::new(node.field.as_ref().clone().with_data_type(data_type));
                let (id, kind) = (node.id, node.kind);
                Ok(Some(Node { id, stored: field.clone(), field, kind, column, bytes_column: None, children }))
            }
        }
    }

    fn leaf_of(&self, node: &Node, column: usize, stored: &Node) -> Result<Node> {
        if node.kind == Kind::Blob && blob::is_place(stored.stored.data_type()) {
            return Ok(Node { id: node.id, ..stored.clone() });
        }
        if !alike(stored.stored.data_type(), node.stored.data_type()) {
            let (found, wanted) = (stored.stored.data_type(), node.stored.data_type());
            let what = format!("field {:?} is of type {wanted}, column {column} of type {found}", node.field.name());
            return Err(Error::corrupt("wrong_encoding", what));
        }
        let (kind, bytes_column) = (stored.kind, stored.bytes_column);
        Ok(Node { kind, column: Some(column), bytes_column, ..node.clone() })
    }
}

/// An open data file, and what it has of the fields that are wanted.
#[derive(Clone)]
pub(crate) struct FilePart {
    pub object: Object,
    pub name: String,
    pub path: Arc<str>,
    pub file: Arc<LanceFile>,
    /// For each field what the file has of it.
    pub nodes: Vec<Option<Arc<Node>>>,
}

impl FilePart {
    /// Rows of a field of the file.
    pub async fn read(&self, io: &Io, node: Arc<Node>, rows: Selection) -> Result<ArrayRef> {
        let file = self.file.clone();
        let read = self.file.container.coroutine(move |io| async move { file.read(&io, &node, rows, false).await });
        io.run(self.object.inside(read)).await.map_err(|e| e.file(self.name.clone()))
    }
}

/// Rows of a field, laid together from the files that have parts of it. `column` is the place of the field among the nodes
/// of the parts.
pub(crate) async fn read_field(
    io: &Io,
    opening: &Opening,
    wanted: &Node,
    parts: &[FilePart],
    column: usize,
    rows: &Selection,
) -> Result<ArrayRef> {
    let mut reads: Vec<BoxFuture<ArrayRef>> = Vec::new();
    let mut nodes = Vec::new();
    for part in parts {
        let Some(node) = part.nodes.get(column).cloned().flatten() else { continue };
        let (part, io, rows) = (part.clone(), io.clone(), rows.clone());
        nodes.push(node.clone());
        reads.push(Box::pin(async move { part.read(&io, node, rows).await }));
    }
    let mut arrays = join_all(reads).await?;
    if wanted.kind == Kind::Blob {
        let having = parts.iter().filter(|part| part.nodes.get(column).is_some_and(Option::is_some));
        for (array, part) in arrays.iter_mut().zip(having) {
            if blob::is_place(array.data_type()) {
                *array = blob::fetch(io, opening, part, array).await?;
            }
        }
    }
    let found: Vec<Part> = nodes.into_iter().zip(arrays).map(|(node, array)| Part { node, array }).collect();
    assemble(wanted, &found, crate::bytes_at::size(rows.len())?)
}

/// The columns of a file by their numbers.
pub(super) fn stored_columns(file: &LanceFile) -> HashMap<usize, &Node> {
    fn add<'a>(node: &'a Node, columns: &mut HashMap<usize, &'a Node>) {
        columns.extend(node.column.map(|column| (column, node)));
        node.children.iter().for_each(|child| add(child, columns));
    }
    let mut columns = HashMap::new();
    file.fields.roots.iter().for_each(|root| add(root, &mut columns));
    columns
}

pub(super) fn leaf(id: i32, field: FieldRef, column: usize) -> Node {
    let stored = field.clone();
    Node { id, field, stored, kind: Kind::Leaf, column: Some(column), bytes_column: None, children: Vec::new() }
}

/// The type with only these children.
fn with_children(data_type: &DataType, children: &[Node]) -> Result<DataType> {
    let only = || match children {
        [only] => Ok(only.field.clone()),
        _ => Err(Error::corrupt("bad_schema", "a list of several items")),
    };
    Ok(match data_type {
        DataType::Struct(_) => DataType::Struct(children.iter().map(|c| c.field.clone()).collect()),
        DataType::List(_) => DataType::List(only()?),
        DataType::LargeList(_) => DataType::LargeList(only()?),
        DataType::FixedSizeList(_, n) => DataType::FixedSizeList(only()?, *n),
        DataType::Map(_, ordered) => DataType::Map(only()?, *ordered),
        other => return Err(crate::values::wrong_type("children", other)),
    })
}

/// Whether values of one type are stored like those of the other: names and metadata of parts do not matter.
fn alike(a: &DataType, b: &DataType) -> bool {
    match (a, b) {
        (DataType::Struct(a), DataType::Struct(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| alike(a.data_type(), b.data_type()))
        }
        (DataType::FixedSizeList(a, n), DataType::FixedSizeList(b, m)) => n == m && alike(a.data_type(), b.data_type()),
        (a, b) => a == b,
    }
}
