//! Bloom filters: may some row of a zone have this value?
//!
//! Split-block filters as Parquet has them: blocks of eight 32-bit words. Of a value's 64-bit hash the upper half picks
//! the block, the lower half, multiplied by eight odd constants, one bit of each word.
//!
//! ```text
//! block = (hash >> 32) * blocks >> 32        bit of word i = (low half of hash * SALT[i]) >> 27
//! ```
//!
//! The hash is XXH64 with seed 0 over the value: numbers as 16-byte little-endian integers if they are whole, else the 8
//! bytes of a double; booleans as 0 or 1, dates, times and decimals in their unit, like numbers; text and binary as they are.
//! NaN equals nothing and is left out.

use crate::write::dictionary::occurring;
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Decimal128Type, Float64Type, Int64Type, UInt64Type};
use bytes::Bytes;
use colkit_core::{BoundPredicate, ByteRange, Literal, Op, Result};
use std::collections::BTreeMap;
use xxhash_rust::xxh64::xxh64;

const SALT: [u32; 8] =
    [0x47b6_137b, 0x4497_4d91, 0x8824_ad5b, 0xa2b7_289d, 0x7054_95c7, 0x2df1_424b, 0x9efc_4947, 0x5c6b_fb31];

pub(crate) const BLOCK_BYTES: usize = 32;

/// Bits for every distinct value: about one in a hundred values that are not there seems to be.
const BITS_PER_VALUE: usize = 11;

/// A filter as bytes; without any it holds nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Filter(pub Bytes);

/// Where the block of a hash begins, among so many bytes of blocks.
fn block_at(hash: u64, bytes: usize) -> usize {
    let blocks = (bytes / BLOCK_BYTES) as u64;
    usize::try_from(((hash >> 32) * blocks) >> 32).unwrap_or(0) * BLOCK_BYTES
}

/// The part of a filter that a hash falls into; `None` if the filter has none.
pub(crate) fn block_range(hash: u64, filter: ByteRange) -> Option<ByteRange> {
    let start = filter.start() + block_at(hash, filter.len_usize().ok()?) as u64;
    let block = ByteRange::between(start, start + BLOCK_BYTES as u64);
    filter.contains(block).then_some(block)
}

/// The bits of a hash, one per word of its block.
fn masks(hash: u64) -> [u32; 8] {
    let [a, b, c, d, ..] = hash.to_le_bytes();
    let low = u32::from_le_bytes([a, b, c, d]);
    SALT.map(|salt| 1 << (low.wrapping_mul(salt) >> 27))
}

impl Filter {
    /// The filter of these hashes.
    pub fn of(mut hashes: Vec<u64>) -> Filter {
        hashes.sort_unstable();
        hashes.dedup();
        let mut bytes = vec![0; (hashes.len() * BITS_PER_VALUE).div_ceil(BLOCK_BYTES * 8) * BLOCK_BYTES];
        for hash in hashes {
            let at = block_at(hash, bytes.len());
            let words = bytes.get_mut(at..at + BLOCK_BYTES).unwrap_or_default().chunks_exact_mut(4);
            for (word, mask) in words.zip(masks(hash)) {
                word.iter_mut().zip(mask.to_le_bytes()).for_each(|(byte, bits)| *byte |= bits);
            }
        }
        Filter(bytes.into())
    }

    /// Whether the value of this hash may be among those that the filter was made of.
    pub fn may_hold(&self, hash: u64) -> bool {
        let at = block_at(hash, self.0.len());
        let block = self.0.get(at..at + BLOCK_BYTES).unwrap_or_default();
        !block.is_empty()
            && block
                .chunks_exact(4)
                .zip(masks(hash))
                .all(|(word, mask)| word.iter().zip(mask.to_le_bytes()).all(|(byte, bits)| byte & bits == bits))
    }
}

fn hash_int(int: i128) -> u64 {
    xxh64(&int.to_le_bytes(), 0)
}

/// Larger floats are not hashed as integers.
const WHOLE: f64 = 1e38;

/// Floats and integers that are equal have equal hashes.
#[expect(clippy::cast_possible_truncation, reason = "only floats that are whole and inside of the range are cast")]
fn hash_float(float: f64) -> u64 {
    if float.fract() == 0.0 && float.abs() < WHOLE { hash_int(float as i128) } else { xxh64(&float.to_le_bytes(), 0) }
}

/// Whether columns of this type can have filters.
pub(crate) fn applies(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => applies(values),
        t => t == &DataType::Boolean || t.is_floating() || is_whole(t) || is_bytes(t),
    }
}

/// Types whose values are integers, if only in some unit.
fn is_whole(data_type: &DataType) -> bool {
    let temporal = data_type.is_temporal() && !matches!(data_type, DataType::Interval(_));
    data_type.is_integer() || temporal || matches!(data_type, DataType::Decimal128(_, _))
}

fn is_bytes(data_type: &DataType) -> bool {
    use DataType::{Binary, FixedSizeBinary, LargeBinary, LargeUtf8, Utf8};
    matches!(data_type, Utf8 | LargeUtf8 | Binary | LargeBinary | FixedSizeBinary(_))
}

/// The hash of a literal; `None` if filters cannot tell.
pub(crate) fn hash_of(literal: &Literal) -> Option<u64> {
    hashes(literal.array()).ok()?.first().copied()
}

/// The hashes of the values that are not null.
pub(crate) fn hashes(array: &ArrayRef) -> Result<Vec<u64>> {
    let bytes = |b: &[u8]| xxh64(b, 0);
    Ok(match array.data_type() {
        DataType::Boolean => array.as_boolean().iter().flatten().map(|b| hash_int(b.into())).collect(),
        DataType::UInt64 => array.as_primitive::<UInt64Type>().iter().flatten().map(|v| hash_int(v.into())).collect(),
        DataType::Decimal128(_, _) => array.as_primitive::<Decimal128Type>().iter().flatten().map(hash_int).collect(),
        t if is_whole(t) => {
            // Times of four bytes cannot be cast to eight at once.
            let short = t.is_temporal() && t.primitive_width() == Some(4);
            let own = if short { cast(array, &DataType::Int32)? } else { array.clone() };
            let wide = cast(&own, &DataType::Int64)?;
            wide.as_primitive::<Int64Type>().iter().flatten().map(|v| hash_int(v.into())).collect()
        }
        t if t.is_floating() => {
            let wide = cast(array, &DataType::Float64)?;
            wide.as_primitive::<Float64Type>().iter().flatten().filter(|v| !v.is_nan()).map(hash_float).collect()
        }
        DataType::Utf8 => array.as_string::<i32>().iter().flatten().map(|s| bytes(s.as_bytes())).collect(),
        DataType::LargeUtf8 => array.as_string::<i64>().iter().flatten().map(|s| bytes(s.as_bytes())).collect(),
        DataType::Binary => array.as_binary::<i32>().iter().flatten().map(bytes).collect(),
        DataType::LargeBinary => array.as_binary::<i64>().iter().flatten().map(bytes).collect(),
        DataType::FixedSizeBinary(_) => array.as_fixed_size_binary().iter().flatten().map(bytes).collect(),
        DataType::Dictionary(_, _) => hashes(&occurring(array)?)?,
        _ => Vec::new(),
    })
}

/// For every column the hashes of what `=` and `in` look for, each once.
pub(crate) fn looked_for(predicate: &BoundPredicate) -> BTreeMap<usize, Vec<u64>> {
    fn collect(p: &BoundPredicate, into: &mut BTreeMap<usize, Vec<u64>>) {
        match p {
            BoundPredicate::Compare { column, op: Op::Eq, literal } => {
                into.entry(*column).or_default().extend(hash_of(literal));
            }
            BoundPredicate::In { column, literals, denied: false } => {
                into.entry(*column).or_default().extend(literals.iter().filter_map(hash_of));
            }
            BoundPredicate::And(all) | BoundPredicate::Or(all) => all.iter().for_each(|p| collect(p, into)),
            _ => {}
        }
    }
    let mut found = BTreeMap::new();
    collect(predicate, &mut found);
    for hashes in found.values_mut() {
        hashes.sort_unstable();
        hashes.dedup();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{Float64Array, Int32Array, StringArray};
    use arrow::datatypes::{Field, Schema};
    use colkit_core::Predicate;
    use std::sync::Arc;

    #[test]
    fn what_is_there_is_found_and_little_else() {
        let numbers: ArrayRef = Arc::new(Int32Array::from_iter_values((0..8192).map(|i| i * 7)));
        let filter = Filter::of(hashes(&numbers).unwrap());
        assert!(filter.0.len() <= 8192 * 12 / 8 + 32);
        let may = |i: i32| {
            let literal = Literal::new(Arc::new(Int32Array::from(vec![i])));
            filter.may_hold(hash_of(&literal).unwrap())
        };
        assert!((0..8192).all(|i| may(i * 7)));
        let wrong = (0..10_000).filter(|i| may(i * 7 + 3)).count();
        assert!(wrong < 250, "{wrong} of 10000");
        assert!(!Filter::of(Vec::new()).may_hold(5));
    }

    #[test]
    fn values_that_are_equal_hash_alike() {
        let floats: ArrayRef = Arc::new(Float64Array::from(vec![-0.0, 2.5, f64::NAN, 1e300]));
        let found = hashes(&floats).unwrap();
        let literal = |x: f64| hash_of(&Literal::new(Arc::new(Float64Array::from(vec![x]))));
        assert_eq!(found, [0.0, 2.5, 1e300].map(|x| literal(x).unwrap()));
        assert_eq!(literal(f64::NAN), None);
        let texts: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), None]));
        let literal = Literal::new(Arc::new(StringArray::from(vec!["a"])));
        assert_eq!(hashes(&texts).unwrap(), [hash_of(&literal).unwrap()]);
    }

    #[test]
    fn only_equality_is_looked_for() {
        let schema = Schema::new(vec![Field::new("c", DataType::Int32, true)]);
        let looked_for = |condition: &str| {
            let bound = Predicate::parse(condition, &schema).unwrap().bind(&schema).unwrap();
            looked_for(&bound).remove(&0).unwrap_or_default().len()
        };
        assert_eq!(looked_for("c = 5"), 1);
        assert_eq!(looked_for("c in (5, 6, 5)"), 2);
        assert_eq!(looked_for("c = 5 and (c >= 7 or c in (5, 6))"), 2);
        assert_eq!(looked_for("c >= 5 and c not in (5, 6) and not c = 5"), 0);
    }
}
