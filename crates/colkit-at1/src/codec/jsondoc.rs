//! Jsondoc (6): one whole JSON document.
//!
//! | stream        | content |
//! |---------------|---------|
//! | `meta`        | one byte: 0 = the document is in `raw`, 1 = the rest |
//! | `raw`         | the whole document |
//! | `skeleton`    | the document with each scalar value replaced by 00 |
//! | `colids`      | one `uv` per value: its column |
//! | `value_index` | `uv` n, n x `uv` length of a column |
//! | `values`      | the columns back to back, each `cells` |

#[cfg(feature = "write")]
mod encode;

use super::Coder;
use super::json::value_columns;
use crate::output::Output;
use crate::restore::host::Host;
use crate::stream_set::Streams;
use colkit_core::Result;

/// The codec.
pub struct Jsondoc;

impl Coder for Jsondoc {
    fn restore(&self, streams: &Streams, host: &mut Host<'_, '_>) -> Result<()> {
        host.print(|out| print(streams, out))
    }

    fn metadata(&self) -> &'static [&'static str] {
        &["meta", "value_index"]
    }
}

fn print(streams: &Streams, out: &mut Output<'_>) -> Result<()> {
    let mut meta = streams.cursor("meta");
    let taken_apart = meta.flag("the mode")?;
    meta.finish()?;
    if !taken_apart {
        return out.put(streams.get("raw").0);
    }
    let mut columns = value_columns(streams, 0)?;
    let mut ids = streams.cursor("colids");
    let mut pieces = streams.get("skeleton").0.split(|b| *b == 0);
    out.put(pieces.next().unwrap_or_default())?;
    for piece in pieces {
        let id = ids.index("column", columns.len())?;
        if let Some(column) = columns.get_mut(id) {
            out.put(column.take()?)?;
        }
        out.put(piece)?;
    }
    ids.finish()
}
