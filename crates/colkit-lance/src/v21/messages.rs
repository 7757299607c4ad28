//! The protobuf messages of the page layouts (package `lance.encodings21`).

use bytes::Bytes;
use prost::{Message, Oneof};

#[derive(Clone, PartialEq, Message)]
pub struct PageLayout {
    #[prost(oneof = "Layout", tags = "1, 2, 3, 4")]
    pub layout: Option<Layout>,
}

#[derive(Clone, PartialEq, Oneof)]
pub enum Layout {
    #[prost(message, tag = "1")]
    MiniBlock(Box<MiniBlockLayout>),
    #[prost(message, tag = "2")]
    Constant(Box<ConstantLayout>),
    #[prost(message, tag = "3")]
    FullZip(Box<FullZipLayout>),
    #[prost(message, tag = "4")]
    Blob(Box<BlobLayout>),
}

#[derive(Clone, PartialEq, Message)]
pub struct MiniBlockLayout {
    #[prost(message, optional, tag = "1")]
    pub rep_compression: Option<CompressiveEncoding>,
    #[prost(message, optional, tag = "2")]
    pub def_compression: Option<CompressiveEncoding>,
    #[prost(message, optional, tag = "3")]
    pub value_compression: Option<CompressiveEncoding>,
    #[prost(message, optional, tag = "4")]
    pub dictionary: Option<CompressiveEncoding>,
    #[prost(uint64, tag = "5")]
    pub num_dictionary_items: u64,
    #[prost(int32, repeated, tag = "6")]
    pub layers: Vec<i32>,
    /// Value buffers of a chunk.
    #[prost(uint64, tag = "7")]
    pub num_buffers: u64,
    #[prost(uint32, tag = "8")]
    pub repetition_index_depth: u32,
    /// Values that have a slot.
    #[prost(uint64, tag = "9")]
    pub num_items: u64,
    #[prost(bool, tag = "10")]
    pub has_large_chunk: bool,
}

#[derive(Clone, PartialEq, Message)]
pub struct FullZipLayout {
    #[prost(uint32, tag = "1")]
    pub bits_rep: u32,
    #[prost(uint32, tag = "2")]
    pub bits_def: u32,
    #[prost(oneof = "Details", tags = "3, 4")]
    pub details: Option<Details>,
    /// Entries, those without a value included.
    #[prost(uint32, tag = "5")]
    pub num_items: u32,
    #[prost(uint32, tag = "6")]
    pub num_visible_items: u32,
    #[prost(message, optional, tag = "7")]
    pub value_compression: Option<CompressiveEncoding>,
    #[prost(int32, repeated, tag = "8")]
    pub layers: Vec<i32>,
}

#[derive(Clone, Copy, PartialEq, Oneof)]
pub enum Details {
    #[prost(uint32, tag = "3")]
    BitsPerValue(u32),
    #[prost(uint32, tag = "4")]
    BitsPerOffset(u32),
}

#[derive(Clone, PartialEq, Message)]
pub struct ConstantLayout {
    #[prost(int32, repeated, tag = "5")]
    pub layers: Vec<i32>,
    #[prost(bytes = "bytes", optional, tag = "6")]
    pub inline_value: Option<Bytes>,
    #[prost(message, optional, tag = "7")]
    pub rep_compression: Option<CompressiveEncoding>,
    #[prost(message, optional, tag = "8")]
    pub def_compression: Option<CompressiveEncoding>,
    #[prost(uint64, tag = "9")]
    pub num_rep_values: u64,
    #[prost(uint64, tag = "10")]
    pub num_def_values: u64,
}

#[derive(Clone, PartialEq, Message)]
pub struct BlobLayout {
    #[prost(message, optional, boxed, tag = "1")]
    pub inner_layout: Option<Box<PageLayout>>,
    #[prost(int32, repeated, tag = "2")]
    pub layers: Vec<i32>,
}

#[derive(Clone, PartialEq, Message)]
pub struct CompressiveEncoding {
    #[prost(oneof = "Compression", tags = "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13")]
    pub compression: Option<Compression>,
}

#[derive(Clone, PartialEq, Oneof)]
pub enum Compression {
    #[prost(message, tag = "1")]
    Flat(Flat),
    #[prost(message, tag = "2")]
    Variable(Variable),
    #[prost(message, tag = "3")]
    Constant(Constant),
    #[prost(message, tag = "4")]
    OutOfLineBitpacking(OutOfLineBitpacking),
    #[prost(message, tag = "5")]
    InlineBitpacking(InlineBitpacking),
    #[prost(message, tag = "6")]
    Fsst(Fsst),
    #[prost(message, tag = "7")]
    Dictionary(Dictionary),
    #[prost(message, tag = "8")]
    Rle(Rle),
    #[prost(message, tag = "9")]
    ByteStreamSplit(ByteStreamSplit),
    #[prost(message, tag = "10")]
    General(General),
    #[prost(message, tag = "11")]
    FixedSizeList(FixedSizeList),
    #[prost(message, tag = "12")]
    PackedStruct(PackedStruct),
    #[prost(message, tag = "13")]
    VariablePackedStruct(VariablePackedStruct),
}

/// A compression of a buffer inside another encoding.
#[derive(Clone, Copy, PartialEq, Message)]
pub struct BufferCompression {
    /// 1 is lz4, 2 is zstd.
    #[prost(int32, tag = "1")]
    pub scheme: i32,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub struct Flat {
    #[prost(uint64, tag = "1")]
    pub bits_per_value: u64,
    #[prost(message, optional, tag = "2")]
    pub data: Option<BufferCompression>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Variable {
    #[prost(message, optional, boxed, tag = "1")]
    pub offsets: Option<Box<CompressiveEncoding>>,
    #[prost(message, optional, tag = "2")]
    pub values: Option<BufferCompression>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Constant {
    #[prost(bytes = "bytes", optional, tag = "1")]
    pub value: Option<Bytes>,
}

#[derive(Clone, PartialEq, Message)]
pub struct OutOfLineBitpacking {
    #[prost(uint64, tag = "1")]
    pub uncompressed_bits_per_value: u64,
    #[prost(message, optional, boxed, tag = "3")]
    pub values: Option<Box<CompressiveEncoding>>,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub struct InlineBitpacking {
    #[prost(uint64, tag = "1")]
    pub uncompressed_bits_per_value: u64,
    #[prost(message, optional, tag = "2")]
    pub values: Option<BufferCompression>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Fsst {
    #[prost(bytes = "bytes", tag = "1")]
    pub symbol_table: Bytes,
    #[prost(message, optional, boxed, tag = "2")]
    pub values: Option<Box<CompressiveEncoding>>,
}

/// Never written: page dictionaries are named by the layout.
#[derive(Clone, Copy, PartialEq, Message)]
pub struct Dictionary {}

#[derive(Clone, PartialEq, Message)]
pub struct Rle {
    #[prost(message, optional, boxed, tag = "1")]
    pub values: Option<Box<CompressiveEncoding>>,
    #[prost(message, optional, boxed, tag = "2")]
    pub run_lengths: Option<Box<CompressiveEncoding>>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ByteStreamSplit {
    #[prost(message, optional, boxed, tag = "1")]
    pub values: Option<Box<CompressiveEncoding>>,
}

#[derive(Clone, PartialEq, Message)]
pub struct General {
    #[prost(message, optional, tag = "1")]
    pub compression: Option<BufferCompression>,
    #[prost(message, optional, boxed, tag = "3")]
    pub values: Option<Box<CompressiveEncoding>>,
}

#[derive(Clone, PartialEq, Message)]
pub struct FixedSizeList {
    #[prost(uint64, tag = "1")]
    pub items_per_value: u64,
    #[prost(message, optional, boxed, tag = "2")]
    pub values: Option<Box<CompressiveEncoding>>,
    #[prost(bool, tag = "3")]
    pub has_validity: bool,
}

#[derive(Clone, PartialEq, Message)]
pub struct PackedStruct {
    #[prost(uint64, repeated, tag = "1")]
    pub bits_per_value: Vec<u64>,
    #[prost(message, optional, boxed, tag = "2")]
    pub values: Option<Box<CompressiveEncoding>>,
}

#[derive(Clone, PartialEq, Message)]
pub struct VariablePackedStruct {
    #[prost(message, repeated, tag = "1")]
    pub fields: Vec<FieldEncoding>,
}

#[derive(Clone, PartialEq, Message)]
pub struct FieldEncoding {
    #[prost(message, optional, tag = "1")]
    pub value: Option<CompressiveEncoding>,
    #[prost(oneof = "FieldLayout", tags = "2, 3")]
    pub layout: Option<FieldLayout>,
}

#[derive(Clone, Copy, PartialEq, Oneof)]
pub enum FieldLayout {
    #[prost(uint64, tag = "2")]
    BitsPerValue(u64),
    #[prost(uint64, tag = "3")]
    BitsPerLength(u64),
}
