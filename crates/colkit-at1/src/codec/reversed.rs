//! A codec of the tests: the lines of a text, the last one first. It shows that a codec is this file and one line of the table:
//! packing finds it, restoring and verifying know it, and its lines are a table.

use super::{Codec, Coder, LineMeta, View};
use crate::encode::groups::Settings;
use crate::encode::plan::{Confidence, Encoder, Layout, Plan};
use crate::encode::put::{Joined, put_uv};
use crate::encode::sample::Sample;
use crate::encode::set::Stream;
use crate::encode::whole::EncodedStreams;
use crate::restore::host::Host;
use crate::stream_set::Streams;
use crate::table::rows::{LineRows, Rows, collect};
use colkit_core::Result;

/// The codec.
pub struct Reversed;

const SIGNATURE: &[u8] = b"%reversed";

fn lines(streams: &Streams) -> Result<(LineMeta, Vec<&[u8]>)> {
    let mut cells = streams.cells("lines");
    let meta = LineMeta::open(streams)?;
    let mut lines = (0..meta.lines).map(|_| cells.take()).collect::<Result<Vec<_>>>()?;
    lines.reverse();
    Ok((meta, lines))
}

impl Coder for Reversed {
    fn restore(&self, streams: &Streams, host: &mut Host<'_, '_>) -> Result<()> {
        let (meta, lines) = lines(streams)?;
        host.print(|out| {
            let mut first = true;
            for line in lines {
                out.line_end(&mut first)?;
                out.put(line)?;
            }
            meta.finish(out)
        })
    }

    fn view(&self) -> View {
        View::Rows(collect::<ReversedRows>)
    }
}

#[derive(Default)]
struct ReversedRows;

impl LineRows for ReversedRows {
    fn push(&mut self, streams: &Streams, rows: &mut Rows) -> Result<()> {
        let (meta, lines) = lines(streams)?;
        rows.begin(meta.trailing)?;
        lines.into_iter().try_for_each(|line| rows.push_line(line))
    }
}

impl Encoder for Reversed {
    fn sniff(&self, sample: &Sample<'_>) -> Option<(Confidence, Vec<Plan>)> {
        sample.head.starts_with(SIGNATURE).then(|| (Confidence::Signature, vec![Plan::of(Codec::Reversed)]))
    }

    fn encode(&self, text: &[u8], _: Layout, _: &Settings) -> Result<EncodedStreams> {
        let (lines, trailing) = crate::encode::lines::split(text);
        let (mut meta, mut cells) = (Vec::new(), Joined::default());
        put_uv(lines.len() as u64, &mut meta);
        meta.push(u8::from(trailing));
        lines.iter().rev().for_each(|line| cells.push(line));
        Ok(vec![Stream::new("meta", meta), Stream::new("lines", cells.into_bytes())].into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{At1, PackOptions, RestoreOptions, pack, restore_with};
    use bytes::Bytes;
    use colkit_core::drive::blocking;
    use colkit_core::{Checksums, Format, MemorySink, ReadOptions};

    const TEXT: &[u8] = b"%reversed\nsecond\n\nlast\n";

    #[test]
    fn a_codec_is_one_file_and_one_line_of_the_table() {
        assert_eq!(Plan::candidates(&Sample::new(TEXT, true)), [Plan::of(Codec::Reversed)]);
        for (stream, threads) in [(false, 1), (false, 3), (true, 1), (true, 3)] {
            let sink = MemorySink::new();
            let options =
                PackOptions { codec: Codec::from_name("reversed"), stream, threads, ..PackOptions::default() };
            let summary = pack(&Bytes::from_static(TEXT), Box::new(sink.clone()), &options).unwrap();
            assert_eq!((summary.codec, summary.streaming), (Codec::Reversed, stream));
            let packed = sink.bytes().unwrap();
            let mut text = Vec::new();
            let options = RestoreOptions { threads, ..RestoreOptions::default() };
            let restored = restore_with(&packed, &options, &mut |bytes| {
                text.extend_from_slice(bytes);
                Ok(())
            });
            assert!(restored.unwrap().verified && text == TEXT);
            let table = blocking::run(At1.open(packed.len() as u64, &ReadOptions::default()), &packed).unwrap();
            assert_eq!((table.row_count(), table.properties()[0].1.as_str()), (4, "reversed"));
            assert_ne!(blocking::run(table.verify().unwrap(), &packed).unwrap().checksums, Checksums::None);
        }
    }
}
