//! The same mistake is the same error in every format.

use super::sample::{batch, formats, try_write, write};
use colkit::arrow::array::{ArrayRef, Int32Array, RecordBatch, StringArray};
use colkit::arrow::datatypes::{DataType, Field, Schema};
use colkit::core::{Projection, ReadOptions, Scan};
use colkit::{Class, Error, Format, Limits, MemorySink, Predicate, Result, Sink, TableFile, WriteOptions};
use std::sync::Arc;

/// Goes through all formats. `mistake` gives the error, or `None` where it is no mistake.
fn in_every_format(class: Class, code: &str, mistake: impl Fn(&Arc<dyn Format>) -> Option<Error>) {
    let mut found = 0;
    for format in formats() {
        if let Some(error) = mistake(&format) {
            assert_eq!((error.class(), error.code()), (class, code), "{}: {error}", format.name());
            found += 1;
        }
    }
    assert!(found > 0, "no format refuses it");
}

fn open(format: &Arc<dyn Format>, bytes: Vec<u8>, limits: Limits) -> Result<TableFile> {
    TableFile::open(
        format.clone(),
        Arc::new(bytes::Bytes::from(bytes)),
        &ReadOptions { limits, ..ReadOptions::default() },
    )
}

fn good(format: &Arc<dyn Format>) -> TableFile {
    open(format, write(format.as_ref(), &batch()), Limits::default()).unwrap()
}

/// A disk with room for so many bytes.
struct FullDisk(usize);

impl Sink for FullDisk {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let full = || Error::from(std::io::Error::from(std::io::ErrorKind::StorageFull));
        self.0 = self.0.checked_sub(bytes.len()).ok_or_else(full)?;
        Ok(())
    }

    fn commit(self: Box<Self>) -> Result<()> {
        panic!("the file is not complete")
    }
}

#[test]
fn a_full_disk() {
    in_every_format(Class::Io, "disk_full", |format| {
        let room = write(format.as_ref(), &batch()).len() / 2;
        let written = || {
            let mut writer = format.writer(batch().schema(), Box::new(FullDisk(room)), &WriteOptions::default())?;
            writer.write(&batch())?;
            writer.finish()
        };
        Some(written().unwrap_err())
    });
}

#[test]
fn a_batch_of_another_schema() {
    let column = || Arc::new(Int32Array::from(vec![1, 2])) as ArrayRef;
    let text = || Arc::new(StringArray::from(vec!["1", "2"])) as ArrayRef;
    let given = RecordBatch::try_from_iter([("a", column()), ("b", column())]).unwrap();
    let nulls = Arc::new(Int32Array::from(vec![None, Some(1)])) as ArrayRef;
    let others = [
        RecordBatch::try_from_iter([("a", column()), ("b", text())]),
        RecordBatch::try_from_iter([("a", column()), ("c", column())]),
        RecordBatch::try_from_iter([("a", column())]),
        RecordBatch::try_from_iter([("a", column()), ("b", column()), ("c", column())]),
        RecordBatch::try_from_iter_with_nullable([("a", column(), false), ("b", nulls, true)]),
    ];
    for other in others {
        let other = other.unwrap();
        in_every_format(Class::Data, "schema_mismatch", |format| {
            let mut writer =
                format.writer(given.schema(), Box::new(MemorySink::new()), &WriteOptions::default()).unwrap();
            writer.write(&given).unwrap();
            Some(writer.write(&other).err().unwrap_or_else(|| panic!("{} wrote {other:?}", format.name())))
        });
    }
}

#[test]
fn a_table_that_cannot_be_written() {
    let none = RecordBatch::new_empty(Arc::new(Schema::empty()));
    in_every_format(Class::Data, "no_columns", |format| try_write(format.as_ref(), &none).err());
    let field = || Field::new("twice", DataType::Int32, false);
    let column = || Arc::new(Int32Array::from(vec![1])) as ArrayRef;
    let twice = RecordBatch::try_new(Arc::new(Schema::new(vec![field(), field()])), vec![column(), column()]).unwrap();
    in_every_format(Class::Data, "duplicate_column", |format| try_write(format.as_ref(), &twice).err());
}

#[test]
fn a_column_or_row_that_is_not_there() {
    in_every_format(Class::Request, "no_such_column", |format| {
        Some(Projection::named(&good(format).schema(), ["nobody"]).unwrap_err())
    });
    in_every_format(Class::Request, "no_such_column", |format| {
        Some(good(format).scan(&Scan::of(Projection::columns([99]))).err().unwrap())
    });
    in_every_format(Class::Request, "no_such_column", |format| {
        let schema = good(format).schema();
        Some(Predicate::parse("nobody = 1", &schema).and_then(|p| p.bind(&schema)).unwrap_err())
    });
    in_every_format(Class::Request, "no_such_rows", |format| {
        Some(good(format).take(&[0, 1_000_000], &Projection::all()).unwrap_err())
    });
    in_every_format(Class::Request, "no_such_rows", |format| {
        let scan = Scan { rows: Some(0..1_000_000), ..Scan::default() };
        Some(good(format).scan(&scan).err().unwrap())
    });
}

#[test]
fn more_than_a_limit_allows() {
    in_every_format(Class::Limit, "limit_exceeded", |format| {
        let few = Limits { columns: 1, ..Limits::default() };
        Some(open(format, write(format.as_ref(), &batch()), few).err().unwrap())
    });
}

/// What a reader meets first where a file was cut off depends on where it begins to read.
#[test]
fn a_file_that_was_cut_off() {
    const CUT: [&str; 4] = ["truncated", "bad_magic", "block_out_of_range", "row_count_mismatch"];
    for format in formats().into_iter().filter(|f| f.has_magic()) {
        let whole = write(format.as_ref(), &batch());
        for length in [whole.len() / 2, whole.len() - 1] {
            let read = open(&format, whole[..length].to_vec(), Limits::default())
                .and_then(|file| file.scan(&Scan::default())?.collect::<Result<Vec<_>>>());
            let Err(error) = read else { continue };
            assert_eq!(error.class(), Class::Corrupt, "{} cut to {length}: {error}", format.name());
            assert!(CUT.contains(&error.code()), "{} cut to {length}: {error}", format.name());
        }
    }
}

#[test]
fn a_file_that_is_not_there() {
    let error = colkit::open("/nowhere/at/all.parquet").err().unwrap();
    assert_eq!((error.class(), error.code()), (Class::Io, "not_found"), "{error}");
}
