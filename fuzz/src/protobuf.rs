//! Protobuf messages without their schema: what looks like a message is taken for one, a number in it is changed, and all
//! lengths around it are made right.

use crate::change::Dice;

enum Value {
    Number(u64),
    Fixed(Vec<u8>),
    Bytes(Vec<u8>),
    Message(Vec<(u64, Value)>),
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(first & 127) << shift;
        if first & 128 == 0 {
            return Some(value);
        }
    }
    None
}

fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value > 127 {
        out.push(value as u8 | 128);
        value >>= 7;
    }
    out.push(value as u8);
}

fn split<'a>(bytes: &mut &'a [u8], length: u64) -> Option<&'a [u8]> {
    let (front, rest) = bytes.split_at_checked(usize::try_from(length).ok()?)?;
    *bytes = rest;
    Some(front)
}

fn parse(mut bytes: &[u8], depth: u32) -> Option<Vec<(u64, Value)>> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes)?;
        if key >> 3 == 0 {
            return None;
        }
        let value = match key & 7 {
            0 => Value::Number(varint(&mut bytes)?),
            1 => Value::Fixed(split(&mut bytes, 8)?.to_vec()),
            5 => Value::Fixed(split(&mut bytes, 4)?.to_vec()),
            2 => {
                let length = varint(&mut bytes)?;
                let content = split(&mut bytes, length)?;
                match (depth > 0 && !content.is_empty()).then(|| parse(content, depth - 1)).flatten() {
                    Some(message) => Value::Message(message),
                    None => Value::Bytes(content.to_vec()),
                }
            }
            _ => return None,
        };
        fields.push((key, value));
    }
    Some(fields)
}

fn print(fields: &[(u64, Value)], out: &mut Vec<u8>) {
    for (key, value) in fields {
        put_varint(out, *key);
        match value {
            Value::Number(n) => put_varint(out, *n),
            Value::Fixed(bytes) => out.extend(bytes),
            Value::Bytes(bytes) => {
                put_varint(out, bytes.len() as u64);
                out.extend(bytes);
            }
            Value::Message(message) => {
                let mut inner = Vec::new();
                print(message, &mut inner);
                put_varint(out, inner.len() as u64);
                out.extend(inner);
            }
        }
    }
}

fn change_one(fields: &mut Vec<(u64, Value)>, dice: &mut Dice) {
    let which = dice.below(fields.len());
    if dice.once_in(12) && !fields.is_empty() {
        fields.remove(which);
        return;
    }
    let Some((key, value)) = fields.get_mut(which) else { return };
    if dice.once_in(16) {
        *key = (1 + dice.below(12) as u64) << 3 | *key & 7;
        return;
    }
    match value {
        Value::Number(n) => *n = dice.number(*n),
        Value::Fixed(bytes) => dice.change_in_place(bytes),
        Value::Bytes(bytes) => {
            let most = bytes.len() + 16;
            dice.change(bytes, most);
        }
        Value::Message(message) => change_one(message, dice),
    }
}

/// Changes one thing in a message.
pub fn change(bytes: &[u8], dice: &mut Dice) -> Option<Vec<u8>> {
    let mut fields = parse(bytes, 12)?;
    for _ in 0..1 + dice.below(3) {
        change_one(&mut fields, dice);
    }
    let mut out = Vec::new();
    print(&fields, &mut out);
    Some(out)
}
