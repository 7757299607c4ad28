//! Where everything lies: what opening a file or a stream finds out.

use super::message::Batch;
use arrow::datatypes::{DataType, Field, FieldRef, Fields, Schema, SchemaRef, UnionMode};
use arrow::ipc::MetadataVersion;
use colkit_core::{ByteRange, Error, Limits, Region, Result, blocks_of};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// The body of a message.
#[derive(Clone, Copy, Debug)]
pub(super) struct MessageBody {
    pub offset: u64,
    pub length: u64,
}

impl MessageBody {
    /// A part of it, in the file. Writers let a buffer of no bytes point anywhere.
    pub fn inside(&self, offset: i64, length: i64) -> Result<ByteRange> {
        if length == 0 {
            return ByteRange::at(self.offset, 0);
        }
        let range = u64::try_from(offset).ok().zip(u64::try_from(length).ok());
        let range = range.filter(|(o, l)| o.checked_add(*l).is_some_and(|end| end <= self.length));
        match range {
            Some((offset, length)) => ByteRange::at(self.offset + offset, length),
            None => Err(Error::corrupt(
                "block_out_of_range",
                format!("a buffer of {length} bytes at {offset} of a body of {} bytes", self.length),
            )
            .at(self.offset)),
        }
    }
}

/// The nodes, buffers and counts of one column in a batch.
#[derive(Clone, Debug, Default)]
pub(super) struct Slot {
    pub nodes: Range<usize>,
    pub buffers: Range<usize>,
    pub variadic: Range<usize>,
}

/// A record batch of the table.
pub(super) struct RowBatch {
    pub rows: Range<u64>,
    pub batch: Batch,
    /// One per column.
    pub slots: Vec<Slot>,
    /// How many dictionary messages came before it: a stream may replace dictionaries on its way.
    pub dictionaries: usize,
}

/// The values of a dictionary, or more of them.
pub(super) struct Dictionary {
    pub id: i64,
    pub delta: bool,
    pub values: Batch,
    pub slot: Slot,
    pub data_type: DataType,
}

/// What opening found out.
pub(super) struct Index {
    pub schema: SchemaRef,
    pub size: u64,
    /// Whether buffers are in the other byte order than this machine's.
    pub byte_swapped: bool,
    pub rows: u64,
    /// Columns that have nulls though the schema says that they have none.
    pub with_nulls: Vec<usize>,
    pub batches: Vec<RowBatch>,
    pub dictionaries: Vec<Dictionary>,
    /// The type of the values of each dictionary that the schema refers to, and the messages that bring them.
    dictionary_types: HashMap<i64, DataType>,
    dictionaries_by_id: HashMap<i64, Vec<usize>>,
    /// Where the last message of a file ends: what is between it and the footer is the end mark.
    pub end_of_messages: Option<u64>,
    /// Header, messages' metadata, footer: everything but the bodies.
    pub regions: Vec<Region>,
    pub properties: Vec<(&'static str, String)>,
    pub limits: Limits,
}

impl Index {
    pub fn new(schema: SchemaRef, byte_swapped: bool, size: u64, limits: &Limits) -> Result<Self> {
        limits.check_columns(schema.fields().len() as u64)?;
        let mut dictionary_types = HashMap::new();
        each_dictionary(schema.fields(), &mut |id, values| {
            dictionary_types.entry(id).or_insert_with(|| values.clone());
        });
        Ok(Index {
            schema,
            dictionary_types,
            dictionaries_by_id: HashMap::new(),
            size,
            byte_swapped,
            rows: 0,
            with_nulls: Vec::new(),
            batches: Vec::new(),
            dictionaries: Vec::new(),
            end_of_messages: None,
            regions: Vec::new(),
            properties: Vec::new(),
            limits: limits.clone(),
        })
    }

    /// Adds the next record batch.
    pub fn add_batch(&mut self, batch: Batch) -> Result<()> {
        let fields: Vec<&Field> = self.schema.fields().iter().map(|f| f.as_ref()).collect();
        let slots = slots(&fields, &batch)?;
        for (field, slot) in fields.iter().zip(&slots) {
            let length = batch.nodes.get(slot.nodes.start).map(|n| n.0);
            if length.map(u64::try_from) != Some(Ok(batch.rows)) {
                let message = format!("a batch of {} rows has a column of {length:?}", batch.rows);
                return Err(Error::corrupt("row_count_mismatch", message).part(format!("column {:?}", field.name())));
            }
        }
        let end = self.rows.checked_add(batch.rows).filter(|n| *n < i64::MAX.unsigned_abs());
        let end = end.ok_or_else(|| Error::corrupt("row_count_mismatch", "more than 2^63 rows"))?;
        if batch.rows > 0 {
            let dictionaries = self.dictionaries.len();
            self.batches.push(RowBatch { rows: self.rows..end, batch, slots, dictionaries });
        }
        self.rows = end;
        Ok(())
    }

    /// Makes columns nullable that have nulls in spite of the schema. Writers do not look, and nothing is lost by it.
    pub fn admit_nulls(&mut self) {
        let has_nulls = |column: usize| {
            let nodes = |b: &RowBatch| b.slots.get(column).and_then(|s| b.batch.nodes.get(s.nodes.start).copied());
            self.batches.iter().filter_map(nodes).any(|(_, nulls)| nulls > 0)
        };
        let fields = self.schema.fields().iter().enumerate();
        self.with_nulls = fields.filter(|(n, f)| !f.is_nullable() && has_nulls(*n)).map(|(n, _)| n).collect();
        if self.with_nulls.is_empty() {
            return;
        }
        let mut fields: Vec<FieldRef> = self.schema.fields().iter().cloned().collect();
        for column in &self.with_nulls {
            if let Some(field) = fields.get_mut(*column) {
                *field = Arc::new(field.as_ref().clone().with_nullable(true));
            }
        }
        self.schema = Arc::new(Schema::new_with_metadata(fields, self.schema.metadata().clone()));
    }

    /// Adds the next dictionary message.
    pub fn add_dictionary(&mut self, id: i64, delta: bool, values: Batch) -> Result<()> {
        let Some(data_type) = self.dictionary_types.get(&id).cloned() else {
            // Nothing refers to it.
            return Ok(());
        };
        let field = Field::new("", data_type.clone(), true);
        let slot = slots(&[&field], &values)?.into_iter().next().unwrap_or_default();
        self.dictionaries_by_id.entry(id).or_default().push(self.dictionaries.len());
        self.dictionaries.push(Dictionary { id, delta, values, slot, data_type });
        Ok(())
    }

    /// The batches that hold these rows.
    pub fn batches_of(&self, rows: &Range<u64>) -> Range<usize> {
        blocks_of(&self.batches, |b| b.rows.start, rows)
    }

    /// The dictionary messages that a column's values in a batch refer to, in order.
    pub fn dictionaries_of(&self, column: usize, batch: usize) -> Vec<usize> {
        let Some(field) = self.schema.fields().get(column) else { return Vec::new() };
        let mut ids = Vec::new();
        each_dictionary(std::slice::from_ref(field), &mut |id, _| ids.push(id));
        let before = self.batches.get(batch).map_or(0, |b| b.dictionaries);
        let mut current: Vec<usize> = Vec::new();
        for messages in ids.iter().filter_map(|id| self.dictionaries_by_id.get(id)) {
            let known = messages.get(..messages.partition_point(|at| *at < before)).unwrap_or_default();
            // The last whole dictionary counts, and what was added to it since.
            let whole = known.iter().rposition(|at| self.dictionaries.get(*at).is_some_and(|d| !d.delta));
            current.extend_from_slice(known.get(whole.unwrap_or(0)..).unwrap_or_default());
        }
        current.sort_unstable();
        current.dedup();
        current
    }
}

/// Calls `found` with the id and value type of every dictionary in these fields.
fn each_dictionary(fields: &[FieldRef], found: &mut dyn FnMut(i64, &DataType)) {
    for field in fields {
        dictionaries_in(field, found);
    }
}

fn dictionaries_in(field: &Field, found: &mut dyn FnMut(i64, &DataType)) {
    if let DataType::Dictionary(_, values) = field.data_type() {
        #[expect(deprecated, reason = "the id is how messages refer to fields; arrow reads it into the field")]
        let id = field.dict_id();
        // What the values themselves refer to must be there before them.
        dictionaries_in(&Field::new("", values.as_ref().clone(), true), found);
        found(id.unwrap_or(0), values);
        return;
    }
    match field.data_type() {
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            dictionaries_in(item, found)
        }
        DataType::ListView(item) | DataType::LargeListView(item) | DataType::Map(item, _) => {
            dictionaries_in(item, found)
        }
        DataType::Struct(fields) => fields.iter().for_each(|f| dictionaries_in(f, found)),
        DataType::Union(fields, _) => fields.iter().for_each(|(_, f)| dictionaries_in(f, found)),
        DataType::RunEndEncoded(ends, values) => {
            dictionaries_in(ends, found);
            dictionaries_in(values, found);
        }
        _ => {}
    }
}

/// Which nodes and buffers of a batch belong to which of its columns. All must be there, and none left over.
fn slots(fields: &[&Field], batch: &Batch) -> Result<Vec<Slot>> {
    let mut at = Count { version: batch.version, ..Count::default() };
    let mut slots = Vec::with_capacity(fields.len());
    for field in fields {
        let start = (at.nodes, at.buffers, at.variadic);
        at.pass(field.data_type(), &batch.variadic)?;
        slots.push(Slot { nodes: start.0..at.nodes, buffers: start.1..at.buffers, variadic: start.2..at.variadic });
    }
    let found = (batch.nodes.len(), batch.buffers.len(), batch.variadic.len());
    // A writer may list more than the schema needs; less is an error.
    if at.nodes > found.0 || at.buffers > found.1 || at.variadic > found.2 {
        let message = format!("{} arrays in {} buffers, expected {} in {}", found.0, found.1, at.nodes, at.buffers);
        return Err(Error::corrupt("bad_message", message).part("record batch"));
    }
    Ok(slots)
}

/// How many nodes, buffers and variadic counts were passed.
#[derive(Default)]
struct Count {
    nodes: usize,
    buffers: usize,
    variadic: usize,
    version: MetadataVersion,
}

impl Count {
    fn pass(&mut self, data_type: &DataType, variadic: &[i64]) -> Result<()> {
        self.nodes += 1;
        match data_type {
            DataType::Null => {}
            DataType::Utf8 | DataType::Binary | DataType::LargeUtf8 | DataType::LargeBinary => self.buffers += 3,
            DataType::Utf8View | DataType::BinaryView => {
                let count = variadic.get(self.variadic).and_then(|n| usize::try_from(*n).ok());
                let count = count.filter(|n| *n < 1 << 31);
                let count =
                    count.ok_or_else(|| Error::corrupt("bad_message", "the number of view buffers is missing"))?;
                self.variadic += 1;
                self.buffers += 2 + count;
            }
            DataType::List(item) | DataType::LargeList(item) | DataType::Map(item, _) => {
                self.buffers += 2;
                self.pass(item.data_type(), variadic)?;
            }
            DataType::ListView(item) | DataType::LargeListView(item) => {
                self.buffers += 3;
                self.pass(item.data_type(), variadic)?;
            }
            DataType::FixedSizeList(item, _) => {
                self.buffers += 1;
                self.pass(item.data_type(), variadic)?;
            }
            DataType::Struct(fields) => {
                self.buffers += 1;
                self.children(fields, variadic)?;
            }
            DataType::Union(fields, mode) => {
                // Unions had a bitmap of nulls before version 5.
                self.buffers += usize::from(self.version < MetadataVersion::V5);
                self.buffers += if *mode == UnionMode::Dense { 2 } else { 1 };
                fields.iter().try_for_each(|(_, f)| self.pass(f.data_type(), variadic))?;
            }
            DataType::RunEndEncoded(ends, values) => {
                self.pass(ends.data_type(), variadic)?;
                self.pass(values.data_type(), variadic)?;
            }
            // Fixed-width values, booleans, keys of dictionaries.
            _ => self.buffers += 2,
        }
        Ok(())
    }

    fn children(&mut self, fields: &Fields, variadic: &[i64]) -> Result<()> {
        fields.iter().try_for_each(|f| self.pass(f.data_type(), variadic))
    }
}
