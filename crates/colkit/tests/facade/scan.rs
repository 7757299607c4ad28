//! Builders: scans, rows, files written and converted by name.

use super::sample::{batch, input, native_formats, write};
use colkit::arrow::array::{ArrayRef, StructArray};
use colkit::arrow::compute::concat_batches;
use colkit::arrow::record_batch::{RecordBatch, RecordBatchIterator, RecordBatchReader};
use colkit::{Conversion, CreateOptions, Error, Input, Op, OpenFile, OpenOptions, Predicate, ScanBuilder, Stop, Value};
use std::sync::Arc;

fn open(name: &str, batch: &RecordBatch) -> OpenFile {
    let formats = native_formats();
    let format = formats.iter().find(|f| f.name() == name).unwrap();
    OpenOptions::new().open_input(&input("t", write(format.as_ref(), batch))).unwrap()
}

fn rows(scan: ScanBuilder<'_, OpenFile>) -> RecordBatch {
    let batches = scan.batches().unwrap();
    let schema = batches.schema();
    concat_batches(&schema, &batches.map(Result::unwrap).collect::<Vec<_>>()).unwrap()
}

#[test]
fn a_scan_reads_what_its_builder_was_told() {
    for format in native_formats() {
        let file = open(format.name(), &batch());
        assert_eq!(rows(file.scan()).columns(), batch().columns(), "{}", format.name());
        let part = rows(file.scan().columns(["t", "n"]).rows(10..20));
        let expected = batch().project(&[2, 0]).unwrap().slice(10, 10);
        assert_eq!(part.columns(), expected.columns());
        assert_eq!(rows(file.scan().columns([2, 0]).rows(10..=19)), part);
        assert_eq!(rows(file.scan().rows(990..)).num_rows(), 10);
        assert_eq!(rows(file.scan().rows(..7)).num_rows(), 7);
        let most = file.scan().batch_rows(64).batches().unwrap().map(|b| b.unwrap().num_rows()).max();
        assert!(most <= Some(64), "{}: {most:?}", format.name());
    }
}

#[test]
fn the_schema_is_known_before_anything_is_read() {
    let file = open("lance", &batch());
    let before = file.input().read_count();
    let scan = file.scan().columns(["t", "n"]).filter("x > 0");
    let names = |scan: &ScanBuilder<'_, OpenFile>| -> Vec<String> {
        scan.schema().unwrap().fields().iter().map(|f| f.name().clone()).collect()
    };
    assert_eq!(names(&scan), ["t", "n"]);
    assert_eq!(names(&file.scan().select("n as m")), ["m"]);
    assert_eq!(file.scan().columns(["none"]).schema().unwrap_err().code(), "no_such_column");
    assert_eq!(file.scan().filter("n >").schema().unwrap_err().code(), "bad_predicate");
    assert_eq!(file.input().read_count(), before);
}

#[test]
fn a_stopped_scan_ends_with_an_error() {
    let (file, stop) = (open("lance", &batch()), Stop::new());
    let stopped = file.stopped_by(&stop);
    assert_eq!(rows(stopped.scan()).num_rows(), batch().num_rows());
    stop.now();
    assert_eq!(stopped.take([1]).batch().unwrap_err().code(), "interrupted");
    assert_eq!(file.take([1]).batch().unwrap().num_rows(), 1, "the others go on");
}

#[test]
fn filters_are_texts_or_predicates_and_all_of_them_hold() {
    let file = open("lance", &batch());
    let positive = rows(file.scan().filter("n > 0"));
    let built = Predicate::compare(0, Op::Gt, Value::Int(0));
    assert_eq!(rows(file.scan().filter(built.clone())), positive);
    let both = rows(file.scan().filter(built).filter("x > 0"));
    assert_eq!(both, rows(file.scan().filter("n > 0 and x > 0")));
    assert!(both.num_rows() > 0 && both.num_rows() < positive.num_rows());
}

#[test]
fn a_part_of_a_nested_column_is_named_by_its_path() {
    let parts = batch();
    let fields = parts.schema().fields().clone();
    let point: ArrayRef = Arc::new(StructArray::new(fields, parts.columns().to_vec(), None));
    let file = open("lance", &RecordBatch::try_from_iter([("p", point)]).unwrap());
    let read = rows(file.scan().columns(["p.x"]));
    let read = read.column(0).as_any().downcast_ref::<StructArray>().unwrap();
    assert_eq!((read.num_columns(), read.column(0)), (1, parts.column(1)));
}

#[test]
fn taken_rows_keep_their_order_and_may_repeat() {
    for format in native_formats() {
        let file = open(format.name(), &batch());
        let taken = file.take([999, 3, 3]).columns(["n"]).batch().unwrap();
        let numbers = batch().column(0).clone();
        let expected = [999, 3, 3].map(|row| numbers.slice(row, 1));
        assert_eq!((taken.num_columns(), taken.num_rows()), (1, 3));
        for (row, expected) in expected.iter().enumerate() {
            assert_eq!(&taken.column(0).slice(row, 1), expected, "{}", format.name());
        }
    }
}

#[test]
fn what_cannot_be_is_an_error_with_the_name_of_the_file() {
    let file = open("cff", &batch());
    let mistakes = [
        (file.scan().columns(["z"]).batches().err(), "no_such_column"),
        (file.scan().columns([3]).batches().err(), "no_such_column"),
        (file.scan().filter("n >").batches().err(), "bad_predicate"),
        (file.scan().rows(0..1001).batches().err(), "no_such_rows"),
        (file.scan().columns(["z"]).planned().err(), "no_such_column"),
        (file.take([0]).columns(["z"]).batch().err(), "no_such_column"),
        (file.take([1000]).batch().err(), "no_such_rows"),
    ];
    for (error, code) in mistakes {
        let error = error.unwrap();
        assert_eq!((error.code(), error.file_name()), (code, Some("t")), "{error}");
    }
}

#[test]
fn batches_go_where_arrow_takes_a_reader() {
    let file = open("lance", &batch());
    let reader: Box<dyn RecordBatchReader + Send> = Box::new(file.scan().columns(["x"]).batches().unwrap());
    assert_eq!(reader.schema().field(0).name(), "x");
    assert_eq!(reader.map(|b| b.unwrap().num_rows()).sum::<usize>(), 1000);
}

#[test]
fn a_file_is_written_whole_and_not_over_another() {
    let folder = tempfile::tempdir().unwrap();
    for format in super::sample::formats() {
        let path = folder.path().join(format!("t.{}", format.extensions()[0]));
        let reader = || RecordBatchIterator::new([Ok(batch()), Ok(batch())], batch().schema());
        let summary = colkit::write(&path, reader()).unwrap();
        assert_eq!((summary.rows, summary.bytes), (2000, path.metadata().unwrap().len()));
        let file = colkit::open(&path).unwrap();
        assert_eq!((file.format().name(), file.row_count()), (format.name(), 2000));
        let error = colkit::write(&path, reader()).unwrap_err();
        assert_eq!((error.code(), error.file_name()), ("already_exists", path.to_str()));
        let mut writer = CreateOptions::new().with_overwrite(true).create(&path, &batch().schema()).unwrap();
        writer.write(&batch()).unwrap();
        writer.finish().unwrap();
        assert_eq!(colkit::open(&path).unwrap().row_count(), 1000);
    }
    let nameless = colkit::write(folder.path().join("t"), RecordBatchIterator::new([], batch().schema())).unwrap_err();
    assert_eq!(nameless.code(), "no_format_named");
    let named = CreateOptions::new().with_format("lance");
    named.write(folder.path().join("t"), RecordBatchIterator::new([], batch().schema())).unwrap();
    assert_eq!(colkit::open(folder.path().join("t")).unwrap().format().name(), "lance");
}

#[test]
fn a_reader_that_fails_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.lance");
    let broken = Err(Error::corrupt("broken", "the reader is").file("elsewhere").into());
    let error = colkit::write(&path, RecordBatchIterator::new([Ok(batch()), broken], batch().schema())).unwrap_err();
    assert_eq!((error.code(), error.file_name()), ("broken", Some("elsewhere")));
    assert!(!path.exists());
}

#[test]
fn views_are_laid_out_and_metadata_is_not_lost_in_silence() {
    use colkit::arrow::array::StringViewArray;
    use colkit::arrow::datatypes::{DataType, Field, Schema};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.cff");
    let field = Field::new("t", DataType::Utf8View, false).with_metadata([("unit".into(), "cm".into())].into());
    let views: ArrayRef = Arc::new(StringViewArray::from(vec!["a", "a text that is too long to be inlined"]));
    let batch = RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![views]).unwrap();
    let reader = || RecordBatchIterator::new([Ok(batch.clone())], batch.schema());
    assert_eq!(colkit::write(&path, reader()).unwrap_err().code(), "metadata_not_supported");
    let summary = CreateOptions::new().with_drop_metadata(true).write(&path, reader()).unwrap();
    assert!(summary.notes[0].contains("\"unit\""), "{:?}", summary.notes);
    assert_eq!(colkit::open(&path).unwrap().schema().field(0).data_type(), &DataType::Utf8);
}

#[test]
fn a_conversion_never_writes_over_its_input() {
    let folder = tempfile::tempdir().unwrap();
    let csv = folder.path().join("t.csv");
    std::fs::write(&csv, "a,b\n1,x\n2,y\n").unwrap();
    let lance = folder.path().join("t.lance");
    assert_eq!(colkit::convert(&csv, &lance).unwrap().rows, 2);
    assert_eq!(colkit::convert(&csv, &lance).unwrap_err().code(), "already_exists");
    let over = CreateOptions::new().with_overwrite(true);
    let onto = |path| Conversion::new([Input::path(&csv).unwrap()]).create_options(over.clone()).write_to(path);
    assert_eq!(onto(&lance).unwrap().rows, 2);
    assert_eq!(onto(&csv).unwrap_err().code(), "output_is_input");
}
