//! `.gppcol`, `.cff` and `.colfile` as parts: header fields and inflated blocks.

use crate::change::{Dice, PIECE};

/// A file in parts. What a part says about another is made right when it is put together.
struct Parts {
    magic: [u8; 4],
    rows: u64,
    columns: Vec<Column>,
}

#[derive(Clone)]
struct Column {
    name: Vec<u8>,
    kind: u8,
    /// What the header says that the block inflates to, if it lies.
    claim: Option<u64>,
    payload: Vec<u8>,
}

fn number(file: &[u8], at: &mut usize, length: usize) -> Option<u64> {
    let bytes = file.get(*at..at.checked_add(length)?)?;
    *at += length;
    Some(bytes.iter().rev().fold(0, |n, b| n << 8 | u64::from(*b)))
}

fn take_apart(file: &[u8]) -> Option<Parts> {
    let magic: [u8; 4] = file.get(..4)?.try_into().ok()?;
    let mut at;
    let (rows, columns, name_length) = match &magic {
        b"GPP1" => {
            at = 8;
            (number(file, &mut at, 8)?, number(file, &mut at, 4)?, 2)
        }
        b"CFF1" => {
            at = 8;
            (number(file, &mut at, 8)?, number(file, &mut at, 4)?, 4)
        }
        b"COLM" => {
            at = 8;
            let columns = number(file, &mut at, 4)?;
            let rows = number(file, &mut at, 4)?;
            at = usize::try_from(number(file, &mut at, 8)?).ok()?;
            (rows, columns, 4)
        }
        _ => return None,
    };
    let mut parts = Parts { magic, rows, columns: Vec::new() };
    for _ in 0..columns.min(64) {
        let length = usize::try_from(number(file, &mut at, name_length)?).ok()?;
        let name = file.get(at..at.checked_add(length)?)?.to_vec();
        at += length;
        let kind = number(file, &mut at, 1)? as u8;
        let fields = [number(file, &mut at, 8)?, number(file, &mut at, 8)?, number(file, &mut at, 8)?];
        let [offset, packed, _] = if &magic == b"COLM" { [fields[2], fields[0], fields[1]] } else { fields };
        let (start, end) = (usize::try_from(offset).ok()?, usize::try_from(offset.checked_add(packed)?).ok()?);
        let payload = miniz_oxide::inflate::decompress_to_vec_zlib_with_limit(file.get(start..end)?, PIECE).ok()?;
        parts.columns.push(Column { name, kind, claim: None, payload });
    }
    Some(parts)
}

/// The bytes of a file whose blocks are packed at this level.
fn put_together(parts: &Parts, level: u8) -> Vec<u8> {
    let blocks: Vec<Vec<u8>> =
        parts.columns.iter().map(|c| miniz_oxide::deflate::compress_to_vec_zlib(&c.payload, level)).collect();
    let colm = &parts.magic == b"COLM";
    let (fixed, name_length) = match &parts.magic {
        b"GPP1" => (20, 2),
        b"CFF1" => (20, 4),
        _ => (32, 4),
    };
    let entries: usize = parts.columns.iter().map(|c| name_length + c.name.len() + 25).sum();
    let mut out = parts.magic.to_vec();
    let count = (parts.columns.len() as u32).to_le_bytes();
    match &parts.magic {
        b"GPP1" => {
            out.extend([1, 1, 0, 0]);
            out.extend(parts.rows.to_le_bytes());
            out.extend(count);
        }
        b"CFF1" => {
            out.extend([1, 0, 0, 0]);
            out.extend(parts.rows.to_le_bytes());
            out.extend(count);
        }
        _ => {
            out.extend([1, 0, 0, 0]);
            out.extend(count);
            out.extend((parts.rows as u32).to_le_bytes());
            out.extend(32u64.to_le_bytes());
            out.extend(((fixed + entries) as u64).to_le_bytes());
        }
    }
    let mut offset = (fixed + entries) as u64;
    for (column, block) in parts.columns.iter().zip(&blocks) {
        out.extend((column.name.len() as u64).to_le_bytes().iter().take(name_length));
        out.extend(&column.name);
        out.push(column.kind);
        let raw = column.claim.unwrap_or(column.payload.len() as u64);
        let packed = block.len() as u64;
        let fields = if colm { [packed, raw, offset] } else { [offset, packed, raw] };
        fields.iter().for_each(|f| out.extend(f.to_le_bytes()));
        offset += packed;
    }
    blocks.iter().for_each(|b| out.extend(b));
    out
}

/// Changes one thing and makes the rest fit.
pub fn change(file: &[u8], _: usize, dice: &mut Dice) -> Option<Vec<u8>> {
    let mut parts = take_apart(file)?;
    let count = parts.columns.len();
    let which = dice.below(count);
    match dice.below(10) {
        0 => parts.rows = dice.number(parts.rows),
        1 if count > 1 => {
            parts.columns.remove(which);
        }
        2 if count > 0 => {
            let column = parts.columns.get(which)?.clone();
            parts.columns.push(column);
        }
        other => {
            let column = parts.columns.get_mut(which)?;
            match other {
                1..=3 => column.kind = dice.below(6) as u8,
                4 => dice.change(&mut column.name, 300),
                5 => column.claim = Some(dice.number(column.payload.len() as u64)),
                _ => {
                    let most = if dice.once_in(2) { column.payload.len() } else { column.payload.len() + 64 };
                    dice.change(&mut column.payload, most);
                }
            }
        }
    }
    let level = *[0, 1, 6].get(dice.below(3))?;
    Some(put_together(&parts, level))
}

/// A file of one float64 column, whose block is `stream` and inflates to `raw` bytes.
pub fn around_stream(stream: &[u8], raw: u64) -> Vec<u8> {
    let mut out = b"GPP1\x01\x01\0\0".to_vec();
    out.extend((raw / 8).to_le_bytes());
    out.extend(1u32.to_le_bytes());
    out.extend(1u16.to_le_bytes());
    out.push(b'x');
    out.push(2);
    for field in [48, stream.len() as u64, raw] {
        out.extend(field.to_le_bytes());
    }
    out.extend(stream);
    out
}
