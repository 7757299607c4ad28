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

use super::json::value_columns;
use crate::output::Output;
use crate::stream_set::Streams;
use colkit_core::Result;

/// Restores the document.
pub fn restore(streams: &Streams, out: &mut Output<'_>) -> Result<()> {
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
