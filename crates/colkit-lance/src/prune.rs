//! Which rows a condition may hold for, by what colkit adds to files: zone maps and bloom filters.
//!
//! Zone maps hold dates, times and decimals as integers in their own unit. The literals of a condition are brought to the
//! same form first, by the cast that also compares them with the rows themselves.

use crate::bloom::{self, Filter};
use crate::coroutine::Io;
use crate::read::LanceFile;
use crate::trust::Zones;
use arrow::array::{ArrayRef, AsArray, StringArray};
use arrow::compute::{CastOptions, cast, cast_with_options};
use arrow::datatypes::{DataType, Decimal128Type, Decimal256Type, Int64Type};
use colkit_core::{ByteRange, Predicate, Result, Value};
use std::collections::{BTreeMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

/// The rows among these that cannot be ruled out, as ranges in order.
pub(crate) async fn may_match(
    file: &LanceFile,
    io: &Io,
    predicate: &Predicate,
    rows: Range<u64>,
) -> Result<Vec<Range<u64>>> {
    let Some(zones) = file.zones(io).await? else { return Ok(vec![rows]) };
    let schema = file.fields.schema.clone();
    let types = |column: usize| schema.fields().get(column).map(|f| plain(f.data_type()));
    let predicate = in_units(predicate, &types);
    let each = zones.rows_per_zone;
    let mut left = Vec::new();
    let mut at = rows.start;
    while at < rows.end {
        let number = at / each;
        let end = number.saturating_add(1).saturating_mul(each).min(rows.end);
        let place = usize::try_from(number).unwrap_or(usize::MAX);
        if predicate.may_match(&|column| Some(zones.columns.get(column)?.zones.get(place)?.statistics())) {
            left.push((place, at..end));
        }
        at = end;
    }
    let hash_of = |column: usize, value: &Value| types(column).and_then(|t| bloom::hash_of(value, t));
    let places: Vec<usize> = left.iter().map(|(place, _)| *place).collect();
    let absent = absent(file, io, &zones, &bloom::looked_for(&predicate, &hash_of), &places).await?;
    let mut ranges: Vec<Range<u64>> = Vec::new();
    for (place, rows) in left {
        let is_absent = |column: usize, value: &Value| {
            hash_of(column, value).is_some_and(|hash| absent.contains(&(column, place, hash)))
        };
        let zone = |column: usize| Some(zones.columns.get(column)?.zones.get(place)?.statistics());
        if !absent.is_empty() && !bloom::narrowed(&predicate, &is_absent).may_match(&zone) {
            continue;
        }
        match ranges.last_mut() {
            Some(last) if last.end == rows.start => last.end = rows.end,
            _ => ranges.push(rows),
        }
    }
    Ok(ranges)
}

/// A filter, or the block of it that a hash falls into, to be asked for these hashes.
struct Ask<'a> {
    column: usize,
    zone: usize,
    range: ByteRange,
    hashes: &'a [u64],
}

/// Which hashes of which columns occur in which of these zones for certain not, by their bloom filters: column, zone, hash.
async fn absent(
    file: &LanceFile,
    io: &Io,
    zones: &Zones,
    looked_for: &BTreeMap<usize, Vec<u64>>,
    among: &[usize],
) -> Result<HashSet<(usize, usize, u64)>> {
    let mut asks = Vec::new();
    for (column, hashes) in looked_for {
        let Some(filters) = file.filter_ranges(zones, *column)? else { continue };
        for zone in among {
            let Some(filter) = filters.get(*zone).copied() else { continue };
            let ask = |range, hashes| Ask { column: *column, zone: *zone, range, hashes };
            // A block per hash, unless these would be a good part of the filter.
            if filter.len() / (4 * bloom::BLOCK_BYTES as u64) < hashes.len() as u64 {
                asks.push(ask(filter, hashes.as_slice()));
            } else {
                let block = |hash: &[u64]| bloom::block_range(*hash.first()?, filter);
                asks.extend(hashes.chunks(1).filter_map(|hash| Some(ask(block(hash)?, hash))));
            }
        }
    }
    let bytes = file.container.fetch(io, asks.iter().map(|a| a.range).collect()).await?;
    let found = asks.iter().zip(bytes).flat_map(|(ask, bytes)| {
        // A block is a filter too, of one block.
        let filter = Filter(bytes);
        let absent = move |hash: &&u64| !filter.may_hold(**hash);
        ask.hashes.iter().filter(absent).map(|hash| (ask.column, ask.zone, *hash))
    });
    Ok(found.collect())
}

/// The type of the values.
fn plain(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::Dictionary(_, values) => values,
        other => other,
    }
}

/// The condition with its literals as zone maps hold the values of their columns. What cannot be brought to that form
/// becomes null, which rules out nothing: the rows themselves will tell what is wrong with it.
fn in_units<'a>(predicate: &Predicate, types: &dyn Fn(usize) -> Option<&'a DataType>) -> Predicate {
    let literal = |column: usize, value: &Value| match types(column) {
        Some(t) if has_unit(t) => unit_value(value, t).unwrap_or(Value::Null),
        _ => value.clone(),
    };
    let all = |parts: &[Predicate]| parts.iter().map(|p| in_units(p, types)).collect();
    match predicate {
        Predicate::Compare { column, op, value } => Predicate::compare(*column, *op, literal(*column, value)),
        Predicate::In { column, values } => {
            Predicate::In { column: *column, values: values.iter().map(|v| literal(*column, v)).collect() }
        }
        Predicate::And(parts) => Predicate::And(all(parts)),
        Predicate::Or(parts) => Predicate::Or(all(parts)),
        Predicate::IsNull { .. } | Predicate::Not(_) => predicate.clone(),
    }
}

/// Whether a literal for this type has another form than the values in zone maps.
fn has_unit(data_type: &DataType) -> bool {
    data_type.is_temporal() || data_type.is_decimal() || is_binary(data_type)
}

fn is_binary(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Binary | DataType::LargeBinary | DataType::FixedSizeBinary(_))
}

/// A literal as an integer in the unit of a date, time or decimal, or as bytes; `None` for what does not fit.
fn unit_value(value: &Value, data_type: &DataType) -> Option<Value> {
    let text: String = match (value, data_type) {
        (Value::Bytes(bytes), DataType::FixedSizeBinary(n)) if usize::try_from(*n) != Ok(bytes.len()) => return None,
        (Value::Bytes(_), t) if is_binary(t) => return Some(value.clone()),
        (Value::Text(text), DataType::Binary | DataType::LargeBinary) => {
            return Some(Value::Bytes(text.clone().into_bytes()));
        }
        (Value::Text(text), t) if t.is_temporal() => text.clone(),
        (Value::Int(_) | Value::Float(_), t) if t.is_decimal() => value.to_string(),
        _ => return None,
    };
    let own: ArrayRef = Arc::new(StringArray::from(vec![text]));
    let strict = CastOptions { safe: false, ..CastOptions::default() };
    let typed = cast_with_options(&own, data_type, &strict).ok()?;
    Some(Value::Int(match data_type {
        DataType::Decimal128(_, _) => *typed.as_primitive::<Decimal128Type>().values().first()?,
        DataType::Decimal256(_, _) => typed.as_primitive::<Decimal256Type>().values().first()?.to_i128()?,
        _ => (*cast(&typed, &DataType::Int64).ok()?.as_primitive::<Int64Type>().values().first()?).into(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::datatypes::TimeUnit;

    #[test]
    fn literals_take_the_unit_of_their_column() {
        let day = Value::Text("1970-01-03".into());
        assert_eq!(unit_value(&day, &DataType::Date32), Some(Value::Int(2)));
        let seconds = DataType::Timestamp(TimeUnit::Second, None);
        assert_eq!(unit_value(&day, &seconds), Some(Value::Int(2 * 86_400)));
        assert_eq!(unit_value(&Value::Float(1.5), &DataType::Decimal128(15, 2)), Some(Value::Int(150)));
        assert_eq!(unit_value(&Value::Int(3), &DataType::Decimal128(15, 2)), Some(Value::Int(300)));
        assert_eq!(unit_value(&Value::Int(3), &DataType::Decimal256(50, 2)), Some(Value::Int(300)));
        assert_eq!(unit_value(&Value::Text("ab".into()), &DataType::LargeBinary), Some(Value::Bytes(b"ab".to_vec())));
        assert_eq!(unit_value(&Value::Bytes(b"ab".to_vec()), &DataType::FixedSizeBinary(3)), None);
        assert_eq!(unit_value(&Value::Text("soon".into()), &DataType::Date32), None);
        // A bare number is no date: it must not be taken for days.
        let number = Predicate::compare(0, colkit_core::Op::Lt, Value::Int(3));
        let nothing = Predicate::compare(0, colkit_core::Op::Lt, Value::Null);
        assert_eq!(in_units(&number, &|_| Some(&DataType::Date32)), nothing);
        assert_eq!(in_units(&number, &|_| Some(&DataType::Int32)), number);
    }
}
