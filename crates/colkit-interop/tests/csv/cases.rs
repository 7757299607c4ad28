//! The cases under `data/csv`: what each text means, or why it is refused. However a file is cut into pieces, the
//! answer is the same.

use super::{format, in_pieces, read, type_name, values};
use arrow::record_batch::RecordBatch;
use bytes::Bytes;
use colkit_core::cells::Inference;
use colkit_core::conformance::{self, Laws};
use colkit_core::{Format, Result};
use colkit_interop::{CsvFormat, CsvOptions};
use serde_json::Value;
use std::path::PathBuf;

struct Case {
    name: String,
    text: Vec<u8>,
    expected: Value,
}

fn cases() -> Vec<Case> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/csv");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "csv"));
    files.sort();
    assert_eq!(files.len(), 42);
    let case = |file: PathBuf| Case {
        name: file.file_stem().unwrap().to_string_lossy().into_owned(),
        text: std::fs::read(&file).unwrap(),
        expected: serde_json::from_slice(&std::fs::read(file.with_extension("json")).unwrap()).unwrap(),
    };
    files.into_iter().map(case).collect()
}

/// Compares what was read with what the case says. Without bools, a bool column is its text.
fn check(case: &Case, result: Result<RecordBatch>, booleans: bool) {
    let name = &case.name;
    let batch = match (result, case.expected.get("error")) {
        (Err(error), Some(code)) => return assert_eq!(error.code(), code, "{name}: {error}"),
        (Err(error), None) => panic!("{name}: {error}"),
        (Ok(_), Some(code)) => panic!("{name}: expected {code}"),
        (Ok(batch), None) => batch,
    };
    assert_eq!(batch.num_rows() as u64, case.expected["rows"], "{name}");
    let columns = case.expected["columns"].as_array().unwrap();
    assert_eq!(batch.num_columns(), columns.len(), "{name}");
    for (index, column) in columns.iter().enumerate() {
        let text = column["type"] == "bool" && !booleans;
        assert_eq!(batch.schema().field(index).name(), column["name"].as_str().unwrap(), "{name}");
        let array = batch.column(index);
        assert_eq!(
            type_name(array.data_type()),
            if text { "string" } else { column["type"].as_str().unwrap() },
            "{name}"
        );
        assert_eq!(Value::from(values(array)), column[if text { "text" } else { "values" }], "{name}");
    }
}

fn without_booleans() -> CsvOptions {
    CsvOptions { inference: Inference { booleans: false, ..Inference::plain() }, ..CsvOptions::default() }
}

#[test]
fn every_case() {
    for case in cases() {
        check(&case, read(&case.text, CsvOptions::default()), true);
        check(&case, read(&case.text, without_booleans()), false);
    }
}

#[test]
fn every_case_in_pieces_of_every_size() {
    for case in cases() {
        for chunk in 1..=case.text.len().min(90) as u64 + 1 {
            check(&case, read(&case.text, in_pieces(chunk, 1)), true);
        }
        for checkpoint in 1..=20 {
            check(&case, read(&case.text, in_pieces(3, checkpoint)), true);
        }
    }
}

#[test]
fn every_good_case_obeys_the_laws_of_reading() {
    for case in cases().into_iter().filter(|c| c.expected.get("error").is_none()) {
        let bytes = Bytes::from(case.text.clone());
        for options in [CsvOptions::default(), in_pieces(5, 1), in_pieces(1 << 20, 12)] {
            let all = conformance::reads(&format(options), &bytes, Laws { columns_apart: false });
            check(&case, Ok(all), true);
        }
    }
}

#[test]
fn text_is_recognised_unless_it_is_empty() {
    let csv = CsvFormat::default();
    for case in cases() {
        let tail = &case.text[case.text.len().saturating_sub(64)..];
        let expected = case.name != "err_empty";
        assert_eq!(csv.sniff(&case.text, tail), expected, "{}", case.name);
        assert!(!csv.sniff(&case.text[..case.text.len().min(16)], b""), "{}: other formats first", case.name);
    }
}
