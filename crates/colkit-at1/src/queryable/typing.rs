//! The stream `cells` of queryable files: how the types of a table are to be known.
//!
//! ```text
//! byte 1, uv kinds of each column     the text is CSV, a record on each line; what the cells of each column are
//! byte 2                              written from typed data: the types in `meta` hold
//! byte 3, uv kinds of each column     every line is an object of the one template; what the values of each member are
//! then the first 4 bytes of the SHA-256 of that
//! ```
//!
//! It is colkit's own; other readers pass over streams they do not know. A file without it says nothing of the kind: the
//! text has to be looked at. See [`Kinds`] for the numbers.

use crate::cursor::split_uv;
#[cfg(feature = "write")]
use crate::encode::put::put_uv;
use crate::stream_set::Streams;
use colkit_core::cells::Kinds;
use colkit_core::{Error, Result};
use sha2::{Digest, Sha256};

/// The name of the stream.
pub const NAME: &str = "cells";

/// What a file says about the types of its table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Typing {
    /// They follow from the text, whose cells are of these kinds.
    Text(Vec<Kinds>),
    /// They are those of the file.
    Given,
    /// They follow from objects on lines of their own, whose members are of these kinds.
    Objects(Vec<Kinds>),
}

const CHECK: usize = 4;

fn check(content: &[u8]) -> Vec<u8> {
    Sha256::digest(content).iter().copied().take(CHECK).collect()
}

impl Typing {
    /// The content of the stream.
    #[cfg(feature = "write")]
    pub fn to_bytes(&self) -> Vec<u8> {
        let (tag, columns): (u8, &[Kinds]) = match self {
            Typing::Text(columns) => (1, columns),
            Typing::Given => (2, &[]),
            Typing::Objects(columns) => (3, columns),
        };
        let mut bytes = vec![tag];
        columns.iter().for_each(|kinds| put_uv(kinds.bits().into(), &mut bytes));
        let check = check(&bytes);
        bytes.extend(check);
        bytes
    }

    /// What the streams of a file say; `None` if nothing, or nothing that is known here.
    pub fn open(streams: &Streams) -> Result<Option<Self>> {
        Typing::parse(&streams.bytes(NAME))
    }

    fn parse(bytes: &[u8]) -> Result<Option<Self>> {
        if bytes.is_empty() {
            return Ok(None);
        }
        let (content, end) = bytes.split_at_checked(bytes.len().saturating_sub(CHECK)).unwrap_or_default();
        if check(content) != end {
            return Err(Error::corrupt("checksum_mismatch", "the stream is not what was written")
                .part(format!("stream {NAME:?}")));
        }
        Ok(match content {
            [1, columns @ ..] => kinds_in(columns).map(Typing::Text),
            [2] => Some(Typing::Given),
            [3, columns @ ..] => kinds_in(columns).map(Typing::Objects),
            _ => None,
        })
    }
}

fn kinds_in(mut rest: &[u8]) -> Option<Vec<Kinds>> {
    let mut columns = Vec::new();
    while !rest.is_empty() {
        let (bits, after) = split_uv(rest)?;
        columns.push(Kinds::from_bits(u32::try_from(bits).ok()?)?);
        rest = after;
    }
    Some(columns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_is_understood_or_refused() {
        let kinds = vec![Kinds::INT32.and(Kinds::EMPTY), Kinds::TEXT];
        for typing in [Typing::Text(kinds.clone()), Typing::Given, Typing::Objects(kinds)] {
            assert_eq!(Typing::parse(&typing.to_bytes()).unwrap(), Some(typing.clone()));
            for bit in 0..typing.to_bytes().len() * 8 {
                let mut bytes = typing.to_bytes();
                bytes[bit / 8] ^= 1 << (bit % 8);
                assert!(Typing::parse(&bytes).is_err(), "bit {bit} of {typing:?}");
            }
        }
        assert_eq!(Typing::parse(&[]).unwrap(), None);
    }
}
