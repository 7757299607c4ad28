//! The schema of a new table, and how its data files hold it.

use super::messages::{DataFile, DataFragment};
use super::names::check_name;
use super::wire::put;
use crate::container::Version;
use crate::extensions;
use crate::schema::messages::Field;
use crate::schema::{Fields, Node, number};
use crate::write::schema::{list_fields, storable};
use arrow::datatypes::{Schema, SchemaRef};
use colkit_core::{Error, Limits, Result, Setting, Types};
use prost::Message;
use std::collections::HashSet;
use std::sync::Arc;

/// The schema of a new table.
pub struct NewTable {
    version: Version,
    schema: SchemaRef,
    roots: Vec<Node>,
    /// The fields and the metadata, as a manifest has them.
    pub(super) fields: Vec<Vec<u8>>,
    pub(super) metadata: Vec<Vec<u8>>,
}

impl NewTable {
    /// A table with this schema, in files of this version. Types that Lance has not are replaced or refused; what is
    /// replaced is noted.
    pub fn new(schema: &Schema, version: Version, types: Types, notes: &mut Vec<String>) -> Result<Self> {
        check_names(schema)?;
        let mut stored = storable(schema, version, types, notes)?;
        stored.metadata.retain(|key, _| !extensions::is_own_key(key));
        let mut messages = Vec::new();
        stored.fields().iter().try_for_each(|field| list_fields(field, -1, &mut messages))?;
        let fields = messages.iter().map(field_bytes).collect();
        let mut entries: Vec<_> = stored.metadata.iter().collect();
        entries.sort_unstable();
        let metadata = entries.into_iter().map(|(key, value)| {
            let mut entry = Vec::new();
            put(1, key.as_bytes(), &mut entry);
            put(2, value.as_bytes(), &mut entry);
            entry
        });
        let metadata = metadata.collect();
        let roots = Fields::of_table(messages, std::collections::BTreeMap::new(), &Limits::default())?.roots;
        Ok(NewTable { version, schema: Arc::new(stored), roots, fields, metadata })
    }

    /// The schema of its data files.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// How data files hold its columns.
    pub fn file_columns(&self) -> FileColumns {
        FileColumns::new(self.roots.iter(), self.version)
    }
}

/// Names that Lance can tell apart: no two alike, and none with a point, which would be a path.
fn check_names(schema: &Schema) -> Result<()> {
    let mut seen = HashSet::new();
    for field in schema.fields() {
        let name = field.name();
        if !seen.insert(name) {
            return Err(Error::data("duplicate_column", format!("the column name {name:?} occurs twice"))
                .hint(Setting::Columns.does("chooses columns by their numbers")));
        }
        if name.contains('.') {
            let what = format!("the column {name:?}: names of columns in a Lance dataset have no points");
            return Err(Error::data("type_not_supported", what).hint("rename it, in SQL for example"));
        }
    }
    Ok(())
}

/// A field as a manifest has it: like in a data file, but dictionaries are marked.
fn field_bytes(field: &Field) -> Vec<u8> {
    let mut bytes = field.encode_to_vec();
    if field.logical_type.starts_with("dict:") {
        put(8, &[], &mut bytes);
    }
    bytes
}

/// Which fields of a table a data file holds, and in which columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileColumns {
    version: Version,
    fields: Vec<i32>,
    columns: Vec<i32>,
}

impl FileColumns {
    pub(super) fn new<'a>(roots: impl IntoIterator<Item = &'a Node>, version: Version) -> Self {
        fn list(node: &Node, found: &mut FileColumns) {
            if let Some(column) = node.column.and_then(|column| i32::try_from(column).ok()) {
                found.fields.push(node.id);
                found.columns.push(column);
            }
            node.children.iter().for_each(|child| list(child, found));
        }
        let mut found = FileColumns { version, fields: Vec::new(), columns: Vec::new() };
        let mut next = 0;
        for root in roots {
            let mut root = root.clone();
            clear(&mut root);
            number(&mut root, version, &mut next);
            list(&root, &mut found);
        }
        found
    }

    /// The version of the files.
    pub fn version(&self) -> Version {
        self.version
    }

    /// The ids of the fields that files hold.
    pub(super) fn ids(&self) -> &[i32] {
        &self.fields
    }

    /// A fragment of one file, without a number yet.
    pub(super) fn fragment(&self, file: &NewFile) -> Result<DataFragment> {
        check_name(&file.name)?;
        if file.rows == 0 || file.rows > u64::from(u32::MAX) {
            return Err(Error::internal(format!("a fragment of {} rows", file.rows)));
        }
        // Data files of 2.0 call themselves 0.3; manifests do not.
        let (major, minor) = match self.version {
            Version::V2_0 => (2, 0),
            version => version.numbers(),
        };
        let data_file = DataFile {
            path: file.name.clone(),
            fields: self.fields.clone(),
            column_indices: self.columns.clone(),
            file_major_version: u32::from(major),
            file_minor_version: u32::from(minor),
            file_size_bytes: file.bytes,
            base_id: None,
        };
        Ok(DataFragment { files: vec![data_file], physical_rows: file.rows, ..DataFragment::default() })
    }
}

fn clear(node: &mut Node) {
    node.column = None;
    node.children.iter_mut().for_each(clear);
}

/// A data file that has been written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewFile {
    /// Its name in the folder `data`.
    pub name: String,
    /// Its rows.
    pub rows: u64,
    /// Its length.
    pub bytes: u64,
}
