//! Protobuf messages without their schema: what looks like a message is taken for one, a number in it is changed, and all
//! lengths around it are made right.

use crate::change::Dice;
use crate::varint;

enum Value {
    Number(u64),
    Fixed(Vec<u8>),
    Bytes(Vec<u8>),
    Message(Vec<(u64, Value)>),
}

fn parse(mut bytes: &[u8], depth: u32) -> Option<Vec<(u64, Value)>> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let key = varint::take(&mut bytes)?;
        if key >> 3 == 0 {
            return None;
        }
        let value = match key & 7 {
            0 => Value::Number(varint::take(&mut bytes)?),
            1 => Value::Fixed(varint::split(&mut bytes, 8)?.to_vec()),
            5 => Value::Fixed(varint::split(&mut bytes, 4)?.to_vec()),
            2 => {
                let length = varint::take(&mut bytes)?;
                let content = varint::split(&mut bytes, length)?;
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
        varint::put(out, *key);
        match value {
            Value::Number(n) => varint::put(out, *n),
            Value::Fixed(bytes) => out.extend(bytes),
            Value::Bytes(bytes) => {
                varint::put(out, bytes.len() as u64);
                out.extend(bytes);
            }
            Value::Message(message) => {
                let mut inner = Vec::new();
                print(message, &mut inner);
                varint::put(out, inner.len() as u64);
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
