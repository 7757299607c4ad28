//! The largest of numbers that are stored as differences (`DELTA_BINARY_PACKED`), without unpacking them to memory.
//!
//! ```text
//! values of a block | parts of a block | how many values | the first one | blocks
//! block   the smallest difference | bits of a difference above it, a byte for each part | the parts
//! ```

/// The bytes that texts may have whose lengths lie here: of the start they share with the one before, and of the rest.
pub(super) fn longest(prefixes_and_suffixes: &[u8]) -> Option<u64> {
    let (prefix, rest) = largest(prefixes_and_suffixes)?;
    let (suffix, _) = largest(rest)?;
    prefix.checked_add(suffix)
}

/// The largest number, at least 0, and what comes after them.
fn largest(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (block, bytes) = varint(bytes)?;
    let (parts, bytes) = varint(bytes)?;
    let (count, bytes) = varint(bytes)?;
    let (first, mut bytes) = zigzag(bytes)?;
    let of_part = block.checked_div(parts).filter(|n| *n > 0 && n % 8 == 0)?;
    let mut left = count.saturating_sub(1);
    let (mut value, mut most) = (i128::from(first), i128::from(first));
    while left > 0 {
        let (smallest, rest) = zigzag(bytes)?;
        let (widths, rest) = rest.split_at_checked(usize::try_from(parts).ok()?)?;
        bytes = rest;
        for width in widths.iter().map(|w| u64::from(*w)) {
            if left == 0 {
                break;
            }
            if width > 64 {
                return None;
            }
            let packed = usize::try_from(of_part.checked_mul(width)? / 8).ok()?;
            let (packed, rest) = bytes.split_at(packed.min(bytes.len()));
            bytes = rest;
            let here = of_part.min(left);
            left -= here;
            if width == 0 {
                // All differences are the same, so the largest is at an end.
                value += i128::from(smallest) * i128::from(here);
                most = most.max(value);
                continue;
            }
            for at in 0..here.min(packed.len() as u64 * 8 / width) {
                value += i128::from(smallest) + i128::from(bits(packed, at * width, width));
                most = most.max(value);
            }
        }
    }
    Some((u64::try_from(most.max(0)).ok()?, bytes))
}

fn bits(packed: &[u8], at: u64, width: u64) -> u64 {
    let bit = |bit: u64| packed.get(usize::try_from(bit / 8).unwrap_or(usize::MAX)).map_or(0, |b| b >> (bit % 8) & 1);
    (0..width).fold(0, |value, n| value | u64::from(bit(at + n)) << n)
}

/// A number in groups of seven bits, and what comes after it.
pub(super) fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0;
    for (at, byte) in bytes.iter().enumerate().take(9) {
        value |= u64::from(byte & 127) << (7 * at);
        if *byte < 128 {
            return Some((value, bytes.get(at + 1..)?));
        }
    }
    None
}

fn zigzag(bytes: &[u8]) -> Option<(i64, &[u8])> {
    let (value, rest) = varint(bytes)?;
    Some(((value >> 1).cast_signed() ^ -(value & 1).cast_signed(), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_number_is_found() {
        // One number: 7.
        assert_eq!(largest(&[128, 1, 4, 1, 14, 99]), Some((7, &[99][..])));
        // 5, 3, 6, 2: differences from -4 on in 3 bits (2, 7, 0), in the first of four parts.
        let packed = [0b00_111_010, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        let bytes = [&[128, 1, 4, 4, 10, 7, 3, 0, 0, 0][..], &packed, b"rest"].concat();
        assert_eq!(largest(&bytes), Some((6, &b"rest"[..])));
        // A billion numbers that grow by two.
        let bytes = [128, 128, 128, 128, 16, 4, 128, 148, 235, 220, 3, 0, 4, 0, 0, 0, 0];
        assert_eq!(largest(&bytes), Some((1_999_999_998, &[][..])));
        assert_eq!(largest(&[128, 1, 4]), None);
    }
}
