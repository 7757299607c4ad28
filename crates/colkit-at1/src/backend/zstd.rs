//! zstd in C.

use super::{PIECE, ZSTD_WINDOW_LOG, too_large, zstd_content_size, zstd_error};
use crate::output::Output;
use ::zstd::zstd_safe::{self, DCtx, DParameter, InBuffer, OutBuffer, find_frame_compressed_size};
use colkit_core::{Error, Result};
use std::cell::RefCell;

fn failed_zstd(code: usize) -> Error {
    zstd_error(zstd_safe::get_error_name(code))
}

thread_local! {
    /// One per thread: it is larger than many a block.
    static UNZSTD: RefCell<DCtx<'static>> = RefCell::new(DCtx::create());
}

/// Unpacks a frame that says it holds `size` bytes.
pub fn unpack(packed: &[u8], size: u64) -> Result<Vec<u8>> {
    let frame = find_frame_compressed_size(packed).map_err(failed_zstd)?;
    if frame != packed.len() {
        return Err(Error::corrupt("bytes_left_over", "there are bytes after the zstd frame"));
    }
    let size = usize::try_from(size).map_err(|_| too_large(size, usize::MAX as u64))?;
    let mut out = Vec::with_capacity(size);
    let written = UNZSTD.with_borrow_mut(|context| context.decompress(&mut out, packed)).map_err(failed_zstd)?;
    if written != size {
        return Err(zstd_error("the frame holds fewer bytes than its header says"));
    }
    Ok(out)
}

/// A frame header is at most this long.
const HEADER: usize = 18;

/// Unpacks a frame as it arrives, holding a window of it.
pub struct Unpacker {
    context: DCtx<'static>,
    /// The first bytes, until the header is complete.
    head: Vec<u8>,
    started: bool,
    ended: bool,
}

impl Unpacker {
    /// Starts to unpack.
    pub fn new() -> Result<Self> {
        let mut context = DCtx::create();
        context.set_parameter(DParameter::WindowLogMax(ZSTD_WINDOW_LOG)).map_err(failed_zstd)?;
        Ok(Unpacker { context, head: Vec::new(), started: false, ended: false })
    }

    /// Unpacks the next bytes.
    pub fn push(&mut self, packed: &[u8], out: &mut Output<'_>) -> Result<()> {
        if self.started {
            return self.decompress(packed, out);
        }
        self.head.extend_from_slice(packed);
        if self.head.len() < HEADER { Ok(()) } else { self.start(out) }
    }

    /// There are no more bytes.
    pub fn finish(mut self, out: &mut Output<'_>) -> Result<()> {
        if !self.started {
            self.start(out)?;
        }
        if self.ended { Ok(()) } else { Err(zstd_error("the frame is cut short")) }
    }

    /// Looks at the header, which is complete now, and unpacks what came with it.
    fn start(&mut self, out: &mut Output<'_>) -> Result<()> {
        self.started = true;
        let head = std::mem::take(&mut self.head);
        zstd_content_size(&head)?;
        self.decompress(&head, out)
    }

    fn decompress(&mut self, packed: &[u8], out: &mut Output<'_>) -> Result<()> {
        let Unpacker { context, ended, .. } = self;
        let mut input = InBuffer::around(packed);
        let mut piece: Vec<u8> = Vec::with_capacity(PIECE);
        loop {
            if *ended {
                return if input.pos() == packed.len() {
                    Ok(())
                } else {
                    Err(Error::corrupt("bytes_left_over", "there are bytes after the zstd frame"))
                };
            }
            piece.clear();
            let hint =
                context.decompress_stream(&mut OutBuffer::around(&mut piece), &mut input).map_err(failed_zstd)?;
            *ended = hint == 0;
            let drained = piece.len() < piece.capacity();
            out.put(&piece)?;
            if !*ended && drained && input.pos() == packed.len() {
                return Ok(());
            }
        }
    }
}
