//! Several files as one table: the same rows as one after another, however they are read.

use super::sample::{batch, formats, input, write};
use colkit::arrow::array::AsArray;
use colkit::arrow::compute::concat_batches;
use colkit::arrow::datatypes::{DataType, Int32Type};
use colkit::arrow::record_batch::RecordBatch;
use colkit::{Format, Input, OpenFile, OpenOptions, Registry, TextOptions};

/// More than stay open.
const PARTS: usize = 300;

fn opened(format: &dyn Format, parts: usize, options: &OpenOptions) -> OpenFile {
    let inputs = (0..parts).map(|i| {
        let rows = batch().slice(i % 900, i % 4);
        input(&format!("{i:03}.{}", format.extensions()[0]), write(format, &rows))
    });
    options.open_input(&Input::several(inputs)).unwrap()
}

fn expected(parts: usize) -> RecordBatch {
    let all: Vec<RecordBatch> = (0..parts).map(|i| batch().slice(i % 900, i % 4)).collect();
    concat_batches(&batch().schema(), &all).unwrap()
}

fn read(file: &OpenFile, filter: Option<&str>, columns: &[&str]) -> RecordBatch {
    let scan = filter.into_iter().fold(file.scan().columns(columns.iter().copied()), |scan, f| scan.filter(f));
    let batches = scan.batches().unwrap();
    let schema = batches.schema();
    let batches: Vec<RecordBatch> = batches.map(Result::unwrap).collect();
    concat_batches(&schema, &batches).unwrap()
}

#[test]
fn rows_of_all_parts_follow_each_other() {
    for format in formats() {
        // A text without rows says nothing about its types.
        let typed = vec![("n".into(), DataType::Int32)];
        for threads in [1, 3] {
            let options = OpenOptions::new().with_threads(threads).with_text_types(typed.clone());
            let inputs = (1..=PARTS).map(|i| {
                let rows = batch().slice(i % 900, 1 + i % 3);
                input(&format!("{i:03}.{}", format.extensions()[0]), write(format.as_ref(), &rows))
            });
            let file = options.open_input(&Input::several(inputs)).unwrap();
            let all: Vec<RecordBatch> = (1..=PARTS).map(|i| batch().slice(i % 900, 1 + i % 3)).collect();
            let all = concat_batches(&batch().schema(), &all).unwrap();
            assert_eq!(file.row_count(), all.num_rows() as u64, "{}", format.name());
            for _ in 0..2 {
                let read = read(&file, None, &["n", "x", "t"]);
                assert_eq!(read.columns(), all.columns(), "{}", format.name());
            }
            let rows: Vec<u64> = vec![599, 0, 301, 5, 301];
            let taken = file.take(rows.iter().copied()).columns(["t", "n"]).batch().unwrap();
            for (at, row) in rows.iter().enumerate() {
                let row = usize::try_from(*row).unwrap();
                assert_eq!(taken.column(0).as_string::<i32>().value(at), all.column(2).as_string::<i32>().value(row));
            }
            let some = read(&file, Some("n > 0"), &["n"]);
            let positive = all.column(0).as_primitive::<Int32Type>();
            assert_eq!(some.num_rows(), positive.values().iter().filter(|n| **n > 0).count(), "{}", format.name());
        }
    }
}

#[test]
fn the_name_of_the_file_is_a_column() {
    let format = Registry::default().named("cff", &TextOptions::default()).unwrap();
    let file = opened(format.as_ref(), 8, &OpenOptions::new().with_filename(true));
    assert_eq!(file.schema().field(3).name(), "filename");
    let names = read(&file, Some("filename = '005.cff' or n = 7"), &["filename", "n"]);
    assert!(names.num_rows() >= 1 && names.column(0).as_string::<i32>().iter().any(|n| n == Some("005.cff")));
    assert_eq!(read(&file, None, &["filename"]).num_rows(), expected(8).num_rows());
    let one = OpenOptions::new().with_filename(true);
    let one = one.open_input(&input("a.csv", "x\n1\n2\n")).unwrap();
    assert_eq!(read(&one, None, &["filename"]).column(0).as_string::<i32>().value(1), "a.csv");
}

#[test]
fn text_of_several_files_has_common_types() {
    let text = |name: &str, text: &str| input(name, text);
    let files = [text("a.csv", "x\n1\n"), text("b.csv", "x\n1.5\n"), text("c.csv", "x\n\n")];
    let file = OpenOptions::new().open_input(&Input::several(files)).unwrap();
    assert_eq!(file.schema().field(0).data_type(), &DataType::Utf8);
    let files = [text("a.json", "[{\"x\":1}]"), text("b.ndjson", "{\"y\":2}\n{\"x\":2.5}\n")];
    let file = OpenOptions::new().open_input(&Input::several(files)).unwrap();
    assert_eq!((file.schema().fields().len(), file.row_count()), (2, 3));
    let verified = file.verify().unwrap();
    assert!(verified.errors.is_empty());
    assert!(file.layout().unwrap().covers_exactly_once());
    assert_eq!(OpenOptions::new().open_input(&Input::several([])).err().unwrap().code(), "no_input");
}
