//! The codecs: from streams back to the text they were taken from. All of them are pure: bytes in, bytes out.

pub mod bundle;
pub mod columnar;
pub mod columns;
pub mod dicom;
pub mod embed;
pub mod json;
pub mod jsondoc;
pub mod log;
pub mod osm;
pub mod queryable;
pub mod shape;
pub mod ssh;
pub mod typing;
pub mod vcf;

use crate::container::Codec;
use crate::output::Output;
use crate::stream_set::{Entry, Streams};
use colkit_core::{Error, Result};

/// Restores what a stream set was made from. All streams are in memory; together they take `held` bytes.
pub fn restore(codec: Codec, streams: &Streams, entries: &[Entry], held: u64, out: &mut Output<'_>) -> Result<()> {
    match codec {
        Codec::Ssh => ssh::restore(streams, out),
        Codec::Json => json::restore(streams, out),
        Codec::Osm => osm::restore(streams, out),
        Codec::Log => log::restore(streams, out),
        Codec::Columnar => {
            out.hold(held.saturating_add(columnar::Chunks::open(streams)?.memory()))?;
            columnar::restore(streams, out)
        }
        Codec::Vcf => vcf::restore(streams, out),
        Codec::Jsondoc => jsondoc::restore(streams, out),
        Codec::Dicom => dicom::restore(streams, out),
        Codec::Embed => embed::restore(streams, out),
        Codec::Qcolumnar | Codec::Qjson | Codec::Qjson2 => {
            let lines = queryable::Queryable::open(codec, streams.clone(), entries)?;
            let not_here = |_| Err(Error::internal("the blocks were not fetched"));
            lines.print(0..lines.pieces(), &not_here, held, out)
        }
        Codec::Bundle => Err(Error::request("is_a_bundle", "a bundle holds several files").hint("ask for its entries")),
        Codec::Raw => Err(Error::corrupt("bad_codec", "a structured frame in a container without a codec").at(4)),
    }
}

/// What all line codecs begin their `meta` with.
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

    /// Prints the last line end, if there is one.
    pub fn finish(&self, out: &mut Output<'_>) -> Result<()> {
        if self.trailing { out.put(b"\n") } else { Ok(()) }
    }
}
