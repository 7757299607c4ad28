//! Mini-block pages: narrow values in chunks, each with the levels of its values.
//!
//! | buffer | content |
//! |---|---|
//! | 0 | a word per chunk: 4 bits log2 of its values, 12 bits its size in units of 8 bytes, minus one |
//! | 1 | the chunks |
//! | 2 | the dictionary, if there is one |
//! | last | with lists: per chunk the rows that end in it, and the entries of the row that does not |
//!
//! Every chunk but the last has a power of two of values, at least two. A chunk ends right after its last value;
//! entries without a value go with the next one.

use super::codec::{Codec, MOST_VALUES};
use super::levels::Shredded;
use super::messages_of::bitpacked_block;
use crate::codec::bitpack::{GROUP, pack_to};
use crate::v21::messages::{CompressiveEncoding, Layout, MiniBlockLayout, PageLayout};
use colkit_core::{Error, Result};
use prost::Message;
use std::ops::Range;

/// Most bytes of a chunk.
const MOST_BYTES: usize = 32 << 10;

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
) -> Result<Option<Encoded>> {
    let levels = Levels::of(page);
    let mut chunks = Chunks { page, levels: &levels, codec, words: Vec::new(), bytes: Vec::new(), index: Vec::new() };
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
        has_large_chunk: false,
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
    words: Vec<u8>,
    bytes: Vec<u8>,
    index: Vec<u8>,
}

impl Chunks<'_> {
    /// Appends the chunk that begins with this value and entry; returns where the next begins.
    fn next(&mut self, item: usize, entry: usize, count: usize) -> Result<Option<(usize, usize)>> {
        let left = count - item;
        let most = if self.codec.groups() { GROUP } else { MOST_VALUES };
        let mut size = most;
        loop {
            let last = left <= size;
            let items = item..item + size.min(left);
            let entries = entry..if last { self.page.entries } else { self.levels.end(items.end) };
            let single = items.len() <= 1;
            if single && !last {
                return Ok(None);
            }
            // The target is a wish; what must hold is that the chunk fits.
            let wanted = self.codec.bytes(&items) <= self.codec.target() || items.len() <= 2;
            if (wanted || self.codec.groups())
                && let Some(chunk) = self.chunk(items.clone(), entries.clone())?
            {
                self.append(&chunk, if last { 0 } else { size.ilog2() }, entries.clone())?;
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
        for part in &parts {
            let Ok(size) = u16::try_from(part.len()) else { return Ok(None) };
            chunk.extend(size.to_le_bytes());
        }
        chunk.resize(chunk.len().next_multiple_of(8), PAD);
        for part in &parts {
            chunk.extend_from_slice(part);
            chunk.resize(chunk.len().next_multiple_of(8), PAD);
        }
        Ok((chunk.len() <= MOST_BYTES).then_some(chunk))
    }

    fn append(&mut self, chunk: &[u8], log: u32, entries: Range<usize>) -> Result<()> {
        let units = u16::try_from(chunk.len() / 8 - 1).map_err(|_| Error::limit("a chunk", chunk.len(), MOST_BYTES))?;
        let word = units << 4 | u16::try_from(log).unwrap_or(0);
        self.words.extend(word.to_le_bytes());
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
