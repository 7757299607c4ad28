//! Zone maps, block ranges and answers, as the `.query.json` files beside the conformance files say.

use crate::tables::{at1, file};
use crate::vectors::data;
use arrow::array::AsArray;
use arrow::compute::concat_batches;
use arrow::datatypes::{DataType, Float64Type, Int64Type};
use bytes::Bytes;
use colkit_core::drive::blocking;
use colkit_core::{
    ByteRange, Counting, Op, Predicate, Projection, ReadOptions, RegionKind, Result, Scan, TableFile, Value,
};
use serde_json::Value as Json;
use std::sync::Arc;

fn open(bytes: &Bytes) -> TableFile {
    TableFile::open(at1(), Arc::new(bytes.clone()), &ReadOptions::default()).unwrap()
}

fn number(json: &Json) -> Value {
    match json.as_i64() {
        Some(i) => Value::Int(i.into()),
        None => Value::Float(json.as_f64().unwrap()),
    }
}

fn range(block: &Json) -> ByteRange {
    let (start, length) = (block["file_offset"].as_u64().unwrap(), block["length"].as_u64().unwrap());
    ByteRange::between(start, start + length)
}

#[test]
fn ranges_maps_and_answers() {
    let mut seen = 0;
    for entry in std::fs::read_dir(data()).unwrap() {
        let path = entry.unwrap().path();
        let Some(name) = path.file_name().unwrap().to_str().unwrap().strip_suffix(".query.json") else { continue };
        seen += 1;
        let expected: Json = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let bytes = file(name);
        let table = open(&bytes);
        check_columns(name, &table, &expected);
        check_blocks(name, &table, &expected);
        for query in expected["queries"].as_array().unwrap() {
            check_query(name, &bytes, &expected, query);
        }
    }
    assert_eq!(seen, 9);
}

fn check_columns(name: &str, table: &TableFile, expected: &Json) {
    let schema = table.schema();
    if let Some(names) = expected["columns"].as_array() {
        for (field, expected) in schema.fields().iter().zip(names) {
            assert_eq!(field.name(), expected.as_str().unwrap(), "{name}");
        }
    }
    for (field, kind) in schema.fields().iter().zip(expected["types"].as_array().unwrap()) {
        let data_type = match kind.as_u64().unwrap() {
            0 => DataType::Utf8,
            1 => DataType::Int64,
            _ => DataType::Float64,
        };
        assert_eq!(field.data_type(), &data_type, "{name}: {}", field.name());
    }
}

fn check_blocks(name: &str, table: &TableFile, expected: &Json) {
    let layout = table.layout().unwrap();
    let blocks: Vec<(ByteRange, usize)> =
        layout.regions.iter().filter(|r| r.kind == RegionKind::Data).map(|r| (r.range, r.column.unwrap())).collect();
    let groups = expected["groups"].as_array().unwrap();
    let wanted: Vec<(ByteRange, usize)> = groups
        .iter()
        .flat_map(|g| g["blocks"].as_array().unwrap().iter().enumerate().map(|(c, b)| (range(b), c)))
        .collect();
    assert_eq!(blocks, wanted, "{name}");
    // Each numeric column's statistics are the union of its zone maps.
    for (column, statistics) in table.table().statistics().iter().enumerate() {
        let zones: Vec<(&Json, &Json)> = groups
            .iter()
            .filter_map(|g| g["blocks"].get(column))
            .filter(|b| b.get("zmin").is_some())
            .map(|b| (&b["zmin"], &b["zmax"]))
            .collect();
        let min = zones.iter().map(|z| number(z.0)).reduce(|a, b| if b.compare(&a).unwrap().is_lt() { b } else { a });
        let max = zones.iter().map(|z| number(z.1)).reduce(|a, b| if b.compare(&a).unwrap().is_gt() { b } else { a });
        let same = |a: &Option<Value>, b: &Option<Value>| match (a, b) {
            (Some(a), Some(b)) => a.compare(b).is_some_and(|o| o.is_eq()),
            (None, None) => true,
            _ => false,
        };
        assert!(same(&statistics.min, &min) && same(&statistics.max, &max), "{name} column {column}: {statistics:?}");
    }
}

fn check_query(name: &str, bytes: &Bytes, expected: &Json, query: &Json) {
    let column = query["column"].as_u64().unwrap() as usize;
    let low = Predicate::compare(column, Op::Ge, number(&query["lo"]));
    let high = Predicate::compare(column, Op::Le, number(&query["hi"]));
    let source = Arc::new(Counting::remembering(bytes.clone()));
    let table = TableFile::open(at1(), source.clone(), &ReadOptions::default()).unwrap();
    let predicate = Predicate::And(vec![low, high]).bind(&table.schema()).unwrap();
    let scan =
        Scan { projection: Projection::columns([column]), predicate: Some(predicate.clone()), ..Scan::default() };
    let opened = source.ranges().len();
    let rows = table.scan(&scan).unwrap().collect::<Result<Vec<_>>>().unwrap();

    // Exactly the blocks of the surviving groups were read.
    let groups = expected["groups"].as_array().unwrap();
    let mut wanted: Vec<ByteRange> = query["groups_read"]
        .as_array()
        .unwrap()
        .iter()
        .map(|g| range(&groups[g.as_u64().unwrap() as usize]["blocks"][column]))
        .collect();
    wanted.sort_unstable();
    let read = colkit_core::coalesce(&source.ranges()[opened..], 0);
    assert_eq!(read, colkit_core::coalesce(&wanted, 0), "{name}: {predicate:?}");

    // The matching lines: read everything and look which rows match.
    let lines: Vec<u64> = query["matching_lines"].as_array().unwrap().iter().map(|l| l.as_u64().unwrap()).collect();
    assert_eq!(rows.iter().map(|b| b.num_rows()).sum::<usize>(), lines.len(), "{name}: {predicate:?}");
    let header = table.table().properties().iter().any(|p| p == &("header_lines", "1".to_string()));
    let rows_at: Vec<u64> = lines.iter().map(|l| l - u64::from(header)).collect();
    let taken = table.take(&rows_at, &Projection::columns([column])).unwrap();
    if !rows.is_empty() {
        assert_eq!(concat_batches(&rows[0].schema(), &rows).unwrap(), taken, "{name}: {predicate:?}");
    }
    let in_range = |v: Value| {
        v.compare(&number(&query["lo"])).is_some_and(|o| o.is_ge())
            && v.compare(&number(&query["hi"])).is_some_and(|o| o.is_le())
    };
    match taken.column(0).data_type() {
        DataType::Int64 => {
            assert!(
                taken.column(0).as_primitive::<Int64Type>().iter().all(|v| in_range(Value::Int(v.unwrap().into())))
            );
        }
        _ => {
            assert!(taken.column(0).as_primitive::<Float64Type>().iter().all(|v| in_range(Value::Float(v.unwrap()))));
        }
    }
}

#[test]
fn a_file_is_opened_without_its_blocks() {
    let bytes = file("qcol_trailer_best");
    let source = Arc::new(Counting::remembering(bytes.clone()));
    let table = TableFile::open(at1(), source.clone(), &ReadOptions::default()).unwrap();
    let layout = table.layout().unwrap();
    for block in layout.regions.iter().filter(|r| r.kind == RegionKind::Data) {
        for read in source.ranges() {
            assert!(read.end() <= block.range.start() || read.start() >= block.range.end(), "{read} in {block:?}");
        }
    }
    let splits = blocking::run(table.table().splits(&Scan::default()).unwrap(), source.as_ref()).unwrap();
    assert_eq!(splits.iter().map(|s| s.ranges.len()).sum::<usize>(), 4 * 4);
}
