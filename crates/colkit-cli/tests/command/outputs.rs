//! Files that verbs, SQL and `convert` write from the same rows: the same table or the same refusal.

use super::run::Folder;
use colkit::arrow::array::{ArrayRef, Int64Array, ListArray, RecordBatch, RecordBatchIterator, StringArray};
use colkit::arrow::datatypes::{Field, Int64Type, Schema};
use std::collections::HashMap;
use std::sync::Arc;

/// A Parquet file with these columns, and metadata of the table and of its first column.
fn with_metadata(folder: &Folder, columns: Vec<ArrayRef>, key: &str) {
    let metadata = HashMap::from([(key.to_owned(), "1".to_owned())]);
    let fields = columns.iter().zip(["a", "b", "c"]).enumerate().map(|(place, (column, name))| {
        let field = Field::new(name, column.data_type().clone(), true);
        if place == 0 { field.with_metadata(metadata.clone()) } else { field }
    });
    let schema = Arc::new(Schema::new_with_metadata(fields.collect::<Vec<_>>(), metadata.clone()));
    let batch = RecordBatch::try_new(schema.clone(), columns).unwrap();
    colkit::write(folder.path("in.parquet"), RecordBatchIterator::new([Ok(batch)], schema)).unwrap();
}

/// Every way to write all rows of `in.parquet` to a file.
fn ways<'a>(out: &'a str, copy: &'a str) -> Vec<(&'static str, Vec<&'a str>)> {
    vec![
        ("convert", vec!["convert", "in.parquet", out]),
        ("cat", vec!["cat", "in.parquet", "--out", out]),
        ("head", vec!["head", "in.parquet", "-n", "1000", "--out", out]),
        ("tail", vec!["tail", "in.parquet", "-n", "1000", "--out", out]),
        ("take", vec!["take", "in.parquet", "--rows", "0..2", "--out", out]),
        ("grep", vec!["grep", "", "in.parquet", "--out", out]),
        ("sql", vec!["sql", "SELECT * FROM 'in.parquet'", "--out", out]),
        ("COPY", vec!["sql", copy]),
    ]
}

#[test]
fn every_way_to_write_a_file_refuses_the_same() {
    let nested = ListArray::from_iter_primitive::<Int64Type, _, _>([Some(vec![Some(1)]), None]);
    let numbers = || Arc::new(Int64Array::from(vec![1, 2])) as ArrayRef;
    let tables: [(&str, Vec<ArrayRef>, &str); 3] = [
        ("metadata", vec![numbers()], "owner"),
        ("nested", vec![Arc::new(nested)], "PARQUET:field_id"),
        ("nulls", vec![numbers(), Arc::new(StringArray::from(vec![None, Some("")]))], "PARQUET:field_id"),
    ];
    for (name, columns, key) in tables {
        let folder = Folder::new();
        with_metadata(&folder, columns, key);
        for extension in ["csv", "tsv", "ndjson", "gppcol", "cff", "colfile", "lance", "arrow", "parquet", "at1"] {
            let out = format!("out.{extension}");
            let copy = format!("COPY (SELECT * FROM 'in.parquet') TO '{out}'");
            let mut refusals = HashMap::new();
            for (way, arguments) in ways(&out, &copy) {
                let said = folder.run(&arguments);
                let code = said.err.rsplit_once('[').and_then(|(_, rest)| rest.split_once(']'));
                let code = if said.code == 0 { "written" } else { code.unwrap_or_else(|| panic!("{said:?}")).0 };
                let code = code.to_owned();
                if said.code == 0 {
                    std::fs::remove_file(folder.path(&out)).unwrap();
                }
                refusals.entry(code).or_insert_with(Vec::new).push(way);
            }
            assert_eq!(refusals.len(), 1, "{name} to {extension}: {refusals:?}");
        }
    }
}

#[test]
fn every_way_to_write_a_file_keeps_or_drops_metadata() {
    let folder = Folder::new();
    with_metadata(&folder, vec![Arc::new(Int64Array::from(vec![1, 2]))], "owner");
    let copy = "COPY (SELECT * FROM 'in.parquet') TO 'out.arrow'";
    for (way, arguments) in ways("out.arrow", copy) {
        folder.ok(&arguments);
        let schema = colkit::open(folder.path("out.arrow")).unwrap().schema();
        // The result of a query is a table of its own, with the metadata of its columns.
        let is_query = ["sql", "COPY"].contains(&way);
        assert_eq!(schema.metadata().contains_key("owner"), !is_query, "{way}: {schema:?}");
        assert!(schema.field(0).metadata().contains_key("owner"), "{way}: {schema:?}");
        std::fs::remove_file(folder.path("out.arrow")).unwrap();
    }
    let copy = "COPY (SELECT * FROM 'in.parquet') TO 'out.csv' (DROP_METADATA)";
    for (way, mut arguments) in ways("out.csv", copy) {
        if way != "COPY" {
            arguments.push("--drop-metadata");
        }
        let said = folder.ok(&arguments);
        assert!(said.err.contains("metadata left out: \"owner\" of "), "{way}: {said:?}");
        std::fs::remove_file(folder.path("out.csv")).unwrap();
    }
}
