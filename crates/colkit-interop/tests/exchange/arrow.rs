//! Arrow IPC files and streams.

use super::sample::{found, plain, rich};
use arrow::array::{ArrayRef, AsArray, DictionaryArray, ListArray, StringArray};
use arrow::datatypes::{Int8Type, Int32Type};
use arrow::ipc::writer::StreamWriter;
use arrow::record_batch::RecordBatch;
use bytes::Bytes;
use colkit_core::conformance::{self, Laws};
use colkit_core::{ColumnRef, Format, Projection, ReadOptions, Scan, TableFile, WriteOptions};
use colkit_interop::{ArrowFile, ArrowStream, IpcCompression};
use std::sync::Arc;

const APART: Laws = Laws { columns_apart: true };

fn formats() -> Vec<Arc<dyn Format>> {
    let codecs = [IpcCompression::None, IpcCompression::Lz4, IpcCompression::Zstd];
    let files = codecs.map(|compression| Arc::new(ArrowFile { compression }) as Arc<dyn Format>);
    let streams = codecs.map(|compression| Arc::new(ArrowStream { compression }) as Arc<dyn Format>);
    files.into_iter().chain(streams).collect()
}

#[test]
fn everything_comes_back() {
    for format in formats() {
        conformance::round_trip(&format, &plain(2000), APART);
        conformance::round_trip(&format, &rich(500), APART);
        conformance::round_trip(&format, &rich(0), APART);
    }
}

#[test]
fn buffers_of_no_bytes_may_lie_anywhere() {
    let no_text: ArrayRef = Arc::new(StringArray::from(vec!["", ""]));
    let nulls: ArrayRef = Arc::new(StringArray::from(vec![None::<&str>; 3]));
    let lists: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>([
        Some(vec![]),
        None,
        Some(Vec::<Option<i32>>::new()),
    ]));
    let words: DictionaryArray<Int8Type> = [None::<&str>, None].into_iter().collect();
    let one_null: ArrayRef = Arc::new(StringArray::from(vec![Some("abc"), None, Some("")]));
    for array in [no_text, nulls, lists, Arc::new(words), one_null] {
        let batch = RecordBatch::try_from_iter_with_nullable([("x", array, true)]).unwrap();
        for format in formats() {
            conformance::round_trip(&format, &batch, APART);
        }
    }
}

#[test]
fn the_other_byte_order_gives_the_same_values() {
    let format: Arc<dyn Format> = Arc::new(ArrowFile::default());
    for name in ["nested", "dictionary", "union", "interval"] {
        let read =
            |order: &str| conformance::read_all(&format, &found(&format!("{order}_endian_{name}.arrow"))).unwrap();
        let (big, little) = (read("big"), read("little"));
        assert!(big.num_rows() > 0);
        assert_eq!(big, little, "{name}");
    }
}

#[test]
fn dictionaries_that_differ_from_batch_to_batch_become_one() {
    let batch = |words: &[Option<&str>]| {
        let words: DictionaryArray<Int8Type> = words.iter().copied().collect();
        RecordBatch::try_from_iter_with_nullable([("w", Arc::new(words) as ArrayRef, true)]).unwrap()
    };
    let batches =
        [batch(&[Some("a"), Some("b"), None]), batch(&[Some("c"), Some("a")]), batch(&[Some("b"), Some("d")])];
    for format in formats() {
        let sink = colkit_core::MemorySink::new();
        let mut writer = format.writer(batches[0].schema(), Box::new(sink.clone()), &WriteOptions::default()).unwrap();
        for batch in &batches {
            writer.write(batch).unwrap();
        }
        writer.finish().unwrap();
        let read = conformance::reads(&format, &sink.bytes().unwrap(), APART);
        let words = arrow::compute::cast(read.column(0), &arrow::datatypes::DataType::Utf8).unwrap();
        let words: Vec<Option<&str>> = words.as_string::<i32>().iter().collect();
        assert_eq!(words, [Some("a"), Some("b"), None, Some("c"), Some("a"), Some("b"), Some("d")]);
    }
}

#[test]
fn a_stream_may_replace_its_dictionaries() {
    let mut bytes = Vec::new();
    let batch = |words: &[&str]| {
        let words: DictionaryArray<Int32Type> = words.iter().copied().collect();
        RecordBatch::try_from_iter([("w", Arc::new(words) as ArrayRef)]).unwrap()
    };
    let mut writer = StreamWriter::try_new(&mut bytes, &batch(&["a"]).schema()).unwrap();
    for words in [&["a", "b"][..], &["x", "y", "x"], &["z"]] {
        writer.write(&batch(words)).unwrap();
    }
    writer.finish().unwrap();
    drop(writer);
    let format: Arc<dyn Format> = Arc::new(ArrowStream::default());
    let read = conformance::reads(&format, &Bytes::from(bytes), APART);
    let words = arrow::compute::cast(read.column(0), &arrow::datatypes::DataType::Utf8).unwrap();
    assert_eq!(words.as_string::<i32>(), &StringArray::from(vec!["a", "b", "x", "y", "x", "z"]));
}

#[test]
fn parts_of_structs_are_cut_out() {
    let batch = rich(200);
    let column = batch.schema().index_of("struct").unwrap();
    let (bytes, _) = conformance::write(&formats()[0], &batch, 70, &WriteOptions::default()).unwrap();
    let file = TableFile::open(formats()[0].clone(), Arc::new(bytes), &ReadOptions::default()).unwrap();
    let projection = Projection::parts(vec![ColumnRef { index: column, within: vec![vec![1]] }]);
    for part in file.scan(&Scan::of(projection)).unwrap() {
        let part = part.unwrap();
        assert_eq!(part.column(0).as_struct().column_names(), ["b"]);
    }
}

#[test]
fn a_stream_that_just_ends_is_whole() {
    let format: Arc<dyn Format> = Arc::new(ArrowStream::default());
    let (bytes, _) = conformance::write(&format, &plain(100), 40, &WriteOptions::default()).unwrap();
    let cut = bytes.slice(..bytes.len() - 8);
    assert_eq!(conformance::read_all(&format, &cut).unwrap().columns(), plain(100).columns());
    assert_eq!(conformance::refused(&format, &bytes.slice(..bytes.len() - 9)), "block_out_of_range");
}

#[test]
fn only_zstd_has_levels() {
    let write = |compression| {
        let format: Arc<dyn Format> = Arc::new(ArrowFile { compression });
        let options = WriteOptions { level: Some(5), ..WriteOptions::default() };
        conformance::write(&format, &plain(10), 10, &options).map(drop).map_err(|e| e.code())
    };
    assert_eq!(write(IpcCompression::Zstd), Ok(()));
    assert_eq!(write(IpcCompression::Lz4), Err("bad_level"));
    assert_eq!(write(IpcCompression::None), Err("bad_level"));
}

#[test]
fn kinds_are_told_by_their_first_bytes() {
    let bytes = |f: &Arc<dyn Format>| conformance::write(f, &plain(5), 5, &WriteOptions::default()).unwrap().0;
    let (file, stream): (Arc<dyn Format>, Arc<dyn Format>) =
        (Arc::new(ArrowFile::default()), Arc::new(ArrowStream::default()));
    assert!(file.sniff(&bytes(&file)[..16], b"") && !stream.sniff(&bytes(&file)[..16], b""));
    assert!(stream.sniff(&bytes(&stream)[..16], b"") && !file.sniff(&bytes(&stream)[..16], b""));
}
