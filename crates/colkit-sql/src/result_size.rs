//! Functions whose result can be far larger than their arguments: a few digits in a query must not use up all memory.
//!
//! Each wraps the function of the same name and checks its arguments first: if the rows of one batch would need more
//! than a share of the memory, that is an error, before anything is allocated.

use crate::error::external;
use arrow::array::{Array, ArrayRef, AsArray, LargeStringArray};
use arrow::compute::cast;
use arrow::compute::kernels::length::length;
use arrow::datatypes::{DataType, FieldRef, Int64Type, IntervalMonthDayNanoType, TimeUnit};
use colkit::Setting;
use datafusion::error::Result;
use datafusion::execution::FunctionRegistry;
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::{
    ColumnarValue, Documentation, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
};
use std::sync::Arc;

/// Where no limit of memory was set: what the offsets of a text column can still say.
const MOST_BYTES: u64 = 1 << 30;

/// Puts bounds on all such functions of a session: a quarter of the memory for the result of one batch.
pub(crate) fn bound(functions: &mut dyn FunctionRegistry, memory: Option<u64>) -> Result<()> {
    let most = memory.map_or(MOST_BYTES, |m| (m / 4).min(MOST_BYTES));
    for (name, growth) in [
        ("repeat", Growth::Repeated),
        ("lpad", Growth::Counted),
        ("rpad", Growth::Counted),
        ("replace", Growth::Replaced),
        ("array_repeat", Growth::Repeated),
        ("array_resize", Growth::Counted),
        ("range", Growth::Series),
        ("generate_series", Growth::Series),
    ] {
        if let Ok(inner) = functions.udf(name) {
            functions.register_udf(Arc::new(SizeChecked { inner, growth, most }.into()))?;
        }
    }
    Ok(())
}

/// What the size of a result depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Growth {
    /// As often the first argument as the second says.
    Repeated,
    /// As many characters or items as the second argument says.
    Counted,
    /// Each second argument in the first becomes the third.
    Replaced,
    /// A list from one number or date to another.
    Series,
}

/// The bytes of an item of a list, if nothing more is known.
const ITEM_BYTES: u64 = 8;

#[derive(Debug, PartialEq, Eq, Hash)]
struct SizeChecked {
    inner: Arc<ScalarUDF>,
    growth: Growth,
    most: u64,
}

impl SizeChecked {
    /// The bytes of the result, by the arguments alone.
    fn bytes(&self, args: &[ColumnarValue], rows: usize) -> Result<u64> {
        let rows = 0..rows;
        let total = |bytes: &dyn Fn(usize) -> u64| rows.clone().map(bytes).fold(0, u64::saturating_add);
        Ok(match (self.growth, args) {
            (Growth::Repeated, [what, times]) => {
                let (sizes, times) = (sizes(what)?, counts(times)?);
                total(&|i| sizes.of(i).saturating_mul(times.of(i)))
            }
            (Growth::Counted, [what, count, ..]) => {
                let counts = counts(count)?;
                let each = if what.data_type().is_nested() { ITEM_BYTES } else { 1 };
                total(&|i| counts.of(i).saturating_mul(each))
            }
            (Growth::Replaced, [text, from, to]) => {
                let (sizes, shortest, added) = (sizes(text)?, sizes(from)?, sizes(to)?);
                let most = total(&|i| (sizes.of(i) / shortest.of(i).max(1) + 1).saturating_mul(added.of(i)));
                if most <= self.most {
                    return Ok(most);
                }
                let (text, from) = (Texts::new(text)?, Texts::new(from)?);
                let found = |i: usize| text.of(i).matches(from.of(i)).count() as u64;
                total(&|i| found(i).saturating_mul(added.of(i)))
            }
            (Growth::Series, _) => {
                let (start, stop, step) = match args {
                    [stop] => (PerRow::One(0), places(stop)?, PerRow::One(1)),
                    [start, stop] => (places(start)?, places(stop)?, PerRow::One(1)),
                    [start, stop, step, ..] => (places(start)?, places(stop)?, places(step)?),
                    [] => return Ok(0),
                };
                let items = |i: usize| {
                    // A step of nothing is refused by the function itself.
                    let steps = stop.of(i).saturating_sub(start.of(i)).checked_div(step.of(i)).unwrap_or(0);
                    u64::try_from(steps.max(-1) + 1).unwrap_or(u64::MAX)
                };
                total(&|i| items(i).saturating_mul(ITEM_BYTES))
            }
            _ => 0,
        })
    }
}

impl ScalarUDFImpl for SizeChecked {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn aliases(&self) -> &[String] {
        self.inner.aliases()
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        self.inner.return_type(arg_types)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        self.inner.return_field_from_args(args)
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        self.inner.coerce_types(arg_types)
    }

    fn simplify(&self, args: Vec<Expr>, info: &SimplifyContext) -> Result<ExprSimplifyResult> {
        self.inner.simplify(args, info)
    }

    fn is_strict(&self) -> bool {
        self.inner.inner().is_strict()
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.inner.documentation()
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let constant = args.args.iter().all(|a| matches!(a, ColumnarValue::Scalar(_)));
        let bytes = self.bytes(&args.args, if constant { 1 } else { args.number_rows })?;
        if bytes > self.most {
            let error =
                colkit::Error::limit(format!("the result of {}", self.name()), plural(bytes), plural(self.most));
            let hint = Setting::Memory.does("gives more; a quarter of it may be the result of one function");
            return Err(external(error.hint(hint)));
        }
        self.inner.invoke_with_args(args)
    }
}

fn plural(bytes: u64) -> String {
    format!("{bytes} bytes")
}

/// A number for each row, or one for all.
enum PerRow<T> {
    One(T),
    Each(Vec<T>),
}

impl<T: Copy + Default> PerRow<T> {
    /// The numbers of an argument; a constant is looked at once.
    fn new(value: &ColumnarValue, numbers: impl Fn(&ArrayRef) -> Result<Vec<T>>) -> Result<Self> {
        match value {
            ColumnarValue::Scalar(scalar) => {
                let numbers = numbers(&scalar.to_array()?)?;
                Ok(PerRow::One(numbers.first().copied().unwrap_or_default()))
            }
            ColumnarValue::Array(array) => numbers(array).map(PerRow::Each),
        }
    }

    fn of(&self, row: usize) -> T {
        match self {
            PerRow::One(number) => *number,
            PerRow::Each(numbers) => numbers.get(row).copied().unwrap_or_default(),
        }
    }
}

/// A text for each row, or one for all.
struct Texts {
    texts: LargeStringArray,
    constant: bool,
}

impl Texts {
    fn new(value: &ColumnarValue) -> Result<Self> {
        let (array, constant) = match value {
            ColumnarValue::Scalar(scalar) => (scalar.to_array()?, true),
            ColumnarValue::Array(array) => (array.clone(), false),
        };
        Ok(Texts { texts: cast(&array, &DataType::LargeUtf8)?.as_string::<i64>().clone(), constant })
    }

    fn of(&self, row: usize) -> &str {
        let row = if self.constant { 0 } else { row };
        if row < self.texts.len() { self.texts.value(row) } else { "" }
    }
}

fn integers(array: &ArrayRef) -> Result<Vec<i64>> {
    let array = cast(array, &DataType::Int64)?;
    Ok(array.as_primitive::<Int64Type>().iter().map(Option::unwrap_or_default).collect())
}

/// Counts; what is negative counts nothing.
fn counts(value: &ColumnarValue) -> Result<PerRow<u64>> {
    let count = |i: i64| u64::try_from(i).unwrap_or(0);
    PerRow::new(value, |array| Ok(integers(array)?.into_iter().map(count).collect()))
}

/// The bytes of texts; of other values what one of them takes on average.
fn sizes(value: &ColumnarValue) -> Result<PerRow<u64>> {
    PerRow::new(value, |array| match array.data_type() {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
            Ok(integers(&length(array)?)?.into_iter().map(|n| u64::try_from(n).unwrap_or(0)).collect())
        }
        _ => {
            let average = array.get_array_memory_size() / array.len().max(1);
            Ok(vec![average as u64; array.len()])
        }
    })
}

/// Where a series begins or ends, or how far its steps go: integers as they are, dates and times in nanoseconds.
fn places(value: &ColumnarValue) -> Result<PerRow<i128>> {
    const DAY: i128 = 24 * 60 * 60 * 1_000_000_000;
    PerRow::new(value, |array| match array.data_type() {
        DataType::Interval(_) => {
            let steps = array.as_primitive_opt::<IntervalMonthDayNanoType>();
            let length = |step: arrow::datatypes::IntervalMonthDayNano| {
                (i128::from(step.months) * 28 + i128::from(step.days)) * DAY + i128::from(step.nanoseconds)
            };
            Ok(steps.iter().flat_map(|s| s.iter()).map(|s| s.map_or(0, length)).collect())
        }
        t if t.is_temporal() => {
            let micros = cast(array, &DataType::Timestamp(TimeUnit::Microsecond, None))?;
            Ok(integers(&micros)?.into_iter().map(|i| i128::from(i) * 1000).collect())
        }
        _ => Ok(integers(array)?.into_iter().map(i128::from).collect()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::prelude::SessionContext;

    /// Whether the query runs with a megabyte for each result.
    async fn runs(query: &str) -> bool {
        let context = SessionContext::new();
        bound(&mut *context.state_ref().write(), Some(4 << 20)).unwrap();
        let asked = async { context.sql(query).await?.collect().await };
        match asked.await {
            Ok(_) => true,
            Err(error) => {
                let error = crate::plain(&error);
                assert_eq!(error.class(), colkit::Class::Limit, "{query}: {error}");
                false
            }
        }
    }

    #[tokio::test]
    async fn results_are_bounded_before_they_are_made() {
        for fits in [
            "SELECT repeat('ab', 1000), lpad('x', 1000, 'yz'), rpad('x', 10), replace('aaa', 'a', 'bb')",
            "SELECT array_repeat(1, 1000), range(1000), generate_series(1, 1000, 2)",
            "SELECT repeat('a', value) FROM range(1000)",
            "SELECT generate_series(DATE '2020-01-01', DATE '2024-01-01', INTERVAL '1' DAY)",
            "SELECT range(10, 0, -1), range(0, 10, -1), repeat('a', -5), repeat(NULL, 3), repeat('a', NULL)",
        ] {
            assert!(runs(fits).await, "{fits}");
        }
        for too_large in [
            "SELECT repeat('a', 2000000000)",
            "SELECT repeat('a', 9223372036854775807)",
            "SELECT repeat('a', value * 1000) FROM range(1000)",
            "SELECT lpad('x', 2000000000, 'y')",
            "SELECT rpad('x', value * 1000, 'y') FROM range(1000)",
            "SELECT replace(repeat('a', 100000), 'a', repeat('b', 100000))",
            "SELECT array_repeat('abc', 2000000000)",
            "SELECT array_resize([1], 2000000000)",
            "SELECT range(2000000000)",
            "SELECT range(-9223372036854775807, 9223372036854775807)",
            "SELECT generate_series(TIMESTAMP '2020-01-01', TIMESTAMP '2024-01-01', INTERVAL '1' SECOND)",
        ] {
            assert!(!runs(too_large).await, "{too_large}");
        }
    }
}
