//! Embed (10): an array of numbers, such as a `.npy` file, byte plane by byte plane.
//!
//! | stream | content |
//! |--------|---------|
//! | `meta` | `uv` width (1..=32), `lp` header, `uv` n |
//! | `data` | width planes of n bytes |
//!
//! Output: the header, then byte `b` of element `e` is `data[b * n + e]`.

#[cfg(feature = "write")]
mod encode;

use super::Coder;
use crate::output::Output;
use crate::restore::host::Host;
use crate::stream_set::Streams;
use colkit_core::Result;

/// The codec.
pub struct Embed;

impl Coder for Embed {
    fn restore(&self, streams: &Streams, host: &mut Host<'_, '_>) -> Result<()> {
        host.print(|out| print(streams, out))
    }
}

/// Elements put together at a time.
const STRIPE: usize = 4096;

fn print(streams: &Streams, out: &mut Output<'_>) -> Result<()> {
    let mut meta = streams.cursor("meta");
    let before = meta.clone();
    let width = meta.uv()?;
    if !(1..=32).contains(&width) {
        return Err(before.corrupt("bad_width", format!("elements of {width} bytes, expected 1 to 32")));
    }
    out.put(meta.lp()?)?;
    let before = meta.clone();
    let n = meta.uv()?;
    meta.finish()?;
    let (data, _) = streams.get("data");
    if n.checked_mul(width) != Some(data.len() as u64) {
        let message = format!("{n} elements of {width} bytes, but {} bytes", data.len());
        return Err(before.corrupt("bad_count", message));
    }
    let n = usize::try_from(n).unwrap_or(0);
    let width = usize::try_from(width).unwrap_or(1);
    let planes: Vec<&[u8]> = data.chunks_exact(n.max(1)).collect();
    let mut stripe = vec![0; STRIPE * width];
    for start in (0..n).step_by(STRIPE) {
        let count = STRIPE.min(n - start);
        for (b, plane) in planes.iter().enumerate() {
            let bytes = plane.get(start..start + count).unwrap_or_default();
            stripe.iter_mut().skip(b).step_by(width).zip(bytes).for_each(|(to, from)| *to = *from);
        }
        out.put(stripe.get(..count * width).unwrap_or_default())?;
    }
    Ok(())
}
