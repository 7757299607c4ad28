//! Which rows a condition may hold for, by what colkit adds to files: zone maps and bloom filters.
//!
//! Zone maps hold dates, times and decimals as integers in their own unit. The literals of a condition are brought to the
//! same form first, by the cast that also compares them with the rows themselves.

use crate::bloom::{self, Filter};
use crate::coroutine::Io;
use crate::read::LanceFile;
use arrow::array::{ArrayRef, AsArray, StringArray};
use arrow::compute::{CastOptions, cast, cast_with_options};
use arrow::datatypes::{DataType, Decimal128Type, Int64Type};
use colkit_core::{Predicate, Result, Value};
use std::collections::HashMap;
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
    let types = |column: usize| schema.fields().get(column).map(|f| f.data_type());
    let predicate = in_units(predicate, &types);
    let mut filters: HashMap<usize, Arc<Vec<Filter>>> = HashMap::new();
    for column in predicate.columns() {
        if let Some(found) = file.filters(io, column).await? {
            filters.insert(column, found);
        }
    }
    let each = zones.rows_per_zone;
    let mut ranges: Vec<Range<u64>> = Vec::new();
    let mut at = rows.start;
    while at < rows.end {
        let number = at / each;
        let end = number.saturating_add(1).saturating_mul(each).min(rows.end);
        let place = usize::try_from(number).unwrap_or(usize::MAX);
        let zone = |column: usize| Some(zones.columns.get(column)?.zones.get(place)?.statistics());
        let absent = |column: usize, value: &Value| {
            let filter = filters.get(&column).and_then(|f| f.get(place));
            let hash = types(column).and_then(|t| bloom::hash_of(value, t));
            filter.zip(hash).is_some_and(|(filter, hash)| !filter.may_hold(hash))
        };
        let may = match filters.is_empty() {
            true => predicate.may_match(&zone),
            false => bloom::narrowed(&predicate, &absent).may_match(&zone),
        };
        if may {
            match ranges.last_mut() {
                Some(last) if last.end == at => last.end = end,
                _ => ranges.push(at..end),
            }
        }
        at = end;
    }
    Ok(ranges)
}

/// The condition with its literals as zone maps hold the values of their columns.
fn in_units<'a>(predicate: &Predicate, types: &dyn Fn(usize) -> Option<&'a DataType>) -> Predicate {
    let literal = |column: usize, value: &Value| {
        types(column).and_then(|t| unit_value(value, t)).unwrap_or_else(|| value.clone())
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

/// A literal as an integer in the unit of a date, time or decimal; `None` for other types and what does not fit.
fn unit_value(value: &Value, data_type: &DataType) -> Option<Value> {
    let text: String = match (value, data_type) {
        (Value::Text(text), t) if t.is_temporal() => text.clone(),
        (Value::Int(_) | Value::Float(_), DataType::Decimal128(_, _)) => value.to_string(),
        _ => return None,
    };
    let own: ArrayRef = Arc::new(StringArray::from(vec![text]));
    let strict = CastOptions { safe: false, ..CastOptions::default() };
    let typed = cast_with_options(&own, data_type, &strict).ok()?;
    Some(Value::Int(match typed.as_primitive_opt::<Decimal128Type>() {
        Some(decimal) => *decimal.values().first()?,
        None => (*cast(&typed, &DataType::Int64).ok()?.as_primitive::<Int64Type>().values().first()?).into(),
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
        assert_eq!(unit_value(&Value::Text("soon".into()), &DataType::Date32), None);
        assert_eq!(unit_value(&Value::Int(3), &DataType::Int32), None);
    }
}
