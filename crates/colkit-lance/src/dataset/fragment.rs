//! A fragment: some rows of the table, in files of which each has some columns.

use super::data_file::{FilePart, FragmentFile, Opening, leaf, stored_columns};
use super::deletions::{Deleted, Kind as DeletionKind};
use super::manifest::{self, check_counts};
use super::messages::{BasePath, DataFragment, FragmentCounts};
use super::row_ids;
use crate::container::bad_metadata;
use crate::coroutine::Io;
use crate::read::LanceFile;
use crate::schema::Node;
use arrow::array::AsArray;
use arrow::datatypes::{DataType, Field, FieldRef, UInt64Type};
use bytes::Bytes;
use colkit_core::{ByteRange, Error, Limits, Object, Result, Selection};
use prost::Message;
use std::sync::{Arc, OnceLock};

/// A fragment: how many rows it has, and all else once somebody asks. A table may have thousands of them.
pub(crate) struct Fragment {
    pub id: u64,
    /// Rows in its files, those that are deleted too; 0 is not known yet.
    pub rows: u64,
    /// The first of its rows in the table.
    pub first: u64,
    /// Rows that are left.
    pub left: u64,
    /// What the manifest says about it.
    message: Bytes,
    contents: OnceLock<Contents>,
}

/// What a fragment is made of, as the manifest has it, and what has been opened of it.
pub(crate) struct Contents {
    pub files: Vec<FragmentFile>,
    pub deletions: Option<Deletions>,
    pub row_ids: RowIds,
}

/// Where the ids of rows are.
pub(crate) enum RowIds {
    /// They are addresses.
    Addresses,
    Inline(Bytes),
    /// In a hidden column of a data file.
    Column {
        file: usize,
        column: usize,
    },
}

/// A deletion file.
pub(crate) struct Deletions {
    pub object: Object,
    pub name: String,
    kind: DeletionKind,
    /// As the manifest has it; `None` is not known.
    pub count: Option<u64>,
    deleted: OnceLock<Arc<Deleted>>,
}

/// The field that stands for row ids in data files.
const ROW_ID_FIELD: i32 = -3;

/// Rows that are not known yet are found in a data file.
const NOT_KNOWN: u64 = 0;

impl Fragment {
    /// The fragment of a manifest, after those that have `first` rows. What the manifest does not say about the number of its
    /// rows is read.
    pub async fn new(message: Bytes, first: u64, io: &Io, opening: &Opening) -> Result<Self> {
        let counts = FragmentCounts::decode(message.clone()).map_err(|e| bad_metadata("the manifest", e))?;
        check_counts(counts.id, counts.physical_rows)?;
        let rows = if opening.counts_rows { counts.physical_rows } else { NOT_KNOWN };
        let mut fragment = Fragment { id: counts.id, rows, first, left: 0, message, contents: OnceLock::new() };
        if rows == NOT_KNOWN {
            let file = fragment.contents(opening)?.files.first();
            let file = file.ok_or_else(|| Error::internal("a fragment without files"))?;
            fragment.rows = file.open(io, opening).await?.fields.rows;
        }
        let deleted = match counts.deletion_file.map(|file| file.num_deleted_rows) {
            None => 0,
            Some(count @ 1..) if opening.counts_rows => count,
            Some(_) => fragment.deleted(io, opening).await?.len(),
        };
        fragment.left = fragment.rows.checked_sub(deleted).ok_or_else(|| {
            let what = format!("{deleted} of {} rows are deleted", fragment.rows);
            Error::corrupt("bad_deletions", what).part(format!("fragment {}", fragment.id))
        })?;
        Ok(fragment)
    }

    /// What it is made of. Objects get names, nothing is read.
    pub fn contents(&self, opening: &Opening) -> Result<&Contents> {
        if let Some(known) = self.contents.get() {
            return Ok(known);
        }
        let message = manifest::fragment(&self.message)?;
        let contents = Contents::new(message, opening).map_err(|e| e.part(format!("fragment {}", self.id)))?;
        Ok(self.contents.get_or_init(|| contents))
    }

    /// The deleted rows.
    pub async fn deleted(&self, io: &Io, opening: &Opening) -> Result<Arc<Deleted>> {
        match &self.contents(opening)?.deletions {
            Some(deletions) => deletions.load(io, self.rows, &opening.options.limits).await,
            None => Ok(Arc::default()),
        }
    }

    /// The files that have some of these fields, open, with what they have of each.
    pub async fn parts(&self, io: &Io, opening: &Opening, nodes: &[Arc<Node>]) -> Result<Vec<FilePart>> {
        let has = |file: &FragmentFile| nodes.iter().any(|node| file.may_have(node));
        let all = &self.contents(opening)?.files;
        let wanted: Vec<&FragmentFile> = all.iter().filter(|file| has(file)).collect();
        let mut parts = Vec::with_capacity(wanted.len());
        for known in wanted {
            let file = self.open(known, io, opening).await?;
            let stored = stored_columns(&file);
            let part = |node: &Arc<Node>| -> Result<Option<Arc<Node>>> {
                let found = known.part_of(node, &file, &stored).map_err(|e| e.file(known.name.clone()))?;
                Ok(found.map(Arc::new))
            };
            parts.push(FilePart {
                object: known.object,
                name: known.name.clone(),
                path: known.path.clone(),
                nodes: nodes.iter().map(part).collect::<Result<_>>()?,
                file,
            });
        }
        Ok(parts)
    }

    /// Opens a file, which must have as many rows as the fragment.
    async fn open(&self, known: &FragmentFile, io: &Io, opening: &Opening) -> Result<Arc<LanceFile>> {
        let file = known.open(io, opening).await?;
        if file.fields.rows != self.rows {
            let what = format!("the manifest says {} rows, the file has {}", self.rows, file.fields.rows);
            return Err(Error::corrupt("row_count_mismatch", what).file(known.name.clone()));
        }
        Ok(file)
    }

    /// The ids of all rows, deleted ones too; `None` if they are addresses.
    pub async fn ids(&self, io: &Io, opening: &Opening) -> Result<Option<Vec<u64>>> {
        let limits = &opening.options.limits;
        let contents = self.contents(opening)?;
        match &contents.row_ids {
            RowIds::Addresses => Ok(None),
            RowIds::Inline(bytes) => {
                let ids = row_ids::parse(bytes.clone(), self.rows, limits);
                Ok(Some(ids.map_err(|e| e.part(format!("fragment {}", self.id)))?))
            }
            RowIds::Column { file, column } => {
                Limits::check_memory("the row ids of a fragment", self.rows.saturating_mul(8), limits.memory)?;
                let known = contents.files.get(*file).ok_or_else(|| Error::internal("row ids in no file"))?;
                let field: FieldRef = Arc::new(Field::new("_rowid", DataType::UInt64, false));
                let node = leaf(ROW_ID_FIELD, field, *column);
                let part = FilePart {
                    object: known.object,
                    name: known.name.clone(),
                    path: known.path.clone(),
                    nodes: Vec::new(),
                    file: self.open(known, io, opening).await?,
                };
                let ids = part.read(io, Arc::new(node), Selection::range(0..self.rows)).await?;
                let ids = ids.as_primitive_opt::<UInt64Type>();
                let ids = ids.ok_or_else(|| Error::corrupt("bad_row_ids", "row ids are not numbers of 64 bits"))?;
                Ok(Some(ids.values().to_vec()))
            }
        }
    }
}

impl Contents {
    fn new(message: DataFragment, opening: &Opening) -> Result<Self> {
        let objects = &opening.options.objects;
        let place = |base: Option<u32>, folder: &str, name: &str| place(&opening.base_paths, base, folder, name);
        let mut files = Vec::with_capacity(message.files.len());
        let mut row_ids = None;
        for file in message.files {
            let path = place(file.base_id, "data", &file.path)?;
            let hidden = file.fields.iter().position(|id| *id == ROW_ID_FIELD);
            let column = hidden.and_then(|at| usize::try_from(*file.column_indices.get(at)?).ok());
            row_ids = row_ids.or(column.map(|column| RowIds::Column { file: files.len(), column }));
            files.push(FragmentFile::new(&file, path, objects)?);
        }
        let deletions = match message.deletion_file {
            None => None,
            Some(file) => {
                let kind = match file.file_type {
                    0 => DeletionKind::Arrow,
                    1 => DeletionKind::Bitmap,
                    other => {
                        return Err(Error::unsupported("unknown_feature", format!("deletion files of kind {other}")));
                    }
                };
                let name = format!("{}-{}-{}.{}", message.id, file.read_version, file.id, kind.extension());
                let path = place(file.base_id, "_deletions", &name)?;
                let count = Some(file.num_deleted_rows).filter(|n| *n > 0 && opening.counts_rows);
                let (object, name) = (objects.add(&path)?, objects.full_name(&path));
                Some(Deletions { object, name, kind, count, deleted: OnceLock::new() })
            }
        };
        let row_ids = match (message.row_ids, row_ids) {
            (Some(bytes), _) => RowIds::Inline(bytes),
            (None, Some(column)) => column,
            (None, None) if opening.stable_row_ids => {
                return Err(Error::corrupt("bad_row_ids", "a fragment without row ids in a dataset that has them"));
            }
            (None, None) => RowIds::Addresses,
        };
        Ok(Contents { files, deletions, row_ids })
    }
}

impl Deletions {
    /// The length of the file.
    pub async fn measure(&self, io: &Io) -> Result<u64> {
        let length = io.read_one(self.object.length_address()).await?;
        Object::length(&length).ok_or_else(|| {
            Error::io("not_found", "the deletion file is missing")
                .hint("without it, deleted rows cannot be told from others")
                .file(self.name.clone())
        })
    }

    async fn load(&self, io: &Io, rows: u64, limits: &Limits) -> Result<Arc<Deleted>> {
        if let Some(known) = self.deleted.get() {
            return Ok(known.clone());
        }
        let deleted = self.load_anew(io, rows, limits).await.map_err(|e| e.file(self.name.clone()))?;
        Ok(self.deleted.get_or_init(|| Arc::new(deleted)).clone())
    }

    async fn load_anew(&self, io: &Io, rows: u64, limits: &Limits) -> Result<Deleted> {
        let length = self.measure(io).await?;
        Limits::check_memory("the deleted rows of a fragment", length, limits.memory)?;
        let bytes = io.read_one(self.object.address(ByteRange::between(0, length))?).await?;
        let deleted = Deleted::parse(self.kind, &bytes, rows, limits)?;
        match self.count {
            Some(count) if count != deleted.len() => {
                let what = format!("{} rows are deleted, the manifest says {count}", deleted.len());
                Err(Error::corrupt("bad_deletions", what))
            }
            _ => Ok(deleted),
        }
    }
}

/// Where a file is, relative to the dataset or, through a base path, as a whole path.
pub(super) fn place(bases: &[BasePath], base: Option<u32>, folder: &str, name: &str) -> Result<String> {
    let Some(id) = base else { return Ok(format!("{folder}/{name}")) };
    let base = bases.iter().find(|base| base.id == id).ok_or_else(|| {
        Error::corrupt("bad_dataset", format!("{name} is in the base path {id}, which the manifest does not have"))
    })?;
    let path = base.path.trim_end_matches('/');
    Ok(if base.is_dataset_root { format!("{path}/{folder}/{name}") } else { format!("{path}/{name}") })
}
