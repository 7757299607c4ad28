//! How the values of a page are compressed, and what it takes to add a way.
//!
//! A page of 2.1 or later names the compression of its values, of its dictionary and of its levels. The same compression
//! may mean other bytes in each of three places, so each place is a trait of its own:
//!
//! | place | trait | what it is given |
//! |---|---|---|
//! | a chunk of a mini-block page | [`InChunks`] | the value buffers of a chunk, and which values are wanted |
//! | a whole block: a dictionary, levels | [`AsBlock`] | one buffer with all values |
//! | a full-zip page | [`PerValue`] | the bytes of each value alone |
//!
//! A [`ValueEncoding`] is registered by name and turns a description into a [`Compression`], once for each page. What that
//! does for a chunk is a call; what happens for each value is up to it.

use super::validity::Validity;
use super::{ChunkEncoder, EmbeddedModule, Encodings, PageTexts, PageValues, Runner};
use crate::values::{Runs, Values, Variable, wrong_type};
use arrow::array::{ArrayRef, BooleanBufferBuilder};
use arrow::buffer::{Buffer, NullBuffer};
use arrow::datatypes::DataType;
use bytes::Bytes;
use colkit_core::pool::Pooled;
use colkit_core::{Error, Limits, Result};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

pub use crate::v21::messages::CompressiveEncoding;

/// A way to compress values, as it is registered.
pub trait ValueEncoding: Send + Sync {
    /// The full name of its message, as after the last slash of the type URL.
    fn name(&self) -> &str;

    /// The number of its field in `lance.encodings21.CompressiveEncoding`, if Lance has given it one.
    fn number(&self) -> Option<u32> {
        None
    }

    /// Understands a description. Those of compressions inside of this one are understood by `encodings`.
    fn parse(&self, message: Bytes, encodings: &Encodings<'_>) -> Result<Arc<dyn Compression>>;

    /// Gets ready to write the values of a page, if it can and they are of a kind that it is for. Values are written so only by
    /// [`EncodingSet::Extended`](crate::EncodingSet::Extended).
    fn encoder<'a>(&self, _values: PageValues<'a>) -> Result<Option<Box<dyn ChunkEncoder + 'a>>> {
        Ok(None)
    }

    /// The same for texts and bytes of any length.
    fn text_encoder<'a>(&self, _texts: PageTexts<'a>) -> Result<Option<Box<dyn ChunkEncoder + 'a>>> {
        Ok(None)
    }

    /// The same, where there is more than one way to write the same texts.
    fn text_encoders<'a>(&self, texts: PageTexts<'a>) -> Result<Vec<Box<dyn ChunkEncoder + 'a>>> {
        Ok(self.text_encoder(texts)?.into_iter().collect())
    }

    /// Who decodes it: the program itself, unless this says otherwise.
    fn runner(&self) -> Runner {
        Runner::Native
    }

    /// The WebAssembly module that decodes it, if files that use it shall bring one for readers that do not know it.
    fn module(&self) -> Option<EmbeddedModule> {
        None
    }
}

/// A compression of the values of a page, understood. It is shown to people as it is displayed.
pub trait Compression: std::any::Any + fmt::Display + Send + Sync {
    /// What its values are.
    fn form(&self) -> Form;

    /// How it is decoded in a chunk, if it can be used there.
    fn in_chunks(&self) -> Option<&dyn InChunks> {
        None
    }

    /// How it is decoded as a block, if it can be used so.
    fn as_block(&self) -> Option<&dyn AsBlock> {
        None
    }

    /// How its values are decoded one by one, if they can be.
    fn per_value(&self) -> Option<&dyn PerValue> {
        None
    }
}

/// What the values of a compression are, before they have a type.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Form {
    /// So many bits each: one, or whole bytes.
    Fixed {
        /// The bits.
        bits: u64,
    },
    /// Texts or bytes of any length.
    Variable,
    /// Rows of a fixed number of values.
    Lists {
        /// Values of a row.
        dimension: usize,
        /// Whether it says which values are null.
        has_validity: bool,
        /// What the values are.
        items: Box<Form>,
    },
    /// Structs whose members lie together.
    Records {
        /// Bits of all members.
        bits: u64,
    },
    /// Nothing that could be collected.
    Nothing,
}

/// A chunk of a mini-block page.
pub struct Chunk<'a> {
    /// Its value buffers.
    pub buffers: &'a [&'a [u8]],
    /// How many values it has.
    pub count: usize,
    /// Which of them are wanted: ranges below `count`, in order.
    pub wanted: &'a [Range<usize>],
    /// Ceilings.
    pub limits: &'a Limits,
    /// Memory that is kept from chunk to chunk, with anything in it.
    pub scratch: &'a mut Pooled,
    /// Where it is said which values are null, if they may be.
    pub(crate) validity: Option<&'a mut Validity>,
}

impl<'a> Chunk<'a> {
    /// The value buffer with this number.
    pub fn buffer(&self, index: usize) -> Result<&'a [u8]> {
        self.buffers.get(index).copied().ok_or_else(|| {
            let have = self.buffers.len();
            Error::corrupt("bad_chunk", format!("the encoding needs value buffer {index}, a chunk has {have}"))
        })
    }

    /// Says which of the wanted values are null: `false` for each that is. Most encodings have no need to, since pages store
    /// nulls beside the values; a value is null if either says so.
    pub fn set_valid(&mut self, valid: impl ExactSizeIterator<Item = bool>) -> Result<()> {
        let wanted = self.wanted.iter().map(Range::len).sum::<usize>();
        if valid.len() != wanted {
            return Err(Error::corrupt("bad_chunk", format!("{wanted} values, and {} may be null", valid.len())));
        }
        match &mut self.validity {
            Some(validity) => validity.append(valid),
            None => return Err(Error::corrupt("wrong_encoding", "nulls inside of values that cannot be null here")),
        }
        Ok(())
    }
}

/// Values in the chunks of a mini-block page.
pub trait InChunks {
    /// Value buffers of a chunk.
    fn buffers(&self) -> u64 {
        1
    }

    /// Whether it takes as many value buffers as a page says instead.
    fn any_buffers(&self) -> bool {
        false
    }

    /// Bytes of a value whose runs can be had as runs.
    fn run_width(&self) -> Option<usize> {
        None
    }

    /// Appends the wanted values of a chunk, exactly those.
    fn append(&self, chunk: Chunk<'_>, out: Output<'_>) -> Result<()>;
}

/// All values in one buffer.
pub trait AsBlock: Compression {
    /// Appends all `count` values.
    fn append(&self, bytes: &[u8], count: usize, limits: &Limits, out: Output<'_>) -> Result<()>;

    /// The values as an array: the dictionary of a page.
    fn array(&self, bytes: &Bytes, count: usize, data_type: &DataType, limits: &Limits) -> Result<ArrayRef> {
        let mut values = collector(&self.form(), data_type, count)?;
        self.append(bytes, count, limits, Output(&mut values))?;
        values.array(data_type, None)
    }

    /// Appends the values as levels.
    fn levels(&self, bytes: &[u8], count: usize, limits: &Limits, out: &mut Vec<u16>) -> Result<()> {
        let mut values = Values::fixed(16, count)?;
        if self.form() != (Form::Fixed { bits: 16 }) {
            return Err(Error::corrupt("wrong_encoding", "levels of another width than 16 bits"));
        }
        self.append(bytes, count, limits, Output(&mut values))?;
        if let Values::Fixed { data, .. } = values {
            out.extend_from_slice(&crate::codec::bitpack::words::<u16>(data.as_slice()));
        }
        Ok(())
    }
}

/// Values that are encoded each on its own.
pub trait PerValue: Compression {
    /// Appends the value that these bytes stand for.
    fn append(&self, value: &[u8], limits: &Limits, out: Output<'_>) -> Result<()>;

    /// Values of `width` bytes each, one after another.
    fn fixed(
        &self,
        data: Buffer,
        width: usize,
        data_type: &DataType,
        nulls: Option<NullBuffer>,
        limits: &Limits,
    ) -> Result<ArrayRef> {
        let parts = data.chunks_exact(width.max(1)).collect::<Vec<_>>();
        self.variable(&parts, data_type, nulls, limits)
    }

    /// Values of any length, given the bytes of each; those of nulls are empty.
    fn variable(
        &self,
        raw: &[&[u8]],
        data_type: &DataType,
        nulls: Option<NullBuffer>,
        limits: &Limits,
    ) -> Result<ArrayRef> {
        let mut values = collector(&self.form(), data_type, raw.len())?;
        for (row, value) in raw.iter().enumerate() {
            match nulls.as_ref().is_some_and(|n| n.len() > row && n.is_null(row)) {
                true => Output(&mut values).push_nothing()?,
                false => self.append(value, limits, Output(&mut values))?,
            }
            Limits::check_memory("the values of one batch", values.bytes(), limits.memory)?;
        }
        values.array(data_type, nulls)
    }
}

/// Where decoded values go. They get a type later, and are validated then: nothing can be put here that is unsafe.
pub struct Output<'a>(pub(crate) &'a mut Values);

impl Output<'_> {
    /// Where values of `width` bytes each are appended, little-endian.
    pub fn fixed(&mut self, width: usize) -> Result<&mut Pooled> {
        match self.0 {
            Values::Fixed { width: own, data } if *own == width => Ok(data),
            _ => Err(mismatch()),
        }
    }

    /// Where booleans are appended.
    pub fn bits(&mut self) -> Result<&mut BooleanBufferBuilder> {
        match self.0 {
            Values::Bits(bits) => Ok(bits),
            _ => Err(mismatch()),
        }
    }

    /// Appends a value of any length.
    pub fn push(&mut self, value: &[u8]) -> Result<()> {
        match self.0 {
            Values::Variable(variable) => variable.push(value),
            _ => Err(mismatch()),
        }
    }

    /// Appends values of any length that lie one after another, given where the first begins and where each ends.
    pub fn extend(&mut self, bytes: &[u8], offsets: &[u32]) -> Result<()> {
        match self.0 {
            Values::Variable(variable) => variable.extend_small(bytes, offsets),
            _ => Err(mismatch()),
        }
    }

    /// Appends what stands for a null: zero, or a value of no bytes.
    fn push_nothing(&mut self) -> Result<()> {
        match self.0 {
            Values::Fixed { width, data } => {
                let width = *width;
                data.room(width).get_mut(..width).unwrap_or_default().fill(0);
                data.advance(width);
            }
            Values::Bits(bits) => bits.append(false),
            Values::Variable(variable) => variable.end_value()?,
            _ => return Err(mismatch()),
        }
        Ok(())
    }
}

/// Values of another kind were decoded than the compression has.
pub(crate) fn mismatch() -> Error {
    Error::corrupt("wrong_encoding", "values of another kind than the page's")
}

/// What values of this form are collected in.
pub(crate) fn collector(form: &Form, data_type: &DataType, count: usize) -> Result<Values> {
    match form {
        Form::Fixed { bits } | Form::Records { bits } => Values::fixed(*bits, count),
        Form::Variable => {
            let large = matches!(data_type, DataType::LargeUtf8 | DataType::LargeBinary);
            Ok(Values::Variable(Variable::new(large, count.min(1 << 20))))
        }
        Form::Lists { dimension, has_validity, items } => {
            let DataType::FixedSizeList(item, _) = data_type else {
                return Err(wrong_type("fixed-size lists", data_type));
            };
            Ok(Values::Lists {
                dimension: *dimension,
                valid: has_validity.then(|| BooleanBufferBuilder::new(0)),
                items: Box::new(collector(items, item.data_type(), count.saturating_mul(*dimension))?),
                count: 0,
            })
        }
        Form::Nothing => Err(mismatch()),
    }
}

/// What runs of this compression are collected in, if it has any.
pub(crate) fn run_collector(compression: &dyn InChunks, count: usize) -> Option<Values> {
    // Runs end at numbers of 32 bits.
    i32::try_from(count).ok()?;
    compression.run_width().map(|width| Values::Runs(Runs::new(width)))
}
