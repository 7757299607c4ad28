//! What a field's metadata asks of its encoding, by the keys that Lance itself knows.
//!
//! | key, after `lance-encoding:` | values | effect |
//! |---|---|---|
//! | `compression` | zstd, lz4, fsst, none | this compression; `none` also leaves out bit packing, runs and symbols |
//! | `compression-level` | a number | level of zstd |
//! | `structural-encoding` | miniblock, fullzip | this layout; read from the top-level field |
//! | `bss` | on, off, auto | byte stream split |
//! | `rle-threshold` | 0 to 1 | runs only if there are fewer than this share of the values |
//! | `dict-divisor` | a number | a dictionary of at most values / divisor entries |
//! | `dict-size-ratio` | 0 to 1 | a dictionary only if the page gets this much smaller than plain values |
//! | `dict-values-compression`, `-level` | zstd, lz4, none | compression of the dictionary |
//! | `minichunk-size` | bytes | size of chunks |
//!
//! `packed` and `blob` choose another layout of the column and are seen to elsewhere.

use arrow::datatypes::Field;
use colkit_core::{Error, Result};

/// A compression that is asked for by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compression {
    None,
    Lz4,
    Zstd,
    Symbols,
}

/// What is asked for; `None` leaves the choice to the encoder.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Hints {
    pub compression: Option<Compression>,
    pub level: Option<i32>,
    pub full_zip: Option<bool>,
    pub split: Option<bool>,
    pub rle_threshold: Option<f64>,
    pub dictionary_divisor: Option<usize>,
    pub dictionary_ratio: Option<f64>,
    pub dictionary_compression: Option<Compression>,
    pub dictionary_level: Option<i32>,
    pub chunk_bytes: Option<usize>,
}

/// The value of a key, as something.
fn get<T>(field: &Field, key: &str, known: &str, parse: impl Fn(&str) -> Option<T>) -> Result<Option<T>> {
    let key = format!("lance-encoding:{key}");
    let Some(value) = field.metadata().get(&key) else { return Ok(None) };
    let error = || {
        Error::data("bad_encoding_key", format!("field {:?}: {key} is {value:?}", field.name()))
            .hint(format!("it may be {known}"))
    };
    parse(&value.to_ascii_lowercase()).map(Some).ok_or_else(error)
}

fn compression(name: &str) -> Option<Compression> {
    Some(match name {
        "none" => Compression::None,
        "lz4" => Compression::Lz4,
        "zstd" => Compression::Zstd,
        "fsst" => Compression::Symbols,
        _ => return None,
    })
}

impl Hints {
    /// What the metadata of a leaf and of its top-level field ask for.
    pub fn of(top: &Field, leaf: &Field) -> Result<Hints> {
        let whole = |v: &str| v.parse::<usize>().ok().filter(|n| *n > 0);
        let share = |v: &str| v.parse::<f64>().ok().filter(|x| (0.0..=1.0).contains(x));
        let level = |v: &str| v.parse::<i32>().ok();
        let layout = |v: &str| match v {
            "fullzip" => Some(true),
            "miniblock" => Some(false),
            _ => None,
        };
        let split = |v: &str| match v {
            "on" => Some(Some(true)),
            "off" => Some(Some(false)),
            "auto" => Some(None),
            _ => None,
        };
        Ok(Hints {
            compression: get(leaf, "compression", "zstd, lz4, fsst or none", compression)?,
            level: get(leaf, "compression-level", "a number", level)?,
            full_zip: get(top, "structural-encoding", "miniblock or fullzip", layout)?,
            split: get(leaf, "bss", "on, off or auto", split)?.flatten(),
            rle_threshold: get(leaf, "rle-threshold", "a number from 0 to 1", share)?,
            dictionary_divisor: get(leaf, "dict-divisor", "a number above 0", whole)?,
            dictionary_ratio: get(leaf, "dict-size-ratio", "a number from 0 to 1", share)?,
            dictionary_compression: get(leaf, "dict-values-compression", "zstd, lz4 or none", compression)?,
            dictionary_level: get(leaf, "dict-values-compression-level", "a number", level)?,
            chunk_bytes: get(leaf, "minichunk-size", "a number of bytes", whole)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::datatypes::DataType;

    fn field(pairs: &[(&str, &str)]) -> Field {
        let metadata = pairs.iter().map(|(k, v)| (format!("lance-encoding:{k}"), (*v).to_owned())).collect();
        Field::new("f", DataType::Utf8, true).with_metadata(metadata)
    }

    #[test]
    fn keys_are_read_from_where_lance_reads_them() {
        let top = field(&[("structural-encoding", "fullzip"), ("compression", "lz4")]);
        let leaf =
            field(&[("compression", "ZSTD"), ("compression-level", "7"), ("bss", "auto"), ("dict-divisor", "4")]);
        let hints = Hints::of(&top, &leaf).unwrap();
        assert_eq!((hints.compression, hints.level, hints.full_zip), (Some(Compression::Zstd), Some(7), Some(true)));
        assert_eq!((hints.split, hints.dictionary_divisor), (None, Some(4)));
        assert_eq!(Hints::of(&field(&[]), &field(&[])).unwrap(), Hints::default());
    }

    #[test]
    fn nonsense_is_refused() {
        for bad in [("compression", "gzip"), ("rle-threshold", "2"), ("minichunk-size", "0"), ("bss", "maybe")] {
            let error = Hints::of(&field(&[]), &field(&[bad])).unwrap_err();
            assert_eq!(error.code(), "bad_encoding_key", "{bad:?}");
        }
    }
}
