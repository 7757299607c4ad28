//! libdeflate: whole buffers in C.
//!
//! It inflates about twice as fast as any stream decoder. The crate `libdeflater` does not tell how much input a
//! stream took, which is needed to refuse bytes behind it, and fills its output with zeros first; so this module
//! calls the C functions itself. All `unsafe` of the crate is here: each call passes a pointer and the length of the
//! allocation behind it.
#![expect(unsafe_code, reason = "calls into libdeflate; see above")]

use super::InflateError;
use arrow::buffer::Buffer;
use libdeflate_sys as ffi;
use std::cell::OnceCell;
use std::ptr::NonNull;

struct Decompressor(NonNull<ffi::libdeflate_decompressor>);

impl Decompressor {
    fn new() -> Option<Self> {
        // SAFETY: takes nothing, returns null or an object that `drop` frees.
        NonNull::new(unsafe { ffi::libdeflate_alloc_decompressor() }).map(Decompressor)
    }
}

impl Drop for Decompressor {
    fn drop(&mut self) {
        // SAFETY: made by `libdeflate_alloc_decompressor`, freed once.
        unsafe { ffi::libdeflate_free_decompressor(self.0.as_ptr()) }
    }
}

thread_local! {
    /// One per thread: making one costs more than inflating a small block.
    static DECOMPRESSOR: OnceCell<Option<Decompressor>> = const { OnceCell::new() };
}

pub(crate) fn inflate(input: &[u8], raw: usize) -> Result<Buffer, InflateError> {
    let words = raw.div_ceil(8);
    let mut output: Vec<u64> = Vec::new();
    output.try_reserve_exact(words).map_err(|_| InflateError::Memory)?;
    let (mut taken, mut given) = (0, 0);
    let result = DECOMPRESSOR.with(|slot| {
        let decompressor = slot.get_or_init(Decompressor::new).as_ref().ok_or(InflateError::Memory)?;
        // SAFETY: `output` has room for `words * 8 >= raw` bytes, of which at most `raw` are written; `input` is read
        // within its length; the object is used by this thread only.
        Ok(unsafe {
            ffi::libdeflate_zlib_decompress_ex(
                decompressor.0.as_ptr(),
                input.as_ptr().cast(),
                input.len(),
                output.as_mut_ptr().cast(),
                raw,
                &mut taken,
                &mut given,
            )
        })
    })?;
    if result != ffi::libdeflate_result_LIBDEFLATE_SUCCESS || given != raw || taken != input.len() {
        return Err(InflateError::Refused);
    }
    // SAFETY: the first `raw` bytes were written just now; the rest of the last word is zeroed here; so all `words`
    // elements, which fit the capacity, are initialised.
    unsafe {
        let bytes: *mut u8 = output.as_mut_ptr().cast();
        bytes.add(raw).write_bytes(0, words * 8 - raw);
        output.set_len(words);
    }
    Ok(Buffer::from_vec(output).slice_with_length(0, raw))
}

pub(crate) fn deflate(input: &[u8], level: u32) -> Option<Vec<u8>> {
    let level = std::ffi::c_int::try_from(level).ok()?;
    // SAFETY: returns null (also for a bad level) or an object that is freed below.
    let compressor = NonNull::new(unsafe { ffi::libdeflate_alloc_compressor(level) })?;
    let mut output: Vec<u8> = Vec::new();
    // SAFETY: a computation on a number.
    let bound = unsafe { ffi::libdeflate_zlib_compress_bound(compressor.as_ptr(), input.len()) };
    let reserved = output.try_reserve_exact(bound).is_ok();
    let mut length = 0;
    if reserved {
        // SAFETY: `output` has room for `bound` bytes; `input` is read within its length.
        length = unsafe {
            ffi::libdeflate_zlib_compress(
                compressor.as_ptr(),
                input.as_ptr().cast(),
                input.len(),
                output.as_mut_ptr().cast(),
                bound,
            )
        };
    }
    // SAFETY: made above, freed once.
    unsafe { ffi::libdeflate_free_compressor(compressor.as_ptr()) };
    if length == 0 || length > output.capacity() {
        return None;
    }
    // SAFETY: the first `length` bytes were written by the compressor.
    unsafe { output.set_len(length) };
    output.shrink_to_fit();
    Some(output)
}

pub(crate) fn adler32(adler: u32, bytes: &[u8]) -> u32 {
    if bytes.is_empty() {
        return adler; // libdeflate answers 1 to a null pointer
    }
    // SAFETY: reads `bytes` within its length.
    unsafe { ffi::libdeflate_adler32(adler, bytes.as_ptr().cast(), bytes.len()) }
}
