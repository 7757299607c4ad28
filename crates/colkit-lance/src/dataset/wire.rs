//! Messages as bytes: what a new version does not change is copied as it is, known here or not.

use crate::container::bad_metadata;
use bytes::{Buf, Bytes};
use colkit_core::{Error, Result};
use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, encode_key, encode_varint, skip_field};

/// A field of a message.
#[derive(Clone, Debug)]
pub(super) struct RawField {
    pub number: u32,
    pub kind: WireType,
    /// All of it, with its number.
    pub whole: Bytes,
    /// What is in it, if it is a message, text or bytes.
    pub content: Bytes,
}

/// The fields of a message, as they come.
pub(super) fn split(message: &Bytes) -> Result<Vec<RawField>> {
    let bad = |e| bad_metadata("the manifest", e);
    let mut rest = message.clone();
    let mut fields = Vec::new();
    while rest.has_remaining() {
        let start = message.len() - rest.len();
        let (number, kind) = decode_key(&mut rest).map_err(bad)?;
        let mut content = Bytes::new();
        if kind == WireType::LengthDelimited {
            let length = decode_varint(&mut rest).map_err(bad)?;
            let length = usize::try_from(length).ok().filter(|length| *length <= rest.len());
            let length =
                length.ok_or_else(|| Error::corrupt("bad_metadata", "a field beyond the end of its message"))?;
            content = rest.split_to(length);
        } else {
            skip_field(kind, number, &mut rest, DecodeContext::default()).map_err(bad)?;
        }
        let whole = message.slice(start..message.len() - rest.len());
        fields.push(RawField { number, kind, whole, content });
    }
    Ok(fields)
}

/// Appends a message, text or bytes.
pub(super) fn put(number: u32, content: &[u8], message: &mut Vec<u8>) {
    encode_key(number, WireType::LengthDelimited, message);
    encode_varint(content.len() as u64, message);
    message.extend_from_slice(content);
}

/// Appends a number, also if it is 0.
pub(super) fn put_number(number: u32, value: u64, message: &mut Vec<u8>) {
    encode_key(number, WireType::Varint, message);
    encode_varint(value, message);
}

/// The message with these fields in place of all others of the same numbers.
pub(super) fn with_fields(message: &Bytes, replaced: &[u32], fields: &[u8]) -> Result<Bytes> {
    let mut edited = Vec::with_capacity(message.len() + fields.len());
    for field in split(message)?.iter().filter(|field| !replaced.contains(&field.number)) {
        edited.extend_from_slice(&field.whole);
    }
    edited.extend_from_slice(fields);
    Ok(edited.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_replaced_and_others_stay() {
        let mut message = Vec::new();
        put_number(1, 7, &mut message);
        put(3, b"old", &mut message);
        put_number(900, 1, &mut message);
        let message = Bytes::from(message);
        let mut new = Vec::new();
        put(3, b"new", &mut new);
        let edited = split(&with_fields(&message, &[3], &new).unwrap()).unwrap();
        assert_eq!(edited.iter().map(|f| f.number).collect::<Vec<_>>(), [1, 900, 3]);
        assert_eq!(edited[2].content, b"new".as_slice());
        for cut in 1..message.len() {
            let _ = split(&message.slice(..cut));
        }
        assert!(split(&message.slice(..message.len() - 1)).is_err());
    }
}
