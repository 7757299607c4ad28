//! Ssh (0): the log of an sshd.
//!
//! | stream         | content |
//! |----------------|---------|
//! | `meta`         | `uv` nlines, byte trailing |
//! | `flags`        | nlines bytes: 0 verbatim, 1 message as it is, 2 message from a template |
//! | `months` `days` `times` `hosts` | cells, one per line that is not verbatim |
//! | `pids`         | one `uv` per line that is not verbatim |
//! | `rawmsgs`      | cells, one per line of flag 1 |
//! | `template_ids` | one `uv` per line of flag 2 |
//! | `templates`    | cells; each `<*>` stands for a variable |
//! | `vars`         | cells, one per line of flag 2: its variables, separated by 00 |
//! | `verbatim`     | cells |
//!
//! ```text
//! month ' ' day ' ' time ' ' host ' sshd[' pid ']: ' message
//! ```

#[cfg(feature = "write")]
mod encode;
mod rows;

use super::{Coder, LineMeta, View};
use crate::cursor::{Cells, Cursor, cells};
use crate::number::push_uint;
use crate::output::Output;
use crate::restore::host::Host;
use crate::stream_set::Streams;
use crate::table::rows::collect;
use colkit_core::Result;
use memchr::memmem;

const MARKER: &[u8] = b"<*>";

/// The codec.
pub struct Ssh;

impl Coder for Ssh {
    fn restore(&self, streams: &Streams, host: &mut Host<'_, '_>) -> Result<()> {
        host.print(|out| print(streams, out))
    }

    fn view(&self) -> View {
        View::Rows(collect::<rows::EntryRows>)
    }
}

/// The lines of an sshd log.
struct Lines<'a> {
    /// Lines and last line end.
    meta: LineMeta,
    flags: &'a [u8],
    columns: [Cells<'a>; 4],
    pids: Cursor<'a>,
    messages: Cells<'a>,
    ids: Cursor<'a>,
    templates: Vec<&'a [u8]>,
    vars: Cells<'a>,
    verbatim: Cells<'a>,
}

/// A line of an sshd log.
pub enum Line<'a> {
    /// Not taken apart.
    Verbatim(&'a [u8]),
    /// Taken apart.
    Entry {
        /// Month, day, time, host.
        columns: [&'a [u8]; 4],
        /// Process.
        pid: u64,
        /// What was logged.
        message: Message<'a>,
    },
}

/// What was logged.
#[derive(Clone, Copy)]
pub enum Message<'a> {
    /// As it is.
    Plain(&'a [u8]),
    /// A template, and its variables separated by 00.
    Templated(&'a [u8], &'a [u8]),
}

impl Message<'_> {
    /// Gives the pieces of the text, in order.
    pub fn print(self, mut put: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let (template, vars) = match self {
            Message::Plain(text) => return put(text),
            Message::Templated(template, vars) => (template, vars),
        };
        let mut vars = vars.split(|b| *b == 0);
        let mut at = 0;
        for marker in memmem::find_iter(template, MARKER) {
            put(template.get(at..marker).unwrap_or_default())?;
            put(vars.next().unwrap_or_default())?;
            at = marker + MARKER.len();
        }
        put(template.get(at..).unwrap_or_default())
    }
}

impl<'a> Lines<'a> {
    /// Reads the streams.
    pub fn open(streams: &'a Streams) -> Result<Self> {
        let lines = LineMeta::open(streams)?;
        Ok(Lines {
            flags: streams.per_line("flags", lines.lines, 2)?,
            meta: lines,
            columns: ["months", "days", "times", "hosts"].map(|name| streams.cells(name)),
            pids: streams.cursor("pids"),
            messages: streams.cells("rawmsgs"),
            ids: streams.cursor("template_ids"),
            templates: cells(streams.get("templates").0).collect(),
            vars: streams.cells("vars"),
            verbatim: streams.cells("verbatim"),
        })
    }

    fn message(&mut self, templated: bool) -> Result<Message<'a>> {
        if !templated {
            return self.messages.take().map(Message::Plain);
        }
        let before = self.ids.clone();
        let id = self.ids.index("template", self.templates.len())?;
        let template = self.templates.get(id).copied().unwrap_or_default();
        let vars = self.vars.take()?;
        // A template without markers uses up one empty cell.
        let markers = memmem::find_iter(template, MARKER).count();
        let found = if vars.is_empty() && markers == 0 { 0 } else { 1 + memchr::memchr_iter(0, vars).count() };
        if found != markers {
            let message = format!("{found} variables for the {markers} markers of template {id}");
            return Err(before.corrupt("bad_count", message));
        }
        Ok(Message::Templated(template, vars))
    }

    /// Goes through the lines.
    pub fn visit(mut self, mut visit: impl FnMut(Line<'a>) -> Result<()>) -> Result<()> {
        for flag in self.flags {
            visit(if *flag == 0 {
                Line::Verbatim(self.verbatim.take()?)
            } else {
                let [months, days, times, hosts] = &mut self.columns;
                let columns = [months.take()?, days.take()?, times.take()?, hosts.take()?];
                let pid = self.pids.uv()?;
                Line::Entry { columns, pid, message: self.message(*flag == 2)? }
            })?;
        }
        self.pids.finish()?;
        self.ids.finish()
    }
}

fn print(streams: &Streams, out: &mut Output<'_>) -> Result<()> {
    let ssh = Lines::open(streams)?;
    let meta = ssh.meta;
    let mut first = true;
    ssh.visit(|line| {
        out.line_end(&mut first)?;
        match line {
            Line::Verbatim(text) => out.put(text),
            Line::Entry { columns, pid, message } => {
                for (column, after) in columns.into_iter().zip([&b" "[..], b" ", b" ", b" sshd["]) {
                    out.put(column)?;
                    out.put(after)?;
                }
                out.with(|buffer| push_uint(pid, buffer))?;
                out.put(b"]: ")?;
                message.print(|piece| out.put(piece))
            }
        }
    })?;
    meta.finish(out)
}
