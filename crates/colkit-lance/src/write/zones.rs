//! Zone maps of a top-level column: what its values lie between, for every so many rows and for all.

use crate::bloom::{self, Filter};
use crate::trust::{Bound, Zone};
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::{cast, max, max_boolean, min, min_boolean};
use arrow::datatypes::{DataType, Decimal128Type, Float64Type, Int64Type, UInt64Type};
use colkit_core::{Result, Value};
use std::cmp::Ordering;

/// Rows of a zone.
pub(super) const ZONE_ROWS: usize = 8192;

/// Longer bounds are cut to this.
const BOUND_BYTES: usize = 64;

/// What is known of some rows.
#[derive(Clone, Default)]
struct Summary {
    min: Option<Value>,
    max: Option<Value>,
    nulls: u64,
    rows: usize,
}

/// Collects the zones of a column, and its bloom filters if it has some.
#[derive(Default)]
pub(super) struct ZoneMap {
    done: Vec<Zone>,
    open: Summary,
    all: Summary,
    bloom: Option<Vec<Filter>>,
    /// Hashes of the values of the open zone.
    hashes: Vec<u64>,
}

/// What is known of a column's zones.
pub(super) struct ColumnZoneMap {
    pub zones: Vec<Zone>,
    /// Of all rows.
    pub all: Zone,
    pub bloom: Option<Vec<Filter>>,
}

impl ZoneMap {
    pub fn new(bloom: bool) -> Self {
        ZoneMap { bloom: bloom.then(Vec::new), ..ZoneMap::default() }
    }

    /// Takes the next rows.
    pub fn push(&mut self, array: &ArrayRef) -> Result<()> {
        let mut at = 0;
        while at < array.len() {
            let rows = (ZONE_ROWS - self.open.rows).min(array.len() - at);
            let part = array.slice(at, rows);
            self.open.add(&Summary::of(&part)?);
            if self.bloom.is_some() {
                self.hashes.append(&mut bloom::hashes(&part)?);
            }
            at += rows;
            if self.open.rows == ZONE_ROWS {
                self.close();
            }
        }
        Ok(())
    }

    fn close(&mut self) {
        let zone = std::mem::take(&mut self.open);
        self.all.add(&zone);
        self.done.push(zone.zone());
        if let Some(filters) = &mut self.bloom {
            filters.push(Filter::of(std::mem::take(&mut self.hashes)));
        }
    }

    /// All zones, and the one of all rows.
    pub fn finish(mut self) -> ColumnZoneMap {
        if self.open.rows > 0 {
            self.close();
        }
        ColumnZoneMap { zones: self.done, all: self.all.zone(), bloom: self.bloom }
    }
}

impl Summary {
    fn of(array: &ArrayRef) -> Result<Summary> {
        let nulls = array.logical_null_count() as u64;
        let (min, max) = bounds(array)?.map_or((None, None), |(a, b)| (Some(a), Some(b)));
        Ok(Summary { min, max, nulls, rows: array.len() })
    }

    fn add(&mut self, more: &Summary) {
        let pick = |a: &mut Option<Value>, b: &Option<Value>, wanted: Ordering| {
            let better = a.as_ref().zip(b.as_ref()).is_none_or(|(a, b)| b.compare(a) == Some(wanted));
            if better && b.is_some() {
                a.clone_from(b);
            }
        };
        pick(&mut self.min, &more.min, Ordering::Less);
        pick(&mut self.max, &more.max, Ordering::Greater);
        self.nulls += more.nulls;
        self.rows += more.rows;
    }

    fn zone(&self) -> Zone {
        let short = |v: &Value| match v {
            Value::Text(s) => s.len() <= BOUND_BYTES,
            Value::Bytes(b) => b.len() <= BOUND_BYTES,
            _ => true,
        };
        let exact = self.min.iter().chain(&self.max).all(short);
        Zone {
            min: self.min.as_ref().and_then(|v| Bound::of(&below(v))),
            max: self.max.as_ref().and_then(above).and_then(|v| Bound::of(&v)),
            null_count: self.nulls,
            inexact: !exact,
        }
    }
}

/// The smallest and largest value that is not null, and no NaN; `None` without any, or for types without order.
fn bounds(array: &ArrayRef) -> Result<Option<(Value, Value)>> {
    let pair = |a: Option<Value>, b: Option<Value>| a.zip(b);
    let text = |s: &[u8]| std::str::from_utf8(s).ok().map(|s| Value::Text(s.to_owned()));
    let texts = |(low, high): (&[u8], &[u8])| text(low).zip(text(high));
    let bytes = |(low, high): (&[u8], &[u8])| (Value::Bytes(low.to_vec()), Value::Bytes(high.to_vec()));
    Ok(match array.data_type() {
        DataType::Boolean => {
            let a = array.as_boolean();
            pair(min_boolean(a).map(Value::Bool), max_boolean(a).map(Value::Bool))
        }
        DataType::UInt64 => {
            let a = array.as_primitive::<UInt64Type>();
            pair(min(a).map(|x| Value::Int(x.into())), max(a).map(|x| Value::Int(x.into())))
        }
        t if t.is_integer() => {
            let wide = cast(array, &DataType::Int64)?;
            let a = wide.as_primitive::<Int64Type>();
            pair(min(a).map(|x| Value::Int(x.into())), max(a).map(|x| Value::Int(x.into())))
        }
        DataType::Decimal128(_, _) => {
            let a = array.as_primitive::<Decimal128Type>();
            pair(min(a).map(Value::Int), max(a).map(Value::Int))
        }
        t if t.is_temporal() => {
            let own = cast(
                array,
                &t.primitive_width()
                    .map_or(DataType::Int64, |w| if w == 4 { DataType::Int32 } else { DataType::Int64 }),
            )?;
            let wide = cast(&own, &DataType::Int64)?;
            let a = wide.as_primitive::<Int64Type>();
            pair(min(a).map(|x| Value::Int(x.into())), max(a).map(|x| Value::Int(x.into())))
        }
        DataType::Float16 | DataType::Float32 | DataType::Float64 => {
            let wide = cast(array, &DataType::Float64)?;
            let numbers = || wide.as_primitive::<Float64Type>().iter().flatten().filter(|x| !x.is_nan());
            pair(numbers().reduce(f64::min).map(Value::Float), numbers().reduce(f64::max).map(Value::Float))
        }
        DataType::Utf8 => byte_bounds(array.as_string::<i32>().iter().flatten().map(str::as_bytes)).and_then(texts),
        DataType::LargeUtf8 => {
            byte_bounds(array.as_string::<i64>().iter().flatten().map(str::as_bytes)).and_then(texts)
        }
        DataType::Binary => byte_bounds(array.as_binary::<i32>().iter().flatten()).map(bytes),
        DataType::LargeBinary => byte_bounds(array.as_binary::<i64>().iter().flatten()).map(bytes),
        _ => None,
    })
}

/// The smallest and largest of these. Their first eight bytes, as a number, decide most comparisons.
fn byte_bounds<'a>(values: impl Iterator<Item = &'a [u8]>) -> Option<(&'a [u8], &'a [u8])> {
    let head = |value: &[u8]| {
        let mut first = [0; 8];
        first.iter_mut().zip(value).for_each(|(to, from)| *to = *from);
        u64::from_be_bytes(first)
    };
    let less = |a: &(u64, &[u8]), b: &(u64, &[u8])| {
        let same = a.1.len() == b.1.len() && a.1.len() <= 8;
        a.0 < b.0 || (a.0 == b.0 && !same && a.1 < b.1)
    };
    let mut values =
        values.map(|value| (value.first_chunk().map_or_else(|| head(value), |h| u64::from_be_bytes(*h)), value));
    let first = values.next()?;
    let (mut low, mut high) = (first, first);
    for value in values {
        if less(&value, &low) {
            low = value;
        } else if less(&high, &value) {
            high = value;
        }
    }
    Some((low.1, high.1))
}

/// A value that is not larger, and short.
fn below(value: &Value) -> Value {
    match value {
        Value::Text(s) => Value::Text(cut(s).to_owned()),
        Value::Bytes(b) => Value::Bytes(b.iter().take(BOUND_BYTES).copied().collect()),
        other => other.clone(),
    }
}

/// A value that is not smaller, and short; `None` if there is none.
fn above(value: &Value) -> Option<Value> {
    match value {
        Value::Text(s) if s.len() > BOUND_BYTES => {
            // The next text of the cut length: its last character that has a next one, raised.
            let mut kept: Vec<char> = cut(s).chars().collect();
            while let Some(last) = kept.pop() {
                if let Some(next) = u32::from(last).checked_add(1).and_then(char::from_u32) {
                    kept.push(next);
                    return Some(Value::Text(kept.into_iter().collect()));
                }
            }
            None
        }
        Value::Bytes(b) if b.len() > BOUND_BYTES => {
            let mut kept: Vec<u8> = b.iter().take(BOUND_BYTES).copied().collect();
            while let Some(last) = kept.pop() {
                if let Some(next) = last.checked_add(1) {
                    kept.push(next);
                    return Some(Value::Bytes(kept));
                }
            }
            None
        }
        other => Some(other.clone()),
    }
}

/// The front of a text, cut between characters.
fn cut(text: &str) -> &str {
    let end = (0..=BOUND_BYTES.min(text.len())).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0);
    text.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{Float64Array, Int32Array, StringArray};
    use std::sync::Arc;

    fn all(array: ArrayRef) -> Zone {
        let mut map = ZoneMap::default();
        map.push(&array).unwrap();
        map.finish().all
    }

    #[test]
    fn zones_are_cut_by_rows() {
        let mut map = ZoneMap::default();
        for part in 0..5 {
            let numbers: Int32Array = (0..5000).map(|i| (i > 0).then_some(part * 5000 + i)).collect();
            map.push(&(Arc::new(numbers) as ArrayRef)).unwrap();
        }
        let ColumnZoneMap { zones, all, .. } = map.finish();
        assert_eq!(zones.len(), 4);
        assert_eq!(zones.iter().map(|z| z.null_count).sum::<u64>(), 5);
        assert_eq!(zones[1].statistics().min, Some(Value::Int(8192)));
        assert_eq!(all.statistics().max, Some(Value::Int(24_999)));
    }

    #[test]
    fn long_texts_are_cut_on_the_safe_side() {
        let (low, high) = ("é".repeat(40), "z".repeat(100));
        let found = all(Arc::new(StringArray::from(vec![low.as_str(), high.as_str()]))).statistics();
        let (Some(Value::Text(min)), Some(Value::Text(max))) = (found.min, found.max) else { panic!("no bounds") };
        // é lies above z.
        assert!(min.as_str() <= high.as_str() && high.starts_with(&min) && min.len() == 64);
        assert!(max.as_str() >= low.as_str() && max.len() <= 65 && !found.exact);
        let top = char::MAX.to_string().repeat(30);
        assert_eq!(all(Arc::new(StringArray::from(vec![top.as_str()]))).max, None);
    }

    #[test]
    fn bytes_are_compared_as_bytes() {
        let mut values: Vec<&[u8]> =
            vec![b"", b"\0", b"a", b"a\0", b"abcdefgh", b"abcdefgh\0", b"abcdefghi", b"abcdefgi", b"\xFF"];
        for from in 0..values.len() {
            for to in from + 1..=values.len() {
                let part = &values[from..to];
                let found = byte_bounds(part.iter().rev().copied()).unwrap();
                assert_eq!(found, (part[0], part[part.len() - 1]));
            }
        }
        values.clear();
        assert_eq!(byte_bounds(values.into_iter()), None);
    }

    #[test]
    fn nan_is_outside() {
        let found = all(Arc::new(Float64Array::from(vec![f64::NAN, 2.0, -1.0]))).statistics();
        assert_eq!((found.min, found.max), (Some(Value::Float(-1.0)), Some(Value::Float(2.0))));
        assert_eq!(all(Arc::new(Float64Array::from(vec![f64::NAN]))).min, None);
    }
}
