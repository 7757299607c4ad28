//! Enforces `--memory`: a global allocator that counts allocated bytes.
//!
//! Readers check before they allocate, and compare current usage with the limit between steps ([`colkit::core::memory`]). An
//! allocation that gets past both and would far exceed the limit ends the command here, with the same message. It cannot
//! become an error: an allocator must not unwind, and returning null would abort.
//!
//! Memory of C libraries (zstd, xz, libdeflate) and thread stacks are not counted; readers limit what those libraries use.

#![expect(unsafe_code, reason = "an allocator cannot be written without")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::Write;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, Ordering};

/// Memory for the program itself, on top of `--memory`: arguments, a SQL session, stream buffers.
const PROGRAM: u64 = 16 << 20;

/// A thread adds its allocations to the shared counter in steps of this size, to avoid contention.
const GRAIN: i64 = 32 << 10;

static IN_USE: AtomicI64 = AtomicI64::new(0);
static MOST: AtomicI64 = AtomicI64::new(i64::MAX);
static LAST_WORDS: OnceLock<String> = OnceLock::new();

thread_local! {
    static UNCOUNTED: Cell<i64> = const { Cell::new(0) };
}

/// The system allocator, counting allocated bytes.
pub struct CountingAllocator;

/// Bytes currently allocated.
fn in_use() -> u64 {
    u64::try_from(IN_USE.load(Ordering::Relaxed)).unwrap_or(0)
}

/// Limits the command to `memory` bytes, on top of what the program itself needs. Beyond that, reading ends with an error; an
/// allocation that would exceed the limit by a quarter ends the command with `last_words`.
pub fn set(memory: u64, last_words: String) {
    if LAST_WORDS.set(last_words).is_ok() {
        let ceiling = memory.saturating_add(PROGRAM);
        colkit::core::memory::set_ceiling(in_use, ceiling);
        let most = ceiling.saturating_add(ceiling / 4);
        MOST.store(i64::try_from(most).unwrap_or(i64::MAX), Ordering::Relaxed);
    }
}

#[inline]
fn count(change: i64) {
    let waiting = UNCOUNTED.get() + change;
    if waiting.abs() < GRAIN {
        UNCOUNTED.set(waiting);
        return;
    }
    UNCOUNTED.set(0);
    let now = IN_USE.fetch_add(waiting, Ordering::Relaxed).saturating_add(waiting);
    if change > 0 && now > MOST.load(Ordering::Relaxed) {
        end();
    }
}

/// Ends the command. Unfinished output files have no name yet and disappear with it.
#[cold]
#[expect(clippy::exit, reason = "an allocator can neither return an error nor unwind")]
fn end() {
    // What follows may allocate, and other threads go on until the process has ended.
    if MOST.swap(i64::MAX, Ordering::Relaxed) != i64::MAX {
        let words = LAST_WORDS.get().map_or("", String::as_str);
        let _ = std::io::stderr().write_all(words.as_bytes());
        std::process::exit(1);
    }
}

/// The size of an allocation as it is counted; none is larger than `isize::MAX`.
#[inline]
fn size(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX / 4)
}

// SAFETY: everything is passed on to the system's allocator as it came.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(size(layout.size()));
        // SAFETY: the caller's promise is the system's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(size(layout.size()));
        // SAFETY: the caller's promise is the system's.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-size(layout.size()));
        // SAFETY: the caller's promise is the system's.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count(size(new_size) - size(layout.size()));
        // SAFETY: the caller's promise is the system's.
        unsafe { System.realloc(pointer, layout, new_size) }
    }
}
