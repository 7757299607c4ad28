//! Mini-block pages: narrow values in chunks, each with the levels of its values.
//!
//! | buffer | content |
//! |---|---|
//! | 0 | a word per chunk: 4 bits log2 of its values, 12 (28) bits its size in units of 8 bytes, minus one |
//! | 1 | the chunks |
//! | 2 | the dictionary, if there is one |
//! | last | with lists: per chunk the rows that end in it, and the entries of the row that does not |
//!
//! Every chunk but the last has a power of two of values, at least two. A chunk ends right after its last value;
//! entries without a value go with the next one.

use super::codec::{Chunking, Codec};
use super::levels::Shredded;
use super::messages_of::bitpacked_block;
use crate::codec::bitpack::{GROUP, pack_to};
use crate::v21::messages::{CompressiveEncoding, Layout, MiniBlockLayout, PageLayout};
use colkit_core::{Error, Result};
use prost::Message;
use std::ops::Range;

/// Most bytes of a chunk, with words of 16 bits and with words of 32 bits.
const MOST_BYTES: usize = 32 << 10;
const MOST_LARGE_BYTES: usize = 1 << 20;

/// The byte between the parts of a chunk.
const PAD: u8 = 0xFE;

/// The dictionary of a page.
pub(super) struct Dictionary {
    pub message: CompressiveEncoding,
    pub bytes: Vec<u8>,
    pub items: usize,
}

/// A page's layout message and buffers.
pub(super) type Encoded = (Vec<u8>, Vec<Vec<u8>>);

/// Encodes a page; `None` if some chunk would not fit into its bounds.
pub(super) fn encode(
    page: &Shredded,
    codec: &dyn Codec,
    count: usize,
    dictionary: Option<&Dictionary>,
    chunking: Chunking,
) -> Result<Option<Encoded>> {
    let levels = Levels::of(page);
    let mut chunks = Chunks {
        page,
        levels: &levels,
        codec,
        chunking,
        size: if codec.groups() { GROUP } else { chunking.most_values },
        words: Vec::new(),
        bytes: Vec::new(),
        index: Vec::new(),
    };
    let (mut item, mut entry) = (0, 0);
    loop {
        let Some((items, entries)) = chunks.next(item, entry, count)? else { return Ok(None) };
        (item, entry) = (items, entries);
        if item >= count && entry >= page.entries {
            break;
        }
    }
    let Chunks { words, bytes, index, .. } = chunks;
    let layout = MiniBlockLayout {
        rep_compression: page.rep.is_some().then(|| levels.message(levels.rep_bits)),
        def_compression: page.def.is_some().then(|| levels.message(levels.def_bits)),
        value_compression: Some(codec.message()),
        dictionary: dictionary.map(|d| d.message.clone()),
        num_dictionary_items: dictionary.map_or(0, |d| d.items as u64),
        layers: page.layers.clone(),
        num_buffers: codec.buffers() as u64,
        repetition_index_depth: u32::from(page.rep.is_some()),
        num_items: count as u64,
        has_large_chunk: chunking.large,
    };
    let mut buffers = vec![words, bytes];
    buffers.extend(dictionary.map(|d| d.bytes.clone()));
    buffers.extend(page.rep.is_some().then_some(index));
    let layout = PageLayout { layout: Some(Layout::MiniBlock(Box::new(layout))) };
    Ok(Some((layout.encode_to_vec(), buffers)))
}

/// How the levels of a page are stored.
struct Levels {
    rep_bits: usize,
    def_bits: usize,
    /// Where the entries of each value end; `None` if every entry has a value.
    ends: Option<Vec<usize>>,
}

impl Levels {
    fn of(page: &Shredded) -> Self {
        let bits = |levels: &Option<Vec<u16>>| {
            let most = levels.iter().flatten().copied().max().unwrap_or(0);
            usize::try_from(u16::BITS - most.leading_zeros()).unwrap_or(16).max(1)
        };
        let hides = page.def.iter().flatten().any(|d| *d > page.max_visible);
        let ends = hides.then(|| (0..page.entries).filter(|e| page.visible(*e)).map(|e| e + 1).collect());
        Levels { rep_bits: bits(&page.rep), def_bits: bits(&page.def), ends }
    }

    fn message(&self, bits: usize) -> CompressiveEncoding {
        bitpacked_block(16, bits as u64)
    }

    /// Where the entries of the first `items` values end.
    fn end(&self, items: usize) -> usize {
        match &self.ends {
            Some(ends) => items.checked_sub(1).and_then(|last| ends.get(last)).copied().unwrap_or(0),
            None => items,
        }
    }
}

/// Levels of a chunk, packed: whole groups, then a rest, which stays unpacked where that is not larger.
fn pack_levels(levels: &[u16], bits: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    let packed_words = GROUP * bits / 16;
    for part in levels.chunks(GROUP) {
        if part.len() < GROUP && part.len() <= packed_words {
            bytes.extend(part.iter().flat_map(|l| l.to_le_bytes()));
            continue;
        }
        let mut group = [0; GROUP];
        group.iter_mut().zip(part).for_each(|(to, from)| *to = *from);
        bytes.append(&mut pack_to(&group, bits));
    }
    bytes
}

struct Chunks<'a> {
    page: &'a Shredded,
    levels: &'a Levels,
    codec: &'a dyn Codec,
    chunking: Chunking,
    /// Values to try for the next chunk: what the last one had, or more if there was room.
    size: usize,
    words: Vec<u8>,
    bytes: Vec<u8>,
    index: Vec<u8>,
}

impl Chunks<'_> {
    fn most_bytes(&self) -> usize {
        if self.chunking.large { MOST_LARGE_BYTES } else { MOST_BYTES }
    }

    /// Appends the chunk that begins with this value and entry; returns where the next begins.
    fn next(&mut self, item: usize, entry: usize, count: usize) -> Result<Option<(usize, usize)>> {
        let left = count - item;
        let wish = self.codec.wish(&self.chunking);
        let mut size = self.size;
        loop {
            let last = left <= size;
            let items = item..item + size.min(left);
            let entries = entry..if last { self.page.entries } else { self.levels.end(items.end) };
            let single = items.len() <= 1;
            if single && !last {
                return Ok(None);
            }
            // What must hold is that the chunk fits; the rest is a wish.
            let wanted = self.codec.groups() || items.len() <= 2 || self.codec.bytes(&items) <= wish;
            if wanted && let Some(chunk) = self.chunk(items.clone(), entries.clone())? {
                self.append(&chunk, if last { 0 } else { size.ilog2() }, entries.clone())?;
                let room = chunk.len() * 5 < self.most_bytes() * 2 && size < self.chunking.most_values;
                self.size = if room && !self.codec.groups() { size * 2 } else { size };
                return Ok(Some((items.end, entries.end)));
            }
            if self.codec.groups() || single {
                return Ok(None);
            }
            // The last chunk may have any number of values, but one before it a power of two.
            size = if last { items.len().next_power_of_two() / 2 } else { size / 2 };
            if size < 2 {
                return Ok(None);
            }
        }
    }

    /// A chunk; `None` if it is too large.
    fn chunk(&self, items: Range<usize>, entries: Range<usize>) -> Result<Option<Vec<u8>>> {
        let (rep, def) = (&self.page.rep, &self.page.def);
        let has_levels = rep.is_some() || def.is_some();
        let Ok(level_count) = u16::try_from(if has_levels { entries.len() } else { 0 }) else { return Ok(None) };
        let part = |levels: &Option<Vec<u16>>, bits: usize| {
            levels.as_ref().map(|l| pack_levels(l.get(entries.clone()).unwrap_or_default(), bits))
        };
        let mut parts: Vec<Vec<u8>> = part(rep, self.levels.rep_bits).into_iter().collect();
        parts.extend(part(def, self.levels.def_bits));
        parts.append(&mut self.codec.encode(items)?);
        let mut chunk = level_count.to_le_bytes().to_vec();
        let level_parts = usize::from(rep.is_some()) + usize::from(def.is_some());
        for (number, part) in parts.iter().enumerate() {
            if self.chunking.large && number >= level_parts {
                let Ok(size) = u32::try_from(part.len()) else { return Ok(None) };
                chunk.extend(size.to_le_bytes());
            } else {
                let Ok(size) = u16::try_from(part.len()) else { return Ok(None) };
                chunk.extend(size.to_le_bytes());
            }
        }
        chunk.resize(chunk.len().next_multiple_of(8), PAD);
        for part in &parts {
            chunk.extend_from_slice(part);
            chunk.resize(chunk.len().next_multiple_of(8), PAD);
        }
        Ok((chunk.len() <= self.most_bytes()).then_some(chunk))
    }

    fn append(&mut self, chunk: &[u8], log: u32, entries: Range<usize>) -> Result<()> {
        let units = u32::try_from(chunk.len() / 8 - 1).map_err(|_| Error::limit("a chunk", chunk.len(), u32::MAX))?;
        let word = (units << 4 | log).to_le_bytes();
        self.words.extend(word.iter().take(if self.chunking.large { 4 } else { 2 }));
        self.bytes.extend_from_slice(chunk);
        let Some(rep) = &self.page.rep else { return Ok(()) };
        let row_ends = |entry: &usize| rep.get(entry + 1).is_none_or(|r| *r == self.page.max_rep);
        let ends = entries.clone().filter(row_ends).count();
        let partial = entries.clone().rev().take_while(|e| !row_ends(e)).count();
        self.index.extend((ends as u64).to_le_bytes());
        self.index.extend((partial as u64).to_le_bytes());
        Ok(())
    }
}
