//! Mini-block pages: narrow values, cut into chunks that are decoded whole.
//!
//! | buffer | content |
//! |---|---|
//! | 0 | chunk words |
//! | 1 | the chunks |
//! | 2 | the dictionary, if there is one |
//! | last | the repetition index, if there are lists |
//!
//! A chunk: `u16` number of levels, `u16` bytes of repetition levels, `u16` bytes of definition levels (each if there
//! are such levels), `u16` or `u32` bytes of each value buffer; then these parts. Everything starts on a multiple of 8.

use super::compression::{as_block, in_chunks};
use super::dictionary::{dictionary, look_up};
use super::layers::{Layers, Levels};
use super::messages::MiniBlockLayout;
use super::run_length;
use super::runs::{Decoding, runs};
use super::search::Chunks;
use crate::bytes_at::size;
use crate::coroutine::{Io, coroutine};
use crate::encoding::{
    Compression, Decoded, Form, Page, PageBytes, PageContext, PageSummary, Target, Validity, buffer_at, collector,
    part_of, run_collector,
};
use crate::nulls::with_nulls;
use crate::packed::split_records;
use crate::rows::Rows;
use crate::values::{Runs, Values};
use arrow::array::ArrayRef;
use arrow::buffer::NullBuffer;
use arrow::datatypes::DataType;
use bytes::Bytes;
use colkit_core::pool::Pooled;
use colkit_core::{Boxed, ByteRange, Error, Result};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// A mini-block page.
pub(super) struct MiniBlock {
    pub context: PageContext,
    pub rep: Option<Arc<dyn Compression>>,
    pub def: Option<Arc<dyn Compression>>,
    pub values: Arc<dyn Compression>,
    dictionary: Option<Arc<dyn Compression>>,
    num_dictionary_items: u64,
    pub layers: Layers,
    pub num_buffers: usize,
    index_depth: u32,
    num_items: u64,
    pub large: bool,
    chunks: OnceLock<Chunks>,
    items: OnceLock<ArrayRef>,
}

/// Value buffers of a chunk: far fewer in practice.
const MOST_BUFFERS: u64 = 64;

impl MiniBlock {
    pub fn parse(layout: MiniBlockLayout, context: PageContext) -> Result<Self> {
        let values =
            layout.value_compression.ok_or_else(|| Error::corrupt("bad_encoding", "a page lacks its values"))?;
        let values = context.compression(&values)?;
        let decoder = in_chunks(values.as_ref())?;
        let needed = if decoder.any_buffers() { layout.num_buffers } else { decoder.buffers() };
        if layout.num_buffers != needed || layout.num_buffers > MOST_BUFFERS {
            return Err(Error::corrupt(
                "bad_encoding",
                format!("{values} needs {needed} buffers in a chunk, the page says {}", layout.num_buffers),
            ));
        }
        let layers = Layers::parse(&layout.layers)?;
        if (layers.max_rep > 0) != layout.rep_compression.is_some()
            || (layers.max_rep > 0) != (layout.repetition_index_depth > 0)
        {
            return Err(Error::corrupt("bad_levels", "lists need repetition levels and an index, others have neither"));
        }
        if layout.def_compression.is_some() && layers.max_def == 0 {
            return Err(Error::corrupt("bad_levels", "definition levels although nothing can be null"));
        }
        if layers.max_rep == 0 && layout.num_items != context.length {
            return Err(Error::corrupt(
                "row_count_mismatch",
                format!("{} values in a page of {} rows", layout.num_items, context.length),
            ));
        }
        Ok(MiniBlock {
            rep: layout.rep_compression.map(|m| context.compression(&m)).transpose()?,
            def: layout.def_compression.map(|m| context.compression(&m)).transpose()?,
            dictionary: layout.dictionary.map(|m| context.compression(&m)).transpose()?,
            values,
            num_dictionary_items: layout.num_dictionary_items,
            layers,
            num_buffers: size(layout.num_buffers)?,
            index_depth: layout.repetition_index_depth,
            num_items: layout.num_items,
            large: layout.has_large_chunk,
            chunks: OnceLock::new(),
            items: OnceLock::new(),
            context,
        })
    }

    fn buffer(&self, index: usize, what: &str) -> Result<ByteRange> {
        buffer_at(&self.context.buffers, index, what)
    }

    /// Fetches what is needed to find rows and to decode them, unless it is known already.
    async fn prepare(&self, io: &Io, target: &Target) -> Result<&Chunks> {
        let encoding = self.dictionary.as_ref().filter(|_| self.items.get().is_none());
        let (Some(encoding), known) = (encoding, self.chunks.get()) else { return self.find_chunks(io).await };
        let mut ranges = vec![self.buffer(2, "the dictionary")?];
        if known.is_none() {
            ranges.extend(self.search_buffers()?);
        }
        let mut fetched = io.read(ranges).await?.into_iter();
        let value_type = match target.field.data_type() {
            DataType::Dictionary(_, value) => value,
            other => other,
        };
        let (bytes, count) = (fetched.next().unwrap_or_default(), size(self.num_dictionary_items)?);
        let items = as_block(encoding.as_ref())?.array(&bytes, count, value_type, &self.context.limits);
        let _ = self.items.set(items.map_err(|e| e.part("dictionary"))?);
        match known {
            Some(known) => Ok(known),
            None => self.chunks_in(fetched),
        }
    }

    /// Fetches what is needed to find rows, unless it is known already.
    async fn find_chunks(&self, io: &Io) -> Result<&Chunks> {
        match self.chunks.get() {
            Some(known) => Ok(known),
            None => self.chunks_in(io.read(self.search_buffers()?).await?.into_iter()),
        }
    }

    /// The buffers that say where rows are: the chunk words and, with lists, the repetition index.
    fn search_buffers(&self) -> Result<Vec<ByteRange>> {
        let mut ranges = vec![self.buffer(0, "the chunk words")?];
        if self.index_depth > 0 {
            ranges.push(self.buffer(2 + usize::from(self.dictionary.is_some()), "the repetition index")?);
        }
        Ok(ranges)
    }

    fn chunks_in(&self, mut fetched: impl Iterator<Item = Bytes>) -> Result<&Chunks> {
        let words = fetched.next().unwrap_or_default();
        let mut chunks = Chunks::parse(&words, self.large, self.num_items, self.buffer(1, "the chunks")?.len())?;
        if self.index_depth > 0 {
            chunks = chunks.with_rows(&fetched.next().unwrap_or_default(), self.index_depth, self.context.length)?;
        }
        Ok(self.chunks.get_or_init(|| chunks))
    }

    async fn read_rows(&self, io: &Io, rows: Rows, target: &Target) -> Result<Decoded> {
        self.layers.check(&target.around)?;
        let chunks = self.prepare(io, target).await?;
        let runs = runs(chunks, &rows);
        let data = self.buffer(1, "the chunks")?;
        let ranges = runs.iter().map(|run| part_of(data, chunks.bytes(&run.chunks))).collect::<Result<Vec<_>>>()?;
        let fetched = io.read(ranges).await?;

        let kind = match (&self.dictionary, target.field.data_type()) {
            (Some(_), _) => &DataType::Null,
            (None, other) => other,
        };
        let (count, decoder) = (size(rows.len())?, in_chunks(self.values.as_ref())?);
        let mut decoded = Decoding {
            page: self,
            chunks,
            decoder,
            values: match run_collector(decoder, count).filter(|_| target.encoded) {
                Some(runs) => runs,
                None => collector(&self.values.form(), kind, count)?,
            },
            levels: Levels {
                rep: self.rep.is_some().then(Vec::new),
                def: self.def.is_some().then(Vec::new),
                entries: 0,
            },
            validity: Validity::default(),
            unpacked: Pooled::default(),
        };
        for (run, bytes) in runs.iter().zip(&fetched) {
            if self.rep.is_some() {
                decoded.run_with_lists(run, bytes)?;
            } else {
                decoded.run(run, bytes)?;
            }
        }
        let Decoding { values, levels, validity, .. } = decoded;
        let (nulls, layers) = self.layers.unravel(levels, &target.around)?;
        let nulls = validity.finish(values.len(), nulls, target.field.is_nullable())?;
        Ok(Decoded::Shaped { values: self.finish(values, nulls, target)?, layers })
    }

    fn finish(&self, values: Values, nulls: Option<NullBuffer>, target: &Target) -> Result<ArrayRef> {
        let data_type = target.field.data_type();
        if let Values::Runs(Runs { width, values, ends }) = values {
            let values = self.finish(Values::Fixed { width, data: values }, None, target)?;
            return run_length::array(ends, values, nulls);
        }
        if let Some(items) = self.items.get() {
            return match target.encoded {
                true => dictionary(values, nulls, items, data_type),
                false => look_up(values, nulls, items, data_type),
            };
        }
        match (self.values.form(), values) {
            (Form::Records { .. }, Values::Fixed { width, data }) => {
                let count = data.len().checked_div(width).unwrap_or(0);
                with_nulls(split_records(data.as_slice(), width, count, data_type)?, nulls)
            }
            (_, values) => values.array(data_type, nulls),
        }
    }
}

impl Page for MiniBlock {
    fn summary(&self) -> PageSummary {
        let values = match &self.dictionary {
            Some(dictionary) => {
                format!("dictionary({}, {dictionary}, {} items)", self.values, self.num_dictionary_items)
            }
            None => self.values.to_string(),
        };
        let levels = |what: &str, encoding: &Option<Arc<dyn Compression>>| {
            encoding.as_ref().map(|e| format!(", {what} {e}")).unwrap_or_default()
        };
        let encoding = format!("{values}{}{}", levels("repetition", &self.rep), levels("definition", &self.def));
        let mut buffers = vec!["chunk words".to_owned(), format!("chunks of {encoding}")];
        buffers.extend(self.dictionary.as_ref().map(|d| format!("dictionary: {d}")));
        buffers.extend((self.index_depth > 0).then(|| "repetition index".to_owned()));
        PageSummary { layout: "mini_block".into(), encoding, buffers, values: Some(self.num_items) }
    }

    fn read(self: Arc<Self>, rows: Rows, target: Target) -> Boxed<Decoded> {
        coroutine(move |io| async move { self.read_rows(&io, rows, &target).await })
    }

    fn learn(self: Arc<Self>) -> Option<Boxed<()>> {
        let unknown = self.chunks.get().is_none();
        unknown.then(|| coroutine(move |io| async move { self.find_chunks(&io).await.map(|_| ()) }))
    }

    fn bytes_of(&self, rows: &Range<u64>) -> Option<PageBytes> {
        let chunks = self.chunks.get()?;
        let data = part_of(self.buffer(1, "the chunks").ok()?, chunks.bytes(&chunks.holding(rows))).ok()?;
        let dictionary = self.dictionary.as_ref().filter(|_| self.items.get().is_none());
        let once = dictionary.and_then(|_| self.buffer(2, "the dictionary").ok());
        Some(PageBytes { rows: vec![data], once: once.into_iter().collect() })
    }
}
