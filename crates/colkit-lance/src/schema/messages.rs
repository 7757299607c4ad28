//! The protobuf messages of the schema (package `lance.file`).

use bytes::Bytes;
use prost::Message;
use std::collections::BTreeMap;

/// Global buffer 0: what the file holds.
#[derive(Clone, PartialEq, Message)]
pub struct FileDescriptor {
    /// The fields.
    #[prost(message, optional, tag = "1")]
    pub schema: Option<Schema>,
    /// Top-level rows.
    #[prost(uint64, tag = "2")]
    pub length: u64,
}

/// All fields of all levels, parents before children.
#[derive(Clone, PartialEq, Message)]
pub struct Schema {
    /// The fields.
    #[prost(message, repeated, tag = "1")]
    pub fields: Vec<Field>,
    /// Arrow's schema metadata.
    #[prost(btree_map = "string, bytes", tag = "5")]
    pub metadata: BTreeMap<String, Bytes>,
}

/// One field.
#[derive(Clone, PartialEq, Message)]
pub struct Field {
    /// Its own name, not a path.
    #[prost(string, tag = "2")]
    pub name: String,
    /// Unique in the file.
    #[prost(int32, tag = "3")]
    pub id: i32,
    /// -1 at the top.
    #[prost(int32, tag = "4")]
    pub parent_id: i32,
    /// The type by name; see `logical`.
    #[prost(string, tag = "5")]
    pub logical_type: String,
    /// Whether values may be null.
    #[prost(bool, tag = "6")]
    pub nullable: bool,
    /// A copy of the metadata's extension name.
    #[prost(string, tag = "9")]
    pub extension_name: String,
    /// Arrow's field metadata.
    #[prost(btree_map = "string, bytes", tag = "10")]
    pub metadata: BTreeMap<String, Bytes>,
}
