//! Reading items of a page: which bytes, and what they mean.

use super::ends::{self, Spans};
use super::tree::{Array, Node};
use crate::bytes_at::{size, times, uint_at};
use crate::codec::bitpack::{GROUP, Group, Word};
use crate::codec::fsst::SymbolTable;
use crate::codec::general::Scheme;
use crate::coroutine::{BoxFuture, Io, join_all};
use crate::encoding::{Decoded, Lists, PageContext, Target, part_of};
use crate::nulls::{and_nulls, null_array, with_nulls};
use crate::packed::split_records;
use crate::rows::Rows;
use crate::values::{Values, Variable, bad_offsets, bad_values, bits_of, byte_width, wrong_type};
use arrow::array::{Array as _, ArrayRef, BooleanBufferBuilder, UInt64Array, make_array};
use arrow::buffer::{Buffer, NullBuffer};
use arrow::compute::{CastOptions, TakeOptions, cast_with_options, take};
use arrow::datatypes::DataType;
use bytes::Bytes;
use colkit_core::pool::Pooled;
use colkit_core::{ByteRange, Error, Limits, Result};
use std::ops::Range;
use std::sync::Arc;

/// Items before their nulls are put on them.
struct Items {
    content: Content,
    nulls: Option<NullBuffer>,
}

enum Content {
    Values(Values),
    Array(ArrayRef),
    AllNull(u64),
    Lists(Spans),
}

impl From<Values> for Items {
    fn from(values: Values) -> Self {
        Items { content: Content::Values(values), nulls: None }
    }
}

impl Items {
    fn array(self, data_type: &DataType, limits: &Limits) -> Result<ArrayRef> {
        match self.content {
            Content::Values(values) => values.array(data_type, self.nulls),
            Content::Array(array) => with_nulls(array, self.nulls),
            Content::AllNull(count) => null_array(data_type, count, limits),
            Content::Lists(_) => Err(wrong_type("lists", data_type)),
        }
    }
}

/// Reads items of the page.
pub(super) async fn page(
    io: &Io,
    root: &Arc<Node>,
    context: &Arc<PageContext>,
    rows: Rows,
    target: &Target,
) -> Result<Decoded> {
    if rows.end() > context.length {
        return Err(Error::corrupt("row_count_mismatch", format!("item {} of {}", rows.end(), context.length)));
    }
    let data_type = target.field.data_type();
    let items = Reader { io: io.clone(), context: context.clone() }.read(root, rows, data_type).await?;
    match items.content {
        Content::Lists(spans) => {
            Ok(Decoded::Lists(Lists { lengths: spans.lengths, nulls: spans.nulls, items: spans.places }))
        }
        _ => Ok(Decoded::Array(items.array(data_type, &context.limits)?)),
    }
}

#[derive(Clone)]
struct Reader {
    io: Io,
    context: Arc<PageContext>,
}

impl Reader {
    /// The items of `rows`. Boxed because encodings nest.
    fn read(&self, node: &Arc<Node>, rows: Rows, data_type: &DataType) -> BoxFuture<Items> {
        let (this, node, data_type) = (self.clone(), node.clone(), data_type.clone());
        Box::pin(async move { this.items(&node, rows, &data_type).await })
    }

    async fn items(&self, node: &Arc<Node>, rows: Rows, data_type: &DataType) -> Result<Items> {
        match &node.array {
            Array::Flat { bits, buffer, compression } => {
                Ok(self.flat(node, *bits, *buffer, *compression, &rows).await?.into())
            }
            Array::AllNull => Ok(Items { content: Content::AllNull(rows.len()), nulls: None }),
            Array::Struct => Err(wrong_type("a struct header", data_type)),
            Array::Nullable { validity, values } => {
                let both =
                    vec![self.read(validity, rows.clone(), &DataType::Boolean), self.read(values, rows, data_type)];
                let mut both = join_all(both).await?.into_iter();
                let (Some(validity), Some(mut items)) = (both.next(), both.next()) else {
                    return Err(Error::corrupt("bad_encoding", "a nullable without parts"));
                };
                let Content::Values(Values::Bits(mut valid)) = validity.content else {
                    return Err(wrong_type("something else", &DataType::Boolean).part("validity"));
                };
                items.nulls = and_nulls(Some(NullBuffer::new(valid.finish())), items.nulls)?;
                Ok(items)
            }
            Array::FixedSizeList { dimension, items } => {
                let DataType::FixedSizeList(item, _) = data_type else {
                    return Err(wrong_type("fixed-size lists", data_type));
                };
                let (count, item) = (size(rows.len())?, item.data_type());
                let items = self.read(items, rows.scaled((*dimension).into())?, item).await?;
                let (dimension, nulls) = (size((*dimension).into())?, items.nulls.clone());
                let values = match items.content {
                    Content::Values(values) => values,
                    _ => return self.fixed_size_lists(items, item, data_type, count),
                };
                let valid = nulls.map(|n| {
                    let mut valid = BooleanBufferBuilder::new(n.len());
                    valid.append_buffer(n.inner());
                    valid
                });
                Ok(Values::Lists { dimension, valid, items: Box::new(values), count }.into())
            }
            Array::List { offsets, adjustment, .. } => {
                let numbers = self.numbers(offsets, ends::needed(&rows)).await?;
                let spans = ends::spans(&rows, &numbers, *adjustment)?;
                Ok(Items { content: Content::Lists(spans), nulls: None })
            }
            Array::Binary { indices, bytes, adjustment } => {
                self.binary(indices, bytes, *adjustment, rows, data_type, None).await
            }
            Array::Fsst { binary, table } => match &binary.array {
                Array::Binary { indices, bytes, adjustment } => {
                    self.binary(indices, bytes, *adjustment, rows, data_type, Some(table)).await
                }
                _ => Err(Error::corrupt("bad_encoding", "fsst goes around binary only")),
            },
            Array::Dictionary { indices, items, count } => {
                self.dictionary(node, indices, items, *count, rows, data_type).await
            }
            Array::Packed { width, buffer } => {
                let data = self.fixed(*width, *buffer, &rows).await?;
                let array = split_records(&data, size(*width)?, size(rows.len())?, data_type)?;
                Ok(Items { content: Content::Array(array), nulls: None })
            }
            Array::Bitpacked { width, bits, buffer, signed } => {
                let (width, bits) = (*width, byte_width(*bits)?);
                let parts = self.parts(*buffer, &rows, |r| {
                    Ok(times(r.start, width as u64)? / 8..times(r.end, width as u64)?.div_ceil(8))
                });
                let mut data = Pooled::default();
                for (range, bytes) in rows.ranges().iter().zip(parts?.await?) {
                    let skip = (range.start % 8).wrapping_mul(width as u64) % 8;
                    let values = (0..range.end - range.start).map(|i| skip + i * width as u64);
                    for at in values {
                        let value = bits_at(&bytes, at, width, *signed)?;
                        data.extend_from_slice(value.to_le_bytes().get(..bits).unwrap_or_default());
                    }
                }
                Ok(Values::Fixed { width: bits, data }.into())
            }
            Array::Lanes { width, bits, buffer } => {
                let group_bytes = 128 * *width as u64;
                let parts = self.parts(*buffer, &rows, |r| {
                    let groups = r.start / GROUP as u64..r.end.div_ceil(GROUP as u64);
                    Ok(times(groups.start, group_bytes)?..times(groups.end, group_bytes)?)
                });
                let mut data = Pooled::default();
                for (range, bytes) in rows.ranges().iter().zip(parts?.await?) {
                    match bits {
                        8 => unpack::<u8>(*width, range, &bytes, &mut data)?,
                        16 => unpack::<u16>(*width, range, &bytes, &mut data)?,
                        32 => unpack::<u32>(*width, range, &bytes, &mut data)?,
                        _ => unpack::<u64>(*width, range, &bytes, &mut data)?,
                    }
                }
                Ok(Values::Fixed { width: byte_width(*bits)?, data }.into())
            }
            Array::Equal { width, bytes } => {
                let rows_of_bytes = match &bytes.array {
                    Array::Flat { bits, .. } if *bits == 8 * u64::from(*width) && *width > 1 => rows.clone(),
                    _ => rows.scaled((*width).into())?,
                };
                let data = self.raw(bytes, rows_of_bytes).await?;
                let mut variable = Variable::new(is_large(data_type), size(rows.len())?);
                for value in data.chunks_exact(size((*width).max(1).into())?) {
                    variable.push(value)?;
                }
                Ok(Values::Variable(variable).into())
            }
        }
    }

    fn fixed_size_lists(&self, items: Items, item: &DataType, data_type: &DataType, count: usize) -> Result<Items> {
        let items = items.array(item, &self.context.limits)?;
        let data = arrow::array::ArrayData::builder(data_type.clone()).len(count).add_child_data(items.to_data());
        let array = make_array(data.build().map_err(bad_values)?);
        Ok(Items { content: Content::Array(array), nulls: None })
    }

    /// Asks for the part of a buffer that each range needs.
    fn parts(
        &self,
        buffer: ByteRange,
        rows: &Rows,
        bytes_of: impl Fn(&Range<u64>) -> Result<Range<u64>>,
    ) -> Result<BoxFuture<Vec<Bytes>>> {
        let ranges = rows.ranges().iter().map(|r| part_of(buffer, bytes_of(r)?)).collect::<Result<Vec<_>>>()?;
        let io = self.io.clone();
        Ok(Box::pin(async move { io.read(ranges).await }))
    }

    /// The bytes of values that have `width` each, one after another.
    async fn fixed(&self, width: u64, buffer: ByteRange, rows: &Rows) -> Result<Bytes> {
        let mut parts = self.parts(buffer, rows, |r| Ok(times(r.start, width)?..times(r.end, width)?))?.await?;
        if parts.len() == 1 {
            return Ok(parts.pop().unwrap_or_default());
        }
        Ok(parts.concat().into())
    }

    async fn flat(
        &self,
        node: &Node,
        bits: u64,
        buffer: ByteRange,
        compression: Option<Scheme>,
        rows: &Rows,
    ) -> Result<Values> {
        if let Some(scheme) = compression {
            return self.compressed(node, bits, buffer, scheme, rows).await;
        }
        let count = size(rows.len())?;
        if bits == 1 {
            let parts = self.parts(buffer, rows, |r| Ok(r.start / 8..r.end.div_ceil(8)))?.await?;
            let mut all = BooleanBufferBuilder::new(count);
            for (range, bytes) in rows.ranges().iter().zip(parts) {
                all.append_buffer(&bits_of(bytes, size(range.start % 8)?, size(range.end - range.start)?)?);
            }
            return Ok(Values::Bits(all));
        }
        let width = byte_width(bits)?;
        let data = self.fixed(width as u64, buffer, rows).await?;
        Ok(Values::Shared { width, data: data.into(), count })
    }

    async fn compressed(
        &self,
        node: &Node,
        bits: u64,
        buffer: ByteRange,
        scheme: Scheme,
        rows: &Rows,
    ) -> Result<Values> {
        let width = byte_width(bits)?;
        let kept = node.unpacked.lock().ok().and_then(|kept| kept.clone());
        let whole = match kept {
            Some(whole) => whole,
            None => scheme.decompress(&self.io.read_one(buffer).await?, &self.context.limits)?,
        };
        let mut data = Pooled::default();
        for range in rows.ranges() {
            let bytes = times(range.start, width as u64)?..times(range.end, width as u64)?;
            let part = usize::try_from(bytes.start).ok().zip(usize::try_from(bytes.end).ok());
            let part = part.and_then(|(start, end)| whole.get(start..end));
            data.extend_from_slice(part.ok_or_else(|| {
                Error::corrupt("buffer_too_short", format!("{bytes:?} of {} unpacked bytes", whole.len()))
            })?);
        }
        if let Ok(mut kept) = node.unpacked.lock() {
            // A scan is done with the buffer once it has read the end of it.
            let done = times(rows.end(), width as u64)? >= whole.len() as u64;
            *kept = (!done).then_some(whole);
        }
        Ok(Values::Fixed { width, data })
    }

    /// Items as raw bytes.
    async fn raw(&self, node: &Arc<Node>, rows: Rows) -> Result<Buffer> {
        let items = self.read(node, rows, &DataType::UInt8).await?;
        match items.content {
            Content::Values(Values::Shared { data, .. }) => Ok(data),
            Content::Values(Values::Fixed { data, .. }) => Ok(data.into_buffer()),
            _ => Err(Error::corrupt("wrong_encoding", "expected values of whole bytes")),
        }
    }

    /// Items as unsigned numbers.
    async fn numbers(&self, node: &Arc<Node>, rows: Rows) -> Result<Vec<u64>> {
        let count = size(rows.len())?;
        if count == 0 {
            return Ok(Vec::new());
        }
        let items = self.read(node, rows, &DataType::UInt64).await?;
        let (width, data) = match &items.content {
            Content::Values(Values::Shared { width, data, .. }) => (*width, data.as_slice()),
            Content::Values(Values::Fixed { width, data }) => (*width, data.as_slice()),
            _ => return Err(Error::corrupt("wrong_encoding", "expected numbers")),
        };
        if !(1..=8).contains(&width) || data.len() / width != count {
            return Err(Error::corrupt("bad_bit_width", format!("{count} numbers in {} bytes", data.len())));
        }
        if width == 8 {
            let whole = data.chunks_exact(8).map(|b| u64::from_le_bytes(b.try_into().unwrap_or_default()));
            return Ok(whole.collect());
        }
        data.chunks_exact(width).map(|b| uint_at(b, 0, width)).collect()
    }

    async fn binary(
        &self,
        indices: &Arc<Node>,
        bytes: &Arc<Node>,
        adjustment: u64,
        rows: Rows,
        data_type: &DataType,
        fsst: Option<&SymbolTable>,
    ) -> Result<Items> {
        let numbers = self.numbers(indices, ends::needed(&rows)).await?;
        let spans = ends::spans(&rows, &numbers, adjustment)?;
        let data = if spans.places.is_empty() { Buffer::default() } else { self.raw(bytes, spans.places).await? };
        let mut variable = Variable::new(is_large(data_type), spans.lengths.len());
        match fsst {
            None => {
                let mut end = 0u64;
                let ends = spans.lengths.iter().map(|length| {
                    end = end.saturating_add(*length);
                    end
                });
                variable.extend(&data, 0, ends)?;
            }
            Some(table) => {
                let mut rest: &[u8] = &data;
                for length in &spans.lengths {
                    let (codes, after) = rest.split_at_checked(size(*length)?).ok_or_else(bad_offsets)?;
                    table.decode(codes, &mut variable.data)?;
                    variable.end_value()?;
                    rest = after;
                }
            }
        }
        Ok(Items { content: Content::Values(Values::Variable(variable)), nulls: spans.nulls })
    }

    async fn dictionary(
        &self,
        node: &Node,
        indices: &Arc<Node>,
        items: &Arc<Node>,
        count: u32,
        rows: Rows,
        data_type: &DataType,
    ) -> Result<Items> {
        let value_type = match data_type {
            DataType::Dictionary(_, value) => value,
            other => other,
        };
        let items = match node.items.get() {
            Some(items) => items.clone(),
            None => {
                let items = self.read(items, Rows::range(0..count.into()), value_type).await?;
                let items = items.array(value_type, &self.context.limits)?;
                node.items.get_or_init(|| items).clone()
            }
        };
        let indices = self.numbers(indices, rows).await?;
        let array = match data_type {
            DataType::Dictionary(key_type, _) => arrow_dictionary(&indices, items, key_type, data_type)?,
            _ => {
                // Index 0 is null, index k is item k - 1.
                let shifted: UInt64Array = indices.iter().map(|i| i.checked_sub(1)).collect();
                let checked = TakeOptions { check_bounds: true };
                take(&items, &shifted, Some(checked)).map_err(bad_values)?
            }
        };
        Ok(Items { content: Content::Array(array), nulls: None })
    }
}

/// An Arrow dictionary. A row that points at a null item is null, and the null item is left out: writers add one at
/// the end even where the key type has no number left for it.
fn arrow_dictionary(indices: &[u64], items: ArrayRef, key_type: &DataType, data_type: &DataType) -> Result<ArrayRef> {
    let mut places = Vec::with_capacity(items.len());
    let mut next = 0u64;
    for item in 0..items.len() {
        places.push(items.is_valid(item).then_some(next));
        next += u64::from(items.is_valid(item));
    }
    let place = |i: &u64| usize::try_from(*i).ok().and_then(|i| places.get(i).copied());
    let keys: Option<Vec<Option<u64>>> = indices.iter().map(place).collect();
    let keys = keys.ok_or_else(|| Error::corrupt("bad_values", format!("an index beyond {} items", items.len())))?;
    let items = if items.null_count() > 0 {
        let valid: UInt64Array =
            (0u64..).zip(&places).filter(|(_, p)| p.is_some()).map(|(i, _)| i).collect::<Vec<_>>().into();
        take(&items, &valid, None).map_err(bad_values)?
    } else {
        items
    };
    let strict = CastOptions { safe: false, ..CastOptions::default() };
    let keys = cast_with_options(&UInt64Array::from(keys), key_type, &strict).map_err(bad_values)?;
    let data = keys.to_data().into_builder().data_type(data_type.clone()).child_data(vec![items.to_data()]);
    Ok(make_array(data.build().map_err(bad_values)?))
}

fn is_large(data_type: &DataType) -> bool {
    matches!(data_type, DataType::LargeUtf8 | DataType::LargeBinary)
}

/// `width` bits from bit `at`, the lowest first.
fn bits_at(bytes: &[u8], at: u64, width: usize, signed: bool) -> Result<u64> {
    let first = size(at / 8)?;
    let last = size((at + width as u64).div_ceil(8))?;
    let part = bytes.get(first..last).ok_or_else(|| Error::corrupt("buffer_too_short", "bit-packed values"))?;
    let wide = part.iter().rev().fold(0u128, |sum, b| sum << 8 | u128::from(*b)) >> (at % 8);
    let unused = 128 - u32::try_from(width).unwrap_or(128).min(128);
    let kept =
        if signed { ((wide << unused).cast_signed() >> unused).cast_unsigned() } else { wide << unused >> unused };
    let [a, b, c, d, e, f, g, h, ..] = kept.to_le_bytes();
    Ok(u64::from_le_bytes([a, b, c, d, e, f, g, h]))
}

/// Appends the values of `range` out of the groups that contain it.
fn unpack<T: Word>(width: usize, range: &Range<u64>, bytes: &[u8], out: &mut Pooled) -> Result<()> {
    let mut at = range.start;
    for group in bytes.chunks(Group::<T>::bytes(width)) {
        let first = at / GROUP as u64 * GROUP as u64;
        let end = range.end.min(first + GROUP as u64);
        let wanted = size(at - first)?..size(end.saturating_sub(first))?;
        Group::<T>::new(width, group)?.append(&[wanted], out);
        at = end;
    }
    Ok(())
}
