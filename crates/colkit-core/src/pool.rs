//! A pool of large buffers: dropped buffers are reused for later ones.
//!
//! Fresh memory costs a page fault per 4 KiB, and the kernel zeroes each page first. That takes longer than most
//! decoders need to fill it. A scan needs the same few buffers over and over, so the process keeps the most recently
//! used ones, up to a bound.
//!
//! A [`Pooled`] is a vector of plain numbers. All of its memory has been initialised before (zeroed when it was
//! allocated, then overwritten by its users), so [`Pooled::room`] can return its spare capacity as an ordinary slice:
//! reading and decoding into it needs neither `unsafe` nor zeroing.

use crate::memory;
use arrow::buffer::Buffer;
use bytemuck::Pod;
use bytes::Bytes;
use std::collections::VecDeque;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The unit of allocation: whatever is made of it is aligned for every number, decimals too.
type Word = u128;
const WORD: usize = size_of::<Word>();

/// Buffers below this are left to the allocator, which keeps such memory itself.
const SMALLEST: usize = 64 << 10;

/// Buffers above this are not kept: they are exceptions.
const LARGEST: usize = 8 << 20;

/// Bytes that are kept unused at most, unless [`set_most`] says another number.
pub(crate) const MOST_HELD: usize = 256 << 20;

/// Bytes that are kept unused in any case, up to that. Beyond them the process keeps no more than it needed at once before: its
/// peak does not rise because buffers of other sizes lie around.
const ALWAYS_HELD: usize = 32 << 20;

/// Buffers that nobody uses, the one that came back last at the end: it may still be in the processor's cache.
struct Free {
    blocks: VecDeque<Vec<Word>>,
    bytes: usize,
    /// Bytes that are in use now, and the most that ever were.
    used: usize,
    most_used: usize,
}

static FREE: Mutex<Free> = Mutex::new(Free { blocks: VecDeque::new(), bytes: 0, used: 0, most_used: 0 });
static MOST: AtomicUsize = AtomicUsize::new(MOST_HELD);
static HITS: AtomicU64 = AtomicU64::new(0);
static MISSES: AtomicU64 = AtomicU64::new(0);

/// What the pool holds and has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolCount {
    /// Bytes that lie ready and are used by nobody.
    pub held: u64,
    /// Buffers that were made of kept memory.
    pub hits: u64,
    /// Buffers for which memory had to be asked from the system.
    pub misses: u64,
}

/// What the pool holds and has done so far.
pub fn count() -> PoolCount {
    let (hits, misses) = (HITS.load(Ordering::Relaxed), MISSES.load(Ordering::Relaxed));
    PoolCount { held: free().bytes as u64, hits, misses }
}

/// From now on no more than this is kept unused; 0 keeps nothing.
pub fn set_most(bytes: usize) {
    MOST.store(bytes, Ordering::Relaxed);
    drop(evicted(&mut free(), 0));
}

/// Gives all memory that nobody uses back to the system.
pub fn clear() {
    let blocks = {
        let mut free = free();
        free.bytes = 0;
        std::mem::take(&mut free.blocks)
    };
    drop(blocks);
}

fn free() -> MutexGuard<'static, Free> {
    FREE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes out what has been unused for longest, until there is room for so many bytes more.
fn evicted(free: &mut Free, more: usize) -> Vec<Vec<Word>> {
    let spare = free.most_used.saturating_sub(free.used).max(ALWAYS_HELD);
    let most = MOST.load(Ordering::Relaxed).min(spare);
    let mut old = Vec::new();
    while free.bytes.saturating_add(more) > most {
        let Some(block) = free.blocks.pop_front() else { break };
        free.bytes -= block.len() * WORD;
        old.push(block);
    }
    old
}

/// So many bytes or more, all of them written before.
fn block(bytes: usize) -> Vec<Word> {
    let words = bytes.div_ceil(WORD);
    if !(SMALLEST..=LARGEST).contains(&bytes) {
        return vec![0; words];
    }
    // Sizes that are a little apart become the same, so that one serves for the other.
    let words = words.next_multiple_of((words.next_power_of_two() / 8).max(1));
    let (kept, old) = {
        let mut free = free();
        // One that is much larger would hold memory that nobody can use as long as this lives.
        let place = free.blocks.iter().rposition(|b| (words..=words + words / 4).contains(&b.len()));
        let kept = place.and_then(|place| free.blocks.remove(place));
        free.bytes -= kept.as_ref().map_or(0, |b| b.len() * WORD);
        free.used += kept.as_ref().map_or(words, Vec::len) * WORD;
        free.most_used = free.most_used.max(free.used);
        (kept, evicted(&mut free, 0))
    };
    drop(old);
    match kept {
        Some(block) => {
            HITS.fetch_add(1, Ordering::Relaxed);
            block
        }
        None => {
            MISSES.fetch_add(1, Ordering::Relaxed);
            vec![0; words]
        }
    }
}

fn give_back(block: Vec<Word>) {
    let bytes = block.len() * WORD;
    if !(SMALLEST..=LARGEST).contains(&bytes) {
        return;
    }
    let old = {
        let mut free = free();
        free.used = free.used.saturating_sub(bytes);
        if bytes > MOST.load(Ordering::Relaxed) || memory::is_scarce() {
            return;
        }
        let old = evicted(&mut free, bytes);
        free.bytes += bytes;
        free.blocks.push_back(block);
        old
    };
    // The system takes its time, nobody should wait for that.
    drop(old);
}

/// A vector of numbers whose memory comes from the pool and goes back to it.
///
/// For types of 1, 2, 4, 8 or 16 bytes.
pub struct Pooled<T: Pod = u8> {
    words: Vec<Word>,
    len: usize,
    of: PhantomData<fn() -> T>,
}

impl<T: Pod> Default for Pooled<T> {
    fn default() -> Self {
        Pooled { words: Vec::new(), len: 0, of: PhantomData }
    }
}

impl<T: Pod> std::fmt::Debug for Pooled<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {} items", self.len, self.capacity())
    }
}

impl<T: Pod> Pooled<T> {
    const FITS: () = assert!(size_of::<T>().is_power_of_two() && size_of::<T>() <= WORD);

    /// An empty vector with room for so many items.
    pub fn with_capacity(items: usize) -> Self {
        let () = Self::FITS;
        Pooled { words: block(items.saturating_mul(size_of::<T>())), len: 0, of: PhantomData }
    }

    /// How many items there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many items there can be before memory is asked for again.
    pub fn capacity(&self) -> usize {
        self.words.len() * (WORD / size_of::<T>())
    }

    fn all(&self) -> &[T] {
        bytemuck::try_cast_slice(&self.words).unwrap_or_default()
    }

    fn all_mut(&mut self) -> &mut [T] {
        bytemuck::try_cast_slice_mut(&mut self.words).unwrap_or_default()
    }

    /// The items.
    pub fn as_slice(&self) -> &[T] {
        self.all().get(..self.len).unwrap_or_default()
    }

    /// The items, to be changed.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        let len = self.len;
        self.all_mut().get_mut(..len).unwrap_or_default()
    }

    /// Makes room for so many items more.
    pub fn reserve(&mut self, more: usize) {
        if self.capacity() - self.len < more {
            self.grow(more);
        }
    }

    #[cold]
    fn grow(&mut self, more: usize) {
        let () = Self::FITS;
        // At least twice as much, so that appending bit by bit does not copy everything each time.
        let items = self.len.saturating_add(more).max(self.capacity().saturating_mul(2)).max(4 * WORD);
        let mut larger = block(items.saturating_mul(size_of::<T>()));
        let used = (self.len * size_of::<T>()).div_ceil(WORD);
        if let (Some(to), Some(from)) = (larger.get_mut(..used), self.words.get(..used)) {
            to.copy_from_slice(from);
        }
        give_back(std::mem::replace(&mut self.words, larger));
    }

    /// Room for at least so many items behind the last one, with anything in it. What is put there becomes part of this by
    /// [`Pooled::advance`].
    pub fn room(&mut self, items: usize) -> &mut [T] {
        self.reserve(items);
        let len = self.len;
        self.all_mut().get_mut(len..).unwrap_or_default()
    }

    /// The first so many items of the room now belong to this.
    pub fn advance(&mut self, items: usize) {
        self.len = self.len.saturating_add(items).min(self.capacity());
    }

    /// Appends an item.
    pub fn push(&mut self, item: T) {
        self.extend_from_slice(&[item]);
    }

    /// Appends items.
    pub fn extend_from_slice(&mut self, items: &[T]) {
        if let Some(room) = self.room(items.len()).get_mut(..items.len()) {
            room.copy_from_slice(items);
        }
        self.advance(items.len());
    }

    /// Drops all items behind the first so many.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// Drops all items.
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// The same memory as bytes that can be shared. It goes back when the last of them is dropped.
    pub fn into_bytes(self) -> Bytes {
        if self.is_empty() { Bytes::new() } else { Bytes::from_owner(self) }
    }

    /// The same memory as a buffer of an array.
    pub fn into_buffer(self) -> Buffer {
        if self.is_empty() { Buffer::default() } else { Buffer::from(self.into_bytes()) }
    }
}

impl<T: Pod> AsRef<[u8]> for Pooled<T> {
    fn as_ref(&self) -> &[u8] {
        bytemuck::try_cast_slice(self.as_slice()).unwrap_or_default()
    }
}

impl<T: Pod> Extend<T> for Pooled<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, items: I) {
        let mut items = items.into_iter();
        loop {
            let expected = items.size_hint().0.max(1);
            let Some(first) = items.next() else { return };
            let mut written = 0;
            for (slot, item) in self.room(expected).iter_mut().zip(std::iter::once(first).chain(items.by_ref())) {
                *slot = item;
                written += 1;
            }
            self.advance(written);
        }
    }
}

impl<T: Pod> Drop for Pooled<T> {
    fn drop(&mut self) {
        if !self.words.is_empty() {
            give_back(std::mem::take(&mut self.words));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vector_grows_and_keeps_its_items() {
        let mut numbers = Pooled::<i32>::default();
        let expected: Vec<i32> = (0..100_000).collect();
        for part in expected.chunks(777) {
            numbers.extend_from_slice(part);
        }
        assert_eq!(numbers.as_slice(), expected);
        numbers.room(3)[..3].copy_from_slice(&[1, 2, 3]);
        numbers.advance(2);
        assert_eq!(numbers.as_slice()[99_999..], [99_999, 1, 2]);
        numbers.clear();
        numbers.extend(expected.iter().copied());
        numbers.extend(expected.iter().copied().filter(|i| i % 2 == 0));
        assert_eq!((numbers.len(), numbers.as_slice()[149_999]), (150_000, 99_998));
        numbers.truncate(1);
        assert_eq!(numbers.into_buffer().typed_data::<i32>(), [0]);
        assert!(Pooled::<u64>::default().into_bytes().is_empty());
    }

    #[test]
    fn memory_comes_back_from_bytes_and_buffers() {
        // Other tests use the pool meanwhile, so only what must hold in any case is asked.
        let before = count();
        for round in 0..100u8 {
            let mut bytes = Pooled::<u8>::with_capacity(1_000_000);
            assert!(bytes.capacity() >= 1_000_000);
            bytes.extend([round; 1000]);
            let bytes = bytes.into_bytes();
            let part = Buffer::from(bytes.slice(10..20));
            drop(bytes);
            assert_eq!(part.as_slice(), [round; 10]);
            assert_eq!(part.as_ptr().align_offset(2), 0);
        }
        let after = count();
        assert!(after.hits + after.misses >= before.hits + before.misses + 100);
        assert!(after.held <= MOST_HELD as u64);
    }

    #[test]
    fn what_was_unused_for_longest_goes_first() {
        let block = |words: usize| vec![0; words];
        let blocks = VecDeque::from([block(4), block(2), block(3)]);
        let mut free = Free { blocks, bytes: 9 * WORD, used: 0, most_used: 0 };
        let most = ALWAYS_HELD;
        assert!(evicted(&mut free, most - 9 * WORD).is_empty());
        let old = evicted(&mut free, most - 4 * WORD);
        assert_eq!(old.iter().map(Vec::len).collect::<Vec<_>>(), [4, 2]);
        assert_eq!((free.bytes, free.blocks.len()), (3 * WORD, 1));
        // Who needed more at once before may keep more.
        (free.used, free.most_used) = (most, 3 * most);
        assert!(evicted(&mut free, 2 * most - 3 * WORD).is_empty());
        assert_eq!(evicted(&mut free, 2 * most).len(), 1);
    }
}
