//! The protobuf messages of the container (package `lance.file.v2`).

use bytes::Bytes;
use prost::{Message, Oneof};

/// A message of any type: its name and its bytes.
#[derive(Clone, PartialEq, Message)]
pub struct Any {
    /// The type's name follows the last slash.
    #[prost(string, tag = "1")]
    pub type_url: String,
    /// The message.
    #[prost(bytes = "bytes", tag = "2")]
    pub value: Bytes,
}

/// Nothing.
#[derive(Clone, Copy, PartialEq, Message)]
pub struct Empty {}

/// An encoding that lies elsewhere in the file, so that it can be shared.
#[derive(Clone, Copy, PartialEq, Message)]
pub struct DeferredEncoding {
    /// Its position.
    #[prost(uint64, tag = "1")]
    pub buffer_location: u64,
    /// Its size.
    #[prost(uint64, tag = "2")]
    pub buffer_length: u64,
}

/// An encoding in place: the bytes of an [`Any`].
#[derive(Clone, PartialEq, Message)]
pub struct DirectEncoding {
    /// The bytes.
    #[prost(bytes = "bytes", tag = "1")]
    pub encoding: Bytes,
}

/// How a page or a column is encoded.
#[derive(Clone, PartialEq, Message)]
pub struct Encoding {
    /// Where that is said.
    #[prost(oneof = "Location", tags = "1, 2, 3")]
    pub location: Option<Location>,
}

/// Where an encoding is described.
#[derive(Clone, PartialEq, Oneof)]
pub enum Location {
    /// Elsewhere.
    #[prost(message, tag = "1")]
    Indirect(DeferredEncoding),
    /// Here.
    #[prost(message, tag = "2")]
    Direct(DirectEncoding),
    /// Nowhere.
    #[prost(message, tag = "3")]
    None(Empty),
}

/// A page of a column.
#[derive(Clone, PartialEq, Message)]
pub struct Page {
    /// Positions of its buffers.
    #[prost(uint64, repeated, tag = "1")]
    pub buffer_offsets: Vec<u64>,
    /// Sizes of its buffers.
    #[prost(uint64, repeated, tag = "2")]
    pub buffer_sizes: Vec<u64>,
    /// Items in it.
    #[prost(uint64, tag = "3")]
    pub length: u64,
    /// How it is encoded.
    #[prost(message, optional, tag = "4")]
    pub encoding: Option<Encoding>,
    /// The first row in it (2.1 and later).
    #[prost(uint64, tag = "5")]
    pub priority: u64,
}

/// A column.
#[derive(Clone, PartialEq, Message)]
pub struct ColumnMetadata {
    /// What encloses its pages.
    #[prost(message, optional, tag = "1")]
    pub encoding: Option<Encoding>,
    /// Its pages, in row order.
    #[prost(message, repeated, tag = "2")]
    pub pages: Vec<Page>,
    /// Positions of its own buffers.
    #[prost(uint64, repeated, tag = "3")]
    pub buffer_offsets: Vec<u64>,
    /// Sizes of its own buffers.
    #[prost(uint64, repeated, tag = "4")]
    pub buffer_sizes: Vec<u64>,
}
