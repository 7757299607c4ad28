//! The protobuf messages of the 2.0 encodings (package `lance.encodings`).

use bytes::Bytes;
use prost::{Message, Oneof};

/// Which buffer.
#[derive(Clone, Copy, PartialEq, Message)]
pub struct Buffer {
    #[prost(uint32, tag = "1")]
    pub buffer_index: u32,
    /// 0 the page's, 1 the column's, 2 the file's.
    #[prost(int32, tag = "2")]
    pub buffer_type: i32,
}

#[derive(Clone, PartialEq, Message)]
pub struct Compression {
    #[prost(string, tag = "1")]
    pub scheme: String,
}

#[derive(Clone, PartialEq, Message)]
pub struct Flat {
    #[prost(uint64, tag = "1")]
    pub bits_per_value: u64,
    #[prost(message, optional, tag = "2")]
    pub buffer: Option<Buffer>,
    #[prost(message, optional, tag = "3")]
    pub compression: Option<Compression>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Nullable {
    #[prost(oneof = "Nullability", tags = "1, 2, 3")]
    pub nullability: Option<Nullability>,
}

#[derive(Clone, PartialEq, Oneof)]
#[expect(clippy::enum_variant_names, reason = "the format's own words")]
pub enum Nullability {
    #[prost(message, tag = "1")]
    NoNulls(Box<NoNull>),
    #[prost(message, tag = "2")]
    SomeNulls(Box<SomeNull>),
    #[prost(message, tag = "3")]
    AllNulls(Nothing),
}

#[derive(Clone, PartialEq, Message)]
pub struct NoNull {
    #[prost(message, optional, boxed, tag = "1")]
    pub values: Option<Box<ArrayEncoding>>,
}

#[derive(Clone, PartialEq, Message)]
pub struct SomeNull {
    #[prost(message, optional, boxed, tag = "1")]
    pub validity: Option<Box<ArrayEncoding>>,
    #[prost(message, optional, boxed, tag = "2")]
    pub values: Option<Box<ArrayEncoding>>,
}

/// A message whose content does not matter.
#[derive(Clone, Copy, PartialEq, Message)]
pub struct Nothing {}

#[derive(Clone, PartialEq, Message)]
pub struct FixedSizeList {
    #[prost(uint32, tag = "1")]
    pub dimension: u32,
    #[prost(message, optional, boxed, tag = "2")]
    pub items: Option<Box<ArrayEncoding>>,
}

#[derive(Clone, PartialEq, Message)]
pub struct List {
    #[prost(message, optional, boxed, tag = "1")]
    pub offsets: Option<Box<ArrayEncoding>>,
    #[prost(uint64, tag = "2")]
    pub null_offset_adjustment: u64,
    #[prost(uint64, tag = "3")]
    pub num_items: u64,
}

#[derive(Clone, PartialEq, Message)]
pub struct Binary {
    #[prost(message, optional, boxed, tag = "1")]
    pub indices: Option<Box<ArrayEncoding>>,
    #[prost(message, optional, boxed, tag = "2")]
    pub bytes: Option<Box<ArrayEncoding>>,
    #[prost(uint64, tag = "3")]
    pub null_adjustment: u64,
}

#[derive(Clone, PartialEq, Message)]
pub struct Dictionary {
    #[prost(message, optional, boxed, tag = "1")]
    pub indices: Option<Box<ArrayEncoding>>,
    #[prost(message, optional, boxed, tag = "2")]
    pub items: Option<Box<ArrayEncoding>>,
    #[prost(uint32, tag = "3")]
    pub num_dictionary_items: u32,
}

#[derive(Clone, PartialEq, Message)]
pub struct Fsst {
    #[prost(message, optional, boxed, tag = "1")]
    pub binary: Option<Box<ArrayEncoding>>,
    #[prost(bytes = "bytes", tag = "2")]
    pub symbol_table: Bytes,
}

#[derive(Clone, PartialEq, Message)]
pub struct PackedStruct {
    #[prost(message, repeated, tag = "1")]
    pub inner: Vec<ArrayEncoding>,
    #[prost(message, optional, tag = "2")]
    pub buffer: Option<Buffer>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Bitpacked {
    #[prost(uint64, tag = "1")]
    pub compressed_bits_per_value: u64,
    #[prost(uint64, tag = "2")]
    pub uncompressed_bits_per_value: u64,
    #[prost(message, optional, tag = "3")]
    pub buffer: Option<Buffer>,
    #[prost(bool, tag = "4")]
    pub signed: bool,
}

#[derive(Clone, PartialEq, Message)]
pub struct FixedSizeBinary {
    #[prost(message, optional, boxed, tag = "1")]
    pub bytes: Option<Box<ArrayEncoding>>,
    #[prost(uint32, tag = "2")]
    pub byte_width: u32,
}

#[derive(Clone, PartialEq, Message)]
pub struct ArrayEncoding {
    #[prost(oneof = "Array", tags = "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21")]
    pub array: Option<Array>,
}

#[derive(Clone, PartialEq, Oneof)]
pub enum Array {
    #[prost(message, tag = "1")]
    Flat(Flat),
    #[prost(message, tag = "2")]
    Nullable(Nullable),
    #[prost(message, tag = "3")]
    FixedSizeList(FixedSizeList),
    #[prost(message, tag = "4")]
    List(List),
    #[prost(message, tag = "5")]
    Struct(Nothing),
    #[prost(message, tag = "6")]
    Binary(Binary),
    #[prost(message, tag = "7")]
    Dictionary(Dictionary),
    #[prost(message, tag = "8")]
    Fsst(Fsst),
    #[prost(message, tag = "9")]
    PackedStruct(PackedStruct),
    #[prost(message, tag = "10")]
    Bitpacked(Bitpacked),
    #[prost(message, tag = "11")]
    FixedSizeBinary(FixedSizeBinary),
    #[prost(message, tag = "12")]
    BitpackedForNonNeg(Bitpacked),
    #[prost(message, tag = "13")]
    Constant(Nothing),
    #[prost(message, tag = "14")]
    InlineBitpacking(Nothing),
    #[prost(message, tag = "15")]
    OutOfLineBitpacking(Nothing),
    #[prost(message, tag = "16")]
    Variable(Nothing),
    #[prost(message, tag = "17")]
    PackedStructFixedWidthMiniBlock(Nothing),
    #[prost(message, tag = "18")]
    Block(Nothing),
    #[prost(message, tag = "19")]
    Rle(Nothing),
    #[prost(message, tag = "20")]
    GeneralMiniBlock(Nothing),
    #[prost(message, tag = "21")]
    ByteStreamSplit(Nothing),
}

#[derive(Clone, PartialEq, Message)]
pub struct ColumnEncoding {
    #[prost(oneof = "ColumnEncodingKind", tags = "1, 2, 3")]
    pub column: Option<ColumnEncodingKind>,
}

#[derive(Clone, PartialEq, Oneof)]
pub enum ColumnEncodingKind {
    #[prost(message, tag = "1")]
    Values(Nothing),
    #[prost(message, tag = "2")]
    ZoneIndex(ZoneIndex),
    #[prost(message, tag = "3")]
    Blob(Blob),
}

#[derive(Clone, PartialEq, Message)]
pub struct ZoneIndex {
    #[prost(message, optional, boxed, tag = "3")]
    pub inner: Option<Box<ColumnEncoding>>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Blob {
    #[prost(message, optional, boxed, tag = "1")]
    pub inner: Option<Box<ColumnEncoding>>,
}
