//! Log (3): lines of text that repeat themselves but for a few words.
//!
//! | stream      | content |
//! |-------------|---------|
//! | `meta`      | `uv` nlines, byte trailing |
//! | `flags`     | nlines bytes: 0 verbatim, 1 from a template |
//! | `templates` | cells; each byte 00 stands for a variable |
//! | `tids`      | one `uv` per templated line: which template |
//! | `vars`      | cells: the variables of all lines, one after another |
//! | `verbatim`  | cells |

#[cfg(feature = "write")]
mod encode;
mod rows;

use super::{Coder, LineMeta, View};
use crate::cursor::{Cells, Cursor, cells};
use crate::output::Output;
use crate::restore::host::Host;
use crate::stream_set::Streams;
use colkit_core::Result;

/// The codec.
pub struct Log;

impl Coder for Log {
    fn restore(&self, streams: &Streams, host: &mut Host<'_, '_>) -> Result<()> {
        host.print(|out| print(streams, out))
    }

    fn view(&self) -> View {
        View::Rows(rows::collect)
    }
}

/// The lines of a log.
struct Lines<'a> {
    /// Lines and last line end.
    meta: LineMeta,
    flags: &'a [u8],
    templates: Vec<&'a [u8]>,
    ids: Cursor<'a>,
    vars: Cells<'a>,
    verbatim: Cells<'a>,
}

/// A line of a log.
pub enum Line<'a, 'l> {
    /// Not taken apart.
    Verbatim(&'a [u8]),
    /// A template; its variables come from the list.
    Templated(&'a [u8], &'l mut Cells<'a>),
}

impl<'a> Lines<'a> {
    /// Reads the streams.
    pub fn open(streams: &'a Streams) -> Result<Self> {
        let lines = LineMeta::open(streams)?;
        Ok(Lines {
            flags: streams.per_line("flags", lines.lines, 1)?,
            meta: lines,
            templates: cells(streams.get("templates").0).collect(),
            ids: streams.cursor("tids"),
            vars: streams.cells("vars"),
            verbatim: streams.cells("verbatim"),
        })
    }

    /// Goes through the lines. Every variable of a line must be taken.
    pub fn visit(mut self, mut visit: impl FnMut(Line<'a, '_>) -> Result<()>) -> Result<()> {
        for flag in self.flags {
            if *flag == 0 {
                visit(Line::Verbatim(self.verbatim.take()?))?;
            } else {
                let id = self.ids.index("template", self.templates.len())?;
                let template = self.templates.get(id).copied().unwrap_or_default();
                visit(Line::Templated(template, &mut self.vars))?;
            }
        }
        self.ids.finish()
    }
}

fn print(streams: &Streams, out: &mut Output<'_>) -> Result<()> {
    let log = Lines::open(streams)?;
    let meta = log.meta;
    let mut first = true;
    log.visit(|line| {
        out.line_end(&mut first)?;
        match line {
            Line::Verbatim(text) => out.put(text),
            Line::Templated(template, vars) => {
                let mut pieces = template.split(|b| *b == 0);
                out.put(pieces.next().unwrap_or_default())?;
                pieces.try_for_each(|piece| {
                    out.put(vars.take()?)?;
                    out.put(piece)
                })
            }
        }
    })?;
    meta.finish(out)
}
