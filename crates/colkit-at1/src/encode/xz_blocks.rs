//! One `.xz` stream of several blocks, made from streams that were packed one by one: so that the columns of one stream can be
//! packed on all cores, each with settings of its own, and every xz decoder still reads them.
//!
//! ```text
//! stream  = header (12) | blocks | index | footer (12)
//! index   = 00 | uv number of blocks | for each: uv unpadded size, uv raw size | 00 to a multiple of 4 | crc32
//! footer  = crc32 of the next six bytes | size of the index / 4 - 1 (4) | flags (2) | "YZ"
//! ```

use super::put::put_uv;
use crate::cursor::split_uv;

const HEADER: usize = 12;
const FOOTER: usize = 12;

/// The unpadded and the raw size of a block.
type Record = (u64, u64);

/// The blocks of a stream, and the records of its index.
fn open(stream: &[u8]) -> Option<(&[u8], Vec<Record>)> {
    let footer = stream.get(stream.len().checked_sub(FOOTER)?..)?;
    let &[_, _, _, _, a, b, c, d, _, _, b'Y', b'Z'] = footer else { return None };
    let index_size = (usize::try_from(u32::from_le_bytes([a, b, c, d])).ok()? + 1).checked_mul(4)?;
    let index_at = stream.len().checked_sub(FOOTER + index_size)?;
    let blocks = stream.get(HEADER..index_at)?;
    let (0, rest) = stream.get(index_at..)?.split_first()? else { return None };
    let (count, mut rest) = split_uv(rest)?;
    let mut records = Vec::new();
    for _ in 0..count {
        let (unpadded, after) = split_uv(rest)?;
        let (raw, after) = split_uv(after)?;
        records.push((unpadded, raw));
        rest = after;
    }
    Some((blocks, records))
}

/// All blocks of these streams in one stream. `None` if one of them is not an xz stream, or there is none.
pub fn join(streams: &[&[u8]]) -> Option<Vec<u8>> {
    let first = streams.first()?;
    let mut out = first.get(..HEADER)?.to_vec();
    let flags = first.get(6..8)?;
    let mut records = Vec::new();
    for stream in streams {
        if stream.get(..HEADER)? != first.get(..HEADER)? {
            return None;
        }
        let (blocks, of) = open(stream)?;
        out.extend_from_slice(blocks);
        records.extend(of);
    }
    let mut index = vec![0];
    put_uv(records.len() as u64, &mut index);
    for (unpadded, raw) in records {
        put_uv(unpadded, &mut index);
        put_uv(raw, &mut index);
    }
    while !index.len().is_multiple_of(4) {
        index.push(0);
    }
    let crc = crc32(&index);
    index.extend_from_slice(&crc.to_le_bytes());
    out.extend_from_slice(&index);
    let size = u32::try_from(index.len() / 4).ok()?.checked_sub(1)?;
    let mut footer = size.to_le_bytes().to_vec();
    footer.extend_from_slice(flags);
    out.extend_from_slice(&crc32(&footer).to_le_bytes());
    out.extend_from_slice(&footer);
    out.extend_from_slice(b"YZ");
    Some(out)
}

/// Short things only: a bit at a time will do.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0u32, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ if crc & 1 == 1 { 0xEDB8_8320 } else { 0 })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Backend;
    use crate::encode::compress::Method;

    #[test]
    fn joined_streams_are_one_stream() {
        let parts = [&b"hello hello hello"[..], b"", &[7; 100_000], b"x"];
        let methods = [(3, 2), (4, 0), (0, 0), (1, 3)].map(|(lc, pb)| Method::Xz { preset: 6, lc, pb, nice: None });
        let packed: Vec<Vec<u8>> = parts.iter().zip(methods).map(|(p, method)| method.pack(p).unwrap().1).collect();
        let joined = join(&packed.iter().map(Vec::as_slice).collect::<Vec<_>>()).unwrap();
        assert_eq!(Backend::Xz.unpack(&joined.into(), 1 << 20).unwrap(), parts.concat());
        assert_eq!(join(&[]), None);
        assert_eq!(join(&[b"no xz"]), None);
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
    }
}
