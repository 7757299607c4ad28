//! Numbers of any kind, as small as the library `pco` makes them.
//!
//! The description has two bytes: how many bytes a value has, and what it is: 0 unsigned, 1 signed, 2 a floating-point number;
//! 3 is a number of 16 bytes that is stored as a signed one of 8. The buffer of a chunk is the header of pco's wrapped format, the
//! metadata of a chunk, and one page.

use super::frame::{fits_in_64_bits, put_wide};
use super::{Sample, WRITES, bad_description, module, put_plain};
use crate::encoding::{
    Bytes, Chunk, ChunkEncoder, Compression, EmbeddedModule, Encodings, Form, InChunks, Output, PageValues,
    ValueEncoding,
};
use arrow::datatypes::DataType;
use bytemuck::Pod;
use colkit_core::pool::Pooled;
use colkit_core::{Error, Limits, Result};
use pco::data_types::Number;
use pco::errors::PcoError;
use pco::wrapped::{FileCompressor, FileDecompressor};
use pco::{ChunkConfig, PagingSpec};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// What pco makes of numbers.
pub(super) struct PcoEncoding;

const NAME: &str = "colkit.Pco";

/// What decoding takes beside the bytes that come out, in picoseconds: a value, and the tables of a chunk.
const TIME: u64 = 3500;
const BYTE_TIME: u64 = 180;
const CHUNK_TIME: u64 = 12_000_000;

/// What values are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    U16,
    U32,
    U64,
    I16,
    I32,
    I64,
    F32,
    F64,
    Wide,
}

impl Kind {
    const ALL: [(Kind, [u8; 2]); 9] = [
        (Kind::U16, [2, 0]),
        (Kind::U32, [4, 0]),
        (Kind::U64, [8, 0]),
        (Kind::I16, [2, 1]),
        (Kind::I32, [4, 1]),
        (Kind::I64, [8, 1]),
        (Kind::F32, [4, 2]),
        (Kind::F64, [8, 2]),
        (Kind::Wide, [16, 3]),
    ];

    fn description(self) -> [u8; 2] {
        Self::ALL.iter().find(|(kind, _)| *kind == self).map_or([0; 2], |(_, description)| *description)
    }

    fn bytes(self) -> usize {
        let [bytes, _] = self.description();
        bytes.into()
    }

    fn of(values: &PageValues<'_>) -> Option<Kind> {
        use DataType::*;
        let kind = match values.data_type {
            UInt8 | UInt16 | UInt32 | UInt64 => 0,
            Int8 | Int16 | Int32 | Int64 | Date32 | Date64 | Time32(_) | Time64(_) | Timestamp(_, _) | Duration(_) => 1,
            Decimal32(_, _) | Decimal64(_, _) => 1,
            Float32 | Float64 => 2,
            Decimal128(_, _) if fits_in_64_bits(values.bytes) => 3,
            _ => return None,
        };
        let description = [u8::try_from(values.width).ok()?, kind];
        Self::ALL.iter().find(|(_, known)| *known == description).map(|(kind, _)| *kind)
    }
}

impl ValueEncoding for PcoEncoding {
    fn name(&self) -> &str {
        NAME
    }

    fn parse(&self, message: Bytes, _: &Encodings<'_>) -> Result<Arc<dyn Compression>> {
        let known = Kind::ALL.iter().find(|(_, description)| *description == *message);
        known.map(|(kind, _)| Arc::new(PcoOf(*kind)) as _).ok_or_else(|| bad_description(NAME, &message))
    }

    fn module(&self) -> Option<EmbeddedModule> {
        module(include_bytes!("modules/pco.wasm"), include_str!("modules/pco.sha256"))
    }

    fn encoder<'a>(&self, values: PageValues<'a>) -> Result<Option<Box<dyn ChunkEncoder + 'a>>> {
        let Some(kind) = Kind::of(&values).filter(|_| WRITES) else { return Ok(None) };
        let sample = Sample::of(&values, |range| encoded(&values, kind, range).unwrap_or_default());
        Ok(Some(Box::new(PcoEncoder { values, kind, sample })))
    }
}

/// Such numbers.
struct PcoOf(Kind);

impl fmt::Display for PcoOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pco({})", self.0.bytes() * 8)
    }
}

impl Compression for PcoOf {
    fn form(&self) -> Form {
        Form::Fixed { bits: self.0.bytes() as u64 * 8 }
    }

    fn in_chunks(&self) -> Option<&dyn InChunks> {
        Some(self)
    }
}

impl InChunks for PcoOf {
    fn append(&self, mut chunk: Chunk<'_>, mut out: Output<'_>) -> Result<()> {
        let bytes = self.0.bytes();
        Limits::check_memory("the values of a chunk", chunk.count.saturating_mul(bytes) as u64, chunk.limits.memory)?;
        let out = out.fixed(bytes)?;
        match self.0 {
            Kind::U16 => append::<u16>(&mut chunk, out, put_plain),
            Kind::U32 => append::<u32>(&mut chunk, out, put_plain),
            Kind::U64 => append::<u64>(&mut chunk, out, put_plain),
            Kind::I16 => append::<i16>(&mut chunk, out, put_plain),
            Kind::I32 => append::<i32>(&mut chunk, out, put_plain),
            Kind::I64 => append::<i64>(&mut chunk, out, put_plain),
            Kind::F32 => append::<f32>(&mut chunk, out, put_plain),
            Kind::F64 => append::<f64>(&mut chunk, out, put_plain),
            Kind::Wide => append::<i64>(&mut chunk, out, |words, out| put_wide(bytemuck::cast_slice(words), out)),
        }
    }
}

fn malformed(e: &PcoError) -> Error {
    Error::corrupt("bad_chunk", format!("pco: {e}"))
}

/// Appends the wanted values of a chunk, which is decoded whole.
fn append<T: Number + Pod>(chunk: &mut Chunk<'_>, out: &mut Pooled, put: fn(&[T], &mut Pooled)) -> Result<()> {
    let bytes = chunk.buffer(0)?;
    chunk.scratch.clear();
    let room = chunk.scratch.room(chunk.count * size_of::<T>()).get_mut(..chunk.count * size_of::<T>());
    let values: &mut [T] = bytemuck::try_cast_slice_mut(room.unwrap_or_default()).unwrap_or_default();
    decode(bytes, values).map_err(|e| malformed(&e))?;
    for range in chunk.wanted {
        put(values.get(range.clone()).unwrap_or_default(), out);
    }
    Ok(())
}

fn decode<T: Number>(bytes: &[u8], values: &mut [T]) -> std::result::Result<(), PcoError> {
    let (file, rest) = FileDecompressor::new(bytes)?;
    let (mut chunk, rest) = file.chunk_decompressor::<T, _>(rest)?;
    chunk.page_decompressor(rest, values.len())?.read(values).map(drop)
}

struct PcoEncoder<'a> {
    values: PageValues<'a>,
    kind: Kind,
    sample: Sample,
}

fn encoded(values: &PageValues<'_>, kind: Kind, range: Range<usize>) -> Result<Vec<u8>> {
    let bytes = values.get(range);
    match kind {
        Kind::U16 => compress::<u16>(bytes),
        Kind::U32 => compress::<u32>(bytes),
        Kind::U64 => compress::<u64>(bytes),
        Kind::I16 => compress::<i16>(bytes),
        Kind::I32 => compress::<i32>(bytes),
        Kind::I64 => compress::<i64>(bytes),
        Kind::F32 => compress::<f32>(bytes),
        Kind::F64 => compress::<f64>(bytes),
        Kind::Wide => {
            let low = bytes.as_chunks::<16>().0.iter().filter_map(|b| b.first_chunk::<8>());
            compress::<i64>(&low.flatten().copied().collect::<Vec<u8>>())
        }
    }
}

fn compress<T: Number + Pod>(bytes: &[u8]) -> Result<Vec<u8>> {
    let numbers: Vec<T> = bytes.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned).collect();
    let refused = |e: PcoError| Error::internal(format!("pco: {e}"));
    let config = ChunkConfig::default().with_paging_spec(PagingSpec::Exact(vec![numbers.len()]));
    let file = FileCompressor::default();
    let mut out = Vec::new();
    file.write_header(&mut out).map_err(refused)?;
    let mut chunk = file.chunk_compressor(&numbers, &config).map_err(refused)?;
    chunk.write_meta(&mut out).map_err(refused)?;
    chunk.write_page(0, &mut out).map_err(refused)?;
    Ok(out)
}

impl ChunkEncoder for PcoEncoder<'_> {
    fn message(&self) -> Bytes {
        self.kind.description().to_vec().into()
    }

    fn bytes(&self, values: Range<usize>) -> usize {
        self.sample.bytes(values.len())
    }

    fn time(&self, values: usize) -> u64 {
        CHUNK_TIME + values as u64 * (TIME + self.kind.bytes() as u64 * BYTE_TIME)
    }

    fn encode(&self, values: Range<usize>) -> Result<Vec<Vec<u8>>> {
        Ok(vec![encoded(&self.values, self.kind, values)?])
    }
}
