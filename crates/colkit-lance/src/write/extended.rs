//! Compressions beyond those of Lance, as the writer sees them.

use super::TopLevelColumn;
use super::codec::{Chunking, Codec, General};
use super::messages_of::{fixed_size_list_of, inside};
use super::values::{Fixed, Lists, Variable};
use crate::codec::general::Packer;
use crate::container::messages::{Any, Location, Page};
use crate::encoding::{
    ChunkEncoder, CompressiveEncoding, EmbeddedModule, PageTexts, PageValues, ValueEncoding, ValueEncodings,
};
use crate::v21::messages::{Layout, PageLayout};
use arrow::datatypes::DataType;
use colkit_core::Result;
use prost::Message;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::rc::Rc;

/// A compression that is known by its name.
#[derive(Clone)]
pub(super) struct Extended<'a> {
    name: &'a str,
    encoder: Rc<dyn ChunkEncoder + 'a>,
    /// Bytes of its decoder that the page has to make up for.
    share: usize,
}

/// Pages of this size pay for the whole decoder that a file then brings. Larger ones are those of a larger file: other columns share
/// it, if there are any.
const PAGE: usize = 1 << 20;

/// All that apply to these values.
pub(super) fn codecs<'a>(
    encodings: &'a ValueEncodings,
    fixed: &'a Fixed,
    data_type: &'a DataType,
    sharers: usize,
) -> Result<Vec<Box<dyn Codec + 'a>>> {
    let values = PageValues { data_type, width: fixed.width, bytes: &fixed.data };
    let codecs = of_values(encodings, values, sharers)?.into_iter();
    Ok(codecs.map(|codec| -> Box<dyn Codec + 'a> { Box::new(codec) }).collect())
}

fn of_values<'a>(encodings: &'a ValueEncodings, values: PageValues<'a>, sharers: usize) -> Result<Vec<Extended<'a>>> {
    let mut codecs = Vec::new();
    for (name, encoding) in encodings.extended() {
        let Some(share) = share(encoding.as_ref(), values.bytes.len(), sharers) else { continue };
        if let Some(encoder) = encoding.encoder(values)? {
            codecs.push(Extended { name, encoder: encoder.into(), share });
        }
    }
    Ok(codecs)
}

/// What a page of so many bytes has to make up for, if it can.
fn share(encoding: &dyn ValueEncoding, bytes: usize, sharers: usize) -> Option<usize> {
    let module = encoding.module().map_or(0, |module| module.bytes.len());
    let share = (module.saturating_mul(PAGE) / bytes.max(PAGE)).max(module / sharers.max(1));
    (share <= bytes).then_some(share)
}

/// Lists of one length whose items are compressed so.
pub(super) struct ListsOf<'a> {
    lists: &'a Lists,
    items: Extended<'a>,
}

/// All that apply to the items of lists, if none of these is null.
pub(super) fn list_codecs<'a>(
    encodings: &'a ValueEncodings,
    lists: &'a Lists,
    data_type: &'a DataType,
    sharers: usize,
) -> Result<Vec<Box<dyn Codec + 'a>>> {
    let mut item = data_type;
    while let DataType::FixedSizeList(field, _) = item {
        item = field.data_type();
    }
    if !lists.bits.is_multiple_of(8) || lists.levels.iter().any(|(_, valid)| valid.is_some()) {
        return Ok(Vec::new());
    }
    let values = PageValues { data_type: item, width: lists.bits / 8, bytes: &lists.data };
    let codecs = of_values(encodings, values, sharers)?.into_iter();
    Ok(codecs.map(|items| -> Box<dyn Codec + 'a> { Box::new(ListsOf { lists, items }) }).collect())
}

impl ListsOf<'_> {
    fn items(&self, rows: &Range<usize>) -> Range<usize> {
        let each = self.lists.items_per_row();
        rows.start * each..rows.end * each
    }
}

impl Codec for ListsOf<'_> {
    fn message(&self) -> CompressiveEncoding {
        fixed_size_list_of(self.lists, self.items.message())
    }

    fn buffers(&self) -> usize {
        self.items.buffers()
    }

    fn beside(&self) -> usize {
        self.items.beside()
    }

    /// Lists are long: with few of them in a chunk, its last group would not be full.
    fn wish(&self, chunking: &Chunking) -> usize {
        2 * chunking.plain
    }

    fn bytes(&self, rows: &Range<usize>) -> usize {
        self.items.bytes(&self.items(rows))
    }

    fn time(&self, rows: &Range<usize>, encoded: &[Vec<u8>]) -> u64 {
        self.items.time(&self.items(rows), encoded)
    }

    fn encode(&self, rows: Range<usize>) -> Result<Vec<Vec<u8>>> {
        self.items.encode(self.items(&rows))
    }
}

/// What is to be said about a file with such encodings.
pub(super) fn note(encodings: Option<&ValueEncodings>, columns: &[TopLevelColumn]) -> Option<String> {
    encodings?;
    let uses = |column: &&TopLevelColumn| column.pages.iter().flatten().any(|page| name_in(page).is_some());
    let names: Vec<String> = columns.iter().filter(uses).map(|c| format!("{:?}", c.field.name())).collect();
    let listed = match names.as_slice() {
        [] => return None,
        [only] => format!("column {only} has"),
        few @ [_, _, ..] if few.len() <= 5 => format!("columns {} have", few.join(", ")),
        many => format!("{} columns have", many.len()),
    };
    Some(format!("stock Lance cannot read this file: {listed} extended encodings"))
}

/// All that apply to texts, also compressed as a whole.
pub(super) fn text_codecs<'a>(
    encodings: &'a ValueEncodings,
    texts: &'a Variable,
    data_type: &'a DataType,
    packers: &'a [Packer],
    sharers: usize,
) -> Result<Vec<Box<dyn Codec + 'a>>> {
    let mut codecs: Vec<Box<dyn Codec + 'a>> = Vec::new();
    for (name, encoding) in encodings.extended() {
        let Some(share) = share(encoding.as_ref(), texts.data.len(), sharers) else { continue };
        for encoder in encoding.text_encoders(PageTexts { data_type, texts })? {
            let codec = Extended { name, encoder: encoder.into(), share };
            for packer in packers.iter().filter(|_| codec.encoder.compressible()) {
                codecs.push(Box::new(General { inner: codec.clone(), packer }));
            }
            codecs.push(Box::new(codec));
        }
    }
    Ok(codecs)
}

/// The decoders of the encodings beyond Lance's that pages of these columns use, by name.
pub(super) fn modules(
    encodings: Option<&ValueEncodings>,
    columns: &[TopLevelColumn],
) -> BTreeMap<String, EmbeddedModule> {
    let Some(encodings) = encodings else { return BTreeMap::new() };
    let pages = columns.iter().flat_map(|c| c.pages.iter().flatten());
    let names: BTreeSet<String> = pages.filter_map(name_in).collect();
    let module = |name: String| encodings.named(&name)?.module().map(|module| (name, module));
    names.into_iter().filter_map(module).collect()
}

/// The name of the encoding beyond Lance's that a page uses.
fn name_in(page: &Page) -> Option<String> {
    let Some(Location::Direct(direct)) = page.encoding.as_ref()?.location.as_ref() else { return None };
    let any = Any::decode(direct.encoding.clone()).ok()?;
    let Some(Layout::MiniBlock(layout)) = PageLayout::decode(any.value).ok()?.layout else { return None };
    let mut values = layout.value_compression?;
    while let Some(inner) = inside(&values) {
        values = inner;
    }
    let any = (values.number == CompressiveEncoding::EXTENSION).then(|| Any::decode(values.message).ok())??;
    Some(any.type_url.rsplit('/').next()?.to_owned())
}

/// Bytes that are compressed together at least: the ends of values lie outside, so that texts are all that there is to repeat.
const TOGETHER: usize = 32 << 10;

impl Codec for Extended<'_> {
    fn general_wish(&self, chunking: &Chunking) -> usize {
        chunking.general.max(TOGETHER)
    }

    fn message(&self) -> CompressiveEncoding {
        CompressiveEncoding::named(self.name, self.encoder.message())
    }

    fn buffers(&self) -> usize {
        self.encoder.buffers()
    }

    fn beside(&self) -> usize {
        self.share
    }

    fn bytes(&self, items: &Range<usize>) -> usize {
        self.encoder.bytes(items.clone())
    }

    fn time(&self, items: &Range<usize>, _: &[Vec<u8>]) -> u64 {
        self.encoder.time(items.len())
    }

    fn encode(&self, items: Range<usize>) -> Result<Vec<Vec<u8>>> {
        self.encoder.encode(items)
    }
}
