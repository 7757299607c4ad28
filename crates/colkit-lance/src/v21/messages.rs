//! The protobuf messages of the page layouts (package `lance.encodings21`).

use crate::container::messages::Any;
use bytes::{Buf, BufMut, Bytes};
use prost::encoding::{self, DecodeContext, WireType};
use prost::{DecodeError, Message, Oneof};

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

/// How values are compressed: which field of `lance.encodings21.CompressiveEncoding` says so, and the message in it.
///
/// Lance has numbered the compressions that it knows. Any other one is in field [`CompressiveEncoding::EXTENSION`], which holds
/// a `google.protobuf.Any`: the name of its message, and the message. Readers that do not know the field find no compression.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompressiveEncoding {
    /// The number of the field.
    pub number: u32,
    /// The message.
    pub message: Bytes,
}

impl CompressiveEncoding {
    /// The field of compressions that have a name instead of a number.
    pub const EXTENSION: u32 = 1000;

    /// A compression that Lance has numbered.
    pub(crate) fn numbered(number: u32, message: &impl Message) -> Self {
        CompressiveEncoding { number, message: message.encode_to_vec().into() }
    }

    /// A compression by its name.
    pub fn named(name: &str, message: impl Into<Bytes>) -> Self {
        let any = Any { type_url: format!("/{name}"), value: message.into() };
        Self::numbered(Self::EXTENSION, &any)
    }
}

impl Message for CompressiveEncoding {
    fn encode_raw(&self, buf: &mut impl BufMut) {
        if self.number != 0 {
            encoding::bytes::encode(self.number, &self.message, buf);
        }
    }

    fn merge_field(
        &mut self,
        number: u32,
        wire_type: WireType,
        buf: &mut impl Buf,
        context: DecodeContext,
    ) -> Result<(), DecodeError> {
        if wire_type != WireType::LengthDelimited {
            return encoding::skip_field(wire_type, number, buf, context);
        }
        // Of several, the last one counts.
        self.number = number;
        encoding::bytes::merge(wire_type, &mut self.message, buf, context)
    }

    fn encoded_len(&self) -> usize {
        if self.number == 0 { 0 } else { encoding::bytes::encoded_len(self.number, &self.message) }
    }

    fn clear(&mut self) {
        *self = Self::default();
    }
}

/// A compression of a buffer inside another encoding.
#[derive(Clone, Copy, PartialEq, Message)]
pub struct BufferCompression {
    /// 1 is lz4, 2 is zstd.
    #[prost(int32, tag = "1")]
    pub scheme: i32,
}
