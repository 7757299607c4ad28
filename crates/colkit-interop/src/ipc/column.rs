//! Reading a column: its buffers, batch after batch, and the dictionaries they refer to.

use super::endian;
use super::index::{Index, Slot};
use super::message::Batch;
use crate::claims::{LZ4_RATIO, exceeds};
use crate::decoder_panics::guarded;
use crate::parts::keep;
use arrow::array::{Array, ArrayRef};
use arrow::buffer::Buffer;
use arrow::datatypes::{Field, Schema, SchemaRef};
use arrow::ipc::reader::RecordBatchDecoder;
use arrow::ipc::{BodyCompressionBuilder, Buffer as BufferAt, CompressionType, FieldNode, RecordBatchBuilder};
use arrow::record_batch::RecordBatch;
use bytes::{Bytes, BytesMut};
use colkit_core::plan::batch_of;
use colkit_core::{ByteRange, Error, Limits, Machine, Result, Step, check_values, memory};
use lz4_flex::frame::FrameDecoder;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// Gives a column's rows, cut to batches.
pub(super) struct IpcColumn {
    index: Arc<Index>,
    column: usize,
    /// What to keep of the column, as many times as it is wanted.
    schema: SchemaRef,
    wanted: Range<u64>,
    batch_rows: usize,
    /// Batches still to read.
    batches: Range<usize>,
    dictionaries: HashMap<i64, ArrayRef>,
    /// The dictionary messages that make up `dictionaries`.
    loaded: Vec<usize>,
    /// What was asked for.
    asked: Option<Asked>,
    /// Rows decoded and not given yet.
    ready: Option<ArrayRef>,
}

enum Asked {
    Dictionary(usize),
    Batch(usize),
}

impl IpcColumn {
    pub fn new(index: Arc<Index>, column: usize, schema: SchemaRef, wanted: Range<u64>, batch_rows: usize) -> Self {
        let batches = index.batches_of(&wanted);
        IpcColumn {
            index,
            column,
            schema,
            wanted,
            batch_rows: batch_rows.max(1),
            batches,
            dictionaries: HashMap::new(),
            loaded: Vec::new(),
            asked: None,
            ready: None,
        }
    }

    /// The buffers of a dictionary message, or of the column in a batch.
    fn ask(&mut self, asked: Asked) -> Result<Option<Vec<ByteRange>>> {
        let ranges = match &asked {
            Asked::Dictionary(at) => self.index.dictionaries.get(*at).map(|d| ranges(&d.values, &d.slot)),
            Asked::Batch(at) => {
                let batch = self.index.batches.get(*at);
                batch.and_then(|b| Some(ranges(&b.batch, b.slots.get(self.column)?)))
            }
        };
        let Some(ranges) = ranges else { return Err(Error::request("no_such_rows", "a batch beyond the last")) };
        let bytes = ranges.iter().map(|r| r.len()).sum();
        Limits::check("a batch of the column", bytes, self.index.limits.memory).map_err(|e| e.hint(memory::hint()))?;
        self.asked = Some(asked);
        Ok(Some(ranges).filter(|r| !r.is_empty()))
    }

    fn accept(&mut self, got: Vec<Bytes>) -> Result<()> {
        let index = self.index.clone();
        match self.asked.take() {
            Some(Asked::Dictionary(at)) => {
                let Some(dictionary) = index.dictionaries.get(at) else { return Ok(()) };
                let field = Field::new("values", dictionary.data_type.clone(), true);
                let values = self.decode(&dictionary.values, &dictionary.slot, field, got)?;
                let values = match self.dictionaries.get(&dictionary.id) {
                    Some(before) if dictionary.delta => arrow::compute::concat(&[before.as_ref(), values.as_ref()])?,
                    None if dictionary.delta => {
                        return Err(Error::corrupt("bad_message", "an addition to a dictionary that is not there"));
                    }
                    _ => values,
                };
                self.dictionaries.insert(dictionary.id, values);
                self.loaded.push(at);
            }
            Some(Asked::Batch(at)) => {
                let Some(batch) = index.batches.get(at) else { return Ok(()) };
                let Some((slot, field)) = batch.slots.get(self.column).zip(index.schema.fields().get(self.column))
                else {
                    return Ok(());
                };
                let array = self.decode(&batch.batch, slot, field.as_ref().clone(), got)?;
                let (from, to) = (batch.rows.start.max(self.wanted.start), batch.rows.end.min(self.wanted.end));
                let whole = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
                let (skip, rows) = (whole(from - batch.rows.start), whole(to.saturating_sub(from)));
                self.batches.start = at + 1;
                self.ready = Some(array.slice(skip, rows)).filter(|a| !a.is_empty());
            }
            None => {}
        }
        Ok(())
    }

    fn decode(&self, batch: &Batch, slot: &Slot, field: Field, got: Vec<Bytes>) -> Result<ArrayRef> {
        let part = format!("column {:?}", self.index.schema.fields().get(self.column).map_or("", |f| f.name()));
        let limit = self.index.limits.memory;
        guarded(&part, || decode(batch, slot, field, got, &self.dictionaries, limit, self.index.byte_swapped))
    }

    /// Gives the next rows of what is ready.
    fn give(&mut self, array: &ArrayRef) -> Result<RecordBatch> {
        let rows = self.batch_rows.min(array.len());
        let part = array.slice(0, rows);
        if rows < array.len() {
            self.ready = Some(array.slice(rows, array.len() - rows));
        }
        let columns = self.schema.fields().iter().map(|f| keep(&part, f)).collect::<Result<Vec<_>>>()?;
        batch_of(&self.schema, columns, rows).map_err(|e| Error::corrupt("decoder_failed", e.message().to_string()))
    }
}

impl Machine for IpcColumn {
    type Output = Option<RecordBatch>;

    fn step(&mut self, got: Vec<Bytes>) -> Result<Step<Self::Output>> {
        if self.asked.is_some() {
            self.accept(got)?;
        }
        loop {
            if let Some(array) = self.ready.take() {
                return Ok(Step::Ready(Some(self.give(&array)?)));
            }
            if self.batches.is_empty() {
                return Ok(Step::Ready(None));
            }
            let needed = self.index.dictionaries_of(self.column, self.batches.start);
            if !needed.starts_with(&self.loaded) {
                // A dictionary was replaced.
                self.loaded.clear();
                self.dictionaries.clear();
            }
            let next = match needed.get(self.loaded.len()) {
                Some(dictionary) => Asked::Dictionary(*dictionary),
                None => Asked::Batch(self.batches.start),
            };
            match self.ask(next)? {
                Some(ranges) => return Ok(Step::Need(ranges)),
                None => self.accept(Vec::new())?,
            }
        }
    }
}

/// The bytes to fetch for the buffers of a slot: one range if they lie together, as they do in files that writers
/// write, else one for each.
pub(super) fn ranges(batch: &Batch, slot: &Slot) -> Vec<ByteRange> {
    let buffers: Vec<ByteRange> =
        batch.buffers.get(slot.buffers.clone()).unwrap_or_default().iter().copied().filter(|b| !b.is_empty()).collect();
    let (Some(start), Some(end)) = (buffers.iter().map(|b| b.start()).min(), buffers.iter().map(|b| b.end()).max())
    else {
        return Vec::new();
    };
    const PADDING: u64 = 64;
    let together = buffers.iter().map(|b| b.len().saturating_add(PADDING)).fold(0, u64::saturating_add);
    if end - start <= together { vec![ByteRange::between(start, end)] } else { buffers }
}

/// Decodes one array from the bytes of [`ranges`].
fn decode(
    batch: &Batch,
    slot: &Slot,
    field: Field,
    got: Vec<Bytes>,
    dictionaries: &HashMap<i64, ArrayRef>,
    limit: u64,
    byte_swapped: bool,
) -> Result<ArrayRef> {
    let fetched = ranges(batch, slot);
    let buffers = batch.buffers.get(slot.buffers.clone()).unwrap_or_default();
    let (body, places) = match (got.as_slice(), fetched.as_slice()) {
        ([one], [range]) => {
            // A buffer of no bytes lies nowhere; at the start is as good as any place.
            let place = |b: &ByteRange| if b.is_empty() { 0 } else { b.start().saturating_sub(range.start()) };
            (one.clone(), buffers.iter().map(place).collect::<Vec<u64>>())
        }
        _ => gather(buffers, &got),
    };
    if let Some(codec) = batch.compression {
        check_claims(codec, &body, &places, buffers, limit)?;
    }
    let message = message(batch, slot, &places, buffers)?;
    let parsed = flatbuffers::root::<arrow::ipc::RecordBatch<'_>>(&message)
        .map_err(|e| Error::corrupt("bad_message", e.to_string()))?;
    let body =
        if byte_swapped { endian::swapped(&body, &places, buffers, batch, slot, field.data_type())? } else { body };
    let body = Buffer::from(body);
    let schema = Arc::new(Schema::new(vec![field.with_nullable(true)]));
    let corrupt = |e: arrow::error::ArrowError| Error::corrupt("decoder_failed", e.to_string()).caused_by(e);
    let decoder = RecordBatchDecoder::try_new(&body, parsed, schema, dictionaries, &batch.version).map_err(corrupt)?;
    let read = decoder.read_record_batch().map_err(corrupt)?;
    let array = read.columns().first().ok_or_else(|| Error::corrupt("bad_message", "a batch without its column"))?;
    check_values(array)?;
    Ok(array.clone())
}

/// Refuses buffers that claim to unpack to more than is allowed, or unpack to more than they claim.
fn check_claims(codec: CompressionType, body: &[u8], places: &[u64], buffers: &[ByteRange], limit: u64) -> Result<()> {
    let mut unpacked = 0u64;
    for (place, buffer) in places.iter().zip(buffers).filter(|(_, b)| !b.is_empty()) {
        let range = usize::try_from(*place).ok().zip(buffer.len_usize().ok());
        let bytes = range.and_then(|(at, len)| body.get(at..at.checked_add(len)?)).unwrap_or_default();
        let Some((claim, packed)) = bytes.split_first_chunk() else {
            return Err(Error::corrupt("bad_message", "a compressed buffer without its length"));
        };
        let claim = match i64::from_le_bytes(*claim) {
            // As it is.
            -1 => None,
            n => Some(u64::try_from(n).unwrap_or(u64::MAX)),
        };
        unpacked = unpacked.saturating_add(claim.unwrap_or(buffer.len()));
        Limits::check("a batch of the column, unpacked,", unpacked, limit)?;
        // Of LZ4 arrow's decoder takes all that there is.
        let any = codec == CompressionType::LZ4_FRAME && (packed.len() as u64).saturating_mul(LZ4_RATIO) > limit;
        if claim.is_some_and(|claim| any && exceeds(FrameDecoder::new(packed), claim)) {
            return Err(Error::corrupt("bad_message", "a compressed buffer has more in it than it claims"));
        }
    }
    Ok(())
}

/// Buffers that lie apart, laid one after another on multiples of 64.
fn gather(buffers: &[ByteRange], got: &[Bytes]) -> (Bytes, Vec<u64>) {
    let mut body = BytesMut::new();
    let mut places = Vec::with_capacity(buffers.len());
    let mut got = got.iter();
    for buffer in buffers {
        places.push(body.len() as u64);
        if !buffer.is_empty() {
            if let Some(bytes) = got.next() {
                body.extend_from_slice(bytes);
            }
            body.resize(body.len().next_multiple_of(64), 0);
        }
    }
    (body.freeze(), places)
}

/// A record batch of one column.
fn message(batch: &Batch, slot: &Slot, places: &[u64], buffers: &[ByteRange]) -> Result<Vec<u8>> {
    let signed = |n: u64| i64::try_from(n).map_err(|_| Error::corrupt("bad_message", "a length beyond 2^63"));
    let nodes = batch.nodes.get(slot.nodes.clone()).unwrap_or_default();
    let nodes: Vec<FieldNode> = nodes.iter().map(|(length, nulls)| FieldNode::new(*length, *nulls)).collect();
    let rows = nodes.first().map_or(0, FieldNode::length);
    let buffers = places.iter().zip(buffers);
    let buffers = buffers.map(|(place, b)| Ok(BufferAt::new(signed(*place)?, signed(b.len())?)));
    let buffers = buffers.collect::<Result<Vec<_>>>()?;
    let mut builder = flatbuffers::FlatBufferBuilder::new();
    let nodes = builder.create_vector(&nodes);
    let buffers = builder.create_vector(&buffers);
    let variadic = batch.variadic.get(slot.variadic.clone()).unwrap_or_default();
    let variadic = (!variadic.is_empty()).then(|| builder.create_vector(variadic));
    let compression = batch.compression.map(|codec| {
        let mut compression = BodyCompressionBuilder::new(&mut builder);
        compression.add_method(arrow::ipc::BodyCompressionMethod::BUFFER);
        compression.add_codec(codec);
        compression.finish()
    });
    let mut record = RecordBatchBuilder::new(&mut builder);
    record.add_length(rows);
    record.add_nodes(nodes);
    record.add_buffers(buffers);
    if let Some(compression) = compression {
        record.add_compression(compression);
    }
    if let Some(variadic) = variadic {
        record.add_variadicBufferCounts(variadic);
    }
    let record = record.finish();
    builder.finish(record, None);
    Ok(builder.finished_data().to_vec())
}
