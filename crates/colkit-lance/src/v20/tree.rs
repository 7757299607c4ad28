//! The encoding tree of a page, checked: every buffer exists, every width is possible.

use super::messages::{self, Nullability};
use crate::codec::fsst::SymbolTable;
use crate::codec::general::Scheme;
use crate::encoding::{PageContext, buffer_at};
use crate::values::byte_width;
use arrow::array::ArrayRef;
use bytes::Bytes;
use colkit_core::{ByteRange, Error, Result};
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock};

/// An encoding and what was kept of it.
pub(super) struct Node {
    pub array: Array,
    /// The unpacked bytes of a compressed buffer, from the first read of a page to its last row.
    pub unpacked: Mutex<Option<Bytes>>,
    /// The items of a dictionary.
    pub items: OnceLock<ArrayRef>,
}

/// How items are encoded.
pub(super) enum Array {
    Flat {
        bits: u64,
        buffer: ByteRange,
        compression: Option<Scheme>,
    },
    AllNull,
    Nullable {
        validity: Arc<Node>,
        values: Arc<Node>,
    },
    FixedSizeList {
        dimension: u32,
        items: Arc<Node>,
    },
    List {
        offsets: Arc<Node>,
        adjustment: u64,
        items: u64,
    },
    Struct,
    Binary {
        indices: Arc<Node>,
        bytes: Arc<Node>,
        adjustment: u64,
    },
    Dictionary {
        indices: Arc<Node>,
        items: Arc<Node>,
        count: u32,
    },
    Fsst {
        binary: Arc<Node>,
        table: SymbolTable,
    },
    /// Members lie together; `width` bytes each row.
    Packed {
        width: u64,
        buffer: ByteRange,
    },
    Bitpacked {
        width: usize,
        bits: u64,
        buffer: ByteRange,
        signed: bool,
    },
    /// Groups of 1024 in FastLanes order.
    Lanes {
        width: usize,
        bits: u64,
        buffer: ByteRange,
    },
    /// Text of which every value has the same length.
    Equal {
        width: u32,
        bytes: Arc<Node>,
    },
}

fn missing(what: &str) -> Error {
    Error::corrupt("bad_encoding", format!("the encoding lacks its {what}"))
}

fn find(buffer: Option<messages::Buffer>, page: &PageContext) -> Result<ByteRange> {
    let buffer = buffer.ok_or_else(|| missing("buffer"))?;
    let from = match buffer.buffer_type {
        0 => &page.buffers,
        1 => &page.column_buffers,
        2 => &page.global_buffers,
        other => return Err(Error::corrupt("no_such_buffer", format!("a buffer of unknown type {other}"))),
    };
    buffer_at(from, usize::try_from(buffer.buffer_index).unwrap_or(usize::MAX), "the encoding's buffer")
}

impl Node {
    pub fn parse(message: messages::ArrayEncoding, page: &PageContext) -> Result<Node> {
        let array = message.array.ok_or_else(|| missing("kind"))?;
        Ok(Node { array: Array::parse(array, page)?, unpacked: Mutex::default(), items: OnceLock::new() })
    }

    fn child(message: Option<Box<messages::ArrayEncoding>>, page: &PageContext, what: &str) -> Result<Arc<Node>> {
        Ok(Arc::new(Self::parse(*message.ok_or_else(|| missing(what))?, page)?))
    }

    /// Writes down what each of the page's buffers is for.
    pub fn name_buffers(&self, buffers: &[ByteRange], names: &mut [String]) {
        let mut set = |range: &ByteRange, name: String| {
            for (slot, _) in names.iter_mut().zip(buffers).filter(|(s, b)| s.is_empty() && *b == range) {
                slot.clone_from(&name);
            }
        };
        match &self.array {
            Array::Flat { buffer, .. }
            | Array::Packed { buffer, .. }
            | Array::Bitpacked { buffer, .. }
            | Array::Lanes { buffer, .. } => set(buffer, self.to_string()),
            Array::AllNull | Array::Struct => {}
            Array::Nullable { validity, values } => {
                if let Array::Flat { buffer, .. } = &validity.array {
                    set(buffer, "validity".into());
                }
                values.name_buffers(buffers, names);
            }
            Array::FixedSizeList { items, .. } => items.name_buffers(buffers, names),
            Array::List { offsets, .. } => offsets.name_buffers(buffers, names),
            Array::Binary { indices: a, bytes: b, .. } | Array::Dictionary { indices: a, items: b, .. } => {
                a.name_buffers(buffers, names);
                b.name_buffers(buffers, names);
            }
            Array::Fsst { binary: inner, .. } | Array::Equal { bytes: inner, .. } => {
                inner.name_buffers(buffers, names);
            }
        }
    }
}

impl Array {
    fn parse(array: messages::Array, page: &PageContext) -> Result<Array> {
        use messages::Array as M;
        Ok(match array {
            M::Flat(flat) => {
                if flat.bits_per_value != 1 {
                    byte_width(flat.bits_per_value)?;
                }
                let compression = match flat.compression.as_ref().map(|c| c.scheme.as_str()) {
                    None | Some("none" | "") => None,
                    Some("zstd") => Some(Scheme::Zstd),
                    Some("lz4") => Some(Scheme::Lz4),
                    Some(other) => {
                        return Err(Error::unsupported(
                            "unknown_encoding",
                            format!("the compression {other:?} is not known here"),
                        ));
                    }
                };
                Array::Flat { bits: flat.bits_per_value, buffer: find(flat.buffer, page)?, compression }
            }
            M::Nullable(nullable) => match nullable.nullability.ok_or_else(|| missing("nullability"))? {
                // What surrounds values without nulls says nothing more.
                Nullability::NoNulls(inner) => {
                    let inner = inner.values.and_then(|v| v.array).ok_or_else(|| missing("values"))?;
                    Array::parse(inner, page)?
                }
                Nullability::SomeNulls(inner) => Array::Nullable {
                    validity: Node::child(inner.validity, page, "validity")?,
                    values: Node::child(inner.values, page, "values")?,
                },
                Nullability::AllNulls(_) => Array::AllNull,
            },
            M::FixedSizeList(list) => {
                Array::FixedSizeList { dimension: list.dimension, items: Node::child(list.items, page, "items")? }
            }
            M::List(list) => Array::List {
                offsets: Node::child(list.offsets, page, "offsets")?,
                adjustment: list.null_offset_adjustment,
                items: list.num_items,
            },
            M::Struct(_) => Array::Struct,
            M::Binary(binary) => Array::Binary {
                indices: Node::child(binary.indices, page, "indices")?,
                bytes: Node::child(binary.bytes, page, "bytes")?,
                adjustment: binary.null_adjustment,
            },
            M::Dictionary(dictionary) => Array::Dictionary {
                indices: Node::child(dictionary.indices, page, "indices")?,
                items: Node::child(dictionary.items, page, "items")?,
                count: dictionary.num_dictionary_items,
            },
            M::Fsst(fsst) => Array::Fsst {
                binary: Node::child(fsst.binary, page, "binary")?,
                table: SymbolTable::parse(&fsst.symbol_table)?,
            },
            M::PackedStruct(packed) => {
                let widths = packed.inner.iter().map(|m| member_width(m, 8)).collect::<Result<Vec<u64>>>()?;
                let width = widths.iter().try_fold(0u64, |sum, w| sum.checked_add(*w));
                let width = width.ok_or_else(|| Error::corrupt("bad_bit_width", "the members of a packed struct"))?;
                Array::Packed { width, buffer: find(packed.buffer, page)? }
            }
            M::Bitpacked(packed) => {
                let (width, bits) = packed_widths(&packed)?;
                Array::Bitpacked { width, bits, buffer: find(packed.buffer, page)?, signed: packed.signed }
            }
            M::BitpackedForNonNeg(packed) => {
                let (width, bits) = packed_widths(&packed)?;
                Array::Lanes { width, bits, buffer: find(packed.buffer, page)? }
            }
            M::FixedSizeBinary(equal) => {
                Array::Equal { width: equal.byte_width, bytes: Node::child(equal.bytes, page, "bytes")? }
            }
            M::Constant(_) => return Err(foreign("constant")),
            M::InlineBitpacking(_) => return Err(foreign("inline_bitpacking")),
            M::OutOfLineBitpacking(_) => return Err(foreign("out_of_line_bitpacking")),
            M::Variable(_) => return Err(foreign("variable")),
            M::PackedStructFixedWidthMiniBlock(_) => return Err(foreign("packed_struct_fixed_width_mini_block")),
            M::Block(_) => return Err(foreign("block")),
            M::Rle(_) => return Err(foreign("rle")),
            M::GeneralMiniBlock(_) => return Err(foreign("general_mini_block")),
            M::ByteStreamSplit(_) => return Err(foreign("byte_stream_split")),
        })
    }
}

/// Encodings that share the message but never occur in 2.0 files.
fn foreign(name: &str) -> Error {
    Error::unsupported("unknown_encoding", format!("the array encoding {name} does not belong into a 2.0 file"))
}

fn packed_widths(packed: &messages::Bitpacked) -> Result<(usize, u64)> {
    let (width, bits) = (packed.compressed_bits_per_value, packed.uncompressed_bits_per_value);
    match usize::try_from(width) {
        Ok(w) if matches!(bits, 8 | 16 | 32 | 64) && width >= 1 && width <= bits => Ok((w, bits)),
        _ => Err(Error::corrupt("bad_bit_width", format!("{bits} bits packed to {width}"))),
    }
}

/// Bytes of a member of a packed struct. Its buffers mean nothing.
fn member_width(member: &messages::ArrayEncoding, depth: u32) -> Result<u64> {
    use messages::Array as M;
    let bad = || Error::unsupported("unknown_encoding", "a packed struct of members without a fixed width");
    let depth = depth.checked_sub(1).ok_or_else(bad)?;
    match member.array.as_ref().ok_or_else(bad)? {
        M::Flat(flat) => Ok(byte_width(flat.bits_per_value)? as u64),
        M::FixedSizeList(list) => {
            let item = member_width(list.items.as_ref().ok_or_else(bad)?, depth)?;
            item.checked_mul(list.dimension.into()).ok_or_else(bad)
        }
        M::Nullable(nullable) => match nullable.nullability.as_ref() {
            Some(Nullability::NoNulls(inner)) => member_width(inner.values.as_ref().ok_or_else(bad)?, depth),
            _ => Err(bad()),
        },
        _ => Err(bad()),
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.array {
            Array::Flat { bits, compression: None, .. } => write!(f, "flat({bits})"),
            Array::Flat { bits, compression: Some(scheme), .. } => write!(f, "{}(flat({bits}))", scheme.name()),
            Array::AllNull => write!(f, "all_null"),
            Array::Nullable { values, .. } => write!(f, "nullable({values})"),
            Array::FixedSizeList { dimension, items } => write!(f, "fixed_size_list({dimension}, {items})"),
            Array::List { offsets, .. } => write!(f, "list({offsets})"),
            Array::Struct => write!(f, "struct"),
            Array::Binary { indices, bytes, .. } => write!(f, "binary({indices}, {bytes})"),
            Array::Dictionary { indices, items, count } => write!(f, "dictionary({indices}, {items}, {count} items)"),
            Array::Fsst { binary, .. } => write!(f, "fsst({binary})"),
            Array::Packed { width, .. } => write!(f, "packed_struct({width} bytes)"),
            Array::Bitpacked { width, bits, .. } => write!(f, "bitpacked({bits} to {width})"),
            Array::Lanes { width, bits, .. } => write!(f, "bitpacked_for_non_neg({bits} to {width})"),
            Array::Equal { width, bytes } => write!(f, "fixed_size_binary({width}, {bytes})"),
        }
    }
}
