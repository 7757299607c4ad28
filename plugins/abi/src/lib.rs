//! What a plugin has to do with the world: `docs/plugins.md`, version 1.
//!
//! A plugin says `abi::plugin!(Decoder)`; everything else is a function from bytes to bytes.

#![no_std]

#[cfg(feature = "std")]
extern crate std;

pub mod texts;

/// What a plugin decodes.
pub trait Decoder {
    /// Bytes of a value, by the description; `None` if it is not understood.
    fn width(description: &[u8]) -> Option<usize>;

    /// Decodes values `first..first + wanted` of a chunk of `count` values in `bytes` to `out`, which has room for exactly those
    /// and begins at a multiple of 16.
    fn decode(description: &[u8], bytes: &[u8], count: usize, first: usize, wanted: usize, out: &mut [u8]) -> Result<(), &'static str>;
}

/// Memory for a request and, behind it or elsewhere, for values.
#[cfg(not(feature = "std"))]
mod memory {
    use core::arch::wasm32::{memory_grow, memory_size};

    unsafe extern "C" {
        static __heap_base: u8;
    }

    /// Where requests are.
    pub fn request(bytes: usize) -> *mut u8 {
        behind((&raw const __heap_base) as usize, bytes)
    }

    /// Where values are, behind a request that ends here.
    pub fn values(request_end: usize, bytes: usize) -> *mut u8 {
        behind(request_end, bytes)
    }

    fn behind(at: usize, bytes: usize) -> *mut u8 {
        let start = at.next_multiple_of(16);
        let pages = start.saturating_add(bytes).div_ceil(1 << 16);
        let have = memory_size(0);
        if pages > have && memory_grow(0, pages - have) == usize::MAX {
            core::arch::wasm32::unreachable();
        }
        start as *mut u8
    }
}

#[cfg(feature = "std")]
mod memory {
    use std::vec::Vec;

    static mut REQUEST: Vec<u128> = Vec::new();
    static mut VALUES: Vec<u128> = Vec::new();

    pub fn request(bytes: usize) -> *mut u8 {
        // SAFETY: a module runs in one thread, and nothing else refers to this memory.
        unsafe { room(&mut *(&raw mut REQUEST), bytes) }
    }

    pub fn values(_: usize, bytes: usize) -> *mut u8 {
        // SAFETY: as above.
        unsafe { room(&mut *(&raw mut VALUES), bytes) }
    }

    fn room(words: &mut Vec<u128>, bytes: usize) -> *mut u8 {
        let needed = bytes.div_ceil(16);
        if words.len() < needed {
            // What was there is not needed any more.
            *words = Vec::new();
            words.resize(needed, 0);
        }
        words.as_mut_ptr().cast()
    }
}

/// The answer, as the host reads it.
static mut ANSWER: [u32; 5] = [0; 5];

pub fn alloc(bytes: usize) -> usize {
    memory::request(bytes) as usize
}

/// # Safety
/// The host has written so many bytes there.
pub unsafe fn form<D: Decoder>(description: usize, bytes: usize) -> i32 {
    // SAFETY: by contract.
    let description = unsafe { core::slice::from_raw_parts(description as *const u8, bytes) };
    D::width(description).and_then(|width| i32::try_from(width * 8).ok()).unwrap_or(-1)
}

fn number(request: &[u8], at: usize) -> Option<usize> {
    let bytes = request.get(at..)?.first_chunk()?;
    Some(u32::from_le_bytes(*bytes) as usize)
}

fn part(request: &[u8], at: usize) -> Option<&[u8]> {
    request.get(number(request, at)?..)?.get(..number(request, at + 4)?)
}

fn decoded<D: Decoder>(request: &[u8], end: usize) -> Result<&'static [u8], &'static str> {
    let short = "a request without its head";
    let count = number(request, 0).ok_or(short)?;
    let first = number(request, 4).ok_or(short)?;
    let wanted = number(request, 8).ok_or(short)?;
    let description = part(request, 12).ok_or(short)?;
    let bytes = part(request, 24).ok_or("a chunk without its buffer")?;
    let width = D::width(description).ok_or("a description that is not understood")?;
    if number(request, 20) != Some(1) || first.checked_add(wanted).is_none_or(|last| last > count) {
        return Err("a request that makes no sense");
    }
    let length = wanted.checked_mul(width).ok_or("more values than memory has")?;
    // SAFETY: this memory is nobody's else until the next request.
    let out = unsafe { core::slice::from_raw_parts_mut(memory::values(end, length), length) };
    D::decode(description, bytes, count, first, wanted, out)?;
    Ok(out)
}

/// # Safety
/// The host has written a request of so many bytes there.
pub unsafe fn decode<D: Decoder>(request: usize, bytes: usize) -> usize {
    // SAFETY: by contract.
    let request = unsafe { core::slice::from_raw_parts(request as *const u8, bytes) };
    match decoded::<D>(request, request.as_ptr() as usize + bytes) {
        Ok(values) => answer(0, values, &[]),
        Err(message) => answer(1, message.as_bytes(), &[]),
    }
}

/// Puts an answer where the host reads it.
fn answer(failed: u32, part: &[u8], ends: &[u32]) -> usize {
    let place = |at: usize, bytes: usize| [at as u32, bytes as u32];
    let ([values, bytes], [ends, of_ends]) =
        (place(part.as_ptr() as usize, part.len()), place(ends.as_ptr() as usize, size_of_val(ends)));
    // SAFETY: a module runs in one thread.
    unsafe { *(&raw mut ANSWER) = [failed, values, bytes, ends, of_ends] };
    (&raw const ANSWER) as usize
}

/// The exports of a module, whose values have a width, or with `texts` any length.
#[macro_export]
macro_rules! plugin {
    ($decoder:ty, $about:literal) => {
        $crate::plugin!(@ $crate::form, $crate::decode, $decoder, $about);
    };
    (texts $decoder:ty, $about:literal) => {
        $crate::plugin!(@ $crate::texts::form, $crate::texts::decode, $decoder, $about);
    };
    (@ $form:path, $decode:path, $decoder:ty, $about:literal) => {
        const ABOUT: &[u8] = include_bytes!($about);

        #[used]
        #[unsafe(link_section = "colkit.plugin")]
        static SECTION: [u8; ABOUT.len()] = {
            let mut section = [0; ABOUT.len()];
            section.copy_from_slice(ABOUT);
            section
        };

        #[unsafe(no_mangle)]
        extern "C" fn colkit_alloc(bytes: usize) -> usize {
            $crate::alloc(bytes)
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn colkit_form(description: usize, bytes: usize) -> i32 {
            use $form as form;
            // SAFETY: the host does as the interface says.
            unsafe { form::<$decoder>(description, bytes) }
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn colkit_decode(request: usize, bytes: usize) -> usize {
            use $decode as decode;
            // SAFETY: the host does as the interface says.
            unsafe { decode::<$decoder>(request, bytes) }
        }
    };
}

/// Bytes as words of this type; they begin at a multiple of 16.
pub fn words<T>(bytes: &mut [u8]) -> &mut [T] {
    assert!((bytes.as_ptr() as usize).is_multiple_of(align_of::<T>()));
    let count = bytes.len() / size_of::<T>();
    // SAFETY: aligned as asserted, as many as fit; used with unsigned numbers alone.
    unsafe { core::slice::from_raw_parts_mut(bytes.as_mut_ptr().cast(), count) }
}
