//! `org.example.Steps` in Rust: the writer of files that plugins read, and another decoder of them.

use arrow::array::{ArrayRef, Int64Array, StringArray};
use arrow::record_batch::RecordBatch;
use bytes::Bytes;
use colkit_core::conformance;
use colkit_core::{Error, Format, ReadOptions, Result, TableFile, WriteOptions};
use colkit_lance::encoding::{
    Chunk, ChunkEncoder, Compression, EmbeddedModule, Encodings, Form, InChunks, Output, PageTexts, PageValues,
    Registry, ValueEncoding,
};
use colkit_lance::{EncodingSet, Lance, LanceWriteOptions, Prefer};
use colkit_plugin::{Plugin, Plugins};
use std::ops::Range;
use std::sync::Arc;

/// Numbers of 64 bits that ascend by little; with the module that files shall bring.
#[derive(Clone, Default)]
pub struct Steps {
    pub module: Option<EmbeddedModule>,
}

fn words(bytes: &[u8]) -> Vec<u64> {
    bytes.chunks_exact(8).map(|b| u64::from_le_bytes(b.try_into().unwrap())).collect()
}

impl ValueEncoding for Steps {
    fn name(&self) -> &str {
        "org.example.Steps"
    }

    fn parse(&self, _: Bytes, _: &Encodings<'_>) -> Result<Arc<dyn Compression>> {
        Ok(Arc::new(self.clone()))
    }

    fn encoder<'a>(&self, values: PageValues<'a>) -> Result<Option<Box<dyn ChunkEncoder + 'a>>> {
        let small = |pair: &[u64]| pair[1].checked_sub(pair[0]).is_some_and(|step| step < 256);
        let fits = values.width == 8 && words(values.bytes).windows(2).all(small);
        Ok(fits.then(|| Box::new(StepsOf(values)) as Box<dyn ChunkEncoder + 'a>))
    }

    fn module(&self) -> Option<EmbeddedModule> {
        self.module.clone()
    }
}

impl std::fmt::Display for Steps {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "steps")
    }
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
        let (first, steps) =
            chunk.buffer(0)?.split_first_chunk().ok_or_else(|| Error::corrupt("bad_chunk", "short"))?;
        let mut all = vec![u64::from_le_bytes(*first)];
        steps.iter().for_each(|step| all.push(all.last().unwrap() + u64::from(*step)));
        for value in chunk.wanted.iter().flat_map(|range| &all[range.clone()]) {
            out.fixed(8)?.extend_from_slice(&value.to_le_bytes());
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

/// Texts of less than 256 bytes: their lengths, and their bytes.
#[derive(Clone)]
pub struct Short;

impl ValueEncoding for Short {
    fn name(&self) -> &str {
        "org.example.Short"
    }

    fn parse(&self, _: Bytes, _: &Encodings<'_>) -> Result<Arc<dyn Compression>> {
        Err(Error::unsupported("unknown_encoding", "only written"))
    }

    fn text_encoder<'a>(&self, texts: PageTexts<'a>) -> Result<Option<Box<dyn ChunkEncoder + 'a>>> {
        Ok(Some(Box::new(ShortOf(texts))))
    }
}

struct ShortOf<'a>(PageTexts<'a>);

impl ChunkEncoder for ShortOf<'_> {
    fn message(&self) -> Bytes {
        Bytes::new()
    }

    fn buffers(&self) -> usize {
        2
    }

    fn bytes(&self, values: Range<usize>) -> usize {
        values.len() + self.0.get(values).len()
    }

    fn time(&self, _: usize) -> u64 {
        0
    }

    fn encode(&self, values: Range<usize>) -> Result<Vec<Vec<u8>>> {
        let ends: Vec<usize> = self.0.ends(values.clone()).collect();
        let lengths = ends.windows(2).map(|pair| (pair[1] - pair[0]) as u8).collect();
        Ok(vec![lengths, self.0.get(values).to_vec()])
    }
}

/// Texts that are all different.
pub fn texts() -> RecordBatch {
    let text = |i: u64| format!("é{:x}", i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (i % 40));
    let texts = (0..1500).map(|i| (i % 7 != 3).then(|| text(i)));
    RecordBatch::try_from_iter([("t", Arc::new(StringArray::from_iter(texts)) as ArrayRef)]).unwrap()
}

/// The texts as a file that uses `org.example.Short`.
pub fn texts_file() -> Bytes {
    let mut registry = Registry::standard();
    registry.add_values(Arc::new(Short));
    write_with(&texts(), registry)
}

/// A column that ascends, and a text.
pub fn table() -> RecordBatch {
    rows(30_000, false)
}

/// The same, where the first column may have nulls.
pub fn nullable_table() -> RecordBatch {
    rows(30_000, true)
}

fn rows(count: i64, nullable: bool) -> RecordBatch {
    let ascending = (0..count).scan(1 << 40, |at, i| {
        *at += i * i % 251;
        Some(*at)
    });
    let columns: [(&str, ArrayRef, bool); 2] = [
        ("n", Arc::new(Int64Array::from_iter_values(ascending)), nullable),
        ("t", Arc::new(StringArray::from_iter_values((0..count).map(|i| format!("text {}", i % 97)))), false),
    ];
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

/// The table as a file that uses the encoding, and perhaps brings a module for it.
pub fn file(module: Option<Vec<u8>>) -> Bytes {
    write(&table(), module)
}

/// A few rows of it, with a module.
pub fn small_file(module: Vec<u8>) -> Bytes {
    write(&rows(300, false), Some(module))
}

pub fn write(table: &RecordBatch, module: Option<Vec<u8>>) -> Bytes {
    let mut registry = Registry::standard();
    let module = module.map(|bytes| Plugin::new(bytes).unwrap().module());
    registry.add_values(Arc::new(Steps { module }));
    write_with(table, registry)
}

/// The table as a file, by these encodings.
pub fn write_with(table: &RecordBatch, registry: Registry) -> Bytes {
    let options = LanceWriteOptions::new().with_encodings(EncodingSet::Extended).with_prefer(Prefer::RandomAccess);
    let format: Arc<dyn Format> = Arc::new(Lance::with_encodings(registry).with_write_options(options));
    conformance::write(&format, table, 10_000, &WriteOptions::default()).unwrap().0
}

/// Opens a file with these plugins.
pub fn open(bytes: &Bytes, plugins: &Plugins) -> Result<TableFile> {
    open_with(bytes, plugins, &ReadOptions::default())
}

pub fn open_with(bytes: &Bytes, plugins: &Plugins, options: &ReadOptions) -> Result<TableFile> {
    let mut registry = Registry::standard();
    plugins.add_to(&mut registry);
    let format: Arc<dyn Format> = Arc::new(Lance::with_encodings(registry));
    TableFile::open(format, Arc::new(bytes.clone()), options)
}

/// Plugins of these modules.
pub fn plugins(modules: impl IntoIterator<Item = Vec<u8>>) -> Plugins {
    let mut plugins = Plugins::new();
    modules.into_iter().for_each(|module| plugins.add(Plugin::new(module).unwrap()));
    plugins
}
