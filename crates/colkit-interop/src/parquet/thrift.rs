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

use super::checksums::is_sealed_page_header;
use colkit_core::{Error, Result};
use std::ops::Range;

/// What a field holds.
#[derive(Clone, Copy)]
pub(super) enum ThriftType {
    Bool,
    Byte,
    Number,
    Double,
    Bytes,
    List(&'static ThriftType),
    Struct(Fields),
}

/// The fields of a structure: numbers, and what they hold.
pub(super) type Fields = &'static [(i16, ThriftType)];

use ThriftType::{Bool, Byte, Bytes, Double, List, Number, Struct};

const NUMBERS: ThriftType = List(&Number);
const NOTHING: ThriftType = Struct(&[]);
const TIME_UNIT: ThriftType = Struct(&[(1, NOTHING), (2, NOTHING), (3, NOTHING)]);
const TIME: ThriftType = Struct(&[(1, Bool), (2, TIME_UNIT)]);
const KEY_VALUES: ThriftType = List(&Struct(&[(1, Bytes), (2, Bytes)]));

const LOGICAL_TYPE: ThriftType = Struct(&[
    (1, NOTHING),
    (2, NOTHING),
    (3, NOTHING),
    (4, NOTHING),
    (5, Struct(&[(1, Number), (2, Number)])),
    (6, NOTHING),
    (7, TIME),
    (8, TIME),
    (10, Struct(&[(1, Byte), (2, Bool)])),
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

const STATISTICS: ThriftType =
    Struct(&[(1, Bytes), (2, Bytes), (3, Number), (4, Number), (5, Bytes), (6, Bytes), (7, Bool), (8, Bool)]);

const BOX: ThriftType =
    Struct(&[(1, Double), (2, Double), (3, Double), (4, Double), (5, Double), (6, Double), (7, Double), (8, Double)]);

const COLUMN_METADATA: ThriftType = Struct(&[
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

const COLUMN_CHUNK: ThriftType = Struct(&[
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

const ROW_GROUP: ThriftType = Struct(&[
    (1, List(&COLUMN_CHUNK)),
    (2, Number),
    (3, Number),
    (4, List(&Struct(&[(1, Number), (2, Bool), (3, Bool)]))),
    (5, Number),
    (6, Number),
    (7, Number),
]);

const CIPHER: ThriftType = Struct(&[(1, Bytes), (2, Bytes), (3, Bool)]);

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

const PAGE_KIND: i16 = 1;
const PAGE_UNPACKED: i16 = 2;
pub(super) const PAGE_SIZE: i16 = 3;
pub(super) const PAGE_CRC: i16 = 4;
const DATA_PAGE: i16 = 5;
const DICTIONARY_PAGE: i16 = 7;
const DATA_PAGE_V2: i16 = 8;

const DATA_PAGE_HEADER: Fields = &[(1, Number), (2, Number), (3, Number), (4, Number), (5, STATISTICS)];
const DICTIONARY_PAGE_HEADER: Fields = &[(1, Number), (2, Number), (3, Bool)];
const DATA_PAGE_HEADER_V2: Fields =
    &[(1, Number), (2, Number), (3, Number), (4, Number), (5, Number), (6, Number), (7, Bool), (8, STATISTICS)];

const PAGE_HEADER: Fields = &[
    (PAGE_KIND, Number),
    (PAGE_UNPACKED, Number),
    (PAGE_SIZE, Number),
    (PAGE_CRC, Number),
    (DATA_PAGE, Struct(DATA_PAGE_HEADER)),
    (6, NOTHING),
    (DICTIONARY_PAGE, Struct(DICTIONARY_PAGE_HEADER)),
    (DATA_PAGE_V2, Struct(DATA_PAGE_HEADER_V2)),
];

pub(super) const COLUMN_INDEX: Fields =
    &[(1, List(&Bool)), (2, List(&Bytes)), (3, List(&Bytes)), (4, Number), (5, NUMBERS), (6, NUMBERS), (7, NUMBERS)];

pub(super) const OFFSET_INDEX: Fields = &[(1, List(&Struct(&[(1, Number), (2, Number), (3, Number)]))), (2, NUMBERS)];

/// Refuses bytes that are not this structure.
pub(super) fn check(bytes: &[u8], fields: Fields) -> Result<()> {
    Walk { bytes }.fields(fields, UNKNOWN_LEVELS).ok_or_else(|| damaged("a structure"))
}

/// Whether a structure has this field.
pub(super) fn has_field(bytes: &[u8], fields: Fields, wanted: i16) -> bool {
    let (mut walk, mut last) = (Walk { bytes }, 0);
    while let Some(Some((number, kind))) = walk.field(&mut last) {
        if number == wanted {
            return true;
        }
        if walk.value(number, kind, fields, UNKNOWN_LEVELS).is_none() {
            break;
        }
    }
    false
}

/// What the header of a page says. Numbers are claims; those below zero are 0.
#[derive(Clone, Debug, Default)]
pub(super) struct PageHead {
    pub kind: PageKind,
    /// Bytes of its body when unpacked.
    pub unpacked: u64,
    /// Values, or in lists items and lists without any.
    pub values: u64,
    pub encoding: u64,
    /// Values of the dictionary, if there is a word about one, whatever else the page is said to be.
    pub entries: u64,
    /// Bytes at the start of its body that are never packed.
    pub levels: u64,
    /// Where its body lies among the bytes of all pages.
    pub body: Range<usize>,
    /// Bytes of its body, which follows.
    size: Option<usize>,
    crc: Option<u32>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum PageKind {
    Data,
    Dictionary,
    /// An index, or a kind that nobody knows: no values come from it.
    #[default]
    Other,
}

/// The headers of pages that lie one after another, from byte `start` of the file on. Refused if one of them is none, if a body does not match its
/// checksum, and if a header that should have a checksum has none or a wrong one.
pub(super) fn check_pages(all: &[u8], start: u64, sealed: bool) -> Result<Vec<PageHead>> {
    let mut pages = Vec::new();
    let mut bytes = all;
    while !bytes.is_empty() {
        let at = start.saturating_add((all.len() - bytes.len()) as u64);
        let mut walk = Walk { bytes };
        let head = walk.page_header();
        let header = bytes.get(..bytes.len() - walk.bytes.len()).unwrap_or_default();
        if sealed && !is_sealed_page_header(header) {
            return Err(Error::corrupt("checksum_mismatch", "the checksum of a page header is wrong").at(at));
        }
        let head = head.ok_or_else(|| damaged("a page header").at(at))?;
        // A size that cannot be is the decoder's to refuse.
        let Some((body, rest)) = head.size.and_then(|size| walk.bytes.split_at_checked(size)) else {
            pages.push(head);
            break;
        };
        let wrong = head.crc.map_or(sealed, |crc| crc != crc32fast::hash(body));
        if wrong {
            return Err(Error::corrupt("checksum_mismatch", "the checksum of a page is wrong").at(at));
        }
        let start = all.len() - walk.bytes.len();
        pages.push(PageHead { body: start..start + body.len(), ..head });
        bytes = rest;
    }
    Ok(pages)
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
    fn page_header(&mut self) -> Option<PageHead> {
        let (mut last, mut head) = (0, PageHead::default());
        let claim = |number: i64| u64::try_from(number).unwrap_or(0);
        while let Some((number, kind)) = self.field(&mut last)? {
            match (number, kind) {
                (PAGE_UNPACKED, 4..=6) => head.unpacked = claim(self.zigzag()?),
                (PAGE_SIZE, 4..=6) => head.size = usize::try_from(self.zigzag()?).ok(),
                (PAGE_CRC, 4..=6) => head.crc = Some(i32::try_from(self.zigzag()?).ok()?.cast_unsigned()),
                (DATA_PAGE, STRUCT) => {
                    let [values, encoding, ..] = self.numbers(DATA_PAGE_HEADER)?.map(claim);
                    head = PageHead { kind: PageKind::Data, values, encoding, ..head };
                }
                (DICTIONARY_PAGE, STRUCT) => {
                    let [values, encoding, ..] = self.numbers(DICTIONARY_PAGE_HEADER)?.map(claim);
                    head = PageHead { kind: PageKind::Dictionary, values, encoding, entries: values, ..head };
                }
                (DATA_PAGE_V2, STRUCT) => {
                    let [values, _, _, encoding, first, second] = self.numbers(DATA_PAGE_HEADER_V2)?.map(claim);
                    let levels = first.saturating_add(second);
                    head = PageHead { kind: PageKind::Data, values, encoding, levels, ..head };
                }
                _ => self.value(number, kind, PAGE_HEADER, UNKNOWN_LEVELS)?,
            }
        }
        Some(head)
    }

    /// The numbers in the first six fields of a structure.
    fn numbers(&mut self, known: Fields) -> Option<[i64; 6]> {
        let (mut last, mut numbers) = (0, [0; 6]);
        while let Some((number, kind)) = self.field(&mut last)? {
            let wanted = usize::try_from(number - 1).ok().and_then(|at| numbers.get_mut(at));
            match (wanted, kind) {
                (Some(wanted), 4..=6) => *wanted = self.zigzag()?,
                _ => self.value(number, kind, known, UNKNOWN_LEVELS)?,
            }
        }
        Some(numbers)
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

    fn known(&mut self, kind: u8, is: ThriftType, levels: u32) -> Option<()> {
        match (is, kind) {
            (Bool, 1 | 2) | (Byte, 3) | (Number, 4..=6) | (Double, 7) | (Bytes, 8) => self.skip(kind, levels),
            (Struct(fields), STRUCT) => self.fields(fields, levels),
            (List(item), 9) => {
                let (count, kind) = self.list()?;
                for _ in 0..count {
                    match (item, kind) {
                        // In lists a boolean is a byte.
                        (Bool, 1 | 2) => drop(self.byte()?),
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

    pub fn skip(&mut self, kind: u8, levels: u32) -> Option<()> {
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
        check_pages(&pages, 0, false).unwrap();
        check_pages(b"", 0, false).unwrap();
        for cut in 1..PAGE.len() - 2 {
            assert!(check_pages(&PAGE[..cut], 0, false).is_err(), "cut to {cut}");
        }
    }

    #[test]
    fn what_takes_no_bytes_is_refused() {
        // Fields that nobody knows: 2^31 - 1 booleans, as a list and as a map; then ten numbers.
        assert!(check_pages(b"\x09\xc8\x01\xf1\xff\xff\xff\xff\x07\x00", 0, false).is_err());
        assert!(check_pages(b"\x0b\xc8\x01\xff\xff\xff\xff\x07\x11\x00", 0, false).is_err());
        check_pages(b"\x09\xc8\x01\xa5\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x00", 0, false).unwrap();
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
