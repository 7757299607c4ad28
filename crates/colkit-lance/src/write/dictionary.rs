//! Page dictionaries: values that repeat are stored once, the page holds 32-bit indices into them.
//!
//! The dictionary is one block: plain values, or for texts
//!
//! | bytes | content |
//! |---|---|
//! | 4 (8) | 32 (64), the bits of an offset |
//! | 4 (8) | where the bytes start |
//! | 4 (8) each | offsets, one more than values, counted from the start of the bytes |
//! | rest | the bytes |

use super::codec::push_offset;
use super::messages_of::{flat, variable};
use super::mini_block::Dictionary;
use super::values::{Fixed, Values, Variable};
use arrow::array::{Array, ArrayRef, AsArray};
use colkit_core::{Error, Result};
use std::collections::HashMap;

/// Values as indices into a dictionary.
pub(super) struct Indexed {
    pub indices: Fixed,
    pub dictionary: Dictionary,
}

/// Fewest values that are worth a dictionary.
const FEWEST: usize = 100;

/// Most values of a dictionary.
const MOST: usize = 100_000;

/// Values that are looked at before all are.
const SAMPLE: usize = 1024;

/// A dictionary of the values at `0..count`: which value each entry stands for, and the index of each value. `None`
/// if too few repeat.
fn collect<'a>(count: usize, value: impl Fn(usize) -> &'a [u8]) -> Option<(Vec<usize>, Vec<u8>)> {
    if count < FEWEST {
        return None;
    }
    let sample = (0..count).step_by((count / SAMPLE).max(1));
    let (looked_at, distinct) = (sample.clone().count(), sample.map(&value).collect::<std::collections::HashSet<_>>());
    if distinct.len() * 10 > looked_at * 9 {
        return None;
    }
    let most = (count / 2).min(MOST);
    let mut known: HashMap<&[u8], u32> = HashMap::new();
    let (mut entries, mut indices) = (Vec::new(), Vec::with_capacity(count * 4));
    for item in 0..count {
        let next = u32::try_from(entries.len()).ok()?;
        let index = *known.entry(value(item)).or_insert(next);
        if index == next {
            if entries.len() >= most {
                return None;
            }
            entries.push(item);
        }
        indices.extend(index.to_le_bytes());
    }
    Some((entries, indices))
}

pub(super) fn of_fixed(fixed: &Fixed) -> Option<Indexed> {
    let (entries, indices) = collect(fixed.len(), |i| fixed.get(i..i + 1))?;
    let bytes = entries.iter().flat_map(|i| fixed.get(*i..*i + 1)).copied().collect();
    let dictionary = Dictionary { message: flat(fixed.width as u64 * 8), bytes, items: entries.len() };
    Some(Indexed { indices: Fixed { width: 4, data: indices }, dictionary })
}

pub(super) fn of_texts(texts: &Variable) -> Option<Indexed> {
    let (entries, indices) = collect(texts.len(), |i| texts.get(i))?;
    let dictionary = block(entries.len(), texts.large, |n| entries.get(n).map_or(&[], |i| texts.get(*i))).ok()?;
    Some(Indexed { indices: Fixed { width: 4, data: indices }, dictionary })
}

/// The indices and values of a dictionary array.
pub(super) fn of_array(array: &ArrayRef) -> Result<Indexed> {
    let parts = array.as_any_dictionary_opt();
    let parts = parts.ok_or_else(|| Error::data("bad_values", "a dictionary column without a dictionary"))?;
    let keys: ArrayRef = arrow::array::make_array(parts.keys().to_data());
    let indices = Fixed::of(&keys)?;
    let dictionary = match Values::of(parts.values())? {
        Values::Fixed(fixed) => {
            Dictionary { message: flat(fixed.width as u64 * 8), items: fixed.len(), bytes: fixed.data }
        }
        Values::Variable(texts) => block(texts.len(), texts.large, |i| texts.get(i))?,
        _ => return Err(Error::data("type_not_supported", format!("a dictionary of {}", parts.values().data_type()))),
    };
    Ok(Indexed { indices, dictionary })
}

fn block<'a>(count: usize, large: bool, value: impl Fn(usize) -> &'a [u8]) -> Result<Dictionary> {
    let width = if large { 8 } else { 4 };
    let mut bytes = Vec::new();
    push_offset(&mut bytes, width * 8, large)?;
    push_offset(&mut bytes, (count + 3) * width, large)?;
    let mut end = 0;
    push_offset(&mut bytes, end, large)?;
    for i in 0..count {
        end += value(i).len();
        push_offset(&mut bytes, end, large)?;
    }
    (0..count).for_each(|i| bytes.extend_from_slice(value(i)));
    Ok(Dictionary { message: variable(large), bytes, items: count })
}
