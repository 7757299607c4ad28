//! Compressions that somebody adds: written, read, and unknown to others.

use crate::vectors::lance;
use arrow::array::{ArrayRef, Float64Array, Int64Array, StringArray};
use arrow::record_batch::RecordBatch;
use bytes::Bytes;
use colkit_core::conformance;
use colkit_core::{Format, Projection, ReadOptions, Result, Scan, TableFile, WriteOptions};
use colkit_lance::encoding::{
    Chunk, ChunkEncoder, Compression, Encodings, Form, InChunks, Output, PageValues, Registry, ValueEncoding,
};
use colkit_lance::{EncodingSet, Lance, LanceWriteOptions};
use std::ops::Range;
use std::sync::Arc;

/// Numbers of 64 bits that ascend by little: the first, then differences of a byte.
struct Steps;

impl ValueEncoding for Steps {
    fn name(&self) -> &str {
        "org.example.Steps"
    }

    fn parse(&self, _: Bytes, _: &Encodings<'_>) -> Result<Arc<dyn Compression>> {
        Ok(Arc::new(Steps))
    }

    fn encoder<'a>(&self, values: PageValues<'a>) -> Result<Option<Box<dyn ChunkEncoder + 'a>>> {
        let numbers = words(values.bytes);
        let small = |pair: &[u64]| pair[1].checked_sub(pair[0]).is_some_and(|step| step < 256);
        let fits = values.width == 8 && numbers.windows(2).all(small);
        Ok(fits.then(|| Box::new(StepsOf(values)) as Box<dyn ChunkEncoder + 'a>))
    }
}

impl std::fmt::Display for Steps {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "steps")
    }
}

fn words(bytes: &[u8]) -> Vec<u64> {
    bytes.chunks_exact(8).map(|b| u64::from_le_bytes(b.try_into().unwrap())).collect()
}

impl Compression for Steps {
    fn form(&self) -> Form {
        Form::Fixed { bits: 64 }
    }

    fn in_chunks(&self) -> Option<&dyn InChunks> {
        Some(self)
    }
}

impl InChunks for Steps {
    fn append(&self, chunk: Chunk<'_>, mut out: Output<'_>) -> Result<()> {
        let bytes = chunk.buffer(0)?;
        let (first, steps) = bytes.split_at(8);
        let mut all = vec![u64::from_le_bytes(first.try_into().unwrap())];
        steps.iter().for_each(|step| all.push(all.last().unwrap() + u64::from(*step)));
        let out = out.fixed(8)?;
        for value in chunk.wanted.iter().flat_map(|range| &all[range.clone()]) {
            out.extend_from_slice(&value.to_le_bytes());
        }
        Ok(())
    }
}

struct StepsOf<'a>(PageValues<'a>);

impl ChunkEncoder for StepsOf<'_> {
    fn message(&self) -> Bytes {
        Bytes::new()
    }

    fn bytes(&self, values: Range<usize>) -> usize {
        values.len() + 8
    }

    fn time(&self, values: usize) -> u64 {
        values as u64 * 1000
    }

    fn encode(&self, values: Range<usize>) -> Result<Vec<Vec<u8>>> {
        let numbers = words(self.0.get(values));
        let mut bytes = numbers[0].to_le_bytes().to_vec();
        bytes.extend(numbers.windows(2).map(|pair| (pair[1] - pair[0]) as u8));
        Ok(vec![bytes])
    }
}

fn table() -> RecordBatch {
    let ascending = (0..50_000i64).scan(1 << 40, |at, i| {
        *at += i * i % 251;
        Some(*at)
    });
    let columns: [(&str, ArrayRef); 3] = [
        ("n", Arc::new(Int64Array::from_iter_values(ascending))),
        ("x", Arc::new(Float64Array::from_iter_values((0..50_000).map(|i| f64::from(i).sqrt())))),
        ("t", Arc::new(StringArray::from_iter_values((0..50_000).map(|i| format!("text {}", i % 97))))),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn with_steps(encodings: EncodingSet) -> Arc<dyn Format> {
    let mut registry = Registry::standard();
    registry.add_values(Arc::new(Steps));
    let options = LanceWriteOptions::new().with_encodings(encodings);
    Arc::new(Lance::with_encodings(registry).with_write_options(options))
}

fn write(format: &Arc<dyn Format>) -> Bytes {
    conformance::write(format, &table(), 10_000, &WriteOptions::default()).unwrap().0
}

fn open(format: &Arc<dyn Format>, bytes: &Bytes) -> TableFile {
    TableFile::open(format.clone(), Arc::new(bytes.clone()), &ReadOptions::default()).unwrap()
}

#[test]
fn an_encoding_of_somebody_else_is_written_and_read() {
    let format = with_steps(EncodingSet::Extended);
    let bytes = write(&format);
    assert!(bytes.len() + 20_000 < write(&lance()).len(), "it is smaller");
    let file = open(&format, &bytes);
    let batches: Vec<RecordBatch> = file.scan(&Scan::default()).unwrap().map(|b| b.unwrap()).collect();
    let whole = arrow::compute::concat_batches(&table().schema(), &batches).unwrap();
    assert_eq!(whole, table());
    let taken = file.take(&[49_999, 0, 12_345], &Projection::all()).unwrap();
    assert_eq!(taken.slice(2, 1), table().slice(12_345, 1));
    assert_eq!(taken.slice(0, 1), table().slice(49_999, 1));
}

#[test]
fn only_columns_with_an_unknown_encoding_fail() {
    let bytes = write(&with_steps(EncodingSet::Extended));
    let file = open(&lance(), &bytes);
    let others = file.take(&[7], &Projection::columns([1, 2])).unwrap();
    assert_eq!(others, table().slice(7, 1).project(&[1, 2]).unwrap());
    let error = file.take(&[7], &Projection::columns([0])).unwrap_err();
    assert_eq!(error.code(), "unknown_encoding");
    assert!(error.to_string().contains("org.example.Steps"), "{error}");
    // It can be looked at all the same.
    assert!(file.layout().is_ok());
}

#[test]
fn nothing_is_written_so_unless_asked_for() {
    assert_eq!(write(&with_steps(EncodingSet::Stock)), write(&lance()));
}
