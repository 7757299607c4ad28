//! Whether a module is a plugin, and decodes what it says it decodes.

use crate::abi::{Answer, Request, bit, small};
use crate::encoding::{check_lengths, expected};
use crate::host::{Compiled, Task, failed};
use crate::module::bad;
use crate::plugin::{Example, Plugin};
use colkit_core::{Limits, Result};
use std::ops::Range;
use std::time::{Duration, Instant};

/// What was found out about a plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Checked {
    /// Examples that it decoded.
    pub examples: usize,
    /// Whether it encodes, too.
    pub encodes: bool,
    /// How long it took to compile; next to nothing if the process had compiled it before.
    pub compiled_in: Duration,
}

/// Compiles a plugin and lets it decode its own examples: whole, each value alone, and twice. Examples that name a type are encoded
/// as well, if the plugin does that.
pub fn check(plugin: &Plugin) -> Result<Checked> {
    let start = Instant::now();
    let compiled = plugin.compiled()?;
    let compiled_in = start.elapsed();
    // An example may be missing; that the functions are there is seen all the same.
    let encodes = compiled.encodes()?;
    let examples = &plugin.info().examples;
    for (number, example) in examples.iter().enumerate() {
        let named = |e: colkit_core::Error| e.part(format!("example {}", number + 1));
        let example = Parsed::new(example).map_err(named)?;
        example.decodes(compiled).map_err(named)?;
        if encodes {
            example.encodes(compiled).map_err(named)?;
        }
    }
    Ok(Checked { examples: examples.len(), encodes, compiled_in })
}

/// An example as bytes.
struct Parsed {
    description: Vec<u8>,
    buffers: Vec<Vec<u8>>,
    count: usize,
    values: Vec<u8>,
    /// As many as a module gives.
    ends: Vec<u32>,
    valid: Option<Vec<u8>>,
    data_type: Option<String>,
}

impl Parsed {
    fn new(example: &Example) -> Result<Self> {
        let count = usize::try_from(example.count).unwrap_or(usize::MAX);
        let values = hex(&example.values)?;
        // At least a bit or an end each.
        if count > values.len().saturating_mul(8).max(example.offsets.len()) {
            return Err(bad("the example has fewer values than it says"));
        }
        Ok(Parsed {
            description: hex(&example.description)?,
            buffers: example.buffers.iter().map(|b| hex(b)).collect::<Result<Vec<_>>>()?,
            count,
            values,
            ends: example.offsets.clone(),
            valid: example.valid.as_deref().map(hex).transpose()?,
            data_type: example.data_type.clone(),
        })
    }

    /// An error unless these buffers are decoded to the values, all at once and one by one.
    fn decodes(&self, compiled: &Compiled) -> Result<()> {
        self.decodes_from(compiled, &self.description, &self.buffers)
    }

    fn decodes_from(&self, compiled: &Compiled, description: &[u8], buffers: &[Vec<u8>]) -> Result<()> {
        let limits = Limits::default();
        let buffers: Vec<&[u8]> = buffers.iter().map(Vec::as_slice).collect();
        let bits = compiled.form(description, &limits)?;
        for part in std::iter::once(0..self.count).chain((0..self.count.min(1000)).map(|i| i..i + 1)) {
            let wanted = self.part(bits, &part).ok_or_else(|| bad("the example has fewer values than it says"))?;
            let request = Request {
                description,
                buffers: &buffers,
                count: small(self.count)?,
                first: small(part.start)?,
                wanted: small(part.len())?,
            };
            let output = expected(bits, &request, part.len()).max(wanted.0.len());
            compiled.decode(&request, output, true, &limits, |answer| {
                check_lengths(&answer, bits, part.len())?;
                match found(&answer, bits, part.len()) == wanted {
                    true => Ok(()),
                    false => Err(failed(format!("values {} to {} come out differently", part.start, part.end))),
                }
            })?;
        }
        Ok(())
    }

    /// What some of the values are.
    fn part(&self, bits: u32, part: &Range<usize>) -> Option<Values> {
        let width = usize::try_from(bits / 8).ok()?;
        let (bytes, ends) = match bits {
            0 => {
                let ends = self.ends.get(part.start..=part.end)?;
                let (first, last) = (*ends.first()?, *ends.last()?);
                let bytes = self.values.get(usize::try_from(first).ok()?..usize::try_from(last).ok()?)?;
                (bytes.to_vec(), ends.iter().map(|end| end.checked_sub(first)).collect::<Option<_>>()?)
            }
            1 => (packed(&self.values, part), Vec::new()),
            _ => {
                let bytes = part.start.checked_mul(width)?..part.end.checked_mul(width)?;
                (self.values.get(bytes)?.to_vec(), Vec::new())
            }
        };
        let valid = self.valid.as_ref().map(|valid| packed(valid, part));
        Some((bytes, ends, valid.filter(|valid| has_nulls(valid, part.len()))))
    }

    /// An error unless the values are encoded to what is decoded to them.
    fn encodes(&self, compiled: &Compiled) -> Result<()> {
        let Some(data_type) = &self.data_type else { return Ok(()) };
        let ends: Vec<u8> = self.ends.iter().flat_map(|end| end.to_le_bytes()).collect();
        let given: &[&[u8]] = if self.ends.is_empty() { &[&self.values] } else { &[&self.values, &ends] };
        let count = small(self.count)?;
        let ask = |task, description: &[u8]| {
            let request = Request { description, buffers: given, count, first: 0, wanted: count };
            compiled.encode(task, &request, &Limits::default())
        };
        let Some((description, _)) = ask(Task::Plan, data_type.as_bytes())? else {
            return Err(failed(format!("it does not encode these values of type {data_type}")));
        };
        let (bytes, ends) = ask(Task::Encode, &description)?.unwrap_or_default();
        let wrong = || failed("the ends of the buffers that it encodes are wrong");
        let buffers = crate::encode::split(&bytes, &ends).ok_or_else(wrong)?;
        self.decodes_from(compiled, &description, &buffers).map_err(|e| e.part("encoded again"))
    }
}

/// Bytes, ends and nulls.
type Values = (Vec<u8>, Vec<u32>, Option<Vec<u8>>);

/// What an answer says, as far as it matters.
fn found(answer: &Answer<'_>, bits: u32, count: usize) -> Values {
    let values = if bits == 1 { packed(answer.values, &(0..count)) } else { answer.values.to_vec() };
    let ends = if bits == 0 { answer.checked_ends(count).unwrap_or_default() } else { Vec::new() };
    let valid = answer.valid.map(|valid| packed(valid, &(0..count)));
    (values, ends, valid.filter(|valid| has_nulls(valid, count)))
}

fn has_nulls(valid: &[u8], count: usize) -> bool {
    (0..count).any(|i| !bit(valid, i))
}

/// Some bits, from the front of a byte on.
fn packed(bits: &[u8], part: &Range<usize>) -> Vec<u8> {
    let mut packed = vec![0u8; part.len().div_ceil(8)];
    for (to, _) in part.clone().enumerate().filter(|(_, from)| bit(bits, *from)) {
        if let Some(byte) = packed.get_mut(to / 8) {
            *byte |= 1 << (to % 8);
        }
    }
    packed
}

/// Bytes from hexadecimal digits.
fn hex(text: &str) -> Result<Vec<u8>> {
    let digits = text.as_bytes();
    let pairs = digits.chunks(2).map(|pair| std::str::from_utf8(pair).ok().filter(|p| p.len() == 2));
    let bytes = pairs.map(|pair| u8::from_str_radix(pair?, 16).ok());
    bytes.collect::<Option<Vec<u8>>>().ok_or_else(|| bad("an example that is not written in hexadecimal digits"))
}
