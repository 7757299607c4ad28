//! Dicom (9), written. See [`super`] for the streams.

use super::Dicom;
use crate::codec::Codec;
use crate::encode::compress::{Effort, smallest};
use crate::encode::groups::Settings;
use crate::encode::plan::{Confidence, Encoder, Layout, Plan};
use crate::encode::put::{put_lp, put_uv};
use crate::encode::sample::Sample;
use crate::encode::set::Stream;
use crate::encode::whole::EncodedStreams;
use colkit_core::Result;
use std::borrow::Cow;

impl Encoder for Dicom {
    fn sniff(&self, sample: &Sample<'_>) -> Option<(Confidence, Vec<Plan>)> {
        let is_dicom = sample.head.get(128..132) == Some(b"DICM") && !sample.is_packed();
        is_dicom.then(|| (Confidence::Signature, vec![Plan::of(Codec::Dicom)]))
    }

    fn encode(&self, text: &[u8], _: Layout, settings: &Settings) -> Result<EncodedStreams> {
        Ok(encode(text, settings.effort)?.into())
    }

    fn can_be_cut(&self) -> bool {
        false
    }
}

/// What is known about the pixels of an image.
#[derive(Clone, Copy, Debug, Default)]
struct Image {
    rows: u64,
    cols: u64,
    samples: u64,
    bits: u64,
    /// Where the pixels lie.
    start: usize,
    length: usize,
}

/// Finds the pixels of an uncompressed little-endian file.
fn find_image(file: &[u8]) -> Option<Image> {
    if file.get(128..132) != Some(b"DICM") {
        return None;
    }
    let mut image = Image { samples: 1, ..Image::default() };
    let (mut at, mut explicit) = (132usize, true);
    let short = |at: usize| Some(u16::from_le_bytes(<[u8; 2]>::try_from(file.get(at..at.checked_add(2)?)?).ok()?));
    let long = |at: usize| Some(u32::from_le_bytes(<[u8; 4]>::try_from(file.get(at..at.checked_add(4)?)?).ok()?));
    let mut frames = 1u64;
    loop {
        let (group, element) = (short(at)?, short(at + 2)?);
        // The file's own part is always explicit; what follows is as the transfer syntax says.
        let kind = file.get(at + 4..at + 6)?;
        let is_explicit = group == 2 || explicit;
        let (value, length) = if !is_explicit {
            (at + 8, long(at + 4)?)
        } else if matches!(kind, b"OB" | b"OW" | b"OF" | b"OD" | b"OL" | b"SQ" | b"UN" | b"UT" | b"UC" | b"UR") {
            (at + 12, long(at + 8)?)
        } else {
            (at + 8, u32::from(short(at + 6)?))
        };
        if length == u32::MAX {
            return None;
        }
        let length = usize::try_from(length).ok()?;
        let bytes = file.get(value..value.checked_add(length)?)?;
        match (group, element) {
            (0x0002, 0x0010) => match bytes.trim_ascii_end().strip_suffix(b"\0").unwrap_or(bytes) {
                b"1.2.840.10008.1.2" => explicit = false,
                b"1.2.840.10008.1.2.1" => explicit = true,
                _ => return None,
            },
            (0x0028, 0x0002) => image.samples = u64::from(short(value)?),
            (0x0028, 0x0008) => frames = std::str::from_utf8(bytes).ok()?.trim_matches([' ', '\0']).parse().ok()?,
            (0x0028, 0x0010) => image.rows = u64::from(short(value)?),
            (0x0028, 0x0011) => image.cols = u64::from(short(value)?),
            (0x0028, 0x0100) => image.bits = u64::from(short(value)?),
            (0x7FE0, 0x0010) => {
                image.start = value;
                let per_pixel = if image.bits == 8 { 1 } else { 2 };
                image.rows = image.rows.checked_mul(frames)?;
                let size = image.rows.checked_mul(image.cols)?.checked_mul(image.samples)?.checked_mul(per_pixel)?;
                image.length = usize::try_from(size).ok().filter(|n| *n <= length && *n > 0)?;
                return matches!(image.bits, 8 | 16).then_some(image);
            }
            _ => {}
        }
        at = value + length;
    }
}

/// Differences to the pixel before, or above.
fn differences(pixels: &[u8], row: usize, wide: bool, down: bool) -> Vec<u8> {
    let size = if wide { 2 } else { 1 };
    let back = if down { row * size } else { size };
    let element = |i: usize| {
        u16::from_le_bytes([
            pixels.get(i).copied().unwrap_or(0),
            if wide { pixels.get(i + 1).copied().unwrap_or(0) } else { 0 },
        ])
    };
    let mut out = Vec::with_capacity(pixels.len());
    for i in (0..pixels.len()).step_by(size) {
        let starts = if down { i < back } else { (i / size).is_multiple_of(row) };
        let before = if starts { 0 } else { element(i - back) };
        out.extend(element(i).wrapping_sub(before).to_le_bytes().into_iter().take(size));
    }
    out
}

/// The streams of a medical image.
fn encode(file: &[u8], effort: Effort) -> Result<Vec<Stream>> {
    let found = find_image(file).and_then(|image| {
        let (pre, rest) = file.split_at_checked(image.start)?;
        let (pixels, suf) = rest.split_at_checked(image.length)?;
        Some((image, pre, pixels, suf))
    });
    let Some((image, pre, pixels, suf)) = found else {
        return Ok(vec![Stream::new("meta", vec![0]), Stream::new("raw", file.to_vec())]);
    };
    let wide = image.bits != 8;
    let row = usize::try_from(image.cols.saturating_mul(image.samples)).unwrap_or(usize::MAX);
    let transformed = |transform: u8| -> Option<Cow<'_, [u8]>> {
        Some(match transform {
            0 => Cow::Borrowed(pixels),
            1 | 2 => Cow::Owned(differences(pixels, row, wide, transform == 2)),
            _ if wide => {
                let high = pixels.iter().skip(1).step_by(2);
                Cow::Owned(high.chain(pixels.iter().step_by(2)).copied().collect())
            }
            _ => return None,
        })
    };
    let mut best: Option<(usize, u8)> = None;
    for transform in 0..4u8 {
        let Some(pixels) = transformed(transform) else { continue };
        let size = smallest(&pixels, effort)?.1.len();
        if best.is_none_or(|(least, _)| size < least) {
            best = Some((size, transform));
        }
    }
    let transform = best.map_or(0, |(_, t)| t);
    let mut meta = vec![1, transform, 0];
    for number in [image.rows, image.cols, image.samples, image.bits] {
        put_uv(number, &mut meta);
    }
    put_lp(&[], &mut meta);
    let pixels = transformed(transform).unwrap_or_default().into_owned();
    Ok(vec![
        Stream::new("meta", meta),
        Stream::new("pre", pre.to_vec()),
        Stream::new("pix", pixels),
        Stream::new("suf", suf.to_vec()),
    ])
}
