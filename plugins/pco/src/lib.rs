//! `colkit.Pco` as a module.

use pco::data_types::Number;
use pco::wrapped::FileDecompressor;

struct Pco;

impl abi::Decoder for Pco {
    fn width(description: &[u8]) -> Option<usize> {
        match *description {
            [bytes @ (2 | 4 | 8), 0 | 1] | [bytes @ (4 | 8), 2] | [bytes @ 16, 3] => Some(bytes.into()),
            _ => None,
        }
    }

    fn decode(description: &[u8], bytes: &[u8], count: usize, first: usize, wanted: usize, out: &mut [u8]) -> Result<(), &'static str> {
        // The order of floating-point numbers and the sign of others are part of how pco understands words.
        match *description {
            [2, 0] => decode::<u16>(bytes, count, first, abi::words(out)),
            [4, 0] => decode::<u32>(bytes, count, first, abi::words(out)),
            [8, 0] => decode::<u64>(bytes, count, first, abi::words(out)),
            [2, 1] => decode::<i16>(bytes, count, first, abi::words(out)),
            [4, 1] => decode::<i32>(bytes, count, first, abi::words(out)),
            [8, 1] => decode::<i64>(bytes, count, first, abi::words(out)),
            [4, 2] => decode::<f32>(bytes, count, first, abi::words(out)),
            [8, 2] => decode::<f64>(bytes, count, first, abi::words(out)),
            _ => {
                let mut narrow = vec![0i64; wanted];
                decode(bytes, count, first, &mut narrow)?;
                for (to, word) in out.chunks_exact_mut(16).zip(narrow) {
                    to.copy_from_slice(&i128::from(word).to_le_bytes());
                }
                Ok(())
            }
        }
    }
}

/// Decodes values from `first` on. All others of the chunk have to be decoded too.
fn decode<T: Number>(bytes: &[u8], count: usize, first: usize, out: &mut [T]) -> Result<(), &'static str> {
    let bad = "a chunk that pco does not understand";
    let (file, rest) = FileDecompressor::new(bytes).map_err(|_| bad)?;
    let (mut chunk, rest) = file.chunk_decompressor::<T, _>(rest).map_err(|_| bad)?;
    let mut page = chunk.page_decompressor(rest, count).map_err(|_| bad)?;
    if out.len() == count {
        return page.read(out).map(drop).map_err(|_| bad);
    }
    let mut all = vec![T::default(); count];
    page.read(&mut all).map_err(|_| bad)?;
    out.copy_from_slice(&all[first..first + out.len()]);
    Ok(())
}

abi::plugin!(Pco, "about.json");
