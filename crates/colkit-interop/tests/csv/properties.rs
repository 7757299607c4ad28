//! Random tables: what is written reads back, whatever is in the cells and wherever the pieces end.

use super::{format, in_pieces};
use arrow::array::{ArrayRef, BooleanArray, Float64Array, Int32Array, Int64Array, StringArray};
use arrow::record_batch::RecordBatch;
use bytes::Bytes;
use colkit_core::cells::parse_float;
use colkit_core::conformance::{read_all, write};
use colkit_core::{Nulls, WriteOptions};
use colkit_interop::csv::Pieces;
use colkit_interop::{CsvFormat, CsvOptions};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use std::sync::Arc;

/// Cells full of what CSV has to be careful with.
fn cell() -> impl Strategy<Value = String> {
    "([,\"\r\n;\t x0-9é\u{feff}😀]|true|nan|1e5){0,6}"
}

fn floats() -> impl Strategy<Value = f64> {
    // A NaN comes back as the one NaN there is.
    any::<u64>().prop_map(f64::from_bits).prop_map(|x| if x.is_nan() { f64::from_bits(0x7FF8 << 48) } else { x })
}

/// A table of every type that can be given, with nulls outside of text.
fn table() -> impl Strategy<Value = RecordBatch> {
    (0usize..12).prop_flat_map(|rows| {
        (
            vec(cell(), rows),
            vec(option::of(any::<i32>()), rows),
            vec(option::of(any::<i64>()), rows),
            vec(option::of(floats()), rows),
            vec(option::of(any::<bool>()), rows),
            cell(),
        )
            .prop_map(|(text, ints, longs, floats, bools, name)| {
                let columns: [(String, ArrayRef); 5] = [
                    (name, Arc::new(StringArray::from(text))),
                    ("i".into(), Arc::new(Int32Array::from(ints))),
                    ("l".into(), Arc::new(Int64Array::from(longs))),
                    ("f".into(), Arc::new(Float64Array::from(floats))),
                    ("b".into(), Arc::new(BooleanArray::from(bools))),
                ];
                RecordBatch::try_from_iter(columns).unwrap()
            })
    })
}

fn typed(batch: &RecordBatch, pieces: Pieces, delimiter: u8) -> CsvOptions {
    let schema = batch.schema().fields().iter().map(|f| (f.name().clone(), f.data_type().clone())).collect();
    CsvOptions { schema, pieces, delimiter, ..CsvOptions::default() }
}

proptest! {
    #[test]
    fn typed_tables_come_back(table in table(), chunk in 1u64..40, checkpoint in 1u64..40, tab in any::<bool>()) {
        let csv = format(typed(&table, Pieces { chunk, checkpoint }, if tab { b'\t' } else { b',' }));
        let fill = WriteOptions { nulls: Nulls::Fill, ..WriteOptions::default() };
        let (bytes, _) = write(&csv, &table, 5, &fill).unwrap();
        let read = read_all(&csv, &bytes).unwrap();
        prop_assert_eq!(read.columns(), table.columns());
    }

    #[test]
    fn text_comes_back(cells in vec(vec(cell(), 3), 0..12), width in 1usize..=3, chunk in 1u64..40) {
        let columns = (0..width).map(|c| {
            let column: ArrayRef = Arc::new(StringArray::from_iter_values(cells.iter().map(|row| &row[c])));
            (format!("c{c}"), column)
        });
        let table = RecordBatch::try_from_iter(columns).unwrap();
        let csv = format(typed(&table, Pieces { chunk, checkpoint: 9 }, b','));
        let (bytes, _) = write(&csv, &table, 5, &WriteOptions::default()).unwrap();
        let read = read_all(&csv, &bytes).unwrap();
        prop_assert_eq!(read.columns(), table.columns());
    }

    /// What inference makes of a text says the same as the text: written again it reads back the same.
    #[test]
    fn inference_is_stable(cells in vec(vec("-?[0-9]{1,12}(\\.[0-9]{1,3})?(e[0-9])?|true|FALSE|inf|nan|x?", 2), 1..8), chunk in 1u64..40) {
        let text: String = cells.iter().map(|row| format!("{},{}\n", row[0], row[1])).collect();
        let text = Bytes::from(format!("a,b\n{text}"));
        let first = read_all(&format(in_pieces(chunk, 1)), &text).unwrap();
        let csv = Arc::new(CsvFormat::default()) as Arc<dyn colkit_core::Format>;
        prop_assert_eq!(&read_all(&csv, &text).unwrap(), &first, "pieces");
        let (again, _) = write(&csv, &first, 3, &WriteOptions::default()).unwrap();
        let second = read_all(&csv, &again).unwrap();
        prop_assert_eq!(second.columns(), first.columns());
    }

    #[test]
    fn the_short_way_gives_the_nearest_value(text in "-?[0-9]{1,17}(\\.[0-9]{0,17})?") {
        let expected: f64 = text.parse().unwrap();
        prop_assert_eq!(parse_float(text.as_bytes()).map(f64::to_bits), Some(expected.to_bits()));
    }

    #[test]
    fn what_is_printed_reads_back(bits: u64) {
        let value = f64::from_bits(bits);
        prop_assume!(value.is_finite());
        prop_assert_eq!(parse_float(ryu::Buffer::new().format(value).as_bytes()).map(f64::to_bits), Some(bits));
    }
}
