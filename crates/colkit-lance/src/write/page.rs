//! Which layout and encoding a page gets: every one that applies is asked for its size, the smallest wins.
//!
//! Sizes are measured on a few chunks spread over the page, so the choice is cheap and always the same for the same
//! values. Encodings that everything else must be unpacked for have to win clearly.

use super::Prefer;
use super::codec::{Bitpacked, Bits, Codec, Flat, General, MOST_VALUES, Runs, Split, Symbols, Texts, Wide};
use super::container::PageBytes;
use super::dictionary::{self, Indexed};
use super::full_zip;
use super::levels::{Shredded, paths, shred};
use super::mini_block::{self, Encoded};
use super::values::{Fixed, Lists, Values, Variable};
use crate::codec::bitpack::GROUP;
use crate::codec::general::Scheme;
use crate::v21::messages::{ConstantLayout, Layout, PageLayout};
use arrow::array::{Array, ArrayRef};
use arrow::datatypes::DataType;
use colkit_core::{Error, Result};
use prost::Message;

/// What the caller wants of encodings.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice {
    pub prefer: Prefer,
    /// Of zstd.
    pub level: i32,
}

/// Values that are stored one by one instead of in chunks.
const WIDE_BYTES: usize = 256;

/// Encodes leaf number `leaf` of these rows: one page, or several where one would not hold them.
pub(super) fn encode(top: &ArrayRef, leaf: usize, choice: Choice, pages: &mut Vec<PageBytes>) -> Result<()> {
    if matches!(top.data_type(), DataType::Struct(members) if members.is_empty()) {
        return empty_struct(top, pages);
    }
    let Some(path) = paths(top).into_iter().nth(leaf) else {
        return Err(Error::data("bad_values", "an array without the fields of its schema"));
    };
    let shredded = shred(&path)?;
    if let Some((layout, buffers)) = encode_page(&shredded, top.len(), choice)? {
        pages.push(PageBytes { buffers, layout, rows: top.len() as u64 });
        return Ok(());
    }
    // Many lists without items between two values: fewer rows have fewer of them.
    if top.len() < 2 {
        return Err(Error::data("row_too_large", "a row has more list entries than a page can hold"));
    }
    let half = top.len() / 2;
    encode(&top.slice(0, half), leaf, choice, pages)?;
    encode(&top.slice(half, top.len() - half), leaf, choice, pages)
}

/// A struct without members has no values, only rows.
fn empty_struct(top: &ArrayRef, pages: &mut Vec<PageBytes>) -> Result<()> {
    if top.null_count() > 0 {
        return Err(Error::data("type_not_supported", "nulls in a struct without members cannot be stored"));
    }
    let layout = constant(vec![3]);
    pages.push(PageBytes { buffers: Vec::new(), layout, rows: top.len() as u64 });
    Ok(())
}

fn constant(layers: Vec<i32>) -> Vec<u8> {
    let layout = ConstantLayout { layers, ..ConstantLayout::default() };
    PageLayout { layout: Some(Layout::Constant(Box::new(layout))) }.encode_to_vec()
}

fn encode_page(page: &Shredded, rows: usize, choice: Choice) -> Result<Option<Encoded>> {
    let visible = page.values.len();
    let all_null = page.def.as_ref().is_some_and(|d| d.iter().all(|d| *d > 0));
    // Some readers take one level per row from a page without values, so lists with several nulls keep their values.
    let one_per_row = page.entries == rows || visible == 0 || page.values.data_type() == &DataType::Null;
    if all_null && one_per_row || visible == 0 {
        return Ok(Some(no_values(page)));
    }
    if let DataType::Dictionary(_, _) = page.values.data_type() {
        let Indexed { indices, dictionary } = dictionary::of_array(&page.values)?;
        let codec = smallest(fixed_codecs(&indices, choice), indices.len())?;
        return mini_block::encode(page, codec.as_ref(), visible, Some(&dictionary));
    }
    match Values::of(&page.values)? {
        Values::Bits(bits) => {
            let mut codecs: Vec<Box<dyn Codec + '_>> = vec![Box::new(Bits(&bits))];
            if let Some(scheme) = scheme(choice) {
                codecs.push(Box::new(General { inner: Bits(&bits), scheme, level: choice.level }));
            }
            mini_block::encode(page, smallest(codecs, bits.len())?.as_ref(), visible, None)
        }
        Values::Fixed(fixed) => fixed_page(page, &fixed, choice),
        Values::Variable(texts) => text_page(page, &texts, choice),
        Values::Lists(lists) => list_page(page, &lists),
    }
}

/// A page of nulls and empty lists only.
fn no_values(page: &Shredded) -> Encoded {
    let bytes = |levels: &Option<Vec<u16>>| levels.iter().flatten().flat_map(|l| l.to_le_bytes()).collect();
    let buffers = if page.layers == [3] { Vec::new() } else { vec![bytes(&page.rep), bytes(&page.def)] };
    (constant(page.layers.clone()), buffers)
}

fn list_page(page: &Shredded, lists: &Lists) -> Result<Option<Encoded>> {
    let wide = lists.items_per_row() * lists.bits / 8 >= WIDE_BYTES && lists.bits > 1;
    if wide && !page.nullable_around_list {
        return full_zip::encode_lists(page, lists).map(Some);
    }
    match mini_block::encode(page, &Wide(lists), lists.rows, None)? {
        None if lists.bits > 1 => full_zip::encode_lists(page, lists).map(Some),
        other => Ok(other),
    }
}

fn fixed_page(page: &Shredded, fixed: &Fixed, choice: Choice) -> Result<Option<Encoded>> {
    if fixed.width >= WIDE_BYTES && !page.nullable_around_list {
        return full_zip::encode_fixed(page, fixed).map(Some);
    }
    let codec = smallest(fixed_codecs(fixed, choice), fixed.len())?;
    let indexed = match fixed.width {
        4 | 8 | 16 | 32 => dictionary::of_fixed(fixed),
        _ => None,
    };
    if let Some(found) = with_dictionary(page, indexed, estimate(codec.as_ref(), fixed.len())?, choice)? {
        return Ok(Some(found));
    }
    let found = match mini_block::encode(page, codec.as_ref(), fixed.len(), None)? {
        // Groups cannot shrink where levels take much room.
        None if codec.groups() => mini_block::encode(page, &Flat(fixed), fixed.len(), None)?,
        found => found,
    };
    if found.is_none() { full_zip::encode_fixed(page, fixed).map(Some) } else { Ok(found) }
}

/// The page with a dictionary, if there is one and it makes the page smaller than `otherwise`.
fn with_dictionary(
    page: &Shredded,
    indexed: Option<Indexed>,
    otherwise: usize,
    choice: Choice,
) -> Result<Option<Encoded>> {
    let Some(Indexed { indices, dictionary }) = indexed else { return Ok(None) };
    let codec = smallest(fixed_codecs(&indices, choice), indices.len())?;
    if estimate(codec.as_ref(), indices.len())? + dictionary.bytes.len() >= otherwise {
        return Ok(None);
    }
    mini_block::encode(page, codec.as_ref(), indices.len(), Some(&dictionary))
}

fn text_page(page: &Shredded, texts: &Variable, choice: Choice) -> Result<Option<Encoded>> {
    let average = texts.data.len() / texts.len().max(1);
    // Compression needs many values together, random access wants few.
    let most = match choice.prefer {
        Prefer::Size => 1024,
        Prefer::Speed | Prefer::RandomAccess => 128,
    };
    let in_chunks = page.nullable_around_list || (average <= most && texts.longest() <= 8 << 10);
    if in_chunks {
        let mut codecs: Vec<Box<dyn Codec + '_>> = vec![Box::new(Texts(texts))];
        if symbols_apply(texts) && !matches!(choice.prefer, Prefer::Speed) {
            codecs.push(Box::new(Symbols::new(texts)));
        }
        if let Some(scheme) = scheme(choice) {
            codecs.push(Box::new(General { inner: Texts(texts), scheme, level: choice.level }));
        }
        let codec = smallest(codecs, texts.len())?;
        let otherwise = estimate(codec.as_ref(), texts.len())?;
        if let Some(found) = with_dictionary(page, dictionary::of_texts(texts), otherwise, choice)? {
            return Ok(Some(found));
        }
        if let Some(found) = mini_block::encode(page, codec.as_ref(), texts.len(), None)? {
            return Ok(Some(found));
        }
    } else if let Some(indexed) = dictionary::of_texts(texts)
        && let Some(found) = with_dictionary(page, Some(indexed), texts.data.len() / 2, choice)?
    {
        return Ok(Some(found));
    }
    full_zip::encode_texts(page, texts, &full_zip_texts(texts, choice)?).map(Some)
}

/// A symbol table has 2312 bytes; it pays only for some amount of text.
fn symbols_apply(texts: &Variable) -> bool {
    texts.data.len() >= 32 << 10 && texts.longest() >= 5
}

/// How the values of a full-zip page are stored: compressed one by one where a sample says that it helps.
fn full_zip_texts(texts: &Variable, choice: Choice) -> Result<full_zip::Texts> {
    if let Some(scheme) = scheme(choice)
        && texts.data.len() / texts.len().max(1) >= 512
    {
        let (mut before, mut after) = (0, 0);
        for value in (0..texts.len()).step_by(texts.len().div_ceil(16).max(1)).map(|i| texts.get(i)) {
            before += value.len();
            after += scheme.compress(value, choice.level)?.len();
        }
        if after * 10 < before * 9 {
            return Ok(full_zip::Texts::General(scheme, choice.level));
        }
        return Ok(full_zip::Texts::Plain);
    }
    let symbols = symbols_apply(texts) && !matches!(choice.prefer, Prefer::Speed);
    Ok(if symbols { full_zip::Texts::Symbols } else { full_zip::Texts::Plain })
}

/// The general compression to use, if any.
fn scheme(choice: Choice) -> Option<Scheme> {
    match choice.prefer {
        Prefer::Size => Some(Scheme::Zstd),
        Prefer::Speed => Some(Scheme::Lz4),
        Prefer::RandomAccess => None,
    }
}

fn fixed_codecs<'a>(fixed: &'a Fixed, choice: Choice) -> Vec<Box<dyn Codec + 'a>> {
    let mut codecs: Vec<Box<dyn Codec + 'a>> = vec![Box::new(Flat(fixed))];
    if matches!(fixed.width, 1 | 2 | 4 | 8) {
        codecs.push(Box::new(Bitpacked(fixed)));
        codecs.push(Box::new(Runs(fixed)));
    }
    if let Some(scheme) = scheme(choice) {
        codecs.push(Box::new(General { inner: Flat(fixed), scheme, level: choice.level }));
        if matches!(fixed.width, 4 | 8) {
            codecs.push(Box::new(General { inner: Split(fixed), scheme, level: choice.level }));
        }
    }
    codecs
}

/// Chunks that are encoded to see how large all would be.
const SAMPLES: usize = 6;

/// Bytes that this encoding would need for `count` values, about.
fn estimate(codec: &dyn Codec, count: usize) -> Result<usize> {
    let mut size = if codec.groups() { GROUP } else { MOST_VALUES };
    while !codec.groups() && size > 2 && codec.bytes(&(0..size.min(count))) > codec.target() {
        size /= 2;
    }
    let chunks = count.div_ceil(size);
    let step = chunks.div_ceil(SAMPLES).max(1);
    let (mut bytes, mut values) = (0usize, 0usize);
    for chunk in (0..chunks).step_by(step) {
        let items = chunk * size..((chunk + 1) * size).min(count);
        values += items.len();
        bytes += codec.encode(items)?.iter().map(|b| b.len().next_multiple_of(8)).sum::<usize>() + 8;
    }
    let message = codec.message().encoded_len() as u64;
    let scaled = bytes as u64 * count as u64 / (values as u64).max(1) + message;
    Ok(usize::try_from(scaled).unwrap_or(usize::MAX))
}

/// The encoding that needs the fewest bytes. Compressed chunks must save a twentieth to be worth unpacking.
fn smallest<'a>(codecs: Vec<Box<dyn Codec + 'a>>, count: usize) -> Result<Box<dyn Codec + 'a>> {
    let mut best: Option<(usize, Box<dyn Codec + 'a>)> = None;
    for codec in codecs {
        let handicap = if codec.is_general() { 20 } else { 0 };
        let bytes = estimate(codec.as_ref(), count)?;
        let bytes = bytes.saturating_add(bytes.checked_div(handicap).unwrap_or(0));
        if best.as_ref().is_none_or(|(least, _)| bytes < *least) {
            best = Some((bytes, codec));
        }
    }
    best.map(|(_, codec)| codec).ok_or_else(|| Error::data("bad_values", "no encoding for these values"))
}
