//! Embed (10), written. See [`super`] for the streams.

use super::Embed;
use crate::codec::Codec;
use crate::encode::groups::Settings;
use crate::encode::plan::{Confidence, Encoder, Layout, Plan};
use crate::encode::put::{put_lp, put_uv};
use crate::encode::sample::Sample;
use crate::encode::set::Stream;
use crate::encode::whole::EncodedStreams;
use colkit_core::Result;

impl Encoder for Embed {
    fn sniff(&self, sample: &Sample<'_>) -> Option<(Confidence, Vec<Plan>)> {
        let plan = || Plan { codec: Codec::Embed, layout: self.layout(sample) };
        sample.head.starts_with(b"\x93NUMPY").then(|| (Confidence::Signature, vec![plan()]))
    }

    fn layout(&self, sample: &Sample<'_>) -> Layout {
        let (header, width) = npy_layout(sample.head).unwrap_or((0, 1));
        Layout::Array { header, width }
    }

    fn encode(&self, text: &[u8], layout: Layout, _: &Settings) -> Result<EncodedStreams> {
        let (header, width) = match layout {
            Layout::Array { header, width } => (header, width),
            _ => (0, 1),
        };
        Ok(encode(text, header, width).into())
    }
}

/// Where the elements of a `.npy` file begin, and how many bytes each has.
fn npy_layout(file: &[u8]) -> Option<(usize, usize)> {
    let rest = file.strip_prefix(b"\x93NUMPY")?;
    let header = match rest {
        [1, _, a, b, ..] => 10 + usize::from(u16::from_le_bytes([*a, *b])),
        [2 | 3, _, a, b, c, d, ..] => 12 + usize::try_from(u32::from_le_bytes([*a, *b, *c, *d])).ok()?,
        _ => return None,
    };
    let text = file.get(..header)?;
    let at = memchr::memmem::find(text, b"'descr':")? + 8;
    let descr = text.get(at..)?.trim_ascii_start().strip_prefix(b"'")?;
    let descr = descr.get(..memchr::memchr(b'\'', descr)?)?;
    let descr = descr.strip_prefix(b"<").or(descr.strip_prefix(b">")).or(descr.strip_prefix(b"|")).unwrap_or(descr);
    let (_, digits) = descr.split_first()?;
    let width: usize = std::str::from_utf8(digits).ok()?.parse().ok()?;
    (1..=32).contains(&width).then_some((header, width))
}

/// The streams of an array: the first bytes of all elements, then the second ones, and so on. What does not fill an element
/// belongs to the header, so every file can be written.
fn encode(file: &[u8], header: usize, width: usize) -> Vec<Stream> {
    let left_over = file.len().saturating_sub(header) % width.max(1);
    let (header, body) = match file.split_at_checked(header) {
        Some(parts) if left_over == 0 => parts,
        _ => (file, &[][..]),
    };
    let count = body.len() / width.max(1);
    let (mut planes, mut cuts) = (Vec::with_capacity(body.len()), Vec::new());
    for plane in 0..width {
        cuts.push(planes.len());
        planes.extend(body.iter().skip(plane).step_by(width.max(1)));
    }
    let mut meta = Vec::new();
    put_uv(width as u64, &mut meta);
    put_lp(header, &mut meta);
    put_uv(count as u64, &mut meta);
    vec![Stream::new("meta", meta), Stream { name: "data".into(), bytes: planes, cuts }]
}
