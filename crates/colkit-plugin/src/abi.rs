//! What goes into a module and what comes out of it.
//!
//! All numbers are little-endian and unsigned, of 32 bits. Offsets in a request count from its start, which the module has
//! chosen and which is a multiple of 16; what they name begins at multiples of 16.
//!
//! | at | request | | at | answer |
//! |---|---|---|---|---|
//! | 0 | values of the chunk | | 0 | 0, or 1: it failed |
//! | 4 | first value that is wanted | | 4 | place of the values, or of a message |
//! | 8 | how many are wanted | | 8 | bytes of them |
//! | 12 | offset of the description | | 12 | place of the ends (values of any length) |
//! | 16 | bytes of the description | | 16 | bytes of them |
//! | 20 | number of buffers | | | |
//! | 24 | of each buffer its offset and bytes | | | |

use colkit_core::{Error, Result};

/// The version of the interface.
pub const ABI_VERSION: u32 = 1;

/// What the parts of a request begin at multiples of.
const ALIGNMENT: usize = 16;

/// What a module is asked for.
pub(crate) struct Request<'a> {
    pub description: &'a [u8],
    pub buffers: &'a [&'a [u8]],
    pub count: u32,
    pub first: u32,
    pub wanted: u32,
}

fn small(n: usize) -> Result<u32> {
    u32::try_from(n).map_err(|_| Error::limit("what a plugin is given", n, u32::MAX))
}

impl Request<'_> {
    /// Bytes of it.
    pub fn len(&self) -> usize {
        let head = (24 + 8 * self.buffers.len()).next_multiple_of(ALIGNMENT);
        let parts = std::iter::once(self.description.len()).chain(self.buffers.iter().map(|b| b.len()));
        parts.fold(head, |sum, part| sum.saturating_add(part.saturating_add(ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT))
    }

    /// Bytes that are decoded, without what surrounds them.
    pub fn content(&self) -> usize {
        self.description.len() + self.buffers.iter().map(|b| b.len()).sum::<usize>()
    }

    /// Writes it to memory of [`Request::len`] bytes.
    pub fn write(&self, to: &mut [u8]) -> Result<()> {
        let mut at = (24 + 8 * self.buffers.len()).next_multiple_of(ALIGNMENT);
        let mut head = vec![self.count, self.first, self.wanted, small(at)?, small(self.description.len())?];
        head.push(small(self.buffers.len())?);
        let too_long = || Error::internal("a request that is longer than its room");
        let mut put = |part: &[u8], at: &mut usize| {
            let room = to.get_mut(*at..).and_then(|r| r.get_mut(..part.len())).ok_or_else(too_long)?;
            room.copy_from_slice(part);
            *at = (*at + part.len()).next_multiple_of(ALIGNMENT);
            Ok::<_, Error>(())
        };
        put(self.description, &mut at)?;
        for buffer in self.buffers {
            head.extend([small(at)?, small(buffer.len())?]);
            put(buffer, &mut at)?;
        }
        let head: Vec<u8> = head.iter().flat_map(|n| n.to_le_bytes()).collect();
        put(&head, &mut 0)
    }
}

/// What a module answers, in its memory.
pub(crate) struct Answer<'a> {
    pub values: &'a [u8],
    /// Numbers of 32 bits.
    pub ends: &'a [u8],
}

impl<'a> Answer<'a> {
    /// Reads the answer at this place of a module's memory. The error is what is wrong with it, or what the module says.
    pub fn read(memory: &'a [u8], at: u32) -> std::result::Result<Self, String> {
        let head = slice(memory, at, 20).ok_or("its answer lies outside of its memory")?;
        let number = |i: usize| head.get(4 * i..).and_then(|b| b.first_chunk()).map_or(0, |b| u32::from_le_bytes(*b));
        let part = |i: usize| slice(memory, number(i), number(i + 1));
        match number(0) {
            0 => {
                let values = part(1).ok_or("the values of its answer lie outside of its memory")?;
                let ends = part(3).ok_or("the ends of its values lie outside of its memory")?;
                Ok(Answer { values, ends })
            }
            _ => {
                let message = part(1).unwrap_or_default();
                let message = String::from_utf8_lossy(message.get(..message.len().min(300)).unwrap_or_default());
                Err(format!("it says {:?}", message.as_ref()))
            }
        }
    }
}

fn slice(memory: &[u8], at: u32, length: u32) -> Option<&[u8]> {
    let at = usize::try_from(at).ok()?;
    memory.get(at..)?.get(..usize::try_from(length).ok()?)
}
