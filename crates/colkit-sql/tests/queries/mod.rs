//! Random conditions in SQL over files of every format, against an evaluator of its own; and what it is that is compared.

use crate::numbers;
use crate::random::{Condition, Random, Table, same_kind, seeds};
use arrow::datatypes::DataType;
use arrow::record_batch::RecordBatch;
use colkit::{FileSink, Format, OpenOptions, Registry, TextOptions, WriteOptions};
use colkit_sql::{SessionOptions, approximate_numbers};
use datafusion::common::TableReference;
use datafusion::prelude::SessionContext;
use datafusion::sql::parser::DFParser;
use std::path::Path;

fn session() -> SessionContext {
    SessionOptions::new().with_open_options(OpenOptions::new().with_threads(2)).start().unwrap()
}

/// The answer to a query as `colkit sql` asks it.
async fn answer(session: &SessionContext, query: &str) -> Result<RecordBatch, String> {
    let run = async {
        let mut statement = DFParser::parse_sql(query)?.pop_front().unwrap();
        approximate_numbers(&mut statement);
        let plan = session.state().statement_to_plan(statement).await?;
        let frame = session.execute_logical_plan(plan).await?;
        let schema = frame.schema().inner().clone();
        let batches = frame.collect().await?;
        let schema = batches.first().map_or(schema, RecordBatch::schema);
        Ok(arrow::compute::concat_batches(&schema, &batches)?)
    };
    run.await.map_err(|e: datafusion::error::DataFusionError| e.to_string())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_conditions_find_what_they_should() {
    let folder = tempfile::tempdir().unwrap();
    let (mut tables, mut conditions, mut found) = (0u64, 0u64, 0u64);
    for seed in seeds(40) {
        let mut random = Random::new(seed);
        let table = Table::new(&mut random);
        tables += 1;
        // Names of files are remembered by a session, so each table has one of its own.
        let session = session();
        for format in Registry::default().formats(&TextOptions::default()) {
            let stored: Vec<usize> =
                (0..table.columns.len()).filter(|c| format.stores(&table.columns[*c].data_type)).collect();
            let path = folder.path().join(format!("{seed}.{}", format.extensions()[0]));
            if stored.first() != Some(&0) || write(&table.batch(&stored), &path, format.as_ref()).is_err() {
                continue;
            }
            let from = format!("'{}'", path.display());
            let name = TableReference::bare(path.display().to_string());
            let given = session.table(name).await.unwrap().schema().inner().clone();
            let asked: Vec<usize> = stored
                .iter()
                .copied()
                .filter(|c| {
                    let column = &table.columns[*c];
                    let given = given.field_with_name(&column.name).map(|f| f.data_type().clone());
                    given.is_ok_and(|given| same_kind(&column.data_type, &without_views(&given)))
                })
                .collect();
            if asked.first() != Some(&0) {
                continue;
            }
            for _ in 0..2 {
                let condition = Condition::new(&mut random, &table, &asked, 0);
                let query = format!("SELECT id FROM {from} WHERE {} ORDER BY id", condition.sql(&table));
                let rows: Vec<i64> =
                    condition.rows(&table).into_iter().map(|row| i64::try_from(row).unwrap()).collect();
                match answer(&session, &query).await {
                    Ok(batch) => assert_eq!(numbers(&batch, 0), rows, "COLKIT_QUERY_SEED={seed}: {query}"),
                    Err(e) => panic!("COLKIT_QUERY_SEED={seed}: {query}: {e}"),
                }
                conditions += 1;
                found += rows.len() as u64;
            }
            std::fs::remove_file(&path).unwrap();
        }
    }
    println!("{tables} tables, {conditions} conditions, {found} rows found");
    assert!(conditions > tables * 4 && found > conditions);
}

/// Writes a file, if the format can hold the values.
fn write(batch: &RecordBatch, path: &Path, format: &dyn Format) -> colkit::Result<()> {
    let sink = Box::new(FileSink::create(path)?);
    let mut writer = format.writer(batch.schema(), sink, &WriteOptions::default())?;
    writer.write(batch)?;
    writer.finish().map(drop)
}

fn without_views(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Utf8View => DataType::Utf8,
        DataType::BinaryView => DataType::Binary,
        other => other.clone(),
    }
}
