//! How deep the types in a footer are nested, looked at before anybody builds them.
//!
//! Whoever builds them calls itself for every level, and a stack has an end: a footer of a megabyte can ask for a hundred
//! thousand levels. So the one list that matters is walked here, without recursion that the file decides on.
//!
//! ```text
//! FileMetaData    2: list of SchemaElement, depth first    SchemaElement    5: number of children
//!
//! struct   fields, then 0; a field is a byte (number minus the last one's << 4 | type; 0: the number follows) and a value
//! list     a byte (count << 4 | type; 15: the count follows), values      map  count, a byte (key << 4 | value type), pairs
//! types    1, 2 true, false  3 byte  4, 5, 6 varint  7 eight bytes  8 length, bytes  9, 10 list  11 map  12 struct  13 uuid
//! ```

use colkit_core::{Error, Limits, Result};

const SCHEMA: i64 = 2;
const CHILDREN: i64 = 5;
const STRUCT: u8 = 12;

/// More than any footer has: key-value pairs, statistics and the like.
const SKIPPED_LEVELS: u32 = 16;

/// What a level of nesting may take in Parquet: a list is a group in a group.
const GROUPS: u64 = 3;

/// Beyond this the decoder's stack is in danger, whatever is allowed.
const MOST: u64 = 1000;

/// Refuses a footer whose types are nested deeper than allowed.
pub(super) fn check(footer: &[u8], limits: &Limits) -> Result<()> {
    let allowed = (u64::from(limits.nesting) * GROUPS).min(MOST);
    let corrupt = || Error::corrupt("decoder_failed", "the footer is not in Thrift's compact encoding");
    match (Walk { bytes: footer, allowed }).footer() {
        Some(depth) => Limits::check("the nesting of types", depth, allowed),
        None => Err(corrupt()),
    }
}

struct Walk<'a> {
    bytes: &'a [u8],
    allowed: u64,
}

/// A field's number and type.
type Field = (i64, u8);

impl Walk<'_> {
    /// The depth of the schema, or anything beyond what is allowed.
    fn footer(&mut self) -> Option<u64> {
        let (mut last, mut deepest) = (0, 0);
        while let Some(field) = self.field(&mut last)? {
            match field {
                (SCHEMA, 9) => deepest = deepest.max(self.schema()?),
                (_, kind) => self.skip(kind, SKIPPED_LEVELS)?,
            }
        }
        Some(deepest)
    }

    fn schema(&mut self) -> Option<u64> {
        let (count, kind) = self.list()?;
        if kind != STRUCT {
            return None;
        }
        // For every group that is not complete: how many children are to come.
        let mut open: Vec<u64> = Vec::new();
        let mut deepest = 0;
        for _ in 0..count {
            let children = self.element()?;
            while let Some(left) = open.last_mut() {
                match left.checked_sub(1) {
                    Some(fewer) => {
                        *left = fewer;
                        break;
                    }
                    None => drop(open.pop()),
                }
            }
            if children > 0 {
                open.push(children);
                deepest = deepest.max(open.len() as u64);
                if deepest > self.allowed {
                    break;
                }
            }
        }
        Some(deepest)
    }

    /// The number of children of a schema element.
    fn element(&mut self) -> Option<u64> {
        let (mut last, mut children) = (0, 0);
        while let Some(field) = self.field(&mut last)? {
            match field {
                (CHILDREN, 4..=6) => children = u64::try_from(zigzag(self.varint()?)).unwrap_or(0),
                (_, kind) => self.skip(kind, SKIPPED_LEVELS)?,
            }
        }
        Some(children)
    }

    /// The next field of a struct, `None` at its end.
    fn field(&mut self, last: &mut i64) -> Option<Option<Field>> {
        let head = self.byte()?;
        if head == 0 {
            return Some(None);
        }
        *last = match head >> 4 {
            0 => zigzag(self.varint()?),
            delta => last.checked_add(delta.into())?,
        };
        Some(Some((*last, head & 15)))
    }

    fn list(&mut self) -> Option<(u64, u8)> {
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
            7 => self.bytes(8)?,
            8 => {
                let length = self.varint()?;
                self.bytes(length)?;
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
            13 => self.bytes(16)?,
            _ => return None,
        }
        Some(())
    }

    /// In lists and maps a boolean is a byte.
    fn skip_item(&mut self, kind: u8, levels: u32) -> Option<()> {
        match kind {
            1 | 2 => self.bytes(1),
            kind => self.skip(kind, levels),
        }
    }

    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(*first)
    }

    fn bytes(&mut self, count: u64) -> Option<()> {
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
}

fn zigzag(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ -(value & 1).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A footer whose schema is one chain of groups.
    fn chain(groups: u8) -> Vec<u8> {
        let mut footer = vec![0x15, 2, 0x19, 0xFC, groups + 2];
        footer.extend(*b"\x48\x01r\x15\x02\x00");
        (0..groups).for_each(|_| footer.extend(*b"\x35\x02\x18\x01g\x15\x02\x00"));
        footer.extend(*b"\x15\x02\x25\x02\x18\x01x\x00");
        footer.extend(*b"\x16\x00\x19\x0c\x00");
        footer
    }

    #[test]
    fn chains_are_measured() {
        let nesting = |nesting| Limits { nesting, ..Limits::default() };
        assert!(check(&chain(20), &nesting(100)).is_ok());
        assert!(check(&chain(20), &nesting(7)).is_ok(), "21 groups at 3 for a level");
        assert_eq!(check(&chain(21), &nesting(7)).unwrap_err().code(), "limit_exceeded");
        for cut in 0..chain(3).len() {
            assert!(check(&chain(3)[..cut], &nesting(100)).is_err(), "cut to {cut}");
        }
    }
}
