//! Checksums for what Parquet has none for, so that no bit of a file that we wrote can change unseen.
//!
//! The CRC in a page's header covers its body. Headers, page index and footer get checksums in the one field that Parquet
//! leaves to extensions in all of its structures, number 32767, which other readers pass over:
//!
//! ```text
//! page header  its fields | 32767: CRC-32 of what is before it in the header | 0
//! footer       its fields | 32767: tag | where the page index starts | CRC-32 of the page index
//!                         |        CRC-32 of the footer, its length and the magic, without itself | 0
//! ```
//!
//! Numbers are written as hexadecimal digits, because some readers take any bytes that they pass over for text.
//!
//! The footer's lies at a fixed distance from the end of the file. It is known by its tag, even with some bits of that
//! changed: what is damaged there must not pass for the file of somebody else.

use super::MAGIC;
use super::thrift::{PAGE_CRC, PAGE_SIZE, Walk, damaged};
use colkit_core::{ByteRange, Error, Result};

/// The head of field 32767 with text, and the length of that.
const EXTENSION: [u8; 4] = [0x08, 0xFE, 0xFF, 0x03];
const PAGE_LENGTH: u8 = 8;
const FOOTER_LENGTH: u8 = 48;
const _: () = assert!(PAGE_LENGTH as usize == CRC && FOOTER_LENGTH as usize == SEAL);

const TAG: &[u8; 16] = b"colkit:checksums";

/// Tags that differ in fewer bits than this from ours are ours.
const TOLERATED: u32 = 16;

/// Digits of a checksum, and of a place.
const CRC: usize = 8;
const PLACE: usize = 16;

/// What is in the field of the footer: the tag, the place of the page index, two checksums.
const SEAL: usize = TAG.len() + PLACE + CRC + CRC;

/// A page header with checksums of its body and of itself.
pub(super) fn seal_page_header(header: &[u8], body: &[u8]) -> Result<Vec<u8>> {
    let incomplete = || damaged("a page header");
    let (number, kind, at) = first_field_after(header, PAGE_CRC - 1).ok_or_else(incomplete)?;
    let (before, after) = header.split_at_checked(at).ok_or_else(incomplete)?;
    let (_, after) = after.split_first().ok_or_else(incomplete)?;
    let (_, after) = after.split_last().ok_or_else(incomplete)?;
    // The checksum takes the place after the sizes; the field that was there counts its number from it.
    let distance = u8::try_from(number - PAGE_CRC).ok().filter(|d| (1..16).contains(d)).ok_or_else(incomplete)?;
    let crc = crc32fast::hash(body).cast_signed();
    let mut sealed = before.to_vec();
    sealed.push(0x15);
    sealed.extend(varint(((crc << 1) ^ (crc >> 31)).cast_unsigned()));
    sealed.push(distance << 4 | kind);
    sealed.extend_from_slice(after);
    sealed.extend_from_slice(&EXTENSION);
    sealed.push(PAGE_LENGTH);
    sealed.extend_from_slice(digits(crc32fast::hash(&sealed)).as_bytes());
    sealed.push(0);
    Ok(sealed)
}

/// A page header whose body has become this long by compression.
pub(super) fn with_page_size(header: &[u8], size: usize) -> Result<Vec<u8>> {
    let incomplete = || damaged("a page header");
    let (number, _, at) = first_field_after(header, PAGE_SIZE - 1).ok_or_else(incomplete)?;
    let (_, _, end) = first_field_after(header, PAGE_SIZE).ok_or_else(incomplete)?;
    let (before, after) = (header.get(..=at), header.get(end..));
    let (Some(before), Some(after), true) = (before, after, number == PAGE_SIZE) else { return Err(incomplete()) };
    let size = u32::try_from(size).ok().filter(|size| *size <= i32::MAX.cast_unsigned());
    let size = size.ok_or_else(|| Error::limit("a page", usize::MAX, i32::MAX))?;
    // Numbers with a sign have it in their lowest bit.
    Ok(before.iter().copied().chain(varint(size << 1)).chain(after.iter().copied()).collect())
}

/// The first field of a structure with a number beyond this one, its type, and where it starts.
fn first_field_after(bytes: &[u8], number: i16) -> Option<(i16, u8, usize)> {
    let (mut walk, mut last) = (Walk { bytes }, 0);
    loop {
        let at = bytes.len() - walk.bytes.len();
        let (found, kind) = walk.field(&mut last)??;
        if found > number {
            return Some((found, kind, at));
        }
        walk.skip(kind, 1)?;
    }
}

fn varint(mut value: u32) -> impl Iterator<Item = u8> {
    let mut done = false;
    std::iter::from_fn(move || {
        if done {
            return None;
        }
        let low = (value & 127) as u8;
        value >>= 7;
        done = value == 0;
        Some(if done { low } else { low | 128 })
    })
}

/// Whether a page header, from its first byte to its last, is as [`seal_page_header`] left it.
pub(super) fn is_sealed_page_header(header: &[u8]) -> bool {
    let parts = header.split_last_chunk::<{ CRC + 1 }>();
    let Some((before, [crc @ .., 0])) = parts else { return false };
    digits(crc32fast::hash(before)).as_bytes() == crc
}

/// The end of a file, from its page index on, with checksums. The page index starts at byte `start` of the file.
pub(super) fn seal_footer(end: &[u8], start: u64) -> Result<Vec<u8>> {
    let incomplete = || Error::internal("the footer is not complete");
    let (rest, tail) = end.split_last_chunk::<8>().ok_or_else(incomplete)?;
    let length = tail.first_chunk().map_or(0, |b| u32::from_le_bytes(*b)) as usize;
    let (index, footer) =
        rest.len().checked_sub(length).and_then(|at| rest.split_at_checked(at)).ok_or_else(incomplete)?;
    let (_, fields) = footer.split_last().ok_or_else(incomplete)?;
    let mut sealed = fields.to_vec();
    sealed.extend_from_slice(&EXTENSION);
    sealed.push(FOOTER_LENGTH);
    sealed.extend_from_slice(TAG);
    sealed.extend_from_slice(format!("{start:016x}").as_bytes());
    sealed.extend_from_slice(digits(crc32fast::hash(index)).as_bytes());
    let length =
        u32::try_from(sealed.len() + CRC + 1).map_err(|_| Error::limit("the footer", sealed.len(), u32::MAX))?;
    let tail = [&length.to_le_bytes(), MAGIC].concat();
    let crc = footer_crc(&sealed, &tail);
    Ok([index, &sealed, digits(crc).as_bytes(), &[0], &tail].concat())
}

fn digits(crc: u32) -> String {
    format!("{crc:08x}")
}

/// The checksum of a footer: `before` it, and of the end of the structure and the last bytes of the file after it.
fn footer_crc(before: &[u8], tail: &[u8]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(before);
    crc.update(&[0]);
    crc.update(tail);
    crc.finalize()
}

/// What the checksums of a footer say about the page index.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seal {
    /// Where it lies.
    pub index: ByteRange,
    crc: u32,
}

impl Seal {
    /// Checks a footer that lies at `range`, with the last bytes of the file. `None` for files without checksums.
    pub fn read(footer: &[u8], tail: &[u8], range: ByteRange) -> Result<Option<Self>> {
        let parts = footer.split_last().and_then(|(_, rest)| rest.split_last_chunk::<SEAL>());
        let Some((_, seal)) = parts else { return Ok(None) };
        let (tag, rest) = seal.split_first_chunk::<16>().unwrap_or((TAG, &[]));
        if (u128::from_le_bytes(*tag) ^ u128::from_le_bytes(*TAG)).count_ones() >= TOLERATED {
            return Ok(None);
        }
        let wrong = || Error::corrupt("checksum_mismatch", "its checksum is wrong").part("footer").at(range.start());
        let (before, after) = footer.split_at_checked(footer.len() - CRC - 1).ok_or_else(wrong)?;
        let Some((crc, [0])) = after.split_first_chunk::<CRC>() else { return Err(wrong()) };
        if digits(footer_crc(before, tail)).as_bytes() != crc {
            return Err(wrong());
        }
        let number = |digits: &[u8]| u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok();
        let (start, rest) = rest.split_at_checked(PLACE).ok_or_else(wrong)?;
        let start = number(start).filter(|start| *start <= range.start()).ok_or_else(wrong)?;
        let crc = rest.get(..CRC).and_then(number).and_then(|crc| u32::try_from(crc).ok()).ok_or_else(wrong)?;
        Ok(Some(Seal { index: ByteRange::between(start, range.start()), crc }))
    }

    /// Checks the bytes of the page index.
    pub fn check_index(&self, bytes: &[u8]) -> Result<()> {
        if crc32fast::hash(bytes) == self.crc {
            return Ok(());
        }
        Err(Error::corrupt("checksum_mismatch", "its checksum is wrong").part("page index").at(self.index.start()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parquet::thrift::check_pages;

    const BODY: &[u8] = b"xy";

    /// A data page of two bytes with 5 values.
    const HEADER: &[u8] = b"\x15\x00\x15\x04\x15\x04\x2c\x15\x0a\x15\x00\x15\x06\x15\x06\x00\x00";

    #[test]
    fn every_bit_of_a_page_is_covered() {
        let page = [seal_page_header(HEADER, BODY).unwrap(), BODY.to_vec()].concat();
        check_pages(&page, 0, true).unwrap();
        check_pages(&page, 0, false).unwrap();
        assert!(check_pages(&[HEADER, BODY].concat(), 0, true).is_err());
        for bit in 0..page.len() * 8 {
            let mut flipped = page.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(check_pages(&flipped, 0, true).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn every_bit_of_the_end_is_covered() {
        let plain = [&b"index"[..], b"\x15\x02\x00", &3u32.to_le_bytes(), MAGIC].concat();
        let sealed = seal_footer(&plain, 100).unwrap();
        let footer_at = b"index".len();
        let check = |bytes: &[u8]| {
            let (rest, tail) = bytes.split_last_chunk::<8>().unwrap();
            let range = ByteRange::between(105, 105 + (rest.len() - footer_at) as u64);
            Seal::read(&rest[footer_at..], tail, range)?.unwrap().check_index(&rest[..footer_at])
        };
        check(&sealed).unwrap();
        for bit in 0..sealed.len() * 8 {
            let mut flipped = sealed.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(check(&flipped).unwrap_err().code(), "checksum_mismatch", "bit {bit}");
        }
        let range = ByteRange::between(105, 108);
        assert!(Seal::read(b"\x15\x02\x00", &plain[8..], range).unwrap().is_none(), "no checksums at all");
    }
}
