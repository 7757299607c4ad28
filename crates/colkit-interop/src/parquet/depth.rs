//! How deep the types in a footer are nested, looked at before anybody builds them.
//!
//! Whoever builds them calls itself for every level, and a stack has an end: a footer of a megabyte can ask for a hundred
//! thousand levels. So the one list that matters is walked here, without recursion that the file decides on.
//!
//! ```text
//! FileMetaData    2: list of SchemaElement, depth first    SchemaElement    5: number of children
//! ```

use super::thrift::{FOOTER, SCHEMA_ELEMENT, UNKNOWN_LEVELS, Walk, damaged};
use colkit_core::{Limits, Result};

const SCHEMA: i16 = 2;
const CHILDREN: i16 = 5;
const STRUCT: u8 = 12;

/// What a level of nesting may take in Parquet: a list is a group in a group.
const GROUPS: u64 = 3;

/// Beyond this the decoder's stack is in danger, whatever is allowed.
const MOST: u64 = 1000;

/// Refuses a footer whose types are nested deeper than allowed.
pub(super) fn check(footer: &[u8], limits: &Limits) -> Result<()> {
    let allowed = (u64::from(limits.nesting) * GROUPS).min(MOST);
    let depth = deepest(Walk { bytes: footer }, allowed).ok_or_else(|| damaged("the footer"))?;
    Limits::check("the nesting of types", depth, allowed)
}

/// The depth of the schema, or anything beyond what is allowed.
fn deepest(mut walk: Walk<'_>, allowed: u64) -> Option<u64> {
    let (mut last, mut deepest) = (0, 0);
    while let Some((number, kind)) = walk.field(&mut last)? {
        match (number, kind) {
            (SCHEMA, 9) => {
                deepest = deepest.max(schema(&mut walk, allowed)?);
                if deepest > allowed {
                    break;
                }
            }
            _ => walk.value(number, kind, FOOTER, UNKNOWN_LEVELS)?,
        }
    }
    Some(deepest)
}

fn schema(walk: &mut Walk<'_>, allowed: u64) -> Option<u64> {
    let (count, kind) = walk.list()?;
    if kind != STRUCT && count > 0 {
        return None;
    }
    // For every group that is not complete: how many children are to come.
    let mut open: Vec<u64> = Vec::new();
    let mut deepest = 0;
    for _ in 0..count {
        let children = element(walk)?;
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
            if deepest > allowed {
                break;
            }
        }
    }
    Some(deepest)
}

/// The number of children of a schema element.
fn element(walk: &mut Walk<'_>) -> Option<u64> {
    let (mut last, mut children) = (0, 0);
    while let Some((number, kind)) = walk.field(&mut last)? {
        match (number, kind) {
            (CHILDREN, 4..=6) => children = u64::try_from(walk.zigzag()?).unwrap_or(0),
            _ => walk.value(number, kind, SCHEMA_ELEMENT, UNKNOWN_LEVELS)?,
        }
    }
    Some(children)
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
