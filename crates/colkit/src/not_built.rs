//! Formats that exist, but that this program was built without: their files are recognised, and the error says so.

use arrow::datatypes::{DataType, SchemaRef};
use bytes::Bytes;
use colkit_core::{Boxed, Error, Format, Machine, ReadOptions, Result, Sink, Step, Table, TableWriter, WriteOptions};
use std::sync::Arc;

/// What is known of a format without its crate.
#[derive(Clone, Copy)]
pub(crate) struct NotBuilt {
    name: &'static str,
    extensions: &'static [&'static str],
    /// What files begin with, if that tells them.
    heads: &'static [&'static [u8]],
    /// What files end with, if that tells them.
    tail: &'static [u8],
    /// The feature that brings it, and whether this program has it.
    feature: &'static str,
    built: bool,
}

macro_rules! known {
    ($feature:literal, $name:literal, $extensions:expr, $heads:expr, $tail:expr) => {
        NotBuilt {
            name: $name,
            extensions: &$extensions,
            heads: &$heads,
            tail: $tail,
            feature: $feature,
            built: cfg!(feature = $feature),
        }
    };
}

const ALL: [NotBuilt; 11] = [
    known!("plain", "gppcol", ["gppcol"], [b"GPP1"], b""),
    known!("plain", "cff", ["cff"], [b"CFF1"], b""),
    known!("plain", "colfile", ["colfile"], [b"COLM"], b""),
    known!("at1", "at1", ["at1"], [b"AT1\x02", b"AT1\x03"], b""),
    known!("lance", "lance", ["lance"], [], b"LANC"),
    known!("parquet", "parquet", ["parquet", "pq"], [b"PAR1"], b"PAR1"),
    known!("arrow-ipc", "arrow", ["arrow", "feather", "ipc"], [b"ARROW1"], b"ARROW1"),
    known!("arrow-ipc", "arrow-stream", ["arrows"], [b"\xFF\xFF\xFF\xFF"], b""),
    known!("text", "ndjson", ["ndjson", "jsonl"], [], b""),
    known!("text", "csv", ["csv"], [], b""),
    known!("text", "tsv", ["tsv", "tab"], [], b""),
];

impl NotBuilt {
    /// Those that this program was built without.
    pub fn formats() -> impl Iterator<Item = NotBuilt> {
        ALL.into_iter().filter(|format| !format.built)
    }

    fn error(&self) -> Error {
        let NotBuilt { name, feature, .. } = self;
        Error::unsupported("not_built", format!("{name}: this program was built without the feature `{feature}`"))
    }
}

impl Format for NotBuilt {
    fn name(&self) -> &'static str {
        self.name
    }

    fn extensions(&self) -> &'static [&'static str] {
        self.extensions
    }

    fn sniff(&self, head: &[u8], tail: &[u8]) -> bool {
        let begins = self.heads.iter().any(|magic| head.starts_with(magic));
        let ends = !self.tail.is_empty() && head.is_empty() && tail.ends_with(self.tail);
        begins || ends
    }

    fn has_magic(&self) -> bool {
        !self.heads.is_empty() || !self.tail.is_empty()
    }

    fn open(&self, _: u64, _: &ReadOptions) -> Boxed<Arc<dyn Table>> {
        Box::new(*self)
    }

    fn stores(&self, _: &DataType) -> bool {
        false
    }

    fn writer(&self, _: SchemaRef, _: Box<dyn Sink>, _: &WriteOptions) -> Result<Box<dyn TableWriter>> {
        Err(self.error())
    }
}

/// Opening one.
impl Machine for NotBuilt {
    type Output = Arc<dyn Table>;

    fn step(&mut self, _: Vec<Bytes>) -> Result<Step<Self::Output>> {
        Err(self.error())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use colkit_core::{TableFile, recognise};

    fn code_of(bytes: &'static [u8], extension: &str) -> (&'static str, String) {
        let formats: Vec<Arc<dyn Format>> = ALL.iter().map(|f| Arc::new(*f) as Arc<dyn Format>).collect();
        let source = Bytes::from_static(bytes);
        let format = recognise(&source, &formats, Some(extension)).unwrap();
        let error = TableFile::open(format.clone(), Arc::new(source), &ReadOptions::default()).err().unwrap();
        assert!(error.to_string().contains(format.name()), "{error}");
        (format.name(), error.code().to_string())
    }

    #[test]
    fn files_of_absent_formats_are_recognised_by_content_or_name() {
        let lance = b"0123456789012345678901234567890123456789LANC";
        for (name, bytes, extension) in [
            ("lance", &lance[..], "x"),
            ("parquet", b"PAR1......PAR1", "x"),
            ("arrow", b"ARROW1......", "x"),
            ("gppcol", b"GPP1......", "x"),
            ("csv", b"a,b\n1,2\n", "csv"),
            ("ndjson", b"{}\n", "jsonl"),
        ] {
            assert_eq!(code_of(bytes, extension), (name, "not_built".into()));
        }
    }

    /// What is said here about formats is what they say themselves.
    #[test]
    fn absent_formats_are_those_of_the_registry() {
        let built = crate::Registry::default().formats(&crate::TextOptions::default());
        assert_eq!(built.len(), ALL.len());
        for not_built in ALL {
            let format = built.iter().find(|f| f.name() == not_built.name).unwrap();
            assert_eq!(format.extensions(), not_built.extensions);
            assert_eq!(format.has_magic(), not_built.has_magic());
            if not_built.has_magic() {
                for head in not_built.heads {
                    assert!(format.sniff(&[head, &[0; 16][..]].concat(), &[]), "{}", not_built.name);
                }
                let tail = [&[0; 16], not_built.tail].concat();
                assert_eq!(format.sniff(&[], &tail), not_built.sniff(&[], &tail), "{}", not_built.name);
            }
        }
    }
}
