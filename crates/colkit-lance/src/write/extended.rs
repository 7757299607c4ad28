//! Compressions beyond those of Lance, as the writer sees them.

use super::TopLevelColumn;
use super::codec::Codec;
use super::values::{Fixed, Variable};
use crate::container::messages::{Any, Location, Page};
use crate::encoding::{ChunkEncoder, CompressiveEncoding, EmbeddedModule, PageTexts, PageValues, ValueEncodings};
use crate::v21::messages::{Layout, PageLayout};
use arrow::datatypes::DataType;
use colkit_core::Result;
use prost::Message;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// A compression that is known by its name.
pub(super) struct Extended<'a> {
    name: &'a str,
    encoder: Box<dyn ChunkEncoder + 'a>,
    /// Bytes of its decoder that the page has to make up for.
    share: usize,
}

/// Pages of this size pay for the whole decoder that a file then brings. There are more of larger pages, which share it.
const PAGE: usize = 1 << 20;

/// All that apply to these values.
pub(super) fn codecs<'a>(
    encodings: &'a ValueEncodings,
    fixed: &'a Fixed,
    data_type: &'a DataType,
) -> Result<Vec<Box<dyn Codec + 'a>>> {
    let values = PageValues { data_type, width: fixed.width, bytes: &fixed.data };
    let mut codecs: Vec<Box<dyn Codec + 'a>> = Vec::new();
    for (name, encoding) in encodings.extended() {
        let module = encoding.module().map_or(0, |module| module.bytes.len());
        let share = module.saturating_mul(PAGE) / fixed.data.len().max(PAGE);
        if share > fixed.data.len() {
            continue;
        }
        if let Some(encoder) = encoding.encoder(values)? {
            codecs.push(Box::new(Extended { name, encoder, share }));
        }
    }
    Ok(codecs)
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

/// The same for texts.
pub(super) fn text_codecs<'a>(
    encodings: &'a ValueEncodings,
    texts: &'a Variable,
    data_type: &'a DataType,
) -> Result<Vec<Box<dyn Codec + 'a>>> {
    let mut codecs: Vec<Box<dyn Codec + 'a>> = Vec::new();
    for (name, encoding) in encodings.extended() {
        if let Some(encoder) = encoding.text_encoder(PageTexts { data_type, texts })? {
            codecs.push(Box::new(Extended { name, encoder, share: 0 }));
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
    let values = layout.value_compression?;
    let any = (values.number == CompressiveEncoding::EXTENSION).then(|| Any::decode(values.message).ok())??;
    Some(any.type_url.rsplit('/').next()?.to_owned())
}

impl Codec for Extended<'_> {
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
