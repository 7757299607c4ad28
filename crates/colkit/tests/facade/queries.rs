//! Conditions, row ranges and single rows of random tables in every format, against an evaluator of its own.

use super::sample::try_write;
use crate::random::{Condition, Random, Table, one_nan, same_kind, seeds};
use colkit::arrow::array::{ArrayRef, RecordBatch};
use colkit::arrow::compute::{cast, concat_batches};
use colkit::core::{Projection, ReadOptions, Scan};
use colkit::{Format, Predicate, Registry, TableFile, TextOptions};
use std::sync::Arc;

/// What was asked so far.
#[derive(Debug, Default)]
struct Count {
    tables: u64,
    files: u64,
    conditions: u64,
    takes: u64,
    rows_found: u64,
}

#[test]
fn random_conditions_find_what_they_should() {
    let formats = Registry::default().formats(&TextOptions::default());
    let mut count = Count::default();
    for seed in seeds(300) {
        let mut random = Random::new(seed);
        let table = Table::new(&mut random);
        count.tables += 1;
        for format in &formats {
            ask(seed, &mut random, &table, format, &mut count);
        }
    }
    println!("{count:?}");
    assert!(count.files > count.tables * 4 && count.rows_found > count.conditions, "{count:?}");
}

/// Writes what the format can store of a table and asks for some of it.
fn ask(seed: u64, random: &mut Random, table: &Table, format: &Arc<dyn Format>, count: &mut Count) {
    let stored: Vec<usize> = (0..table.columns.len()).filter(|c| format.stores(&table.columns[*c].data_type)).collect();
    if stored.first() != Some(&0) {
        return;
    }
    let Ok(bytes) = try_write(format.as_ref(), &table.batch(&stored)) else { return };
    let bytes = Arc::new(bytes::Bytes::from(bytes));
    let file = TableFile::open(format.clone(), bytes, &ReadOptions::default()).unwrap();
    let schema = file.schema();
    // Text has no types: what came back as another kind of column answers other questions.
    let columns: Vec<usize> = (0..stored.len())
        .filter(|c| same_kind(&table.columns[stored[*c]].data_type, schema.field(*c).data_type()))
        .collect();
    if columns.first() != Some(&0) {
        return;
    }
    let asked: Vec<usize> = columns.iter().map(|c| stored[*c]).collect();
    let projection = Projection::columns(columns.iter().copied());
    count.files += 1;
    let same = |found: &RecordBatch, rows: &[usize], question: &str| {
        let expected = table.some_rows(&asked, rows);
        let alike = |(found, expected): (&ArrayRef, &ArrayRef)| {
            one_nan(&cast(found, expected.data_type()).unwrap()).as_ref() == one_nan(expected).as_ref()
        };
        assert!(
            found.num_rows() == rows.len() && found.columns().iter().zip(expected.columns()).all(alike),
            "COLKIT_QUERY_SEED={seed}, {}: {question}\nexpected {expected:?}\nfound {found:?}",
            format.name()
        );
    };
    for _ in 0..4 {
        let condition = Condition::new(random, table, &asked, 0);
        let text = condition.condition(table);
        let (a, b) = (random.below(table.rows + 1), random.below(table.rows + 1));
        let range = if random.one_in(3) { a.min(b)..a.max(b) } else { 0..table.rows };
        let question = format!("rows {range:?} where {text}");
        let scan = Scan {
            projection: projection.clone(),
            rows: Some(range.start as u64..range.end as u64),
            batch_rows: random.pick(&[1, 7, 1 << 15]),
            ..Scan::default()
        };
        let rows: Vec<usize> = condition.rows(table).into_iter().filter(|row| range.contains(row)).collect();
        match found(&file, &text, scan) {
            Ok(batch) => same(&batch, &rows, &question),
            Err(e) => panic!("COLKIT_QUERY_SEED={seed}, {}: {question}: {e}", format.name()),
        }
        count.conditions += 1;
        count.rows_found += rows.len() as u64;
    }
    let rows: Vec<usize> = (0..random.below(6)).map(|_| random.below(table.rows)).collect();
    let wanted: Vec<u64> = rows.iter().map(|row| *row as u64).collect();
    same(&file.take(&wanted, &projection).unwrap(), &rows, &format!("take {rows:?}"));
    count.takes += 1;
}

/// What a scan of the rows for which a condition holds gives.
fn found(file: &TableFile, condition: &str, scan: Scan) -> colkit::Result<RecordBatch> {
    let predicate = Predicate::parse(condition, &file.schema())?.bind(&file.schema())?;
    let batches = file.scan(&Scan { predicate: Some(predicate), ..scan })?;
    let schema = batches.schema();
    let batches = batches.collect::<colkit::Result<Vec<RecordBatch>>>()?;
    Ok(concat_batches(&schema, &batches)?)
}
