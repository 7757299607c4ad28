//! Which layout and encoding a page gets: every one that applies is asked for its size and its time, the cheapest wins.
//!
//! Sizes are measured on a few chunks spread over the page, so the choice is cheap and always the same for the same
//! values. Times follow from sizes by a table.

use super::choice::{Choice, Found, cheapest, cost};
use super::codec::{Bitpacked, Bits, Chunking, Codec, Flat, General, Packed, Runs, Split, Symbols, Texts, Wide};
use super::container::{Blobs, PageBytes};
use super::dictionary::{self, Indexed, Terms};
use super::extended;
use super::full_zip;
use super::hints::Compression;
use super::levels::{Shredded, paths, shred};
use super::lz4::Stride;
use super::messages_of::general;
use super::mini_block::{self, Dictionary, Encoded};
use super::options::Prefer;
use super::values::{Fixed, Lists, Records, Values, Variable};
use crate::codec::fsst::Compressor;
use crate::codec::general::{Packer, Scheme};
use crate::container::Version;
use crate::encoding::ValueEncodings;
use crate::v21::messages::{BlobLayout, ConstantLayout, Layout, PageLayout};
use arrow::array::{Array, ArrayRef};
use arrow::datatypes::{DataType, Field};
use bytes::Bytes;
use colkit_core::{Error, Result};
use prost::Message;

/// Most bytes of a dictionary, unless only size matters.
const MOST_DICTIONARY: usize = 256 << 10;

/// Values that are stored one by one instead of in chunks.
const WIDE_BYTES: usize = 256;

/// What is wanted of encodings, and those beyond Lance's that may be used.
pub(super) type Choices<'a> = (Choice, Option<&'a ValueEncodings>);

/// Encodes leaf number `leaf` of these rows: one page, or several where one would not hold them.
pub(super) fn encode(
    field: &Field,
    top: &ArrayRef,
    leaf: usize,
    choice: Choices<'_>,
    pages: &mut Vec<PageBytes>,
) -> Result<()> {
    if matches!(top.data_type(), DataType::Struct(members) if members.is_empty()) {
        return empty_struct(top, pages);
    }
    let Some(path) = paths(field, top).into_iter().nth(leaf) else {
        return Err(Error::internal("an array without the fields of its schema"));
    };
    let shredded = shred(&path)?;
    // Below a fixed-size list of structs a row counts as often as the list has items.
    let rows = if shredded.rep.is_some() { top.len() } else { shredded.entries };
    if let Some((layout, buffers)) = encode_page(&shredded, rows, choice)? {
        pages.push(PageBytes { rows: rows as u64, top_rows: top.len() as u64, ..PageBytes::new(buffers, layout) });
        return Ok(());
    }
    // Many lists without items between two values: fewer rows have fewer of them.
    if top.len() < 2 {
        return Err(Error::data("row_too_large", "a row has more list entries than a page can hold"));
    }
    let half = top.len() / 2;
    encode(field, &top.slice(0, half), leaf, choice, pages)?;
    encode(field, &top.slice(half, top.len() - half), leaf, choice, pages)
}

/// Encodes leaf number `leaf`, whose values lie outside of the page.
pub(super) fn encode_blobs(field: &Field, top: &ArrayRef, leaf: usize, pages: &mut Vec<PageBytes>) -> Result<()> {
    let Some(path) = paths(field, top).into_iter().nth(leaf) else {
        return Err(Error::internal("an array without the fields of its schema"));
    };
    let shredded = shred(&path)?;
    let rows = top.len() as u64;
    let blobs = Blobs { values: shredded.values.clone(), def: shredded.def, layers: shredded.layers };
    pages.push(PageBytes { rows, top_rows: rows, blobs: Some(blobs), ..PageBytes::new(Vec::new(), Vec::new()) });
    Ok(())
}

/// The page of descriptions of blobs: where each lies, and how long it is.
pub(super) fn describe_blobs(places: &[(u64, u64)], blobs: &Blobs, version: Version) -> Result<Encoded> {
    let data = places.iter().flat_map(|(position, size)| [*position, *size]).flat_map(u64::to_le_bytes).collect();
    let records = Records { bits: vec![64, 64], fixed: Fixed { width: 16, data } };
    let plain = Shredded::plain(blobs.values.clone());
    let chunking = Chunking { most_values: 4096, plain: 8 << 10, general: 8 << 10, large: version == Version::V2_2 };
    let found = mini_block::encode(&plain, &Packed(&records), places.len(), None, chunking)?;
    let (layout, buffers) = found.ok_or_else(|| Error::internal("descriptions that do not fit"))?;
    let inner = PageLayout::decode(layout.as_slice()).map_err(|e| Error::internal(e.to_string()))?;
    let blob = BlobLayout { inner_layout: Some(Box::new(inner)), layers: blobs.layers.clone() };
    Ok((PageLayout { layout: Some(Layout::Blob(Box::new(blob))) }.encode_to_vec(), buffers))
}

/// A struct without members has no values, only rows.
fn empty_struct(top: &ArrayRef, pages: &mut Vec<PageBytes>) -> Result<()> {
    if top.null_count() > 0 {
        return Err(Error::data("type_not_supported", "nulls in a struct without members cannot be stored"));
    }
    let rows = top.len() as u64;
    pages.push(PageBytes { rows, top_rows: rows, ..PageBytes::new(Vec::new(), constant(vec![3])) });
    Ok(())
}

fn constant(layers: Vec<i32>) -> Vec<u8> {
    let layout = ConstantLayout { layers, ..ConstantLayout::default() };
    PageLayout { layout: Some(Layout::Constant(Box::new(layout))) }.encode_to_vec()
}

fn encode_page(page: &Shredded, rows: usize, (choice, extended): Choices<'_>) -> Result<Option<Encoded>> {
    let visible = page.values.len();
    let all_null = page.def.as_ref().is_some_and(|d| d.iter().all(|d| *d > 0));
    // Some readers take one level per row from a page without values, so lists with several nulls keep their values.
    let one_per_row = page.entries == rows || visible == 0 || page.values.data_type() == &DataType::Null;
    if all_null && one_per_row || visible == 0 {
        return Ok(Some(no_values(page)));
    }
    let packers = choice.packers()?;
    let encoder = PageEncoder { page, choice, packers: &packers, extended };
    if let DataType::Dictionary(_, _) = page.values.data_type() {
        let Indexed { indices, dictionary } = dictionary::of_array(&page.values)?;
        let found = cheapest(encoder.index_codecs(&indices)?, indices.len(), &choice)?;
        return encoder.mini_block(found.codec.as_ref(), visible, Some(&dictionary));
    }
    match Values::of(&page.values)? {
        Values::Records(records) => match encoder.mini_block(&Packed(&records), visible, None)? {
            None => Err(Error::data("row_too_large", "a packed struct does not fit into a chunk")),
            found => Ok(found),
        },
        Values::Mixed(members, texts) => {
            full_zip::encode_texts(page, &texts, &full_zip::Texts::Packed(members)).map(Some)
        }
        Values::Bits(bits) => {
            let mut codecs: Vec<Box<dyn Codec + '_>> = vec![Box::new(Bits(&bits))];
            codecs.extend(
                encoder
                    .packers
                    .iter()
                    .map(|packer| -> Box<dyn Codec + '_> { Box::new(General { inner: Bits(&bits), packer }) }),
            );
            let found = cheapest(codecs, bits.len(), &choice)?;
            encoder.mini_block(found.codec.as_ref(), visible, None)
        }
        Values::Fixed(fixed) => encoder.fixed(&fixed),
        Values::Variable(texts) => encoder.texts(&texts),
        Values::Lists(lists) => encoder.lists(&lists),
    }
}

/// A page of nulls and empty lists only.
fn no_values(page: &Shredded) -> Encoded {
    let bytes = |levels: &Option<Vec<u16>>| levels.iter().flatten().flat_map(|l| l.to_le_bytes()).collect();
    let buffers = if page.layers == [3] { Vec::new() } else { vec![bytes(&page.rep), bytes(&page.def)] };
    (constant(page.layers.clone()), buffers)
}

/// What indices into a dictionary are.
fn index_type(indices: &Fixed) -> &'static DataType {
    match indices.width {
        1 => &DataType::UInt8,
        2 => &DataType::UInt16,
        4 => &DataType::UInt32,
        _ => &DataType::UInt64,
    }
}

/// A page on its way to bytes.
struct PageEncoder<'a> {
    page: &'a Shredded,
    choice: Choice,
    /// The general compressions to try.
    packers: &'a [Packer],
    /// Compressions beyond those of Lance.
    extended: Option<&'a ValueEncodings>,
}

impl<'a> PageEncoder<'a> {
    fn mini_block(&self, codec: &dyn Codec, count: usize, dictionary: Option<&Dictionary>) -> Result<Option<Encoded>> {
        mini_block::encode(self.page, codec, count, dictionary, self.choice.chunking())
    }

    fn lists(&self, lists: &Lists) -> Result<Option<Encoded>> {
        if let Some(found) = self.extended_lists(lists)? {
            return Ok(Some(found));
        }
        let wide = lists.items_per_row() * lists.bits / 8 >= WIDE_BYTES && lists.bits > 1;
        if wide && self.page.zips_fixed() {
            return full_zip::encode_lists(self.page, lists).map(Some);
        }
        match self.mini_block(&Wide(lists), lists.rows, None)? {
            None if lists.bits > 1 => full_zip::encode_lists(self.page, lists).map(Some),
            other => Ok(other),
        }
    }

    /// Lists by a compression beyond those of Lance, if one costs less than items as they are. Who wants speed or single rows is
    /// better off with the latter.
    fn extended_lists(&self, lists: &Lists) -> Result<Option<Encoded>> {
        let may =
            matches!(self.choice.prefer, Prefer::Balance | Prefer::Size) && self.choice.hints.full_zip != Some(true);
        let Some(known) = self.extended.filter(|_| may && self.choice.hints.compression.is_none()) else {
            return Ok(None);
        };
        let mut codecs: Vec<Box<dyn Codec + '_>> = vec![Box::new(Wide(lists))];
        codecs.append(&mut extended::list_codecs(known, lists, self.page.values.data_type(), self.choice.sharers)?);
        let plain = Wide(lists).message();
        let codec = cheapest(codecs, lists.rows, &self.choice)?.codec;
        if codec.message() == plain { Ok(None) } else { self.mini_block(codec.as_ref(), lists.rows, None) }
    }

    fn fixed(&self, fixed: &Fixed) -> Result<Option<Encoded>> {
        if let Some(found) = self.constant(fixed) {
            return Ok(Some(found));
        }
        if self.choice.hints.full_zip.unwrap_or(fixed.width >= WIDE_BYTES) && self.page.zips_fixed() {
            return full_zip::encode_fixed(self.page, fixed).map(Some);
        }
        let data_type = self.page.values.data_type();
        let filled = self.extended.and_then(|_| fixed.filled(self.page.values.nulls()?));
        let mut codecs = self.fixed_codecs(fixed)?;
        codecs.append(&mut self.extended_codecs(filled.as_ref().unwrap_or(fixed), data_type)?);
        let Found { codec, cost, .. } = cheapest(codecs, fixed.len(), &self.choice)?;
        let each = cost::LOOKED_UP + fixed.width as u64 * cost::BYTE;
        let indexed = dictionary::of_fixed(fixed, self.terms(cost));
        if let Some(found) = self.indexed(indexed, fixed.data.len(), cost, each)? {
            return Ok(Some(found));
        }
        let found = match self.mini_block(codec.as_ref(), fixed.len(), None)? {
            // Groups cannot shrink where levels take much room.
            None if codec.groups() => self.mini_block(&Flat(fixed), fixed.len(), None)?,
            found => found,
        };
        if found.is_none() { full_zip::encode_fixed(self.page, fixed).map(Some) } else { Ok(found) }
    }

    /// A page of one value only, which 2.2 keeps in the layout itself.
    fn constant(&self, fixed: &Fixed) -> Option<Encoded> {
        let first = fixed.get(0..1);
        let fits = self.choice.version == Version::V2_2 && self.page.def.is_none() && self.page.rep.is_none();
        if !fits || fixed.width > 32 || fixed.data.chunks_exact(fixed.width.max(1)).any(|value| value != first) {
            return None;
        }
        let inline_value = Some(Bytes::copy_from_slice(first));
        let layout = ConstantLayout { layers: self.page.layers.clone(), inline_value, ..ConstantLayout::default() };
        Some((PageLayout { layout: Some(Layout::Constant(Box::new(layout))) }.encode_to_vec(), Vec::new()))
    }

    /// When a dictionary is worth it, for values that need so many bytes without one.
    fn terms(&self, otherwise: usize) -> Terms {
        Terms { otherwise, divisor: self.choice.hints.dictionary_divisor.unwrap_or(2) }
    }

    /// The page with a dictionary, if there is one and the page costs less than `otherwise` with it, of which `each` value takes so
    /// many picoseconds to look up.
    fn indexed(&self, indexed: Option<Indexed>, raw: usize, otherwise: usize, each: u64) -> Result<Option<Encoded>> {
        let Some(Indexed { indices, mut dictionary }) = indexed else { return Ok(None) };
        // Whoever wants one row needs the whole dictionary.
        if self.choice.prefer != Prefer::Size && dictionary.bytes.len() > MOST_DICTIONARY {
            return Ok(None);
        }
        let found = cheapest(self.index_codecs(&indices)?, indices.len(), &self.choice)?;
        self.compress(&mut dictionary)?;
        let stored = dictionary.bytes.len();
        let needed = found.cost.saturating_add(self.choice.weigh(stored, indices.len() as u64 * each, false));
        let beyond = |ratio: f64| (found.bytes + stored) as f64 > raw as f64 * ratio;
        if needed >= otherwise || self.choice.hints.dictionary_ratio.is_some_and(beyond) {
            return Ok(None);
        }
        self.mini_block(found.codec.as_ref(), indices.len(), Some(&dictionary))
    }

    /// Compresses a dictionary, if that makes it cheaper: it is unpacked for every part of its page that is read.
    fn compress(&self, dictionary: &mut Dictionary) -> Result<()> {
        let mut least = (dictionary.bytes.len(), None);
        for packer in self.choice.dictionary_packers()? {
            let packed = packer.pack(&dictionary.bytes)?;
            let time = packer.scheme.time(dictionary.bytes.len(), &packed);
            let cost = self.choice.weigh(packed.len(), time, false);
            // What was asked for by name is measured by its size alone.
            let cost = if self.choice.hints.dictionary_compression.is_some() { packed.len() } else { cost };
            if cost < least.0 {
                least = (cost, Some((packed, packer.scheme)));
            }
        }
        if let Some((packed, scheme)) = least.1 {
            dictionary.message = general(dictionary.message.clone(), scheme);
            dictionary.bytes = packed;
        }
        Ok(())
    }

    fn texts(&self, texts: &Variable) -> Result<Option<Encoded>> {
        let average = texts.data.len() / texts.len().max(1);
        // Compression needs many values together, random access wants few.
        let most = match self.choice.prefer {
            Prefer::Balance | Prefer::Size => 1024,
            Prefer::Speed | Prefer::RandomAccess => 128,
        };
        // Few values that repeat much need no further look.
        let raw = texts.data.len() + texts.len() * texts.offset_width();
        let mut indexed = dictionary::of_texts(texts, self.terms(raw));
        let clear = |i: &mut Indexed| (i.dictionary.bytes.len() + i.indices.data.len()) * 8 < raw;
        let each = cost::TEXT_LOOKED_UP + average as u64 * cost::BYTE;
        let plain = self.choice.weigh(raw, texts.len() as u64 * cost::TEXT + raw as u64 * cost::BYTE, false);
        if let Some(found) = self.indexed(indexed.take_if(clear), raw, plain, each)? {
            return Ok(Some(found));
        }
        let longest = if !self.packers.is_empty() { 64 << 10 } else { 8 << 10 };
        let by_size = average <= most && texts.longest() <= longest;
        let in_chunks = self.page.nullable_around_list || !self.choice.hints.full_zip.unwrap_or(!by_size);
        if !in_chunks {
            if let Some(found) = self.indexed(indexed, raw, texts.data.len() / 2, each)? {
                return Ok(Some(found));
            }
            return full_zip::encode_texts(self.page, texts, &self.full_zip_texts(texts)?).map(Some);
        }
        let mut codecs: Vec<Box<dyn Codec + '_>> = vec![Box::new(Texts(texts))];
        for packer in self.packers {
            codecs.push(Box::new(General { inner: Texts(texts), packer }));
        }
        if let Some(known) = self.extended.filter(|_| self.choice.hints.compression.is_none()) {
            codecs.append(&mut extended::text_codecs(
                known,
                texts,
                self.page.values.data_type(),
                self.packers,
                self.choice.sharers,
            )?);
        }
        let Found { mut codec, mut cost, .. } = cheapest(codecs, texts.len(), &self.choice)?;
        if !self.choice.forces_general()
            && let Some(symbols) = self.symbols(texts)
        {
            let coded = self.coded_cost(texts, &symbols);
            if coded < cost || self.choice.hints.compression == Some(Compression::Symbols) {
                (cost, codec) = (coded, Box::new(Symbols::new(texts, &symbols)));
            }
        }
        if let Some(found) = self.indexed(indexed, raw, cost, each)? {
            return Ok(Some(found));
        }
        match self.mini_block(codec.as_ref(), texts.len(), None)? {
            None => full_zip::encode_texts(self.page, texts, &self.full_zip_texts(texts)?).map(Some),
            found => Ok(found),
        }
    }

    /// Symbols for these texts. A table has 2312 bytes; it pays only for some amount of text.
    fn symbols(&self, texts: &Variable) -> Option<Compressor> {
        let wanted = match self.choice.hints.compression {
            Some(compression) => compression == Compression::Symbols,
            None => self.choice.prefer != Prefer::Speed,
        };
        let apply = wanted && texts.data.len() >= 32 << 10 && texts.longest() >= 5;
        apply.then(|| Compressor::train(texts.len(), |i| texts.get(i)))
    }

    /// What the texts would cost, coded by these symbols, by a look at some of them.
    fn coded_cost(&self, texts: &Variable, symbols: &Compressor) -> usize {
        let (mut before, mut codes) = (0, Vec::new());
        for i in (0..texts.len()).step_by(texts.len().div_ceil(2048).max(1)) {
            before += texts.get(i).len();
            symbols.append(texts.get(i), &mut codes);
        }
        let coded = texts.data.len() as u64 * codes.len() as u64 / (before as u64).max(1);
        let time = texts.len() as u64 * cost::TEXT + coded * cost::CODE;
        let bytes = usize::try_from(coded).unwrap_or(usize::MAX);
        self.choice.weigh(bytes + texts.len() * texts.offset_width() + 2400, time, false)
    }

    /// How the values of a full-zip page are stored: compressed one by one where a sample says that it helps.
    fn full_zip_texts(&self, texts: &Variable) -> Result<full_zip::Texts> {
        let worth = texts.data.len() / texts.len().max(1) >= 512 || self.choice.forces_general();
        let packers = if worth { self.choice.value_packers(texts)? } else { Vec::new() };
        if packers.is_empty() {
            return Ok(self.symbols(texts).map_or(full_zip::Texts::Plain, |s| full_zip::Texts::Symbols(Box::new(s))));
        }
        let sample = || (0..texts.len()).step_by(texts.len().div_ceil(16).max(1)).map(|i| texts.get(i));
        let before: usize = sample().map(<[u8]>::len).sum();
        // Little gained is not worth it.
        let (mut how, mut least) = (full_zip::Texts::Plain, (before * 9).div_ceil(10));
        for packer in packers {
            let (mut bytes, mut time) = (0, 0);
            for value in sample() {
                let packed = packer.pack(value)?;
                bytes += packed.len();
                time += packer.scheme.time(value.len(), &packed);
                time += if packer.scheme == Scheme::Zstd { cost::BEGIN } else { 0 };
            }
            let cost = self.choice.weigh(bytes, time, false);
            if cost < least {
                (how, least) = (full_zip::Texts::General(packer), cost);
            }
        }
        Ok(how)
    }

    fn fixed_codecs<'b>(&self, fixed: &'b Fixed) -> Result<Vec<Box<dyn Codec + 'b>>>
    where
        'a: 'b,
    {
        let hints = &self.choice.hints;
        let mut codecs: Vec<Box<dyn Codec + 'b>> = vec![Box::new(Flat(fixed))];
        let words = matches!(fixed.width, 1 | 2 | 4 | 8);
        let few = |most: f64| (Runs(fixed).count() as f64) < most * fixed.len() as f64;
        let runs = words && hints.rle_threshold.is_none_or(few);
        if words && matches!(hints.compression, None | Some(Compression::Symbols)) {
            codecs.push(Box::new(Bitpacked(fixed)));
            codecs.extend(runs.then(|| -> Box<dyn Codec + 'b> { Box::new(Runs(fixed)) }));
        }
        for packer in self.packers {
            let split = matches!(fixed.width, 4 | 8) && hints.split != Some(false);
            if !split || hints.split.is_none() {
                codecs.push(Box::new(General { inner: Flat(fixed), packer }));
            }
            if split {
                codecs.push(Box::new(General { inner: Split(fixed), packer }));
            }
            if packer.scheme == Scheme::Lz4 && fixed.width == 16 {
                codecs.push(Box::new(Stride { fixed, packer }));
            }
            if packer.scheme == Scheme::Lz4 && runs {
                codecs.push(Box::new(General { inner: Runs(fixed), packer }));
            }
        }
        Ok(codecs)
    }

    /// Compressions beyond those of Lance, if they may be used.
    fn extended_codecs<'b>(&self, fixed: &'b Fixed, data_type: &'b DataType) -> Result<Vec<Box<dyn Codec + 'b>>>
    where
        'a: 'b,
    {
        match self.extended.filter(|_| self.choice.hints.compression.is_none()) {
            Some(known) => extended::codecs(known, fixed, data_type, self.choice.sharers),
            None => Ok(Vec::new()),
        }
    }

    /// All that apply to indices into a dictionary.
    fn index_codecs<'b>(&self, indices: &'b Fixed) -> Result<Vec<Box<dyn Codec + 'b>>>
    where
        'a: 'b,
    {
        let mut codecs = self.fixed_codecs(indices)?;
        codecs.append(&mut self.extended_codecs(indices, index_type(indices))?);
        Ok(codecs)
    }
}
