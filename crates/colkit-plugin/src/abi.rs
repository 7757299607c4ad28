//! What goes into a module and what comes out of it.
//!
//! All numbers are little-endian and unsigned, of 32 bits. Offsets in a request count from its start, which the module has
//! chosen and which is a multiple of 16; what they name begins at multiples of 16.
//!
//! | at | request | | at | answer |
//! |---|---|---|---|---|
//! | 0 | values of the chunk | | 0 | 0; 1: it failed; 2: with nulls |
//! | 4 | first value that is wanted | | 4 | place of the values, or of a message |
//! | 8 | how many are wanted | | 8 | bytes of them |
//! | 12 | offset of the description | | 12 | place of the ends (values of any length) |
//! | 16 | bytes of the description | | 16 | bytes of them |
//! | 20 | number of buffers | | 20 | with nulls: place of a bit for each value, 0 for null |
//! | 24 | of each buffer its offset and bytes | | 24 | bytes of them |

use colkit_core::Error;

/// The version of the interface.
pub const ABI_VERSION: u32 = 1;

/// What the parts of a request begin at multiples of.
const ALIGNMENT: usize = 16;

/// What a module is asked for.
#[derive(Clone, Copy)]
pub(crate) struct Request<'a> {
    pub description: &'a [u8],
    pub buffers: &'a [&'a [u8]],
    pub count: u32,
    pub first: u32,
    pub wanted: u32,
}

pub(crate) fn small(n: usize) -> colkit_core::Result<u32> {
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
    pub fn write(&self, to: &mut [u8]) -> colkit_core::Result<()> {
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
    /// A bit for each value, if it says which are null.
    pub valid: Option<&'a [u8]>,
}

/// Why there is no answer.
pub(crate) enum NoAnswer {
    /// The module says so.
    Said(String),
    /// What it gives is none.
    Wrong(&'static str),
}

impl<'a> Answer<'a> {
    /// Reads the answer at this place of a module's memory.
    pub fn read(memory: &'a [u8], at: u32) -> Result<Self, NoAnswer> {
        const NULLS: u32 = 2;
        let status = slice(memory, at, 4).map(|head| number(head, 0));
        let length = if status == Some(NULLS) { 28 } else { 20 };
        let head = slice(memory, at, length).ok_or(NoAnswer::Wrong("its answer lies outside of its memory"))?;
        let part = |i: usize, what| slice(memory, number(head, i), number(head, i + 1)).ok_or(NoAnswer::Wrong(what));
        match number(head, 0) {
            status @ (0 | NULLS) => {
                let values = part(1, "the values of its answer lie outside of its memory")?;
                let ends = part(3, "the ends of its values lie outside of its memory")?;
                let nulls = || part(5, "the nulls of its answer lie outside of its memory");
                let valid = (status == NULLS).then(nulls).transpose()?;
                Ok(Answer { values, ends, valid })
            }
            1 => {
                let message = part(1, "its message lies outside of its memory")?;
                let message = String::from_utf8_lossy(message.get(..message.len().min(300)).unwrap_or_default());
                Err(NoAnswer::Said(message.into_owned()))
            }
            _ => Err(NoAnswer::Wrong("its answer begins with another number than 0, 1 or 2")),
        }
    }

    /// The ends as numbers, if there is one more of them than `count`, the first is 0, they ascend, and the last is the number of
    /// bytes.
    pub fn checked_ends(&self, count: usize) -> Option<Vec<u32>> {
        let fits = Some(self.ends.len()) == count.checked_add(1).and_then(|n| n.checked_mul(4));
        let ends: Vec<u32> = self.ends.as_chunks().0.iter().map(|b| u32::from_le_bytes(*b)).collect();
        let last = ends.last().and_then(|end| usize::try_from(*end).ok());
        (fits && ends.first() == Some(&0) && last == Some(self.values.len()) && ends.is_sorted()).then_some(ends)
    }

    /// The same, out of the module's memory.
    pub fn to_owned(&self) -> OwnedAnswer {
        (self.values.to_vec(), self.ends.to_vec(), self.valid.map(<[u8]>::to_vec))
    }
}

/// Values, ends and nulls.
pub(crate) type OwnedAnswer = (Vec<u8>, Vec<u8>, Option<Vec<u8>>);

fn number(head: &[u8], index: usize) -> u32 {
    head.get(4 * index..).and_then(|b| b.first_chunk()).map_or(0, |b| u32::from_le_bytes(*b))
}

fn slice(memory: &[u8], at: u32, length: u32) -> Option<&[u8]> {
    let at = usize::try_from(at).ok()?;
    memory.get(at..)?.get(..usize::try_from(length).ok()?)
}

/// The bit with this number.
pub(crate) fn bit(bits: &[u8], index: usize) -> bool {
    bits.get(index / 8).is_some_and(|byte| byte >> (index % 8) & 1 == 1)
}
