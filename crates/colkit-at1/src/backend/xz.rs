//! xz in C: liblzma.

use super::{PIECE, XZ_MEMORY, too_large, xz_error};
use crate::output::Output;
use colkit_core::{Error, Result};
use liblzma::stream::{Action, Status, Stream as Xz};

/// Unpacks a stream that says it holds `size` bytes.
pub fn unpack(packed: &[u8], size: u64) -> Result<Vec<u8>> {
    // The claim may be a lie: reserve what such a length can plausibly hold, and let the rest grow. One byte more
    // than claimed, so that too much output is noticed and the decoder never stands before a full buffer.
    let claimed = usize::try_from(size).map_err(|_| too_large(size, usize::MAX as u64))?;
    let mut out = Vec::with_capacity(claimed.min(packed.len().saturating_mul(1024)).saturating_add(1));
    let mut xz = new_xz()?;
    loop {
        if out.len() == out.capacity() {
            out.reserve(out.len().min(claimed.saturating_sub(out.len())).saturating_add(1));
        }
        let done = usize::try_from(xz.total_in()).unwrap_or(usize::MAX);
        let rest = packed.get(done..).unwrap_or_default();
        let status = xz.process_vec(rest, &mut out, Action::Run).map_err(failed_xz)?;
        if out.len() > claimed {
            return Err(xz_error("it holds more bytes than its index says"));
        }
        match status {
            Status::StreamEnd => break,
            Status::MemNeeded => return Err(xz_error("the stream is cut short")),
            Status::Ok | Status::GetCheck => {}
        }
    }
    if xz.total_in() != packed.len() as u64 {
        return Err(Error::corrupt("bytes_left_over", "there are bytes after the xz stream"));
    }
    if out.len() != claimed {
        return Err(xz_error("it holds fewer bytes than its index says"));
    }
    Ok(out)
}

fn new_xz() -> Result<Xz> {
    Xz::new_stream_decoder(XZ_MEMORY, 0).map_err(failed_xz)
}

fn failed_xz(e: liblzma::stream::Error) -> Error {
    match e {
        liblzma::stream::Error::MemLimit => {
            Error::limit("the dictionary of an xz stream", "more memory", format!("{XZ_MEMORY} bytes"))
        }
        liblzma::stream::Error::Mem => Error::limit("the dictionary of an xz stream", "more memory", "what there is"),
        e => xz_error(&e.to_string()).caused_by(e),
    }
}

/// Unpacks a stream as it arrives, holding a window of it.
pub struct Unpacker {
    xz: Xz,
    ended: bool,
}

impl Unpacker {
    /// Starts to unpack.
    pub fn new() -> Result<Self> {
        Ok(Unpacker { xz: new_xz()?, ended: false })
    }

    /// Unpacks the next bytes.
    pub fn push(&mut self, packed: &[u8], out: &mut Output<'_>) -> Result<()> {
        let Unpacker { xz, ended } = self;
        let start = xz.total_in();
        let mut piece = Vec::with_capacity(PIECE);
        loop {
            let done = usize::try_from(xz.total_in() - start).unwrap_or(usize::MAX);
            let rest = packed.get(done..).unwrap_or_default();
            if *ended {
                return match rest {
                    [] => Ok(()),
                    _ => Err(Error::corrupt("bytes_left_over", "there are bytes after the xz stream")),
                };
            }
            let status = xz.process_vec(rest, &mut piece, Action::Run).map_err(failed_xz)?;
            *ended = matches!(status, Status::StreamEnd);
            // Output that did not fill the buffer means that everything the input gives has been given.
            let drained = piece.len() < piece.capacity();
            out.put(&piece)?;
            piece.clear();
            if !*ended && drained && (rest.is_empty() || xz.total_in() - start == packed.len() as u64) {
                return Ok(());
            }
        }
    }

    /// There are no more bytes.
    pub fn finish(self, _: &mut Output<'_>) -> Result<()> {
        if self.ended { Ok(()) } else { Err(xz_error("the stream is cut short")) }
    }
}
