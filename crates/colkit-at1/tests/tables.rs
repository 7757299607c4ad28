//! AT-1 files as tables: the laws of reading, and what the rows are.

use crate::vectors::{data, files};
use arrow::array::{Array, AsArray};
use arrow::datatypes::{DataType, Int64Type};
use arrow::record_batch::RecordBatch;
use bytes::Bytes;
use colkit_at1::At1;
use colkit_core::conformance::{self, Laws};
use colkit_core::{Format, ReadOptions, Scan, TableFile};
use std::sync::Arc;

pub fn at1() -> Arc<dyn Format> {
    Arc::new(At1)
}

pub fn file(name: &str) -> Bytes {
    std::fs::read(data().join(format!("{name}.at1"))).unwrap().into()
}

fn read(name: &str) -> RecordBatch {
    conformance::read_all(&at1(), &file(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
}

fn columns(batch: &RecordBatch) -> Vec<(String, DataType)> {
    batch.schema().fields().iter().map(|f| (f.name().clone(), f.data_type().clone())).collect()
}

fn texts(batch: &RecordBatch, name: &str) -> Vec<Option<String>> {
    let column = batch.column_by_name(name).unwrap();
    column.as_string::<i32>().iter().map(|v| v.map(String::from)).collect()
}

/// Whether a file has rows.
pub fn is_table(name: &str) -> bool {
    let tables = ["col_", "qcol_", "qjson", "vcf_", "log_", "ssh_", "json_", "example_", "varint_", "stream_"];
    tables.iter().any(|t| name.starts_with(t)) && name != "stream_raw_only_codec255"
}

#[test]
fn every_table_obeys_the_laws_of_reading() {
    let mut seen = 0;
    for (name, bytes) in files(&data()) {
        if !is_table(&name) {
            continue;
        }
        seen += 1;
        let file = TableFile::open(at1(), Arc::new(bytes.clone()), &ReadOptions::default()).unwrap();
        file.verify().unwrap_or_else(|e| panic!("{name}: {e}"));
        if file.schema().fields().is_empty() {
            // Lines without values, or none at all: only their number can be read.
            let rows: usize = file.scan(&Scan::default()).unwrap().map(|b| b.unwrap().num_rows()).sum();
            assert_eq!(rows as u64, file.row_count(), "{name}");
            continue;
        }
        // Looking for a trailer touches the end of the file, which is a block if there is none.
        let trailer = bytes.ends_with(&[0xA1, 0x53, 0x36, 0x01]);
        let apart = trailer && (name.starts_with("qcol_") || name.starts_with("qjson"));
        let all = conformance::reads(&at1(), &bytes, Laws { columns_apart: apart });
        assert!(all.num_rows() > 0 || all.num_columns() > 0 || bytes.len() < 2000, "{name}");
    }
    assert_eq!(seen, 88);
}

#[test]
fn files_without_rows_open_and_say_so() {
    for (name, bytes) in files(&data()) {
        if is_table(&name) {
            continue;
        }
        let file = TableFile::open(at1(), Arc::new(bytes), &ReadOptions::default()).unwrap();
        assert!(file.layout().unwrap().covers_exactly_once(), "{name}");
        file.verify().unwrap_or_else(|e| panic!("{name}: {e}"));
        let error = file.scan(&Scan::default()).err().unwrap();
        assert_eq!(error.code(), "no_table_view", "{name}");
    }
}

#[test]
fn a_table_of_every_column_type() {
    let all = read("col_all_types");
    let original = std::fs::read_to_string(data().join("col_all_types.orig")).unwrap();
    assert_eq!(all.num_rows(), original.lines().count() - 1);
    let names: Vec<&str> = original.lines().next().unwrap().split(',').collect();
    assert_eq!(columns(&all).iter().map(|(n, _)| n.as_str()).collect::<Vec<_>>(), names);
    for framing in ["col_all_types_pub_trailer", "col_all_types_best_trailer", "col_all_types_mixed_framing"] {
        assert_eq!(read(framing), all, "{framing}");
    }
    // The values are those of the text, whatever the chunk they came from.
    for (c, name) in names.iter().enumerate() {
        let column = all.column(c);
        let shown = arrow::util::display::ArrayFormatter::try_new(column, &Default::default()).unwrap();
        for (row, line) in original.lines().skip(1).enumerate() {
            let cell = line.split(',').nth(c).unwrap().trim_matches('"');
            let value = shown.value(row).to_string();
            let same = value == cell || value.parse::<f64>().is_ok_and(|number| cell.parse() == Ok(number));
            assert!(same || column.is_null(row) && cell.is_empty(), "{name} row {row}: {value:?} is not {cell:?}");
        }
    }
}

#[test]
fn lines_that_are_not_rows_are_kept() {
    let ragged = read("col_ragged");
    let original = std::fs::read_to_string(data().join("col_ragged.orig")).unwrap();
    let lines = texts(&ragged, "_line");
    assert_eq!(lines.iter().flatten().count(), 1, "one line has too many fields: {original:?}");
    for (row, line) in lines.iter().enumerate() {
        if let Some(line) = line {
            assert!(original.contains(line.as_str()));
            let others = ragged.columns().iter().take(ragged.num_columns() - 1);
            assert!(others.into_iter().all(|c| c.is_null(row)));
        }
    }
    let qcol = read("qcol_no_trailing_newline");
    assert_eq!(texts(&qcol, "_line").into_iter().flatten().count(), 1);
    assert!(read("qcol_ref").column_by_name("_line").is_none(), "the header is no such line");
}

#[test]
fn line_ends_and_quotes_are_not_values() {
    let crlf = read("col_crlf");
    for (name, data_type) in columns(&crlf) {
        assert!(!name.ends_with('\r'));
        if data_type == DataType::Utf8 {
            assert!(texts(&crlf, &name).iter().flatten().all(|v| !v.ends_with('\r')), "{name}");
        }
    }
    let quotes = read("qcol_quotes");
    let original = std::fs::read_to_string(data().join("qcol_quotes.orig")).unwrap();
    assert!(original.contains('"'));
    let has_quotes = |name: &str| texts(&quotes, name).iter().flatten().any(|v| v.starts_with('"'));
    assert!(!columns(&quotes).iter().any(|(name, t)| *t == DataType::Utf8 && has_quotes(name)), "{quotes:?}");
}

#[test]
fn text_that_is_not_utf8_is_latin1() {
    let all = read("col_utf8_and_invalid");
    let text = format!("{all:?}");
    assert!(text.contains('\u{ff}') || text.contains('\u{e9}') || text.contains('\u{fe}'), "{text}");
}

#[test]
fn json_lines() {
    let qjson = read("qjson_ref");
    let types: Vec<DataType> = columns(&qjson).into_iter().map(|(_, t)| t).collect();
    assert!(types.contains(&DataType::Int64) && types.contains(&DataType::Utf8), "{types:?}");
    let json = read("json_ref");
    assert!(json.num_columns() > 1 && json.column_by_name("_line").is_some());
    let two = read("qjson2_ref");
    assert!(two.column_by_name("_line").is_some());
    let original = std::fs::read_to_string(data().join("qjson2_ref.orig")).unwrap();
    assert_eq!(two.num_rows(), original.lines().count());
}

#[test]
fn logs_and_variants() {
    let log = read("log_ref");
    let original = std::fs::read(data().join("log_ref.orig")).unwrap();
    let lines = texts(&log, "line");
    assert_eq!(lines.len(), original.iter().filter(|b| **b == b'\n').count());
    assert!(log.column_by_name("variables").unwrap().null_count() < log.num_rows());

    let ssh = read("ssh_ref_trailer");
    assert_eq!(ssh.column_by_name("pid").unwrap().data_type(), &DataType::Int64);

    let vcf = read("vcf_ref");
    assert_eq!(columns(&vcf)[0].0, "CHROM");
    let positions = vcf.column_by_name("POS").unwrap().as_primitive::<Int64Type>();
    let original = std::fs::read_to_string(data().join("vcf_ref.orig")).unwrap();
    let expected: Vec<i64> =
        original.lines().filter(|l| !l.starts_with('#')).filter_map(|l| l.split('\t').nth(1)?.parse().ok()).collect();
    assert_eq!(positions.values().to_vec(), expected);
    let samples = original.lines().find(|l| l.starts_with("#CHROM")).unwrap().split('\t').count();
    assert_eq!(vcf.num_columns() - usize::from(vcf.column_by_name("_line").is_some()), samples);
}

#[test]
fn frames_are_one_table() {
    let whole = read("stream_columnar_ref");
    assert_eq!(read("stream_columnar_pub"), whole);
    let original = std::fs::read_to_string(data().join("stream_columnar_ref.orig")).unwrap();
    assert_eq!(whole.num_rows(), original.lines().count() - 1);
    assert!(whole.column_by_name("_line").is_none(), "the lines of the raw frame are rows too: {whole:?}");
}
