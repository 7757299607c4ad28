//! What is written comes back.

use crate::random::Random;
use crate::vectors::{expected, lance, names, same};
use arrow::array::*;
use arrow::datatypes::*;
use arrow::record_batch::RecordBatch;
use colkit_core::conformance::{self, Laws};
use colkit_core::{Format, Types, WriteOptions};
use colkit_lance::{Lance, Prefer};
use std::sync::Arc;

const LAWS: Laws = Laws { columns_apart: true };

/// Writes a table in pieces and compares what is read.
fn comes_back(format: &Arc<dyn Format>, batch: &RecordBatch, piece: usize, name: &str) {
    let options = WriteOptions { memory: 1 << 20, ..WriteOptions::default() };
    let (bytes, _) = conformance::write(format, batch, piece, &options).unwrap_or_else(|e| panic!("{name}: {e}"));
    same(&conformance::read_all(format, &bytes).unwrap_or_else(|e| panic!("{name}: {e}")), batch, name);
}

#[test]
fn every_vectors_table() {
    let mut refused = Vec::new();
    for version in ["v2_0", "v2_1"] {
        for name in names(version) {
            let batch = expected(version, &name);
            match conformance::write(&lance(), &batch, usize::MAX, &WriteOptions::default()) {
                Ok((bytes, _)) => {
                    same(&conformance::read_all(&lance(), &bytes).unwrap(), &batch, &name);
                    comes_back(&lance(), &batch, 100, &name);
                }
                Err(e) => {
                    assert_eq!(e.code(), "type_not_supported", "{name}: {e}");
                    refused.push(name);
                }
            }
        }
    }
    for name in &refused {
        let known = ["map", "blob", "packed", "fsl_struct", "fixed_size_list_struct", "fsl_of_struct", "empty"];
        assert!(known.iter().any(|k| name.contains(k)), "{name} is refused; all refused: {refused:?}");
    }
}

#[test]
fn random_tables() {
    for seed in 0..40 {
        let mut random = Random(seed);
        let batch = random.table();
        let name = format!("seed {seed}: {:?}", batch.schema().fields());
        for prefer in [Prefer::Size, Prefer::Speed, Prefer::RandomAccess] {
            let format: Arc<dyn Format> = Arc::new(Lance::new().preferring(prefer));
            comes_back(&format, &batch, [usize::MAX, 700, 64][random.below(3)], &name);
        }
    }
}

#[test]
fn the_laws_hold() {
    for seed in [1, 5, 9, 14, 22, 31] {
        let batch = Random(1000 + seed).table();
        conformance::round_trip(&lance(), &batch, LAWS);
    }
}

#[test]
fn vectors_wide_texts_and_empty_tables() {
    let mut random = Random(7);
    let item = Arc::new(Field::new("item", DataType::Float32, true));
    let vector = DataType::FixedSizeList(item, 768);
    let texts = DataType::Struct(vec![Field::new("t", DataType::Utf8, true)].into());
    let fields = vec![Field::new("v", vector.clone(), true), Field::new("s", texts.clone(), true)];
    let schema: SchemaRef = Arc::new(Schema::new(fields));
    let long: StringArray = (0..600).map(|i| (i % 7 > 0).then(|| format!("{i} ").repeat(i * 3))).collect();
    let structs = StructArray::new(
        vec![Field::new("t", DataType::Utf8, true)].into(),
        vec![Arc::new(long)],
        Some((0..600).map(|i| i % 5 > 0).collect::<Vec<bool>>().into()),
    );
    let batch = RecordBatch::try_new(schema.clone(), vec![random.array(&vector, 600, 10), Arc::new(structs)]).unwrap();
    conformance::round_trip(&lance(), &batch, LAWS);
    conformance::round_trip(&lance(), &RecordBatch::new_empty(schema), LAWS);
}

#[test]
fn many_empty_lists_between_two_values() {
    let mut lists = ListBuilder::new(BooleanBuilder::new());
    for row in 0..200_000 {
        if row % 150_000 == 7 {
            lists.values().append_value(true);
        }
        lists.append(row % 3 > 0 || row % 150_000 == 7);
    }
    let batch = RecordBatch::try_from_iter([("l", Arc::new(lists.finish()) as ArrayRef)]).unwrap();
    comes_back(&lance(), &batch, usize::MAX, "sparse lists");
}

#[test]
fn types_that_the_file_lacks() {
    let views: ArrayRef = Arc::new(StringViewArray::from_iter([Some("a"), None, Some("longer than twelve bytes")]));
    let batch = RecordBatch::try_from_iter([("v", views)]).unwrap();
    let write = |types| conformance::write(&lance(), &batch, 2, &WriteOptions { types, ..WriteOptions::default() });
    let error = write(Types::Refuse).unwrap_err();
    assert_eq!((error.code(), error.part_name()), ("type_not_supported", Some("column 0 \"v\"")));
    let (bytes, summary) = write(Types::Exact).unwrap();
    assert_eq!(summary.notes.len(), 1);
    let read = conformance::read_all(&lance(), &bytes).unwrap();
    assert_eq!(read.column(0).as_string::<i32>().iter().collect::<Vec<_>>()[2], Some("longer than twelve bytes"));

    let interval: ArrayRef = Arc::new(IntervalYearMonthArray::from(vec![1]));
    let batch = RecordBatch::try_from_iter([("i", interval)]).unwrap();
    let options = WriteOptions { types: Types::Lossy, ..WriteOptions::default() };
    assert_eq!(conformance::write(&lance(), &batch, 1, &options).unwrap_err().code(), "type_not_supported");
}

#[test]
fn what_lies_under_nulls_is_not_written() {
    let nulls = arrow::buffer::NullBuffer::from(vec![true, false, true]);
    let number =
        |hidden: i32| -> ArrayRef { Arc::new(Int32Array::new(vec![1, hidden, 3].into(), Some(nulls.clone()))) };
    let file = |hidden| {
        let batch = RecordBatch::try_from_iter([("n", number(hidden))]).unwrap();
        conformance::write(&lance(), &batch, 3, &WriteOptions::default()).unwrap().0
    };
    assert_eq!(file(77), file(1234));
}
