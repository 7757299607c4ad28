//! The primitives every stream is made of, written. The counterpart of [`crate::cursor`].

/// Appends an unsigned number: `uv`.
#[inline]
pub fn put_uv(mut n: u64, out: &mut Vec<u8>) {
    while n >= 0x80 {
        let [low, ..] = n.to_le_bytes();
        out.push(low | 0x80);
        n >>= 7;
    }
    let [low, ..] = n.to_le_bytes();
    out.push(low);
}

/// Appends a signed number: `sv`.
#[inline]
pub fn put_sv(n: i64, out: &mut Vec<u8>) {
    put_uv(((n << 1) ^ (n >> 63)).cast_unsigned(), out);
}

/// Appends a text with its length in front: `lp`.
pub fn put_lp(text: &[u8], out: &mut Vec<u8>) {
    put_uv(text.len() as u64, out);
    out.extend_from_slice(text);
}

/// Numbers as the differences between neighbours, starting from 0 and wrapping.
pub fn put_deltas(values: impl IntoIterator<Item = i64>, out: &mut Vec<u8>) {
    let mut before = 0i64;
    for value in values {
        put_sv(value.wrapping_sub(before), out);
        before = value;
    }
}

/// Flags as `bits`: flag `i` is bit `i & 7` of byte `i >> 3`.
pub fn bits(flags: impl IntoIterator<Item = bool>) -> Vec<u8> {
    let mut out = Vec::new();
    for (i, flag) in flags.into_iter().enumerate() {
        if i & 7 == 0 {
            out.push(0);
        }
        if let (true, Some(byte)) = (flag, out.last_mut()) {
            *byte |= 1 << (i & 7);
        }
    }
    out
}

/// Texts joined by LF, appended one by one. No text at all and one empty text are both written as nothing.
#[derive(Clone, Debug, Default)]
pub struct Joined {
    bytes: Vec<u8>,
    count: usize,
}

impl Joined {
    /// Appends a cell, which has no LF in it.
    #[inline]
    pub fn push(&mut self, cell: &[u8]) {
        self.begin();
        self.bytes.extend_from_slice(cell);
    }

    /// Begins a cell; what is appended to the bytes that are returned belongs to it.
    #[inline]
    pub fn begin(&mut self) -> &mut Vec<u8> {
        if self.count > 0 {
            self.bytes.push(b'\n');
        }
        self.count += 1;
        &mut self.bytes
    }

    /// The cells, joined.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The cells, joined.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// The cells one by one.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        crate::cursor::cells(&self.bytes).take(self.count)
    }
}

/// Gives equal texts equal numbers, by first appearance.
#[derive(Default)]
pub struct Vocabulary {
    numbers: std::collections::HashMap<Vec<u8>, u64>,
    texts: Vec<Vec<u8>>,
}

impl Vocabulary {
    /// The number of a text.
    pub fn number(&mut self, text: &[u8]) -> u64 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = self.texts.len() as u64;
        self.numbers.insert(text.to_vec(), number);
        self.texts.push(text.to_vec());
        number
    }

    /// The texts in the order of their numbers.
    pub fn texts(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.texts.iter().map(Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cursor::{bit, split_sv, split_uv};

    #[test]
    fn what_is_put_can_be_read() {
        for value in (0..64).flat_map(|s| [1u64 << s, (1u64 << s) - 1]).chain([u64::MAX]) {
            let mut out = Vec::new();
            put_uv(value, &mut out);
            assert_eq!(split_uv(&out), Some((value, &[][..])));
            let signed = value.cast_signed();
            out.clear();
            put_sv(signed, &mut out);
            assert_eq!(split_sv(&out), Some((signed, &[][..])));
        }
        let flags = [true, false, false, true, true, false, false, false, true];
        let packed = bits(flags);
        assert_eq!(packed.len(), 2);
        assert!((0..9).all(|i| bit(&packed, i) == flags[i]));
    }

    #[test]
    fn joined_cells() {
        let mut joined = Joined::default();
        assert_eq!(joined.iter().count(), 0);
        joined.push(b"");
        joined.push(b"a");
        joined.push(b"");
        assert_eq!(joined.bytes(), b"\na\n");
        assert_eq!(joined.iter().collect::<Vec<_>>(), [&b""[..], b"a", b""]);
    }
}
