//! One column of any type: what is gathered while batches go by, and what comes of it.

use super::cell::Cell;
use super::numbers::{Numbers, integers, natives};
use super::texts::{LengthCount, Texts};
use super::{ColumnStats, Count, Room, TopValues};
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Float64Type};
use colkit_core::Result;

/// What is gathered of a column.
pub(super) struct Column {
    rows: u64,
    nulls: u64,
    /// The type of the values, where the column's type only says how they are stored.
    values: DataType,
    gathered: Gathered,
}

enum Gathered {
    Integers(Numbers<i64>),
    Unsigned(Numbers<u64>),
    Floats(Numbers<f64>),
    Decimals(Numbers<i128>),
    Texts(Box<Texts>),
    Bools {
        truths: u64,
        falsehoods: u64,
    },
    Lists(LengthCount),
    /// Only nulls are counted.
    Other,
}

impl Column {
    pub fn new(field: &Field, room: Room) -> Self {
        let values = values_of(field.data_type());
        let gathered = match &values {
            DataType::UInt64 => Gathered::Unsigned(Numbers::new(room)),
            DataType::Decimal128(..) => Gathered::Decimals(Numbers::new(room)),
            DataType::Decimal32(..) | DataType::Decimal64(..) => Gathered::Integers(Numbers::new(room)),
            DataType::Interval(_) => Gathered::Other,
            t if t.is_integer() || t.is_temporal() => Gathered::Integers(Numbers::new(room)),
            t if t.is_floating() => Gathered::Floats(Numbers::new(room)),
            DataType::Boolean => Gathered::Bools { truths: 0, falsehoods: 0 },
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
                Gathered::Texts(Texts::new(room, &values).into())
            }
            DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
                Gathered::Texts(Texts::new(room, &values).into())
            }
            DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(..) | DataType::Map(..) => {
                Gathered::Lists(LengthCount::default())
            }
            _ => Gathered::Other,
        };
        Column { rows: 0, nulls: 0, values, gathered }
    }

    /// Takes the values of a batch, and the random numbers of its rows.
    pub fn add(&mut self, array: &ArrayRef, rows: &[u64]) -> Result<()> {
        let array = &if is_stored_otherwise(array.data_type()) { cast(array, &self.values)? } else { array.clone() };
        self.rows += array.len() as u64;
        self.nulls += array.logical_null_count() as u64;
        let nulls = array.nulls();
        match &mut self.gathered {
            Gathered::Integers(numbers) => {
                if let Some(values) = integers(array) {
                    numbers.add(&values, nulls, rows);
                }
            }
            Gathered::Unsigned(numbers) => {
                if let Some(values) = natives(array) {
                    numbers.add(&values, nulls, rows);
                }
            }
            Gathered::Decimals(numbers) => {
                if let Some(values) = natives(array) {
                    numbers.add(&values, nulls, rows);
                }
            }
            Gathered::Floats(numbers) => {
                let wide = cast(array, &DataType::Float64)?;
                numbers.add(wide.as_primitive::<Float64Type>().values(), nulls, rows);
            }
            Gathered::Texts(texts) => texts.add(array, rows),
            Gathered::Bools { truths, falsehoods } => {
                let array = array.as_boolean();
                *truths += array.true_count() as u64;
                *falsehoods += array.false_count() as u64;
            }
            Gathered::Lists(lengths) => {
                let length = |row: usize| match array.data_type() {
                    DataType::List(_) => u64::try_from(array.as_list::<i32>().value_length(row)).unwrap_or(0),
                    DataType::LargeList(_) => u64::try_from(array.as_list::<i64>().value_length(row)).unwrap_or(0),
                    DataType::Map(..) => u64::try_from(array.as_map().value_length(row)).unwrap_or(0),
                    DataType::FixedSizeList(_, n) => u64::try_from(*n).unwrap_or(0),
                    _ => 0,
                };
                lengths.add((0..array.len()).filter(|row| array.is_valid(*row)).map(length));
            }
            Gathered::Other => {}
        }
        Ok(())
    }

    /// Takes what was gathered of other rows of the same column.
    pub fn merge(&mut self, other: Column) {
        self.rows += other.rows;
        self.nulls += other.nulls;
        match (&mut self.gathered, other.gathered) {
            (Gathered::Integers(a), Gathered::Integers(b)) => a.merge(b),
            (Gathered::Unsigned(a), Gathered::Unsigned(b)) => a.merge(b),
            (Gathered::Floats(a), Gathered::Floats(b)) => a.merge(b),
            (Gathered::Decimals(a), Gathered::Decimals(b)) => a.merge(b),
            (Gathered::Texts(a), Gathered::Texts(b)) => a.merge(*b),
            (Gathered::Lists(a), Gathered::Lists(b)) => a.merge(&b),
            (
                Gathered::Bools { truths, falsehoods },
                Gathered::Bools { truths: more_truths, falsehoods: more_falsehoods },
            ) => {
                *truths += more_truths;
                *falsehoods += more_falsehoods;
            }
            _ => {}
        }
    }

    pub fn finish(self, stats: &mut ColumnStats) {
        stats.rows = self.rows;
        stats.nulls = Some(self.nulls);
        let stored = std::mem::replace(&mut stats.data_type, self.values);
        match self.gathered {
            Gathered::Integers(numbers) => numbers.finish(stats),
            Gathered::Unsigned(numbers) => numbers.finish(stats),
            Gathered::Floats(numbers) => numbers.finish(stats),
            Gathered::Decimals(numbers) => numbers.finish(stats),
            Gathered::Texts(texts) => texts.finish(stats),
            Gathered::Lists(lengths) => stats.lengths = lengths.finish(),
            Gathered::Bools { truths, falsehoods } => bools(truths, falsehoods, stats),
            Gathered::Other => {}
        }
        stats.data_type = stored;
    }
}

fn bools(truths: u64, falsehoods: u64, stats: &mut ColumnStats) {
    let mut values: Vec<(bool, u64)> = [(false, falsehoods), (true, truths)].into_iter().filter(|v| v.1 > 0).collect();
    stats.distinct = Some(Count::exact(values.len() as u64));
    stats.min = values.first().map(|(value, _)| Cell::of_bool(*value));
    stats.max = values.last().map(|(value, _)| Cell::of_bool(*value));
    values.sort_by_key(|(_, number)| std::cmp::Reverse(*number));
    let values = values.into_iter().map(|(value, number)| (Cell::of_bool(value), number)).collect();
    stats.top = Some(TopValues { exact: true, values });
}

/// Dictionaries and runs are ways to store values of another type.
fn values_of(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Dictionary(_, values) => values_of(values),
        DataType::RunEndEncoded(_, values) => values_of(values.data_type()),
        other => other.clone(),
    }
}

fn is_stored_otherwise(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Dictionary(..) | DataType::RunEndEncoded(..))
}
