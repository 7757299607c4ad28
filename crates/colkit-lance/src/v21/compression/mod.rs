//! The compressions of values that Lance has numbered: a file each, and a line each in the table.
//!
//! A file holds the message of its compression, how that is understood, and how values are decoded in each place where the
//! compression is used.

pub(crate) mod bit_packed_block;
pub(crate) mod bit_packing;
pub(crate) mod byte_stream_split;
mod constant;
pub(crate) mod fixed_size_list;
pub(crate) mod flat;
pub(crate) mod fsst;
pub(crate) mod general;
pub(crate) mod packed_struct;
pub(crate) mod run_length;
pub(crate) mod variable;
pub(crate) mod variable_packed_struct;

use super::messages::BufferCompression;
use crate::container::bad_metadata;
use crate::encoding::{AsBlock, Compression, CompressiveEncoding, Encodings, InChunks, PerValue, ValueEncoding};
use bytes::Bytes;
use colkit_core::{Error, Result};
use prost::Message;
use std::any::Any;
use std::sync::Arc;

/// All of them.
pub(crate) static BUILT_IN: [&BuiltIn; 12] = [
    &flat::ENCODING,
    &variable::ENCODING,
    &constant::ENCODING,
    &bit_packed_block::ENCODING,
    &bit_packing::ENCODING,
    &fsst::ENCODING,
    &run_length::ENCODING,
    &byte_stream_split::ENCODING,
    &general::ENCODING,
    &fixed_size_list::ENCODING,
    &packed_struct::ENCODING,
    &variable_packed_struct::ENCODING,
];

/// A compression that Lance has numbered.
#[derive(Clone, Copy)]
pub(crate) struct BuiltIn {
    /// Of its field in `CompressiveEncoding`.
    pub number: u32,
    pub name: &'static str,
    pub parse: fn(Bytes, &Encodings<'_>) -> Result<Arc<dyn Compression>>,
}

impl BuiltIn {
    /// What describes it.
    pub fn describe(&self, message: &impl Message) -> CompressiveEncoding {
        CompressiveEncoding::numbered(self.number, message)
    }

    /// Its message.
    fn message<M: Message + Default>(&self, bytes: Bytes) -> Result<M> {
        M::decode(bytes).map_err(|e| bad_metadata(self.name, e))
    }
}

impl ValueEncoding for BuiltIn {
    fn name(&self) -> &str {
        self.name
    }

    fn number(&self) -> Option<u32> {
        Some(self.number)
    }

    fn parse(&self, message: Bytes, encodings: &Encodings<'_>) -> Result<Arc<dyn Compression>> {
        (self.parse)(message, encodings)
    }
}

/// A compression as one that is known, to those that are built around it.
fn known<T: Any>(compression: &dyn Compression) -> Option<&T> {
    (compression as &dyn Any).downcast_ref()
}

fn bad(what: impl Into<String>) -> Error {
    Error::corrupt("bad_encoding", what)
}

fn unsupported(what: impl Into<String>) -> Error {
    Error::unsupported("unknown_encoding", what)
}

/// Buffers that are compressed inside their encoding are foreseen but never written.
fn plain_buffer(compression: Option<BufferCompression>) -> Result<()> {
    match compression {
        Some(BufferCompression { scheme }) if scheme != 0 => {
            Err(unsupported("a compressed buffer inside another encoding"))
        }
        _ => Ok(()),
    }
}

/// Bits of values that must lie as they are.
fn flat_bits(message: Option<&CompressiveEncoding>, encodings: &Encodings<'_>, what: &str) -> Result<u64> {
    let inner = encodings.child(message, what)?;
    let flat = known::<flat::Flat>(inner.as_ref());
    Ok(flat.ok_or_else(|| unsupported(format!("{what} of {inner}")))?.bits)
}

fn word_bits(bits: u64, what: &str) -> Result<u64> {
    if matches!(bits, 8 | 16 | 32 | 64) {
        Ok(bits)
    } else {
        Err(Error::corrupt("bad_bit_width", format!("{what} of values of {bits} bits")))
    }
}

fn wrong_count(expected: usize, found: usize) -> Error {
    Error::corrupt("bad_block", format!("a block of {expected} values holds {found}"))
}

/// How a compression is decoded in a chunk.
pub(super) fn in_chunks(compression: &dyn Compression) -> Result<&dyn InChunks> {
    compression.in_chunks().ok_or_else(|| unsupported(format!("{compression} in a chunk")))
}

/// How a compression is decoded as a block.
pub(super) fn as_block(compression: &dyn Compression) -> Result<&dyn AsBlock> {
    compression.as_block().ok_or_else(|| unsupported(format!("a block of {compression}")))
}

/// How the values of a compression are decoded one by one.
pub(super) fn per_value(compression: &dyn Compression) -> Result<&dyn PerValue> {
    compression.per_value().ok_or_else(|| unsupported(format!("{compression} in a full-zip page")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::ValueEncodings;
    use colkit_core::Limits;

    fn encodings() -> ValueEncodings {
        let mut known = ValueEncodings::default();
        BUILT_IN.iter().for_each(|e| known.add(Arc::new(**e)));
        known
    }

    fn levels(message: &CompressiveEncoding, bytes: &[u8], count: usize) -> Result<Vec<u16>> {
        let mut out = Vec::new();
        let encoding = encodings().parse(message, &Limits::default())?;
        as_block(encoding.as_ref())?.levels(bytes, count, &Limits::default(), &mut out)?;
        Ok(out)
    }

    #[test]
    fn levels_in_all_forms() {
        assert_eq!(levels(&flat::describe(16), &[1, 0, 2, 0], 2).unwrap(), [1, 2]);
        let runs = [4, 0, 0, 0, 0, 0, 0, 0, 1, 0, 3, 0, 2, 3];
        assert_eq!(levels(&run_length::describe(16), &runs, 5).unwrap(), [1, 1, 3, 3, 3]);
        assert!(levels(&run_length::describe(16), &runs, 6).is_err());
        assert!(levels(&run_length::describe(16), &runs, 4).is_err());
        // Three values that lie as they are, and a packed group of ones.
        let packed = bit_packed_block::describe(16, 1);
        assert_eq!(levels(&packed, &[1, 0, 0, 0, 1, 0], 3).unwrap(), [1, 0, 1]);
        assert_eq!(levels(&packed, &[0xFF; 128], 70).unwrap(), [1; 70]);
        assert!(levels(&packed, &[0xFF; 127], 70).is_err());
        let mut inline = vec![1, 0];
        inline.extend([0xFF; 128]);
        assert_eq!(levels(&bit_packing::describe(16), &inline, 1024).unwrap(), [1; 1024]);
        assert!(levels(&bit_packing::describe(16), &inline, 1025).is_err());
        assert!(levels(&flat::describe(32), &[0; 8], 2).is_err(), "levels have 16 bits");
    }

    #[test]
    fn names_and_numbers_are_all_different() {
        let known = encodings();
        assert_eq!(known.names().len(), BUILT_IN.len());
        let numbers: std::collections::HashSet<u32> = BUILT_IN.iter().map(|e| e.number).collect();
        assert_eq!(numbers.len(), BUILT_IN.len());
        for (message, name) in [
            (CompressiveEncoding { number: 77, message: Bytes::new() }, "field 77"),
            (CompressiveEncoding::named("org.example.Clever", Bytes::new()), "org.example.Clever"),
        ] {
            let error = known.parse(&message, &Limits::default()).err().unwrap();
            assert_eq!(error.code(), "unknown_encoding");
            assert!(error.to_string().contains(name), "{error}");
        }
        assert_eq!(
            known.parse(&CompressiveEncoding::default(), &Limits::default()).err().unwrap().code(),
            "bad_encoding"
        );
    }

    #[test]
    fn encodings_inside_each_other_have_an_end() {
        let mut message = flat::describe(32);
        for _ in 0..20 {
            message = fixed_size_list::describe(1, false, message);
        }
        assert!(encodings().parse(&message, &Limits::default()).is_ok());
        for _ in 0..20 {
            message = fixed_size_list::describe(1, false, message);
        }
        assert_eq!(encodings().parse(&message, &Limits::default()).err().unwrap().code(), "bad_encoding");
    }
}
