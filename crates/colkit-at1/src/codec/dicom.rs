//! Dicom (9): a medical image with its pixels transformed.
//!
//! | stream | content |
//! |--------|---------|
//! | `meta` | byte 0: the file is in `raw`; byte 1: byte transform, byte decode_class, `uv` rows, `uv` cols, `uv` samples, `uv` bits, `lp` pad |
//! | `raw`  | the whole file |
//! | `pre` `pix` `suf` | what is before the pixels, the pixels, what is after them and the pad |
//!
//! | transform | pixels |
//! |-----------|--------|
//! | 0 | as they are |
//! | 1 | running sum along each row |
//! | 2 | running sum down each column |
//! | 3 | 16 bits: all high bytes, then all low bytes |
//!
//! Pixels have one byte if bits is 8, else two, little-endian; sums wrap. Decode class 1 stands for pixels that an image
//! codec packed, which is not published.

#[cfg(feature = "write")]
mod encode;

use super::Coder;
use crate::cursor::Cursor;
use crate::output::Output;
use crate::restore::host::Host;
use crate::stream_set::Streams;
use colkit_core::{Error, Result};

/// The codec.
pub struct Dicom;

impl Coder for Dicom {
    fn restore(&self, streams: &Streams, host: &mut Host<'_, '_>) -> Result<()> {
        host.print(|out| print(streams, out))
    }
}

fn print(streams: &Streams, out: &mut Output<'_>) -> Result<()> {
    let mut meta = streams.cursor("meta");
    if !meta.flag("the mode")? {
        meta.finish()?;
        return out.put(streams.get("raw").0);
    }
    let before = meta.clone();
    let transform = meta.byte()?;
    if transform > 3 {
        return Err(before.corrupt("bad_transform", format!("pixel transform {transform}, expected 0 to 3")));
    }
    let before = meta.clone();
    match meta.byte()? {
        0 => {}
        1 => {
            return Err(Error::unsupported(
                "image_codec",
                "the pixels are packed with an image codec (decode class 1)",
            )
            .at(streams.get("meta").1.offset)
            .part("stream \"meta\"")
            .hint("this codec is not published; only the program that wrote the file can restore it"));
        }
        class => return Err(before.corrupt("bad_flag", format!("decode class {class}, expected 0 or 1"))),
    }
    let size = meta.clone();
    let (rows, cols, samples, bits) = (meta.uv()?, meta.uv()?, meta.uv()?, meta.uv()?);
    let pad = meta.lp()?;
    meta.finish()?;
    let (pixels, _) = streams.get("pix");
    let wide = bits != 8;
    let expected = [cols, samples, if wide { 2 } else { 1 }].iter().try_fold(rows, |n, f| n.checked_mul(*f));
    if transform != 0 && expected != Some(pixels.len() as u64) {
        let message = format!("{rows} x {cols} x {samples} pixels of {bits} bits, but {} bytes", pixels.len());
        return Err(size.corrupt("bad_count", message));
    }
    out.put(streams.get("pre").0)?;
    let row = usize::try_from(cols.saturating_mul(samples)).unwrap_or(usize::MAX);
    match transform {
        0 => out.put(pixels)?,
        3 => planes(pixels, wide, &size, out)?,
        _ => sums(pixels, row, wide, transform == 2, out)?,
    }
    out.put(pad)?;
    out.put(streams.get("suf").0)
}

fn planes(pixels: &[u8], wide: bool, size: &Cursor<'_>, out: &mut Output<'_>) -> Result<()> {
    let halves = pixels.split_at_checked(pixels.len() / 2).filter(|(a, b)| wide && a.len() == b.len());
    let (high, low) = halves.ok_or_else(|| size.corrupt("bad_transform", "byte planes need pixels of 16 bits"))?;
    high.iter().zip(low).try_for_each(|(high, low)| out.put(&[*low, *high]))
}

/// Running sums along rows of `row` pixels, or down their columns.
fn sums(pixels: &[u8], row: usize, wide: bool, down: bool, out: &mut Output<'_>) -> Result<()> {
    let row_bytes = if wide { row.saturating_mul(2) } else { row };
    // One sum for each column; along a row only the first is used, and starts anew.
    let mut sums = vec![0u16; if down { row.min(pixels.len()) } else { 1 }];
    for line in pixels.chunks(row_bytes.max(1)) {
        if !down {
            sums.fill(0);
        }
        for (i, pixel) in line.chunks(if wide { 2 } else { 1 }).enumerate() {
            let Some(sum) = sums.get_mut(if down { i } else { 0 }) else { continue };
            let delta = u16::from_le_bytes([pixel.first().copied().unwrap_or(0), pixel.get(1).copied().unwrap_or(0)]);
            *sum = sum.wrapping_add(delta);
            out.put(sum.to_le_bytes().get(..pixel.len()).unwrap_or_default())?;
        }
    }
    Ok(())
}
