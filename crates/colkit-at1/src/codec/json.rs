//! Json (1): one compact JSON value per line.
//!
//! | stream        | content |
//! |---------------|---------|
//! | `meta`        | `uv` nlines, byte trailing |
//! | `flags`       | nlines bytes: 0 verbatim, 1 from the tape |
//! | `keyvocab`    | cells: keys, with their quotes |
//! | `rules`       | `uv` n, each: `uv` nlit, nlit x `lp` literal, `uv` nsrc, nsrc x `uv` column; nlit is nsrc + 1 |
//! | `value_index` | `uv` n, n x `uv` length of a column |
//! | `values`      | the columns, one separator byte between each two, each `cells` |
//! | `tape`        | tokens, below |
//! | `verbatim`    | cells |
//!
//! | token | arguments | prints |
//! |-------|-----------|--------|
//! | 0 leaf    | `uv` column | the next cell of the column, and remembers it without its quotes |
//! | 1 object  | `uv` n, then n x (`uv` key, value) | `{key:value,...}` |
//! | 2 array   | `uv` n, then n values | `[value,...]` |
//! | 3 derived | `uv` rule | a string of literals and remembered cells, in turn |
//!
//! What a column remembers starts empty and lasts from line to line.

#[cfg(feature = "write")]
pub mod encode;
mod rows;

use super::{Coder, LineMeta, View};
use crate::cursor::{Cells, Cursor, cells};
use crate::output::Output;
use crate::restore::host::Host;
use crate::stream_set::Streams;
use crate::table::rows::collect;
use colkit_core::Result;

/// How many values may be inside one another.
const MAX_DEPTH: usize = 8192;

/// The codec.
pub struct Json;

impl Coder for Json {
    fn restore(&self, streams: &Streams, host: &mut Host<'_, '_>) -> Result<()> {
        host.print(|out| print(streams, out))
    }

    fn view(&self) -> View {
        View::Rows(collect::<rows::ObjectRows>)
    }

    fn is_table_text(&self) -> bool {
        true
    }

    fn metadata(&self) -> &'static [&'static str] {
        &["meta", "flags", "keyvocab", "rules", "value_index"]
    }
}

/// The columns of `values`, with `separator` bytes between each two.
pub fn value_columns(streams: &Streams, separator: u64) -> Result<Vec<Cells<'_>>> {
    let mut index = streams.cursor("value_index");
    let (_, place) = streams.get("values");
    let mut values = streams.cursor("values");
    let count = index.count("columns", index.left())?;
    let mut columns = Vec::with_capacity(count);
    for k in 0..count {
        if k > 0 {
            values.take(separator)?;
        }
        let column = values.part(index.uv()?)?;
        columns.push(Cells::new(column.rest(), column.position(), place));
    }
    index.finish()?;
    values.finish()?;
    Ok(columns)
}

/// Literals and the columns between them.
struct Rule<'a> {
    literals: Vec<&'a [u8]>,
    sources: Vec<usize>,
}

fn rules(streams: &Streams, columns: usize) -> Result<Vec<Rule<'_>>> {
    let mut cursor = streams.cursor("rules");
    let count = cursor.count("rules", cursor.left())?;
    let rule = |_| {
        let literals = cursor.texts("literals")?;
        let before = cursor.clone();
        let n = cursor.count("sources", cursor.left())?;
        if literals.len() != n + 1 {
            let message = format!("{} literals around {n} sources, expected one more than sources", literals.len());
            return Err(before.corrupt("bad_count", message));
        }
        let sources = (0..n).map(|_| cursor.index("source column", columns)).collect::<Result<_>>()?;
        Ok(Rule { literals, sources })
    };
    let rules = (0..count).map(rule).collect::<Result<Vec<_>>>()?;
    cursor.finish()?;
    Ok(rules)
}

/// The lines of the file.
struct Lines<'a> {
    /// Lines and last line end.
    meta: LineMeta,
    flags: &'a [u8],
    keys: Vec<&'a [u8]>,
    rules: Vec<Rule<'a>>,
    columns: Vec<Cells<'a>>,
    /// What each column gave last, without quotes.
    last: Vec<&'a [u8]>,
    tape: Cursor<'a>,
    verbatim: Cells<'a>,
}

/// An object or array that is being printed.
struct Open {
    left: u64,
    is_object: bool,
    is_first: bool,
}

/// Takes what is printed.
pub trait Printer {
    /// The next bytes of the line.
    fn put(&mut self, bytes: &[u8]) -> Result<()>;

    /// The value that follows belongs to this key of the outermost object.
    fn key(&mut self, _key: &[u8]) -> Result<()> {
        Ok(())
    }

    /// A line begins that is taken apart (or not).
    fn line(&mut self, verbatim: bool) -> Result<()>;
}

impl<'a> Lines<'a> {
    /// Reads the streams.
    pub fn open(streams: &'a Streams) -> Result<Self> {
        let lines = LineMeta::open(streams)?;
        let columns = value_columns(streams, 1)?;
        Ok(Lines {
            flags: streams.per_line("flags", lines.lines, 1)?,
            meta: lines,
            keys: cells(streams.get("keyvocab").0).collect(),
            rules: rules(streams, columns.len())?,
            last: vec![&[]; columns.len()],
            columns,
            tape: streams.cursor("tape"),
            verbatim: streams.cells("verbatim"),
        })
    }

    /// Prints all lines.
    pub fn print(mut self, printer: &mut dyn Printer) -> Result<()> {
        for flag in self.flags {
            printer.line(*flag == 0)?;
            if *flag == 0 { printer.put(self.verbatim.take()?)? } else { self.value(printer)? }
        }
        self.tape.finish()
    }

    /// Prints the next value of the tape, with everything inside it.
    fn value(&mut self, printer: &mut dyn Printer) -> Result<()> {
        let mut open: Vec<Open> = Vec::new();
        loop {
            let before = self.tape.clone();
            if open.len() >= MAX_DEPTH {
                return Err(before.corrupt("nesting", format!("more than {MAX_DEPTH} values inside one another")));
            }
            match self.tape.byte()? {
                0 => self.leaf(printer)?,
                3 => self.derived(printer)?,
                token @ (1 | 2) => {
                    let is_object = token == 1;
                    open.push(Open { left: self.tape.uv()?, is_object, is_first: true });
                    printer.put(if is_object { b"{" } else { b"[" })?;
                }
                token => return Err(before.corrupt("bad_token", format!("token {token}, expected 0 to 3"))),
            }
            while let Some(closed) = open.pop_if(|top| top.left == 0) {
                printer.put(if closed.is_object { b"}" } else { b"]" })?;
            }
            let depth = open.len();
            let Some(top) = open.last_mut() else { return Ok(()) };
            top.left -= 1;
            if !std::mem::replace(&mut top.is_first, false) {
                printer.put(b",")?;
            }
            if top.is_object {
                let key = self.tape.index("key", self.keys.len())?;
                let key = self.keys.get(key).copied().unwrap_or_default();
                printer.put(key)?;
                printer.put(b":")?;
                if depth == 1 {
                    printer.key(key)?;
                }
            }
        }
    }

    fn leaf(&mut self, printer: &mut dyn Printer) -> Result<()> {
        let id = self.tape.index("column", self.columns.len())?;
        let (Some(column), Some(last)) = (self.columns.get_mut(id), self.last.get_mut(id)) else { return Ok(()) };
        let cell = column.take()?;
        *last = match cell {
            [b'"', inside @ .., _] => inside,
            _ => cell,
        };
        printer.put(cell)
    }

    fn derived(&mut self, printer: &mut dyn Printer) -> Result<()> {
        let id = self.tape.index("rule", self.rules.len())?;
        let Some(rule) = self.rules.get(id) else { return Ok(()) };
        printer.put(b"\"")?;
        let mut sources = rule.sources.iter();
        for literal in &rule.literals {
            printer.put(literal)?;
            if let Some(last) = sources.next().and_then(|s| self.last.get(*s)) {
                printer.put(last)?;
            }
        }
        printer.put(b"\"")
    }
}

/// Prints lines as they are.
struct Plain<'o, 'b> {
    out: &'o mut Output<'b>,
    first: bool,
}

impl Printer for Plain<'_, '_> {
    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.put(bytes)
    }

    fn line(&mut self, _: bool) -> Result<()> {
        self.out.line_end(&mut self.first)
    }
}

fn print(streams: &Streams, out: &mut Output<'_>) -> Result<()> {
    let json = Lines::open(streams)?;
    let meta = json.meta;
    json.print(&mut Plain { out, first: true })?;
    meta.finish(out)
}
