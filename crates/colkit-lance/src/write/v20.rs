//! Pages of file version 2.0: a tree of array encodings whose leaves name the page's buffers.
//!
//! ```text
//! every field has a column, parents first:   struct -> header | members      list -> offsets | items
//! page of values: Nullable(Flat), Binary(ends, bytes), Dictionary(indices, items), FixedSizeList(Nullable(...))
//! ```
//!
//! Lists and texts store where each ends; one that is null has more than all ends added to its own. Structs have no
//! nulls. Buffers are numbered in the order in which the tree names them.

use super::choice::Choice;
use super::container::{Blobs, PageBytes};
use super::dictionary;
use super::hints::Compression as Asked;
use super::options::Prefer;
use super::schema::is_blob;
use super::values::{Values, Variable};
use crate::codec::fsst::Compressor;
use crate::codec::general::{Packer, Scheme};
use crate::container::messages::Page;
use crate::schema::is_packed;
use crate::v20::messages::{
    Array as Tree, ArrayEncoding, Binary, Buffer, Compression, Dictionary, FixedSizeList, Flat, Fsst, List, NoNull,
    Nothing, Nullability, Nullable, PackedStruct, SomeNull,
};
use arrow::array::{Array, ArrayRef, AsArray, UInt64Array, new_null_array};
use arrow::buffer::{BooleanBuffer, NullBuffer};
use arrow::compute::{concat, take};
use arrow::datatypes::{DataType, Field};
use colkit_core::{Error, Result};
use prost::Message;

/// Encodes rows of a field: a page for each of its columns, added to those that are there.
pub(super) fn encode(field: &Field, array: &ArrayRef, choices: &[Choice], pages: &mut [Vec<PageBytes>]) -> Result<()> {
    let mut walk = Walk { choices, pages, next: 0 };
    let rows = array.len() as u64;
    walk.field(field, array)?;
    pages.iter_mut().filter_map(|p| p.last_mut()).for_each(|page| page.top_rows = rows);
    Ok(())
}

/// The only page of a struct's column.
pub(super) fn header(length: u64) -> Page {
    let layout = encoding(Tree::Struct(Nothing {})).encode_to_vec();
    super::container::page_without_buffers(layout, length)
}

/// The page that says where blobs are.
pub(super) fn describe_blobs(places: &[(u64, u64)]) -> (Vec<u8>, Vec<Vec<u8>>) {
    let data = places.iter().flat_map(|(position, size)| [*position, *size]).flat_map(u64::to_le_bytes).collect();
    (records([64, 64].into_iter()).encode_to_vec(), vec![data])
}

fn encoding(tree: Tree) -> ArrayEncoding {
    ArrayEncoding { array: Some(tree) }
}

fn boxed(inner: ArrayEncoding) -> Option<Box<ArrayEncoding>> {
    Some(Box::new(inner))
}

fn nullable(nullability: Nullability) -> ArrayEncoding {
    encoding(Tree::Nullable(Nullable { nullability: Some(nullability) }))
}

fn no_nulls(values: ArrayEncoding) -> ArrayEncoding {
    nullable(Nullability::NoNulls(Box::new(NoNull { values: boxed(values) })))
}

/// A struct whose members lie together, in buffer 0.
fn records(bits: impl Iterator<Item = u64>) -> ArrayEncoding {
    let first = Buffer { buffer_index: 0, buffer_type: 0 };
    let member =
        |bits| no_nulls(encoding(Tree::Flat(Flat { bits_per_value: bits, buffer: Some(first), compression: None })));
    encoding(Tree::PackedStruct(PackedStruct { inner: bits.map(member).collect(), buffer: Some(first) }))
}

struct Walk<'a> {
    choices: &'a [Choice],
    pages: &'a mut [Vec<PageBytes>],
    next: usize,
}

impl Walk<'_> {
    /// Adds a page to the next column.
    fn push(&mut self, page: PageBytes) {
        if let Some(pages) = self.pages.get_mut(self.next) {
            pages.push(page);
        }
        self.next += 1;
    }

    fn field(&mut self, field: &Field, array: &ArrayRef) -> Result<()> {
        let rows = array.len() as u64;
        let Some(choice) = self.choices.get(self.next).copied() else {
            return Err(Error::data("bad_values", "an array without the fields of its schema"));
        };
        match field.data_type() {
            DataType::Struct(_) if is_packed(field.metadata()) => {
                if array.null_count() > 0 {
                    return Err(null_struct());
                }
                let Values::Records(found) = Values::of(array)? else {
                    return Err(Error::data("type_not_supported", "packed structs of text need file version 2.2"));
                };
                let layout = records(found.bits.into_iter()).encode_to_vec();
                self.push(PageBytes { rows, ..PageBytes::new(vec![found.fixed.data], layout) });
                Ok(())
            }
            DataType::Struct(members) => {
                if array.null_count() > 0 {
                    return Err(null_struct());
                }
                self.push(PageBytes { rows, ..PageBytes::new(Vec::new(), Vec::new()) });
                let columns = array.as_struct().columns().iter();
                members.iter().zip(columns).try_for_each(|(member, column)| self.field(member, column))
            }
            DataType::List(item) => {
                let lists = array.as_list::<i32>();
                let offsets = lists.value_offsets().iter().map(|o| i64::from(*o)).collect::<Vec<_>>();
                self.list(item, lists.values(), &offsets, array.nulls())
            }
            DataType::LargeList(item) => {
                let lists = array.as_list::<i64>();
                self.list(item, lists.values(), lists.value_offsets(), array.nulls())
            }
            DataType::LargeBinary if is_blob(field) => {
                let blobs = Blobs { values: array.clone(), def: None, layers: Vec::new() };
                self.push(PageBytes { rows, blobs: Some(blobs), ..PageBytes::new(Vec::new(), Vec::new()) });
                Ok(())
            }
            _ => {
                let mut page = TreePage { buffers: Vec::new(), choice };
                let layout = page.values(array)?.encode_to_vec();
                self.push(PageBytes { rows, ..PageBytes::new(page.buffers, layout) });
                Ok(())
            }
        }
    }

    fn list(&mut self, item: &Field, values: &ArrayRef, offsets: &[i64], nulls: Option<&NullBuffer>) -> Result<()> {
        let at =
            |n: i64| usize::try_from(n).map_err(|_| Error::data("bad_values", "a list that begins before its items"));
        let mut ends = Vec::with_capacity(offsets.len());
        let mut kept: Vec<(usize, usize)> = Vec::new();
        let mut total = 0u64;
        for (i, (from, to)) in offsets.iter().zip(offsets.iter().skip(1)).enumerate() {
            let (from, to) = (at(*from)?, at(*to)?);
            let valid = nulls.is_none_or(|n| n.is_valid(i));
            if valid && to > from {
                total += (to - from) as u64;
                match kept.last_mut() {
                    Some(last) if last.1 == from => last.1 = to,
                    _ => kept.push((from, to)),
                }
            }
            ends.push((total, valid));
        }
        let adjustment = total + 1;
        let data =
            ends.iter().flat_map(|(end, valid)| (end + if *valid { 0 } else { adjustment }).to_le_bytes()).collect();
        let mut page = TreePage { buffers: Vec::new(), choice: Choice::plain() };
        let offsets = no_nulls(page.flat(data, 64)?);
        let list = List { offsets: boxed(offsets), null_offset_adjustment: adjustment, num_items: total };
        let layout = encoding(Tree::List(list)).encode_to_vec();
        self.push(PageBytes { rows: ends.len() as u64, ..PageBytes::new(page.buffers, layout) });
        // Items of null lists are left out.
        let items = match kept.as_slice() {
            [] => values.slice(0, 0),
            [(from, to)] => values.slice(*from, to - from),
            parts => {
                let indices = parts.iter().flat_map(|(from, to)| *from as u64..*to as u64);
                take(values, &UInt64Array::from_iter_values(indices), None)?
            }
        };
        self.field(item, &items)
    }
}

fn null_struct() -> Error {
    Error::data("type_not_supported", "file version 2.0 has no null structs")
        .hint("version 2.1 has: --lance-version 2.1")
}

/// A page on its way to bytes.
struct TreePage {
    buffers: Vec<Vec<u8>>,
    choice: Choice,
}

impl TreePage {
    fn buffer(&mut self, bytes: Vec<u8>) -> Result<Option<Buffer>> {
        let number = self.buffers.len();
        self.buffers.push(bytes);
        let buffer_index = u32::try_from(number).map_err(|_| Error::limit("buffers of a page", number, u32::MAX))?;
        Ok(Some(Buffer { buffer_index, buffer_type: 0 }))
    }

    fn flat(&mut self, bytes: Vec<u8>, bits: u64) -> Result<ArrayEncoding> {
        let buffer = self.buffer(bytes)?;
        Ok(encoding(Tree::Flat(Flat { bits_per_value: bits, buffer, compression: None })))
    }

    /// Values of an array of any type without fields.
    fn values(&mut self, array: &ArrayRef) -> Result<ArrayEncoding> {
        match array.data_type() {
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Binary | DataType::LargeBinary => self.texts(array),
            DataType::Dictionary(_, _) => self.dictionary(array),
            _ if array.logical_null_count() == array.len() => Ok(nullable(Nullability::AllNulls(Nothing {}))),
            _ => {
                let nulls = array.logical_nulls().filter(|n| n.null_count() > 0);
                let validity = nulls.map(|n| self.flat(bitmap(n.inner()), 1)).transpose()?;
                let values = self.plain(array)?;
                Ok(match validity {
                    None => no_nulls(values),
                    Some(validity) => {
                        let some = SomeNull { validity: boxed(validity), values: boxed(values) };
                        nullable(Nullability::SomeNulls(Box::new(some)))
                    }
                })
            }
        }
    }

    /// Values of one width.
    fn plain(&mut self, array: &ArrayRef) -> Result<ArrayEncoding> {
        if let DataType::FixedSizeList(_, n) = array.data_type() {
            let lists = array.as_fixed_size_list();
            let from = usize::try_from(lists.value_offset(0)).unwrap_or(0);
            let dimension = u32::try_from(*n).map_err(|_| Error::limit("items of a list", u64::MAX, u32::MAX))?;
            let each = usize::try_from(*n).unwrap_or(0);
            let items = lists.values().slice(from, lists.len() * each);
            let items = self.values(&items)?;
            return Ok(encoding(Tree::FixedSizeList(FixedSizeList { dimension, items: boxed(items) })));
        }
        match Values::of(array)? {
            Values::Bits(bits) => self.flat(bitmap(&bits), 1),
            Values::Fixed(fixed) => {
                let bits = fixed.width as u64 * 8;
                self.flat(fixed.data, bits)
            }
            _ => Err(Error::data("type_not_supported", format!("{} in file version 2.0", array.data_type()))),
        }
    }

    fn texts(&mut self, array: &ArrayRef) -> Result<ArrayEncoding> {
        let texts = Variable::of(array)?;
        let nulls = array.logical_nulls().filter(|n| n.null_count() > 0);
        if array.data_type() == &DataType::Utf8
            && let Some(found) = self.few(&texts, nulls.as_ref())?
        {
            return Ok(found);
        }
        let symbols = self.choice.hints.compression == Some(Asked::Symbols)
            && matches!(array.data_type(), DataType::Utf8 | DataType::Binary)
            && texts.data.len() >= 32 << 10;
        if symbols {
            let compressor = Compressor::train(texts.len(), |i| texts.get(i));
            let coded = super::codec::Symbols::new(&texts, &compressor).coded;
            let binary = boxed(self.binary(&coded, nulls.as_ref(), None)?);
            return Ok(encoding(Tree::Fsst(Fsst { binary, symbol_table: compressor.table().into() })));
        }
        self.binary(&texts, nulls.as_ref(), self.scheme())
    }

    /// What compresses the bytes of texts: only what was asked for by name, as that makes single values expensive.
    fn scheme(&self) -> Option<Scheme> {
        match (self.choice.hints.compression, self.choice.prefer) {
            (Some(Asked::Lz4), _) => Some(Scheme::Lz4),
            (Some(Asked::Zstd), _) => Some(Scheme::Zstd),
            (None, Prefer::Size) => Some(Scheme::Zstd).filter(|scheme| scheme.can_pack()),
            _ => None,
        }
    }

    fn binary(
        &mut self,
        texts: &Variable,
        nulls: Option<&NullBuffer>,
        scheme: Option<Scheme>,
    ) -> Result<ArrayEncoding> {
        let adjustment = if texts.len() == 0 { 0 } else { texts.data.len() as u64 + 1 };
        let ends = texts
            .offsets
            .iter()
            .skip(1)
            .enumerate()
            .map(|(i, end)| *end as u64 + if nulls.is_some_and(|n| n.is_null(i)) { adjustment } else { 0 });
        let indices = no_nulls(self.flat(ends.flat_map(u64::to_le_bytes).collect(), 64)?);
        let packer = match scheme {
            Some(scheme) if !texts.data.is_empty() => {
                Some(Packer::new(scheme, self.choice.hints.level.or(self.choice.level).unwrap_or(3))?)
            }
            _ => None,
        };
        let bytes = match &packer {
            None => self.flat(texts.data.clone(), 8)?,
            Some(packer) => {
                let buffer = self.buffer(packer.pack(&texts.data)?)?;
                let compression = Some(Compression { scheme: packer.scheme.name().to_owned() });
                encoding(Tree::Flat(Flat { bits_per_value: 8, buffer, compression }))
            }
        };
        Ok(encoding(Tree::Binary(Binary { indices: boxed(indices), bytes: boxed(bytes), null_adjustment: adjustment })))
    }

    /// Few texts that repeat: index 0 is null, the others count from 1.
    fn few(&mut self, texts: &Variable, nulls: Option<&NullBuffer>) -> Result<Option<ArrayEncoding>> {
        let terms = dictionary::Terms { otherwise: texts.data.len() + 8 * texts.len(), divisor: 2 };
        let Some((entries, indices)) = dictionary::entries(texts, terms).filter(|(entries, _)| entries.len() < 200)
        else {
            return Ok(None);
        };
        let index = |(i, index): (usize, &u32)| match nulls {
            Some(nulls) if nulls.is_null(i) => 0,
            _ => u8::try_from(index + 1).unwrap_or(0),
        };
        let data = indices.iter().enumerate().map(index).collect();
        let mut items = Variable { offsets: vec![0], data: Vec::new(), large: false };
        for entry in &entries {
            items.data.extend_from_slice(texts.get(*entry));
            items.offsets.push(items.data.len());
        }
        let indices = no_nulls(self.flat(data, 8)?);
        let count = u32::try_from(entries.len()).unwrap_or(0);
        let items = self.binary(&items, None, None)?;
        Ok(Some(dictionary_of(indices, items, count)))
    }

    /// An Arrow dictionary. A null row points at a null entry.
    fn dictionary(&mut self, array: &ArrayRef) -> Result<ArrayEncoding> {
        let parts = array.as_any_dictionary();
        let mut values = parts.values().clone();
        let keys = if values.is_empty() { vec![0; array.len()] } else { parts.normalized_keys() };
        let nulls = array.logical_nulls().filter(|n| n.null_count() > 0);
        let mut null_entry = values.logical_nulls().and_then(|n| (0..n.len()).find(|i| n.is_null(*i)));
        if nulls.is_some() && null_entry.is_none() {
            null_entry = Some(values.len());
            values = concat(&[&values, &new_null_array(values.data_type(), 1)])?;
        }
        let DataType::Dictionary(key_type, _) = array.data_type() else {
            return Err(Error::data("bad_values", "a dictionary column without a dictionary"));
        };
        let width = key_type.primitive_width().unwrap_or(4);
        let most = 1u128 << (width * 8 - usize::from(key_type.is_signed_integer()));
        if values.len() as u128 > most {
            return Err(Error::data("type_not_supported", "a dictionary without room for an entry for nulls"));
        }
        let key = |(i, key): (usize, &usize)| match (&nulls, null_entry) {
            (Some(nulls), Some(entry)) if nulls.is_null(i) => entry,
            _ => *key,
        };
        let data: Vec<u8> =
            keys.iter().enumerate().map(key).flat_map(|k| (k as u64).to_le_bytes().into_iter().take(width)).collect();
        let indices = no_nulls(self.flat(data, width as u64 * 8)?);
        let count = u32::try_from(values.len()).map_err(|_| Error::limit("a dictionary", values.len(), u32::MAX))?;
        let items = match values.data_type() {
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Binary | DataType::LargeBinary => {
                let nulls = values.logical_nulls().filter(|n| n.null_count() > 0);
                self.binary(&Variable::of(&values)?, nulls.as_ref(), None)?
            }
            _ => self.values(&values)?,
        };
        Ok(dictionary_of(indices, items, count))
    }
}

fn dictionary_of(indices: ArrayEncoding, items: ArrayEncoding, num_dictionary_items: u32) -> ArrayEncoding {
    encoding(Tree::Dictionary(Dictionary { indices: boxed(indices), items: boxed(items), num_dictionary_items }))
}

/// Bits from the front of a byte on.
fn bitmap(bits: &BooleanBuffer) -> Vec<u8> {
    let own: BooleanBuffer = bits.iter().collect();
    own.into_inner().get(..bits.len().div_ceil(8)).unwrap_or_default().to_vec()
}
