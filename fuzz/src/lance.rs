//! `.lance` as parts: buffers, the metadata of each column, the schema, the footer.

use crate::change::Dice;
use crate::protobuf;

const FOOTER: usize = 40;

fn u64_at(bytes: &[u8], at: usize) -> Option<usize> {
    let field = bytes.get(at..at.checked_add(8)?)?;
    usize::try_from(u64::from_le_bytes(field.try_into().ok()?)).ok()
}

fn u32_at(bytes: &[u8], at: usize) -> Option<usize> {
    let field = bytes.get(at..at.checked_add(4)?)?;
    usize::try_from(u32::from_le_bytes(field.try_into().ok()?)).ok()
}

/// A file in parts: everything up to the column metadata stays where it is.
struct Parts {
    data: Vec<u8>,
    columns: Vec<Vec<u8>>,
    globals: Vec<(usize, usize)>,
    /// A new schema, to be put behind the data.
    schema: Option<Vec<u8>>,
    version: [u8; 4],
}

fn take_apart(file: &[u8]) -> Option<Parts> {
    let footer = file.get(file.len().checked_sub(FOOTER)?..)?;
    let (first, columns, globals) = (u64_at(footer, 0)?, u64_at(footer, 8)?, u64_at(footer, 16)?);
    let (global_count, column_count) = (u32_at(footer, 24)?, u32_at(footer, 28)?);
    let entry = |table: usize, i: usize| {
        let at = table.checked_add(i.checked_mul(16)?)?;
        Some((u64_at(file, at)?, u64_at(file, at.checked_add(8)?)?))
    };
    let bytes = |(at, length): (usize, usize)| file.get(at..at.checked_add(length)?);
    Some(Parts {
        data: file.get(..first)?.to_vec(),
        columns: (0..column_count.min(64)).map(|i| Some(bytes(entry(columns, i)?)?.to_vec())).collect::<Option<_>>()?,
        globals: (0..global_count.min(64)).map(|i| entry(globals, i)).collect::<Option<_>>()?,
        schema: None,
        version: footer.get(32..36)?.try_into().ok()?,
    })
}

fn put_together(mut parts: Parts) -> Vec<u8> {
    let mut out = parts.data;
    if let (Some(schema), Some(place)) = (parts.schema, parts.globals.first_mut()) {
        *place = (out.len(), schema.len());
        out.extend(schema);
    }
    let first = out.len() as u64;
    let mut table = Vec::new();
    for column in &parts.columns {
        table.extend((out.len() as u64).to_le_bytes());
        table.extend((column.len() as u64).to_le_bytes());
        out.extend(column);
    }
    let columns = out.len() as u64;
    out.extend(table);
    let globals = out.len() as u64;
    for (at, length) in &parts.globals {
        out.extend((*at as u64).to_le_bytes());
        out.extend((*length as u64).to_le_bytes());
    }
    for field in [first, columns, globals] {
        out.extend(field.to_le_bytes());
    }
    out.extend((parts.globals.len() as u32).to_le_bytes());
    out.extend((parts.columns.len() as u32).to_le_bytes());
    out.extend(parts.version);
    out.extend(b"LANC");
    out
}

/// Changes one thing and makes the rest fit.
pub fn change(file: &[u8], _: usize, dice: &mut Dice) -> Option<Vec<u8>> {
    let mut parts = take_apart(file)?;
    let which = dice.below(parts.columns.len());
    match dice.below(12) {
        0 => {
            let (at, length) = *parts.globals.first()?;
            let schema = file.get(at..at.checked_add(length)?)?;
            parts.schema = Some(protobuf::change(schema, dice)?);
        }
        1 => {
            parts.version =
                *[[0, 0, 3, 0], [2, 0, 0, 0], [2, 0, 1, 0], [2, 0, 2, 0], [2, 0, 3, 0]].get(dice.below(5))?
        }
        2 => {
            let other = parts.columns.get(dice.below(parts.columns.len()))?.clone();
            *parts.columns.get_mut(which)? = other;
        }
        3..=6 => {
            let column = parts.columns.get_mut(which)?;
            *column = protobuf::change(column, dice)?;
        }
        // Buffers: a few bytes, anywhere in them.
        _ => {
            let start = dice.below(parts.data.len());
            let length = 1 + dice.below(32);
            let end = parts.data.len().min(start + length);
            dice.change_in_place(parts.data.get_mut(start..end)?);
        }
    }
    Some(put_together(parts))
}
