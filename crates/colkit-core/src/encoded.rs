//! Columns in their encoded form: the values that occur, and which of them each row has.
//!
//! | form | values | rows |
//! |---|---|---|
//! | dictionary | each once | keys |
//! | runs | one for each run, possibly as a dictionary | where runs end |
//!
//! A predicate on one column is evaluated once per value, and rows get the result of theirs. Only rows that pass are decoded
//! to values.

use crate::{Error, Result};
use arrow::array::{
    AnyDictionaryArray, Array, ArrayRef, AsArray, BooleanArray, BooleanBufferBuilder, RunArray, UInt32Array,
    new_null_array,
};
use arrow::buffer::BooleanBuffer;
use arrow::compute::{FilterBuilder, FilterPredicate, concat, take};
use arrow::datatypes::{
    ArrowDictionaryKeyType, DataType, FieldRef, Int32Type, Schema, UInt8Type, UInt16Type, UInt32Type,
};
use arrow::record_batch::RecordBatch;
use std::sync::Arc;

/// What stands for a column of another type.
enum Encoded<'a> {
    Dictionary(&'a dyn AnyDictionaryArray),
    Runs(&'a RunArray<Int32Type>),
}

impl<'a> Encoded<'a> {
    /// `None` if the array is what its type says.
    fn of(array: &'a ArrayRef, data_type: &DataType) -> Option<Self> {
        if array.data_type() == data_type {
            return None;
        }
        match array.as_run_opt() {
            Some(runs) => Some(Encoded::Runs(runs)),
            None => {
                let dictionary = array.as_any_dictionary_opt().filter(|d| d.values().data_type() == data_type);
                dictionary.map(Encoded::Dictionary)
            }
        }
    }
}

/// The column as its type says.
pub(crate) fn decoded(array: ArrayRef, data_type: &DataType) -> Result<ArrayRef> {
    match Encoded::of(&array, data_type) {
        None => Ok(array),
        Some(Encoded::Dictionary(dictionary)) => Ok(take(dictionary.values(), dictionary.keys(), None)?),
        Some(Encoded::Runs(runs)) => rows_of_runs(runs, std::iter::once((0, runs.len())), data_type),
    }
}

/// Where the runs of a slice end, counted from its start.
fn run_end(runs: &RunArray<Int32Type>) -> impl Fn(usize) -> usize {
    let (ends, first) = (runs.run_ends(), runs.get_start_physical_index());
    let end = move |run: usize| ends.values().get(first + run).and_then(|end| usize::try_from(*end).ok());
    move |run| end(run).map_or(ends.len(), |end| end.saturating_sub(ends.offset()).min(ends.len()))
}

/// Rows of a column of runs, given as ranges, as its type says.
fn rows_of_runs(
    runs: &RunArray<Int32Type>,
    rows: impl Iterator<Item = (usize, usize)>,
    data_type: &DataType,
) -> Result<ArrayRef> {
    let end_of = run_end(runs);
    let (mut run, mut end, mut number) = (0, end_of(0), 0u32);
    let mut numbers: Vec<u32> = Vec::new();
    for (mut at, to) in rows {
        while at < to {
            while end <= at {
                (run, number) = (run + 1, number + 1);
                end = end_of(run);
            }
            let upto = end.min(to);
            numbers.extend(std::iter::repeat_n(number, upto - at));
            at = upto;
        }
    }
    decoded(take(&runs.values_slice(), &UInt32Array::from(numbers), None)?, data_type)
}

/// For each row whether it is wanted, decided once for each value if `array` is an encoded form of a column of `data_type`. `None` if it
/// is not, or a dictionary of more values than rows.
///
/// `keep` may fail for values that no row has, for example because an expression cannot convert them. That says nothing
/// about the rows, so that it is `None` too.
pub(crate) fn decided_by_value(
    array: &ArrayRef,
    data_type: &DataType,
    keep: &dyn Fn(ArrayRef) -> Result<BooleanArray>,
) -> Result<Option<BooleanArray>> {
    let bits = match Encoded::of(array, data_type) {
        None => None,
        Some(Encoded::Dictionary(dictionary)) => {
            if dictionary.values().len() > dictionary.keys().len() {
                return Ok(None);
            }
            // Null is a value like others here, the last one.
            let null = new_null_array(data_type, 1);
            let Ok(answers) = keep(concat(&[dictionary.values(), &null])?) else { return Ok(None) };
            let answers: Vec<bool> = answers.iter().map(|answer| answer == Some(true)).collect();
            match dictionary.keys().data_type() {
                DataType::UInt8 => rows_by_key::<UInt8Type>(array, &answers),
                DataType::UInt16 => rows_by_key::<UInt16Type>(array, &answers),
                DataType::UInt32 => rows_by_key::<UInt32Type>(array, &answers),
                _ => None,
            }
        }
        Some(Encoded::Runs(runs)) => {
            let values = runs.values_slice();
            let answers = match decided_by_value(&values, data_type, keep)? {
                Some(answers) => answers,
                None => match keep(decoded(values, data_type)?) {
                    Ok(answers) => answers,
                    Err(_) => return Ok(None),
                },
            };
            Some(rows_by_run(runs, &is_true(&answers)))
        }
    };
    Ok(bits.map(|bits| BooleanArray::new(bits, None)))
}

/// Unknown is not true.
fn is_true(answers: &BooleanArray) -> BooleanBuffer {
    match answers.nulls() {
        Some(nulls) => answers.values() & nulls.inner(),
        None => answers.values().clone(),
    }
}

/// The answers of rows, given those of keys; the last is that of null.
fn rows_by_key<K: ArrowDictionaryKeyType>(array: &ArrayRef, answers: &[bool]) -> Option<BooleanBuffer>
where
    K::Native: TryInto<usize>,
{
    let keys = array.as_dictionary_opt::<K>()?.keys();
    let answer = |key: K::Native| key.try_into().ok().and_then(|key: usize| answers.get(key)).copied();
    let of_null = answers.last().copied().unwrap_or(false);
    let values = keys.values();
    let at = |i: usize| values.get(i).and_then(|key| answer(*key)).unwrap_or(false);
    Some(match keys.nulls() {
        None => BooleanBuffer::collect_bool(keys.len(), at),
        Some(nulls) => BooleanBuffer::collect_bool(keys.len(), |i| if nulls.is_null(i) { of_null } else { at(i) }),
    })
}

/// The answers of rows, given those of runs. What that takes depends on how often the answer changes, not on the rows.
fn rows_by_run(runs: &RunArray<Int32Type>, answers: &BooleanBuffer) -> BooleanBuffer {
    let end_of = run_end(runs);
    let mut rows = BooleanBufferBuilder::new(runs.len());
    for (first, after) in answers.set_slices() {
        let start = if first == 0 { 0 } else { end_of(first - 1) };
        rows.append_n(start - rows.len(), false);
        rows.append_n(end_of(after - 1) - start, true);
    }
    rows.append_n(runs.len() - rows.len(), false);
    rows.finish()
}

/// The rows for which a mask without nulls is true.
pub(crate) struct Kept<'a> {
    mask: &'a BooleanArray,
    filter: FilterPredicate,
}

impl<'a> Kept<'a> {
    /// For these columns.
    pub fn new(mask: &'a BooleanArray, columns: &[ArrayRef]) -> Self {
        let several = columns.len() > 1;
        let filter = FilterBuilder::new(mask);
        let worth_it = several || columns.iter().any(|c| FilterBuilder::is_optimize_beneficial(c.data_type()));
        Kept { mask, filter: if worth_it { filter.optimize() } else { filter }.build() }
    }

    /// Their rows of one column, as its type says.
    pub fn rows_of(&self, array: &ArrayRef, data_type: &DataType) -> Result<ArrayRef> {
        match Encoded::of(array, data_type) {
            Some(Encoded::Runs(runs)) => rows_of_runs(runs, self.mask.values().set_slices(), data_type),
            _ => decoded(self.filter.filter(array)?, data_type),
        }
    }

    /// How many.
    pub fn count(&self) -> usize {
        self.filter.count()
    }
}

/// Columns that may be encoded, as a batch: its schema says what they came as.
pub(crate) fn batch_as_stored(fields: &[FieldRef], columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
    if fields.len() != columns.len() {
        return Err(Error::internal("a column of the projection belongs to no lane"));
    }
    let field = |(field, array): (&FieldRef, &ArrayRef)| match field.data_type() == array.data_type() {
        true => field.clone(),
        false => Arc::new(field.as_ref().clone().with_data_type(array.data_type().clone())),
    };
    let fields: Vec<FieldRef> = fields.iter().zip(&columns).map(field).collect();
    crate::plan::batch_of(&Arc::new(Schema::new(fields)), columns, rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{DictionaryArray, Int32Array, Int64Array, StringArray, UInt8Array};

    fn texts(keys: Vec<Option<u8>>) -> ArrayRef {
        let values = Arc::new(StringArray::from(vec!["a", "7", "b"]));
        Arc::new(DictionaryArray::new(UInt8Array::from(keys), values))
    }

    #[test]
    fn each_value_is_decided_once() {
        let array = texts(vec![Some(0), None, Some(2), Some(1), Some(0)]);
        let is_a = |values: ArrayRef| {
            assert_eq!(values.len(), 4, "three values and null");
            let values = values.as_string::<i32>();
            Ok(values.iter().map(|v| v.map(|v| v == "a")).collect())
        };
        let mask = decided_by_value(&array, &DataType::Utf8, &is_a).unwrap().unwrap();
        assert_eq!(mask, BooleanArray::from(vec![true, false, false, false, true]));
        let is_null = |values: ArrayRef| Ok(arrow::compute::is_null(&values)?);
        let mask = decided_by_value(&array, &DataType::Utf8, &is_null).unwrap().unwrap();
        assert_eq!(mask, BooleanArray::from(vec![false, true, false, false, false]));
        let plain = decoded(array, &DataType::Utf8).unwrap();
        assert_eq!(
            plain.as_string::<i32>(),
            &StringArray::from(vec![Some("a"), None, Some("b"), Some("7"), Some("a")])
        );
    }

    #[test]
    fn each_run_is_decided_once() {
        let lengths = [1, 3, 100, 2, 64, 1, 1, 30];
        let ends: Int32Array = lengths.iter().scan(0, |end, n| Some(*end + n).inspect(|e| *end = *e)).collect();
        let numbers: ArrayRef =
            Arc::new(Int64Array::from(vec![Some(5), None, Some(1), Some(1), Some(9), None, Some(3), Some(5)]));
        let words = texts([0u8, 1, 2, 2, 0, 1, 1, 0].iter().enumerate().map(|(i, k)| (i != 5).then_some(*k)).collect());
        for (values, data_type) in [(numbers, DataType::Int64), (words, DataType::Utf8)] {
            let all: ArrayRef = Arc::new(RunArray::try_new(&ends, &values).unwrap());
            let by_row: Vec<u32> = (0u32..).zip(lengths).flat_map(|(i, n)| (0..n).map(move |_| i)).collect();
            let values = decoded(values, &data_type).unwrap();
            let plain = take(&values, &UInt32Array::from(by_row), None).unwrap();
            for (from, length) in [(0, plain.len()), (0, 1), (2, 5), (4, 100), (50, 120), (104, 2), (201, 1), (7, 0)] {
                let (array, plain) = (all.slice(from, length), plain.slice(from, length));
                assert_eq!(&decoded(array.clone(), &data_type).unwrap(), &plain, "{from} {length}");
                for wanted in 0..=values.len() {
                    let is_wanted = |values: ArrayRef| -> Result<BooleanArray> {
                        assert!(values.len() <= lengths.len());
                        equal(&values, wanted)
                    };
                    fn equal(values: &ArrayRef, wanted: usize) -> Result<BooleanArray> {
                        // One more than there are values: those that are null.
                        Ok(match values.as_primitive_opt::<arrow::datatypes::Int64Type>() {
                            _ if wanted == 8 => arrow::compute::is_null(values)?,
                            Some(numbers) => {
                                numbers.iter().map(|n| Some(n? > i64::try_from(wanted).unwrap())).collect()
                            }
                            None => {
                                values.as_string::<i32>().iter().map(|v| Some((v? == "a") == (wanted < 4))).collect()
                            }
                        })
                    }
                    let expected = BooleanArray::new(is_true(&equal(&plain, wanted).unwrap()), None);
                    let mask = decided_by_value(&array, &data_type, &is_wanted).unwrap().unwrap();
                    assert_eq!(mask, expected, "{from} {length} {wanted}");
                    let kept = Kept::new(&mask, std::slice::from_ref(&array));
                    let rows = kept.rows_of(&array, &data_type).unwrap();
                    assert_eq!(&rows, &arrow::compute::filter(&plain, &expected).unwrap());
                    assert_eq!(rows.len(), kept.count());
                }
            }
        }
    }

    #[test]
    fn what_is_no_dictionary_or_fails_is_left_to_rows() {
        let all = |values: ArrayRef| Ok(BooleanArray::from(vec![true; values.len()]));
        let fails = |_: ArrayRef| Err(Error::request("type_mismatch", "not a number: \"a\""));
        let many = texts(vec![Some(1); 3]);
        assert!(decided_by_value(&many, &DataType::Utf8, &all).unwrap().is_some());
        assert!(decided_by_value(&many, &DataType::Utf8, &fails).unwrap().is_none());
        assert!(decided_by_value(&texts(vec![Some(1)]), &DataType::Utf8, &all).unwrap().is_none(), "fewer rows");
        let own = many.data_type().clone();
        assert!(decided_by_value(&many, &own, &all).unwrap().is_none(), "the column's own type");
        assert!(decided_by_value(&many, &DataType::Int32, &all).unwrap().is_none());
    }
}
