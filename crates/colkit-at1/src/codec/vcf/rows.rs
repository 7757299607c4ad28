//! The rows of variant calls: the nine fields and one column per sample, named by the `#CHROM` line.

use super::{FIELDS, Field, Line, Lines};
use crate::stream_set::Streams;
use crate::table::rows::{LineRows, Rows, header_names};
use colkit_core::{Limits, Result};

/// Makes rows of variants.
#[derive(Default)]
pub struct VariantRows;

impl LineRows for VariantRows {
    fn push(&mut self, streams: &Streams, rows: &mut Rows) -> Result<()> {
        let table = Lines::open(streams)?;
        Limits::check_memory("the samples in memory", table.cells().saturating_mul(9), rows.limits.memory)?;
        rows.begin(table.meta.trailing)?;
        let width = usize::try_from(table.samples).unwrap_or(usize::MAX).saturating_add(FIELDS.len());
        rows.limits.check_columns(width as u64)?;
        let mut names = Vec::new();
        table.visit(|line| match line {
            // Header lines come before the first variant; the last of them names the columns.
            Line::Verbatim(text) if text.starts_with(b"#") && rows.len() == 0 => {
                rows.header_lines += 1;
                names = header_names(text.strip_prefix(b"#").unwrap_or(text), b"\t");
                Ok(())
            }
            Line::Verbatim(text) => rows.push_line(text),
            Line::Variant(fields, samples) => {
                if !rows.has_names() {
                    let own = std::mem::take(&mut names);
                    rows.set_names(if own.len() == width { own } else { default_names(width) })?;
                }
                rows.widen(width)?;
                for (i, field) in fields.into_iter().enumerate() {
                    match (rows.column(i), field) {
                        (Some(column), Field::Int(n)) => column.push_int(n),
                        (Some(column), Field::Text(text)) => column.push(text),
                        (None, _) => {}
                    }
                }
                let mut i = FIELDS.len();
                samples.visit(|sample| {
                    if let Some(column) = rows.column(i) {
                        column.push(sample);
                    }
                    i += 1;
                    Ok(())
                })?;
                rows.finish_row()
            }
        })
    }
}

fn default_names(width: usize) -> Vec<String> {
    let fields = FIELDS.iter().map(|name| name.to_uppercase());
    fields.chain((0..width.saturating_sub(FIELDS.len())).map(|i| format!("sample_{i}"))).collect()
}
