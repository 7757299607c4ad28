//! Numbers of variable length, seven bits to a byte, as AT-1 and protobuf have them.

/// Takes a number from the front.
pub fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(first & 127) << shift;
        if first & 128 == 0 {
            return Some(value);
        }
    }
    None
}

/// Appends a number.
pub fn put(out: &mut Vec<u8>, mut value: u64) {
    while value > 127 {
        out.push(value as u8 | 128);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Takes so many bytes from the front.
pub fn split<'a>(bytes: &mut &'a [u8], length: u64) -> Option<&'a [u8]> {
    let (front, rest) = bytes.split_at_checked(usize::try_from(length).ok()?)?;
    *bytes = rest;
    Some(front)
}
