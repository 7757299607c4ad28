//! A plugin as an encoding of values.

use crate::abi::{Answer, Request, bit, small};
use crate::encode::{self, Given};
use crate::host::{Compiled, failed};
use crate::plugin::Plugin;
use bytes::Bytes;
use colkit_core::{Limits, Result};
use colkit_lance::encoding::{
    Chunk, ChunkEncoder, Compression, EmbeddedModule, Encodings, Form, InChunks, Output, PageTexts, PageValues, Runner,
    ValueEncoding,
};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// An encoding that a plugin decodes.
pub(crate) struct PluginEncoding(pub Arc<Plugin>);

impl ValueEncoding for PluginEncoding {
    fn name(&self) -> &str {
        &self.0.info().name
    }

    fn parse(&self, message: Bytes, encodings: &Encodings<'_>) -> Result<Arc<dyn Compression>> {
        let compiled = self.0.compiled()?.clone();
        let bits = compiled.form(&message, encodings.limits())?;
        let seen = AtomicBool::new(false);
        Ok(Arc::new(PluginCompression { plugin: self.0.clone(), compiled, description: message, bits, seen }))
    }

    fn encoder<'a>(&self, values: PageValues<'a>) -> Result<Option<Box<dyn ChunkEncoder + 'a>>> {
        encode::encoder(self.0.compiled()?, values.data_type, Given::Fixed(values))
    }

    fn text_encoder<'a>(&self, texts: PageTexts<'a>) -> Result<Option<Box<dyn ChunkEncoder + 'a>>> {
        encode::encoder(self.0.compiled()?, texts.data_type, Given::Texts(texts))
    }

    fn runner(&self) -> Runner {
        Runner::Plugin { sha256: self.0.hash() }
    }

    fn module(&self) -> Option<EmbeddedModule> {
        Some(self.0.module())
    }
}

/// An encoding of a page that a plugin decodes.
struct PluginCompression {
    plugin: Arc<Plugin>,
    compiled: Arc<Compiled>,
    description: Bytes,
    /// Of each value; 0: of any length.
    bits: u32,
    /// Whether the plugin has been seen to answer the same twice.
    seen: AtomicBool,
}

impl fmt::Display for PluginCompression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "plugin({})", self.plugin.info().name)
    }
}

impl Compression for PluginCompression {
    fn form(&self) -> Form {
        if self.bits == 0 { Form::Variable } else { Form::Fixed { bits: self.bits.into() } }
    }

    fn in_chunks(&self) -> Option<&dyn InChunks> {
        Some(self)
    }
}

impl InChunks for PluginCompression {
    fn any_buffers(&self) -> bool {
        true
    }

    fn append(&self, mut chunk: Chunk<'_>, mut out: Output<'_>) -> Result<()> {
        let Some(all) = chunk.wanted.first().zip(chunk.wanted.last()).map(|(first, last)| first.start..last.end) else {
            return Ok(());
        };
        let request = Request {
            description: &self.description,
            buffers: chunk.buffers,
            count: small(chunk.count)?,
            first: small(all.start)?,
            wanted: small(all.len())?,
        };
        let output = expected(self.bits, &request, all.len());
        if self.bits > 0 {
            Limits::check_memory("the values of a chunk", output as u64, chunk.limits.memory)?;
        }
        let twice = !self.seen.load(Ordering::Relaxed);
        let limits = chunk.limits;
        self.compiled.decode(&request, output, twice, limits, |answer| {
            check_lengths(&answer, self.bits, all.len())?;
            let wanted = || chunk.wanted.iter().map(|r| r.start - all.start..r.end - all.start);
            match self.bits {
                0 => texts(&answer, all.len(), wanted(), &mut out)?,
                1 => bits(answer.values, wanted(), &mut out)?,
                bits => words(answer.values, bits, wanted(), &mut out)?,
            }
            if let Some(valid) = answer.valid {
                let places: Vec<usize> = wanted().flatten().collect();
                chunk.set_valid(places.into_iter().map(|place| bit(valid, place)))?;
            }
            Ok(())
        })?;
        self.seen.store(true, Ordering::Relaxed);
        Ok(())
    }
}

/// Bytes that so many values take, about.
pub(crate) fn expected(bits: u32, request: &Request<'_>, wanted: usize) -> usize {
    match bits {
        // It is not known how long they are; what is fast to decode is seldom a sixteenth of that.
        0 => request.content().saturating_add(wanted).saturating_mul(16),
        bits => wanted.saturating_mul(usize::try_from(bits.div_ceil(8)).unwrap_or(usize::MAX)),
    }
}

/// An error unless the answer is as long as so many values of these bits are.
pub(crate) fn check_lengths(answer: &Answer<'_>, bits: u32, count: usize) -> Result<()> {
    let (found, fits) = match bits {
        0 => (answer.ends.len(), count.checked_add(1).and_then(|n| n.checked_mul(4))),
        1 => (answer.values.len(), Some(count.div_ceil(8))),
        bits => (answer.values.len(), count.checked_mul(usize::try_from(bits / 8).unwrap_or(0))),
    };
    if Some(found) != fits {
        return Err(failed(format!("it gives {found} bytes for {count} values")));
    }
    match answer.valid {
        Some(valid) if valid.len() != count.div_ceil(8) => {
            Err(failed(format!("it gives {} bytes for the nulls of {count} values", valid.len())))
        }
        _ => Ok(()),
    }
}

fn words(values: &[u8], bits: u32, wanted: impl Iterator<Item = Range<usize>>, out: &mut Output<'_>) -> Result<()> {
    let width = usize::try_from(bits / 8).unwrap_or(0);
    let out = out.fixed(width)?;
    for range in wanted {
        out.extend_from_slice(values.get(range.start * width..range.end * width).unwrap_or_default());
    }
    Ok(())
}

fn bits(values: &[u8], wanted: impl Iterator<Item = Range<usize>>, out: &mut Output<'_>) -> Result<()> {
    let out = out.bits()?;
    wanted.flatten().for_each(|place| out.append(bit(values, place)));
    Ok(())
}

fn texts(
    answer: &Answer<'_>,
    count: usize,
    wanted: impl Iterator<Item = Range<usize>>,
    out: &mut Output<'_>,
) -> Result<()> {
    let wrong = || failed("the ends of its values go backwards, or not to the end of their bytes");
    let ends = answer.checked_ends(count).ok_or_else(wrong)?;
    for range in wanted {
        let own = ends.get(range.start..=range.end).unwrap_or_default();
        let (Some(first), Some(last)) = (own.first(), own.last()) else { continue };
        out.extend(answer.values.get(*first as usize..*last as usize).unwrap_or_default(), own)?;
    }
    Ok(())
}
