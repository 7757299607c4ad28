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
use ahash::RandomState;
use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, new_null_array};
use arrow::compute::filter;
use colkit_core::{Error, Result};
use std::collections::{HashMap, HashSet};
use std::hash::Hash;

/// Values as indices into a dictionary.
pub(super) struct Indexed {
    pub indices: Fixed,
    pub dictionary: Dictionary,
}

/// The values of a dictionary array that occur in it, each once.
pub(crate) fn occurring(array: &ArrayRef) -> Result<ArrayRef> {
    let Some(array) = array.as_any_dictionary_opt() else { return Ok(array.clone()) };
    let mut used = vec![false; array.values().len()];
    if !used.is_empty() {
        let nulls = array.nulls();
        for (row, key) in array.normalized_keys().into_iter().enumerate() {
            if nulls.is_none_or(|n| n.is_valid(row))
                && let Some(used) = used.get_mut(key)
            {
                *used = true;
            }
        }
    }
    Ok(filter(array.values(), &BooleanArray::from(used))?)
}

/// Fewest values that are worth a dictionary.
const FEWEST: usize = 100;

/// Most values of a dictionary.
const MOST: usize = 100_000;

/// Values that are looked at before all are.
const SAMPLE: usize = 2048;

/// Whether a dictionary may need fewer than `otherwise` bytes, by a look at some values.
fn promises<T: Eq + Hash>(count: usize, value: impl Fn(usize) -> T, otherwise: usize) -> bool {
    if count < FEWEST {
        return false;
    }
    let sample = (0..count).step_by((count / SAMPLE).max(1));
    let (looked_at, distinct) = (sample.clone().count(), sample.map(value).collect::<HashSet<_, RandomState>>().len());
    // Compression may halve the bits that indices have.
    let bits = usize::try_from(distinct.max(2).ilog2()).unwrap_or(0);
    distinct * 10 <= looked_at * 9 && bits * count / 16 < otherwise
}

/// A dictionary of the values at `0..count`: which value each entry stands for, and the index of each value. `None`
/// if too few repeat.
fn collect<T: Eq + Hash>(count: usize, value: impl Fn(usize) -> T, divisor: usize) -> Option<(Vec<usize>, Vec<u32>)> {
    let most = (count / divisor.max(1)).min(MOST);
    let mut known: HashMap<T, u32, RandomState> = HashMap::default();
    let (mut entries, mut indices) = (Vec::new(), Vec::with_capacity(count));
    for item in 0..count {
        let next = u32::try_from(entries.len()).ok()?;
        let index = *known.entry(value(item)).or_insert(next);
        if index == next {
            if entries.len() >= most {
                return None;
            }
            entries.push(item);
        }
        indices.push(index);
    }
    Some((entries, indices))
}

/// When a dictionary is worth it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms {
    /// Bytes that the values need without one.
    pub otherwise: usize,
    /// It has at most this share of the values.
    pub divisor: usize,
}

/// The entries and indices of a dictionary that may be worth it.
fn promising<T: Eq + Hash>(count: usize, value: impl Fn(usize) -> T, terms: Terms) -> Option<(Vec<usize>, Vec<u32>)> {
    if promises(count, &value, terms.otherwise) { collect(count, value, terms.divisor) } else { None }
}

/// Indices of as few bytes as they need.
fn narrow(indices: &[u32], entries: usize) -> Fixed {
    let width = match entries {
        0..=0x100 => 1,
        0x101..=0x1_0000 => 2,
        _ => 4,
    };
    let mut data = Vec::with_capacity(indices.len() * width);
    match width {
        1 => data.extend(indices.iter().map(|i| u8::try_from(*i).unwrap_or(0))),
        2 => indices.iter().for_each(|i| data.extend(u16::try_from(*i).unwrap_or(0).to_le_bytes())),
        _ => indices.iter().for_each(|i| data.extend(i.to_le_bytes())),
    }
    Fixed { width, data }
}

/// The values by a dictionary that may be worth it.
pub(super) fn of_fixed(fixed: &Fixed, terms: Terms) -> Option<Indexed> {
    let bytes = |i: usize| fixed.get(i..i + 1);
    let word = |i: usize| u64::from_le_bytes(bytes(i).try_into().unwrap_or_default());
    let half = |i: usize| u32::from_le_bytes(bytes(i).try_into().unwrap_or_default());
    let double = |i: usize| u128::from_le_bytes(bytes(i).try_into().unwrap_or_default());
    let (entries, indices) = match fixed.width {
        4 => promising(fixed.len(), half, terms),
        8 => promising(fixed.len(), word, terms),
        16 => promising(fixed.len(), double, terms),
        32 => promising(fixed.len(), bytes, terms),
        _ => None,
    }?;
    let values = entries.iter().flat_map(|i| bytes(*i)).copied().collect();
    let dictionary = Dictionary { message: flat(fixed.width as u64 * 8), bytes: values, items: entries.len() };
    Some(Indexed { indices: narrow(&indices, entries.len()), dictionary })
}

/// Which text each entry of a dictionary stands for, and the index of each text, if one may be worth it.
pub(super) fn entries(texts: &Variable, terms: Terms) -> Option<(Vec<usize>, Vec<u32>)> {
    promising(texts.len(), |i| texts.get(i), terms)
}

/// The texts by a dictionary that may be worth it.
pub(super) fn of_texts(texts: &Variable, terms: Terms) -> Option<Indexed> {
    let (entries, indices) = entries(texts, terms)?;
    let dictionary = block(entries.len(), texts.large, |n| entries.get(n).map_or(&[], |i| texts.get(*i))).ok()?;
    Some(Indexed { indices: narrow(&indices, entries.len()), dictionary })
}

/// The indices and values of a dictionary array.
pub(super) fn of_array(array: &ArrayRef) -> Result<Indexed> {
    let parts = array.as_any_dictionary_opt();
    let parts = parts.ok_or_else(|| Error::internal("a dictionary column without a dictionary"))?;
    let keys: ArrayRef = arrow::array::make_array(parts.keys().to_data());
    let indices = Fixed::of(&keys)?;
    // Some readers look up what is null, too, so there is always something to be found.
    let values = match parts.values() {
        empty if empty.is_empty() => new_null_array(empty.data_type(), 1),
        values => values.clone(),
    };
    let dictionary = match Values::of(&values)? {
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

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::DictionaryArray;
    use arrow::datatypes::Int8Type;
    use std::sync::Arc;

    #[test]
    fn a_dictionary_is_never_empty() {
        let nulls: DictionaryArray<Int8Type> = [None::<&str>, None].into_iter().collect();
        let indexed = of_array(&(Arc::new(nulls) as ArrayRef)).unwrap();
        assert_eq!((indexed.indices.len(), indexed.dictionary.items), (2, 1));
    }
}
