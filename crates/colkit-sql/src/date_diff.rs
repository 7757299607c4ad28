//! `date_diff('day', a, b)`: how many boundaries of a unit of time lie between two moments.

use arrow::array::{AsArray, Int64Array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, TimeUnit, TimestampMicrosecondType};
use datafusion::common::{ScalarValue, plan_err};
use datafusion::error::Result;
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility};
use std::sync::Arc;

const MOMENT: DataType = DataType::Timestamp(TimeUnit::Microsecond, None);

const SECOND: i64 = 1_000_000;
const DAY: i64 = 86_400 * SECOND;

#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct DateDiff {
    signature: Signature,
    aliases: Vec<String>,
}

impl DateDiff {
    pub fn new() -> Self {
        DateDiff { signature: Signature::user_defined(Volatility::Immutable), aliases: vec!["datediff".into()] }
    }
}

impl ScalarUDFImpl for DateDiff {
    fn name(&self) -> &str {
        "date_diff"
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Int64)
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        if types.len() != 3 {
            return plan_err!("date_diff takes three arguments: date_diff('day', begin, end)");
        }
        let mut coerced = vec![DataType::Utf8];
        for data_type in types.iter().skip(1) {
            match data_type {
                DataType::Date32 | DataType::Date64 | DataType::Timestamp(..) | DataType::Null => {}
                DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {}
                other => {
                    let found = colkit::type_name(&colkit::without_views(other));
                    return plan_err!("date_diff takes dates and timestamps, found {found}");
                }
            }
            coerced.push(MOMENT);
        }
        Ok(coerced)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = args.number_rows;
        let [unit, begin, end] = args.args.as_slice() else { return plan_err!("date_diff takes three arguments") };
        let ColumnarValue::Scalar(unit) = unit else {
            return plan_err!("date_diff needs its unit as a literal, such as 'day'");
        };
        let Some(name) = unit.try_as_str().flatten() else {
            return Ok(ColumnarValue::Scalar(ScalarValue::Int64(None)));
        };
        let Some(unit) = Unit::named(name) else {
            return plan_err!(
                "date_diff knows no unit {name:?}; it knows year, quarter, month, week, day, hour, minute, second, \
                 millisecond and microsecond"
            );
        };
        let moments = |value: &ColumnarValue| -> Result<_> {
            let array = cast(&value.clone().into_array(rows)?, &MOMENT)?;
            Ok(array.as_primitive::<TimestampMicrosecondType>().clone())
        };
        let constant = matches!((begin, end), (ColumnarValue::Scalar(_), ColumnarValue::Scalar(_)));
        let (begin, end) = (moments(begin)?, moments(end)?);
        let between = |(a, b): (Option<i64>, Option<i64>)| Some(unit.number(b?) - unit.number(a?));
        let differences: Int64Array = begin.iter().zip(end.iter()).map(between).collect();
        if constant && rows > 0 {
            return Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&differences, 0)?));
        }
        Ok(ColumnarValue::Array(Arc::new(differences)))
    }
}

#[derive(Clone, Copy)]
enum Unit {
    /// Of so many microseconds.
    Fixed(i64),
    Week,
    /// Of so many months.
    Months(i64),
}

impl Unit {
    fn named(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        Some(match name.strip_suffix('s').unwrap_or(&name) {
            "microsecond" => Unit::Fixed(1),
            "millisecond" => Unit::Fixed(1000),
            "second" => Unit::Fixed(SECOND),
            "minute" => Unit::Fixed(60 * SECOND),
            "hour" => Unit::Fixed(3600 * SECOND),
            "day" => Unit::Fixed(DAY),
            "week" => Unit::Week,
            "month" => Unit::Months(1),
            "quarter" => Unit::Months(3),
            "year" => Unit::Months(12),
            _ => return None,
        })
    }

    /// The number of the unit that a moment lies in.
    fn number(self, moment: i64) -> i64 {
        match self {
            Unit::Fixed(length) => moment.div_euclid(length),
            // 1970 began on a Thursday, weeks begin on Mondays.
            Unit::Week => (moment.div_euclid(DAY) + 3).div_euclid(7),
            Unit::Months(count) => months(moment.div_euclid(DAY)).div_euclid(count),
        }
    }
}

/// The month that a day lies in, counted from the year 0. Days are counted from 1970-01-01.
fn months(day: i64) -> i64 {
    // In cycles of 400 years, and in years that begin in March, the leap day comes last.
    let day = day + 719_468;
    let (cycle, of_cycle) = (day.div_euclid(146_097), day.rem_euclid(146_097));
    let year = (of_cycle - of_cycle / 1460 + of_cycle / 36_524 - of_cycle / 146_096) / 365;
    let of_year = of_cycle - (365 * year + year / 4 - year / 100);
    let month_from_march = (5 * of_year + 2) / 153;
    (cycle * 400 + year) * 12 + month_from_march + 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn months_begin_where_they_do() {
        // 1970-01-01, 2000-02-29, 2000-03-01, 2024-12-31, 1969-12-31.
        let expected = [(0, 1970 * 12), (11_016, 2000 * 12 + 1), (11_017, 2000 * 12 + 2), (20_088, 2024 * 12 + 11)];
        for (day, month) in expected {
            assert_eq!(months(day), month, "{day}");
        }
        assert_eq!(months(-1), 1969 * 12 + 11);
    }

    #[test]
    fn weeks_begin_on_mondays() {
        let week = |day: i64| Unit::Week.number(day * DAY);
        // Sunday 1970-01-04 and Monday 1970-01-05.
        assert_eq!((week(3), week(4)), (week(0), week(0) + 1));
    }
}
