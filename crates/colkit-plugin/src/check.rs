//! Whether a module is a plugin, and decodes what it says it decodes.

use crate::abi::Request;
use crate::host::failed;
use crate::module::bad;
use crate::plugin::{Example, Plugin};
use colkit_core::{Limits, Result};
use std::time::{Duration, Instant};

/// What was found out about a plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Checked {
    /// Examples that it decoded.
    pub examples: usize,
    /// How long it took to compile; next to nothing if the process had compiled it before.
    pub compiled_in: Duration,
}

/// Compiles a plugin and lets it decode its own examples: whole, in parts, and twice.
pub fn check(plugin: &Plugin) -> Result<Checked> {
    let start = Instant::now();
    plugin.compiled()?;
    let compiled_in = start.elapsed();
    // An example may be missing; that the functions are there is seen all the same.
    plugin.compiled()?.form(&[], &Limits::default()).map(drop).or_else(|e| match e.code() {
        "plugin_failed" => Ok(()),
        _ => Err(e),
    })?;
    for (number, example) in plugin.info().examples.iter().enumerate() {
        decodes(plugin, example).map_err(|e| e.part(format!("example {number}")))?;
    }
    Ok(Checked { examples: plugin.info().examples.len(), compiled_in })
}

fn decodes(plugin: &Plugin, example: &Example) -> Result<()> {
    let (compiled, limits) = (plugin.compiled()?, Limits::default());
    let description = hex(&example.description)?;
    let buffers = example.buffers.iter().map(|b| hex(b)).collect::<Result<Vec<_>>>()?;
    let buffers: Vec<&[u8]> = buffers.iter().map(Vec::as_slice).collect();
    let values = hex(&example.values)?;
    let bits = usize::try_from(compiled.form(&description, &limits)?).unwrap_or(0);
    let count = usize::try_from(example.count).unwrap_or(usize::MAX);
    // All of them, then each alone.
    let parts = std::iter::once(0..count).chain((0..count.min(1000)).map(|i| i..i + 1));
    for part in parts {
        let expected = match bits {
            0 => {
                let end = |i: usize| example.offsets.get(i).and_then(|n| usize::try_from(*n).ok());
                let range = end(part.start).zip(end(part.end)).map(|(from, to)| from..to);
                range.and_then(|r| values.get(r)).map(<[u8]>::to_vec)
            }
            1 => {
                let bit = |i: usize| values.get(i / 8).is_some_and(|b| b >> (i % 8) & 1 == 1);
                let mut packed = vec![0u8; part.len().div_ceil(8)];
                part.clone().enumerate().filter(|(_, i)| bit(*i)).for_each(|(to, _)| {
                    if let Some(byte) = packed.get_mut(to / 8) {
                        *byte |= 1 << (to % 8);
                    }
                });
                Some(packed)
            }
            _ => values.get(part.start * bits / 8..part.end * bits / 8).map(<[u8]>::to_vec),
        };
        let expected = expected.ok_or_else(|| bad("the example has fewer values than it says"))?;
        let small = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let (first, wanted) = (small(part.start), small(part.len()));
        let request = Request { description: &description, buffers: &buffers, count: example.count, first, wanted };
        compiled.decode(&request, expected.len(), true, &limits, |answer| match answer.values == expected {
            true => Ok(()),
            false => Err(failed(format!("values {} to {} come out differently", part.start, part.end))),
        })?;
    }
    Ok(())
}

/// Bytes from hexadecimal digits.
fn hex(text: &str) -> Result<Vec<u8>> {
    let digits = text.as_bytes();
    let pairs = digits.chunks(2).map(|pair| std::str::from_utf8(pair).ok().filter(|p| p.len() == 2));
    let bytes = pairs.map(|pair| u8::from_str_radix(pair?, 16).ok());
    bytes.collect::<Option<Vec<u8>>>().ok_or_else(|| bad("an example that is not written in hexadecimal digits"))
}
