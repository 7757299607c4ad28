//! Queries over files of all formats, cut into partitions in many ways.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test code: a failure is a panic"
)]

mod queries;
#[path = "../../colkit/tests/random/mod.rs"]
mod random;

use arrow::array::{ArrayRef, AsArray, Float64Array, Int64Array, StringArray};
use arrow::datatypes::{DataType, Field, Int64Type, Schema};
use arrow::record_batch::RecordBatch;
use colkit::{FileSink, Nulls, Registry, TextOptions, Types, WriteOptions};
use colkit_sql::{ColkitSession, TableRead, explain, planned_splits};
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::{ExecutionPlan, collect};
use datafusion::prelude::{SessionConfig, SessionContext};
use std::path::Path;
use std::sync::Arc;

const ROWS: i64 = 60_000;

/// A table in order of `id`, with a column that jumps about and one that is text.
fn table() -> RecordBatch {
    let schema = Schema::new(vec![
        Field::new("id", DataType::Int64, false),
        Field::new("jumps", DataType::Float64, false),
        Field::new("word", DataType::Utf8, false),
    ]);
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from_iter_values(0..ROWS)),
        Arc::new(Float64Array::from_iter_values((0..ROWS).map(jump))),
        Arc::new(StringArray::from_iter_values((0..ROWS).map(|i| format!("w{:05}", i % 977)))),
    ];
    RecordBatch::try_new(Arc::new(schema), columns).unwrap()
}

#[expect(clippy::cast_precision_loss, reason = "small numbers")]
fn jump(i: i64) -> f64 {
    (i * 7919 % 10007) as f64
}

fn write(batch: &RecordBatch, path: &Path, format: &str) {
    let format = Registry::default().named(format, &TextOptions::default()).unwrap();
    let options = WriteOptions { nulls: Nulls::Fill, types: Types::Lossy, ..WriteOptions::default() };
    let sink = Box::new(FileSink::create(path).unwrap());
    let mut writer = format.writer(batch.schema(), sink, &options).unwrap();
    // In pieces, so that formats with groups have several.
    for start in (0..batch.num_rows()).step_by(7000) {
        writer.write(&batch.slice(start, 7000.min(batch.num_rows() - start))).unwrap();
    }
    writer.finish().unwrap();
}

fn session(partitions: usize) -> SessionContext {
    let config = SessionConfig::new().with_target_partitions(partitions).with_repartition_file_min_size(1);
    SessionContext::new_with_config(config).with_colkit()
}

async fn ask(session: &SessionContext, query: &str) -> (RecordBatch, Vec<TableRead>) {
    let frame = session.sql(query).await.unwrap_or_else(|e| panic!("{query}: {e}"));
    let task = Arc::new(frame.task_ctx());
    let plan = frame.create_physical_plan().await.unwrap();
    let batches = collect(plan.clone(), task).await.unwrap_or_else(|e| panic!("{query}: {e}"));
    let schema = plan.schema();
    (arrow::compute::concat_batches(&schema, &batches).unwrap(), explain(&plan))
}

fn numbers(batch: &RecordBatch, column: usize) -> Vec<i64> {
    let column = arrow::compute::cast(batch.column(column), &DataType::Int64).unwrap();
    column.as_primitive::<Int64Type>().values().to_vec()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_row_is_read_once_however_files_are_cut() {
    let folder = tempfile::tempdir().unwrap();
    let table = table();
    for format in ["gppcol", "cff", "colfile", "at1", "lance", "parquet", "arrow", "arrow-stream", "csv", "ndjson"] {
        let path = folder.path().join(format!("t.{format}"));
        write(&table, &path, format);
        for partitions in [1, 2, 5, 16] {
            let session = session(partitions);
            let file = path.display();
            let (all, reads) =
                ask(&session, &format!("SELECT count(word) n, sum(id) s, count(DISTINCT id) d FROM '{file}'")).await;
            assert_eq!(numbers(&all, 0), [ROWS], "{format} by {partitions}");
            assert_eq!(numbers(&all, 1), [ROWS * (ROWS - 1) / 2], "{format} by {partitions}");
            assert_eq!(numbers(&all, 2), [ROWS], "{format} by {partitions}");
            assert_eq!(reads.len(), 1);
            assert_eq!(reads[0].rows_out, ROWS as u64);
            let (some, _) = ask(
                &session,
                &format!("SELECT id FROM '{file}' WHERE id BETWEEN 31000 AND 31999 AND jumps < 5000 ORDER BY id"),
            )
            .await;
            let expected: Vec<i64> = (31_000..32_000).filter(|i| jump(*i) < 5000.0).collect();
            assert_eq!(numbers(&some, 0), expected, "{format} by {partitions}");
        }
    }
}

/// The scan at the bottom of a plan.
fn scan_of(plan: &Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
    plan.children().first().map_or_else(|| plan.clone(), |child| scan_of(child))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_will_be_read_is_known_before() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.lance");
    write(&table(), &path, "lance");
    for (partitions, condition, rows) in
        [(1, "true", 0..60_000), (4, "true", 0..60_000), (3, "id >= 59000", 59_000..60_000)]
    {
        let session = session(partitions);
        let frame =
            session.sql(&format!("SELECT id, jumps FROM '{}' WHERE {condition}", path.display())).await.unwrap();
        let plan = scan_of(&frame.create_physical_plan().await.unwrap());
        let planned = planned_splits(&plan, &session.runtime_env()).await.unwrap().unwrap();
        assert_eq!(planned.len(), partitions);
        let splits: Vec<_> = planned.iter().flatten().flat_map(|file| &file.splits).collect();
        // One after another, each row once, and all that are wanted.
        assert!(splits.windows(2).all(|pair| pair[0].rows.end <= pair[1].rows.start));
        assert!(splits[0].rows.start <= rows.start && splits.last().unwrap().rows.end == rows.end);
        let counted: u64 = splits.iter().map(|split| split.rows.end - split.rows.start).sum();
        assert!(counted >= rows.end - rows.start);
        assert!(condition == "true" && counted == rows.end || condition != "true" && counted < 20_000, "{counted}");
        assert!(splits.iter().all(|split| !split.ranges.is_empty()));
        let other: Arc<dyn ExecutionPlan> = Arc::new(EmptyExec::new(plan.schema()));
        assert!(planned_splits(&other, &session.runtime_env()).await.unwrap().is_none());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn filters_that_tighten_rule_out_more() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.lance");
    // Eight splits of 65,536 rows each.
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(0..8 << 16));
    write(&RecordBatch::try_from_iter([("id", ids)]).unwrap(), &path, "lance");
    let session = session(1);
    let (top, reads) = ask(&session, &format!("SELECT id FROM '{}' ORDER BY id LIMIT 3", path.display())).await;
    assert_eq!(numbers(&top, 0), [0, 1, 2]);
    assert_eq!(reads[0].splits, 8, "{reads:?}");
    assert!(reads[0].splits_pruned > 0, "{reads:?}");
    let query = format!(
        "SELECT count(*) n FROM '{0}' a JOIN (SELECT id FROM '{0}' WHERE id IN (5, 59000)) b ON a.id = b.id",
        path.display()
    );
    assert_eq!(numbers(&ask(&session, &query).await.0, 0), [2]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_of_one_table_may_differ() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.csv"), "id,x\n1,10\n2,20\n").unwrap();
    std::fs::write(folder.path().join("b.csv"), "id,x,more\n3,0.5,yes\n").unwrap();
    let query = format!("SELECT id, x, more FROM '{}/*.csv' ORDER BY id", folder.path().display());
    let (all, _) = ask(&session(2), &query).await;
    assert_eq!(all.column(1).as_primitive::<arrow::datatypes::Float64Type>().values().to_vec(), [10.0, 20.0, 0.5]);
    assert_eq!(all.column(2).null_count(), 2);
    let query = format!("SELECT id FROM '{}/*.csv' WHERE more IS NULL AND x > 10", folder.path().display());
    assert_eq!(numbers(&ask(&session(2), &query).await.0, 0), [2]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nan_is_the_largest_number_whatever_zone_maps_say() {
    let folder = tempfile::tempdir().unwrap();
    let schema = Arc::new(Schema::new(vec![Field::new("x", DataType::Float64, false)]));
    let x: ArrayRef = Arc::new(Float64Array::from(vec![1.0, f64::NAN, -0.0, 2.0]));
    let batch = RecordBatch::try_new(schema, vec![x]).unwrap();
    for format in ["lance", "parquet"] {
        let path = folder.path().join(format!("x.{format}"));
        write(&batch, &path, format);
        let query = format!("SELECT count(*) n FROM '{}' WHERE x > 100", path.display());
        assert_eq!(numbers(&ask(&session(1), &query).await.0, 0), [1], "{format}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_file_is_an_error_with_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.gppcol");
    write(&table(), &path, "gppcol");
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 64].fill(0xFF);
    std::fs::write(&path, bytes).unwrap();
    let frame = session(1).sql(&format!("SELECT sum(jumps), max(word) FROM '{}'", path.display())).await.unwrap();
    let error = colkit_sql::plain(&frame.collect().await.unwrap_err());
    assert_eq!(error.class(), colkit::Class::Corrupt, "{error}");
    assert!(error.file_name().unwrap().ends_with("t.gppcol"), "{error}");
}

#[tokio::test]
async fn one_query_needs_no_session_and_only_reads() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.lance");
    write(&table(), &path, "lance");
    let file = path.display();
    let rows = colkit_sql::query(&format!("SELECT count(*) FROM '{file}' WHERE id < 1e1")).await.unwrap();
    assert_eq!(numbers(&rows.collect().await.unwrap()[0], 0), [10]);
    let copy = folder.path().join("copy.csv");
    let refused = [
        format!("COPY (SELECT * FROM '{file}') TO '{}'", copy.display()),
        format!("CREATE TABLE t AS SELECT * FROM '{file}'"),
        "SET datafusion.execution.batch_size = 1".into(),
        "SELECT 1; SELECT 2".into(),
        String::new(),
    ];
    for text in refused {
        let error = colkit_sql::plain(&colkit_sql::query(&text).await.err().unwrap());
        assert_eq!(error.code(), "bad_sql", "{text}: {error}");
    }
    assert!(!copy.exists());
}

/// The program under `examples/`, as cargo built it beside this test.
#[test]
fn the_example_runs() {
    let folder = tempfile::tempdir().unwrap();
    let sym: ArrayRef = Arc::new(StringArray::from(vec!["BTC", "ETH", "SOL", "ADA"]));
    let price: ArrayRef = Arc::new(Float64Array::from(vec![64000.5, 3100.25, 99.5, 0.4]));
    let trades = RecordBatch::try_from_iter([("sym", sym), ("price", price)]).unwrap();
    write(&trades, &folder.path().join("trades.lance"), "lance");
    let test = std::env::current_exe().unwrap();
    let program = test.parent().and_then(Path::parent).unwrap().join("examples/query");
    let program = program.with_extension(std::env::consts::EXE_EXTENSION);
    assert!(program.exists(), "{} is missing: `cargo build --examples` makes it", program.display());
    let output = std::process::Command::new(program).current_dir(folder.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let printed = String::from_utf8(output.stdout).unwrap();
    let cells: Vec<&str> =
        printed.split(['|', '\n']).map(str::trim).filter(|c| !c.is_empty() && !c.starts_with('+')).collect();
    assert_eq!(cells, ["sym", "price", "ADA", "0.4", "SOL", "99.5"]);
}
