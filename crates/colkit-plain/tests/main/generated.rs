//! Random tables survive, whatever their shape.

use crate::{COLUMNS_APART, formats};
use arrow::array::{ArrayRef, BooleanArray, Float64Array, Int32Array, StringArray};
use arrow::record_batch::RecordBatch;
use colkit_core::conformance;
use proptest::prelude::*;
use std::sync::Arc;

fn column(rows: usize, booleans: bool) -> impl Strategy<Value = ArrayRef> {
    let float = any::<u64>().prop_map(f64::from_bits);
    let text = prop_oneof![3 => "[a-c]{0,3}", 1 => "\\PC{0,40}"];
    prop_oneof![
        prop::collection::vec(any::<i32>(), rows).prop_map(|v| Arc::new(Int32Array::from(v)) as ArrayRef),
        prop::collection::vec(float, rows).prop_map(|v| Arc::new(Float64Array::from(v)) as ArrayRef),
        prop::collection::vec(text, rows).prop_map(|v| Arc::new(StringArray::from(v)) as ArrayRef),
        prop::collection::vec(any::<bool>(), rows).prop_map(move |v| if booleans {
            Arc::new(BooleanArray::from(v)) as ArrayRef
        } else {
            Arc::new(Int32Array::from_iter_values(v.into_iter().map(i32::from)))
        }),
    ]
}

fn table(booleans: bool) -> impl Strategy<Value = RecordBatch> {
    (0usize..60).prop_flat_map(move |rows| prop::collection::vec(column(rows, booleans), 1..6)).prop_map(|columns| {
        let named = columns.into_iter().enumerate().map(|(i, c)| (format!("column {i}"), c, false));
        RecordBatch::try_from_iter_with_nullable(named).unwrap()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn tables_come_back(with_booleans in table(true), without in table(false)) {
        for format in formats() {
            let batch = if format.stores(&arrow::datatypes::DataType::Boolean) { &with_booleans } else { &without };
            conformance::round_trip(&format, batch, COLUMNS_APART);
        }
    }
}
