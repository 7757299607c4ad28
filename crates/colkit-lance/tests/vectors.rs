//! Every vector equals the table that goes with it, and obeys the laws of reading.

use arrow::array::{Array, ArrayRef, AsArray, StructArray, make_array};
use arrow::compute::{cast, concat_batches};
use arrow::datatypes::{DataType, Field, FieldRef, Fields};
use arrow::ipc::reader::FileReader;
use arrow::record_batch::RecordBatch;
use bytes::Bytes;
use colkit_core::conformance::{self, Laws};
use colkit_core::{ColumnRef, Format, Projection, ReadOptions, Result, Scan, TableFile};
use colkit_lance::Lance;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(crate) fn lance() -> Arc<dyn Format> {
    Arc::new(Lance::new())
}

pub(crate) fn folder(version: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(version)
}

/// The names of all vectors of a folder.
pub(crate) fn names(version: &str) -> Vec<String> {
    let files = std::fs::read_dir(folder(version)).unwrap().map(|f| f.unwrap().path());
    let lance = files.filter(|p| p.extension().is_some_and(|e| e == "lance"));
    let mut names: Vec<String> = lance.map(|p| p.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    names.sort();
    names
}

pub(crate) fn bytes(version: &str, name: &str) -> Bytes {
    std::fs::read(folder(version).join(format!("{name}.lance"))).unwrap().into()
}

pub(crate) fn expected(version: &str, name: &str) -> RecordBatch {
    let file = std::fs::File::open(folder(version).join(format!("{name}.arrow"))).unwrap();
    let reader = FileReader::try_new(file, None).unwrap();
    let schema = reader.schema();
    let batches: Vec<RecordBatch> = reader.map(std::result::Result::unwrap).collect();
    concat_batches(&schema, &batches).unwrap()
}

/// The same values with dictionaries decoded: their contents are not part of what a table says.
fn plain_type(data_type: &DataType) -> DataType {
    let plain = |f: &FieldRef| -> FieldRef { Arc::new(Field::new(f.name(), plain_type(f.data_type()), true)) };
    match data_type {
        DataType::Dictionary(_, value) => plain_type(value),
        DataType::List(f) => DataType::List(plain(f)),
        DataType::LargeList(f) => DataType::LargeList(plain(f)),
        DataType::FixedSizeList(f, n) => DataType::FixedSizeList(plain(f), *n),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(plain).collect::<Fields>()),
        other => other.clone(),
    }
}

/// Values without what lies under nulls.
fn plain(array: &ArrayRef) -> ArrayRef {
    match array.data_type() {
        DataType::Struct(fields) if fields.is_empty() => array.clone(),
        DataType::Struct(_) => {
            let parts = array.as_struct();
            let columns: Vec<ArrayRef> = parts.columns().iter().map(plain).collect();
            let fields: Fields = parts
                .fields()
                .iter()
                .zip(&columns)
                .map(|(f, c)| Field::new(f.name(), c.data_type().clone(), true))
                .collect();
            Arc::new(StructArray::new(fields, columns, parts.nulls().cloned()))
        }
        other => {
            let target = plain_type(other);
            if &target == other { make_array(array.to_data()) } else { cast(array, &target).unwrap() }
        }
    }
}

#[track_caller]
pub(crate) fn same(read: &RecordBatch, expected: &RecordBatch, name: &str) {
    assert_eq!(read.num_rows(), expected.num_rows(), "{name}: rows");
    assert_eq!(read.num_columns(), expected.num_columns(), "{name}: columns");
    for ((found, wanted), field) in read.columns().iter().zip(expected.columns()).zip(expected.schema().fields()) {
        assert_eq!(&plain(found), &plain(wanted), "{name}: column {field}");
    }
    for (found, wanted) in read.schema().fields().iter().zip(expected.schema().fields()) {
        assert_eq!(found.name(), wanted.name(), "{name}");
        assert_eq!(found.data_type(), wanted.data_type(), "{name}: {}", wanted.name());
        assert_eq!(found.is_nullable(), wanted.is_nullable(), "{name}: {}", wanted.name());
        assert_eq!(found.metadata(), wanted.metadata(), "{name}: {}", wanted.name());
    }
}

fn check(version: &str, count: usize) {
    assert_eq!(names(version).len(), count, "vectors of {version}");
    let mut failed = Vec::new();
    for name in names(version) {
        let result = std::panic::catch_unwind(|| {
            let bytes = bytes(version, &name);
            same(&conformance::read_all(&lance(), &bytes).unwrap(), &expected(version, &name), &name);
            conformance::reads(&lance(), &bytes, Laws { columns_apart: true });
        });
        if result.is_err() {
            failed.push(name);
        }
    }
    assert!(failed.is_empty(), "{} vectors failed: {failed:?}", failed.len());
}

#[test]
fn every_2_0_vector() {
    check("v2_0", 106);
}

#[test]
fn every_2_1_vector() {
    check("v2_1", 98);
}

#[test]
fn every_other_vector() {
    check("more", 3);
}

/// Parts of nested columns: what is left of a struct is what the whole column has there.
#[test]
fn parts_of_structs() {
    let cases = [
        ("v2_0", "struct_nested", vec![0], vec![vec![1, 1, 0]]),
        ("v2_0", "struct_example", vec![0], vec![vec![1]]),
        ("v2_0", "packed_struct", vec![0], vec![vec![1]]),
        ("v2_1", "struct_struct", vec![0], vec![vec![0, 0]]),
        ("v2_1", "struct_list", vec![0], vec![vec![1]]),
        ("v2_1", "ex_struct_nulls", vec![0], vec![vec![0]]),
        ("v2_1", "packed_struct_nulls", vec![0], vec![vec![1]]),
        ("v2_1", "v22_packed_var", vec![0], vec![vec![2]]),
        ("v2_1", "list_struct", vec![0], vec![vec![0, 1]]),
    ];
    for (version, name, columns, within) in cases {
        let file = TableFile::open(lance(), Arc::new(bytes(version, name)), &ReadOptions::default()).unwrap();
        let parts = |index: usize| ColumnRef { index, within: within.clone() };
        let projection = Projection::parts(columns.iter().copied().map(parts).collect());
        let schema = projection.schema(&file.schema()).unwrap();
        let batches = file.scan(&Scan::of(projection.clone())).unwrap().map(Result::unwrap).collect::<Vec<_>>();
        let read = concat_batches(&schema, &batches).unwrap();
        let whole = conformance::read_all(&lance(), &bytes(version, name)).unwrap();
        let expected = keep(whole.column(0), &within[0]);
        assert_eq!(&keep(read.column(0), &vec![0; within[0].len()]), &expected, "{name}");
        let rows: Vec<u64> = (0..file.row_count()).rev().collect();
        let taken = file.take(&rows, &projection).unwrap();
        let order = arrow::array::UInt64Array::from(rows);
        assert_eq!(taken.column(0), &arrow::compute::take(read.column(0), &order, None).unwrap(), "{name}: take");
    }
}

/// The part of a nested array at the end of a path, without what lies under nulls.
fn keep(array: &ArrayRef, path: &[usize]) -> ArrayRef {
    let Some((first, rest)) = path.split_first() else { return array.clone() };
    match array.data_type() {
        DataType::Struct(_) => keep(array.as_struct().column(*first), rest),
        DataType::List(_) => keep(array.as_list::<i32>().values(), rest),
        other => panic!("{other}"),
    }
}
