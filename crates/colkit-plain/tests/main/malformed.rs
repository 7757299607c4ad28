//! Files that must be refused, and for the right reason.

use crate::{column_files, data, format_of, read};
use colkit_core::{Projection, ReadOptions, Result, Scan, TableFile};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

#[derive(serde::Deserialize)]
struct Expectation {
    file: String,
    /// `open`, or `column`: the file opens, and reading `column` fails.
    stage: String,
    /// The errors it may be refused with.
    kinds: Vec<String>,
    column: Option<usize>,
    /// Columns that can be read all the same.
    readable: Vec<usize>,
}

fn expectations() -> Vec<Expectation> {
    serde_json::from_slice(&read(&data().join("malformed/manifest.json"))).unwrap()
}

fn open(path: &Path) -> Result<TableFile> {
    TableFile::open(format_of(path), Arc::new(read(path)), &ReadOptions::default())
}

fn read_column(file: &TableFile, column: usize) -> Result<u64> {
    let scan = Scan { batch_rows: 2, ..Scan::of(Projection::columns([column])) };
    file.scan(&scan)?.map(|batch| Ok(batch?.num_rows() as u64)).sum()
}

#[test]
fn every_malformed_file_is_listed() {
    let listed: BTreeSet<String> = expectations().into_iter().map(|e| e.file).collect();
    let files = column_files(&data().join("malformed"));
    let found: BTreeSet<String> = files.iter().map(|p| p.file_name().unwrap().to_string_lossy().into_owned()).collect();
    assert_eq!(found, listed);
    assert_eq!(found.len(), 87);
}

#[test]
fn every_malformed_file_is_refused_for_its_reason() {
    for case in expectations() {
        let path = data().join("malformed").join(&case.file);
        let named = |code: &str| case.kinds.iter().any(|kind| code_of(kind) == code);
        match open(&path) {
            Err(e) => assert!(case.stage == "open" && named(e.code()), "{}: {e}", case.file),
            Ok(file) => {
                assert_eq!(case.stage, "column", "{}: opened", case.file);
                let error = read_column(&file, case.column.unwrap()).unwrap_err();
                assert!(named(error.code()), "{}: {error}", case.file);
                assert!(error.offset().is_some() && error.part_name().unwrap().contains("column"), "{error}");
                for column in case.readable {
                    assert_eq!(read_column(&file, column).unwrap(), file.row_count(), "{}", case.file);
                }
            }
        }
    }
}

include!("../../src/vector_kinds.rs");
