//! A plugin as an encoding of values.

use crate::abi::Request;
use crate::host::{Compiled, failed};
use crate::plugin::Plugin;
use bytes::Bytes;
use colkit_core::{Error, Limits, Result};
use colkit_lance::encoding::{Chunk, Compression, Encodings, Form, InChunks, Output, ValueEncoding};
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

    fn parse(&self, message: Bytes, _: &Encodings<'_>) -> Result<Arc<dyn Compression>> {
        let compiled = self.0.compiled()?.clone();
        let bits = compiled.form(&message, &Limits::default())?;
        let seen = AtomicBool::new(false);
        Ok(Arc::new(PluginCompression { plugin: self.0.clone(), compiled, description: message, bits, seen }))
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
    fn append(&self, chunk: Chunk<'_>, mut out: Output<'_>) -> Result<()> {
        let Some(all) = chunk.wanted.first().zip(chunk.wanted.last()).map(|(first, last)| first.start..last.end) else {
            return Ok(());
        };
        let small = |n: usize| u32::try_from(n).map_err(|_| Error::limit("values of a chunk", n, u32::MAX));
        let request = Request {
            description: &self.description,
            buffers: chunk.buffers,
            count: small(chunk.count)?,
            first: small(all.start)?,
            wanted: small(all.len())?,
        };
        let output = match self.bits {
            // It is not known how long they are; what is fast to decode is seldom a sixteenth of that.
            0 => request.content().saturating_mul(16).saturating_add(all.len().saturating_mul(16)),
            bits => all.len().saturating_mul(usize::try_from(bits).unwrap_or(256).div_ceil(8)),
        };
        if self.bits > 0 {
            Limits::check_memory("the values of a chunk", output as u64, chunk.limits.memory)?;
        }
        let twice = !self.seen.load(Ordering::Relaxed);
        self.compiled.decode(&request, output, twice, chunk.limits, |answer| {
            let wanted = chunk.wanted.iter().map(|r| r.start - all.start..r.end - all.start);
            match self.bits {
                0 => texts(answer.values, answer.ends, all.len(), wanted, &mut out),
                1 => bits(answer.values, all.len(), wanted, &mut out),
                bits => words(answer.values, bits, all.len(), wanted, &mut out),
            }
        })?;
        self.seen.store(true, Ordering::Relaxed);
        Ok(())
    }
}

fn wrong_length(count: usize, bytes: usize) -> Error {
    failed(format!("it gives {bytes} bytes for {count} values"))
}

fn words(
    values: &[u8],
    bits: u32,
    count: usize,
    wanted: impl Iterator<Item = Range<usize>>,
    out: &mut Output<'_>,
) -> Result<()> {
    let width = usize::try_from(bits / 8).unwrap_or(0);
    if Some(values.len()) != count.checked_mul(width) {
        return Err(wrong_length(count, values.len()));
    }
    let out = out.fixed(width)?;
    for range in wanted {
        out.extend_from_slice(values.get(range.start * width..range.end * width).unwrap_or_default());
    }
    Ok(())
}

fn bits(values: &[u8], count: usize, wanted: impl Iterator<Item = Range<usize>>, out: &mut Output<'_>) -> Result<()> {
    if values.len() != count.div_ceil(8) {
        return Err(wrong_length(count, values.len()));
    }
    let out = out.bits()?;
    for place in wanted.flatten() {
        out.append(values.get(place / 8).is_some_and(|byte| byte >> (place % 8) & 1 == 1));
    }
    Ok(())
}

fn texts(
    values: &[u8],
    ends: &[u8],
    count: usize,
    wanted: impl Iterator<Item = Range<usize>>,
    out: &mut Output<'_>,
) -> Result<()> {
    if Some(ends.len()) != count.checked_add(1).and_then(|n| n.checked_mul(4)) {
        return Err(wrong_length(count, ends.len()));
    }
    let ends: Vec<u32> = ends.as_chunks().0.iter().map(|b| u32::from_le_bytes(*b)).collect();
    let whole = ends.first() == Some(&0) && ends.last().is_some_and(|end| *end as usize == values.len());
    if !whole || !ends.is_sorted() {
        return Err(failed("the ends of its values go backwards, or not to the end of their bytes"));
    }
    for range in wanted {
        let own = ends.get(range.start..=range.end).unwrap_or_default();
        let (Some(first), Some(last)) = (own.first(), own.last()) else { continue };
        out.extend(values.get(*first as usize..*last as usize).unwrap_or_default(), own)?;
    }
    Ok(())
}
