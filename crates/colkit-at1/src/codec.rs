//! The codecs: how a text is taken apart into streams, shown as a table, and put together again.
//!
//! Each is a [`Coder`] in a module of its own, and one line of the table of [`Codec`]s. Nothing else knows them one by one: to add
//! a codec, write the module and the line. All of them are pure: bytes in, bytes out.

pub mod bundle;
pub mod columnar;
pub mod dicom;
pub mod embed;
pub mod json;
pub mod jsondoc;
pub mod log;
pub mod osm;
pub mod qcolumnar;
pub mod qjson;
pub mod qjson2;
pub mod raw;
#[cfg(all(test, feature = "write"))]
pub mod reversed;
pub mod ssh;
pub mod vcf;

#[cfg(feature = "write")]
use crate::encode::plan::Encoder;
use crate::output::Output;
use crate::queryable::{self, Queryable, is_stored_blocks};
use crate::restore::host::Host;
use crate::stream_set::{Entry, Streams};
use crate::table::rows::RowCollector;
use colkit_core::{Limits, Result};

macro_rules! codecs {
    ($($(#[$attribute:meta])* $name:ident($module:ident) = $id:literal $text:literal, $doc:literal;)*) => {
        /// How the content was taken apart.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Codec { $($(#[$attribute])* #[doc = $doc] $name,)* }

        impl Codec {
            /// All of them, in the order of their numbers.
            pub const ALL: &[Codec] = &[$($(#[$attribute])* Codec::$name,)*];

            /// Its number in the head of a file.
            pub fn id(self) -> u8 {
                match self { $($(#[$attribute])* Codec::$name => $id,)* }
            }

            /// Its name.
            pub fn name(self) -> &'static str {
                match self { $($(#[$attribute])* Codec::$name => $text,)* }
            }

            pub(crate) fn coder(self) -> &'static dyn Coder {
                match self { $($(#[$attribute])* Codec::$name => &$module::$name,)* }
            }
        }
    };
}

codecs! {
    Ssh(ssh) = 0 "ssh", "Lines of an sshd log.";
    Json(json) = 1 "json", "One compact JSON value per line.";
    Osm(osm) = 2 "osm", "OpenStreetMap XML.";
    Log(log) = 3 "log", "Any log lines.";
    Columnar(columnar) = 4 "columnar", "A delimited table.";
    Vcf(vcf) = 5 "vcf", "Variant calls.";
    Jsondoc(jsondoc) = 6 "jsondoc", "One JSON document.";
    Qcolumnar(qcolumnar) = 7 "qcolumnar", "A delimited table that can be queried.";
    Qjson(qjson) = 8 "qjson", "JSON lines of one shape that can be queried.";
    Dicom(dicom) = 9 "dicom", "A medical image.";
    Embed(embed) = 10 "embed", "An array of numbers.";
    Qjson2(qjson2) = 11 "qjson2", "JSON lines of several shapes that can be queried.";
    Bundle(bundle) = 12 "bundle", "Several files.";
    #[cfg(all(test, feature = "write"))] Reversed(reversed) = 254 "reversed", "Lines back to front: a codec to test with.";
    Raw(raw) = 255 "RAW", "Not taken apart at all.";
}

impl Codec {
    /// The codec with this number.
    pub fn from_id(id: u8) -> Option<Self> {
        Self::ALL.iter().copied().find(|c| c.id() == id)
    }

    /// The codec of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|c| c.name().eq_ignore_ascii_case(name))
    }

    /// Whether whole-file containers of it can be read in parts.
    pub fn is_queryable(self) -> bool {
        matches!(self.coder().view(), View::Groups(_))
    }
}

/// What a file is to those who open it.
#[derive(Clone, Copy)]
pub enum View {
    /// Something without rows.
    Opaque,
    /// A table that is collected from all streams.
    Rows(fn(&Limits) -> Box<dyn RowCollector>),
    /// A table whose row groups are read from the file one by one.
    Groups(fn(Streams) -> Result<Queryable>),
    /// Several files.
    Files,
}

/// A codec: from a text to streams and back. How it writes, its [`Encoder`] half says.
pub trait Coder: Encoder + Sync {
    /// Restores what a stream set was made from. All its streams are in memory.
    fn restore(&self, streams: &Streams, host: &mut Host<'_, '_>) -> Result<()>;

    /// What a file is to those who open it.
    fn view(&self) -> View {
        View::Opaque
    }

    /// Whether the text is CSV or JSON lines (or may be, as it was not taken apart), and so reads as a table itself.
    fn is_table_text(&self) -> bool {
        false
    }

    /// Whether opening a file reads this stream; others are read in parts later.
    fn reads(&self, _: &Entry) -> bool {
        true
    }

    /// Names of the streams that say how the others are to be read.
    fn metadata(&self) -> &'static [&'static str] {
        &["meta", "flags"]
    }
}

/// The half of a codec that writes: without the feature `write` there is none.
#[cfg(not(feature = "write"))]
pub trait Encoder {}

#[cfg(not(feature = "write"))]
impl<T> Encoder for T {}

/// A codec whose lines lie in row groups.
pub trait RowGroups {
    /// Opens its streams: all but those blocks that are read from the file.
    fn open(streams: Streams) -> Result<Queryable>;
}

impl<T: RowGroups + Encoder + Sync> Coder for T {
    fn restore(&self, streams: &Streams, host: &mut Host<'_, '_>) -> Result<()> {
        queryable::restore(&T::open(streams.clone())?, host)
    }

    fn view(&self) -> View {
        View::Groups(T::open)
    }

    fn is_table_text(&self) -> bool {
        true
    }

    fn reads(&self, entry: &Entry) -> bool {
        !is_stored_blocks(entry)
    }
}

/// What all line codecs begin their `meta` with.
#[derive(Clone, Copy)]
pub struct LineMeta {
    /// Number of lines.
    pub lines: u64,
    /// Whether a line end follows the last line.
    pub trailing: bool,
}

impl LineMeta {
    /// Reads it: `uv` nlines, byte trailing.
    pub fn read(meta: &mut crate::cursor::Cursor<'_>) -> Result<Self> {
        Ok(LineMeta { lines: meta.uv()?, trailing: meta.flag("trailing")? })
    }

    /// Reads a `meta` that holds nothing else.
    pub fn open(streams: &Streams) -> Result<Self> {
        let mut meta = streams.cursor("meta");
        let lines = Self::read(&mut meta)?;
        meta.finish()?;
        Ok(lines)
    }

    /// Prints the last line end, if there is one.
    pub fn finish(&self, out: &mut Output<'_>) -> Result<()> {
        if self.trailing { out.put(b"\n") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_are_in_order_and_differ() {
        let mut names = std::collections::HashSet::new();
        assert!(Codec::ALL.is_sorted_by(|a, b| a.id() < b.id()));
        for codec in Codec::ALL {
            assert!(names.insert(codec.name()));
            assert_eq!((Codec::from_id(codec.id()), Codec::from_name(codec.name())), (Some(*codec), Some(*codec)));
        }
    }
}
