//! Another compression whose first buffer is compressed as a whole, by LZ4 or zstd.

use super::{BuiltIn, as_block, flat, in_chunks, known, unsupported, variable};
use crate::codec::general::{Scheme, Strides};
use crate::encoding::{AsBlock, Chunk, Compression, CompressiveEncoding, Form, InChunks, Output, PerValue, mismatch};
#[cfg(feature = "extended-read")]
use crate::extended::text::Text;
use crate::v21::messages::BufferCompression;
use crate::values::{Values, byte_width};
use arrow::array::ArrayRef;
use arrow::buffer::{Buffer, NullBuffer};
use arrow::datatypes::DataType;
use bytes::Bytes;
use colkit_core::pool::Pooled;
use colkit_core::{Limits, Result};
use prost::Message;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

pub(crate) static ENCODING: BuiltIn = BuiltIn {
    number: 10,
    name: "lance.encodings21.General",
    parse: |message, encodings| {
        let general: GeneralMessage = ENCODING.message(message)?;
        let scheme = match general.compression.map(|c| c.scheme) {
            Some(1) => Scheme::Lz4,
            Some(2) => Scheme::Zstd,
            other => return Err(unsupported(format!("general compression {}", other.unwrap_or(0)))),
        };
        let inner = encodings.child(general.values.as_ref(), "general compression")?;
        Ok(Arc::new(General { scheme, inner }))
    },
};

#[derive(Clone, PartialEq, Message)]
struct GeneralMessage {
    #[prost(message, optional, tag = "1")]
    compression: Option<BufferCompression>,
    #[prost(message, optional, tag = "3")]
    values: Option<CompressiveEncoding>,
}

/// What describes another compression, compressed.
pub(crate) fn describe(inner: CompressiveEncoding, scheme: Scheme) -> CompressiveEncoding {
    let scheme = match scheme {
        Scheme::Lz4 => 1,
        Scheme::Zstd => 2,
    };
    let compression = Some(BufferCompression { scheme });
    ENCODING.describe(&GeneralMessage { compression, values: Some(inner) })
}

/// What is inside, if it is this compression.
pub(crate) fn inside(encoding: &CompressiveEncoding) -> Option<CompressiveEncoding> {
    let found = encoding.number == ENCODING.number;
    found.then(|| GeneralMessage::decode(encoding.message.clone()).ok()?.values)?
}

struct General {
    scheme: Scheme,
    inner: Arc<dyn Compression>,
}

impl fmt::Display for General {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.scheme.name(), self.inner)
    }
}

impl Compression for General {
    fn form(&self) -> Form {
        self.inner.form()
    }

    fn in_chunks(&self) -> Option<&dyn InChunks> {
        self.inner.in_chunks().map(|_| self as &dyn InChunks)
    }

    fn as_block(&self) -> Option<&dyn AsBlock> {
        self.inner.as_block().map(|_| self as &dyn AsBlock)
    }

    fn per_value(&self) -> Option<&dyn PerValue> {
        known::<variable::AnyLength>(self.inner.as_ref()).map(|_| self as &dyn PerValue)
    }
}

impl InChunks for General {
    fn buffers(&self) -> u64 {
        self.inner.in_chunks().map_or(1, InChunks::buffers)
    }

    fn any_buffers(&self) -> bool {
        self.inner.in_chunks().is_some_and(InChunks::any_buffers)
    }

    fn run_width(&self) -> Option<usize> {
        self.inner.in_chunks()?.run_width()
    }

    fn append(&self, chunk: Chunk<'_>, out: Output<'_>) -> Result<()> {
        // Only the first buffer is compressed.
        let packed = chunk.buffer(0)?;
        if let (Some(flat::Flat { bits: bits @ 2.. }), Values::Fixed { data, .. }) =
            (known(self.inner.as_ref()), &mut *out.0)
            && append_unpacked(self.scheme, packed, byte_width(*bits)?, &chunk, data)?
        {
            return Ok(());
        }
        #[cfg(feature = "extended-read")]
        if let Values::Variable(texts) = &mut *out.0
            && known::<Text>(self.inner.as_ref()).is_some_and(Text::is_plain)
            && matches!(chunk.wanted, [all] if *all == (0..chunk.count))
        {
            let base = texts.data.len();
            self.scheme.append(packed, chunk.limits, &mut texts.data)?;
            let offsets = crate::extended::text::offsets(&chunk, texts.data.len() - base)?;
            return texts.end_values(base, &offsets);
        }
        let Chunk { buffers, count, wanted, limits, scratch, validity } = chunk;
        let mut kept = std::mem::take(scratch);
        kept.clear();
        // So much can be had from the pool; less must be filled with zeros first.
        kept.reserve(USUAL_CHUNK);
        self.scheme.append(packed, limits, &mut kept)?;
        let mut inside: Vec<&[u8]> = vec![kept.as_slice()];
        inside.extend(buffers.iter().skip(1));
        let chunk = Chunk { buffers: &inside, count, wanted, limits, scratch: &mut *scratch, validity };
        in_chunks(self.inner.as_ref())?.append(chunk, out)?;
        *scratch = kept;
        Ok(())
    }
}

/// Bytes that most chunks unpack to at most.
const USUAL_CHUNK: usize = 64 << 10;

/// Appends compressed values without unpacking them elsewhere first; false if that cannot be done.
fn append_unpacked(scheme: Scheme, packed: &[u8], width: usize, chunk: &Chunk<'_>, out: &mut Pooled) -> Result<bool> {
    let (count, wanted): (usize, &[Range<usize>]) = (chunk.count, chunk.wanted);
    if scheme == Scheme::Lz4
        && width == 16
        && let Some(strides) = Strides::new(packed, count)
        && strides.append(wanted, out)
    {
        return Ok(true);
    }
    let all = matches!(wanted, [all] if *all == (0..count));
    let straight = all && scheme.claim(packed) == (count as u64).checked_mul(width as u64);
    if straight {
        scheme.append(packed, chunk.limits, out)?;
    }
    Ok(straight)
}

impl AsBlock for General {
    fn append(&self, bytes: &[u8], count: usize, limits: &Limits, out: Output<'_>) -> Result<()> {
        as_block(self.inner.as_ref())?.append(&self.scheme.decompress(bytes, limits)?, count, limits, out)
    }

    fn array(&self, bytes: &Bytes, count: usize, data_type: &DataType, limits: &Limits) -> Result<ArrayRef> {
        as_block(self.inner.as_ref())?.array(&self.scheme.decompress(bytes, limits)?, count, data_type, limits)
    }

    fn levels(&self, bytes: &[u8], count: usize, limits: &Limits, out: &mut Vec<u16>) -> Result<()> {
        as_block(self.inner.as_ref())?.levels(&self.scheme.decompress(bytes, limits)?, count, limits, out)
    }
}

impl PerValue for General {
    fn append(&self, value: &[u8], limits: &Limits, out: Output<'_>) -> Result<()> {
        let Values::Variable(out) = out.0 else { return Err(mismatch()) };
        self.scheme.append(value, limits, &mut out.data)?;
        out.end_value()
    }

    fn fixed(&self, _: Buffer, _: usize, _: &DataType, _: Option<NullBuffer>, _: &Limits) -> Result<ArrayRef> {
        Err(unsupported(format!("{self} in a full-zip page of fixed width")))
    }
}
