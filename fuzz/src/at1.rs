//! `.at1` as parts: the streams of a file, unpacked. The hash at the end is left out, or made to fit.

use crate::change::{Dice, PIECE};
use crate::varint;
use bytes::Bytes;
use colkit_at1::{Integrity, RestoreOptions};
use colkit_core::Limits;
use std::io::Read;

const TRAILER: [u8; 4] = [0xA1, 0x53, 0x36, 0x01];

fn unpack(backend: u8, data: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    match backend {
        0 => liblzma::read::XzDecoder::new(data).take(PIECE as u64).read_to_end(&mut out).ok()?,
        1 => zstd::stream::read::Decoder::new(data).ok()?.take(PIECE as u64).read_to_end(&mut out).ok()?,
        _ => {
            out.extend(data);
            0
        }
    };
    Some(out)
}

/// Packs bytes, mostly as they are: what is stored is changed further without detours.
fn pack(bytes: &[u8], dice: &mut Dice) -> Option<(u8, Vec<u8>)> {
    match dice.below(8) {
        0 => {
            let mut out = Vec::new();
            liblzma::read::XzEncoder::new(bytes, 0).read_to_end(&mut out).ok()?;
            Some((0, out))
        }
        1 => Some((1, zstd::bulk::compress(bytes, 1).ok()?)),
        _ => Some((2, bytes.to_vec())),
    }
}

/// A stream: name, backend, packed data.
type Stream = (Vec<u8>, u8, Vec<u8>);

fn streams(mut body: &[u8]) -> Option<Vec<Stream>> {
    let count = varint::take(&mut body)?;
    let mut list = Vec::new();
    for _ in 0..count.min(256) {
        let length = varint::take(&mut body)?;
        let name = varint::split(&mut body, length)?.to_vec();
        let backend = match *body.first()? {
            id @ 0..=2 => {
                body = body.get(1..)?;
                id
            }
            _ => 0,
        };
        let length = varint::take(&mut body)?;
        list.push((name, backend, varint::split(&mut body, length)?.to_vec()));
    }
    // With its checksums, whatever is changed would be refused for that alone.
    list.retain(|(name, ..)| name != b"colkit.crc32");
    Some(list)
}

fn put_streams(list: &[Stream], out: &mut Vec<u8>) {
    varint::put(out, list.len() as u64);
    for (name, backend, data) in list {
        varint::put(out, name.len() as u64);
        out.extend(name);
        out.push(*backend);
        varint::put(out, data.len() as u64);
        out.extend(data);
    }
}

/// Changes the content of a stream. Where it looks like a list of numbers of variable length, sometimes one of those.
fn change_content(content: &mut Vec<u8>, dice: &mut Dice) {
    if dice.once_in(3) && !content.is_empty() {
        let at = dice.below(content.len());
        let mut rest = content.get(at..).unwrap_or_default();
        let before = rest.len();
        if let Some(value) = varint::take(&mut rest) {
            let mut replaced = Vec::new();
            varint::put(&mut replaced, dice.number(value));
            let used = before - rest.len();
            content.splice(at..at + used, replaced);
            return;
        }
    }
    let most = content.len() + dice.below(64);
    dice.change(content, most);
}

/// Changes one stream and packs it again.
pub fn change(file: &[u8], _: usize, dice: &mut Dice) -> Option<Vec<u8>> {
    let head = file.get(..5)?;
    let mut body = file.get(5..)?;
    if body.ends_with(&TRAILER) {
        body = body.get(..body.len().checked_sub(36)?)?;
    }
    let mut out = head.to_vec();
    match head {
        [b'A', b'T', b'1', 2, 255] => {
            let (backend, data) = match body.split_first()? {
                (id @ 0..=2, data) => (*id, data),
                _ => (0, body),
            };
            let mut content = unpack(backend, data)?;
            change_content(&mut content, dice);
            let (backend, data) = pack(&content, dice)?;
            out.push(backend);
            out.extend(data);
        }
        [b'A', b'T', b'1', 2, _] => {
            let mut list = streams(body)?;
            let which = dice.below(list.len());
            if dice.once_in(20) && !list.is_empty() {
                list.remove(which);
            } else {
                let (_, backend, data) = list.get_mut(which)?;
                let mut content = unpack(*backend, data)?;
                change_content(&mut content, dice);
                (*backend, *data) = pack(&content, dice)?;
            }
            put_streams(&list, &mut out);
        }
        [b'A', b'T', b'1', 3, _] => {
            varint::put(&mut out, varint::take(&mut body)?);
            let mut frames: Vec<(u8, Vec<u8>)> = Vec::new();
            while !body.is_empty() {
                let length = varint::take(&mut body)?;
                let (method, payload) = varint::split(&mut body, length)?.split_first()?;
                frames.push((*method, payload.to_vec()));
            }
            let which = dice.below(frames.len());
            let (method, payload) = frames.get_mut(which)?;
            if *method == 0 {
                let mut list = streams(payload)?;
                let which = dice.below(list.len());
                let (_, backend, data) = list.get_mut(which)?;
                let mut content = unpack(*backend, data)?;
                change_content(&mut content, dice);
                (*backend, *data) = pack(&content, dice)?;
                payload.clear();
                put_streams(&list, payload);
            } else {
                let most = payload.len() + 16;
                dice.change(payload, most);
            }
            for (method, payload) in frames {
                varint::put(&mut out, payload.len() as u64 + 1);
                out.push(method);
                out.extend(payload);
            }
        }
        _ => return None,
    }
    Some(out)
}

/// Restores a file on one thread. More than a megabyte of output takes long and shows nothing new.
pub fn restore(file: &[u8]) -> colkit_core::Result<Vec<u8>> {
    let limits = Limits { output_bytes: 1 << 20, ..crate::limits() };
    let options = RestoreOptions { limits, threads: 1, integrity: Integrity::Verify };
    let mut out = Vec::new();
    colkit_at1::restore_with(&Bytes::copy_from_slice(file), &options, &mut |bytes| {
        out.extend_from_slice(bytes);
        Ok(())
    })?;
    Ok(out)
}
