//! Parquet's structures in Thrift's compact encoding, walked before the parquet crate reads them.
//!
//! That crate takes a field that it knows for what it should be, whatever type the file gives, and passes over fields that
//! it does not know as often as a list claims to have items, even if these take no bytes. So a few bytes could keep it
//! busy for hours, or hide from a check what it reads. Here every known field must have its type and every item takes a
//! byte at least, so both walk the same bytes, in a time that their number bounds.
//!
//! ```text
//! struct   fields, then 0; a field is a byte (number minus the last one's << 4 | type; 0: the number follows) and a value
//! list     a byte (count << 4 | type; 15: the count follows), values      map  count, a byte (key << 4 | value type), pairs
//! types    1, 2 true, false  3 byte  4, 5, 6 varint  7 eight bytes  8 length, bytes  9, 10 list  11 map  12 struct  13 uuid
//! ```

use colkit_core::{Error, Result};

/// What a field holds.
#[derive(Clone, Copy)]
pub(super) enum Is {
    Truth,
    Byte,
    Number,
    Double,
    Bytes,
    List(&'static Is),
    Struct(Fields),
}

/// The fields of a structure: numbers, and what they hold.
pub(super) type Fields = &'static [(i16, Is)];

use Is::{Byte, Bytes, Double, List, Number, Struct, Truth};

const NUMBERS: Is = List(&Number);
const NOTHING: Is = Struct(&[]);
const TIME_UNIT: Is = Struct(&[(1, NOTHING), (2, NOTHING), (3, NOTHING)]);
const TIME: Is = Struct(&[(1, Truth), (2, TIME_UNIT)]);
const KEY_VALUES: Is = List(&Struct(&[(1, Bytes), (2, Bytes)]));

const LOGICAL_TYPE: Is = Struct(&[
    (1, NOTHING),
    (2, NOTHING),
    (3, NOTHING),
    (4, NOTHING),
    (5, Struct(&[(1, Number), (2, Number)])),
    (6, NOTHING),
    (7, TIME),
    (8, TIME),
    (10, Struct(&[(1, Byte), (2, Truth)])),
    (11, NOTHING),
    (12, NOTHING),
    (13, NOTHING),
    (14, NOTHING),
    (15, NOTHING),
    (16, Struct(&[(1, Byte)])),
    (17, Struct(&[(1, Bytes)])),
    (18, Struct(&[(1, Bytes), (2, Number)])),
]);

pub(super) const SCHEMA_ELEMENT: Fields = &[
    (1, Number),
    (2, Number),
    (3, Number),
    (4, Bytes),
    (5, Number),
    (6, Number),
    (7, Number),
    (8, Number),
    (9, Number),
    (10, LOGICAL_TYPE),
];

const STATISTICS: Is =
    Struct(&[(1, Bytes), (2, Bytes), (3, Number), (4, Number), (5, Bytes), (6, Bytes), (7, Truth), (8, Truth)]);

const BOX: Is =
    Struct(&[(1, Double), (2, Double), (3, Double), (4, Double), (5, Double), (6, Double), (7, Double), (8, Double)]);

const COLUMN_METADATA: Is = Struct(&[
    (1, Number),
    (2, NUMBERS),
    (3, List(&Bytes)),
    (4, Number),
    (5, Number),
    (6, Number),
    (7, Number),
    (8, KEY_VALUES),
    (9, Number),
    (10, Number),
    (11, Number),
    (12, STATISTICS),
    (13, List(&Struct(&[(1, Number), (2, Number), (3, Number)]))),
    (14, Number),
    (15, Number),
    (16, Struct(&[(1, Number), (2, NUMBERS), (3, NUMBERS)])),
    (17, Struct(&[(1, BOX), (2, NUMBERS)])),
]);

const COLUMN_CHUNK: Is = Struct(&[
    (1, Bytes),
    (2, Number),
    (3, COLUMN_METADATA),
    (4, Number),
    (5, Number),
    (6, Number),
    (7, Number),
    (8, Struct(&[(1, NOTHING), (2, Struct(&[(1, List(&Bytes)), (2, Bytes)]))])),
    (9, Bytes),
]);

const ROW_GROUP: Is = Struct(&[
    (1, List(&COLUMN_CHUNK)),
    (2, Number),
    (3, Number),
    (4, List(&Struct(&[(1, Number), (2, Truth), (3, Truth)]))),
    (5, Number),
    (6, Number),
    (7, Number),
]);

const CIPHER: Is = Struct(&[(1, Bytes), (2, Bytes), (3, Truth)]);

/// `FileMetaData`.
pub(super) const FOOTER: Fields = &[
    (1, Number),
    (2, List(&Struct(SCHEMA_ELEMENT))),
    (3, Number),
    (4, List(&ROW_GROUP)),
    (5, KEY_VALUES),
    (6, Bytes),
    (7, List(&Struct(&[(1, NOTHING)]))),
    (8, Struct(&[(1, CIPHER), (2, CIPHER)])),
    (9, Bytes),
];

const PAGE_SIZE: i16 = 3;

const PAGE_HEADER: Fields = &[
    (1, Number),
    (2, Number),
    (PAGE_SIZE, Number),
    (4, Number),
    (5, Struct(&[(1, Number), (2, Number), (3, Number), (4, Number), (5, STATISTICS)])),
    (6, NOTHING),
    (7, Struct(&[(1, Number), (2, Number), (3, Truth)])),
    (
        8,
        Struct(&[
            (1, Number),
            (2, Number),
            (3, Number),
            (4, Number),
            (5, Number),
            (6, Number),
            (7, Truth),
            (8, STATISTICS),
        ]),
    ),
];

pub(super) const COLUMN_INDEX: Fields =
    &[(1, List(&Truth)), (2, List(&Bytes)), (3, List(&Bytes)), (4, Number), (5, NUMBERS), (6, NUMBERS), (7, NUMBERS)];

pub(super) const OFFSET_INDEX: Fields = &[(1, List(&Struct(&[(1, Number), (2, Number), (3, Number)]))), (2, NUMBERS)];

/// Refuses bytes that are not this structure.
pub(super) fn check(bytes: &[u8], fields: Fields) -> Result<()> {
    Walk { bytes }.fields(fields, UNKNOWN_LEVELS).ok_or_else(|| damaged("a structure"))
}

/// Refuses pages, one after another, if one of their headers is none.
pub(super) fn check_pages(mut bytes: &[u8]) -> Result<()> {
    while !bytes.is_empty() {
        let mut walk = Walk { bytes };
        let size = walk.page_header().ok_or_else(|| damaged("a page header"))?;
        // A size that cannot be is the decoder's to refuse.
        let Some(rest) = usize::try_from(size).ok().and_then(|size| walk.bytes.get(size..)) else { return Ok(()) };
        bytes = rest;
    }
    Ok(())
}

pub(super) fn damaged(what: &str) -> Error {
    Error::corrupt("decoder_failed", format!("{what} is not what Parquet has there, in Thrift's compact encoding"))
}

/// What unknown fields may be nested; more than anything has.
pub(super) const UNKNOWN_LEVELS: u32 = 16;

const STRUCT: u8 = 12;

pub(super) struct Walk<'a> {
    pub bytes: &'a [u8],
}

impl Walk<'_> {
    /// The size of a page.
    fn page_header(&mut self) -> Option<i64> {
        let (mut last, mut size) = (0, -1);
        while let Some((number, kind)) = self.field(&mut last)? {
            match (number, kind) {
                (PAGE_SIZE, 4..=6) => size = self.zigzag()?,
                _ => self.value(number, kind, PAGE_HEADER, UNKNOWN_LEVELS)?,
            }
        }
        Some(size)
    }

    /// The next field of a struct, its number and type; `None` at its end.
    pub fn field(&mut self, last: &mut i16) -> Option<Option<(i16, u8)>> {
        let head = self.byte()?;
        if head == 0 {
            return Some(None);
        }
        *last = match head >> 4 {
            0 => i16::try_from(self.zigzag()?).ok()?,
            delta => last.checked_add(delta.into())?,
        };
        Some(Some((*last, head & 15)))
    }

    fn fields(&mut self, known: Fields, levels: u32) -> Option<()> {
        let mut last = 0;
        while let Some((number, kind)) = self.field(&mut last)? {
            self.value(number, kind, known, levels)?;
        }
        Some(())
    }

    /// Passes over the value of a field.
    pub fn value(&mut self, number: i16, kind: u8, known: Fields, levels: u32) -> Option<()> {
        match known.iter().find(|(n, _)| *n == number) {
            Some((_, is)) => self.known(kind, *is, levels),
            None => self.skip(kind, levels),
        }
    }

    fn known(&mut self, kind: u8, is: Is, levels: u32) -> Option<()> {
        match (is, kind) {
            (Truth, 1 | 2) | (Byte, 3) | (Number, 4..=6) | (Double, 7) | (Bytes, 8) => self.skip(kind, levels),
            (Struct(fields), STRUCT) => self.fields(fields, levels),
            (List(item), 9) => {
                let (count, kind) = self.list()?;
                for _ in 0..count {
                    match (item, kind) {
                        // In lists a boolean is a byte.
                        (Truth, 1 | 2) => drop(self.byte()?),
                        _ => self.known(kind, *item, levels)?,
                    }
                }
                Some(())
            }
            _ => None,
        }
    }

    pub fn list(&mut self) -> Option<(u64, u8)> {
        let head = self.byte()?;
        let count = match head >> 4 {
            15 => self.varint()?,
            count => count.into(),
        };
        Some((count, head & 15))
    }

    fn skip(&mut self, kind: u8, levels: u32) -> Option<()> {
        let below = levels.checked_sub(1)?;
        match kind {
            1 | 2 => {}
            3 => drop(self.byte()?),
            4..=6 => drop(self.varint()?),
            7 => self.take(8)?,
            8 => {
                let length = self.varint()?;
                self.take(length)?;
            }
            9 | 10 => {
                let (count, kind) = self.list()?;
                for _ in 0..count {
                    self.skip_item(kind, below)?;
                }
            }
            11 => {
                let count = self.varint()?;
                if count > 0 {
                    let kinds = self.byte()?;
                    for _ in 0..count {
                        self.skip_item(kinds >> 4, below)?;
                        self.skip_item(kinds & 15, below)?;
                    }
                }
            }
            STRUCT => {
                let mut last = 0;
                while let Some((_, kind)) = self.field(&mut last)? {
                    self.skip(kind, below)?;
                }
            }
            13 => self.take(16)?,
            _ => return None,
        }
        Some(())
    }

    /// Booleans in lists take a byte for some and none for others: where nobody knows what they are, there must be none.
    fn skip_item(&mut self, kind: u8, levels: u32) -> Option<()> {
        match kind {
            1 | 2 => None,
            kind => self.skip(kind, levels),
        }
    }

    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(*first)
    }

    fn take(&mut self, count: u64) -> Option<()> {
        self.bytes = self.bytes.get(usize::try_from(count).ok()?..)?;
        Some(())
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 127) << shift;
            if byte < 128 {
                return Some(value);
            }
        }
        None
    }

    pub fn zigzag(&mut self) -> Option<i64> {
        let value = self.varint()?;
        Some((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page of two bytes: a data page of 5 values, with statistics.
    const PAGE: &[u8] =
        b"\x15\x00\x15\x04\x15\x04\x2c\x15\x0a\x15\x00\x15\x06\x15\x06\x1c\x18\x01a\x18\x01b\x00\x00\x00xy";

    #[test]
    fn pages_follow_each_other() {
        let pages = [PAGE, PAGE].concat();
        check_pages(&pages).unwrap();
        check_pages(b"").unwrap();
        for cut in 1..PAGE.len() - 2 {
            assert!(check_pages(&PAGE[..cut]).is_err(), "cut to {cut}");
        }
    }

    #[test]
    fn what_takes_no_bytes_is_refused() {
        // Fields that nobody knows: 2^31 - 1 booleans, as a list and as a map; then ten numbers.
        assert!(check_pages(b"\x09\xc8\x01\xf1\xff\xff\xff\xff\x07\x00").is_err());
        assert!(check_pages(b"\x0b\xc8\x01\xff\xff\xff\xff\x07\x11\x00").is_err());
        check_pages(b"\x09\xc8\x01\xa5\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x00").unwrap();
    }

    #[test]
    fn known_fields_have_their_types() {
        check(b"\x15\x02\x00", FOOTER).unwrap();
        // The version, as a text that hides what a reader of numbers would find.
        assert!(check(b"\x18\x02\x19\x0c\x00", FOOTER).is_err());
        // A list of numbers where structures belong.
        assert!(check(b"\x49\x15\x02\x00", FOOTER).is_err());
        check(b"\x49\x05\x00", FOOTER).unwrap();
        // The first field again, by a number that wraps around to it.
        assert!(check(b"\x08\x82\x80\x08\x00\x00", FOOTER).is_err());
        check(b"\x19\x21\x01\x02\x00", COLUMN_INDEX).unwrap();
    }
}
