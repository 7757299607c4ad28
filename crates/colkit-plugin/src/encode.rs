//! Plugins that write: values of a page in, the buffers of chunks out. What a plugin encodes it must decode to the same values, or
//! nothing is written.

use crate::abi::{Request, small};
use crate::encoding::expected;
use crate::host::{Compiled, Task, failed};
use arrow::datatypes::DataType;
use bytes::Bytes;
use colkit_core::{Limits, Result};
use colkit_lance::encoding::{ChunkEncoder, PageTexts, PageValues};
use std::ops::Range;
use std::sync::Arc;

/// Picoseconds that a unit of fuel takes, and a byte that is copied out of a module.
const FUEL_TIME: u64 = 100;
const BYTE_TIME: u64 = 180;

/// Values that are encoded to see how large all would be.
const SAMPLE: usize = 1024;

/// The values of a page.
#[derive(Clone, Copy)]
pub(crate) enum Given<'a> {
    Fixed(PageValues<'a>),
    Texts(PageTexts<'a>),
}

impl Given<'_> {
    fn count(&self) -> usize {
        match self {
            Given::Fixed(values) => values.count(),
            Given::Texts(texts) => texts.count(),
        }
    }

    /// Bits of a value, 0 for any length.
    fn bits(&self) -> usize {
        match self {
            Given::Fixed(values) => values.width.saturating_mul(8),
            Given::Texts(_) => 0,
        }
    }

    /// The buffers of some values, as a module gets them and as it must decode them: bytes, and where texts end.
    fn buffers(&self, values: Range<usize>) -> Result<(Vec<u8>, Vec<u8>)> {
        Ok(match self {
            Given::Fixed(fixed) => (fixed.get(values).to_vec(), Vec::new()),
            Given::Texts(texts) => {
                let ends = texts.ends(values.clone()).map(|end| Ok(small(end)?.to_le_bytes()));
                (texts.get(values).to_vec(), ends.collect::<Result<Vec<_>>>()?.concat())
            }
        })
    }
}

/// Values that a plugin writes.
struct PluginEncoder<'a> {
    compiled: Arc<Compiled>,
    given: Given<'a>,
    description: Bytes,
    buffers: usize,
    /// Of the sample: values, bytes that they take, and picoseconds to decode them.
    sample: (usize, usize, u64),
}

/// Asks a plugin whether it would write these values.
pub(crate) fn encoder<'a>(
    compiled: &Arc<Compiled>,
    data_type: &DataType,
    given: Given<'a>,
) -> Result<Option<Box<dyn ChunkEncoder + 'a>>> {
    if given.count() == 0 || !compiled.encodes()? {
        return Ok(None);
    }
    let name = data_type.to_string();
    let count = small(given.count())?;
    let planned = ask(compiled, Task::Plan, name.as_bytes(), &given, 0..given.count(), count)?;
    let Some((description, _)) = planned else { return Ok(None) };
    let bits = compiled.form(&description, &Limits::default())?;
    if usize::try_from(bits).ok() != Some(given.bits()) {
        let what = format!("it would decode values of {bits} bits from {name}, which has {}", given.bits());
        return Err(compiled.named(failed(what)));
    }
    let mut encoder = PluginEncoder {
        compiled: compiled.clone(),
        given,
        description: description.into(),
        buffers: 0,
        sample: (given.count().min(SAMPLE), 0, 0),
    };
    let (parts, time) = encoder.chunk(0..encoder.sample.0)?;
    encoder.buffers = parts.len();
    (encoder.sample.1, encoder.sample.2) = (parts.iter().map(Vec::len).sum(), time);
    Ok(Some(Box::new(encoder)))
}

fn ask(
    compiled: &Compiled,
    task: Task,
    description: &[u8],
    given: &Given<'_>,
    values: Range<usize>,
    count: u32,
) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
    let (bytes, ends) = given.buffers(values)?;
    let buffers: &[&[u8]] = if given.bits() == 0 { &[&bytes, &ends] } else { &[&bytes] };
    compiled.encode(task, &Request { description, buffers, count, first: 0, wanted: count }, &Limits::default())
}

impl PluginEncoder<'_> {
    /// The buffers of a chunk, and how long it takes to decode them.
    fn chunk(&self, values: Range<usize>) -> Result<(Vec<Vec<u8>>, u64)> {
        let (limits, named) = (Limits::default(), |what: &str| self.compiled.named(failed(what)));
        let count = small(values.len())?;
        let encoded = ask(&self.compiled, Task::Encode, &self.description, &self.given, values.clone(), count)?;
        let (bytes, ends) = encoded.unwrap_or_default();
        let parts = split(&bytes, &ends).ok_or_else(|| named("the ends of the buffers that it encodes are wrong"))?;
        let buffers: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
        let request = Request { description: &self.description, buffers: &buffers, count, first: 0, wanted: count };
        let bits = u32::try_from(self.given.bits()).unwrap_or(u32::MAX);
        let ((decoded, decoded_ends, valid), fuel) =
            self.compiled.decode_owned(&request, expected(bits, &request, values.len()), &limits)?;
        let (own, own_ends) = self.given.buffers(values)?;
        // Values of a fixed width have no ends.
        if decoded != own || bits == 0 && decoded_ends != own_ends || valid.is_some() {
            return Err(named("it does not decode to the same values what it encodes"));
        }
        let time = fuel.saturating_mul(FUEL_TIME).saturating_add((decoded.len() as u64).saturating_mul(BYTE_TIME));
        Ok((parts, time))
    }
}

/// Buffers that lie one after another, given where each ends.
pub(crate) fn split(bytes: &[u8], ends: &[u8]) -> Option<Vec<Vec<u8>>> {
    let number = |b: &[u8; 4]| usize::try_from(u32::from_le_bytes(*b)).unwrap_or(usize::MAX);
    let ends: Vec<usize> = ends.as_chunks().0.iter().map(number).collect();
    let whole = ends.first() == Some(&0) && ends.last() == Some(&bytes.len()) && ends.len() > 1;
    let parts = ends.iter().zip(ends.iter().skip(1)).map(|(from, to)| Some(bytes.get(*from..*to)?.to_vec()));
    parts.collect::<Option<Vec<_>>>().filter(|_| whole)
}

impl ChunkEncoder for PluginEncoder<'_> {
    fn message(&self) -> Bytes {
        self.description.clone()
    }

    fn buffers(&self) -> usize {
        self.buffers
    }

    fn bytes(&self, values: Range<usize>) -> usize {
        let (sampled, bytes, _) = self.sample;
        values.len().saturating_mul(bytes).checked_div(sampled).unwrap_or(0)
    }

    fn time(&self, values: usize) -> u64 {
        let (sampled, _, time) = self.sample;
        (values as u64).saturating_mul(time).checked_div(sampled as u64).unwrap_or(0)
    }

    fn encode(&self, values: Range<usize>) -> Result<Vec<Vec<u8>>> {
        let (parts, _) = self.chunk(values)?;
        if parts.len() != self.buffers {
            let what = format!("it encodes a chunk as {} buffers, another as {}", self.buffers, parts.len());
            return Err(self.compiled.named(failed(what)));
        }
        Ok(parts)
    }
}
