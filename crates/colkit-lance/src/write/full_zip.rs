//! Full-zip pages: wide values, each behind its levels, so that one range of bytes is a row.
//!
//! ```text
//! entry: control word | [length] value        control word: repetition level << bits of definition | definition level
//! ```
//!
//! A null of any length is its control word alone; one of fixed width keeps its room. Rows that are not all of one
//! size are found by an index of their beginnings.

use super::codec::push_offset;
use super::levels::Shredded;
use super::messages_of::{Member, fixed_size_list, flat, fsst, general, variable, variable_packed_struct};
use super::mini_block::Encoded;
use super::values::{Fixed, Lists, Variable};
use crate::codec::fsst::Compressor;
use crate::codec::general::Packer;
use crate::v21::messages::{CompressiveEncoding, Details, FullZipLayout, Layout, PageLayout};
use arrow::buffer::BooleanBuffer;
use colkit_core::{Error, Result};
use prost::Message;

/// The control words of a page.
struct Control {
    bits_rep: u32,
    bits_def: u32,
}

impl Control {
    fn of(page: &Shredded) -> Self {
        let bits = |levels: &Option<Vec<u16>>| {
            let most = levels.iter().flatten().copied().max().unwrap_or(0);
            u16::BITS - most.leading_zeros()
        };
        Control { bits_rep: bits(&page.rep), bits_def: bits(&page.def) }
    }

    fn push(&self, page: &Shredded, entry: usize, out: &mut Vec<u8>) {
        let level = |levels: &Option<Vec<u16>>| levels.as_ref().and_then(|l| l.get(entry)).copied().unwrap_or(0);
        let word = u32::from(level(&page.rep)) << self.bits_def | u32::from(level(&page.def));
        let bytes = match self.bits_rep + self.bits_def {
            0 => 0,
            1..=8 => 1,
            9..=16 => 2,
            _ => 4,
        };
        out.extend(word.to_le_bytes().iter().take(bytes));
    }
}

fn starts_row(page: &Shredded, entry: usize) -> bool {
    page.rep.as_ref().and_then(|r| r.get(entry)).is_none_or(|r| *r == page.max_rep)
}

fn count(n: usize) -> Result<u32> {
    u32::try_from(n).map_err(|_| Error::limit("values of a page", n, u32::MAX))
}

/// The page's buffers and layout; `starts` has where each row begins, and the end.
fn finish(
    page: &Shredded,
    control: &Control,
    data: Vec<u8>,
    starts: Option<Vec<usize>>,
    details: Details,
    value_compression: CompressiveEncoding,
) -> Result<Encoded> {
    let layout = FullZipLayout {
        bits_rep: control.bits_rep,
        bits_def: control.bits_def,
        details: Some(details),
        num_items: count(page.entries)?,
        num_visible_items: count((0..page.entries).filter(|e| page.visible(*e)).count())?,
        value_compression: Some(value_compression),
        layers: page.layers.clone(),
    };
    let width = match data.len() {
        0..=0xFF => 1,
        0x100..=0xFFFF => 2,
        0x1_0000..=0xFFFF_FFFF => 4,
        _ => 8,
    };
    let index = starts.map(|s| s.iter().flat_map(|at| (*at as u64).to_le_bytes().into_iter().take(width)).collect());
    let layout = PageLayout { layout: Some(Layout::FullZip(Box::new(layout))) };
    Ok((layout.encode_to_vec(), std::iter::once(data).chain(index).collect()))
}

/// Values of one width. `value` appends the bytes of a value.
fn fixed(
    page: &Shredded,
    width: usize,
    message: CompressiveEncoding,
    value: impl Fn(usize, &mut Vec<u8>),
) -> Result<Encoded> {
    let control = Control::of(page);
    let (mut data, mut starts) = (Vec::with_capacity(page.entries * (width + 1)), Vec::new());
    let mut item = 0;
    for entry in 0..page.entries {
        if starts_row(page, entry) {
            starts.push(data.len());
        }
        control.push(page, entry, &mut data);
        if page.visible(entry) {
            value(item, &mut data);
            item += 1;
        }
    }
    starts.push(data.len());
    let details = Details::BitsPerValue(count(width * 8)?);
    finish(page, &control, data, page.rep.is_some().then_some(starts), details, message)
}

pub(super) fn encode_fixed(page: &Shredded, values: &Fixed) -> Result<Encoded> {
    let message = flat(values.width as u64 * 8);
    fixed(page, values.width, message, |item, out| out.extend_from_slice(values.get(item..item + 1)))
}

pub(super) fn encode_lists(page: &Shredded, lists: &Lists) -> Result<Encoded> {
    let mut each = 1;
    let mut bitmaps: Vec<(usize, &BooleanBuffer)> = Vec::new();
    for (dimension, valid) in &lists.levels {
        each *= dimension;
        bitmaps.extend(valid.as_ref().map(|v| (each, v)));
    }
    let data_width = each * lists.bits / 8;
    let width = data_width + bitmaps.iter().map(|(n, _)| n.div_ceil(8)).sum::<usize>();
    fixed(page, width, fixed_size_list(lists), |item, out| {
        for (n, valid) in &bitmaps {
            let part: BooleanBuffer = valid.slice(item * n, *n).iter().collect();
            out.extend_from_slice(part.into_inner().get(..n.div_ceil(8)).unwrap_or_default());
        }
        out.extend_from_slice(lists.data.get(item * data_width..(item + 1) * data_width).unwrap_or_default());
    })
}

/// How each value of a page of texts is stored.
pub(super) enum Texts {
    Plain,
    Symbols(Box<Compressor>),
    General(Packer),
    /// Packed structs of these members.
    Packed(Vec<Member>),
}

pub(super) fn encode_texts(page: &Shredded, texts: &Variable, how: &Texts) -> Result<Encoded> {
    let control = Control::of(page);
    let message = match how {
        Texts::Plain => variable(texts.large),
        Texts::Symbols(symbols) => fsst(symbols.table().into(), texts.large),
        Texts::General(packer) => general(variable(texts.large), packer.scheme),
        Texts::Packed(members) => variable_packed_struct(members),
    };
    let mut scratch = Vec::new();
    let (mut data, mut starts) = (Vec::with_capacity(texts.data.len() + 5 * page.entries), Vec::new());
    let mut item = 0;
    for entry in 0..page.entries {
        if starts_row(page, entry) {
            starts.push(data.len());
        }
        control.push(page, entry, &mut data);
        if page.visible(entry) {
            if page.def.as_ref().and_then(|d| d.get(entry)).is_none_or(|d| *d == 0) {
                scratch.clear();
                let value = match how {
                    Texts::Plain | Texts::Packed(_) => texts.get(item),
                    Texts::Symbols(symbols) => {
                        symbols.append(texts.get(item), &mut scratch);
                        &scratch
                    }
                    Texts::General(packer) => {
                        scratch = packer.pack(texts.get(item))?;
                        &scratch
                    }
                };
                push_offset(&mut data, value.len(), texts.large)?;
                data.extend_from_slice(value);
            }
            item += 1;
        }
    }
    starts.push(data.len());
    let details = Details::BitsPerOffset(if texts.large { 64 } else { 32 });
    finish(page, &control, data, Some(starts), details, message)
}
