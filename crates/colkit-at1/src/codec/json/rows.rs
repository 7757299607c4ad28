//! The rows of JSON lines: one column per key of the outermost object.

use super::{Lines, Printer};
use crate::stream_set::Streams;
use crate::table::rows::{LineRows, Rows};
use crate::table::text::{json_text, text};
use colkit_core::{Limits, Result};
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// Makes rows of objects.
#[derive(Default)]
pub struct ObjectRows {
    /// Columns by key and how often the key came before in its object.
    keys: HashMap<(Vec<u8>, usize), usize>,
}

impl LineRows for ObjectRows {
    fn push(&mut self, streams: &Streams, rows: &mut Rows) -> Result<()> {
        let lines = Lines::open(streams)?;
        rows.begin(lines.meta.trailing)?;
        let mut printer = Cutter { keys: &mut self.keys, rows, line: Vec::new(), starts: Vec::new(), verbatim: None };
        lines.print(&mut printer)?;
        printer.finish_line()
    }
}

/// Cuts printed lines at the keys of their outermost object.
struct Cutter<'c> {
    keys: &'c mut HashMap<(Vec<u8>, usize), usize>,
    rows: &'c mut Rows,
    line: Vec<u8>,
    /// Each key, and where its value begins.
    starts: Vec<(Vec<u8>, usize)>,
    /// What kind of line is being printed, if any.
    verbatim: Option<bool>,
}

impl Cutter<'_> {
    fn finish_line(&mut self) -> Result<()> {
        let Some(verbatim) = self.verbatim.take() else { return Ok(()) };
        if verbatim || !self.line.starts_with(b"{") {
            return self.rows.push_line(&self.line);
        }
        let starts = std::mem::take(&mut self.starts);
        // A value ends before the comma, the next key and its colon; the last one before the brace.
        let ends = starts.iter().skip(1).map(|(key, start)| start - key.len() - 2);
        let ends: Vec<usize> = ends.chain([self.line.len() - 1]).collect();
        let mut seen: HashMap<Vec<u8>, usize> = HashMap::with_capacity(starts.len());
        for ((key, start), end) in starts.into_iter().zip(ends) {
            let repeat = seen.entry(key.clone()).and_modify(|n| *n += 1).or_insert(0);
            let column = self.column(key, *repeat)?;
            let value = self.line.get(start..end).unwrap_or_default();
            let Some(column) = self.rows.column(column) else { continue };
            match (value.first(), json_text(value)) {
                (_, None) => column.fill(column.len() + 1),
                (Some(b'"' | b'{' | b'['), Some(text)) => column.push_text(&text),
                (_, Some(text)) => column.push(&text),
            }
        }
        self.rows.finish_row()
    }

    /// The column of a key; a key that repeats in one object has a column for each time.
    fn column(&mut self, key: Vec<u8>, repeat: usize) -> Result<usize> {
        let next = self.keys.len();
        match self.keys.entry((key, repeat)) {
            Entry::Occupied(known) => Ok(*known.get()),
            Entry::Vacant(new) => {
                let name = text(&json_text(&new.key().0).unwrap_or_default());
                new.insert(next);
                self.rows.add_name(name)?;
                Ok(next)
            }
        }
    }
}

impl Printer for Cutter<'_> {
    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.line.extend_from_slice(bytes);
        Limits::check_memory(
            "a line",
            self.line.len() as u64,
            self.rows.limits.value_bytes.min(self.rows.limits.memory),
        )
    }

    fn key(&mut self, key: &[u8]) -> Result<()> {
        self.starts.push((key.to_vec(), self.line.len()));
        Ok(())
    }

    fn line(&mut self, verbatim: bool) -> Result<()> {
        self.finish_line()?;
        self.line.clear();
        self.starts.clear();
        self.verbatim = Some(verbatim);
        Ok(())
    }
}
