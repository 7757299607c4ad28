//! Memory use of the whole process, for programs with a counting allocator.
//!
//! Formats check allocations against [`Limits::memory`](crate::Limits). That is the first defence, and for a library
//! the only one. A program that owns its process can add a second with [`set_ceiling`]: it registers how much is in use
//! and how much may be. Drivers check this before every step of a machine, and so do loops that collect much data
//! without requesting bytes.

use crate::{Error, Hint, Result, Setting, pool};
use std::sync::OnceLock;

struct Ceiling {
    in_use: fn() -> u64,
    most: u64,
}

static CEILING: OnceLock<Ceiling> = OnceLock::new();

/// This part of the ceiling, and no more, is kept for the next buffers while nobody uses it.
const POOL_SHARE: u64 = 8;

/// What to do about too little memory.
pub fn hint() -> Hint {
    Setting::Memory.does("allows more")
}

/// From now on, reading ends with an error when `in_use` says more than `most` bytes. The first call counts.
pub fn set_ceiling(in_use: fn() -> u64, most: u64) {
    let _ = CEILING.set(Ceiling { in_use, most });
    pool::set_most(usize::try_from(most / POOL_SHARE).unwrap_or(usize::MAX).min(pool::MOST_HELD));
}

/// An error if more memory is in use than there may be.
#[inline]
pub fn check() -> Result<()> {
    match CEILING.get() {
        None => Ok(()),
        Some(ceiling) => {
            if (ceiling.in_use)() > ceiling.most {
                exceeded(ceiling)
            } else {
                Ok(())
            }
        }
    }
}

/// Whether more than half of the memory is in use: the time to begin nothing that can wait.
pub fn is_scarce() -> bool {
    CEILING.get().is_some_and(|ceiling| (ceiling.in_use)() > ceiling.most / 2)
}

#[cold]
fn exceeded(ceiling: &Ceiling) -> Result<()> {
    // What is only kept can be given back.
    pool::clear();
    let in_use = (ceiling.in_use)();
    if in_use <= ceiling.most {
        return Ok(());
    }
    Err(Error::limit("this", format!("more than {in_use} bytes of memory"), ceiling.most).hint(hint()))
}
