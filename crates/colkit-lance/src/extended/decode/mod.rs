//! Decoders of the encodings beyond Lance's: from bytes to words, with `core` alone.
//!
//! The modules that files bring along for other readers are built of these very files, see `plugins/` at the root of the
//! repository. So nothing here uses another crate, allocates or panics.

pub(crate) mod alp;
pub(crate) mod frame;
pub(crate) mod words;

/// Values that are encoded together, except for the last ones of a chunk, which may be fewer.
pub(crate) const GROUP: usize = 1024;

/// What is wrong with the bytes of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed(pub &'static str);

/// Values that are decoded together.
pub(crate) trait Group<'a, T>: Sized {
    /// The group of `len` values, 1024 at most, at the front of `bytes`, and what follows it.
    fn split(bytes: &'a [u8], len: usize) -> Result<(Self, &'a [u8]), Malformed>;

    /// Its values. There must be as many places as the group was said to have.
    fn decode(&self, out: &mut [T]) -> Result<(), Malformed>;
}

/// The first `len` bytes, and what follows them and what makes them a multiple of 8.
pub(crate) fn padded(bytes: &[u8], len: usize) -> Result<(&[u8], &[u8]), Malformed> {
    let short = Malformed("a group that is longer than its chunk");
    let (whole, rest) = bytes.split_at_checked(len.next_multiple_of(8)).ok_or(short)?;
    Ok((whole.get(..len).ok_or(short)?, rest))
}

/// Values that stand at the end of a group because they do not fit into its scheme: places of 16 bits, then the words.
pub(crate) struct Exceptions<'a> {
    places: &'a [u8],
    values: &'a [u8],
}

impl<'a> Exceptions<'a> {
    /// So many of `width` bytes each at the front of `bytes`, and what follows them.
    pub fn split(bytes: &'a [u8], count: usize, width: usize) -> Result<(Self, &'a [u8]), Malformed> {
        let (places, rest) = padded(bytes, count * 2)?;
        let (values, rest) = padded(rest, count * width)?;
        Ok((Exceptions { places, values }, rest))
    }

    /// Puts them where they belong.
    pub fn place<T: words::Word>(&self, out: &mut [T]) -> Result<(), Malformed> {
        let values = self.values.chunks_exact(T::BYTES);
        for (place, value) in self.places.as_chunks::<2>().0.iter().zip(values) {
            let place = out.get_mut(usize::from(u16::from_le_bytes(*place)));
            *place.ok_or(Malformed("an exception behind the end of its group"))? = T::read(value);
        }
        Ok(())
    }
}
