//! The rows of a log: line, template, variables.

use super::{Line, Lines};
use crate::stream_set::Streams;
use crate::table::rows::{Collected, LineEnds, RowCollector, append};
use arrow::array::{ArrayRef, ListBuilder, StringBuilder};
use arrow::datatypes::{Field, Schema};
use colkit_core::plan::batch_of;
use colkit_core::{Limits, Result};
use std::sync::Arc;

/// Collects the lines of a log.
pub fn collect(limits: &Limits) -> Box<dyn RowCollector> {
    Box::new(LogRows {
        limits: limits.clone(),
        ends: LineEnds::default(),
        line: StringBuilder::new(),
        template: StringBuilder::new(),
        variables: ListBuilder::new(StringBuilder::new()),
        bytes: 0,
        scratch: String::new(),
    })
}

/// The columns of a log: `line`, `template` with its variables shown as `<*>`, and the `variables`.
struct LogRows {
    limits: Limits,
    ends: LineEnds,
    line: StringBuilder,
    template: StringBuilder,
    variables: ListBuilder<StringBuilder>,
    bytes: u64,
    scratch: String,
}

impl LogRows {
    /// Adds a line, or a template with its variables.
    fn add(&mut self, line: &[u8], templated: Option<(&[u8], &[&[u8]])>) -> Result<()> {
        let mut whole = line.to_vec();
        let mut shown = Vec::new();
        if let Some((template, vars)) = templated {
            let mut vars = vars.iter();
            for (i, piece) in template.split(|b| *b == 0).enumerate() {
                if i > 0 {
                    whole.extend_from_slice(vars.next().copied().unwrap_or_default());
                    shown.extend_from_slice(b"<*>");
                }
                whole.extend_from_slice(piece);
                shown.extend_from_slice(piece);
            }
        }
        // Latin-1 may double a cell, and offsets are 32 bits wide.
        self.bytes += 2 * (whole.len() + shown.len()) as u64 + 24;
        Limits::check_memory("the table in memory", self.bytes, self.limits.memory.min(1 << 30))?;
        append(&mut self.line, &whole, &mut self.scratch);
        match templated {
            None => {
                self.template.append_null();
                self.variables.append(false);
            }
            Some((_, vars)) => {
                append(&mut self.template, &shown, &mut self.scratch);
                for var in vars {
                    append(self.variables.values(), var, &mut self.scratch);
                }
                self.variables.append(true);
            }
        }
        Ok(())
    }
}

impl RowCollector for LogRows {
    fn push(&mut self, streams: &Streams) -> Result<()> {
        let lines = Lines::open(streams)?;
        self.ends.begin(lines.meta.trailing)?;
        lines.visit(|line| match line {
            Line::Verbatim(text) => self.add(text, None),
            Line::Templated(template, vars) => {
                let markers = memchr::memchr_iter(0, template).count();
                let vars = (0..markers).map(|_| vars.take()).collect::<Result<Vec<_>>>()?;
                self.add(&[], Some((template, &vars)))
            }
        })
    }

    fn push_raw(&mut self, text: &[u8]) -> Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        self.ends.begin(text.ends_with(b"\n"))?;
        let lines = text.strip_suffix(b"\n").unwrap_or(text);
        lines.split(|b| *b == b'\n').try_for_each(|line| self.add(line, None))
    }

    fn finish(mut self: Box<Self>) -> Result<Collected> {
        let arrays: Vec<ArrayRef> =
            vec![Arc::new(self.line.finish()), Arc::new(self.template.finish()), Arc::new(self.variables.finish())];
        let field = |(name, array): (&str, &ArrayRef)| Field::new(name, array.data_type().clone(), name != "line");
        let fields: Vec<Field> = ["line", "template", "variables"].into_iter().zip(&arrays).map(field).collect();
        let rows = arrays.first().map_or(0, |a| a.len());
        Ok((batch_of(&Arc::new(Schema::new(fields)), arrays, rows)?, Vec::new()))
    }
}
