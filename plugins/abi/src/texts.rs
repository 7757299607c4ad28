//! Plugins whose values have any length.

use crate::{answer, memory, number, part};

/// What a plugin decodes.
pub trait Decoder {
    /// Whether it understands this description.
    fn understands(description: &[u8]) -> bool;

    /// Bytes that so many in the first buffer may become.
    fn room(description: &[u8], bytes: usize) -> usize;

    /// Decodes the wanted values to `out`; returns how many bytes they have. `ends` has one more place than the chunk has values;
    /// the first of them become the ends of the wanted values, 0 before them.
    fn decode(request: &Request<'_>, ends: &mut [u32], out: &mut [u8]) -> Result<usize, &'static str>;
}

/// What is asked for: values `first..first + wanted` of a chunk of `count`.
pub struct Request<'a> {
    pub description: &'a [u8],
    pub count: usize,
    pub first: usize,
    pub wanted: usize,
    bytes: &'a [u8],
}

impl<'a> Request<'a> {
    fn new(bytes: &'a [u8]) -> Option<Self> {
        let (count, first, wanted) = (number(bytes, 0)?, number(bytes, 4)?, number(bytes, 8)?);
        let sensible = first.checked_add(wanted).is_some_and(|last| last <= count) && count < 1 << 28;
        sensible.then_some(Request { description: part(bytes, 12)?, count, first, wanted, bytes })
    }

    /// A buffer of the chunk.
    pub fn buffer(&self, index: usize) -> Option<&'a [u8]> {
        if index < number(self.bytes, 20)? { part(self.bytes, 24 + 8 * index) } else { None }
    }
}

/// # Safety
/// The host has written so many bytes there.
pub unsafe fn form<D: Decoder>(description: usize, bytes: usize) -> i32 {
    // SAFETY: by contract.
    let description = unsafe { core::slice::from_raw_parts(description as *const u8, bytes) };
    if D::understands(description) { 0 } else { -1 }
}

fn decoded<D: Decoder>(request: &[u8], end: usize) -> Result<(&'static [u8], &'static [u32]), &'static str> {
    let request = Request::new(request).ok_or("a request that makes no sense")?;
    let room = D::room(request.description, request.buffer(0).ok_or("a chunk without its buffer")?.len());
    let ends = (request.count + 1).next_multiple_of(4);
    let start = memory::values(end, room.saturating_add(ends * 4));
    // SAFETY: this memory is nobody's else until the next request, and begins at a multiple of 16.
    let (ends, out) = unsafe {
        let out = core::slice::from_raw_parts_mut(start.add(ends * 4), room);
        (core::slice::from_raw_parts_mut(start.cast::<u32>(), ends), out)
    };
    let bytes = D::decode(&request, ends, out)?;
    Ok((&out[..bytes], &ends[..=request.wanted]))
}

/// # Safety
/// The host has written a request of so many bytes there.
pub unsafe fn decode<D: Decoder>(request: usize, bytes: usize) -> usize {
    // SAFETY: by contract.
    let request = unsafe { core::slice::from_raw_parts(request as *const u8, bytes) };
    match decoded::<D>(request, request.as_ptr() as usize + bytes) {
        Ok((values, ends)) => answer(0, values, ends),
        Err(message) => answer(1, message.as_bytes(), &[]),
    }
}
